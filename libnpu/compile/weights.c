// SPDX-License-Identifier: MIT
/* A model's weights and tables, packed once into one buffer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compile/memory.h"
#include "compile/place.h"
#include "error.h"

#define ALIGN		256u	/* of entries: whole DRAM bursts */

npu_status npu_bo_new_bound(npu_device *dev, uint64_t bytes, uint32_t bind_flags, npu_bo **bo,
			    void **map)
{
	npu_status status;
	npu_vm *vm;

	*bo = NULL;
	status = npu_device_vm(dev, &vm);
	if (!status)
		status = npu_bo_new(dev, bytes ? bytes : 1, bo);
	if (!status)
		status = npu_bo_map(*bo, map);
	if (!status)
		status = npu_vm_bind(vm, *bo, bind_flags);
	if (status) {
		npu_bo_del(*bo);
		*bo = NULL;
	}
	return status;
}

static int by_name(const void *a, const void *b)
{
	const struct weight_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Is @t read by a matrix multiplication on the NPU? */
static bool feeds_matmul(const struct npu_chip_info *chip, const npu_graph *g,
			 const struct npu_tensor *t)
{
	const struct npu_op *op;
	uint32_t i;

	for (i = 0; i < npu_graph_n_ops(g); i++) {
		op = npu_graph_op(g, i);
		if (op->kind == NPU_OP_MATMUL && op->in[1] == t->id)
			return !npu_cpu_reason(chip, g, op);
	}
	return false;
}

/* Entry number w->n for @t, if the NPU needs it. */
static void add_entry(npu_weights *w, const npu_graph *g, const struct npu_tensor *t)
{
	struct weight_entry *e = &w->entries[w->n];
	const char *why;

	if (t->kind == NPU_TENSOR_CONST)
		e->is_const = true;
	else if (t->kind != NPU_TENSOR_WEIGHT ||
		 !feeds_matmul(npu_device_chip(w->dev), g, t) ||
		 !npu_weight_layout(t, &e->layout, &why))
		return;
	memcpy(e->name, t->name, sizeof(e->name));
	e->dtype = t->dtype;
	e->rows = t->rows;
	e->cols = t->cols;
	e->offset = w->bytes;
	w->bytes += e->is_const ? t->bytes : e->layout.bytes;
	w->bytes = (w->bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	w->n++;
}

static const struct weight_entry *find(const npu_weights *w, const char *name)
{
	struct weight_entry key;

	snprintf(key.name, sizeof(key.name), "%s", name);
	return bsearch(&key, w->entries, w->n, sizeof(key), by_name);
}

/* A mapped file would come page by page as packing touches it; asked for in one piece it comes in
 * large reads.
 */
static void read_ahead(const struct npu_tensor *t)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)t->data & ~(page - 1);

	/* Only advice: memory that is no mapping of a file refuses or ignores it. */
	(void)madvise((void *)start, (uintptr_t)t->data + t->bytes - start, MADV_WILLNEED);
}

static npu_status fill(npu_weights *w, const npu_graph *g, uint8_t *map)
{
	const struct weight_entry *e;
	const struct npu_tensor *t;
	npu_status status;
	uint32_t i;

	for (i = 0; i < npu_graph_n_tensors(g); i++) {
		t = npu_graph_tensor(g, i);
		if (t->kind != NPU_TENSOR_WEIGHT && t->kind != NPU_TENSOR_CONST)
			continue;
		e = find(w, t->name);
		if (!e)
			continue;	/* the NPU does not read it */
		if (e->is_const) {
			memcpy(map + e->offset, t->data, t->bytes);
			continue;
		}
		read_ahead(t);
		status = npu_weight_pack(t, &e->layout, map + e->offset);
		if (status)
			return status;
	}
	return NPU_OK;
}

npu_status npu_weights_new(npu_device *dev, const npu_graph *g, npu_weights **out)
{
	npu_weights *w;
	npu_status status;
	uint32_t i, n;
	void *map;

	if (!dev || !g || !out)
		return npu_fail(NPU_ERR_INVALID, "npu_weights_new: no device, graph or place");
	*out = NULL;
	n = npu_graph_n_tensors(g);
	w = calloc(1, sizeof(*w));
	if (w)
		w->entries = calloc(n ? n : 1, sizeof(*w->entries));
	if (!w || !w->entries) {
		free(w);
		return npu_fail(NPU_ERR_NOMEM, "weights: no memory for a list of %u tensors", n);
	}
	w->dev = dev;
	for (i = 0; i < n; i++)
		add_entry(w, g, npu_graph_tensor(g, i));
	qsort(w->entries, w->n, sizeof(*w->entries), by_name);
	status = npu_bo_new_bound(dev, w->bytes, NPU_BIND_READONLY, &w->bo, &map);
	if (!status)
		status = fill(w, g, map);
	if (status) {
		npu_weights_del(w);
		return status;
	}
	npu_bo_unmap(w->bo);
	*out = w;
	return NPU_OK;
}

void npu_weights_del(npu_weights *w)
{
	if (!w)
		return;
	npu_bo_del(w->bo);
	free(w->entries);
	free(w);
}

uint64_t npu_weights_bytes(const npu_weights *w)
{
	return npu_bo_size(w->bo);
}

npu_status npu_weights_find(const npu_weights *w, const struct npu_tensor *t,
			    const struct weight_entry **out)
{
	const struct weight_entry *e = find(w, t->name);

	if (!e)
		return npu_fail(NPU_ERR_INVALID, "weight '%s' is not in device memory", t->name);
	if (e->rows != t->rows || e->cols != t->cols || e->dtype != t->dtype ||
	    e->is_const != (t->kind == NPU_TENSOR_CONST))
		return npu_fail(NPU_ERR_INVALID,
				"weight '%s' is %s %ux%u, in device memory it is %s %ux%u", t->name,
				npu_dtype_name(t->dtype), t->rows, t->cols,
				npu_dtype_name(e->dtype), e->rows, e->cols);
	*out = e;
	return NPU_OK;
}
