// SPDX-License-Identifier: MIT
/* Fuzzer of the GGUF reader: whatever opens may be read to the last byte. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "npu/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void touch(const void *p, uint64_t n)
{
	const uint8_t *bytes = p;

	for (uint64_t i = 0; i < n; i++)
		sink += bytes[i];
}

static void touch_value(const struct npu_gguf_value *v)
{
	struct npu_gguf_value e;
	struct npu_gguf_iter it;
	struct npu_gguf_str s;
	uint64_t n = 0;
	int64_t i;
	double f;

	touch(v->data, v->size);
	npu_gguf_value_u64(v, &n);
	npu_gguf_value_i64(v, &i);
	npu_gguf_value_f64(v, &f);
	npu_gguf_value_str(v, &s);
	n = 0;
	npu_gguf_iter_init(&it, v);
	for (; npu_gguf_iter_next(&it, &e); n++)
		touch_value(&e);
	if (v->type == NPU_GGUF_ARRAY && n != v->n)
		abort();
}

static void touch_tensor(const struct npu_gguf_tensor *t)
{
	const uint64_t n = t->size / npu_tensor_type_block_bytes(t->type) *
			   npu_tensor_type_block_elems(t->type);
	float *row = malloc(n * sizeof(*row));

	touch(t->data, t->size);
	if (row)
		npu_dequant_row(t->type, t->data, row, n);
	free(row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct npu_gguf_tensor *t, *again;
	struct npu_gguf_value v;
	const char *key;
	npu_gguf *g;

	if (npu_gguf_open_mem(data, size, &g))
		return 0;
	for (size_t i = 0; !npu_gguf_kv(g, i, &key, &v); i++) {
		touch_value(&v);
		if (npu_gguf_find(g, key, &v))
			abort();
	}
	for (size_t i = 0; (t = npu_gguf_tensor_at(g, i)); i++) {
		touch_tensor(t);
		if (npu_gguf_tensor(g, t->name, &again) || again != t)
			abort();
	}
	npu_gguf_close(g);
	return 0;
}
