// SPDX-License-Identifier: MIT
/*
 * A pre-tokenizer is a list of patterns.  The first cuts the text into its matches and the gaps
 * between them; each following one cuts every piece again, seeing that piece alone.
 *
 * White space is spelled out (Unicode's White_Space property): PCRE2's \s has one character
 * more, and its set has changed between versions.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "llm/pretok.h"
#include "llm/utf8.h"

#define MAX_PATTERNS 2

#define WS	"\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}" \
		"\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define SPACES_BUT_LAST	"[" WS "]+(?![^" WS "])"

#define DIGIT	"\\p{N}"
#define GPT2	"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" WS "\\p{L}\\p{N}]+|" \
		SPACES_BUT_LAST
#define MODERN(digits) \
		"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|" \
		"[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits \
		"| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n]*|[" WS "]*[\\r\\n]+|" \
		SPACES_BUT_LAST "|[" WS "]+"

struct flavour {
	const char *name;		/* tokenizer.ggml.pre */
	const char *patterns[MAX_PATTERNS];
	bool whole_words;
	bool adds_bos;
};

static const struct flavour flavours[] = {
	{ "smollm",		{ DIGIT, GPT2 } },
	{ "starcoder",		{ DIGIT, GPT2 } },
	{ "refact",		{ DIGIT, GPT2 } },
	{ "command-r",		{ DIGIT, GPT2 } },
	{ "codeshell",		{ DIGIT, GPT2 } },
	{ "gpt-2",		{ GPT2 } },
	{ "mpt",		{ GPT2 } },
	{ "olmo",		{ GPT2 } },
	{ "llama3",		{ MODERN("\\p{N}{1,3}") }, true, true },
	{ "llama-v3",		{ MODERN("\\p{N}{1,3}") }, true, true },
	{ "llama-bpe",		{ MODERN("\\p{N}{1,3}") }, true, true },
	{ "qwen2",		{ MODERN("\\p{N}") } },
	{ "deepseek-r1-qwen",	{ MODERN("\\p{N}") } },
};

struct pretok {
	const struct flavour *flavour;
	pcre2_code *codes[MAX_PATTERNS];
};

static npu_status compile(const char *pattern, pcre2_code **out)
{
	PCRE2_UCHAR reason[120];
	PCRE2_SIZE at;
	int err;

	*out = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP,
			     &err, &at, NULL);
	if (*out)
		return NPU_OK;
	if (err == PCRE2_ERROR_HEAP_FAILED)
		return npu_fail(NPU_ERR_NOMEM, "no memory for the pre-tokenizer's pattern");
	pcre2_get_error_message(err, reason, sizeof(reason));
	return npu_fail(NPU_ERR_UNSUPPORTED, "this PCRE2 refuses the pre-tokenizer's pattern: %s "
			"at %zu", (char *)reason, at);
}

npu_status pretok_new(struct npu_gguf_str name, struct pretok **out)
{
	const struct flavour *f = NULL;
	struct pretok *p;
	npu_status st;

	*out = NULL;
	for (size_t i = 0; !f && i < sizeof(flavours) / sizeof(flavours[0]); i++)
		if (npu_gguf_str_eq(name, flavours[i].name))
			f = &flavours[i];
	if (!f)
		return npu_fail(NPU_ERR_UNSUPPORTED, "pre-tokenizer '%.*s'",
				(int)(name.len < 64 ? name.len : 64), name.data);
	p = calloc(1, sizeof(*p));
	if (!p)
		return npu_fail(NPU_ERR_NOMEM, "no memory for the pre-tokenizer");
	p->flavour = f;
	for (int i = 0; i < MAX_PATTERNS && f->patterns[i]; i++) {
		st = compile(f->patterns[i], &p->codes[i]);
		if (st) {
			pretok_del(p);
			return st;
		}
	}
	*out = p;
	return NPU_OK;
}

void pretok_del(struct pretok *p)
{
	if (!p)
		return;
	for (int i = 0; i < MAX_PATTERNS; i++)
		pcre2_code_free(p->codes[i]);
	free(p);
}

bool pretok_whole_words(const struct pretok *p)
{
	return p->flavour->whole_words;
}

bool pretok_adds_bos(const struct pretok *p)
{
	return p->flavour->adds_bos;
}

struct walk {
	const struct pretok *p;
	pcre2_match_data *match;
	pretok_word_fn word;
	void *user;
};

/* The piece is well-formed UTF-8; what patterns @stage and later make of it. */
static npu_status cut(const struct walk *w, int stage, const char *piece, size_t len)
{
	const pcre2_code *code = stage < MAX_PATTERNS ? w->p->codes[stage] : NULL;
	size_t pos = 0, start, end;
	npu_status st;
	int rc;

	if (!code)
		return w->word(w->user, piece, len);
	while (pos < len) {
		rc = pcre2_match(code, (PCRE2_SPTR)piece, len, pos, PCRE2_NO_UTF_CHECK, w->match,
				 NULL);
		if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
			return npu_fail(rc == PCRE2_ERROR_NOMEMORY ? NPU_ERR_NOMEM : NPU_ERR_LIMIT,
					"pre-tokenizer: PCRE2 error %d in a piece of %zu bytes", rc,
					len);
		start = end = len;
		if (rc > 0) {
			start = pcre2_get_ovector_pointer(w->match)[0];
			end = pcre2_get_ovector_pointer(w->match)[1];
		}
		if (start > pos) {
			st = cut(w, stage + 1, piece + pos, start - pos);
			if (st)
				return st;
		}
		if (end > start) {
			st = cut(w, stage + 1, piece + start, end - start);
			if (st)
				return st;
		}
		pos = end;
	}
	return NPU_OK;
}

/* Bytes at the start of @s that are well-formed UTF-8. */
static size_t wellformed(const char *s, size_t len)
{
	size_t n = 0;
	int used;

	while (n < len) {
		used = utf8_next(s + n, len - n, NULL);
		if (used <= 0)
			break;
		n += (size_t)used;
	}
	return n;
}

npu_status pretok_split(const struct pretok *p, const char *text, size_t len,
			pretok_word_fn word, void *user)
{
	struct walk w = { .p = p, .word = word, .user = user };
	npu_status st = NPU_OK;
	size_t n;

	/* One pair of offsets, shared by the stages: each copies them before it goes deeper. */
	w.match = pcre2_match_data_create(1, NULL);
	if (!w.match)
		return npu_fail(NPU_ERR_NOMEM, "no memory for the pre-tokenizer");
	while (!st && len) {
		n = wellformed(text, len);
		if (n) {
			st = cut(&w, 0, text, n);
		} else {
			n = 1;		/* a malformed byte is a word of its own */
			st = word(user, text, n);
		}
		text += n;
		len -= n;
	}
	pcre2_match_data_free(w.match);
	return st;
}
