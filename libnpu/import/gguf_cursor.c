// SPDX-License-Identifier: MIT
/* Bounds-checked reading of the primitives a GGUF file is made of. */
#include <endian.h>
#include <string.h>

#include "error.h"
#include "import/gguf.h"

uint32_t gguf_value_bytes(npu_gguf_value_type type)
{
	switch (type) {
#define VALUE_BYTES(id, nr, name, bytes) case id: return bytes;
	NPU_GGUF_VALUE_LIST(VALUE_BYTES)
#undef VALUE_BYTES
	}
	return 0;
}

const char *gguf_value_name(npu_gguf_value_type type)
{
	switch (type) {
#define VALUE_NAME(id, nr, name, bytes) case id: return name;
	NPU_GGUF_VALUE_LIST(VALUE_NAME)
#undef VALUE_NAME
	}
	return NULL;
}

npu_status gguf_take(struct gguf_cursor *c, uint64_t n, const char *what, const uint8_t **out)
{
	*out = c->pos;
	if (n > gguf_left(c))
		return npu_fail(NPU_ERR_FORMAT, "%s at offset %llu needs %llu bytes, %llu are left",
				what, (unsigned long long)(c->pos - c->base), (unsigned long long)n,
				(unsigned long long)gguf_left(c));
	c->pos += n;
	return NPU_OK;
}

npu_status gguf_take_u32(struct gguf_cursor *c, const char *what, uint32_t *out)
{
	const uint8_t *p;
	npu_status st = gguf_take(c, sizeof(*out), what, &p);

	*out = 0;
	if (st)
		return st;
	memcpy(out, p, sizeof(*out));
	*out = le32toh(*out);
	return NPU_OK;
}

npu_status gguf_take_u64(struct gguf_cursor *c, const char *what, uint64_t *out)
{
	const uint8_t *p;
	npu_status st = gguf_take(c, sizeof(*out), what, &p);

	*out = 0;
	if (st)
		return st;
	memcpy(out, p, sizeof(*out));
	*out = le64toh(*out);
	return NPU_OK;
}

npu_status gguf_take_str(struct gguf_cursor *c, const char *what, struct npu_gguf_str *out)
{
	const uint8_t *p;
	uint64_t len;
	npu_status st;

	st = gguf_take_u64(c, what, &len);
	if (!st)
		st = gguf_take(c, len, what, &p);
	if (st)
		return st;
	out->data = (const char *)p;
	out->len = len;
	return NPU_OK;
}

/* Moves over @n elements; fixed-size ones in one step. */
static npu_status take_elements(struct gguf_cursor *c, npu_gguf_value_type elem, uint64_t n,
				unsigned int depth)
{
	const uint64_t min_bytes = elem == NPU_GGUF_STRING ? 8 : elem == NPU_GGUF_ARRAY ? 12 :
				   gguf_value_bytes(elem);
	struct npu_gguf_value v;
	const uint8_t *p;
	npu_status st;

	if (n > gguf_left(c) / min_bytes)
		return npu_fail(NPU_ERR_FORMAT,
				"array at offset %llu: %llu elements of %s, %llu bytes are left",
				(unsigned long long)(c->pos - c->base), (unsigned long long)n,
				gguf_value_name(elem), (unsigned long long)gguf_left(c));
	if (gguf_value_bytes(elem) && elem != NPU_GGUF_BOOL)
		return gguf_take(c, n * min_bytes, "array", &p);
	while (n--) {
		st = gguf_take_value(c, elem, depth, &v);
		if (st)
			return st;
	}
	return NPU_OK;
}

static npu_status take_array(struct gguf_cursor *c, unsigned int depth, struct npu_gguf_value *out)
{
	const uint8_t *start;
	uint32_t elem;
	uint64_t n = 0;
	npu_status st;

	if (depth >= NPU_GGUF_MAX_DEPTH)
		return npu_fail(NPU_ERR_LIMIT, "array at offset %llu is nested deeper than %u",
				(unsigned long long)(c->pos - c->base), NPU_GGUF_MAX_DEPTH);
	st = gguf_take_u32(c, "element type", &elem);
	if (!st)
		st = gguf_take_u64(c, "element count", &n);
	if (st)
		return st;
	if (!gguf_value_name(elem))
		return npu_fail(NPU_ERR_FORMAT, "array at offset %llu: unknown element type %u",
				(unsigned long long)(c->pos - c->base), elem);
	start = c->pos;
	st = take_elements(c, elem, n, depth + 1);
	if (st)
		return st;
	*out = (struct npu_gguf_value){
		.type = NPU_GGUF_ARRAY, .elem = elem, .n = n,
		.data = start, .size = (uint64_t)(c->pos - start),
	};
	return NPU_OK;
}

npu_status gguf_take_value(struct gguf_cursor *c, npu_gguf_value_type type, unsigned int depth,
			   struct npu_gguf_value *out)
{
	struct npu_gguf_str s;
	const uint8_t *p;
	npu_status st;

	if (type == NPU_GGUF_ARRAY)
		return take_array(c, depth, out);
	if (type == NPU_GGUF_STRING) {
		st = gguf_take_str(c, "string", &s);
		if (!st)
			*out = (struct npu_gguf_value){ .type = type, .n = 1, .size = s.len,
							.data = (const uint8_t *)s.data };
		return st;
	}
	if (!gguf_value_name(type))
		return npu_fail(NPU_ERR_FORMAT, "unknown value type %u at offset %llu", type,
				(unsigned long long)(c->pos - c->base));
	st = gguf_take(c, gguf_value_bytes(type), gguf_value_name(type), &p);
	if (st)
		return st;
	if (type == NPU_GGUF_BOOL && *p > 1)
		return npu_fail(NPU_ERR_FORMAT, "bool at offset %llu is %u",
				(unsigned long long)(p - c->base), *p);
	*out = (struct npu_gguf_value){ .type = type, .n = 1, .data = p,
					.size = gguf_value_bytes(type) };
	return NPU_OK;
}
