// SPDX-License-Identifier: MIT
#include "tiny_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/fp16.h"

#define MAX_TENSORS 64
#define ALIGNMENT   32u

const struct tiny_spec tiny_default = {
	.n_layers = 2,
	.hidden = 64,
	.ffn = 96,
	.n_heads = 4,
	.n_kv_heads = 2,
	.head_dim = 16,
	.n_vocab = 90,
	.n_ctx = 300,
	.matrix = NPU_TYPE_F64,
	.embd = NPU_TYPE_Q8_0,
};

uint32_t tiny_random(uint32_t *state)
{
	uint32_t x = *state ? *state : 0x9e3779b9;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}

float tiny_uniform(uint32_t *state)
{
	return (float)(int32_t)tiny_random(state) * 0x1p-31f;
}

static void put_half(uint8_t **p, float v)
{
	uint16_t h = fp16_narrow(v);

	memcpy(*p, &h, 2);
	*p += 2;
}

/* A quantised block: scale (and minimum), then random integers. */
static void fill_block(uint8_t **p, npu_tensor_type type, float amplitude, uint32_t *state)
{
	float size = amplitude * (0.75f + 0.25f * tiny_uniform(state));
	unsigned bytes = type == NPU_TYPE_Q8_0 ? 32 : 16;

	put_half(p, type == NPU_TYPE_Q8_0 ? size / 127 : size / 8);
	if (type == NPU_TYPE_Q4_1)
		put_half(p, -size * (0.9f + 0.1f * tiny_uniform(state)));
	for (unsigned i = 0; i < bytes; i++)
		*(*p)++ = tiny_random(state) >> 8;
}

void tiny_fill(void *dst, npu_tensor_type type, uint64_t n, float amplitude, uint32_t *state)
{
	uint8_t *p = dst;

	if (npu_tensor_type_block_elems(type) > 1) {
		for (uint64_t i = 0; i < n; i += npu_tensor_type_block_elems(type))
			fill_block(&p, type, amplitude, state);
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		float v = amplitude * tiny_uniform(state);
		uint32_t bits = fp32_to_bits(v);

		if (type == NPU_TYPE_F16) {
			put_half(&p, v);
			continue;
		}
		bits = type == NPU_TYPE_BF16 ? bits >> 16 : bits;
		memcpy(p, &bits, type == NPU_TYPE_BF16 ? 2 : 4);
		p += type == NPU_TYPE_BF16 ? 2 : 4;
	}
}

struct tensor {
	char name[64];
	npu_tensor_type type;
	uint32_t n_dims;
	uint64_t ne[2];
};

struct model {
	const struct tiny_spec *spec;
	struct tensor tensor[MAX_TENSORS];
	uint32_t n;
	uint32_t n_matrices;
};

static void add(struct model *m, const char *name, npu_tensor_type type, uint32_t n_dims,
		uint64_t ne0, uint64_t ne1)
{
	static const npu_tensor_type mixture[] = {
		NPU_TYPE_Q4_1, NPU_TYPE_Q8_0, NPU_TYPE_Q4_0,
		NPU_TYPE_F16,  NPU_TYPE_BF16, NPU_TYPE_F32,
	};
	struct tensor *t = &m->tensor[m->n];

	if ((m->spec->omit && !strcmp(m->spec->omit, name)) || m->n == MAX_TENSORS)
		return;
	if (type == NPU_TYPE_F64)
		type = mixture[m->n_matrices++ % 6];
	*t = (struct tensor) { .type = type, .n_dims = n_dims, .ne = { ne0, ne1 } };
	snprintf(t->name, sizeof(t->name), "%s", name);
	m->n++;
}

static void add_layer(struct model *m, uint32_t layer)
{
	const struct tiny_spec *s = m->spec;
	const struct {
		const char *name;
		uint32_t cols, rows;
	} list[] = {
		{ "attn_norm", s->hidden, 0 },
		{ "attn_q", s->hidden, s->n_heads * s->head_dim },
		{ "attn_k", s->hidden, s->n_kv_heads * s->head_dim },
		{ "attn_v", s->hidden, s->n_kv_heads * s->head_dim },
		{ "attn_output", s->n_heads * s->head_dim, s->hidden },
		{ "ffn_norm", s->hidden, 0 },
		{ "ffn_gate", s->hidden, s->ffn },
		{ "ffn_up", s->hidden, s->ffn },
		{ "ffn_down", s->ffn, s->hidden },
	};
	char name[64];

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		snprintf(name, sizeof(name), "blk.%u.%s.weight", layer, list[i].name);
		if (list[i].rows)
			add(m, name, s->matrix, 2, list[i].cols, list[i].rows);
		else
			add(m, name, NPU_TYPE_F32, 1, list[i].cols, 1);
	}
}

static void add_tensors(struct model *m)
{
	const struct tiny_spec *s = m->spec;

	add(m, "token_embd.weight", s->embd, 2, s->hidden, s->n_vocab);
	for (uint32_t i = 0; i < s->n_layers; i++)
		add_layer(m, i);
	add(m, "output_norm.weight", NPU_TYPE_F32, 1, s->hidden, 1);
	if (s->untied)
		add(m, "output.weight", s->matrix, 2, s->hidden, s->n_vocab);
	if (s->extra_tensor)
		add(m, s->extra_tensor, NPU_TYPE_F32, 1, 4, 1);
}

static uint64_t bytes_of(const struct tensor *t)
{
	return t->ne[0] * t->ne[1] / npu_tensor_type_block_elems(t->type) *
	       npu_tensor_type_block_bytes(t->type);
}

static void write_pairs(struct gguf_build *b, const struct tiny_spec *s, uint64_t *count)
{
	const struct {
		const char *key;
		uint32_t value;
	} list[] = {
		{ "llama.block_count", s->n_layers },
		{ "llama.context_length", s->n_ctx },
		{ "llama.embedding_length", s->hidden },
		{ "llama.feed_forward_length", s->ffn },
		{ "llama.attention.head_count", s->n_heads },
		{ "llama.attention.head_count_kv", s->n_kv_heads },
		{ "llama.attention.key_length", s->head_dim },
		{ "llama.vocab_size", s->n_vocab },
	};
	const float eps = 1e-5f;
	uint64_t n = 1;

	gb_pair_str(b, "general.architecture", s->arch ? s->arch : "llama");
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (s->omit && !strcmp(s->omit, list[i].key))
			continue;
		gb_pair_u32(b, list[i].key, list[i].value);
		n++;
	}
	if (!s->omit || strcmp(s->omit, "llama.attention.layer_norm_rms_epsilon")) {
		gb_pair(b, "llama.attention.layer_norm_rms_epsilon", NPU_GGUF_F32);
		gb_raw(b, &eps, 4);
		n++;
	}
	if (s->extra_key && s->extra_float != 0) {
		gb_pair(b, s->extra_key, NPU_GGUF_F32);
		gb_raw(b, &s->extra_float, 4);
	} else if (s->extra_key && s->extra_text)
		gb_pair_str(b, s->extra_key, s->extra_text);
	else if (s->extra_key)
		gb_pair_u32(b, s->extra_key, s->extra_value);
	*count = n + !!s->extra_key;
}

/* Norm weights near 1, matrices such that activations keep their size. */
static void write_data(struct gguf_build *b, const struct tensor *t, uint32_t *state)
{
	uint64_t n = t->ne[0] * t->ne[1];
	uint8_t *data = malloc(bytes_of(t));

	if (!data)
		abort();
	tiny_fill(data, t->type, n, t->n_dims == 1 ? 0.25f : 1.7f / sqrtf(t->ne[0]), state);
	for (uint64_t i = 0; t->n_dims == 1 && i < n; i++) {
		float v;

		memcpy(&v, data + 4 * i, 4);
		v += 1.0f;
		memcpy(data + 4 * i, &v, 4);
	}
	gb_raw(b, data, bytes_of(t));
	free(data);
}

npu_status tiny_open(const struct tiny_spec *spec, npu_gguf **out, uint8_t **copy)
{
	struct gguf_build *b = calloc(1, sizeof(*b)), *pairs = calloc(1, sizeof(*pairs));
	struct model m = { .spec = spec };
	uint64_t n_pairs, offset = 0;
	uint32_t state = 1;
	npu_status ret;

	if (!b || !pairs)
		abort();
	add_tensors(&m);
	write_pairs(pairs, spec, &n_pairs);
	gb_header(b, 3, m.n, n_pairs);
	gb_raw(b, pairs->bytes, pairs->n);
	for (uint32_t i = 0; i < m.n; i++) {
		gb_tensor(b, m.tensor[i].name, m.tensor[i].n_dims, m.tensor[i].ne, m.tensor[i].type,
			  offset);
		offset += (bytes_of(&m.tensor[i]) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	}
	for (uint32_t i = 0; i < m.n; i++) {
		gb_align(b, ALIGNMENT);
		write_data(b, &m.tensor[i], &state);
	}
	gb_align(b, ALIGNMENT);
	ret = gb_open(b->bytes, b->n, out, copy);
	free(pairs);
	free(b);
	return ret;
}
