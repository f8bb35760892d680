/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_QUEUE_H
#define NPUEDGE_QUEUE_H

#include <linux/kref.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <drm/gpu_scheduler.h>
#include <drm/npuedge_accel.h>

#include "ne1_fwabi.h"

struct npuedge_device;
struct npuedge_file;
struct npuedge_job;
struct npuedge_counters;
struct npuedge_listener;
struct npuedge_vm;

/**
 * struct npuedge_queue - queue of jobs that run in order
 */
struct npuedge_queue {
	/** @ref: references: the handle, the device's list, each job */
	struct kref ref;
	/** @edev: device */
	struct npuedge_device *edev;
	/** @vm: address space of the jobs; the queue is a user of it */
	struct npuedge_vm *vm;
	/** @listener: hears of changes of the state; the queue has a reference */
	struct npuedge_listener *listener;
	/** @counters: what its jobs have used; the queue has a reference */
	struct npuedge_counters *counters;
	/** @id: what user space calls it; 0: nothing yet */
	u32 id;
	/** @node: entry of the device's list of queues; under its lock */
	struct list_head node;
	/** @priority: enum ne1_priority */
	u32 priority;
	/** @index: firmware's queue number; valid while on the device's list */
	u32 index;

	/** @sched: scheduler of this queue alone */
	struct drm_gpu_scheduler sched;
	/** @entity: its only entity */
	struct drm_sched_entity entity;
	/** @fence_context: context of the hardware fences */
	u64 fence_context;

	/** @sched_lock: protects @pauses, and orders stops and starts of the scheduler */
	struct mutex sched_lock;
	/** @pauses: how many keep the scheduler from running; it runs while there is none */
	u32 pauses;

	/** @hw_lock: serialises messages about this queue; taken by the timeout worker */
	struct mutex hw_lock;
	/** @hw_known: firmware has the queue; under @hw_lock */
	bool hw_known;

	/** @pushed: jobs given to the scheduler, or just about to be */
	atomic64_t pushed;

	/** @lock: lock of the hardware fences; protects the members below */
	spinlock_t lock;
	/** @inflight: jobs in the ring that have not ended, oldest first */
	struct list_head inflight;
	/** @fence_seqno: number of the last hardware fence */
	u64 fence_seqno;
	/** @hw_seqno: seqno of the last job in the ring */
	u64 hw_seqno;
	/** @tail: jobs put into the ring since firmware knows the queue */
	u32 tail;
	/** @started: jobs that the scheduler ran or cancelled */
	u64 started;
	/** @cancel_until: jobs up to this number of @started are cancelled instead of run */
	u64 cancel_until;
	/** @ring: slots in shared memory */
	struct ne1_job *ring;
	/** @results: in shared memory, by slot */
	struct ne1_job_result *results;
	/** @hw: entry of the queue table */
	struct ne1_fw_queue *hw;
	/** @held: firmware was asked not to start a job before the reset that follows */
	bool held;
	/** @online: jobs may be put into the ring */
	bool online;
	/** @state: what user space is told; @state.id is not used */
	struct drm_npuedge_queue_get_state state;
	/** @past_ns: busy time before the last device reset */
	u64 past_ns;
	/** @past_cycles: busy cycles before the last device reset */
	u64 past_cycles;
	/** @past_preempted: jobs put aside before the last device reset */
	u64 past_preempted;
	/** @completed: jobs that have ended, whatever their result */
	u64 completed;
	/** @oldest: number of the job whose time is counted, see npuedge_queue_note_oldest() */
	u64 oldest;
	/** @closed: its owner has destroyed it */
	bool closed;
	/** @hung: number of the job that is being stopped as it takes too long; 0: none */
	u64 hung;
	/** @distrusted: what firmware says of it from now on may have lost data on its way */
	bool distrusted;
	/** @lost_jobs: a device reset has interrupted a job; set and used by the reset worker */
	bool lost_jobs;
	/** @stop_error: how a job ends that firmware stops at our request; 0: we made none */
	int stop_error;

	/** @release_work: frees the queue outside of its scheduler's own worker */
	struct work_struct release_work;
};

/**
 * struct npuedge_queue_look - what firmware says about a queue's oldest job
 */
struct npuedge_queue_look {
	/** @started: it was started and has not ended */
	bool started;
	/** @on_core: a core works on it, as far as firmware tells */
	bool on_core;
	/** @preempted: how often jobs of the queue were put aside since the last device reset */
	u32 preempted;
	/** @busy_ns: busy time of the queue */
	u64 busy_ns;
};

u32 npuedge_queues_per_user(struct npuedge_device *edev);

int npuedge_queue_module_init(void);
void npuedge_queue_module_exit(void);

struct npuedge_queue *npuedge_queue_create(struct npuedge_device *edev, struct npuedge_vm *vm,
					   struct npuedge_listener *listener, u32 priority);
void npuedge_queue_destroy(struct npuedge_queue *q);

/**
 * npuedge_queue_get() - take a reference
 * @q: queue
 *
 * Return: @q.
 */
static inline struct npuedge_queue *npuedge_queue_get(struct npuedge_queue *q)
{
	kref_get(&q->ref);
	return q;
}

void npuedge_queue_put(struct npuedge_queue *q);

/**
 * npuedge_queue_check() - whether jobs may be submitted
 * @q: queue
 *
 * Return: 0, -EIO if the queue is guilty, -ENODEV if it is lost.
 */
static inline int npuedge_queue_check(struct npuedge_queue *q)
{
	switch (READ_ONCE(q->state.state)) {
	case DRM_NPUEDGE_QUEUE_GUILTY:
		return -EIO;
	case DRM_NPUEDGE_QUEUE_LOST:
		return -ENODEV;
	default:
		return 0;
	}
}

void npuedge_queue_get_state(struct npuedge_queue *q, struct drm_npuedge_queue_get_state *out);
void npuedge_queue_usage(struct npuedge_queue *q, u64 *ns, u64 *cycles);

void npuedge_queue_pause(struct npuedge_queue *q);
void npuedge_queue_unpause(struct npuedge_queue *q);
u32 npuedge_queue_process(struct npuedge_queue *q);
bool npuedge_queue_busy(struct npuedge_queue *q);
void npuedge_queue_look(struct npuedge_queue *q, struct npuedge_queue_look *look);
void npuedge_queue_note_oldest(struct npuedge_queue *q);
void npuedge_queue_hold(struct npuedge_queue *q);
bool npuedge_queue_drained(struct npuedge_queue *q);
int npuedge_queue_kill(struct npuedge_queue *q, u64 number);
void npuedge_queue_distrust(struct npuedge_queue *q);
void npuedge_queue_judge(struct npuedge_queue *q);
int npuedge_queue_restore(struct npuedge_queue *q, bool guilty);
void npuedge_queue_lose(struct npuedge_queue *q);

bool npuedge_queues_process(struct npuedge_device *edev);

#endif
