// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Submission
 *
 * Four steps: collect, lock, arm, push.  Collecting copies what user space passed, makes the
 * jobs, finds their dependencies and allocates all that signalling will need.  Locking reserves
 * fence slots in the VM and in those buffers that need it, see npuedge_evict.c.  From arming on
 * nothing can fail.
 *
 * All jobs of a call go to one queue, which runs them in order.  So a wait for what an earlier
 * job of the same call signals, or for its use of a buffer, needs no fence: it is dropped.
 */

#include <linux/dma-resv.h>

#include <drm/drm_exec.h>
#include <drm/drm_file.h>

#include "ne1_cmd.h"
#include "npuedge_array.h"
#include "npuedge_check.h"
#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_evict.h"
#include "npuedge_gem.h"
#include "npuedge_job.h"
#include "npuedge_queue.h"
#include "npuedge_submit.h"
#include "npuedge_sync.h"
#include "npuedge_trace.h"
#include "npuedge_vm.h"

/* Room for objects to lock at first; the default is a page, which has to be cleared. */
#define NPUEDGE_FEW_LOCKS	16

/**
 * struct npuedge_submit_job - one job of a submit
 */
struct npuedge_submit_job {
	/** @job: job */
	struct npuedge_job *job;
	/** @signals: syncobjs to signal */
	struct npuedge_signals signals;
	/** @uses: buffers that it is synchronised with implicitly */
	struct npuedge_submit_use *uses;
	/** @use_count: number of @uses that are filled in */
	u32 use_count;
};

/**
 * struct npuedge_submit_use - a buffer that a job is synchronised with implicitly
 */
struct npuedge_submit_use {
	/** @obj: buffer, referenced */
	struct drm_gem_object *obj;
	/** @write: the job writes it */
	bool write;
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
	/** @one: @jobs, if there is but one, as is usual */
	struct npuedge_submit_job one;
	/** @count: number of @jobs that are filled in */
	u32 count;
	/** @uses: a job is synchronised with buffers implicitly */
	bool uses;
	/** @signalled: what the last job signals whose waits are known, or NULL */
	const struct npuedge_signals *signalled;
	/** @vm_only: the VM's lock is held and no other; else those of @exec */
	bool vm_only;
	/** @exec: locks */
	struct drm_exec exec;
};

static int npuedge_submit_add_syncs(struct npuedge_submit *submit, struct npuedge_submit_job *sj,
				    const struct drm_npuedge_job *args)
{
	int ret = 0;

	if (args->in_syncs.count)
		ret = npuedge_sync_add_waits(&sj->job->base, submit->file, &args->in_syncs,
					     submit->signalled);
	if (!ret && args->out_syncs.count)
		ret = npuedge_sync_get_signals(&sj->signals, submit->file, &args->out_syncs);

	sj->signals.earlier = submit->signalled;
	submit->signalled = &sj->signals;
	return ret;
}

static int npuedge_submit_add_uses(struct npuedge_submit *submit, struct npuedge_submit_job *sj,
				   const struct drm_npuedge_array *array)
{
	struct drm_npuedge_bo_use use;
	int ret;

	ret = NPUEDGE_ARRAY_CHECK(array, struct drm_npuedge_bo_use, flags, NPUEDGE_MAX_BOS);
	if (ret || !array->count)
		return ret;

	submit->uses = true;
	sj->uses = kvzalloc_objs(*sj->uses, array->count, GFP_KERNEL_ACCOUNT);
	if (!sj->uses)
		return -ENOMEM;

	for (u32 i = 0; i < array->count; i++) {
		ret = npuedge_array_get(array, i, &use, sizeof(use));
		if (ret)
			return ret;
		if (use.flags & ~DRM_NPUEDGE_BO_WRITE)
			return -EINVAL;

		sj->uses[i].write = use.flags & DRM_NPUEDGE_BO_WRITE;
		sj->uses[i].obj = drm_gem_object_lookup(submit->file, use.handle);
		if (!sj->uses[i].obj)
			return -ENOENT;
		sj->use_count++;
		/* Who may not write may not keep others waiting as a writer either. */
		if (sj->uses[i].write && to_npuedge_gem(sj->uses[i].obj)->readonly)
			return -EACCES;
	}
	return 0;
}

/* What firmware checks too; but a mistake found here fails the call, not the queue. */
static bool npuedge_submit_va_ok(u64 va, u64 size)
{
	return !(va & 63) && npuedge_check_va(va, size);
}

static int npuedge_submit_add_streams(struct npuedge_submit *submit, struct npuedge_job *job,
				      const struct drm_npuedge_array *array)
{
	u32 cores = submit->queue->edev->chip.cores;
	struct drm_npuedge_stream s;
	int ret;

	if (!array->count || array->count > cores)
		return -EINVAL;
	ret = NPUEDGE_ARRAY_CHECK(array, struct drm_npuedge_stream, pad, cores);
	if (ret)
		return ret;

	job->cores = array->count;
	for (u32 i = 0; i < array->count; i++) {
		ret = npuedge_array_get(array, i, &s, sizeof(s));
		if (ret)
			return ret;
		if (s.pad || !s.size || s.size & 63 || !npuedge_submit_va_ok(s.va, s.size))
			return -EINVAL;
		job->stream_va[i] = s.va;
		job->stream_size[i] = s.size;
	}
	return 0;
}

static int npuedge_submit_add_job(struct npuedge_submit *submit, const struct drm_npuedge_job *args)
{
	struct npuedge_submit_job *sj = &submit->jobs[submit->count];
	struct npuedge_job *job;
	int ret;

	if (args->flags & ~DRM_NPUEDGE_JOB_RERUN || args->pad ||
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
	job->param_va = args->params_va;
	job->profile_va = args->profile_va;
	job->rerun = args->flags & DRM_NPUEDGE_JOB_RERUN;

	ret = npuedge_submit_add_streams(submit, job, &args->streams);
	ret = ret ?: npuedge_submit_add_uses(submit, sj, &args->bos);
	return ret ?: npuedge_submit_add_syncs(submit, sj, args);
}

static int npuedge_submit_collect(struct npuedge_submit *submit,
				  const struct drm_npuedge_array *array)
{
	struct drm_npuedge_job args;
	int ret;

	if (!array->count)
		return -EINVAL;
	ret = NPUEDGE_ARRAY_CHECK(array, struct drm_npuedge_job, pad, NPUEDGE_MAX_JOBS);
	if (ret)
		return ret;

	submit->jobs = array->count == 1 ? &submit->one :
		       kvzalloc_objs(*submit->jobs, array->count, GFP_KERNEL_ACCOUNT);
	if (!submit->jobs)
		return -ENOMEM;

	for (u32 i = 0; !ret && i < array->count; i++) {
		ret = npuedge_array_get(array, i, &args, sizeof(args));
		ret = ret ?: npuedge_submit_add_job(submit, &args);
		/* Each of its waits was compared with each signal of the jobs before. */
		cond_resched();
	}
	return ret;
}

/* Slots for a fence of each job in what is locked for the VM, and for one more in what they use. */
static int npuedge_submit_lock_all(struct npuedge_submit *submit)
{
	int ret;

	ret = npuedge_vm_lock(submit->queue->vm, &submit->exec, submit->count);
	for (u32 i = 0; i < submit->count; i++) {
		const struct npuedge_submit_job *sj = &submit->jobs[i];

		for (u32 j = 0; !ret && j < sj->use_count; j++)
			ret = drm_exec_prepare_obj(&submit->exec, sj->uses[j].obj,
						   2 * submit->count);
	}
	return ret;
}

static int npuedge_submit_lock_many(struct npuedge_submit *submit)
{
	int ret = 0;

	drm_exec_init(&submit->exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES,
		      NPUEDGE_FEW_LOCKS);
	drm_exec_until_all_locked(&submit->exec) {
		ret = npuedge_submit_lock_all(submit);
		drm_exec_retry_on_contention(&submit->exec);
		if (ret)
			break;
	}
	if (ret)
		drm_exec_fini(&submit->exec);
	return ret;
}

/* For one lock, which is all that most submits need, drm_exec's book-keeping is not worth it. */
static int npuedge_submit_lock(struct npuedge_submit *submit)
{
	struct npuedge_vm *vm = submit->queue->vm;
	struct dma_resv *resv = drm_gpuvm_resv(&vm->base);
	int ret;

	if (submit->uses)
		return npuedge_submit_lock_many(submit);

	ret = dma_resv_lock_interruptible(resv, NULL);
	if (ret)
		return ret;

	submit->vm_only = npuedge_vm_locks_no_buffer(vm);
	ret = submit->vm_only ? dma_resv_reserve_fences(resv, submit->count) : 0;
	if (ret || !submit->vm_only)
		dma_resv_unlock(resv);
	return ret || submit->vm_only ? ret : npuedge_submit_lock_many(submit);
}

static void npuedge_submit_unlock(struct npuedge_submit *submit)
{
	if (submit->vm_only)
		dma_resv_unlock(drm_gpuvm_resv(&submit->queue->vm->base));
	else
		drm_exec_fini(&submit->exec);
}

/* Under locks; what may still fail.  Jobs of this call run in order, whatever they use. */
static int npuedge_submit_prepare(struct npuedge_submit *submit)
{
	int ret;

	ret = npuedge_evict_restore_vm(submit->queue->vm);
	if (ret)
		return ret;

	for (u32 i = 0; i < submit->count; i++) {
		const struct npuedge_submit_job *sj = &submit->jobs[i];

		for (u32 j = 0; j < sj->use_count; j++) {
			ret = drm_sched_job_add_implicit_dependencies(&sj->job->base,
								      sj->uses[j].obj,
								      sj->uses[j].write);
			if (ret)
				return ret;
		}
	}
	return npuedge_vm_check(submit->queue->vm);
}

static void npuedge_submit_add_fences(struct npuedge_submit *submit, struct npuedge_submit_job *sj,
				      struct dma_fence *finished)
{
	struct drm_gpuvm *gpuvm = &submit->queue->vm->base;

	if (submit->vm_only) {
		dma_resv_add_fence(drm_gpuvm_resv(gpuvm), finished, DMA_RESV_USAGE_BOOKKEEP);
		return;
	}

	drm_gpuvm_resv_add_fence(gpuvm, &submit->exec, finished, DMA_RESV_USAGE_BOOKKEEP,
				 DMA_RESV_USAGE_BOOKKEEP);
	for (u32 i = 0; i < sj->use_count; i++) {
		struct drm_gem_object *obj = sj->uses[i].obj;

		dma_resv_add_fence(obj->resv, finished,
				   sj->uses[i].write ? DMA_RESV_USAGE_WRITE :
						       DMA_RESV_USAGE_READ);
		/* There are read-only views of a buffer, but none that is written. */
		if (sj->uses[i].write)
			to_npuedge_gem(obj)->writes++;
	}
}

/* The VM's lock makes this one operation per queue.  Nothing fails here. */
static void npuedge_submit_push(struct npuedge_submit *submit)
{
	struct npuedge_queue *q = submit->queue;
	bool cookie = dma_fence_begin_signalling();

	for (u32 i = 0; i < submit->count; i++) {
		struct npuedge_submit_job *sj = &submit->jobs[i];
		struct dma_fence *finished;
		u64 number;

		drm_sched_job_arm(&sj->job->base);
		finished = &sj->job->base.s_fence->finished;
		npuedge_submit_add_fences(submit, sj, finished);
		npuedge_sync_signal(&sj->signals, finished);
		number = atomic64_inc_return(&q->pushed);
		trace_npuedge_job_submit(sj->job, number, 0);
		/* The scheduler owns it then, and may free it at once. */
		drm_sched_entity_push_job(&sj->job->base);
		sj->job = NULL;
	}
	dma_fence_end_signalling(cookie);
}

static void npuedge_submit_put_uses(struct npuedge_submit_job *sj)
{
	for (u32 i = 0; i < sj->use_count; i++)
		drm_gem_object_put(sj->uses[i].obj);
	kvfree(sj->uses);
}

static void npuedge_submit_free(struct npuedge_submit *submit)
{
	for (u32 i = 0; i < submit->count; i++) {
		struct npuedge_submit_job *sj = &submit->jobs[i];

		npuedge_sync_put_signals(&sj->signals);
		if (sj->uses)
			npuedge_submit_put_uses(sj);
		if (sj->job)
			npuedge_job_abort(sj->job);
	}
	if (submit->jobs != &submit->one)
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

	ret = npuedge_submit_lock(&submit);
	if (ret)
		goto out_free;

	ret = npuedge_submit_prepare(&submit);
	if (!ret)
		npuedge_submit_push(&submit);
	npuedge_submit_unlock(&submit);

out_free:
	npuedge_submit_free(&submit);
	return ret;
}
