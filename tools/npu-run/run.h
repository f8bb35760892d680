/* SPDX-License-Identifier: MIT */
/* One run of npu-run: what its parts share. */
#ifndef NPU_RUN_RUN_H
#define NPU_RUN_RUN_H

#include <signal.h>

#include "npu/gguf.h"
#include "npu/llm.h"
#include "npu/session.h"

#include "input.h"
#include "options.h"

/* Counters at a moment, so that phases can be told apart. */
struct moment {
	struct npu_session_stats stats;
	uint64_t wall_ns;
	uint64_t cpu_ns;	/* of the process */
};

struct run {
	struct options opt;
	npu_gguf *model;
	npu_tokenizer *tokenizer;	/* NULL if the run can do without */
	npu_session *session;
	uint32_t n_vocab;		/* ids below it are known to the model */
	struct moment start, opened, prefilled, finished;
	size_t n_prompt, n_predicted;
	const char *ending;		/* why it stopped */
};

/* Set by SIGINT and SIGTERM; looked at between tokens. */
extern volatile sig_atomic_t interrupted;

/* The first Ctrl-C ends the answer after the current token, a second one the program. */
void catch_signals(void);

/* A model that is cut short while it is mapped ends the program with a message. */
void guard_model(const npu_gguf *model);

/* A closed standard file stays an error, instead of becoming the next file that is opened. */
void hold_standard_files(void);

void take_moment(const struct run *r, struct moment *m);

/* The modes; each returns an exit status. */
int answer(struct run *r);
int nll(struct run *r);

/* Opens the session with at least @n_ctx positions if that is not 0. */
int open_session(struct run *r, uint32_t n_ctx);

void print_report(const struct run *r);

#endif
