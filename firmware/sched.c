/* SPDX-License-Identifier: MIT */
/*
 * Strict priority between the four levels, round robin within a level.  The queue whose turn it is
 * waits until enough cores are free for its job, and nothing overtakes it, so that jobs of one core
 * cannot starve a job of several.
 *
 * Priorities act between jobs only.  A yielded core holds the job's front-end state, which the
 * hardware cannot save, and loses it with the next START; so in version 1.0 a job that was started
 * runs to its end, YIELD_REQ stays 0, and timeslice_us of QUEUE_CREATE has no effect.
 */
#include "sched.h"

#include <stddef.h>

#include "hal.h"
#include "job.h"

#define LEVELS	(NE1_PRIO_LOW + 1)
#define WORDS	2	/* of a map of NE1_MAX_QUEUES bits */

_Static_assert(NE1_MAX_QUEUES == WORDS * 32, "next_after() looks at two words");

static uint32_t ready[LEVELS][WORDS];
static uint8_t last[LEVELS];	/* queue that had its turn last */

void sched_init(void)
{
	for (unsigned int level = 0; level < LEVELS; level++) {
		for (unsigned int word = 0; word < WORDS; word++)
			ready[level][word] = 0;
		last[level] = NE1_MAX_QUEUES - 1;
	}
}

void sched_set_ready(const struct queue *q, bool on)
{
	uint32_t bit = 1u << (q->index % 32);

	if (on)
		ready[q->priority][q->index / 32] |= bit;
	else
		ready[q->priority][q->index / 32] &= ~bit;
}

/* The first ready queue after @from, going round; there is one. */
static uint32_t next_after(const uint32_t map[WORDS], unsigned int from)
{
	unsigned int word = from / 32;
	uint32_t bits = map[word] & (~0u << (from % 32) << 1);

	if (!bits) {
		word ^= 1;
		bits = map[word];
	}
	if (!bits) {
		word ^= 1;
		bits = map[word];
	}
	return word * 32 + (uint32_t)__builtin_ctz(bits);
}

static struct queue *pick(void)
{
	for (unsigned int level = 0; level < LEVELS; level++) {
		const uint32_t *map = ready[level];

		if (map[0] | map[1])
			return queue_at(next_after(map, last[level]));
	}
	return NULL;
}

void sched_run(void)
{
	struct queue *q;

	while (job_cores_free() && (q = pick()) && job_start(q))
		last[q->priority] = q->index;
}
