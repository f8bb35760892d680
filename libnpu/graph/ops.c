// SPDX-License-Identifier: MIT
/*
 * Adding an op: each npu_graph_<op>() checks its inputs against npu/graph.h, and only then adds the
 * output tensor and the op.  A check that fails has already set the message.
 */
#include "graph_priv.h"

#include <string.h>

#include "error.h"

#define BIT(dtype) (1u << NPU_DTYPE_##dtype)
#define FLOATS	   (BIT(F32) | BIT(F16))
#define KINDS_ROWS (1u << NPU_TENSOR_INPUT | 1u << NPU_TENSOR_ACT | 1u << NPU_TENSOR_OUTPUT)

/* An op under construction; status keeps the first failure so that checks read as a list. */
struct build {
	npu_graph *g;
	const char *name;
	struct npu_op op;
	npu_status status;
};

static struct build begin(npu_graph *g, enum npu_op_kind kind, const char *name)
{
	return (struct build) { .g = g, .name = name, .op.kind = kind, .op.out = NPU_NO_TENSOR };
}

/* Next input: must exist, be of one of the @kinds and of one of the @dtypes (bit masks). */
static const struct npu_tensor *input(struct build *b, uint32_t id, uint32_t kinds, uint32_t dtypes)
{
	const struct npu_tensor *t = npu_graph_tensor(b->g, id);
	const char *op = npu_op_name(b->op.kind);

	if (b->status)
		return NULL;
	if (!t) {
		b->status = npu_fail(NPU_ERR_INVALID,
				     "%s '%s': input %u is tensor %u, the graph has %u", op,
				     b->name, b->op.n_in, id, b->g->n_tensors);
		return NULL;
	}
	if (!(kinds >> t->kind & 1)) {
		b->status = npu_fail(NPU_ERR_INVALID,
				     "%s '%s': '%s' is the wrong kind of tensor for input %u", op,
				     b->name, t->name, b->op.n_in);
		return NULL;
	}
	if (!(dtypes >> t->dtype & 1)) {
		b->status = npu_fail(NPU_ERR_INVALID, "%s '%s': input '%s' cannot be %s", op,
				     b->name, t->name, npu_dtype_name(t->dtype));
		return NULL;
	}
	b->op.in[b->op.n_in++] = id;
	return t;
}

static void want_shape(struct build *b, const struct npu_tensor *t, uint64_t rows, uint64_t cols)
{
	if (b->status || (t->rows == rows && t->cols == cols))
		return;
	b->status = npu_fail(NPU_ERR_INVALID, "%s '%s': '%s' is %ux%u, must be %llux%llu",
			     npu_op_name(b->op.kind), b->name, t->name, t->rows, t->cols,
			     (unsigned long long)rows, (unsigned long long)cols);
}

/* Add the output and the op.  @rows and @cols come from inputs, which exist unless status is set.
 */
static npu_status end(struct build *b, enum npu_dtype dtype, uint32_t rows, uint32_t cols,
		      uint32_t *out)
{
	struct npu_tensor t = {
		.kind = NPU_TENSOR_ACT, .dtype = dtype, .rows = rows, .cols = cols
	};
	size_t len = strlen(b->name);
	npu_status ret;

	if (b->status)
		return b->status;
	if (len >= sizeof(t.name))
		return npu_fail(NPU_ERR_LIMIT, "%s '%.80s': name of %zu bytes, limit %zu",
				npu_op_name(b->op.kind), b->name, len, sizeof(t.name) - 1);
	if (dtype != NPU_DTYPE_F32 && dtype != NPU_DTYPE_F16)
		return npu_fail(NPU_ERR_INVALID, "%s '%s': output cannot be %s",
				npu_op_name(b->op.kind), b->name, npu_dtype_name(dtype));
	memcpy(t.name, b->name, len + 1);
	/* The tensor must not stay behind without its op. */
	ret = npu_graph_reserve_op(b->g);
	if (ret)
		return ret;
	ret = npu_graph_add_tensor(b->g, &t, &b->op.out);
	if (ret)
		return ret;
	ret = npu_graph_add_op(b->g, &b->op);
	if (ret)
		return ret;
	*out = b->op.out;
	return NPU_OK;
}

npu_status npu_graph_get_rows(npu_graph *g, const char *name, uint32_t ids, uint32_t table,
			      uint32_t *out)
{
	struct build b = begin(g, NPU_OP_GET_ROWS, name);
	const struct npu_tensor *i = input(&b, ids, KINDS_ROWS, BIT(U32));
	const struct npu_tensor *t = input(&b, table, 1u << NPU_TENSOR_WEIGHT, ~0u);

	if (b.status)
		return b.status;
	want_shape(&b, i, i->rows, 1);
	return end(&b, NPU_DTYPE_F32, i->rows, t->cols, out);
}

npu_status npu_graph_rms_norm(npu_graph *g, const char *name, uint32_t x, uint32_t w, float eps,
			      enum npu_dtype dtype, uint32_t *out)
{
	struct build b = begin(g, NPU_OP_RMS_NORM, name);
	const struct npu_tensor *tx = input(&b, x, KINDS_ROWS, FLOATS);
	const struct npu_tensor *tw = input(&b, w, 1u << NPU_TENSOR_CONST, BIT(F32));

	if (b.status)
		return b.status;
	want_shape(&b, tw, 1, tx->cols);
	if (!b.status && !(eps > 0 && eps < 1))
		return npu_fail(NPU_ERR_INVALID,
				"rms_norm '%s': epsilon %g, must be between 0 and 1", name,
				(double)eps);
	b.op.eps = eps;
	return end(&b, dtype, tx->rows, tx->cols, out);
}

npu_status npu_graph_matmul(npu_graph *g, const char *name, uint32_t a, uint32_t w,
			    enum npu_dtype dtype, uint32_t *out)
{
	struct build b = begin(g, NPU_OP_MATMUL, name);
	const struct npu_tensor *ta = input(&b, a, KINDS_ROWS, FLOATS);
	const struct npu_tensor *tw = input(&b, w, 1u << NPU_TENSOR_WEIGHT, ~0u);

	if (b.status)
		return b.status;
	want_shape(&b, tw, tw->rows, ta->cols);
	return end(&b, dtype, ta->rows, tw->rows, out);
}

npu_status npu_graph_rope(npu_graph *g, const char *name, uint32_t x, uint32_t table,
			  const struct npu_rope *attr, enum npu_dtype dtype, uint32_t *out)
{
	struct build b = begin(g, NPU_OP_ROPE, name);
	const struct npu_tensor *tx = input(&b, x, KINDS_ROWS, BIT(F32));
	const struct npu_tensor *tt = input(&b, table, 1u << NPU_TENSOR_CONST, BIT(F32));

	if (b.status)
		return b.status;
	if (attr->head_dim == 0 || attr->head_dim % 2)
		return npu_fail(NPU_ERR_INVALID, "rope '%s': head_dim %u, must be even and not 0",
				name, attr->head_dim);
	want_shape(&b, tx, tx->rows, (uint64_t)attr->n_heads * attr->head_dim);
	want_shape(&b, tt, tt->rows, attr->head_dim);
	b.op.rope = *attr;
	return end(&b, dtype, tx->rows, tx->cols, out);
}

npu_status npu_graph_kv_append(npu_graph *g, uint32_t x, uint32_t cache)
{
	const struct npu_tensor *t = npu_graph_tensor(g, cache);
	struct build b = begin(g, NPU_OP_KV_APPEND, t ? t->name : "?");
	const struct npu_tensor *tx = input(&b, x, KINDS_ROWS, BIT(F16));
	const struct npu_tensor *tc = input(&b, cache, 1u << NPU_TENSOR_KV, BIT(F16));

	if (b.status)
		return b.status;
	want_shape(&b, tx, tx->rows, tc->cols);
	if (b.status)
		return b.status;
	b.op.out = cache;
	return npu_graph_add_op(g, &b.op);
}

static npu_status check_attention(const char *name, const struct npu_attention *a)
{
	if (a->n_heads == 0 || a->n_kv_heads == 0 || a->n_heads % a->n_kv_heads)
		return npu_fail(NPU_ERR_INVALID, "attention '%s': %u heads over %u KV heads", name,
				a->n_heads, a->n_kv_heads);
	if (a->head_dim == 0 || a->head_dim % 2)
		return npu_fail(NPU_ERR_INVALID,
				"attention '%s': head_dim %u, must be even and not 0", name,
				a->head_dim);
	if (a->kv_tile == 0 || a->kv_tile % 8 || a->kv_tile > 4096)
		return npu_fail(NPU_ERR_INVALID,
				"attention '%s': kv_tile %u, must be a multiple of 8 up to 4096",
				name, a->kv_tile);
	if (!(a->scale > 0 && a->scale < 1e6f))
		return npu_fail(NPU_ERR_INVALID, "attention '%s': scale %g, must be positive", name,
				(double)a->scale);
	return NPU_OK;
}

npu_status npu_graph_attention(npu_graph *g, const char *name, uint32_t q, uint32_t k, uint32_t v,
			       const struct npu_attention *attr, enum npu_dtype dtype,
			       uint32_t *out)
{
	struct build b = begin(g, NPU_OP_ATTENTION, name);
	const struct npu_tensor *tq = input(&b, q, KINDS_ROWS, BIT(F16));
	const struct npu_tensor *tk = input(&b, k, 1u << NPU_TENSOR_KV, BIT(F16));
	const struct npu_tensor *tv = input(&b, v, 1u << NPU_TENSOR_KV, BIT(F16));

	if (b.status)
		return b.status;
	b.status = check_attention(name, attr);
	want_shape(&b, tq, tq->rows, (uint64_t)attr->n_heads * attr->head_dim);
	want_shape(&b, tk, tk->rows, (uint64_t)attr->n_kv_heads * attr->head_dim);
	want_shape(&b, tv, tk->rows, tk->cols);
	b.op.attention = *attr;
	return end(&b, dtype, tq->rows, tq->cols, out);
}

npu_status npu_graph_silu(npu_graph *g, const char *name, uint32_t x, enum npu_dtype dtype,
			  uint32_t *out)
{
	struct build b = begin(g, NPU_OP_SILU, name);
	const struct npu_tensor *t = input(&b, x, KINDS_ROWS, BIT(F32));

	if (b.status)
		return b.status;
	return end(&b, dtype, t->rows, t->cols, out);
}

/* Two inputs of equal shape, output of that shape. */
static npu_status binary(npu_graph *g, enum npu_op_kind kind, const char *name, uint32_t x,
			 uint32_t y, uint32_t dtypes, enum npu_dtype dtype, uint32_t *out)
{
	struct build b = begin(g, kind, name);
	const struct npu_tensor *tx = input(&b, x, KINDS_ROWS, dtypes);
	const struct npu_tensor *ty = input(&b, y, KINDS_ROWS, dtypes);

	if (b.status)
		return b.status;
	want_shape(&b, ty, tx->rows, tx->cols);
	return end(&b, dtype, tx->rows, tx->cols, out);
}

npu_status npu_graph_mul(npu_graph *g, const char *name, uint32_t x, uint32_t y,
			 enum npu_dtype dtype, uint32_t *out)
{
	return binary(g, NPU_OP_MUL, name, x, y, FLOATS, dtype, out);
}

npu_status npu_graph_add(npu_graph *g, const char *name, uint32_t x, uint32_t y,
			 enum npu_dtype dtype, uint32_t *out)
{
	return binary(g, NPU_OP_ADD, name, x, y, FLOATS, dtype, out);
}

npu_status npu_graph_swiglu(npu_graph *g, const char *name, uint32_t gate, uint32_t up,
			    enum npu_dtype dtype, uint32_t *out)
{
	return binary(g, NPU_OP_SWIGLU, name, gate, up, BIT(F32), dtype, out);
}

npu_status npu_graph_cast(npu_graph *g, const char *name, uint32_t x, enum npu_dtype dtype,
			  uint32_t *out)
{
	struct build b = begin(g, NPU_OP_CAST, name);
	const struct npu_tensor *t = input(&b, x, KINDS_ROWS, FLOATS);

	if (b.status)
		return b.status;
	return end(&b, dtype, t->rows, t->cols, out);
}

npu_status npu_graph_row_select(npu_graph *g, const char *name, uint32_t x, uint32_t *out)
{
	struct build b = begin(g, NPU_OP_ROW_SELECT, name);
	const struct npu_tensor *t = input(&b, x, KINDS_ROWS, FLOATS);

	if (b.status)
		return b.status;
	return end(&b, t->dtype, 1, t->cols, out);
}
