// SPDX-License-Identifier: MIT
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "gguf_build.h"

/* Running over the buffer is a mistake of the test itself. */
void gb_raw(struct gguf_build *b, const void *data, size_t n)
{
	if (n > sizeof(b->bytes) - b->n)
		abort();
	memcpy(b->bytes + b->n, data, n);
	b->n += n;
}

void gb_u32(struct gguf_build *b, uint32_t v)
{
	v = htole32(v);
	gb_raw(b, &v, sizeof(v));
}

void gb_u64(struct gguf_build *b, uint64_t v)
{
	v = htole64(v);
	gb_raw(b, &v, sizeof(v));
}

void gb_str(struct gguf_build *b, const char *s)
{
	gb_u64(b, strlen(s));
	gb_raw(b, s, strlen(s));
}

void gb_header(struct gguf_build *b, uint32_t version, uint64_t n_tensors, uint64_t n_pairs)
{
	b->n = 0;
	gb_raw(b, "GGUF", 4);
	gb_u32(b, version);
	gb_u64(b, n_tensors);
	gb_u64(b, n_pairs);
}

void gb_pair(struct gguf_build *b, const char *key, uint32_t type)
{
	gb_str(b, key);
	gb_u32(b, type);
}

void gb_pair_u32(struct gguf_build *b, const char *key, uint32_t v)
{
	gb_pair(b, key, NPU_GGUF_U32);
	gb_u32(b, v);
}

void gb_pair_str(struct gguf_build *b, const char *key, const char *v)
{
	gb_pair(b, key, NPU_GGUF_STRING);
	gb_str(b, v);
}

void gb_pair_bool(struct gguf_build *b, const char *key, uint8_t v)
{
	gb_pair(b, key, NPU_GGUF_BOOL);
	gb_raw(b, &v, 1);
}

void gb_pair_strs(struct gguf_build *b, const char *key, const char *const *v, size_t n)
{
	gb_pair(b, key, NPU_GGUF_ARRAY);
	gb_u32(b, NPU_GGUF_STRING);
	gb_u64(b, n);
	for (size_t i = 0; i < n; i++)
		gb_str(b, v[i]);
}

void gb_pair_i32s(struct gguf_build *b, const char *key, const int32_t *v, size_t n)
{
	gb_pair(b, key, NPU_GGUF_ARRAY);
	gb_u32(b, NPU_GGUF_I32);
	gb_u64(b, n);
	for (size_t i = 0; i < n; i++)
		gb_u32(b, (uint32_t)v[i]);
}

void gb_tensor(struct gguf_build *b, const char *name, uint32_t n_dims, const uint64_t *ne,
	       uint32_t type, uint64_t offset)
{
	gb_str(b, name);
	gb_u32(b, n_dims);
	for (uint32_t i = 0; i < n_dims; i++)
		gb_u64(b, ne[i]);
	gb_u32(b, type);
	gb_u64(b, offset);
}

void gb_align(struct gguf_build *b, size_t align)
{
	while (b->n % align)
		gb_raw(b, "", 1);
}

npu_status gb_open(const uint8_t *bytes, size_t n, npu_gguf **out, uint8_t **copy)
{
	npu_status st;

	*copy = malloc(n ? n : 1);
	if (!*copy)
		abort();
	memcpy(*copy, bytes, n);
	st = npu_gguf_open_mem(*copy, n, out);
	if (st) {
		free(*copy);
		*copy = NULL;
	}
	return st;
}
