// SPDX-License-Identifier: MIT
/* RoPE table and norm weights, computed once and shared by reference count. */
#include "llama_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "error.h"

npu_status llama_layer_tensor(const npu_gguf *model, uint32_t layer, const char *name,
			      const struct npu_gguf_tensor **out)
{
	char full[NPU_NAME_LEN];

	snprintf(full, sizeof(full), "blk.%u.%s", layer, name);
	return npu_gguf_tensor(model, full, out);
}

static npu_status read_norm(const struct npu_gguf_tensor *t, uint32_t hidden, float *dst)
{
	if (t->n_dims != 1 || t->ne[0] != hidden)
		return npu_fail(NPU_ERR_FORMAT,
				"llama: norm '%s' has %u dimensions, first %llu; must be 1 of %u",
				t->name, t->n_dims, (unsigned long long)t->ne[0], hidden);
	return npu_dequant_row(t->type, t->data, dst, hidden);
}

static npu_status read_norms(const npu_gguf *m, const struct npu_llama_hparams *hp, float *dst)
{
	static const char *const names[2] = { "attn_norm.weight", "ffn_norm.weight" };
	const struct npu_gguf_tensor *t;
	npu_status ret;

	for (uint32_t i = 0; i < 2 * hp->n_layers; i++, dst += hp->hidden) {
		ret = llama_layer_tensor(m, i / 2, names[i % 2], &t);
		if (ret)
			return ret;
		ret = read_norm(t, hp->hidden, dst);
		if (ret)
			return ret;
	}
	ret = npu_gguf_tensor(m, "output_norm.weight", &t);
	if (ret)
		return ret;
	return read_norm(t, hp->hidden, dst);
}

/* Inverse frequency of every pair; models with long contexts bring a divisor for each. */
static npu_status read_frequencies(const npu_gguf *m, const struct npu_llama_hparams *hp,
				   double *freq)
{
	uint32_t half = hp->head_dim / 2;
	const struct npu_gguf_tensor *t;
	npu_status ret;

	for (uint32_t i = 0; i < half; i++)
		freq[i] = pow(hp->rope_base, -2.0 * i / hp->head_dim);
	if (npu_gguf_tensor(m, "rope_freqs.weight", &t) == NPU_ERR_NOT_FOUND)
		return NPU_OK;
	if (t->type != NPU_TYPE_F32 || t->n_dims != 1 || t->ne[0] != half)
		return npu_fail(NPU_ERR_FORMAT,
				"llama: 'rope_freqs.weight' is %s of %llu, must be F32 of %u",
				npu_tensor_type_name(t->type), (unsigned long long)t->ne[0], half);
	for (uint32_t i = 0; i < half; i++) {
		float divisor;

		ret = npu_dequant_row(t->type, (const char *)t->data + 4 * i, &divisor, 1);
		if (ret)
			return ret;
		if (!(divisor > 0 && isfinite(divisor)))
			return npu_fail(NPU_ERR_FORMAT,
					"llama: 'rope_freqs.weight' has %g for pair %u, must be "
					"positive", (double)divisor, i);
		freq[i] /= divisor;
	}
	return NPU_OK;
}

static npu_status fill_rope(const npu_gguf *m, const struct npu_llama_hparams *hp,
			    struct llama_consts *c)
{
	uint32_t half = hp->head_dim / 2;
	double *freq = malloc(half * sizeof(*freq));
	npu_status ret;

	if (!freq)
		return npu_fail(NPU_ERR_NOMEM, "llama: no memory for %u frequencies", half);
	ret = read_frequencies(m, hp, freq);
	if (ret)
		goto out;
	for (uint32_t p = 0; p < c->n_ctx; p++) {
		float *row = c->rope + (size_t)p * hp->head_dim;

		for (uint32_t i = 0; i < half; i++) {
			row[i] = cos(p * freq[i]);
			row[half + i] = sin(p * freq[i]);
		}
	}
out:
	free(freq);
	return ret;
}

npu_status llama_consts_new(const npu_gguf *model, const struct npu_llama_hparams *hp,
			    uint32_t n_ctx, struct llama_consts **out)
{
	size_t rope_size = (size_t)n_ctx * hp->head_dim * sizeof(float);
	size_t norm_size = (2 * (size_t)hp->n_layers + 1) * hp->hidden * sizeof(float);
	struct llama_consts *c = calloc(1, sizeof(*c));
	npu_status ret;

	if (!c)
		return npu_fail(NPU_ERR_NOMEM, "llama: out of memory");
	c->refs = 1;
	c->model = model;
	c->n_ctx = n_ctx;
	c->rope = malloc(rope_size);
	c->norms = malloc(norm_size);
	if (!c->rope || !c->norms) {
		ret = npu_fail(NPU_ERR_NOMEM, "llama: no memory for %zu bytes of constants",
			       rope_size + norm_size);
		goto err;
	}
	ret = fill_rope(model, hp, c);
	if (ret)
		goto err;
	ret = read_norms(model, hp, c->norms);
	if (ret)
		goto err;
	*out = c;
	return NPU_OK;
err:
	llama_consts_unref(c);
	return ret;
}

struct llama_consts *llama_consts_ref(struct llama_consts *c)
{
	__atomic_fetch_add(&c->refs, 1, __ATOMIC_RELAXED);
	return c;
}

void llama_consts_unref(struct llama_consts *c)
{
	if (!c || __atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free(c->rope);
	free(c->norms);
	free(c);
}
