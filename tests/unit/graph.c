// SPDX-License-Identifier: MIT
/* Graphs: what is refused and how it is named, the SWIGLU pass, and the llama builder. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "npu/graph.h"
#include "tiny_model.h"

static void ok_(npu_status status, const char *what)
{
	if (status)
		fail_msg("%s: %s", what, npu_error_message());
}
#define ok(call) ok_(call, #call)

/* @call must fail with @status and a message that has @word in it. */
static void refused_(npu_status got, npu_status status, const char *word, int line)
{
	if (got != status || !strstr(npu_error_message(), word))
		fail_msg("line %d: status %d (%s), wanted %d with '%s'", line, got,
			 npu_error_message(), status, word);
}
#define refused(call, status, word) refused_(call, status, word, __LINE__)

static const float zeros[4096];

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(npu_op_name(NPU_OP_SWIGLU), "swiglu");
	assert_string_equal(npu_op_name(NPU_N_OPS), "?");
	assert_string_equal(npu_dtype_name(NPU_DTYPE_Q4_1), "q4_1");
	assert_string_equal(npu_dtype_name(NPU_N_DTYPES), "?");
	assert_int_equal(npu_dtype_row_bytes(NPU_DTYPE_Q8_0, 64), 68);
	assert_int_equal(npu_dtype_row_bytes(NPU_DTYPE_Q8_0, 63), 0);
	assert_int_equal(npu_dtype_row_bytes(NPU_DTYPE_F16, 3), 6);
}

static void test_tensors(void **state)
{
	const struct npu_gguf_tensor q5 = {
		.name = "q5", .type = NPU_TYPE_Q5_0, .n_dims = 2, .ne = { 32, 2, 1, 1 }
	};
	const struct npu_gguf_tensor cube = {
		.name = "cube", .type = NPU_TYPE_F32, .n_dims = 3, .ne = { 2, 2, 2, 1 }
	};
	char name[NPU_NAME_LEN + 1];
	npu_graph *g;
	uint32_t id, again;

	(void)state;
	refused(npu_graph_new(0, &g), NPU_ERR_LIMIT, "0 tokens");
	refused(npu_graph_new(5000, &g), NPU_ERR_LIMIT, "5000 tokens");
	ok(npu_graph_new(2, &g));
	ok(npu_graph_input(g, "x", NPU_DTYPE_F32, 2, 8, &id));
	refused(npu_graph_input(g, "x", NPU_DTYPE_F32, 2, 8, &again), NPU_ERR_INVALID, "'x'");
	refused(npu_graph_input(g, "", NPU_DTYPE_F32, 2, 8, &again), NPU_ERR_INVALID, "name");
	refused(npu_graph_input(g, "y", NPU_DTYPE_Q4_0, 2, 32, &again), NPU_ERR_INVALID, "q4_0");
	refused(npu_graph_input(g, "y", NPU_DTYPE_F32, 0, 8, &again), NPU_ERR_LIMIT, "0x8");
	refused(npu_graph_weight(g, &q5, &again), NPU_ERR_UNSUPPORTED, "Q5_0");
	refused(npu_graph_weight(g, &cube, &again), NPU_ERR_LIMIT, "3 dimensions");
	memset(name, 'n', NPU_NAME_LEN);
	name[NPU_NAME_LEN] = 0;
	refused(npu_graph_input(g, name, NPU_DTYPE_F32, 2, 8, &again), NPU_ERR_LIMIT, "64 bytes");
	refused(npu_graph_silu(g, name, id, NPU_DTYPE_F32, &again), NPU_ERR_LIMIT, "64 bytes");
	assert_int_equal(npu_graph_n_tensors(g), 1);
	assert_int_equal(npu_graph_n_ops(g), 0);
	assert_int_equal(npu_graph_find(g, "x"), id);
	assert_int_equal(npu_graph_find(g, "z"), NPU_NO_TENSOR);
	assert_null(npu_graph_tensor(g, 1));
	assert_null(npu_graph_op(g, 0));
	npu_graph_del(g);
	npu_graph_del(NULL);
}

/* Tensors of all kinds that ops of test_op_checks() name. */
struct ids {
	uint32_t x, y, wide, half, ids, w, norm, kv, kv_small, out;
};

static npu_graph *make_ids(struct ids *i)
{
	static const struct npu_gguf_tensor w = {
		.name = "w", .type = NPU_TYPE_F16, .n_dims = 2, .ne = { 8, 5, 1, 1 }, .data = zeros
	};
	npu_graph *g;

	ok(npu_graph_new(2, &g));
	ok(npu_graph_input(g, "x", NPU_DTYPE_F32, 2, 8, &i->x));
	ok(npu_graph_input(g, "y", NPU_DTYPE_F32, 2, 8, &i->y));
	ok(npu_graph_input(g, "wide", NPU_DTYPE_F32, 2, 9, &i->wide));
	ok(npu_graph_input(g, "half", NPU_DTYPE_F16, 2, 8, &i->half));
	ok(npu_graph_input(g, "ids", NPU_DTYPE_U32, 2, 1, &i->ids));
	ok(npu_graph_weight(g, &w, &i->w));
	ok(npu_graph_const(g, "norm", 1, 8, zeros, &i->norm));
	ok(npu_graph_kv(g, "kv", 0, 0, 16, 8, &i->kv));
	ok(npu_graph_kv(g, "kv_small", 0, 1, 8, 8, &i->kv_small));
	return g;
}

static void test_op_checks(void **state)
{
	const struct npu_attention good = { 2, 2, 4, 128, 0, 0.5f };
	struct npu_attention a = good;
	struct ids i;
	npu_graph *g = make_ids(&i);

	(void)state;
	refused(npu_graph_add(g, "o", i.x, i.wide, NPU_DTYPE_F32, &i.out), NPU_ERR_INVALID, "2x9");
	refused(npu_graph_add(g, "o", i.x, 99, NPU_DTYPE_F32, &i.out), NPU_ERR_INVALID,
		"tensor 99");
	refused(npu_graph_add(g, "o", i.x, i.w, NPU_DTYPE_F32, &i.out), NPU_ERR_INVALID, "'w'");
	refused(npu_graph_add(g, "o", i.x, i.y, NPU_DTYPE_BF16, &i.out), NPU_ERR_INVALID, "bf16");
	refused(npu_graph_add(g, "x", i.x, i.y, NPU_DTYPE_F32, &i.out), NPU_ERR_INVALID, "'x'");
	refused(npu_graph_mul(g, "o", i.ids, i.y, NPU_DTYPE_F32, &i.out), NPU_ERR_INVALID, "u32");
	refused(npu_graph_swiglu(g, "o", i.half, i.y, NPU_DTYPE_F16, &i.out), NPU_ERR_INVALID,
		"f16");
	refused(npu_graph_matmul(g, "o", i.wide, i.w, NPU_DTYPE_F32, &i.out), NPU_ERR_INVALID,
		"5x9");
	refused(npu_graph_matmul(g, "o", i.x, i.y, NPU_DTYPE_F32, &i.out), NPU_ERR_INVALID, "'y'");
	refused(npu_graph_get_rows(g, "o", i.x, i.w, &i.out), NPU_ERR_INVALID, "'x'");
	refused(npu_graph_rms_norm(g, "o", i.wide, i.norm, 1e-5f, NPU_DTYPE_F16, &i.out),
		NPU_ERR_INVALID, "1x9");
	refused(npu_graph_rms_norm(g, "o", i.x, i.norm, 0.0f, NPU_DTYPE_F16, &i.out),
		NPU_ERR_INVALID, "epsilon");
	refused(npu_graph_rms_norm(g, "o", i.x, i.norm, NAN, NPU_DTYPE_F16, &i.out),
		NPU_ERR_INVALID, "epsilon");
	refused(npu_graph_rope(g, "o", i.x, i.norm, &(struct npu_rope) { 3, 1, 0 }, NPU_DTYPE_F16,
			       &i.out),
		NPU_ERR_INVALID, "head_dim 3");
	refused(npu_graph_rope(g, "o", i.x, i.norm, &(struct npu_rope) { 8, 2, 0 }, NPU_DTYPE_F16,
			       &i.out),
		NPU_ERR_INVALID, "2x16");
	refused(npu_graph_kv_append(g, i.x, i.kv), NPU_ERR_INVALID, "f32");
	refused(npu_graph_kv_append(g, i.half, i.x), NPU_ERR_INVALID, "'x'");
	refused(npu_graph_kv_append(g, i.half, 99), NPU_ERR_INVALID, "99");
	refused(npu_graph_attention(g, "o", i.half, i.kv, i.kv_small, &good, NPU_DTYPE_F16, &i.out),
		NPU_ERR_INVALID, "8x8");
	a.n_kv_heads = 3;
	refused(npu_graph_attention(g, "o", i.half, i.kv, i.kv, &a, NPU_DTYPE_F16, &i.out),
		NPU_ERR_INVALID, "3 KV heads");
	a = good;
	a.kv_tile = 12;
	refused(npu_graph_attention(g, "o", i.half, i.kv, i.kv, &a, NPU_DTYPE_F16, &i.out),
		NPU_ERR_INVALID, "kv_tile 12");
	a = good;
	a.scale = NAN;
	refused(npu_graph_attention(g, "o", i.half, i.kv, i.kv, &a, NPU_DTYPE_F16, &i.out),
		NPU_ERR_INVALID, "scale");
	refused(npu_graph_set_output(g, i.x), NPU_ERR_INVALID, "'x'");
	refused(npu_graph_set_output(g, 99), NPU_ERR_INVALID, "99");
	assert_int_equal(npu_graph_n_ops(g), 0);
	assert_int_equal(npu_graph_n_tensors(g), 9);
	npu_graph_del(g);
}

static void test_fusion(void **state)
{
	uint32_t silu, silu2, cast, p, q, r, n;
	const struct npu_op *op;
	struct ids i;
	npu_graph *g = make_ids(&i);

	(void)state;
	ok(npu_graph_silu(g, "silu", i.x, NPU_DTYPE_F32, &silu));
	ok(npu_graph_mul(g, "p", i.y, silu, NPU_DTYPE_F16, &p)); /* fuses, operands swapped */
	ok(npu_graph_silu(g, "silu2", i.x, NPU_DTYPE_F32, &silu2));
	ok(npu_graph_mul(g, "q", silu2, i.y, NPU_DTYPE_F16, &q)); /* not: silu2 has a second use */
	ok(npu_graph_cast(g, "cast", silu2, NPU_DTYPE_F16, &cast));
	ok(npu_graph_mul(g, "r", p, q, NPU_DTYPE_F16, &r));
	ok(npu_graph_fuse_swiglu(g, &n));
	assert_int_equal(n, 1);
	assert_int_equal(npu_graph_n_ops(g), 5);
	op = npu_graph_op(g, 0);
	assert_int_equal(op->kind, NPU_OP_SWIGLU);
	assert_int_equal(op->in[0], i.x);
	assert_int_equal(op->in[1], i.y);
	assert_int_equal(op->out, p);
	for (n = 0; n < 5; n++)
		assert_int_equal(npu_graph_tensor(g, npu_graph_op(g, n)->out)->producer, n);
	assert_int_equal(npu_graph_tensor(g, silu)->producer, NPU_NO_OP);
	assert_int_equal(npu_graph_tensor(g, silu)->n_uses, 0);
	assert_int_equal(npu_graph_tensor(g, silu2)->n_uses, 2);
	npu_graph_del(g);
}

/* ---- llama ------------------------------------------------------------------------------- */

static npu_status try_model(const struct tiny_spec *spec, uint32_t n_ctx)
{
	struct npu_llama_shape shape = { .n_tokens = 1, .n_ctx = n_ctx, .logits = NPU_LOGITS_LAST };
	npu_gguf *model;
	uint8_t *copy;
	npu_graph *g;
	npu_status ret;

	ok(tiny_open(spec, &model, &copy));
	ret = npu_llama_graph(model, &shape, &g);
	assert_true(!ret == !!g);
	npu_graph_del(g);
	npu_gguf_close(model);
	free(copy);
	return ret;
}

static void test_llama_refusals(void **state)
{
	static const char *const needed[] = {
		"llama.block_count",	      "llama.context_length",
		"llama.embedding_length",     "llama.feed_forward_length",
		"llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon",
	};
	struct tiny_spec s;

	(void)state;
	ok(try_model(&tiny_default, 300));
	refused(try_model(&tiny_default, 301), NPU_ERR_LIMIT, "301");
	refused(try_model(&tiny_default, 0), NPU_ERR_LIMIT, "0 positions");
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		s = tiny_default;
		s.omit = needed[i];
		refused(try_model(&s, 10), NPU_ERR_FORMAT, needed[i]);
		if (strstr(needed[i], "epsilon"))
			continue;
		/* A size of nothing contradicts itself; one that is too large is only ours. */
		s.extra_key = needed[i];
		refused(try_model(&s, 10), NPU_ERR_FORMAT, "limit 1..");
		s.extra_value = UINT32_MAX;
		refused(try_model(&s, 10), NPU_ERR_UNSUPPORTED, needed[i]);
	}
#define WITH(field, value) (s = tiny_default, s.field = (value), &s)
	refused(try_model(WITH(arch, "gpt2"), 10), NPU_ERR_UNSUPPORTED, "gpt2");
	refused(try_model(WITH(omit, "blk.1.ffn_up.weight"), 10), NPU_ERR_NOT_FOUND,
		"blk.1.ffn_up.weight");
	refused(try_model(WITH(omit, "token_embd.weight"), 10), NPU_ERR_NOT_FOUND, "token_embd");
	refused(try_model(WITH(extra_tensor, "blk.0.attn_q.bias"), 10), NPU_ERR_UNSUPPORTED,
		"blk.0.attn_q.bias");
	refused(try_model(WITH(extra_tensor, "blk.2.attn_norm.weight"), 10), NPU_ERR_UNSUPPORTED,
		"blk.2");
	refused(try_model(WITH(extra_tensor, "rope_freqs.weight"), 10), NPU_ERR_FORMAT,
		"rope_freqs");
	refused(try_model(WITH(n_kv_heads, 3), 10), NPU_ERR_FORMAT, "3 KV heads");
	refused(try_model(WITH(head_dim, 15), 10), NPU_ERR_FORMAT, "15");
#undef WITH
#define WITH_KEY(key, value) (s = tiny_default, s.extra_key = key, s.extra_value = value, &s)
	refused(try_model(WITH_KEY("llama.expert_count", 8), 10), NPU_ERR_UNSUPPORTED,
		"expert_count");
	refused(try_model(WITH_KEY("llama.rope.dimension_count", 8), 10), NPU_ERR_UNSUPPORTED, "8");
	refused(try_model(WITH_KEY("llama.attention.value_length", 8), 10), NPU_ERR_UNSUPPORTED,
		"value length 8");
	ok(try_model(WITH_KEY("llama.attention.value_length", tiny_default.head_dim), 10));
	ok(try_model(WITH_KEY("llama.expert_count", 0), 10));
#undef WITH_KEY
	s = tiny_default;
	s.extra_key = "llama.rope.scaling.type";
	s.extra_text = "yarn";
	refused(try_model(&s, 10), NPU_ERR_UNSUPPORTED, "yarn");
	s.extra_text = "none";
	ok(try_model(&s, 10));
}

/* Keys that change what the model computes: ignored only if they say so. */
static void test_llama_features(void **state)
{
	static const struct {
		const char *key, *text; /* text NULL: the number */
		float number;
		npu_status status;
	} cases[] = {
		{ "llama.rope.scaling.type", NULL, 1.0f, NPU_ERR_FORMAT },
		{ "llama.rope.scaling.factor", NULL, 4.0f, NPU_ERR_UNSUPPORTED },
		{ "llama.rope.scaling.factor", NULL, 1.0f, NPU_OK },
		{ "llama.rope.scaling.factor", "4", 0, NPU_ERR_FORMAT },
		{ "llama.rope.scale_linear", NULL, 2.0f, NPU_ERR_UNSUPPORTED },
		{ "llama.attention.sliding_window", "512", 0, NPU_ERR_FORMAT },
		{ "llama.expert_count", "8", 0, NPU_ERR_FORMAT },
	};
	struct tiny_spec s;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s = tiny_default;
		s.extra_key = cases[i].key;
		s.extra_text = cases[i].text;
		s.extra_float = cases[i].number;
		if (cases[i].status)
			refused(try_model(&s, 10), cases[i].status, strrchr(cases[i].key, '.') + 1);
		else
			ok(try_model(&s, 10));
	}
}

/* Sizes that no tensor of the file has. */
static void test_llama_hostile(void **state)
{
	static const char *const keys[] = {
		"llama.block_count",	      "llama.context_length",
		"llama.embedding_length",     "llama.feed_forward_length",
		"llama.attention.head_count", "llama.attention.head_count_kv",
		"llama.attention.key_length", "llama.vocab_size",
	};
	static const uint32_t values[] = { 0, 1, 1000, 65535, 65536, 1u << 24, 1u << 31, UINT32_MAX };
	struct tiny_spec s;

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
			s = tiny_default;
			s.omit = s.extra_key = keys[i];
			s.extra_value = values[j];
			/* A long context is nothing wrong. */
			if (!strcmp(keys[i], "llama.context_length") && values[j] >= 10 &&
			    values[j] <= 1u << 22)
				ok(try_model(&s, 10));
			else
				assert_int_not_equal(try_model(&s, 10), NPU_OK);
		}
}

/* Divisors of the rotation: 0 would make infinities, and those NaN. */
static void test_llama_freqs(void **state)
{
	struct npu_llama_shape shape = { .n_tokens = 1, .n_ctx = 10 };
	static const float bad[] = { 0.0f, -1.0f, NAN, INFINITY };
	const struct npu_gguf_tensor *t;
	struct tiny_spec s = tiny_default;
	uint8_t *copy;
	npu_gguf *model;
	npu_graph *g;

	(void)state;
	s.head_dim = 8;
	s.extra_tensor = "rope_freqs.weight";
	ok(try_model(&s, 10));
	ok(tiny_open(&s, &model, &copy));
	ok(npu_gguf_tensor(model, "rope_freqs.weight", &t));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memcpy(copy + ((const uint8_t *)t->data - copy) + 8, &bad[i], 4);
		refused(npu_llama_graph(model, &shape, &g), NPU_ERR_FORMAT, "pair 2");
	}
	npu_gguf_close(model);
	free(copy);
}

static uint32_t count_ops(const npu_graph *g, enum npu_op_kind kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < npu_graph_n_ops(g); i++)
		n += npu_graph_op(g, i)->kind == kind;
	return n;
}

static void check_counts(const npu_graph *g, enum npu_logits logits)
{
	/* Without logits the last layer ends at its cache. */
	uint32_t full = logits == NPU_LOGITS_NONE ? 1 : 2, head = logits != NPU_LOGITS_NONE;

	assert_int_equal(count_ops(g, NPU_OP_ATTENTION), full);
	assert_int_equal(count_ops(g, NPU_OP_SWIGLU), full);
	assert_int_equal(count_ops(g, NPU_OP_SILU) + count_ops(g, NPU_OP_MUL), 0);
	assert_int_equal(count_ops(g, NPU_OP_KV_APPEND), 4);
	assert_int_equal(count_ops(g, NPU_OP_MATMUL), 7 * full + (full == 1 ? 2 : 0) + head);
	assert_int_equal(count_ops(g, NPU_OP_ROW_SELECT), logits == NPU_LOGITS_LAST);
	assert_int_equal(npu_graph_find(g, "logits") != NPU_NO_TENSOR, head);
}

static void test_llama_shapes(void **state)
{
	struct npu_llama_shape shape = { .n_tokens = 5, .n_ctx = 40 };
	struct npu_llama_hparams hp;
	npu_graph *first, *g;
	npu_gguf *model;
	uint8_t *copy;

	(void)state;
	ok(tiny_open(&tiny_default, &model, &copy));
	ok(npu_llama_hparams(model, &hp));
	assert_int_equal(hp.n_vocab, 90);
	assert_int_equal(hp.tied, 1);
	ok(npu_llama_graph(model, &shape, &first));
	for (int logits = NPU_LOGITS_NONE; logits <= NPU_LOGITS_ALL; logits++) {
		shape.logits = logits;
		shape.share = first;
		ok(npu_llama_graph(model, &shape, &g));
		check_counts(g, logits);
		/* Shared tables are the same memory and outlive the graph they came from. */
		assert_ptr_equal(npu_graph_tensor(g, npu_graph_find(g, "rope"))->data,
				 npu_graph_tensor(first, npu_graph_find(first, "rope"))->data);
		npu_graph_del(first);
		first = g;
	}
	shape.share = first;
	shape.n_ctx = 41;
	refused(npu_llama_graph(model, &shape, &g), NPU_ERR_INVALID, "41");
	npu_graph_del(first);
	npu_gguf_close(model);
	free(copy);
}

static void test_rope_table(void **state)
{
	struct npu_llama_shape shape = { .n_tokens = 1, .n_ctx = 300, .logits = NPU_LOGITS_LAST };
	const struct npu_tensor *t;
	npu_gguf *model;
	uint8_t *copy;
	npu_graph *g;

	(void)state;
	ok(tiny_open(&tiny_default, &model, &copy));
	ok(npu_llama_graph(model, &shape, &g));
	t = npu_graph_tensor(g, npu_graph_find(g, "rope"));
	assert_int_equal(t->rows, 300);
	assert_int_equal(t->cols, 16);
	for (uint32_t p = 0; p < 300; p++)
		for (uint32_t i = 0; i < 8; i++) {
			const float *row = (const float *)t->data + p * 16;
			double angle = p / pow(10000.0, i / 8.0);

			assert_true(fabs(row[i] - cos(angle)) < 1e-7);
			assert_true(fabs(row[8 + i] - sin(angle)) < 1e-7);
		}
	npu_graph_del(g);
	npu_gguf_close(model);
	free(copy);
}

static void test_dump(void **state)
{
	struct npu_llama_shape shape = { .n_tokens = 3, .n_ctx = 40, .logits = NPU_LOGITS_ALL };
	char *text = NULL;
	size_t size, lines = 0;
	npu_gguf *model;
	uint8_t *copy;
	npu_graph *g;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_non_null(f);
	ok(tiny_open(&tiny_default, &model, &copy));
	ok(npu_llama_graph(model, &shape, &g));
	npu_graph_dump(g, f);
	fclose(f);
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	assert_int_equal(lines, npu_graph_n_ops(g) + 1);
	assert_non_null(strstr(
		text, "logits f32[3][90] <- output_norm f32[3][64], token_embd.weight q8_0"));
	assert_non_null(strstr(text, "heads=4/2 x16"));
	free(text);
	npu_graph_del(g);
	npu_gguf_close(model);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_tensors),
		cmocka_unit_test(test_op_checks),
		cmocka_unit_test(test_fusion),
		cmocka_unit_test(test_llama_refusals),
		cmocka_unit_test(test_llama_features),
		cmocka_unit_test(test_llama_hostile),
		cmocka_unit_test(test_llama_freqs),
		cmocka_unit_test(test_llama_shapes),
		cmocka_unit_test(test_rope_table),
		cmocka_unit_test(test_dump),
	};

	return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
