// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Jobs
 *
 * A job exists from the submit call until its scheduler has freed it and it is out of the ring.
 * All that it needs is allocated at submit, so that running it writes one slot, one index and one
 * doorbell.  It keeps the device awake and its queue alive.
 *
 * Every job passes run_job: a job that must not run any more gets its error there.  That way
 * nothing but the scheduler ever takes jobs off its lists.
 */

#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include "npuedge_compat.h"
#include "npuedge_hw.h"
#include "npuedge_inject.h"
#include "npuedge_job.h"
#include "npuedge_queue.h"
#include "npuedge_reset.h"
#include "npuedge_trace.h"

/* Not one of kmalloc()'s: those are a third larger, and kernels clear what they allocate. */
static struct kmem_cache *npuedge_job_cache;

/**
 * npuedge_job_module_init() - make what all devices share
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_job_module_init(void)
{
	npuedge_job_cache = KMEM_CACHE(npuedge_job, SLAB_ACCOUNT);
	return npuedge_job_cache ? 0 : -ENOMEM;
}

/**
 * npuedge_job_module_exit() - free what all devices share, after the last queue
 */
void npuedge_job_module_exit(void)
{
	kmem_cache_destroy(npuedge_job_cache);
}

static const char *npuedge_fence_driver_name(struct dma_fence *fence)
{
	return "npuedge";
}

static const char *npuedge_fence_timeline_name(struct dma_fence *fence)
{
	return "queue";
}

static const struct dma_fence_ops npuedge_fence_ops = {
	.get_driver_name = npuedge_fence_driver_name,
	.get_timeline_name = npuedge_fence_timeline_name,
};

static void npuedge_job_release(struct kref *ref)
{
	struct npuedge_job *job = container_of(ref, struct npuedge_job, ref);
	struct npuedge_queue *q = job->queue;
	struct device *dev = q->edev->dev;

	if (job->done_valid)
		dma_fence_put(job->done);
	else
		kfree(job->done);

	if (job->awake) {
		pm_runtime_mark_last_busy(dev);
		pm_runtime_put_autosuspend(dev);
	}
	/* Last the queue, which keeps this module and so the cache. */
	kmem_cache_free(npuedge_job_cache, job);
	npuedge_queue_put(q);
}

/**
 * npuedge_job_put() - drop a reference
 * @job: job; any context
 */
void npuedge_job_put(struct npuedge_job *job)
{
	kref_put(&job->ref, npuedge_job_release);
}

/**
 * npuedge_job_abort() - give up a job that was not armed
 * @job: job
 */
void npuedge_job_abort(struct npuedge_job *job)
{
	drm_sched_job_cleanup(&job->base);
	npuedge_job_put(job);
}

/* Mostly it is awake, which takes half as long to find out as to have it woken up. */
static int npuedge_job_keep_awake(struct device *dev)
{
	return pm_runtime_get_if_active(dev) > 0 ? 0 : pm_runtime_resume_and_get(dev);
}

/**
 * npuedge_job_create() - make a job with everything it needs to run
 * @q: queue
 * @client_id: DRM client, for the scheduler's traces
 *
 * The device is awake until the job ends.
 *
 * Return: the job, or an error pointer.
 */
struct npuedge_job *npuedge_job_create(struct npuedge_queue *q, u64 client_id)
{
	struct npuedge_job *job;
	int ret;

	job = kmem_cache_zalloc(npuedge_job_cache, GFP_KERNEL);
	if (!job)
		return ERR_PTR(-ENOMEM);

	kref_init(&job->ref);
	INIT_LIST_HEAD(&job->node);
	job->queue = npuedge_queue_get(q);

	job->done = kzalloc_obj(*job->done, GFP_KERNEL_ACCOUNT);
	if (!job->done) {
		ret = -ENOMEM;
		goto err_put;
	}

	ret = npuedge_job_keep_awake(q->edev->dev);
	if (ret)
		goto err_put;
	job->awake = true;

	ret = drm_sched_job_init(&job->base, &q->entity, 1, q, client_id);
	if (ret)
		goto err_put;
	return job;

err_put:
	npuedge_job_put(job);
	return ERR_PTR(ret);
}

/**
 * npuedge_job_describe() - describe a job as firmware wants it
 * @job: job
 * @desc: out: what is put into the ring; its seqno is valid if the job was put there
 */
void npuedge_job_describe(const struct npuedge_job *job, struct ne1_job *desc)
{
	*desc = (struct ne1_job) {
		.seqno = job->seqno,
		.cores = job->cores,
		.param_va = job->param_va,
		.profile_va = job->profile_va,
	};
	for (u32 i = 0; i < job->cores; i++) {
		desc->stream[i].va = job->stream_va[i];
		desc->stream[i].size = job->stream_size[i];
	}
}

/**
 * npuedge_job_post() - put a job into its queue's ring
 * @job: job on the queue's list of jobs in flight; the queue is online and locked
 *
 * The scheduler's credits guarantee a free slot.  The caller rings the doorbell, and looks after
 * the oldest job's time.
 */
void npuedge_job_post(struct npuedge_job *job)
{
	struct npuedge_queue *q = job->queue;

	lockdep_assert_held(&q->lock);

	job->seqno = ++q->hw_seqno;
	job->position = q->tail;
	job->posted = ktime_get();
	npuedge_job_describe(job, &q->ring[q->tail % NPUEDGE_QUEUE_DEPTH]);
	dma_wmb();
	WRITE_ONCE(q->hw->tail, ++q->tail);
}

/* Whether the job may not run any more, and why; counts it in any case. */
static int npuedge_job_refused(struct npuedge_queue *q)
{
	q->started++;

	switch (q->state.state) {
	case DRM_NPUEDGE_QUEUE_LOST:
		return -ENODEV;
	case DRM_NPUEDGE_QUEUE_GUILTY:
		return -ECANCELED;
	default:
		return q->closed || !q->online || q->started <= q->cancel_until ? -ECANCELED : 0;
	}
}

/* Put a job into the ring, unless it may not run any more.  Returns its fence, or why not. */
static struct dma_fence *npuedge_job_start(struct npuedge_job *job)
{
	struct npuedge_queue *q = job->queue;
	struct dma_fence *fence;
	int ret;

	lockdep_assert_held(&q->lock);

	ret = npuedge_job_refused(q);
	if (ret) {
		q->completed++;
		return ERR_PTR(ret);
	}

	dma_fence_init(job->done, &npuedge_fence_ops, &q->lock, q->fence_context,
		       ++q->fence_seqno);
	job->done_valid = true;
	job->number = q->started;
	fence = dma_fence_get(job->done);

	kref_get(&job->ref);
	list_add_tail(&job->node, &q->inflight);
	npuedge_job_post(job);
	npuedge_queue_note_oldest(q);
	trace_npuedge_job_run(job, q->started, 0);
	/* Within the lock: a reset takes registers away only after it has set the queue offline. */
	if (!npuedge_inject(NPUEDGE_INJECT_POST))
		npuedge_write(q->edev, NE1_DOORBELL(q->index), 1);
	return fence;
}

static struct dma_fence *npuedge_job_run(struct drm_sched_job *base)
{
	struct npuedge_job *job = to_npuedge_job(base);
	bool cookie = dma_fence_begin_signalling();
	struct npuedge_queue *q = job->queue;
	struct dma_fence *fence;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	fence = npuedge_job_start(job);
	spin_unlock_irqrestore(&q->lock, flags);
	dma_fence_end_signalling(cookie);
	return fence;
}

static void npuedge_job_free(struct drm_sched_job *base)
{
	struct npuedge_job *job = to_npuedge_job(base);

	/* Others may keep the scheduler's fence for long after this module is gone. */
	npuedge_sched_fence_detach(base->s_fence);

	drm_sched_job_cleanup(base);
	npuedge_job_put(job);
}

static enum drm_gpu_sched_stat npuedge_job_timedout(struct drm_sched_job *base)
{
	struct npuedge_queue *q = to_npuedge_job(base)->queue;
	enum drm_gpu_sched_stat stat;
	bool cookie;

	cookie = dma_fence_begin_signalling();
	npuedge_queue_pause(q);
	npuedge_reset_job_timedout(to_npuedge_job(base));
	stat = npuedge_sched_no_hang(base);
	/* From here on the job may be freed, but not the queue: npuedge_sched_fini() waits. */
	npuedge_queue_unpause(q);
	dma_fence_end_signalling(cookie);
	return stat;
}

const struct drm_sched_backend_ops npuedge_sched_ops = {
	.run_job = npuedge_job_run,
	.free_job = npuedge_job_free,
	.timedout_job = npuedge_job_timedout,
};
