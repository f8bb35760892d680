// SPDX-License-Identifier: MIT
/* Metadata of an open GGUF file: values, arrays, look-up by key. */
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "import/gguf.h"

/* The payload as an integer: @neg says whether to read @bits as a negative int64_t. */
static bool value_int(const struct npu_gguf_value *v, uint64_t *bits, bool *neg)
{
	uint64_t raw = 0;
	uint32_t bytes = gguf_value_bytes(v->type);
	bool is_signed;

	if (!bytes || !v->data)
		return false;
	switch (v->type) {
	case NPU_GGUF_U8: case NPU_GGUF_U16: case NPU_GGUF_U32: case NPU_GGUF_U64:
		is_signed = false;
		break;
	case NPU_GGUF_I8: case NPU_GGUF_I16: case NPU_GGUF_I32: case NPU_GGUF_I64:
		is_signed = true;
		break;
	default:
		return false;
	}
	for (uint32_t i = 0; i < bytes; i++)
		raw |= (uint64_t)v->data[i] << (8 * i);
	*neg = is_signed && raw >> (8 * bytes - 1);
	if (*neg && bytes < 8)
		raw |= UINT64_MAX << (8 * bytes);
	*bits = raw;
	return true;
}

static npu_status wrong_type(const struct npu_gguf_value *v, const char *wanted)
{
	return npu_fail(NPU_ERR_FORMAT, "value has type %s, wanted %s", gguf_value_name(v->type),
			wanted);
}

npu_status npu_gguf_value_u64(const struct npu_gguf_value *v, uint64_t *out)
{
	uint64_t bits = 0;
	bool neg = false;

	if (!value_int(v, &bits, &neg))
		return wrong_type(v, "an integer");
	if (neg)
		return npu_fail(NPU_ERR_FORMAT, "value %lld is negative", (long long)bits);
	*out = bits;
	return NPU_OK;
}

npu_status npu_gguf_value_i64(const struct npu_gguf_value *v, int64_t *out)
{
	uint64_t bits = 0;
	bool neg = false;

	if (!value_int(v, &bits, &neg))
		return wrong_type(v, "an integer");
	if (!neg && bits > INT64_MAX)
		return npu_fail(NPU_ERR_FORMAT, "value %llu exceeds the signed range",
				(unsigned long long)bits);
	*out = (int64_t)bits;
	return NPU_OK;
}

npu_status npu_gguf_value_f64(const struct npu_gguf_value *v, double *out)
{
	uint32_t w;
	uint64_t d;
	float f;

	if (v->type == NPU_GGUF_F32) {
		memcpy(&w, v->data, sizeof(w));
		w = le32toh(w);
		memcpy(&f, &w, sizeof(f));
		*out = f;
		return NPU_OK;
	}
	if (v->type != NPU_GGUF_F64)
		return wrong_type(v, "f32 or f64");
	memcpy(&d, v->data, sizeof(d));
	d = le64toh(d);
	memcpy(out, &d, sizeof(*out));
	return NPU_OK;
}

npu_status npu_gguf_value_str(const struct npu_gguf_value *v, struct npu_gguf_str *out)
{
	if (v->type != NPU_GGUF_STRING)
		return wrong_type(v, "string");
	out->data = (const char *)v->data;
	out->len = v->size;
	return NPU_OK;
}

bool npu_gguf_str_eq(struct npu_gguf_str v, const char *text)
{
	return v.len == strlen(text) && !memcmp(v.data, text, v.len);
}

void npu_gguf_iter_init(struct npu_gguf_iter *it, const struct npu_gguf_value *array)
{
	*it = (struct npu_gguf_iter){ 0 };
	if (array->type != NPU_GGUF_ARRAY)
		return;
	it->elem = array->elem;
	it->left = array->n;
	it->next = array->data;
	it->end = array->data + array->size;
}

bool npu_gguf_iter_next(struct npu_gguf_iter *it, struct npu_gguf_value *out)
{
	struct gguf_cursor c = { .base = it->next, .pos = it->next, .end = it->end };

	/* Checked when the file was opened; this walk cannot meet an error. */
	if (!it->left || gguf_take_value(&c, it->elem, 0, out))
		return false;
	it->left--;
	it->next = c.pos;
	return true;
}

static int compare_key(const void *key, const void *element)
{
	const struct gguf_pair *const *pair = element;

	return strcmp(key, (*pair)->key);
}

npu_status npu_gguf_find(const npu_gguf *g, const char *key, struct npu_gguf_value *out)
{
	struct gguf_pair **hit = NULL;

	if (g->n_pairs)
		hit = bsearch(key, g->by_key, g->n_pairs, sizeof(void *), compare_key);
	if (!hit)
		return npu_fail(NPU_ERR_NOT_FOUND, "%s: no key '%s'", g->path, key);
	*out = (*hit)->value;
	return NPU_OK;
}

/* Adds file and key to the message of a failed conversion. */
static npu_status named(const npu_gguf *g, const char *key, npu_status st)
{
	return st ? npu_fail(st, "%s: key '%s': %s", g->path, key, npu_error_message()) : NPU_OK;
}

npu_status npu_gguf_find_u64(const npu_gguf *g, const char *key, uint64_t *out)
{
	struct npu_gguf_value v = { 0 };
	npu_status st = npu_gguf_find(g, key, &v);

	return st ? st : named(g, key, npu_gguf_value_u64(&v, out));
}

npu_status npu_gguf_find_i64(const npu_gguf *g, const char *key, int64_t *out)
{
	struct npu_gguf_value v = { 0 };
	npu_status st = npu_gguf_find(g, key, &v);

	return st ? st : named(g, key, npu_gguf_value_i64(&v, out));
}

npu_status npu_gguf_find_u32(const npu_gguf *g, const char *key, uint32_t *out)
{
	uint64_t wide = 0;
	npu_status st = npu_gguf_find_u64(g, key, &wide);

	if (st)
		return st;
	if (wide > UINT32_MAX)
		return npu_fail(NPU_ERR_FORMAT, "%s: key '%s': value %llu exceeds 32 bits", g->path,
				key, (unsigned long long)wide);
	*out = (uint32_t)wide;
	return NPU_OK;
}

npu_status npu_gguf_find_f32(const npu_gguf *g, const char *key, float *out)
{
	struct npu_gguf_value v = { 0 };
	double wide = 0;
	npu_status st = npu_gguf_find(g, key, &v);

	if (!st)
		st = named(g, key, npu_gguf_value_f64(&v, &wide));
	if (st)
		return st;
	if (isfinite(wide) && !isfinite((float)wide))
		return npu_fail(NPU_ERR_FORMAT, "%s: key '%s': value %g exceeds fp32", g->path, key,
				wide);
	*out = (float)wide;
	return NPU_OK;
}

npu_status npu_gguf_find_bool(const npu_gguf *g, const char *key, bool *out)
{
	struct npu_gguf_value v = { 0 };
	npu_status st = npu_gguf_find(g, key, &v);

	if (st)
		return st;
	if (v.type != NPU_GGUF_BOOL)
		return named(g, key, wrong_type(&v, "bool"));
	*out = v.data[0];
	return NPU_OK;
}

npu_status npu_gguf_find_str(const npu_gguf *g, const char *key, struct npu_gguf_str *out)
{
	struct npu_gguf_value v = { 0 };
	npu_status st = npu_gguf_find(g, key, &v);

	return st ? st : named(g, key, npu_gguf_value_str(&v, out));
}

npu_status npu_gguf_find_array(const npu_gguf *g, const char *key, npu_gguf_value_type elem,
			       struct npu_gguf_value *out)
{
	struct npu_gguf_value v = { 0 };
	npu_status st = npu_gguf_find(g, key, &v);

	if (st)
		return st;
	if (v.type != NPU_GGUF_ARRAY)
		return named(g, key, wrong_type(&v, "array"));
	if (v.elem != elem)
		return npu_fail(NPU_ERR_FORMAT, "%s: key '%s': array of %s, wanted %s", g->path,
				key, gguf_value_name(v.elem),
				gguf_value_name(elem) ? gguf_value_name(elem) : "unknown");
	*out = v;
	return NPU_OK;
}

size_t npu_gguf_n_kv(const npu_gguf *g)
{
	return g->n_pairs;
}

npu_status npu_gguf_kv(const npu_gguf *g, size_t i, const char **key, struct npu_gguf_value *out)
{
	if (i >= g->n_pairs)
		return npu_fail(NPU_ERR_LIMIT, "%s: key %zu of %zu", g->path, i, g->n_pairs);
	*key = g->pairs[i].key;
	*out = g->pairs[i].value;
	return NPU_OK;
}
