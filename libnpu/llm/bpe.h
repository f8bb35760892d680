/* SPDX-License-Identifier: MIT */
/* Byte-pair merging of one word. */
#ifndef LIBNPU_LLM_BPE_H
#define LIBNPU_LLM_BPE_H

#include "llm/vocab.h"

/* Ids collected so far; grows as needed. */
struct id_list {
	uint32_t *ids;
	size_t n, cap;
};

npu_status id_list_add(struct id_list *l, uint32_t id);

/* Scratch memory of bpe_word(), reused from word to word; all zero at first. */
struct bpe {
	struct bpe_symbol *symbols;
	struct bpe_pair *heap;
	size_t cap;		/* symbols; the heap holds twice as many */
	size_t n_heap;
};

npu_status bpe_word(struct bpe *b, const struct vocab *v, const char *word, size_t len,
		    struct id_list *out);
void bpe_free(struct bpe *b);

#endif
