/* SPDX-License-Identifier: MIT */
/*
 * Queues: the firmware's copy of each struct ne1_fw_queue and the life of a queue.  A queue runs
 * one job at a time, in ring order; different queues run side by side on different cores.  Its job
 * may be put aside in the middle, and then the queue is ready like one with a job that was not
 * started.
 */
#ifndef NE1_FW_QUEUE_H
#define NE1_FW_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "ne1_fwabi.h"
#include "ne1_regs.h"

/* What happens to a queue, columns of the transition table. */
enum queue_op {
	QUEUE_CREATE,
	QUEUE_DESTROY,
	QUEUE_SUSPEND,
	QUEUE_RESUME,
	QUEUE_RESET,
	QUEUE_FAULT,
	QUEUE_OPS
};

#define QUEUE_NO_OP	QUEUE_OPS

/* What a job did since it was last started; its cores run side by side. */
struct turn {
	uint64_t start_ns, end_ns;
	uint64_t cycles;	/* of the core that ran longest */
};

struct queue {
	uint8_t index;
	uint8_t state;		/* enum ne1_queue_state */
	uint8_t priority;	/* enum ne1_priority */
	uint8_t waiting;	/* enum queue_op that waits until no core works, or QUEUE_NO_OP */
	uint32_t waiting_id;	/* message id of its reply */
	uint32_t vm;
	uint64_t pgd;
	uint32_t record;	/* VA of struct ne1_fw_queue */
	uint32_t ring, results;	/* VAs */
	uint32_t entries;
	uint32_t head, tail;
	uint64_t done_seqno, busy_ns, busy_cycles;
	uint32_t done_count, preempted;

	uint8_t level;		/* enum ne1_priority it has for the time being, see sched.c */
	uint64_t since_ns;	/* when it last went into line; of the lowest priority alone */
	uint64_t slice_ns;	/* time slice, > 0 */
	uint64_t used_ns;	/* of it, up to the last turn; sched.c resets it */

	/* the job at head, or the one that was started; only job.c changes these */
	bool loaded;		/* job holds the descriptor at head */
	uint8_t width;		/* then: its streams; 0: it is bad */
	bool started;		/* on cores, or put aside if `running` is 0 */
	uint8_t running;	/* mask of cores that work on it */
	uint8_t todo;		/* mask of streams that have not ended */
	uint8_t asid;		/* while on cores */
	uint32_t pos[NE1_MAX_CORES]; /* per stream: command to go on with, 0: from the start */
	struct turn turn;
	struct ne1_job job;
	struct ne1_job_result result;
};

void queues_init(void);

struct queue *queue_at(uint32_t index);

/* Applies NE1_CMD_HOLD: no queue starts another job, or all do again. */
void queues_hold(bool on);

/* Applies NE1_CMD_QUEUE_CREATE to a queue; NE1_MSG_OK or why not. */
enum ne1_msg_status queue_create(struct queue *q, const struct ne1_msg *msg);

/* A job of VM @vm was started and has not ended. */
bool queue_vm_busy(uint32_t vm);

/*
 * Applies @op at once, or starts what it needs and returns QUEUE_LATER: the reply with @id is sent
 * when the job on the cores has ended or, for SUSPEND, is put aside.
 */
#define QUEUE_LATER	(-1)
int queue_command(struct queue *q, enum queue_op op, uint32_t id);

/* The host rang: looks how far its tail has moved. */
void queue_doorbell(struct queue *q);

/* Enters FAULTED and tells the host why. */
void queue_fault(struct queue *q, const struct ne1_job_result *why);

/* Moves head past the job that was taken. */
void queue_advance(struct queue *q);

/* The job has got cores; their mask has changed; it was put aside. */
void queue_started(struct queue *q);
void queue_on_core(const struct queue *q);
void queue_put_aside(struct queue *q);

/* Publishes q->result for ring slot @slot and counts the job as ended. */
void queue_complete(struct queue *q, uint32_t slot);

/* No core works for @q any more; carries out what waited for that. */
void queue_idle(struct queue *q);

/* What waits for @q's job will not come: a core hangs. */
void queue_hung(struct queue *q);

#endif
