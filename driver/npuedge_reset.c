// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Recovery
 *
 * A job that takes too long is first looked at: perhaps its interrupt got lost, or other queues
 * had the device, see npuedge_reset_may_wait().  Then, step by step:
 *
 * 1. firmware is told to stop the queue: its jobs end, nobody else notices;
 * 2. if that fails, the device is reset and firmware booted anew.  As long as firmware lives, jobs
 *    of other queues that are on a core get some time to end before.  Queues are created again.
 *    Jobs that were not started run then as if nothing had happened, as do those that may run
 *    twice.  A queue that had another job interrupted loses its jobs, as each may need what the
 *    one before it should have made, and is told that it is innocent;
 * 3. if firmware does not boot, or resets follow one another without a job that ends well in
 *    between, the device is lost: all fences signal, the device is unplugged.
 *
 * The limit of a job is time on a core, by default 2 s on silicon (job_timeout_ms of debugfs); it
 * is looked at that often, so that a job that hangs is ended after twice that at most.  Recovery
 * adds less than 2 s: a message without an answer (200 ms), a heartbeat that does not come
 * (300 ms), jobs of others that are let end (100 ms), reset (100 ms), boot (1 s, or as long until
 * a device whose registers are all ones is given up).  An FPGA and the
 * model are given 30 s in place of 2 s.  A job that waits for its turn does so as long as others
 * work, for ever if those are privileged; then closing its queue ends it.
 *
 * When the bus resets the device, which user space may ask for, jobs on a core get the same time,
 * the others wait, and afterwards it goes on like step 2.
 *
 * So it does after an uncorrectable error of the bus, but jobs on a core get no time: what they
 * have read or written may have got lost on its way.  While the bus is frozen nothing touches the
 * device, registers read as all ones, and it is not known to have stopped: what that costs is
 * found out when the bus has recovered.  If it does not the device is lost.  A device that shows
 * nothing but ones without such an error is lost after a second: it is not there any more.
 *
 * The accel device sends an event to user space after each reset, WEDGED=none, and when it is
 * lost, WEDGED=rebind,bus-reset: what helps then.
 *
 * Timeouts and resets run on one ordered workqueue.  Fences wait for it, so that nothing here
 * allocates memory or takes a lock under which memory is allocated.
 */

#include <linux/delay.h>
#include <linux/pm_runtime.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "npuedge_compat.h"
#include "npuedge_coredump.h"
#include "npuedge_event.h"
#include "npuedge_fw.h"
#include "npuedge_hw.h"
#include "npuedge_irq.h"
#include "npuedge_job.h"
#include "npuedge_perfmon.h"
#include "npuedge_plat.h"
#include "npuedge_queue.h"
#include "npuedge_reset.h"
#include "npuedge_trace.h"

/* So many resets in a row do not help; they are not in a row if they are further apart. */
#define NPUEDGE_RESET_STREAK	8
#define NPUEDGE_RESET_STREAK_MS	10000

/* Longer than the PCI core waits for a function, and less than what counts as a hung task. */
#define NPUEDGE_RESET_BUS_MS	100000

/*
 * A reset is due: firmware is not talked to any more, who waits for it gives up.  That is one step
 * for others: were it two, a reset might end in between, and leave a firmware that nobody talks to
 * and no reset.  Returns whether none was due.
 */
static bool npuedge_reset_claim(struct npuedge_device *edev, bool begins)
{
	struct npuedge_fw *fw = edev->fw;
	bool first;

	spin_lock_irq(&fw->lock);
	first = !atomic_xchg(&edev->reset.pending, 1);
	if (first || begins)
		fw->running = false;
	spin_unlock_irq(&fw->lock);
	wake_up_all(&edev->reset.wait);
	return first;
}

static void npuedge_reset_begin(struct npuedge_device *edev)
{
	npuedge_reset_claim(edev, true);
}

/*
 * Within the lock: who holds it for reading and finds a reset due knows that it is still to come,
 * and who asks for one then is not told that there is one.  Firmware that was stopped again since
 * it was booted is somebody's who waits for the lock, to begin with another.
 */
static void npuedge_reset_end(struct npuedge_device *edev)
{
	struct npuedge_fw *fw = edev->fw;

	lockdep_assert_held_write(&edev->reset.lock);

	spin_lock_irq(&fw->lock);
	if (fw->running || READ_ONCE(edev->lost))
		atomic_set(&edev->reset.pending, 0);
	spin_unlock_irq(&fw->lock);
	wake_up_all(&edev->reset.wait);
}

/**
 * npuedge_reset_reason_name() - a word for a reason
 * @reason: enum npuedge_reset_reason
 *
 * Return: the word.
 */
const char *npuedge_reset_reason_name(u32 reason)
{
	static const char * const names[] = {
		[NPUEDGE_RESET_ASKED] = "asked",
		[NPUEDGE_RESET_HANG] = "hang",
		[NPUEDGE_RESET_FATAL] = "fatal",
		[NPUEDGE_RESET_PANIC] = "panic",
		[NPUEDGE_RESET_MESSAGE] = "message",
		[NPUEDGE_RESET_PROTOCOL] = "protocol",
		[NPUEDGE_RESET_TLB] = "tlb",
		[NPUEDGE_RESET_BUS] = "bus",
	};

	return reason < ARRAY_SIZE(names) ? names[reason] : "unknown";
}

/**
 * npuedge_reset_schedule() - have the device reset soon
 * @edev: device, awake; any process context
 * @reason: why
 */
void npuedge_reset_schedule(struct npuedge_device *edev, enum npuedge_reset_reason reason)
{
	if (READ_ONCE(edev->lost) || !npuedge_reset_claim(edev, false))
		return;

	WRITE_ONCE(edev->reset.reason, reason);
	/* The caller has the device awake, and the worker finds it so. */
	pm_runtime_get_noresume(edev->dev);
	if (!queue_work(edev->reset.wq, &edev->reset.work))
		pm_runtime_put_noidle(edev->dev);
}

/**
 * npuedge_reset_cancel() - wait for a reset that runs, drop one that is due
 * @edev: device, lost
 */
void npuedge_reset_cancel(struct npuedge_device *edev)
{
	if (cancel_work_sync(&edev->reset.work))
		pm_runtime_put_noidle(edev->dev);
}

static bool npuedge_reset_is_over(struct npuedge_device *edev)
{
	return READ_ONCE(edev->lost) ? READ_ONCE(edev->reset.stopped) :
				       !atomic_read(&edev->reset.pending);
}

/**
 * npuedge_reset_wait() - wait until no reset is due
 * @edev: device; the caller holds none of the locks that a reset takes
 *
 * On return either the device has been reset or, if it is lost, it has stopped: in both cases it
 * does not use what it knew before.
 */
void npuedge_reset_wait(struct npuedge_device *edev)
{
	wait_event(edev->reset.wait, npuedge_reset_is_over(edev));
}

/**
 * npuedge_reset_passed() - wait until no reset is due, to try once more what it has interrupted
 * @edev: device; the caller holds none of the locks that a reset takes
 *
 * However often: resets follow one another only if somebody asks for them, or the bus fails, else
 * the device is lost.
 *
 * Return: whether to try; not if the device is lost, nor if the caller is killed meanwhile.
 */
bool npuedge_reset_passed(struct npuedge_device *edev)
{
	return !wait_event_killable(edev->reset.wait, npuedge_reset_is_over(edev)) &&
	       !READ_ONCE(edev->lost);
}

/**
 * npuedge_reset_hold() - keep the device from being reset
 * @edev: device, awake; the caller holds none of the locks that a reset takes
 *
 * Until npuedge_reset_release() registers are there, and mean what they say unless it is lost.
 */
void npuedge_reset_hold(struct npuedge_device *edev)
{
	down_read(&edev->reset.lock);
	while (edev->reset.asleep && !READ_ONCE(edev->lost)) {
		up_read(&edev->reset.lock);
		npuedge_reset_wait(edev);
		down_read(&edev->reset.lock);
	}
}

/**
 * npuedge_reset_release() - undo npuedge_reset_hold()
 * @edev: device
 */
void npuedge_reset_release(struct npuedge_device *edev)
{
	up_read(&edev->reset.lock);
}

/* The list does not change while reset.lock is held for writing. */
static void npuedge_reset_stop_queues(struct npuedge_device *edev)
{
	struct npuedge_queue *q;

	lockdep_assert_held_write(&edev->reset.lock);

	list_for_each_entry(q, &edev->queues.list, node)
		npuedge_queue_pause(q);
}

static void npuedge_reset_start_queues(struct npuedge_device *edev)
{
	struct npuedge_queue *q;

	lockdep_assert_held_write(&edev->reset.lock);

	list_for_each_entry(q, &edev->queues.list, node)
		npuedge_queue_unpause(q);
}

static void npuedge_reset_judge_queues(struct npuedge_device *edev)
{
	struct npuedge_queue *q;

	list_for_each_entry(q, &edev->queues.list, node)
		npuedge_queue_judge(q);
}

static void npuedge_reset_distrust_queues(struct npuedge_device *edev)
{
	struct npuedge_queue *q;

	list_for_each_entry(q, &edev->queues.list, node)
		npuedge_queue_distrust(q);
}

static int npuedge_reset_restore_queues(struct npuedge_device *edev, struct npuedge_queue *guilty)
{
	struct npuedge_queue *q, *tmp;
	int ret;

	list_for_each_entry_safe(q, tmp, &edev->queues.list, node) {
		npuedge_queue_get(q);
		ret = npuedge_queue_restore(q, q == guilty);
		/* A closed queue is off the list now: nobody else would start its scheduler. */
		if (!ret && list_empty(&q->node))
			npuedge_queue_unpause(q);
		npuedge_queue_put(q);
		if (ret)
			return ret;
	}
	return 0;
}

/* Stop the device, and get it going again. */
static int npuedge_reset_try(struct npuedge_device *edev, struct npuedge_queue *guilty)
{
	int ret;

	npuedge_irq_disable(edev, NPUEDGE_IRQ_OFF_STOPPED);
	ret = npuedge_hw_reset(edev);
	if (ret)
		return ret;

	npuedge_reset_judge_queues(edev);
	ret = npuedge_fw_boot(edev);
	if (ret)
		return ret;

	npuedge_irq_enable(edev, NPUEDGE_IRQ_OFF_STOPPED);
	ret = npuedge_perfmon_restore(edev);
	ret = ret ?: npuedge_reset_restore_queues(edev, guilty);
	/* Its panic would have asked for a reset, and been told that there is one. */
	return ret ?: npuedge_fw_check(edev);
}

/* Twice, as the first try may have met the end of what went wrong. */
static int npuedge_reset_restart(struct npuedge_device *edev, struct npuedge_queue *guilty)
{
	int ret;

	ret = npuedge_reset_try(edev, guilty);
	if (!ret)
		return 0;

	npuedge_fw_msg_stop(edev);
	return npuedge_reset_try(edev, guilty);
}

/*
 * With reset.lock held for writing, and queues paused.  A PCI function loses its access to memory,
 * which is about to be freed: registers of ones say neither that it has stopped nor that it is
 * gone.  On a system on chip nothing of the kind can be done to a device that does not reset.
 */
static void npuedge_reset_lose_queues(struct npuedge_device *edev)
{
	struct npuedge_queue *q, *tmp;

	npuedge_irq_disable(edev, NPUEDGE_IRQ_OFF_LOST);
	if (npuedge_hw_reset(edev))
		drm_err(&edev->base, "device does not stop\n");
	npuedge_pci_stop_dma(edev->dma_dev);
	WRITE_ONCE(edev->reset.stopped, true);

	list_for_each_entry_safe(q, tmp, &edev->queues.list, node) {
		npuedge_queue_get(q);
		npuedge_queue_lose(q);
		npuedge_queue_unpause(q);
		npuedge_queue_put(q);
	}
}

/**
 * npuedge_reset_lose() - give the device up
 * @edev: device
 *
 * On return it touches no memory, unless it neither resets nor is a PCI function, and all fences
 * have signalled or do so when their dependencies have.
 */
void npuedge_reset_lose(struct npuedge_device *edev)
{
	bool cookie = dma_fence_begin_signalling();

	WRITE_ONCE(edev->lost, true);
	npuedge_fw_msg_stop(edev);

	down_write(&edev->reset.lock);
	/* A reset that was under way may have started it. */
	npuedge_fw_msg_stop(edev);
	/* Sleep has stopped them once, and nobody will start them again. */
	if (edev->reset.asleep)
		npuedge_reset_start_queues(edev);
	edev->reset.asleep = false;
	npuedge_reset_stop_queues(edev);
	npuedge_reset_lose_queues(edev);
	npuedge_reset_end(edev);
	up_write(&edev->reset.lock);
	dma_fence_end_signalling(cookie);
}

/* Whether resets follow one another, and nothing works in between.  Counts this one. */
static bool npuedge_reset_useless(struct npuedge_device *edev, u32 reason)
{
	u32 good = atomic_read(&edev->reset.good_jobs);
	ktime_t now = ktime_get();

	if (good != edev->reset.streak_jobs ||
	    ktime_ms_delta(now, edev->reset.last) > NPUEDGE_RESET_STREAK_MS)
		edev->reset.streak = 0;
	edev->reset.streak_jobs = good;
	edev->reset.last = now;
	if (reason == NPUEDGE_RESET_ASKED)
		return false;
	return ++edev->reset.streak > NPUEDGE_RESET_STREAK;
}

/* Whether cores work for other queues, and whether jobs of theirs were started at all. */
static bool npuedge_reset_others_busy(struct npuedge_device *edev, struct npuedge_queue *q,
				      bool *started)
{
	struct npuedge_queue_look look;
	struct npuedge_queue *other;
	bool busy = false;

	*started = false;
	mutex_lock(&edev->queues.lock);
	list_for_each_entry(other, &edev->queues.list, node) {
		if (other == q)
			continue;
		npuedge_queue_look(other, &look);
		*started |= look.started;
		busy |= look.on_core;
	}
	mutex_unlock(&edev->queues.lock);
	return busy;
}

/*
 * Before the device is reset for one queue, or by the bus: jobs of others that were started may
 * end.  Those that were put aside go on only if firmware gives them a core, for which a little
 * patience must do, once no job ends any more.
 */
static void npuedge_reset_drain(struct npuedge_device *edev, struct npuedge_queue *guilty)
{
	u32 limit = edev->timeouts->drain, step = max(limit / 100, 1U), off_core = 0, ended = 0;
	struct npuedge_queue *q;
	bool started;

	for (u32 waited = 0; waited < limit; waited += step) {
		/* Before anything is said of the oldest jobs: they may have ended. */
		npuedge_queues_process(edev);

		mutex_lock(&edev->queues.lock);
		list_for_each_entry(q, &edev->queues.list, node) {
			if (q != guilty)
				npuedge_queue_hold(q);
		}
		mutex_unlock(&edev->queues.lock);

		off_core++;
		if (npuedge_reset_others_busy(edev, guilty, &started) ||
		    ended != atomic_read(&edev->reset.done_jobs))
			off_core = 0;
		if (!started || off_core > 3)
			break;
		ended = atomic_read(&edev->reset.done_jobs);
		msleep(step);
	}
}

/*
 * After a reset.  Firmware that has stopped since it was looked at could say so, but who heard that
 * was told that a reset is due; the next job to time out would take the blame.  A reset that runs
 * meanwhile is waited for: firmware that boots has not stopped.
 */
static void npuedge_reset_look_again(struct npuedge_device *edev)
{
	down_read(&edev->reset.lock);
	if (!READ_ONCE(edev->lost) && !edev->reset.asleep && npuedge_fw_check(edev))
		npuedge_reset_schedule(edev, NPUEDGE_RESET_PANIC);
	up_read(&edev->reset.lock);
}

/* What a reset has led to: step 3 if it failed. */
static void npuedge_reset_conclude(struct npuedge_device *edev, struct npuedge_queue *guilty,
				   u32 reason, int error)
{
	atomic_inc(&edev->reset.count);
	trace_npuedge_reset(atomic_read(&edev->reset.count), guilty, reason, error);
	if (error) {
		WRITE_ONCE(edev->lost, true);
		npuedge_fw_msg_stop(edev);
		npuedge_reset_lose_queues(edev);
	} else {
		npuedge_reset_start_queues(edev);
	}
}

/*
 * Whether the bus has an error.  Of a link that fails we may know first, by registers of ones: what
 * it reports is collected, and printed, before we hear of it.
 */
static bool npuedge_reset_bus_failed(struct npuedge_device *edev)
{
	u32 limit = edev->timeouts->link, step = max(limit / 100, 1U);

	for (u32 waited = 0;; waited += step) {
		if (READ_ONCE(edev->frozen) || READ_ONCE(edev->reset.bus_error))
			return true;
		if (waited >= limit || npuedge_read(edev, NE1_REG_ID) != U32_MAX)
			return false;
		msleep(step);
	}
}

/*
 * Whether something failed, or was not tried, only because the bus has to recover.  That says
 * nothing of the device: it stays stopped until then.
 */
static bool npuedge_reset_left_to_bus(struct npuedge_device *edev, int error)
{
	lockdep_assert_held_write(&edev->reset.lock);

	if (!error || !npuedge_reset_bus_failed(edev))
		return false;
	edev->reset.asleep = true;
	edev->reset.bus = true;
	/* Those that a reset has judged have nothing more to say. */
	npuedge_reset_distrust_queues(edev);
	return true;
}

/*
 * Step 2, and if it fails step 3; with reset.lock held for writing.  -EAGAIN: the bus had an error
 * meanwhile, and the device stays stopped until it has recovered.
 */
static int npuedge_reset_locked(struct npuedge_device *edev, struct npuedge_queue *guilty,
				u32 reason)
{
	int ret = -EIO;

	npuedge_reset_stop_queues(edev);
	npuedge_coredump_device(edev, guilty, reason);
	if (npuedge_reset_useless(edev, reason))
		drm_err(&edev->base, "%u resets, and no job ended well\n", edev->reset.streak - 1);
	else
		ret = npuedge_reset_restart(edev, guilty);
	if (npuedge_reset_left_to_bus(edev, ret))
		return -EAGAIN;
	npuedge_reset_conclude(edev, guilty, reason, ret);
	return ret;
}

static void npuedge_reset_report(struct npuedge_device *edev, u32 reason, int error)
{
	if (error) {
		drm_err(&edev->base, "device is lost: it does not start again (%d)\n", error);
		queue_work(system_dfl_wq, &edev->unplug.work);
		return;
	}

	drm_warn(&edev->base, "device was reset (%s)\n", npuedge_reset_reason_name(reason));
	npuedge_event_send(edev, DRM_NPUEDGE_EVENT_RESET, 0, atomic_read(&edev->reset.count));
	queue_work(system_dfl_wq, &edev->reset.report_work);
}

/*
 * A device that was given up, or put to sleep, before we got the lock has stopped, and must stay
 * so: who did that sees to the queues.
 */
static void npuedge_reset_device(struct npuedge_device *edev, struct npuedge_queue *guilty,
				 u32 reason)
{
	bool cookie = dma_fence_begin_signalling(), stopped;
	int ret = 0;

	npuedge_reset_begin(edev);
	down_write(&edev->reset.lock);
	stopped = READ_ONCE(edev->lost) || edev->reset.asleep;
	if (!stopped) {
		/* Resume may have ended what we began. */
		npuedge_reset_begin(edev);
		ret = npuedge_reset_locked(edev, guilty, reason);
		stopped = ret == -EAGAIN;
		if (!stopped)
			npuedge_reset_end(edev);
	}
	up_write(&edev->reset.lock);
	dma_fence_end_signalling(cookie);

	if (stopped)
		return;
	npuedge_reset_report(edev, reason, ret);
	npuedge_reset_look_again(edev);
}

static void npuedge_reset_work(struct work_struct *work)
{
	struct npuedge_device *edev = container_of(work, struct npuedge_device, reset.work);

	/* A timeout handler may have had the device reset since this one was asked for. */
	if (!READ_ONCE(edev->lost) && atomic_read(&edev->reset.pending))
		npuedge_reset_device(edev, NULL, READ_ONCE(edev->reset.reason));

	pm_runtime_mark_last_busy(edev->dev);
	pm_runtime_put_autosuspend(edev->dev);
}

/* Sending an event allocates memory, which no fence may wait for. */
static void npuedge_reset_report_work(struct work_struct *work)
{
	struct npuedge_device *edev = container_of(work, struct npuedge_device, reset.report_work);
	int cookie;

	if (!npuedge_device_enter(edev, &cookie))
		return;
	npuedge_device_send_wedged(edev, "WEDGED=none");
	npuedge_device_exit(edev, cookie);
}

/* Timers count jiffies, and firmware stops a little late: what is short of this is not over. */
static bool npuedge_reset_time_over(s64 ms, u32 limit)
{
	return ms >= limit - limit / 16;
}

/*
 * The job is on a core: whether it has had its time there.  Time of earlier turns is what firmware
 * has counted; the turn that goes on began when the job became its queue's oldest, if nobody else
 * can have had the device since, else when we first saw it there.
 */
static bool npuedge_reset_used_up(struct npuedge_job *job, const struct npuedge_queue_look *look,
				  bool others_started, u32 limit)
{
	u32 done = atomic_read(&job->queue->edev->reset.done_jobs);
	s64 before = div_u64(look->busy_ns - job->busy_ns, NSEC_PER_MSEC);
	bool alone = done == job->done_jobs && !others_started;
	ktime_t now = ktime_get();

	if (npuedge_reset_time_over(before, limit))
		return true;
	if (job->slice_known && job->slice_preempted == look->preempted && (alone || job->turn))
		return npuedge_reset_time_over(ktime_ms_delta(now, job->slice) + before, limit);

	job->slice = now;
	job->slice_preempted = look->preempted;
	job->slice_known = true;
	job->turn = true;
	return false;
}

/*
 * Whether a job may have more time.  The limit is for the time that it spends on a core: while it
 * waits for its turn, or was put aside, it waits as long as others work, which is for ever only if
 * these are privileged.  If nobody works, that is explained once: perhaps the doorbell was not
 * heard.  A job that a reset put into the ring again begins anew.
 */
static bool npuedge_reset_may_wait(struct npuedge_job *job)
{
	struct npuedge_queue *q = job->queue;
	struct npuedge_device *edev = q->edev;
	u32 limit = jiffies_to_msecs(q->sched.timeout);
	s64 age = ktime_ms_delta(ktime_get(), job->posted);
	struct npuedge_queue_look look;
	bool others_started, others_busy;

	if (age * 4 < 3 * (s64)limit)
		return true;

	npuedge_queue_look(q, &look);
	others_busy = npuedge_reset_others_busy(edev, q, &others_started);
	if (look.on_core)
		return !npuedge_reset_used_up(job, &look, others_started, limit);

	job->slice_known = false;
	npuedge_write(edev, NE1_DOORBELL(q->index), 1);
	return others_busy || !job->extended++;
}

/**
 * npuedge_reset_job_timedout() - a job's time is over
 * @job: job; its queue is paused
 *
 * Called every time that the queue's time limit has passed; runs on the reset workqueue.  A job may
 * use the limit on a core, and is stopped before it has used it twice.  On return the job has
 * ended, or may have more time.
 */
void npuedge_reset_job_timedout(struct npuedge_job *job)
{
	struct npuedge_queue *q = job->queue;
	struct npuedge_device *edev = q->edev;
	int ret;

	/* Who gives the device up waits for us only if we began before. */
	if (READ_ONCE(edev->lost))
		return;

	/* What was said and not heard: interrupts get lost. */
	npuedge_fw_handle_events(edev);
	npuedge_queue_process(q);
	if (!job->done_valid || dma_fence_is_signaled(job->done) || READ_ONCE(edev->lost) ||
	    atomic_read(&edev->reset.pending) || npuedge_reset_may_wait(job))
		return;

	drm_dbg(&edev->base, "queue %u: job %llu took longer than %u ms\n", q->index,
		job->number, jiffies_to_msecs(q->sched.timeout));
	npuedge_coredump_job(job, "timeout", NULL);
	ret = npuedge_queue_kill(q, job->number);
	/* -ECANCELED: who stopped firmware (a reset, suspend, unbind) sees to the queue. */
	if (!ret || ret == -ECANCELED)
		return;

	if (npuedge_fw_alive(edev)) {
		drm_err(&edev->base, "firmware lives, but does not stop queue %u\n", q->index);
		npuedge_reset_drain(edev, q);
	} else {
		drm_err(&edev->base, "firmware does not stop queue %u, it is dead\n", q->index);
	}
	npuedge_reset_device(edev, q, NPUEDGE_RESET_HANG);
}

/*
 * With interrupts disabled and a reset due: wait for those who were at the registers before.  What
 * begins now sees that it has to stay away.
 */
static void npuedge_reset_leave_registers(struct npuedge_device *edev)
{
	npuedge_irq_flush(edev);
	flush_workqueue(edev->reset.wq);
}

/*
 * Have firmware start no job, or start jobs again.  If it does not answer nobody knows what it
 * does, and it is booted anew.
 */
static bool npuedge_reset_hold_jobs(struct npuedge_device *edev, bool on)
{
	const struct ne1_msg msg = { .type = NE1_CMD_HOLD, .queue = on };
	int ret;

	if (edev->fw->abi_minor < 2)
		return false;

	ret = npuedge_fw_call(edev, &msg);
	if (ret == -ETIMEDOUT || (ret && !on))
		npuedge_reset_schedule(edev, NPUEDGE_RESET_MESSAGE);
	return !ret;
}

/* Whether jobs are in the device that are to end: those that were started or, if not @held, all. */
static bool npuedge_reset_jobs_left(struct npuedge_device *edev, bool held)
{
	struct npuedge_queue_look look;
	struct npuedge_queue *q;
	bool left = false;

	lockdep_assert_held_write(&edev->reset.lock);

	list_for_each_entry(q, &edev->queues.list, node) {
		npuedge_queue_process(q);
		npuedge_queue_look(q, &look);
		left |= held ? look.started : !npuedge_queue_drained(q);
	}
	return left;
}

/* Wait until they have ended; false if that takes longer than a job may. */
static bool npuedge_reset_run_dry(struct npuedge_device *edev, bool held)
{
	u32 limit = min(READ_ONCE(edev->job_timeout_ms), edev->timeouts->job);

	for (u32 waited = 0; waited <= limit; waited += 20) {
		/*
		 * One that ends has not been started any more a little before it has ended.
		 * Firmware is through with that when it answers.
		 */
		if (!npuedge_reset_jobs_left(edev, held))
			return !held || npuedge_reset_hold_jobs(edev, true);
		if (atomic_read(&edev->reset.pending))
			return false;
		msleep(20);
	}
	return false;
}

/**
 * npuedge_reset_suspend() - stop the device, so that it may lose power
 * @edev: device, awake
 *
 * Jobs that were started end before; the others run after npuedge_reset_resume().  Firmware of an
 * ABI before 1.2 starts jobs as long as there are any in the rings, and all of these have to end.
 *
 * Return: 0, or -EBUSY if jobs do not end in time; then everything goes on.
 */
int npuedge_reset_suspend(struct npuedge_device *edev)
{
	bool cookie, held, dry = false, lost;

	flush_work(&edev->reset.work);
	cookie = dma_fence_begin_signalling();
	down_write(&edev->reset.lock);
	/* That reset may have failed.  What the bus has stopped goes on before there is sleep. */
	lost = READ_ONCE(edev->lost);
	if (!lost && !edev->reset.bus) {
		npuedge_reset_stop_queues(edev);
		held = npuedge_reset_hold_jobs(edev, true);
		dry = npuedge_reset_run_dry(edev, held);
		if (!dry && held)
			npuedge_reset_hold_jobs(edev, false);
		if (!dry)
			npuedge_reset_start_queues(edev);
	}
	if (dry) {
		npuedge_reset_begin(edev);
		edev->reset.asleep = true;
		npuedge_irq_disable(edev, NPUEDGE_IRQ_OFF_STOPPED);
		npuedge_hw_reset(edev);
		npuedge_reset_judge_queues(edev);
	}
	up_write(&edev->reset.lock);
	dma_fence_end_signalling(cookie);

	if (!dry && !lost)
		return -EBUSY;
	npuedge_reset_leave_registers(edev);
	/* Who has found it lost may have just said so. */
	if (READ_ONCE(edev->lost))
		flush_work(&edev->unplug.work);
	return 0;
}

/**
 * npuedge_reset_resume() - undo npuedge_reset_suspend()
 * @edev: device with power
 *
 * Return: 0, or an error if the device is lost.
 */
int npuedge_reset_resume(struct npuedge_device *edev)
{
	bool cookie = dma_fence_begin_signalling();
	int ret;

	down_write(&edev->reset.lock);
	edev->reset.asleep = false;
	/* Between an error and the end of its recovery the bus need not reach the device. */
	ret = READ_ONCE(edev->reset.bus_error) ? -EAGAIN : npuedge_reset_restart(edev, NULL);
	if (npuedge_reset_left_to_bus(edev, ret)) {
		ret = 0;
	} else if (ret) {
		WRITE_ONCE(edev->lost, true);
		npuedge_fw_msg_stop(edev);
		npuedge_reset_lose_queues(edev);
		queue_work(system_dfl_wq, &edev->unplug.work);
	} else {
		npuedge_reset_start_queues(edev);
	}
	if (!edev->reset.bus)
		npuedge_reset_end(edev);
	up_write(&edev->reset.lock);
	dma_fence_end_signalling(cookie);
	npuedge_reset_look_again(edev);
	return ret;
}

/* Of a device that has stopped already, for the bus or for sleep, nothing is left to do. */
static void npuedge_reset_stop_for_bus(struct npuedge_device *edev)
{
	npuedge_reset_begin(edev);
	down_write(&edev->reset.lock);
	if (!READ_ONCE(edev->lost)) {
		/* A reset that was under way may have ended what we began. */
		npuedge_reset_begin(edev);
		npuedge_irq_disable(edev, NPUEDGE_IRQ_OFF_STOPPED);
		if (!edev->reset.asleep) {
			edev->reset.asleep = true;
			edev->reset.bus = true;
			npuedge_reset_stop_queues(edev);
			/*
			 * Nobody shall find a fault later, and look for its reason in registers.
			 * If it does not obey, as on a frozen bus, then it will the bus: until then
			 * jobs may go on, and even begin, and they are judged later.
			 */
			if (npuedge_hw_reset(edev))
				npuedge_reset_distrust_queues(edev);
			else
				npuedge_reset_judge_queues(edev);
		}
	}
	up_write(&edev->reset.lock);
	npuedge_reset_leave_registers(edev);
}

/* Who found it lost may be at its registers still, and who gives it up after that one. */
static void npuedge_reset_wait_for_loss(struct npuedge_device *edev)
{
	flush_workqueue(edev->reset.wq);
	flush_work(&edev->unplug.work);
}

/**
 * npuedge_reset_bus_begin() - stop the device, so that the bus can reset it
 * @edev: device, which is not unbound until npuedge_reset_bus_end(); jobs get some time to end
 *
 * In between nobody uses it: jobs wait, and so do calls that need it.
 */
void npuedge_reset_bus_begin(struct npuedge_device *edev)
{
	int cookie;

	pm_runtime_get_sync(edev->dev);
	if (!npuedge_device_enter(edev, &cookie)) {
		npuedge_reset_wait_for_loss(edev);
		return;
	}
	npuedge_reset_drain(edev, NULL);
	npuedge_reset_stop_for_bus(edev);
	npuedge_device_exit(edev, cookie);
	if (READ_ONCE(edev->lost))
		npuedge_reset_wait_for_loss(edev);
}

/*
 * User space may have the device reset while the bus recovers from an error.  If that did not help
 * it stays stopped, until whoever saw the error says more, or for some time.
 */
static bool npuedge_reset_bus_works(struct npuedge_device *edev)
{
	WRITE_ONCE(edev->frozen, false);
	if (!edev->reset.bus_error || npuedge_read(edev, NE1_REG_ID) == NE1_ID_MAGIC)
		return true;
	WRITE_ONCE(edev->frozen, true);
	return false;
}

/**
 * npuedge_reset_bus_forget() - the device is being unbound, or works, and hears no more of the bus
 * @edev: device
 */
void npuedge_reset_bus_forget(struct npuedge_device *edev)
{
	cancel_delayed_work_sync(&edev->reset.bus_work);
	if (edev->reset.bus_error)
		pm_runtime_put_noidle(edev->dev);
	WRITE_ONCE(edev->reset.bus_error, false);
}

/**
 * npuedge_reset_bus_end() - start the device again, which the bus has reset
 * @edev: device
 */
void npuedge_reset_bus_end(struct npuedge_device *edev)
{
	bool cookie = dma_fence_begin_signalling(), stopped;
	int ret = 0;

	down_write(&edev->reset.lock);
	stopped = edev->reset.bus && !READ_ONCE(edev->lost) && npuedge_reset_bus_works(edev);
	if (stopped) {
		edev->reset.asleep = false;
		edev->reset.bus = false;
		/* Whoever calls us keeps the bus from telling of another error: no use waiting. */
		ret = npuedge_reset_restart(edev, NULL);
		npuedge_reset_conclude(edev, NULL, NPUEDGE_RESET_BUS, ret);
		npuedge_reset_end(edev);
	}
	up_write(&edev->reset.lock);
	dma_fence_end_signalling(cookie);

	if (stopped) {
		/* Nobody need say any more that the bus has recovered. */
		npuedge_reset_bus_forget(edev);
		npuedge_reset_report(edev, NPUEDGE_RESET_BUS, ret);
		npuedge_reset_look_again(edev);
	}
	pm_runtime_mark_last_busy(edev->dev);
	pm_runtime_put_autosuspend(edev->dev);
}

/* Older kernels tell nobody that they could not recover. */
static void npuedge_reset_bus_work(struct work_struct *work)
{
	struct npuedge_device *edev = container_of(to_delayed_work(work), struct npuedge_device,
						   reset.bus_work);

	if (READ_ONCE(edev->lost))
		return;
	drm_err(&edev->base, "device is lost: the bus does not recover\n");
	WRITE_ONCE(edev->lost, true);
	queue_work(system_dfl_wq, &edev->unplug.work);
}

/**
 * npuedge_reset_bus_error() - stop the device, as the bus had an uncorrectable error
 * @edev: device, which may be unbound before the bus has recovered
 * @frozen: nothing may touch the device
 *
 * Until npuedge_reset_bus_resume() nobody uses it, as with npuedge_reset_bus_begin(), but jobs get
 * no time to end: they may have lost data.
 */
void npuedge_reset_bus_error(struct npuedge_device *edev, bool frozen)
{
	int cookie;

	/* First, as it may be asleep, and be woken up now. */
	npuedge_reset_begin(edev);
	if (frozen)
		WRITE_ONCE(edev->frozen, true);
	if (!edev->reset.bus_error)
		pm_runtime_get_sync(edev->dev);
	WRITE_ONCE(edev->reset.bus_error, true);

	if (npuedge_device_enter(edev, &cookie)) {
		npuedge_reset_stop_for_bus(edev);
		npuedge_device_exit(edev, cookie);
	}
	if (READ_ONCE(edev->lost))
		npuedge_reset_wait_for_loss(edev);
	else
		mod_delayed_work(system_dfl_wq, &edev->reset.bus_work,
				 msecs_to_jiffies(NPUEDGE_RESET_BUS_MS));
}

/**
 * npuedge_reset_bus_resume() - start the device again, whose bus has recovered
 * @edev: device that npuedge_reset_bus_recovered() was called for
 */
void npuedge_reset_bus_resume(struct npuedge_device *edev)
{
	cancel_delayed_work_sync(&edev->reset.bus_work);
	if (!edev->reset.bus_error)
		return;
	WRITE_ONCE(edev->reset.bus_error, false);
	npuedge_reset_bus_end(edev);
}

/**
 * npuedge_reset_bus_lost() - give the device up, which the bus cannot reach any more
 * @edev: device
 *
 * On return all its fences have signalled, or do so when their dependencies have.
 */
void npuedge_reset_bus_lost(struct npuedge_device *edev)
{
	WRITE_ONCE(edev->frozen, true);
	mod_delayed_work(system_dfl_wq, &edev->reset.bus_work, 0);
	flush_delayed_work(&edev->reset.bus_work);
	npuedge_reset_wait_for_loss(edev);
	npuedge_reset_bus_resume(edev);
}

/**
 * npuedge_reset_bus_recovered() - the bus can reach the device again
 * @edev: device that npuedge_reset_bus_error() was called for, or one that was bound since
 *
 * It stays stopped until npuedge_reset_bus_resume().
 *
 * Return: 0, also if the device was lost before; -ENODEV if it does not answer, or -ETIMEDOUT if
 * it does not stop: in both cases it is lost now.
 */
int npuedge_reset_bus_recovered(struct npuedge_device *edev)
{
	int cookie, ret;

	if (!READ_ONCE(edev->lost))
		WRITE_ONCE(edev->frozen, false);
	/* It may have been started since, by a reset that user space wanted, or by its driver. */
	npuedge_reset_bus_error(edev, false);
	if (!npuedge_device_enter(edev, &cookie))
		return 0;

	down_write(&edev->reset.lock);
	ret = npuedge_read(edev, NE1_REG_ID) == NE1_ID_MAGIC ? npuedge_hw_reset(edev) : -ENODEV;
	up_write(&edev->reset.lock);
	npuedge_device_exit(edev, cookie);
	if (ret)
		npuedge_reset_bus_lost(edev);
	return ret;
}

static void npuedge_reset_fini(struct drm_device *drm, void *wq)
{
	destroy_workqueue(wq);
}

/**
 * npuedge_reset_init() - prepare recovery
 * @edev: device
 *
 * The workqueue lives as long as the DRM device: schedulers of queues that outlive the hardware
 * use it.
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_reset_init(struct npuedge_device *edev)
{
	init_rwsem(&edev->reset.lock);
	init_waitqueue_head(&edev->reset.wait);
	INIT_WORK(&edev->reset.work, npuedge_reset_work);
	INIT_WORK(&edev->reset.report_work, npuedge_reset_report_work);
	INIT_DELAYED_WORK(&edev->reset.bus_work, npuedge_reset_bus_work);

	edev->reset.wq = alloc_ordered_workqueue("npuedge-reset", WQ_MEM_RECLAIM);
	if (!edev->reset.wq)
		return -ENOMEM;
	return drmm_add_action_or_reset(&edev->base, npuedge_reset_fini, edev->reset.wq);
}
