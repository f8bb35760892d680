/* SPDX-License-Identifier: MIT */
/**
 * npu/device.h - an NPU and what it works with: buffers, address spaces, queues, jobs, fences.
 *
 * Two kinds of device stand behind the same calls: "drm", the kernel driver's /dev/accel/accelN,
 * and "sim", the device model running inside the process (same command streams, no kernel).
 *
 * Objects are opaque and belong to the device they were made from; delete them all before the
 * device is closed.  A fence may outlive its queue.  A job uses memory by device address: deleting
 * or unbinding a BO that a running job touches makes that job fault.
 *
 * Thread safety: calls on different objects may run at the same time; calls on one object may too,
 * except its deletion.  npu_queue_submit() calls of one queue are ordered by the library.
 *
 * Common errors: NPU_ERR_INVALID (argument), NPU_ERR_NOMEM, NPU_ERR_DEVICE_LOST (unplugged or
 * dead), NPU_ERR_IO (the driver refused; the message has the call and its errno).
 */
#ifndef NPU_DEVICE_H
#define NPU_DEVICE_H

#include <stdint.h>

#include "npu/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct npu_device npu_device;
typedef struct npu_bo npu_bo;
typedef struct npu_vm npu_vm;
typedef struct npu_queue npu_queue;
typedef struct npu_fence npu_fence;

/* ---- device --------------------------------------------------------------------------- */

/** Constant properties of a device. */
struct npu_chip_info {
	uint32_t contract_version;	/* NE1 contract, major 31:16, minor 15:0 */
	uint32_t cores;			/* compute cores */
	uint32_t sram_bytes;		/* scratchpad per core */
	uint32_t macs_per_cycle;	/* fp16 multiply-accumulates per cycle and core */
	uint32_t vx_lanes;		/* vector elements per cycle and core */
	uint32_t formats;		/* bit n: enum ne1_type n is an MX operand */
	uint32_t freq_max_khz;
	uint32_t dram_bw_mbps;		/* peak, 10^6 bytes per second */
	uint64_t va_start, va_end;	/* device addresses that can be bound */
	char name[17];			/* chip, NUL terminated */
};

/** Counters and sensors; totals since power-on. */
struct npu_telemetry {
	uint64_t time_ns;		/* device time */
	uint64_t energy_uj;
	uint64_t dram_rd_bytes, dram_wr_bytes;
	int32_t temp_die_mc, temp_board_mc; /* millidegrees Celsius */
	uint32_t freq_khz;		/* current engine clock */
};

/**
 * Open a device by name:
 *   "drm"			first /dev/accel/accelN whose driver is npuedge
 *   "drm:/dev/accel/accel3"	that one
 *   "sim"			the model of chip profile "edge"
 *   "sim:CHIP"			of that profile (a built-in name, or a path with a '/')
 *   "sim:CHIP,preempt"		each job is put aside at every place where that is allowed, loses
 *				what the core holds of it, and goes on: for tests
 *   NULL			$NPU_DEVICE, or "drm" if that is not set
 * NPU_ERR_NO_DEVICE: nothing there, no permission, or a driver or contract of another major
 * version. NPU_ERR_INVALID: no such kind of device ("cpu" is none).
 */
NPU_API npu_status npu_device_open(const char *name, npu_device **out);

/** Delete what was made from it first.  NULL is allowed. */
NPU_API void npu_device_close(npu_device *dev);

/** Which device it is, e.g. "drm:/dev/accel/accel0" or "sim:edge". */
NPU_API const char *npu_device_name(const npu_device *dev);

NPU_API const struct npu_chip_info *npu_device_chip(const npu_device *dev);

NPU_API npu_status npu_device_telemetry(npu_device *dev, struct npu_telemetry *out);

/* ---- buffers and address spaces -------------------------------------------------------- */

/**
 * Allocate a buffer; its contents are zero.  CPU mappings are cached and coherent with the device.
 * @size in bytes, > 0, is rounded up to whole pages of the NPU (4096), whatever those of the CPU.
 */
NPU_API npu_status npu_bo_new(npu_device *dev, uint64_t size, npu_bo **out);

/** Unbinds and unmaps it first.  NULL is allowed. */
NPU_API void npu_bo_del(npu_bo *bo);

/** Map for the CPU; the second call returns the same address.  Lives until unmap or deletion. */
NPU_API npu_status npu_bo_map(npu_bo *bo, void **out);
NPU_API void npu_bo_unmap(npu_bo *bo);

/** Bytes, whole pages. */
NPU_API uint64_t npu_bo_size(const npu_bo *bo);
/** Device address where it is bound, 0 if it is not. */
NPU_API uint64_t npu_bo_va(const npu_bo *bo);

/** An address space.  NPU_ERR_LIMIT: the device has no more. */
NPU_API npu_status npu_vm_new(npu_device *dev, npu_vm **out);
/** Unbinds what is bound.  Delete its queues first.  NULL is allowed. */
NPU_API void npu_vm_del(npu_vm *vm);

/** The address space that libnpu's own programs use; made on first use, owned by the device. */
NPU_API npu_status npu_device_vm(npu_device *dev, npu_vm **out);

#define NPU_BIND_READONLY	(1u << 0)	/* device writes fault */

/**
 * Bind the whole BO at an address of the library's choice (npu_bo_va() tells it), complete on
 * return. A BO is bound in at most one address space.  NPU_ERR_LIMIT: no room of that size.
 */
NPU_API npu_status npu_vm_bind(npu_vm *vm, npu_bo *bo, uint32_t flags);
/** Complete on return: no access of the device reaches the BO afterwards. */
NPU_API npu_status npu_vm_unbind(npu_vm *vm, npu_bo *bo);

/* ---- queues, jobs, fences --------------------------------------------------------------- */

/**
 * A queue runs its jobs in order.  After a job that faulted or hung, the jobs behind it end with
 * NPU_ERR_CANCELLED and submits fail with NPU_ERR_FAULT: delete the queue and make a new one.
 * NPU_ERR_LIMIT: the device has no more queues.
 */
NPU_API npu_status npu_queue_new(npu_vm *vm, npu_queue **out);
/** Jobs that have not ended are cancelled.  NULL is allowed. */
NPU_API void npu_queue_del(npu_queue *queue);

/** One job: a command stream for one core (driver/hw/ne1_cmd.h), by device addresses. */
struct npu_job {
	uint64_t stream_va;		/* multiple of 64 */
	uint32_t stream_size;		/* bytes, > 0, multiple of 64 */
	uint64_t params_va;		/* struct ne1_params, multiple of 64 */
	uint64_t profile_va;		/* struct ne1_profile, multiple of 64, or 0 */
	uint32_t n_waits;		/* at most 16 */
	npu_fence *const *waits;	/* of any queue of the device; must have ended first */
	/* 1: it reads nothing that it has overwritten: if another program has the device reset in
	 * the middle of it, it runs again from its start.  0: it is cancelled then
	 */
	uint32_t rerun;
};

#define NPU_JOB_MAX_WAITS	16

/**
 * Submit without waiting.  @fence may be NULL.  Order towards other queues comes from waits only.
 * The job runs even if a job it waits for failed.
 */
NPU_API npu_status npu_queue_submit(npu_queue *queue, const struct npu_job *job, npu_fence **fence);

#define NPU_WAIT_FOREVER	UINT64_MAX

/**
 * Wait for the job and return how it ended: NPU_OK; NPU_ERR_FAULT with fault, command index,
 * engine and address in the message; NPU_ERR_TIMEOUT (@timeout_ns passed, or, as the message says,
 * the driver ended a job that hung); NPU_ERR_CANCELLED; NPU_ERR_DEVICE_LOST.  May be called again.
 * @timeout_ns 0 only asks.
 */
NPU_API npu_status npu_fence_wait(npu_fence *fence, uint64_t timeout_ns);

/** The job goes on.  NULL is allowed. */
NPU_API void npu_fence_del(npu_fence *fence);

#ifdef __cplusplus
}
#endif
#endif
