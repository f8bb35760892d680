// SPDX-License-Identifier: MIT
/*
 * A compute core: front end, FIFOs, semaphores and the order of events in modelled time.
 *
 * Time moves from event to event.  At each instant everything that can happen does, in a fixed
 * order (ends, front end, starts; LD, ST, MX, VX within each), so a job has one history.  A command
 * does its work in the instant of its start and signals in that of its end.
 */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "dram.h"
#include "engine.h"
#include "hooks.h"
#include "pool.h"
#include "race.h"
#include "simd.h"
#include "soc.h"

enum { LD, ST, MX, VX, ENGINES };

#define UNIT(e)		((enum ne1_unit)(NE1_UNIT_LD + (e)))
#define NEVER		UINT64_MAX
#define REPORT_PS	10000000ull	/* the shared clock follows a run in steps of 10 us */

struct entry {
	union ne1_cmd cmd;
	uint32_t index;
};

struct engine {
	struct entry fifo[NE1_FIFO_DEPTH];
	unsigned int head, count;
	bool running;
	struct entry cur;
	struct sim_plan plan;
	uint64_t start_ps, end_ps;	/* end of LD and ST is the DRAM model's to say */
	uint64_t order;
	uint64_t busy_ps;
	uint64_t last_end_ps;
};

/* The fault to report: that of the command that started first. */
struct failure {
	struct sim_fault fault;
	enum ne1_unit unit;
	uint32_t index;
	uint64_t order;
};

struct sim_core {
	struct sim_ctx ctx;
	struct sim_soc *soc;
	bool check_hazards, checking;	/* from the next job on; in this job */
	struct sim_race race;
	atomic_bool yield;
	atomic_uint progress;

	struct sim_job job;
	struct sim_run run;
	struct sim_dram dram;
	struct engine eng[ENGINES];
	unsigned int sem[NE1_SEMS];
	uint64_t now_ps, reported_ps;	/* of this run */
	uint64_t yield_ps, gap_ps;	/* last YIELD in this run, longest way to one */
	uint64_t ran_ps;		/* in runs before a yield */
	double energy_pj;		/* likewise */
	uint64_t order;			/* starts so far */
	struct sim_work work;		/* not yet reported to the soc */
	struct ne1_profile base, prof;	/* from before this job was put aside, since its start */
	uint64_t misses;		/* of ctx.mem before the start */
	struct failure fail;

	/* front end */
	uint32_t pc, n_cmds;
	uint32_t restore;		/* commands behind the YIELD that RESUME skips */
	bool fetched;
	bool asked;			/* YIELD_REQ as the YIELD at hand has seen it */
	union ne1_cmd cmd;
	uint64_t fe_ready_ps;
	unsigned int state;		/* NE1_CORE_RUNNING until the end */
};

/* --- time ------------------------------------------------------------------------------ */

static uint64_t cycles_to_ps(const struct sim_core *core, uint64_t cycles)
{
	return (uint64_t)((unsigned __int128)cycles * 1000000000u / core->run.freq_khz);
}

static uint64_t ps_to_cycles(const struct sim_core *core, uint64_t ps)
{
	return (uint64_t)((unsigned __int128)ps * core->run.freq_khz / 1000000000u);
}

static void work_add(struct sim_work *sum, const struct sim_work *w)
{
	sum->dram_rd_bytes += w->dram_rd_bytes;
	sum->dram_wr_bytes += w->dram_wr_bytes;
	sum->dram_bursts += w->dram_bursts;
	sum->sram_bytes += w->sram_bytes;
	sum->macs += w->macs;
	sum->vx_ops += w->vx_ops;
}

static void account(struct sim_core *core, const struct sim_work *w)
{
	work_add(&core->work, w);
	core->prof.dram_rd_bytes += w->dram_rd_bytes;
	core->prof.dram_wr_bytes += w->dram_wr_bytes;
	core->prof.macs += w->macs;
}

static void report_time(struct sim_core *core)
{
	sim_soc_run_advance(core->soc, &core->run, core->now_ps, &core->work);
	memset(&core->work, 0, sizeof(core->work));
	core->reported_ps = core->now_ps;
}

static void advance(struct sim_core *core, uint64_t now_ps)
{
	sim_dram_advance(&core->dram, now_ps, sim_soc_running(core->soc));
	core->now_ps = now_ps;
	if (now_ps - core->reported_ps >= REPORT_PS)
		report_time(core);
}

static void count_command(struct sim_core *core)
{
	core->prof.commands++;
	atomic_store_explicit(&core->progress, (uint32_t)core->prof.commands, memory_order_relaxed);
}

/* --- faults ---------------------------------------------------------------------------- */

static bool failed(const struct sim_core *core)
{
	return core->fail.fault.code != NE1_FAULT_NONE;
}

static void fail(struct sim_core *core, const struct sim_fault *fault, enum ne1_unit unit,
		 uint32_t index, uint64_t order)
{
	if (failed(core) && core->fail.order < order)
		return;
	core->fail =
		(struct failure){ .fault = *fault, .unit = unit, .index = index, .order = order };
}

static void fail_fe(struct sim_core *core, enum ne1_fault code)
{
	fail(core, &(struct sim_fault){ .code = code }, NE1_UNIT_FE, core->pc, core->order++);
}

/* --- semaphores ------------------------------------------------------------------------ */

static bool header_ok(const struct ne1_cmd_hdr *h)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if ((h->wait[i] >= NE1_SEMS && h->wait[i] != NE1_NO_SEM) ||
		    (h->signal[i] >= NE1_SEMS && h->signal[i] != NE1_NO_SEM))
			return false;
	return sim_all_zero(h->pad, sizeof(h->pad));
}

/* One semaphore named twice has to hold two.  A wrong header does not wait: it faults at once. */
static bool waits_met(const struct sim_core *core, const struct ne1_cmd_hdr *h)
{
	bool both = h->wait[0] == h->wait[1];
	unsigned int i;

	if (!header_ok(h))
		return true;
	for (i = 0; i < 2; i++)
		if (h->wait[i] != NE1_NO_SEM && core->sem[h->wait[i]] < 1u + both)
			return false;
	return true;
}

static void take_waits(struct sim_core *core, const struct ne1_cmd_hdr *h)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (h->wait[i] != NE1_NO_SEM)
			core->sem[h->wait[i]]--;
}

/* @unit counts as in race.h. */
static void race_waits(struct sim_core *core, const struct ne1_cmd_hdr *h, unsigned int unit)
{
	unsigned int i;

	for (i = 0; i < 2 && core->checking; i++)
		if (h->wait[i] != NE1_NO_SEM)
			sim_race_wait(&core->race, unit, h->wait[i]);
}

static void signal_end(struct sim_core *core, const struct ne1_cmd_hdr *h, enum ne1_unit unit,
		       uint32_t index, uint64_t order)
{
	const struct sim_fault fault = { .code = NE1_FAULT_SEMAPHORE };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (h->signal[i] == NE1_NO_SEM)
			continue;
		if (core->sem[h->signal[i]] == NE1_SEM_MAX) {
			fail(core, &fault, unit, index, order);
			continue;
		}
		core->sem[h->signal[i]]++;
		if (core->checking)
			sim_race_signal(&core->race,
					unit == NE1_UNIT_FE ? SIM_RACE_FE : unit - NE1_UNIT_LD,
					h->signal[i]);
	}
}

/* --- engines --------------------------------------------------------------------------- */

static int engine_of(uint8_t opcode)
{
	switch (opcode) {
	case NE1_OP_LD:
	case NE1_OP_LD_GATHER:
		return LD;
	case NE1_OP_ST:
		return ST;
	case NE1_OP_MM:
		return MX;
	case NE1_OP_RMSNORM ... NE1_OP_SILU:
		return VX;
	default:
		return -1;
	}
}

static enum ne1_fault plan_command(struct sim_core *core, unsigned int e, const union ne1_cmd *cmd,
				   struct sim_plan *plan)
{
	plan->cycles = plan->dram_ps = 0;
	plan->n_spans = 0;
	memset(&plan->work, 0, sizeof(plan->work));
	if (!header_ok(&cmd->hdr))
		return NE1_FAULT_FIELD;
	switch (e) {
	case MX:
		return sim_mx_plan(&core->ctx, cmd, plan);
	case VX:
		return sim_vx_plan(&core->ctx, cmd, plan);
	default:
		return sim_dma_plan(&core->ctx, cmd, plan);
	}
}

static void exec_command(struct sim_core *core, unsigned int e, const union ne1_cmd *cmd,
			 struct sim_fault *fault)
{
	struct sim_mem *mem = core->ctx.mem;

	switch (e) {
	case MX:
		sim_mx_exec(&core->ctx, cmd, fault);
		return;
	case VX:
		sim_vx_exec(&core->ctx, cmd, fault);
		return;
	}
	if (mem->enter)
		mem->enter(mem);
	sim_dma_exec(&core->ctx, cmd, fault);
	if (mem->leave)
		mem->leave(mem);
}

static const char *const engine_names[ENGINES] = { "LD", "ST", "MX", "VX" };

/* True if @e's next command, planned in @plan, meets another in the scratchpad without order. */
static bool hazard(struct sim_core *core, unsigned int e, const struct entry *next,
		   const struct sim_plan *plan)
{
	struct sim_race_pair p;

	race_waits(core, &next->cmd.hdr, e);
	if (!sim_race_start(&core->race, e, next->index, plan, &p))
		return false;
	fprintf(stderr,
		"npusim: hazard: command %u (%s) %s SRAM from 0x%x, command %u (%s) %s from 0x%x, "
		"and no semaphore orders them\n",
		next->index, engine_names[e], p.mine.write ? "writes" : "reads", p.mine.addr,
		p.index, engine_names[p.engine], p.other.write ? "writes" : "reads", p.other.addr);
	return true;
}

static void start_dram(struct sim_core *core, unsigned int e)
{
	const struct sim_chip_dram *d = &core->ctx.chip->dram;
	const struct sim_core_hooks *hooks = core->ctx.hooks;
	struct engine *eng = &core->eng[e];
	uint64_t latency = 0;

	if (hooks)
		eng->plan.dram_ps = hooks->dram_ps(hooks->ctx, eng->plan.dram_ps);
	/* Back to back, the requests of this command were sent during the last one. */
	if (eng->last_end_ps != eng->start_ps)
		latency = cycles_to_ps(core, eng->plan.cycles) +
			  1000ull * (e == ST ? d->write_ns : d->read_ns);
	sim_dram_start(&core->dram, e == ST, latency, eng->plan.dram_ps);
	eng->end_ps = NEVER;
}

/* What hooks do to a command before it is executed. */
static enum ne1_fault hooked_start(struct sim_core *core, unsigned int e)
{
	const struct sim_core_hooks *hooks = core->ctx.hooks;
	uint64_t ps;

	while ((ps = hooks->hold(hooks->ctx, core->ctx.index, e, sim_stopped(&core->ctx))))
		advance(core, core->now_ps + ps);
	return hooks->start(hooks->ctx, core->ctx.index, e);
}

static bool try_start(struct sim_core *core, unsigned int e)
{
	struct engine *eng = &core->eng[e];
	struct sim_fault fault = { .code = NE1_FAULT_NONE };
	struct entry *next = &eng->fifo[eng->head];

	if (eng->running || !eng->count || !waits_met(core, &next->cmd.hdr))
		return false;
	eng->order = core->order++;
	fault.code = plan_command(core, e, &next->cmd, &eng->plan);
	if (!fault.code && core->checking && hazard(core, e, next, &eng->plan))
		fault.code = NE1_FAULT_SRAM;
	if (!fault.code && core->ctx.hooks)
		fault.code = hooked_start(core, e);
	if (!fault.code)
		exec_command(core, e, &next->cmd, &fault);
	if (fault.code) {
		fail(core, &fault, UNIT(e), next->index, eng->order);
		return true;
	}
	take_waits(core, &next->cmd.hdr);
	eng->cur = *next;
	eng->head = (eng->head + 1) % NE1_FIFO_DEPTH;
	eng->count--;
	eng->running = true;
	eng->start_ps = core->now_ps;
	count_command(core);
	account(core, &eng->plan.work);
	if (e == LD || e == ST)
		start_dram(core, e);
	else
		eng->end_ps = core->now_ps + cycles_to_ps(core, eng->plan.cycles);
	return true;
}

static bool try_end(struct sim_core *core, unsigned int e)
{
	struct engine *eng = &core->eng[e];

	if (!eng->running)
		return false;
	if (e == LD || e == ST ? !sim_dram_ended(&core->dram, e == ST) : eng->end_ps > core->now_ps)
		return false;
	eng->running = false;
	eng->last_end_ps = core->now_ps;
	eng->busy_ps += core->now_ps - eng->start_ps;
	signal_end(core, &eng->cur.cmd.hdr, UNIT(e), eng->cur.index, eng->order);
	return true;
}

static bool engines_idle(const struct sim_core *core)
{
	unsigned int e;

	for (e = 0; e < ENGINES; e++)
		if (core->eng[e].running || core->eng[e].count)
			return false;
	return true;
}

static bool engines_running(const struct sim_core *core)
{
	unsigned int e;

	for (e = 0; e < ENGINES; e++)
		if (core->eng[e].running)
			return true;
	return false;
}

/* --- front end ------------------------------------------------------------------------- */

static bool fe_copy(struct sim_core *core, uint64_t va, void *buf, size_t len, bool write)
{
	struct sim_fault fault = { .code = NE1_FAULT_NONE };
	uint32_t burst = core->ctx.chip->dram.burst_bytes;
	struct sim_mem *mem = core->ctx.mem;
	struct sim_work work = { .dram_bursts = (len + burst - 1) / burst };

	if (mem->enter)
		mem->enter(mem);
	sim_mem_copy(&core->ctx, va, buf, len, write, &fault);
	if (mem->leave)
		mem->leave(mem);
	if (fault.code) {
		fail(core, &fault, NE1_UNIT_FE, core->pc, core->order++);
		return false;
	}
	*(write ? &work.dram_wr_bytes : &work.dram_rd_bytes) = len;
	account(core, &work);
	return true;
}

/* Fills everything of the profile that is known at this moment. */
static void fill_profile(struct sim_core *core)
{
	struct ne1_profile *p = &core->prof;

	report_time(core);
	p->end_ns = core->run.start_ns + core->now_ps / 1000;
	p->cycles = ps_to_cycles(core, core->ran_ps + core->now_ps);
	p->ld_busy = ps_to_cycles(core, core->eng[LD].busy_ps);
	p->st_busy = ps_to_cycles(core, core->eng[ST].busy_ps);
	p->mx_busy = ps_to_cycles(core, core->eng[MX].busy_ps);
	p->vx_busy = ps_to_cycles(core, core->eng[VX].busy_ps);
	p->energy_nj = (uint64_t)((core->energy_pj + core->run.energy_pj) * 1e-3);
	p->temp_die_mc = sim_soc_temp_die_mc(core->soc);
	p->freq_khz = core->run.freq_khz;
}

/* The profile of the whole job: what was in memory when it went on, and what came since. */
static void join_profile(const struct sim_core *core, struct ne1_profile *p)
{
	const struct ne1_profile *base = &core->base;

	*p = core->prof;
	if (!core->job.continued)
		return;
	p->start_ns = base->start_ns;
	p->cycles += base->cycles;
	p->ld_busy += base->ld_busy;
	p->st_busy += base->st_busy;
	p->mx_busy += base->mx_busy;
	p->vx_busy += base->vx_busy;
	p->dram_rd_bytes += base->dram_rd_bytes;
	p->dram_wr_bytes += base->dram_wr_bytes;
	p->macs += base->macs;
	p->commands += base->commands;
	p->skipped += base->skipped;
	p->energy_nj += base->energy_nj;
}

/* END, or a YIELD that stops: the job leaves the core in @state with its profile in memory. */
static bool control_leave(struct sim_core *core, unsigned int state)
{
	struct ne1_profile copy;

	fill_profile(core);
	join_profile(core, &copy);
	copy.commands++;	/* this one */
	if (core->job.profile_va &&
	    !fe_copy(core, core->job.profile_va, &copy, sizeof(copy), true))
		return false;
	core->state = state;
	return true;
}

/* Leaves out @count commands behind this one; END at least has to follow. */
static bool skip(struct sim_core *core, uint32_t count)
{
	if (count >= core->n_cmds - core->pc - 1) {
		fail_fe(core, NE1_FAULT_STREAM);
		return false;
	}
	core->pc += count;
	core->prof.skipped += count;
	return true;
}

static void note_gap(struct sim_core *core)
{
	if (core->now_ps - core->yield_ps > core->gap_ps)
		core->gap_ps = core->now_ps - core->yield_ps;
	core->yield_ps = core->now_ps;
}

static bool control_yield(struct sim_core *core, const struct ne1_cmd_yield *c)
{
	if (!sim_all_zero(c->pad, sizeof(c->pad))) {
		fail_fe(core, NE1_FAULT_FIELD);
		return false;
	}
	if (c->count && c->count >= core->n_cmds - core->pc - 1) {
		fail_fe(core, NE1_FAULT_STREAM);
		return false;
	}
	core->restore = c->count;
	note_gap(core);
	if (core->asked)
		return control_leave(core, NE1_CORE_YIELDED);
	return !c->count || skip(core, c->count);
}

static bool control_skip(struct sim_core *core, const struct ne1_cmd_skip *c)
{
	if (c->param >= NE1_VALUES || !sim_all_zero(c->pad, sizeof(c->pad)) ||
	    !sim_all_zero(c->pad1, sizeof(c->pad1))) {
		fail_fe(core, NE1_FAULT_FIELD);
		return false;
	}
	if (core->ctx.params.value[c->param] > c->limit)
		return true;
	return skip(core, c->count);
}

static bool control_mark(struct sim_core *core, const struct ne1_cmd_mark *c)
{
	uint64_t ns = core->run.start_ns + core->now_ps / 1000;

	if (c->base >= NE1_BASES || !sim_all_zero(c->pad, sizeof(c->pad)) ||
	    !sim_all_zero(c->pad1, sizeof(c->pad1))) {
		fail_fe(core, NE1_FAULT_FIELD);
		return false;
	}
	return fe_copy(core, core->ctx.params.base[c->base] + c->offset, &ns, sizeof(ns), true);
}

/* Runs the control command at hand; false after a fault. */
static bool control(struct sim_core *core)
{
	const union ne1_cmd *cmd = &core->cmd;

	if (!header_ok(&cmd->hdr) || cmd->hdr.flags) {
		fail_fe(core, NE1_FAULT_FIELD);
		return false;
	}
	switch (cmd->hdr.opcode) {
	case NE1_OP_SKIP:
		return control_skip(core, &cmd->skip);
	case NE1_OP_YIELD:
		return control_yield(core, &cmd->yield);
	case NE1_OP_MARK:
		return control_mark(core, &cmd->mark);
	}
	if (!sim_all_zero(cmd->raw + sizeof(cmd->hdr), sizeof(*cmd) - sizeof(cmd->hdr))) {
		fail_fe(core, NE1_FAULT_FIELD);
		return false;
	}
	if (cmd->hdr.opcode == NE1_OP_END)
		return control_leave(core, NE1_CORE_DONE);
	return true;
}

/* True if the control command at hand runs beside the engines. */
static bool waits_for_nothing(struct sim_core *core)
{
	switch (core->cmd.hdr.opcode) {
	case NE1_OP_NOP:
	case NE1_OP_SKIP:
		return true;
	case NE1_OP_YIELD:
		core->asked = atomic_load(&core->yield);
		return core->cmd.yield.count && !core->asked;
	default:
		return false;
	}
}

static bool try_control(struct sim_core *core)
{
	uint32_t index = core->pc;
	uint64_t order;

	switch (core->cmd.hdr.opcode) {
	case NE1_OP_END:
	case NE1_OP_NOP:
	case NE1_OP_SKIP:
	case NE1_OP_YIELD:
	case NE1_OP_MARK:
		if (waits_for_nothing(core))
			break;
		if (!engines_idle(core))
			return false;
		if (core->checking)
			sim_race_all_idle(&core->race);
		break;
	default:
		fail_fe(core, NE1_FAULT_OPCODE);
		return true;
	}
	if (!waits_met(core, &core->cmd.hdr))
		return false;
	order = core->order;
	if (!control(core))
		return true;
	core->order++;
	race_waits(core, &core->cmd.hdr, SIM_RACE_FE);
	count_command(core);
	take_waits(core, &core->cmd.hdr);
	signal_end(core, &core->cmd.hdr, NE1_UNIT_FE, index, order);
	return true;
}

static bool try_dispatch(struct sim_core *core, unsigned int e)
{
	struct engine *eng = &core->eng[e];

	if (eng->count == NE1_FIFO_DEPTH)
		return false;
	eng->fifo[(eng->head + eng->count++) % NE1_FIFO_DEPTH] =
		(struct entry){ .cmd = core->cmd, .index = core->pc };
	if (core->checking)
		sim_race_dispatch(&core->race, e);
	return true;
}

/* One step of the front end, if it can do one now. */
static bool try_front_end(struct sim_core *core)
{
	int e;

	if (core->state != NE1_CORE_RUNNING || core->fe_ready_ps > core->now_ps)
		return false;
	if (!core->fetched) {
		if (core->pc >= core->n_cmds) {
			fail_fe(core, NE1_FAULT_STREAM);
			return true;
		}
		if (!fe_copy(core, core->job.stream_va + (uint64_t)core->pc * NE1_CMD_SIZE,
			     &core->cmd, NE1_CMD_SIZE, false))
			return true;
		core->fetched = true;
		if (core->ctx.hooks)
			core->ctx.hooks->fetched(core->ctx.hooks->ctx, core->ctx.index, core->pc,
						 &core->cmd);
	}
	e = engine_of(core->cmd.hdr.opcode);
	if (!(e < 0 ? try_control(core) : try_dispatch(core, (unsigned int)e)))
		return false;
	if (failed(core))
		return true;
	core->fetched = false;
	core->pc++;
	core->fe_ready_ps = core->now_ps + cycles_to_ps(core, core->ctx.chip->fe_cycles);
	return true;
}

/* --- events ---------------------------------------------------------------------------- */

/* Lets everything happen that can at this instant. */
static void settle(struct sim_core *core)
{
	bool progress;
	unsigned int e;

	do {
		progress = false;
		for (e = 0; e < ENGINES; e++)
			progress |= try_end(core, e);
		if (!failed(core) && core->state == NE1_CORE_RUNNING && sim_stopped(&core->ctx))
			fail_fe(core, NE1_FAULT_STOPPED);
		if (!failed(core))
			progress |= try_front_end(core);
		for (e = 0; e < ENGINES && !failed(core); e++)
			progress |= try_start(core, e);
	} while (progress);
}

/* The time of the next event after now, NEVER if there is none. */
static uint64_t next_event(const struct sim_core *core)
{
	uint64_t next = sim_dram_next(&core->dram, sim_soc_running(core->soc));
	unsigned int e;

	for (e = MX; e < ENGINES; e++)
		if (core->eng[e].running && core->eng[e].end_ps < next)
			next = core->eng[e].end_ps;
	if (!failed(core) && core->fe_ready_ps > core->now_ps && core->fe_ready_ps < next)
		next = core->fe_ready_ps;
	return next;
}

/* Blames the oldest command that waits. */
static void fail_deadlock(struct sim_core *core)
{
	const struct sim_fault fault = { .code = NE1_FAULT_DEADLOCK };
	enum ne1_unit unit = NE1_UNIT_FE;
	uint32_t index = core->pc;
	const struct engine *eng;
	unsigned int e;

	for (e = 0; e < ENGINES; e++) {
		eng = &core->eng[e];
		if (eng->count && eng->fifo[eng->head].index < index) {
			index = eng->fifo[eng->head].index;
			unit = UNIT(e);
		}
	}
	fail(core, &fault, unit, index, core->order++);
}

static void run_events(struct sim_core *core)
{
	uint64_t next;

	for (;;) {
		settle(core);
		if (core->state != NE1_CORE_RUNNING || (failed(core) && !engines_running(core)))
			return;
		next = next_event(core);
		if (next == NEVER) {
			fail_deadlock(core);
			return;
		}
		advance(core, next);
	}
}

/* --- jobs ------------------------------------------------------------------------------ */

static void fill_counters(const struct sim_core *core, uint64_t *count)
{
	const struct ne1_profile *p = &core->prof;

	count[NE1_COUNT_CYCLES] = p->cycles;
	count[NE1_COUNT_LD_BUSY] = p->ld_busy;
	count[NE1_COUNT_ST_BUSY] = p->st_busy;
	count[NE1_COUNT_MX_BUSY] = p->mx_busy;
	count[NE1_COUNT_VX_BUSY] = p->vx_busy;
	count[NE1_COUNT_DRAM_RD] = p->dram_rd_bytes;
	count[NE1_COUNT_DRAM_WR] = p->dram_wr_bytes;
	count[NE1_COUNT_MACS] = p->macs;
	count[NE1_COUNT_COMMANDS] = p->commands;
	count[NE1_COUNT_SKIPPED] = p->skipped;
	count[NE1_COUNT_TLB_MISSES] = core->ctx.mem->misses - core->misses;
	count[NE1_COUNT_ENERGY_NJ] = p->energy_nj;
}

static void fill_result(struct sim_core *core, struct sim_result *result)
{
	const struct failure *f = &core->fail;

	memset(result, 0, sizeof(*result));
	if (!failed(core)) {
		result->state = core->state;
	} else {
		result->state = NE1_CORE_FAULT;
		result->fault = f->fault.code;
		result->fault_cmd = f->index;
		result->fault_info = (uint32_t)f->unit << 12;
		if (f->fault.code == NE1_FAULT_MMU) {
			result->fault_va = f->fault.va;
			result->fault_info |= core->job.asid << 4 | (uint32_t)f->fault.mmu << 16 |
					      (f->fault.write ? NE1_MMU_FAULT_WRITE : 0);
		}
	}
	result->pos = core->pc;
	result->yield_gap_ns = core->gap_ps / 1000;
	result->profile = core->prof;
	fill_counters(core, result->count);
}

/* A stretch of running, from start or resume to end, fault or yield. */
static void run_stretch(struct sim_core *core, struct sim_result *result)
{
	unsigned int e;

	core->state = NE1_CORE_RUNNING;
	if (!failed(core))
		run_events(core);
	note_gap(core);
	fill_profile(core);
	fill_result(core, result);
	core->ran_ps += core->now_ps;
	core->energy_pj += core->run.energy_pj;
	for (e = 0; e < ENGINES; e++)
		core->eng[e].start_ps = core->eng[e].last_end_ps = 0;
	sim_soc_run_end(core->soc, &core->run);
}

static void begin_stretch(struct sim_core *core)
{
	const struct sim_core_hooks *hooks = core->ctx.hooks;

	sim_soc_run_begin(core->soc, &core->run);
	if (hooks)
		core->run.freq_khz = hooks->freq_khz(hooks->ctx, core->run.freq_khz);
	sim_dram_init(&core->dram, core->ctx.chip);
	core->now_ps = core->reported_ps = core->yield_ps = 0;
	core->fe_ready_ps = 1000ull * core->ctx.chip->dram.read_ns;
}

/* What a start reads before the first command. */
static void fetch_state(struct sim_core *core)
{
	const struct sim_job *job = &core->job;

	if (!fe_copy(core, job->param_va, &core->ctx.params, sizeof(core->ctx.params), false))
		return;
	if (!job->continued)
		return;
	core->base.start_ns = core->prof.start_ns;
	if (job->profile_va)
		fe_copy(core, job->profile_va, &core->base, sizeof(core->base), false);
}

void sim_core_run(struct sim_core *core, const struct sim_job *job, struct sim_result *result)
{
	core->job = *job;
	core->ctx.asid = job->asid;
	core->n_cmds = job->stream_size / NE1_CMD_SIZE;
	core->pc = job->continued ? job->pos : 0;
	core->misses = core->ctx.mem->misses;
	core->fetched = false;
	core->order = 0;
	core->ran_ps = core->gap_ps = 0;
	core->energy_pj = 0;
	memset(core->eng, 0, sizeof(core->eng));
	memset(core->sem, 0, sizeof(core->sem));
	memset(&core->work, 0, sizeof(core->work));
	memset(&core->base, 0, sizeof(core->base));
	memset(&core->prof, 0, sizeof(core->prof));
	atomic_store(&core->progress, 0);
	memset(&core->fail, 0, sizeof(core->fail));
	core->checking = core->check_hazards;
	if (core->checking)
		sim_race_reset(&core->race);
	begin_stretch(core);
	core->prof.start_ns = core->run.start_ns;
	fetch_state(core);
	run_stretch(core, result);
}

void sim_core_resume(struct sim_core *core, struct sim_result *result)
{
	core->pc += core->restore;
	core->prof.skipped += core->restore;
	begin_stretch(core);
	run_stretch(core, result);
}

void sim_core_stop(struct sim_core *core)
{
	atomic_store(&core->ctx.stop, true);
}

void sim_core_clear_stop(struct sim_core *core)
{
	atomic_store(&core->ctx.stop, false);
}

uint32_t sim_core_progress(struct sim_core *core)
{
	return atomic_load_explicit(&core->progress, memory_order_relaxed);
}

void sim_core_set_yield(struct sim_core *core, bool on)
{
	atomic_store(&core->yield, on);
}

void sim_core_scrub(struct sim_core *core)
{
	memset(core->ctx.sram, 0, core->ctx.chip->sram_bytes);
}

void sim_core_check_hazards(struct sim_core *core, bool on)
{
	core->check_hazards = on;
}

struct sim_core *sim_core_new(const struct sim_chip *chip, struct sim_soc *soc, struct sim_mem *mem,
			      unsigned int threads)
{
	struct sim_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->soc = soc;
	core->ctx.chip = chip;
	core->ctx.mem = mem;
	core->ctx.simd = sim_simd_selected();
	core->ctx.pool = sim_pool_new(threads ? threads : 1);
	core->ctx.sram = aligned_alloc(64, chip->sram_bytes);
	core->ctx.mx_a = malloc((SIM_MX_A + SIM_MX_SUMS) * sizeof(*core->ctx.mx_a));
	if (!core->ctx.pool || !core->ctx.sram || !core->ctx.mx_a) {
		sim_core_free(core);
		return NULL;
	}
	sim_core_scrub(core);
	return core;
}

void sim_core_set_hooks(struct sim_core *core, const struct sim_core_hooks *hooks,
			unsigned int index)
{
	core->ctx.hooks = hooks;
	core->ctx.index = index;
}

void sim_core_free(struct sim_core *core)
{
	if (!core)
		return;
	sim_pool_free(core->ctx.pool);
	free(core->ctx.sram);
	free(core->ctx.mx_a);
	free(core);
}
