/* SPDX-License-Identifier: MIT */
#include "cores.h"

#include <stddef.h>

#include "asid.h"
#include "hal.h"
#include "ne1_cmd.h"
#include "timer.h"

/* A stopped core ends with the command that it is at; the longest ones take some milliseconds. */
#define STOP_NS		100000000ull

struct core {
	struct queue *queue;	/* whose job runs; NULL: idle */
	uint8_t stream;
	bool stopping;		/* STOP was written, the end has not been seen */
	uint32_t progress;	/* NE1_MC_CORE_PROGRESS at the last look while stopping */
	uint32_t binding;	/* asid_binding() of the last job; 0: SRAM is clean */
};

static struct core cores[NE1_MAX_CORES];
static unsigned int count;
static uint32_t idle;		/* mask */
static uint32_t yield_req;	/* mask of cores whose YIELD_REQ is set */

void cores_init(unsigned int n)
{
	for (unsigned int c = 0; c < NE1_MAX_CORES; c++)
		cores[c] = (struct core){ .queue = NULL };
	count = n;
	idle = (1u << n) - 1;
	yield_req = 0;
}

unsigned int cores_count(void)
{
	return count;
}

uint32_t cores_idle(void)
{
	return idle;
}

bool cores_all_idle(void)
{
	return idle == (1u << count) - 1;
}

struct queue *core_queue(unsigned int c)
{
	return cores[c].queue;
}

unsigned int core_stream(unsigned int c)
{
	return cores[c].stream;
}

static void set_yield(unsigned int c, bool on)
{
	if ((yield_req >> c & 1) == on)
		return;
	yield_req ^= 1u << c;
	hal_write(NE1_MC_CORE(c) + NE1_MC_CORE_YIELD_REQ, on);
}

void core_assign(unsigned int c, struct queue *q, unsigned int stream)
{
	const struct ne1_job *job = &q->job;
	uint32_t regs = NE1_MC_CORE(c);
	uint32_t binding = asid_binding(q->asid);

	idle &= ~(1u << c);
	cores[c].queue = q;
	cores[c].stream = (uint8_t)stream;
	set_yield(c, false);
	/* Nothing of one VM is left for another to read. */
	if (cores[c].binding && cores[c].binding != binding)
		hal_write(regs + NE1_MC_CORE_CTRL, NE1_CORE_SCRUB);
	cores[c].binding = binding;
	hal_write(regs + NE1_MC_CORE_ASID, q->asid);
	hal_write64(regs + NE1_MC_CORE_STREAM_LO, job->stream[stream].va);
	hal_write(regs + NE1_MC_CORE_STREAM_SIZE, job->stream[stream].size);
	hal_write64(regs + NE1_MC_CORE_PARAM_LO, job->param_va);
	hal_write64(regs + NE1_MC_CORE_PROFILE_LO,
		    job->profile_va ? job->profile_va + stream * sizeof(struct ne1_profile) : 0);
}

void core_start(unsigned int c, uint32_t pos)
{
	uint32_t regs = NE1_MC_CORE(c);

	if (pos)
		hal_write(regs + NE1_MC_CORE_POS, pos);
	hal_write(regs + NE1_MC_CORE_CTRL,
		  pos ? NE1_CORE_START | NE1_CORE_CONTINUE : NE1_CORE_START);
}

void core_release(unsigned int c)
{
	cores[c].queue = NULL;
	cores[c].stopping = false;
	idle |= 1u << c;
}

uint64_t core_started_ns(unsigned int c)
{
	return hal_read64(NE1_MC_CORE(c) + NE1_MC_CORE_START_LO);
}

void cores_request_yield(uint32_t mask)
{
	uint32_t changed = (mask ^ yield_req) & ~idle;

	for (unsigned int c = 0; changed && c < count; c++) {
		if (changed >> c & 1)
			set_yield(c, mask >> c & 1);
	}
}

void cores_stop(uint32_t mask)
{
	mask &= ((1u << count) - 1) & ~idle;
	if (!mask)
		return;
	for (unsigned int c = 0; c < count; c++) {
		if (!(mask >> c & 1))
			continue;
		hal_write(NE1_MC_CORE(c) + NE1_MC_CORE_CTRL, NE1_CORE_STOP);
		cores[c].stopping = true;
		cores[c].progress = hal_read(NE1_MC_CORE(c) + NE1_MC_CORE_PROGRESS);
	}
	timer_set(TIMER_STOP, timer_now() + STOP_NS);
}

uint32_t cores_check_stops(void)
{
	uint32_t hung = 0;
	bool again = false;

	for (unsigned int c = 0; c < count; c++) {
		struct core *core = &cores[c];
		uint32_t progress;

		if (!core->stopping)
			continue;
		progress = hal_read(NE1_MC_CORE(c) + NE1_MC_CORE_PROGRESS);
		core->stopping = progress != core->progress;
		core->progress = progress;
		again |= core->stopping;
		if (!core->stopping)
			hung |= 1u << c;
	}
	if (again)
		timer_set(TIMER_STOP, timer_now() + STOP_NS);
	return hung;
}
