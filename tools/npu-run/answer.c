// SPDX-License-Identifier: MIT
/* Generates tokens after a prompt and prints them as text, or their logits as JSON lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit.h"
#include "run.h"

#define PREFILL_STEP	64u	/* tokens between two looks at Ctrl-C; a session's usual chunk */
#define FEW		64u	/* logits to be shown that are sorted in as they are met */

struct generator {
	struct run *r;
	uint32_t n_vocab;
	struct ids prompt, force;
	npu_sampler *sampler;
	npu_detok *detok;
	float *logits;
	uint32_t *top;		/* ids of the largest logits, sorted */
};

/* ---- prompt ---------------------------------------------------------------------------- */

static int encode_chat(const struct run *r, const char *text, size_t len, struct ids *out)
{
	const struct npu_chat_message all[] = {
		{ "system", r->opt.system, r->opt.system ? strlen(r->opt.system) : 0 },
		{ "user", text, len },
	};
	const size_t skip = !r->opt.system;
	npu_chat *chat;
	npu_status st;

	st = npu_chat_new(r->model, &chat);
	if (st == NPU_ERR_NOT_FOUND || st == NPU_ERR_UNSUPPORTED)
		return fail(EXIT_UNSUPPORTED, "%s; --raw continues the text without a template",
			    npu_error_message());
	if (st)
		return fail_npu(st);
	st = npu_chat_encode(chat, r->tokenizer, all + skip, 2 - skip, &out->id, &out->n);
	npu_chat_del(chat);
	return st ? fail_npu(st) : EXIT_OK;
}

static int encode_text(const struct run *r, const char *text, size_t len, struct ids *out)
{
	npu_status st;

	if (!r->opt.raw)
		return encode_chat(r, text, len, out);
	st = npu_tokenizer_encode(r->tokenizer, text, len, NPU_TOKENIZE_SPECIAL | NPU_TOKENIZE_BOS,
				  &out->id, &out->n);
	return st ? fail_npu(st) : EXIT_OK;
}

static int read_prompt(struct generator *g)
{
	const struct options *o = &g->r->opt;
	const uint32_t n_vocab = g->r->n_vocab;
	size_t len;
	char *text;
	int status;

	if (o->tokens_file) {
		status = read_ids(o->tokens_file, n_vocab, &g->prompt);
	} else if (o->prompt) {
		status = encode_text(g->r, o->prompt, strlen(o->prompt), &g->prompt);
	} else {
		status = read_text(o->prompt_file, &text, &len);
		if (!status)
			status = encode_text(g->r, text, len, &g->prompt);
		free(text);
	}
	if (!status && o->force_file)
		status = read_ids(o->force_file, n_vocab, &g->force);
	if (!status && !g->prompt.n)
		status = fail(EXIT_USAGE, "the prompt is empty");
	g->r->n_prompt = g->prompt.n;
	return status;
}

/* ---- output ---------------------------------------------------------------------------- */

static int compare_logits(const void *a, const void *b, void *user)
{
	const float *logits = user;
	uint32_t ia = *(const uint32_t *)a, ib = *(const uint32_t *)b;

	if (logits[ia] != logits[ib])
		return logits[ia] > logits[ib] ? -1 : 1;
	return ia < ib ? -1 : ia > ib;
}

/* Fills top[] with the ids of the @k largest logits; the lower id goes first among equals. */
static void find_top(struct generator *g, uint32_t k)
{
	uint32_t n = 0, i;

	if (k > FEW) {
		for (i = 0; i < g->n_vocab; i++)
			g->top[i] = i;
		qsort_r(g->top, g->n_vocab, sizeof(*g->top), compare_logits, g->logits);
		return;
	}
	for (uint32_t id = 0; id < g->n_vocab; id++) {
		if (n == k && g->logits[id] <= g->logits[g->top[k - 1]])
			continue;
		for (i = n < k ? n++ : k - 1; i && g->logits[g->top[i - 1]] < g->logits[id]; i--)
			g->top[i] = g->top[i - 1];
		g->top[i] = id;
	}
}

/* JSON has no infinities; a logit that may be shown is no NaN. */
static void print_logit(uint32_t id, float value)
{
	if (isfinite(value))
		printf("[%u,%.9g]", id, value);
	else
		printf("[%u,null]", id);
}

static void print_logits(struct generator *g, size_t pos, uint32_t id)
{
	uint32_t k = g->r->opt.top_logits < g->n_vocab ? g->r->opt.top_logits : g->n_vocab;

	find_top(g, k);
	printf("{\"pos\":%zu,\"id\":%u,\"top\":[", pos, id);
	for (uint32_t i = 0; i < k; i++) {
		if (i)
			putchar(',');
		print_logit(g->top[i], g->logits[g->top[i]]);
	}
	puts("]}");
}

static int print_token(struct generator *g, size_t pos, uint32_t chosen, uint32_t fed)
{
	const char *text;
	size_t len;
	npu_status st;

	if (g->r->opt.top_logits) {
		print_logits(g, pos, chosen);
	} else {
		st = npu_detok_push(g->detok, fed, &text, &len);
		if (st)
			return fail_npu(st);
		fwrite(text, 1, len, stdout);
	}
	return flush_output();
}

static int print_end(struct generator *g)
{
	const char *text;
	size_t len;

	if (g->r->opt.top_logits)
		return EXIT_OK;
	npu_detok_finish(g->detok, &text, &len);
	fwrite(text, 1, len, stdout);
	putchar('\n');
	return flush_output();
}

/* ---- generation ------------------------------------------------------------------------ */

static int prefill(struct generator *g)
{
	const uint32_t n_ctx = npu_session_n_ctx(g->r->session);
	npu_status st;

	if (g->prompt.n > n_ctx)
		return fail(EXIT_CONTEXT, "the prompt has %zu tokens, the context %u positions",
			    g->prompt.n, n_ctx);
	for (size_t i = 0, n; i < g->prompt.n && !interrupted; i += n) {
		bool last;

		n = g->prompt.n - i;
		if (n > PREFILL_STEP)
			n = PREFILL_STEP;
		last = i + n == g->prompt.n;
		st = npu_session_eval(g->r->session, g->prompt.id + i, (uint32_t)n,
				      last ? g->logits : NULL, last);
		if (st)
			return fail_npu(st);
	}
	for (size_t i = 0; i < g->prompt.n; i++) {
		st = npu_sampler_accept(g->sampler, g->prompt.id[i]);
		if (st)
			return fail_npu(st);
	}
	return EXIT_OK;
}

static bool stops(const struct run *r, uint32_t id)
{
	return !r->opt.ignore_stop && r->tokenizer && npu_tokenizer_is_stop(r->tokenizer, id);
}

/* One token: choose from the logits, print, feed.  Sets r->ending when there is nothing to feed. */
static int step(struct generator *g, size_t limit)
{
	struct run *r = g->r;
	size_t i = r->n_predicted;
	bool forced = i < g->force.n;
	uint32_t chosen, fed;
	npu_status st;
	int status;

	st = npu_sampler_sample(g->sampler, g->logits, &chosen);
	if (st)
		return fail_npu(st);
	fed = forced ? g->force.id[i] : chosen;
	status = print_token(g, r->n_prompt + i, chosen, fed);
	if (status)
		return status;
	r->n_predicted++;
	if (!forced && stops(r, fed))
		r->ending = "stop token";
	else if (r->n_predicted == limit)
		r->ending = "limit";
	else if (interrupted)
		r->ending = "interrupted";
	else if (npu_session_pos(r->session) == npu_session_n_ctx(r->session))
		r->ending = "context full";
	if (r->ending)
		return EXIT_OK;
	st = npu_sampler_accept(g->sampler, fed);
	if (!st)
		st = npu_session_eval(r->session, &fed, 1, g->logits, 1);
	return st ? fail_npu(st) : EXIT_OK;
}

static int generate(struct generator *g)
{
	struct run *r = g->r;
	size_t limit = r->opt.n_given || !r->opt.force_file ? r->opt.n_predict : g->force.n;
	int status;

	status = prefill(g);
	if (status)
		return status;
	take_moment(r, &r->prefilled);
	r->n_prompt = npu_session_pos(r->session);	/* all, unless interrupted */
	if (interrupted)
		r->ending = "interrupted";
	else if (!limit)
		r->ending = "limit";
	while (!status && !r->ending)
		status = step(g, limit);
	if (!status)
		status = print_end(g);
	take_moment(r, &r->finished);
	if (!status && !strcmp(r->ending, "context full"))
		status = fail(EXIT_CONTEXT, "the context's %u positions are full after %zu tokens "
			      "of prompt and %zu of the answer; --ctx makes it larger",
			      npu_session_n_ctx(r->session), r->n_prompt, r->n_predicted);
	return status;
}

static int prepare(struct generator *g)
{
	const struct run *r = g->r;
	npu_status st;

	g->n_vocab = npu_session_n_vocab(r->session);
	st = npu_sampler_new(&r->opt.sampler, g->n_vocab, &g->sampler);
	if (st == NPU_ERR_INVALID)
		return fail(EXIT_USAGE, "%s", npu_error_message());
	if (!st && r->tokenizer)
		st = npu_detok_new(r->tokenizer, false, &g->detok);
	if (st)
		return fail_npu(st);
	g->logits = malloc(g->n_vocab * sizeof(*g->logits));
	g->top = malloc(g->n_vocab * sizeof(*g->top));
	if (!g->logits || !g->top)
		return fail(EXIT_OTHER, "no memory for %u logits", g->n_vocab);
	return EXIT_OK;
}

int answer(struct run *r)
{
	struct generator g = { .r = r };
	int status;

	status = read_prompt(&g);
	if (!status)
		status = open_session(r, 0);
	if (!status)
		status = prepare(&g);
	if (!status)
		status = generate(&g);
	free(g.prompt.id);
	free(g.force.id);
	free(g.logits);
	free(g.top);
	npu_sampler_del(g.sampler);
	npu_detok_del(g.detok);
	return status;
}
