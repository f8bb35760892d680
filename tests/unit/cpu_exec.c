// SPDX-License-Identifier: MIT
/*
 * Ops through the CPU executor.  MATMUL and ATTENTION are compared to the bit with a second, naive
 * writing of the contract (one scalar chain per element, indices spelled out), and with double
 * precision.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu/cpu.h"
#include "cpu/exp.h"
#include "cpu/fp16.h"
#include "tiny_model.h"

static void ok_(npu_status status, const char *what)
{
	if (status)
		fail_msg("%s: %s", what, npu_error_message());
}
#define ok(call) ok_(call, #call)

static void random_halves(uint16_t *dst, size_t n, float amplitude, uint32_t seed)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = fp16_narrow(amplitude * tiny_uniform(&seed));
}

static void *zalloc(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	assert_non_null(p);
	return p;
}

/* ---- MATMUL ------------------------------------------------------------------------------ */

/* Scale, minimum and integer of element (j, kk) of a packed weight. */
static void packed_element(const struct npu_gguf_tensor *w, uint32_t j, uint32_t kk, float *scale,
			   float *min, float *q)
{
	uint32_t size = npu_tensor_type_block_bytes(w->type);
	const uint8_t *b = (const uint8_t *)w->data + (j * (w->ne[0] / 32) + kk / 32) * size;
	uint32_t i = kk % 32;
	uint16_t h[2];

	memcpy(h, b, 4);
	*scale = fp16_widen(h[0]);
	*min = 0;
	if (w->type == NPU_TYPE_Q8_0) {
		*q = (int8_t)b[2 + i];
		return;
	}
	*min = w->type == NPU_TYPE_Q4_1 ? fp16_widen(h[1]) : -8.0f * *scale;
	b += w->type == NPU_TYPE_Q4_1 ? 4 : 2;
	*q = i < 16 ? b[i] & 15 : b[i - 16] >> 4;
}

/* Section 6 of the contract, for one element of C. */
static float naive_packed(const float *a, const struct npu_gguf_tensor *w, uint32_t j)
{
	float acc = 0, scale = 0, min = 0, q;

	for (uint32_t g = 0; g < w->ne[0]; g += 32) {
		float p = 0, s = 0;

		for (uint32_t kk = g; kk < g + 32; kk++) {
			packed_element(w, j, kk, &scale, &min, &q);
			p = fmaf(a[kk], q, p);
			s = s + a[kk];
		}
		acc = fmaf(scale, p, acc);
		if (w->type != NPU_TYPE_Q8_0)
			acc = fmaf(min, s, acc);
	}
	return acc;
}

static float naive_plain(const float *a, const float *w, uint32_t k)
{
	float acc = 0;

	for (uint32_t kk = 0; kk < k; kk++)
		acc = fmaf(a[kk], w[kk], acc);
	return acc;
}

struct matmul_case {
	npu_tensor_type type;
	uint32_t m, n_valid, k, n;
	enum npu_dtype dtype, atype;
};

static void check_matmul(const struct matmul_case *c, const struct npu_gguf_tensor *w,
			 const float *a, const void *out)
{
	bool packed = npu_tensor_type_block_elems(w->type) > 1;
	size_t size = npu_tensor_type_block_bytes(w->type);
	float *row = zalloc(c->k * sizeof(*row));

	for (uint32_t j = 0; j < c->n; j++) {
		size_t at = j * (c->k / npu_tensor_type_block_elems(w->type)) * size;

		ok(npu_dequant_row(w->type, (const char *)w->data + at, row, c->k));
		for (uint32_t i = 0; i < c->n_valid; i++) {
			const float *ai = a + i * c->k;
			float want = packed ? naive_packed(ai, w, j) : naive_plain(ai, row, c->k);
			double ref = 0, size_sum = 0;
			float got;

			if (c->dtype == NPU_DTYPE_F16) {
				assert_int_equal(((const uint16_t *)out)[i * c->n + j],
						 fp16_narrow(want));
				continue;
			}
			got = ((const float *)out)[i * c->n + j];
			assert_int_equal(fp32_to_bits(got), fp32_to_bits(want));
			for (uint32_t kk = 0; kk < c->k; kk++) {
				double term = (double)row[kk] * ai[kk];

				ref += term;
				size_sum += fabs(term);
			}
			/* k roundings; the terms scale * q and min cancel, which costs another
			 * factor. */
			assert_true(fabs(got - ref) <= c->k * 4 * 0x1p-24 * size_sum);
		}
	}
	free(row);
}

static void run_matmul(const struct matmul_case *c, uint32_t n_threads)
{
	uint32_t blocks = c->k / npu_tensor_type_block_elems(c->type);
	size_t w_bytes = (size_t)c->n * blocks * npu_tensor_type_block_bytes(c->type);
	size_t out_bytes = (size_t)c->m * c->n * (c->dtype == NPU_DTYPE_F32 ? 4 : 2);
	uint8_t *wdata = malloc(w_bytes);
	uint16_t *half = zalloc(c->m * c->k * 2);
	float *a = zalloc(c->m * c->k * 4);
	void *out = zalloc(out_bytes), *data[3] = { 0 };
	struct npu_gguf_tensor w = { .name = "w",
				     .type = c->type,
				     .n_dims = 2,
				     .ne = { c->k, c->n, 1, 1 },
				     .data = wdata,
				     .size = w_bytes };
	uint32_t seed = 1 + c->k, ia, iw, io;
	struct npu_cpu *cpu;
	npu_graph *g;

	tiny_fill(wdata, c->type, (uint64_t)c->n * c->k, 1.0f, &seed);
	random_halves(half, c->m * c->k, 2.0f, 77);
	for (uint32_t i = 0; i < c->m * c->k; i++)
		a[i] = c->atype == NPU_DTYPE_F32 ? tiny_uniform(&seed) : fp16_widen(half[i]);
	ok(npu_graph_new(c->m, &g));
	ok(npu_graph_input(g, "a", c->atype, c->m, c->k, &ia));
	ok(npu_graph_weight(g, &w, &iw));
	ok(npu_graph_matmul(g, "c", ia, iw, c->dtype, &io));
	data[ia] = c->atype == NPU_DTYPE_F32 ? (void *)a : half;
	data[io] = out;
	ok(npu_cpu_new(n_threads, &cpu));
	ok(npu_cpu_reserve(cpu, g));
	ok(npu_cpu_run(cpu, g, 0, 1, data, 0, c->n_valid));
	check_matmul(c, &w, a, out);
	/* Rows that do not count are not touched. */
	for (size_t i = out_bytes / c->m * c->n_valid; i < out_bytes; i++)
		assert_int_equal(((uint8_t *)out)[i], 0);
	npu_cpu_del(cpu);
	npu_graph_del(g);
	free(out);
	free(a);
	free(half);
	free(wdata);
}

static void test_matmul(void **state)
{
	static const npu_tensor_type types[] = {
		NPU_TYPE_Q4_0, NPU_TYPE_Q4_1, NPU_TYPE_Q8_0,
		NPU_TYPE_F16,  NPU_TYPE_BF16, NPU_TYPE_F32,
	};

	(void)state;
	for (size_t t = 0; t < 6; t++) {
		const struct matmul_case cases[] = {
			{ types[t], 1, 1, 64, 32, NPU_DTYPE_F32, NPU_DTYPE_F16 },
			{ types[t], 1, 1, 96, 71, NPU_DTYPE_F16, NPU_DTYPE_F32 },
			{ types[t], 5, 3, 32, 33, NPU_DTYPE_F32, NPU_DTYPE_F32 },
			{ types[t], 70, 67, 64, 40, NPU_DTYPE_F32,
			  NPU_DTYPE_F16 }, /* more than one row block */
		};

		for (size_t i = 0; i < 4; i++)
			run_matmul(&cases[i], i == 3 ? 3 : 1);
	}
	/* Plain weights need no whole groups. */
	run_matmul(
		&(struct matmul_case) { NPU_TYPE_F16, 2, 2, 45, 9, NPU_DTYPE_F32, NPU_DTYPE_F16 },
		1);
	run_matmul(&(struct matmul_case) { NPU_TYPE_F32, 2, 1, 1, 1, NPU_DTYPE_F32, NPU_DTYPE_F16 },
		   1);
}

/* ---- ATTENTION --------------------------------------------------------------------------- */

struct attention_case {
	struct npu_attention attr;
	uint32_t m, n_valid, pos, n_ctx;
	enum npu_dtype dtype;
};

static float lane_sum(const float *x, uint32_t n)
{
	float l[8] = { 0 };

	for (uint32_t j = 0; j < n; j++)
		l[j % 8] += x[j];
	return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

/* One query row over all tiles, as the contract's MM, SOFTMAX, MM and DIV_ROW say. */
static void naive_attention(const struct attention_case *c, uint32_t token, uint32_t head,
			    const uint16_t *q, const uint16_t *k, const uint16_t *v, float *out)
{
	const struct npu_attention *a = &c->attr;
	uint32_t kv_cols = a->n_kv_heads * a->head_dim, kv_len = c->pos + c->n_valid;
	uint32_t off = head / (a->n_heads / a->n_kv_heads) * a->head_dim;
	uint32_t limit = c->pos + token + 1;
	float o[64] = { 0 }, m = -FLT_MAX, l = 0;

	for (uint32_t start = 0; start < kv_len; start += a->kv_tile) {
		float s[128], p[128] = { 0 }, max = m, scale;
		bool any = false;

		for (uint32_t j = 0; j < a->kv_tile; j++) {
			s[j] = 0;
			for (uint32_t d = 0; d < a->head_dim && start + j < kv_len; d++)
				s[j] = fmaf(fp16_widen(q[d]),
					    fp16_widen(k[(start + j) * kv_cols + off + d]), s[j]);
			s[j] = s[j] * a->scale;
			if (start + j >= limit || (a->window && start + j + a->window < limit))
				continue;
			any = true;
			max = s[j] > max ? s[j] : max;
		}
		scale = start ? npu_exp(m - max) : 0.0f;
		for (uint32_t j = 0; any && j < a->kv_tile; j++)
			if (start + j < limit && !(a->window && start + j + a->window < limit))
				p[j] = fp16_widen(fp16_narrow(npu_exp(s[j] - max)));
		if (any) {
			l = (l * scale) + lane_sum(p, a->kv_tile);
			for (uint32_t d = 0; d < a->head_dim; d++)
				o[d] = o[d] * scale;
			m = max;
		}
		for (uint32_t j = 0; j < a->kv_tile; j++)
			for (uint32_t d = 0; d < a->head_dim; d++) {
				uint16_t x = start + j < kv_len ? v[(start + j) * kv_cols + off + d]
								: 0;

				o[d] = fmaf(p[j], fp16_widen(x), o[d]);
			}
	}
	for (uint32_t d = 0; d < a->head_dim; d++)
		out[d] = o[d] / l;
}

/* The same in double, without tiles. */
static void double_attention(const struct attention_case *c, uint32_t token, uint32_t head,
			     const uint16_t *q, const uint16_t *k, const uint16_t *v, double *out)
{
	const struct npu_attention *a = &c->attr;
	uint32_t kv_cols = a->n_kv_heads * a->head_dim, limit = c->pos + token + 1;
	uint32_t off = head / (a->n_heads / a->n_kv_heads) * a->head_dim;
	uint32_t first = a->window && limit > a->window ? limit - a->window : 0;
	double sum = 0;

	memset(out, 0, a->head_dim * sizeof(*out));
	for (uint32_t j = first; j < limit; j++) {
		double s = 0, e;

		for (uint32_t d = 0; d < a->head_dim; d++)
			s += (double)fp16_widen(q[d]) * fp16_widen(k[j * kv_cols + off + d]);
		e = exp(s * a->scale);
		sum += e;
		for (uint32_t d = 0; d < a->head_dim; d++)
			out[d] += e * fp16_widen(v[j * kv_cols + off + d]);
	}
	for (uint32_t d = 0; d < a->head_dim; d++)
		out[d] /= sum;
}

static void check_attention(const struct attention_case *c, const uint16_t *q, const uint16_t *k,
			    const uint16_t *v, const void *out)
{
	uint32_t hd = c->attr.head_dim;
	float want[64];
	double ref[64];

	for (uint32_t t = 0; t < c->n_valid; t++)
		for (uint32_t h = 0; h < c->attr.n_heads; h++) {
			size_t at = (size_t)t * c->attr.n_heads * hd + h * hd;

			naive_attention(c, t, h, q + at, k, v, want);
			double_attention(c, t, h, q + at, k, v, ref);
			for (uint32_t d = 0; d < hd; d++) {
				/* |v| < 1; probabilities have 11 bits. */
				assert_true(fabs(want[d] - ref[d]) < 2 * 0x1p-11);
				if (c->dtype == NPU_DTYPE_F32)
					assert_int_equal(((const uint32_t *)out)[at + d],
							 fp32_to_bits(want[d]));
				else
					assert_int_equal(((const uint16_t *)out)[at + d],
							 fp16_narrow(want[d]));
			}
		}
}

static void run_attention(const struct attention_case *c, uint32_t n_threads)
{
	uint32_t q_cols = c->attr.n_heads * c->attr.head_dim,
		 kv_cols = c->attr.n_kv_heads * c->attr.head_dim;
	uint16_t *q = zalloc(c->m * q_cols * 2);
	void *out = zalloc(c->m * q_cols * 4);
	uint16_t *k = zalloc(c->n_ctx * kv_cols * 2), *v = zalloc(c->n_ctx * kv_cols * 2);
	uint32_t iq, ik, iv, io;
	void *data[4] = { 0 };
	struct npu_cpu *cpu;
	npu_graph *g;

	/* Beyond kv_len lies garbage, which must not matter. */
	random_halves(q, c->m * q_cols, 4.0f, 21);
	random_halves(k, c->n_ctx * kv_cols, 2.0f, 22);
	random_halves(v, c->n_ctx * kv_cols, 1.0f, 23);
	ok(npu_graph_new(c->m, &g));
	ok(npu_graph_input(g, "q", NPU_DTYPE_F16, c->m, q_cols, &iq));
	ok(npu_graph_kv(g, "k", 0, 0, c->n_ctx, kv_cols, &ik));
	ok(npu_graph_kv(g, "v", 0, 1, c->n_ctx, kv_cols, &iv));
	ok(npu_graph_attention(g, "o", iq, ik, iv, &c->attr, c->dtype, &io));
	data[iq] = q;
	data[ik] = k;
	data[iv] = v;
	data[io] = out;
	ok(npu_cpu_new(n_threads, &cpu));
	ok(npu_cpu_reserve(cpu, g));
	ok(npu_cpu_run(cpu, g, 0, 1, data, c->pos, c->n_valid));
	check_attention(c, q, k, v, out);
	npu_cpu_del(cpu);
	npu_graph_del(g);
	free(v);
	free(k);
	free(out);
	free(q);
}

static void test_attention(void **state)
{
	static const struct attention_case cases[] = {
		{ { 9, 3, 64, 128, 0, 0.125f }, 1, 1, 0, 300, NPU_DTYPE_F16 },
		{ { 9, 3, 64, 128, 0, 0.125f }, 1, 1, 127, 300, NPU_DTYPE_F32 },
		{ { 9, 3, 64, 128, 0, 0.125f }, 1, 1, 128, 300, NPU_DTYPE_F16 },
		{ { 9, 3, 64, 128, 0, 0.125f }, 40, 37, 110, 300, NPU_DTYPE_F32 }, /* crosses a tile
										    */
		{ { 4, 4, 10, 24, 0, 0.3f }, 3, 3, 70, 90, NPU_DTYPE_F16 },	   /* MHA, no whole
										      registers */
		{ { 4, 1, 16, 32, 0, 0.25f }, 20, 20, 0, 64, NPU_DTYPE_F32 },	   /* MQA */
		{ { 4, 2, 16, 32, 21, 0.25f }, 8, 8, 60, 90, NPU_DTYPE_F16 },	   /* window */
		{ { 2, 2, 8, 8, 3, 0.25f }, 1, 1, 29, 30, NPU_DTYPE_F32 }, /* tiles before the
									      window */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_attention(&cases[i], i % 2 ? 2 : 1);
}

/* ---- errors ------------------------------------------------------------------------------ */

static void test_refusals(void **state)
{
	static const float table[8] = { 0 };
	uint32_t ix, it, io;
	float x[8] = { 0 }, out[8];
	void *data[3] = { 0 };
	struct npu_cpu *cpu;
	npu_graph *g;

	(void)state;
	assert_int_equal(npu_cpu_new(NPU_CPU_MAX_THREADS + 1, &cpu), NPU_ERR_LIMIT);
	ok(npu_graph_new(2, &g));
	ok(npu_graph_input(g, "x", NPU_DTYPE_F32, 2, 4, &ix));
	ok(npu_graph_const(g, "rope", 2, 4, table, &it));
	ok(npu_graph_rope(g, "y", ix, it, &(struct npu_rope) { 4, 1, 0 }, NPU_DTYPE_F32, &io));
	data[ix] = x;
	data[io] = out;
	ok(npu_cpu_new(1, &cpu));
	assert_int_equal(npu_cpu_run(cpu, g, 0, 1, data, 0, 1), NPU_ERR_INVALID); /* not reserved */
	ok(npu_cpu_reserve(cpu, g));
	ok(npu_cpu_run(cpu, g, 0, 1, data, 0, 2));
	assert_int_equal(npu_cpu_run(cpu, g, 0, 1, data, 0, 0), NPU_ERR_INVALID);
	assert_int_equal(npu_cpu_run(cpu, g, 0, 1, data, 0, 3), NPU_ERR_INVALID);
	assert_int_equal(npu_cpu_run(cpu, g, 0, 2, data, 0, 1), NPU_ERR_INVALID);
	assert_int_equal(npu_cpu_run(cpu, g, 0, 1, data, 1, 2), NPU_ERR_LIMIT);
	assert_non_null(strstr(npu_error_message(), "rope"));
	assert_int_equal(npu_cpu_run(cpu, g, 0, 1, data, UINT32_MAX, 2), NPU_ERR_LIMIT);
	npu_cpu_del(cpu);
	npu_graph_del(g);
}

static void test_bad_token(void **state)
{
	static const float rows[2 * 4] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	const struct npu_gguf_tensor table = { .name = "table", .type = NPU_TYPE_F32, .n_dims = 2,
					       .ne = { 4, 2, 1, 1 }, .data = rows };
	uint32_t ids[2] = { 1, 2 }, ii, it, io;
	float out[2 * 4] = { 0 };
	void *data[3] = { 0 };
	struct npu_cpu *cpu;
	npu_graph *g;

	(void)state;
	ok(npu_graph_new(2, &g));
	ok(npu_graph_input(g, "ids", NPU_DTYPE_U32, 2, 1, &ii));
	ok(npu_graph_weight(g, &table, &it));
	ok(npu_graph_get_rows(g, "x", ii, it, &io));
	data[ii] = ids;
	data[io] = out;
	ok(npu_cpu_new(1, &cpu));
	ok(npu_cpu_reserve(cpu, g));
	assert_int_equal(npu_cpu_run(cpu, g, 0, 1, data, 0, 2), NPU_ERR_INVALID);
	assert_non_null(strstr(npu_error_message(), "id 2"));
	/* The bad id does not count if its row does not. */
	ok(npu_cpu_run(cpu, g, 0, 1, data, 0, 1));
	assert_memory_equal(out, rows + 4, 4 * sizeof(float));
	npu_cpu_del(cpu);
	npu_graph_del(g);
}

/* ---- memory plan ------------------------------------------------------------------------- */

/* Every tensor is filled with its id when born and must still hold it at its last use. */
static void test_plan(void **state)
{
	struct npu_llama_shape shape = { .n_tokens = 7, .n_ctx = 20, .logits = NPU_LOGITS_ALL };
	size_t *offset, total, sum = 0;
	uint8_t *want, *arena, *copy;
	npu_gguf *model;
	npu_graph *g;
	uint32_t n;

	(void)state;
	ok(tiny_open(&tiny_default, &model, &copy));
	ok(npu_llama_graph(model, &shape, &g));
	n = npu_graph_n_tensors(g);
	offset = zalloc(n * sizeof(*offset));
	want = zalloc(n);
	for (uint32_t id = 0; id < n; id++) {
		const struct npu_tensor *t = npu_graph_tensor(g, id);

		want[id] = !t->data && t->kind != NPU_TENSOR_KV;
		sum += want[id] ? t->bytes : 0;
	}
	ok(npu_cpu_plan(g, want, offset, &total));
	assert_true(total < sum / 2);
	arena = zalloc(total);
	for (uint32_t i = 0; i < npu_graph_n_ops(g); i++) {
		const struct npu_op *op = npu_graph_op(g, i);
		const struct npu_tensor *o = npu_graph_tensor(g, op->out);

		for (uint32_t j = 0; j < op->n_in; j++) {
			const struct npu_tensor *t = npu_graph_tensor(g, op->in[j]);

			for (size_t b = 0; want[t->id] && t->producer != NPU_NO_OP && b < t->bytes;
			     b++)
				assert_int_equal(arena[offset[t->id] + b], t->id % 251);
		}
		if (want[o->id])
			memset(arena + offset[o->id], o->id % 251, o->bytes);
		assert_true(!want[o->id] || offset[o->id] + o->bytes <= total);
	}
	free(arena);
	free(want);
	free(offset);
	npu_graph_del(g);
	npu_gguf_close(model);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matmul),
		cmocka_unit_test(test_attention),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_bad_token),
		cmocka_unit_test(test_plan),
	};

	return cmocka_run_group_tests_name("cpu_exec", tests, NULL, NULL);
}
