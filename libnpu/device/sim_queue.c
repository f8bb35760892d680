// SPDX-License-Identifier: MIT
/*
 * Queues of the in-process device.  The worker looks through the queues in turn for a first job
 * whose waits have ended, runs it on the core without holding any lock, and signals its fence.  All
 * state of queues and fences is under work_lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/fault.h"
#include "device/sim.h"
#include "error.h"

/* ---- fences ------------------------------------------------------------------------------ */

static void fence_unref(struct sim_fence *fence)
{
	if (atomic_fetch_sub(&fence->refs, 1) == 1)
		free(fence);
}

void npu_sim_fence_free(npu_fence *fence)
{
	fence_unref(to_sim_fence(fence));
}

static void fence_end(struct sim_device *dev, struct sim_fence *fence, npu_status status)
{
	fence->status = status;
	fence->done = true;
	pthread_cond_broadcast(&dev->done);
}

/* Without npu_fail(): whoever deletes a queue because of an error still wants its message. */
static void fence_cancel(struct sim_device *dev, struct sim_fence *fence)
{
	snprintf(fence->text, sizeof(fence->text), "job %llu was cancelled",
		 (unsigned long long)fence->base.job);
	fence_end(dev, fence, NPU_ERR_CANCELLED);
}

static struct timespec deadline(uint64_t timeout_ns)
{
	const uint64_t year = 365ull * 86400 * 1000000000;
	struct timespec t;

	if (timeout_ns > year)
		timeout_ns = year;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += timeout_ns / 1000000000;
	t.tv_nsec += timeout_ns % 1000000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

npu_status npu_sim_fence_wait(npu_fence *base, uint64_t timeout_ns)
{
	struct sim_device *dev = to_sim_device(base->dev);
	struct sim_fence *fence = to_sim_fence(base);
	struct timespec until = deadline(timeout_ns);
	npu_status status = NPU_OK;
	int err = 0;

	pthread_mutex_lock(&dev->work_lock);
	while (!fence->done && !err)
		err = pthread_cond_timedwait(&dev->done, &dev->work_lock, &until);
	if (!fence->done)
		status = npu_fail(NPU_ERR_TIMEOUT, "%s: job %llu not finished within %.3f s",
				  base->dev->name, (unsigned long long)base->job,
				  timeout_ns * 1e-9);
	else if (fence->status)
		status = npu_fail(fence->status, "%s: %s", base->dev->name, fence->text);
	pthread_mutex_unlock(&dev->work_lock);
	return status;
}

/* ---- jobs -------------------------------------------------------------------------------- */

static void pending_free(struct sim_pending *p)
{
	uint32_t i;

	for (i = 0; i < p->n_waits; i++)
		fence_unref(p->waits[i]);
	fence_unref(p->fence);
	free(p);
}

static struct sim_pending *pop(struct sim_queue *queue)
{
	struct sim_pending *p = queue->head;

	queue->head = p->next;
	if (!queue->head)
		queue->tail = &queue->head;
	return p;
}

static void cancel_all(struct sim_device *dev, struct sim_queue *queue)
{
	struct sim_pending *p;

	while (queue->head) {
		p = pop(queue);
		fence_cancel(dev, p->fence);
		pending_free(p);
	}
}

static bool is_ready(const struct sim_queue *queue)
{
	uint32_t i;

	if (!queue->head)
		return false;
	for (i = 0; i < queue->head->n_waits; i++) {
		if (!queue->head->waits[i]->done)
			return false;
	}
	return true;
}

/* Next queue with a job to run, which then becomes the last to be looked at. */
static struct sim_queue *pick(struct sim_device *dev)
{
	struct sim_queue **link, **end, *queue;

	for (link = &dev->queues; *link && !is_ready(*link); link = &(*link)->next)
		;
	queue = *link;
	if (!queue)
		return NULL;
	*link = queue->next;
	for (end = &dev->queues; *end; end = &(*end)->next)
		;
	*end = queue;
	queue->next = NULL;
	return queue;
}

static void note_part(struct sim_yields *yields, const struct sim_result *result)
{
	uint64_t ns = result->profile.end_ns - result->profile.start_ns;

	if (ns > yields->part_ns)
		yields->part_ns = ns;
}

/* Runs @job; called without the lock.  A core yields only where the device was opened so; then the
 * job loses what it may lose.
 */
static void run_core(struct sim_device *dev, struct sim_job *job, unsigned int *last_asid,
		     struct sim_result *result, struct sim_yields *yields)
{
	if (job->asid != *last_asid)
		sim_core_scrub(dev->core);
	*last_asid = job->asid;
	sim_core_run(dev->core, job, result);
	*yields = (struct sim_yields){ .gap_ns = result->yield_gap_ns };
	note_part(yields, result);
	while (result->state == NE1_CORE_YIELDED) {
		sim_core_scrub(dev->core);
		job->continued = true;
		job->pos = result->pos;
		sim_core_run(dev->core, job, result);
		note_part(yields, result);
		yields->put_aside++;
	}
}

/* Tell the fence how its job ended. */
static npu_status end_job(struct sim_device *dev, struct sim_fence *fence,
			  const struct sim_result *result, bool stopped)
{
	npu_status status = NPU_OK;

	if (result->state != NE1_CORE_DONE && stopped) {
		fence_cancel(dev, fence);
		return NPU_ERR_CANCELLED;
	}
	if (result->state != NE1_CORE_DONE) {
		status = npu_fail_fault(fence->base.job,
					&(struct job_fault){ result->fault, result->fault_cmd,
							     result->fault_va,
							     result->fault_info });
		snprintf(fence->text, sizeof(fence->text), "%s", npu_error_message());
	}
	fence_end(dev, fence, status);
	return status;
}

static void run_one(struct sim_device *dev, struct sim_queue *queue, unsigned int *last_asid)
{
	struct sim_pending *p = pop(queue);
	struct sim_result result;
	struct sim_yields yields;
	npu_status status;

	dev->running = queue;
	dev->stop_running = false;
	sim_core_clear_stop(dev->core);
	pthread_mutex_unlock(&dev->work_lock);
	run_core(dev, &p->job, last_asid, &result, &yields);
	pthread_mutex_lock(&dev->work_lock);
	dev->running = NULL;
	dev->last_yields = yields;
	status = end_job(dev, p->fence, &result, dev->stop_running);
	pending_free(p);
	if (status) {
		queue->guilty = true;
		cancel_all(dev, queue);
	}
}

static void *worker(void *arg)
{
	struct sim_device *dev = arg;
	unsigned int last_asid = 0;
	struct sim_queue *queue;

	pthread_mutex_lock(&dev->work_lock);
	while (!dev->exit) {
		queue = pick(dev);
		if (queue)
			run_one(dev, queue, &last_asid);
		else
			pthread_cond_wait(&dev->work, &dev->work_lock);
	}
	pthread_mutex_unlock(&dev->work_lock);
	return NULL;
}

npu_status npu_sim_worker_start(struct sim_device *dev)
{
	int err = pthread_create(&dev->worker, NULL, worker, dev);

	if (err) {
		dev->exit = true;
		return npu_fail(NPU_ERR_NOMEM, "device %s: thread: %s", dev->base.name,
				strerror(err));
	}
	return NPU_OK;
}

void npu_sim_worker_stop(struct sim_device *dev)
{
	bool started;

	pthread_mutex_lock(&dev->work_lock);
	started = dev->core && !dev->exit;
	dev->exit = true;
	pthread_cond_signal(&dev->work);
	pthread_mutex_unlock(&dev->work_lock);
	if (started)
		pthread_join(dev->worker, NULL);
}

/* ---- queues ------------------------------------------------------------------------------ */

npu_status npu_sim_queue_new(npu_vm *vm, npu_queue **out)
{
	struct sim_device *dev = to_sim_device(vm->dev);
	struct sim_queue *queue = calloc(1, sizeof(*queue));
	bool full;

	if (!queue)
		return npu_fail(NPU_ERR_NOMEM, "queue: no memory");
	queue->tail = &queue->head;
	pthread_mutex_lock(&dev->work_lock);
	full = dev->n_queues >= dev->chip.queues;
	if (!full) {
		npu_queue_init(&queue->base, vm);
		queue->next = dev->queues;
		dev->queues = queue;
		dev->n_queues++;
	}
	pthread_mutex_unlock(&dev->work_lock);
	if (full) {
		free(queue);
		return npu_fail(NPU_ERR_LIMIT, "%s: all %u queues are taken", vm->dev->name,
				dev->chip.queues);
	}
	*out = &queue->base;
	return NPU_OK;
}

void npu_sim_queue_stop(npu_queue *base)
{
	struct sim_device *dev = to_sim_device(base->dev);
	struct sim_queue *queue = to_sim_queue(base), **link;

	pthread_mutex_lock(&dev->work_lock);
	if (dev->running == queue) {
		dev->stop_running = true;
		sim_core_stop(dev->core);
	}
	while (dev->running == queue)
		pthread_cond_wait(&dev->done, &dev->work_lock);
	cancel_all(dev, queue);
	for (link = &dev->queues; *link != queue; link = &(*link)->next)
		;
	*link = queue->next;
	dev->n_queues--;
	/* Jobs elsewhere may have waited for one that was cancelled. */
	pthread_cond_signal(&dev->work);
	pthread_mutex_unlock(&dev->work_lock);
}

void npu_sim_queue_free(npu_queue *queue)
{
	free(to_sim_queue(queue));
}

static struct sim_pending *pending_new(const struct sim_queue *queue, const struct npu_job *job)
{
	struct sim_pending *p = calloc(1, sizeof(*p));
	uint32_t i;

	if (!p)
		return NULL;
	p->fence = calloc(1, sizeof(*p->fence));
	if (!p->fence) {
		free(p);
		return NULL;
	}
	atomic_init(&p->fence->refs, 2);
	p->job = (struct sim_job){
		.asid = to_sim_vm(queue->base.vm)->asid,
		.stream_va = job->stream_va,
		.stream_size = job->stream_size,
		.param_va = job->params_va,
		.profile_va = job->profile_va,
	};
	p->n_waits = job->n_waits;
	for (i = 0; i < job->n_waits; i++) {
		p->waits[i] = to_sim_fence(job->waits[i]);
		atomic_fetch_add(&p->waits[i]->refs, 1);
	}
	return p;
}

npu_status npu_sim_submit(npu_queue *base, const struct npu_job *job, npu_fence **out)
{
	struct sim_device *dev = to_sim_device(base->dev);
	struct sim_queue *queue = to_sim_queue(base);
	struct sim_pending *p = pending_new(queue, job);

	if (!p)
		return npu_fail(NPU_ERR_NOMEM, "job: no memory");
	pthread_mutex_lock(&dev->work_lock);
	if (queue->guilty) {
		pthread_mutex_unlock(&dev->work_lock);
		free(p->fence);
		p->fence = NULL;
		while (p->n_waits)
			fence_unref(p->waits[--p->n_waits]);
		free(p);
		return npu_fail(NPU_ERR_FAULT, "%s: submit: an earlier job of the queue failed",
				base->dev->name);
	}
	npu_fence_init(&p->fence->base, base);
	*out = &p->fence->base;
	*queue->tail = p;
	queue->tail = &p->next;
	pthread_cond_signal(&dev->work);
	pthread_mutex_unlock(&dev->work_lock);
	return NPU_OK;
}
