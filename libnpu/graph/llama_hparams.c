// SPDX-License-Identifier: MIT
/* Reads llama.* metadata and refuses what the builder would otherwise silently get wrong. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "llama_priv.h"

#define MAX_LAYERS 1024u
#define MAX_WIDTH  65535u /* k of a matrix multiplication */
#define MAX_HEADS  1024u
#define MAX_CTX	   (1u << 22)

static const char *const layer_tensors[] = {
	"attn_norm.weight", "attn_q.weight",	  "attn_k.weight",
	"attn_v.weight",    "attn_output.weight", "ffn_norm.weight",
	"ffn_gate.weight",  "ffn_up.weight",	  "ffn_down.weight",
};

static const char *const model_tensors[] = {
	"token_embd.weight",
	"output_norm.weight",
	"output.weight",
	"rope_freqs.weight",
};

static bool in_list(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

static bool known_tensor(const char *name, uint32_t n_layers)
{
	unsigned long layer;
	char *end;

	if (in_list(name, model_tensors, sizeof(model_tensors) / sizeof(model_tensors[0])))
		return true;
	if (strncmp(name, "blk.", 4) != 0)
		return false;
	layer = strtoul(name + 4, &end, 10);
	return layer < n_layers && *end == '.' &&
	       in_list(end + 1, layer_tensors, sizeof(layer_tensors) / sizeof(layer_tensors[0]));
}

/* A tensor that the graph would not use (a bias, an expert) means that its result would be wrong.
 */
static npu_status check_tensor_names(const npu_gguf *m, const struct npu_llama_hparams *hp)
{
	for (size_t i = 0; i < npu_gguf_n_tensors(m); i++) {
		const char *name = npu_gguf_tensor_at(m, i)->name;

		if (!known_tensor(name, hp->n_layers))
			return npu_fail(NPU_ERR_UNSUPPORTED,
					"llama: tensor '%s' has no place in a model of %u layers",
					name, hp->n_layers);
	}
	return NPU_OK;
}

static npu_status find_range(const npu_gguf *m, const char *key, uint32_t max, uint32_t *out)
{
	npu_status ret = npu_gguf_find_u32(m, key, out);

	if (ret == NPU_ERR_NOT_FOUND)
		return npu_fail(NPU_ERR_FORMAT, "llama: key '%s' is missing", key);
	if (ret)
		return ret;
	if (*out == 0 || *out > max)
		return npu_fail(*out ? NPU_ERR_UNSUPPORTED : NPU_ERR_FORMAT,
				"llama: %s is %u, limit 1..%u", key, *out, max);
	return NPU_OK;
}

/* As find_range(), but an absent key means @fallback. */
static npu_status find_or(const npu_gguf *m, const char *key, uint32_t max, uint32_t fallback,
			  uint32_t *out)
{
	struct npu_gguf_value v;

	if (npu_gguf_find(m, key, &v) == NPU_ERR_NOT_FOUND) {
		*out = fallback;
		return NPU_OK;
	}
	return find_range(m, key, max, out);
}

static npu_status check_architecture(const npu_gguf *m)
{
	struct npu_gguf_str arch;
	npu_status ret = npu_gguf_find_str(m, "general.architecture", &arch);

	if (ret == NPU_ERR_NOT_FOUND)
		return npu_fail(NPU_ERR_FORMAT, "model: key 'general.architecture' is missing");
	if (ret)
		return ret;
	if (!npu_gguf_str_eq(arch, "llama"))
		return npu_fail(NPU_ERR_UNSUPPORTED,
				"model: architecture '%.*s' is not supported (llama is)",
				arch.len > 64 ? 64 : (int)arch.len, arch.data);
	return NPU_OK;
}

/* Contexts stretched by scaling the rotation.  A factor without a type means linear. */
static npu_status check_rope_scaling(const npu_gguf *m)
{
	static const char *const factors[] = {
		"llama.rope.scaling.factor",
		"llama.rope.scale_linear",
	};
	struct npu_gguf_str type;
	npu_status ret;
	float factor;

	ret = npu_gguf_find_str(m, "llama.rope.scaling.type", &type);
	if (ret && ret != NPU_ERR_NOT_FOUND)
		return ret;
	if (!ret && npu_gguf_str_eq(type, "none"))
		return NPU_OK;
	if (!ret)
		return npu_fail(NPU_ERR_UNSUPPORTED, "llama: RoPE scaling '%.*s' is not supported",
				type.len > 64 ? 64 : (int)type.len, type.data);
	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
		ret = npu_gguf_find_f32(m, factors[i], &factor);
		if (ret && ret != NPU_ERR_NOT_FOUND)
			return ret;
		if (!ret && factor != 1.0f && factor != 0.0f)
			return npu_fail(NPU_ERR_UNSUPPORTED,
					"llama: linear RoPE scaling by %g (%s) is not supported",
					(double)factor, factors[i]);
	}
	return NPU_OK;
}

/* Features that change the result: their keys must be absent or say "off". */
static npu_status check_features(const npu_gguf *m)
{
	static const char *const off_if_zero[] = {
		"llama.expert_count",
		"llama.attention.sliding_window",
	};
	npu_status ret;
	uint32_t n;

	for (size_t i = 0; i < sizeof(off_if_zero) / sizeof(off_if_zero[0]); i++) {
		ret = npu_gguf_find_u32(m, off_if_zero[i], &n);
		if (ret && ret != NPU_ERR_NOT_FOUND)
			return ret;
		if (!ret && n)
			return npu_fail(NPU_ERR_UNSUPPORTED, "llama: %s is %u, only 0 is supported",
					off_if_zero[i], n);
	}
	return check_rope_scaling(m);
}

static npu_status read_heads(const npu_gguf *m, struct npu_llama_hparams *hp)
{
	uint32_t value_dim, rope_dim;
	npu_status ret;

	ret = find_range(m, "llama.attention.head_count", MAX_HEADS, &hp->n_heads);
	if (ret)
		return ret;
	ret = find_or(m, "llama.attention.head_count_kv", MAX_HEADS, hp->n_heads, &hp->n_kv_heads);
	if (ret)
		return ret;
	if (hp->n_heads % hp->n_kv_heads)
		return npu_fail(NPU_ERR_FORMAT, "llama: %u heads are no multiple of %u KV heads",
				hp->n_heads, hp->n_kv_heads);
	ret = find_or(m, "llama.attention.key_length", MAX_WIDTH, hp->hidden / hp->n_heads,
		      &hp->head_dim);
	if (ret)
		return ret;
	ret = find_or(m, "llama.attention.value_length", MAX_WIDTH, hp->head_dim, &value_dim);
	if (ret)
		return ret;
	ret = find_or(m, "llama.rope.dimension_count", MAX_WIDTH, hp->head_dim, &rope_dim);
	if (ret)
		return ret;
	if (hp->head_dim == 0 || hp->head_dim % 2 || hp->head_dim * hp->n_heads > MAX_WIDTH)
		return npu_fail(NPU_ERR_FORMAT,
				"llama: %u heads of dimension %u (even, product up to %u)",
				hp->n_heads, hp->head_dim, MAX_WIDTH);
	if (value_dim != hp->head_dim || rope_dim != hp->head_dim)
		return npu_fail(
			NPU_ERR_UNSUPPORTED,
			"llama: value length %u, rotated dimensions %u: must be head dimension %u",
			value_dim, rope_dim, hp->head_dim);
	return NPU_OK;
}

static npu_status read_floats(const npu_gguf *m, struct npu_llama_hparams *hp)
{
	float base = 10000.0f;
	npu_status ret = npu_gguf_find_f32(m, "llama.attention.layer_norm_rms_epsilon",
					   &hp->rms_eps);

	if (ret == NPU_ERR_NOT_FOUND)
		return npu_fail(NPU_ERR_FORMAT,
				"llama: key 'llama.attention.layer_norm_rms_epsilon' is missing");
	if (ret)
		return ret;
	if (!(hp->rms_eps > 0 && hp->rms_eps < 1))
		return npu_fail(NPU_ERR_FORMAT, "llama: norm epsilon %g, must be between 0 and 1",
				(double)hp->rms_eps);
	ret = npu_gguf_find_f32(m, "llama.rope.freq_base", &base);
	if (ret && ret != NPU_ERR_NOT_FOUND)
		return ret;
	if (!(base >= 1.0f && isfinite(base)))
		return npu_fail(NPU_ERR_FORMAT, "llama: RoPE base %g, must be at least 1",
				(double)base);
	hp->rope_base = base;
	return NPU_OK;
}

/* The vocabulary is what the embedding has; a key that says otherwise is a contradiction. */
static npu_status read_vocab(const npu_gguf *m, struct npu_llama_hparams *hp)
{
	const struct npu_gguf_tensor *embd, *output;
	uint32_t n;
	npu_status ret = npu_gguf_tensor(m, "token_embd.weight", &embd);

	if (ret)
		return ret;
	if (embd->n_dims != 2 || embd->ne[0] != hp->hidden || embd->ne[1] > (1u << 24))
		return npu_fail(NPU_ERR_FORMAT,
				"llama: 'token_embd.weight' is %llux%llu for embedding length %u",
				(unsigned long long)embd->ne[1], (unsigned long long)embd->ne[0],
				hp->hidden);
	hp->n_vocab = embd->ne[1];
	hp->tied = npu_gguf_tensor(m, "output.weight", &output) == NPU_ERR_NOT_FOUND;
	ret = find_or(m, "llama.vocab_size", UINT32_MAX, hp->n_vocab, &n);
	if (ret)
		return ret;
	if (n != hp->n_vocab)
		return npu_fail(NPU_ERR_FORMAT,
				"llama: llama.vocab_size is %u, the embedding has %u rows", n,
				hp->n_vocab);
	return NPU_OK;
}

npu_status npu_llama_hparams(const npu_gguf *m, struct npu_llama_hparams *out)
{
	struct npu_llama_hparams hp = { 0 };
	npu_status ret;

	ret = check_architecture(m);
	if (ret)
		return ret;
	ret = check_features(m);
	if (ret)
		return ret;
	ret = find_range(m, "llama.block_count", MAX_LAYERS, &hp.n_layers);
	if (ret)
		return ret;
	ret = find_range(m, "llama.embedding_length", MAX_WIDTH, &hp.hidden);
	if (ret)
		return ret;
	ret = find_range(m, "llama.feed_forward_length", MAX_WIDTH, &hp.ffn);
	if (ret)
		return ret;
	ret = find_range(m, "llama.context_length", MAX_CTX, &hp.ctx_limit);
	if (ret)
		return ret;
	ret = read_heads(m, &hp);
	if (ret)
		return ret;
	ret = read_floats(m, &hp);
	if (ret)
		return ret;
	ret = read_vocab(m, &hp);
	if (ret)
		return ret;
	ret = check_tensor_names(m, &hp);
	if (ret)
		return ret;
	*out = hp;
	return NPU_OK;
}
