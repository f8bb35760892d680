/* SPDX-License-Identifier: MIT */
/* Constants of a llama-family model that graphs of different sizes share. */
#ifndef LIBNPU_LLAMA_PRIV_H
#define LIBNPU_LLAMA_PRIV_H

#include "npu/graph.h"

/* Norms in the order attn_norm, ffn_norm per layer, then output_norm: [2 * n_layers + 1][hidden].
 */
struct llama_consts {
	uint32_t refs; /* atomic */
	const npu_gguf *model;
	uint32_t n_ctx;
	float *rope; /* [n_ctx][cos head_dim / 2 | sin head_dim / 2] */
	float *norms;
};

npu_status llama_consts_new(const npu_gguf *model, const struct npu_llama_hparams *hp,
			    uint32_t n_ctx, struct llama_consts **out);
struct llama_consts *llama_consts_ref(struct llama_consts *c);
void llama_consts_unref(struct llama_consts *c); /* NULL is allowed */

/* Tensor @name of block @layer ("blk.3.attn_q.weight"). */
npu_status llama_layer_tensor(const npu_gguf *model, uint32_t layer, const char *name,
			      const struct npu_gguf_tensor **out);

#endif
