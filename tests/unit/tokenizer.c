// SPDX-License-Identifier: MIT
/* The tokenizer on small vocabularies made here; SmolLM2's own is in tokenizer_golden.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm/utf8.h"
#include "npu/llm.h"
#include "tokenizer_build.h"

#define assert_ok(call) assert_string_equal((call) ? npu_error_message() : "", "")
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SP "\xc4\xa0"		/* a space in the byte alphabet, U+0120 */

static struct gguf_build build;

static npu_status make(const struct vocab_build *v, npu_tokenizer **t)
{
	uint8_t *copy;
	npu_gguf *g;
	npu_status st;

	vocab_build(&build, v);
	assert_ok(gb_open(build.bytes, build.n, &g, &copy));
	st = npu_tokenizer_new(g, t);
	npu_gguf_close(g);	/* the tokenizer may not depend on it */
	free(copy);
	return st;
}

static npu_tokenizer *made(const struct vocab_build *v)
{
	npu_tokenizer *t;

	assert_ok(make(v, &t));
	return t;
}

static void expect(const npu_tokenizer *t, uint32_t flags, const char *text, size_t len,
		   const uint32_t *want, size_t n_want)
{
	uint32_t *ids;
	size_t n;

	assert_ok(npu_tokenizer_encode(t, text, len, flags, &ids, &n));
	for (size_t i = 0; i < n && i < n_want; i++)
		if (ids[i] != want[i])
			fail_msg("'%s': id %zu is %u, wanted %u", text, i, ids[i], want[i]);
	if (n != n_want)
		fail_msg("'%s': %zu ids, wanted %zu", text, n, n_want);
	assert_true(n || !ids);
	free(ids);
}

#define EXPECT(t, flags, text, ...) do { \
		const uint32_t want_[] = { __VA_ARGS__ }; \
		expect(t, flags, text, strlen(text), want_, COUNT(want_)); \
	} while (0)

/* 256 "ab" 257 "bc" 258 "abc" 259 " a" 260 " ab" */
static const char *const words[] = { "ab", "bc", "abc", SP "a", SP "ab" };
static const char *const merges[] = { "b c", "a b", "a bc", SP " a", SP "a b" };
static const char *const special[] = { "<x", "<x>", "<u>", "<end>" };	/* 261.. */
static const int32_t special_types[] = { 3, 3, 4, 3 };

static const struct vocab_build small = {
	VOCAB_BUILD_DEFAULTS, .words = words, .n_words = COUNT(words), .merges = merges,
	.n_merges = COUNT(merges), .special = special, .special_types = special_types,
	.n_special = COUNT(special),
};

static void merges_by_rank(void **state)
{
	npu_tokenizer *t = made(&small);

	(void)state;
	EXPECT(t, 0, "a", 'a');
	EXPECT(t, 0, "ab", 256);
	EXPECT(t, 0, "abc", 258);		/* b c goes first, then a bc */
	EXPECT(t, 0, "abab", 256, 256);
	EXPECT(t, 0, "aab", 'a', 256);
	EXPECT(t, 0, "xabcy", 'x', 258, 'y');
	EXPECT(t, 0, "x ac", 'x', 259, 'c');
	EXPECT(t, 0, "x ab", 'x', ' ', 256);	/* "a b" goes before " a" */
	npu_tokenizer_del(t);
}

/* A symbol of the slow way: a piece of the word. */
struct piece {
	const char *s;
	size_t len;
};

static bool is(const struct piece *p, const char *text)
{
	return p->len == strlen(text) && !memcmp(p->s, text, p->len);
}

/* Straightforward merging: look at all pairs, take the best, start again. */
static size_t merge_slowly(const char (*left)[8], const char (*right)[8], size_t n_rules,
			   const char *word, struct piece *p)
{
	size_t n = strlen(word);

	for (size_t i = 0; i < n; i++)
		p[i] = (struct piece){ word + i, 1 };
	for (;;) {
		size_t best = n_rules, at = 0;

		for (size_t i = 0; i + 1 < n; i++)
			for (size_t r = 0; r < best; r++)
				if (is(&p[i], left[r]) && is(&p[i + 1], right[r])) {
					best = r;
					at = i;
				}
		if (best == n_rules)
			return n;
		p[at].len += p[at + 1].len;
		n--;
		memmove(&p[at + 1], &p[at + 2], (n - at - 1) * sizeof(*p));
	}
}

#define RULES	24
#define LENGTH	40

struct rules {
	size_t n;
	char left[RULES][8], right[RULES][8], text[RULES][16], line[RULES][20];
	const char *words[RULES], *merges[RULES];
};

/* Random merges over the letters a, b, c: each joins letters or earlier results. */
static void make_rules(struct rules *r)
{
	static const char *const letters[] = { "a", "b", "c" };
	char *gap;

	r->n = 0;
	for (int tries = 0; r->n < RULES && tries < 400; tries++) {
		size_t il = (size_t)rand() % (3 + r->n), ir = (size_t)rand() % (3 + r->n), k;
		const char *left = il < 3 ? letters[il] : r->text[il - 3];
		const char *right = ir < 3 ? letters[ir] : r->text[ir - 3];

		if (strlen(left) + strlen(right) > 7)
			continue;
		snprintf(r->text[r->n], sizeof(r->text[0]), "%s%s", left, right);
		for (k = 0; k < r->n && strcmp(r->text[k], r->text[r->n]); k++)
			;
		if (k < r->n)
			continue;
		snprintf(r->left[k], sizeof(r->left[0]), "%s", left);
		snprintf(r->right[k], sizeof(r->right[0]), "%s", right);
		memcpy(r->line[k], r->text[k], sizeof(r->text[0]));
		gap = r->line[k] + strlen(r->left[k]);
		memmove(gap + 1, gap, strlen(gap) + 1);
		*gap = ' ';
		r->words[k] = r->text[k];
		r->merges[k] = r->line[k];
		r->n++;
	}
}

static void compare_with_slow(const npu_tokenizer *t, const struct rules *r)
{
	char word[LENGTH + 1];
	struct piece p[LENGTH];
	size_t len = 1 + (size_t)rand() % LENGTH, n, n_slow, n_bytes;
	const char *bytes;
	uint32_t *ids;

	for (size_t i = 0; i < len; i++)
		word[i] = (char)('a' + rand() % 3);
	word[len] = 0;
	n_slow = merge_slowly(r->left, r->right, r->n, word, p);
	assert_ok(npu_tokenizer_encode(t, word, len, 0, &ids, &n));
	assert_int_equal(n, n_slow);
	for (size_t i = 0; i < n; i++) {
		assert_ok(npu_tokenizer_bytes(t, ids[i], &bytes, &n_bytes));
		assert_int_equal(n_bytes, p[i].len);
		assert_memory_equal(bytes, p[i].s, n_bytes);
	}
	free(ids);
}

static void agrees_with_slow_merging(void **state)
{
	static struct rules r;

	(void)state;
	srand(7);
	for (int round = 0; round < 60; round++) {
		struct vocab_build v = { VOCAB_BUILD_DEFAULTS, .words = r.words,
					 .merges = r.merges };
		npu_tokenizer *t;

		make_rules(&r);
		v.n_words = v.n_merges = r.n;
		t = made(&v);
		for (int k = 0; k < 20; k++)
			compare_with_slow(t, &r);
		npu_tokenizer_del(t);
	}
}

static void finds_special_tokens(void **state)
{
	npu_tokenizer *t = made(&small);

	(void)state;
	EXPECT(t, NPU_TOKENIZE_SPECIAL, "<x>", 262);		/* the longest */
	EXPECT(t, NPU_TOKENIZE_SPECIAL, "<x<x>", 261, 262);
	EXPECT(t, NPU_TOKENIZE_SPECIAL, "a<u>ab<end>", 'a', 263, 256, 264);
	EXPECT(t, NPU_TOKENIZE_SPECIAL, "<u", '<', 'u');
	EXPECT(t, 0, "<x>", '<', 'x', '>');			/* control tokens: text */
	EXPECT(t, 0, "a<u>b", 'a', 263, 'b');			/* user-defined: always */
	assert_true(npu_tokenizer_is_control(t, 262));
	assert_false(npu_tokenizer_is_control(t, 263));
	npu_tokenizer_del(t);
}

static void survives_any_bytes(void **state)
{
	static const struct { const char *text; size_t len; } cases[] = {
		{ "\0", 1 }, { "a\0b", 3 }, { "\xff", 1 }, { "\x80\x80", 2 }, { "\xc3", 1 },
		{ "\xe2\x82", 2 }, { "\xf0\x9f\x98", 3 }, { "\xed\xa0\x80", 3 },
		{ "\xf5\x80\x80\x80", 4 }, { "\xc0\xaf", 2 }, { "ab\xff" "ab", 5 },
		{ "\xe2\x28\xa1", 3 }, { "\xf0\x9f\x98\x80\xf0\x9f", 6 },
	};
	npu_tokenizer *t = made(&small);

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint32_t *ids;
		size_t n, at = 0, len;
		const char *bytes;

		assert_ok(npu_tokenizer_encode(t, cases[i].text, cases[i].len, NPU_TOKENIZE_SPECIAL,
					       &ids, &n));
		for (size_t k = 0; k < n; k++) {
			assert_ok(npu_tokenizer_bytes(t, ids[k], &bytes, &len));
			assert_true(at + len <= cases[i].len);
			assert_memory_equal(bytes, cases[i].text + at, len);
			at += len;
		}
		assert_int_equal(at, cases[i].len);
		free(ids);
	}
	expect(t, 0, "ab\xff" "ab", 5, (const uint32_t[]){ 256, 0xff, 256 }, 3);
	expect(t, 0, "", 0, NULL, 0);
	npu_tokenizer_del(t);
}

static void long_words_take_little_time(void **state)
{
	const size_t len = 256 << 10;
	npu_tokenizer *t = made(&small);
	char *text = malloc(len);
	uint32_t *ids;
	size_t n;

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < len; i++)
		text[i] = "abc"[i % 3];
	assert_ok(npu_tokenizer_encode(t, text, len, 0, &ids, &n));
	assert_int_equal(n, (len + 2) / 3);
	free(ids);
	memset(text, ' ', len);
	assert_ok(npu_tokenizer_encode(t, text, len, 0, &ids, &n));
	assert_int_equal(n, len);
	free(ids);
	free(text);
	assert_int_equal(npu_tokenizer_encode(t, "", NPU_TOKENIZE_MAX_BYTES + 1ul, 0, &ids, &n),
			 NPU_ERR_LIMIT);
	assert_null(ids);
	npu_tokenizer_del(t);
}

static void adds_bos(void **state)
{
	struct vocab_build v = small;
	npu_tokenizer *t;

	(void)state;
	v.bos = 262;
	v.eos = 263;
	v.add_bos = 1;
	t = made(&v);
	assert_int_equal(npu_tokenizer_bos(t), 262);
	EXPECT(t, NPU_TOKENIZE_BOS, "a", 262, 'a');
	EXPECT(t, NPU_TOKENIZE_BOS, "", 262);
	EXPECT(t, 0, "a", 'a');
	assert_true(npu_tokenizer_is_stop(t, 263));
	assert_false(npu_tokenizer_is_stop(t, 262));
	npu_tokenizer_del(t);
	v.add_bos = 0;
	t = made(&v);
	EXPECT(t, NPU_TOKENIZE_BOS, "a", 'a');
	npu_tokenizer_del(t);
	v.add_bos = -1;
	v.pre = "llama-bpe";		/* which adds it unless told otherwise */
	t = made(&v);
	EXPECT(t, NPU_TOKENIZE_BOS, "a", 262, 'a');
	npu_tokenizer_del(t);
}

static void pre_tokenizers_differ_in_digits_and_whole_words(void **state)
{
	static const char *const more[] = { "12", "123", "xyz" };
	static const char *const rules[] = { "1 2", "12 3" };
	struct vocab_build v = { VOCAB_BUILD_DEFAULTS, .words = more, .n_words = 3, .merges = rules,
				 .n_merges = 2 };
	npu_tokenizer *t;

	(void)state;
	v.bos = 0;
	t = made(&v);
	EXPECT(t, 0, "1234", '1', '2', '3', '4');
	npu_tokenizer_del(t);
	v.pre = "gpt-2";
	t = made(&v);
	EXPECT(t, 0, "1234", 257, '4');
	EXPECT(t, 0, "xyz", 'x', 'y', 'z');
	npu_tokenizer_del(t);
	v.pre = "qwen2";
	t = made(&v);
	EXPECT(t, 0, "123", '1', '2', '3');
	npu_tokenizer_del(t);
	v.pre = "llama-bpe";
	t = made(&v);
	EXPECT(t, 0, "123123", 257, 257);
	EXPECT(t, 0, "xyz", 258);		/* a token, though no merges lead to it */
	npu_tokenizer_del(t);
}

/* Unicode's table 3-7, at its edges: length, 0 (unfinished) or minus the bytes to give up. */
static void knows_wellformed_utf8(void **state)
{
	static const struct { const char *bytes; size_t len; int want; uint32_t cp; } cases[] = {
		{ "\0", 1, 1, 0 }, { "\x7f", 1, 1, 0x7f }, { "\x80", 1, -1 }, { "\xbf", 1, -1 },
		{ "\xc1\xbf", 2, -1 }, { "\xc2\x80", 2, 2, 0x80 }, { "\xdf\xbf", 2, 2, 0x7ff },
		{ "\xc2\xc0", 2, -1 }, { "\xdf", 1, 0 }, { "\xe0\x9f\xbf", 3, -1 },
		{ "\xe0\xa0\x80", 3, 3, 0x800 }, { "\xed\x9f\xbf", 3, 3, 0xd7ff },
		{ "\xed\xa0\x80", 3, -1 }, { "\xed\xbf\xbf", 3, -1 },
		{ "\xee\x80\x80", 3, 3, 0xe000 }, { "\xef\xbf\xbf", 3, 3, 0xffff },
		{ "\xe2\x82", 2, 0 }, { "\xe2\x82\x41", 3, -2 }, { "\xf0\x8f\xbf\xbf", 4, -1 },
		{ "\xf0\x90\x80\x80", 4, 4, 0x10000 }, { "\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff },
		{ "\xf4\x90\x80\x80", 4, -1 }, { "\xf1\x80\x80", 3, 0 },
		{ "\xf1\x80\x80\x41", 4, -3 },
		{ "\xf5\x80\x80\x80", 4, -1 }, { "\xff", 1, -1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint32_t cp = 0;
		int got = utf8_next(cases[i].bytes, cases[i].len, &cp);

		if (got != cases[i].want || (got > 0 && cp != cases[i].cp))
			fail_msg("case %zu: %d, U+%04X", i, got, cp);
	}
}

/* Rank 0 of "b c" decides, whatever comes later. */
static void the_first_of_equal_merges_counts(void **state)
{
	static const char *const twice[] = { "b c", "a b", "a bc", "b c" };
	struct vocab_build v = small;
	npu_tokenizer *t;

	(void)state;
	v.merges = twice;
	v.n_merges = COUNT(twice);
	t = made(&v);
	EXPECT(t, 0, "abc", 258);
	npu_tokenizer_del(t);
}

/* A token of type unknown is a name like that of a control token. */
static void unknown_tokens_are_special(void **state)
{
	static const int32_t types[] = { 3, 3, 4, 2 };
	struct vocab_build v = small;
	npu_tokenizer *t;

	(void)state;
	v.special_types = types;
	t = made(&v);
	EXPECT(t, NPU_TOKENIZE_SPECIAL, "a<end>a", 'a', 264, 'a');
	EXPECT(t, 0, "<end>", '<', 'e', 'n', 'd', '>');
	npu_tokenizer_del(t);
}

static size_t put_utf8(char *s, uint32_t cp)
{
	if (cp < 0x80) {
		s[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		s[0] = (char)(0xc0 | cp >> 6);
		s[1] = (char)(0x80 | (cp & 63));
		return 2;
	}
	s[0] = (char)(0xe0 | cp >> 12);
	s[1] = (char)(0x80 | (cp >> 6 & 63));
	s[2] = (char)(0x80 | (cp & 63));
	return 3;
}

/* "!" may merge with the first byte of what follows it, unless that is a word of its own. */
static void white_space_is_unicodes(void **state)
{
	static const char *const pairs[] = { "!\xc3\x82", "!\xc3\xa1", "!\xc3\xa2", "!\xc3\xa3" };
	static const char *const joins[] = { "! \xc3\x82", "! \xc3\xa1", "! \xc3\xa2",
					     "! \xc3\xa3" };
	static const uint32_t space[] = {
		0x85, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007,
		0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
	};
	static const uint32_t other[] = {
		0x84, 0x86, 0xa1, 0x180e, 0x200b, 0x200c, 0x200d, 0x2027, 0x202a, 0x202e, 0x2030,
		0x205e, 0x2060, 0x3001,
	};
	static const char *const pres[] = { "smollm", "gpt-2", "llama-bpe", "qwen2" };

	(void)state;
	for (size_t p = 0; p < COUNT(pres); p++) {
		const struct vocab_build v = { .bos = -1, .eos = -1, .unknown = -1, .pre = pres[p],
					       .words = pairs, .n_words = 4,
					       .merges = joins, .n_merges = 4 };
		npu_tokenizer *t = made(&v);

		for (size_t i = 0; i < COUNT(space) + COUNT(other); i++) {
			bool is_space = i < COUNT(space);
			uint32_t cp = is_space ? space[i] : other[i - COUNT(space)], *ids;
			char text[8] = "!";
			size_t len = 1 + put_utf8(text + 1, cp), n;

			assert_ok(npu_tokenizer_encode(t, text, len, 0, &ids, &n));
			if (n != len - !is_space)
				fail_msg("%s: U+%04X is%s white space", pres[p], cp,
					 is_space ? " not" : "");
			free(ids);
		}
		npu_tokenizer_del(t);
	}
}

/* Like HF's tokenizers and llama.cpp; above all, a text's byte never becomes a control token. */
static void missing_bytes(void **state)
{
	static const struct { int32_t type; bool stands; } kinds[] = {
		{ 1, false }, { 2, true }, { 3, false }, { 4, false }, { 5, false }, { 6, false },
	};
	struct vocab_build v = small;
	int32_t types[] = { 3, 3, 4, 0 };
	npu_tokenizer *t;

	(void)state;
	v.missing_byte = 'q';
	t = made(&v);
	EXPECT(t, 0, "aqa", 'a', 'a');
	EXPECT(t, 0, "aqb", 'a', 'b');		/* not "ab" */
	expect(t, 0, "qqq", 3, NULL, 0);
	expect(t, 0, "", 0, NULL, 0);
	npu_tokenizer_del(t);
	v.unknown = 264;
	v.special_types = types;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		types[3] = kinds[i].type;
		t = made(&v);
		if (kinds[i].stands)
			EXPECT(t, NPU_TOKENIZE_SPECIAL, "aqa", 'a', 264, 'a');
		else
			EXPECT(t, NPU_TOKENIZE_SPECIAL, "aqa", 'a', 'a');
		npu_tokenizer_del(t);
	}
}

static void refuses_bad_vocabularies(void **state)
{
	static const char *const no_gap[] = { "ab" };
	static const char *const not_token[] = { "a z" };
	static const char *const not_alphabet[] = { "a \xe2\x82\xac" };
	static const char *const half_char[] = { "\xc4 \xa0" };
	static const int32_t bad_type[] = { 3, 7, 4, 3 };
	const struct {
		npu_status status;
		const char *word;
		struct vocab_build v;
	} cases[] = {
#define CASE(st, w, ...) { st, w, { VOCAB_BUILD_DEFAULTS, __VA_ARGS__ } }
		CASE(NPU_ERR_UNSUPPORTED, "'llama'", .model = "llama"),
		CASE(NPU_ERR_UNSUPPORTED, "'klingon'", .pre = "klingon"),
		CASE(NPU_ERR_FORMAT, "merge 0", .merges = no_gap, .n_merges = 1),
		CASE(NPU_ERR_FORMAT, "merge 0", .merges = not_token, .n_merges = 1),
		CASE(NPU_ERR_FORMAT, "merge 0", .merges = not_alphabet, .n_merges = 1),
		CASE(NPU_ERR_FORMAT, "merge 0", .merges = half_char, .n_merges = 1),
		CASE(NPU_ERR_FORMAT, "token_type", .special = special, .special_types = bad_type,
		     .n_special = 4),
#undef CASE
		{ NPU_ERR_FORMAT, "eos_token_id", { .bos = -1, .eos = 256, .unknown = -1,
						    .add_bos = -1 } },
		{ NPU_ERR_FORMAT, "BOS", { .bos = -1, .eos = -1, .unknown = -1, .add_bos = 1 } },
	};
	npu_tokenizer *t;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		npu_status st = make(&cases[i].v, &t);

		if (st != cases[i].status || !strstr(npu_error_message(), cases[i].word))
			fail_msg("case %zu: status %d '%s', wanted %d and '%s'", i, st,
				 npu_error_message(), cases[i].status, cases[i].word);
		assert_null(t);
	}
}

static void refuses_metadata_that_is_not_there(void **state)
{
	uint8_t *copy;
	npu_gguf *g;
	npu_tokenizer *t;

	(void)state;
	gb_header(&build, 3, 0, 2);
	gb_pair_str(&build, "tokenizer.ggml.model", "gpt2");
	gb_pair_str(&build, "tokenizer.ggml.pre", "smollm");
	assert_ok(gb_open(build.bytes, build.n, &g, &copy));
	assert_int_equal(npu_tokenizer_new(g, &t), NPU_ERR_NOT_FOUND);
	assert_non_null(strstr(npu_error_message(), "tokenizer.ggml.tokens"));
	npu_gguf_close(g);
	free(copy);
}

static void nulls(void **state)
{
	struct npu_sampler_options opt;
	npu_tokenizer *t = made(&small), *none = t;
	npu_sampler *s = (void *)t;
	npu_detok *d = (void *)t;
	npu_chat *c = (void *)t;
	npu_gguf *g = (void *)t;

	(void)state;
	npu_sampler_defaults(&opt);
#define REFUSED(call) do { \
		assert_int_equal(call, NPU_ERR_INVALID); \
		assert_non_null(strstr(npu_error_message(), "npu_")); \
	} while (0)
	REFUSED(npu_gguf_open(NULL, &g));
	REFUSED(npu_gguf_open("model", NULL));
	assert_null(g);
	g = (void *)t;
	REFUSED(npu_gguf_open_mem(NULL, 0, &g));
	REFUSED(npu_gguf_open_mem("data", 4, NULL));
	REFUSED(npu_tokenizer_new(NULL, &none));
	REFUSED(npu_tokenizer_new(g, NULL));
	REFUSED(npu_chat_new(NULL, &c));
	REFUSED(npu_chat_new(g, NULL));
	REFUSED(npu_detok_new(NULL, false, &d));
	REFUSED(npu_detok_new(t, false, NULL));
	REFUSED(npu_sampler_new(NULL, 10, &s));
	REFUSED(npu_sampler_new(&opt, 10, NULL));
#undef REFUSED
	assert_true(!g && !none && !c && !d && !s);
	npu_gguf_close(NULL);
	npu_tokenizer_del(NULL);
	npu_chat_del(NULL);
	npu_detok_del(NULL);
	npu_sampler_del(NULL);
	npu_tokenizer_del(t);
}

static void push(npu_detok *d, uint32_t id, const char *want)
{
	const char *text;
	size_t len;

	assert_ok(npu_detok_push(d, id, &text, &len));
	assert_int_equal(len, strlen(want));
	assert_memory_equal(text, want, len);
}

static void finish(npu_detok *d, const char *want)
{
	const char *text;
	size_t len;

	assert_ok(npu_detok_finish(d, &text, &len));
	assert_int_equal(len, strlen(want));
	assert_memory_equal(text, want, len);
}

static void streams_whole_characters(void **state)
{
	npu_tokenizer *t = made(&small);
	const char *text;
	npu_detok *d;
	size_t len;

	(void)state;
	assert_ok(npu_detok_new(t, false, &d));
	push(d, 258, "abc");
	push(d, 0xf0, "");			/* U+1F600 byte by byte */
	push(d, 0x9f, "");
	push(d, 0x98, "");
	push(d, 0x80, "\xf0\x9f\x98\x80");
	push(d, 0xe2, "");
	push(d, 0x82, "");
	push(d, 'x', "\xef\xbf\xbd" "x");	/* an unfinished sequence is one U+FFFD */
	push(d, 0x80, "\xef\xbf\xbd");
	push(d, 264, "");			/* a control token is not text */
	push(d, 263, "<u>");			/* a user-defined one is */
	push(d, 0xc3, "");
	finish(d, "\xef\xbf\xbd");
	finish(d, "");
	push(d, 0xa9, "\xef\xbf\xbd");		/* the lead byte is forgotten */
	assert_int_equal(npu_detok_push(d, 265, &text, &len), NPU_ERR_INVALID);
	assert_int_equal(len, 0);
	npu_detok_del(d);
	assert_ok(npu_detok_new(t, true, &d));
	push(d, 264, "<end>");
	npu_detok_del(d);
	npu_tokenizer_del(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merges_by_rank),
		cmocka_unit_test(agrees_with_slow_merging),
		cmocka_unit_test(finds_special_tokens),
		cmocka_unit_test(survives_any_bytes),
		cmocka_unit_test(long_words_take_little_time),
		cmocka_unit_test(adds_bos),
		cmocka_unit_test(pre_tokenizers_differ_in_digits_and_whole_words),
		cmocka_unit_test(knows_wellformed_utf8),
		cmocka_unit_test(the_first_of_equal_merges_counts),
		cmocka_unit_test(unknown_tokens_are_special),
		cmocka_unit_test(white_space_is_unicodes),
		cmocka_unit_test(missing_bytes),
		cmocka_unit_test(nulls),
		cmocka_unit_test(refuses_bad_vocabularies),
		cmocka_unit_test(refuses_metadata_that_is_not_there),
		cmocka_unit_test(streams_whole_characters),
	};

	return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
