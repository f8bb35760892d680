/* SPDX-License-Identifier: MIT */
#include "job.h"

#include "asid.h"
#include "cores.h"
#include "counters.h"
#include "fault.h"
#include "hal.h"
#include "iface.h"
#include "log.h"
#include "ne1_cmd.h"
#include "timer.h"

#define VA_END	(1ull << NE1_VA_BITS)

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

	if (job->flags || !job->cores || job->cores > cores_count())
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

	if (q->loaded)
		return;
	hal_win_load(&q->job, q->ring + slot * sizeof(q->job), sizeof(q->job));
	q->width = descriptor_ok(q) ? (uint8_t)q->job.cores : 0;
	q->loaded = true;
}

/* A seqno that is not above the last one cannot be completed: done_seqno would go back. */
static void refuse(struct queue *q)
{
	uint32_t slot = q->head & (q->entries - 1);
	uint64_t now = timer_now();

	q->result = (struct ne1_job_result){ .seqno = q->job.seqno, .fault = NE1_FAULT_FIELD,
					     .start_ns = now, .end_ns = now };
	queue_advance(q);
	if (q->job.seqno > q->done_seqno)
		queue_complete(q, slot);
	queue_fault(q, &q->result);
}

/* The lowest @n idle cores; 0 if there are fewer. */
static uint32_t choose_cores(unsigned int n)
{
	uint32_t idle = cores_idle(), mask = 0;

	for (; idle && n; n--) {
		mask |= idle & -idle;
		idle &= idle - 1;
	}
	return n ? 0 : mask;
}

/* Streams that have not ended get the cores of @mask, lowest first. */
static void begin_turn(struct queue *q, uint32_t mask)
{
	uint32_t streams = q->todo;

	q->running = (uint8_t)mask;
	q->turn = (struct turn){ .start_ns = UINT64_MAX };
	for (unsigned int c = 0; c < cores_count(); c++) {
		if (!(mask >> c & 1))
			continue;
		core_assign(c, q, (unsigned int)__builtin_ctz(streams));
		streams &= streams - 1;
	}
	for (unsigned int c = 0; c < cores_count(); c++) {
		if (mask >> c & 1)
			core_start(c, q->pos[core_stream(c)]);
	}
}

static void begin_job(struct queue *q)
{
	q->started = true;
	q->todo = (uint8_t)((1u << q->job.cores) - 1);
	q->result = (struct ne1_job_result){ .seqno = q->job.seqno, .start_ns = UINT64_MAX };
	for (unsigned int i = 0; i < NE1_MAX_CORES; i++)
		q->pos[i] = 0;
	queue_advance(q);
}

unsigned int job_width(struct queue *q)
{
	unsigned int n = 0;

	if (!q->started) {
		load(q);
		return q->width;
	}
	for (uint32_t streams = q->todo; streams; streams &= streams - 1)
		n++;
	return n;
}

bool job_start(struct queue *q)
{
	unsigned int width = job_width(q);
	uint32_t mask;

	if (!q->started && (!width || q->job.seqno <= q->done_seqno)) {
		refuse(q);
		return true;
	}
	mask = choose_cores(width);
	if (!mask)
		return false;
	q->asid = (uint8_t)asid_get(q->vm, q->pgd);
	if (!q->asid)
		return false;
	q->running = (uint8_t)mask;
	if (!q->started)
		begin_job(q);
	begin_turn(q, mask);
	queue_started(q);
	log_debug("queue %u: seqno 0x%llx on cores 0x%x, asid %u", q->index,
		  (unsigned long long)q->job.seqno, (unsigned int)mask, q->asid);
	return true;
}

static void add_counters(struct queue *q, unsigned int c)
{
	struct ne1_job_result *r = &q->result;
	struct turn *t = &q->turn;
	uint32_t regs = NE1_MC_CORE(c);
	uint64_t start_ns = core_started_ns(c);
	uint64_t end_ns = hal_read64(regs + NE1_MC_CORE_END_LO);
	uint64_t cycles = hal_read64(regs + NE1_MC_CORE_CYC_LO);

	if (start_ns < t->start_ns)
		t->start_ns = start_ns;
	if (end_ns > t->end_ns)
		t->end_ns = end_ns;
	if (cycles > t->cycles)
		t->cycles = cycles;
	r->rd_bytes += hal_read64(regs + NE1_MC_CORE_RD_LO);
	r->wr_bytes += hal_read64(regs + NE1_MC_CORE_WR_LO);
	counters_add(q->index, c);
}

/* begin_job() moved head past the job, and no later one of this queue has started. */
static void complete(struct queue *q)
{
	q->started = false;
	queue_complete(q, (q->head - 1) & (q->entries - 1));
	log_debug("queue %u: seqno 0x%llx ended, fault %u", q->index,
		  (unsigned long long)q->result.seqno, (unsigned int)q->result.fault);
}

static void account_turn(struct queue *q)
{
	const struct turn *t = &q->turn;
	struct ne1_job_result *r = &q->result;

	if (t->start_ns < r->start_ns)
		r->start_ns = t->start_ns;
	if (t->end_ns > r->end_ns)
		r->end_ns = t->end_ns;
	q->used_ns += t->end_ns - t->start_ns;
	q->busy_ns += t->end_ns - t->start_ns;
	q->busy_cycles += t->cycles;
}

/* No core works for @q any more: its job has ended, or else it is put aside, unless it was to stop
 * and a YIELD came before.
 */
static void end_turn(struct queue *q)
{
	asid_put(q->asid);
	account_turn(q);
	if (q->todo && q->result.fault == NE1_FAULT_NONE && fault_is_expected(q))
		q->result.fault = NE1_FAULT_STOPPED;
	if (q->todo && q->result.fault == NE1_FAULT_NONE) {
		queue_put_aside(q);
		log_debug("queue %u: seqno 0x%llx put aside", q->index,
			  (unsigned long long)q->result.seqno);
	} else {
		complete(q);
		fault_check(q);
	}
	queue_idle(q);
}

static void collect(unsigned int c, uint32_t state)
{
	struct queue *q = core_queue(c);
	unsigned int stream = core_stream(c);
	bool first = false;

	core_release(c);
	q->running &= (uint8_t)~(1u << c);
	add_counters(q, c);
	if (state == NE1_CORE_YIELDED) {
		q->pos[stream] = hal_read(NE1_MC_CORE(c) + NE1_MC_CORE_POS);
	} else {
		q->todo &= (uint8_t)~(1u << stream);
		first = state != NE1_CORE_DONE && fault_record(&q->result, c, stream);
	}
	/* The streams of a job succeed or fail together. */
	if (first)
		cores_stop(q->running);
	if (q->running)
		queue_on_core(q);
	else
		end_turn(q);
}

void job_poll(void)
{
	for (unsigned int c = 0; c < cores_count(); c++) {
		uint32_t state;

		if (!core_queue(c))
			continue;
		state = hal_read(NE1_MC_CORE(c) + NE1_MC_CORE_STATE);
		if (state != NE1_CORE_RUNNING)
			collect(c, state);
	}
}

void job_drop(struct queue *q)
{
	q->result.fault = NE1_FAULT_STOPPED;
	complete(q);
}

void job_check_stops(void)
{
	uint32_t hung = cores_check_stops();

	for (unsigned int c = 0; c < cores_count(); c++) {
		if (!(hung >> c & 1))
			continue;
		log_error("core %u does not stop: command %u of the job's, queue %u seqno 0x%llx",
			  c, (unsigned int)hal_read(NE1_MC_CORE(c) + NE1_MC_CORE_PROGRESS),
			  core_queue(c)->index,
			  (unsigned long long)core_queue(c)->result.seqno);
		fault_hung(core_queue(c));
	}
}

void job_stop_all(void)
{
	cores_stop(~0u);
	for (uint32_t i = 0; i < iface_get()->queue_count; i++) {
		if (job_is_aside(queue_at(i)))
			job_drop(queue_at(i));
	}
}
