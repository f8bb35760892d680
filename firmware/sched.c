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
#define WORDS	(NE1_MAX_QUEUES / 32)

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

/* The first ready queue after @from, going round; -1 if none. */
static int next_after(const uint32_t map[WORDS], unsigned int from)
{
	uint32_t after = ~0u << (from % 32) << 1;

	for (unsigned int i = 0; i <= WORDS; i++) {
		unsigned int word = (from / 32 + i) % WORDS;
		uint32_t bits = i ? map[word] : map[word] & after;

		if (bits)
			return (int)(word * 32) + __builtin_ctz(bits);
	}
	return -1;
}

static struct queue *pick(void)
{
	for (unsigned int level = 0; level < LEVELS; level++) {
		int index = next_after(ready[level], last[level]);

		if (index >= 0)
			return queue_at((uint32_t)index);
	}
	return NULL;
}

void sched_run(void)
{
	struct queue *q;

	while (job_cores_free() && (q = pick()) && job_start(q))
		last[q->priority] = q->index;
}
