// SPDX-License-Identifier: MIT
/*
 * SmolLM2-135M on the device that NPU_DEVICE names gives the bits of the CPU: logits of a prompt
 * and of 64 greedy tokens after it, whichever way the prompt is fed; and errors leave the session
 * as it was. For NPU_DEVICE=cpu the two sides differ in chunk size and number of threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model.h"

#define N_PROMPTS 3
#define N_GREEDY  64

struct fixture {
	npu_gguf *model;
	json_t *golden;
	npu_session *cpu, *dev;
	float *want, *got;
	uint32_t n_vocab;
};

static uint32_t *prompt(const struct fixture *f, size_t i, uint32_t *n)
{
	const json_t *gen = json_array_get(json_object_get(f->golden, "generation"), i);

	return read_ids(json_object_get(gen, "prompt_ids"), n);
}

static void assert_same(const struct fixture *f, size_t i, const char *when, uint32_t step)
{
	for (uint32_t id = 0; id < f->n_vocab; id++)
		if (memcmp(&f->want[id], &f->got[id], sizeof(float)))
			fail_msg("prompt %zu, %s %u: logit of token %u is %a, on the CPU %a", i,
				 when, step, id, (double)f->got[id], (double)f->want[id]);
}

static void test_generation(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < N_PROMPTS; i++) {
		uint32_t n, *ids = prompt(f, i, &n);

		ok(npu_session_reset(f->cpu));
		ok(npu_session_reset(f->dev));
		ok(npu_session_eval(f->cpu, ids, n, f->want, 1));
		ok(npu_session_eval(f->dev, ids, n, f->got, 1));
		for (uint32_t step = 0; step < N_GREEDY; step++) {
			uint32_t token = argmax(f->want, f->n_vocab);

			assert_same(f, i, "step", step);
			assert_int_equal(argmax(f->got, f->n_vocab), token);
			ok(npu_session_eval(f->cpu, &token, 1, f->want, 1));
			ok(npu_session_eval(f->dev, &token, 1, f->got, 1));
		}
		free(ids);
	}
}

/* In one go, token by token, and in two pieces with all logits of the second. */
static void test_pieces(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < N_PROMPTS; i++) {
		uint32_t n, *ids = prompt(f, i, &n), tail = 3;
		float *rows = malloc(tail * f->n_vocab * sizeof(float));

		assert_non_null(rows);
		ok(npu_session_reset(f->dev));
		ok(npu_session_eval(f->dev, ids, n, f->want, 1));
		ok(npu_session_reset(f->dev));
		for (uint32_t j = 0; j < n; j++)
			ok(npu_session_eval(f->dev, &ids[j], 1, f->got, j + 1 == n));
		assert_same(f, i, "token by token, tokens", n);
		ok(npu_session_reset(f->dev));
		ok(npu_session_eval(f->dev, ids, n - tail, NULL, 0));
		ok(npu_session_eval(f->dev, ids + n - tail, tail, rows, tail));
		memcpy(f->got, rows + (size_t)(tail - 1) * f->n_vocab, f->n_vocab * sizeof(float));
		assert_same(f, i, "in pieces, tokens", n);
		free(rows);
		free(ids);
	}
}

static void test_errors(void **state)
{
	struct fixture *f = *state;
	uint32_t n, *ids = prompt(f, 0, &n), bad = f->n_vocab, n_ctx = npu_session_n_ctx(f->dev);
	uint32_t *many = calloc(n_ctx, sizeof(*many));

	assert_non_null(many);
	ok(npu_session_reset(f->dev));
	ok(npu_session_eval(f->dev, ids, n, f->want, 1));
	ok(npu_session_reset(f->dev));
	ok(npu_session_eval(f->dev, ids, n - 1, NULL, 0));
	assert_int_equal(npu_session_eval(f->dev, many, n_ctx, f->got, 1), NPU_ERR_LIMIT);
	assert_int_equal(npu_session_eval(f->dev, &bad, 1, f->got, 1), NPU_ERR_INVALID);
	assert_int_equal(npu_session_pos(f->dev), n - 1);
	ok(npu_session_eval(f->dev, ids + n - 1, 1, f->got, 1));
	assert_same(f, 0, "after errors, tokens", n);
	free(many);
	free(ids);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->model = open_model();
	f->golden = load_golden();
	f->cpu = open_session(f->model, "cpu", 256, 5, 2);
	f->dev = open_session(f->model, NULL, 256, 0, 0);
	f->n_vocab = npu_session_n_vocab(f->dev);
	f->want = malloc(f->n_vocab * sizeof(float));
	f->got = malloc(f->n_vocab * sizeof(float));
	assert_true(f->want && f->got);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	npu_session_close(f->dev);
	npu_session_close(f->cpu);
	npu_gguf_close(f->model);
	json_decref(f->golden);
	free(f->got);
	free(f->want);
	free(f);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generation),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests_name("model/equal", tests, setup, teardown);
}
