// SPDX-License-Identifier: MIT
/*
 * A session keeps up to four runners, made when first needed: the decode step, and chunks of the
 * prompt with no logits, those of the last token, or all of them.
 */
#include "npu/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "placement.h"
#include "runner.h"

#define DEFAULT_CTX   2048u
#define DEFAULT_CHUNK 64u
#define MAX_CHUNK     4096u

_Static_assert(NPU_SESSION_MAX_THREADS == NPU_CPU_MAX_THREADS, "limit of the CPU executor");

enum step {
	STEP_DECODE,	/* one token, its logits */
	STEP_FILL,	/* chunk, no logits */
	STEP_FILL_LAST, /* chunk, logits of its last token */
	STEP_FILL_ALL,	/* chunk, logits of every token */
	N_STEPS
};

struct npu_session {
	const npu_gguf *model;
	struct npu_llama_hparams hp;
	struct runner_env env;
	uint32_t n_ctx;
	uint32_t chunk[N_STEPS]; /* tokens per run */
	struct runner *runner[N_STEPS];
	uint32_t pos;
	struct placement placement;
	struct npu_session_stats stats;
};

static const enum npu_logits step_logits[N_STEPS] = {
	[STEP_DECODE] = NPU_LOGITS_LAST,
	[STEP_FILL] = NPU_LOGITS_NONE,
	[STEP_FILL_LAST] = NPU_LOGITS_LAST,
	[STEP_FILL_ALL] = NPU_LOGITS_ALL,
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + ts.tv_nsec;
}

/* ---- runners ----------------------------------------------------------------------------- */

static npu_status build_graph(npu_session *s, enum step step, uint32_t n_tokens, npu_graph **out)
{
	struct npu_llama_shape shape = { .n_tokens = n_tokens,
					 .n_ctx = s->n_ctx,
					 .logits = step_logits[step] };

	if (s->runner[STEP_DECODE])
		shape.share = s->runner[STEP_DECODE]->g;
	return npu_llama_graph(s->model, &shape, out);
}

/* Most tokens per run that the device can hold, up to the wanted chunk. */
static npu_status fit_chunk(npu_session *s, enum step step)
{
	npu_graph *g;
	uint32_t max;
	npu_status ret;

	if (!s->env.dev || s->chunk[step] == 1)
		return NPU_OK;
	ret = build_graph(s, step, s->chunk[step], &g);
	if (ret)
		return ret;
	max = npu_compile_max_tokens(npu_device_chip(s->env.dev), g, s->chunk[step]);
	npu_graph_del(g);
	/* If not even one fits, compiling for one says what is too large. */
	s->chunk[step] = max ? max : 1;
	return NPU_OK;
}

static npu_status get_runner(npu_session *s, enum step step)
{
	npu_graph *g;
	npu_status ret;

	if (s->runner[step])
		return NPU_OK;
	ret = fit_chunk(s, step);
	if (ret)
		return ret;
	ret = build_graph(s, step, s->chunk[step], &g);
	if (ret)
		return ret;
	return runner_new(&s->env, g, &s->runner[step]);
}

/* ---- open and close ---------------------------------------------------------------------- */

static npu_status check_options(npu_session *s, const struct npu_session_options *opt)
{
	uint32_t chunk = opt->prefill_chunk ? opt->prefill_chunk : DEFAULT_CHUNK;

	if (opt->struct_size != sizeof(*opt))
		return npu_fail(NPU_ERR_INVALID,
				"session: options of %u bytes, this library's have %zu",
				opt->struct_size, sizeof(*opt));
	if (opt->n_threads < 0 || opt->n_threads > NPU_SESSION_MAX_THREADS)
		return npu_fail(NPU_ERR_INVALID, "session: %d threads, limit 0..%d", opt->n_threads,
				NPU_SESSION_MAX_THREADS);
	if (chunk > MAX_CHUNK)
		return npu_fail(NPU_ERR_LIMIT, "session: chunk of %u tokens, limit %u", chunk,
				MAX_CHUNK);
	if (opt->n_ctx > s->hp.ctx_limit)
		return npu_fail(NPU_ERR_LIMIT,
				"session: context of %u positions, the model's limit is %u",
				opt->n_ctx, s->hp.ctx_limit);
	s->n_ctx = opt->n_ctx;
	if (!s->n_ctx)
		s->n_ctx = s->hp.ctx_limit < DEFAULT_CTX ? s->hp.ctx_limit : DEFAULT_CTX;
	s->chunk[STEP_DECODE] = 1;
	for (int i = STEP_FILL; i < N_STEPS; i++)
		s->chunk[i] = chunk < s->n_ctx ? chunk : s->n_ctx;
	return NPU_OK;
}

static int strict_wanted(const struct npu_session_options *opt)
{
	const char *env = getenv("NPU_STRICT");

	return opt->strict || (env && !strcmp(env, "1"));
}

static npu_status open_cpu(npu_session *s)
{
	size_t rows = (size_t)s->n_ctx * s->hp.n_kv_heads * s->hp.head_dim;
	size_t bytes = 2 * s->hp.n_layers * rows * sizeof(uint16_t);

	s->env.host_kv = calloc(bytes, 1);
	if (!s->env.host_kv)
		return npu_fail(NPU_ERR_NOMEM, "session: no memory for a KV cache of %zu bytes",
				bytes);
	s->stats.kv_bytes = bytes;
	return NPU_OK;
}

static npu_status open_npu(npu_session *s, const char *name)
{
	npu_graph *g;
	npu_status ret;

	ret = npu_device_open(name, &s->env.dev);
	if (ret)
		return ret;
	ret = build_graph(s, STEP_DECODE, 1, &g);
	if (ret)
		return ret;
	ret = npu_weights_new(s->env.dev, g, &s->env.weights);
	if (!ret)
		ret = npu_kv_new(s->env.dev, g, &s->env.kv);
	npu_graph_del(g);
	if (ret)
		return ret;
	s->stats.weight_bytes = npu_weights_bytes(s->env.weights);
	s->stats.kv_bytes = npu_kv_bytes(s->env.kv);
	return NPU_OK;
}

static npu_status open_device(npu_session *s, const char *name)
{
	if (!name)
		name = getenv("NPU_DEVICE");
	if (!name || !name[0])
		name = "drm";
	return strcmp(name, "cpu") ? open_npu(s, name) : open_cpu(s);
}

/* On the CPU weights stay in the mapped file. */
static uint64_t mapped_weights(const npu_graph *g)
{
	uint64_t bytes = 0;

	for (uint32_t id = 0; id < npu_graph_n_tensors(g); id++)
		if (npu_graph_tensor(g, id)->kind == NPU_TENSOR_WEIGHT)
			bytes += npu_graph_tensor(g, id)->bytes;
	return bytes;
}

static npu_status open_session(npu_session *s, const struct npu_session_options *opt)
{
	npu_status ret;

	ret = npu_llama_hparams(s->model, &s->hp);
	if (ret)
		return ret;
	ret = check_options(s, opt);
	if (ret)
		return ret;
	s->env.strict = strict_wanted(opt);
	s->stats.temperature_c = NAN;
	ret = npu_cpu_new(opt->n_threads, &s->env.cpu);
	if (ret)
		return ret;
	ret = open_device(s, opt->device);
	if (ret)
		return ret;
	ret = get_runner(s, STEP_DECODE);
	if (ret)
		return ret;
	if (!s->env.dev)
		s->stats.weight_bytes = mapped_weights(s->runner[STEP_DECODE]->g);
	placement_collect(&s->placement, s->runner[STEP_DECODE]);
	placement_log(&s->placement, npu_session_device_name(s),
		      npu_session_segments_per_decode(s));
	return NPU_OK;
}

npu_status npu_session_open(const npu_gguf *model, const struct npu_session_options *opt,
			    npu_session **out)
{
	static const struct npu_session_options defaults = { .struct_size = sizeof(defaults) };
	npu_session *s;
	npu_status ret;

	if (!out)
		return npu_fail(NPU_ERR_INVALID, "npu_session_open: no place for the session");
	*out = NULL;
	if (!model)
		return npu_fail(NPU_ERR_INVALID, "npu_session_open: no model");
	s = calloc(1, sizeof(*s));
	if (!s)
		return npu_fail(NPU_ERR_NOMEM, "session: out of memory");
	s->model = model;
	ret = open_session(s, opt ? opt : &defaults);
	if (ret) {
		npu_session_close(s);
		return ret;
	}
	*out = s;
	return NPU_OK;
}

void npu_session_close(npu_session *s)
{
	if (!s)
		return;
	for (int i = 0; i < N_STEPS; i++)
		runner_del(s->runner[i]);
	npu_kv_del(s->env.kv);
	npu_weights_del(s->env.weights);
	npu_device_close(s->env.dev);
	npu_cpu_del(s->env.cpu);
	free(s->env.host_kv);
	free(s);
}

/* ---- tokens ------------------------------------------------------------------------------ */

static npu_status check_tokens(const npu_session *s, const uint32_t *tokens, uint32_t n,
			       const float *logits, uint32_t n_logits)
{
	if (n && !tokens)
		return npu_fail(NPU_ERR_INVALID, "session: no tokens, %u are to be read", n);
	if (n == 0 || n_logits > n)
		return npu_fail(NPU_ERR_INVALID, "session: logits of %u out of %u tokens", n_logits,
				n);
	if (n_logits && !logits)
		return npu_fail(NPU_ERR_INVALID, "session: no buffer for the logits of %u tokens",
				n_logits);
	if (n > s->n_ctx - s->pos)
		return npu_fail(NPU_ERR_LIMIT,
				"session: %u tokens at position %u exceed the context of %u", n,
				s->pos, s->n_ctx);
	for (uint32_t i = 0; i < n; i++)
		if (tokens[i] >= s->hp.n_vocab)
			return npu_fail(NPU_ERR_INVALID,
					"session: token %u has id %u, the vocabulary ends at %u", i,
					tokens[i], s->hp.n_vocab);
	return NPU_OK;
}

/* What to run for the next tokens, with @left to go, the last @n_logits of which need logits. */
static enum step next_step(uint32_t left, uint32_t n_logits, uint32_t chunk)
{
	if (left == 1 && n_logits)
		return STEP_DECODE;
	if (n_logits > 1)
		return left > n_logits ? STEP_FILL : STEP_FILL_ALL;
	return n_logits == 1 && left <= chunk ? STEP_FILL_LAST : STEP_FILL;
}

/* Run one chunk; returns how many tokens it took by moving s->pos. */
static npu_status run_chunk(npu_session *s, const uint32_t *tokens, uint32_t left,
			    uint32_t n_logits, float *logits)
{
	enum step step = next_step(left, n_logits, s->chunk[STEP_FILL_LAST]);
	uint32_t n = left, n_rows = 0;
	npu_status ret;

	ret = get_runner(s, step);
	if (ret)
		return ret;
	/* Making the runner may have found out that the device holds fewer tokens. */
	if (step == STEP_FILL_LAST && left > s->chunk[step])
		return run_chunk(s, tokens, left, n_logits, logits);
	if (step == STEP_FILL && n_logits)
		n = left - n_logits;
	if (n > s->chunk[step])
		n = s->chunk[step];
	ret = runner_run(s->runner[step], tokens, n, s->pos, &s->stats);
	if (ret)
		return ret;
	s->pos += n;
	if (step_logits[step] != NPU_LOGITS_NONE)
		n_rows = step == STEP_FILL_ALL ? n : 1;
	if (n_rows) {
		size_t bytes = n_rows * (size_t)s->hp.n_vocab * sizeof(float);

		memcpy(logits, runner_logits(s->runner[step]), bytes);
		s->stats.host_copied_bytes += bytes;
	}
	return NPU_OK;
}

npu_status npu_session_eval(npu_session *s, const uint32_t *tokens, uint32_t n, float *logits,
			    uint32_t n_logits)
{
	uint64_t wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint32_t start = s->pos;
	npu_status ret = check_tokens(s, tokens, n, logits, n_logits);

	while (!ret && s->pos - start < n) {
		uint32_t done = s->pos - start, left = n - done;
		uint32_t plain = n - n_logits; /* tokens before the first that needs logits */
		float *row = logits;

		if (done > plain)
			row += (size_t)(done - plain) * s->hp.n_vocab;
		ret = run_chunk(s, tokens + done, left, left < n_logits ? left : n_logits, row);
	}
	s->stats.wall_ns += now_ns(CLOCK_MONOTONIC) - wall;
	s->stats.cpu_ns += now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	return ret;
}

npu_status npu_session_reset(npu_session *s)
{
	s->pos = 0;
	return NPU_OK;
}

/* ---- questions --------------------------------------------------------------------------- */

uint32_t npu_session_n_ctx(const npu_session *s)
{
	return s->n_ctx;
}

uint32_t npu_session_n_vocab(const npu_session *s)
{
	return s->hp.n_vocab;
}

uint32_t npu_session_pos(const npu_session *s)
{
	return s->pos;
}

npu_status npu_session_get_stats(const npu_session *s, struct npu_session_stats *out)
{
	struct npu_session_stats stats = s->stats;

	if (out->struct_size != sizeof(*out))
		return npu_fail(NPU_ERR_INVALID,
				"session: stats of %u bytes, this library's have %zu",
				out->struct_size, sizeof(*out));
	stats.struct_size = sizeof(stats);
	stats.scratch_bytes = npu_cpu_scratch_bytes(s->env.cpu);
	for (int i = 0; i < N_STEPS; i++) {
		struct npu_program_info info;

		if (!s->runner[i])
			continue;
		stats.scratch_bytes += s->runner[i]->arena_bytes;
		if (!s->runner[i]->program || npu_program_info(s->runner[i]->program, &info))
			continue;
		stats.scratch_bytes += info.io_bytes + info.scratch_bytes;
		stats.stream_bytes += info.stream_bytes;
	}
	*out = stats;
	return NPU_OK;
}

const struct npu_placement *npu_session_placement(const npu_session *s, size_t *count)
{
	*count = s->placement.count;
	return s->placement.entry;
}

uint32_t npu_session_segments_per_decode(const npu_session *s)
{
	const npu_program *p = s->runner[STEP_DECODE]->program;
	uint32_t n = 0;

	for (uint32_t i = 0; p && i < npu_program_n_segments(p); i++)
		n += !!npu_program_segment(p, i)->on_npu;
	return n;
}

const char *npu_session_device_name(const npu_session *s)
{
	return s->env.dev ? npu_device_name(s->env.dev) : "cpu";
}
