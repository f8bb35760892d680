/* SPDX-License-Identifier: MIT */
/* Small llama-family models with random weights, in memory. */
#ifndef TESTS_UNIT_TINY_MODEL_H
#define TESTS_UNIT_TINY_MODEL_H

#include "gguf_build.h"

struct tiny_spec {
	uint32_t n_layers, hidden, ffn, n_heads, n_kv_heads, head_dim, n_vocab, n_ctx;
	npu_tensor_type
		matrix; /* of the layers; NPU_TYPE_F64 means a mixture of all supported types */
	npu_tensor_type embd;
	int untied; /* separate output matrix */
	/* Deviations, for tests of checks. */
	const char *arch;      /* NULL: llama */
	const char *omit;      /* key or tensor that is left out */
	const char *extra_key; /* added with extra_value, or extra_text if that is not NULL */
	uint32_t extra_value;
	const char *extra_text;
	float extra_float; /* not 0: F32 instead */
	const char *extra_tensor; /* F32, 4 elements */
};

/* Two layers, grouped heads, mixed types. */
extern const struct tiny_spec tiny_default;

/* Opens the model; *copy is freed after npu_gguf_close(). */
npu_status tiny_open(const struct tiny_spec *spec, npu_gguf **out, uint8_t **copy);

/* Pseudo-random numbers that are the same everywhere. */
uint32_t tiny_random(uint32_t *state);
/* Uniform in [-1, 1). */
float tiny_uniform(uint32_t *state);

/* @bytes of @type whose values are about @amplitude. */
void tiny_fill(void *dst, npu_tensor_type type, uint64_t n, float amplitude, uint32_t *state);

#endif
