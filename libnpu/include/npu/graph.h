/* SPDX-License-Identifier: MIT */
/**
 * npu/graph.h - a model as tensors and operators, the input of the CPU executor and of the
 * compiler.
 *
 * A graph processes up to M tokens of one sequence (M is fixed when it is built).  Where they stand
 * is not part of the graph: the position `pos` of the first token and the number `n_valid` <= M of
 * tokens that count are run-time values.  Rows n_valid..M-1 of activations hold unspecified data.
 *
 * Tensors are two-dimensional, row major and dense: element (r, c) at index r * cols + c.
 * Activations have one row per token, weights one row per output feature, as GGUF stores them.
 * Every tensor states its element type, so that the CPU executor and the NPU round at the same
 * places and give the same bits; the arithmetic of each operator is that of the NE1 contract
 * (driver/hw/ne1.md, section 6).
 *
 * Operators are kept in execution order.  Adding one checks types and shapes; on failure the graph
 * is unchanged and npu_error_message() names operator, tensor and dimensions.
 *
 * A graph may be read by several threads at a time once building has ended; building is not thread
 * safe.
 */
#ifndef NPU_GRAPH_H
#define NPU_GRAPH_H

#include <stdint.h>
#include <stddef.h>
#include <stdio.h>

#include "npu/gguf.h"
#include "npu/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct npu_graph npu_graph;

/** Element types: enum suffix, name, elements per block, bytes per block. */
#define NPU_DTYPE_LIST(X) \
	X(F32, "f32", 1, 4) \
	X(F16, "f16", 1, 2) \
	X(BF16, "bf16", 1, 2)		/* weights only */ \
	X(Q4_0, "q4_0", 32, 18)		/* weights only: scale * (q - 8) */ \
	X(Q4_1, "q4_1", 32, 20)		/* weights only: scale * q + min */ \
	X(Q8_0, "q8_0", 32, 34)		/* weights only: scale * q */ \
	X(U32, "u32", 1, 4)		/* token ids */

enum npu_dtype {
#define NPU_DTYPE_ENUM(id, name, block, bytes) NPU_DTYPE_##id,
	NPU_DTYPE_LIST(NPU_DTYPE_ENUM)
#undef NPU_DTYPE_ENUM
	NPU_N_DTYPES
};

/** "f16"; "?" if out of range. */
NPU_API const char *npu_dtype_name(enum npu_dtype dtype);
/** Bytes of one row of @cols elements; 0 if @cols is no multiple of the type's block. */
NPU_API size_t npu_dtype_row_bytes(enum npu_dtype dtype, uint32_t cols);

enum npu_tensor_kind {
	NPU_TENSOR_INPUT,	/* written by the caller before a run */
	NPU_TENSOR_WEIGHT,	/* of the model file: data points into it, weight describes it */
	NPU_TENSOR_CONST,	/* F32 table or norm weights: data is valid as long as the graph */
	NPU_TENSOR_ACT,		/* lives only within a run */
	NPU_TENSOR_KV,		/* K or V of a layer, kept between runs: F16 [n_ctx][kv cols] */
	NPU_TENSOR_OUTPUT,	/* read by the caller after a run */
};

#define NPU_NAME_LEN	64	/* longer names are refused */

struct npu_tensor {
	uint32_t id;			/* index in the graph */
	enum npu_tensor_kind kind;
	enum npu_dtype dtype;
	uint32_t rows, cols;
	size_t bytes;			/* rows * row bytes */
	const void *data;		/* WEIGHT, CONST (4-byte aligned); else NULL */
	const struct npu_gguf_tensor *weight; /* WEIGHT; else NULL */
	uint32_t layer;			/* KV */
	uint32_t is_v;			/* KV: 0 K, 1 V */
	uint32_t producer;		/* op index, NPU_NO_OP for tensors that no op writes */
	uint32_t n_uses;		/* op inputs that name it */
	/* Unique in the graph; weights of equal name in graphs of one model are the same. */
	char name[NPU_NAME_LEN];
};

#define NPU_NO_OP	UINT32_MAX
#define NPU_NO_TENSOR	UINT32_MAX

/**
 * Operators: enum suffix, name, number of inputs.  T is the M of the graph.
 *
 * GET_ROWS	ids U32 [T][1], table WEIGHT [n][cols] -> F32 [T][cols]
 *		An id >= n is an error.
 * RMS_NORM	x F32|F16 [T][cols], w CONST F32 [1][cols] -> F16|F32
 * MATMUL	a F16|F32 [T][k], w WEIGHT [n][k] -> F32|F16 [T][n]
 *		Q8_0 is the contract's packed I8; Q4_1 packed U4M; Q4_0 packed U4M with the same
 *		scale and min = fp16(-8 * scale), exact for scales below 8190; F32, F16 and BF16 are
 *		plain B.
 * ROPE		x F32 [T][n_heads * head_dim], table CONST F32 [n_ctx][head_dim] -> F16|F32
 *		Token t uses table row pos + t: cos[head_dim / 2] then sin[head_dim / 2].
 * KV_APPEND	x F16 [T][kv cols], cache KV -> the cache tensor itself
 *		Writes rows pos..pos+n_valid-1 of the cache.
 * ATTENTION	q F16 [T][n_heads * head_dim], K KV, V KV -> F16|F32, as q
 *		Query head h reads KV head h / (n_heads / n_kv_heads); token t sees positions
 *		0..pos+t.  Positions go by tiles of kv_tile that start at multiples of it: S =
 *		MM(q, K), SOFTMAX (FIRST on tile 0), O = MM ACC(p, V).  Tiles at or beyond
 *		pos+n_valid are skipped; cache rows from there to the end of the last tile count as
 *		zeros.  out = DIV_ROW(O, l).
 * SILU		x F32 -> F32|F16
 * MUL, ADD	x F32|F16, y F32|F16 -> F32|F16
 * SWIGLU	gate F32, up F32 -> F16|F32: silu(gate) * up
 * CAST		x F32|F16 -> F16|F32
 * ROW_SELECT	x [T][cols] -> [1][cols], same type: row n_valid - 1
 */
#define NPU_OP_LIST(X) \
	X(GET_ROWS, "get_rows", 2) \
	X(RMS_NORM, "rms_norm", 2) \
	X(MATMUL, "matmul", 2) \
	X(ROPE, "rope", 2) \
	X(KV_APPEND, "kv_append", 2) \
	X(ATTENTION, "attention", 3) \
	X(SILU, "silu", 1) \
	X(MUL, "mul", 2) \
	X(ADD, "add", 2) \
	X(SWIGLU, "swiglu", 2) \
	X(CAST, "cast", 1) \
	X(ROW_SELECT, "row_select", 1)

enum npu_op_kind {
#define NPU_OP_ENUM(id, name, n_in) NPU_OP_##id,
	NPU_OP_LIST(NPU_OP_ENUM)
#undef NPU_OP_ENUM
	NPU_N_OPS
};

/** "matmul"; "?" if out of range. */
NPU_API const char *npu_op_name(enum npu_op_kind kind);

struct npu_rope {
	uint32_t head_dim;	/* even */
	uint32_t n_heads;
	uint32_t neox;		/* pairs (i, i + head_dim / 2) instead of (2i, 2i + 1) */
};

struct npu_attention {
	uint32_t n_heads, n_kv_heads;
	uint32_t head_dim;
	uint32_t kv_tile;	/* multiple of 8 */
	uint32_t window;	/* 0: all positions, else the last `window` ones */
	float scale;		/* of the scores */
};

#define NPU_KV_TILE	128	/* kv_tile of the builders */
#define NPU_OP_MAX_IN	3

struct npu_op {
	enum npu_op_kind kind;
	uint32_t n_in;
	uint32_t in[NPU_OP_MAX_IN];	/* tensor ids, in the order above */
	uint32_t out;			/* tensor id */
	uint32_t layer;			/* block of the model, for reports; NPU_NO_LAYER outside */
	union {
		float eps;			/* RMS_NORM */
		struct npu_rope rope;
		struct npu_attention attention;
	};
};

#define NPU_NO_LAYER	UINT32_MAX

/** @n_tokens is M, 1..4096. */
NPU_API npu_status npu_graph_new(uint32_t n_tokens, npu_graph **out);
/** NULL is allowed. */
NPU_API void npu_graph_del(npu_graph *g);

/** Tensors that no op writes.  @id receives the tensor id. */
NPU_API npu_status npu_graph_input(npu_graph *g, const char *name, enum npu_dtype dtype,
				   uint32_t rows, uint32_t cols, uint32_t *id);
/** Tensor of the model with up to two dimensions; the model outlives the graph.  Adding it again
 * gives the same id.
 */
NPU_API npu_status npu_graph_weight(npu_graph *g, const struct npu_gguf_tensor *t, uint32_t *id);
/** F32 table; @data is borrowed and outlives the graph. */
NPU_API npu_status npu_graph_const(npu_graph *g, const char *name, uint32_t rows, uint32_t cols,
				   const float *data, uint32_t *id);
NPU_API npu_status npu_graph_kv(npu_graph *g, const char *name, uint32_t layer, int is_v,
				uint32_t n_ctx, uint32_t cols, uint32_t *id);

/** Block number that ops added from now on carry. */
NPU_API void npu_graph_set_layer(npu_graph *g, uint32_t layer);

/** Operators; @name names the output tensor, @dtype is its type, @out receives its id. */
NPU_API npu_status npu_graph_get_rows(npu_graph *g, const char *name, uint32_t ids, uint32_t table,
				      uint32_t *out);
NPU_API npu_status npu_graph_rms_norm(npu_graph *g, const char *name, uint32_t x, uint32_t w,
				      float eps, enum npu_dtype dtype, uint32_t *out);
NPU_API npu_status npu_graph_matmul(npu_graph *g, const char *name, uint32_t a, uint32_t w,
				    enum npu_dtype dtype, uint32_t *out);
NPU_API npu_status npu_graph_rope(npu_graph *g, const char *name, uint32_t x, uint32_t table,
				  const struct npu_rope *attr, enum npu_dtype dtype, uint32_t *out);
NPU_API npu_status npu_graph_kv_append(npu_graph *g, uint32_t x, uint32_t cache);
NPU_API npu_status npu_graph_attention(npu_graph *g, const char *name, uint32_t q, uint32_t k,
				       uint32_t v, const struct npu_attention *attr,
				       enum npu_dtype dtype, uint32_t *out);
NPU_API npu_status npu_graph_silu(npu_graph *g, const char *name, uint32_t x, enum npu_dtype dtype,
				  uint32_t *out);
NPU_API npu_status npu_graph_mul(npu_graph *g, const char *name, uint32_t x, uint32_t y,
				 enum npu_dtype dtype, uint32_t *out);
NPU_API npu_status npu_graph_add(npu_graph *g, const char *name, uint32_t x, uint32_t y,
				 enum npu_dtype dtype, uint32_t *out);
NPU_API npu_status npu_graph_swiglu(npu_graph *g, const char *name, uint32_t gate, uint32_t up,
				    enum npu_dtype dtype, uint32_t *out);
NPU_API npu_status npu_graph_cast(npu_graph *g, const char *name, uint32_t x, enum npu_dtype dtype,
				  uint32_t *out);
NPU_API npu_status npu_graph_row_select(npu_graph *g, const char *name, uint32_t x, uint32_t *out);

/** Turn an activation into an output. */
NPU_API npu_status npu_graph_set_output(npu_graph *g, uint32_t id);

/**
 * Pass: SILU whose only use is one operand of a MUL becomes SWIGLU (the same bits: the product is
 * of F32 values either way, so a SILU with F16 output stays).  @changed (may be NULL) receives the
 * number of fusions.
 */
NPU_API npu_status npu_graph_fuse_swiglu(npu_graph *g, uint32_t *changed);

/** Introspection; NULL for an index out of range. */
NPU_API uint32_t npu_graph_n_tokens(const npu_graph *g);
NPU_API uint32_t npu_graph_n_ops(const npu_graph *g);
NPU_API uint32_t npu_graph_n_tensors(const npu_graph *g);
NPU_API const struct npu_op *npu_graph_op(const npu_graph *g, uint32_t i);
NPU_API const struct npu_tensor *npu_graph_tensor(const npu_graph *g, uint32_t id);
/** Id of the tensor called @name, NPU_NO_TENSOR if none. */
NPU_API uint32_t npu_graph_find(const npu_graph *g, const char *name);

/** One line per op: index, name, output and inputs with types and shapes. */
NPU_API void npu_graph_dump(const npu_graph *g, FILE *f);

/* ---- llama family ---------------------------------------------------------------------- */

/** What the metadata of a llama-family model says, checked. */
struct npu_llama_hparams {
	uint32_t n_layers;
	uint32_t hidden;	/* embedding length */
	uint32_t ffn;		/* feed-forward length */
	uint32_t n_heads, n_kv_heads;
	uint32_t head_dim;
	uint32_t n_vocab;
	uint32_t ctx_limit;	/* positions the model was made for */
	float rms_eps;
	double rope_base;
	uint32_t tied;		/* the output matrix is the embedding */
};

enum npu_logits {
	NPU_LOGITS_NONE,	/* only the KV cache is filled */
	NPU_LOGITS_LAST,	/* of token n_valid - 1: [1][n_vocab] */
	NPU_LOGITS_ALL,		/* [M][n_vocab] */
};

struct npu_llama_shape {
	uint32_t n_tokens;	/* M, 1..4096 */
	uint32_t n_ctx;		/* positions of the KV cache, 1..the model's limit */
	enum npu_logits logits;
	/* A graph of the same model and n_ctx whose constants (RoPE table, norms) are shared, or
	 * NULL.  It may be deleted before the new graph.
	 */
	const npu_graph *share;
};

/**
 * NPU_ERR_UNSUPPORTED names the architecture or feature (RoPE scaling, partial rotation, biases)
 * that is not handled, NPU_ERR_FORMAT a missing or contradictory key.
 */
NPU_API npu_status npu_llama_hparams(const npu_gguf *model, struct npu_llama_hparams *out);

/**
 * Build the graph.  Input "tokens" U32 [M][1], output "logits" F32 (absent for NPU_LOGITS_NONE), KV
 * tensors "k.<layer>", "v.<layer>".  @model outlives the graph.
 */
NPU_API npu_status npu_llama_graph(const npu_gguf *model, const struct npu_llama_shape *shape,
				   npu_graph **out);

#ifdef __cplusplus
}
#endif
#endif
