/* SPDX-License-Identifier: MIT */
/*
 * The back end that runs the device model inside the process: host memory as device memory, one
 * worker thread that runs jobs on core 0.  Other cores of a profile are not used.
 */
#ifndef LIBNPU_DEVICE_SIM_H
#define LIBNPU_DEVICE_SIM_H

#include "device/backend.h"

#include "chip.h"
#include "core.h"
#include "mem.h"
#include "soc.h"

#define SIM_MAX_ASIDS	NE1_MAX_ASIDS

struct sim_queue;

/* What is mapped where in one address space, ascending. */
struct sim_map {
	uint64_t va, size;
	uint8_t *host;
	bool readonly;
};

struct sim_vm {
	npu_vm base;
	unsigned int asid;
	struct sim_map *maps;
	uint32_t n, max;
	uint32_t last;			/* index of the last hit */
};

struct sim_bo {
	npu_bo base;
	void *mem;
};

struct sim_fence {
	npu_fence base;
	atomic_uint refs;		/* the user's and the job's */
	bool done;			/* under the device's work_lock, as the rest */
	npu_status status;
	char text[200];			/* message if status is not NPU_OK */
};

struct sim_pending {
	struct sim_job job;
	struct sim_fence *fence;
	uint32_t n_waits;
	struct sim_fence *waits[NPU_JOB_MAX_WAITS];
	struct sim_pending *next;
};

struct sim_queue {
	npu_queue base;
	struct sim_pending *head, **tail;
	bool guilty;
	struct sim_queue *next;		/* in the device's list */
};

/* How a job let others have the core. */
struct sim_yields {
	uint64_t gap_ns;		/* longest from one YIELD to the next, if it ran through */
	uint64_t part_ns;		/* longest from one start to where it was put aside */
	uint32_t put_aside;
};

struct sim_device {
	npu_device base;
	struct sim_chip chip;
	struct sim_soc *soc;
	struct sim_core *core;
	struct sim_mem mem;

	pthread_mutex_t map_lock;	/* held while a command accesses memory */
	struct sim_vm *vms[SIM_MAX_ASIDS];

	pthread_mutex_t work_lock;
	pthread_cond_t work;		/* worker: there may be something to run */
	pthread_cond_t done;		/* waiters: a job ended */
	struct sim_queue *queues;	/* the next to look at first */
	struct sim_queue *running;	/* whose job is on the core */
	struct sim_yields last_yields;	/* of the job that ended last */
	bool stop_running;		/* that job shall end */
	bool exit;
	pthread_t worker;
	uint32_t n_queues;
};

static inline struct sim_device *to_sim_device(npu_device *dev)
{
	return (struct sim_device *)dev;
}

static inline struct sim_vm *to_sim_vm(npu_vm *vm)
{
	return (struct sim_vm *)vm;
}

static inline struct sim_bo *to_sim_bo(npu_bo *bo)
{
	return (struct sim_bo *)bo;
}

static inline struct sim_queue *to_sim_queue(npu_queue *queue)
{
	return (struct sim_queue *)queue;
}

static inline struct sim_fence *to_sim_fence(npu_fence *fence)
{
	return (struct sim_fence *)fence;
}

/* For tests: the model reports concurrent commands that touch the same SRAM as faults. */
void npu_sim_check_hazards(npu_device *dev, bool on);
/* Put jobs aside at every YIELD, then let them go on without SRAM and semaphores. */
void npu_sim_preempt(npu_device *dev, bool on);

/* sim_mem.c */
void npu_sim_mem_init(struct sim_device *dev);
npu_status npu_sim_bo_new(npu_device *dev, uint64_t size, npu_bo **out);
void npu_sim_bo_del(npu_bo *bo);
npu_status npu_sim_bo_map(npu_bo *bo, void **out);
void npu_sim_bo_unmap(npu_bo *bo);
npu_status npu_sim_vm_new(npu_device *dev, npu_vm **out);
void npu_sim_vm_del(npu_vm *vm);
npu_status npu_sim_vm_map(npu_vm *vm, npu_bo *bo, uint64_t va, uint32_t flags);
npu_status npu_sim_vm_unmap(npu_vm *vm, npu_bo *bo, uint64_t va);

/* sim_queue.c */
npu_status npu_sim_worker_start(struct sim_device *dev);
void npu_sim_worker_stop(struct sim_device *dev);
npu_status npu_sim_queue_new(npu_vm *vm, npu_queue **out);
void npu_sim_queue_stop(npu_queue *queue);
void npu_sim_queue_free(npu_queue *queue);
npu_status npu_sim_submit(npu_queue *queue, const struct npu_job *job, npu_fence **out);
npu_status npu_sim_fence_wait(npu_fence *fence, uint64_t timeout_ns);
void npu_sim_fence_free(npu_fence *fence);

#endif
