/* SPDX-License-Identifier: MIT */
/*
 * npuedge: user-space interface of the NE1 NPU driver (/dev/accel/accelN).
 *
 * Rules, kept by every later version:
 *  - structures only grow at the end; a caller passes the size it knows as the ioctl size or as a
 *    stride, the kernel zero-fills what an old caller lacks and refuses (-E2BIG) non-zero bytes it
 *    does not know;
 *  - sizes, addresses and pointers are 64 bits wide, layouts are the same for 32- and 64-bit
 *    programs;
 *  - padding and unknown flags must be zero (-EINVAL); enums are append-only;
 *  - each addition raises DRM_NPUEDGE_VERSION_MINOR, reported by the DRM version ioctl.
 *
 * Errors common to all calls: -EFAULT (bad pointer), -EINVAL (bad value, flag or padding), -ENOENT
 * (unknown handle or id), -ENOMEM, -ENODEV (device gone).
 */
#ifndef _UAPI_DRM_NPUEDGE_ACCEL_H_
#define _UAPI_DRM_NPUEDGE_ACCEL_H_

#ifdef __KERNEL__
#include <drm/drm.h>
#else
#include "drm.h" /* from libdrm's include path */
#endif

#if defined(__cplusplus)
extern "C" {
#endif

#define DRM_NPUEDGE_VERSION_MAJOR 1
#define DRM_NPUEDGE_VERSION_MINOR 0

#define DRM_NPUEDGE_DEV_QUERY		0x00
#define DRM_NPUEDGE_BO_CREATE		0x01
#define DRM_NPUEDGE_BO_MMAP_OFFSET	0x02
#define DRM_NPUEDGE_VM_CREATE		0x03
#define DRM_NPUEDGE_VM_DESTROY		0x04
#define DRM_NPUEDGE_VM_BIND		0x05
#define DRM_NPUEDGE_QUEUE_CREATE	0x06
#define DRM_NPUEDGE_QUEUE_DESTROY	0x07
#define DRM_NPUEDGE_QUEUE_GET_STATE	0x08
#define DRM_NPUEDGE_SUBMIT		0x09

/**
 * struct drm_npuedge_array - array of extensible structures in user memory
 */
struct drm_npuedge_array {
	/** @stride: size in bytes of one element as the caller knows it */
	__u32 stride;
	/** @count: number of elements; 0 is allowed where the user says so */
	__u32 count;
	/** @ptr: user pointer to the first element; ignored if @count is 0 */
	__u64 ptr;
};

/**
 * enum drm_npuedge_query_type - what DEV_QUERY returns
 */
enum drm_npuedge_query_type {
	/** @DRM_NPUEDGE_QUERY_CHIP: struct drm_npuedge_chip_info */
	DRM_NPUEDGE_QUERY_CHIP = 0,
	/** @DRM_NPUEDGE_QUERY_FIRMWARE: struct drm_npuedge_fw_info */
	DRM_NPUEDGE_QUERY_FIRMWARE = 1,
	/** @DRM_NPUEDGE_QUERY_TELEMETRY: struct drm_npuedge_telemetry */
	DRM_NPUEDGE_QUERY_TELEMETRY = 2,
};

/**
 * struct drm_npuedge_dev_query - read information about the device
 */
struct drm_npuedge_dev_query {
	/** @type: enum drm_npuedge_query_type */
	__u32 type;
	/**
	 * @size: in: bytes at @pointer; out: bytes of the structure the kernel has. A larger kernel
	 * structure is cut, a larger user buffer is zero-filled.
	 */
	__u32 size;
	/** @pointer: user memory to fill; 0 only asks for @size */
	__u64 pointer;
};

/**
 * struct drm_npuedge_chip_info - constant properties of the NPU
 */
struct drm_npuedge_chip_info {
	/** @contract_version: NE1 contract, major 31:16, minor 15:0 */
	__u32 contract_version;
	/** @cores: compute cores */
	__u32 cores;
	/** @sram_bytes: scratchpad per core */
	__u32 sram_bytes;
	/** @macs_per_cycle: fp16 multiply-accumulates per cycle and core */
	__u32 macs_per_cycle;
	/** @vx_lanes: vector elements per cycle and core */
	__u32 vx_lanes;
	/** @formats: bit n: enum ne1_type n is an MX operand */
	__u32 formats;
	/** @freq_max_khz: highest engine clock */
	__u32 freq_max_khz;
	/** @dram_bw_mbps: peak DRAM bandwidth, 10^6 bytes per second */
	__u32 dram_bw_mbps;
	/** @queue_limit: queues per device */
	__u32 queue_limit;
	/**
	 * @queue_depth: jobs that one queue holds in the device; further submits wait in the
	 * scheduler
	 */
	__u32 queue_depth;
	/** @va_start: lowest VA that VM_BIND accepts */
	__u64 va_start;
	/** @va_end: first VA above the address space */
	__u64 va_end;
	/** @name: chip name, NUL terminated */
	char name[16];
};

/**
 * struct drm_npuedge_fw_info - firmware that runs on the device
 */
struct drm_npuedge_fw_info {
	/** @version: major 31:24, minor 23:16, patch 15:0 */
	__u32 version;
	/** @abi_version: major 31:16, minor 15:0 */
	__u32 abi_version;
	/** @build: build text of the image, NUL terminated */
	char build[56];
};

/**
 * struct drm_npuedge_telemetry - counters and sensors at the time of the call
 */
struct drm_npuedge_telemetry {
	/** @time_ns: device time */
	__u64 time_ns;
	/** @energy_uj: energy since power-on */
	__u64 energy_uj;
	/** @dram_rd_bytes: DRAM bytes read by the NPU since power-on */
	__u64 dram_rd_bytes;
	/** @dram_wr_bytes: DRAM bytes written by the NPU since power-on */
	__u64 dram_wr_bytes;
	/** @temp_die_mc: die temperature, millidegrees Celsius */
	__s32 temp_die_mc;
	/** @temp_board_mc: board temperature, millidegrees Celsius */
	__s32 temp_board_mc;
	/** @freq_khz: current engine clock */
	__u32 freq_khz;
	/** @pad: 0 */
	__u32 pad;
};

/**
 * DRM_NPUEDGE_BO_WC - CPU mappings are write-combined instead of cached (for data the CPU only
 * writes); those of a device that does not see the CPU's caches always are
 */
#define DRM_NPUEDGE_BO_WC		(1u << 0)
/** DRM_NPUEDGE_BO_NO_MMAP - the CPU never maps it: BO_MMAP_OFFSET fails with -EPERM */
#define DRM_NPUEDGE_BO_NO_MMAP		(1u << 1)

/**
 * struct drm_npuedge_bo_create - allocate a buffer object
 *
 * Contents are zero. Pages are charged to the caller's memory cgroup.
 */
struct drm_npuedge_bo_create {
	/** @size: in: bytes, > 0; out: rounded up to the page size */
	__u64 size;
	/** @flags: DRM_NPUEDGE_BO_* */
	__u32 flags;
	/**
	 * @vm_id: VM that alone may map it (cheaper to lock; cannot be exported), or 0: shareable
	 */
	__u32 vm_id;
	/** @handle: out: GEM handle */
	__u32 handle;
	/** @pad: 0 */
	__u32 pad;
};

/**
 * struct drm_npuedge_bo_mmap_offset - offset for mmap() of the device file
 */
struct drm_npuedge_bo_mmap_offset {
	/** @handle: GEM handle */
	__u32 handle;
	/** @pad: 0 */
	__u32 pad;
	/** @offset: out: pass to mmap() */
	__u64 offset;
};

/**
 * struct drm_npuedge_vm_create - create an address space
 */
struct drm_npuedge_vm_create {
	/** @flags: 0 */
	__u32 flags;
	/** @id: out: VM id, > 0 */
	__u32 id;
};

/**
 * struct drm_npuedge_vm_destroy - drop the id of an address space
 *
 * Mappings live on until the last queue of the VM is gone.
 */
struct drm_npuedge_vm_destroy {
	/** @id: VM id */
	__u32 id;
	/** @pad: 0 */
	__u32 pad;
};

/**
 * enum drm_npuedge_bind_op - what a struct drm_npuedge_vm_bind_op does
 */
enum drm_npuedge_bind_op {
	/** @DRM_NPUEDGE_BIND_MAP: map a range of a BO, replacing what was mapped there */
	DRM_NPUEDGE_BIND_MAP = 0,
	/**
	 * @DRM_NPUEDGE_BIND_UNMAP: unmap a range; may cover several mappings, parts of them, or
	 * nothing
	 */
	DRM_NPUEDGE_BIND_UNMAP = 1,
};

/** DRM_NPUEDGE_BIND_READONLY - device writes fault */
#define DRM_NPUEDGE_BIND_READONLY	(1u << 0)

/**
 * struct drm_npuedge_vm_bind_op - one change of an address space
 *
 * All values are multiples of 4096.
 */
struct drm_npuedge_vm_bind_op {
	/** @op: enum drm_npuedge_bind_op */
	__u32 op;
	/** @flags: DRM_NPUEDGE_BIND_* */
	__u32 flags;
	/** @handle: MAP: GEM handle; UNMAP: 0 */
	__u32 handle;
	/** @pad: 0 */
	__u32 pad;
	/** @va: device address */
	__u64 va;
	/** @size: bytes, > 0 */
	__u64 size;
	/** @bo_offset: MAP: first byte of the BO; UNMAP: 0 */
	__u64 bo_offset;
};

/**
 * struct drm_npuedge_vm_bind - change an address space, synchronously
 *
 * Operations are applied in order and are complete (device caches included) on return. On an error
 * @ops.count holds the number of operations that were applied; these stay.
 *
 * Errors: -EINVAL (range outside [va_start, va_end), misaligned, outside the BO), -EPERM (BO
 * belongs to another VM).
 */
struct drm_npuedge_vm_bind {
	/** @vm_id: VM id */
	__u32 vm_id;
	/** @flags: 0 */
	__u32 flags;
	/** @ops: in: struct drm_npuedge_vm_bind_op[], at least one; out: see above */
	struct drm_npuedge_array ops;
};

/**
 * enum drm_npuedge_priority - scheduling priority of a queue
 */
enum drm_npuedge_priority {
	/** @DRM_NPUEDGE_PRIORITY_LOW: background work */
	DRM_NPUEDGE_PRIORITY_LOW = 0,
	/** @DRM_NPUEDGE_PRIORITY_NORMAL: default */
	DRM_NPUEDGE_PRIORITY_NORMAL = 1,
	/** @DRM_NPUEDGE_PRIORITY_HIGH: needs CAP_SYS_NICE */
	DRM_NPUEDGE_PRIORITY_HIGH = 2,
	/** @DRM_NPUEDGE_PRIORITY_REALTIME: needs CAP_SYS_NICE */
	DRM_NPUEDGE_PRIORITY_REALTIME = 3,
};

/**
 * struct drm_npuedge_queue_create - create a queue; its jobs run in order
 *
 * Errors: -EACCES (priority not allowed), -EBUSY (all hardware queues taken), -EIO (firmware did not
 * answer and the device was reset; try again).
 */
struct drm_npuedge_queue_create {
	/** @vm_id: VM that its jobs run in */
	__u32 vm_id;
	/** @priority: enum drm_npuedge_priority */
	__u32 priority;
	/** @flags: 0 */
	__u32 flags;
	/** @id: out: queue id, > 0 */
	__u32 id;
};

/**
 * struct drm_npuedge_queue_destroy - destroy a queue
 *
 * Jobs that have not ended are cancelled: their fences signal with -ECANCELED.
 */
struct drm_npuedge_queue_destroy {
	/** @id: queue id */
	__u32 id;
	/** @pad: 0 */
	__u32 pad;
};

/**
 * enum drm_npuedge_queue_state - health of a queue
 */
enum drm_npuedge_queue_state {
	/** @DRM_NPUEDGE_QUEUE_OK: accepts jobs */
	DRM_NPUEDGE_QUEUE_OK = 0,
	/** @DRM_NPUEDGE_QUEUE_GUILTY: one of its jobs faulted or hung; submits fail with -EIO */
	DRM_NPUEDGE_QUEUE_GUILTY = 1,
	/**
	 * @DRM_NPUEDGE_QUEUE_INNOCENT: lost jobs to a reset that another queue caused; accepts jobs
	 */
	DRM_NPUEDGE_QUEUE_INNOCENT = 2,
	/** @DRM_NPUEDGE_QUEUE_LOST: the device is gone; submits fail with -ENODEV */
	DRM_NPUEDGE_QUEUE_LOST = 3,
};

/**
 * enum drm_npuedge_queue_reason - why a queue is guilty
 */
enum drm_npuedge_queue_reason {
	/** @DRM_NPUEDGE_REASON_NONE: not guilty */
	DRM_NPUEDGE_REASON_NONE = 0,
	/** @DRM_NPUEDGE_REASON_TIMEOUT: a job took longer than the driver allows */
	DRM_NPUEDGE_REASON_TIMEOUT = 1,
	/**
	 * @DRM_NPUEDGE_REASON_FAULT: a job faulted, see @fault of struct
	 * drm_npuedge_queue_get_state
	 */
	DRM_NPUEDGE_REASON_FAULT = 2,
};

/**
 * struct drm_npuedge_queue_get_state - read the health of a queue
 */
struct drm_npuedge_queue_get_state {
	/** @id: queue id */
	__u32 id;
	/** @state: out: enum drm_npuedge_queue_state */
	__u32 state;
	/** @reason: out: enum drm_npuedge_queue_reason */
	__u32 reason;
	/** @fault: out: enum ne1_fault of the first failing job */
	__u32 fault;
	/** @fault_va: out: device address of an MMU fault */
	__u64 fault_va;
	/** @fault_cmd: out: index of the failing command */
	__u32 fault_cmd;
	/** @fault_info: out: unit and MMU code, as the NE1 contract encodes them */
	__u32 fault_info;
	/** @fault_job: out: number of the failing job of this queue, counted from 1 */
	__u64 fault_job;
	/** @busy_ns: out: device time spent on this queue's jobs */
	__u64 busy_ns;
};

/**
 * DRM_NPUEDGE_SYNC_TIMELINE - the syncobj is a timeline, @point of struct drm_npuedge_sync is used
 */
#define DRM_NPUEDGE_SYNC_TIMELINE	(1u << 0)

/**
 * struct drm_npuedge_sync - wait for, or signal, a syncobj
 */
struct drm_npuedge_sync {
	/** @handle: syncobj handle */
	__u32 handle;
	/** @flags: DRM_NPUEDGE_SYNC_* */
	__u32 flags;
	/** @point: timeline point, > 0; 0 for binary syncobjs */
	__u64 point;
};

/**
 * struct drm_npuedge_stream - command stream of one core
 */
struct drm_npuedge_stream {
	/** @va: device address, multiple of 64 */
	__u64 va;
	/** @size: bytes, > 0, multiple of 64 */
	__u32 size;
	/** @pad: 0 */
	__u32 pad;
};

/**
 * struct drm_npuedge_job - one job
 */
struct drm_npuedge_job {
	/** @streams: struct drm_npuedge_stream[], one per core used, 1..cores */
	struct drm_npuedge_array streams;
	/** @params_va: device address of struct ne1_params, multiple of 64 */
	__u64 params_va;
	/** @profile_va: device address of struct ne1_profile per core, multiple of 64, or 0 */
	__u64 profile_va;
	/** @in_syncs: struct drm_npuedge_sync[] to wait for; may be empty */
	struct drm_npuedge_array in_syncs;
	/** @out_syncs: struct drm_npuedge_sync[] to signal at the end; may be empty */
	struct drm_npuedge_array out_syncs;
	/** @flags: 0 */
	__u32 flags;
	/** @pad: 0 */
	__u32 pad;
};

/**
 * struct drm_npuedge_submit - submit jobs to a queue
 *
 * All or nothing: on an error no job was queued and no out-syncobj was touched. A later job of the
 * same call may wait for a syncobj that an earlier one signals.
 *
 * A job that faults or hangs ends with -EIO or -ETIME on its fence, and so do the jobs behind it in
 * its queue (-ECANCELED).
 *
 * Errors: -EIO (queue guilty), -ENODEV (device lost), -E2BIG (more than 64 jobs, or 256 syncs per
 * job).
 */
struct drm_npuedge_submit {
	/** @queue_id: queue id */
	__u32 queue_id;
	/** @flags: 0 */
	__u32 flags;
	/** @jobs: struct drm_npuedge_job[], at least one */
	struct drm_npuedge_array jobs;
};

#define DRM_IOCTL_NPUEDGE_DEV_QUERY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_DEV_QUERY, struct drm_npuedge_dev_query)
#define DRM_IOCTL_NPUEDGE_BO_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_BO_CREATE, struct drm_npuedge_bo_create)
#define DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_BO_MMAP_OFFSET, struct drm_npuedge_bo_mmap_offset)
#define DRM_IOCTL_NPUEDGE_VM_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_VM_CREATE, struct drm_npuedge_vm_create)
#define DRM_IOCTL_NPUEDGE_VM_DESTROY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_VM_DESTROY, struct drm_npuedge_vm_destroy)
#define DRM_IOCTL_NPUEDGE_VM_BIND \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_VM_BIND, struct drm_npuedge_vm_bind)
#define DRM_IOCTL_NPUEDGE_QUEUE_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_QUEUE_CREATE, struct drm_npuedge_queue_create)
#define DRM_IOCTL_NPUEDGE_QUEUE_DESTROY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_QUEUE_DESTROY, struct drm_npuedge_queue_destroy)
#define DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_QUEUE_GET_STATE, struct drm_npuedge_queue_get_state)
#define DRM_IOCTL_NPUEDGE_SUBMIT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_SUBMIT, struct drm_npuedge_submit)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_DRM_NPUEDGE_ACCEL_H_ */
