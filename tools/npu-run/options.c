// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit.h"
#include "npu/session.h"
#include "options.h"

#define VERSION		"0.1"

enum {
	OPT_CTX = 256,
	OPT_DEVICE,
	OPT_FORCE,
	OPT_IGNORE_STOP,
	OPT_LOGITS,
	OPT_MIN_P,
	OPT_NLL,
	OPT_RAW,
	OPT_REPEAT_PENALTY,
	OPT_REPORT,
	OPT_SEED,
	OPT_STRICT,
	OPT_SYSTEM,
	OPT_TEMP,
	OPT_THREADS,
	OPT_TOKENIZE,
	OPT_TOKENS,
	OPT_TOP_K,
	OPT_TOP_P,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{ "ctx", required_argument, NULL, OPT_CTX },
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "file", required_argument, NULL, 'f' },
	{ "force", required_argument, NULL, OPT_FORCE },
	{ "help", no_argument, NULL, 'h' },
	{ "ignore-stop", no_argument, NULL, OPT_IGNORE_STOP },
	{ "logits", required_argument, NULL, OPT_LOGITS },
	{ "min-p", required_argument, NULL, OPT_MIN_P },
	{ "model", required_argument, NULL, 'm' },
	{ "nll", required_argument, NULL, OPT_NLL },
	{ "predict", required_argument, NULL, 'n' },
	{ "prompt", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "raw", no_argument, NULL, OPT_RAW },
	{ "repeat-penalty", required_argument, NULL, OPT_REPEAT_PENALTY },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "system", required_argument, NULL, OPT_SYSTEM },
	{ "temp", required_argument, NULL, OPT_TEMP },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "tokenize", no_argument, NULL, OPT_TOKENIZE },
	{ "tokens", required_argument, NULL, OPT_TOKENS },
	{ "top-k", required_argument, NULL, OPT_TOP_K },
	{ "top-p", required_argument, NULL, OPT_TOP_P },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL },
};

static const char help_text[] =
"usage: npu-run -m MODEL (-p PROMPT | -f FILE | --tokens FILE) [options]\n"
"       npu-run -m MODEL --tokenize < TEXT\n"
"       npu-run -m MODEL --nll FILE [options]\n"
"\n"
"  -m, --model FILE       model in GGUF format\n"
"  -p, --prompt TEXT      question for the model, put into its chat template\n"
"  -f, --file FILE        the same from a file, - is standard input\n"
"      --system TEXT      system message instead of the template's own\n"
"      --raw              continue the text as it is, no template\n"
"  -n, --predict N        at most N tokens (default: until a stop token)\n"
"      --ignore-stop      go on after stop tokens\n"
"      --ctx N            positions of the context (default: the model's, at most 2048)\n"
"\n"
"      --temp T           temperature; 0, the default, always takes the best token\n"
"      --top-k K          choose among the K best tokens\n"
"      --top-p P          among the fewest that have probability P together\n"
"      --min-p P          among those at least P times as probable as the best\n"
"      --repeat-penalty P divide the logits of the last 64 tokens by P\n"
"      --seed N           of the random numbers (default 0)\n"
"\n"
"      --device DEV       cpu, sim[:CHIP] or drm[:PATH] (default: $NPU_DEVICE, else drm)\n"
"      --threads N        of ops on the CPU (default: one)\n"
"      --strict           fail instead of running an unsupported op on the CPU\n"
"      --report FORMAT    text, json or none, on standard error (default: text for answers)\n"
"  -q, --quiet            no messages but errors and warnings\n"
"\n"
"      --tokenize         print the ids of standard input's text\n"
"      --tokens FILE      the prompt as ids, - is standard input\n"
"      --logits K         print one JSON line per predicted position instead of text\n"
"      --force FILE       feed these ids instead of the chosen ones\n"
"      --nll FILE         print mean negative log-likelihood and perplexity of these ids\n"
"\n"
"  -h, --help             this text\n"
"      --version          version\n"
"\n"
"Exit status: 0 success, 1 other error, 2 usage, 3 file missing or unreadable, 4 malformed model,\n"
"5 unsupported model, 6 no device, 7 context too small, 8 device failed, 130 interrupted,\n"
"141 standard output was closed.\n";

/* Reports it; the value of a function that says whether all is well. */
#define mistake(...) (fail(EXIT_USAGE, __VA_ARGS__), false)

/* Decimal number up to @max; false after a message. */
static bool number(const char *option, const char *text, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && *out <= max)
		return true;
	return mistake("%s '%s': a number from 0 to %llu is wanted", option, text,
		       (unsigned long long)max);
}

static bool number32(const char *option, const char *text, uint32_t max, uint32_t *out)
{
	uint64_t wide;

	if (!number(option, text, max, &wide))
		return false;
	*out = (uint32_t)wide;
	return true;
}

/* Ranges are the sampler's business. */
static bool real(const char *option, const char *text, float *out)
{
	char *end;

	*out = strtof(text, &end);
	if (*text && !*end && isfinite(*out))
		return true;
	return mistake("%s '%s': a number is wanted", option, text);
}

static bool report_format(const char *text, enum report_format *out)
{
	if (!strcmp(text, "text"))
		*out = REPORT_TEXT;
	else if (!strcmp(text, "json"))
		*out = REPORT_JSON;
	else if (!strcmp(text, "none"))
		*out = REPORT_NONE;
	else
		return mistake("--report '%s': text, json or none is wanted", text);
	return true;
}

static bool sampler_option(int c, const char *arg, struct npu_sampler_options *s)
{
	switch (c) {
	case OPT_TEMP:
		return real("--temp", arg, &s->temperature);
	case OPT_TOP_K:
		return number32("--top-k", arg, UINT32_MAX, &s->top_k);
	case OPT_TOP_P:
		return real("--top-p", arg, &s->top_p);
	case OPT_MIN_P:
		return real("--min-p", arg, &s->min_p);
	case OPT_REPEAT_PENALTY:
		return real("--repeat-penalty", arg, &s->repeat_penalty);
	case OPT_SEED:
		return number("--seed", arg, UINT64_MAX, &s->seed);
	}
	return false;	/* an option that getopt_long() has reported */
}

static bool apply(int c, const char *arg, struct options *o)
{
	switch (c) {
	case 'm':
		o->model = arg;
		return true;
	case 'p':
		o->prompt = arg;
		return true;
	case 'f':
		o->prompt_file = arg;
		return true;
	case 'q':
		o->quiet = true;
		return true;
	case 'n':
		o->n_given = true;
		return number32("-n", arg, UINT32_MAX, &o->n_predict);
	case OPT_SYSTEM:
		o->system = arg;
		return true;
	case OPT_RAW:
		o->raw = true;
		return true;
	case OPT_IGNORE_STOP:
		o->ignore_stop = true;
		return true;
	case OPT_CTX:
		return number32("--ctx", arg, UINT32_MAX, &o->n_ctx);
	case OPT_DEVICE:
		o->device = arg;
		return true;
	case OPT_THREADS:
		return number32("--threads", arg, NPU_SESSION_MAX_THREADS, &o->n_threads);
	case OPT_STRICT:
		o->strict = true;
		return true;
	case OPT_REPORT:
		return report_format(arg, &o->report);
	case OPT_TOKENIZE:
		o->tokenize = true;
		return true;
	case OPT_TOKENS:
		o->tokens_file = arg;
		return true;
	case OPT_LOGITS:
		if (!number32("--logits", arg, UINT32_MAX, &o->top_logits))
			return false;
		return o->top_logits || mistake("--logits 0: at least one per line is wanted");
	case OPT_FORCE:
		o->force_file = arg;
		return true;
	case OPT_NLL:
		o->nll_file = arg;
		return true;
	}
	return sampler_option(c, arg, &o->sampler);
}

static bool device_known(const char *device)
{
	static const char *const kinds[] = { "cpu", "sim", "drm" };
	size_t n = strcspn(device, ":");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (n == strlen(kinds[i]) && !strncmp(device, kinds[i], n))
			return !device[n] || strcmp(kinds[i], "cpu") != 0;
	return false;
}

static int reads_stdin(const char *path)
{
	return path && !strcmp(path, "-");
}

/* Whether the options fit together. */
static bool check(const struct options *o)
{
	const char *device = o->device ? o->device : getenv("NPU_DEVICE");
	int prompts = !!o->prompt + !!o->prompt_file + !!o->tokens_file;

	if (!o->model)
		return mistake("no model: -m FILE is wanted; --help lists the options");
	if (o->mode == MODE_ANSWER && prompts != 1)
		return mistake("one of -p, -f and --tokens is wanted; --help lists the "
			       "options");
	if (o->mode != MODE_ANSWER && (prompts || o->force_file || o->top_logits))
		return mistake("--tokenize and --nll take neither a prompt nor --force nor "
			       "--logits");
	if (o->tokenize && o->nll_file)
		return mistake("--tokenize and --nll exclude each other");
	if (o->system && (o->raw || o->tokens_file))
		return mistake("--system needs the chat template");
	if (reads_stdin(o->prompt_file) + reads_stdin(o->tokens_file) +
	    reads_stdin(o->force_file) > 1)
		return mistake("standard input (-) can be one file only");
	if (o->mode != MODE_TOKENIZE && device && *device && !device_known(device))
		return mistake("device '%s': cpu, sim[:CHIP] or drm[:PATH] is wanted", device);
	return true;
}

bool options_parse(int argc, char **argv, struct options *o, int *status)
{
	int c;

	*o = (struct options){ .n_predict = UINT32_MAX };
	npu_sampler_defaults(&o->sampler);
	*status = EXIT_USAGE;
	while ((c = getopt_long(argc, argv, "f:hm:n:p:q", long_options, NULL)) != -1) {
		if (c == 'h' || c == OPT_VERSION) {
			fputs(c == 'h' ? help_text : "npu-run " VERSION "\n", stdout);
			*status = flush_output();
			return false;
		}
		if (!apply(c, optarg, o))
			return false;
	}
	if (optind < argc)
		return mistake("argument '%s' belongs to no option", argv[optind]);
	o->mode = o->tokenize ? MODE_TOKENIZE : o->nll_file ? MODE_NLL : MODE_ANSWER;
	return check(o);
}
