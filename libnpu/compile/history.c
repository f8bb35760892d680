// SPDX-License-Identifier: MIT
#include "compile/history.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

npu_status history_init(struct history *h, uint32_t n)
{
	h->n = n;
	h->past = calloc(n + 1ul, sizeof(*h->past));
	h->starts = calloc(n / 64 + 1ul, sizeof(*h->starts));
	if (!h->past || !h->starts) {
		history_fini(h);
		return npu_fail(NPU_ERR_NOMEM, "stream: no memory for %u granules", n);
	}
	h->starts[0] = 1;
	return NPU_OK;
}

void history_fini(struct history *h)
{
	free(h->past);
	free(h->starts);
	memset(h, 0, sizeof(*h));
}

static void set_start(struct history *h, uint32_t g)
{
	h->starts[g / 64] |= 1ull << g % 64;
}

static void clear_start(struct history *h, uint32_t g)
{
	h->starts[g / 64] &= ~(1ull << g % 64);
}

/* Where the run of granule @g starts.  Granule 0 always starts one. */
static uint32_t run_of(const struct history *h, uint32_t g)
{
	uint32_t w = g / 64, above = 63 - g % 64;
	uint64_t bits = h->starts[w] << above >> above;

	while (!bits)
		bits = h->starts[--w];
	return w * 64 + 63 - (uint32_t)__builtin_clzll(bits);
}

/* Start of the first run behind granule @g, at most @end. */
static uint32_t next_run(const struct history *h, uint32_t g, uint32_t end)
{
	uint32_t w = ++g / 64;
	uint64_t bits;

	if (g >= end)
		return end;
	bits = h->starts[w] >> g % 64 << g % 64;
	while (!bits) {
		if (++w * 64 >= end)
			return end;
		bits = h->starts[w];
	}
	g = w * 64 + (uint32_t)__builtin_ctzll(bits);
	return g < end ? g : end;
}

/* Let a run start at @g. */
static void split(struct history *h, uint32_t g)
{
	uint32_t run;

	if (g >= h->n)
		return;
	run = run_of(h, g);
	if (run == g)
		return;
	h->past[g] = h->past[run];
	set_start(h, g);
}

static bool same_past(const struct past *a, const struct past *b)
{
	return a->writer == b->writer && a->written == b->written &&
	       !memcmp(a->read, b->read, sizeof(a->read));
}

void history_need(const struct history *h, unsigned int engine, struct span span, bool write,
		  uint32_t need[HISTORY_ENGINES])
{
	const struct past *p;
	unsigned int d;
	uint32_t at;

	for (at = run_of(h, span.first); at < span.end; at = next_run(h, at, span.end)) {
		p = &h->past[at];
		if (p->writer != engine && p->written > need[p->writer])
			need[p->writer] = p->written;
		for (d = 0; write && d < HISTORY_ENGINES; d++)
			if (p->read[d] > need[d])
				need[d] = p->read[d];
	}
}

void history_write(struct history *h, unsigned int engine, struct span span, uint32_t seq)
{
	uint32_t at;

	split(h, span.end);
	for (at = span.first; at < span.end; at = next_run(h, at, span.end))
		clear_start(h, at);
	h->past[span.first] = (struct past){ .writer = engine, .written = seq };
	set_start(h, span.first);
}

void history_read(struct history *h, unsigned int engine, struct span span, uint32_t seq)
{
	uint32_t at, last = span.first;

	split(h, span.first);
	split(h, span.end);
	for (at = span.first; at < span.end; at = next_run(h, at, span.end)) {
		h->past[at].read[engine] = seq;
		/* Reads of rows leave runs behind that later become equal. */
		if (at != last && same_past(&h->past[at], &h->past[last]))
			clear_start(h, at);
		else
			last = at;
	}
}
