// SPDX-License-Identifier: MIT
/* Jobs: what the cores are told, what the host reads afterwards, faults, hostile descriptors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "firmware/panic.h"
#include "host.h"
#include "ne1_cmd.h"

static int setup(void **state)
{
	(void)state;
	host_boot();
	host_create(0, 1, NE1_PRIO_NORMAL);
	return 0;
}

static uint64_t core64(unsigned int core, uint32_t reg)
{
	const uint32_t *regs = shim.cores[core].regs;

	return regs[reg / 4] | (uint64_t)regs[reg / 4 + 1] << 32;
}

static void one_core(void **state)
{
	const struct ne1_fw_queue *q = host_queue(0);
	const struct ne1_job_result *r = host_result(0, 0);
	uint64_t start = shim.time_ns;
	const struct ne1_job *job = host_add_job(0, 1);

	(void)state;
	host_doorbell(0);
	shim_run();
	assert_int_equal(q->head, 1);
	assert_int_equal(q->done_seqno, 0);
	assert_int_equal(shim.cores[0].starts, 1);
	assert_int_equal(shim.cores[1].starts, 0);
	assert_int_equal(shim.cores[0].regs[NE1_MC_CORE_ASID / 4], 1);
	assert_true(core64(0, NE1_MC_CORE_STREAM_LO) == job->stream[0].va);
	assert_int_equal(shim.cores[0].regs[NE1_MC_CORE_STREAM_SIZE / 4], 64);
	assert_true(core64(0, NE1_MC_CORE_PARAM_LO) == job->param_va);
	assert_true(core64(0, NE1_MC_CORE_PROFILE_LO) == job->profile_va);
	assert_true(shim.asids[1].enabled);
	assert_int_equal(shim.asids[1].pgd, 1 << 12);

	shim.host_irq = 0;
	shim_core_end(0, NE1_FAULT_NONE, 12345);
	shim_run();
	assert_int_equal(shim.host_irq, NE1_IRQ_QUEUE);
	assert_int_equal(q->done_seqno, 1);
	assert_int_equal(q->done_count, 1);
	assert_int_equal(q->busy_ns, 12345);
	assert_int_equal(q->busy_cycles, 12345);
	assert_int_equal(q->state, NE1_QUEUE_OK);
	assert_int_equal(r->seqno, 1);
	assert_int_equal(r->fault, NE1_FAULT_NONE);
	assert_int_equal(r->start_ns, start);
	assert_int_equal(r->end_ns, start + 12345);
	assert_true(r->rd_bytes == 0x100000010ull);
	assert_int_equal(r->wr_bytes, 0x20);
}

/* Streams, parameters and profiles of two cores; counters are joined. */
static void two_cores(void **state)
{
	const struct ne1_job_result *r = host_result(0, 0);
	uint64_t start = shim.time_ns;
	const struct ne1_job *job = host_add_job(0, 2);

	(void)state;
	host_doorbell(0);
	shim_run();
	for (unsigned int c = 0; c < 2; c++) {
		assert_int_equal(shim.cores[c].starts, 1);
		assert_true(core64(c, NE1_MC_CORE_STREAM_LO) == job->stream[c].va);
		assert_int_equal(shim.cores[c].regs[NE1_MC_CORE_STREAM_SIZE / 4],
				 job->stream[c].size);
		assert_true(core64(c, NE1_MC_CORE_PARAM_LO) == job->param_va);
		assert_true(core64(c, NE1_MC_CORE_PROFILE_LO) ==
			    job->profile_va + c * sizeof(struct ne1_profile));
	}
	shim_core_end(1, NE1_FAULT_NONE, 100);
	shim_run();
	assert_int_equal(host_queue(0)->done_seqno, 0);
	shim_core_end(0, NE1_FAULT_NONE, 300);
	shim_run();
	assert_int_equal(host_queue(0)->done_seqno, 1);
	assert_int_equal(host_queue(0)->busy_ns, 400);
	assert_int_equal(host_queue(0)->busy_cycles, 300);
	assert_int_equal(r->start_ns, start);
	assert_int_equal(r->end_ns, start + 400);
	assert_true(r->rd_bytes == 0x200000021ull);
	assert_int_equal(r->wr_bytes, 0x41);
}

static void no_profile(void **state)
{
	(void)state;
	host_add_job(0, 2)->profile_va = 0;
	host_doorbell(0);
	shim_run();
	assert_true(core64(0, NE1_MC_CORE_PROFILE_LO) == 0);
	assert_true(core64(1, NE1_MC_CORE_PROFILE_LO) == 0);
}

/* Position of the last write to @addr in the trace. */
static unsigned int written_at(uint32_t addr)
{
	for (unsigned int i = shim.traced; i--;) {
		if (shim.trace[i].kind == SHIM_WIN && shim.trace[i].addr == addr)
			return i;
	}
	fail_msg("0x%x was not written", addr);
	return 0;
}

static bool barrier_between(unsigned int from, unsigned int to)
{
	for (unsigned int i = from + 1; i < to; i++) {
		if (shim.trace[i].kind == SHIM_WMB)
			return true;
	}
	return !shim_sees_barriers;
}

/* Result before done_seqno before interrupt, barriers between; done_seqno never reads too high. */
static void release_order(void **state)
{
	uint32_t record = host_if()->queue_table, result;
	unsigned int low, high, irq = 0;

	(void)state;
	result = (uint32_t)((uint8_t *)host_result(0, 0) - shim.memory);
	host_submit(0, 1);
	shim_core_end(0, NE1_FAULT_NONE, 5);
	shim_trace_clear();
	shim_run();
	low = written_at(record + offsetof(struct ne1_fw_queue, done_seqno));
	high = written_at(record + offsetof(struct ne1_fw_queue, done_seqno) + 4);
	for (uint32_t i = 0; i < sizeof(struct ne1_job_result); i += 4) {
		assert_true(written_at(result + i) < low);
		assert_true(barrier_between(written_at(result + i), low));
	}
	assert_true(written_at(record + offsetof(struct ne1_fw_queue, done_count)) < low);
	assert_true(low < high);
	assert_true(barrier_between(low, high));
	for (unsigned int i = 0; i < shim.traced; i++) {
		if (shim.trace[i].kind == SHIM_REG && shim.trace[i].addr == NE1_MC_HOST_IRQ)
			irq = i;
	}
	assert_true(irq > high);
	assert_true(barrier_between(high, irq));
}

static void ring_wraps(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 5 * HOST_ENTRIES; i++) {
		host_submit(0, 1);
		shim_core_end(0, NE1_FAULT_NONE, 10);
		shim_run();
		assert_int_equal(host_queue(0)->done_seqno, i + 1);
		assert_int_equal(host_result(0, i % HOST_ENTRIES)->seqno, i + 1);
	}
	assert_int_equal(host_queue(0)->busy_ns, 50 * HOST_ENTRIES);
	assert_int_equal(host_queue(0)->busy_cycles, 50 * HOST_ENTRIES);
	assert_int_equal(host_queue(0)->done_count, 5 * HOST_ENTRIES);
}

/* All faults of the contract arrive unchanged; other queues go on. */
static void faults(void **state)
{
	(void)state;
	for (unsigned int fault = NE1_FAULT_OPCODE; fault <= NE1_FAULT_FORMAT; fault++) {
		const struct ne1_job_result *r = host_result(0, 0);
		struct ne1_msg msg;

		host_boot();
		host_create(0, 1, NE1_PRIO_NORMAL);
		host_create(1, 2, NE1_PRIO_NORMAL);
		host_add_job(0, 1);
		host_submit(0, 1);
		host_submit(1, 1);
		shim.host_irq = 0;
		shim_core_end(0, (enum ne1_fault)fault, 50);
		shim_run();
		assert_int_equal(shim.host_irq, NE1_IRQ_QUEUE | NE1_IRQ_EVENT);
		assert_int_equal(host_queue(0)->state, NE1_QUEUE_FAULTED);
		assert_int_equal(host_queue(0)->done_seqno, 1);
		assert_int_equal(r->fault, fault);
		assert_int_equal(r->cmd, 7);
		assert_true(r->va == 0x1234567000);
		assert_int_equal(r->info, 0x2010);
		assert_int_equal(r->core, 0);
		assert_true(host_event(&msg));
		assert_int_equal(msg.type, NE1_EVT_QUEUE_FAULT);
		assert_int_equal(msg.queue, 0);
		assert_int_equal(msg.id, 0);
		assert_int_equal(msg.fault.seqno, 1);
		assert_int_equal(msg.fault.fault, fault);
		assert_int_equal(msg.fault.cmd, 7);
		assert_true(msg.fault.va == 0x1234567000);
		assert_int_equal(msg.fault.info, 0x2010);
		assert_false(host_event(&msg));

		/* the second job of the faulted queue stays, the other queue's jobs run */
		shim_core_end(1, NE1_FAULT_NONE, 5);
		host_submit(1, 1);
		shim_core_end(0, NE1_FAULT_NONE, 5);
		shim_run();
		assert_int_equal(host_queue(1)->done_seqno, 2);
		assert_int_equal(host_queue(0)->done_seqno, 1);
		assert_int_equal(host_queue(0)->head, 1);
		assert_int_equal(shim.violations, 0);
	}
}

/* One stream of two fails: the other core is stopped and the first fault is reported. */
static void fault_of_one_stream(void **state)
{
	struct ne1_msg msg;

	(void)state;
	host_submit(0, 2);
	shim_core_end(1, NE1_FAULT_DEADLOCK, 50);
	shim_run();
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_OK);
	assert_true(shim.cores[0].stop);
	shim_core_end(0, NE1_FAULT_STOPPED, 10);
	shim_run();
	assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_DEADLOCK);
	assert_int_equal(host_result(0, 0)->core, 1);
	assert_int_equal(host_result(0, 0)->cmd, 8);
	assert_true(host_event(&msg));
	assert_int_equal(msg.fault.core, 1);
	assert_int_equal(msg.fault.fault, NE1_FAULT_DEADLOCK);
}

/* The stream is named, not the core that happened to work on it. */
static void fault_names_the_stream(void **state)
{
	struct ne1_msg msg;

	(void)state;
	host_create(1, 2, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	host_submit(1, 1);
	shim_core_end(1, NE1_FAULT_DEADLOCK, 50);
	shim_run();
	assert_int_equal(host_result(1, 0)->fault, NE1_FAULT_DEADLOCK);
	assert_int_equal(host_result(1, 0)->core, 0);
	assert_true(host_event(&msg));
	assert_int_equal(msg.fault.core, 0);
	shim_core_end(0, NE1_FAULT_NONE, 10);
	shim_run();
	assert_int_equal(host_queue(0)->done_seqno, 1);
}

/* A stopped core is seen first, but the other one has the reason. */
static void reason_beats_stopped(void **state)
{
	(void)state;
	host_submit(0, 2);
	shim_core_end(0, NE1_FAULT_STOPPED, 50);
	shim_core_end(1, NE1_FAULT_SRAM, 0);
	shim_run();
	assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_SRAM);
	assert_int_equal(host_result(0, 0)->core, 1);
}

/* A core that claims FAULT without a code must not pass as success. */
static void fault_without_code(void **state)
{
	(void)state;
	host_submit(0, 1);
	shim_core_end(0, NE1_FAULT_NONE, 50);
	shim.cores[0].regs[NE1_MC_CORE_STATE / 4] = NE1_CORE_FAULT;
	shim_run();
	assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_STOPPED);
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_FAULTED);
}

/* One wrong field at a time in an otherwise good descriptor of two streams. */
#define JOB(f)	#f, offsetof(struct ne1_job, f), sizeof(((struct ne1_job *)0)->f)
static const struct {
	const char *name;
	size_t offset, size;
	uint64_t value;
	bool completes;	/* seqno can be trusted, so done_seqno moves */
} hostile[] = {
	{ JOB(seqno), 0, false },
	{ JOB(flags), 1, true },
	{ JOB(flags), 0x80000000, true },
	{ JOB(cores), 0, true },
	{ JOB(cores), 3, true },
	{ JOB(cores), 0xffffffff, true },
	{ JOB(param_va), 0x1020, true },
	{ JOB(param_va), 1ull << 39, true },
	{ JOB(param_va), (1ull << 39) - 192, true },
	{ JOB(param_va), 0xffffffffffffffc0, true },
	{ JOB(profile_va), 0x1004, true },
	{ JOB(profile_va), (1ull << 39) - 128, true },
	{ JOB(profile_va), 0xfffffffffffffff8, true },
	{ JOB(stream[0].va), 0x1020, true },
	{ JOB(stream[0].va), 1ull << 39, true },
	{ JOB(stream[1].va), (1ull << 39) - 64, true },
	{ JOB(stream[1].va), 0xffffffffffffffc0, true },
	{ JOB(stream[0].size), 0, true },
	{ JOB(stream[1].size), 0, true },
	{ JOB(stream[1].size), 65, true },
	{ JOB(stream[0].size), 0xfffffff0, true },
	{ JOB(stream[0].pad), 1, true },
	{ JOB(stream[1].pad), 1, true },
	{ JOB(pad[0]), 1, true },
	{ JOB(pad[3]), 1ull << 60, true },
};

static void hostile_descriptors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		struct ne1_msg msg;
		struct ne1_job *job;

		host_boot();
		host_create(0, 1, NE1_PRIO_NORMAL);
		host_create(1, 1, NE1_PRIO_NORMAL);
		job = host_add_job(0, 2);
		memcpy((uint8_t *)job + hostile[i].offset, &hostile[i].value, hostile[i].size);
		host_doorbell(0);
		shim_run();
		if (host_queue(0)->state != NE1_QUEUE_FAULTED || shim.cores[0].starts)
			fail_msg("%s = 0x%llx was accepted", hostile[i].name,
				 (unsigned long long)hostile[i].value);
		assert_int_equal(host_queue(0)->done_seqno, hostile[i].completes);
		assert_int_equal(host_queue(0)->head, 1);
		if (hostile[i].completes)
			assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_FIELD);
		assert_true(host_event(&msg));
		assert_int_equal(msg.type, NE1_EVT_QUEUE_FAULT);
		assert_int_equal(msg.fault.fault, NE1_FAULT_FIELD);
		host_submit(1, 2);
		assert_int_equal(shim.cores[1].starts, 1);
		assert_int_equal(shim.violations, 0);
	}
}

/* done_seqno never goes back. */
static void seqno_repeats(void **state)
{
	(void)state;
	host_submit(0, 1);
	shim_core_end(0, NE1_FAULT_NONE, 1);
	shim_run();
	host_add_job(0, 1)->seqno = 1;
	host_doorbell(0);
	shim_run();
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_FAULTED);
	assert_int_equal(host_queue(0)->done_seqno, 1);
	assert_int_equal(shim.cores[0].starts, 1);
}

static void tail_corrupt(void **state)
{
	struct ne1_msg msg;

	(void)state;
	host_create(1, 1, NE1_PRIO_NORMAL);
	host_queue(0)->tail = HOST_ENTRIES + 1;
	host_doorbell(0);
	assert_true(shim_run());
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_FAULTED);
	assert_true(host_event(&msg));
	assert_int_equal(msg.type, NE1_EVT_QUEUE_FAULT);
	assert_int_equal(msg.fault.fault, NE1_FAULT_FIELD);
	assert_int_equal(msg.fault.seqno, 0);
	host_doorbell(0);
	assert_true(shim_run());
	assert_false(host_event(&msg));
	host_submit(1, 1);
	assert_int_equal(shim.cores[0].starts, 1);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), NE1_MSG_OK);
	assert_int_equal(host_queue(0)->head, HOST_ENTRIES + 1);
}

/* The tail goes wrong while a job runs: the job's result still counts. */
static void tail_corrupt_while_busy(void **state)
{
	(void)state;
	host_submit(0, 1);
	host_queue(0)->tail = 0;
	host_doorbell(0);
	assert_true(shim_run());
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_FAULTED);
	shim_core_end(0, NE1_FAULT_NONE, 9);
	assert_true(shim_run());
	assert_int_equal(host_queue(0)->done_seqno, 1);
	assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_NONE);
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_FAULTED);
}

/* A ring that the host never mapped traps in the window: a panic, not a wrong access. */
static void ring_not_mapped(void **state)
{
	struct ne1_msg msg = host_create_msg(1, 1, NE1_PRIO_NORMAL);

	(void)state;
	msg.create.ring = SHIM_MEMORY;
	assert_int_equal(host_command(&msg), NE1_MSG_OK);
	host_queue(1)->tail = 1;
	host_doorbell(1);
	assert_false(shim_run());
	assert_int_equal(shim.boot_state, NE1_BOOT_STATE_PANIC | PANIC_TRAP << 8);
	assert_int_equal(host_if()->fw_state, NE1_FW_DEAD);
}

/* A doorbell of a queue that does not exist, or has nothing new. */
static void idle_doorbells(void **state)
{
	(void)state;
	host_doorbell(0);
	host_doorbell(5);
	host_doorbell(HOST_QUEUES);
	host_doorbell(63);
	assert_true(shim_run());
	assert_int_equal(shim.cores[0].starts, 0);
	assert_int_equal(shim.db_pending[0] | shim.db_pending[1], 0);
}

static void high_queue(void **state)
{
	(void)state;
	host_create(HOST_QUEUES - 1, 2, NE1_PRIO_NORMAL);
	host_submit(HOST_QUEUES - 1, 1);
	assert_int_equal(shim.cores[0].starts, 1);
}

static void report(const char *what)
{
	if (shim.instructions)
		print_message("# job %s: %u instructions\n", what, (unsigned int)shim.instructions);
}

/* The paths that every token takes stay short: registers and host memory touched. */
static void cost(void **state)
{
	(void)state;
	host_add_job(0, 1);
	host_doorbell(0);
	shim_trace_clear();
	shim_run();
	assert_true(shim.reg_reads <= 3);
	assert_true(shim.win_reads <= 1 + 32);
	report("start");
	assert_true(shim.instructions <= 1700);
	shim_core_end(0, NE1_FAULT_NONE, 5);
	shim_trace_clear();
	shim_run();
	assert_true(shim.reg_reads <= 1 + 1 + 10 + 1);
	assert_true(shim.win_writes <= 16 + 10);
	assert_int_equal(shim.win_reads, 0);
	report("end");
	assert_true(shim.instructions <= 1500);
}

static void cores_of_chip(void **state)
{
	(void)state;
	shim_reset();
	host_layout();
	shim.cap_cores = 4;
	assert_true(shim_boot());
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_submit(0, 4);
	for (unsigned int c = 0; c < 4; c++)
		assert_int_equal(shim.cores[c].starts, 1);
	for (unsigned int c = 0; c < 4; c++)
		shim_core_end(3 - c, NE1_FAULT_NONE, 10);
	shim_run();
	assert_int_equal(host_queue(0)->done_seqno, 1);
	assert_int_equal(host_queue(0)->busy_ns, 40);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, host_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_core), TEST(two_cores), TEST(no_profile), TEST(release_order),
		TEST(ring_wraps), TEST(faults), TEST(fault_of_one_stream), TEST(fault_names_the_stream),
		TEST(reason_beats_stopped), TEST(fault_without_code), TEST(hostile_descriptors),
		TEST(seqno_repeats), TEST(tail_corrupt), TEST(tail_corrupt_while_busy),
		TEST(ring_not_mapped), TEST(idle_doorbells), TEST(high_queue), TEST(cost),
		TEST(cores_of_chip),
	};

	return cmocka_run_group_tests_name("firmware jobs", tests, NULL, NULL);
}
