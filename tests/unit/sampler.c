// SPDX-License-Identifier: MIT
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm/pcg.h"
#include "npu/llm.h"

#define N 100u

#define assert_ok(call) assert_string_equal((call) ? npu_error_message() : "", "")

static float logits[N];

/* 0.0 to 10.0 in steps of 0.1, shuffled: the best, 10.0, is token 30. */
static int setup(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < N; i++)
		logits[i] = (float)(i * 37 % 101) / 10.0f;
	return 0;
}

static npu_sampler *made(const struct npu_sampler_options *o)
{
	npu_sampler *s;

	assert_ok(npu_sampler_new(o, N, &s));
	return s;
}

static struct npu_sampler_options options(float temperature, uint64_t seed)
{
	struct npu_sampler_options o;

	npu_sampler_defaults(&o);
	o.temperature = temperature;
	o.seed = seed;
	return o;
}

static uint32_t sample(npu_sampler *s)
{
	uint32_t id = NPU_TOKEN_NONE;

	assert_ok(npu_sampler_sample(s, logits, &id));
	assert_true(id < N);
	return id;
}

/* The reference implementation's first outputs for seed 42, stream 54. */
static void pcg_is_pcg32(void **state)
{
	static const uint32_t want[] = { 0xa15c02b7, 0x7b47f409, 0xba1d3330,
					 0x83d2f293, 0xbfa4784b, 0xcbed606e };
	struct pcg p;

	(void)state;
	pcg_seed(&p, 42, 54);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(pcg_next(&p), want[i]);
	for (int i = 0; i < 1000; i++) {
		double u = pcg_uniform(&p);

		assert_true(u >= 0 && u < 1);
	}
}

static void greedy_takes_the_first_best(void **state)
{
	struct npu_sampler_options o = options(0, 1);
	npu_sampler *s = made(&o);
	uint32_t best = sample(s);

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		assert_true(logits[i] <= logits[best]);
	logits[50] = logits[20] = 11;
	assert_int_equal(sample(s), 20);
	npu_sampler_del(s);
	setup(NULL);
}

/* Tokens that an independent implementation drew (exp() of Python). */
static void draws_the_known_tokens(void **state)
{
	static const struct {
		uint64_t seed;
		float temperature;
		uint32_t top_k;
		float top_p, min_p;
		uint32_t want[16];
	} cases[] = {
		{ 7, 1.5f, 0, 1, 0,
		  { 62, 13, 73, 81, 57, 8, 79, 43, 27, 32, 90, 19, 26, 57, 27, 62 } },
		{ 7, 1.5f, 40, 0.9f, 0.05f,
		  { 27, 60, 87, 46, 68, 30, 46, 8, 19, 49, 5, 90, 90, 68, 19, 27 } },
		{ 123456789012345, 0.8f, 0, 0.95f, 0,
		  { 49, 76, 90, 5, 68, 68, 49, 19, 60, 98, 19, 49, 19, 90, 57, 79 } },
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct npu_sampler_options o = options(cases[c].temperature, cases[c].seed);
		npu_sampler *s;

		o.top_k = cases[c].top_k;
		o.top_p = cases[c].top_p;
		o.min_p = cases[c].min_p;
		s = made(&o);
		for (int i = 0; i < 16; i++)
			assert_int_equal(sample(s), cases[c].want[i]);
		npu_sampler_del(s);
	}
}

/* Chi-square of 200000 draws over the 40 most probable tokens and the rest. */
static void draws_the_softmax_distribution(void **state)
{
	enum { DRAWS = 200000 };
	struct npu_sampler_options o = options(2, 3);
	npu_sampler *s = made(&o);
	unsigned int count[N] = { 0 };
	double sum = 0, chi = 0, rest = 0, rest_count = 0;

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		sum += exp(logits[i] / 2);
	for (int i = 0; i < DRAWS; i++)
		count[sample(s)]++;
	for (uint32_t i = 0; i < N; i++) {
		double want = DRAWS * exp(logits[i] / 2) / sum;

		if (logits[i] < 6.05f) {
			rest += want;
			rest_count += count[i];
			continue;
		}
		chi += (count[i] - want) * (count[i] - want) / want;
	}
	chi += (rest_count - rest) * (rest_count - rest) / rest;
	assert_true(chi < 80);		/* 40 degrees of freedom: exceeded once in 5000 seeds */
	assert_true(chi > 12);
	npu_sampler_del(s);
}

/* Draws often and tells how many tokens came, and the smallest logit among them. */
static void spread(const struct npu_sampler_options *o, unsigned int *kinds, float *lowest)
{
	npu_sampler *s = made(o);
	bool seen[N] = { false };

	*kinds = 0;
	*lowest = INFINITY;
	for (int i = 0; i < 20000; i++) {
		uint32_t id = sample(s);

		*kinds += !seen[id];
		seen[id] = true;
		*lowest = fminf(*lowest, logits[id]);
	}
	npu_sampler_del(s);
}

static void top_k_top_p_and_min_p_cut(void **state)
{
	struct npu_sampler_options o = options(5, 11);
	unsigned int kinds;
	float lowest;

	(void)state;
	o.top_k = 7;
	spread(&o, &kinds, &lowest);
	assert_int_equal(kinds, 7);
	o.top_k = 1;
	spread(&o, &kinds, &lowest);
	assert_int_equal(kinds, 1);
	/* Steps of 0.1: the best token has 1 - e^-0.1 = 9.5 % (nearly), n have 1 - e^(-n/10). */
	o = options(5, 11);
	o.top_p = 0.5f;
	spread(&o, &kinds, &lowest);
	assert_int_equal(kinds, 7);
	o.top_p = 1e-6f;
	spread(&o, &kinds, &lowest);
	assert_int_equal(kinds, 1);
	/* e^-d >= 0.368 for d up to 0.99967. */
	o = options(5, 11);
	o.min_p = 0.368f;
	spread(&o, &kinds, &lowest);
	assert_int_equal(kinds, 10);
	o = options(5, 11);
	spread(&o, &kinds, &lowest);
	assert_true(kinds > 90);
}

static void penalty_moves_recent_tokens(void **state)
{
	struct npu_sampler_options o = options(0, 1);
	npu_sampler *s;
	uint32_t best, second;

	(void)state;
	o.repeat_penalty = 1.5f;
	o.repeat_last = 2;
	s = made(&o);
	best = sample(s);
	assert_ok(npu_sampler_accept(s, best));
	second = sample(s);
	assert_int_not_equal(second, best);
	assert_ok(npu_sampler_accept(s, second));
	assert_int_not_equal(sample(s), best);
	assert_ok(npu_sampler_accept(s, 0));		/* best leaves the window of two */
	assert_int_equal(sample(s), best);
	assert_int_equal(npu_sampler_accept(s, N), NPU_ERR_INVALID);
	npu_sampler_del(s);
}

/* Which ids a thousand draws meet, as bits. */
static uint32_t met(const struct npu_sampler_options *o)
{
	npu_sampler *s = made(o);
	uint32_t bits = 0;

	for (int i = 0; i < 1000; i++) {
		uint32_t id = sample(s);

		bits |= 1u << (id < 31 ? id : 31);
	}
	npu_sampler_del(s);
	return bits;
}

/* Exactly at a limit, and equal logits: the lower id goes first. */
static void limits_and_ties(void **state)
{
	struct npu_sampler_options o = options(1, 3);

	for (uint32_t i = 0; i < N; i++)
		logits[i] = i < 4 ? 0 : -60;
	o.top_k = 3;
	assert_int_equal(met(&o), 7);
	o = options(1, 3);
	o.min_p = 1;
	assert_int_equal(met(&o), 15);
	logits[2] = logits[3] = -60;
	o = options(1, 3);
	o.top_k = 2;
	o.top_p = 0.5f;
	assert_int_equal(met(&o), 1);
	setup(state);
}

/* Negative logits move away from zero, positive ones towards it. */
static void penalty_always_lowers(void **state)
{
	static const struct { float last, other; uint32_t want; } cases[] = {
		{ 4, 3, 1 }, { 4, 1, 0 }, { -1, -1.5f, 1 }, { -1, -3, 0 }, { 0, -1, 0 },
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct npu_sampler_options o = options(0, 1);
		npu_sampler *s;

		for (uint32_t i = 0; i < N; i++)
			logits[i] = -100;
		logits[0] = cases[c].last;
		logits[1] = cases[c].other;
		o.repeat_penalty = 2;
		s = made(&o);
		assert_ok(npu_sampler_accept(s, 0));
		assert_int_equal(sample(s), cases[c].want);
		npu_sampler_del(s);
	}
	setup(state);
}

static void refuses_logits_that_are_no_numbers(void **state)
{
	struct npu_sampler_options o = options(1, 1);
	npu_sampler *s = made(&o);
	uint32_t id;

	(void)state;
	logits[17] = NAN;
	assert_int_equal(npu_sampler_sample(s, logits, &id), NPU_ERR_INVALID);
	assert_non_null(strstr(npu_error_message(), "17"));
	logits[17] = INFINITY;
	assert_int_equal(npu_sampler_sample(s, logits, &id), NPU_ERR_INVALID);
	for (uint32_t i = 0; i < N; i++)
		logits[i] = -INFINITY;
	assert_int_equal(npu_sampler_sample(s, logits, &id), NPU_ERR_INVALID);
	logits[33] = -3e38f;			/* the only possible one, however improbable */
	for (int i = 0; i < 100; i++)
		assert_int_equal(sample(s), 33);
	npu_sampler_del(s);
	setup(NULL);
}

static void refuses_options_out_of_range(void **state)
{
	const struct npu_sampler_options good = options(1, 1);
	struct npu_sampler_options bad[11];
	npu_sampler *s;

	(void)state;
	for (size_t i = 0; i < 11; i++)
		bad[i] = good;
	bad[0].temperature = -0.1f;
	bad[1].temperature = NAN;
	bad[2].top_p = 0;
	bad[3].top_p = 1.1f;
	bad[4].top_p = NAN;
	bad[5].min_p = -1;
	bad[6].min_p = 2;
	bad[7].repeat_penalty = 0;
	bad[8].repeat_last = 65537;
	bad[9].struct_size = 4;
	bad[10].repeat_penalty = INFINITY;
	for (size_t i = 0; i < 11; i++) {
		assert_int_equal(npu_sampler_new(&bad[i], N, &s), NPU_ERR_INVALID);
		assert_null(s);
	}
	assert_int_equal(npu_sampler_new(&good, 0, &s), NPU_ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pcg_is_pcg32),
		cmocka_unit_test(greedy_takes_the_first_best),
		cmocka_unit_test(draws_the_known_tokens),
		cmocka_unit_test(draws_the_softmax_distribution),
		cmocka_unit_test(top_k_top_p_and_min_p_cut),
		cmocka_unit_test(penalty_moves_recent_tokens),
		cmocka_unit_test(limits_and_ties),
		cmocka_unit_test(penalty_always_lowers),
		cmocka_unit_test(refuses_logits_that_are_no_numbers),
		cmocka_unit_test(refuses_options_out_of_range),
	};

	return cmocka_run_group_tests_name("sampler", tests, setup, NULL);
}
