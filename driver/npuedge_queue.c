// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Queues
 *
 * A queue has a scheduler and an entity of its own, which order its jobs and wait for their
 * dependencies, and a ring that firmware takes jobs from.  Completion is a number in shared
 * memory: all jobs up to it have ended, and their results can be read.
 *
 * A queue that firmware knows is on the device's list, which keeps it alive.  Destroying a queue
 * tells firmware to stop, cancels what has not ended and takes it off the list; jobs that still
 * wait for dependencies are cancelled one by one as their turn comes, and the last of them frees
 * the queue. That happens in a worker, because a scheduler cannot be freed by its own.
 *
 * A queue whose job faulted or hung is guilty: it runs nothing any more.
 */

#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/cred.h>
#include <linux/module.h>

#include <drm/drm_print.h>

#include "npuedge_compat.h"
#include "npuedge_coredump.h"
#include "npuedge_event.h"
#include "npuedge_fw.h"
#include "npuedge_hw.h"
#include "npuedge_job.h"
#include "npuedge_perfmon.h"
#include "npuedge_queue.h"
#include "npuedge_reset.h"
#include "npuedge_ring.h"
#include "npuedge_sched.h"
#include "npuedge_trace.h"
#include "npuedge_vm.h"

/* A job that was started so often, and interrupted by a reset each time, is not started again. */
#define NPUEDGE_JOB_RERUNS	3

/* Frees queues; outlives every device, and is drained before the module goes. */
static struct workqueue_struct *npuedge_release_wq;

/**
 * npuedge_queue_module_init() - make what all devices share
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_queue_module_init(void)
{
	npuedge_release_wq = alloc_workqueue("npuedge-release", WQ_UNBOUND, 0);
	return npuedge_release_wq ? 0 : -ENOMEM;
}

/**
 * npuedge_queue_module_exit() - free what all devices share
 */
void npuedge_queue_module_exit(void)
{
	destroy_workqueue(npuedge_release_wq);
}

static void npuedge_queue_release_work(struct work_struct *work)
{
	struct npuedge_queue *q = container_of(work, struct npuedge_queue, release_work);
	struct npuedge_device *edev = q->edev;

	synchronize_rcu();
	drm_sched_entity_fini(&q->entity);
	/* For good: a timeout that is being handled still may unpause it. */
	npuedge_queue_pause(q);
	npuedge_sched_fini(&q->sched);
	npuedge_vm_put(q->vm);
	npuedge_listener_put(q->listener);
	npuedge_counters_put(q->counters);
	mutex_destroy(&q->hw_lock);
	mutex_destroy(&q->sched_lock);
	/* Who reads a fence's timeline name, which is in q->sched, does so under RCU. */
	kfree_rcu_mightsleep(q);

	drm_dev_put(&edev->base);
	module_put(THIS_MODULE);
}

static void npuedge_queue_release(struct kref *ref)
{
	struct npuedge_queue *q = container_of(ref, struct npuedge_queue, ref);

	queue_work(npuedge_release_wq, &q->release_work);
}

/**
 * npuedge_queue_put() - drop a reference
 * @q: queue, or NULL; any context
 */
void npuedge_queue_put(struct npuedge_queue *q)
{
	if (q)
		kref_put(&q->ref, npuedge_queue_release);
}

/**
 * npuedge_queues_per_user() - queues that a user without CAP_SYS_NICE may have
 * @edev: device
 *
 * Half of them, so that nobody can keep all others from the device.
 *
 * Return: their number.
 */
u32 npuedge_queues_per_user(struct npuedge_device *edev)
{
	return max(edev->chip.queue_limit / 2, 1U);
}

static u32 npuedge_queues_of(struct npuedge_device *edev, kuid_t owner)
{
	u32 count = 0, index;

	lockdep_assert_held(&edev->queues.lock);

	for_each_set_bit(index, edev->queues.used, edev->chip.queue_limit)
		count += uid_eq(edev->queues.owner[index], owner);
	return count;
}

/* -EDQUOT: the user has as many as one may have, unless @privileged. */
static int npuedge_queue_try_index(struct npuedge_queue *q, kuid_t owner, bool privileged)
{
	struct npuedge_device *edev = q->edev;
	u32 limit = edev->chip.queue_limit;
	int ret = 0;

	mutex_lock(&edev->queues.lock);
	q->index = find_first_zero_bit(edev->queues.used, limit);
	if (q->index >= limit) {
		ret = -EBUSY;
	} else if (!privileged &&
		   npuedge_queues_of(edev, owner) >= npuedge_queues_per_user(edev)) {
		ret = -EDQUOT;
	} else {
		__set_bit(q->index, edev->queues.used);
		edev->queues.owner[q->index] = owner;
	}
	mutex_unlock(&edev->queues.lock);
	return ret;
}

static int npuedge_queue_take_index(struct npuedge_queue *q)
{
	struct drm_device *drm = &q->edev->base;
	kuid_t owner = current_euid();
	int ret;

	ret = npuedge_queue_try_index(q, owner, false);
	/* Asked outside of the lock, as a security module may allocate memory for its answer. */
	if (ret == -EDQUOT && capable(CAP_SYS_NICE))
		ret = npuedge_queue_try_index(q, owner, true);

	if (ret == -EBUSY)
		drm_dbg(drm, "all %u queues are taken\n", q->edev->chip.queue_limit);
	if (ret == -EDQUOT)
		drm_dbg(drm, "user %u has %u queues, for more CAP_SYS_NICE is needed\n",
			from_kuid(&init_user_ns, owner), npuedge_queues_per_user(q->edev));
	return ret;
}

static void npuedge_queue_give_index(struct npuedge_queue *q)
{
	struct npuedge_device *edev = q->edev;

	mutex_lock(&edev->queues.lock);
	__clear_bit(q->index, edev->queues.used);
	mutex_unlock(&edev->queues.lock);
}

/* Put it on the device's list, which takes a reference. */
static void npuedge_queue_list(struct npuedge_queue *q)
{
	struct npuedge_device *edev = q->edev;

	mutex_lock(&edev->queues.lock);
	list_add_tail(&npuedge_queue_get(q)->node, &edev->queues.list);
	mutex_unlock(&edev->queues.lock);
}

/*
 * A counter that the management core stores in two halves, hardly ever while we look twice.  One
 * that changes all the time is no counter, and not waited for.
 */
static u64 npuedge_queue_counter(const u64 *counter)
{
	u64 value = READ_ONCE(*counter), again;

	for (u32 tries = 0; tries < 8; tries++) {
		again = READ_ONCE(*counter);
		if (again == value)
			break;
		value = again;
	}
	return value;
}

static void npuedge_queue_usage_locked(struct npuedge_queue *q, u64 *ns, u64 *cycles)
{
	*ns = q->past_ns + (q->hw ? npuedge_queue_counter(&q->hw->busy_ns) : 0);
	*cycles = q->past_cycles + (q->hw ? npuedge_queue_counter(&q->hw->busy_cycles) : 0);
}

static u64 npuedge_queue_preempted(struct npuedge_queue *q)
{
	return q->past_preempted + (q->hw ? READ_ONCE(q->hw->preempted) : 0);
}

/**
 * npuedge_queue_note_oldest() - begin to count the time of a job that has become the oldest
 * @q: queue, locked
 */
void npuedge_queue_note_oldest(struct npuedge_queue *q)
{
	struct npuedge_job *job;
	u64 cycles;

	lockdep_assert_held(&q->lock);

	job = list_first_entry_or_null(&q->inflight, struct npuedge_job, node);
	if (!job || job->number == q->oldest)
		return;

	q->oldest = job->number;
	npuedge_queue_usage_locked(q, &job->busy_ns, &cycles);
	job->done_jobs = atomic_read(&q->edev->reset.done_jobs);
	job->slice = ktime_get();
	job->slice_preempted = q->hw ? READ_ONCE(q->hw->preempted) : 0;
	job->slice_known = true;
	job->turn = false;
}

/* Forget what is shared with firmware, but not the time that it counted. */
static void npuedge_queue_detach(struct npuedge_queue *q)
{
	lockdep_assert_held(&q->lock);

	npuedge_queue_usage_locked(q, &q->past_ns, &q->past_cycles);
	q->past_preempted = npuedge_queue_preempted(q);
	npuedge_counters_detach(q->counters);
	q->hw = NULL;
	q->online = false;
}

/* Firmware does not know the queue any more: its index and shared memory are free. */
static void npuedge_queue_unlist(struct npuedge_queue *q)
{
	struct npuedge_device *edev = q->edev;

	lockdep_assert_held(&edev->reset.lock);

	spin_lock_irq(&q->lock);
	npuedge_queue_detach(q);
	spin_unlock_irq(&q->lock);

	mutex_lock(&edev->queues.lock);
	if (!list_empty(&q->node)) {
		npuedge_counters_end(q->counters);
		list_del_init(&q->node);
		__clear_bit(q->index, edev->queues.used);
		npuedge_queue_put(q);
	}
	mutex_unlock(&edev->queues.lock);
}

static int npuedge_queue_call(struct npuedge_queue *q, u16 type)
{
	const struct ne1_msg msg = { .type = type, .queue = q->index };

	lockdep_assert_held(&q->hw_lock);

	return npuedge_fw_call(q->edev, &msg);
}

/* Tell firmware of the queue; its ring is empty afterwards. */
static int npuedge_queue_hw_create(struct npuedge_queue *q)
{
	struct npuedge_fw_mem *mem = &q->edev->fw->queue[q->index];
	struct npuedge_job *job;
	struct ne1_msg msg = {
		.type = NE1_CMD_QUEUE_CREATE,
		.queue = q->index,
		.create = {
			.pgd = q->vm->pt.root->dma,
			.vm_id = q->vm->id,
			.priority = q->priority,
			.ring = mem->va,
			.results = mem->va + NPUEDGE_QUEUE_DEPTH * sizeof(struct ne1_job),
			.entries = NPUEDGE_QUEUE_DEPTH,
		},
	};
	int ret;

	lockdep_assert_held(&q->edev->reset.lock);

	spin_lock_irq(&q->lock);
	q->ring = mem->cpu;
	q->results = mem->cpu + NPUEDGE_QUEUE_DEPTH * sizeof(struct ne1_job);
	q->hw = npuedge_fw_queue_entry(q->edev, q->index);
	memset(q->hw, 0, sizeof(*q->hw));
	npuedge_counters_attach(q->counters, npuedge_fw_counters_entry(q->edev, q->index));
	q->tail = 0;
	q->hw_seqno = 0;
	q->held = false;
	q->distrusted = false;
	/* Not in the new ring yet: what firmware has ended there are none of them. */
	list_for_each_entry(job, &q->inflight, node)
		job->seqno = S32_MAX;
	spin_unlock_irq(&q->lock);

	WRITE_ONCE(q->vm->known, true);
	mutex_lock(&q->hw_lock);
	ret = npuedge_fw_call(q->edev, &msg);
	q->hw_known = !ret;
	mutex_unlock(&q->hw_lock);
	return ret;
}

/*
 * Have firmware stop the queue and, if @destroy, forget it.  Afterwards no job of it runs.
 * @error is how the job ends that is interrupted.
 */
static int npuedge_queue_hw_stop(struct npuedge_queue *q, int error, bool destroy)
{
	bool busy;
	int ret = 0;

	guard(mutex)(&q->hw_lock);
	if (!q->hw_known)
		return 0;

	spin_lock_irq(&q->lock);
	q->online = false;
	q->stop_error = error;
	busy = !list_empty(&q->inflight);
	spin_unlock_irq(&q->lock);

	if (busy) {
		ret = npuedge_queue_call(q, NE1_CMD_QUEUE_RESET);
		spin_lock_irq(&q->lock);
		q->held &= !!ret;
		spin_unlock_irq(&q->lock);
	}
	if (!ret && destroy) {
		ret = npuedge_queue_call(q, NE1_CMD_QUEUE_DESTROY);
		q->hw_known = ret;
	}
	return ret;
}

/* End a job: @error on its fence. */
static void npuedge_queue_end_job(struct npuedge_queue *q, struct npuedge_job *job, int error)
{
	lockdep_assert_held(&q->lock);

	trace_npuedge_job_done(job, job->number, error);
	list_del_init(&job->node);
	q->completed++;
	atomic_inc(&q->edev->reset.done_jobs);
	if (!error)
		atomic_inc(&q->edev->reset.good_jobs);
	if (error)
		dma_fence_set_error(job->done, error);
	dma_fence_signal_locked(job->done);
	npuedge_job_put(job);
}

/* Cancel what is in flight: the oldest job with @first, those behind it with @error. */
static void npuedge_queue_cancel(struct npuedge_queue *q, int first, int error)
{
	struct npuedge_job *job, *tmp;

	lockdep_assert_held(&q->lock);

	list_for_each_entry_safe(job, tmp, &q->inflight, node) {
		npuedge_queue_end_job(q, job, first);
		first = error;
	}
}

/* Whoever owns the queue hears of it. */
static void npuedge_queue_set_state(struct npuedge_queue *q, u32 state)
{
	u32 id = READ_ONCE(q->id);

	lockdep_assert_held(&q->lock);

	/* Others look at it without the lock. */
	WRITE_ONCE(q->state.state, state);
	/* Until user space knows the queue there is nothing to tell. */
	if (id)
		npuedge_event_send_to(q->listener, DRM_NPUEDGE_EVENT_QUEUE_LOST, id, state);
}

/* The jobs that were pushed up to now are lost, and the queue is not to blame. */
static void npuedge_queue_forgive(struct npuedge_queue *q)
{
	npuedge_queue_set_state(q, DRM_NPUEDGE_QUEUE_INNOCENT);
	q->cancel_until = atomic64_read(&q->pushed);
}

static void npuedge_queue_blame(struct npuedge_queue *q, u32 reason,
				const struct ne1_job_result *result)
{
	lockdep_assert_held(&q->lock);

	if (q->state.state == DRM_NPUEDGE_QUEUE_GUILTY)
		return;

	npuedge_queue_set_state(q, DRM_NPUEDGE_QUEUE_GUILTY);
	q->state.reason = reason;
	q->state.fault = result->fault;
	q->state.fault_va = result->va;
	q->state.fault_cmd = result->cmd;
	q->state.fault_info = result->info;
	drm_dbg(&q->edev->base, "queue %u is guilty: reason %u job %llu fault %u cmd %u va %#llx\n",
		q->index, reason, q->state.fault_job, result->fault, result->cmd, result->va);
}

/* What a result means for the job's fence, and for the queue. */
static int npuedge_queue_judge_result(struct npuedge_queue *q, struct npuedge_job *job,
				      const struct ne1_job_result *result)
{
	if (result->fault == NE1_FAULT_NONE && result->seqno == job->seqno)
		return 0;

	q->state.fault_job = q->state.fault_job ?: job->number;
	if (result->fault == NE1_FAULT_STOPPED && q->stop_error) {
		if (q->stop_error != -ETIME)
			return q->stop_error;
		/* The one that hung may have ended by itself, and the next was met in its place. */
		if (job->number != q->hung) {
			q->state.fault_job = 0;
			npuedge_queue_forgive(q);
			return -ECANCELED;
		}
		npuedge_queue_blame(q, DRM_NPUEDGE_REASON_TIMEOUT, result);
		return -ETIME;
	}
	npuedge_queue_blame(q, DRM_NPUEDGE_REASON_FAULT, result);
	return -EIO;
}

/* Whether a result makes the queue guilty of a fault. */
static bool npuedge_queue_is_fault(struct npuedge_queue *q, struct npuedge_job *job,
				   const struct ne1_job_result *result)
{
	if (q->state.state == DRM_NPUEDGE_QUEUE_GUILTY ||
	    (result->fault == NE1_FAULT_STOPPED && q->stop_error))
		return false;
	return result->fault != NE1_FAULT_NONE || result->seqno != job->seqno;
}

/*
 * A job that was stopped in the place of one that took too long, but ended by itself meanwhile, is
 * put into the ring again if that does no harm, see npuedge_queue_kill().  Until then its number is
 * none that firmware has ended.
 */
static bool npuedge_queue_take_back(struct npuedge_queue *q, struct npuedge_job *job,
				    const struct ne1_job_result *result)
{
	if (result->fault != NE1_FAULT_STOPPED || q->stop_error != -ETIME ||
	    job->number == q->hung || !job->rerun || job->reruns >= NPUEDGE_JOB_RERUNS)
		return false;

	job->reruns++;
	job->seqno += S32_MAX;
	return true;
}

/*
 * End what the device has ended, and count it.  With @stop_at_fault: up to the first job that
 * faulted, which is returned with a reference, and its @result.
 */
static struct npuedge_job *npuedge_queue_process_locked(struct npuedge_queue *q,
							struct ne1_job_result *result,
							bool stop_at_fault, u32 *ended)
{
	struct npuedge_job *job, *tmp;
	u32 done;

	/* The management core stores 64 bits in two halves; each of them is whole. */
	done = lower_32_bits(READ_ONCE(q->hw->done_seqno));
	dma_rmb();
	list_for_each_entry_safe(job, tmp, &q->inflight, node) {
		if (npuedge_ring_passed(lower_32_bits(job->seqno), done))
			break;

		*result = q->results[job->position % NPUEDGE_QUEUE_DEPTH];
		/* What is judged is the copy: the compiler must not read the original again. */
		barrier();
		if (npuedge_queue_take_back(q, job, result))
			break;
		if (stop_at_fault && npuedge_queue_is_fault(q, job, result))
			return npuedge_job_get(job);
		npuedge_queue_end_job(q, job, npuedge_queue_judge_result(q, job, result));
		++*ended;
	}
	npuedge_queue_note_oldest(q);

	/* Firmware takes no further job from a queue that faulted, or that was stopped. */
	job = list_first_entry_or_null(&q->inflight, struct npuedge_job, node);
	if (job && (q->state.state == DRM_NPUEDGE_QUEUE_GUILTY || job->number <= q->cancel_until))
		npuedge_queue_cancel(q, -ECANCELED, -ECANCELED);
	return NULL;
}

/* As npuedge_queue_process_locked(). */
static struct npuedge_job *npuedge_queue_process_some(struct npuedge_queue *q,
						      struct ne1_job_result *result,
						      bool stop_at_fault, u32 *ended)
{
	struct npuedge_job *faulted = NULL;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	if (q->hw && !q->distrusted && !list_empty(&q->inflight))
		faulted = npuedge_queue_process_locked(q, result, stop_at_fault, ended);
	spin_unlock_irqrestore(&q->lock, flags);
	return faulted;
}

/**
 * npuedge_queue_process() - end the jobs that the device has ended
 * @q: queue
 *
 * A fault leaves a core dump, before anybody hears of it.
 *
 * Return: number of jobs that ended.
 */
u32 npuedge_queue_process(struct npuedge_queue *q)
{
	bool cookie = dma_fence_begin_signalling();
	struct ne1_job_result result;
	struct npuedge_job *faulted;
	u32 ended = 0;

	faulted = npuedge_queue_process_some(q, &result, npuedge_coredump_wanted(q->edev), &ended);
	if (faulted) {
		npuedge_coredump_job(faulted, "fault", &result);
		npuedge_job_put(faulted);
		npuedge_queue_process_some(q, &result, false, &ended);
	}
	dma_fence_end_signalling(cookie);
	return ended;
}

/**
 * npuedge_queues_process() - end the jobs of all queues that the device has ended
 * @edev: device
 *
 * Return: true if none has ended, though there are jobs in the device.
 */
bool npuedge_queues_process(struct npuedge_device *edev)
{
	bool cookie = dma_fence_begin_signalling();
	bool waiting = false;
	struct npuedge_queue *q;
	u32 ended = 0;

	mutex_lock(&edev->queues.lock);
	list_for_each_entry(q, &edev->queues.list, node) {
		ended += npuedge_queue_process(q);
		waiting |= !npuedge_queue_drained(q);
	}
	mutex_unlock(&edev->queues.lock);
	dma_fence_end_signalling(cookie);
	return waiting && !ended;
}

/**
 * npuedge_queue_pause() - keep jobs from being run and freed
 * @q: queue
 *
 * A timeout, a reset and suspend may overlap; jobs run again when the last of them is over.
 */
void npuedge_queue_pause(struct npuedge_queue *q)
{
	mutex_lock(&q->sched_lock);
	if (!q->pauses++)
		drm_sched_wqueue_stop(&q->sched);
	mutex_unlock(&q->sched_lock);
}

/**
 * npuedge_queue_unpause() - undo one npuedge_queue_pause()
 * @q: queue
 */
void npuedge_queue_unpause(struct npuedge_queue *q)
{
	mutex_lock(&q->sched_lock);
	if (!--q->pauses)
		drm_sched_wqueue_start(&q->sched);
	mutex_unlock(&q->sched_lock);
}

static int npuedge_queue_init(struct npuedge_queue *q)
{
	struct drm_gpu_scheduler *sched = &q->sched;
	const struct drm_sched_init_args args = {
		.ops = &npuedge_sched_ops,
		.timeout_wq = q->edev->reset.wq,
		.num_rqs = 1,
		.credit_limit = NPUEDGE_QUEUE_DEPTH,
		.timeout = msecs_to_jiffies(READ_ONCE(q->edev->job_timeout_ms)),
		.name = "npuedge",
		.dev = q->edev->dev,
	};
	int ret;

	ret = drm_sched_init(sched, &args);
	if (ret)
		return ret;

	ret = drm_sched_entity_init(&q->entity, DRM_SCHED_PRIORITY_KERNEL, &sched, 1, NULL);
	if (ret)
		drm_sched_fini(sched);
	return ret;
}

static int npuedge_queue_bring_up(struct npuedge_queue *q)
{
	struct npuedge_device *edev = q->edev;
	int ret;

	down_read(&edev->reset.lock);
	ret = npuedge_queue_hw_create(q);
	spin_lock_irq(&q->lock);
	if (ret)
		npuedge_queue_detach(q);
	else
		q->online = true;
	spin_unlock_irq(&q->lock);
	if (!ret)
		npuedge_queue_list(q);
	up_read(&edev->reset.lock);
	return ret;
}

/* Take an index and make firmware and driver know the queue. */
static int npuedge_queue_start(struct npuedge_queue *q)
{
	struct npuedge_device *edev = q->edev;
	int ret;

	ret = npuedge_queue_take_index(q);
	if (ret)
		return ret;

	ret = npuedge_fw_alloc_queue(edev, q->index);
	if (ret)
		goto err_index;

	/* A reset that comes in between makes firmware forget what it knew. */
	do {
		ret = npuedge_queue_bring_up(q);
	} while (ret == -ECANCELED && npuedge_reset_passed(edev));
	if (!ret)
		return 0;

	/* Whatever firmware has made of it: make it forget before the index is used again. */
	if (ret == -ETIMEDOUT || ret == -EPROTO) {
		npuedge_reset_schedule(edev, NPUEDGE_RESET_MESSAGE);
		npuedge_reset_wait(edev);
	}
	if (ret != -EBUSY)
		ret = READ_ONCE(edev->lost) ? -ENODEV : -EIO;
err_index:
	npuedge_queue_give_index(q);
	return ret;
}

/**
 * npuedge_queue_create() - make a queue
 * @edev: device, entered and awake
 * @vm: address space of its jobs
 * @listener: who hears of its fate
 * @priority: enum ne1_priority
 *
 * Return: the queue, ended by npuedge_queue_destroy(); or an error pointer: -EBUSY if the device
 * or its firmware has no queue left, -EDQUOT if the caller may not have another, -EIO if firmware
 * failed (it is reset then), -ENODEV, -ENOMEM.
 */
struct npuedge_queue *npuedge_queue_create(struct npuedge_device *edev, struct npuedge_vm *vm,
					   struct npuedge_listener *listener, u32 priority)
{
	struct npuedge_queue *q;
	int ret;

	q = kzalloc_obj(*q, GFP_KERNEL_ACCOUNT);
	if (!q)
		return ERR_PTR(-ENOMEM);
	q->counters = npuedge_counters_create(edev);
	if (!q->counters) {
		kfree(q);
		return ERR_PTR(-ENOMEM);
	}

	kref_init(&q->ref);
	mutex_init(&q->sched_lock);
	mutex_init(&q->hw_lock);
	spin_lock_init(&q->lock);
	INIT_LIST_HEAD(&q->node);
	INIT_LIST_HEAD(&q->inflight);
	INIT_WORK(&q->release_work, npuedge_queue_release_work);
	q->edev = edev;
	q->priority = priority;
	q->fence_context = dma_fence_context_alloc(1);

	ret = npuedge_queue_init(q);
	if (ret) {
		npuedge_counters_put(q->counters);
		kfree(q);
		return ERR_PTR(ret);
	}

	/* From here on npuedge_queue_put() cleans up. */
	q->vm = npuedge_vm_get(vm);
	q->listener = npuedge_listener_get(listener);
	drm_dev_get(&edev->base);
	/* A worker frees it, by our code, perhaps when the last file and the device are gone. */
	__module_get(THIS_MODULE);

	ret = npuedge_queue_start(q);
	if (ret) {
		npuedge_queue_put(q);
		return ERR_PTR(ret);
	}
	return q;
}

/* Its jobs run no more; the fences of those that were interrupted tell so. */
static void npuedge_queue_end(struct npuedge_queue *q, int first, int error)
{
	npuedge_queue_process(q);
	spin_lock_irq(&q->lock);
	npuedge_queue_cancel(q, first, error);
	spin_unlock_irq(&q->lock);
}

/**
 * npuedge_queue_destroy() - end a queue and drop the creator's reference
 * @q: queue
 *
 * On return its jobs have ended, or a reset that ends them is due; only those wait longer that the
 * scheduler has not run yet.
 */
void npuedge_queue_destroy(struct npuedge_queue *q)
{
	struct npuedge_device *edev = q->edev;
	int cookie, ret;

	spin_lock_irq(&q->lock);
	/* npuedge_queue_restore() looks at it without the lock. */
	WRITE_ONCE(q->closed, true);
	spin_unlock_irq(&q->lock);

	/* If the device is gone, so are the jobs: npuedge_queue_lose(). */
	if (npuedge_device_awake(edev, &cookie))
		goto out_put;

	down_read(&edev->reset.lock);
	/* A reset, or resume, is going to look at the queue, which may be paused: stay listed. */
	ret = atomic_read(&edev->reset.pending) ? -ECANCELED :
						  npuedge_queue_hw_stop(q, -ECANCELED, true);
	if (!ret) {
		npuedge_queue_end(q, -ECANCELED, -ECANCELED);
		npuedge_queue_unlist(q);
	}
	up_read(&edev->reset.lock);

	/* A reset finds a closed queue on the list, and ends it; if -ECANCELED, one is due. */
	if (ret && ret != -ECANCELED)
		npuedge_reset_schedule(edev, NPUEDGE_RESET_MESSAGE);
	npuedge_device_asleep(edev, cookie);

out_put:
	npuedge_queue_put(q);
}

/**
 * npuedge_queue_usage() - device time spent on a queue
 * @q: queue
 * @ns: out: nanoseconds
 * @cycles: out: cycles of the engine clock
 */
void npuedge_queue_usage(struct npuedge_queue *q, u64 *ns, u64 *cycles)
{
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	npuedge_queue_usage_locked(q, ns, cycles);
	spin_unlock_irqrestore(&q->lock, flags);
}

/**
 * npuedge_queue_get_state() - health of a queue
 * @q: queue
 * @out: filled but for its id
 */
void npuedge_queue_get_state(struct npuedge_queue *q, struct drm_npuedge_queue_get_state *out)
{
	u64 cycles;

	spin_lock_irq(&q->lock);
	*out = q->state;
	if (out->state != DRM_NPUEDGE_QUEUE_GUILTY)
		out->fault_job = 0;
	npuedge_queue_usage_locked(q, &out->busy_ns, &cycles);
	out->completed = q->completed;
	out->preempted = npuedge_queue_preempted(q);
	spin_unlock_irq(&q->lock);
}

/*
 * Whether the oldest job was started.  Firmware that does not say so (ABI 1.0) takes a job from the
 * ring when it starts it, or a little before.
 */
static bool npuedge_queue_started(struct npuedge_queue *q, const struct npuedge_job *job)
{
	if (q->edev->fw->abi_minor >= 1)
		return lower_32_bits(READ_ONCE(q->hw->run_seqno)) == lower_32_bits(job->seqno);
	return npuedge_ring_passed(READ_ONCE(q->hw->head), job->position);
}

/* Whether firmware has ended the job, which we have not seen yet: it may work on the next. */
static bool npuedge_queue_passed(struct npuedge_queue *q, const struct npuedge_job *job)
{
	u32 done = lower_32_bits(READ_ONCE(q->hw->done_seqno));

	return !npuedge_ring_passed(lower_32_bits(job->seqno), done);
}

/**
 * npuedge_queue_look() - see how the oldest job is doing
 * @q: queue
 * @look: out; all zero but the busy time if firmware has no job
 */
void npuedge_queue_look(struct npuedge_queue *q, struct npuedge_queue_look *look)
{
	struct npuedge_job *job;
	unsigned long flags;
	u64 cycles;

	*look = (struct npuedge_queue_look) { };
	spin_lock_irqsave(&q->lock, flags);
	npuedge_queue_usage_locked(q, &look->busy_ns, &cycles);
	job = list_first_entry_or_null(&q->inflight, struct npuedge_job, node);
	if (job && q->hw) {
		look->preempted = READ_ONCE(q->hw->preempted);
		look->started = npuedge_queue_started(q, job);
		look->on_core = look->started &&
				(q->edev->fw->abi_minor < 1 || READ_ONCE(q->hw->on_core));
	}
	spin_unlock_irqrestore(&q->lock, flags);
}

/**
 * npuedge_queue_busy() - whether a core works for a queue
 * @q: queue
 *
 * Return: true if so; with firmware of ABI 1.0, if a job was started that has not ended.
 */
bool npuedge_queue_busy(struct npuedge_queue *q)
{
	struct npuedge_queue_look look;

	npuedge_queue_look(q, &look);
	return look.on_core;
}

/**
 * npuedge_queue_hold() - ask firmware not to start the oldest job of a queue
 * @q: queue, on the device's list; a reset follows
 *
 * Firmware would put a job that was started aside, where it would be lost: it may end first, unless
 * it can be run again.  Does not wait.
 */
void npuedge_queue_hold(struct npuedge_queue *q)
{
	const struct ne1_msg msg = { .type = NE1_CMD_QUEUE_SUSPEND, .queue = q->index };
	struct npuedge_job *job;
	bool hold;

	spin_lock_irq(&q->lock);
	job = list_first_entry_or_null(&q->inflight, struct npuedge_job, node);
	hold = job && q->hw && !q->held && !npuedge_queue_passed(q, job) &&
	       (job->rerun || !npuedge_queue_started(q, job));
	spin_unlock_irq(&q->lock);

	if (!hold || !npuedge_fw_tell(q->edev, &msg))
		return;
	spin_lock_irq(&q->lock);
	q->held = true;
	spin_unlock_irq(&q->lock);
}

/**
 * npuedge_queue_drained() - whether no job is in the ring
 * @q: queue
 *
 * Return: true if so.
 */
bool npuedge_queue_drained(struct npuedge_queue *q)
{
	bool drained;

	spin_lock_irq(&q->lock);
	drained = list_empty(&q->inflight);
	spin_unlock_irq(&q->lock);
	return drained;
}

/*
 * A job took too long, and the device does not work on it any more.  If it has ended by itself
 * meanwhile, nobody is to blame.
 */
static void npuedge_queue_end_hung(struct npuedge_queue *q)
{
	const struct ne1_job_result none = { };
	struct npuedge_job *job;

	spin_lock_irq(&q->lock);
	/* Who destroys the queue may have come in between, and stops the next job. */
	if (q->stop_error == -ETIME)
		q->stop_error = 0;
	job = list_first_entry_or_null(&q->inflight, struct npuedge_job, node);
	if (job && job->number == q->hung) {
		q->state.fault_job = job->number;
		npuedge_queue_blame(q, DRM_NPUEDGE_REASON_TIMEOUT, &none);
		npuedge_queue_cancel(q, -ETIME, -ECANCELED);
	}
	q->hung = 0;
	spin_unlock_irq(&q->lock);
}

/**
 * npuedge_queue_distrust() - take no more jobs for ended until the device was reset
 * @q: queue, on the device's list; the bus is frozen, and the device may go on
 */
void npuedge_queue_distrust(struct npuedge_queue *q)
{
	npuedge_queue_process(q);
	spin_lock_irq(&q->lock);
	q->distrusted = true;
	spin_unlock_irq(&q->lock);
}

/**
 * npuedge_queue_judge() - find out what a reset of the device costs a queue
 * @q: queue; the device has stopped, shared memory is as it left it
 *
 * A job that was started may have changed memory, and is not run a second time unless user space
 * said that this does no harm.  Even then not for ever: it may be what stops the device.
 */
void npuedge_queue_judge(struct npuedge_queue *q)
{
	struct npuedge_job *job;

	npuedge_queue_process(q);

	spin_lock_irq(&q->lock);
	list_for_each_entry(job, &q->inflight, node) {
		bool ended = q->hw && q->distrusted && npuedge_queue_passed(q, job);

		if (!ended && !(q->hw && npuedge_queue_started(q, job)))
			break;
		if (job->rerun && job->reruns < NPUEDGE_JOB_RERUNS)
			job->reruns++;
		else
			q->lost_jobs = true;
		if (!ended)
			break;
	}
	npuedge_queue_detach(q);
	spin_unlock_irq(&q->lock);

	mutex_lock(&q->hw_lock);
	q->hw_known = false;
	mutex_unlock(&q->hw_lock);
}

/*
 * Put the jobs in flight into the empty ring, or cancel all of them; not for a queue that has had
 * its end meanwhile, or whose device is asleep.
 */
static void npuedge_queue_repost_locked(struct npuedge_queue *q)
{
	struct npuedge_job *job;

	lockdep_assert_held(&q->lock);

	if (!q->hw || q->closed || q->state.state == DRM_NPUEDGE_QUEUE_GUILTY ||
	    q->state.state == DRM_NPUEDGE_QUEUE_LOST)
		return;

	if (q->lost_jobs) {
		npuedge_queue_forgive(q);
		npuedge_queue_cancel(q, -ECANCELED, -ECANCELED);
		q->lost_jobs = false;
	}
	list_for_each_entry(job, &q->inflight, node)
		npuedge_job_post(job);
	q->oldest = 0;
	npuedge_queue_note_oldest(q);
	q->stop_error = 0;
	q->online = true;
	if (q->tail)
		npuedge_write(q->edev, NE1_DOORBELL(q->index), 1);
}

static void npuedge_queue_repost(struct npuedge_queue *q)
{
	spin_lock_irq(&q->lock);
	npuedge_queue_repost_locked(q);
	spin_unlock_irq(&q->lock);
}

/**
 * npuedge_queue_kill() - have firmware stop a queue whose job hangs
 * @q: queue
 * @number: the job
 *
 * For the timeout worker.  Jobs behind one that ends by itself before it could be stopped go on,
 * unless one of them was stopped in its place and cannot be run again.
 *
 * Return: 0 if the job has ended; an error if firmware cannot do it.
 */
int npuedge_queue_kill(struct npuedge_queue *q, u64 number)
{
	int ret;

	spin_lock_irq(&q->lock);
	q->hung = number;
	spin_unlock_irq(&q->lock);

	ret = npuedge_queue_hw_stop(q, -ETIME, false);
	if (ret)
		return ret;

	npuedge_queue_process(q);
	npuedge_queue_end_hung(q);
	npuedge_queue_repost(q);
	return 0;
}

/**
 * npuedge_queue_restore() - bring a queue back after a reset of the device
 * @q: queue, judged before firmware was booted
 * @guilty: the job for which npuedge_queue_kill() was called is the cause, if it has not ended
 *
 * A closed queue ends here, as does a guilty one's work.  If that changes after it was looked at:
 * npuedge_queue_repost() looks again, with the lock, and who closes it waits for reset.lock to end
 * it.
 *
 * Return: 0, or an error if firmware does not take the queue.
 */
int npuedge_queue_restore(struct npuedge_queue *q, bool guilty)
{
	int ret;

	if (READ_ONCE(q->closed)) {
		npuedge_queue_end(q, -ECANCELED, -ECANCELED);
		npuedge_queue_unlist(q);
		return 0;
	}

	if (guilty)
		npuedge_queue_end_hung(q);
	if (READ_ONCE(q->state.state) == DRM_NPUEDGE_QUEUE_GUILTY)
		return 0;

	ret = npuedge_queue_hw_create(q);
	if (!ret)
		npuedge_queue_repost(q);
	return ret;
}

/**
 * npuedge_queue_lose() - end a queue whose device is gone
 * @q: queue; the device touches no memory any more
 */
void npuedge_queue_lose(struct npuedge_queue *q)
{
	npuedge_queue_process(q);

	spin_lock_irq(&q->lock);
	npuedge_queue_set_state(q, DRM_NPUEDGE_QUEUE_LOST);
	npuedge_queue_cancel(q, -ENODEV, -ENODEV);
	spin_unlock_irq(&q->lock);

	mutex_lock(&q->hw_lock);
	q->hw_known = false;
	mutex_unlock(&q->hw_lock);
	npuedge_queue_unlist(q);
}
