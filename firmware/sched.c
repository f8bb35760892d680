/* SPDX-License-Identifier: MIT */
/*
 * Strict priority between the four levels; within a level queues have turns of one time slice.  But
 * each NE1_PATIENCE_NS one queue of the lowest level, that has waited for so long, is favoured: it
 * has its turn one level above, among those who need no privilege either.  Others may wait for what
 * its jobs signal, and must not wait for long: a job that does not end within this slice goes on
 * there, behind at most FAVOUR_BEHIND others each time, until it ends or the favour has cost
 * NE1_PATIENCE_NS.  One queue is favoured at a time: beside one queue of the level above the lowest
 * has half of a core at most, beside FAVOUR_BEHIND or more it has one slice in FAVOUR_BEHIND + 1.
 *
 * The ready queues of a level stand in line.  The first one waits until enough cores are free for
 * its job, and none of its level or below overtakes it, so that jobs of one core cannot starve a
 * job of several.  A queue goes to the end of the line when its slice is used up or when it had
 * nothing to run; one that was preempted, or whose job ended early, comes back to the front with
 * the rest of its slice, but behind one that is collecting cores.
 *
 * Nobody is taken off a core but at a YIELD.  Which cores are to yield is worked out anew whenever
 * something has changed, so a request whose reason is gone is taken back.
 */
#include "sched.h"

#include <stddef.h>

#include "asid.h"
#include "cores.h"
#include "job.h"
#include "timer.h"

#define LEVELS	(NE1_PRIO_LOW + 1)
#define NOBODY	0xffu
#define FAVOUR_BEHIND	3u	/* slices of others before the next one of who is favoured */

_Static_assert(NE1_MAX_QUEUES < NOBODY, "queue numbers are bytes");

struct line {
	uint8_t first, last;
	bool collects;		/* the first one waits for several cores */
};

static struct line lines[LEVELS];
static bool patience;		/* TIMER_PATIENCE is set */
static uint8_t favoured;	/* queue of the lowest level that is one level above */
static uint64_t favour_since_ns;	/* device time of the last favour */
static uint64_t favour_busy_ns;		/* what its queue had used by then */
static uint8_t next[NE1_MAX_QUEUES];
static bool in_line[NE1_MAX_QUEUES];

void sched_init(void)
{
	for (unsigned int level = 0; level < LEVELS; level++)
		lines[level] = (struct line){ .first = NOBODY, .last = NOBODY };
	for (unsigned int i = 0; i < NE1_MAX_QUEUES; i++)
		in_line[i] = false;
	patience = false;
	favoured = NOBODY;
	favour_since_ns = 0;
}

/* Behind @before, or to the front if that is NOBODY. */
static void insert(struct line *line, uint8_t before, uint8_t index)
{
	uint8_t *link = before == NOBODY ? &line->first : &next[before];

	next[index] = *link;
	*link = index;
	if (next[index] == NOBODY)
		line->last = index;
}

static void take_out(struct line *line, uint8_t index)
{
	uint8_t before = NOBODY;

	if (line->first == index) {
		line->first = next[index];
		line->collects = false;
	} else {
		for (before = line->first; next[before] != index; before = next[before])
			;
		next[before] = next[index];
	}
	if (line->last == index)
		line->last = before;
}

/* Somebody of the lowest level has waited from @since_ns on; looked at when that is too long. */
static void watch(uint64_t since_ns)
{
	if (since_ns < favour_since_ns)
		since_ns = favour_since_ns;
	timer_set(TIMER_PATIENCE, since_ns + NE1_PATIENCE_NS);
	patience = true;
}

static struct queue *longest_waiting(void)
{
	struct queue *q = NULL;

	for (uint8_t i = lines[NE1_PRIO_LOW].first; i != NOBODY; i = next[i]) {
		if (!q || queue_at(i)->since_ns < q->since_ns)
			q = queue_at(i);
	}
	return q;
}

/* Whether who is favoured has a job to end, or the rest of its first slice. */
static bool favour_goes_on(const struct queue *q)
{
	uint64_t used_ns = q->busy_ns - favour_busy_ns;

	return used_ns < q->slice_ns || (q->started && used_ns < NE1_PATIENCE_NS);
}

static void end_favour(struct queue *q)
{
	const struct queue *waits = longest_waiting();

	favoured = NOBODY;
	q->used_ns = 0;
	if (waits)
		watch(waits->since_ns);
}

/* Behind some, and not behind all: how many they are must not decide when its job ends. */
static void insert_favoured(uint8_t index)
{
	struct line *line = &lines[NE1_PRIO_NORMAL];
	uint8_t before = line->first;

	for (unsigned int n = 1; n < FAVOUR_BEHIND && before != line->last; n++)
		before = next[before];
	insert(line, before, index);
}

/* Into the line of its level: for a new turn, or for the rest of one that it has begun. */
static void line_up(struct queue *q, bool rest)
{
	struct line *line;

	q->level = q->index == favoured ? NE1_PRIO_NORMAL : q->priority;
	line = &lines[q->level];
	if (rest)
		insert(line, line->collects ? line->first : NOBODY, q->index);
	else if (q->index == favoured)
		insert_favoured(q->index);
	else
		insert(line, line->last, q->index);
	if (q->level != NE1_PRIO_LOW)
		return;

	q->since_ns = timer_now();
	if (!patience && favoured == NOBODY)
		watch(q->since_ns);
}

void sched_set_ready(struct queue *q, bool ready)
{
	bool rest;

	if (q->index == favoured && !q->running && !(ready && favour_goes_on(q)))
		end_favour(q);
	rest = q->used_ns && q->used_ns < q->slice_ns;
	if (!q->running && !(ready && rest))
		q->used_ns = 0;
	if (in_line[q->index] == ready)
		return;
	in_line[q->index] = ready;
	if (ready)
		line_up(q, rest);
	else
		take_out(&lines[q->level], q->index);
}

/* Who has waited longest is favoured, and nobody else until that is over. */
void sched_end_patience(void)
{
	struct queue *q = longest_waiting();
	uint64_t now = timer_now();

	patience = false;
	if (!q || favoured != NOBODY)
		return;
	if (now - q->since_ns < NE1_PATIENCE_NS) {
		watch(q->since_ns);
		return;
	}
	take_out(&lines[NE1_PRIO_LOW], q->index);
	favoured = q->index;
	favour_since_ns = now;
	favour_busy_ns = q->busy_ns;
	q->used_ns = 0;
	q->level = NE1_PRIO_NORMAL;
	insert_favoured(q->index);
}

static struct queue *first_in(const struct line *line)
{
	return line->first == NOBODY ? NULL : queue_at(line->first);
}

static struct queue *pick(void)
{
	for (unsigned int level = 0; level < LEVELS; level++) {
		struct queue *q = first_in(&lines[level]);

		if (q)
			return q;
	}
	return NULL;
}

static unsigned int size_of(uint32_t mask)
{
	unsigned int n = 0;

	for (; mask; mask &= mask - 1)
		n++;
	return n;
}

/* Cores that yield for other reasons than time or priority: their queue is to be suspended, or
 * another core of their job has yielded already, and the job is put aside only as a whole.
 */
static uint32_t must_yield(void)
{
	uint32_t mask = 0;

	for (unsigned int c = 0; c < cores_count(); c++) {
		struct queue *q = core_queue(c);

		if (q && (q->waiting == QUEUE_SUSPEND || job_width(q) > size_of(q->running)))
			mask |= 1u << c;
	}
	return mask;
}

/* The cores outside of @taken of a job with the lowest priority below @level; 0 if there is none.
 */
static uint32_t lowest_below(unsigned int level, uint32_t taken)
{
	const struct queue *lowest = NULL;

	for (unsigned int c = 0; c < cores_count(); c++) {
		const struct queue *q = core_queue(c);

		if (q && !(taken >> c & 1) && q->level > level &&
		    (!lowest || q->level > lowest->level))
			lowest = q;
	}
	return lowest ? lowest->running : 0;
}

/* Adds jobs of lower priority to the cores of @coming until they are @need; if even all were not
 * enough, none is disturbed.
 */
static bool claim(const struct queue *q, unsigned int need, uint32_t *coming)
{
	uint32_t all = *coming, more;

	while (size_of(all) < need) {
		more = lowest_below(q->level, all);
		if (!more)
			return false;
		all |= more;
	}
	*coming = all;
	return true;
}

/* Adds to @mask what has to yield for those who wait, in their order.  Cores that come free anyway
 * count.
 */
static uint32_t preempt(uint32_t mask)
{
	uint32_t coming = cores_idle() | mask;
	unsigned int need = 0;

	for (unsigned int level = 0; level < LEVELS; level++) {
		for (uint8_t i = lines[level].first; i != NOBODY; i = next[i]) {
			struct queue *q = queue_at(i);

			need += job_width(q);
			if (!claim(q, need, &coming))
				return coming & ~cores_idle();
			if (!asid_available(q->vm))
				coming |= lowest_below(level, coming);
		}
	}
	return coming & ~cores_idle();
}

/* What @q may run for yet before those who wait for it, or UINT64_MAX.  Who is favoured has used what
 * it has of the lowest level: where those of that level alone wait, they do so to the favour's end.
 */
static uint64_t turn_left_ns(const struct queue *q)
{
	uint64_t used = q->used_ns, turn = q->slice_ns;

	if (!first_in(&lines[q->level])) {
		if (q->index != favoured || !first_in(&lines[NE1_PRIO_LOW]))
			return UINT64_MAX;
		used = q->busy_ns - favour_busy_ns;
		turn = NE1_PATIENCE_NS;
	}
	return used < turn ? turn - used : 0;
}

/* Adds jobs whose turn is over while others wait for it, and sets the timer for the next one. */
static uint32_t end_slices(uint32_t mask)
{
	uint64_t now = 0, first = UINT64_MAX;

	for (unsigned int c = 0; c < cores_count(); c++) {
		const struct queue *q = core_queue(c);
		uint64_t left, end;

		if (!q || mask >> c & 1)
			continue;
		left = turn_left_ns(q);
		if (left == UINT64_MAX)
			continue;
		if (!now)
			now = timer_now();
		end = core_started_ns(c) + left;
		if (end <= now)
			mask |= q->running;
		else if (end < first)
			first = end;
	}
	timer_set(TIMER_SLICE, first);
	return mask;
}

void sched_run(void)
{
	struct queue *q;

	while ((q = pick()) && job_start(q))
		;
	if (q)
		lines[q->level].collects = job_width(q) > 1;
	cores_request_yield(end_slices(preempt(must_yield())));
}
