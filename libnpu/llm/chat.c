// SPDX-License-Identifier: MIT
/*
 * Chat templates.  A model brings its template as a Jinja program; instead of running it, the
 * text is compared with the programs whose effect is known here, piece by piece:
 *
 *   chatml: HEAD [ SYSTEM_HEAD <default system message> SYSTEM_TAIL ] BODY
 *
 * which writes each message as "<|im_start|>role\ncontent<|im_end|>\n", puts the default system
 * message first if the conversation does not begin with one, and opens the assistant's turn.
 * SmolLM, SmolLM2 and Qwen2 have exactly this, with other default messages or none.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "llm/tokenizer.h"
#include "npu/llm.h"

#define HEAD		"{% for message in messages %}"
#define SYSTEM_HEAD	"{% if loop.first and messages[0]['role'] != 'system' %}" \
			"{{ '<|im_start|>system\n"
#define SYSTEM_TAIL	"<|im_end|>\n' }}{% endif %}"
#define BODY		"{{'<|im_start|>' + message['role'] + '\n' + message['content'] + " \
			"'<|im_end|>' + '\n'}}{% endfor %}" \
			"{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

struct npu_chat {
	const char *name;
	char *system;		/* default system message, or NULL */
};

/* "\n" in a Jinja string is the same as a line break: write both as a line break. */
static char *normalise(struct npu_gguf_str s)
{
	char *text = malloc(s.len + 1);
	size_t n = 0;

	if (!text)
		return NULL;
	for (size_t i = 0; i < s.len; i++) {
		bool escape = s.data[i] == '\\' && i + 1 < s.len && s.data[i + 1] == 'n';

		text[n++] = escape ? '\n' : s.data[i];
		i += escape;
	}
	text[n] = 0;
	return text;
}

static const char *skip(const char *s, const char *literal)
{
	size_t n = strlen(literal);

	return strncmp(s, literal, n) ? NULL : s + n;
}

/* *@system is a new string, or NULL if the template has no default; false: not chatml. */
static bool match_chatml(const char *s, char **system, bool *nomem)
{
	const char *message, *end;

	*system = NULL;
	s = skip(s, HEAD);
	if (!s)
		return false;
	message = skip(s, SYSTEM_HEAD);
	if (message) {
		end = strstr(message, SYSTEM_TAIL);
		/* A quote, escape or brace would end the literal or be code. */
		if (!end || strcspn(message, "'\\{}") < (size_t)(end - message))
			return false;
		s = end + strlen(SYSTEM_TAIL);
	}
	if (strcmp(s, BODY) != 0)
		return false;
	if (message) {
		*system = strndup(message, (size_t)(end - message));
		*nomem = !*system;
	}
	return true;
}

npu_status npu_chat_new(const npu_gguf *g, npu_chat **out)
{
	struct npu_gguf_str raw;
	char *text = NULL, *system = NULL;
	npu_chat *c = NULL;
	bool nomem = false, known;
	npu_status st;

	if (!out)
		return npu_fail(NPU_ERR_INVALID, "npu_chat_new: no place for the template");
	*out = NULL;
	if (!g)
		return npu_fail(NPU_ERR_INVALID, "npu_chat_new: no model");
	st = npu_gguf_find_str(g, "tokenizer.chat_template", &raw);
	if (st)
		return st;
	text = normalise(raw);
	if (!text)
		return npu_fail(NPU_ERR_NOMEM, "no memory for the chat template");
	known = !memchr(raw.data, 0, raw.len) && match_chatml(text, &system, &nomem);
	free(text);
	if (!known)
		return npu_fail(NPU_ERR_UNSUPPORTED, "%s: tokenizer.chat_template (%zu bytes) is "
				"none of the known templates", npu_gguf_path(g), raw.len);
	if (!nomem)
		c = calloc(1, sizeof(*c));
	if (!c) {
		free(system);
		return npu_fail(NPU_ERR_NOMEM, "no memory for the chat template");
	}
	c->name = "chatml";
	c->system = system;
	*out = c;
	return NPU_OK;
}

void npu_chat_del(npu_chat *c)
{
	if (!c)
		return;
	free(c->system);
	free(c);
}

const char *npu_chat_name(const npu_chat *c)
{
	return c->name;
}

/* A text under construction; once @failed, additions do nothing. */
struct draft {
	char *text;
	size_t len, cap;
	bool failed;
};

static void add(struct draft *d, const char *s, size_t n)
{
	if (d->failed)
		return;
	if (n > d->cap - d->len) {
		size_t cap = d->len + n + 256;
		char *text = n > SIZE_MAX / 4 ? NULL : realloc(d->text, 2 * cap);

		if (!text) {
			d->failed = true;
			return;
		}
		d->text = text;
		d->cap = 2 * cap;
	}
	memcpy(d->text + d->len, s, n);
	d->len += n;
}

static void add_str(struct draft *d, const char *s)
{
	add(d, s, strlen(s));
}

/* Writes one turn; @span becomes the place of the content. */
static void add_turn(struct draft *d, const char *role, const char *content, size_t len,
		     struct text_span *span)
{
	add_str(d, "<|im_start|>");
	add_str(d, role);
	add_str(d, "\n");
	span->start = d->len;
	add(d, content, len);
	span->end = d->len;
	add_str(d, "<|im_end|>\n");
}

static npu_status check_role(const char *role, size_t i)
{
	static const char *const roles[] = { "system", "user", "assistant" };

	for (size_t r = 0; r < sizeof(roles) / sizeof(roles[0]); r++)
		if (!strcmp(role, roles[r]))
			return NPU_OK;
	return npu_fail(NPU_ERR_INVALID, "message %zu: role '%.32s', known are system, user and "
			"assistant", i, role);
}

/* @spans: at least n_msgs + 1. */
static npu_status format(const npu_chat *c, const struct npu_chat_message *msgs, size_t n_msgs,
			 struct draft *d, struct text_span *spans)
{
	npu_status st;

	for (size_t i = 0; i < n_msgs; i++) {
		st = check_role(msgs[i].role, i);
		if (st)
			return st;
	}
	/* The loop that inserts the default message does not run over an empty conversation. */
	if (c->system && n_msgs && strcmp(msgs[0].role, "system") != 0)
		add_turn(d, "system", c->system, strlen(c->system), spans++);
	for (size_t i = 0; i < n_msgs; i++)
		add_turn(d, msgs[i].role, msgs[i].content, msgs[i].len, spans++);
	add_str(d, "<|im_start|>assistant\n");
	add(d, "", 1);
	if (d->failed)
		return npu_fail(NPU_ERR_NOMEM, "no memory for a conversation of %zu messages",
				n_msgs);
	d->len--;
	return NPU_OK;
}

npu_status npu_chat_format(const npu_chat *c, const struct npu_chat_message *msgs, size_t n_msgs,
			   char **text, size_t *len)
{
	struct text_span *spans = calloc(n_msgs + 1, sizeof(*spans));
	struct draft d = { 0 };
	npu_status st;

	*text = NULL;
	*len = 0;
	if (!spans)
		return npu_fail(NPU_ERR_NOMEM, "no memory for %zu messages", n_msgs);
	st = format(c, msgs, n_msgs, &d, spans);
	free(spans);
	if (st) {
		free(d.text);
		return st;
	}
	*text = d.text;
	*len = d.len;
	return NPU_OK;
}

npu_status npu_chat_encode(const npu_chat *c, const npu_tokenizer *t,
			   const struct npu_chat_message *msgs, size_t n_msgs,
			   uint32_t **ids, size_t *n)
{
	struct text_span *spans = calloc(n_msgs + 1, sizeof(*spans));
	struct draft d = { 0 };
	size_t n_spans = n_msgs;
	npu_status st;

	*ids = NULL;
	*n = 0;
	if (!spans)
		return npu_fail(NPU_ERR_NOMEM, "no memory for %zu messages", n_msgs);
	st = format(c, msgs, n_msgs, &d, spans);
	if (!st) {
		n_spans += spans[n_msgs].end != 0;	/* the default message took one */
		st = tokenizer_encode(t, d.text, d.len, NPU_TOKENIZE_SPECIAL | NPU_TOKENIZE_BOS,
				      spans, n_spans, ids, n);
	}
	free(d.text);
	free(spans);
	return st;
}
