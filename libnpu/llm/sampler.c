// SPDX-License-Identifier: MIT
/*
 * Choosing the next token.  All arithmetic is double, made of operations that IEEE 754 rounds
 * exactly, in a fixed order, and candidates are ordered totally (logit, then id): the outcome
 * depends on logits and seed, not on the machine or its libm.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "llm/pcg.h"
#include "npu/llm.h"

#define STREAM		54
#define MAX_RECENT	65536u

struct candidate {
	float logit;
	uint32_t id;
};

struct npu_sampler {
	struct npu_sampler_options opt;
	uint32_t n_vocab;
	struct pcg rng;
	struct candidate *cand;
	double *prob;			/* of cand[], not normalised */
	uint32_t *recent;		/* ring of opt.repeat_last ids */
	uint32_t n_recent, next_recent;
	uint32_t *count;		/* how often an id is in the ring */
};

/* e^x for x <= 0: 2^k times a Taylor sum over |r| <= ln2 / 2; relative error below 2^-50. */
static double exp_neg(double x)
{
	static const double coef[] = {	/* 1/13! .. 1/0! */
		1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
		1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0,
	};
	double k, r, sum = 0;

	if (x < -700)
		return 0;
	k = floor(x * 0x1.71547652b82fep0 + 0.5);
	r = x - k * 0x1.62e42feep-1;		/* ln2, its high 32 bits: exact products */
	r -= k * 0x1.a39ef35793c76p-33;		/* and the rest */
	for (size_t i = 0; i < sizeof(coef) / sizeof(coef[0]); i++)
		sum = sum * r + coef[i];
	return ldexp(sum, (int)k);
}

void npu_sampler_defaults(struct npu_sampler_options *opt)
{
	*opt = (struct npu_sampler_options){
		.struct_size = sizeof(*opt), .top_p = 1, .repeat_penalty = 1, .repeat_last = 64,
	};
}

static npu_status check_options(const struct npu_sampler_options *o)
{
	if (o->struct_size != sizeof(*o))
		return npu_fail(NPU_ERR_INVALID, "sampler options of %u bytes, wanted %zu",
				o->struct_size, sizeof(*o));
	if (!(o->temperature >= 0 && o->temperature <= 100))
		return npu_fail(NPU_ERR_INVALID, "temperature %g, limit 0..100", o->temperature);
	if (!(o->top_p > 0 && o->top_p <= 1))
		return npu_fail(NPU_ERR_INVALID, "top-p %g, limit above 0, up to 1", o->top_p);
	if (!(o->min_p >= 0 && o->min_p <= 1))
		return npu_fail(NPU_ERR_INVALID, "min-p %g, limit 0..1", o->min_p);
	if (!(o->repeat_penalty > 0 && o->repeat_penalty <= 100))
		return npu_fail(NPU_ERR_INVALID, "repetition penalty %g, limit above 0, up to 100",
				o->repeat_penalty);
	if (o->repeat_last > MAX_RECENT)
		return npu_fail(NPU_ERR_INVALID, "repetition window %u, limit %u", o->repeat_last,
				MAX_RECENT);
	return NPU_OK;
}

npu_status npu_sampler_new(const struct npu_sampler_options *opt, uint32_t n_vocab,
			   npu_sampler **out)
{
	npu_sampler *s;
	npu_status st;

	if (!out)
		return npu_fail(NPU_ERR_INVALID, "npu_sampler_new: no place for the sampler");
	*out = NULL;
	if (!opt)
		return npu_fail(NPU_ERR_INVALID, "npu_sampler_new: no options");
	st = check_options(opt);
	if (st)
		return st;
	if (!n_vocab || n_vocab == NPU_TOKEN_NONE)
		return npu_fail(NPU_ERR_INVALID, "vocabulary of %u tokens", n_vocab);
	s = calloc(1, sizeof(*s));
	if (!s)
		return npu_fail(NPU_ERR_NOMEM, "no memory for the sampler");
	s->opt = *opt;
	s->n_vocab = n_vocab;
	pcg_seed(&s->rng, opt->seed, STREAM);
	s->cand = malloc(n_vocab * sizeof(*s->cand));
	s->prob = malloc(n_vocab * sizeof(*s->prob));
	s->recent = malloc((opt->repeat_last + 1ul) * sizeof(*s->recent));
	s->count = calloc(n_vocab, sizeof(*s->count));
	if (!s->cand || !s->prob || !s->recent || !s->count) {
		npu_sampler_del(s);
		return npu_fail(NPU_ERR_NOMEM, "no memory for a sampler over %u tokens", n_vocab);
	}
	*out = s;
	return NPU_OK;
}

void npu_sampler_del(npu_sampler *s)
{
	if (!s)
		return;
	free(s->cand);
	free(s->prob);
	free(s->recent);
	free(s->count);
	free(s);
}

npu_status npu_sampler_accept(npu_sampler *s, uint32_t id)
{
	if (id >= s->n_vocab)
		return npu_fail(NPU_ERR_INVALID, "token id %u, vocabulary has %u", id, s->n_vocab);
	if (!s->opt.repeat_last)
		return NPU_OK;
	if (s->n_recent == s->opt.repeat_last)
		s->count[s->recent[s->next_recent]]--;
	else
		s->n_recent++;
	s->recent[s->next_recent] = id;
	s->count[id]++;
	s->next_recent = (s->next_recent + 1) % s->opt.repeat_last;
	return NPU_OK;
}

/* Logits to candidates, with the penalty; returns the index of the best in *@best. */
static npu_status collect(npu_sampler *s, const float *logits, uint32_t *best)
{
	const float penalty = s->opt.repeat_penalty;

	*best = 0;
	for (uint32_t id = 0; id < s->n_vocab; id++) {
		float l = logits[id];

		if (isnan(l) || (isinf(l) && l > 0))
			return npu_fail(NPU_ERR_INVALID, "logit of token %u is %g", id, l);
		if (s->count[id] && penalty != 1)
			l = l > 0 ? l / penalty : l * penalty;
		s->cand[id] = (struct candidate){ l, id };
		if (l > s->cand[*best].logit)
			*best = id;
	}
	if (isinf(s->cand[*best].logit))
		return npu_fail(NPU_ERR_INVALID, "no finite best of %u logits", s->n_vocab);
	return NPU_OK;
}

static bool better(const struct candidate *a, const struct candidate *b)
{
	return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

static int compare(const void *a, const void *b)
{
	return better(a, b) ? -1 : better(b, a);
}

/* Sinks cand[i] in a heap of @n whose root is the worst. */
static void sink(struct candidate *cand, uint32_t i, uint32_t n)
{
	struct candidate moved = cand[i];
	uint32_t child;

	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n && better(&cand[child], &cand[child + 1]))
			child++;
		if (!better(&moved, &cand[child]))
			break;
		cand[i] = cand[child];
		i = child;
	}
	cand[i] = moved;
}

/* Leaves the @k best in cand[0..k). */
static void select_best(npu_sampler *s, uint32_t k)
{
	struct candidate *cand = s->cand;

	for (uint32_t i = k / 2; i--;)
		sink(cand, i, k);
	for (uint32_t i = k; i < s->n_vocab; i++) {
		if (!better(&cand[i], &cand[0]))
			continue;
		cand[0] = cand[i];
		sink(cand, 0, k);
	}
}

/* prob[i] = exp((logit - max) / temperature); returns the sum. */
static double weigh(npu_sampler *s, uint32_t n, double max, double temperature)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		s->prob[i] = exp_neg(((double)s->cand[i].logit - max) / temperature);
		sum += s->prob[i];
	}
	return sum;
}

/* Candidates, best first, that are left after top-p and min-p. */
static uint32_t cut_tail(const npu_sampler *s, uint32_t n, double sum)
{
	double limit = s->opt.top_p * sum, total = 0;
	uint32_t keep = 0;

	while (keep < n && (!keep || (total < limit && s->prob[keep] >= s->opt.min_p)))
		total += s->prob[keep++];
	return keep;
}

static uint32_t draw(npu_sampler *s, uint32_t n, double sum)
{
	double left = pcg_uniform(&s->rng) * sum;
	uint32_t i, last = 0;

	for (i = 0; i < n; i++) {
		if (s->prob[i] <= 0)
			continue;
		last = i;
		left -= s->prob[i];
		if (left < 0)
			break;
	}
	return s->cand[last].id;
}

npu_status npu_sampler_sample(npu_sampler *s, const float *logits, uint32_t *id)
{
	const struct npu_sampler_options *o = &s->opt;
	uint32_t n = s->n_vocab, best;
	double max, sum;
	npu_status st;

	st = collect(s, logits, &best);
	if (st)
		return st;
	if (o->temperature == 0) {
		*id = best;
		return NPU_OK;
	}
	max = s->cand[best].logit;
	if (o->top_k && o->top_k < n) {
		n = o->top_k;
		select_best(s, n);
	}
	if (o->top_p < 1 || o->min_p > 0) {
		qsort(s->cand, n, sizeof(*s->cand), compare);
		n = cut_tail(s, n, weigh(s, n, max, 1));
	} else if (n < s->n_vocab) {
		qsort(s->cand, n, sizeof(*s->cand), compare);
	}
	sum = weigh(s, n, max, o->temperature);
	*id = draw(s, n, sum);
	return NPU_OK;
}
