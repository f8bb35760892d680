// SPDX-License-Identifier: MIT
/* The KV cache of one sequence. */
#include <stdlib.h>

#include "compile/memory.h"
#include "error.h"

static int by_layer(const void *a, const void *b)
{
	const struct kv_entry *x = a, *y = b;

	if (x->layer != y->layer)
		return x->layer < y->layer ? -1 : 1;
	return (int)x->is_v - (int)y->is_v;
}

static npu_status collect(npu_kv *kv, const npu_graph *g)
{
	const struct npu_tensor *t;
	uint32_t i;

	for (i = 0; i < npu_graph_n_tensors(g); i++) {
		t = npu_graph_tensor(g, i);
		if (t->kind != NPU_TENSOR_KV)
			continue;
		if (kv->n && t->rows != kv->n_ctx)
			return npu_fail(NPU_ERR_UNSUPPORTED,
					"KV tensor '%s' has %u positions, others have %u", t->name,
					t->rows, kv->n_ctx);
		kv->n_ctx = t->rows;
		kv->entries[kv->n++] = (struct kv_entry){ t->layer, t->is_v, t->cols, 0 };
	}
	return NPU_OK;
}

npu_status npu_kv_new(npu_device *dev, const npu_graph *g, npu_kv **out)
{
	npu_status status;
	uint32_t i, rows;
	npu_kv *kv;
	void *map;

	if (!dev || !g || !out)
		return npu_fail(NPU_ERR_INVALID, "npu_kv_new: no device, graph or place");
	*out = NULL;
	kv = calloc(1, sizeof(*kv));
	if (kv)
		kv->entries = calloc(npu_graph_n_tensors(g) + 1, sizeof(*kv->entries));
	if (!kv || !kv->entries) {
		free(kv);
		return npu_fail(NPU_ERR_NOMEM, "KV cache: no memory");
	}
	kv->dev = dev;
	status = collect(kv, g);
	if (status)
		goto fail;
	qsort(kv->entries, kv->n, sizeof(*kv->entries), by_layer);
	rows = (kv->n_ctx + NPU_KV_TILE - 1) / NPU_KV_TILE * NPU_KV_TILE;
	for (i = 0; i < kv->n; i++) {
		kv->entries[i].offset = kv->bytes;
		kv->bytes += (uint64_t)rows * kv->entries[i].cols * 2;
		kv->bytes = (kv->bytes + 63) & ~63ull;
	}
	status = npu_bo_new_bound(dev, kv->bytes, 0, &kv->bo, &map);
	if (status)
		goto fail;
	kv->map = map;
	*out = kv;
	return NPU_OK;

fail:
	npu_kv_del(kv);
	return status;
}

void npu_kv_del(npu_kv *kv)
{
	if (!kv)
		return;
	npu_bo_del(kv->bo);
	free(kv->entries);
	free(kv);
}

uint64_t npu_kv_bytes(const npu_kv *kv)
{
	return npu_bo_size(kv->bo);
}

static const struct kv_entry *find(const npu_kv *kv, uint32_t layer, uint32_t is_v)
{
	const struct kv_entry key = { .layer = layer, .is_v = is_v };

	return bsearch(&key, kv->entries, kv->n, sizeof(key), by_layer);
}

void *npu_kv_host(const npu_kv *kv, uint32_t layer, uint32_t is_v)
{
	const struct kv_entry *e = find(kv, layer, !!is_v);

	return e ? kv->map + e->offset : NULL;
}

npu_status npu_kv_find(const npu_kv *kv, const struct npu_tensor *t, const struct kv_entry **out)
{
	const struct kv_entry *e = find(kv, t->layer, t->is_v);

	if (!e || e->cols != t->cols || kv->n_ctx != t->rows)
		return npu_fail(NPU_ERR_INVALID,
				"KV tensor '%s' [%u][%u] is not in the cache (%u positions)",
				t->name, t->rows, t->cols, kv->n_ctx);
	*out = e;
	return NPU_OK;
}
