/* SPDX-License-Identifier: MIT */
/*
 * Queues: the firmware's copy of each struct ne1_fw_queue and the life of a queue.  A queue runs
 * one job at a time, in ring order; different queues run side by side on different cores.
 */
#ifndef NE1_FW_QUEUE_H
#define NE1_FW_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "ne1_fwabi.h"

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

struct queue {
	uint8_t index;
	uint8_t state;		/* enum ne1_queue_state */
	uint8_t priority;	/* enum ne1_priority */
	uint8_t waiting;	/* enum queue_op that waits for the job to end, or QUEUE_NO_OP */
	uint32_t waiting_id;	/* message id of its reply */
	uint32_t vm;
	uint64_t pgd;
	uint32_t record;	/* VA of struct ne1_fw_queue */
	uint32_t ring, results;	/* VAs */
	uint32_t entries;
	uint32_t head, tail;
	uint64_t done_seqno, busy_ns, busy_cycles;
	uint32_t done_count;

	/* the job at head, or the one running; only job.c uses these */
	bool loaded;		/* job holds the descriptor at head */
	uint8_t running;	/* mask of cores that have not ended yet */
	uint8_t asid;
	struct ne1_job job;
	struct ne1_job_result result;
	uint64_t cycles;	/* of the core that ran longest */
};

void queues_init(void);

struct queue *queue_at(uint32_t index);

/* Applies NE1_CMD_QUEUE_CREATE to a queue; NE1_MSG_OK or why not. */
enum ne1_msg_status queue_create(struct queue *q, const struct ne1_msg *msg);

/*
 * Applies @op at once, or starts what it needs and returns QUEUE_LATER: the reply with @id is sent
 * when the running job has ended.
 */
#define QUEUE_LATER	(-1)
int queue_command(struct queue *q, enum queue_op op, uint32_t id);

/* The host rang: looks how far its tail has moved. */
void queue_doorbell(struct queue *q);

/* Enters FAULTED and tells the host why. */
void queue_fault(struct queue *q, const struct ne1_job_result *why);

/* Moves head past the job that was taken. */
void queue_advance(struct queue *q);

/* Publishes q->result for ring slot @slot and counts the job as ended. */
void queue_complete(struct queue *q, uint32_t slot);

/* No core works for @q any more; carries out what waited for that. */
void queue_idle(struct queue *q);

#endif
