// SPDX-License-Identifier: MIT
/* Jobs that are put aside at a YIELD: for whom, when, on which cores they go on, and what counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "host.h"

#define MS		1000000ull
static uint32_t core_reg(unsigned int core, uint32_t reg)
{
	return shim.cores[core].regs[reg / 4];
}

static bool asked(unsigned int core)
{
	return core_reg(core, NE1_MC_CORE_YIELD_REQ);
}

static void yield(unsigned int core, uint32_t pos, uint64_t ns)
{
	shim_core_yield(core, pos, ns);
	assert_true(shim_run());
}

static void end(unsigned int core, uint64_t ns)
{
	shim_core_end(core, NE1_FAULT_NONE, ns);
	assert_true(shim_run());
}

static void pass(uint64_t ns)
{
	shim_pass(ns);
	assert_true(shim_run());
}

static void assert_runs(unsigned int queue, uint64_t seqno, uint32_t cores)
{
	assert_int_equal(host_queue(queue)->run_seqno, seqno);
	assert_int_equal(host_queue(queue)->on_core, cores);
}

static void preempts_lower(void **state)
{
	const struct ne1_fw_queue *low = host_queue(0), *rt = host_queue(1);
	const struct ne1_job_result *r = host_result(0, 0);
	uint64_t start;

	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 2, NE1_PRIO_REALTIME);
	start = shim.time_ns;
	host_submit(0, 1);
	assert_runs(0, 1, 1);
	assert_false(asked(0));
	host_submit(1, 1);
	assert_true(asked(0));
	assert_int_equal(rt->head, 0);
	assert_int_equal(shim.cores[0].stops, 0);

	yield(0, 3, 1000);
	assert_runs(0, 1, 0);
	assert_runs(1, 1, 1);
	assert_false(asked(0));
	assert_int_equal(shim.cores[0].starts, 2);
	assert_int_equal(shim.cores[0].continues, 0);
	assert_int_equal(shim.cores[0].scrubs, 1);
	assert_int_equal(low->preempted, 1);
	assert_int_equal(low->busy_ns, 1000);
	assert_int_equal(low->busy_cycles, 1000);
	assert_int_equal(low->done_seqno, 0);

	end(0, 500);
	assert_int_equal(rt->done_seqno, 1);
	assert_int_equal(rt->busy_ns, 500);
	assert_int_equal(rt->preempted, 0);
	assert_runs(1, 0, 0);
	assert_runs(0, 1, 1);
	assert_int_equal(shim.cores[0].continues, 1);
	assert_int_equal(shim.cores[0].pos, 3);
	assert_int_equal(core_reg(0, NE1_MC_CORE_ASID), 1);
	assert_int_equal(shim.cores[0].scrubs, 2);

	end(0, 2000);
	assert_int_equal(low->done_seqno, 1);
	assert_int_equal(low->busy_ns, 3000);
	assert_int_equal(low->busy_cycles, 3000);
	assert_int_equal(low->preempted, 1);
	assert_runs(0, 0, 0);
	assert_int_equal(r->fault, NE1_FAULT_NONE);
	assert_int_equal(r->start_ns, start);
	assert_int_equal(r->end_ns, start + 3500);
	assert_true(r->rd_bytes == 2 * 0x100000010ull);
	assert_int_equal(r->wr_bytes, 2 * 0x20);
}

/* Whoever is of the same level or a higher one is left alone. */
static void only_lower_ones_yield(void **state)
{
	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_create(1, 1, NE1_PRIO_NORMAL);
	host_create(2, 1, NE1_PRIO_LOW);
	host_submit(0, 1);
	host_submit(1, 1);
	host_submit(2, 1);
	assert_false(asked(0));
	end(0, 100);
	assert_runs(1, 1, 1);
	assert_false(asked(0));
}

static void lowest_of_all_yields(void **state)
{
	(void)state;
	host_boot_cores(3, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_create(1, 1, NE1_PRIO_LOW);
	host_create(2, 1, NE1_PRIO_HIGH);
	host_create(3, 1, NE1_PRIO_HIGH);
	host_create(4, 1, NE1_PRIO_REALTIME);
	for (unsigned int i = 0; i < 3; i++)
		host_submit(i, 1);
	host_submit(3, 1);
	assert_false(asked(0));
	assert_true(asked(1));
	assert_false(asked(2));
	/* a second one that waits gets a core of its own */
	host_submit(4, 1);
	assert_true(asked(0));
	assert_true(asked(1));
	assert_false(asked(2));
	yield(1, 1, 10);
	assert_runs(4, 1, 2);
	yield(0, 1, 10);
	assert_runs(3, 1, 1);
	assert_runs(1, 1, 0);
	assert_runs(0, 1, 0);
	/* who was preempted comes back by priority */
	end(1, 10);
	assert_runs(0, 1, 2);
	assert_int_equal(shim.cores[1].pos, 1);
}

/* A core that came free otherwise makes the request void. */
static void request_is_taken_back(void **state)
{
	(void)state;
	host_boot_cores(2, 16);
	for (unsigned int i = 0; i < 2; i++)
		host_create(i, 1, NE1_PRIO_LOW);
	host_create(2, 1, NE1_PRIO_HIGH);
	host_submit(0, 1);
	host_submit(1, 1);
	host_submit(2, 1);
	assert_true(asked(0) != asked(1));
	end(asked(0), 10);
	assert_runs(2, 1, host_queue(0)->on_core == 1 ? 2 : 1);
	assert_false(asked(0) || asked(1));
}

static void reset_of_waiter_takes_back(void **state)
{
	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 1, NE1_PRIO_HIGH);
	host_submit(0, 1);
	host_submit(1, 1);
	assert_true(asked(0));
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 1), NE1_MSG_OK);
	assert_false(asked(0));
}

/* A job of two cores gets them from two lower ones, and neither comes back in between. */
static void wide_job_preempts(void **state)
{
	(void)state;
	host_boot_cores(2, 16);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 1, NE1_PRIO_NORMAL);
	host_create(2, 2, NE1_PRIO_REALTIME);
	host_submit(0, 1);
	host_submit(1, 1);
	host_submit(2, 2);
	assert_true(asked(0) && asked(1));
	yield(0, 5, 10);
	assert_runs(0, 1, 0);
	assert_runs(2, 0, 0);
	yield(1, 6, 10);
	assert_runs(2, 1, 3);
	end(1, 10);
	assert_runs(1, 1, 2);
	assert_int_equal(shim.cores[1].pos, 6);
	end(0, 10);
	assert_runs(0, 1, 1);
	assert_int_equal(shim.cores[0].pos, 5);
}

/* Nobody is disturbed for a wide job that could not start even then. */
static void no_preemption_in_vain(void **state)
{
	(void)state;
	host_boot_cores(2, 16);
	host_create(0, 1, NE1_PRIO_REALTIME);
	host_create(1, 1, NE1_PRIO_LOW);
	host_create(2, 1, NE1_PRIO_HIGH);
	host_submit(0, 1);
	host_submit(1, 1);
	host_submit(2, 2);
	assert_false(asked(0) || asked(1));
	end(0, 10);
	assert_true(asked(1));
	yield(1, 1, 10);
	assert_runs(2, 1, 3);
}

/* A wide job that waits does not keep a core from a higher one, nor from its own level's running
 * job.
 */
static void waiting_wide_job_inverts_nothing(void **state)
{
	(void)state;
	host_boot_cores(2, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_create(1, 1, NE1_PRIO_NORMAL);
	host_create(2, 1, NE1_PRIO_HIGH);
	host_submit(0, 1);
	host_submit(1, 2);
	assert_runs(1, 0, 0);
	host_submit(2, 1);
	assert_runs(2, 1, 2);
	/* both cores are taken by jobs of one core: the wide one's turn comes with its neighbour's
	 * slice
	 */
	pass(HOST_SLICE_NS);
	assert_true(asked(0));
	assert_false(asked(1));
	yield(0, 9, 1000);
	assert_runs(0, 1, 0);
	assert_runs(1, 0, 0);
	end(1, 1000);
	assert_runs(1, 1, 3);
}

/* A job on two cores is put aside as a whole; its first free core is used at once. */
static void wide_job_is_put_aside(void **state)
{
	const struct ne1_job *job;

	(void)state;
	host_boot_cores(2, 16);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 2, NE1_PRIO_REALTIME);
	job = host_add_job(0, 2);
	host_doorbell(0);
	shim_run();
	assert_runs(0, 1, 3);
	host_submit(1, 1);
	assert_true(asked(0) && asked(1));
	yield(1, 22, 100);
	assert_runs(0, 1, 1);
	assert_runs(1, 1, 2);
	assert_int_equal(host_queue(0)->preempted, 0);
	assert_true(asked(0));
	/* the rest has to yield too, although nobody needs its core any more */
	end(1, 100);
	assert_true(asked(0));
	assert_runs(0, 1, 1);
	yield(0, 11, 100);
	assert_int_equal(host_queue(0)->preempted, 1);
	assert_int_equal(host_queue(0)->busy_ns, 300);
	assert_runs(0, 1, 3);
	assert_int_equal(shim.cores[0].pos, 11);
	assert_int_equal(shim.cores[1].pos, 22);
	assert_int_equal(core_reg(1, NE1_MC_CORE_STREAM_LO), (uint32_t)job->stream[1].va);
	end(0, 50);
	end(1, 50);
	assert_int_equal(host_queue(0)->done_seqno, 1);
	assert_int_equal(host_queue(0)->busy_ns, 400);
}

/* Of two streams one ended before the job was put aside: the other one needs one core only. */
static void rest_of_a_wide_job(void **state)
{
	const struct ne1_job *job;

	(void)state;
	host_boot_cores(2, 16);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 1, NE1_PRIO_REALTIME);
	host_create(2, 1, NE1_PRIO_REALTIME);
	job = host_add_job(0, 2);
	host_doorbell(0);
	shim_run();
	host_submit(1, 1);
	host_submit(2, 1);
	end(0, 10);
	assert_runs(1, 1, 1);
	yield(1, 7, 10);
	assert_runs(2, 1, 2);
	assert_int_equal(host_queue(0)->preempted, 1);
	end(0, 10);
	assert_runs(0, 1, 1);
	assert_int_equal(shim.cores[0].pos, 7);
	assert_int_equal(core_reg(0, NE1_MC_CORE_STREAM_LO), (uint32_t)job->stream[1].va);
	assert_int_equal(core_reg(0, NE1_MC_CORE_STREAM_SIZE), job->stream[1].size);
	assert_int_equal(core_reg(0, NE1_MC_CORE_PROFILE_LO), (uint32_t)job->profile_va + 128);
	end(0, 10);
	assert_int_equal(host_queue(0)->done_seqno, 1);
	assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_NONE);
}

/* One core faults after the other has yielded: the job ends with the fault. */
static void fault_beside_a_yield(void **state)
{
	struct ne1_msg msg;

	(void)state;
	host_boot_cores(2, 16);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 1, NE1_PRIO_REALTIME);
	host_submit(0, 2);
	host_submit(1, 1);
	yield(0, 4, 10);
	shim_core_end(1, NE1_FAULT_SRAM, 10);
	assert_true(shim_run());
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_FAULTED);
	assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_SRAM);
	assert_runs(0, 0, 0);
	assert_int_equal(host_queue(0)->preempted, 0);
	assert_true(host_event(&msg));
	assert_int_equal(msg.type, NE1_EVT_QUEUE_FAULT);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), NE1_MSG_OK);
	host_submit(0, 1);
	assert_runs(0, 2, 2);
	assert_int_equal(shim.cores[1].pos, 0);
}

/* SRAM is zeroed if another VM's job ran in between, on whatever core the job goes on. */
static void scrub_in_between(void **state)
{
	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 1, NE1_PRIO_HIGH);
	host_create(2, 2, NE1_PRIO_HIGH);
	host_submit(0, 1);
	host_submit(1, 1);
	yield(0, 1, 10);
	end(0, 10);
	assert_int_equal(shim.cores[0].scrubs, 0);
	host_submit(2, 1);
	yield(0, 2, 10);
	assert_int_equal(shim.cores[0].scrubs, 1);
	end(0, 10);
	assert_int_equal(shim.cores[0].scrubs, 2);
	assert_int_equal(shim.cores[0].pos, 2);
}

static void slices(void **state)
{
	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_create(1, 1, NE1_PRIO_NORMAL);
	host_create(2, 1, NE1_PRIO_LOW);
	host_submit(0, 1);
	/* alone in its level: no slice ends */
	host_submit(2, 1);
	pass(3 * HOST_SLICE_NS);
	assert_false(asked(0));
	/* its slice has been over for long when another one comes */
	host_submit(1, 1);
	assert_true(asked(0));
	yield(0, 5, 10);
	assert_runs(1, 1, 1);
	pass(HOST_SLICE_NS - 1000);
	assert_false(asked(0));
	pass(1000);
	assert_true(asked(0));
	yield(0, 6, 0);
	assert_runs(0, 1, 1);
	assert_int_equal(shim.cores[0].pos, 5);
	end(0, 10);
	assert_runs(1, 1, 1);
	assert_int_equal(shim.cores[0].pos, 6);
	assert_int_equal(host_queue(2)->head, 0);
}

static void slice_of_a_queue(void **state)
{
	struct ne1_msg msg;

	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	msg = host_create_msg(1, 1, NE1_PRIO_NORMAL);
	msg.create.timeslice_us = 250;
	assert_int_equal(host_command(&msg), NE1_MSG_OK);
	host_submit(1, 1);
	host_submit(0, 1);
	pass(249999);
	assert_false(asked(0));
	pass(1);
	assert_true(asked(0));
	yield(0, 1, 0);
	pass(HOST_SLICE_NS - 1);
	assert_false(asked(0));
	pass(1);
	assert_true(asked(0));
}

/* Short jobs of a queue follow one another until its slice is used up. */
static void slice_over_several_jobs(void **state)
{
	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_create(1, 1, NE1_PRIO_NORMAL);
	for (unsigned int i = 0; i < 6; i++)
		host_submit(0, 1);
	host_submit(1, 1);
	host_submit(1, 1);
	for (unsigned int i = 2; i <= 4; i++) {
		end(0, 3 * MS);
		assert_runs(0, i, 1);
	}
	end(0, 3 * MS);
	assert_runs(1, 1, 1);
	/* nothing more to run: the rest of the turn is lost */
	end(0, 1 * MS);
	assert_runs(1, 2, 1);
	end(0, 1 * MS);
	assert_runs(0, 5, 1);
	host_submit(1, 1);
	end(0, 3 * MS);
	assert_runs(0, 6, 1);
}

/* Who is preempted by a higher level keeps its place and the rest of its slice. */
static void preemption_keeps_the_slice(void **state)
{
	(void)state;
	host_boot_cores(1, 16);
	for (unsigned int i = 0; i < 3; i++)
		host_create(i, 1, NE1_PRIO_NORMAL);
	host_create(3, 1, NE1_PRIO_HIGH);
	for (unsigned int i = 0; i < 3; i++)
		host_submit(i, 1);
	pass(4 * MS);
	host_submit(3, 1);
	yield(0, 1, 1 * MS);
	end(0, 50 * MS);
	assert_runs(0, 1, 1);
	pass(5 * MS - 1);
	assert_false(asked(0));
	pass(1);
	assert_true(asked(0));
	yield(0, 2, 0);
	assert_runs(1, 1, 1);
	pass(HOST_SLICE_NS);
	yield(0, 2, 0);
	assert_runs(2, 1, 1);
	pass(HOST_SLICE_NS);
	yield(0, 2, 0);
	assert_runs(0, 1, 1);
}

/* A job that yields although the reason has gone just goes on. */
static void yields_for_nobody(void **state)
{
	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 1, NE1_PRIO_HIGH);
	host_submit(0, 1);
	host_submit(1, 1);
	shim_core_yield(0, 8, 10);
	shim.irq_pending &= ~(uint32_t)NE1_MC_IRQ_CORE;
	assert_int_equal(host_simple(NE1_CMD_QUEUE_SUSPEND, 1), NE1_MSG_OK);
	shim.irq_pending |= NE1_MC_IRQ_CORE;
	assert_true(shim_run());
	assert_runs(0, 1, 1);
	assert_int_equal(shim.cores[0].pos, 8);
	assert_int_equal(host_queue(0)->preempted, 1);
}

static void suspend_puts_aside(void **state)
{
	struct ne1_msg reply;

	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_SUSPEND, 0), -1);
	assert_true(asked(0));
	yield(0, 2, 10);
	assert_true(host_event(&reply));
	assert_int_equal(reply.status, NE1_MSG_OK);
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_SUSPENDED);
	assert_runs(0, 1, 0);
	assert_int_equal(host_queue(0)->preempted, 1);
	assert_int_equal(host_simple(NE1_CMD_VM_FLUSH, 1), NE1_MSG_BAD_STATE);
	host_submit(0, 1);
	assert_runs(0, 1, 0);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESUME, 0), NE1_MSG_OK);
	assert_runs(0, 1, 1);
	assert_int_equal(shim.cores[0].pos, 2);
	assert_false(asked(0));
	end(0, 10);
	assert_runs(0, 2, 1);
	assert_int_equal(shim.cores[0].pos, 0);
}

/* RESET and DESTROY end a job that is put aside at once, with a result. */
static void reset_of_put_aside(void **state)
{
	static const unsigned int types[] = { NE1_CMD_QUEUE_RESET, NE1_CMD_QUEUE_DESTROY };

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct ne1_msg msg;

		host_boot_cores(1, 16);
		host_create(0, 1, NE1_PRIO_NORMAL);
		host_create(1, 2, NE1_PRIO_HIGH);
		host_submit(0, 1);
		host_submit(0, 1);
		host_submit(1, 1);
		yield(0, 2, 10);
		shim.host_irq = 0;
		assert_int_equal(host_simple(types[i], 0), NE1_MSG_OK);
		assert_true(shim.host_irq & NE1_IRQ_QUEUE);
		assert_false(host_event(&msg));
		assert_int_equal(host_queue(0)->done_seqno, 1);
		assert_int_equal(host_queue(0)->head, 2);
		assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_STOPPED);
		assert_int_equal(host_result(0, 0)->seqno, 1);
		assert_runs(0, 0, 0);
		assert_int_equal(host_queue(0)->state, i ? NE1_QUEUE_FREE : NE1_QUEUE_OK);
		assert_int_equal(host_simple(NE1_CMD_VM_FLUSH, 1), NE1_MSG_OK);
		end(0, 10);
		assert_int_equal(shim.cores[0].continues, 0);
		assert_int_equal(shim.cores[0].starts, 2);
	}
}

/* The core reaches a YIELD before it sees the STOP: the job ends nevertheless. */
static void reset_races_with_yield(void **state)
{
	struct ne1_msg reply;

	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 2, NE1_PRIO_HIGH);
	host_submit(0, 1);
	host_submit(1, 1);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), -1);
	yield(0, 2, 10);
	assert_true(host_event(&reply));
	assert_int_equal(reply.status, NE1_MSG_OK);
	assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_STOPPED);
	assert_int_equal(host_queue(0)->done_seqno, 1);
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_OK);
	assert_runs(1, 1, 1);
}

static void shutdown_ends_put_aside(void **state)
{
	struct ne1_msg reply;

	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 2, NE1_PRIO_HIGH);
	host_submit(0, 1);
	host_submit(1, 1);
	yield(0, 2, 10);
	assert_int_equal(host_simple(NE1_CMD_SHUTDOWN, 0), -1);
	assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_STOPPED);
	shim_core_end(0, NE1_FAULT_STOPPED, 1);
	shim_run();
	assert_true(host_event(&reply));
	assert_int_equal(reply.status, NE1_MSG_OK);
	assert_int_equal(host_if()->fw_state, NE1_FW_SUSPENDED);
	assert_int_equal(host_queue(0)->done_seqno, 1);
	assert_int_equal(shim.cores[0].starts, 2);
}

/* Jobs put aside hold no ASID: more VMs than ASIDs may have one, and the next one still starts. */
static void many_put_aside(void **state)
{
	(void)state;
	host_boot_cores(1, 3);
	for (unsigned int i = 0; i < 20; i++)
		host_create(i, 1 + i, NE1_PRIO_LOW);
	host_create(30, 100, NE1_PRIO_REALTIME);
	for (unsigned int i = 0; i < 20; i++)
		host_submit(i, 1);
	for (unsigned int i = 1; i < 20; i++) {
		pass(HOST_SLICE_NS);
		yield(0, i, 0);
		assert_runs(i, 1, 1);
	}
	host_submit(30, 1);
	yield(0, 20, 5);
	assert_runs(30, 1, 1);
	for (unsigned int i = 0; i < 20; i++) {
		assert_runs(i, 1, 0);
		assert_int_equal(host_simple(NE1_CMD_VM_FLUSH, 1 + i), NE1_MSG_BAD_STATE);
	}
	for (unsigned int i = 0; i < 20; i++) {
		unsigned int queue = (i + 19) % 20;

		end(0, HOST_SLICE_NS);
		assert_runs(queue, 1, 1);
		assert_int_equal(shim.cores[0].pos, queue + 1);
		assert_int_equal(shim.asids[core_reg(0, NE1_MC_CORE_ASID)].pgd, (1 + queue) << 12);
	}
	end(0, 10);
	for (unsigned int i = 0; i < 20; i++) {
		assert_int_equal(host_queue(i)->done_seqno, 1);
		assert_int_equal(host_simple(NE1_CMD_VM_FLUSH, 1 + i), NE1_MSG_OK);
	}
}

/* The only ASID is in use: a core is free, but the lower job has to yield for the address space. */
static void preempts_for_an_asid(void **state)
{
	(void)state;
	host_boot_cores(2, 2);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 2, NE1_PRIO_HIGH);
	host_submit(0, 1);
	host_submit(1, 1);
	assert_runs(1, 0, 0);
	assert_true(asked(0));
	yield(0, 1, 10);
	assert_runs(1, 1, 1);
	end(0, 10);
	assert_runs(0, 1, 1);
}

static void faulted_while_aside(void **state)
{
	struct ne1_msg msg;

	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 1, NE1_PRIO_HIGH);
	host_submit(0, 1);
	host_submit(1, 1);
	yield(0, 1, 10);
	host_queue(0)->tail = 77;
	host_doorbell(0);
	assert_true(shim_run());
	assert_int_equal(host_queue(0)->state, NE1_QUEUE_FAULTED);
	assert_true(host_event(&msg));
	end(0, 10);
	assert_runs(0, 1, 0);
	host_queue(0)->tail = 1;
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), NE1_MSG_OK);
	assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_STOPPED);
}

/* A fault in a later turn: result and event are of the whole job. */
static void fault_after_a_yield(void **state)
{
	struct ne1_msg msg;
	uint64_t start;

	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 1, NE1_PRIO_HIGH);
	start = shim.time_ns;
	host_submit(0, 1);
	host_submit(1, 1);
	yield(0, 1, 10);
	end(0, 10);
	shim_core_end(0, NE1_FAULT_ECC, 10);
	assert_true(shim_run());
	assert_true(host_event(&msg));
	assert_int_equal(msg.fault.fault, NE1_FAULT_ECC);
	assert_int_equal(host_result(0, 0)->fault, NE1_FAULT_ECC);
	assert_int_equal(host_result(0, 0)->start_ns, start);
	assert_int_equal(host_result(0, 0)->end_ns, start + 30);
	assert_int_equal(host_queue(0)->busy_ns, 20);
}

/* Held: what was started goes on to its end, also if it is put aside; nothing else starts. */
static void hold_lets_started_jobs_end(void **state)
{
	const struct ne1_fw_queue *low = host_queue(0), *rt = host_queue(1);

	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_LOW);
	host_create(1, 2, NE1_PRIO_REALTIME);
	host_submit(0, 1);
	host_submit(0, 1);
	host_submit(1, 1);
	host_submit(1, 1);
	assert_true(asked(0));
	yield(0, 5, MS);
	assert_runs(0, 1, 0);
	assert_runs(1, 1, 1);

	assert_int_equal(host_simple(NE1_CMD_HOLD, 1), NE1_MSG_OK);
	end(0, MS);
	assert_int_equal(rt->done_seqno, 1);
	assert_runs(1, 0, 0);
	assert_runs(0, 1, 1);
	/* it is in nobody's way now, and need not make room for what does not start */
	host_submit(1, 1);
	assert_false(asked(0));
	pass(5 * HOST_SLICE_NS);
	assert_false(asked(0));
	end(0, MS);
	assert_int_equal(low->done_seqno, 1);
	assert_runs(0, 0, 0);
	assert_runs(1, 0, 0);
	assert_int_equal(low->head, 1);
	assert_int_equal(rt->head, 1);
}

static void nothing_starts_while_held(void **state)
{
	(void)state;
	host_boot_cores(2, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	assert_int_equal(host_simple(NE1_CMD_HOLD, 1), NE1_MSG_OK);
	assert_int_equal(host_simple(NE1_CMD_HOLD, 1), NE1_MSG_OK);
	host_submit(0, 1);
	host_create(1, 2, NE1_PRIO_HIGH);
	host_submit(1, 2);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_SUSPEND, 0), NE1_MSG_OK);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESUME, 0), NE1_MSG_OK);
	pass(2 * NE1_PATIENCE_NS);
	for (unsigned int i = 0; i < 2; i++) {
		assert_runs(i, 0, 0);
		assert_int_equal(host_queue(i)->head, 0);
	}
	/* what is dropped meanwhile does not come back */
	host_submit(0, 1);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 0), NE1_MSG_OK);
	host_submit(0, 1);

	assert_int_equal(host_simple(NE1_CMD_HOLD, 0), NE1_MSG_OK);
	assert_true(shim_run());
	assert_runs(1, 1, 3);
	end(0, MS);
	end(1, MS);
	assert_runs(0, 3, 1);
	end(0, MS);
	assert_int_equal(host_queue(0)->done_count, 1);
	assert_int_equal(host_queue(1)->done_count, 1);
	assert_int_equal(host_simple(NE1_CMD_HOLD, 0), NE1_MSG_OK);
}

/* A firmware that is booted anew holds nothing. */
static void boot_releases(void **state)
{
	(void)state;
	host_boot_cores(1, 16);
	assert_int_equal(host_simple(NE1_CMD_HOLD, 1), NE1_MSG_OK);
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	assert_runs(0, 1, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, host_teardown)
	const struct CMUnitTest tests[] = {
		TEST(preempts_lower), TEST(only_lower_ones_yield), TEST(lowest_of_all_yields),
		TEST(request_is_taken_back), TEST(reset_of_waiter_takes_back),
		TEST(wide_job_preempts), TEST(no_preemption_in_vain),
		TEST(waiting_wide_job_inverts_nothing), TEST(wide_job_is_put_aside),
		TEST(rest_of_a_wide_job), TEST(fault_beside_a_yield), TEST(scrub_in_between),
		TEST(slices), TEST(slice_of_a_queue), TEST(slice_over_several_jobs),
		TEST(preemption_keeps_the_slice), TEST(yields_for_nobody), TEST(suspend_puts_aside),
		TEST(reset_of_put_aside), TEST(reset_races_with_yield),
		TEST(shutdown_ends_put_aside), TEST(many_put_aside), TEST(preempts_for_an_asid),
		TEST(faulted_while_aside), TEST(fault_after_a_yield),
		TEST(hold_lets_started_jobs_end), TEST(nothing_starts_while_held), TEST(boot_releases),
	};

	return cmocka_run_group_tests_name("firmware preemption", tests, NULL, NULL);
}
