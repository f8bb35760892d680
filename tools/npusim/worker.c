// SPDX-License-Identifier: MIT
#include "worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core.h"
#include "log.h"
#include "soc.h"


/* What the register block holds besides state. */
struct block {
	uint32_t asid, yield_req;
	uint64_t stream, param, profile;
	uint32_t stream_size;
	uint32_t fault, fault_cmd, fault_info;
	uint64_t fault_va;
	uint64_t start_ns, end_ns, rd, wr, cycles;
	uint32_t pos;
	uint64_t count[NE1_COUNTERS];
};

struct sim_worker {
	struct sim_core *core;
	struct sim_soc *soc;
	struct sim_worker_events events;
	pthread_t thread;
	pthread_mutex_t lock;	/* all below */
	pthread_cond_t cond;	/* a run is wanted, a run has ended, quit */
	bool quit;
	bool wanted;		/* START or RESUME that the thread has not seen yet */
	bool busy;		/* at a job, from seeing it to its last event */
	bool resume;
	struct sim_job job;	/* as it was at START */
	unsigned int state;	/* NE1_CORE_* */
	struct block regs;
};

/* ---- The core's thread ---- */

static void record(struct sim_worker *w, const struct sim_result *result)
{
	struct block *r = &w->regs;

	r->fault = result->fault;
	r->fault_cmd = result->fault_cmd;
	r->fault_va = result->fault_va;
	r->fault_info = result->fault_info;
	r->start_ns = result->profile.start_ns;
	r->end_ns = result->profile.end_ns;
	r->rd = result->profile.dram_rd_bytes;
	r->wr = result->profile.dram_wr_bytes;
	r->cycles = result->profile.cycles;
	if (result->state == NE1_CORE_YIELDED)
		r->pos = result->pos;
	memcpy(r->count, result->count, sizeof(r->count));
}

static void run(struct sim_worker *w, const struct sim_job *job, bool resume)
{
	struct sim_result result;

	if (resume)
		sim_core_resume(w->core, &result);
	else
		sim_core_run(w->core, job, &result);
	if (result.fault == NE1_FAULT_MMU)
		w->events.mmu_fault(w->events.ctx, result.fault_info, result.fault_va);

	pthread_mutex_lock(&w->lock);
	record(w, &result);
	w->state = result.state;
	pthread_mutex_unlock(&w->lock);
	/* The state is there to be read; a new START may come from here on. */
	w->events.left_running(w->events.ctx);
}

static void *worker_main(void *arg)
{
	struct sim_worker *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct sim_job job;
		bool resume;

		while (!w->quit && !w->wanted)
			pthread_cond_wait(&w->cond, &w->lock);
		if (!w->wanted)
			break;
		w->wanted = false;
		w->busy = true;
		job = w->job;
		resume = w->resume;
		pthread_mutex_unlock(&w->lock);
		run(w, &job, resume);
		pthread_mutex_lock(&w->lock);
		w->busy = false;
		pthread_cond_broadcast(&w->cond);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* ---- Registers ---- */

static uint32_t half(uint64_t value, bool high)
{
	return high ? value >> 32 : (uint32_t)value;
}

static void set_half(uint64_t *value, bool high, uint32_t word)
{
	*value = high ? (uint64_t)word << 32 | (uint32_t)*value : (*value >> 32 << 32) | word;
}

static uint64_t *pair_at(struct block *r, uint32_t offset)
{
	if (offset >= NE1_MC_CORE_COUNT_LO(0) && offset < NE1_MC_CORE_COUNT_LO(NE1_COUNTERS))
		return r->count + (offset - NE1_MC_CORE_COUNT_LO(0)) / 8;
	switch (offset) {
	case NE1_MC_CORE_STREAM_LO:
	case NE1_MC_CORE_STREAM_HI:
		return &r->stream;
	case NE1_MC_CORE_PARAM_LO:
	case NE1_MC_CORE_PARAM_HI:
		return &r->param;
	case NE1_MC_CORE_PROFILE_LO:
	case NE1_MC_CORE_PROFILE_HI:
		return &r->profile;
	case NE1_MC_CORE_FAULT_VA_LO:
	case NE1_MC_CORE_FAULT_VA_HI:
		return &r->fault_va;
	case NE1_MC_CORE_START_LO:
	case NE1_MC_CORE_START_HI:
		return &r->start_ns;
	case NE1_MC_CORE_END_LO:
	case NE1_MC_CORE_END_HI:
		return &r->end_ns;
	case NE1_MC_CORE_RD_LO:
	case NE1_MC_CORE_RD_HI:
		return &r->rd;
	case NE1_MC_CORE_WR_LO:
	case NE1_MC_CORE_WR_HI:
		return &r->wr;
	case NE1_MC_CORE_CYC_LO:
	case NE1_MC_CORE_CYC_HI:
		return &r->cycles;
	default:
		return NULL;
	}
}

/* PARAM_HI.. are at LO + 4, and every LO is a multiple of 8. */
static bool is_high(uint32_t offset)
{
	return offset & 4;
}

static uint32_t read_locked(struct sim_worker *w, uint32_t offset)
{
	uint64_t *pair = pair_at(&w->regs, offset);

	if (pair)
		return half(*pair, is_high(offset));
	switch (offset) {
	case NE1_MC_CORE_STATE:
		return w->state;
	case NE1_MC_CORE_ASID:
		return w->regs.asid;
	case NE1_MC_CORE_YIELD_REQ:
		return w->regs.yield_req;
	case NE1_MC_CORE_STREAM_SIZE:
		return w->regs.stream_size;
	case NE1_MC_CORE_FAULT_CODE:
		return w->regs.fault;
	case NE1_MC_CORE_FAULT_CMD:
		return w->regs.fault_cmd;
	case NE1_MC_CORE_FAULT_INFO:
		return w->regs.fault_info;
	case NE1_MC_CORE_POS:
		return w->regs.pos;
	case NE1_MC_CORE_PROGRESS:
		return w->wanted && !w->resume ? 0 : sim_core_progress(w->core);
	default:
		return 0;
	}
}

uint32_t sim_worker_read(struct sim_worker *w, uint32_t offset)
{
	uint32_t value;

	pthread_mutex_lock(&w->lock);
	value = read_locked(w, offset);
	pthread_mutex_unlock(&w->lock);
	return value;
}

enum how { ANEW, CONTINUED, RESUMED };

static void start(struct sim_worker *w, enum how how)
{
	struct block *r = &w->regs;

	r->fault = NE1_FAULT_NONE;
	r->fault_cmd = r->fault_info = 0;
	r->fault_va = 0;
	if (how != RESUMED) {
		r->start_ns = sim_soc_time_ns(w->soc);
		r->end_ns = r->rd = r->wr = r->cycles = 0;
		memset(r->count, 0, sizeof(r->count));
		w->job = (struct sim_job) {
			.asid = r->asid, .stream_va = r->stream, .stream_size = r->stream_size,
			.param_va = r->param, .profile_va = r->profile,
			.continued = how == CONTINUED, .pos = r->pos,
		};
	}
	w->resume = how == RESUMED;
	w->state = NE1_CORE_RUNNING;
	w->wanted = true;
	sim_core_clear_stop(w->core);
	pthread_cond_broadcast(&w->cond);
}

static void stop(struct sim_worker *w)
{
	if (w->state == NE1_CORE_RUNNING)
		sim_core_stop(w->core);
	else if (w->state == NE1_CORE_YIELDED) {
		w->state = NE1_CORE_FAULT;
		w->regs.fault = NE1_FAULT_STOPPED;
	}
}

static void control(struct sim_worker *w, uint32_t bits)
{
	if (bits & NE1_CORE_STOP)
		stop(w);
	if (!(bits & (NE1_CORE_START | NE1_CORE_SCRUB | NE1_CORE_RESUME)))
		return;
	if (w->state == NE1_CORE_RUNNING) {
		sim_log(SIM_LOG_WARN, "core", "CTRL 0x%x while a job runs: ignored", bits);
		return;
	}
	if (bits & NE1_CORE_SCRUB)
		sim_core_scrub(w->core);
	if (bits & NE1_CORE_START)
		start(w, bits & NE1_CORE_CONTINUE ? CONTINUED : ANEW);
	else if (bits & NE1_CORE_RESUME && w->state == NE1_CORE_YIELDED)
		start(w, RESUMED);
}

static void write_locked(struct sim_worker *w, uint32_t offset, uint32_t value)
{
	switch (offset) {
	case NE1_MC_CORE_CTRL:
		control(w, value);
		break;
	case NE1_MC_CORE_ASID:
		w->regs.asid = value % NE1_MAX_ASIDS;
		break;
	case NE1_MC_CORE_YIELD_REQ:
		w->regs.yield_req = value & 1;
		sim_core_set_yield(w->core, value & 1);
		break;
	case NE1_MC_CORE_STREAM_SIZE:
		w->regs.stream_size = value;
		break;
	case NE1_MC_CORE_POS:
		w->regs.pos = value;
		break;
	case NE1_MC_CORE_STREAM_LO:
	case NE1_MC_CORE_STREAM_HI:
	case NE1_MC_CORE_PARAM_LO:
	case NE1_MC_CORE_PARAM_HI:
	case NE1_MC_CORE_PROFILE_LO:
	case NE1_MC_CORE_PROFILE_HI:
		set_half(pair_at(&w->regs, offset), is_high(offset), value);
		break;
	}	/* the others are read only */
}

void sim_worker_write(struct sim_worker *w, uint32_t offset, uint32_t value)
{
	pthread_mutex_lock(&w->lock);
	write_locked(w, offset, value);
	pthread_mutex_unlock(&w->lock);
}

bool sim_worker_uses(struct sim_worker *w, unsigned int asid)
{
	bool uses;

	pthread_mutex_lock(&w->lock);
	uses = w->state == NE1_CORE_RUNNING && w->job.asid == asid;
	pthread_mutex_unlock(&w->lock);
	return uses;
}

bool sim_worker_running(struct sim_worker *w)
{
	bool running;

	pthread_mutex_lock(&w->lock);
	running = w->state == NE1_CORE_RUNNING;
	pthread_mutex_unlock(&w->lock);
	return running;
}

/* ---- Life ---- */

/* Until the job has ended. */
static void stop_and_wait(struct sim_worker *w)
{
	stop(w);
	while (w->wanted || w->busy)
		pthread_cond_wait(&w->cond, &w->lock);
}

void sim_worker_reset(struct sim_worker *w)
{
	pthread_mutex_lock(&w->lock);
	stop_and_wait(w);
	sim_core_set_yield(w->core, false);
	sim_core_scrub(w->core);
	w->state = NE1_CORE_IDLE;
	memset(&w->regs, 0, sizeof(w->regs));
	pthread_mutex_unlock(&w->lock);
}

struct sim_worker *sim_worker_new(const struct sim_chip *chip, struct sim_soc *soc,
				  struct sim_mem *mem, unsigned int threads,
				  const struct sim_worker_events *events)
{
	struct sim_worker *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;
	int err = ENOMEM;

	if (!w)
		goto err_errno;
	w->soc = soc;
	w->events = *events;
	w->core = sim_core_new(chip, soc, mem, threads);
	if (!w->core)
		goto err_free;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->cond, &attr);
	pthread_condattr_destroy(&attr);
	err = pthread_create(&w->thread, NULL, worker_main, w);
	if (err)
		goto err_core;
	return w;

err_core:
	sim_core_free(w->core);
err_free:
	free(w);
err_errno:
	errno = err;
	return NULL;
}

void sim_worker_set_hooks(struct sim_worker *w, const struct sim_core_hooks *hooks,
			  unsigned int index)
{
	sim_core_set_hooks(w->core, hooks, index);
}

void sim_worker_free(struct sim_worker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	stop_and_wait(w);
	w->quit = true;
	pthread_cond_broadcast(&w->cond);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->cond);
	pthread_mutex_destroy(&w->lock);
	sim_core_free(w->core);
	free(w);
}
