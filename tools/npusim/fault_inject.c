// SPDX-License-Identifier: MIT
/*
 * The engine.  Each armed fault has a random generator of its own, which moves only with the events
 * of that fault: what it decides for its n-th event depends on the seed and on n alone, however
 * threads interleave.
 */
#include "fault_priv.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "soc.h"
#include "trace.h"

#define FIRST_SEED	1

static uint64_t mix(uint64_t x)	/* SplitMix64 (S. Vigna, public domain) */
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t sim_fi_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	return mix(*state);
}

uint64_t sim_fi_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* ---- Arming ---- */

/* With the lock: what is looked at without it. */
static void update_fast(struct sim_fi *fi)
{
	unsigned int on = 0, mmu = 0;

	for (unsigned int f = 0; f < NPUSIM_FAULTS; f++) {
		struct slot *s = &fi->slot[f];

		atomic_store(&fi->fast.armed[f], s->armed);
		atomic_store(&fi->fast.active[f], s->active);
		if (!s->armed)
			continue;
		if (!sim_fi_kinds[f].event)
			on |= 1u << s->spec.on;
		if (f == NPUSIM_DMA_FAULT || f == NPUSIM_MMU_INVALID ||
		    f == NPUSIM_MMU_PERMISSION || f == NPUSIM_MMU_STORM)
			mmu = 1;
	}
	if (on & 1u << NPUSIM_ON_NOW)
		on |= 1u << NPUSIM_ON_READY;
	atomic_store(&fi->fast.on, on);
	atomic_store(&fi->fast.mmu, mmu);
}

void sim_fi_arm(struct sim_fi *fi, const struct sim_fi_spec *spec)
{
	struct slot *s = &fi->slot[spec->fault];

	pthread_mutex_lock(&fi->lock);
	*s = (struct slot){ .spec = *spec, .armed = true,
			    .skip = spec->after, .left = spec->count };
	s->rng = mix(spec->seed ? spec->seed : fi->seed ^ mix(spec->fault));
	update_fast(fi);
	pthread_mutex_unlock(&fi->lock);
	sim_log(SIM_LOG_INFO, fi->parts.who, "fault %s armed", sim_fi_kinds[spec->fault].name);
	sim_fi_wake(fi);
	if (!sim_fi_kinds[spec->fault].event && spec->on == NPUSIM_ON_NOW)
		sim_fi_fire(fi, spec->fault, NPUSIM_ON_NOW, SIM_FI_ANY);
}

static void release_engines(struct sim_fi *fi)
{
	for (unsigned int c = 0; c < NE1_MAX_CORES; c++)
		atomic_store(&fi->stuck[c].held, false);
}

void sim_fi_disarm(struct sim_fi *fi, enum npusim_fault fault)
{
	struct slot *s = &fi->slot[fault];

	pthread_mutex_lock(&fi->lock);
	s->armed = s->active = false;
	if (fault == NPUSIM_ENGINE_STUCK)
		release_engines(fi);
	if (fault == NPUSIM_RESET_STUCK)
		fi->reset_until_ns = 0;
	if (fault == NPUSIM_BOOT_STUCK)
		fi->boot_until_ns = 0;
	/* One that the core has not come to: the next firmware would die of it. */
	if (fault == NPUSIM_FW_CRASH)
		fi->crash_wanted = false;
	update_fast(fi);
	pthread_mutex_unlock(&fi->lock);
	sim_fi_wake(fi);
}

void sim_fi_disarm_all(struct sim_fi *fi)
{
	for (unsigned int f = 0; f < NPUSIM_FAULTS; f++)
		sim_fi_disarm(fi, f);
}

void sim_fi_seed(struct sim_fi *fi, uint64_t seed)
{
	pthread_mutex_lock(&fi->lock);
	fi->seed = seed;
	pthread_mutex_unlock(&fi->lock);
}

/* With the lock: a condition whose time is over ends. */
static void expire(struct sim_fi *fi, struct slot *s, uint64_t now)
{
	bool over = false;

	if (s->active && now >= s->until_ns) {
		s->active = false;
		over = true;
	}
	if (s->armed && s->expires_ns && now >= s->expires_ns) {
		s->armed = false;
		over = true;
	}
	if (over)
		update_fast(fi);
}

void sim_fi_status(struct sim_fi *fi, enum npusim_fault fault, struct sim_fi_status *status)
{
	struct slot *s = &fi->slot[fault];

	pthread_mutex_lock(&fi->lock);
	expire(fi, s, sim_fi_now());
	*status = (struct sim_fi_status){ .armed = s->armed, .active = s->active, .seen = s->seen,
					  .fired = s->fired, .spec = s->spec };
	pthread_mutex_unlock(&fi->lock);
}

unsigned int sim_fi_log(struct sim_fi *fi, uint64_t since, struct sim_fi_firing *out,
			unsigned int max)
{
	unsigned int n = 0;

	pthread_mutex_lock(&fi->lock);
	if (fi->firings > SIM_FI_LOG && since < fi->firings - SIM_FI_LOG)
		since = fi->firings - SIM_FI_LOG;
	for (; since < fi->firings && n < max; since++)
		out[n++] = fi->log[since % SIM_FI_LOG];
	pthread_mutex_unlock(&fi->lock);
	return n;
}

/* ---- Events ---- */

/* With the lock. */
static bool selected(const struct sim_fi *fi, const struct slot *s, const uint64_t *key)
{
	const struct sim_fi_kind *kind = &sim_fi_kinds[s->spec.fault];

	for (unsigned int i = 0; i < kind->selects; i++) {
		uint64_t want = s->spec.arg[i];

		if (want == SIM_FI_ANY)
			continue;
		if (i == 0 && kind->by_table)
			want = fi->queue[want].pgd ? fi->queue[want].pgd : SIM_FI_ANY;
		if (i + 1 == kind->range ? key[i] - want >= s->spec.arg[i + 1] : key[i] != want)
			return false;
	}
	return true;
}

/* Whether @s waits for this event of a trigger. */
static bool triggered(const struct slot *s, enum npusim_on on, uint64_t key)
{
	if (!s->armed)
		return false;
	if (on == NPUSIM_ON_READY && s->spec.on == NPUSIM_ON_NOW)
		return true;
	return s->spec.on == on && (s->spec.key == SIM_FI_ANY || s->spec.key == key);
}

static void remember(struct sim_fi *fi, enum npusim_fault fault, const uint64_t *key, uint64_t ns)
{
	struct sim_fi_firing *f = &fi->log[fi->firings++ % SIM_FI_LOG];

	*f = (struct sim_fi_firing){ .number = fi->firings, .time_ns = ns, .fault = fault,
				     .key = { key[0], key[1] } };
}

/* With the lock. */
static bool decide(struct sim_fi *fi, struct slot *s, const uint64_t *key, struct sim_fi_shot *shot,
		   uint64_t now)
{
	const struct sim_fi_spec *spec = &s->spec;

	expire(fi, s, now);
	if (!s->armed || !selected(fi, s, key))
		return false;
	s->seen++;
	if (s->skip) {
		s->skip--;
		return false;
	}
	if (spec->ppm < SIM_FI_PPM && sim_fi_random(&s->rng) % SIM_FI_PPM >= spec->ppm)
		return false;
	s->fired++;
	memcpy(shot->arg, spec->arg, sizeof(shot->arg));
	memcpy(shot->key, key, sizeof(shot->key));
	shot->duration_ns = spec->duration_us * 1000;
	for (unsigned int i = 0; i < SIM_FI_ARGS; i++)
		shot->random[i] = sim_fi_random(&s->rng);
	if (!sim_fi_kinds[spec->fault].duration && spec->duration_us && !s->expires_ns)
		s->expires_ns = now + spec->duration_us * 1000;
	if (s->left == 1) {
		s->armed = false;
		update_fast(fi);
	}
	if (s->left)
		s->left--;
	return true;
}

bool sim_fi_hit_slow(struct sim_fi *fi, enum npusim_fault fault, const uint64_t *key,
		     struct sim_fi_shot *shot)
{
	uint64_t ns = sim_soc_time_ns(fi->parts.soc);
	struct sim_fi_shot unused;
	bool fires;

	pthread_mutex_lock(&fi->lock);
	fires = decide(fi, &fi->slot[fault], key, shot ? shot : &unused, sim_fi_now());
	if (fires)
		remember(fi, fault, key, ns);
	pthread_mutex_unlock(&fi->lock);
	if (!fires)
		return false;
	sim_trace(fi->parts.trace, ns, fi->parts.who, "fault %s key0=0x%llx key1=0x%llx",
		  sim_fi_kinds[fault].name, (unsigned long long)key[0], (unsigned long long)key[1]);
	sim_log(SIM_LOG_INFO, fi->parts.who, "fault %s fires at %llu ns", sim_fi_kinds[fault].name,
		(unsigned long long)ns);
	return true;
}

/* ---- Conditions and triggers ---- */

void sim_fi_begin(struct sim_fi *fi, enum npusim_fault fault, const struct sim_fi_shot *shot)
{
	struct slot *s = &fi->slot[fault];

	pthread_mutex_lock(&fi->lock);
	s->active = true;
	s->until_ns = shot->duration_ns ? sim_fi_now() + shot->duration_ns : UINT64_MAX;
	s->shot = *shot;
	update_fast(fi);
	pthread_mutex_unlock(&fi->lock);
	sim_fi_wake(fi);
}

bool sim_fi_state_slow(struct sim_fi *fi, enum npusim_fault fault, struct sim_fi_shot *shot)
{
	struct slot *s = &fi->slot[fault];
	bool active;

	pthread_mutex_lock(&fi->lock);
	expire(fi, s, sim_fi_now());
	active = s->active;
	if (shot)
		*shot = s->shot;
	pthread_mutex_unlock(&fi->lock);
	return active;
}

void sim_fi_fire(struct sim_fi *fi, enum npusim_fault fault, enum npusim_on on, uint64_t key)
{
	struct sim_fi_shot shot;
	uint64_t keys[SIM_FI_ARGS] = { key, on };

	if (sim_fi_hit(fi, fault, &shot, keys))
		sim_fi_act(fi, fault, &shot);
}

void sim_fi_trigger_slow(struct sim_fi *fi, enum npusim_on on, uint64_t key)
{
	for (unsigned int f = 0; f < NPUSIM_FAULTS; f++) {
		struct slot *s = &fi->slot[f];
		bool concerned;

		if (sim_fi_kinds[f].event)
			continue;
		pthread_mutex_lock(&fi->lock);
		concerned = triggered(s, on, key);
		pthread_mutex_unlock(&fi->lock);
		if (concerned)
			sim_fi_fire(fi, f, on, key);
	}
}

/* ---- Reset ---- */

void sim_fi_reset_begin(struct sim_fi *fi)
{
	if (!fi)
		return;
	pthread_mutex_lock(&fi->lock);
	fi->resetting = true;
	fi->crash_wanted = false;
	fi->boot_until_ns = 0;
	release_engines(fi);
	for (unsigned int f = 0; f < NPUSIM_FAULTS; f++)
		if (sim_fi_kinds[f].firmware)
			fi->slot[f].active = false;
	update_fast(fi);
	pthread_mutex_unlock(&fi->lock);
	sim_fi_msg_reset(fi);
	sim_fi_wake(fi);
	sim_fi_trigger(fi, NPUSIM_ON_RESET, SIM_FI_ANY);
}

void sim_fi_reset_end(struct sim_fi *fi)
{
	if (!fi)
		return;
	pthread_mutex_lock(&fi->lock);
	fi->resetting = false;
	pthread_mutex_unlock(&fi->lock);
}

/* ---- Life ---- */

struct sim_fi *sim_fi_new(const char *who, struct sim_soc *soc, struct sim_trace *trace)
{
	struct sim_fi *fi = calloc(1, sizeof(*fi));
	pthread_condattr_t attr;

	if (!fi)
		return NULL;
	fi->parts.who = who;
	fi->parts.soc = soc;
	fi->parts.trace = trace;
	fi->seed = FIRST_SEED;
	pthread_mutex_init(&fi->lock, NULL);
	pthread_mutex_init(&fi->port_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&fi->cond, &attr);
	pthread_condattr_destroy(&attr);
	return fi;
}

void sim_fi_free(struct sim_fi *fi)
{
	if (!fi)
		return;
	pthread_cond_destroy(&fi->cond);
	pthread_mutex_destroy(&fi->port_lock);
	pthread_mutex_destroy(&fi->lock);
	free(fi);
}
