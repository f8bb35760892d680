// SPDX-License-Identifier: MIT
/* Runs of granules tell the same past as an entry for every granule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile/history.h"

#define MAX_GRANULES	300u
#define STEPS		20000u

/* ---- the plain way ----------------------------------------------------------------------- */

static struct past plain[MAX_GRANULES];

static void plain_need(unsigned int engine, struct span span, bool write, uint32_t *need)
{
	for (uint32_t g = span.first; g < span.end; g++) {
		if (plain[g].writer != engine && plain[g].written > need[plain[g].writer])
			need[plain[g].writer] = plain[g].written;
		for (unsigned int d = 0; write && d < HISTORY_ENGINES; d++)
			if (plain[g].read[d] > need[d])
				need[d] = plain[g].read[d];
	}
}

static void plain_access(unsigned int engine, struct span span, bool write, uint32_t seq)
{
	for (uint32_t g = span.first; g < span.end; g++) {
		if (write)
			plain[g] = (struct past){ .writer = engine, .written = seq };
		else
			plain[g].read[engine] = seq;
	}
}

/* ---- cases ------------------------------------------------------------------------------- */

static uint32_t next(uint32_t *state, uint32_t n)
{
	*state = *state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(*state >> 8) * n >> 24);
}

static void step(struct history *h, uint32_t *state, uint32_t seq)
{
	uint32_t need[HISTORY_ENGINES] = { 0 }, want[HISTORY_ENGINES] = { 0 };
	unsigned int engine = next(state, HISTORY_ENGINES);
	bool write = next(state, 3) == 0;
	uint32_t most = next(state, 4) ? 8 : h->n;
	struct span span;

	span.first = next(state, h->n);
	if (most > h->n - span.first)
		most = h->n - span.first;
	span.end = span.first + 1 + next(state, most);
	history_need(h, engine, span, write, need);
	plain_need(engine, span, write, want);
	need[engine] = want[engine] = 0;
	assert_memory_equal(need, want, sizeof(need));
	if (write)
		history_write(h, engine, span, seq);
	else
		history_read(h, engine, span, seq);
	plain_access(engine, span, write, seq);
}

static void same_as_plain(void **unused)
{
	static const uint32_t sizes[] = { 1, 63, 64, 65, 128, MAX_GRANULES };
	uint32_t state = 1;
	struct history h;

	(void)unused;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(plain, 0, sizeof(plain));
		assert_int_equal(history_init(&h, sizes[i]), NPU_OK);
		for (uint32_t seq = 1; seq <= STEPS; seq++)
			step(&h, &state, seq);
		history_fini(&h);
	}
}

static uint32_t n_runs(const struct history *h)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w <= h->n / 64; w++)
		n += (uint32_t)__builtin_popcountll(h->starts[w]);
	return n;
}

/* What makes them quick: runs that have become equal are one again. */
static void runs_join(void **unused)
{
	const struct span all = { 0, 256 };
	struct history h;

	(void)unused;
	assert_int_equal(history_init(&h, 256), NPU_OK);
	for (uint32_t g = 0; g < 256; g += 2)
		history_read(&h, 1, (struct span){ g, g + 1 }, 1 + g);
	assert_int_equal(n_runs(&h), 256);
	history_read(&h, 1, all, 500);
	assert_int_equal(n_runs(&h), 1);
	history_read(&h, 2, (struct span){ 10, 20 }, 501);
	assert_int_equal(n_runs(&h), 3);
	history_write(&h, 0, all, 502);
	assert_int_equal(n_runs(&h), 1);
	history_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_plain),
		cmocka_unit_test(runs_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
