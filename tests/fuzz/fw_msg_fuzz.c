// SPDX-License-Identifier: MIT
/*
 * Fuzzes the firmware as a hostile host and failing cores would: the input is a program of small
 * steps that send raw messages, spoil jobs, overwrite the shared region, ring doorbells and end
 * jobs.
 *
 * Wrong is: memory errors, anything that the shim calls a violation of the hardware contract, and a
 * panic although the host has written nothing but messages, tails and descriptors.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/firmware/host.h"

#define STEPS	200

struct input {
	const uint8_t *data;
	size_t size;
};

/* True once the host broke the rules in a way that may end in a panic. */
static bool excused;

static uint32_t take(struct input *in, unsigned int bytes)
{
	uint32_t value = 0;

	for (; bytes && in->size; bytes--, in->size--)
		value = value << 8 | *in->data++;
	return value;
}

static void take_bytes(struct input *in, void *dst, size_t size)
{
	size_t n = in->size < size ? in->size : size;

	memset(dst, 0, size);
	memcpy(dst, in->data, n);
	in->data += n;
	in->size -= n;
}

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fw_msg_fuzz: %s (state 0x%x)\n", what, shim.boot_state);
	abort();
}

static void push(const struct ne1_msg *msg)
{
	struct ne1_ring_ctl *ctl = host_ctl(HOST_CMD_CTL);
	struct ne1_msg *slots = (struct ne1_msg *)(shim.memory + HOST_CMD_RING);

	if (excused || ctl->write - ctl->read < HOST_COMMANDS)
		slots[ctl->write++ % HOST_COMMANDS] = *msg;
	shim.irq_pending |= NE1_MC_IRQ_MBOX;
}

/* Rings that are not mapped, or that lie over other structures, are the host's own fault. */
static bool foreign_rings(const struct ne1_msg *msg)
{
	struct ne1_msg good = host_create_msg(msg->queue % HOST_QUEUES, 1, 0);

	return msg->type == NE1_CMD_QUEUE_CREATE &&
	       (msg->create.ring != good.create.ring ||
		msg->create.results != good.create.results ||
		msg->create.entries != HOST_ENTRIES);
}

static void step_raw_message(struct input *in)
{
	struct ne1_msg msg;

	take_bytes(in, &msg, sizeof(msg));
	excused |= foreign_rings(&msg);
	push(&msg);
}

static void step_command(struct input *in)
{
	struct ne1_msg msg = { .type = (uint16_t)(take(in, 1) % (NE1_CMD_HOLD + 2)) };

	msg.queue = take(in, 1);
	if (msg.type == NE1_CMD_QUEUE_CREATE)
		msg = host_create_msg(msg.queue % HOST_QUEUES, 1 + take(in, 1) % 20,
				      take(in, 1) % 5);
	if (msg.type == NE1_CMD_QUEUE_CREATE)
		msg.create.timeslice_us = take(in, 2);
	if (msg.type == NE1_CMD_SHUTDOWN && take(in, 1) % 8)
		msg.type = NE1_CMD_PING;
	push(&msg);
}

static void step_job(struct input *in)
{
	unsigned int queue = take(in, 1) % HOST_QUEUES;
	struct ne1_job *job = host_add_job(queue, take(in, 1) % 4);

	if (take(in, 1) & 1)
		((uint8_t *)job)[take(in, 1) % sizeof(*job)] = (uint8_t)take(in, 1);
	host_doorbell(queue);
}

static void step_core(struct input *in)
{
	unsigned int core = take(in, 1) % shim.cap_cores;

	if (shim.cores[core].regs[NE1_MC_CORE_STATE / 4] == NE1_CORE_RUNNING)
		shim_core_end(core, (enum ne1_fault)(take(in, 1) % 11), take(in, 2));
	else
		shim.irq_pending |= NE1_MC_IRQ_CORE;
}

/* A core that is asked to yield does so; any other moves on. */
static void step_yield(struct input *in)
{
	unsigned int core = take(in, 1) % shim.cap_cores;
	const uint32_t *regs = shim.cores[core].regs;

	if (regs[NE1_MC_CORE_STATE / 4] == NE1_CORE_RUNNING && regs[NE1_MC_CORE_YIELD_REQ / 4])
		shim_core_yield(core, 1 + take(in, 2), take(in, 2));
	else
		shim_core_progress(core, take(in, 1));
}

/* Every job that was started is on cores or can be ended by the host; each core works for one
 * queue.
 */
static void check_table(void)
{
	uint32_t busy = 0;

	for (unsigned int i = 0; i < HOST_QUEUES; i++) {
		const struct ne1_fw_queue *q = host_queue(i);

		check(!(q->on_core & busy), "two queues on one core");
		check(!q->on_core || q->run_seqno, "cores work for a queue without a job");
		check(!q->run_seqno || q->run_seqno > q->done_seqno, "a job runs that has ended");
		busy |= q->on_core;
	}
	for (unsigned int c = 0; c < shim.cap_cores; c++) {
		const uint32_t *regs = shim.cores[c].regs;

		check(busy >> c & 1 || regs[NE1_MC_CORE_STATE / 4] != NE1_CORE_RUNNING,
		      "a core runs for nobody");
	}
}

static void step_memory(struct input *in)
{
	uint32_t va = take(in, 3) % SHIM_MEMORY & ~3u;
	uint32_t value = take(in, 4);

	memcpy(shim.memory + va, &value, 4);
	excused = true;
}

static void step_tail(struct input *in)
{
	unsigned int queue = take(in, 1) % HOST_QUEUES;

	host_queue(queue)->tail = take(in, 4);
	host_doorbell(queue);
}

static void step_events(struct input *in)
{
	struct ne1_msg msg;

	for (uint32_t n = take(in, 1) % 20; !excused && n && host_event(&msg); n--)
		check(msg.type >= NE1_EVT_REPLY && msg.type <= NE1_EVT_PANIC, "unknown event");
}

static void step_time(struct input *in)
{
	shim_pass((uint64_t)take(in, 2) << 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const steps[])(struct input *in) = {
		step_raw_message, step_command, step_command, step_job, step_job, step_core,
		step_core, step_yield, step_yield, step_tail, step_events, step_time, step_memory,
	};
	struct input in = { data, size };

	excused = false;
	shim_reset();
	host_layout();
	host_if()->log_level = NE1_LOG_DEBUG;
	shim.cap_cores = 1 + take(&in, 1) % NE1_MAX_CORES;
	shim.cap_asids = 2 + take(&in, 1) % (NE1_MAX_ASIDS - 1);
	check(shim_boot(), "no boot");
	for (unsigned int i = 0; i < STEPS && in.size && !shim.halted; i++) {
		steps[take(&in, 1) % (sizeof(steps) / sizeof(steps[0]))](&in);
		shim_run();
		check(!shim.violations, "contract violated");
		check(!shim.halted || excused, "panic that the host did not cause");
		if (!excused)
			check_table();
	}
	return 0;
}
