/* SPDX-License-Identifier: MIT */
#include "job.h"

#include <stddef.h>

#include "asid.h"
#include "fault.h"
#include "hal.h"
#include "log.h"
#include "ne1_cmd.h"

#define VA_END	(1ull << NE1_VA_BITS)

struct core {
	struct queue *queue;	/* of the running job */
	uint32_t binding;	/* asid_binding() of the last job; 0: SRAM is clean */
};

static struct core cores[NE1_MAX_CORES];
static unsigned int core_count;
static uint32_t idle;	/* mask of cores without a job */

void job_init(unsigned int count)
{
	for (unsigned int c = 0; c < NE1_MAX_CORES; c++)
		cores[c] = (struct core){ .queue = NULL };
	core_count = count;
	idle = (1u << count) - 1;
}

bool job_cores_free(void)
{
	return idle;
}

bool job_any_running(void)
{
	return idle != (1u << core_count) - 1;
}

static bool va_ok(uint64_t va, uint64_t size, uint32_t align)
{
	return va % align == 0 && va < VA_END && size <= VA_END - va;
}

static bool streams_ok(const struct ne1_job *job)
{
	for (uint32_t i = 0; i < job->cores; i++) {
		uint32_t size = job->stream[i].size;

		if (!size || size % 64 || job->stream[i].pad || !va_ok(job->stream[i].va, size, 64))
			return false;
	}
	return true;
}

static bool descriptor_ok(const struct queue *q)
{
	const struct ne1_job *job = &q->job;

	if (job->flags || !job->cores || job->cores > core_count)
		return false;
	for (unsigned int i = 0; i < sizeof(job->pad) / sizeof(job->pad[0]); i++) {
		if (job->pad[i])
			return false;
	}
	return va_ok(job->param_va, sizeof(struct ne1_params), 64) &&
	       va_ok(job->profile_va, job->cores * sizeof(struct ne1_profile), 8) &&
	       streams_ok(job);
}

/* Copied once and then judged: the host may change the ring at any time. */
static void load(struct queue *q)
{
	uint32_t slot = q->head & (q->entries - 1);

	hal_win_load(&q->job, q->ring + slot * sizeof(q->job), sizeof(q->job));
	q->loaded = true;
}

/* A seqno that is not above the last one cannot be completed: done_seqno would go back. */
static void refuse(struct queue *q)
{
	uint32_t slot = q->head & (q->entries - 1);
	uint64_t now = hal_read64(NE1_MC_TIME_LO);

	q->result = (struct ne1_job_result){ .seqno = q->job.seqno, .fault = NE1_FAULT_FIELD,
					     .start_ns = now, .end_ns = now };
	q->cycles = 0;
	queue_advance(q);
	if (q->job.seqno > q->done_seqno)
		queue_complete(q, slot);
	queue_fault(q, &q->result);
}

static void program(unsigned int c, const struct queue *q, unsigned int stream)
{
	const struct ne1_job *job = &q->job;
	uint32_t regs = NE1_MC_CORE(c);
	uint32_t binding = asid_binding(q->asid);

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

/* The lowest @n idle cores; 0 if there are fewer. */
static uint32_t choose_cores(uint32_t n)
{
	uint32_t mask = 0;

	for (uint32_t c = 0; c < core_count && n; c++) {
		if (idle >> c & 1) {
			mask |= 1u << c;
			n--;
		}
	}
	return n ? 0 : mask;
}

static void start(struct queue *q, uint32_t mask)
{
	unsigned int stream = 0;

	q->running = (uint8_t)mask;
	q->cycles = 0;
	q->result = (struct ne1_job_result){ .seqno = q->job.seqno, .start_ns = UINT64_MAX };
	idle &= ~mask;
	for (unsigned int c = 0; c < core_count; c++) {
		if (!(mask >> c & 1))
			continue;
		cores[c].queue = q;
		program(c, q, stream++);
	}
	for (unsigned int c = 0; c < core_count; c++) {
		if (mask >> c & 1)
			hal_write(NE1_MC_CORE(c) + NE1_MC_CORE_CTRL, NE1_CORE_START);
	}
}

bool job_start(struct queue *q)
{
	uint32_t mask;

	if (!q->loaded)
		load(q);
	if (q->job.seqno <= q->done_seqno || !descriptor_ok(q)) {
		refuse(q);
		return true;
	}
	mask = choose_cores(q->job.cores);
	if (!mask)
		return false;
	q->asid = (uint8_t)asid_get(q->vm, q->pgd);
	if (!q->asid)
		return false;
	start(q, mask);
	queue_advance(q);
	log_debug("queue %u: seqno 0x%llx started, cores 0x%x asid %u", q->index,
		  (unsigned long long)q->job.seqno, (unsigned int)mask, q->asid);
	return true;
}

static void stop_cores(uint32_t mask)
{
	for (unsigned int c = 0; c < core_count; c++) {
		if (mask >> c & 1)
			hal_write(NE1_MC_CORE(c) + NE1_MC_CORE_CTRL, NE1_CORE_STOP);
	}
}

void job_stop(const struct queue *q)
{
	stop_cores(q->running);
}

void job_stop_all(void)
{
	stop_cores(~idle);
}

static void add_counters(struct queue *q, uint32_t regs)
{
	struct ne1_job_result *r = &q->result;
	uint64_t start_ns = hal_read64(regs + NE1_MC_CORE_START_LO);
	uint64_t end_ns = hal_read64(regs + NE1_MC_CORE_END_LO);
	uint64_t cycles = hal_read64(regs + NE1_MC_CORE_CYC_LO);

	if (start_ns < r->start_ns)
		r->start_ns = start_ns;
	if (end_ns > r->end_ns)
		r->end_ns = end_ns;
	if (cycles > q->cycles)
		q->cycles = cycles;
	r->rd_bytes += hal_read64(regs + NE1_MC_CORE_RD_LO);
	r->wr_bytes += hal_read64(regs + NE1_MC_CORE_WR_LO);
}

static void finish(struct queue *q)
{
	/* start() moved head past the job, and no later one of this queue has started. */
	uint32_t slot = (q->head - 1) & (q->entries - 1);

	asid_put(q->asid);
	queue_complete(q, slot);
	log_debug("queue %u: seqno 0x%llx ended, fault %u", q->index,
		  (unsigned long long)q->result.seqno, (unsigned int)q->result.fault);
	fault_check(q);
	queue_idle(q);
}

static void collect(unsigned int c, uint32_t state)
{
	struct queue *q = cores[c].queue;

	cores[c].queue = NULL;
	idle |= 1u << c;
	q->running &= (uint8_t)~(1u << c);
	add_counters(q, NE1_MC_CORE(c));
	/* The streams of a job succeed or fail together. */
	if (state != NE1_CORE_DONE && fault_record(&q->result, c) && q->running)
		job_stop(q);
	if (!q->running)
		finish(q);
}

void job_poll(void)
{
	for (unsigned int c = 0; c < core_count; c++) {
		uint32_t state;

		if (idle >> c & 1)
			continue;
		state = hal_read(NE1_MC_CORE(c) + NE1_MC_CORE_STATE);
		if (state != NE1_CORE_RUNNING)
			collect(c, state);
	}
}
