// SPDX-License-Identifier: MIT
/* The GGUF reader: what a good file gives, and that no bad one is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "gguf_build.h"

#define HUGE_COUNT UINT64_MAX

#define assert_ok(call) assert_string_equal((call) ? npu_error_message() : "", "")

/* Places in the sample where a test writes something else. */
struct marks {
	size_t n_tensors, n_pairs, first_key_len, first_type, array_elem, array_n, nested_n;
	size_t str_len;
	size_t bool_value, alignment, name_len, n_dims, ne0, type, offset;
};

static struct gguf_build sample;
static struct marks at;

static const uint64_t dims_2x[2] = { 32, 2 };
static const uint64_t dims_4x[4] = { 4, 3, 2, 1 };

/* Every value type, nested arrays, three tensors; data of tensor "w" counts up from 0. */
static void build_sample(void)
{
	struct gguf_build *b = &sample;
	const double pi = 3.141592653589793;
	const float half = 0.5f;

	gb_header(b, 3, 3, 15);
	at.n_tensors = 8;
	at.n_pairs = 16;
	at.first_key_len = b->n;
	at.first_type = b->n + 8 + strlen("a.u8");
	gb_pair(b, "a.u8", NPU_GGUF_U8), gb_raw(b, "\xfe", 1);
	gb_pair(b, "a.i8", NPU_GGUF_I8), gb_raw(b, "\xfe", 1);
	gb_pair(b, "a.u16", NPU_GGUF_U16), gb_raw(b, "\x01\xfe", 2);
	gb_pair(b, "a.i16", NPU_GGUF_I16), gb_raw(b, "\x01\xfe", 2);
	gb_pair_u32(b, "a.u32", 4000000000u);
	gb_pair(b, "a.i32", NPU_GGUF_I32), gb_u32(b, (uint32_t)-7);
	gb_pair(b, "a.f32", NPU_GGUF_F32), gb_raw(b, &half, 4);
	gb_pair(b, "a.f64", NPU_GGUF_F64), gb_raw(b, &pi, 8);
	gb_pair(b, "a.u64", NPU_GGUF_U64), gb_u64(b, UINT64_MAX);
	gb_pair(b, "a.i64", NPU_GGUF_I64), gb_u64(b, (uint64_t)INT64_MIN);
	gb_pair_bool(b, "a.bool", 1);
	at.bool_value = b->n - 1;
	gb_pair_str(b, "a.str", "text");
	at.str_len = b->n - 12;
	gb_pair_u32(b, "general.alignment", 64);
	at.alignment = b->n - 4;
	gb_pair(b, "a.words", NPU_GGUF_ARRAY);
	at.array_elem = b->n;
	at.array_n = b->n + 4;
	gb_u32(b, NPU_GGUF_STRING), gb_u64(b, 2), gb_str(b, "one"), gb_str(b, "");
	gb_pair(b, "a.nested", NPU_GGUF_ARRAY);
	gb_u32(b, NPU_GGUF_ARRAY), gb_u64(b, 2);
	at.nested_n = b->n + 4;
	gb_u32(b, NPU_GGUF_U16), gb_u64(b, 2), gb_raw(b, "\1\0\2\0", 4);
	gb_u32(b, NPU_GGUF_BOOL), gb_u64(b, 3), gb_raw(b, "\1\0\1", 3);
	at.name_len = b->n;
	at.n_dims = b->n + 8 + strlen("w");
	at.ne0 = at.n_dims + 4;
	at.type = at.ne0 + 16;
	at.offset = at.type + 4;
	gb_tensor(b, "w", 2, dims_2x, NPU_TYPE_Q8_0, 0);
	gb_tensor(b, "v", 4, dims_4x, NPU_TYPE_F32, 128);
	gb_tensor(b, "x", 1, dims_2x, NPU_TYPE_F16, 256);
	gb_align(b, 64);
	for (int i = 0; i < 256 + 64; i++)
		gb_raw(b, &(uint8_t){ (uint8_t)i }, 1);
}

/* Reads everything that can be reached, so that sanitizers judge each pointer. */
static uint64_t touch(const uint8_t *p, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += p[i];
	return sum;
}

static uint64_t touch_value(const struct npu_gguf_value *v)
{
	struct npu_gguf_value e;
	struct npu_gguf_iter it;
	uint64_t sum = touch(v->data, v->size), n = 0;

	npu_gguf_iter_init(&it, v);
	while (npu_gguf_iter_next(&it, &e)) {
		sum += touch_value(&e);
		n++;
	}
	if (v->type == NPU_GGUF_ARRAY)
		assert_int_equal(n, v->n);
	return sum;
}

static uint64_t touch_all(const npu_gguf *g)
{
	const struct npu_gguf_tensor *t;
	struct npu_gguf_value v;
	uint64_t sum = 0;
	const char *key;

	for (size_t i = 0; i < npu_gguf_n_kv(g); i++) {
		assert_ok(npu_gguf_kv(g, i, &key, &v));
		sum += strlen(key) + touch_value(&v);
	}
	for (size_t i = 0; (t = npu_gguf_tensor_at(g, i)); i++)
		sum += strlen(t->name) + touch(t->data, t->size);
	return sum;
}

static npu_gguf *open_sample(uint8_t **copy)
{
	npu_gguf *g;

	build_sample();
	assert_ok(gb_open(sample.bytes, sample.n, &g, copy));
	return g;
}

static void reads_scalars(void **state)
{
	uint8_t *copy;
	npu_gguf *g = open_sample(&copy);
	struct npu_gguf_str s;
	uint64_t u64;
	uint32_t u32;
	int64_t i64;
	float f;
	bool flag;

	(void)state;
	assert_int_equal(npu_gguf_version(g), 3);
	assert_int_equal(npu_gguf_alignment(g), 64);
	assert_int_equal(npu_gguf_size(g), sample.n);
	assert_string_equal(npu_gguf_path(g), "(memory)");
	assert_ok(npu_gguf_find_u32(g, "a.u8", &u32));
	assert_int_equal(u32, 0xfe);
	assert_ok(npu_gguf_find_i64(g, "a.i8", &i64));
	assert_int_equal(i64, -2);
	assert_ok(npu_gguf_find_u32(g, "a.u16", &u32));
	assert_int_equal(u32, 0xfe01);
	assert_ok(npu_gguf_find_i64(g, "a.i16", &i64));
	assert_int_equal(i64, -511);
	assert_ok(npu_gguf_find_u32(g, "a.u32", &u32));
	assert_int_equal(u32, 4000000000u);
	assert_ok(npu_gguf_find_i64(g, "a.i32", &i64));
	assert_int_equal(i64, -7);
	assert_ok(npu_gguf_find_u64(g, "a.u64", &u64));
	assert_true(u64 == UINT64_MAX);
	assert_ok(npu_gguf_find_i64(g, "a.i64", &i64));
	assert_true(i64 == INT64_MIN);
	assert_ok(npu_gguf_find_f32(g, "a.f32", &f));
	assert_true(f == 0.5f);
	assert_ok(npu_gguf_find_f32(g, "a.f64", &f));
	assert_true(f == 3.14159274f);
	assert_ok(npu_gguf_find_bool(g, "a.bool", &flag));
	assert_true(flag);
	assert_ok(npu_gguf_find_str(g, "a.str", &s));
	assert_true(npu_gguf_str_eq(s, "text"));
	assert_false(npu_gguf_str_eq(s, "tex"));
	npu_gguf_close(g);
	free(copy);
}

static void reads_arrays(void **state)
{
	uint8_t *copy;
	npu_gguf *g = open_sample(&copy);
	struct npu_gguf_value v, inner, e;
	struct npu_gguf_iter it, it2;
	struct npu_gguf_str s;
	uint64_t n;

	(void)state;
	assert_ok(npu_gguf_find_array(g, "a.words", NPU_GGUF_STRING, &v));
	assert_int_equal(v.n, 2);
	npu_gguf_iter_init(&it, &v);
	assert_true(npu_gguf_iter_next(&it, &e));
	assert_ok(npu_gguf_value_str(&e, &s));
	assert_true(npu_gguf_str_eq(s, "one"));
	assert_true(npu_gguf_iter_next(&it, &e));
	assert_int_equal(e.size, 0);
	assert_false(npu_gguf_iter_next(&it, &e));

	assert_ok(npu_gguf_find_array(g, "a.nested", NPU_GGUF_ARRAY, &v));
	npu_gguf_iter_init(&it, &v);
	assert_true(npu_gguf_iter_next(&it, &inner));
	npu_gguf_iter_init(&it2, &inner);
	assert_true(npu_gguf_iter_next(&it2, &e));
	assert_true(npu_gguf_iter_next(&it2, &e));
	assert_ok(npu_gguf_value_u64(&e, &n));
	assert_int_equal(n, 2);
	assert_false(npu_gguf_iter_next(&it2, &e));
	assert_true(npu_gguf_iter_next(&it, &inner));
	assert_int_equal(inner.elem, NPU_GGUF_BOOL);
	assert_int_equal(inner.n, 3);
	assert_false(npu_gguf_iter_next(&it, &inner));
	npu_gguf_close(g);
	free(copy);
}

static void reads_tensors(void **state)
{
	const struct npu_gguf_tensor *t;
	uint8_t *copy;
	npu_gguf *g = open_sample(&copy);

	(void)state;
	assert_int_equal(npu_gguf_n_tensors(g), 3);
	assert_ok(npu_gguf_tensor(g, "w", &t));
	assert_ptr_equal(t, npu_gguf_tensor_at(g, 0));
	assert_int_equal(t->type, NPU_TYPE_Q8_0);
	assert_int_equal(t->n_dims, 2);
	assert_int_equal(t->ne[0], 32);
	assert_int_equal(t->ne[1], 2);
	assert_int_equal(t->ne[3], 1);
	assert_int_equal(t->size, 68);
	assert_int_equal(t->offset % 64, 0);
	assert_int_equal(((const uint8_t *)t->data)[67], 67);
	assert_ok(npu_gguf_tensor(g, "v", &t));
	assert_int_equal(t->size, 4 * 24);
	assert_int_equal(((const uint8_t *)t->data)[0], 128);
	assert_ok(npu_gguf_tensor(g, "x", &t));
	assert_int_equal(t->offset + t->size, sample.n);
	assert_int_equal(npu_gguf_tensor(g, "y", &t), NPU_ERR_NOT_FOUND);
	assert_non_null(strstr(npu_error_message(), "'y'"));
	assert_null(npu_gguf_tensor_at(g, 3));
	npu_gguf_close(g);
	free(copy);
}

static void names_the_key_in_errors(void **state)
{
	uint8_t *copy;
	npu_gguf *g = open_sample(&copy);
	struct npu_gguf_value v;
	struct npu_gguf_str s;
	const char *key;
	uint64_t u64 = 7;
	uint32_t u32 = 7;
	float f = 7;
	bool flag = true;

	(void)state;
#define REFUSED(call, status, name) do { \
		assert_int_equal(call, status); \
		assert_non_null(strstr(npu_error_message(), name)); \
	} while (0)
	REFUSED(npu_gguf_find_u32(g, "none", &u32), NPU_ERR_NOT_FOUND, "'none'");
	REFUSED(npu_gguf_find_u32(g, "a.u64", &u32), NPU_ERR_FORMAT, "a.u64");
	REFUSED(npu_gguf_find_u32(g, "a.i32", &u32), NPU_ERR_FORMAT, "a.i32");
	REFUSED(npu_gguf_find_u32(g, "a.f32", &u32), NPU_ERR_FORMAT, "a.f32");
	REFUSED(npu_gguf_find_u64(g, "a.str", &u64), NPU_ERR_FORMAT, "a.str");
	REFUSED(npu_gguf_find_f32(g, "a.u8", &f), NPU_ERR_FORMAT, "a.u8");
	REFUSED(npu_gguf_find_bool(g, "a.u8", &flag), NPU_ERR_FORMAT, "a.u8");
	REFUSED(npu_gguf_find_str(g, "a.words", &s), NPU_ERR_FORMAT, "a.words");
	REFUSED(npu_gguf_find_array(g, "a.str", NPU_GGUF_STRING, &v), NPU_ERR_FORMAT, "a.str");
	REFUSED(npu_gguf_find_array(g, "a.words", NPU_GGUF_U32, &v), NPU_ERR_FORMAT, "a.words");
	REFUSED(npu_gguf_kv(g, 15, &key, &v), NPU_ERR_LIMIT, "15");
#undef REFUSED
	assert_int_equal(u32, 7);
	assert_int_equal(u64, 7);
	assert_true(f == 7 && flag);
	npu_gguf_close(g);
	free(copy);
}

/* The sample ends with the last tensor's last byte: no proper beginning of it is a file. */
static void refuses_every_truncation(void **state)
{
	uint8_t *copy;
	npu_gguf *g;

	(void)state;
	build_sample();
	for (size_t n = 0; n < sample.n; n++) {
		if (!gb_open(sample.bytes, n, &g, &copy))
			fail_msg("%zu of %zu bytes were accepted", n, sample.n);
		assert_null(g);
		assert_string_not_equal(npu_error_message(), "");
	}
}

/* Any single byte changed: refused, or a file in which nothing points outside. */
static void survives_every_byte(void **state)
{
	static const uint8_t change[] = { 0x01, 0x80, 0xff, 0x7f, 0x10 };
	unsigned int opened = 0, refused = 0;
	uint8_t *copy;
	npu_gguf *g;

	(void)state;
	build_sample();
	for (size_t i = 0; i < sample.n; i++) {
		for (size_t k = 0; k < sizeof(change); k++) {
			sample.bytes[i] ^= change[k];
			if (!gb_open(sample.bytes, sample.n, &g, &copy)) {
				touch_all(g);
				npu_gguf_close(g);
				free(copy);
				opened++;
			} else {
				refused++;
			}
			sample.bytes[i] ^= change[k];
		}
	}
	assert_true(opened > 0);
	assert_true(refused > 0);
}

static void write_u64(size_t place, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		sample.bytes[place + i] = (uint8_t)(v >> 8 * i);
}

static void write_u32(size_t place, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		sample.bytes[place + i] = (uint8_t)(v >> 8 * i);
}

static void expect_refusal_of(const char *what, npu_status want, const char *word)
{
	uint8_t *copy;
	npu_gguf *g;
	npu_status st = gb_open(sample.bytes, sample.n, &g, &copy);

	if (st != want || !strstr(npu_error_message(), word))
		fail_msg("%s: status %d '%s', wanted %d and '%s'", what, st,
			 st ? npu_error_message() : "", want, word);
}

#define expect_refusal(want, word) expect_refusal_of(__func__, want, word)

static void refuses_impossible_numbers(void **state)
{
	static const struct {
		const char *name;
		size_t *place;
		int bytes;
		uint64_t value;
		npu_status status;
		const char *word;
	} cases[] = {
		{ "tensor count", &at.n_tensors, 8, HUGE_COUNT, NPU_ERR_FORMAT, "tensors" },
		{ "tensor count + 1", &at.n_tensors, 8, 4, NPU_ERR_FORMAT, "tensor" },
		{ "pair count", &at.n_pairs, 8, HUGE_COUNT, NPU_ERR_FORMAT, "pairs" },
		{ "pair count - 1", &at.n_pairs, 8, 14, NPU_ERR_LIMIT, "tensor" },
		{ "key length", &at.first_key_len, 8, HUGE_COUNT, NPU_ERR_FORMAT, "key" },
		{ "key length wraps", &at.first_key_len, 8, HUGE_COUNT - 7, NPU_ERR_FORMAT, "key" },
		{ "key length 0", &at.first_key_len, 8, 0, NPU_ERR_FORMAT, "key" },
		{ "value type", &at.first_type, 4, 13, NPU_ERR_FORMAT, "a.u8" },
		{ "value type huge", &at.first_type, 4, UINT32_MAX, NPU_ERR_FORMAT, "a.u8" },
		{ "string length", &at.str_len, 8, HUGE_COUNT, NPU_ERR_FORMAT, "a.str" },
		{ "string length 2^63", &at.str_len, 8, 1ull << 63, NPU_ERR_FORMAT, "a.str" },
		{ "bool", &at.bool_value, 1, 2, NPU_ERR_FORMAT, "a.bool" },
		{ "array count", &at.array_n, 8, HUGE_COUNT, NPU_ERR_FORMAT, "a.words" },
		{ "array count * 8 wraps", &at.array_n, 8, 1ull << 61, NPU_ERR_FORMAT, "a.words" },
		{ "array element type", &at.array_elem, 4, 99, NPU_ERR_FORMAT, "a.words" },
		{ "nested count", &at.nested_n, 8, HUGE_COUNT / 2 + 1, NPU_ERR_FORMAT, "a.nested" },
		{ "alignment 0", &at.alignment, 4, 0, NPU_ERR_FORMAT, "alignment" },
		{ "alignment 1", &at.alignment, 4, 1, NPU_ERR_FORMAT, "alignment" },
		{ "alignment 48", &at.alignment, 4, 48, NPU_ERR_FORMAT, "alignment" },
		{ "alignment 2^31", &at.alignment, 4, 1u << 31, NPU_ERR_FORMAT, "alignment" },
		{ "alignment beyond offsets", &at.alignment, 4, 512, NPU_ERR_FORMAT, "'" },
		{ "name length", &at.name_len, 8, HUGE_COUNT, NPU_ERR_FORMAT, "tensor name" },
		{ "name length 0", &at.name_len, 8, 0, NPU_ERR_FORMAT, "tensor name" },
		{ "dimensions 0", &at.n_dims, 4, 0, NPU_ERR_LIMIT, "'w'" },
		{ "dimensions 5", &at.n_dims, 4, 5, NPU_ERR_LIMIT, "'w'" },
		{ "dimensions huge", &at.n_dims, 4, UINT32_MAX, NPU_ERR_LIMIT, "'w'" },
		{ "ne[0] 0", &at.ne0, 8, 0, NPU_ERR_FORMAT, "'w'" },
		{ "ne[0] not whole blocks", &at.ne0, 8, 33, NPU_ERR_FORMAT, "'w'" },
		{ "rows are half blocks", &at.ne0, 8, 16, NPU_ERR_FORMAT, "'w'" },
		{ "ne[0] times ne[1] wraps", &at.ne0, 8, 1ull << 63, NPU_ERR_FORMAT, "'w'" },
		{ "bytes wrap", &at.ne0, 8, 1ull << 62, NPU_ERR_FORMAT, "'w'" },
		{ "bytes beyond the file", &at.ne0, 8, 1ull << 40, NPU_ERR_FORMAT, "'w'" },
		{ "type removed from ggml", &at.type, 4, 4, NPU_ERR_UNSUPPORTED, "'w'" },
		{ "type unknown", &at.type, 4, 1000, NPU_ERR_UNSUPPORTED, "'w'" },
		{ "offset unaligned", &at.offset, 8, 32, NPU_ERR_FORMAT, "'w'" },
		{ "offset at the end", &at.offset, 8, 320, NPU_ERR_FORMAT, "'w'" },
		{ "offset wraps", &at.offset, 8, HUGE_COUNT - 63, NPU_ERR_FORMAT, "'w'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		build_sample();
		if (cases[i].bytes == 8)
			write_u64(*cases[i].place, cases[i].value);
		else if (cases[i].bytes == 4)
			write_u32(*cases[i].place, (uint32_t)cases[i].value);
		else
			sample.bytes[*cases[i].place] = (uint8_t)cases[i].value;
		expect_refusal_of(cases[i].name, cases[i].status, cases[i].word);
	}
}

static void refuses_versions(void **state)
{
	(void)state;
	build_sample();
	write_u32(0, 0x46554746);
	expect_refusal(NPU_ERR_FORMAT, "magic");
	build_sample();
	write_u32(4, 1);
	expect_refusal(NPU_ERR_UNSUPPORTED, "version 1");
	write_u32(4, 4);
	expect_refusal(NPU_ERR_UNSUPPORTED, "version 4");
	write_u32(4, 0);
	expect_refusal(NPU_ERR_UNSUPPORTED, "version 0");
	write_u32(4, 3u << 24);
	expect_refusal(NPU_ERR_UNSUPPORTED, "big-endian");
}

static void accepts_version_2_without_tensors(void **state)
{
	uint8_t *copy;
	npu_gguf *g;

	(void)state;
	gb_header(&sample, 2, 0, 0);
	assert_ok(gb_open(sample.bytes, sample.n, &g, &copy));
	assert_int_equal(npu_gguf_version(g), 2);
	assert_int_equal(npu_gguf_alignment(g), 32);
	assert_int_equal(npu_gguf_n_kv(g), 0);
	assert_int_equal(npu_gguf_n_tensors(g), 0);
	npu_gguf_close(g);
	free(copy);
}

static void refuses_duplicates(void **state)
{
	(void)state;
	gb_header(&sample, 3, 0, 3);
	gb_pair_u32(&sample, "twice", 1);
	gb_pair_u32(&sample, "other", 1);
	gb_pair_u32(&sample, "twice", 2);
	expect_refusal(NPU_ERR_FORMAT, "'twice' occurs twice");
	gb_header(&sample, 3, 2, 0);
	gb_tensor(&sample, "t", 1, dims_2x, NPU_TYPE_I8, 0);
	gb_tensor(&sample, "t", 1, dims_2x, NPU_TYPE_I8, 32);
	gb_align(&sample, 32);
	gb_raw(&sample, sample.bytes, 64);
	expect_refusal(NPU_ERR_FORMAT, "'t' occurs twice");
}

static void refuses_names_with_nul_or_too_long(void **state)
{
	char name[NPU_GGUF_MAX_NAME + 2];

	(void)state;
	gb_header(&sample, 3, 0, 1);
	gb_u64(&sample, 3), gb_raw(&sample, "a\0b", 3), gb_u32(&sample, NPU_GGUF_U8);
	gb_raw(&sample, "", 1);
	expect_refusal(NPU_ERR_FORMAT, "NUL");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	gb_header(&sample, 3, 1, 0);
	gb_tensor(&sample, name, 1, dims_2x, NPU_TYPE_I8, 0);
	gb_align(&sample, 32);
	gb_raw(&sample, sample.bytes, 32);
	expect_refusal(NPU_ERR_LIMIT, "256 bytes");
}

static void limits_nesting(void **state)
{
	uint8_t *copy;
	npu_gguf *g;

	(void)state;
	for (uint32_t depth = NPU_GGUF_MAX_DEPTH; depth <= NPU_GGUF_MAX_DEPTH + 1; depth++) {
		gb_header(&sample, 3, 0, 1);
		gb_pair(&sample, "deep", NPU_GGUF_ARRAY);
		for (uint32_t i = 1; i < depth; i++)
			gb_u32(&sample, NPU_GGUF_ARRAY), gb_u64(&sample, 1);
		gb_u32(&sample, NPU_GGUF_U8), gb_u64(&sample, 1), gb_raw(&sample, "\5", 1);
		if (depth > NPU_GGUF_MAX_DEPTH) {
			expect_refusal(NPU_ERR_LIMIT, "deep");
			continue;
		}
		assert_ok(gb_open(sample.bytes, sample.n, &g, &copy));
		touch_all(g);
		npu_gguf_close(g);
		free(copy);
	}
}

static void reads_mapped_files(void **state)
{
	char path[] = "/tmp/npu-gguf-XXXXXX";
	const struct npu_gguf_tensor *t;
	npu_gguf *g;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(npu_gguf_open(path, &g), NPU_ERR_FORMAT);
	assert_non_null(strstr(npu_error_message(), path));
	build_sample();
	assert_int_equal(write(fd, sample.bytes, sample.n), (ssize_t)sample.n);
	close(fd);
	assert_ok(npu_gguf_open(path, &g));
	assert_string_equal(npu_gguf_path(g), path);
	assert_ok(npu_gguf_tensor(g, "v", &t));
	assert_int_equal((uintptr_t)t->data % 64, 0);
	touch_all(g);
	npu_gguf_close(g);
	unlink(path);
	assert_int_equal(npu_gguf_open(path, &g), NPU_ERR_NOT_FOUND);
	assert_null(g);
	assert_non_null(strstr(npu_error_message(), path));
	assert_int_equal(npu_gguf_open("/", &g), NPU_ERR_IO);
	assert_int_equal(npu_gguf_open_mem(NULL, 0, &g), NPU_ERR_INVALID);
	npu_gguf_close(NULL);
}

static void knows_tensor_types(void **state)
{
	float out[32];

	(void)state;
	assert_string_equal(npu_tensor_type_name(NPU_TYPE_Q4_1), "Q4_1");
	assert_int_equal(npu_tensor_type_block_elems(NPU_TYPE_Q6_K), 256);
	assert_int_equal(npu_tensor_type_block_bytes(NPU_TYPE_Q6_K), 210);
	assert_null(npu_tensor_type_name((npu_tensor_type)5));
	assert_int_equal(npu_tensor_type_block_elems((npu_tensor_type)5), 0);
	assert_int_equal(npu_dequant_row(NPU_TYPE_Q4_K, out, out, 256), NPU_ERR_UNSUPPORTED);
	assert_non_null(strstr(npu_error_message(), "Q4_K"));
	assert_int_equal(npu_dequant_row(NPU_TYPE_Q8_0, out, out, 33), NPU_ERR_INVALID);
	assert_ok(npu_dequant_row(NPU_TYPE_Q8_0, out, out, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_scalars),
		cmocka_unit_test(reads_arrays),
		cmocka_unit_test(reads_tensors),
		cmocka_unit_test(names_the_key_in_errors),
		cmocka_unit_test(refuses_every_truncation),
		cmocka_unit_test(survives_every_byte),
		cmocka_unit_test(refuses_impossible_numbers),
		cmocka_unit_test(refuses_versions),
		cmocka_unit_test(accepts_version_2_without_tensors),
		cmocka_unit_test(refuses_duplicates),
		cmocka_unit_test(refuses_names_with_nul_or_too_long),
		cmocka_unit_test(limits_nesting),
		cmocka_unit_test(reads_mapped_files),
		cmocka_unit_test(knows_tensor_types),
	};

	return cmocka_run_group_tests_name("gguf", tests, NULL, NULL);
}
