/* SPDX-License-Identifier: MIT */
/*
 * What a kind of device implements.  Back ends put the structures below at the start of their own;
 * the common layer checks arguments, picks device addresses, and keeps maps and bindings.
 */
#ifndef LIBNPU_BACKEND_H
#define LIBNPU_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "npu/device.h"
#include "device/va.h"

#define NPU_PAGE	4096u	/* of the NE1's MMU */

struct device_ops {
	void (*close)(npu_device *dev);
	npu_status (*telemetry)(npu_device *dev, struct npu_telemetry *out);

	npu_status (*bo_new)(npu_device *dev, uint64_t size, npu_bo **out);
	void (*bo_del)(npu_bo *bo);
	npu_status (*bo_map)(npu_bo *bo, void **out);
	void (*bo_unmap)(npu_bo *bo);

	npu_status (*vm_new)(npu_device *dev, npu_vm **out);
	void (*vm_del)(npu_vm *vm);
	npu_status (*vm_map)(npu_vm *vm, npu_bo *bo, uint64_t va, uint32_t flags);
	npu_status (*vm_unmap)(npu_vm *vm, npu_bo *bo, uint64_t va);

	npu_status (*queue_new)(npu_vm *vm, npu_queue **out);
	/* Cancels jobs; the memory goes when the last reference does, through queue_free. */
	void (*queue_stop)(npu_queue *queue);
	void (*queue_free)(npu_queue *queue);
	/* Called with the queue's lock held. @out always wanted. */
	npu_status (*submit)(npu_queue *queue, const struct npu_job *job, npu_fence **out);
	npu_status (*fence_wait)(npu_fence *fence, uint64_t timeout_ns);
	void (*fence_free)(npu_fence *fence);
};

struct npu_device {
	const struct device_ops *ops;
	char name[96];
	struct npu_chip_info chip;
	uint32_t page;			/* what BO sizes and addresses are multiples of, a power of two */
	pthread_mutex_t lock;		/* guards vm, and every binding of the device */
	npu_vm *vm;			/* default address space, made on demand */
};

struct npu_bo {
	npu_device *dev;
	uint64_t size;
	void *map;
	npu_vm *vm;			/* where it is bound */
	uint64_t va;
	npu_bo *next;			/* in vm->bos */
};

struct npu_vm {
	npu_device *dev;
	struct va_space space;
	npu_bo *bos;
};

/* Fences keep their queue's memory, because its last state explains how a job ended. */
struct npu_queue {
	npu_device *dev;
	npu_vm *vm;
	pthread_mutex_t lock;		/* orders submits */
	atomic_uint refs;
	uint64_t n_jobs;		/* submitted so far */
};

struct npu_fence {
	npu_device *dev;
	npu_queue *queue;		/* reference */
	uint64_t job;			/* number within the queue, from 1 */
};

npu_status npu_drm_open(const char *path, npu_device **out);
npu_status npu_sim_open(const char *chip, npu_device **out);

/* Common parts of back ends' constructors. */
void npu_queue_init(npu_queue *queue, npu_vm *vm);
void npu_queue_unref(npu_queue *queue);
/* Takes a reference of @queue and counts the job; call when nothing can fail any more. */
void npu_fence_init(npu_fence *fence, npu_queue *queue);

#endif
