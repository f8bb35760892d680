/* SPDX-License-Identifier: MIT */
/*
 * Host <-> firmware interface, version NE1_ABI_MAJOR.MINOR: one shared region at VA 0 of ASID 0
 * (management-core address NE1_MC_WINDOW), laid out by the host, described by struct ne1_fw_if at its
 * start.  A different major is refused by both sides; a higher minor only adds message types.
 *
 * Rings of messages have a power-of-two number of entries and free-running 32-bit indices: the
 * producer writes the entry, then (after a write barrier) its index; the consumer reads the index,
 * then (after a read barrier) the entry, then advances its own.  Each side validates what it reads:
 * an index more than `entries` ahead is a protocol error, never a memory access.
 */
#ifndef NE1_FWABI_H
#define NE1_FWABI_H

#include "ne1_types.h"

#define NE1_ABI_MAJOR		1
#define NE1_ABI_MINOR		2
#define NE1_FW_IF_MAGIC		0x4649454e	/* "NEIF" */

/* One direction of messages; lives in the shared region.  Indices on lines of their own. */
struct ne1_ring_ctl {
	__u32 write;			/* producer */
	__u32 pad0[15];
	__u32 read;			/* consumer */
	__u32 pad1[15];
};
NE1_ASSERT(sizeof(struct ne1_ring_ctl) == 128);

/* At VA 0 of ASID 0.  All offsets are from VA 0, multiples of 64. */
struct ne1_fw_if {
	/* written by the host before START */
	__u32 magic;
	__u16 abi_major, abi_minor;	/* of the host */
	__u32 size;			/* bytes of the shared region */
	__u32 cmd_ctl, cmd_ring, cmd_entries;	/* host -> firmware, struct ne1_msg */
	__u32 evt_ctl, evt_ring, evt_entries;	/* firmware -> host */
	__u32 log_ctl, log_ring, log_size;	/* text; write = bytes ever written, never waits for read */
	__u32 queue_table, queue_count;	/* struct ne1_fw_queue[queue_count] */
	__u32 log_level;		/* enum ne1_log_level */
	__u32 counter_table;		/* 1.1: struct ne1_fw_counters[queue_count], or 0: none are kept */
	__u32 pad0[16];
	/* written by the firmware */
	__u16 fw_abi_major, fw_abi_minor;
	__u32 fw_version;
	__u32 fw_state;			/* enum ne1_fw_state */
	__u32 heartbeat;		/* incremented at least every NE1_HEARTBEAT_MS while alive */
	__u32 pad1[28];
};
NE1_ASSERT(sizeof(struct ne1_fw_if) == 256);

#define NE1_HEARTBEAT_MS	100

enum ne1_fw_state { NE1_FW_BOOTING = 0, NE1_FW_RUNNING = 1, NE1_FW_SUSPENDED = 2, NE1_FW_DEAD = 3 };
enum ne1_log_level { NE1_LOG_ERROR = 0, NE1_LOG_WARN = 1, NE1_LOG_INFO = 2, NE1_LOG_DEBUG = 3 };

/* Message types.  Append only. */
enum ne1_msg_type {
	/* host -> firmware; each is answered by one NE1_EVT_REPLY with the same id */
	NE1_CMD_PING = 1,
	NE1_CMD_QUEUE_CREATE = 2,
	NE1_CMD_QUEUE_DESTROY = 3,	/* queue must be idle or is stopped; pending jobs are dropped */
	/* Take no further job.  Answered when the running one has ended or, since 1.1, was put aside at its next
	 * YIELD; then it goes on after RESUME.
	 */
	NE1_CMD_QUEUE_SUSPEND = 4,
	NE1_CMD_QUEUE_RESUME = 5,
	/* Stop the job that runs or is put aside (its result: STOPPED), drop pending ones, state OK, head = tail. */
	NE1_CMD_QUEUE_RESET = 6,
	NE1_CMD_LOG_LEVEL = 7,
	NE1_CMD_SHUTDOWN = 8,		/* stop all work, reply, state SUSPENDED; only RESET leaves it */
	/* Forget the ASID of a VM (before its page table is freed); BAD_STATE while a job of it runs or is put aside. */
	NE1_CMD_VM_FLUSH = 9,
	/* 1.1: `queue` 1: keep counter_table from now on, from zero; 0: stop, the table stays as it is.  BAD_STATE if
	 * there is no table.
	 */
	NE1_CMD_COUNTERS = 10,
	/* 1.2: `queue` 1: start no job from now on, of any queue; those that were started go on to their ends, also when
	 * they are put aside.  0: start jobs again, as after boot.  Answered at once.
	 */
	NE1_CMD_HOLD = 11,
	/* firmware -> host */
	NE1_EVT_REPLY = 128,
	NE1_EVT_QUEUE_FAULT = 129,	/* job failed; queue state is FAULTED until reset or destroy */
	NE1_EVT_PANIC = 130,
};

enum ne1_msg_status {
	NE1_MSG_OK = 0,
	NE1_MSG_BAD_TYPE = 1,
	NE1_MSG_BAD_FIELD = 2,
	NE1_MSG_BAD_STATE = 3,
	NE1_MSG_NO_RESOURCE = 4,
	NE1_MSG_HUNG = 5,		/* 1.1: a core does not stop: only a reset of the device helps */
};

/* Strict between levels, at the next YIELD or end of a job.  From firmware 1.1.1 on each NE1_PATIENCE_NS
 * of device time one LOW queue, that has waited longest and for so long, has a turn as if it were NORMAL.
 * Since 1.1.2 a job that is put aside in this turn has every fourth turn at least among NORMAL ones, until
 * it ends or NE1_PATIENCE_NS were spent; no other LOW queue has such a turn before.
 */
#define NE1_PATIENCE_NS		1000000000ull
enum ne1_priority { NE1_PRIO_REALTIME = 0, NE1_PRIO_HIGH = 1, NE1_PRIO_NORMAL = 2, NE1_PRIO_LOW = 3 };

struct ne1_msg {
	__u16 type;			/* enum ne1_msg_type */
	__u16 status;			/* replies: enum ne1_msg_status; else 0 */
	__u32 id;			/* chosen by the host; echoed by the reply; 0 for unsolicited events */
	__u32 queue;			/* queue index, VM id, log level or switch; 0 if unused */
	__u32 pad;
	union {
		struct {
			__u64 pgd;	/* bus address of the VM's page-table root */
			__u32 vm_id;	/* host's number of the VM, not 0; queues of one VM share an ASID */
			__u32 priority;	/* enum ne1_priority */
			__u64 ring;	/* VA in ASID 0 of struct ne1_job[entries], 64-byte aligned */
			__u64 results;	/* VA in ASID 0 of struct ne1_job_result[entries] */
			__u32 entries;	/* power of two, 2..1024 */
			/* Device time after which another queue of the priority has its turn, at the next YIELD or
			 * end of a job; 0 = firmware's default.  Heeded since 1.1.
			 */
			__u32 timeslice_us;
			__u64 pad;
		} create;
		struct {
			__u64 seqno;
			__u32 fault;	/* enum ne1_fault */
			__u32 cmd;
			__u64 va;
			__u32 info;
			__u32 core;	/* as in struct ne1_job_result */
			__u64 pad[2];
		} fault;
		struct {
			__u32 code;
			__u32 pc;
			__u32 addr;
			__u32 pad[9];
		} panic;
		__u8 raw[48];
	};
};
NE1_ASSERT(sizeof(struct ne1_msg) == 64);

enum ne1_queue_state { NE1_QUEUE_FREE = 0, NE1_QUEUE_OK = 1, NE1_QUEUE_SUSPENDED = 2, NE1_QUEUE_FAULTED = 3 };

/* Per queue in the shared region. */
struct ne1_fw_queue {
	/* host's line */
	__u32 tail;			/* free-running; jobs [head, tail) are pending */
	__u32 pad0[15];
	/* firmware's line */
	__u32 head;			/* jobs taken */
	__u32 state;			/* enum ne1_queue_state */
	__u64 done_seqno;		/* all jobs up to this have ended; written after their results */
	__u64 busy_ns;			/* device time spent on this queue's jobs, without that put aside */
	__u64 busy_cycles;
	__u32 done_count;		/* free-running count of ended jobs */
	__u32 preempted;		/* 1.1: how often a job of this queue was put aside at a YIELD */
	__u64 run_seqno;		/* 1.1: job that was started and has not ended, also while put aside; 0: none */
	__u32 on_core;			/* 1.1: mask of cores that work on it now; 0 while put aside */
	__u32 pad1[3];
};
NE1_ASSERT(sizeof(struct ne1_fw_queue) == 128);

/* Counters of a queue, indexed by enum ne1_counter: sums over its jobs and their cores, added when a job
 * ends or is put aside.  1.1.
 */
struct ne1_fw_counters {
	__u64 value[16];
};
NE1_ASSERT(sizeof(struct ne1_fw_counters) == 128);

/* Slot of a queue's ring: index = free-running count modulo entries. */
struct ne1_job {
	__u64 seqno;			/* increases by one per job of the queue, starts at 1 */
	__u32 flags;			/* 0 */
	__u32 cores;			/* streams used, 1..NE1_CAP_CORES */
	__u64 param_va;			/* struct ne1_params in the queue's VM, 64-byte aligned */
	__u64 profile_va;		/* struct ne1_profile[cores] or 0 */
	struct {
		__u64 va;		/* 64-byte aligned, in the queue's VM */
		__u32 size;		/* bytes, multiple of 64 */
		__u32 pad;
	} stream[4];
	__u64 pad[4];
};
NE1_ASSERT(sizeof(struct ne1_job) == 128);

/* Same index as the job; valid once done_seqno has reached it. */
struct ne1_job_result {
	__u64 seqno;
	__u32 fault;			/* enum ne1_fault; NONE = success */
	__u32 cmd;			/* command index */
	__u64 va;			/* faulting VA of MMU faults */
	__u32 info;			/* as NE1_MC_CORE_FAULT_INFO */
	__u32 core;			/* index of the stream that failed; firmware before 1.1.1: the core */
	__u64 start_ns, end_ns;		/* device time */
	__u64 rd_bytes, wr_bytes;	/* DRAM traffic, all cores */
};
NE1_ASSERT(sizeof(struct ne1_job_result) == 64);

#endif
