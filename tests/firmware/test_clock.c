// SPDX-License-Identifier: MIT
/*
 * Scheduling measured in device time.  Cores run on their own here: a stream of n * 64 bytes works
 * for n stages of STAGE_NS and passes a YIELD after each.  On the RV32 core firmware takes time
 * too, INSTRUCTION_NS per instruction.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "host.h"

#define STAGE_NS	100000u		/* yield interval */
#define INSTRUCTION_NS	10u		/* a management core of 100 MHz */
/* What firmware may add to the start of a realtime job: it takes 63 doorbells that ring with the
 * realtime one, then asks for the YIELD, collects the core that has stopped, and starts.
 */
#define FIRMWARE_NS	40000u

struct stages {
	uint64_t next;		/* end of the stage, UINT64_MAX: idle */
	uint32_t done, total;
	unsigned int starts;	/* seen */
};

static struct stages cores[NE1_MAX_CORES];

static uint32_t core_reg(unsigned int core, uint32_t reg)
{
	return shim.cores[core].regs[reg / 4];
}

static uint64_t started_ns(unsigned int core)
{
	return core_reg(core, NE1_MC_CORE_START_LO) |
	       (uint64_t)core_reg(core, NE1_MC_CORE_START_HI) << 32;
}

static void boot(unsigned int n)
{
	shim_reset();
	host_layout();
	host_if()->queue_count = NE1_MAX_QUEUES;
	host_if()->counter_table = 0;
	shim.cap_cores = n;
	assert_true(shim_boot());
	shim.ns_per_instruction = INSTRUCTION_NS;
	for (unsigned int c = 0; c < NE1_MAX_CORES; c++)
		cores[c] = (struct stages){ .next = UINT64_MAX };
}

/* Jobs that firmware has started since the last look begin their first stage. */
static void see_starts(void)
{
	for (unsigned int c = 0; c < shim.cap_cores; c++) {
		struct stages *s = &cores[c];

		if (shim.cores[c].starts == s->starts)
			continue;
		s->starts = shim.cores[c].starts;
		s->done = shim.cores[c].pos;
		s->total = core_reg(c, NE1_MC_CORE_STREAM_SIZE) / 64;
		s->next = started_ns(c) + STAGE_NS;
	}
}

static void serve(void)
{
	assert_true(shim_run());
	see_starts();
}

/* Stage of core @c has ended at the time of now. */
static void end_stage(unsigned int c)
{
	struct stages *s = &cores[c];

	s->done++;
	if (s->done < s->total && !core_reg(c, NE1_MC_CORE_YIELD_REQ)) {
		s->next += STAGE_NS;
		return;
	}
	s->next = UINT64_MAX;
	if (s->done == s->total)
		shim_core_end(c, NE1_FAULT_NONE, 0);
	else
		shim_core_yield(c, s->done, 0);
	serve();
}

/* Lets cores and timer run until device time @until. */
static void run_until(uint64_t until)
{
	for (;;) {
		unsigned int first = 0;
		uint64_t at;

		for (unsigned int c = 1; c < shim.cap_cores; c++) {
			if (cores[c].next < cores[first].next)
				first = c;
		}
		at = cores[first].next < shim.timer_ns ? cores[first].next : shim.timer_ns;
		if (at > until)
			break;
		if (at > shim.time_ns)
			shim.time_ns = at;
		if (at == shim.timer_ns) {
			shim_pass(0);
			serve();
		} else {
			end_stage(first);
		}
	}
	if (shim.time_ns < until)
		shim.time_ns = until;
}

static void add_job(unsigned int queue, uint32_t stages)
{
	host_add_job(queue, 1)->stream[0].size = 64 * stages;
	host_doorbell(queue);
}

/* Queues that have room in their rings get jobs again. */
static void refill(unsigned int first, unsigned int end, uint32_t stages)
{
	for (unsigned int i = first; i < end; i++) {
		while (host_queue(i)->tail - (uint32_t)host_queue(i)->done_seqno < HOST_ENTRIES)
			add_job(i, stages);
	}
}

/* Time from the doorbell of realtime queue @queue to the start of its job. */
static uint64_t realtime_latency(unsigned int queue)
{
	uint64_t rung = shim.time_ns;
	const struct ne1_job_result *r;

	add_job(queue, 1);
	r = host_result(queue, (host_queue(queue)->tail - 1) % HOST_ENTRIES);
	serve();
	while (host_queue(queue)->done_seqno != host_queue(queue)->tail)
		run_until(shim.time_ns + STAGE_NS);
	assert_int_equal(r->fault, NE1_FAULT_NONE);
	assert_true(r->start_ns >= rung);
	return r->start_ns - rung;
}

/* 63 queues with full rings of long jobs; a realtime job starts after one yield interval. */
static void flood(unsigned int n_cores)
{
	unsigned int preempted = 0, rt = NE1_MAX_QUEUES - 1;
	uint64_t worst = 0;

	boot(n_cores);
	for (unsigned int i = 0; i < rt; i++)
		host_create(i, 1 + i, NE1_PRIO_LOW);
	host_create(rt, 100, NE1_PRIO_REALTIME);
	refill(0, rt, 1000);
	serve();
	for (unsigned int i = 0; i < 300; i++) {
		uint64_t latency;

		run_until(shim.time_ns + 37 * STAGE_NS + i * 7919 % STAGE_NS);
		refill(0, rt, 1000);	/* its doorbells are rung with the realtime queue's */
		latency = realtime_latency(rt);
		if (latency > worst)
			worst = latency;
	}
	print_message("# %u core(s): realtime job starts at most %u ns after its doorbell\n",
		      n_cores, (unsigned int)worst);
	assert_true(worst <= STAGE_NS + FIRMWARE_NS);
	assert_true(worst >= STAGE_NS * 9 / 10);
	for (unsigned int i = 0; i < rt; i++)
		preempted += host_queue(i)->preempted;
	assert_true(preempted >= 300);
	assert_int_equal(shim.violations, 0);
}

static void flood_one_core(void **state)
{
	(void)state;
	flood(1);
}

static void flood_three_cores(void **state)
{
	(void)state;
	flood(3);
}

static void assert_equal_shares(unsigned int first, unsigned int end, uint64_t since[])
{
	uint64_t least = UINT64_MAX, most = 0;

	for (unsigned int i = first; i < end; i++) {
		uint64_t ns = host_queue(i)->busy_ns - since[i];

		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
	}
	print_message("# device time of %u queues: %u to %u us\n", end - first,
		      (unsigned int)(least / 1000), (unsigned int)(most / 1000));
	assert_true(least > 0 && most - least <= most / 10);
}

/* Four queues with jobs of all lengths share a core evenly, however long each one's are. */
static void fair_slices(void **state)
{
	static const uint32_t stages[] = { 100000, 100000, 100000, 100000 };
	uint64_t since[NE1_MAX_QUEUES] = { 0 };

	(void)state;
	boot(1);
	for (unsigned int i = 0; i < 4; i++) {
		host_create(i, 1 + i, NE1_PRIO_NORMAL);
		refill(i, i + 1, stages[i]);
	}
	serve();
	run_until(shim.time_ns + 100ull * HOST_SLICE_NS);
	assert_equal_shares(0, 4, since);
	for (unsigned int i = 0; i < 4; i++)
		assert_in_range(host_queue(i)->preempted, 24, 26);
}

static void fair_jobs_of_all_lengths(void **state)
{
	static const uint32_t stages[] = { 1, 7, 60, 1000 };
	uint64_t since[NE1_MAX_QUEUES] = { 0 };

	(void)state;
	boot(1);
	for (unsigned int i = 0; i < 4; i++)
		host_create(i, 1 + i, NE1_PRIO_NORMAL);
	for (unsigned int t = 0; t < 4000; t++) {
		for (unsigned int i = 0; i < 4; i++)
			refill(i, i + 1, stages[i]);
		serve();
		run_until(shim.time_ns + HOST_SLICE_NS / 20);
	}
	assert_equal_shares(0, 4, since);
}

/* Realtime jobs in between take from all of a level alike. */
static void fair_under_preemption(void **state)
{
	uint64_t since[NE1_MAX_QUEUES] = { 0 };

	(void)state;
	boot(1);
	for (unsigned int i = 0; i < 4; i++) {
		host_create(i, 1 + i, NE1_PRIO_NORMAL);
		refill(i, i + 1, 100000);
	}
	serve();
	host_create(4, 9, NE1_PRIO_REALTIME);
	for (unsigned int t = 0; t < 1000; t++) {
		run_until(shim.time_ns + HOST_SLICE_NS / 8);
		realtime_latency(4);
	}
	assert_equal_shares(0, 4, since);
}

/* Six queues on four cores. */
static void fair_on_several_cores(void **state)
{
	uint64_t since[NE1_MAX_QUEUES] = { 0 };

	(void)state;
	boot(4);
	for (unsigned int i = 0; i < 6; i++) {
		host_create(i, 1 + i, NE1_PRIO_NORMAL);
		refill(i, i + 1, 100000);
	}
	serve();
	run_until(shim.time_ns + 100ull * HOST_SLICE_NS);
	assert_equal_shares(0, 6, since);
}

/* Queues [first, end) get jobs that do not end as long as a test lasts. */
static void keep_busy(unsigned int first, unsigned int end, unsigned int priority)
{
	for (unsigned int i = first; i < end; i++) {
		host_create(i, 1 + i, priority);
		add_job(i, 1000000);
	}
	serve();
}

static void add_low(unsigned int queue, unsigned int jobs, uint32_t stages)
{
	host_create(queue, 1 + queue, NE1_PRIO_LOW);
	for (unsigned int i = 0; i < jobs; i++)
		add_job(queue, stages);
	serve();
}

/* Where @priority keeps the core busy, two queues of the lowest one get turns of a slice each. */
static void starve(unsigned int priority, unsigned int turns)
{
	uint64_t begin, low;

	boot(1);
	keep_busy(0, 1, priority);
	for (unsigned int i = 1; i < 3; i++)
		add_low(i, HOST_ENTRIES, HOST_SLICE_NS / STAGE_NS);
	begin = shim.time_ns;
	run_until(begin + 5 * NE1_PATIENCE_NS + NE1_PATIENCE_NS / 2);
	low = host_queue(1)->busy_ns + host_queue(2)->busy_ns;
	print_message("# priority %u keeps the core busy: the lowest had %u us\n", priority,
		      (unsigned int)(low / 1000));
	assert_in_range(low, turns * HOST_SLICE_NS, turns * (HOST_SLICE_NS + 2 * STAGE_NS));
	if (turns) {
		assert_true(host_queue(1)->busy_ns >= turns / 2 * HOST_SLICE_NS);
		assert_true(host_queue(2)->busy_ns >= turns / 2 * HOST_SLICE_NS);
	}
	assert_int_equal(shim.violations, 0);
}

static void lowest_gets_turns(void **state)
{
	(void)state;
	starve(NE1_PRIO_NORMAL, 5);
}

static void lowest_gets_none_of_the_privileged(void **state)
{
	(void)state;
	starve(NE1_PRIO_HIGH, 0);
}

/* It is put aside as before when somebody above comes, and then goes on with its turn. */
static void turn_of_the_lowest_is_interrupted(void **state)
{
	(void)state;
	boot(1);
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_create(1, 2, NE1_PRIO_LOW);
	host_create(2, 3, NE1_PRIO_REALTIME);
	refill(0, 1, 200000);
	serve();
	refill(1, 2, 200000);
	serve();
	run_until(shim.time_ns + NE1_PATIENCE_NS + 3 * STAGE_NS);
	assert_true(host_queue(1)->on_core);
	assert_true(realtime_latency(2) <= STAGE_NS + FIRMWARE_NS);
	run_until(shim.time_ns + 2 * STAGE_NS);
	assert_true(host_queue(1)->on_core);
	run_until(shim.time_ns + HOST_SLICE_NS);
	assert_false(host_queue(1)->on_core);
	assert_true(host_queue(0)->on_core);
}

#define SECOND_STAGES	(1000000000u / STAGE_NS)

/* Ends of the first jobs of queues [first, end), in device time after @begin; all before @limit. */
static void await_first_jobs(unsigned int first, unsigned int end, uint64_t begin, uint64_t limit,
			     uint64_t ends[])
{
	run_until(begin + limit);
	for (unsigned int i = first; i < end; i++) {
		const struct ne1_job_result *r = host_result(i, 0);

		assert_true(host_queue(i)->done_count >= 1);
		assert_int_equal(r->fault, NE1_FAULT_NONE);
		ends[i] = r->end_ns - begin;
	}
}

/* A long job of the lowest priority ends in some seconds, however many are above, and takes no more
 * than its part from them.
 */
static void long_job_of_the_lowest(unsigned int n_cores, unsigned int above)
{
	uint64_t ends[NE1_MAX_QUEUES], begin;

	boot(n_cores);
	keep_busy(0, above, NE1_PRIO_NORMAL);
	add_low(above, 1, SECOND_STAGES - 10);
	begin = shim.time_ns;
	await_first_jobs(above, above + 1, begin, 6 * NE1_PATIENCE_NS, ends);
	print_message("# %u cores, %u queues above: a job of a second ends after %u ms\n", n_cores,
		      above, (unsigned int)(ends[above] / 1000000));
	/* its patience, then one slice in two, three or four */
	assert_in_range(ends[above], NE1_PATIENCE_NS * 29 / 10, NE1_PATIENCE_NS * 52 / 10);
	assert_int_equal(shim.violations, 0);
}

static void long_job_of_the_lowest_ends(void **state)
{
	(void)state;
	long_job_of_the_lowest(1, 1);
	long_job_of_the_lowest(1, 3);
	long_job_of_the_lowest(1, 32);
	long_job_of_the_lowest(3, 32);
}

/* One after the other, each with a second at most; what is longer than that has another turn. */
static void long_jobs_take_turns(void **state)
{
	uint64_t ends[NE1_MAX_QUEUES], begin, all;

	(void)state;
	boot(1);
	keep_busy(0, 1, NE1_PRIO_NORMAL);
	add_low(1, 1, 3 * SECOND_STAGES / 2);
	add_low(2, 1, SECOND_STAGES / 2);
	add_low(3, 1, SECOND_STAGES / 2);
	begin = shim.time_ns;
	run_until(begin + 3 * NE1_PATIENCE_NS + NE1_PATIENCE_NS / 10);
	assert_in_range(host_queue(1)->busy_ns, NE1_PATIENCE_NS, NE1_PATIENCE_NS + HOST_SLICE_NS);
	assert_int_equal(host_queue(1)->done_count, 0);
	assert_int_equal(host_queue(3)->busy_ns, 0);
	await_first_jobs(1, 4, begin, 7 * NE1_PATIENCE_NS, ends);
	assert_true(ends[2] < ends[3] && ends[3] < ends[1]);
	all = host_queue(1)->busy_ns + host_queue(2)->busy_ns + host_queue(3)->busy_ns;
	assert_true(host_queue(0)->busy_ns + HOST_SLICE_NS >= all);
}

/* Jobs that end in a turn do not extend it for those behind them. */
static void short_jobs_of_the_lowest_have_a_slice(void **state)
{
	uint64_t begin;

	(void)state;
	boot(1);
	keep_busy(0, 4, NE1_PRIO_NORMAL);
	add_low(4, HOST_ENTRIES, 60);
	add_low(5, HOST_ENTRIES, 60);
	begin = shim.time_ns;
	run_until(begin + 3 * NE1_PATIENCE_NS + NE1_PATIENCE_NS / 2);
	/* three turns, each to the end of its second job */
	assert_int_equal(host_queue(4)->done_count, 4);
	assert_int_equal(host_queue(5)->done_count, 2);
	assert_in_range(host_queue(4)->busy_ns, 4 * 60 * STAGE_NS, 4 * 60 * STAGE_NS + STAGE_NS);
}

/* When nobody is above any more, it has no more than its second before the others of its level. */
static void favour_ends_without_those_above(void **state)
{
	uint64_t begin;

	(void)state;
	boot(1);
	host_create(0, 1, NE1_PRIO_NORMAL);
	add_job(0, SECOND_STAGES + SECOND_STAGES / 10);
	add_low(1, 1, 4 * SECOND_STAGES);
	add_low(2, 1, SECOND_STAGES / 2);
	begin = shim.time_ns;
	run_until(begin + 5 * NE1_PATIENCE_NS);
	assert_int_equal(host_queue(0)->done_count, 1);
	assert_int_equal(host_queue(2)->done_count, 1);
	assert_int_equal(host_queue(1)->done_count, 0);
	/* some slices beside the one above; by a yield nobody is served before the second is over; then half a second of turns */
	print_message("# put aside %u times\n", host_queue(1)->preempted);
	assert_in_range(host_queue(1)->preempted, 1, 70);
}

/* Those who are privileged go before; afterwards it goes on. */
static void long_job_waits_for_the_privileged(void **state)
{
	uint64_t begin, before;

	(void)state;
	boot(1);
	keep_busy(0, 1, NE1_PRIO_NORMAL);
	add_low(1, 1, SECOND_STAGES / 2);
	run_until(shim.time_ns + 3 * NE1_PATIENCE_NS / 2);
	before = host_queue(1)->busy_ns;
	assert_in_range(before, 20 * HOST_SLICE_NS, 30 * HOST_SLICE_NS);
	host_create(2, 3, NE1_PRIO_HIGH);
	add_job(2, 2 * SECOND_STAGES);
	serve();
	begin = shim.time_ns;
	run_until(begin + 3 * NE1_PATIENCE_NS / 2);
	assert_true(host_queue(1)->busy_ns <= before + HOST_SLICE_NS);
	assert_int_equal(host_queue(2)->done_count, 0);
	run_until(begin + 3 * NE1_PATIENCE_NS);
	assert_int_equal(host_queue(2)->done_count, 1);
	assert_int_equal(host_queue(1)->done_count, 1);
}

/* Whose queue is suspended, or ends, leaves its place to the next one. */
static void who_leaves_is_no_longer_favoured(void **state)
{
	static const unsigned int ways[] = {
		NE1_CMD_QUEUE_SUSPEND, NE1_CMD_QUEUE_RESET, NE1_CMD_QUEUE_DESTROY,
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		boot(1);
		keep_busy(0, 1, NE1_PRIO_NORMAL);
		add_low(1, 1, SECOND_STAGES);
		add_low(2, 1, SECOND_STAGES / 4);
		run_until(shim.time_ns + 5 * NE1_PATIENCE_NS / 4);
		while (host_queue(1)->on_core)
			run_until(shim.time_ns + STAGE_NS);
		assert_true(host_queue(1)->busy_ns > 5 * HOST_SLICE_NS);
		assert_int_equal(host_queue(2)->busy_ns, 0);
		assert_int_equal(host_simple(ways[i], 1), NE1_MSG_OK);
		run_until(shim.time_ns + 2 * NE1_PATIENCE_NS);
		assert_int_equal(host_queue(2)->done_count, 1);
		if (ways[i] != NE1_CMD_QUEUE_SUSPEND)
			continue;
		/* it comes back as one of the lowest, and waits like one */
		assert_int_equal(host_simple(NE1_CMD_QUEUE_RESUME, 1), NE1_MSG_OK);
		serve();
		run_until(shim.time_ns + NE1_PATIENCE_NS / 2);
		assert_false(host_queue(1)->on_core);
		run_until(shim.time_ns + 3 * NE1_PATIENCE_NS);
		assert_int_equal(host_queue(1)->done_count, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flood_one_core),
		cmocka_unit_test(flood_three_cores),
		cmocka_unit_test(fair_slices),
		cmocka_unit_test(fair_jobs_of_all_lengths),
		cmocka_unit_test(fair_under_preemption),
		cmocka_unit_test(fair_on_several_cores),
		cmocka_unit_test(lowest_gets_turns),
		cmocka_unit_test(lowest_gets_none_of_the_privileged),
		cmocka_unit_test(turn_of_the_lowest_is_interrupted),
		cmocka_unit_test(long_job_of_the_lowest_ends),
		cmocka_unit_test(long_jobs_take_turns),
		cmocka_unit_test(short_jobs_of_the_lowest_have_a_slice),
		cmocka_unit_test(favour_ends_without_those_above),
		cmocka_unit_test(long_job_waits_for_the_privileged),
		cmocka_unit_test(who_leaves_is_no_longer_favoured),
	};

	return cmocka_run_group_tests_name("firmware in device time", tests, NULL, NULL);
}
