// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Submission
 *
 * Four steps: collect, lock, arm, push.  Collecting copies what user space passed, makes the
 * jobs, finds their dependencies and allocates all that signalling will need.  Locking reserves a
 * fence slot in the VM and in the shareable buffers mapped there.  From arming on nothing can
 * fail.
 *
 * All jobs of a call go to one queue, which runs them in order.  So a wait for what an earlier
 * job of the same call signals needs no fence: it is dropped.
 */

#include <linux/dma-fence-chain.h>

#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/drm_syncobj.h>

#include "ne1_cmd.h"
#include "npuedge_array.h"
#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_job.h"
#include "npuedge_queue.h"
#include "npuedge_submit.h"
#include "npuedge_trace.h"
#include "npuedge_vm.h"

#define NPUEDGE_MAX_JOBS	64
#define NPUEDGE_MAX_SYNCS	256

/**
 * struct npuedge_signal - a syncobj that a job signals
 */
struct npuedge_signal {
	/** @syncobj: referenced */
	struct drm_syncobj *syncobj;
	/** @chain: link for a timeline; NULL: binary */
	struct dma_fence_chain *chain;
	/** @handle: what user space calls it */
	u32 handle;
	/** @point: timeline point */
	u64 point;
};

/**
 * struct npuedge_submit_job - one job of a submit
 */
struct npuedge_submit_job {
	/** @job: job */
	struct npuedge_job *job;
	/** @finished: fence of its end, from arming on */
	struct dma_fence *finished;
	/** @signals: syncobjs to signal */
	struct npuedge_signal *signals;
	/** @signal_count: number of @signals that are filled in */
	u32 signal_count;
};

/**
 * struct npuedge_submit - a submit in the making
 */
struct npuedge_submit {
	/** @queue: queue */
	struct npuedge_queue *queue;
	/** @file: caller */
	struct drm_file *file;
	/** @jobs: jobs, in order */
	struct npuedge_submit_job *jobs;
	/** @count: number of @jobs that are filled in */
	u32 count;
	/** @exec: locks */
	struct drm_exec exec;
};

static int npuedge_submit_check_sync(const struct drm_npuedge_sync *sync)
{
	if (sync->flags & ~DRM_NPUEDGE_SYNC_TIMELINE)
		return -EINVAL;
	/* A timeline has a point, a binary syncobj has none. */
	return !(sync->flags & DRM_NPUEDGE_SYNC_TIMELINE) == !sync->point ? 0 : -EINVAL;
}

static int npuedge_submit_add_signal(struct npuedge_submit *submit, struct npuedge_submit_job *sj,
				     const struct drm_npuedge_sync *sync)
{
	struct npuedge_signal *sig = &sj->signals[sj->signal_count];
	int ret;

	ret = npuedge_submit_check_sync(sync);
	if (ret)
		return ret;

	sig->handle = sync->handle;
	sig->point = sync->point;
	if (sync->flags & DRM_NPUEDGE_SYNC_TIMELINE) {
		sig->chain = dma_fence_chain_alloc();
		if (!sig->chain)
			return -ENOMEM;
	}

	sig->syncobj = drm_syncobj_find(submit->file, sync->handle);
	if (!sig->syncobj) {
		dma_fence_chain_free(sig->chain);
		return -ENOENT;
	}
	sj->signal_count++;
	return 0;
}

/* Whether one of the jobs before the last of the call signals it. */
static bool npuedge_submit_signals(struct npuedge_submit *submit,
				   const struct drm_npuedge_sync *sync)
{
	for (u32 i = 0; i + 1 < submit->count; i++) {
		const struct npuedge_submit_job *sj = &submit->jobs[i];

		for (u32 j = 0; j < sj->signal_count; j++) {
			const struct npuedge_signal *sig = &sj->signals[j];

			if (sig->handle == sync->handle && !sig->chain == !sync->point &&
			    sig->point >= sync->point)
				return true;
		}
	}
	return false;
}

static int npuedge_submit_add_wait(struct npuedge_submit *submit, struct npuedge_job *job,
				   const struct drm_npuedge_sync *sync)
{
	struct dma_fence *fence;
	int ret;

	ret = npuedge_submit_check_sync(sync);
	if (ret)
		return ret;
	if (npuedge_submit_signals(submit, sync))
		return 0;

	ret = drm_syncobj_find_fence(submit->file, sync->handle, sync->point, 0, &fence);
	return ret ?: drm_sched_job_add_dependency(&job->base, fence);
}

static int npuedge_submit_add_syncs(struct npuedge_submit *submit, struct npuedge_submit_job *sj,
				    const struct drm_npuedge_job *args)
{
	struct drm_npuedge_sync *in, *out;
	int ret = 0;

	in = NPUEDGE_ARRAY_COPY(&args->in_syncs, struct drm_npuedge_sync, point, NPUEDGE_MAX_SYNCS);
	if (IS_ERR(in))
		return PTR_ERR(in);

	out = NPUEDGE_ARRAY_COPY(&args->out_syncs, struct drm_npuedge_sync, point,
				 NPUEDGE_MAX_SYNCS);
	if (IS_ERR(out)) {
		ret = PTR_ERR(out);
		goto out_free_in;
	}

	for (u32 i = 0; !ret && i < args->in_syncs.count; i++)
		ret = npuedge_submit_add_wait(submit, sj->job, &in[i]);

	if (!ret && args->out_syncs.count) {
		sj->signals = kvzalloc_objs(*sj->signals, args->out_syncs.count);
		ret = sj->signals ? 0 : -ENOMEM;
	}
	for (u32 i = 0; !ret && i < args->out_syncs.count; i++)
		ret = npuedge_submit_add_signal(submit, sj, &out[i]);

	kvfree(out);
out_free_in:
	kvfree(in);
	return ret;
}

/* What firmware checks too; but a mistake found here fails the call, not the queue. */
static bool npuedge_submit_va_ok(u64 va, u64 size)
{
	return !(va & 63) && va >= NPUEDGE_VA_START && va < NPUEDGE_VA_END &&
	       size <= NPUEDGE_VA_END - va;
}

static int npuedge_submit_add_streams(struct npuedge_submit *submit, struct ne1_job *desc,
				      const struct drm_npuedge_array *array)
{
	u32 cores = submit->queue->edev->chip.cores;
	struct drm_npuedge_stream *streams;
	int ret = 0;

	if (!array->count || array->count > cores)
		return -EINVAL;

	streams = NPUEDGE_ARRAY_COPY(array, struct drm_npuedge_stream, pad, cores);
	if (IS_ERR(streams))
		return PTR_ERR(streams);

	desc->cores = array->count;
	for (u32 i = 0; i < array->count; i++) {
		const struct drm_npuedge_stream *s = &streams[i];

		if (s->pad || !s->size || s->size & 63 || !npuedge_submit_va_ok(s->va, s->size)) {
			ret = -EINVAL;
			break;
		}
		desc->stream[i].va = s->va;
		desc->stream[i].size = s->size;
	}
	kvfree(streams);
	return ret;
}

static int npuedge_submit_add_job(struct npuedge_submit *submit, const struct drm_npuedge_job *args)
{
	struct npuedge_submit_job *sj = &submit->jobs[submit->count];
	struct npuedge_job *job;
	int ret;

	if (args->flags || args->pad || args->bos.count ||
	    !npuedge_submit_va_ok(args->params_va, sizeof(struct ne1_params)))
		return -EINVAL;
	if (args->profile_va &&
	    !npuedge_submit_va_ok(args->profile_va,
				  args->streams.count * sizeof(struct ne1_profile)))
		return -EINVAL;

	job = npuedge_job_create(submit->queue, submit->file->client_id);
	if (IS_ERR(job))
		return PTR_ERR(job);

	sj->job = job;
	submit->count++;
	job->desc.param_va = args->params_va;
	job->desc.profile_va = args->profile_va;

	ret = npuedge_submit_add_streams(submit, &job->desc, &args->streams);
	return ret ?: npuedge_submit_add_syncs(submit, sj, args);
}

static int npuedge_submit_collect(struct npuedge_submit *submit,
				  const struct drm_npuedge_array *array)
{
	struct drm_npuedge_job *args;
	int ret = 0;

	if (!array->count)
		return -EINVAL;

	args = NPUEDGE_ARRAY_COPY(array, struct drm_npuedge_job, pad, NPUEDGE_MAX_JOBS);
	if (IS_ERR(args))
		return PTR_ERR(args);

	submit->jobs = kvzalloc_objs(*submit->jobs, array->count);
	if (!submit->jobs)
		ret = -ENOMEM;
	for (u32 i = 0; !ret && i < array->count; i++) {
		ret = npuedge_submit_add_job(submit, &args[i]);
		/* Each of its waits was compared with each signal of the jobs before. */
		cond_resched();
	}

	kvfree(args);
	return ret;
}

static int npuedge_submit_lock(struct npuedge_submit *submit)
{
	int ret = 0;

	drm_exec_until_all_locked(&submit->exec) {
		ret = npuedge_vm_lock(submit->queue->vm, &submit->exec, submit->count);
		drm_exec_retry_on_contention(&submit->exec);
		if (ret)
			break;
	}
	return ret;
}

static void npuedge_submit_signal(struct npuedge_submit_job *sj)
{
	for (u32 i = 0; i < sj->signal_count; i++) {
		struct npuedge_signal *sig = &sj->signals[i];

		if (sig->chain)
			drm_syncobj_add_point(sig->syncobj, sig->chain, sj->finished, sig->point);
		else
			drm_syncobj_replace_fence(sig->syncobj, sj->finished);
		/* The syncobj owns it now. */
		sig->chain = NULL;
	}
}

/* The VM's lock makes this one operation per queue.  Nothing fails here. */
static void npuedge_submit_push(struct npuedge_submit *submit)
{
	struct npuedge_queue *q = submit->queue;
	bool cookie = dma_fence_begin_signalling();

	for (u32 i = 0; i < submit->count; i++) {
		struct npuedge_submit_job *sj = &submit->jobs[i];

		drm_sched_job_arm(&sj->job->base);
		sj->finished = dma_fence_get(&sj->job->base.s_fence->finished);
		drm_gpuvm_resv_add_fence(&q->vm->base, &submit->exec, sj->finished,
					 DMA_RESV_USAGE_BOOKKEEP, DMA_RESV_USAGE_BOOKKEEP);
		trace_npuedge_job_submit(sj->job, q->pushed + 1, 0);

		spin_lock_irq(&q->lock);
		q->pushed++;
		spin_unlock_irq(&q->lock);
		drm_sched_entity_push_job(&sj->job->base);
		/* The scheduler owns it now. */
		sj->job = NULL;
		npuedge_submit_signal(sj);
	}
	dma_fence_end_signalling(cookie);
}

static void npuedge_submit_free(struct npuedge_submit *submit)
{
	for (u32 i = 0; i < submit->count; i++) {
		struct npuedge_submit_job *sj = &submit->jobs[i];

		for (u32 j = 0; j < sj->signal_count; j++) {
			dma_fence_chain_free(sj->signals[j].chain);
			drm_syncobj_put(sj->signals[j].syncobj);
		}
		kvfree(sj->signals);
		dma_fence_put(sj->finished);
		if (sj->job)
			npuedge_job_abort(sj->job);
	}
	kvfree(submit->jobs);
}

/**
 * npuedge_submit() - submit jobs to a queue
 * @q: queue; the device is entered
 * @file: caller
 * @jobs: struct drm_npuedge_job[] in user memory
 *
 * Return: 0; on an error nothing was queued or signalled, see the uAPI.
 */
int npuedge_submit(struct npuedge_queue *q, struct drm_file *file,
		   const struct drm_npuedge_array *jobs)
{
	struct npuedge_submit submit = { .queue = q, .file = file };
	int ret;

	ret = npuedge_queue_check(q);
	if (ret)
		return ret;

	ret = npuedge_submit_collect(&submit, jobs);
	if (ret)
		goto out_free;

	drm_exec_init(&submit.exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES, 0);
	ret = npuedge_submit_lock(&submit);
	if (!ret)
		npuedge_submit_push(&submit);
	drm_exec_fini(&submit.exec);

out_free:
	npuedge_submit_free(&submit);
	return ret;
}
