// SPDX-License-Identifier: MIT
/*
 * ATTENTION: for each KV head and block of tokens, an online softmax over tiles of positions, in
 * the steps that npu/graph.h defines.  K and V tiles are widened once for all query rows that use
 * them; a row is one query head of one token.
 */
#include "exec.h"

#include <float.h>
#include <string.h>

#define TOKEN_BLOCK 16u

struct attention {
	const struct cpu_run *run;
	const struct npu_attention *attr;
	const uint16_t *q, *k, *v;
	void *out;
	enum npu_dtype out_type;
	uint32_t q_cols, kv_cols;
	uint32_t kv_len;
	uint32_t rep; /* query heads per KV head */
};

/* A thread's scratch for one item. */
struct block {
	const struct attention *at;
	uint32_t kv_head;
	uint32_t t0, rows; /* first token; rows = tokens * rep */
	float *kt;	   /* [head_dim][kv_tile]: K transposed */
	float *vt;	   /* [kv_tile][head_dim] */
	float *q, *o;	   /* [rows][head_dim] */
	float *s, *p;	   /* [rows][kv_tile] */
	struct cpu_softmax *state;
};

static size_t block_floats(const struct npu_attention *a, size_t rows)
{
	size_t tile = (size_t)a->kv_tile * a->head_dim;

	return 2 * tile + 2 * rows * a->head_dim + 2 * rows * a->kv_tile +
	       rows * sizeof(struct cpu_softmax) / sizeof(float);
}

struct cpu_need cpu_attention_need(const npu_graph *g, const struct npu_op *op)
{
	const struct npu_attention *a = &op->attention;
	uint32_t tokens = npu_graph_n_tokens(g) < TOKEN_BLOCK ? npu_graph_n_tokens(g) : TOKEN_BLOCK;

	return (struct cpu_need) { .local = block_floats(a,
							 tokens * (a->n_heads / a->n_kv_heads)) };
}

static void carve(struct block *b, float *mem)
{
	const struct npu_attention *a = b->at->attr;
	size_t tile = (size_t)a->kv_tile * a->head_dim;

	b->kt = mem;
	b->vt = b->kt + tile;
	b->q = b->vt + tile;
	b->o = b->q + (size_t)b->rows * a->head_dim;
	b->s = b->o + (size_t)b->rows * a->head_dim;
	b->p = b->s + (size_t)b->rows * a->kv_tile;
	b->state = (struct cpu_softmax *)(b->p + (size_t)b->rows * a->kv_tile);
}

/* Element offset of a row's query (and output). */
static size_t query_at(const struct block *b, uint32_t row)
{
	const struct attention *at = b->at;
	uint32_t head = b->kv_head * at->rep + row % at->rep;

	return (size_t)(b->t0 + row / at->rep) * at->q_cols + (size_t)head * at->attr->head_dim;
}

static void start_rows(struct block *b)
{
	const struct attention *at = b->at;
	uint32_t hd = at->attr->head_dim;

	for (uint32_t r = 0; r < b->rows; r++) {
		at->run->cpu->k->widen(b->q + (size_t)r * hd, at->q + query_at(b, r), hd);
		b->state[r] = (struct cpu_softmax) { .m = -FLT_MAX };
	}
	memset(b->o, 0, (size_t)b->rows * hd * sizeof(float));
}

/* Widen @cols positions from @start; columns of K up to a multiple of 8 are defined. */
static void load_tile(struct block *b, uint32_t start, uint32_t cols)
{
	const struct attention *at = b->at;
	const struct cpu_kernels *k = at->run->cpu->k;
	uint32_t hd = at->attr->head_dim, tile = at->attr->kv_tile;
	size_t from = (size_t)start * at->kv_cols + (size_t)b->kv_head * hd;

	for (uint32_t j = 0; j < cols; j++, from += at->kv_cols) {
		float *row = b->vt + (size_t)j * hd;

		k->widen(row, at->k + from, hd);
		for (uint32_t d = 0; d < hd; d++)
			b->kt[(size_t)d * tile + j] = row[d];
		k->widen(row, at->v + from, hd);
	}
	for (uint32_t j = cols; j % 8; j++)
		for (uint32_t d = 0; d < hd; d++)
			b->kt[(size_t)d * tile + j] = 0.0f;
}

/* Valid columns of @row in the tile: *first..*end-1. */
static void valid_columns(const struct block *b, uint32_t row, uint32_t start, uint32_t *first,
			  uint32_t *end)
{
	const struct attention *at = b->at;
	uint32_t limit = at->run->pos + b->t0 + row / at->rep + 1;
	uint32_t window = at->attr->window, tile = at->attr->kv_tile;
	uint32_t low = window && limit > window ? limit - window : 0;

	*first = low > start ? low - start : 0;
	*end = limit > start ? limit - start : 0;
	*end = *end > tile ? tile : *end;
}

static void run_tile(struct block *b, uint32_t start)
{
	const struct attention *at = b->at;
	const struct cpu_kernels *k = at->run->cpu->k;
	uint32_t hd = at->attr->head_dim, tile = at->attr->kv_tile;
	uint32_t cols = at->kv_len - start < tile ? at->kv_len - start : tile;
	size_t o_size = (size_t)b->rows * hd;
	uint32_t first, end;

	load_tile(b, start, cols);
	memset(b->s, 0, (size_t)b->rows * tile * sizeof(float));
	k->mm(b->s, tile, b->q, hd, b->kt, tile, b->rows, hd, (cols + 7) & ~7u);
	for (uint32_t r = 0; r < b->rows; r++) {
		valid_columns(b, r, start, &first, &end);
		k->softmax(b->p + (size_t)r * tile, b->s + (size_t)r * tile, &b->state[r],
			   b->o + (size_t)r * hd, hd, tile, first, end, at->attr->scale);
	}
	k->mm(b->o, hd, b->p, tile, b->vt, hd, b->rows, cols, hd);
	/* The zero rows after kv_len: fma(0, 0, o) leaves o alone but for the sign of a zero. */
	if (cols < tile)
		for (size_t i = 0; i < o_size; i++)
			b->o[i] += 0.0f;
}

static void attention_block(void *arg, uint32_t item, uint32_t thread)
{
	const struct attention *at = arg;
	uint32_t n_valid = at->run->n_valid, hd = at->attr->head_dim;
	struct block b = { .at = at,
			   .kv_head = item % at->attr->n_kv_heads,
			   .t0 = item / at->attr->n_kv_heads * TOKEN_BLOCK };
	uint32_t tokens = n_valid - b.t0 < TOKEN_BLOCK ? n_valid - b.t0 : TOKEN_BLOCK;
	const struct cpu_kernels *k = at->run->cpu->k;

	b.rows = tokens * at->rep;
	carve(&b, run_local(at->run, thread));
	start_rows(&b);
	for (uint32_t start = 0; start < at->kv_len; start += at->attr->kv_tile)
		run_tile(&b, start);
	for (uint32_t r = 0; r < b.rows; r++) {
		float *o = b.o + (size_t)r * hd;

		k->div_row(o, o, b.state[r].l, hd);
		if (at->out_type == NPU_DTYPE_F32)
			memcpy((float *)at->out + query_at(&b, r), o, hd * sizeof(float));
		else
			k->narrow((uint16_t *)at->out + query_at(&b, r), o, hd);
	}
}

void cpu_attention(struct cpu_run *r)
{
	const struct npu_tensor *q = run_in(r, 0), *k = run_in(r, 1), *v = run_in(r, 2);
	const struct npu_attention *attr = &r->op->attention;
	struct attention at = {
		.run = r,
		.attr = attr,
		.q = run_data(r, q),
		.k = run_data(r, k),
		.v = run_data(r, v),
		.out = run_data(r, run_out(r)),
		.out_type = run_out(r)->dtype,
		.q_cols = q->cols,
		.kv_cols = k->cols,
		.kv_len = r->pos + r->n_valid,
		.rep = attr->n_heads / attr->n_kv_heads,
	};
	uint32_t blocks = (r->n_valid + TOKEN_BLOCK - 1) / TOKEN_BLOCK;

	cpu_pool_run(r->cpu->pool, attention_block, &at, blocks * attr->n_kv_heads);
}
