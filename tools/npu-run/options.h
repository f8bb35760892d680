/* SPDX-License-Identifier: MIT */
#ifndef NPU_RUN_OPTIONS_H
#define NPU_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "npu/llm.h"

enum mode {
	MODE_ANSWER,		/* generate tokens after a prompt */
	MODE_TOKENIZE,
	MODE_NLL,
};

enum report_format {
	REPORT_DEFAULT,		/* text after an answer, none in the scriptable modes */
	REPORT_NONE,
	REPORT_TEXT,
	REPORT_JSON,
};

struct options {
	enum mode mode;
	const char *model;
	const char *prompt;		/* exactly one of these three in MODE_ANSWER */
	const char *prompt_file;
	const char *tokens_file;
	const char *force_file;
	bool tokenize;
	const char *nll_file;
	const char *system;
	bool raw;
	uint32_t n_predict;
	bool n_given;
	bool ignore_stop;
	uint32_t top_logits;		/* 0: print text, not logits */
	const char *device;
	uint32_t n_ctx;
	uint32_t n_threads;
	bool strict;
	bool quiet;
	enum report_format report;
	struct npu_sampler_options sampler;
};

/*
 * Returns true if the program should go on with @o.  Otherwise *@status is its exit status:
 * after --help and --version, or after a mistake, which has been reported.
 */
bool options_parse(int argc, char **argv, struct options *o, int *status);

#endif
