// SPDX-License-Identifier: MIT
/* Compiled programs against the CPU executor, to the bit, on many shapes, with the hazard checker
 * on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile/program.h"
#include "compile_rig.h"
#include "ne1_cmd.h"

#define KIB	1024u
#define OP(kind)	(1ull << NPU_OP_##kind)

/* ---- shapes ------------------------------------------------------------------------------ */

#define SPEC(hid, f, h, kv, hd, voc, mat, em)	\
	{ .n_layers = 2, .hidden = hid, .ffn = f, .n_heads = h, .n_kv_heads = kv, .head_dim = hd, \
	  .n_vocab = voc, .n_ctx = 1024, .matrix = mat, .embd = em }

#define MIX	NPU_TYPE_F64	/* tiny_model's mixture of types */
#define F32	NPU_TYPE_F32
#define F16	NPU_TYPE_F16
#define BF16	NPU_TYPE_BF16
#define Q4_0	NPU_TYPE_Q4_0
#define Q4_1	NPU_TYPE_Q4_1
#define Q8_0	NPU_TYPE_Q8_0

static const struct shape {
	const char *name;
	struct tiny_spec spec;
	uint32_t sram, n_ctx;
	uint32_t m;		/* tokens of the prefill program */
	uint32_t steps[6];	/* prefill lengths, then 3 single tokens */
} shapes[] = {
	{ "one head", SPEC(64, 96, 1, 1, 64, 90, MIX, Q8_0), 256 * KIB, 300, 7, { 7, 3 } },
	{ "MHA 2", SPEC(64, 96, 2, 2, 32, 90, MIX, Q8_0), 256 * KIB, 300, 16, { 16, 16, 1 } },
	{ "MQA 2", SPEC(64, 96, 2, 1, 32, 90, MIX, Q8_0), 256 * KIB, 300, 16, { 15, 16, 1 } },
	{ "GQA 4/2", SPEC(64, 96, 4, 2, 32, 90, MIX, Q8_0),
	  256 * KIB, 300, 32, { 32, 32, 32, 31 } },
	{ "MHA 4", SPEC(96, 96, 4, 4, 16, 90, MIX, Q8_0), 256 * KIB, 300, 32, { 32, 32, 32, 30 } },
	{ "GQA 9/3", SPEC(576, 320, 9, 3, 64, 333, Q4_1, Q8_0), 1024 * KIB, 300, 40,
	  { 40, 40, 40, 40, 40, 39 } },
	{ "9/3 in 384 KiB", SPEC(576, 320, 9, 3, 64, 333, Q4_1, Q8_0), 384 * KIB, 300, 8,
	  { 8, 8, 5 } },
	{ "MQA 8", SPEC(128, 160, 8, 1, 32, 100, MIX, Q8_0), 512 * KIB, 300, 20, { 20, 1, 20 } },
	{ "head_dim 128", SPEC(256, 256, 4, 2, 128, 64, MIX, Q8_0),
	  512 * KIB, 300, 12, { 12, 12 } },
	{ "head_dim 2", SPEC(32, 32, 4, 2, 2, 32, MIX, Q8_0), 256 * KIB, 300, 12, { 12, 9 } },
	{ "q4_0", SPEC(96, 160, 3, 3, 32, 65, Q4_0, Q4_0), 256 * KIB, 140, 9, { 9, 9 } },
	{ "q4_1", SPEC(96, 160, 3, 1, 32, 65, Q4_1, Q4_1), 256 * KIB, 140, 9, { 9, 9 } },
	{ "q8_0", SPEC(96, 160, 3, 3, 32, 65, Q8_0, Q8_0), 256 * KIB, 140, 9, { 9, 9 } },
	{ "f16", SPEC(50, 70, 5, 5, 10, 77, F16, F16), 256 * KIB, 140, 9, { 9, 9 } },
	{ "f16 odd", SPEC(51, 71, 3, 1, 10, 77, F16, F16), 256 * KIB, 140, 9, { 9, 9 } },
	{ "bf16", SPEC(50, 70, 5, 5, 10, 77, BF16, BF16), 256 * KIB, 140, 9, { 9, 9 } },
	{ "f32 odd", SPEC(51, 71, 3, 3, 10, 77, F32, F32), 256 * KIB, 140, 9, { 9, 9 } },
	{ "untied", { .n_layers = 1, .hidden = 64, .ffn = 64, .n_heads = 2, .n_kv_heads = 2,
		      .head_dim = 32, .n_vocab = 1, .n_ctx = 64, .matrix = MIX, .embd = F32, .untied = 1 },
	  256 * KIB, 64, 5, { 5 } },
	/* Too small for whole columns: k in steps, KV heads one by one, single buffers. */
	{ "k in steps", SPEC(1024, 2048, 16, 4, 64, 99, Q4_1, Q8_0), 160 * KIB, 200, 2,
	  { 2, 2, 1 } },
	{ "k in steps, f16", SPEC(512, 768, 8, 4, 64, 99, F16, F16), 128 * KIB, 200, 2,
	  { 2, 2, 1 } },
	{ "k in steps, f32", SPEC(512, 768, 8, 8, 64, 99, F32, F32), 128 * KIB, 200, 2,
	  { 2, 2, 1 } },
	{ "many KV heads", SPEC(512, 256, 16, 16, 32, 99, Q8_0, Q8_0), 192 * KIB, 400, 6,
	  { 6, 6, 5 } },
	{ "4 MiB", SPEC(256, 512, 8, 4, 32, 500, MIX, Q8_0), 4096 * KIB, 600, 200,
	  { 200, 200, 150 } },
};

static uint32_t put_aside;

static void test_shape(void **state)
{
	const struct shape *s = *state;
	struct rig_program prefill, decode;
	struct rig r;
	uint32_t i;

	rig_open(&r, &s->spec, s->n_ctx, s->sram);
	assert_ok(rig_compile(&r, s->m, NPU_LOGITS_ALL, 0, &prefill));
	assert_ok(rig_compile(&r, 1, NPU_LOGITS_LAST, 0, &decode));
	assert_int_equal(npu_program_n_segments(decode.p), 2);
	for (i = 0; i < 6 && s->steps[i]; i++)
		rig_step(&prefill, s->steps[i]);
	for (i = 0; i < 4; i++)
		rig_step(&decode, 1);
	rig_step(&prefill, 1);
	rig_step(&prefill, 1);
	put_aside += r.put_aside;
	rig_program_free(&prefill);
	rig_program_free(&decode);
	rig_close(&r);
}

/* Behind all shapes: that they were put aside is no accident. */
static void test_put_aside(void **state)
{
	(void)state;
	print_message("# put aside %u times\n", put_aside);
	assert_true(put_aside > 100);
}

/* ---- context and logits ------------------------------------------------------------------ */

/* Each position of a cache of three tiles, the last one not full, one token at a time. */
static void test_every_position(void **state)
{
	struct rig_program decode;
	struct rig r;
	uint32_t i;

	(void)state;
	rig_open(&r, &tiny_default, 300, 256 * KIB);
	assert_ok(rig_compile(&r, 1, NPU_LOGITS_LAST, 0, &decode));
	for (i = 0; i < 300; i++)
		rig_step(&decode, 1);
	assert_int_equal(npu_program_run(decode.p, 1, 300, 1, NULL), NPU_ERR_LIMIT);
	assert_non_null(strstr(npu_error_message(), "300"));
	assert_int_equal(npu_program_run(decode.p, 0, 0, 1, NULL), NPU_ERR_INVALID);
	assert_int_equal(npu_program_run(decode.p, 1, 0, 2, NULL), NPU_ERR_LIMIT);
	assert_int_equal(npu_program_run(decode.p, 1, 0, 0, NULL), NPU_ERR_LIMIT);
	rig_program_free(&decode);
	rig_close(&r);
}

/* All kinds of logits, tokens beyond n_valid, chunks that end anywhere in a tile or at the end. */
static void test_logits(void **state)
{
	static const uint32_t lengths[] = { 1,	13, 5,	13, 13, 2,  13, 13,
					    13, 13, 13, 13, 7,	13, 1,	13 };
	struct rig_program none, last, all;
	struct rig r;
	uint32_t i;

	(void)state;
	rig_open(&r, &tiny_default, 290, 256 * KIB);
	assert_ok(rig_compile(&r, 13, NPU_LOGITS_NONE, 0, &none));
	assert_ok(rig_compile(&r, 13, NPU_LOGITS_LAST, 0, &last));
	assert_ok(rig_compile(&r, 13, NPU_LOGITS_ALL, 0, &all));
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		rig_step(i % 3 == 0 ? &none : i % 3 == 1 ? &last : &all, lengths[i]);
	while (r.pos < 290)
		rig_step(&last, 290 - r.pos < 13 ? 290 - r.pos : 13);
	rig_program_free(&none);
	rig_program_free(&last);
	rig_program_free(&all);
	rig_close(&r);
}

/* ---- placement --------------------------------------------------------------------------- */

static const uint64_t on_cpu[] = {
	OP(ATTENTION), OP(RMS_NORM), OP(MATMUL), OP(ROPE), OP(KV_APPEND), OP(SWIGLU), OP(ADD),
	OP(ROW_SELECT), OP(ATTENTION) | OP(KV_APPEND), OP(MATMUL) | OP(ATTENTION), ~0ull,
};

static void test_cpu_ops(void **state)
{
	struct rig_program prefill, decode;
	struct rig r;
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(on_cpu) / sizeof(on_cpu[0]); i++) {
		rig_open(&r, &tiny_default, 300, 256 * KIB);
		assert_ok(rig_compile(&r, 9, NPU_LOGITS_LAST, on_cpu[i], &prefill));
		assert_ok(rig_compile(&r, 1, NPU_LOGITS_LAST, on_cpu[i], &decode));
		rig_step(&prefill, 9);
		rig_step(&prefill, 4);
		rig_step(&decode, 1);
		rig_step(&decode, 1);
		rig_program_free(&prefill);
		rig_program_free(&decode);
		rig_close(&r);
	}
}

static void test_placement(void **state)
{
	const struct npu_op_placement *place;
	struct npu_program_info info;
	struct rig_program p;
	struct rig r;
	uint32_t i;

	(void)state;
	rig_open(&r, &tiny_default, 300, 256 * KIB);
	assert_ok(rig_compile(&r, 1, NPU_LOGITS_LAST, 0, &p));
	for (i = 0; i < npu_graph_n_ops(p.g); i++) {
		place = npu_program_placement(p.p, i);
		if (npu_graph_op(p.g, i)->kind == NPU_OP_GET_ROWS) {
			assert_false(place->on_npu);
			assert_true(place->planned);
			assert_non_null(place->reason);
		} else {
			assert_true(place->on_npu);
			assert_null(place->reason);
		}
	}
	assert_null(npu_program_placement(p.p, i));
	assert_null(npu_program_segment(p.p, 2));
	assert_ok(npu_program_info(p.p, &info));
	assert_true(info.weight_bytes > 0 && info.weight_bytes < npu_weights_bytes(r.weights));
	assert_true(info.sram_acts + info.sram_ring <= info.sram_bytes);
	rig_program_free(&p);
	/* Without products there is nothing worth a job. */
	assert_ok(rig_compile(&r, 1, NPU_LOGITS_LAST, OP(MATMUL) | OP(ATTENTION), &p));
	assert_int_equal(npu_program_n_segments(p.p), 1);
	assert_non_null(strstr(npu_program_placement(p.p, 1)->reason, "job"));
	rig_program_free(&p);
	rig_close(&r);
}

/* ---- limits ------------------------------------------------------------------------------ */

static void test_max_tokens(void **state)
{
	static const uint32_t srams[] = { 128 * KIB, 256 * KIB, 1024 * KIB };
	struct tiny_spec spec = SPEC(256, 512, 8, 4, 32, 500, MIX, NPU_TYPE_Q8_0);
	const struct npu_chip_info *chip;
	struct rig_program p;
	struct rig r;
	uint32_t i, m, max, last = 0;

	(void)state;
	for (i = 0; i < 3; i++) {
		rig_open(&r, &spec, 300, srams[i]);
		chip = npu_device_chip(r.dev);
		max = npu_compile_max_tokens(chip, r.full, 4096);
		assert_in_range(max, last + 1, 4095);
		last = max;
		assert_int_equal(npu_compile_max_tokens(chip, r.full, 3), 3);
		assert_int_equal(rig_compile(&r, 4 * max, NPU_LOGITS_ALL, 0, &p), NPU_ERR_LIMIT);
		assert_non_null(strstr(npu_error_message(), "SRAM"));
		/* Single buffers and the smallest ring, as many tokens as that allows. */
		for (m = 4 * max; rig_compile(&r, m, NPU_LOGITS_ALL, 0, &p); m--)
			;
		assert_true(m >= max);
		if (m < 300)
			rig_step(&p, m);
		rig_program_free(&p);
		if (m < 300) {
			rig_close(&r);
			rig_open(&r, &spec, 300, srams[i]);
			chip = npu_device_chip(r.dev);
		}
		assert_ok(rig_compile(&r, max, NPU_LOGITS_ALL, 0, &p));
		rig_step(&p, max < 200 ? max : 200);
		rig_step(&p, 40 < max ? 40 : max);
		rig_program_free(&p);
		rig_close(&r);
	}
}

static void test_too_small(void **state)
{
	struct tiny_spec spec = SPEC(2048, 256, 16, 4, 128, 64, NPU_TYPE_Q4_1, NPU_TYPE_Q8_0);
	struct rig_program p;
	struct rig r;

	(void)state;
	rig_open(&r, &spec, 300, 64 * KIB);
	assert_int_equal(npu_compile_max_tokens(npu_device_chip(r.dev), r.full, 100), 0);
	assert_int_equal(rig_compile(&r, 1, NPU_LOGITS_LAST, 0, &p), NPU_ERR_LIMIT);
	assert_non_null(strstr(npu_error_message(), "65536"));
	assert_non_null(strstr(npu_error_message(), "'"));
	rig_close(&r);
}

/* Weights and cache of one model do not serve another. */
static void test_mismatch(void **state)
{
	struct tiny_spec other = tiny_default;
	struct rig_program p;
	npu_weights *weights;
	struct rig a, b;
	npu_kv *kv;

	(void)state;
	other.ffn = 64;
	other.n_kv_heads = 4;
	rig_open(&a, &tiny_default, 300, 256 * KIB);
	rig_open(&b, &other, 300, 256 * KIB);
	assert_ok(npu_weights_new(a.dev, b.full, &weights));
	assert_ok(npu_kv_new(a.dev, b.full, &kv));
	assert_int_equal(npu_program_new(a.dev, weights, a.kv, a.full, NULL, &p.p),
			 NPU_ERR_INVALID);
	assert_int_equal(npu_program_new(a.dev, a.weights, kv, a.full, NULL, &p.p),
			 NPU_ERR_INVALID);
	assert_int_equal(npu_program_new(a.dev, b.weights, a.kv, a.full, NULL, &p.p),
			 NPU_ERR_INVALID);
	npu_weights_del(weights);
	npu_kv_del(kv);
	rig_close(&a);
	rig_close(&b);
}

/* ---- runs -------------------------------------------------------------------------------- */

/* Traffic of a decode step: weights, cache, O(hidden) and the stream. */
static void test_traffic(void **state)
{
	struct tiny_spec spec = SPEC(576, 1536, 9, 3, 64, 2000, NPU_TYPE_Q4_1, NPU_TYPE_Q8_0);
	struct npu_program_info info;
	struct npu_run_stats stats;
	struct rig_program p;
	uint64_t extra;
	struct rig r;

	(void)state;
	rig_open(&r, &spec, 300, 1024 * KIB);
	assert_ok(rig_compile(&r, 1, NPU_LOGITS_LAST, 0, &p));
	rig_step(&p, 1);
	assert_ok(npu_program_info(p.p, &info));
	assert_ok(npu_program_run(p.p, 1, 0, 1, &stats));
	assert_true(stats.device_ns > 0 && stats.temp_die_mc > 0 && stats.energy_nj > 0);
	assert_true(stats.dram_rd_bytes > info.weight_bytes);
	extra = 64ull * info.n_commands + 2 * 2 * 192 * 2 + 16 * 576 * 4;
	assert_true(stats.dram_rd_bytes < info.weight_bytes + extra);
	/* What is saved before YIELDs may take a tenth of the time. */
	assert_true(stats.dram_wr_bytes <=
		    2 * 2 * 192 * 2 + 2000 * 4 + 256 + stats.dram_rd_bytes / 10);
	rig_program_free(&p);
	rig_close(&r);
}

/* A stream that faults (its cache is gone) is an error with words; the program works again
 * afterwards.
 */
static void test_fault(void **state)
{
	struct rig_program p;
	npu_vm *vm;
	struct rig r;

	(void)state;
	rig_open(&r, &tiny_default, 300, 256 * KIB);
	assert_ok(rig_compile(&r, 1, NPU_LOGITS_LAST, 0, &p));
	rig_step(&p, 1);
	assert_ok(npu_device_vm(r.dev, &vm));
	((struct ne1_params *)((uint8_t *)p.npu[npu_graph_find(p.g, "tokens")] - 512))->base[1] +=
		1ull << 36;
	assert_int_equal(npu_program_run(p.p, 1, 1, 1, NULL), NPU_ERR_FAULT);
	assert_non_null(strstr(npu_error_message(), "MMU fault"));
	((struct ne1_params *)((uint8_t *)p.npu[npu_graph_find(p.g, "tokens")] - 512))->base[1] -=
		1ull << 36;
	rig_step(&p, 1);
	rig_program_free(&p);
	rig_close(&r);
}

static void test_dump(void **state)
{
	struct rig_program p;
	char *text = NULL;
	size_t size = 0;
	struct rig r;
	FILE *f;

	(void)state;
	rig_open(&r, &tiny_default, 300, 256 * KIB);
	assert_ok(rig_compile(&r, 1, NPU_LOGITS_LAST, 0, &p));
	f = open_memstream(&text, &size);
	npu_program_dump(p.p, 1, f);
	fclose(f);
	assert_non_null(strstr(text, "softmax.first"));
	assert_non_null(strstr(text, "skip "));
	assert_non_null(strstr(text, "mm c f32"));
	assert_non_null(strstr(text, "end\n"));
	assert_non_null(strstr(text, "<- weights+0x"));
	assert_non_null(strstr(text, "-> kv+0x"));
	assert_non_null(strstr(text, "clip n_valid"));
	assert_null(strstr(text, "?"));
	free(text);
	rig_program_free(&p);
	rig_close(&r);
}

static void collect_log(void *user, npu_log_level level, const char *line)
{
	if (level == NPU_LOG_WARN)
		snprintf(user, 200, "%s", line);
}

static void test_dump_stages(void **state)
{
	char warning[200] = "";

	(void)state;
	assert_true(npu_dump_wanted("plan,stream", "stream"));
	assert_true(npu_dump_wanted("all", "graph"));
	assert_false(npu_dump_wanted("plans", "plan"));
	assert_false(npu_dump_wanted("plan", "plans"));
	assert_false(npu_dump_wanted("", "plan"));
	assert_false(npu_dump_wanted(NULL, "plan"));
	npu_set_log(collect_log, warning);
	npu_dump_check(NULL);
	npu_dump_check("graph,partition,,plan,stream,all,");
	assert_string_equal(warning, "");
	npu_dump_check("plan,streams");
	assert_non_null(strstr(warning, "'streams'"));
	npu_set_log(NULL, NULL);
}

static void test_options(void **state)
{
	struct npu_compile_options opt = { .struct_size = sizeof(opt) - 4 };
	struct rig_program p;
	npu_program *none;
	struct rig r;

	(void)state;
	rig_open(&r, &tiny_default, 300, 256 * KIB);
	assert_ok(rig_compile(&r, 1, NPU_LOGITS_LAST, 0, &p));
	assert_int_equal(npu_program_new(r.dev, r.weights, r.kv, p.g, &opt, &none),
			 NPU_ERR_INVALID);
	assert_null(none);
	rig_program_free(&p);
	rig_close(&r);
}

#define N_SHAPES	(sizeof(shapes) / sizeof(shapes[0]))

int main(void)
{
	static const struct CMUnitTest fixed[] = {
		cmocka_unit_test(test_put_aside),
		cmocka_unit_test(test_every_position),
		cmocka_unit_test(test_logits),
		cmocka_unit_test(test_cpu_ops),
		cmocka_unit_test(test_placement),
		cmocka_unit_test(test_max_tokens),
		cmocka_unit_test(test_too_small),
		cmocka_unit_test(test_mismatch),
		cmocka_unit_test(test_traffic),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_dump_stages),
		cmocka_unit_test(test_options),
	};
	enum { N_FIXED = sizeof(fixed) / sizeof(fixed[0]) };
	static struct CMUnitTest tests[N_SHAPES + N_FIXED];
	static char names[N_SHAPES][80];
	size_t i;

	for (i = 0; i < N_SHAPES; i++) {
		snprintf(names[i], sizeof(names[i]), "shape: %s", shapes[i].name);
		tests[i] =
			(struct CMUnitTest){ names[i], test_shape, NULL, NULL, (void *)&shapes[i] };
	}
	memcpy(tests + N_SHAPES, fixed, sizeof(fixed));
	return cmocka_run_group_tests_name("compile", tests, NULL, NULL);
}
