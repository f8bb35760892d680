// SPDX-License-Identifier: MIT
/*
 * Negative log-likelihood of a token sequence in one window from position 0, no BOS added:
 * mean over i = 0..N-2 of -ln p(token[i+1] | token[0..i]), log-softmax in double.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exit.h"
#include "run.h"

#define CHUNK 64u		/* rows of logits held at once */

static double surprise(const float *logits, uint32_t n, uint32_t id)
{
	double max = logits[0], sum = 0;

	for (uint32_t i = 1; i < n; i++)
		if (logits[i] > max)
			max = logits[i];
	for (uint32_t i = 0; i < n; i++)
		sum += exp(logits[i] - max);
	return max + log(sum) - logits[id];
}

/* Adds up the surprise of ids[1..]; the last id is not fed, nothing is predicted from it. */
static int measure(struct run *r, const struct ids *ids, float *logits, double *total)
{
	const uint32_t n_vocab = npu_session_n_vocab(r->session);
	const size_t fed = ids->n - 1;
	npu_status st;

	*total = 0;
	for (size_t i = 0, n; i < fed && !interrupted; i += n) {
		n = fed - i < CHUNK ? fed - i : CHUNK;
		st = npu_session_eval(r->session, ids->id + i, (uint32_t)n, logits, (uint32_t)n);
		if (st)
			return fail_npu(st);
		for (size_t row = 0; row < n; row++)
			*total += surprise(logits + row * n_vocab, n_vocab, ids->id[i + row + 1]);
		r->n_prompt = i + n;
	}
	return EXIT_OK;
}

static int evaluate(struct run *r, const struct ids *ids)
{
	const uint32_t n_vocab = npu_session_n_vocab(r->session);
	float *logits = malloc((size_t)CHUNK * n_vocab * sizeof(*logits));
	double total, mean;
	int status;

	if (!logits)
		return fail(EXIT_OTHER, "no memory for %u rows of %u logits", CHUNK, n_vocab);
	status = measure(r, ids, logits, &total);
	free(logits);
	if (status)
		return status;
	take_moment(r, &r->finished);
	r->prefilled = r->finished;
	r->ending = interrupted ? "interrupted" : "end of input";
	if (interrupted)
		return EXIT_OK;
	mean = total / (double)(ids->n - 1);
	if (!isfinite(mean))
		return fail(EXIT_OTHER, "%s: the mean of %zu likelihoods is %g: logits that are no "
			    "finite numbers", r->opt.nll_file, ids->n - 1, mean);
	printf("{\"tokens\":%zu,\"mean_nll\":%.9g,\"perplexity\":%.9g}\n", ids->n, mean, exp(mean));
	return flush_output();
}

int nll(struct run *r)
{
	struct ids ids = { 0 };
	uint32_t n_ctx;
	int status;

	status = read_ids(r->opt.nll_file, r->n_vocab, &ids);
	if (status)
		return status;
	if (ids.n < 2 || ids.n > UINT32_MAX)
		status = fail(EXIT_USAGE, "%s: %zu ids, at least 2 are wanted",
			      r->opt.nll_file, ids.n);
	if (!status)
		status = open_session(r, ids.n - 1 > 2048 ? (uint32_t)ids.n - 1 : 0);
	if (!status) {
		n_ctx = npu_session_n_ctx(r->session);
		if (ids.n - 1 > n_ctx)
			status = fail(EXIT_CONTEXT, "%s: %zu ids, the context has %u positions",
				      r->opt.nll_file, ids.n, n_ctx);
	}
	if (!status)
		status = evaluate(r, &ids);
	free(ids.id);
	return status;
}
