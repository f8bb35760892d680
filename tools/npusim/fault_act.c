// SPDX-License-Identifier: MIT
/*
 * What faults without events of their own do when they fire, and the engine's thread: it does what
 * goes on by itself (storms, scribbling) and what comes later (interrupts, stray writes).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dma.h"
#include "fault_priv.h"
#include "irq.h"
#include "log.h"
#include "mc.h"
#include "mmu.h"
#include "vfio_user.h"

#define NS_PER_S	1000000000ull
#define STEP_NS		1000000ull	/* storms come in batches of this length */
#define BATCH_MAX	10000u
#define STRAY_BYTES	64u

/* ---- Actions ---- */

static void insert(struct sim_fi *fi, enum npusim_fault fault, const struct sim_fi_shot *shot)
{
	struct insert add = { .msg = { .type = (uint16_t)shot->arg[0] }, .count = 1 };

	if (fault == NPUSIM_EVT_FLOOD) {
		add.count = (uint32_t)shot->arg[1];
		add.overrun = shot->arg[2];
		add.msg.queue = (uint32_t)shot->arg[3];
	} else {
		add.msg.id = (uint32_t)shot->arg[1];
		add.msg.queue = (uint32_t)shot->arg[2];
		add.msg.status = (uint16_t)shot->arg[3];
	}
	pthread_mutex_lock(&fi->lock);
	if (fi->n_inserts < INSERTS_MAX)
		fi->insert[fi->n_inserts++] = add;
	pthread_mutex_unlock(&fi->lock);
	sim_fi_wake(fi);
}

void sim_fi_act(struct sim_fi *fi, enum npusim_fault fault, const struct sim_fi_shot *shot)
{
	struct sim_fi_shot timed = *shot;

	switch (fault) {
	case NPUSIM_FW_CRASH:
		pthread_mutex_lock(&fi->lock);
		fi->crash_wanted = true;
		fi->crash = *shot;
		pthread_mutex_unlock(&fi->lock);
		sim_fi_wake(fi);
		break;
	case NPUSIM_EVT_INJECT:
	case NPUSIM_EVT_FLOOD:
		insert(fi, fault, shot);
		break;
	case NPUSIM_IRQ_SPURIOUS:
		sim_irq_send(fi->parts.irq, shot->arg[0]);
		break;
	case NPUSIM_REMOVAL:
		sim_vfio_drop(fi->parts.vfio);
		break;
	case NPUSIM_STALL:
		if (!timed.duration_ns)
			timed.duration_ns = NS_PER_S;
		sim_fi_begin(fi, fault, &timed);
		break;
	default:
		sim_fi_begin(fi, fault, shot);
		break;
	}
}

void sim_fi_wake(struct sim_fi *fi)
{
	pthread_mutex_lock(&fi->lock);
	pthread_cond_broadcast(&fi->cond);
	pthread_mutex_unlock(&fi->lock);
	if (fi->parts.mc)
		sim_mc_kick(fi->parts.mc);
}

/* ---- Later ---- */

void sim_fi_later(struct sim_fi *fi, const struct later *later)
{
	unsigned int i;

	pthread_mutex_lock(&fi->lock);
	for (i = 0; i < LATER_MAX && fi->later[i].used; i++)
		;
	if (i < LATER_MAX) {
		fi->later[i] = *later;
		fi->later[i].used = true;
	}
	pthread_cond_broadcast(&fi->cond);
	pthread_mutex_unlock(&fi->lock);
	if (i == LATER_MAX)
		sim_log(SIM_LOG_WARN, fi->parts.who, "more than %u delayed at a time: one dropped",
			LATER_MAX);
}

/* @mem: STRAY_BYTES of guest memory that others may use at the same time. */
static void scatter(uint8_t *mem, uint64_t value)
{
	for (unsigned int i = 0; i < STRAY_BYTES / 8; i++)
		__atomic_store_n((uint64_t *)mem + i, value, __ATOMIC_RELAXED);
}

/* On a bus address that means nothing to us: an IOMMU, if there is one, has to stop it. */
static void write_by_client(struct sim_fi *fi, const struct later *later)
{
	uint64_t data[STRAY_BYTES / 8];

	for (unsigned int i = 0; i < STRAY_BYTES / 8; i++)
		data[i] = later->value;
	sim_vfio_dma_write(fi->parts.vfio, later->bus & ~63ull, data, sizeof(data));
}

static void stray_write(struct sim_fi *fi, const struct later *later)
{
	struct sim_mem *mem = sim_mmu_port_mem(fi->port);
	uint64_t len = STRAY_BYTES;
	enum ne1_mmu_code code;
	uint8_t *at;

	pthread_mutex_lock(&fi->port_lock);
	mem->enter(mem);
	if (later->bus == SIM_FI_ANY)
		at = mem->map(mem, later->asid, later->va & ~63ull, &len, true, &code);
	else
		at = sim_dma_find(fi->parts.dma, later->bus & ~63ull, true, NULL, &len);
	if (at && len >= STRAY_BYTES)
		scatter(at, later->value);
	mem->leave(mem);
	pthread_mutex_unlock(&fi->port_lock);
	if (later->bus != SIM_FI_ANY && !at)
		write_by_client(fi, later);
	sim_log(SIM_LOG_INFO, fi->parts.who, "stray write %s",
		at && len >= STRAY_BYTES ? "done" : "stopped: nothing is mapped there");
}

/*
 * Does what is due, and takes the time of the rest into *@next.  With the lock, dropped meanwhile.
 */
static void run_later(struct sim_fi *fi, uint64_t now, uint64_t *next)
{
	for (unsigned int i = 0; i < LATER_MAX; i++) {
		struct later later = fi->later[i];

		if (!later.used)
			continue;
		if (now < later.due_ns) {
			*next = later.due_ns < *next ? later.due_ns : *next;
			continue;
		}
		fi->later[i].used = false;
		pthread_mutex_unlock(&fi->lock);
		if (later.irq)
			sim_irq_send(fi->parts.irq, later.vector);
		else
			stray_write(fi, &later);
		pthread_mutex_lock(&fi->lock);
	}
}

/* ---- Scribbling ---- */

struct target {
	uint64_t va;
	unsigned int words;	/* 1 or 2 */
};

static struct target queue_target(const struct shared *sh, const struct queue_info *info,
				  uint64_t q, uint64_t rng, unsigned int bit)
{
	uint64_t line = sh->queue_table + q * sizeof(struct ne1_fw_queue), slot;

	if (bit == 2)			/* head or state */
		return (struct target){
			line + offsetof(struct ne1_fw_queue, head) + 4 * (rng & 1), 1
		};
	if (bit == 3 || !info->pgd || !info->entries)
		return (struct target){ line + offsetof(struct ne1_fw_queue, done_seqno), 2 };
	slot = info->results + rng % info->entries * sizeof(struct ne1_job_result);
	return (struct target){ slot + 8 * (rng >> 32 & 7), 2 };
}

/* One place among those that @shot chose. */
static struct target choose(struct sim_fi *fi, const struct sim_fi_shot *shot, uint64_t *rng)
{
	const struct shared *sh = &fi->shared;
	unsigned int bit;
	uint64_t q;

	do
		bit = sim_fi_random(rng) % 7;
	while (!(shot->arg[0] >> bit & 1));
	q = shot->arg[2] == SIM_FI_ANY ? sim_fi_random(rng) % sh->queue_count : shot->arg[2];
	if (q >= sh->queue_count)
		q = 0;
	switch (bit) {
	case 0:
		return (struct target){ sh->evt_ctl, 1 };
	case 1:
		return (struct target){ sh->cmd_ctl + offsetof(struct ne1_ring_ctl, read), 1 };
	case 5:
		return (struct target){ sh->log_ctl, 1 };
	case 6:
		return (struct target){ offsetof(struct ne1_fw_if, fw_abi_major) +
					4 * (sim_fi_random(rng) & 3), 1 };
	default:
		return queue_target(sh, &fi->queue[q], q, sim_fi_random(rng), bit);
	}
}

/* Values near what is there hit other checks than values from far away. */
static uint32_t odd_value(uint32_t old, uint64_t rng)
{
	switch (rng & 3) {
	case 0:
		return old + (uint32_t)(rng >> 8 & 7) - 3;
	case 1:
		return (rng >> 8 & 1) ? UINT32_MAX : 0;
	case 2:
		return old ^ 1u << (rng >> 8 & 31);
	default:
		return (uint32_t)(rng >> 32);
	}
}

static void scribble(struct sim_fi *fi, const struct target *t, uint64_t *rng)
{
	struct sim_mem *mem = sim_mmu_port_mem(fi->port);
	enum ne1_mmu_code code;

	for (unsigned int i = 0; i < t->words; i++) {
		uint64_t len = 4;
		uint32_t *at = (uint32_t *)mem->map(mem, 0, t->va + 4 * i, &len, true, &code);

		if (at && len == 4)
			__atomic_store_n(at, odd_value(__atomic_load_n(at, __ATOMIC_RELAXED),
						       sim_fi_random(rng)), __ATOMIC_RELEASE);
	}
}

static void scribble_batch(struct sim_fi *fi, const struct sim_fi_shot *shot, unsigned int n,
			   uint64_t *rng)
{
	struct sim_mem *mem = sim_mmu_port_mem(fi->port);
	struct target target = { 0 };
	bool known;

	for (unsigned int i = 0; i < n; i++) {
		pthread_mutex_lock(&fi->lock);
		known = fi->shared.known && shot->arg[0];
		if (known)
			target = choose(fi, shot, rng);
		pthread_mutex_unlock(&fi->lock);
		if (!known)
			return;
		pthread_mutex_lock(&fi->port_lock);
		mem->enter(mem);
		scribble(fi, &target, rng);
		mem->leave(mem);
		pthread_mutex_unlock(&fi->port_lock);
	}
}

/* ---- The thread ---- */

/* Something that goes on at a rate. */
struct stream {
	enum npusim_fault fault;
	bool running;
	uint64_t last_ns;
	uint64_t rng;
};

/* With the lock, dropped meanwhile.  *@next: when to look again. */
static void run_stream(struct sim_fi *fi, struct stream *st, uint64_t now, uint64_t *next)
{
	struct slot *s = &fi->slot[st->fault];
	struct sim_fi_shot shot = s->shot;
	uint64_t rate = shot.arg[1], n;

	if (!s->active || now >= s->until_ns || !rate) {
		st->running = false;
		return;
	}
	if (!st->running)
		*st = (struct stream){ .fault = st->fault, .running = true, .rng = shot.random[0],
				       .last_ns = now - NS_PER_S / rate };
	n = (now - st->last_ns) * rate / NS_PER_S;
	st->last_ns += n * NS_PER_S / rate;
	if (n > BATCH_MAX)
		n = BATCH_MAX;
	pthread_mutex_unlock(&fi->lock);
	if (st->fault == NPUSIM_SCRIBBLE)
		scribble_batch(fi, &shot, (unsigned int)n, &st->rng);
	else
		for (uint64_t i = 0; i < n; i++)
			sim_irq_send(fi->parts.irq, shot.arg[0]);
	pthread_mutex_lock(&fi->lock);
	n = NS_PER_S / rate > STEP_NS ? NS_PER_S / rate : STEP_NS;
	if (now + n < *next)
		*next = now + n;
}

static void *fault_main(void *arg)
{
	struct stream storm = { .fault = NPUSIM_IRQ_STORM }, scrib = { .fault = NPUSIM_SCRIBBLE };
	struct sim_fi *fi = arg;

	pthread_mutex_lock(&fi->lock);
	while (!fi->quit) {
		uint64_t next = UINT64_MAX, now = sim_fi_now();
		struct timespec until;

		run_later(fi, now, &next);
		run_stream(fi, &storm, now, &next);
		run_stream(fi, &scrib, now, &next);
		if (fi->quit)
			break;
		until = (struct timespec){ .tv_sec = (time_t)(next / NS_PER_S),
					   .tv_nsec = (long)(next % NS_PER_S) };
		if (next == UINT64_MAX)
			pthread_cond_wait(&fi->cond, &fi->lock);
		else
			pthread_cond_timedwait(&fi->cond, &fi->lock, &until);
	}
	pthread_mutex_unlock(&fi->lock);
	return NULL;
}

/* ---- Life ---- */

int sim_fi_start(struct sim_fi *fi, const struct sim_fi_parts *parts)
{
	int err;

	fi->port = sim_mmu_port_new(parts->mmu);
	if (!fi->port)
		return ENOMEM;
	fi->parts = *parts;
	err = pthread_create(&fi->thread, NULL, fault_main, fi);
	fi->has_thread = !err;
	return err;
}

void sim_fi_stop(struct sim_fi *fi)
{
	if (!fi)
		return;
	pthread_mutex_lock(&fi->lock);
	fi->quit = true;
	pthread_cond_broadcast(&fi->cond);
	pthread_mutex_unlock(&fi->lock);
	if (fi->has_thread)
		pthread_join(fi->thread, NULL);
	fi->has_thread = false;
	sim_mmu_port_free(fi->port);
	fi->port = NULL;
}

bool sim_fi_read_queue(struct sim_fi *fi, unsigned int queue, void *line, uint32_t size)
{
	struct sim_mem *mem = sim_mmu_port_mem(fi->port);
	uint32_t i, word, n = size / 4;
	enum ne1_mmu_code code;
	uint64_t va;
	bool known;

	pthread_mutex_lock(&fi->lock);
	known = fi->shared.known && queue < fi->shared.queue_count && fi->queue[queue].pgd;
	va = fi->shared.queue_table + queue * (uint64_t)sizeof(struct ne1_fw_queue);
	pthread_mutex_unlock(&fi->lock);
	if (!known)
		return false;
	pthread_mutex_lock(&fi->port_lock);
	mem->enter(mem);
	for (i = 0; i < n; i++) {
		uint64_t len = 4;
		const uint32_t *at = (uint32_t *)mem->map(mem, 0, va + 4 * i, &len, false, &code);

		if (!at || len != 4)
			break;
		word = __atomic_load_n(at, __ATOMIC_ACQUIRE);
		memcpy((uint8_t *)line + 4 * i, &word, sizeof(word));
	}
	mem->leave(mem);
	pthread_mutex_unlock(&fi->port_lock);
	return i == n;
}
