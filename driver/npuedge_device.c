// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Device life cycle
 *
 * What files refer to (firmware memory, workqueues, locks) lives with the DRM device; registers and
 * interrupts live with the platform device.  Every path that touches hardware is within
 * npuedge_device_enter(), which fails from the moment that the device is lost or unplugged.
 *
 * A device that goes is stopped before anything else: from then on no mapping that a late unmap
 * takes down is in use, and no call waits for firmware, so that drm_dev_unplug() need not either.
 * Last, what was mapped for DMA goes, see npuedge_dma.c: the DMA device is unbound next.
 */

/**
 * DOC: Locking
 *
 * Outermost first; a lock may be taken while any of those before it is held.  unplug.lock, in which
 * the device is registered or shut down, is outside of all; the lock of the numbers of address
 * spaces is inside of all.
 *
 * 1. usage_lock of a file: destroying a queue against reading the file's usage; perfmon.lock;
 * 2. dma_resv of a VM and of the buffers mapped in it: pages, fences, the order of queued binds;
 * 3. op_lock of a VM: mappings, page tables; in it the lock of a buffer's list of mappings;
 *    window_lock of the firmware: page tables of ASID 0; taken with none of the others;
 * 4. reset.lock: for reading: what is said to firmware, and the TLB; for writing: stopping and
 *    starting the device.  Lists of queues change only while it is held for reading by one who
 *    adds or removes a queue, or for writing;
 * 5. sched_lock of a queue: stopping and starting its scheduler;
 * 6. hw_lock of a queue: messages about it;
 * 7. queues.lock, tlb_lock, irq.lock, evt_lock of the firmware, latch_lock, table_lock;
 * 8. lock of a queue (a spinlock, also that of its hardware fences), lock of the firmware
 *    (a spinlock: message rings), lock of the shrinker (a spinlock: lists of buffers), mask_lock of
 *    the interrupts (a spinlock: the enable register);
 *    Within it: lock of a queue's counters (a spinlock);
 * 9. lock of the events, and DRM's within it (spinlocks); what reads them takes no other.
 *
 * The timeout and reset workers take 4 to 9 while fences wait for them: under these nothing
 * allocates memory that may be reclaimed, takes one of 1 to 3 or waits for a fence; a core dump
 * tries to take 2 and 3, and does without.  An interrupt thread takes 7 to 9.  run_job takes 8
 * alone.  Reclaim may send events: it takes 9.  A queued bind takes op_lock and, without it, waits
 * for the TLB or a reset: under op_lock the same is forbidden, and it is held for no such wait.
 *
 * The shrinker may be called wherever memory is allocated.  It takes 2, but never waits for it, and
 * then 4, 7 and 8.
 *
 * Whoever waits for a reset (npuedge_reset_wait()) holds at most 1 and 2.
 *
 * Who unplugs the device holds none of them; it takes DRM's object_name_lock, and 2, one by one.
 *
 * A function that returns from within a mutex or semaphore takes it by guard(), and may do so where
 * the lock covers all of it, as in performance monitors; elsewhere lock and unlock stand in sight
 * of each other.  A spinlock always does: sparse does not know its guard on older kernels, and what
 * returns from within is a function of its own.  No label is there for an unlock, but in
 * npuedge_evict_hold(), which hands its lock on if it succeeds.  Memory is freed by __free() where
 * that is shorter.
 */

#include <linux/dma-mapping.h>
#include <linux/pm_runtime.h>
#include <linux/string_choices.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "npuedge_compat.h"
#include "npuedge_coredump.h"
#include "npuedge_dma.h"
#include "npuedge_event.h"
#include "npuedge_fw.h"
#include "npuedge_hw.h"
#include "npuedge_irq.h"
#include "npuedge_mmu.h"
#include "npuedge_perfmon.h"
#include "npuedge_plat.h"
#include "npuedge_reset.h"

/**
 * npuedge_device_enter() - begin a section that needs the hardware to exist
 * @edev: device
 * @cookie: out: for npuedge_device_exit()
 *
 * Return: false if the device is gone.
 */
bool npuedge_device_enter(struct npuedge_device *edev, int *cookie)
{
	if (!drm_dev_enter(&edev->base, cookie))
		return false;
	if (!READ_ONCE(edev->lost))
		return true;

	drm_dev_exit(*cookie);
	return false;
}

/**
 * npuedge_device_exit() - end a section begun by npuedge_device_enter()
 * @edev: device
 * @cookie: what npuedge_device_enter() gave
 */
void npuedge_device_exit(struct npuedge_device *edev, int cookie)
{
	drm_dev_exit(cookie);
}

/**
 * npuedge_device_awake() - begin a section that uses the hardware
 * @edev: device
 * @cookie: out: for npuedge_device_asleep()
 *
 * Return: 0, -ENODEV if the device is gone, or why it does not wake up.
 */
int npuedge_device_awake(struct npuedge_device *edev, int *cookie)
{
	int ret;

	if (!npuedge_device_enter(edev, cookie))
		return -ENODEV;

	ret = pm_runtime_resume_and_get(edev->dev);
	if (ret)
		npuedge_device_exit(edev, *cookie);
	return ret;
}

/**
 * npuedge_device_asleep() - end a section begun by npuedge_device_awake()
 * @edev: device
 * @cookie: what npuedge_device_awake() gave
 */
void npuedge_device_asleep(struct npuedge_device *edev, int cookie)
{
	pm_runtime_mark_last_busy(edev->dev);
	pm_runtime_put_autosuspend(edev->dev);
	npuedge_device_exit(edev, cookie);
}

/**
 * npuedge_device_send_wedged() - send the uevent that DRM defines for a reset or lost device
 * @edev: device; nothing is sent before it is registered
 * @event: "WEDGED=" and what user space may do
 *
 * drm_dev_wedged_event() sends it for the primary node, which an accelerator does not have.
 */
void npuedge_device_send_wedged(struct npuedge_device *edev, char *event)
{
	char *envp[2] = { event };

	if (!READ_ONCE(edev->unplug.registered))
		return;
	kobject_uevent_env(&edev->base.accel->kdev->kobj, KOBJ_CHANGE, envp);
}

static void npuedge_device_unplug_work(struct work_struct *work)
{
	struct npuedge_device *edev = container_of(work, struct npuedge_device, unplug.work);
	int cookie;

	/* It is lost, but still registered unless the driver is being unbound. */
	if (drm_dev_enter(&edev->base, &cookie)) {
		npuedge_device_send_wedged(edev, "WEDGED=rebind,bus-reset");
		drm_dev_exit(cookie);
	}
	npuedge_device_unplug(edev);
}

/*
 * Give the device up.  On return it touches no memory, as far as npuedge_reset_lose() can make
 * sure of that, and nothing of the driver touches it any more.
 */
static void npuedge_device_stop(struct npuedge_device *edev)
{
	WRITE_ONCE(edev->lost, true);
	npuedge_fw_msg_stop(edev);
	npuedge_reset_cancel(edev);
	npuedge_reset_lose(edev);
	npuedge_irq_stop(edev);
	/* A timeout handler that looked before the device was lost. */
	flush_workqueue(edev->reset.wq);
	npuedge_coredump_flush(edev);
}

/*
 * End all DMA mappings of a device that has stopped and was unplugged, or was never registered.  On
 * return the DMA device can be unbound.
 */
static void npuedge_device_unmap(struct npuedge_device *edev)
{
	npuedge_dma_unmap_all(edev);
	npuedge_fw_free_memory(edev);
	npuedge_mmu_free_tables(edev);
}

/**
 * npuedge_device_register() - let user space see the device
 * @edev: device that runs
 *
 * Return: 0, -EIO if it was lost since it was started, or another negative errno.
 */
int npuedge_device_register(struct npuedge_device *edev)
{
	int ret = -EIO;

	mutex_lock(&edev->unplug.lock);
	if (!edev->unplug.started)
		ret = drm_dev_register(&edev->base, 0);
	if (!ret)
		WRITE_ONCE(edev->unplug.registered, true);
	mutex_unlock(&edev->unplug.lock);
	return ret;
}

/**
 * npuedge_device_shutdown() - have the device quiet for the kernel, or the firmware, that comes
 * @edev: registered device, awake
 */
void npuedge_device_shutdown(struct npuedge_device *edev)
{
	mutex_lock(&edev->unplug.lock);
	if (!edev->unplug.started && !edev->unplug.stopped) {
		npuedge_device_stop(edev);
		edev->unplug.stopped = true;
		drm_dbg(&edev->base, "device has stopped for good\n");
	}
	mutex_unlock(&edev->unplug.lock);
}

/**
 * npuedge_device_unplug() - end all use of the hardware
 * @edev: device, registered or not
 *
 * Called when the driver is unbound, and when recovery failed; the second caller waits for the
 * first.
 */
void npuedge_device_unplug(struct npuedge_device *edev)
{
	bool first;

	mutex_lock(&edev->unplug.lock);
	first = !edev->unplug.started;
	edev->unplug.started = true;
	mutex_unlock(&edev->unplug.lock);
	if (!first) {
		wait_for_completion(&edev->unplug.done);
		return;
	}

	if (!edev->unplug.stopped)
		npuedge_device_stop(edev);
	if (edev->unplug.registered)
		drm_dev_unplug(&edev->base);
	/* Who had entered before may have made a dump, which walks page tables. */
	npuedge_coredump_flush(edev);
	npuedge_device_unmap(edev);
	complete_all(&edev->unplug.done);
}

static int npuedge_device_init_state(struct npuedge_device *edev)
{
	struct drm_device *drm = &edev->base;
	int ret;

	INIT_LIST_HEAD(&edev->queues.list);
	xa_init_flags(&edev->vms, XA_FLAGS_ALLOC1);
	npuedge_event_init(edev);
	INIT_WORK(&edev->unplug.work, npuedge_device_unplug_work);
	init_completion(&edev->unplug.done);

	ret = drmm_mutex_init(drm, &edev->latch_lock);
	ret = ret ?: drmm_mutex_init(drm, &edev->tlb_lock);
	ret = ret ?: drmm_mutex_init(drm, &edev->irq.lock);
	ret = ret ?: drmm_mutex_init(drm, &edev->queues.lock);
	ret = ret ?: drmm_mutex_init(drm, &edev->unplug.lock);
	ret = ret ?: npuedge_perfmon_init(edev);
	return ret ?: npuedge_reset_init(edev);
}

/**
 * npuedge_device_init() - identify the device, load and boot its firmware
 * @edev: device with mapped registers and interrupt lines that are off
 *
 * On an error the device is in reset.
 *
 * Return: 0 or a negative errno, which has been reported.
 */
int npuedge_device_init(struct npuedge_device *edev)
{
	int ret;

	ret = npuedge_device_init_state(edev);
	if (ret)
		return ret;

	ret = dma_set_mask_and_coherent(edev->dma_dev, DMA_BIT_MASK(52));
	if (ret)
		return dev_err_probe(edev->dev, ret, "no DMA to 52 bits of address\n");
	dma_set_max_seg_size(edev->dma_dev, UINT_MAX);

	ret = npuedge_shrinker_init(edev);
	if (ret)
		return ret;

	/* Buffers in huge pages get big leaves; without them they only cost more TLB entries. */
	ret = npuedge_huge_mnt_create(&edev->base, "within_size");
	if (ret)
		drm_dbg(&edev->base, "no huge pages for buffers (%d)\n", ret);

	ret = npuedge_hw_init(edev);
	if (ret)
		return ret;

	/* It may still run what another kernel has left it with. */
	ret = npuedge_hw_reset(edev);
	if (ret)
		return dev_err_probe(edev->dev, ret, "device does not reset\n");
	npuedge_pci_start_dma(edev->dma_dev);

	ret = npuedge_fw_init(edev);
	if (ret)
		return ret;

	ret = npuedge_coredump_init(edev);
	if (ret)
		return ret;

	ret = npuedge_fw_boot(edev);
	if (ret) {
		npuedge_hw_reset(edev);
		return dev_err_probe(edev->dev, ret, "firmware does not boot\n");
	}

	npuedge_irq_enable(edev, NPUEDGE_IRQ_OFF_STOPPED);
	drm_info(&edev->base, "%s: %u core%s, firmware %u.%u.%u %s\n", edev->chip.name,
		 edev->chip.cores, str_plural(edev->chip.cores), edev->fw->info.version >> 24,
		 edev->fw->info.version >> 16 & 0xff, edev->fw->info.version & 0xffff,
		 edev->fw->info.build);
	return 0;
}
