// SPDX-License-Identifier: MIT
/* Every command: done right, with each field wrong, and in each state of a queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "firmware/panic.h"
#include "host.h"

static int setup(void **state)
{
	(void)state;
	host_boot();
	return 0;
}

static void ping(void **state)
{
	(void)state;
	assert_int_equal(host_simple(NE1_CMD_PING, 0), NE1_MSG_OK);
	assert_int_equal(shim.host_irq, NE1_IRQ_EVENT);
}

static void unknown_types(void **state)
{
	static const unsigned int types[] = {
		0, 12, 13, 127, 128, 129, 130, 131, 255, 256, 0x101, 0xffff,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		assert_int_equal(host_simple(types[i], 0), NE1_MSG_BAD_TYPE);
}

/* Fields that no command uses must be zero. */
static void reserved_fields(void **state)
{
	(void)state;
	for (unsigned int type = NE1_CMD_PING; type <= NE1_CMD_HOLD; type++) {
		struct ne1_msg good = { .type = (uint16_t)type, .queue = type == NE1_CMD_VM_FLUSH };
		struct ne1_msg bad;

		if (type == NE1_CMD_QUEUE_CREATE)
			good = host_create_msg(0, 1, 0);
		bad = good;
		bad.status = 1;
		assert_int_equal(host_command(&bad), NE1_MSG_BAD_FIELD);
		bad = good;
		bad.pad = 1;
		assert_int_equal(host_command(&bad), NE1_MSG_BAD_FIELD);
		for (unsigned int i = 0; type != NE1_CMD_QUEUE_CREATE && i < sizeof(bad.raw); i++) {
			bad = good;
			bad.raw[i] = 1;
			assert_int_equal(host_command(&bad), NE1_MSG_BAD_FIELD);
		}
	}
	assert_int_equal(host_if()->fw_state, NE1_FW_RUNNING);
}

static void argument_range(void **state)
{
	static const struct { unsigned int type; uint32_t arg; } bad[] = {
		{ NE1_CMD_PING, 1 },
		{ NE1_CMD_QUEUE_DESTROY, HOST_QUEUES },
		{ NE1_CMD_QUEUE_SUSPEND, HOST_QUEUES },
		{ NE1_CMD_QUEUE_RESUME, 0xffffffff },
		{ NE1_CMD_QUEUE_RESET, HOST_QUEUES },
		{ NE1_CMD_LOG_LEVEL, NE1_LOG_DEBUG + 1 },
		{ NE1_CMD_SHUTDOWN, 1 },
		{ NE1_CMD_VM_FLUSH, 0 },
		{ NE1_CMD_COUNTERS, 2 },
		{ NE1_CMD_HOLD, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(host_simple(bad[i].type, bad[i].arg), NE1_MSG_BAD_FIELD);
}

static void create(void **state)
{
	struct ne1_fw_queue *q = host_queue(HOST_QUEUES - 1);
	struct ne1_msg msg = host_create_msg(HOST_QUEUES - 1, 7, NE1_PRIO_LOW);

	(void)state;
	q->head = 55;
	q->done_seqno = 0x100000002;
	q->busy_ns = q->busy_cycles = 9;
	q->done_count = 4;
	assert_int_equal(host_command(&msg), NE1_MSG_OK);
	assert_int_equal(q->state, NE1_QUEUE_OK);
	assert_int_equal(q->head, 0);
	assert_int_equal(q->done_seqno, 0);
	assert_int_equal(q->busy_ns, 0);
	assert_int_equal(q->busy_cycles, 0);
	assert_int_equal(q->done_count, 0);
	assert_int_equal(host_command(&msg), NE1_MSG_BAD_STATE);
}

/* One wrong field at a time in an otherwise good QUEUE_CREATE. */
#define CREATE(f)	\
	#f, offsetof(struct ne1_msg, create.f), sizeof(((struct ne1_msg *)0)->create.f)
static const struct {
	const char *name;
	size_t offset, size;
	uint64_t value;
} bad_creates[] = {
	{ "queue", offsetof(struct ne1_msg, queue), 4, HOST_QUEUES },
	{ "queue", offsetof(struct ne1_msg, queue), 4, 0xffffffff },
	{ CREATE(pgd), 0x1008 },
	{ CREATE(pgd), 0x0010000000001000 },
	{ CREATE(vm_id), 0 },
	{ CREATE(priority), NE1_PRIO_LOW + 1 },
	{ CREATE(priority), 0xffffffff },
	{ CREATE(ring), 0x10020 },
	{ CREATE(ring), 0x80000000 },
	{ CREATE(ring), 0x100010000 },
	{ CREATE(ring), 0x7fffffc0 },
	{ CREATE(ring), 0xffffffffffffffc0 },
	{ CREATE(results), 0x10001 },
	{ CREATE(results), 0x7ffffe40 },
	{ CREATE(results), 0x4000000000 },
	{ CREATE(entries), 0 },
	{ CREATE(entries), 1 },
	{ CREATE(entries), 3 },
	{ CREATE(entries), 2048 },
	{ CREATE(entries), 0x80000000 },
	{ CREATE(pad), 1 },
	{ CREATE(pad), 1ull << 63 },
};

static void create_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_creates) / sizeof(bad_creates[0]); i++) {
		struct ne1_msg msg = host_create_msg(0, 1, NE1_PRIO_NORMAL);

		memcpy((uint8_t *)&msg + bad_creates[i].offset, &bad_creates[i].value,
		       bad_creates[i].size);
		if (host_command(&msg) != NE1_MSG_BAD_FIELD)
			fail_msg("create.%s = 0x%llx was not refused", bad_creates[i].name,
				 (unsigned long long)bad_creates[i].value);
		assert_int_equal(host_queue(0)->state, NE1_QUEUE_FREE);
	}
}

static void create_takes_limits(void **state)
{
	struct ne1_msg msg = host_create_msg(0, 0xffffffff, NE1_PRIO_REALTIME);

	(void)state;
	msg.create.pgd = NE1_PTE_ADDR;
	msg.create.entries = 1024;
	msg.create.ring = 0x80000000 - 1024 * sizeof(struct ne1_job);
	msg.create.timeslice_us = 0xffffffff;
	assert_int_equal(host_command(&msg), NE1_MSG_OK);
}

static void create_with_bad_tail(void **state)
{
	struct ne1_msg msg = host_create_msg(0, 1, NE1_PRIO_NORMAL);

	(void)state;
	host_queue(0)->tail = HOST_ENTRIES + 1;
	assert_int_equal(host_command(&msg), NE1_MSG_BAD_FIELD);
}

/* Jobs that were put into the ring before CREATE run without another doorbell. */
static void create_with_jobs(void **state)
{
	struct ne1_msg msg = host_create_msg(0, 1, NE1_PRIO_NORMAL);

	(void)state;
	host_queue(0)->tail = 0;
	*host_job(0, 0) = (struct ne1_job){ .seqno = 1, .cores = 1, .stream = { { .size = 64 } } };
	host_queue(0)->tail = 1;
	host_doorbell(0);
	shim_run();
	assert_int_equal(host_command(&msg), NE1_MSG_OK);
	assert_int_equal(shim.cores[0].starts, 1);
}

static void page_table_of_vm(void **state)
{
	struct ne1_msg msg = host_create_msg(1, 5, NE1_PRIO_NORMAL);

	(void)state;
	host_create(0, 5, NE1_PRIO_NORMAL);
	msg.create.pgd += 0x1000;
	assert_int_equal(host_command(&msg), NE1_MSG_BAD_FIELD);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_DESTROY, 0), NE1_MSG_OK);
	assert_int_equal(host_command(&msg), NE1_MSG_OK);
}

/* Status of each command in each state, queue idle. */
static void states(void **state)
{
	enum { FREE, OK, SUSPENDED, FAULTED, STATES };
	static const struct { unsigned int type; uint8_t status[STATES], next[STATES]; } rows[] = {
#define B NE1_MSG_BAD_STATE
		{ NE1_CMD_QUEUE_DESTROY, { B, 0, 0, 0 }, { FREE, FREE, FREE, FREE } },
		{ NE1_CMD_QUEUE_SUSPEND, { B, 0, B, B }, { FREE, SUSPENDED, SUSPENDED, FAULTED } },
		{ NE1_CMD_QUEUE_RESUME, { B, B, 0, B }, { FREE, OK, OK, FAULTED } },
		{ NE1_CMD_QUEUE_RESET, { B, 0, 0, 0 }, { FREE, OK, OK, OK } },
#undef B
	};

	(void)state;
	for (unsigned int from = FREE; from < STATES; from++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			host_boot();
			if (from != FREE)
				host_create(2, 1, NE1_PRIO_NORMAL);
			if (from == SUSPENDED)
				assert_int_equal(host_simple(NE1_CMD_QUEUE_SUSPEND, 2), NE1_MSG_OK);
			if (from == FAULTED) {
				struct ne1_msg event;

				host_submit(2, 9);
				assert_true(host_event(&event));
			}
			assert_int_equal(host_queue(2)->state, from);
			assert_int_equal(host_simple(rows[i].type, 2), rows[i].status[from]);
			assert_int_equal(host_queue(2)->state, rows[i].next[from]);
		}
	}
}

static void suspend_keeps_jobs(void **state)
{
	(void)state;
	host_create(0, 1, NE1_PRIO_NORMAL);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_SUSPEND, 0), NE1_MSG_OK);
	host_submit(0, 1);
	assert_int_equal(shim.cores[0].starts, 0);
	assert_int_equal(host_queue(0)->head, 0);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESUME, 0), NE1_MSG_OK);
	assert_int_equal(shim.cores[0].starts, 1);
	assert_int_equal(host_queue(0)->head, 1);
}

/* SUSPEND of a busy queue is answered when its job has ended; the next job stays. */
static void suspend_waits(void **state)
{
	struct ne1_msg reply;

	(void)state;
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_add_job(0, 1);
	host_submit(0, 1);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_SUSPEND, 0), -1);
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_OK);
	assert_int_equal(shim.cores[0].stops, 0);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_SUSPEND, 0), NE1_MSG_BAD_STATE);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESUME, 0), NE1_MSG_BAD_STATE);
	shim_core_end(0, NE1_FAULT_NONE, 100);
	shim_run();
	assert_true(host_event(&reply));
	assert_int_equal(reply.type, NE1_EVT_REPLY);
	assert_int_equal(reply.status, NE1_MSG_OK);
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_SUSPENDED);
	assert_int_equal(host_queue(0)->done_seqno, 1);
	assert_int_equal(shim.cores[0].starts, 1);
}

static void suspend_meets_fault(void **state)
{
	struct ne1_msg msg;

	(void)state;
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_SUSPEND, 0), -1);
	shim_core_end(0, NE1_FAULT_OPCODE, 100);
	shim_run();
	assert_true(host_event(&msg));
	assert_int_equal(msg.type, NE1_EVT_QUEUE_FAULT);
	assert_true(host_event(&msg));
	assert_int_equal(msg.status, NE1_MSG_BAD_STATE);
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_FAULTED);
}

/* A job that does not end: a reset overtakes the suspend that waits for it. */
static void reset_overtakes_suspend(void **state)
{
	struct ne1_msg suspend = { .type = NE1_CMD_QUEUE_SUSPEND };
	struct ne1_msg reset = { .type = NE1_CMD_QUEUE_RESET }, reply;
	uint32_t suspend_id, reset_id;

	(void)state;
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	suspend_id = host_push(&suspend);
	reset_id = host_push(&reset);
	host_ring();
	assert_true(host_event(&reply));
	assert_int_equal(reply.id, suspend_id);
	assert_int_equal(reply.status, NE1_MSG_BAD_STATE);
	assert_true(shim.cores[0].stop);
	shim_core_end(0, NE1_FAULT_STOPPED, 100);
	shim_run();
	assert_true(host_event(&reply));
	assert_int_equal(reply.id, reset_id);
	assert_int_equal(reply.status, NE1_MSG_OK);
	assert_false(host_event(&reply));
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_OK);
}

/* RESET stops the job on all its cores, drops the rest, and the queue works again. */
static void reset_busy(void **state)
{
	struct ne1_msg reply;

	(void)state;
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_add_job(0, 2);
	host_add_job(0, 1);
	host_submit(0, 1);
	assert_int_equal(shim.cores[0].starts + shim.cores[1].starts, 2);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), -1);
	assert_true(shim.cores[0].stop && shim.cores[1].stop);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), NE1_MSG_BAD_STATE);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_DESTROY, 0), NE1_MSG_BAD_STATE);
	/* other work and messages go on meanwhile */
	assert_int_equal(host_simple(NE1_CMD_PING, 0), NE1_MSG_OK);
	shim_core_end(1, NE1_FAULT_STOPPED, 100);
	shim_run();
	assert_false(host_event(&reply));
	shim_core_end(0, NE1_FAULT_STOPPED, 100);
	shim_run();
	assert_true(host_event(&reply));
	assert_int_equal(reply.type, NE1_EVT_REPLY);
	assert_int_equal(reply.status, NE1_MSG_OK);
	assert_false(host_event(&reply));
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_OK);
	assert_int_equal(host_queue(0)->head, host_queue(0)->tail);
	assert_int_equal(host_queue(0)->done_seqno, 1);
	assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_STOPPED);
	host_submit(0, 1);
	shim_core_end(0, NE1_FAULT_NONE, 100);
	shim_run();
	assert_int_equal(host_queue(0)->done_seqno, 4);
	assert_int_equal(host_result(0, 3)->fault, NE1_FAULT_NONE);
}

/* The job ended well just before it could be stopped. */
static void reset_races_with_end(void **state)
{
	struct ne1_msg reply;

	(void)state;
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), -1);
	shim_core_end(0, NE1_FAULT_NONE, 100);
	shim_run();
	assert_true(host_event(&reply));
	assert_int_equal(reply.status, NE1_MSG_OK);
	assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_NONE);
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_OK);
}

static void destroy_busy(void **state)
{
	struct ne1_msg reply;

	(void)state;
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_add_job(0, 1);
	host_submit(0, 1);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_DESTROY, 0), -1);
	assert_true(shim.cores[0].stop);
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_OK);
	shim_core_end(0, NE1_FAULT_STOPPED, 100);
	shim_run();
	assert_true(host_event(&reply));
	assert_int_equal(reply.status, NE1_MSG_OK);
	assert_false(host_event(&reply));
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_FREE);
	host_doorbell(0);
	shim_run();
	assert_int_equal(shim.cores[0].starts, 1);
	host_create(0, 2, NE1_PRIO_HIGH);
	host_submit(0, 1);
	assert_int_equal(shim.cores[0].starts, 2);
}

static void vm_flush(void **state)
{
	(void)state;
	host_create(0, 9, NE1_PRIO_NORMAL);
	assert_int_equal(host_simple(NE1_CMD_VM_FLUSH, 9), NE1_MSG_OK);
	host_submit(0, 1);
	assert_true(shim.asids[1].enabled);
	assert_int_equal(host_simple(NE1_CMD_VM_FLUSH, 9), NE1_MSG_BAD_STATE);
	assert_true(shim.asids[1].enabled);
	shim_core_end(0, NE1_FAULT_NONE, 1);
	shim_run();
	assert_int_equal(host_simple(NE1_CMD_VM_FLUSH, 9), NE1_MSG_OK);
	assert_false(shim.asids[1].enabled);
	host_submit(0, 1);
	assert_true(shim.asids[1].enabled);
}

static void shutdown_idle(void **state)
{
	(void)state;
	host_create(0, 1, NE1_PRIO_NORMAL);
	assert_int_equal(host_simple(NE1_CMD_SHUTDOWN, 0), NE1_MSG_OK);
	assert_int_equal(host_if()->fw_state, NE1_FW_SUSPENDED);
	assert_int_equal(shim.watchdog, 0);
	assert_true(shim.timer_ns == UINT64_MAX);
	host_submit(0, 1);
	assert_int_equal(shim.cores[0].starts, 0);
	assert_int_equal(host_simple(NE1_CMD_PING, 0), NE1_MSG_BAD_STATE);
	assert_int_equal(host_simple(NE1_CMD_SHUTDOWN, 0), NE1_MSG_BAD_STATE);
	shim.irq_pending |= NE1_MC_IRQ_TIMER;
	shim_run();
	assert_int_equal(shim.watchdog, 0);
}

static void shutdown_busy(void **state)
{
	struct ne1_msg reply;

	(void)state;
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_create(1, 2, NE1_PRIO_NORMAL);
	host_add_job(0, 1);
	host_submit(0, 1);
	host_submit(1, 1);
	assert_int_equal(host_simple(NE1_CMD_SHUTDOWN, 0), -1);
	assert_true(shim.cores[0].stop && shim.cores[1].stop);
	shim_core_end(0, NE1_FAULT_STOPPED, 1);
	shim_run();
	assert_false(host_event(&reply));
	assert_int_equal(host_if()->fw_state, NE1_FW_RUNNING);
	shim_core_end(1, NE1_FAULT_STOPPED, 1);
	shim_run();
	assert_true(host_event(&reply));
	assert_int_equal(reply.status, NE1_MSG_OK);
	assert_false(host_event(&reply));
	assert_int_equal(host_if()->fw_state, NE1_FW_SUSPENDED);
	assert_int_equal(shim.cores[0].starts, 1);
	assert_int_equal(host_result(1, 0)->fault, NE1_FAULT_STOPPED);
}

/* Commands wait in their ring while there is no room for replies; none is lost. */
static void event_ring_full(void **state)
{
	struct ne1_msg msg = { .type = NE1_CMD_PING }, reply;
	uint32_t id = 0, first = 0;

	(void)state;
	for (unsigned int i = 0; i < HOST_COMMANDS; i++) {
		id = host_push(&msg);
		first = i ? first : id;
	}
	host_ring();
	host_push(&msg);
	host_push(&msg);
	host_ring();
	assert_int_equal(host_ctl(host_if()->cmd_ctl)->read, HOST_COMMANDS);
	assert_true(host_event(&reply));
	assert_int_equal(reply.id, first);
	/* the host does not ring when it has made room, the timer looks */
	shim_pass(1000000000);
	assert_true(shim_run());
	assert_int_equal(host_ctl(host_if()->cmd_ctl)->read, HOST_COMMANDS + 1);
	for (unsigned int i = 1; i <= HOST_COMMANDS; i++) {
		assert_true(host_event(&reply));
		assert_int_equal(reply.id, first + i);
	}
	shim_pass(1000000000);
	assert_true(shim_run());
	assert_true(host_event(&reply));
	assert_int_equal(reply.id, first + HOST_COMMANDS + 1);
	assert_false(host_event(&reply));
}

/* Fault and reply that come while the ring is full are kept and sent in order. */
static void events_are_kept(void **state)
{
	struct ne1_msg ping_msg = { .type = NE1_CMD_PING }, msg;
	struct ne1_msg suspend = { .type = NE1_CMD_QUEUE_SUSPEND, .queue = 3 };
	uint32_t id;

	(void)state;
	host_create(3, 1, NE1_PRIO_NORMAL);
	host_submit(3, 1);
	id = host_push(&suspend);
	host_ring();
	for (unsigned int i = 0; i < HOST_EVENTS; i++) {
		host_push(&ping_msg);
		host_ring();
	}
	shim_core_end(0, NE1_FAULT_MMU, 1);
	assert_true(shim_run());
	assert_int_equal(host_queue(3)->state, NE1_QUEUE_FAULTED);
	/* still no room, then room for one of the two */
	shim_pass(1000000000);
	assert_true(shim_run());
	assert_true(host_event(&msg));
	shim_pass(1000000000);
	assert_true(shim_run());
	for (unsigned int i = 1; i < HOST_EVENTS; i++)
		assert_true(host_event(&msg));
	assert_int_equal(msg.type, NE1_EVT_REPLY);
	assert_true(host_event(&msg));
	assert_int_equal(msg.type, NE1_EVT_QUEUE_FAULT);
	assert_int_equal(msg.fault.fault, NE1_FAULT_MMU);
	assert_false(host_event(&msg));
	shim.host_irq = 0;
	shim_pass(1000000000);
	assert_true(shim_run());
	assert_true(shim.host_irq & NE1_IRQ_EVENT);
	assert_true(host_event(&msg));
	assert_int_equal(msg.type, NE1_EVT_REPLY);
	assert_int_equal(msg.id, id);
	assert_int_equal(msg.status, NE1_MSG_BAD_STATE);
	assert_false(host_event(&msg));
}

static void fill_events(void)
{
	struct ne1_msg msg = { .type = NE1_CMD_PING };

	for (unsigned int i = 0; i < HOST_EVENTS; i++) {
		host_push(&msg);
		host_ring();
	}
}

/* What was kept goes first, although there is room again when the next event comes. */
static void kept_go_first(void **state)
{
	struct ne1_msg suspend = { .type = NE1_CMD_QUEUE_SUSPEND, .queue = 1 }, msg;
	uint32_t id;

	(void)state;
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_create(1, 1, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	host_submit(1, 1);
	id = host_push(&suspend);
	host_ring();
	fill_events();
	shim_core_end(0, NE1_FAULT_MMU, 1);
	assert_true(shim_run());
	for (unsigned int i = 0; i < HOST_EVENTS; i++)
		assert_true(host_event(&msg));
	shim_core_end(1, NE1_FAULT_NONE, 1);
	assert_true(shim_run());
	shim_pass(1000000000);
	assert_true(shim_run());
	assert_true(host_event(&msg));
	assert_int_equal(msg.type, NE1_EVT_QUEUE_FAULT);
	assert_true(host_event(&msg));
	assert_int_equal(msg.id, id);
	assert_false(host_event(&msg));
}

/* A queue that fails twice before its event could be sent: one event, the newest reason. */
static void kept_once(void **state)
{
	struct ne1_msg msg;

	(void)state;
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	fill_events();
	host_queue(0)->tail = 0;
	host_doorbell(0);
	assert_true(shim_run());
	shim_core_end(0, NE1_FAULT_MMU, 1);
	assert_true(shim_run());
	for (unsigned int i = 0; i < HOST_EVENTS; i++)
		assert_true(host_event(&msg));
	shim_pass(1000000000);
	assert_true(shim_run());
	assert_true(host_event(&msg));
	assert_int_equal(msg.fault.fault, NE1_FAULT_MMU);
	assert_false(host_event(&msg));
	/* nothing is thought to be left: commands are served at once */
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), NE1_MSG_OK);
}

/* SHUTDOWN while the ring is full: the timer stays on until the reply fits. */
static void shutdown_needs_room(void **state)
{
	struct ne1_msg down = { .type = NE1_CMD_SHUTDOWN }, ping_msg = { .type = NE1_CMD_PING };
	struct ne1_msg msg;
	uint32_t id;

	(void)state;
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	for (unsigned int i = 0; i < HOST_EVENTS - 1; i++)
		host_push(&ping_msg);
	id = host_push(&down);
	host_ring();
	host_push(&ping_msg);
	host_ring();
	shim_core_end(0, NE1_FAULT_STOPPED, 1);
	assert_true(shim_run());
	assert_int_equal(host_if()->fw_state, NE1_FW_RUNNING);
	for (unsigned int i = 0; i < HOST_EVENTS; i++)
		assert_true(host_event(&msg));
	assert_int_equal(msg.status, NE1_MSG_BAD_STATE);
	assert_false(host_event(&msg));
	shim_pass(1000000000);
	assert_true(shim_run());
	assert_true(host_event(&msg));
	assert_int_equal(msg.id, id);
	assert_int_equal(msg.status, NE1_MSG_OK);
	assert_int_equal(host_if()->fw_state, NE1_FW_SUSPENDED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, host_teardown)
	const struct CMUnitTest tests[] = {
		TEST(ping), TEST(unknown_types), TEST(reserved_fields), TEST(argument_range),
		TEST(create), TEST(create_refused), TEST(create_takes_limits),
		TEST(create_with_bad_tail), TEST(create_with_jobs), TEST(page_table_of_vm),
		TEST(states), TEST(suspend_keeps_jobs), TEST(suspend_waits),
		TEST(suspend_meets_fault), TEST(reset_overtakes_suspend), TEST(reset_busy),
		TEST(reset_races_with_end), TEST(destroy_busy), TEST(vm_flush),
		TEST(shutdown_idle), TEST(shutdown_busy), TEST(shutdown_needs_room),
		TEST(event_ring_full), TEST(events_are_kept), TEST(kept_go_first), TEST(kept_once),
	};

	return cmocka_run_group_tests_name("firmware messages", tests, NULL, NULL);
}
