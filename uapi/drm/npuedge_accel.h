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
 * (unknown handle or id), -ENOMEM, -ENODEV (device gone), -EINTR (a signal came first and nothing
 * was done: call again). What a call refuses, the kernel log names if DRM's debug messages are on.
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
#define DRM_NPUEDGE_VERSION_MINOR 4

/*
 * Minor versions:
 *  1.0 - first
 *  1.1 - BO_SYNC, BO_MADVISE, BO_SET_LABEL, VM_GET_STATE, PERFMON_*, EVENTS; asynchronous VM_BIND;
 *        DRM_NPUEDGE_JOB_RERUN, buffers of a job for implicit synchronisation; memory and limit
 *        queries
 *  1.2 - limits of queues and address spaces in DRM_NPUEDGE_QUERY_LIMITS; -EDQUOT of QUEUE_CREATE
 *  1.3 - counters in DRM_NPUEDGE_QUERY_LIMITS
 *  1.4 - bind_align in DRM_NPUEDGE_QUERY_LIMITS
 */

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
#define DRM_NPUEDGE_BO_SYNC		0x0a
#define DRM_NPUEDGE_BO_MADVISE		0x0b
#define DRM_NPUEDGE_BO_SET_LABEL	0x0c
#define DRM_NPUEDGE_VM_GET_STATE	0x0d
#define DRM_NPUEDGE_PERFMON_CREATE	0x0e
#define DRM_NPUEDGE_PERFMON_DESTROY	0x0f
#define DRM_NPUEDGE_PERFMON_READ	0x10
#define DRM_NPUEDGE_EVENTS		0x11

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
	/** @DRM_NPUEDGE_QUERY_MEMORY: struct drm_npuedge_memory_info */
	DRM_NPUEDGE_QUERY_MEMORY = 3,
	/** @DRM_NPUEDGE_QUERY_LIMITS: struct drm_npuedge_limits */
	DRM_NPUEDGE_QUERY_LIMITS = 4,
};

/**
 * struct drm_npuedge_dev_query - read information about the device
 *
 * Errors: -EINVAL (unknown type).
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
 * struct drm_npuedge_memory_info - memory of all buffers of the device, of all its users
 */
struct drm_npuedge_memory_info {
	/** @total_bytes: sizes of all buffers, imported ones included */
	__u64 total_bytes;
	/** @resident_bytes: of these, in memory now */
	__u64 resident_bytes;
	/** @purgeable_bytes: resident, and may be dropped: DRM_NPUEDGE_MADV_DONTNEED */
	__u64 purgeable_bytes;
	/** @imported_bytes: belong to other drivers */
	__u64 imported_bytes;
	/** @evicted_bytes: swapped out since the driver was loaded */
	__u64 evicted_bytes;
	/** @purged_bytes: dropped since the driver was loaded */
	__u64 purged_bytes;
	/** @table_bytes: page tables of the device; each takes a page of the CPU */
	__u64 table_bytes;
	/** @buffers: number of buffers */
	__u64 buffers;
};

/**
 * struct drm_npuedge_limits - what one call, or one file, may ask for
 */
struct drm_npuedge_limits {
	/** @jobs_per_submit: jobs of one SUBMIT */
	__u32 jobs_per_submit;
	/** @syncs_per_job: in- or out-syncobjs of a job or of a VM_BIND */
	__u32 syncs_per_job;
	/** @bos_per_job: entries of @bos of struct drm_npuedge_job */
	__u32 bos_per_job;
	/** @ops_per_bind: operations of one VM_BIND */
	__u32 ops_per_bind;
	/** @label_bytes: of a buffer's label, its end included */
	__u32 label_bytes;
	/** @job_timeout_ms: time after which a job that the device works on is stopped */
	__u32 job_timeout_ms;
	/** @perfmons: per open file */
	__u32 perfmons;
	/** @events: unread events kept per open file */
	__u32 events;
	/** @queues_per_user: queues that a user id has without CAP_SYS_NICE. Since 1.2 */
	__u32 queues_per_user;
	/** @vms: address spaces per open file. Since 1.2 */
	__u32 vms;
	/**
	 * @counters: bit N says that performance monitors have counter N of enum
	 * drm_npuedge_counter; 0: the device's firmware is too old for any. Since 1.3
	 */
	__u64 counters;
	/**
	 * @bind_align: bytes; values of VM_BIND are multiples of it. It is the NPU's page size; the
	 * CPU's may be larger. 0: the driver is older, it is 4096. Since 1.4
	 */
	__u32 bind_align;
	/** @pad: 0 */
	__u32 pad;
};

/**
 * DRM_NPUEDGE_BO_WC - CPU mappings are write-combined instead of cached (for data the CPU only
 * writes); those of a device that does not see the CPU's caches always are. A hint: processors on
 * which it would cost coherence keep them cached
 */
#define DRM_NPUEDGE_BO_WC		(1u << 0)
/** DRM_NPUEDGE_BO_NO_MMAP - the CPU never maps it: BO_MMAP_OFFSET fails with -EPERM */
#define DRM_NPUEDGE_BO_NO_MMAP		(1u << 1)

/**
 * struct drm_npuedge_bo_create - allocate a buffer object
 *
 * Contents are zero. Pages are charged to the caller's memory cgroup.
 *
 * Errors: -EINVAL (size 0, or above va_end of struct drm_npuedge_chip_info), -ENOMEM (also: more
 * than the machine has).
 */
struct drm_npuedge_bo_create {
	/** @size: in: bytes, > 0; out: rounded up to the page size of the CPU */
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
 *
 * Errors: -EPERM (created with DRM_NPUEDGE_BO_NO_MMAP).
 */
struct drm_npuedge_bo_mmap_offset {
	/** @handle: GEM handle */
	__u32 handle;
	/** @pad: 0 */
	__u32 pad;
	/** @offset: out: pass to mmap() */
	__u64 offset;
};

/** DRM_NPUEDGE_SYNC_FOR_CPU - the CPU is going to read what the device has written */
#define DRM_NPUEDGE_SYNC_FOR_CPU	(1u << 0)
/** DRM_NPUEDGE_SYNC_FOR_DEVICE - the device is going to read what the CPU has written */
#define DRM_NPUEDGE_SYNC_FOR_DEVICE	(1u << 1)

/**
 * struct drm_npuedge_bo_sync - make a range of a buffer visible to the other side
 *
 * Does the cache maintenance that a device needs which does not see the CPU's caches, and nothing
 * on one that does. It does not wait for jobs. Imported buffers: use DMA_BUF_IOCTL_SYNC.
 *
 * Errors: -EINVAL (range outside the buffer, no direction), -EOPNOTSUPP (imported buffer).
 */
struct drm_npuedge_bo_sync {
	/** @handle: GEM handle */
	__u32 handle;
	/** @flags: DRM_NPUEDGE_SYNC_FOR_*, one or both */
	__u32 flags;
	/** @offset: first byte */
	__u64 offset;
	/** @size: bytes, > 0 */
	__u64 size;
};

/**
 * enum drm_npuedge_madv - whether the contents of a buffer matter
 */
enum drm_npuedge_madv {
	/** @DRM_NPUEDGE_MADV_WILLNEED: they do (default) */
	DRM_NPUEDGE_MADV_WILLNEED = 0,
	/**
	 * @DRM_NPUEDGE_MADV_DONTNEED: under memory pressure the kernel may drop them. A job that
	 * uses a dropped buffer faults.
	 */
	DRM_NPUEDGE_MADV_DONTNEED = 1,
};

/**
 * struct drm_npuedge_bo_madvise - say whether the contents of a buffer matter
 *
 * Errors: -EOPNOTSUPP (imported or exported buffer).
 */
struct drm_npuedge_bo_madvise {
	/** @handle: GEM handle */
	__u32 handle;
	/** @advice: enum drm_npuedge_madv */
	__u32 advice;
	/**
	 * @retained: out: 1: contents are there; 0: they were dropped. A buffer that was dropped
	 * stays so: make a new one
	 */
	__u32 retained;
	/** @pad: 0 */
	__u32 pad;
};

/**
 * struct drm_npuedge_bo_set_label - name a buffer, for debugfs and coredumps
 *
 * Errors: -E2BIG (label too long), -EINVAL (characters that are not printable).
 */
struct drm_npuedge_bo_set_label {
	/** @handle: GEM handle */
	__u32 handle;
	/** @size: bytes at @label without an end mark; 0 takes the label away */
	__u32 size;
	/** @label: user pointer to printable ASCII */
	__u64 label;
};

/**
 * struct drm_npuedge_vm_create - create an address space
 *
 * Errors: -EBUSY (this file has vms of struct drm_npuedge_limits).
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
 * enum drm_npuedge_vm_health - whether an address space can be used
 */
enum drm_npuedge_vm_health {
	/** @DRM_NPUEDGE_VM_USABLE: yes */
	DRM_NPUEDGE_VM_USABLE = 0,
	/**
	 * @DRM_NPUEDGE_VM_UNUSABLE: an asynchronous operation failed, so that nobody knows what is
	 * mapped. VM_BIND and SUBMIT fail with -EIO; destroy it
	 */
	DRM_NPUEDGE_VM_UNUSABLE = 1,
};

/**
 * struct drm_npuedge_vm_get_state - read the state of an address space
 */
struct drm_npuedge_vm_get_state {
	/** @id: VM id */
	__u32 id;
	/** @state: out: enum drm_npuedge_vm_health */
	__u32 state;
	/** @mapped_bytes: out: sum of the mapped ranges */
	__u64 mapped_bytes;
	/** @table_bytes: out: memory of its page tables; each takes a page of the CPU */
	__u64 table_bytes;
	/** @mappings: out: number of mapped ranges */
	__u64 mappings;
	/** @pte_writes: out: page-table entries written since it was created */
	__u64 pte_writes;
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
 * Addresses, sizes and offsets are multiples of bind_align of struct drm_npuedge_limits.
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

/** DRM_NPUEDGE_VM_BIND_ASYNC - return at once; @in_syncs and @out_syncs order the operations */
#define DRM_NPUEDGE_VM_BIND_ASYNC	(1u << 0)

/**
 * struct drm_npuedge_vm_bind - change an address space
 *
 * Synchronously, operations are applied in order and are complete (device caches included) on
 * return. On an error @ops.count holds the number of operations that were applied; these stay.
 *
 * With DRM_NPUEDGE_VM_BIND_ASYNC all is checked and all memory is allocated first: on an error
 * nothing was queued, @ops.count is 0 and no syncobj was touched. Afterwards the operations run
 * when @in_syncs have signalled, in the order of the calls for this VM, and @out_syncs signal when
 * they are complete. Jobs do not wait for them unless they are told to. A synchronous call waits
 * for those that were queued before. If one fails all the same, its @out_syncs signal with the
 * error and the VM becomes DRM_NPUEDGE_VM_UNUSABLE.
 *
 * Errors: -EINVAL (range outside [va_start, va_end), misaligned, outside the BO; contents of the
 * BO were dropped; syncs without DRM_NPUEDGE_VM_BIND_ASYNC; nobody is going to signal an in-sync),
 * -EPERM (BO belongs to another VM), -EACCES (read-only dma-buf without
 * DRM_NPUEDGE_BIND_READONLY), -EIO (VM is unusable), -E2BIG (more operations or syncs than struct
 * drm_npuedge_limits says).
 */
struct drm_npuedge_vm_bind {
	/** @vm_id: VM id */
	__u32 vm_id;
	/** @flags: DRM_NPUEDGE_VM_BIND_* */
	__u32 flags;
	/** @ops: in: struct drm_npuedge_vm_bind_op[], at least one; out: see above */
	struct drm_npuedge_array ops;
	/** @in_syncs: struct drm_npuedge_sync[] to wait for; may be empty. Since 1.1 */
	struct drm_npuedge_array in_syncs;
	/** @out_syncs: struct drm_npuedge_sync[] to signal; may be empty. Since 1.1 */
	struct drm_npuedge_array out_syncs;
};

/**
 * enum drm_npuedge_priority - scheduling priority of a queue
 */
enum drm_npuedge_priority {
	/**
	 * @DRM_NPUEDGE_PRIORITY_LOW: background work; where queues of normal priority keep the
	 * device busy, one queue of this has a turn each second; a job that is put aside in it goes
	 * on among theirs until it ends, with a second of device time at most
	 */
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
 * Errors: -EACCES (priority not allowed), -EBUSY (all hardware queues taken), -EDQUOT (the caller
 * has queues_per_user of them, see struct drm_npuedge_limits, and no CAP_SYS_NICE), -EIO (firmware
 * did not answer and the device was reset; try again).
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
	 * @DRM_NPUEDGE_QUEUE_INNOCENT: lost jobs to a reset that another queue caused or the bus
	 * made, or as one was stopped in the place of a job that took too long and had just ended;
	 * accepts jobs
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
	/** @completed: out: jobs that have ended, whatever their result. Since 1.1 */
	__u64 completed;
	/** @preempted: out: how often a job was put aside for another queue's. Since 1.1 */
	__u64 preempted;
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
	/** @size: bytes, > 0, multiple of 64; 32 bits, as in what the device is told of a stream */
	__u32 size;
	/** @pad: 0 */
	__u32 pad;
};

/**
 * DRM_NPUEDGE_JOB_RERUN - the job may be run a second time from its start, as it reads nothing that
 * it has overwritten. If another queue, or the bus, has the device reset in the middle of it, or if
 * it was stopped in the place of one that took too long, it is run again instead of being
 * cancelled. Since 1.1
 */
#define DRM_NPUEDGE_JOB_RERUN		(1u << 0)

/** DRM_NPUEDGE_BO_WRITE - the job writes the buffer */
#define DRM_NPUEDGE_BO_WRITE		(1u << 0)

/**
 * struct drm_npuedge_bo_use - buffer of a job that others synchronise with implicitly
 *
 * The job waits for the writers of the buffer (all users, if it writes itself), and who uses the
 * buffer later waits for the job: cameras, displays, other drivers, and DMA_BUF_IOCTL_SYNC or
 * poll() of the dma-buf. Buffers that are not listed are ordered by syncobjs alone. Who holds a
 * read-only dma-buf cannot be a writer (-EACCES). One device at a time writes a dma-buf between two
 * accesses of the CPU; if that is a job, and another device works on a copy of the memory,
 * DMA_BUF_IOCTL_SYNC has to know of the job by this. Of other devices that work on copies only one
 * at a time may have the buffer mapped for writing: the copy of the one attached first counts.
 */
struct drm_npuedge_bo_use {
	/** @handle: GEM handle; the VM maps it, or not */
	__u32 handle;
	/** @flags: DRM_NPUEDGE_BO_WRITE or 0 */
	__u32 flags;
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
	/** @flags: DRM_NPUEDGE_JOB_* */
	__u32 flags;
	/** @pad: 0 */
	__u32 pad;
	/** @bos: struct drm_npuedge_bo_use[], usually empty. Since 1.1 */
	struct drm_npuedge_array bos;
};

/**
 * struct drm_npuedge_submit - submit jobs to a queue
 *
 * All or nothing: on an error no job was queued and no out-syncobj was touched. A later job of the
 * same call may wait for a syncobj that an earlier one signals; of a timeline, for the point that
 * it signals, or for a point before that which has no fence yet.
 *
 * A job that faults or hangs ends with -EIO or -ETIME on its fence, and so do the jobs behind it in
 * its queue (-ECANCELED).
 *
 * Errors: -EINVAL (address misaligned or outside [va_start, va_end); more streams than cores;
 * nobody is going to signal an in-sync), -EIO (queue guilty, or its VM DRM_NPUEDGE_VM_UNUSABLE),
 * -ENODEV (device lost), -EACCES (DRM_NPUEDGE_BO_WRITE of a read-only dma-buf), -E2BIG (more than
 * 64 jobs, or 256 syncs or 1024 buffers per job).
 */
struct drm_npuedge_submit {
	/** @queue_id: queue id */
	__u32 queue_id;
	/** @flags: 0 */
	__u32 flags;
	/** @jobs: struct drm_npuedge_job[], at least one */
	struct drm_npuedge_array jobs;
};

/**
 * enum drm_npuedge_counter - what a performance monitor counts
 */
enum drm_npuedge_counter {
	/** @DRM_NPUEDGE_COUNTER_CYCLES: engine clock, while a core runs */
	DRM_NPUEDGE_COUNTER_CYCLES = 0,
	/** @DRM_NPUEDGE_COUNTER_LD_BUSY: cycles in which the load engine moved data */
	DRM_NPUEDGE_COUNTER_LD_BUSY = 1,
	/** @DRM_NPUEDGE_COUNTER_ST_BUSY: same of the store engine */
	DRM_NPUEDGE_COUNTER_ST_BUSY = 2,
	/** @DRM_NPUEDGE_COUNTER_MX_BUSY: same of the matrix engine */
	DRM_NPUEDGE_COUNTER_MX_BUSY = 3,
	/** @DRM_NPUEDGE_COUNTER_VX_BUSY: same of the vector engine */
	DRM_NPUEDGE_COUNTER_VX_BUSY = 4,
	/** @DRM_NPUEDGE_COUNTER_DRAM_READ: bytes */
	DRM_NPUEDGE_COUNTER_DRAM_READ = 5,
	/** @DRM_NPUEDGE_COUNTER_DRAM_WRITE: bytes */
	DRM_NPUEDGE_COUNTER_DRAM_WRITE = 6,
	/** @DRM_NPUEDGE_COUNTER_MACS: multiply-accumulates */
	DRM_NPUEDGE_COUNTER_MACS = 7,
	/** @DRM_NPUEDGE_COUNTER_COMMANDS: commands executed */
	DRM_NPUEDGE_COUNTER_COMMANDS = 8,
	/** @DRM_NPUEDGE_COUNTER_SKIPPED: commands skipped */
	DRM_NPUEDGE_COUNTER_SKIPPED = 9,
	/** @DRM_NPUEDGE_COUNTER_TLB_MISSES: page-table walks */
	DRM_NPUEDGE_COUNTER_TLB_MISSES = 10,
	/** @DRM_NPUEDGE_COUNTER_ENERGY: nanojoules */
	DRM_NPUEDGE_COUNTER_ENERGY = 11,
};

/**
 * struct drm_npuedge_perfmon_create - count what a queue, or the device, does
 *
 * Counting starts at 0. A monitor of the whole device shows what other users do, and needs
 * CAP_PERFMON.
 *
 * Errors: -EACCES (no CAP_PERFMON), -ENOSPC (limit of monitors reached), -EOPNOTSUPP (firmware does
 * not count), -EIO (firmware did not answer and the device was reset; try again).
 */
struct drm_npuedge_perfmon_create {
	/** @queue_id: queue, or 0: all queues of the device */
	__u32 queue_id;
	/** @flags: 0 */
	__u32 flags;
	/** @id: out: id of the monitor, > 0 */
	__u32 id;
	/** @pad: 0 */
	__u32 pad;
};

/**
 * struct drm_npuedge_perfmon_destroy - end a monitor
 */
struct drm_npuedge_perfmon_destroy {
	/** @id: id of the monitor */
	__u32 id;
	/** @pad: 0 */
	__u32 pad;
};

/** DRM_NPUEDGE_PERFMON_RESET - start again at 0 after reading */
#define DRM_NPUEDGE_PERFMON_RESET	(1u << 0)

/**
 * struct drm_npuedge_perfmon_value - one counter
 */
struct drm_npuedge_perfmon_value {
	/** @counter: in: enum drm_npuedge_counter */
	__u32 counter;
	/** @pad: 0 */
	__u32 pad;
	/** @value: out: its value */
	__u64 value;
};

/**
 * struct drm_npuedge_perfmon_read - read counters of a monitor
 *
 * Values are those of jobs that have ended or were put aside. Those of a queue are from one moment,
 * unless jobs end faster than they are read; those of the device are added up queue by queue. A
 * monitor outlives its queue with the last values.
 *
 * Errors: -EINVAL (unknown counter), -E2BIG (more than 256 values).
 */
struct drm_npuedge_perfmon_read {
	/** @id: id of the monitor */
	__u32 id;
	/** @flags: DRM_NPUEDGE_PERFMON_* */
	__u32 flags;
	/** @values: in and out: struct drm_npuedge_perfmon_value[], at least one */
	struct drm_npuedge_array values;
};

/**
 * enum drm_npuedge_event_type - what happened, @type of struct drm_event
 *
 * Numbers below 0x80000000 belong to DRM.
 */
enum drm_npuedge_event_type {
	/** @DRM_NPUEDGE_EVENT_RESET: the device was reset; @value: resets so far */
	DRM_NPUEDGE_EVENT_RESET = 0x80000000,
	/**
	 * @DRM_NPUEDGE_EVENT_QUEUE_LOST: a queue of this file became guilty or innocent, or was
	 * lost; @object: queue id, @value: enum drm_npuedge_queue_state
	 */
	DRM_NPUEDGE_EVENT_QUEUE_LOST = 0x80000001,
	/**
	 * @DRM_NPUEDGE_EVENT_MEMORY_PRESSURE: buffers of the device were swapped out or dropped;
	 * @value: bytes
	 */
	DRM_NPUEDGE_EVENT_MEMORY_PRESSURE = 0x80000002,
};

/**
 * struct drm_npuedge_event - what read() of the file returns
 *
 * One read() gives whole events only. poll() reports POLLIN while there are some.
 */
struct drm_npuedge_event {
	/** @type: enum drm_npuedge_event_type */
	__u32 type;
	/** @length: bytes of the event; later versions may be longer */
	__u32 length;
	/** @time_ns: CLOCK_MONOTONIC */
	__u64 time_ns;
	/** @object: see the type */
	__u32 object;
	/**
	 * @dropped: events that were lost before this one, because nobody read them in time
	 */
	__u32 dropped;
	/** @value: see the type */
	__u64 value;
};

/** DRM_NPUEDGE_EVENTS_MASK() - bit of an event type in struct drm_npuedge_events */
#define DRM_NPUEDGE_EVENTS_MASK(type)	(1u << ((type) & 31))

/**
 * struct drm_npuedge_events - choose the events that this file receives
 *
 * Initially none. Events that were received stay readable.
 *
 * Errors: -EINVAL (unknown type).
 */
struct drm_npuedge_events {
	/** @mask: DRM_NPUEDGE_EVENTS_MASK() of each type wanted */
	__u32 mask;
	/** @pad: 0 */
	__u32 pad;
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
#define DRM_IOCTL_NPUEDGE_BO_SYNC \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_BO_SYNC, struct drm_npuedge_bo_sync)
#define DRM_IOCTL_NPUEDGE_BO_MADVISE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_BO_MADVISE, struct drm_npuedge_bo_madvise)
#define DRM_IOCTL_NPUEDGE_BO_SET_LABEL \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_BO_SET_LABEL, struct drm_npuedge_bo_set_label)
#define DRM_IOCTL_NPUEDGE_VM_GET_STATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_VM_GET_STATE, struct drm_npuedge_vm_get_state)
#define DRM_IOCTL_NPUEDGE_PERFMON_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_PERFMON_CREATE, struct drm_npuedge_perfmon_create)
#define DRM_IOCTL_NPUEDGE_PERFMON_DESTROY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_PERFMON_DESTROY, struct drm_npuedge_perfmon_destroy)
#define DRM_IOCTL_NPUEDGE_PERFMON_READ \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_PERFMON_READ, struct drm_npuedge_perfmon_read)
#define DRM_IOCTL_NPUEDGE_EVENTS \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPUEDGE_EVENTS, struct drm_npuedge_events)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_DRM_NPUEDGE_ACCEL_H_ */
