/* SPDX-License-Identifier: MIT */
#ifndef LIBNPU_LLM_TOKENIZER_H
#define LIBNPU_LLM_TOKENIZER_H

#include "llm/bpe.h"
#include "llm/pretok.h"
#include "llm/vocab.h"

struct npu_tokenizer {
	struct vocab vocab;
	struct pretok *pretok;
};

/* Bytes [start, end) of a text in which control tokens are not recognised. */
struct text_span {
	size_t start, end;
};

/* npu_tokenizer_encode() with @n_plain ascending spans of plain text. */
npu_status tokenizer_encode(const npu_tokenizer *t, const char *text, size_t len, uint32_t flags,
			    const struct text_span *plain, size_t n_plain,
			    uint32_t **ids, size_t *n);

#endif
