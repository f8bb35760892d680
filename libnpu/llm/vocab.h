/* SPDX-License-Identifier: MIT */
/* Vocabulary of a byte-level BPE model: tokens as bytes, and the merge table over ids. */
#ifndef LIBNPU_LLM_VOCAB_H
#define LIBNPU_LLM_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu/gguf.h"
#include "npu/llm.h"

/* tokenizer.ggml.token_type */
enum token_type {
	TOKEN_NORMAL = 1,
	TOKEN_UNKNOWN = 2,
	TOKEN_CONTROL = 3,
	TOKEN_USER_DEFINED = 4,
	TOKEN_UNUSED = 5,
	TOKEN_BYTE = 6,
};

struct token {
	uint32_t offset;	/* of its bytes in vocab.bytes */
	uint32_t len;
	uint8_t type;
	bool stop;
	bool matchable;		/* may come out of BPE: normal, and in the byte alphabet */
};

/* Two neighbours @left, @right become @merged; the lowest rank goes first. */
struct merge {
	uint32_t left, right;	/* left NPU_TOKEN_NONE: free slot */
	uint32_t merged;
	uint32_t rank;
};

struct vocab {
	uint32_t n;
	struct token *tokens;
	char *bytes;

	uint32_t *by_text;	/* hash table of ids, NPU_TOKEN_NONE: free slot */
	uint32_t by_text_mask;
	struct merge *merges;	/* hash table by (left, right) */
	uint32_t merges_mask;
	uint32_t byte_id[256];	/* the token of a single byte, or NPU_TOKEN_NONE */

	uint32_t *special;	/* ids found in plain text, by first byte, longest first */
	uint32_t special_first[257];	/* where each first byte's ids begin in special[] */

	uint32_t bos, eos, unknown;
	bool add_bos;
};

/* @add_bos: what holds when the file does not say. */
npu_status vocab_load(struct vocab *v, const npu_gguf *g, bool add_bos);
void vocab_free(struct vocab *v);

static inline const char *vocab_bytes(const struct vocab *v, uint32_t id)
{
	return v->bytes + v->tokens[id].offset;
}

/* Id of the matchable token with these bytes, or NPU_TOKEN_NONE. */
uint32_t vocab_find(const struct vocab *v, const char *bytes, size_t len);

/* The merge of two neighbouring ids, NULL if there is none. */
const struct merge *vocab_find_merge(const struct vocab *v, uint32_t left, uint32_t right);

#endif
