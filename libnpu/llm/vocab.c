// SPDX-License-Identifier: MIT
/*
 * Loads tokens and merges.  The file writes them in GPT-2's byte alphabet, in which each of
 * the 256 bytes is a printable character; they are kept as the bytes that they stand for.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "llm/utf8.h"
#include "llm/vocab.h"

#define ALPHABET_END	324u		/* code points of the byte alphabet lie below */
#define MAX_VOCAB	(1u << 24)

/* Generation ends with these whatever the metadata says; only if they are not plain text. */
static const char *const stop_names[] = {
	"<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|end|>",
	"<end_of_turn>", "<EOT>",
};

/* Inverse of the byte alphabet: printable Latin-1 is itself, the rest counts up from U+0100. */
static void fill_alphabet(int16_t byte_of[ALPHABET_END])
{
	uint32_t next = 256;

	for (uint32_t cp = 0; cp < ALPHABET_END; cp++)
		byte_of[cp] = -1;
	for (uint32_t b = 0; b < 256; b++) {
		bool printable = (b >= 33 && b <= 126) || (b >= 161 && b != 173);

		byte_of[printable ? b : next++] = (int16_t)b;
	}
}

/* Decodes @s to @dst (at least @s.len bytes); false if a character is not of the alphabet. */
static bool decode(const int16_t byte_of[ALPHABET_END], struct npu_gguf_str s, char *dst,
		   uint32_t *len)
{
	uint32_t n = 0, cp;
	size_t i = 0;
	int used;

	while (i < s.len) {
		cp = (unsigned char)s.data[i];
		used = cp < 0x80 ? 1 : utf8_next(s.data + i, s.len - i, &cp);
		if (used <= 0 || cp >= ALPHABET_END || byte_of[cp] < 0)
			return false;
		dst[n++] = (char)byte_of[cp];
		i += (size_t)used;
	}
	*len = n;
	return true;
}

static uint64_t mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t load_bytes(const char *s, size_t n)
{
	uint64_t x = 0;

	memcpy(&x, s, n);
	return x;
}

/* By words, the last of which overlaps the one before: tokens are short, and loading a vocabulary
 * hashes each three times.
 */
static uint32_t hash_bytes(const char *s, size_t len)
{
	uint64_t h = len;

	if (len >= 8) {
		for (size_t i = 0; i + 8 < len; i += 8)
			h = mix(h ^ load_bytes(s + i, 8));
		h ^= load_bytes(s + len - 8, 8);
	} else if (len >= 4) {
		h ^= load_bytes(s, 4) << 32 ^ load_bytes(s + len - 4, 4) << 4;
	} else if (len) {
		h ^= load_bytes(s, 1) << 24 ^ load_bytes(s + len / 2, 1) << 16 ^
		     load_bytes(s + len - 1, 1) << 8;
	}
	return (uint32_t)mix(mix(h));
}

static uint32_t hash_pair(uint32_t left, uint32_t right)
{
	return (uint32_t)mix(mix((uint64_t)left << 32 | right));
}

/* Mask of a table at most half full with @n entries. */
static uint32_t table_mask(uint32_t n)
{
	uint32_t size = 16;

	while (size < 2 * n)
		size *= 2;
	return size - 1;
}

/* Slot of the token with these bytes, or the free slot where it belongs. */
static uint32_t text_slot(const struct vocab *v, const char *bytes, size_t len)
{
	uint32_t i = hash_bytes(bytes, len) & v->by_text_mask;

	for (; v->by_text[i] != NPU_TOKEN_NONE; i = (i + 1) & v->by_text_mask) {
		uint32_t id = v->by_text[i];

		if (v->tokens[id].len == len && !memcmp(vocab_bytes(v, id), bytes, len))
			break;
	}
	return i;
}

uint32_t vocab_find(const struct vocab *v, const char *bytes, size_t len)
{
	return v->by_text[text_slot(v, bytes, len)];
}

static struct merge *merge_slot(const struct vocab *v, uint32_t left, uint32_t right)
{
	uint32_t i = hash_pair(left, right) & v->merges_mask;

	while (v->merges[i].left != NPU_TOKEN_NONE &&
	       (v->merges[i].left != left || v->merges[i].right != right))
		i = (i + 1) & v->merges_mask;
	return &v->merges[i];
}

const struct merge *vocab_find_merge(const struct vocab *v, uint32_t left, uint32_t right)
{
	const struct merge *m = merge_slot(v, left, right);

	return m->left == NPU_TOKEN_NONE ? NULL : m;
}

static npu_status alloc_tokens(struct vocab *v, const struct npu_gguf_value *texts)
{
	if (!texts->n || texts->n > MAX_VOCAB)
		return npu_fail(NPU_ERR_LIMIT, "vocabulary of %llu tokens, limit 1..%u",
				(unsigned long long)texts->n, MAX_VOCAB);
	if (texts->size > UINT32_MAX)
		return npu_fail(NPU_ERR_LIMIT, "vocabulary text of %llu bytes, limit 2^32",
				(unsigned long long)texts->size);
	v->n = (uint32_t)texts->n;
	v->tokens = calloc(v->n, sizeof(*v->tokens));
	v->bytes = malloc(texts->size);		/* decoding never lengthens */
	v->by_text_mask = table_mask(v->n);
	v->by_text = malloc((v->by_text_mask + 1ul) * sizeof(*v->by_text));
	if (!v->tokens || !v->bytes || !v->by_text)
		return npu_fail(NPU_ERR_NOMEM, "no memory for %u tokens", v->n);
	memset(v->by_text, 0xff, (v->by_text_mask + 1ul) * sizeof(*v->by_text));
	return NPU_OK;
}

static npu_status load_types(struct vocab *v, const npu_gguf *g)
{
	static const char key[] = "tokenizer.ggml.token_type";
	struct npu_gguf_value types, one;
	struct npu_gguf_iter it;
	uint64_t type;
	npu_status st;

	for (uint32_t id = 0; id < v->n; id++)
		v->tokens[id].type = TOKEN_NORMAL;
	if (npu_gguf_find(g, key, &types))
		return NPU_OK;
	if (types.type != NPU_GGUF_ARRAY || types.n != v->n)
		return npu_fail(NPU_ERR_FORMAT, "key '%s': not an array of %u elements", key, v->n);
	npu_gguf_iter_init(&it, &types);
	for (uint32_t id = 0; npu_gguf_iter_next(&it, &one); id++) {
		st = npu_gguf_value_u64(&one, &type);
		if (st || type < TOKEN_NORMAL || type > TOKEN_BYTE)
			return npu_fail(NPU_ERR_FORMAT, "key '%s': element %u is not a token type",
					key, id);
		v->tokens[id].type = (uint8_t)type;
	}
	return NPU_OK;
}

static npu_status load_tokens(struct vocab *v, const npu_gguf *g,
			      const int16_t byte_of[ALPHABET_END])
{
	struct npu_gguf_value texts, one;
	struct npu_gguf_iter it;
	struct npu_gguf_str s;
	uint32_t used = 0;
	npu_status st;

	st = npu_gguf_find_array(g, "tokenizer.ggml.tokens", NPU_GGUF_STRING, &texts);
	if (!st)
		st = alloc_tokens(v, &texts);
	if (!st)
		st = load_types(v, g);
	if (st)
		return st;
	npu_gguf_iter_init(&it, &texts);
	for (uint32_t id = 0; npu_gguf_iter_next(&it, &one); id++) {
		struct token *t = &v->tokens[id];

		npu_gguf_value_str(&one, &s);
		t->offset = used;
		if (t->type == TOKEN_NORMAL && decode(byte_of, s, v->bytes + used, &t->len)) {
			t->matchable = t->len > 0;
		} else {
			memcpy(v->bytes + used, s.data, s.len);
			t->len = (uint32_t)s.len;
		}
		used += t->len;
		if (t->matchable)
			v->by_text[text_slot(v, vocab_bytes(v, id), t->len)] = id;
	}
	for (int b = 0; b < 256; b++)
		v->byte_id[b] = vocab_find(v, &(char){ (char)b }, 1);
	return NPU_OK;
}

/* "left right" in the byte alphabet, in which a space is not written as a space. */
static npu_status add_merge(struct vocab *v, struct npu_gguf_str s, uint32_t rank,
			    const int16_t byte_of[ALPHABET_END], char *buf)
{
	const char *gap = s.len > 1 ? memchr(s.data + 1, ' ', s.len - 1) : NULL;
	struct npu_gguf_str left, right;
	uint32_t n_left, n_right;
	struct merge m, *slot;

	if (!gap)
		goto malformed;
	left = (struct npu_gguf_str){ s.data, (size_t)(gap - s.data) };
	right = (struct npu_gguf_str){ gap + 1, s.len - left.len - 1 };
	if (!decode(byte_of, left, buf, &n_left) ||
	    !decode(byte_of, right, buf + n_left, &n_right))
		goto malformed;
	m = (struct merge){
		.left = vocab_find(v, buf, n_left),
		.right = vocab_find(v, buf + n_left, n_right),
		.merged = vocab_find(v, buf, n_left + n_right),
		.rank = rank,
	};
	if (m.left == NPU_TOKEN_NONE || m.right == NPU_TOKEN_NONE || m.merged == NPU_TOKEN_NONE)
		return npu_fail(NPU_ERR_FORMAT, "merge %u '%.*s': not made of tokens", rank,
				(int)(s.len < 64 ? s.len : 64), s.data);
	slot = merge_slot(v, m.left, m.right);
	if (slot->left == NPU_TOKEN_NONE)	/* of two equal ones the first counts */
		*slot = m;
	return NPU_OK;
malformed:
	return npu_fail(NPU_ERR_FORMAT, "merge %u '%.*s': not two words of the byte alphabet", rank,
			(int)(s.len < 64 ? s.len : 64), s.data);
}

static npu_status load_merges(struct vocab *v, const npu_gguf *g,
			      const int16_t byte_of[ALPHABET_END])
{
	struct npu_gguf_value texts, one;
	struct npu_gguf_iter it;
	struct npu_gguf_str s;
	char *buf;
	npu_status st;

	st = npu_gguf_find_array(g, "tokenizer.ggml.merges", NPU_GGUF_STRING, &texts);
	if (st)
		return st;
	if (texts.n > MAX_VOCAB)
		return npu_fail(NPU_ERR_LIMIT, "%llu merges, limit %u", (unsigned long long)texts.n,
				MAX_VOCAB);
	v->merges_mask = table_mask((uint32_t)texts.n);
	v->merges = malloc((v->merges_mask + 1ul) * sizeof(*v->merges));
	buf = malloc(texts.size + 1);
	if (!v->merges || !buf) {
		free(buf);
		return npu_fail(NPU_ERR_NOMEM, "no memory for %llu merges",
				(unsigned long long)texts.n);
	}
	memset(v->merges, 0xff, (v->merges_mask + 1ul) * sizeof(*v->merges));
	npu_gguf_iter_init(&it, &texts);
	for (uint32_t rank = 0; !st && npu_gguf_iter_next(&it, &one); rank++) {
		npu_gguf_value_str(&one, &s);
		st = add_merge(v, s, rank, byte_of, buf);
	}
	free(buf);
	return st;
}

/* An id from the metadata; NPU_TOKEN_NONE if the file has none. */
static npu_status load_id(const struct vocab *v, const npu_gguf *g, const char *key, uint32_t *id)
{
	npu_status st = npu_gguf_find_u32(g, key, id);

	if (st == NPU_ERR_NOT_FOUND) {
		*id = NPU_TOKEN_NONE;
		return NPU_OK;
	}
	if (!st && *id >= v->n)
		return npu_fail(NPU_ERR_FORMAT, "key '%s': id %u, vocabulary has %u", key, *id,
				v->n);
	return st;
}

static npu_status load_ids(struct vocab *v, const npu_gguf *g)
{
	static const char *const stop_keys[] = {
		"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
		"tokenizer.ggml.eom_token_id",
	};
	uint32_t id;
	npu_status st;

	st = load_id(v, g, "tokenizer.ggml.bos_token_id", &v->bos);
	if (!st)
		st = load_id(v, g, "tokenizer.ggml.eos_token_id", &v->eos);
	if (!st)
		st = load_id(v, g, "tokenizer.ggml.unknown_token_id", &v->unknown);
	/* Many files name a control token here; a text must not become one. */
	if (!st && v->unknown != NPU_TOKEN_NONE && v->tokens[v->unknown].type != TOKEN_UNKNOWN)
		v->unknown = NPU_TOKEN_NONE;
	for (size_t i = 0; !st && i < sizeof(stop_keys) / sizeof(stop_keys[0]); i++) {
		st = load_id(v, g, stop_keys[i], &id);
		if (!st && id != NPU_TOKEN_NONE)
			v->tokens[id].stop = true;
	}
	if (st)
		return st;
	st = npu_gguf_find_bool(g, "tokenizer.ggml.add_bos_token", &v->add_bos);
	if (st && st != NPU_ERR_NOT_FOUND)
		return st;
	if (v->add_bos && v->bos == NPU_TOKEN_NONE)
		return npu_fail(NPU_ERR_FORMAT, "the model wants a BOS token but names none");
	return NPU_OK;
}

static bool is_special(const struct token *t)
{
	return t->len && (t->type == TOKEN_CONTROL || t->type == TOKEN_USER_DEFINED ||
			  t->type == TOKEN_UNKNOWN);
}

static int compare_special(const void *a, const void *b, void *user)
{
	const struct vocab *v = user;
	uint32_t ia = *(const uint32_t *)a, ib = *(const uint32_t *)b;
	unsigned char ca = (unsigned char)*vocab_bytes(v, ia);
	unsigned char cb = (unsigned char)*vocab_bytes(v, ib);

	if (ca != cb)
		return ca < cb ? -1 : 1;
	if (v->tokens[ia].len != v->tokens[ib].len)
		return v->tokens[ia].len > v->tokens[ib].len ? -1 : 1;
	return ia < ib ? -1 : ia > ib;
}

static npu_status index_special(struct vocab *v)
{
	uint32_t n = 0, at = 0;

	for (uint32_t id = 0; id < v->n; id++)
		n += is_special(&v->tokens[id]);
	v->special = malloc((n + 1ul) * sizeof(*v->special));
	if (!v->special)
		return npu_fail(NPU_ERR_NOMEM, "no memory for %u special tokens", n);
	for (uint32_t id = 0; id < v->n; id++) {
		struct token *t = &v->tokens[id];

		if (!is_special(t))
			continue;
		v->special[at++] = id;
		for (size_t i = 0; i < sizeof(stop_names) / sizeof(stop_names[0]); i++)
			if (t->len == strlen(stop_names[i]) &&
			    !memcmp(vocab_bytes(v, id), stop_names[i], t->len))
				t->stop = true;
	}
	qsort_r(v->special, n, sizeof(*v->special), compare_special, v);
	at = 0;
	for (uint32_t c = 0; c <= 256; c++) {
		while (at < n && (unsigned char)*vocab_bytes(v, v->special[at]) < c)
			at++;
		v->special_first[c] = at;
	}
	return NPU_OK;
}

npu_status vocab_load(struct vocab *v, const npu_gguf *g, bool add_bos)
{
	int16_t byte_of[ALPHABET_END];
	npu_status st;

	fill_alphabet(byte_of);
	v->add_bos = add_bos;
	st = load_tokens(v, g, byte_of);
	if (!st)
		st = load_merges(v, g, byte_of);
	if (!st)
		st = load_ids(v, g);
	if (!st)
		st = index_special(v);
	return st;
}

void vocab_free(struct vocab *v)
{
	free(v->tokens);
	free(v->bytes);
	free(v->by_text);
	free(v->merges);
	free(v->special);
}
