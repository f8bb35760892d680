// SPDX-License-Identifier: MIT
/* Queues, jobs and fences, as far as all devices share them. */
#include <stdlib.h>

#include "device/backend.h"
#include "error.h"

void npu_queue_init(npu_queue *queue, npu_vm *vm)
{
	queue->dev = vm->dev;
	queue->vm = vm;
	queue->n_jobs = 0;
	atomic_init(&queue->refs, 1);
	pthread_mutex_init(&queue->lock, NULL);
}

void npu_queue_unref(npu_queue *queue)
{
	if (atomic_fetch_sub(&queue->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&queue->lock);
	queue->dev->ops->queue_free(queue);
}

void npu_fence_init(npu_fence *fence, npu_queue *queue)
{
	fence->dev = queue->dev;
	fence->queue = queue;
	fence->job = ++queue->n_jobs;
	atomic_fetch_add(&queue->refs, 1);
}

npu_status npu_queue_new(npu_vm *vm, npu_queue **out)
{
	if (!vm || !out)
		return npu_fail(NPU_ERR_INVALID, "npu_queue_new: no VM or no place for the queue");
	*out = NULL;
	return vm->dev->ops->queue_new(vm, out);
}

void npu_queue_del(npu_queue *queue)
{
	if (!queue)
		return;
	queue->dev->ops->queue_stop(queue);
	npu_queue_unref(queue);
}

static npu_status check_job(const npu_queue *queue, const struct npu_job *job)
{
	uint32_t i;

	if (!job->stream_size || job->stream_size % 64 || job->stream_va % 64)
		return npu_fail(
			NPU_ERR_INVALID,
			"job: stream of %u bytes at 0x%llx: both must be multiples of 64, size > 0",
			job->stream_size, (unsigned long long)job->stream_va);
	if (job->params_va % 64 || job->profile_va % 64)
		return npu_fail(NPU_ERR_INVALID,
				"job: params at 0x%llx, profile at 0x%llx: must be multiples of 64",
				(unsigned long long)job->params_va,
				(unsigned long long)job->profile_va);
	if (job->n_waits > NPU_JOB_MAX_WAITS)
		return npu_fail(NPU_ERR_INVALID, "job: %u waits, limit %u", job->n_waits,
				NPU_JOB_MAX_WAITS);
	for (i = 0; i < job->n_waits; i++) {
		if (!job->waits[i] || job->waits[i]->dev != queue->dev)
			return npu_fail(NPU_ERR_INVALID, "job: wait %u is no fence of this device",
					i);
	}
	return NPU_OK;
}

npu_status npu_queue_submit(npu_queue *queue, const struct npu_job *job, npu_fence **fence)
{
	npu_fence *made = NULL;
	npu_status status;

	if (fence)
		*fence = NULL;
	if (!queue || !job)
		return npu_fail(NPU_ERR_INVALID, "npu_queue_submit: no queue or no job");
	status = check_job(queue, job);
	if (status)
		return status;
	pthread_mutex_lock(&queue->lock);
	status = queue->dev->ops->submit(queue, job, &made);
	pthread_mutex_unlock(&queue->lock);
	if (status)
		return status;
	if (fence)
		*fence = made;
	else
		npu_fence_del(made);
	return NPU_OK;
}

npu_status npu_fence_wait(npu_fence *fence, uint64_t timeout_ns)
{
	if (!fence)
		return npu_fail(NPU_ERR_INVALID, "npu_fence_wait: no fence");
	return fence->dev->ops->fence_wait(fence, timeout_ns);
}

void npu_fence_del(npu_fence *fence)
{
	npu_queue *queue;

	if (!fence)
		return;
	queue = fence->queue;
	fence->dev->ops->fence_free(fence);
	npu_queue_unref(queue);
}
