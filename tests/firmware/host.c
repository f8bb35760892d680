// SPDX-License-Identifier: MIT
#include "host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint32_t next_id;
static uint64_t next_seqno[NE1_MAX_QUEUES];

struct ne1_fw_if *host_if(void)
{
	return (struct ne1_fw_if *)shim.memory;
}

struct ne1_fw_queue *host_queue(unsigned int queue)
{
	return (struct ne1_fw_queue *)(shim.memory + HOST_TABLE) + queue;
}

struct ne1_job *host_job(unsigned int queue, unsigned int slot)
{
	return (struct ne1_job *)(shim.memory + HOST_JOBS) + queue * HOST_ENTRIES + slot;
}

struct ne1_job_result *host_result(unsigned int queue, unsigned int slot)
{
	return (struct ne1_job_result *)(shim.memory + HOST_RESULTS) + queue * HOST_ENTRIES + slot;
}

struct ne1_fw_counters *host_counters(unsigned int queue)
{
	return (struct ne1_fw_counters *)(shim.memory + HOST_COUNTERS) + queue;
}

struct ne1_ring_ctl *host_ctl(uint32_t va)
{
	return (struct ne1_ring_ctl *)(shim.memory + va);
}

void host_layout(void)
{
	next_id = 100;
	memset(next_seqno, 0, sizeof(next_seqno));
	*host_if() = (struct ne1_fw_if){
		.magic = NE1_FW_IF_MAGIC,
		.abi_major = NE1_ABI_MAJOR,
		.abi_minor = NE1_ABI_MINOR,
		.size = SHIM_MEMORY,
		.cmd_ctl = HOST_CMD_CTL, .cmd_ring = HOST_CMD_RING, .cmd_entries = HOST_COMMANDS,
		.evt_ctl = HOST_EVT_CTL, .evt_ring = HOST_EVT_RING, .evt_entries = HOST_EVENTS,
		.log_ctl = HOST_LOG_CTL, .log_ring = HOST_LOG_RING, .log_size = HOST_LOG,
		.queue_table = HOST_TABLE, .queue_count = HOST_QUEUES,
		.log_level = NE1_LOG_INFO,
		.counter_table = HOST_COUNTERS,
	};
}

static void boot(void)
{
	host_layout();
	assert_true(shim_boot());
	assert_int_equal(shim.boot_state, NE1_BOOT_STATE_READY);
	shim.host_irq = 0;
}

void host_boot(void)
{
	shim_reset();
	boot();
}

void host_boot_cores(unsigned int cores, unsigned int asids)
{
	shim_reset();
	shim.cap_cores = cores;
	shim.cap_asids = asids;
	boot();
}

int host_teardown(void **state)
{
	(void)state;
	assert_int_equal(shim.violations, 0);
	return 0;
}

uint32_t host_push(const struct ne1_msg *msg)
{
	struct ne1_ring_ctl *ctl = host_ctl(HOST_CMD_CTL);
	struct ne1_msg *ring = (struct ne1_msg *)(shim.memory + HOST_CMD_RING);
	struct ne1_msg *slot = &ring[ctl->write % HOST_COMMANDS];

	assert_true(ctl->write - ctl->read < HOST_COMMANDS);
	*slot = *msg;
	slot->id = next_id;
	ctl->write++;
	return next_id++;
}

void host_ring(void)
{
	shim.irq_pending |= NE1_MC_IRQ_MBOX;
	shim_run();
}

bool host_event(struct ne1_msg *msg)
{
	struct ne1_ring_ctl *ctl = host_ctl(HOST_EVT_CTL);

	if (ctl->write == ctl->read)
		return false;
	*msg = ((struct ne1_msg *)(shim.memory + HOST_EVT_RING))[ctl->read++ % HOST_EVENTS];
	return true;
}

int host_command(const struct ne1_msg *msg)
{
	uint32_t id = host_push(msg);
	struct ne1_msg reply;

	host_ring();
	if (!host_event(&reply))
		return -1;
	assert_int_equal(reply.type, NE1_EVT_REPLY);
	assert_int_equal(reply.id, id);
	assert_int_equal(reply.queue, msg->queue);
	assert_true(shim.host_irq & NE1_IRQ_EVENT);
	return reply.status;
}

int host_simple(unsigned int type, uint32_t queue)
{
	struct ne1_msg msg = { .type = (uint16_t)type, .queue = queue };

	return host_command(&msg);
}

struct ne1_msg host_create_msg(unsigned int queue, uint32_t vm, unsigned int priority)
{
	return (struct ne1_msg){
		.type = NE1_CMD_QUEUE_CREATE,
		.queue = queue,
		.create = {
			.pgd = (uint64_t)vm << 12,
			.vm_id = vm,
			.priority = priority,
			.ring = HOST_JOBS + queue * HOST_ENTRIES * sizeof(struct ne1_job),
			.results = HOST_RESULTS +
				   queue * HOST_ENTRIES * sizeof(struct ne1_job_result),
			.entries = HOST_ENTRIES,
		},
	};
}

void host_create(unsigned int queue, uint32_t vm, unsigned int priority)
{
	struct ne1_msg msg = host_create_msg(queue, vm, priority);

	host_queue(queue)->tail = 0;
	next_seqno[queue] = 0;
	assert_int_equal(host_command(&msg), NE1_MSG_OK);
}

struct ne1_job *host_add_job(unsigned int queue, unsigned int cores)
{
	struct ne1_fw_queue *q = host_queue(queue);
	struct ne1_job *job = host_job(queue, q->tail++ % HOST_ENTRIES);

	memset(job, 0, sizeof(*job));
	job->seqno = ++next_seqno[queue];
	job->cores = cores;
	job->param_va = 0x7f00000000 + queue * 0x1000;
	job->profile_va = 0x6000000000;
	for (unsigned int i = 0; i < cores && i < 4; i++) {
		job->stream[i].va = 0x100000000 + i * 0x10000;
		job->stream[i].size = 64 * (i + 1);
	}
	return job;
}

void host_doorbell(unsigned int queue)
{
	shim.db_pending[queue / 32] |= 1u << (queue % 32);
	shim.irq_pending |= NE1_MC_IRQ_DOORBELL;
}

void host_submit(unsigned int queue, unsigned int cores)
{
	host_add_job(queue, cores);
	host_doorbell(queue);
	assert_true(shim_run());
}

const char *host_log(void)
{
	static char text[HOST_LOG + 1];
	uint32_t write = host_ctl(HOST_LOG_CTL)->write;
	uint32_t len = write < HOST_LOG ? write : HOST_LOG;

	for (uint32_t i = 0; i < len; i++)
		text[i] = (char)shim.memory[HOST_LOG_RING + (write - len + i) % HOST_LOG];
	text[len] = 0;
	return text;
}
