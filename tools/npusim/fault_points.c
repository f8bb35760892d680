// SPDX-License-Identifier: MIT
/* What the blocks of the device ask: small questions, answered from armed faults and conditions. */
#include "fault_points.h"

#include <string.h>

#include "fault_priv.h"
#include "hooks.h"
#include "ne1_fw_image.h"
#include "rv32.h"

#define NS_PER_MS	1000000ull
#define NS_PER_S	1000000000ull
#define LOOK_NS		NS_PER_MS	/* how often conditions without a known end are looked at */
#define SLOW_MAX_NS	(10 * NS_PER_S)	/* longest pause after a slice of slow firmware */
#define STUCK_STEP_NS	(2 * NS_PER_MS)

static void count(atomic_uint_fast64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

struct sim_fi_counters *sim_fi_counters(struct sim_fi *fi)
{
	return &fi->count;
}

/* ---- Host side ---- */

void sim_fi_mmio(struct sim_fi *fi, uint32_t offset, bool write)
{
	if (!fi)
		return;
	count(write ? &fi->count.mmio_writes : &fi->count.mmio_reads);
	sim_fi_trigger(fi, write ? NPUSIM_ON_MMIO_WRITE : NPUSIM_ON_MMIO_READ, offset);
}

bool sim_fi_mmio_ones(struct sim_fi *fi, uint32_t offset)
{
	return sim_fi_hit(fi, NPUSIM_MMIO_ONES, NULL, SIM_FI_KEY(offset));
}

void sim_fi_bus_reset(struct sim_fi *fi)
{
	struct slot *s;
	bool ends;

	if (!fi)
		return;
	s = &fi->slot[NPUSIM_MMIO_ONES];
	pthread_mutex_lock(&fi->lock);
	ends = s->armed && s->spec.arg[2] == 1;
	pthread_mutex_unlock(&fi->lock);
	if (ends)
		sim_fi_disarm(fi, NPUSIM_MMIO_ONES);
}

bool sim_fi_doorbell(struct sim_fi *fi, unsigned int queue)
{
	if (!fi)
		return false;
	count(&fi->count.doorbells);
	atomic_store(&fi->count.doorbell_ns, sim_fi_now());
	sim_fi_trigger(fi, NPUSIM_ON_DOORBELL, queue);
	return sim_fi_hit(fi, NPUSIM_DOORBELL_LOST, NULL, SIM_FI_KEY(queue));
}

bool sim_fi_mailbox(struct sim_fi *fi)
{
	if (!fi)
		return false;
	count(&fi->count.mailboxes);
	sim_fi_trigger(fi, NPUSIM_ON_MBOX, 0);
	return sim_fi_hit(fi, NPUSIM_MBOX_LOST, NULL, SIM_FI_KEY(0));
}

int sim_fi_irq(struct sim_fi *fi, unsigned int vector)
{
	struct sim_fi_shot shot;
	struct later later;

	if (sim_fi_hit(fi, NPUSIM_IRQ_LOST, NULL, SIM_FI_KEY(vector)))
		return -1;
	if (sim_fi_hit(fi, NPUSIM_IRQ_LATE, &shot, SIM_FI_KEY(vector))) {
		later = (struct later){ .irq = true, .vector = vector, .due_ns = sim_fi_now() +
				       (shot.duration_ns ? shot.duration_ns : NS_PER_MS) };
		sim_fi_later(fi, &later);
		return -1;
	}
	if (sim_fi_hit(fi, NPUSIM_IRQ_WRONG_VECTOR, &shot, SIM_FI_KEY(vector)))
		return (int)shot.arg[1];
	return (int)vector;
}

void sim_fi_irq_sent(struct sim_fi *fi, unsigned int vector)
{
	if (!fi)
		return;
	count(&fi->count.irqs[vector]);
	atomic_store(&fi->count.irq_ns, sim_fi_now());
}

unsigned int sim_fi_stall_ms(struct sim_fi *fi)
{
	uint64_t now = sim_fi_now(), left = 0;

	if (!sim_fi_state(fi, NPUSIM_STALL, NULL))
		return 0;
	pthread_mutex_lock(&fi->lock);
	if (fi->slot[NPUSIM_STALL].active && fi->slot[NPUSIM_STALL].until_ns > now)
		left = fi->slot[NPUSIM_STALL].until_ns - now;
	pthread_mutex_unlock(&fi->lock);
	return (unsigned int)((left + NS_PER_MS - 1) / NS_PER_MS);
}

/* ---- Jobs ---- */

void sim_fi_job_ended(struct sim_fi *fi, unsigned int queue, uint64_t seqno)
{
	struct sim_fi_job now = {
		.queue = queue, .seqno = seqno, .host_ns = sim_fi_now(),
		.mmio_reads = atomic_load(&fi->count.mmio_reads),
		.mmio_writes = atomic_load(&fi->count.mmio_writes),
		.doorbells = atomic_load(&fi->count.doorbells),
	};
	struct sim_fi_job *job;

	for (unsigned int v = 0; v < NE1_MSIX_VECTORS; v++)
		now.irqs += atomic_load(&fi->count.irqs[v]);
	count(&fi->count.jobs);
	pthread_mutex_lock(&fi->lock);
	job = &fi->job[fi->jobs++ % SIM_FI_JOBS];
	*job = now;
	job->number = fi->jobs;
	job->mmio_reads -= fi->totals.mmio_reads;
	job->mmio_writes -= fi->totals.mmio_writes;
	job->doorbells -= fi->totals.doorbells;
	job->irqs -= fi->totals.irqs;
	fi->totals = now;
	pthread_mutex_unlock(&fi->lock);
}

unsigned int sim_fi_jobs(struct sim_fi *fi, struct sim_fi_job out[SIM_FI_JOBS])
{
	unsigned int n = 0;
	uint64_t i;

	pthread_mutex_lock(&fi->lock);
	for (i = fi->jobs > SIM_FI_JOBS ? fi->jobs - SIM_FI_JOBS : 0; i < fi->jobs; i++)
		out[n++] = fi->job[i % SIM_FI_JOBS];
	pthread_mutex_unlock(&fi->lock);
	return n;
}

/* ---- Management core ---- */

static uint64_t end_of(uint64_t duration_ns)
{
	return duration_ns ? sim_fi_now() + duration_ns : UINT64_MAX;
}

void sim_fi_reset_asked(struct sim_fi *fi)
{
	struct sim_fi_shot shot;

	if (!sim_fi_hit(fi, NPUSIM_RESET_STUCK, &shot, SIM_FI_KEY(0)))
		return;
	pthread_mutex_lock(&fi->lock);
	fi->reset_until_ns = end_of(shot.duration_ns);
	pthread_mutex_unlock(&fi->lock);
}

bool sim_fi_reset_held(struct sim_fi *fi)
{
	bool held;

	if (!fi)
		return false;
	pthread_mutex_lock(&fi->lock);
	held = sim_fi_now() < fi->reset_until_ns;
	pthread_mutex_unlock(&fi->lock);
	return held;
}

void sim_fi_boot_begin(struct sim_fi *fi)
{
	struct sim_fi_shot shot;

	if (!sim_fi_hit(fi, NPUSIM_BOOT_STUCK, &shot, SIM_FI_KEY(0)))
		return;
	pthread_mutex_lock(&fi->lock);
	fi->boot_until_ns = end_of(shot.duration_ns);
	pthread_mutex_unlock(&fi->lock);
}

bool sim_fi_boot_held(struct sim_fi *fi)
{
	bool held;

	if (!fi)
		return false;
	pthread_mutex_lock(&fi->lock);
	held = sim_fi_now() < fi->boot_until_ns;
	pthread_mutex_unlock(&fi->lock);
	return held;
}

bool sim_fi_held(struct sim_fi *fi)
{
	bool slow;

	if (!fi)
		return false;
	if (sim_fi_state(fi, NPUSIM_FW_HANG, NULL))
		return true;
	if (!sim_fi_state(fi, NPUSIM_FW_SLOW, NULL))
		return false;
	pthread_mutex_lock(&fi->lock);
	slow = sim_fi_now() < fi->slow_until_ns;
	pthread_mutex_unlock(&fi->lock);
	return slow;
}

bool sim_fi_watchdog_held(struct sim_fi *fi)
{
	struct sim_fi_shot shot;

	return sim_fi_state(fi, NPUSIM_FW_HANG, &shot) && !shot.arg[0];
}

uint64_t sim_fi_sleep_ns(struct sim_fi *fi)
{
	uint64_t now, due;

	if (!fi)
		return UINT64_MAX;
	if (sim_fi_held(fi) || sim_fi_reset_held(fi) || sim_fi_boot_held(fi))
		return LOOK_NS;
	now = sim_fi_now();
	due = sim_fi_msg_due(fi);
	return due == UINT64_MAX ? UINT64_MAX : due > now ? due - now : 0;
}

bool sim_fi_due(struct sim_fi *fi)
{
	bool crash;

	if (!fi)
		return false;
	pthread_mutex_lock(&fi->lock);
	crash = fi->crash_wanted;
	pthread_mutex_unlock(&fi->lock);
	return crash || sim_fi_msg_due(fi) <= sim_fi_now();
}

bool sim_fi_crash(struct sim_fi *fi, struct rv32 *cpu)
{
	struct sim_fi_shot shot;
	bool crash;

	pthread_mutex_lock(&fi->lock);
	crash = fi->crash_wanted;
	shot = fi->crash;
	fi->crash_wanted = false;
	pthread_mutex_unlock(&fi->lock);
	if (crash)
		rv32_jump(cpu, (uint32_t)shot.arg[0], shot.arg[1]);
	return crash;
}

uint64_t sim_fi_slice_start(struct sim_fi *fi)
{
	return sim_fi_state(fi, NPUSIM_FW_SLOW, NULL) ? sim_fi_now() : 0;
}

void sim_fi_slice_end(struct sim_fi *fi, uint64_t start_ns)
{
	struct sim_fi_shot shot;
	uint64_t now, pause;

	if (!start_ns || !sim_fi_state(fi, NPUSIM_FW_SLOW, &shot))
		return;
	now = sim_fi_now();
	pause = shot.arg[0] > 1 ? (now - start_ns) * (shot.arg[0] - 1) : 0;
	pthread_mutex_lock(&fi->lock);
	fi->slow_until_ns = now + (pause < SLOW_MAX_NS ? pause : SLOW_MAX_NS);
	pthread_mutex_unlock(&fi->lock);
}

/* ---- Boot ---- */

void sim_fi_boot_copied(struct sim_fi *fi, void *buf, uint64_t len, bool *ok)
{
	struct ne1_fw_header *header = buf;
	struct sim_fi_shot shot;

	if (!fi)
		return;
	if (len == sizeof(*header)) {
		if (sim_fi_hit(fi, NPUSIM_BOOT_COPY_FAIL, NULL, SIM_FI_KEY(0)))
			*ok = false;
		if (sim_fi_hit(fi, NPUSIM_BOOT_MAGIC, NULL, SIM_FI_KEY(0)))
			header->magic ^= 1;
	} else if (sim_fi_hit(fi, NPUSIM_BOOT_TRUNCATED, &shot, SIM_FI_KEY(len)) &&
		   shot.arg[0] < len) {
		memset((uint8_t *)buf + shot.arg[0], 0, len - shot.arg[0]);
	}
}

unsigned int sim_fi_boot_error(struct sim_fi *fi, unsigned int err)
{
	struct sim_fi_shot shot;

	return sim_fi_hit(fi, NPUSIM_BOOT_ERROR, &shot, SIM_FI_KEY(err)) ? shot.arg[0] : err;
}

bool sim_fi_boot_state(struct sim_fi *fi, uint32_t value)
{
	if ((value & NE1_BOOT_STATE_MASK) != NE1_BOOT_STATE_READY)
		return false;
	if (sim_fi_hit(fi, NPUSIM_BOOT_NOT_READY, NULL, SIM_FI_KEY(value)))
		return true;
	sim_fi_trigger(fi, NPUSIM_ON_READY, SIM_FI_ANY);
	return false;
}

/* ---- Compute cores ---- */

static void on_fetched(void *ctx, unsigned int core, uint32_t index, union ne1_cmd *cmd)
{
	struct sim_fi_shot shot;
	unsigned int bit;

	if (!sim_fi_hit(ctx, NPUSIM_CMD_BITFLIP, &shot, SIM_FI_KEY(core, index)))
		return;
	bit = (shot.arg[2] == SIM_FI_ANY ? shot.random[0] : shot.arg[2]) % (8 * NE1_CMD_SIZE);
	cmd->raw[bit / 8] ^= 1u << bit % 8;
}

static enum ne1_fault on_start(void *ctx, unsigned int core, unsigned int engine)
{
	sim_fi_hit(ctx, NPUSIM_ECC_CORRECTED, NULL, SIM_FI_KEY(core, engine));
	if (sim_fi_hit(ctx, NPUSIM_ECC_UNCORRECTED, NULL, SIM_FI_KEY(core, engine)))
		return NE1_FAULT_ECC;
	return NE1_FAULT_NONE;
}

/* Waits a while, with the lock; false: the command goes on. */
static bool stay_stuck(struct sim_fi *fi, unsigned int core, bool stopped)
{
	uint64_t until = sim_fi_now() + STUCK_STEP_NS;
	struct timespec ts = { .tv_sec = (time_t)(until / NS_PER_S),
			       .tv_nsec = (long)(until % NS_PER_S) };

	pthread_cond_timedwait(&fi->cond, &fi->lock, &ts);
	if (fi->resetting || fi->quit || sim_fi_now() >= fi->stuck[core].until_ns ||
	    (stopped && fi->stuck[core].obeys))
		fi->stuck[core].held = false;
	return fi->stuck[core].held;
}

static uint64_t on_hold(void *ctx, unsigned int core, unsigned int engine, bool stopped)
{
	struct sim_fi_shot shot;
	struct sim_fi *fi = ctx;
	uint64_t ps = 0, now;

	if (!atomic_load_explicit(&fi->stuck[core].held, memory_order_relaxed)) {
		if (!sim_fi_hit(fi, NPUSIM_ENGINE_STUCK, &shot, SIM_FI_KEY(core, engine)))
			return 0;
		pthread_mutex_lock(&fi->lock);
		fi->stuck[core].held = !fi->resetting && !fi->quit;
		fi->stuck[core].obeys = shot.arg[2];
		fi->stuck[core].until_ns = end_of(shot.duration_ns);
		fi->stuck[core].last_ns = sim_fi_now();
	} else {
		pthread_mutex_lock(&fi->lock);
	}
	if (fi->stuck[core].held && stay_stuck(fi, core, stopped)) {
		now = sim_fi_now();
		ps = (now - fi->stuck[core].last_ns) * 1000;
		fi->stuck[core].last_ns = now;
	}
	pthread_mutex_unlock(&fi->lock);
	return ps;
}

static void on_stored(void *ctx, unsigned int core, unsigned int asid, uint64_t va, uint8_t *mem,
		      uint64_t len)
{
	struct sim_fi *fi = ctx;
	struct sim_fi_shot shot;
	uint64_t bit;

	atomic_store_explicit(&fi->store_va, va, memory_order_relaxed);
	atomic_store_explicit(&fi->store_asid, asid, memory_order_relaxed);
	if (!sim_fi_hit(fi, NPUSIM_OUTPUT_BITFLIP, &shot, SIM_FI_KEY(core, va)))
		return;
	bit = (shot.arg[1] == SIM_FI_ANY ? shot.random[0] : shot.arg[1]) % (8 * len);
	mem[bit / 8] ^= 1u << bit % 8;
}

static uint64_t on_dram_ps(void *ctx, uint64_t ps)
{
	struct sim_fi_shot shot;
	struct sim_fi *fi = ctx;
	uint64_t jitter;

	if (!sim_fi_state(fi, NPUSIM_DRAM_SLOW, &shot))
		return ps;
	ps = ps * 1000 / (shot.arg[0] ? shot.arg[0] : 1);
	if (!shot.arg[1])
		return ps;
	pthread_mutex_lock(&fi->lock);
	jitter = sim_fi_random(&fi->slot[NPUSIM_DRAM_SLOW].rng) % (shot.arg[1] + 1);
	pthread_mutex_unlock(&fi->lock);
	return ps + ps * jitter / 1000;
}

uint32_t sim_fi_freq(struct sim_fi *fi, uint32_t khz)
{
	struct sim_fi_shot shot;

	if (!sim_fi_state(fi, NPUSIM_CLOCK_SLOW, &shot))
		return khz;
	khz = (uint32_t)(khz * shot.arg[0] / 1000);
	return khz ? khz : 1;
}

static uint32_t on_freq_khz(void *ctx, uint32_t khz)
{
	return sim_fi_freq(ctx, khz);
}

struct sim_core_hooks sim_fi_core_hooks(struct sim_fi *fi)
{
	return (struct sim_core_hooks){
		.fetched = on_fetched, .start = on_start, .hold = on_hold, .stored = on_stored,
		.dram_ps = on_dram_ps, .freq_khz = on_freq_khz, .ctx = fi,
	};
}

uint32_t sim_fi_core_control(struct sim_fi *fi, unsigned int core, uint32_t bits)
{
	if (bits & NE1_CORE_START)
		sim_fi_trigger(fi, NPUSIM_ON_JOB_START, core);
	if (bits & NE1_CORE_STOP && sim_fi_hit(fi, NPUSIM_STOP_IGNORED, NULL, SIM_FI_KEY(core)))
		bits &= ~NE1_CORE_STOP;
	return bits;
}

/* ---- MMU ---- */

void sim_fi_set_asid(struct sim_fi *fi, unsigned int asid, uint64_t pgd)
{
	if (fi)
		atomic_store(&fi->pgd[asid], pgd);
}

enum ne1_mmu_code sim_fi_translate(struct sim_fi *fi, unsigned int asid, uint64_t va, bool write)
{
	const uint64_t key[SIM_FI_ARGS] = { atomic_load(&fi->pgd[asid]), va };

	if (sim_fi_hit(fi, NPUSIM_MMU_STORM, NULL, key) ||
	    sim_fi_hit(fi, NPUSIM_MMU_INVALID, NULL, key))
		return NE1_MMU_NOT_PRESENT;
	if (write && sim_fi_hit(fi, NPUSIM_MMU_PERMISSION, NULL, key))
		return NE1_MMU_READ_ONLY;
	return sim_fi_hit(fi, NPUSIM_DMA_FAULT, NULL, key) ? NE1_MMU_BUS : NE1_MMU_OK;
}

void sim_fi_walked(struct sim_fi *fi)
{
	if (fi)
		count(&fi->count.walks);
}

bool sim_fi_walk_fails(struct sim_fi *fi, unsigned int asid, uint64_t va)
{
	return fi && sim_fi_hit(fi, NPUSIM_WALK_ERROR, NULL,
				SIM_FI_KEY(atomic_load(&fi->pgd[asid]), va));
}

bool sim_fi_tlb_stale(struct sim_fi *fi)
{
	return sim_fi_hit(fi, NPUSIM_TLB_STALE, NULL, SIM_FI_KEY(0));
}
