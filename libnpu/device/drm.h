/* SPDX-License-Identifier: MIT */
/* The back end that talks to the kernel driver (uapi/drm/npuedge_accel.h). */
#ifndef LIBNPU_DEVICE_DRM_H
#define LIBNPU_DEVICE_DRM_H

#include <stdbool.h>

#include "device/backend.h"
#include "drm/npuedge_accel.h"

#define DRM_SYNCOBJ_POOL	32

struct drm_device {
	npu_device base;
	int fd;
	pthread_mutex_t pool_lock;
	uint32_t pool[DRM_SYNCOBJ_POOL];	/* syncobj handles to use again */
	uint32_t n_pool;
	bool rerun;				/* the driver knows DRM_NPUEDGE_JOB_RERUN */
};

struct drm_bo {
	npu_bo base;
	uint32_t handle;
};

struct drm_vm {
	npu_vm base;
	uint32_t id;
};

struct drm_queue {
	npu_queue base;
	pthread_mutex_t state_lock;
	uint32_t id;			/* 0: destroyed */
	struct drm_npuedge_queue_get_state last; /* taken before it was destroyed */
};

struct drm_fence {
	npu_fence base;
	uint32_t syncobj;
	atomic_int result;		/* npu_status, or FENCE_PENDING */
};

static inline struct drm_device *to_drm_device(npu_device *dev)
{
	return (struct drm_device *)dev;
}

static inline struct drm_bo *to_drm_bo(npu_bo *bo)
{
	return (struct drm_bo *)bo;
}

static inline struct drm_vm *to_drm_vm(npu_vm *vm)
{
	return (struct drm_vm *)vm;
}

static inline struct drm_queue *to_drm_queue(npu_queue *queue)
{
	return (struct drm_queue *)queue;
}

static inline struct drm_fence *to_drm_fence(npu_fence *fence)
{
	return (struct drm_fence *)fence;
}

/* ioctl() that is restarted after signals.  0 or a negative errno. */
int npu_drm_ioctl(int fd, unsigned long request, void *arg);

/* Message for a refused call: "submit: Input/output error", with a status that fits the errno. */
npu_status npu_drm_fail(npu_device *dev, const char *what, int err);

/* Answer to DRM_NPUEDGE_QUERY_@type; what an older driver does not know stays 0. */
npu_status npu_drm_query(npu_device *dev, uint32_t type, void *out, uint32_t size,
			 const char *what);

npu_status npu_drm_queue_new(npu_vm *vm, npu_queue **out);
void npu_drm_queue_stop(npu_queue *queue);
void npu_drm_queue_free(npu_queue *queue);
npu_status npu_drm_submit(npu_queue *queue, const struct npu_job *job, npu_fence **out);
npu_status npu_drm_fence_wait(npu_fence *fence, uint64_t timeout_ns);
void npu_drm_fence_free(npu_fence *fence);
void npu_drm_pool_drain(struct drm_device *dev);

extern const struct device_ops npu_drm_ops;

#endif
