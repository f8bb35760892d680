/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include <stddef.h>

#include "cores.h"
#include "counters.h"
#include "events.h"
#include "hal.h"
#include "iface.h"
#include "job.h"
#include "log.h"
#include "sched.h"

#define REC(field)	offsetof(struct ne1_fw_queue, field)
#define MIN_ENTRIES	2u
#define MAX_ENTRIES	1024u
#define SLICE_NS	10000000ull	/* where CREATE asks for none */
#define NS_PER_US	1000ull

static const char *const op_names[QUEUE_OPS] = {
	[QUEUE_CREATE] = "created", [QUEUE_DESTROY] = "destroyed", [QUEUE_SUSPEND] = "suspended",
	[QUEUE_RESUME] = "resumed", [QUEUE_RESET] = "reset", [QUEUE_FAULT] = "faulted",
};

static struct queue queues[NE1_MAX_QUEUES];
static bool held;			/* no job is started */

#define FREE	NE1_QUEUE_FREE
#define OK	NE1_QUEUE_OK
#define SUSP	NE1_QUEUE_SUSPENDED
#define FAULT	NE1_QUEUE_FAULTED
#define NO	0xff			/* not in this state: BAD_STATE */

static const uint8_t next_state[][QUEUE_OPS] = {
	/*          CREATE  DESTROY  SUSPEND  RESUME  RESET  FAULT */
	[FREE]  = { OK,     NO,      NO,      NO,     NO,    NO    },
	[OK]    = { NO,     FREE,    SUSP,    NO,     OK,    FAULT },
	[SUSP]  = { NO,     FREE,    NO,      OK,     OK,    FAULT },
	[FAULT] = { NO,     FREE,    NO,      NO,     OK,    FAULT },
};

void queues_init(void)
{
	const struct ne1_fw_if *fwif = iface_get();

	held = false;
	for (uint32_t i = 0; i < NE1_MAX_QUEUES; i++) {
		struct queue *q = &queues[i];

		*q = (struct queue){ .index = (uint8_t)i, .waiting = QUEUE_NO_OP };
		if (i >= fwif->queue_count)
			continue;
		q->record = fwif->queue_table + i * sizeof(struct ne1_fw_queue);
		hal_win_write(q->record + REC(state), NE1_QUEUE_FREE);
	}
}

struct queue *queue_at(uint32_t index)
{
	return &queues[index];
}

/* The scheduler sees a queue only while a job of it may start or go on: an operation that waits
 * for the end of a turn is carried out before the next one.
 */
static void update_ready(struct queue *q)
{
	sched_set_ready(q, q->state == NE1_QUEUE_OK && !q->running &&
			   (q->started || (q->head != q->tail && !held)));
}

void queues_hold(bool on)
{
	held = on;
	for (uint32_t i = 0; i < iface_get()->queue_count; i++)
		update_ready(&queues[i]);
	log_info("jobs are %s", on ? "held" : "started again");
}

static void set_state(struct queue *q, uint8_t state)
{
	q->state = state;
	hal_win_write(q->record + REC(state), state);
}

/* @va is an array of @size bytes that the window reaches. */
static bool window_ok(uint64_t va, uint64_t size)
{
	return va % 64 == 0 && va < HAL_WINDOW_SIZE && size <= HAL_WINDOW_SIZE - va;
}

/* Queues of one VM share an ASID, so they must agree on its page table. */
static bool pgd_conflicts(uint32_t vm, uint64_t pgd)
{
	for (uint32_t i = 0; i < iface_get()->queue_count; i++) {
		if (queues[i].state != NE1_QUEUE_FREE && queues[i].vm == vm && queues[i].pgd != pgd)
			return true;
	}
	return false;
}

bool queue_vm_busy(uint32_t vm)
{
	for (uint32_t i = 0; i < iface_get()->queue_count; i++) {
		if (queues[i].started && queues[i].vm == vm)
			return true;
	}
	return false;
}

static bool create_ok(const struct ne1_msg *msg)
{
	uint64_t entries = msg->create.entries;

	if (entries < MIN_ENTRIES || entries > MAX_ENTRIES || entries & (entries - 1))
		return false;
	if (!window_ok(msg->create.ring, entries * sizeof(struct ne1_job)) ||
	    !window_ok(msg->create.results, entries * sizeof(struct ne1_job_result)))
		return false;
	if (!msg->create.vm_id || msg->create.priority > NE1_PRIO_LOW || msg->create.pad)
		return false;
	if (msg->create.pgd & ~NE1_PTE_ADDR)
		return false;
	return !pgd_conflicts(msg->create.vm_id, msg->create.pgd);
}

enum ne1_msg_status queue_create(struct queue *q, const struct ne1_msg *msg)
{
	uint64_t slice_us = msg->create.timeslice_us;
	uint32_t tail;

	if (next_state[q->state][QUEUE_CREATE] == NO)
		return NE1_MSG_BAD_STATE;
	tail = hal_win_read(q->record + REC(tail));
	if (!create_ok(msg) || tail > msg->create.entries)
		return NE1_MSG_BAD_FIELD;

	*q = (struct queue){
		.index = q->index,
		.priority = (uint8_t)msg->create.priority,
		.waiting = QUEUE_NO_OP,
		.vm = msg->create.vm_id,
		.pgd = msg->create.pgd,
		.record = q->record,
		.ring = (uint32_t)msg->create.ring,
		.results = (uint32_t)msg->create.results,
		.entries = msg->create.entries,
		.tail = tail,
		.slice_ns = slice_us ? slice_us * NS_PER_US : SLICE_NS,
	};
	for (uint32_t at = REC(head); at < sizeof(struct ne1_fw_queue); at += 4)
		hal_win_write(q->record + at, 0);
	counters_reset(q->index);
	set_state(q, next_state[q->state][QUEUE_CREATE]);
	update_ready(q);
	log_info("queue %u: created, vm %u priority %u entries %u", q->index, (unsigned int)q->vm,
		 q->priority, (unsigned int)q->entries);
	return NE1_MSG_OK;
}

/* No core works for @q. */
static enum ne1_msg_status apply(struct queue *q, enum queue_op op)
{
	uint8_t state = next_state[q->state][op];

	if (state == NO)
		return NE1_MSG_BAD_STATE;
	if (op == QUEUE_RESET || op == QUEUE_DESTROY) {
		if (q->started)
			job_drop(q);
		q->tail = hal_win_read(q->record + REC(tail));
		q->head = q->tail;
		q->loaded = false;
		hal_win_write(q->record + REC(head), q->head);
	}
	set_state(q, state);
	update_ready(q);
	log_info("queue %u: %s", q->index, op_names[op]);
	return NE1_MSG_OK;
}

int queue_command(struct queue *q, enum queue_op op, uint32_t id)
{
	if (q->waiting != QUEUE_NO_OP) {
		/* A suspend that waits for ever must not be in the way of what ends the job. */
		if (q->waiting != QUEUE_SUSPEND || op == QUEUE_SUSPEND || op == QUEUE_RESUME)
			return NE1_MSG_BAD_STATE;
		events_reply(q->index, q->waiting_id, NE1_MSG_BAD_STATE);
		q->waiting = QUEUE_NO_OP;
	}
	if (next_state[q->state][op] == NO)
		return NE1_MSG_BAD_STATE;
	if (!q->running || op == QUEUE_RESUME)
		return apply(q, op);

	/* A suspend lets the scheduler ask for a YIELD. */
	q->waiting = op;
	q->waiting_id = id;
	if (op != QUEUE_SUSPEND)
		cores_stop(q->running);
	return QUEUE_LATER;
}

void queue_doorbell(struct queue *q)
{
	struct ne1_job_result why = { .fault = NE1_FAULT_FIELD };

	if (q->state == NE1_QUEUE_FREE || q->state == NE1_QUEUE_FAULTED)
		return;
	q->tail = hal_win_read(q->record + REC(tail));
	if (q->tail - q->head > q->entries) {
		log_error("queue %u: tail %u, head %u, but only %u entries", q->index,
			  (unsigned int)q->tail, (unsigned int)q->head, (unsigned int)q->entries);
		queue_fault(q, &why);
		return;
	}
	hal_rmb();
	update_ready(q);
}

void queue_fault(struct queue *q, const struct ne1_job_result *why)
{
	set_state(q, next_state[q->state][QUEUE_FAULT]);
	update_ready(q);
	events_fault(q->index, why);
	log_warn("queue %u: fault %u, seqno 0x%llx command %u va 0x%llx info 0x%x stream %u",
		 q->index, (unsigned int)why->fault, (unsigned long long)why->seqno,
		 (unsigned int)why->cmd, (unsigned long long)why->va, (unsigned int)why->info,
		 (unsigned int)why->core);
}

void queue_advance(struct queue *q)
{
	q->head++;
	q->loaded = false;
	hal_win_write(q->record + REC(head), q->head);
	update_ready(q);
}

void queue_on_core(const struct queue *q)
{
	hal_win_write(q->record + REC(on_core), q->running);
}

void queue_started(struct queue *q)
{
	update_ready(q);
	hal_win_write64(q->record + REC(run_seqno), q->result.seqno);
	queue_on_core(q);
}

/* What the turns so far have cost. */
static void publish_use(const struct queue *q)
{
	hal_win_write64(q->record + REC(busy_ns), q->busy_ns);
	hal_win_write64(q->record + REC(busy_cycles), q->busy_cycles);
	counters_publish(q->index);
	queue_on_core(q);
}

void queue_put_aside(struct queue *q)
{
	q->preempted++;
	publish_use(q);
	hal_win_write(q->record + REC(preempted), q->preempted);
}

void queue_complete(struct queue *q, uint32_t slot)
{
	hal_win_store(q->results + slot * sizeof(q->result), &q->result, sizeof(q->result));
	q->done_seqno = q->result.seqno;
	q->done_count++;
	publish_use(q);
	hal_win_write64(q->record + REC(run_seqno), 0);
	hal_win_write(q->record + REC(done_count), q->done_count);
	hal_wmb();
	hal_win_write64(q->record + REC(done_seqno), q->done_seqno);
	events_raise(NE1_IRQ_QUEUE);
}

void queue_idle(struct queue *q)
{
	enum queue_op op = q->waiting;

	q->waiting = QUEUE_NO_OP;
	if (op == QUEUE_NO_OP)
		update_ready(q);
	else
		events_reply(q->index, q->waiting_id, apply(q, op));
}

void queue_hung(struct queue *q)
{
	q->waiting = QUEUE_NO_OP;
	events_reply(q->index, q->waiting_id, NE1_MSG_HUNG);
}
