/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_JOB_H
#define NPUEDGE_JOB_H

#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/ktime.h>

#include <drm/gpu_scheduler.h>

#include "ne1_fwabi.h"

struct npuedge_queue;

/** NPUEDGE_JOB_CORES - most streams of a job */
#define NPUEDGE_JOB_CORES	ARRAY_SIZE(((struct ne1_job *)0)->stream)

/**
 * struct npuedge_job - one job
 */
struct npuedge_job {
	/** @base: the scheduler's view of it */
	struct drm_sched_job base;
	/** @ref: references: the scheduler, the list of jobs in flight */
	struct kref ref;
	/** @cores: streams used, 1..NPUEDGE_JOB_CORES */
	u32 cores;
	/** @queue: queue; the job has a reference */
	struct npuedge_queue *queue;
	/** @node: entry of the queue's jobs in flight */
	struct list_head node;
	/** @seqno: what firmware knows it by, since it was put into the ring */
	u64 seqno;
	/** @param_va: address of its parameters */
	u64 param_va;
	/** @profile_va: address of its profile, or 0 */
	u64 profile_va;
	/** @stream_va: address of each stream */
	u64 stream_va[NPUEDGE_JOB_CORES];
	/** @stream_size: bytes of each stream */
	u32 stream_size[NPUEDGE_JOB_CORES];
	/** @done: hardware fence, allocated ahead, initialised when the job is run */
	struct dma_fence *done;
	/** @done_valid: @done is initialised */
	bool done_valid;
	/** @awake: the job keeps the device from runtime suspend */
	bool awake;
	/** @rerun: it may run a second time from its start: DRM_NPUEDGE_JOB_RERUN */
	bool rerun;
	/** @turn: @slice is when it was first seen on a core, else when it became the oldest */
	bool turn;
	/** @slice_known: @slice and @slice_preempted tell since when it has been on a core */
	bool slice_known;
	/** @position: slot count of the ring, compared with firmware's head */
	u32 position;
	/** @reruns: how often it was started and put into the ring again */
	u32 reruns;
	/** @extended: how often the time limit was extended though nothing explained the delay */
	u32 extended;
	/** @done_jobs: the device's count of ended jobs when it became its queue's oldest */
	u32 done_jobs;
	/** @slice_preempted: the queue's count of preemptions at @slice */
	u32 slice_preempted;
	/** @slice: it has been on a core since then at the latest */
	ktime_t slice;
	/** @busy_ns: busy time of the queue when it became the oldest */
	u64 busy_ns;
	/** @number: number in its queue, counted from 1 */
	u64 number;
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

int npuedge_job_module_init(void);
void npuedge_job_module_exit(void);

struct npuedge_job *npuedge_job_create(struct npuedge_queue *q, u64 client_id);
/**
 * npuedge_job_get() - take a reference
 * @job: job
 *
 * Return: @job.
 */
static inline struct npuedge_job *npuedge_job_get(struct npuedge_job *job)
{
	kref_get(&job->ref);
	return job;
}

void npuedge_job_put(struct npuedge_job *job);
void npuedge_job_abort(struct npuedge_job *job);
void npuedge_job_describe(const struct npuedge_job *job, struct ne1_job *desc);
void npuedge_job_post(struct npuedge_job *job);

#endif
