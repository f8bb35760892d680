/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_JOB_H
#define NPUEDGE_JOB_H

#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/ktime.h>

#include <drm/gpu_scheduler.h>

#include "ne1_fwabi.h"

struct npuedge_queue;

/**
 * struct npuedge_job - one job
 */
struct npuedge_job {
	/** @base: the scheduler's view of it */
	struct drm_sched_job base;
	/** @ref: references: the scheduler, the list of jobs in flight */
	struct kref ref;
	/** @queue: queue; the job has a reference */
	struct npuedge_queue *queue;
	/** @node: entry of the queue's jobs in flight */
	struct list_head node;
	/** @desc: what is put into the ring; the seqno is filled in then */
	struct ne1_job desc;
	/** @done: hardware fence, allocated ahead, initialised when the job is run */
	struct dma_fence *done;
	/** @done_valid: @done is initialised */
	bool done_valid;
	/** @awake: the job keeps the device from runtime suspend */
	bool awake;
	/** @rerun: user space allows to run it again from its start */
	bool rerun;
	/** @extended: how often the time limit was extended though nothing explained the delay */
	u32 extended;
	/** @done_jobs: the device's count of ended jobs when the time limit began */
	u32 done_jobs;
	/** @number: number in its queue, counted from 1 */
	u64 number;
	/** @position: slot count of the ring, compared with firmware's head */
	u32 position;
	/** @posted: when it was put into the ring */
	ktime_t posted;
};

/**
 * to_npuedge_job() - the job of a scheduler's job
 * @base: scheduler's job
 *
 * Return: the job.
 */
static inline struct npuedge_job *to_npuedge_job(struct drm_sched_job *base)
{
	return container_of(base, struct npuedge_job, base);
}

extern const struct drm_sched_backend_ops npuedge_sched_ops;

struct npuedge_job *npuedge_job_create(struct npuedge_queue *q, u64 client_id);
void npuedge_job_put(struct npuedge_job *job);
void npuedge_job_abort(struct npuedge_job *job);
void npuedge_job_post(struct npuedge_job *job);

#endif
