// SPDX-License-Identifier: MIT
/*
 * The smallest program that runs a language model: prints the token that follows a text.
 *
 *	cc next-token.c $(pkg-config --cflags --libs npu) -o next-token
 *	./next-token MODEL.gguf cpu|sim|drm "The capital of France is"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <npu/gguf.h>
#include <npu/llm.h>
#include <npu/session.h>

static int fail(void)
{
	fprintf(stderr, "next-token: %s\n", npu_error_message());
	return EXIT_FAILURE;
}

/* Index of the largest logit. */
static uint32_t best(const float *logits, uint32_t n)
{
	uint32_t top = 0;

	for (uint32_t i = 1; i < n; i++)
		if (logits[i] > logits[top])
			top = i;
	return top;
}

/* The token that follows @text, by a session on @device; printed. */
static npu_status next_token(const npu_gguf *model, const char *device, const npu_tokenizer *tokenizer,
			     const char *text)
{
	struct npu_session_options options = { .struct_size = sizeof(options), .device = device };
	npu_session *session = NULL;
	float *logits = NULL;
	uint32_t *ids = NULL, n_vocab;
	const char *bytes;
	size_t n, len;
	npu_status st;

	st = npu_tokenizer_encode(tokenizer, text, strlen(text), NPU_TOKENIZE_BOS, &ids, &n);
	if (st)
		return st;
	st = npu_session_open(model, &options, &session);
	if (st)
		goto out;
	n_vocab = npu_session_n_vocab(session);
	logits = malloc(n_vocab * sizeof(*logits));
	if (!logits) {
		st = NPU_ERR_NOMEM;
		goto out;
	}
	st = npu_session_eval(session, ids, n, logits, 1);
	if (!st)
		st = npu_tokenizer_bytes(tokenizer, best(logits, n_vocab), &bytes, &len);
	if (!st)
		printf("%.*s\n", (int)len, bytes);
out:
	free(logits);
	npu_session_close(session);
	free(ids);
	return st;
}

int main(int argc, char **argv)
{
	npu_tokenizer *tokenizer;
	npu_gguf *model;
	npu_status st;

	if (argc != 4) {
		fprintf(stderr, "usage: next-token MODEL.gguf cpu|sim|drm TEXT\n");
		return 2;
	}
	if (npu_gguf_open(argv[1], &model))
		return fail();
	st = npu_tokenizer_new(model, &tokenizer);
	if (!st) {
		st = next_token(model, argv[2], tokenizer, argv[3]);
		npu_tokenizer_del(tokenizer);
	}
	npu_gguf_close(model);
	return st ? fail() : EXIT_SUCCESS;
}
