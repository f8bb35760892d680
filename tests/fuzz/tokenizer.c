// SPDX-License-Identifier: MIT
/*
 * Fuzzer of tokenizer, detokenizer and chat template.  The input is a GGUF file, then 0xff, then
 * a text; a vocabulary that loads has to encode the text without loss but for the bytes it lacks.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "npu/llm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A byte that is nothing by itself is nothing in a text. */
static bool lacks(const npu_tokenizer *t, const char *byte)
{
	uint32_t *ids;
	size_t n;

	if (npu_tokenizer_encode(t, byte, 1, 0, &ids, &n))
		return false;
	free(ids);
	return !n;
}

/* Where @bytes stand in what is left of a text; what is passed over on the way is lacking. */
static size_t find(const npu_tokenizer *t, const char *text, size_t len, const char *bytes, size_t n)
{
	size_t at = 0;

	/* Compared before anything is passed over: a special token may begin with a byte that is lacking by itself. */
	while (n > len - at || memcmp(bytes, text + at, n)) {
		if (at == len || !lacks(t, text + at))
			abort();
		at++;
	}
	return at;
}

/* The ids' bytes, in order, are those of the text that the vocabulary has. */
static void check_lossless(const npu_tokenizer *t, const char *text, size_t len,
			   const uint32_t *ids, size_t n)
{
	const char *bytes;
	size_t at = 0, k;

	for (size_t i = 0; i < n; i++) {
		if (npu_tokenizer_bytes(t, ids[i], &bytes, &k))
			abort();
		at += find(t, text + at, len - at, bytes, k) + k;
	}
	while (at < len && lacks(t, text + at))
		at++;
	if (at != len)
		abort();
}

static void check_stream(const npu_tokenizer *t, const uint32_t *ids, size_t n)
{
	const char *text;
	npu_detok *d;
	size_t len;

	if (npu_detok_new(t, true, &d))
		return;
	for (size_t i = 0; i < n; i++)
		if (npu_detok_push(d, ids[i], &text, &len))
			abort();
	npu_detok_finish(d, &text, &len);
	npu_detok_del(d);
}

static void run_text(const npu_gguf *g, const npu_tokenizer *t, const char *text, size_t len)
{
	const struct npu_chat_message msg = { "user", text, len };
	uint32_t *ids, unknown;
	npu_chat *c;
	size_t n;

	if (!npu_tokenizer_encode(t, text, len, NPU_TOKENIZE_SPECIAL, &ids, &n)) {
		if (npu_gguf_find_u32(g, "tokenizer.ggml.unknown_token_id", &unknown))
			check_lossless(t, text, len, ids, n);
		check_stream(t, ids, n);
		free(ids);
	}
	if (npu_chat_new(g, &c))
		return;
	if (!npu_chat_encode(c, t, &msg, 1, &ids, &n))
		free(ids);
	npu_chat_del(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *gap = size ? memrchr(data, 0xff, size) : NULL;
	const size_t model = gap ? (size_t)(gap - data) : size;
	const size_t len = gap ? size - model - 1 : 0;
	npu_tokenizer *t;
	char *text;
	npu_gguf *g;

	if (npu_gguf_open_mem(data, model, &g))
		return 0;
	if (!npu_tokenizer_new(g, &t)) {
		text = malloc(len + 1);		/* exactly the text, for the sanitizer */
		if (text) {
			memcpy(text, gap ? gap + 1 : data, len);
			run_text(g, t, text, len);
		}
		free(text);
		npu_tokenizer_del(t);
	}
	npu_gguf_close(g);
	return 0;
}
