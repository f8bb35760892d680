// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: VM_BIND
 *
 * A synchronous call waits for what was queued before it, and makes its changes one by one.
 *
 * An asynchronous call prepares all its changes, so that nothing can fail afterwards, and queues a
 * job in the VM's own scheduler.  The job's fence is in the reservation objects of the VM and of
 * the buffers that it maps: their memory stays while it is queued.  When the job has run, a worker
 * outside of the signalling path frees what is left of it.
 *
 * A job keeps its VM in use and the device awake.  It always runs, also when everybody has left the
 * VM or the device is gone; so nothing but the scheduler takes jobs off its lists.
 */

#include <linux/module.h>
#include <linux/pm_runtime.h>
#include <linux/sched/signal.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/npuedge_accel.h>

#include "npuedge_array.h"
#include "npuedge_bind.h"
#include "npuedge_bind_job.h"
#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_sched.h"
#include "npuedge_sync.h"
#include "npuedge_vm.h"

/* Changes of a synchronous call after which those that are done are flushed and freed. */
#define NPUEDGE_BIND_BATCH	64

/* Run jobs; shared by all VMs, as most have none. */
static struct workqueue_struct *npuedge_bind_wq;
/* Frees jobs, and with them perhaps VMs; is drained before the module goes. */
static struct workqueue_struct *npuedge_bind_free_wq;

/**
 * struct npuedge_bind_job - changes that are queued
 */
struct npuedge_bind_job {
	/** @base: the scheduler's view of it */
	struct drm_sched_job base;
	/** @vm: address space; the job is a user of it */
	struct npuedge_vm *vm;
	/** @binds: struct npuedge_bind, in order */
	struct list_head binds;
	/** @free_work: frees it */
	struct work_struct free_work;
};

static struct npuedge_bind_job *to_npuedge_bind_job(struct drm_sched_job *base)
{
	return container_of(base, struct npuedge_bind_job, base);
}

/**
 * npuedge_bind_module_init() - make what all address spaces share
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_bind_module_init(void)
{
	npuedge_bind_wq = alloc_workqueue("npuedge-bind", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!npuedge_bind_wq)
		return -ENOMEM;

	npuedge_bind_free_wq = alloc_workqueue("npuedge-bind-free", WQ_UNBOUND, 0);
	if (npuedge_bind_free_wq)
		return 0;

	destroy_workqueue(npuedge_bind_wq);
	return -ENOMEM;
}

/**
 * npuedge_bind_module_exit() - free what all address spaces share
 */
void npuedge_bind_module_exit(void)
{
	destroy_workqueue(npuedge_bind_free_wq);
	destroy_workqueue(npuedge_bind_wq);
}

static void npuedge_bind_free_list(struct list_head *binds)
{
	struct npuedge_bind *bind, *tmp;

	list_for_each_entry_safe(bind, tmp, binds, node) {
		list_del(&bind->node);
		npuedge_bind_free(bind);
	}
}

/* Its scheduler knows it no more, or never has. */
static void npuedge_bind_job_release(struct npuedge_bind_job *job)
{
	struct npuedge_device *edev = job->vm->edev;

	npuedge_bind_free_list(&job->binds);
	npuedge_vm_put(job->vm);
	kfree(job);

	pm_runtime_mark_last_busy(edev->dev);
	pm_runtime_put_autosuspend(edev->dev);
	drm_dev_put(&edev->base);
}

static void npuedge_bind_job_free_work(struct work_struct *work)
{
	npuedge_bind_job_release(container_of(work, struct npuedge_bind_job, free_work));
	module_put(THIS_MODULE);
}

static void npuedge_bind_job_free(struct drm_sched_job *base)
{
	struct npuedge_bind_job *job = to_npuedge_bind_job(base);

	npuedge_sched_fence_detach(base->s_fence);
	drm_sched_job_cleanup(base);
	job->vm->bind_gp = get_state_synchronize_rcu();
	queue_work(npuedge_bind_free_wq, &job->free_work);
}

static struct dma_fence *npuedge_bind_job_run(struct drm_sched_job *base)
{
	struct npuedge_bind_job *job = to_npuedge_bind_job(base);
	bool cookie = dma_fence_begin_signalling();
	struct npuedge_bind *bind;
	int ret;

	ret = npuedge_vm_check(job->vm);
	list_for_each_entry(bind, &job->binds, node) {
		if (ret)
			break;
		ret = npuedge_bind_run(bind);
	}
	npuedge_vm_flush(job->vm);
	dma_fence_end_signalling(cookie);
	return ret ? ERR_PTR(ret) : NULL;
}

static enum drm_gpu_sched_stat npuedge_bind_job_timedout(struct drm_sched_job *base)
{
	/* There is no time limit: a job has ended when it has run. */
	return npuedge_sched_no_hang(base);
}

static const struct drm_sched_backend_ops npuedge_bind_sched_ops = {
	.run_job = npuedge_bind_job_run,
	.free_job = npuedge_bind_job_free,
	.timedout_job = npuedge_bind_job_timedout,
};

/**
 * npuedge_bind_init_sched() - make the scheduler of a VM's queued changes
 * @vm: address space
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_bind_init_sched(struct npuedge_vm *vm)
{
	struct drm_gpu_scheduler *sched = &vm->sched;
	const struct drm_sched_init_args args = {
		.ops = &npuedge_bind_sched_ops,
		.submit_wq = npuedge_bind_wq,
		.num_rqs = 1,
		.credit_limit = 1,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.name = "npuedge-bind",
		.dev = vm->edev->dev,
	};
	int ret;

	ret = drm_sched_init(sched, &args);
	if (ret)
		return ret;

	ret = drm_sched_entity_init(&vm->entity, DRM_SCHED_PRIORITY_KERNEL, &sched, 1, NULL);
	if (ret)
		drm_sched_fini(sched);
	return ret;
}

/**
 * npuedge_bind_fini_sched() - free the scheduler
 * @vm: address space without users, hence without queued changes
 */
void npuedge_bind_fini_sched(struct npuedge_vm *vm)
{
	/* Of many VMs that end together the first waits for all. */
	if (vm->last_bind)
		cond_synchronize_rcu(vm->bind_gp);
	drm_sched_entity_fini(&vm->entity);
	npuedge_sched_fini(&vm->sched);
	dma_fence_put(vm->last_bind);
}

/**
 * npuedge_bind_wait() - wait until the changes that are queued now have been made
 * @vm: address space
 *
 * Return: 0, -ERESTARTSYS, or -EIO if one has failed.
 */
int npuedge_bind_wait(struct npuedge_vm *vm)
{
	struct dma_fence *fence;
	long ret = 0;

	mutex_lock(&vm->op_lock);
	fence = dma_fence_get(vm->last_bind);
	mutex_unlock(&vm->op_lock);

	if (fence)
		ret = dma_fence_wait(fence, true);
	dma_fence_put(fence);
	return ret < 0 ? ret : npuedge_vm_check(vm);
}

static struct npuedge_bind *npuedge_bind_copy(struct npuedge_vm *vm, struct drm_file *file,
					      const struct drm_npuedge_array *ops, u32 index)
{
	struct drm_npuedge_vm_bind_op op;
	int ret;

	ret = npuedge_array_get(ops, index, &op, sizeof(op));
	return ret ? ERR_PTR(ret) : npuedge_bind_create(vm, file, &op);
}

/* Not interruptible: a restarted call would find its count of operations changed. */
static int npuedge_bind_apply(struct npuedge_bind *bind)
{
	struct drm_exec exec;
	int ret = 0;

	drm_exec_init(&exec, DRM_EXEC_IGNORE_DUPLICATES, 2);
	drm_exec_until_all_locked(&exec) {
		ret = drm_gpuvm_prepare_vm(&bind->vm->base, &exec, 0);
		if (!ret && bind->obj)
			ret = drm_exec_lock_obj(&exec, bind->obj);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
	}
	ret = ret ?: npuedge_bind_reserve(bind);
	ret = ret ?: npuedge_bind_run(bind);
	drm_exec_fini(&exec);
	return ret;
}

static void npuedge_bind_finish(struct npuedge_vm *vm, struct list_head *binds)
{
	npuedge_vm_flush(vm);
	npuedge_bind_free_list(binds);
}

/**
 * npuedge_bind_sync() - make changes now
 * @vm: address space; npuedge_bind_wait() has returned 0
 * @file: owner of the GEM handles
 * @args: checked but for its operations
 * @applied: out: number of changes that were made
 *
 * Return: 0 or a negative errno as the uAPI says.
 */
int npuedge_bind_sync(struct npuedge_vm *vm, struct drm_file *file,
		      const struct drm_npuedge_vm_bind *args, u32 *applied)
{
	struct npuedge_bind *bind;
	LIST_HEAD(binds);
	int ret = 0;

	for (*applied = 0; !ret && *applied < args->ops.count; *applied += !ret) {
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		bind = npuedge_bind_copy(vm, file, &args->ops, *applied);
		if (IS_ERR(bind)) {
			ret = PTR_ERR(bind);
			break;
		}
		list_add_tail(&bind->node, &binds);
		ret = npuedge_bind_apply(bind);
		if (*applied % NPUEDGE_BIND_BATCH == NPUEDGE_BIND_BATCH - 1)
			npuedge_bind_finish(vm, &binds);
		cond_resched();
	}
	npuedge_bind_finish(vm, &binds);
	return ret;
}

static struct npuedge_bind_job *npuedge_bind_job_create(struct npuedge_vm *vm,
							struct drm_file *file)
{
	struct npuedge_bind_job *job;
	int ret;

	job = kzalloc_obj(*job, GFP_KERNEL_ACCOUNT);
	if (!job)
		return ERR_PTR(-ENOMEM);

	ret = drm_sched_job_init(&job->base, &vm->entity, 1, vm, file->client_id);
	if (ret) {
		kfree(job);
		return ERR_PTR(ret);
	}

	INIT_LIST_HEAD(&job->binds);
	INIT_WORK(&job->free_work, npuedge_bind_job_free_work);
	job->vm = npuedge_vm_get(vm);
	drm_dev_get(&vm->edev->base);
	pm_runtime_get_noresume(vm->edev->dev);
	return job;
}

static int npuedge_bind_job_fill(struct npuedge_bind_job *job, struct drm_file *file,
				 const struct drm_npuedge_vm_bind *args)
{
	for (u32 i = 0; i < args->ops.count; i++) {
		struct npuedge_bind *bind;

		if (fatal_signal_pending(current))
			return -EINTR;
		bind = npuedge_bind_copy(job->vm, file, &args->ops, i);
		if (IS_ERR(bind))
			return PTR_ERR(bind);
		list_add_tail(&bind->node, &job->binds);
		cond_resched();
	}

	return npuedge_sync_add_waits(&job->base, file, &args->in_syncs, NULL);
}

static int npuedge_bind_job_lock(struct npuedge_bind_job *job, struct drm_exec *exec)
{
	struct npuedge_bind *bind;
	int ret = 0;

	drm_exec_until_all_locked(exec) {
		ret = drm_gpuvm_prepare_vm(&job->vm->base, exec, 1);
		list_for_each_entry(bind, &job->binds, node) {
			if (!ret && bind->obj)
				ret = drm_exec_prepare_obj(exec, bind->obj, 1);
		}
		drm_exec_retry_on_contention(exec);
		if (ret)
			break;
	}
	return ret;
}

/* Under locks; the last that may fail. */
static int npuedge_bind_job_reserve(struct npuedge_bind_job *job)
{
	struct npuedge_bind *bind;
	int ret;

	ret = npuedge_vm_check(job->vm);
	list_for_each_entry(bind, &job->binds, node) {
		/* Who is being killed may take more memory than there is for others. */
		if (!ret && fatal_signal_pending(current))
			ret = -EINTR;
		ret = ret ?: npuedge_bind_reserve(bind);
	}
	return ret;
}

/* Likewise; nothing fails here, and afterwards the job belongs to the scheduler. */
static void npuedge_bind_job_push(struct npuedge_bind_job *job, struct drm_exec *exec,
				  struct npuedge_signals *signals)
{
	bool cookie = dma_fence_begin_signalling();
	struct dma_fence *finished, *last;
	struct npuedge_vm *vm = job->vm;

	drm_sched_job_arm(&job->base);
	finished = dma_fence_get(&job->base.s_fence->finished);
	drm_gpuvm_resv_add_fence(&vm->base, exec, finished, DMA_RESV_USAGE_BOOKKEEP,
				 DMA_RESV_USAGE_BOOKKEEP);

	mutex_lock(&vm->op_lock);
	last = vm->last_bind;
	vm->last_bind = dma_fence_get(finished);
	mutex_unlock(&vm->op_lock);
	dma_fence_put(last);

	/* A worker frees it, by our code, perhaps when the last file is gone. */
	__module_get(THIS_MODULE);
	drm_sched_entity_push_job(&job->base);
	npuedge_sync_signal(signals, finished);
	dma_fence_put(finished);
	dma_fence_end_signalling(cookie);
}

static int npuedge_bind_job_submit(struct npuedge_bind_job *job, struct npuedge_signals *signals)
{
	struct drm_exec exec;
	int ret;

	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES, 0);
	ret = npuedge_bind_job_lock(job, &exec);
	ret = ret ?: npuedge_bind_job_reserve(job);
	if (!ret)
		npuedge_bind_job_push(job, &exec, signals);
	drm_exec_fini(&exec);
	return ret;
}

/**
 * npuedge_bind_async() - queue changes
 * @vm: address space
 * @file: owner of the handles
 * @args: checked but for its operations and syncs
 *
 * The device is awake.
 *
 * Return: 0, or a negative errno as the uAPI says: then nothing was queued.
 */
int npuedge_bind_async(struct npuedge_vm *vm, struct drm_file *file,
		       const struct drm_npuedge_vm_bind *args)
{
	struct npuedge_signals signals = { };
	struct npuedge_bind_job *job;
	int ret;

	job = npuedge_bind_job_create(vm, file);
	if (IS_ERR(job))
		return PTR_ERR(job);

	ret = npuedge_bind_job_fill(job, file, args);
	ret = ret ?: npuedge_sync_get_signals(&signals, file, &args->out_syncs);
	ret = ret ?: npuedge_bind_job_submit(job, &signals);
	npuedge_sync_put_signals(&signals);
	if (ret) {
		drm_sched_job_cleanup(&job->base);
		npuedge_bind_job_release(job);
	}
	return ret;
}
