// SPDX-License-Identifier: MIT
/*
 * SmolLM2-135M on the in-process NPU with and without being put aside at every YIELD: the same
 * bits; and how long a decode step keeps others waiting for one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/sim.h"
#include "model.h"
#include "npu/compile.h"

#define N_PROMPTS	2
#define N_STEPS		6
#define INTERVAL_NS	150000u
#define POSITIONS	1024u

struct run {
	float *logits;		/* N_STEPS + 1 rows per prompt */
	uint32_t n_vocab;
};

static void run_prompt(npu_session *s, const json_t *gen, float *logits, uint32_t n_vocab)
{
	uint32_t n, n_greedy, *ids = read_ids(json_object_get(gen, "prompt_ids"), &n);
	uint32_t *greedy = read_ids(json_object_get(gen, "greedy"), &n_greedy);

	assert_true(n_greedy >= N_STEPS);
	ok(npu_session_reset(s));
	ok(npu_session_eval(s, ids, n, logits, 1));
	for (uint32_t i = 0; i < N_STEPS; i++)
		ok(npu_session_eval(s, &greedy[i], 1, logits + (i + 1) * (size_t)n_vocab, 1));
	free(greedy);
	free(ids);
}

static struct run run_all(const npu_gguf *model, const json_t *golden, const char *device)
{
	npu_session *s = open_session(model, device, 256, 0, 1);
	struct run run = { .n_vocab = npu_session_n_vocab(s) };
	size_t prompt = (N_STEPS + 1) * (size_t)run.n_vocab;

	run.logits = calloc(N_PROMPTS * prompt, sizeof(float));
	assert_non_null(run.logits);
	for (size_t i = 0; i < N_PROMPTS; i++)
		run_prompt(s, json_array_get(json_object_get(golden, "generation"), i),
			   run.logits + i * prompt, run.n_vocab);
	npu_session_close(s);
	return run;
}

static void test_same_bits(void **state)
{
	static const char *const devices[] = { "sim:edge,preempt", "sim:tiny,preempt" };
	json_t *golden = load_golden();
	npu_gguf *model = open_model();
	struct run want = run_all(model, golden, "sim:edge");
	size_t bytes = N_PROMPTS * (N_STEPS + 1) * (size_t)want.n_vocab * sizeof(float);

	(void)state;
	for (size_t d = 0; d < sizeof(devices) / sizeof(devices[0]); d++) {
		struct run got = run_all(model, golden, devices[d]);

		assert_int_equal(got.n_vocab, want.n_vocab);
		assert_memory_equal(got.logits, want.logits, bytes);
		free(got.logits);
	}
	free(want.logits);
	npu_gguf_close(model);
	json_decref(golden);
}

/* A program of one decode step on a device of its own. */
struct step {
	npu_device *dev;
	npu_weights *weights;
	npu_kv *kv;
	npu_graph *g;
	npu_program *program;
	uint32_t segment;
};

static void step_open(struct step *p, const npu_gguf *model, const char *device)
{
	const struct npu_llama_shape shape = {
		.n_tokens = 1, .n_ctx = POSITIONS, .logits = NPU_LOGITS_LAST,
	};

	ok(npu_device_open(device, &p->dev));
	ok(npu_llama_graph(model, &shape, &p->g));
	ok(npu_weights_new(p->dev, p->g, &p->weights));
	ok(npu_kv_new(p->dev, p->g, &p->kv));
	ok(npu_program_new(p->dev, p->weights, p->kv, p->g, NULL, &p->program));
	for (p->segment = 0; !npu_program_segment(p->program, p->segment)->on_npu; p->segment++)
		;
}

static void step_close(struct step *p)
{
	npu_program_del(p->program);
	npu_kv_del(p->kv);
	npu_weights_del(p->weights);
	npu_graph_del(p->g);
	npu_device_close(p->dev);
}

static void test_interval(void **state)
{
	static const uint32_t pos[] = { 0, 200, POSITIONS - 1 };
	npu_gguf *model = open_model();
	struct step straight, preempted;

	(void)state;
	step_open(&straight, model, "sim:edge");
	step_open(&preempted, model, "sim:edge,preempt");
	for (size_t i = 0; i < sizeof(pos) / sizeof(pos[0]); i++) {
		struct npu_run_stats a, b;
		uint64_t gap, longest;
		uint32_t n;

		ok(npu_program_run(straight.program, straight.segment, pos[i], 1, &a));
		ok(npu_program_run(preempted.program, preempted.segment, pos[i], 1, &b));
		gap = to_sim_device(straight.dev)->last_yields.gap_ns;
		n = to_sim_device(preempted.dev)->last_yields.put_aside;
		longest = to_sim_device(preempted.dev)->last_yields.part_ns;
		print_message("# position %u: %.0f us, %u YIELDs at most %.1f us apart; "
			      "put aside at each: %.0f us, a part takes at most %.1f us\n",
			      pos[i], a.device_ns * 1e-3, n, gap * 1e-3, b.cycles * 1e-3,
			      longest * 1e-3);
		assert_true(n >= a.device_ns / INTERVAL_NS);
		assert_in_range(gap, 1, INTERVAL_NS);
		assert_int_equal(to_sim_device(straight.dev)->last_yields.put_aside, 0);
		assert_int_equal(a.macs, b.macs);
	}
	step_close(&straight);
	step_close(&preempted);
	npu_gguf_close(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bits),
		cmocka_unit_test(test_interval),
	};

	return cmocka_run_group_tests_name("model/preempt", tests, NULL, NULL);
}
