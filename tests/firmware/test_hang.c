// SPDX-License-Identifier: MIT
/* Cores that do not stop when they are told to, the watchdog, and the counters of queues. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "host.h"

#define MS	1000000ull

static int setup(void **state)
{
	(void)state;
	host_boot();
	host_create(0, 1, NE1_PRIO_NORMAL);
	return 0;
}

static void pass(uint64_t ns)
{
	shim_pass(ns);
	assert_true(shim_run());
}

static int reply_status(void)
{
	struct ne1_msg reply;

	if (!host_event(&reply))
		return -1;
	assert_int_equal(reply.type, NE1_EVT_REPLY);
	return reply.status;
}

static void reset_of_hung_core(void **state)
{
	(void)state;
	host_submit(0, 1);
	shim_core_progress(0, 5);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), -1);
	pass(99 * MS);
	assert_int_equal(reply_status(), -1);
	pass(1 * MS);
	assert_int_equal(reply_status(), NE1_MSG_HUNG);
	assert_non_null(strstr(host_log(), "E core 0 does not stop: command 5 of the job's, "
					   "queue 0 seqno 0x1\n"));
	/* said once; the rest of the firmware goes on */
	pass(1000 * MS);
	assert_int_equal(reply_status(), -1);
	assert_int_equal(host_simple(NE1_CMD_PING, 0), NE1_MSG_OK);
	assert_int_equal(host_simple(NE1_CMD_VM_FLUSH, 1), NE1_MSG_BAD_STATE);
	/* the host may try again, with the same end */
	assert_int_equal(host_simple(NE1_CMD_QUEUE_DESTROY, 0), -1);
	pass(100 * MS);
	assert_int_equal(reply_status(), NE1_MSG_HUNG);
}

/* A core that starts commands does not hang, however long it takes. */
static void slow_core(void **state)
{
	(void)state;
	host_submit(0, 1);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), -1);
	for (unsigned int i = 0; i < 20; i++) {
		shim_core_progress(0, 1);
		pass(100 * MS);
		assert_int_equal(reply_status(), -1);
	}
	shim_core_end(0, NE1_FAULT_STOPPED, 1);
	assert_true(shim_run());
	assert_int_equal(reply_status(), NE1_MSG_OK);
	pass(200 * MS);
	assert_int_equal(reply_status(), -1);
}

/* The core that was given up ends after all: the host hears of the fault that nobody waits for. */
static void late_end(void **state)
{
	struct ne1_msg msg;

	(void)state;
	host_submit(0, 1);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), -1);
	pass(100 * MS);
	assert_int_equal(reply_status(), NE1_MSG_HUNG);
	shim_core_end(0, NE1_FAULT_STOPPED, 1);
	assert_true(shim_run());
	assert_true(host_event(&msg));
	assert_int_equal(msg.type, NE1_EVT_QUEUE_FAULT);
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_FAULTED);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), NE1_MSG_OK);
}

/* One of two cores fails, the other does not stop: the fault is told without the job's end. */
static void hang_beside_a_fault(void **state)
{
	struct ne1_msg msg;

	(void)state;
	host_submit(0, 2);
	shim_core_end(0, NE1_FAULT_MMU, 10);
	assert_true(shim_run());
	assert_false(host_event(&msg));
	pass(100 * MS);
	assert_true(host_event(&msg));
	assert_int_equal(msg.type, NE1_EVT_QUEUE_FAULT);
	assert_int_equal(msg.fault.fault, NE1_FAULT_MMU);
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_FAULTED);
	assert_int_equal(host_queue(0)->done_seqno, 0);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), -1);
	pass(100 * MS);
	assert_int_equal(reply_status(), NE1_MSG_HUNG);
}

static void shutdown_of_hung_core(void **state)
{
	(void)state;
	host_create(1, 1, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	host_submit(1, 1);
	assert_int_equal(host_simple(NE1_CMD_SHUTDOWN, 0), -1);
	shim_core_end(1, NE1_FAULT_STOPPED, 1);
	assert_true(shim_run());
	pass(100 * MS);
	assert_int_equal(reply_status(), NE1_MSG_HUNG);
	assert_int_equal(host_if()->fw_state, NE1_FW_RUNNING);
	shim_core_end(0, NE1_FAULT_STOPPED, 1);
	assert_true(shim_run());
	pass(100 * MS);
	assert_int_equal(reply_status(), -1);
	assert_int_equal(host_if()->fw_state, NE1_FW_RUNNING);
}

/* Two cores that hang in one shutdown are one answer. */
static void shutdown_of_two_hung_cores(void **state)
{
	(void)state;
	host_submit(0, 2);
	assert_int_equal(host_simple(NE1_CMD_SHUTDOWN, 0), -1);
	pass(100 * MS);
	assert_int_equal(reply_status(), NE1_MSG_HUNG);
	assert_int_equal(reply_status(), -1);
}

/* The watchdog is fed, and the heartbeat moves, only after all that was pending was served. */
static void watchdog_is_fed_last(void **state)
{
	unsigned int fed = 0, served = 0;

	(void)state;
	host_push(&(struct ne1_msg){ .type = NE1_CMD_PING });
	shim.irq_pending |= NE1_MC_IRQ_MBOX;
	shim_trace_clear();
	pass(60 * MS);
	for (unsigned int i = 0; i < shim.traced; i++) {
		if (shim.trace[i].kind == SHIM_REG && shim.trace[i].addr == NE1_MC_WATCHDOG)
			fed = i;
		if (shim.trace[i].kind == SHIM_REG && shim.trace[i].addr == NE1_MC_HOST_IRQ)
			served = i;
	}
	assert_true(served > 0 && fed > served);
	assert_int_equal(reply_status(), NE1_MSG_OK);
	/* nothing else feeds it */
	shim_trace_clear();
	assert_int_equal(host_simple(NE1_CMD_PING, 0), NE1_MSG_OK);
	for (unsigned int i = 0; i < shim.traced; i++)
		assert_true(shim.trace[i].addr != NE1_MC_WATCHDOG);
}

static void assert_counters(unsigned int queue, uint64_t n, unsigned int runs)
{
	const struct ne1_fw_counters *c = host_counters(queue);

	for (unsigned int i = 0; i < NE1_COUNTERS; i++)
		assert_int_equal(c->value[i], n * 1000 + (uint64_t)runs * i);
	for (unsigned int i = NE1_COUNTERS; i < 16; i++)
		assert_int_equal(c->value[i], 0);
}

static void run_counted(unsigned int core, uint64_t n)
{
	shim_core_count(core, n);
	shim_core_end(core, NE1_FAULT_NONE, 10);
	assert_true(shim_run());
}

static void counters(void **state)
{
	(void)state;
	host_create(1, 2, NE1_PRIO_REALTIME);
	/* off: nothing is kept */
	memset(host_counters(0), 0xee, 16 * 64);
	host_submit(0, 1);
	run_counted(0, 77);
	assert_int_equal(host_counters(0)->value[0], 0xeeeeeeeeeeeeeeee);
	/* on: from zero, for all */
	assert_int_equal(host_simple(NE1_CMD_COUNTERS, 1), NE1_MSG_OK);
	assert_counters(0, 0, 0);
	assert_counters(1, 0, 0);
	host_submit(0, 2);
	run_counted(1, 1000000000000ull);
	assert_counters(0, 0, 0);
	run_counted(0, 2);
	assert_counters(0, 1000000000002ull, 2);
	/* a job that is put aside counts what it did */
	host_submit(0, 2);
	host_submit(1, 2);
	shim_core_count(0, 5);
	shim_core_yield(0, 1, 10);
	shim_core_count(1, 6);
	shim_core_yield(1, 1, 10);
	assert_true(shim_run());
	assert_counters(0, 1000000000013ull, 4);
	run_counted(0, 1);
	run_counted(1, 1);
	assert_counters(1, 2, 2);
	/* again is no new start, off leaves the table, on once more starts over */
	assert_int_equal(host_simple(NE1_CMD_COUNTERS, 1), NE1_MSG_OK);
	assert_counters(1, 2, 2);
	assert_int_equal(host_simple(NE1_CMD_COUNTERS, 0), NE1_MSG_OK);
	run_counted(0, 1);
	run_counted(1, 1);
	assert_counters(0, 1000000000013ull, 4);
	assert_int_equal(host_simple(NE1_CMD_COUNTERS, 1), NE1_MSG_OK);
	assert_counters(0, 0, 0);
}

static void counters_of_a_new_queue(void **state)
{
	(void)state;
	assert_int_equal(host_simple(NE1_CMD_COUNTERS, 1), NE1_MSG_OK);
	host_submit(0, 1);
	run_counted(0, 3);
	assert_counters(0, 3, 1);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_DESTROY, 0), NE1_MSG_OK);
	assert_counters(0, 3, 1);
	host_create(0, 1, NE1_PRIO_NORMAL);
	assert_counters(0, 0, 0);
}

/* A host without a table, or of ABI 1.0, which does not know the field. */
static void no_counter_table(void **state)
{
	(void)state;
	for (unsigned int minor = 0; minor < 2; minor++) {
		shim_reset();
		host_layout();
		host_if()->abi_minor = (uint16_t)minor;
		host_if()->counter_table = minor ? 0 : 0x1234567;
		assert_true(shim_boot());
		assert_int_equal(host_simple(NE1_CMD_COUNTERS, 1), NE1_MSG_BAD_STATE);
		host_create(0, 1, NE1_PRIO_NORMAL);
		host_submit(0, 1);
		run_counted(0, 3);
		assert_int_equal(host_queue(0)->done_seqno, 1);
	}
}

static void log_level_while_running(void **state)
{
	(void)state;
	host_submit(0, 1);
	shim_core_end(0, NE1_FAULT_NONE, 10);
	assert_true(shim_run());
	assert_null(strstr(host_log(), "seqno 0x1 ended"));
	assert_int_equal(host_simple(NE1_CMD_LOG_LEVEL, NE1_LOG_DEBUG), NE1_MSG_OK);
	host_submit(0, 1);
	assert_non_null(strstr(host_log(), " D queue 0: seqno 0x2 on cores 0x1, asid 1\n"));
	assert_int_equal(host_simple(NE1_CMD_QUEUE_SUSPEND, 0), -1);
	shim_core_yield(0, 1, 10);
	assert_true(shim_run());
	assert_non_null(strstr(host_log(), " D queue 0: seqno 0x2 put aside\n"));
	assert_int_equal(reply_status(), NE1_MSG_OK);
	assert_int_equal(host_simple(NE1_CMD_LOG_LEVEL, NE1_LOG_ERROR), NE1_MSG_OK);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESUME, 0), NE1_MSG_OK);
	shim_core_end(0, NE1_FAULT_NONE, 10);
	assert_true(shim_run());
	assert_null(strstr(host_log(), "seqno 0x2 ended"));
	assert_null(strstr(host_log(), "resumed"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, host_teardown)
	const struct CMUnitTest tests[] = {
		TEST(reset_of_hung_core), TEST(slow_core), TEST(late_end),
		TEST(hang_beside_a_fault), TEST(shutdown_of_hung_core),
		TEST(shutdown_of_two_hung_cores), TEST(watchdog_is_fed_last), TEST(counters),
		TEST(counters_of_a_new_queue), TEST(no_counter_table),
		TEST(log_level_while_running),
	};

	return cmocka_run_group_tests_name("firmware supervision", tests, NULL, NULL);
}
