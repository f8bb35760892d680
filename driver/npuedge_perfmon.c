// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Performance monitors
 *
 * Firmware sums up what jobs use, queue by queue, in a table in shared memory, while there is at
 * least one monitor.  Its sums begin anew with each boot and each queue; here they become totals
 * that grow as long as a queue lives, and a monitor is a snapshot of such totals to which later
 * ones are compared.  Queues that are gone are part of the device's totals.
 *
 * The lock of the monitors is taken by ioctls alone, and held while firmware is told to begin or
 * end counting; reading takes no part of firmware's time.
 */

#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/uaccess.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/npuedge_accel.h>

#include "npuedge_array.h"
#include "npuedge_device.h"
#include "npuedge_drv.h"
#include "npuedge_fw.h"
#include "npuedge_perfmon.h"
#include "npuedge_queue.h"
#include "npuedge_reset.h"
#include "npuedge_slab.h"

/* enum drm_npuedge_counter has the numbers of enum ne1_counter. */
static_assert((int)DRM_NPUEDGE_COUNTER_CYCLES == NE1_COUNT_CYCLES);
static_assert((int)DRM_NPUEDGE_COUNTER_MACS == NE1_COUNT_MACS);
static_assert((int)DRM_NPUEDGE_COUNTER_ENERGY == NE1_COUNT_ENERGY_NJ);
static_assert(sizeof(struct ne1_fw_counters) / sizeof(u64) >= NE1_COUNTERS);

/* A read may name a counter several times, but not for ever. */
#define NPUEDGE_MAX_VALUES	256

/**
 * struct npuedge_perfmon - performance monitor; under the lock of the monitors
 */
struct npuedge_perfmon {
	/** @counters: of its queue; NULL: of the device */
	struct npuedge_counters *counters;
	/** @base: totals that count as zero */
	u64 base[NE1_COUNTERS];
};

/**
 * npuedge_perfmon_counters() - what monitors of a device count
 * @edev: device
 *
 * Return: a bit for each of enum drm_npuedge_counter; 0 if its firmware, of ABI 1.0, has none.
 */
u64 npuedge_perfmon_counters(struct npuedge_device *edev)
{
	return edev->fw->abi_minor < 1 ? 0 : GENMASK_ULL(NE1_COUNTERS - 1, 0);
}

/* ---- totals of a queue ---- */

/**
 * npuedge_counters_create() - make the counters of a queue
 * @edev: device
 *
 * Return: counters, or NULL without memory.
 */
struct npuedge_counters *npuedge_counters_create(struct npuedge_device *edev)
{
	struct npuedge_counters *c;

	c = kzalloc_obj(*c, GFP_KERNEL_ACCOUNT);
	if (!c)
		return NULL;

	kref_init(&c->ref);
	spin_lock_init(&c->lock);
	c->edev = edev;
	return c;
}

static void npuedge_counters_release(struct kref *ref)
{
	kfree(container_of(ref, struct npuedge_counters, ref));
}

/**
 * npuedge_counters_put() - drop a reference
 * @c: counters, or NULL; any context
 */
void npuedge_counters_put(struct npuedge_counters *c)
{
	if (c)
		kref_put(&c->ref, npuedge_counters_release);
}

/* Firmware writes sums one by one at the end of a job: try to see all of them from one moment. */
static void npuedge_counters_copy(const struct ne1_fw_counters *hw, u64 *values)
{
	u64 again[NE1_COUNTERS];

	for (u32 i = 0; i < NE1_COUNTERS; i++)
		values[i] = READ_ONCE(hw->value[i]);
	for (u32 tries = 0; tries < 8; tries++) {
		dma_rmb();
		for (u32 i = 0; i < NE1_COUNTERS; i++)
			again[i] = READ_ONCE(hw->value[i]);
		if (!memcmp(again, values, sizeof(again)))
			return;
		memcpy(values, again, sizeof(again));
	}
}

static void npuedge_counters_update(struct npuedge_counters *c)
{
	u64 now[NE1_COUNTERS];

	lockdep_assert_held(&c->lock);

	if (!c->hw || !READ_ONCE(c->edev->perfmon.on))
		return;

	npuedge_counters_copy(c->hw, now);
	for (u32 i = 0; i < NE1_COUNTERS; i++) {
		c->total[i] += now[i] - (now[i] >= c->last[i] ? c->last[i] : 0);
		c->last[i] = now[i];
	}
}

/**
 * npuedge_counters_attach() - firmware is going to know the queue
 * @c: its counters
 * @hw: firmware's sums, which are zeroed
 */
void npuedge_counters_attach(struct npuedge_counters *c, struct ne1_fw_counters *hw)
{
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	memset(hw, 0, sizeof(*hw));
	memset(c->last, 0, sizeof(c->last));
	c->hw = hw;
	spin_unlock_irqrestore(&c->lock, flags);
}

/**
 * npuedge_counters_detach() - firmware does not know the queue any more
 * @c: its counters, which keep their values
 */
void npuedge_counters_detach(struct npuedge_counters *c)
{
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	npuedge_counters_update(c);
	c->hw = NULL;
	spin_unlock_irqrestore(&c->lock, flags);
}

/**
 * npuedge_counters_end() - the queue leaves the device's list, whose lock is held
 * @c: its counters, detached
 */
void npuedge_counters_end(struct npuedge_counters *c)
{
	struct npuedge_device *edev = c->edev;

	lockdep_assert_held(&edev->queues.lock);

	for (u32 i = 0; i < NE1_COUNTERS; i++)
		edev->perfmon.gone[i] += c->total[i];
}

static void npuedge_counters_add(struct npuedge_counters *c, u64 *sum)
{
	spin_lock_irq(&c->lock);
	npuedge_counters_update(c);
	for (u32 i = 0; i < NE1_COUNTERS; i++)
		sum[i] += c->total[i];
	spin_unlock_irq(&c->lock);
}

static void npuedge_counters_begin(struct npuedge_counters *c)
{
	spin_lock_irq(&c->lock);
	memset(c->last, 0, sizeof(c->last));
	spin_unlock_irq(&c->lock);
}

/* ---- counting ---- */

static int npuedge_perfmon_tell(struct npuedge_device *edev, bool on)
{
	const struct ne1_msg msg = { .type = NE1_CMD_COUNTERS, .queue = on };

	return npuedge_fw_call(edev, &msg);
}

/**
 * npuedge_perfmon_restore() - after a boot, have firmware count again
 * @edev: device; a reset runs
 *
 * Return: 0; -ETIMEDOUT or -ECANCELED if firmware does not work.
 */
int npuedge_perfmon_restore(struct npuedge_device *edev)
{
	int ret;

	if (!READ_ONCE(edev->perfmon.on))
		return 0;

	ret = npuedge_perfmon_tell(edev, true);
	return ret == -ETIMEDOUT || ret == -ECANCELED ? ret : 0;
}

/* Firmware begins at zero, and so do we; a reset that comes later finds it on. */
static int npuedge_perfmon_try_begin(struct npuedge_device *edev)
{
	struct npuedge_queue *q;
	int ret;

	guard(rwsem_read)(&edev->reset.lock);
	if (atomic_read(&edev->reset.pending))
		return -ECANCELED;

	scoped_guard(mutex, &edev->queues.lock)
		list_for_each_entry(q, &edev->queues.list, node)
			npuedge_counters_begin(q->counters);

	ret = npuedge_perfmon_tell(edev, true);
	if (!ret)
		WRITE_ONCE(edev->perfmon.on, true);
	return ret;
}

static int npuedge_perfmon_begin(struct npuedge_device *edev)
{
	int cookie, ret;

	ret = npuedge_device_awake(edev, &cookie);
	if (ret)
		return ret;

	ret = -EOPNOTSUPP;
	if (!npuedge_perfmon_counters(edev))
		goto out_asleep;

	do {
		ret = npuedge_perfmon_try_begin(edev);
	} while (ret == -ECANCELED && npuedge_reset_passed(edev));
	if (ret == -ETIMEDOUT) {
		npuedge_reset_schedule(edev, NPUEDGE_RESET_MESSAGE);
		npuedge_reset_wait(edev);
	}
	if (ret == -ETIMEDOUT || ret == -ECANCELED)
		ret = READ_ONCE(edev->lost) ? -ENODEV : -EIO;
	else if (ret)
		ret = -EOPNOTSUPP;

out_asleep:
	npuedge_device_asleep(edev, cookie);
	return ret;
}

static int npuedge_perfmon_try_end(struct npuedge_device *edev)
{
	guard(rwsem_read)(&edev->reset.lock);
	return atomic_read(&edev->reset.pending) ? 0 : npuedge_perfmon_tell(edev, false);
}

/* What firmware counts from now on is not looked at, whether it has heard or not. */
static void npuedge_perfmon_end(struct npuedge_device *edev)
{
	int cookie;

	WRITE_ONCE(edev->perfmon.on, false);
	if (npuedge_device_awake(edev, &cookie))
		return;

	if (npuedge_perfmon_try_end(edev) == -ETIMEDOUT)
		npuedge_reset_schedule(edev, NPUEDGE_RESET_MESSAGE);
	npuedge_device_asleep(edev, cookie);
}

static int npuedge_perfmon_use(struct npuedge_device *edev)
{
	int ret = 0;

	lockdep_assert_held(&edev->perfmon.lock);

	if (!edev->perfmon.users)
		ret = npuedge_perfmon_begin(edev);
	edev->perfmon.users += !ret;
	return ret;
}

static void npuedge_perfmon_unuse(struct npuedge_device *edev)
{
	lockdep_assert_held(&edev->perfmon.lock);

	if (!--edev->perfmon.users)
		npuedge_perfmon_end(edev);
}

/* ---- monitors ---- */

static void npuedge_perfmon_totals(struct npuedge_device *edev, struct npuedge_perfmon *mon,
				   u64 *total)
{
	struct npuedge_queue *q;

	memset(total, 0, sizeof(mon->base));
	if (mon->counters) {
		npuedge_counters_add(mon->counters, total);
		return;
	}

	guard(mutex)(&edev->queues.lock);
	memcpy(total, edev->perfmon.gone, sizeof(mon->base));
	list_for_each_entry(q, &edev->queues.list, node)
		npuedge_counters_add(q->counters, total);
}

static void npuedge_perfmon_free(struct npuedge_perfmon *mon)
{
	npuedge_counters_put(mon->counters);
	kfree(mon);
}

/* Have a monitor count from now on, and give it an id. */
static int npuedge_perfmon_start(struct npuedge_file *f, struct npuedge_perfmon *mon, u32 *id)
{
	struct npuedge_device *edev = f->edev;
	int ret;

	guard(mutex)(&edev->perfmon.lock);
	ret = npuedge_perfmon_use(edev);
	if (ret)
		return ret;

	npuedge_perfmon_totals(edev, mon, mon->base);
	ret = xa_alloc(&f->perfmons, id, mon, XA_LIMIT(1, NPUEDGE_MAX_PERFMONS),
		       GFP_KERNEL_ACCOUNT);
	if (ret)
		npuedge_perfmon_unuse(edev);
	return ret == -EBUSY ? -ENOSPC : ret;
}

/**
 * npuedge_perfmon_create() - make a monitor
 * @f: its owner
 * @q: queue, or NULL: the device
 * @id: out: its id
 *
 * Return: 0, -EACCES, -ENOSPC, -EOPNOTSUPP as the uAPI says; -EIO, -ENODEV, -ENOMEM.
 */
int npuedge_perfmon_create(struct npuedge_file *f, struct npuedge_queue *q, u32 *id)
{
	struct npuedge_perfmon *mon;
	int ret;

	if (!q && !perfmon_capable())
		return -EACCES;

	mon = kzalloc_obj(*mon, GFP_KERNEL_ACCOUNT);
	if (!mon)
		return -ENOMEM;
	if (q) {
		mon->counters = q->counters;
		kref_get(&q->counters->ref);
	}

	ret = npuedge_perfmon_start(f, mon, id);
	if (ret)
		npuedge_perfmon_free(mon);
	return ret;
}

/**
 * npuedge_perfmon_destroy() - end a monitor
 * @f: its owner
 * @id: its id
 *
 * Return: 0 or -ENOENT.
 */
int npuedge_perfmon_destroy(struct npuedge_file *f, u32 id)
{
	struct npuedge_device *edev = f->edev;
	struct npuedge_perfmon *mon;

	guard(mutex)(&edev->perfmon.lock);
	mon = xa_erase(&f->perfmons, id);
	if (!mon)
		return -ENOENT;

	npuedge_perfmon_free(mon);
	npuedge_perfmon_unuse(edev);
	return 0;
}

/**
 * npuedge_perfmon_close() - end all monitors of a file
 * @f: file
 */
void npuedge_perfmon_close(struct npuedge_file *f)
{
	struct npuedge_perfmon *mon;
	unsigned long id;

	xa_for_each(&f->perfmons, id, mon)
		npuedge_perfmon_destroy(f, id);
	xa_destroy(&f->perfmons);
}

static int npuedge_perfmon_snapshot(struct npuedge_file *f, u32 id, bool reset, u64 *values)
{
	struct npuedge_device *edev = f->edev;
	struct npuedge_perfmon *mon;
	u64 total[NE1_COUNTERS];

	guard(mutex)(&edev->perfmon.lock);
	mon = xa_load(&f->perfmons, id);
	if (!mon)
		return -ENOENT;

	npuedge_perfmon_totals(edev, mon, total);
	for (u32 i = 0; i < NE1_COUNTERS; i++)
		values[i] = total[i] - mon->base[i];
	if (reset)
		memcpy(mon->base, total, sizeof(total));
	return 0;
}

static int npuedge_perfmon_put_values(const struct drm_npuedge_array *array,
				      const struct drm_npuedge_perfmon_value *values)
{
	void __user *user = u64_to_user_ptr(array->ptr);
	size_t size = min_t(size_t, array->stride, sizeof(*values));

	for (u32 i = 0; i < array->count; i++) {
		if (copy_to_user(user + (size_t)i * array->stride, &values[i], size))
			return -EFAULT;
	}
	return 0;
}

/**
 * npuedge_perfmon_read() - read counters of a monitor
 * @f: its owner
 * @args: as user space gave them
 *
 * Return: 0, -EINVAL, -ENOENT, -E2BIG, -EFAULT or -ENOMEM.
 */
int npuedge_perfmon_read(struct npuedge_file *f, const struct drm_npuedge_perfmon_read *args)
{
	struct drm_npuedge_perfmon_value *values __free(kvfree) = NULL;
	u64 counters[NE1_COUNTERS];
	int ret;

	if (args->flags & ~DRM_NPUEDGE_PERFMON_RESET || !args->values.count)
		return -EINVAL;

	values = NPUEDGE_ARRAY_COPY(&args->values, struct drm_npuedge_perfmon_value, value,
				    NPUEDGE_MAX_VALUES);
	if (IS_ERR(values))
		return PTR_ERR(values);

	for (u32 i = 0; i < args->values.count; i++) {
		if (!values[i].pad && values[i].counter < NE1_COUNTERS)
			continue;
		drm_dbg(&f->edev->base, "monitor %u: counter %u, not below %u\n", args->id,
			values[i].counter, NE1_COUNTERS);
		return -EINVAL;
	}
	ret = npuedge_perfmon_snapshot(f, args->id, args->flags & DRM_NPUEDGE_PERFMON_RESET,
				       counters);
	if (ret)
		return ret;

	for (u32 i = 0; i < args->values.count; i++)
		values[i].value = counters[array_index_nospec(values[i].counter, NE1_COUNTERS)];
	return npuedge_perfmon_put_values(&args->values, values);
}

/**
 * npuedge_perfmon_init() - prepare a device for monitors
 * @edev: device
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_perfmon_init(struct npuedge_device *edev)
{
	return drmm_mutex_init(&edev->base, &edev->perfmon.lock);
}
