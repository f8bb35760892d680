// SPDX-License-Identifier: MIT
/* Which job starts when and where: priorities, round robin, several cores, ASIDs, SRAM. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "host.h"

/* Ends the job of core 0, which took its whole slice, and returns the queue whose job runs there
 * next; -1 if none.
 */
static int next_queue(unsigned int queues)
{
	uint32_t heads[HOST_QUEUES];

	for (unsigned int i = 0; i < queues; i++)
		heads[i] = host_queue(i)->head;
	shim_core_end(0, NE1_FAULT_NONE, HOST_SLICE_NS);
	shim_run();
	for (unsigned int i = 0; i < queues; i++) {
		if (host_queue(i)->head != heads[i])
			return (int)i;
	}
	return -1;
}

static void priorities(void **state)
{
	static const unsigned int prio[] = {
		NE1_PRIO_LOW, NE1_PRIO_NORMAL, NE1_PRIO_REALTIME, NE1_PRIO_HIGH,
	};

	(void)state;
	host_boot_cores(1, 16);
	host_create(4, 1, NE1_PRIO_LOW);
	for (unsigned int i = 0; i < 4; i++)
		host_create(i, 1, prio[i]);
	host_submit(4, 1);
	for (unsigned int i = 0; i < 4; i++) {
		host_submit(i, 1);
		host_submit(i, 1);
	}
	assert_int_equal(next_queue(5), 2);
	assert_int_equal(next_queue(5), 2);
	assert_int_equal(next_queue(5), 3);
	/* a job that comes now overtakes what waits, but not what runs */
	host_submit(2, 1);
	assert_int_equal(shim.cores[0].stops, 0);
	assert_int_equal(next_queue(5), 2);
	assert_int_equal(next_queue(5), 3);
	assert_int_equal(next_queue(5), 1);
	assert_int_equal(next_queue(5), 1);
	assert_int_equal(next_queue(5), 0);
	assert_int_equal(next_queue(5), 0);
	assert_int_equal(next_queue(5), -1);
}

static void round_robin(void **state)
{
	(void)state;
	host_boot_cores(1, 16);
	for (unsigned int i = 0; i < HOST_QUEUES; i++)
		host_create(i, 1, NE1_PRIO_NORMAL);
	for (unsigned int i = 0; i < HOST_QUEUES; i++) {
		for (unsigned int j = 0; j < 3; j++)
			host_submit(i, 1);
	}
	for (unsigned int i = 1; i < 3 * HOST_QUEUES; i++)
		assert_int_equal(next_queue(HOST_QUEUES), i % HOST_QUEUES);
	assert_int_equal(next_queue(HOST_QUEUES), -1);
}

/* Nobody gets two turns while another queue of the level waits. */
static void round_robin_is_fair(void **state)
{
	unsigned int turns[3] = { 0 };

	(void)state;
	host_boot_cores(1, 16);
	for (unsigned int i = 0; i < 3; i++)
		host_create(i * 15, 1, NE1_PRIO_HIGH);
	for (unsigned int i = 0; i < 3; i++)
		host_submit(i * 15, 1);
	for (unsigned int i = 0; i < 30; i++) {
		int queue = next_queue(HOST_QUEUES);

		assert_true(queue >= 0);
		turns[queue / 15]++;
		host_submit((unsigned int)(queue / 15 + 2) % 3 * 15, 1);
	}
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(turns[i], 10);
}

/* Jobs of one core run side by side; those of one queue one after the other. */
static void side_by_side(void **state)
{
	(void)state;
	host_boot_cores(3, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_create(1, 2, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	host_submit(0, 1);
	assert_int_equal(host_queue(0)->head, 1);
	host_submit(1, 1);
	assert_int_equal(host_queue(1)->head, 1);
	assert_int_equal(shim.cores[0].regs[NE1_MC_CORE_ASID / 4], 1);
	assert_int_equal(shim.cores[1].regs[NE1_MC_CORE_ASID / 4], 2);
	shim_core_end(1, NE1_FAULT_NONE, 10);
	shim_run();
	assert_int_equal(host_queue(1)->done_seqno, 1);
	assert_int_equal(host_queue(0)->done_seqno, 0);
	shim_core_end(0, NE1_FAULT_NONE, 10);
	shim_run();
	assert_int_equal(host_queue(0)->done_seqno, 1);
	assert_int_equal(host_queue(0)->head, 2);
}

/* A job of all cores gets them although jobs of one core keep coming. */
static void wide_job_is_not_starved(void **state)
{
	(void)state;
	host_boot_cores(2, 16);
	for (unsigned int i = 0; i < 3; i++)
		host_create(i, 1, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	host_submit(1, 2);
	host_submit(2, 1);
	host_submit(0, 1);
	assert_int_equal(host_queue(1)->head, 0);
	assert_int_equal(host_queue(2)->head, 0);
	shim_core_end(0, NE1_FAULT_NONE, 1);
	shim_run();
	assert_int_equal(host_queue(1)->head, 1);
	assert_int_equal(host_queue(2)->head, 0);
	shim_core_end(0, NE1_FAULT_NONE, 1);
	shim_core_end(1, NE1_FAULT_NONE, 1);
	shim_run();
	assert_int_equal(host_queue(2)->head, 1);
	assert_int_equal(host_queue(0)->head, 2);
}

/* A higher priority that arrives while a wide job waits takes the free core. */
static void priority_over_waiting_wide_job(void **state)
{
	(void)state;
	host_boot_cores(2, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_create(1, 1, NE1_PRIO_NORMAL);
	host_create(2, 1, NE1_PRIO_REALTIME);
	host_submit(0, 1);
	host_submit(1, 2);
	host_submit(2, 1);
	assert_int_equal(host_queue(1)->head, 0);
	assert_int_equal(host_queue(2)->head, 1);
	assert_int_equal(shim.cores[1].starts, 1);
}

/* The job that waits was read once; the host cannot change it afterwards. */
static void waiting_job_is_a_copy(void **state)
{
	struct ne1_job *job;

	(void)state;
	host_boot_cores(2, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_create(1, 1, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	job = host_add_job(1, 2);
	host_doorbell(1);
	shim_run();
	job->cores = 4;
	job->stream[0].va = 3;
	job->param_va = 5;
	shim_core_end(0, NE1_FAULT_NONE, 1);
	shim_run();
	assert_int_equal(shim.cores[1].starts, 1);
	assert_int_equal(shim.cores[1].regs[NE1_MC_CORE_PARAM_LO / 4], 0x1000);
	assert_int_equal(host_queue(1)->state, NE1_QUEUE_OK);
}

/* A waiting job is dropped by RESET, and what comes into its slot is read again. */
static void reset_forgets_waiting_job(void **state)
{
	(void)state;
	host_boot_cores(2, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_create(1, 1, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	host_submit(1, 2);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_RESET, 1), NE1_MSG_OK);
	assert_int_equal(host_queue(1)->head, 1);
	host_submit(1, 1);
	assert_int_equal(shim.cores[1].starts, 1);
	assert_int_equal(shim.cores[1].regs[NE1_MC_CORE_STREAM_SIZE / 4], 64);
}

static void run_one(unsigned int queue)
{
	host_submit(queue, 1);
	shim_core_end(0, NE1_FAULT_NONE, 1);
	shim_run();
}

/* 20 VMs on 15 ASIDs: those used last keep theirs. */
static void asids_are_lru(void **state)
{
	unsigned int writes = 0;

	(void)state;
	host_boot_cores(1, 16);
	for (unsigned int i = 0; i < 20; i++)
		host_create(i, 100 + i, NE1_PRIO_NORMAL);
	for (unsigned int i = 0; i < 15; i++) {
		run_one(i);
		assert_int_equal(shim.cores[0].regs[NE1_MC_CORE_ASID / 4], i + 1);
		assert_int_equal(shim.asids[i + 1].pgd, (100 + i) << 12);
	}
	/* VM 0 is used again, so VM 1 is the oldest and goes first */
	run_one(0);
	assert_int_equal(shim.cores[0].regs[NE1_MC_CORE_ASID / 4], 1);
	for (unsigned int i = 15; i < 20; i++) {
		run_one(i);
		assert_int_equal(shim.cores[0].regs[NE1_MC_CORE_ASID / 4], i - 15 + 2);
		assert_int_equal(shim.asids[i - 15 + 2].pgd, (100 + i) << 12);
	}
	for (unsigned int i = 0; i < 16; i++)
		writes += shim.asids[i].writes;
	run_one(0);
	run_one(19);
	run_one(8);
	for (unsigned int i = 0; i < 16; i++)
		writes -= shim.asids[i].writes;
	assert_int_equal(writes, 0);
	for (unsigned int round = 0; round < 200; round++)
		run_one(round * 7 % 20);
}

/* Fewer ASIDs than cores: a VM waits until one is free, a running one is never taken. */
static void asid_shortage(void **state)
{
	(void)state;
	host_boot_cores(4, 3);
	for (unsigned int i = 0; i < 3; i++)
		host_create(i, 1 + i, NE1_PRIO_NORMAL);
	for (unsigned int i = 0; i < 3; i++)
		host_submit(i, 1);
	assert_int_equal(host_queue(2)->head, 0);
	shim_core_end(1, NE1_FAULT_NONE, 1);
	shim_run();
	assert_int_equal(host_queue(2)->head, 1);
	assert_int_equal(shim.cores[1].regs[NE1_MC_CORE_ASID / 4], 2);
	assert_int_equal(shim.asids[2].pgd, 3 << 12);
}

/* Queues of one VM share an ASID, also at the same time. */
static void queues_share_asid(void **state)
{
	(void)state;
	host_boot_cores(2, 2);
	host_create(0, 5, NE1_PRIO_NORMAL);
	host_create(1, 5, NE1_PRIO_NORMAL);
	host_submit(0, 1);
	host_submit(1, 1);
	assert_int_equal(shim.cores[0].regs[NE1_MC_CORE_ASID / 4], 1);
	assert_int_equal(shim.cores[1].regs[NE1_MC_CORE_ASID / 4], 1);
	shim_core_end(0, NE1_FAULT_NONE, 1);
	shim_run();
	assert_int_equal(host_simple(NE1_CMD_VM_FLUSH, 5), NE1_MSG_BAD_STATE);
	shim_core_end(1, NE1_FAULT_NONE, 1);
	shim_run();
	assert_int_equal(host_simple(NE1_CMD_VM_FLUSH, 5), NE1_MSG_OK);
}

/* SRAM is zeroed exactly when another VM's job follows. */
static void scrubs(void **state)
{
	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_create(1, 2, NE1_PRIO_NORMAL);
	host_create(2, 1, NE1_PRIO_NORMAL);
	run_one(0);
	run_one(0);
	run_one(2);
	assert_int_equal(shim.cores[0].scrubs, 0);
	run_one(1);
	assert_int_equal(shim.cores[0].scrubs, 1);
	run_one(1);
	assert_int_equal(shim.cores[0].scrubs, 1);
	run_one(0);
	assert_int_equal(shim.cores[0].scrubs, 2);
}

/* After a flush the VM's number may mean somebody else. */
static void scrubs_after_flush(void **state)
{
	struct ne1_msg msg;

	(void)state;
	host_boot_cores(1, 16);
	host_create(0, 1, NE1_PRIO_NORMAL);
	run_one(0);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_DESTROY, 0), NE1_MSG_OK);
	assert_int_equal(host_simple(NE1_CMD_VM_FLUSH, 1), NE1_MSG_OK);
	host_create(0, 1, NE1_PRIO_NORMAL);
	run_one(0);
	assert_int_equal(shim.cores[0].scrubs, 1);

	/* the same without the flush, with another page table */
	assert_int_equal(host_simple(NE1_CMD_QUEUE_DESTROY, 0), NE1_MSG_OK);
	host_create(0, 1, NE1_PRIO_NORMAL);
	assert_int_equal(host_simple(NE1_CMD_QUEUE_DESTROY, 0), NE1_MSG_OK);
	msg = host_create_msg(0, 1, NE1_PRIO_NORMAL);
	msg.create.pgd = 0x777000;
	host_queue(0)->tail = 0;
	assert_int_equal(host_command(&msg), NE1_MSG_OK);
	*host_job(0, 0) = (struct ne1_job){ .seqno = 1, .cores = 1, .stream = { { .size = 64 } } };
	host_queue(0)->tail = 1;
	host_doorbell(0);
	shim_run();
	assert_int_equal(shim.asids[1].pgd, 0x777000);
	assert_int_equal(shim.cores[0].scrubs, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, host_teardown)
	const struct CMUnitTest tests[] = {
		TEST(priorities), TEST(round_robin), TEST(round_robin_is_fair), TEST(side_by_side),
		TEST(wide_job_is_not_starved), TEST(priority_over_waiting_wide_job),
		TEST(waiting_job_is_a_copy), TEST(reset_forgets_waiting_job), TEST(asids_are_lru),
		TEST(asid_shortage), TEST(queues_share_asid), TEST(scrubs),
		TEST(scrubs_after_flush),
	};

	return cmocka_run_group_tests_name("firmware scheduling", tests, NULL, NULL);
}
