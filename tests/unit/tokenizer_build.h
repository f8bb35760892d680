/* SPDX-License-Identifier: MIT */
/* A byte-level BPE vocabulary made for tests: 256 bytes, then words and merges of the caller. */
#ifndef TESTS_UNIT_TOKENIZER_BUILD_H
#define TESTS_UNIT_TOKENIZER_BUILD_H

#include "gguf_build.h"

struct vocab_build {
	const char *model, *pre;		/* NULL: "gpt2", "smollm" */
	const char *const *words;		/* normal tokens from id 256 on */
	size_t n_words;
	const char *const *merges;
	size_t n_merges;
	const char *const *special;		/* after the words */
	const int32_t *special_types;
	size_t n_special;
	int missing_byte;			/* left out of the vocabulary: 1..255, 0: none */
	int64_t bos, eos, unknown;		/* -1: key is absent */
	int add_bos;				/* -1: key is absent */
	const char *chat_template;		/* NULL: key is absent */
};

#define VOCAB_BUILD_DEFAULTS .bos = -1, .eos = -1, .unknown = -1, .add_bos = -1

/* The UTF-8 character that stands for @byte in GPT-2's alphabet; @out holds 3 bytes. */
void byte_char(uint8_t byte, char *out);

void vocab_build(struct gguf_build *b, const struct vocab_build *v);

#endif
