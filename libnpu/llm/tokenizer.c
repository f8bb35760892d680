// SPDX-License-Identifier: MIT
/*
 * Text to ids: tokens written out in the text are cut out first (leftmost, then longest), what
 * lies between them is cut into words by the pre-tokenizer, and each word is merged by BPE.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "llm/tokenizer.h"

static npu_status load(npu_tokenizer *t, const npu_gguf *g)
{
	struct npu_gguf_str model, pre;
	npu_status st;

	st = npu_gguf_find_str(g, "tokenizer.ggml.model", &model);
	if (st)
		return st;
	if (!npu_gguf_str_eq(model, "gpt2"))
		return npu_fail(NPU_ERR_UNSUPPORTED, "tokenizer model '%.*s', supported is 'gpt2'",
				(int)(model.len < 64 ? model.len : 64), model.data);
	st = npu_gguf_find_str(g, "tokenizer.ggml.pre", &pre);
	if (!st)
		st = pretok_new(pre, &t->pretok);
	if (!st)
		st = vocab_load(&t->vocab, g, pretok_adds_bos(t->pretok));
	return st;
}

npu_status npu_tokenizer_new(const npu_gguf *g, npu_tokenizer **out)
{
	npu_tokenizer *t;
	npu_status st;

	if (!out)
		return npu_fail(NPU_ERR_INVALID, "npu_tokenizer_new: no place for the tokenizer");
	*out = NULL;
	if (!g)
		return npu_fail(NPU_ERR_INVALID, "npu_tokenizer_new: no model");
	t = calloc(1, sizeof(*t));
	if (!t)
		return npu_fail(NPU_ERR_NOMEM, "no memory for the tokenizer");
	st = load(t, g);
	if (st) {
		npu_tokenizer_del(t);
		return st;
	}
	*out = t;
	return NPU_OK;
}

void npu_tokenizer_del(npu_tokenizer *t)
{
	if (!t)
		return;
	vocab_free(&t->vocab);
	pretok_del(t->pretok);
	free(t);
}

uint32_t npu_tokenizer_n_vocab(const npu_tokenizer *t)
{
	return t->vocab.n;
}

uint32_t npu_tokenizer_bos(const npu_tokenizer *t)
{
	return t->vocab.bos;
}

uint32_t npu_tokenizer_eos(const npu_tokenizer *t)
{
	return t->vocab.eos;
}

bool npu_tokenizer_is_stop(const npu_tokenizer *t, uint32_t id)
{
	return id < t->vocab.n && t->vocab.tokens[id].stop;
}

bool npu_tokenizer_is_control(const npu_tokenizer *t, uint32_t id)
{
	return id < t->vocab.n && t->vocab.tokens[id].type == TOKEN_CONTROL;
}

npu_status npu_tokenizer_bytes(const npu_tokenizer *t, uint32_t id, const char **bytes, size_t *len)
{
	if (id >= t->vocab.n)
		return npu_fail(NPU_ERR_INVALID, "token id %u, vocabulary has %u", id, t->vocab.n);
	*bytes = vocab_bytes(&t->vocab, id);
	*len = t->vocab.tokens[id].len;
	return NPU_OK;
}

struct encoder {
	const npu_tokenizer *t;
	uint32_t flags;
	const struct text_span *plain;
	size_t n_plain;			/* spans that do not lie behind us yet */
	struct bpe bpe;
	struct id_list out;
};

static npu_status encode_word(void *user, const char *word, size_t len)
{
	struct encoder *e = user;
	uint32_t id;

	if (pretok_whole_words(e->t->pretok)) {
		id = vocab_find(&e->t->vocab, word, len);
		if (id != NPU_TOKEN_NONE)
			return id_list_add(&e->out, id);
	}
	return bpe_word(&e->bpe, &e->t->vocab, word, len, &e->out);
}

static bool may_match(struct encoder *e, const struct token *t, size_t pos)
{
	if (t->type == TOKEN_USER_DEFINED)
		return true;
	if (!(e->flags & NPU_TOKENIZE_SPECIAL))
		return false;
	while (e->n_plain && e->plain->end <= pos) {
		e->plain++;
		e->n_plain--;
	}
	return !e->n_plain || e->plain->start >= pos + t->len;
}

/* The longest special token written at @pos, or NPU_TOKEN_NONE. */
static uint32_t special_at(struct encoder *e, const char *text, size_t len, size_t pos)
{
	const struct vocab *v = &e->t->vocab;
	unsigned char c = (unsigned char)text[pos];

	for (uint32_t i = v->special_first[c]; i < v->special_first[c + 1]; i++) {
		const struct token *t = &v->tokens[v->special[i]];

		if (t->len <= len - pos && !memcmp(text + pos, v->bytes + t->offset, t->len) &&
		    may_match(e, t, pos))
			return v->special[i];
	}
	return NPU_TOKEN_NONE;
}

static npu_status encode_text(struct encoder *e, const char *text, size_t len)
{
	size_t done = 0, pos = 0;
	npu_status st = NPU_OK;
	uint32_t id;

	while (!st && pos < len) {
		id = special_at(e, text, len, pos);
		if (id == NPU_TOKEN_NONE) {
			pos++;
			continue;
		}
		st = pretok_split(e->t->pretok, text + done, pos - done, encode_word, e);
		if (!st)
			st = id_list_add(&e->out, id);
		pos += e->t->vocab.tokens[id].len;
		done = pos;
	}
	if (!st)
		st = pretok_split(e->t->pretok, text + done, len - done, encode_word, e);
	return st;
}

npu_status tokenizer_encode(const npu_tokenizer *t, const char *text, size_t len, uint32_t flags,
			    const struct text_span *plain, size_t n_plain,
			    uint32_t **ids, size_t *n)
{
	struct encoder e = { .t = t, .flags = flags, .plain = plain, .n_plain = n_plain };
	npu_status st = NPU_OK;

	*ids = NULL;
	*n = 0;
	if (len > NPU_TOKENIZE_MAX_BYTES)
		return npu_fail(NPU_ERR_LIMIT, "text of %zu bytes, limit %u", len,
				NPU_TOKENIZE_MAX_BYTES);
	if (flags & NPU_TOKENIZE_BOS && t->vocab.add_bos)
		st = id_list_add(&e.out, t->vocab.bos);
	if (!st)
		st = encode_text(&e, text, len);
	bpe_free(&e.bpe);
	if (st) {
		free(e.out.ids);
		return st;
	}
	*ids = e.out.ids;
	*n = e.out.n;
	return NPU_OK;
}

npu_status npu_tokenizer_encode(const npu_tokenizer *t, const char *text, size_t len,
				uint32_t flags, uint32_t **ids, size_t *n)
{
	return tokenizer_encode(t, text, len, flags, NULL, 0, ids, n);
}
