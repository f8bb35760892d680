/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_DEVICE_H
#define NPUEDGE_DEVICE_H

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <drm/drm_device.h>
#include <drm/npuedge_accel.h>

#include "ne1_regs.h"
#include "npuedge_check.h"
#include "npuedge_shrinker.h"

struct npuedge_coredump;
struct npuedge_fw;

/** NPUEDGE_QUEUE_DEPTH - slots of a queue's ring; a power of two */
#define NPUEDGE_QUEUE_DEPTH	64
/** NPUEDGE_QUEUE_WORDS - words of a bitmap of the queues of firmware */
#define NPUEDGE_QUEUE_WORDS	BITS_TO_LONGS(NE1_MAX_QUEUES)

/**
 * struct npuedge_timeouts - time limits of a kind of platform, in milliseconds
 */
struct npuedge_timeouts {
	/** @reset: until the RESET register reads 0 */
	u32 reset;
	/** @boot: from START until firmware is READY */
	u32 boot;
	/** @tlb: a TLB invalidation */
	u32 tlb;
	/** @message: from a message to its reply */
	u32 message;
	/** @heartbeat: firmware that did not beat for so long is dead */
	u32 heartbeat;
	/** @job: device time of a job, see npuedge_reset_job_timedout() */
	u32 job;
	/** @drain: jobs of others have so long to end before the device is reset for one queue */
	u32 drain;
	/** @link: a bus whose link has failed says so within this */
	u32 link;
};

/**
 * enum npuedge_vector - interrupt lines, in the order of their bits in NE1_REG_IRQ_STATUS
 */
enum npuedge_vector {
	/** @NPUEDGE_VECTOR_QUEUE: jobs ended */
	NPUEDGE_VECTOR_QUEUE,
	/** @NPUEDGE_VECTOR_EVENT: messages of the firmware */
	NPUEDGE_VECTOR_EVENT,
	/** @NPUEDGE_VECTOR_MMU: a translation failed */
	NPUEDGE_VECTOR_MMU,
	/** @NPUEDGE_VECTOR_FATAL: firmware is dead, or the chip too hot */
	NPUEDGE_VECTOR_FATAL,
	/** @NPUEDGE_VECTORS: their number */
	NPUEDGE_VECTORS,
	/** @NPUEDGE_VECTOR_NONE: what counts interrupts of a shared line that show no cause */
	NPUEDGE_VECTOR_NONE = NPUEDGE_VECTORS,
	/** @NPUEDGE_IRQ_COUNTS: number of counts */
	NPUEDGE_IRQ_COUNTS,
};

/**
 * struct npuedge_device - one NPU
 *
 * Who may take which lock within which: "Locking" in npuedge_device.c.
 */
struct npuedge_device {
	/** @base: the DRM device; its parent is @dma_dev */
	struct drm_device base;
	/** @dev: platform device: registers, interrupts, runtime PM */
	struct device *dev;
	/** @dma_dev: device whose DMA reaches memory: the PCI function, or @dev on a SoC */
	struct device *dma_dev;
	/** @regs: NE1_BAR_SIZE bytes of registers */
	void __iomem *regs;
	/** @frozen: the bus had an error, and registers are left alone until it has recovered */
	bool frozen;
	/** @latch_lock: makes a read of a LO/HI pair one operation */
	struct mutex latch_lock;
	/** @chip: properties, constant */
	struct drm_npuedge_chip_info chip;
	/** @timeouts: time limits of this platform */
	const struct npuedge_timeouts *timeouts;
	/** @job_timeout_ms: time limit of jobs of queues that are created from now on */
	u32 job_timeout_ms;
	/** @fw: firmware, its shared memory and messages */
	struct npuedge_fw *fw;
	/** @tlb_lock: one TLB invalidation at a time */
	struct mutex tlb_lock;
	/** @tlb_stale: the TLB is to be emptied on runtime resume */
	atomic_t tlb_stale;
	/** @vms: numbers of address spaces, see struct ne1_msg */
	struct xarray vms;
	/** @vm_next: the next of them, so that none is used again soon; under the lock of @vms */
	u32 vm_next;

	/** @irq: interrupt lines */
	struct {
		/** @irq.line: Linux interrupt numbers; only the first is used if shared */
		int line[NPUEDGE_VECTORS];
		/** @irq.shared: one line serves all vectors */
		bool shared;
		/** @irq.wired: lines are levels, not messages */
		bool wired;
		/** @irq.lock: one change of @irq.off at a time */
		struct mutex lock;
		/** @irq.mask_lock: protects the members below, and the enable register */
		spinlock_t mask_lock;
		/** @irq.off: enum npuedge_irq_off, as bits; handlers may run if there is none */
		u32 off;
		/** @irq.masked: NE1_IRQ_* that came too often and are off for a while */
		u32 masked;
		/** @irq.until: how long they are, in jiffies */
		unsigned long until[NPUEDGE_IRQ_COUNTS];
		/** @irq.window: when the window of counting began, in jiffies, by vector */
		unsigned long window[NPUEDGE_IRQ_COUNTS];
		/** @irq.count: interrupts within the window */
		u32 count[NPUEDGE_IRQ_COUNTS];
		/** @irq.storms: times that a vector was masked, for debugfs */
		u32 storms;
		/** @irq.unmask_work: lets masked causes raise interrupts again */
		struct delayed_work unmask_work;
		/** @irq.again_work: looks again after an interrupt that found nothing */
		struct delayed_work again_work;
	} irq;

	/** @memory: buffers, and the shrinker */
	struct npuedge_memory memory;

	/** @queues: queues that firmware knows */
	struct {
		/** @queues.lock: protects the other members */
		struct mutex lock;
		/** @queues.list: struct npuedge_queue; each holds a reference */
		struct list_head list;
		/** @queues.used: firmware's queue numbers that are taken */
		unsigned long used[NPUEDGE_QUEUE_WORDS];
		/** @queues.owner: who made the queue, by number */
		kuid_t owner[NE1_MAX_QUEUES];
	} queues;

	/** @events: who hears what happens */
	struct {
		/** @events.lock: protects @events.list and what is in it */
		spinlock_t lock;
		/** @events.list: struct npuedge_listener */
		struct list_head list;
	} events;

	/** @reset: recovery */
	struct {
		/** @reset.wq: ordered; job timeouts and resets follow one another on it */
		struct workqueue_struct *wq;
		/** @reset.work: the device reset */
		struct work_struct work;
		/** @reset.report_work: tells user space of a reset */
		struct work_struct report_work;
		/** @reset.lock: read: talks to firmware; write: is resetting it */
		struct rw_semaphore lock;
		/**
		 * @reset.pending: a reset is due or runs; firmware is not waited for.  Seen with
		 * @reset.lock held for reading: it has not begun
		 */
		atomic_t pending;
		/** @reset.asleep: stopped by system sleep or for the bus; under @reset.lock */
		bool asleep;
		/** @reset.bus: likewise, for the bus */
		bool bus;
		/** @reset.bus_error: the bus recovers, @dev stays awake; under its device lock */
		bool bus_error;
		/** @reset.bus_work: gives up on a bus that does not recover, and does not say so */
		struct delayed_work bus_work;
		/** @reset.stopped: @lost, and the device touches no memory any more; set once */
		bool stopped;
		/** @reset.wait: woken when @reset.pending or @reset.stopped changes */
		wait_queue_head_t wait;
		/** @reset.count: resets so far, for debugfs and traces */
		atomic_t count;
		/** @reset.reason: enum npuedge_reset_reason of the one that is due */
		u32 reason;
		/** @reset.done_jobs: jobs that ended on any queue; shows progress */
		atomic_t done_jobs;
		/** @reset.good_jobs: those of them that ended well */
		atomic_t good_jobs;
		/** @reset.streak: resets since a job last ended well; for the reset worker */
		u32 streak;
		/** @reset.streak_jobs: @reset.good_jobs at the last reset */
		u32 streak_jobs;
		/** @reset.last: when the last reset was */
		ktime_t last;
	} reset;

	/** @perfmon: performance monitors */
	struct {
		/** @perfmon.lock: protects @perfmon.users, and all monitors */
		struct mutex lock;
		/** @perfmon.users: number of monitors */
		u32 users;
		/** @perfmon.on: firmware counts */
		bool on;
		/** @perfmon.gone: totals of queues that are gone; under queues.lock */
		u64 gone[NE1_COUNTERS];
	} perfmon;

	/** @coredump: what a core dump is copied to; NULL: the kernel has none */
	struct npuedge_coredump *coredump;
	/** @lost: the device does not come back; set once */
	bool lost;
	/** @unplug: one unplug at a time, and once */
	struct {
		/** @unplug.work: unplugs a device whose recovery failed */
		struct work_struct work;
		/** @unplug.lock: protects the members below but @unplug.done */
		struct mutex lock;
		/** @unplug.started: somebody unplugs */
		bool started;
		/** @unplug.stopped: it was stopped already, by shutdown */
		bool stopped;
		/** @unplug.registered: user space sees the device; set once */
		bool registered;
		/** @unplug.done: it has been unplugged */
		struct completion done;
	} unplug;
};

/**
 * to_npuedge_device() - the NPU of a DRM device
 * @drm: DRM device
 *
 * Return: the NPU.
 */
static inline struct npuedge_device *to_npuedge_device(struct drm_device *drm)
{
	return container_of(drm, struct npuedge_device, base);
}

bool npuedge_device_enter(struct npuedge_device *edev, int *cookie);
void npuedge_device_exit(struct npuedge_device *edev, int cookie);
int npuedge_device_awake(struct npuedge_device *edev, int *cookie);
void npuedge_device_asleep(struct npuedge_device *edev, int cookie);
void npuedge_device_send_wedged(struct npuedge_device *edev, char *event);
int npuedge_device_init(struct npuedge_device *edev);
int npuedge_device_register(struct npuedge_device *edev);
void npuedge_device_shutdown(struct npuedge_device *edev);
void npuedge_device_unplug(struct npuedge_device *edev);

#endif
