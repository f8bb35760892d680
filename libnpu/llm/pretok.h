/* SPDX-License-Identifier: MIT */
/* Pre-tokenizer: cuts text into the words inside which BPE merges. */
#ifndef LIBNPU_LLM_PRETOK_H
#define LIBNPU_LLM_PRETOK_H

#include <stdbool.h>
#include <stddef.h>

#include "npu/gguf.h"
#include "npu/status.h"

struct pretok;

npu_status pretok_new(struct npu_gguf_str name, struct pretok **out);
void pretok_del(struct pretok *p);

/* A word that is a token is that token, whatever the merges would make of it. */
bool pretok_whole_words(const struct pretok *p);
/* Whether a model that does not say so wants BOS. */
bool pretok_adds_bos(const struct pretok *p);

/* Called for each word in order; a status other than NPU_OK ends the walk and is returned. */
typedef npu_status (*pretok_word_fn)(void *user, const char *word, size_t len);

npu_status pretok_split(const struct pretok *p, const char *text, size_t len,
			pretok_word_fn word, void *user);

#endif
