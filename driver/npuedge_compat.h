/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interfaces of Linux 7.3 for older kernels.  The rest of the driver is written for 7.3; an in-tree
 * copy of it drops this file.  npuedge_kconfig.h is made by probe.sh at build time.
 */
#ifndef NPUEDGE_COMPAT_H
#define NPUEDGE_COMPAT_H

#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_gpuvm.h>
#include <drm/gpu_scheduler.h>

#include "npuedge_slab.h"

#ifdef NPUEDGE_OUT_OF_TREE
#include "npuedge_kconfig.h"
#endif

#ifndef NPUEDGE_HAVE_SCHED_INIT_ARGS
struct drm_sched_init_args {
	const struct drm_sched_backend_ops *ops;
	struct workqueue_struct *submit_wq;
	struct workqueue_struct *timeout_wq;
	u32 num_rqs;
	u32 credit_limit;
	unsigned int hang_limit;
	long timeout;
	atomic_t *score;
	const char *name;
	struct device *dev;
};

static inline int npuedge_compat_sched_init(struct drm_gpu_scheduler *sched,
					    const struct drm_sched_init_args *args)
{
	return drm_sched_init(sched, args->ops, args->submit_wq, args->num_rqs, args->credit_limit,
			      args->hang_limit, args->timeout, args->timeout_wq, args->score,
			      args->name, args->dev);
}

#define drm_sched_init npuedge_compat_sched_init
#endif

#ifndef NPUEDGE_HAVE_SCHED_JOB_CLIENT_ID
#define drm_sched_job_init(job, entity, credits, owner, client_id) \
	drm_sched_job_init(job, entity, credits, ((void)(client_id), owner))
#endif

/**
 * npuedge_sched_no_hang() - have a timeout handler leave its job on the scheduler's list
 * @job: job that the handler got; its scheduler is stopped, and started afterwards
 *
 * The scheduler took the job off its list of pending jobs.  Newer kernels put it back when the
 * handler returns NO_HANG, older ones leave that to the driver; starting the scheduler has it look
 * for signalled jobs, among them perhaps this one.
 *
 * Return: what the handler has to return.
 */
static inline enum drm_gpu_sched_stat npuedge_sched_no_hang(struct drm_sched_job *job)
{
#ifdef NPUEDGE_HAVE_SCHED_NO_HANG
	return DRM_GPU_SCHED_STAT_NO_HANG;
#else
	struct drm_gpu_scheduler *sched = job->sched;

	spin_lock(&sched->job_list_lock);
	list_add(&job->list, &sched->pending_list);
	spin_unlock(&sched->job_list_lock);
	return DRM_GPU_SCHED_STAT_NOMINAL;
#endif
}

/**
 * npuedge_sched_fence_detach() - keep a fence that others hold from reaching this module
 * @fence: fence of a job that has ended and is being freed
 *
 * Newer kernels drop the operations of a signalled fence, and do not ask it for the name of its
 * timeline.  In older ones the scheduler's fence refers to the hardware fence, whose operations are
 * ours, until it is freed; and a sync_file looks the name up in the scheduler, which is ours too.
 * Then let go of the hardware fence now, and give the fence a name that lives where its operations
 * do: that of its driver, in the scheduler's module.  @owner, which nobody reads, becomes the
 * pointer to it that is found where a scheduler would have one.
 */
static inline void npuedge_sched_fence_detach(struct drm_sched_fence *fence)
{
#ifndef NPUEDGE_HAVE_FENCE_DETACHED_OPS
	dma_fence_put(fence->parent);
	fence->parent = NULL;
#endif
#ifndef NPUEDGE_HAVE_FENCE_TIMELINE_NAME
	fence->owner = (void *)fence->finished.ops->get_driver_name(&fence->finished);
	/* Who finds the scheduler finds the name. */
	smp_store_release(&fence->sched,
			  (void *)&fence->owner - offsetof(struct drm_gpu_scheduler, name));
#endif
}

#ifndef NPUEDGE_HAVE_GPUVM_MAP_REQ
struct drm_gpuvm_map_req {
	struct drm_gpuva_op_map map;
};

static inline int npuedge_compat_gpuvm_sm_map(struct drm_gpuvm *gpuvm, void *priv,
					      const struct drm_gpuvm_map_req *req)
{
	return drm_gpuvm_sm_map(gpuvm, priv, req->map.va.addr, req->map.va.range,
				req->map.gem.obj, req->map.gem.offset);
}

#define drm_gpuvm_sm_map npuedge_compat_gpuvm_sm_map
#endif

#ifdef NPUEDGE_HAVE_GPUVM_IMMEDIATE_MODE
#define NPUEDGE_GPUVM_FLAGS DRM_GPUVM_IMMEDIATE_MODE
#else
#define NPUEDGE_GPUVM_FLAGS 0
#endif

/**
 * npuedge_gpuvm_bo_obtain() - get what connects an address space and a buffer
 * @gpuvm: address space, whose reservation lock is held
 * @obj: buffer
 * @lock: lock of the buffer's list of mappings, not held
 *
 * Return: a reference, or NULL if there is no memory.
 */
static inline struct drm_gpuvm_bo *npuedge_gpuvm_bo_obtain(struct drm_gpuvm *gpuvm,
							   struct drm_gem_object *obj,
							   struct mutex *lock)
{
	struct drm_gpuvm_bo *vm_bo = drm_gpuvm_bo_create(gpuvm, obj);

	if (!vm_bo)
		return NULL;
#ifdef NPUEDGE_HAVE_GPUVM_IMMEDIATE_MODE
	return drm_gpuvm_bo_obtain_prealloc(vm_bo);
#else
	mutex_lock(lock);
	vm_bo = drm_gpuvm_bo_obtain_prealloc(vm_bo);
	mutex_unlock(lock);
	return vm_bo;
#endif
}

#ifdef NPUEDGE_HAVE_DRIVER_GEM_GPUVA
#define NPUEDGE_COMPAT_FEATURES DRIVER_GEM_GPUVA
#else
#define NPUEDGE_COMPAT_FEATURES 0
#endif

#ifndef NPUEDGE_HAVE_SYSTEM_DFL_WQ
#define system_dfl_wq system_unbound_wq
#endif

/*
 * DRM keeps the error of a mount that failed as if it were a mount, and each buffer would fail with
 * it: without it they come from where they do on kernels that know of no huge pages for them.
 */
static inline int npuedge_huge_mnt_create(struct drm_device *drm, const char *value)
{
	int ret = 0;

#if defined(NPUEDGE_HAVE_GEM_HUGE_MNT) && defined(CONFIG_TRANSPARENT_HUGEPAGE)
	ret = drm_gem_huge_mnt_create(drm, value);
	if (!ret && IS_ERR(drm->huge_mnt)) {
		ret = PTR_ERR(drm->huge_mnt);
		drm->huge_mnt = NULL;
	}
#endif
	return ret;
}

#ifndef NPUEDGE_HAVE_GEM_OBJECT_ACTIVE
/* The helper prints active memory in any case. */
#define DRM_GEM_OBJECT_ACTIVE 0
#endif

#ifndef NPUEDGE_HAVE_COPY_STRUCT_TO_USER
static inline int copy_struct_to_user(void __user *dst, size_t usize, const void *src, size_t ksize,
				      bool *ignored_trailing)
{
	size_t size = min(ksize, usize);

	if (usize > ksize && clear_user(dst + size, usize - ksize))
		return -EFAULT;
	if (ignored_trailing)
		*ignored_trailing = usize < ksize && memchr_inv(src + size, 0, ksize - size);
	return copy_to_user(dst, src, size) ? -EFAULT : 0;
}
#endif

#endif
