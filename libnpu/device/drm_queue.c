// SPDX-License-Identifier: MIT
/*
 * Queues and fences through the kernel driver.  A fence is a binary syncobj of its own, because
 * only the job's dma_fence itself carries how the job ended; it is read through a sync_file, and
 * the queue's state then says why.  Syncobjs are used again: a submit replaces what they hold.
 */
#include <errno.h>
#include <linux/sync_file.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/drm.h"
#include "device/fault.h"
#include "error.h"

#define FENCE_PENDING	-1

/* ---- queues ------------------------------------------------------------------------------ */

npu_status npu_drm_queue_new(npu_vm *vm, npu_queue **out)
{
	struct drm_npuedge_queue_create create = {
		.vm_id = to_drm_vm(vm)->id,
		.priority = DRM_NPUEDGE_PRIORITY_NORMAL,
	};
	struct drm_queue *queue = calloc(1, sizeof(*queue));
	int err;

	if (!queue)
		return npu_fail(NPU_ERR_NOMEM, "queue: no memory");
	err = npu_drm_ioctl(to_drm_device(vm->dev)->fd, DRM_IOCTL_NPUEDGE_QUEUE_CREATE, &create);
	if (err) {
		free(queue);
		return npu_drm_fail(vm->dev, "creation of a queue", err);
	}
	queue->id = create.id;
	pthread_mutex_init(&queue->state_lock, NULL);
	npu_queue_init(&queue->base, vm);
	*out = &queue->base;
	return NPU_OK;
}

/* State now, or when the queue was destroyed. */
static int get_state(struct drm_queue *queue, struct drm_npuedge_queue_get_state *state)
{
	int err = 0;

	pthread_mutex_lock(&queue->state_lock);
	if (queue->id) {
		memset(state, 0, sizeof(*state));
		state->id = queue->id;
		err = npu_drm_ioctl(to_drm_device(queue->base.dev)->fd,
				    DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, state);
	} else {
		*state = queue->last;
	}
	pthread_mutex_unlock(&queue->state_lock);
	return err;
}

void npu_drm_queue_stop(npu_queue *queue)
{
	struct drm_queue *drm = to_drm_queue(queue);
	struct drm_npuedge_queue_destroy destroy = { .id = drm->id };
	struct drm_npuedge_queue_get_state state;

	if (get_state(drm, &state))
		memset(&state, 0, sizeof(state));
	pthread_mutex_lock(&drm->state_lock);
	drm->last = state;
	drm->id = 0;
	npu_drm_ioctl(to_drm_device(queue->dev)->fd, DRM_IOCTL_NPUEDGE_QUEUE_DESTROY, &destroy);
	pthread_mutex_unlock(&drm->state_lock);
}

void npu_drm_queue_free(npu_queue *queue)
{
	pthread_mutex_destroy(&to_drm_queue(queue)->state_lock);
	free(to_drm_queue(queue));
}

/* ---- syncobjs ---------------------------------------------------------------------------- */

static int pool_get(struct drm_device *dev, uint32_t *handle)
{
	struct drm_syncobj_create create = { 0 };
	int err;

	pthread_mutex_lock(&dev->pool_lock);
	if (dev->n_pool) {
		*handle = dev->pool[--dev->n_pool];
		pthread_mutex_unlock(&dev->pool_lock);
		return 0;
	}
	pthread_mutex_unlock(&dev->pool_lock);
	err = npu_drm_ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);
	*handle = create.handle;
	return err;
}

static void pool_put(struct drm_device *dev, uint32_t handle)
{
	struct drm_syncobj_destroy destroy = { .handle = handle };

	pthread_mutex_lock(&dev->pool_lock);
	if (dev->n_pool < DRM_SYNCOBJ_POOL) {
		dev->pool[dev->n_pool++] = handle;
		pthread_mutex_unlock(&dev->pool_lock);
		return;
	}
	pthread_mutex_unlock(&dev->pool_lock);
	npu_drm_ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
}

void npu_drm_pool_drain(struct drm_device *dev)
{
	while (dev->n_pool) {
		struct drm_syncobj_destroy destroy = { .handle = dev->pool[--dev->n_pool] };

		npu_drm_ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
	}
}

/* ---- jobs -------------------------------------------------------------------------------- */

static int submit_ioctl(struct drm_queue *queue, const struct npu_job *job, uint32_t syncobj)
{
	const struct drm_device *dev = to_drm_device(queue->base.dev);
	struct drm_npuedge_sync in[NPU_JOB_MAX_WAITS] = { 0 };
	struct drm_npuedge_sync out = { .handle = syncobj };
	struct drm_npuedge_stream stream = { .va = job->stream_va, .size = job->stream_size };
	struct drm_npuedge_job desc = {
		.streams = { .stride = sizeof(stream), .count = 1, .ptr = (uintptr_t)&stream },
		.params_va = job->params_va,
		.profile_va = job->profile_va,
		.in_syncs = { .stride = sizeof(in[0]),
			      .count = job->n_waits,
			      .ptr = (uintptr_t)in },
		.out_syncs = { .stride = sizeof(out), .count = 1, .ptr = (uintptr_t)&out },
		.flags = job->rerun && dev->rerun ? DRM_NPUEDGE_JOB_RERUN : 0,
	};
	struct drm_npuedge_submit submit = {
		.queue_id = queue->id,
		.jobs = { .stride = sizeof(desc), .count = 1, .ptr = (uintptr_t)&desc },
	};
	uint32_t i;

	for (i = 0; i < job->n_waits; i++)
		in[i].handle = to_drm_fence(job->waits[i])->syncobj;
	return npu_drm_ioctl(dev->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit);
}

npu_status npu_drm_submit(npu_queue *queue, const struct npu_job *job, npu_fence **out)
{
	struct drm_device *dev = to_drm_device(queue->dev);
	struct drm_fence *fence = calloc(1, sizeof(*fence));
	int err;

	if (!fence)
		return npu_fail(NPU_ERR_NOMEM, "fence: no memory");
	err = pool_get(dev, &fence->syncobj);
	if (err) {
		free(fence);
		return npu_drm_fail(queue->dev, "creation of a syncobj", err);
	}
	err = submit_ioctl(to_drm_queue(queue), job, fence->syncobj);
	if (err) {
		pool_put(dev, fence->syncobj);
		free(fence);
		if (err == -EIO)
			return npu_fail(NPU_ERR_FAULT,
					"%s: submit: an earlier job of the queue failed",
					queue->dev->name);
		return npu_drm_fail(queue->dev, "submit", err);
	}
	atomic_init(&fence->result, FENCE_PENDING);
	npu_fence_init(&fence->base, queue);
	*out = &fence->base;
	return NPU_OK;
}

/* ---- fences ------------------------------------------------------------------------------ */

static int64_t deadline(uint64_t timeout_ns)
{
	struct timespec now;
	int64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = now.tv_sec * 1000000000ll + now.tv_nsec;
	return timeout_ns > (uint64_t)(INT64_MAX - ns) ? INT64_MAX : ns + (int64_t)timeout_ns;
}

static int wait_syncobj(struct drm_fence *fence, uint64_t timeout_ns)
{
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)&fence->syncobj,
		.timeout_nsec = deadline(timeout_ns),
		.count_handles = 1,
	};

	return npu_drm_ioctl(to_drm_device(fence->base.dev)->fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
}

/* How the job ended: 0 or the negative errno of its dma_fence in @result. */
static int read_result(struct drm_fence *fence, int *result)
{
	struct drm_syncobj_handle export = {
		.handle = fence->syncobj,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
		.fd = -1,
	};
	struct sync_file_info info = { 0 };
	int err = npu_drm_ioctl(to_drm_device(fence->base.dev)->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD,
				&export);

	if (err)
		return err;
	err = npu_drm_ioctl(export.fd, SYNC_IOC_FILE_INFO, &info);
	close(export.fd);
	*result = info.status < 0 ? info.status : 0;
	return err;
}

/* Status and message of a job that ended with @result < 0. */
static npu_status explain(struct drm_fence *fence, int result)
{
	struct drm_npuedge_queue_get_state state;
	const char *name = fence->base.dev->name;
	unsigned long long job = fence->base.job;

	switch (result) {
	case -ECANCELED:
		return npu_fail(NPU_ERR_CANCELLED, "%s: job %llu was cancelled", name, job);
	case -ENODEV:
		return npu_fail(NPU_ERR_DEVICE_LOST, "%s: device lost with job %llu", name, job);
	case -ETIME:
	case -ETIMEDOUT:
		return npu_fail(NPU_ERR_TIMEOUT, "%s: job %llu hung, the driver ended it", name,
				job);
	}
	if (get_state(to_drm_queue(fence->base.queue), &state) ||
	    state.reason != DRM_NPUEDGE_REASON_FAULT || state.fault_job != fence->base.job)
		return npu_fail(NPU_ERR_FAULT, "%s: job %llu ended with %s", name, job,
				strerror(-result));
	npu_fail_fault(job, &(struct job_fault){ state.fault, state.fault_cmd, state.fault_va,
						 state.fault_info });
	return npu_fail(NPU_ERR_FAULT, "%s: %s", name, npu_error_message());
}

npu_status npu_drm_fence_wait(npu_fence *base, uint64_t timeout_ns)
{
	struct drm_fence *fence = to_drm_fence(base);
	int err, result = atomic_load(&fence->result);

	if (result == NPU_OK)
		return NPU_OK;
	err = wait_syncobj(fence, timeout_ns);
	if (err == -ETIME)
		return npu_fail(NPU_ERR_TIMEOUT, "%s: job %llu not finished within %.3f s",
				base->dev->name, (unsigned long long)base->job, timeout_ns * 1e-9);
	if (err)
		return npu_drm_fail(base->dev, "waiting for a job", err);
	err = read_result(fence, &result);
	if (err)
		return npu_drm_fail(base->dev, "reading how a job ended", err);
	if (result)
		return explain(fence, result);
	atomic_store(&fence->result, NPU_OK);
	return NPU_OK;
}

void npu_drm_fence_free(npu_fence *fence)
{
	pool_put(to_drm_device(fence->dev), to_drm_fence(fence)->syncobj);
	free(to_drm_fence(fence));
}
