// SPDX-License-Identifier: MIT
/*
 * SmolLM2-135M on the device that NPU_DEVICE names, against a float64 evaluation of the same
 * weights.
 *
 * Generation: the reference's greedy tokens are fed one by one.  Before each, the five largest
 * reference logits must be met within BOUND, and the largest logit must be the reference's unless
 * its margin is below BOUND.  That includes the rule for free running: up to the first such step
 * both see the same tokens. Likelihood: mean -ln p of a text's next tokens over windows that start
 * at position 0.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model.h"

#define BOUND	  0.05
#define NLL_BOUND 0.002
#define NLL_CHUNK 64u

struct fixture {
	npu_gguf *model;
	json_t *golden;
	npu_session *s;
	float *logits; /* NLL_CHUNK rows */
	uint32_t n_vocab;
};

struct errors {
	double worst, sum;
	unsigned n;
};

/* One step of a generation: the logits before greedy token @step. */
static void check_step(const struct fixture *f, const json_t *gen, unsigned prompt, size_t step,
		       struct errors *err)
{
	const json_t *top5 = json_array_get(json_object_get(gen, "top5"), step);
	uint32_t best = argmax(f->logits, f->n_vocab);
	double ref[5], margin;
	uint32_t id[5];

	assert_int_equal(json_array_size(top5), 5);
	for (int i = 0; i < 5; i++) {
		const json_t *pair = json_array_get(top5, i);
		double diff;

		id[i] = json_integer_value(json_array_get(pair, 0));
		ref[i] = json_number_value(json_array_get(pair, 1));
		assert_in_range(id[i], 0, f->n_vocab - 1);
		diff = fabs(f->logits[id[i]] - ref[i]);
		if (!(diff <= BOUND))
			fail_msg("prompt %u, step %zu: logit of token %u is %.5f, reference %.5f",
				 prompt, step, id[i], (double)f->logits[id[i]], ref[i]);
		err->worst = diff > err->worst ? diff : err->worst;
		err->sum += diff;
		err->n++;
	}
	margin = ref[0] - ref[1];
	if (best != id[0] && margin >= BOUND)
		fail_msg("prompt %u, step %zu: token %u, reference %u with a margin of %.3f",
			 prompt, step, best, id[0], margin);
}

/* Returns the number of steps. */
static uint32_t run_prompt(struct fixture *f, unsigned prompt, struct errors *err)
{
	const json_t *gen = json_array_get(json_object_get(f->golden, "generation"), prompt);
	uint32_t n_prompt, n_greedy;
	uint32_t *ids = read_ids(json_object_get(gen, "prompt_ids"), &n_prompt);
	uint32_t *greedy = read_ids(json_object_get(gen, "greedy"), &n_greedy);

	ok(npu_session_reset(f->s));
	ok(npu_session_eval(f->s, ids, n_prompt, f->logits, 1));
	for (uint32_t i = 0; i < n_greedy; i++) {
		check_step(f, gen, prompt, i, err);
		ok(npu_session_eval(f->s, &greedy[i], 1, f->logits, 1));
	}
	assert_int_equal(npu_session_pos(f->s), n_prompt + n_greedy);
	free(greedy);
	free(ids);
	return n_greedy;
}

static void test_generation(void **state)
{
	struct fixture *f = *state;
	size_t n = json_array_size(json_object_get(f->golden, "generation"));
	struct errors err = { 0 };
	uint32_t steps = 0;

	assert_int_equal(n, 6);
	for (size_t i = 0; i < n; i++)
		steps += run_prompt(f, i, &err);
	assert_true(steps >= 300);
	assert_int_equal(err.n, 5 * steps);
	print_message("# %s: %u logits, worst error %.4f, mean %.4f\n",
		      npu_session_device_name(f->s), err.n, err.worst, err.sum / err.n);
}

/* -ln p(token) in double. */
static double surprise(const float *logits, uint32_t n, uint32_t token)
{
	double max = logits[argmax(logits, n)], sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += exp(logits[i] - max);
	return max + log(sum) - logits[token];
}

static void test_likelihood(void **state)
{
	struct fixture *f = *state;
	const json_t *nll = json_object_get(f->golden, "nll");
	const json_t *windows = json_object_get(nll, "windows");
	uint32_t n, *ids = read_ids(json_object_get(nll, "ids"), &n);
	double sum = 0;
	size_t w = 0;

	assert_int_equal(n, 1024);
	ok(npu_session_reset(f->s));
	for (uint32_t at = 0; at < n; at += NLL_CHUNK) {
		ok(npu_session_eval(f->s, ids + at, NLL_CHUNK, f->logits, NLL_CHUNK));
		for (uint32_t i = at; i < at + NLL_CHUNK; i++) {
			const json_t *window = json_array_get(windows, w);

			/* The last token of a window predicts nothing within it. */
			if (window && i + 1 == json_integer_value(json_array_get(window, 0))) {
				double ref = json_number_value(json_array_get(window, 1));

				print_message("# %s: N = %u, %.7f, reference %.7f\n",
					      npu_session_device_name(f->s), i + 1, sum / i, ref);
				assert_true(fabs(sum / i - ref) <= NLL_BOUND);
				w++;
			}
			if (i + 1 < n)
				sum += surprise(f->logits + (size_t)(i - at) * f->n_vocab,
						f->n_vocab, ids[i + 1]);
		}
	}
	assert_int_equal(w, 2);
	free(ids);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->model = open_model();
	f->golden = load_golden();
	f->s = open_session(f->model, NULL, 1024, 0, 0);
	f->n_vocab = npu_session_n_vocab(f->s);
	f->logits = malloc(NLL_CHUNK * (size_t)f->n_vocab * sizeof(float));
	assert_non_null(f->logits);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	npu_session_close(f->s);
	npu_gguf_close(f->model);
	json_decref(f->golden);
	free(f->logits);
	free(f);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generation),
		cmocka_unit_test(test_likelihood),
	};

	return cmocka_run_group_tests_name("model/golden", tests, setup, teardown);
}
