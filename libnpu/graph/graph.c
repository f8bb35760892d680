// SPDX-License-Identifier: MIT
/* The container: tensors, ops and how to look at them.  What an op demands of its inputs is in
 * ops.c. */
#include "graph_priv.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "llama_priv.h"

#define MAX_TOKENS 4096u
#define MAX_DIM	   (1u << 24) /* rows or columns: products of two and a type size fit 64 bits */

npu_status npu_graph_new(uint32_t n_tokens, npu_graph **out)
{
	npu_graph *g;

	*out = NULL;
	if (n_tokens == 0 || n_tokens > MAX_TOKENS)
		return npu_fail(NPU_ERR_LIMIT, "graph: %u tokens, limit 1..%u", n_tokens,
				MAX_TOKENS);
	g = calloc(1, sizeof(*g));
	if (!g)
		return npu_fail(NPU_ERR_NOMEM, "graph: out of memory");
	g->n_tokens = n_tokens;
	g->layer = NPU_NO_LAYER;
	*out = g;
	return NPU_OK;
}

void npu_graph_del(npu_graph *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; i < g->n_tensors; i++)
		free(g->tensors[i]);
	free(g->tensors);
	free(g->by_name);
	free(g->ops);
	llama_consts_unref(g->consts);
	free(g);
}

/* Make room for one more element of an array that doubles. */
static npu_status grow(void *array, uint32_t n, uint32_t *max, size_t size)
{
	void **p = array;
	uint32_t want = *max ? 2 * *max : 64;
	void *mem;

	if (n < *max)
		return NPU_OK;
	mem = reallocarray(*p, want, size);
	if (!mem)
		return npu_fail(NPU_ERR_NOMEM, "graph: no memory for %u elements", want);
	*p = mem;
	*max = want;
	return NPU_OK;
}

/* ---- names ------------------------------------------------------------------------------- */

/* The slot of the tensor called @name, or the free one where it belongs. */
static uint32_t *name_slot(const npu_graph *g, const char *name)
{
	uint32_t mask = 2 * g->max_tensors - 1, i = 2166136261u; /* FNV-1a */

	for (const char *c = name; *c; c++)
		i = (i ^ (unsigned char)*c) * 16777619u;
	for (i &= mask; g->by_name[i] != NPU_NO_TENSOR; i = (i + 1) & mask)
		if (!strcmp(g->tensors[g->by_name[i]]->name, name))
			break;
	return &g->by_name[i];
}

/* Room for one more tensor and its name.  max_tensors stays a power of two. */
static npu_status grow_tensors(npu_graph *g)
{
	uint32_t *by_name, old = g->max_tensors;
	npu_status ret;

	if (g->n_tensors < old)
		return NPU_OK;
	ret = grow(&g->tensors, g->n_tensors, &g->max_tensors, sizeof(g->tensors[0]));
	if (ret)
		return ret;
	by_name = malloc(2 * (size_t)g->max_tensors * sizeof(*by_name));
	if (!by_name) {
		ret = npu_fail(NPU_ERR_NOMEM, "graph: no memory for %u names", g->max_tensors);
		g->max_tensors = old;	/* as the old table has it */
		return ret;
	}
	free(g->by_name);
	g->by_name = by_name;
	memset(by_name, 0xff, 2 * (size_t)g->max_tensors * sizeof(*by_name));
	for (uint32_t i = 0; i < g->n_tensors; i++)
		*name_slot(g, g->tensors[i]->name) = i;
	return NPU_OK;
}

uint32_t npu_graph_find(const npu_graph *g, const char *name)
{
	return g->by_name ? *name_slot(g, name) : NPU_NO_TENSOR;
}

/* ---- building ---------------------------------------------------------------------------- */

npu_status npu_graph_add_tensor(npu_graph *g, const struct npu_tensor *t, uint32_t *id)
{
	size_t row = npu_dtype_row_bytes(t->dtype, t->cols);
	struct npu_tensor *copy;
	npu_status ret;

	if (!t->name[0])
		return npu_fail(NPU_ERR_INVALID, "graph: tensor without a name");
	if (npu_graph_find(g, t->name) != NPU_NO_TENSOR)
		return npu_fail(NPU_ERR_INVALID, "graph: tensor '%s' exists already", t->name);
	if (t->rows == 0 || t->rows > MAX_DIM || t->cols == 0 || t->cols > MAX_DIM)
		return npu_fail(NPU_ERR_LIMIT, "tensor '%s': dimensions %ux%u, limit 1..%u",
				t->name, t->rows, t->cols, MAX_DIM);
	if (!row)
		return npu_fail(NPU_ERR_INVALID,
				"tensor '%s': %u columns are no whole blocks of %s", t->name,
				t->cols, npu_dtype_name(t->dtype));
	ret = grow_tensors(g);
	if (ret)
		return ret;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return npu_fail(NPU_ERR_NOMEM, "tensor '%s': out of memory", t->name);
	*copy = *t;
	copy->id = g->n_tensors;
	copy->bytes = row * t->rows;
	copy->producer = NPU_NO_OP;
	copy->n_uses = 0;
	*name_slot(g, copy->name) = copy->id;
	g->tensors[g->n_tensors++] = copy;
	*id = copy->id;
	return NPU_OK;
}

npu_status npu_graph_reserve_op(npu_graph *g)
{
	return grow(&g->ops, g->n_ops, &g->max_ops, sizeof(g->ops[0]));
}

npu_status npu_graph_add_op(npu_graph *g, const struct npu_op *op)
{
	npu_status ret = npu_graph_reserve_op(g);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < op->n_in; i++)
		g->tensors[op->in[i]]->n_uses++;
	g->tensors[op->out]->producer = g->n_ops;
	g->ops[g->n_ops] = *op;
	g->ops[g->n_ops].layer = g->layer;
	g->n_ops++;
	return NPU_OK;
}

/* Fill in what all tensors have; the name is checked for its length. */
static npu_status describe(struct npu_tensor *t, const char *name, enum npu_tensor_kind kind,
			   enum npu_dtype dtype, uint32_t rows, uint32_t cols)
{
	size_t len = strlen(name);

	*t = (struct npu_tensor) { .kind = kind, .dtype = dtype, .rows = rows, .cols = cols };
	if (len >= sizeof(t->name))
		return npu_fail(NPU_ERR_LIMIT, "tensor '%.80s': name of %zu bytes, limit %zu", name,
				len, sizeof(t->name) - 1);
	memcpy(t->name, name, len + 1);
	return NPU_OK;
}

npu_status npu_graph_input(npu_graph *g, const char *name, enum npu_dtype dtype, uint32_t rows,
			   uint32_t cols, uint32_t *id)
{
	struct npu_tensor t;
	npu_status ret = describe(&t, name, NPU_TENSOR_INPUT, dtype, rows, cols);

	if (ret)
		return ret;
	if (dtype != NPU_DTYPE_F32 && dtype != NPU_DTYPE_F16 && dtype != NPU_DTYPE_U32)
		return npu_fail(NPU_ERR_INVALID, "input '%s': type %s is for weights only", name,
				npu_dtype_name(dtype));
	return npu_graph_add_tensor(g, &t, id);
}

/* NPU_N_DTYPES if there is none. */
static enum npu_dtype weight_dtype(npu_tensor_type type)
{
	switch (type) {
	case NPU_TYPE_F32: return NPU_DTYPE_F32;
	case NPU_TYPE_F16: return NPU_DTYPE_F16;
	case NPU_TYPE_BF16: return NPU_DTYPE_BF16;
	case NPU_TYPE_Q4_0: return NPU_DTYPE_Q4_0;
	case NPU_TYPE_Q4_1: return NPU_DTYPE_Q4_1;
	case NPU_TYPE_Q8_0: return NPU_DTYPE_Q8_0;
	default: return NPU_N_DTYPES;
	}
}

npu_status npu_graph_weight(npu_graph *g, const struct npu_gguf_tensor *w, uint32_t *id)
{
	enum npu_dtype dtype = weight_dtype(w->type);
	struct npu_tensor t;
	uint32_t old;
	npu_status ret;

	old = npu_graph_find(g, w->name);
	if (old != NPU_NO_TENSOR && g->tensors[old]->weight == w) {
		*id = old;
		return NPU_OK;
	}
	if (dtype == NPU_N_DTYPES)
		return npu_fail(NPU_ERR_UNSUPPORTED,
				"weight '%s': type %s is not supported (F32, F16, "
				"BF16, Q4_0, Q4_1, Q8_0 are)",
				w->name, npu_tensor_type_name(w->type));
	if (w->n_dims > 2 || w->ne[0] > MAX_DIM || w->ne[1] > MAX_DIM)
		return npu_fail(NPU_ERR_LIMIT,
				"weight '%s': %u dimensions, %llu x %llu; limit 2, %u each",
				w->name, w->n_dims, (unsigned long long)w->ne[1],
				(unsigned long long)w->ne[0], MAX_DIM);
	ret = describe(&t, w->name, NPU_TENSOR_WEIGHT, dtype, w->ne[1], w->ne[0]);
	if (ret)
		return ret;
	t.weight = w;
	t.data = w->data;
	return npu_graph_add_tensor(g, &t, id);
}

npu_status npu_graph_const(npu_graph *g, const char *name, uint32_t rows, uint32_t cols,
			   const float *data, uint32_t *id)
{
	struct npu_tensor t;
	npu_status ret = describe(&t, name, NPU_TENSOR_CONST, NPU_DTYPE_F32, rows, cols);

	if (ret)
		return ret;
	t.data = data;
	return npu_graph_add_tensor(g, &t, id);
}

npu_status npu_graph_kv(npu_graph *g, const char *name, uint32_t layer, int is_v, uint32_t n_ctx,
			uint32_t cols, uint32_t *id)
{
	struct npu_tensor t;
	npu_status ret = describe(&t, name, NPU_TENSOR_KV, NPU_DTYPE_F16, n_ctx, cols);

	if (ret)
		return ret;
	t.layer = layer;
	t.is_v = !!is_v;
	return npu_graph_add_tensor(g, &t, id);
}

void npu_graph_set_layer(npu_graph *g, uint32_t layer)
{
	g->layer = layer;
}

npu_status npu_graph_set_output(npu_graph *g, uint32_t id)
{
	if (id >= g->n_tensors)
		return npu_fail(NPU_ERR_INVALID, "output: tensor %u, the graph has %u", id,
				g->n_tensors);
	if (g->tensors[id]->kind != NPU_TENSOR_ACT)
		return npu_fail(NPU_ERR_INVALID, "output: '%s' is no activation",
				g->tensors[id]->name);
	g->tensors[id]->kind = NPU_TENSOR_OUTPUT;
	return NPU_OK;
}

uint32_t npu_graph_n_tokens(const npu_graph *g)
{
	return g->n_tokens;
}

uint32_t npu_graph_n_ops(const npu_graph *g)
{
	return g->n_ops;
}

uint32_t npu_graph_n_tensors(const npu_graph *g)
{
	return g->n_tensors;
}

const struct npu_op *npu_graph_op(const npu_graph *g, uint32_t i)
{
	return i < g->n_ops ? &g->ops[i] : NULL;
}

const struct npu_tensor *npu_graph_tensor(const npu_graph *g, uint32_t id)
{
	return id < g->n_tensors ? g->tensors[id] : NULL;
}
