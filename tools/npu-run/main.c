// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "exit.h"
#include "npu/graph.h"
#include "run.h"

static void print_log(void *user, npu_log_level level, const char *line)
{
	const struct options *o = user;

	if (level <= NPU_LOG_WARN || (level == NPU_LOG_INFO && !o->quiet))
		fprintf(stderr, "npu: %s\n", line);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void take_moment(const struct run *r, struct moment *m)
{
	*m = (struct moment){ .stats = { .struct_size = sizeof(m->stats) } };
	if (r->session)
		npu_session_get_stats(r->session, &m->stats);
	m->wall_ns = clock_ns(CLOCK_MONOTONIC);
	m->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int open_session(struct run *r, uint32_t n_ctx)
{
	const struct npu_session_options opt = {
		.struct_size = sizeof(opt),
		.device = r->opt.device,
		.n_ctx = r->opt.n_ctx ? r->opt.n_ctx : n_ctx,
		.strict = r->opt.strict,
		.n_threads = (int)r->opt.n_threads,
	};
	npu_status st;

	catch_signals();
	st = npu_session_open(r->model, &opt, &r->session);
	if (st)
		return fail_npu(st);
	take_moment(r, &r->opened);
	return EXIT_OK;
}

static int tokenize(const struct run *r)
{
	uint32_t *ids;
	size_t len, n;
	char *text;
	npu_status st;
	int status;

	status = read_text("-", &text, &len);
	if (status)
		return status;
	st = npu_tokenizer_encode(r->tokenizer, text, len, NPU_TOKENIZE_SPECIAL, &ids, &n);
	free(text);
	if (st)
		return fail_npu(st);
	for (size_t i = 0; i < n; i++)
		printf(i ? " %u" : "%u", ids[i]);
	putchar('\n');
	free(ids);
	return flush_output();
}

/* --nll and --tokens with --logits work on ids alone: any tokenizer will do, or none. */
static bool needs_tokenizer(const struct options *o)
{
	return o->mode == MODE_TOKENIZE ||
	       (o->mode == MODE_ANSWER && !(o->tokens_file && o->top_logits));
}

/* Asked for before anything large is loaded. */
static int size_vocabulary(struct run *r)
{
	struct npu_llama_hparams hp;
	npu_status st;

	if (r->opt.mode == MODE_TOKENIZE)
		return EXIT_OK;
	st = npu_llama_hparams(r->model, &hp);
	if (st)
		return fail_npu(st);
	r->n_vocab = hp.n_vocab;
	return EXIT_OK;
}

static int run_mode(struct run *r)
{
	npu_status st;
	int status;

	st = npu_gguf_open(r->opt.model, &r->model);
	if (st)
		return fail_model(st);
	guard_model(r->model);
	st = npu_tokenizer_new(r->model, &r->tokenizer);
	if (st && needs_tokenizer(&r->opt))
		return fail_npu(st);
	status = size_vocabulary(r);
	if (status)
		return status;
	switch (r->opt.mode) {
	case MODE_TOKENIZE:
		return tokenize(r);
	case MODE_NLL:
		return nll(r);
	case MODE_ANSWER:
		break;
	}
	return answer(r);
}

int main(int argc, char **argv)
{
	struct run r = { 0 };
	int status;

	hold_standard_files();
	if (!options_parse(argc, argv, &r.opt, &status))
		return status;
	npu_set_log(print_log, &r.opt);
	signal(SIGPIPE, SIG_IGN);	/* a closed output is an error of write() */
	take_moment(&r, &r.start);
	status = run_mode(&r);
	if (r.session && r.ending)
		print_report(&r);
	npu_session_close(r.session);
	npu_tokenizer_del(r.tokenizer);
	npu_gguf_close(r.model);
	if (interrupted && !status)
		status = 128 + interrupted;
	return status;
}
