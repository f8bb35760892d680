// SPDX-License-Identifier: MIT
/* Packed weights, read back as the contract defines the layout, are what dequantisation says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile/pack.h"
#include "compile_rig.h"
#include "cpu/fp16.h"

static const struct {
	npu_tensor_type file;
	enum npu_dtype dtype;
} types[] = {
	{ NPU_TYPE_F32, NPU_DTYPE_F32 },   { NPU_TYPE_F16, NPU_DTYPE_F16 },
	{ NPU_TYPE_BF16, NPU_DTYPE_BF16 }, { NPU_TYPE_Q4_0, NPU_DTYPE_Q4_0 },
	{ NPU_TYPE_Q4_1, NPU_DTYPE_Q4_1 }, { NPU_TYPE_Q8_0, NPU_DTYPE_Q8_0 },
};

static float half_at(const uint8_t *p)
{
	uint16_t h;

	memcpy(&h, p, 2);
	return fp16_widen(h);
}

/* Element (n, k) of operand B, from the text of ne1_cmd.h. */
static float unpack(const struct weight_layout *l, const uint8_t *b, uint32_t n, uint32_t k)
{
	uint32_t c = n % 32, kk = k % 32, q;
	const uint8_t *g;
	float v;

	switch (l->type) {
	case NE1_T_F16:
		return half_at(b + (size_t)n * l->unit_bytes + 2 * k);
	case NE1_T_F32:
		memcpy(&v, b + (size_t)n * l->unit_bytes + 4 * k, 4);
		return v;
	case NE1_T_I8:
		g = b + (size_t)(n / 32) * NE1_PANEL_BYTES_I8(l->k) + k / 32 * (64 + 1024);
		return half_at(g + 2 * c) * (int8_t)g[64 + kk * 32 + c];
	default:
		g = b + (size_t)(n / 32) * NE1_PANEL_BYTES_U4M(l->k) + k / 32 * (128 + 512);
		q = g[128 + kk * 16 + c % 16] >> (c < 16 ? 0 : 4) & 15;
		v = half_at(g + 2 * c) * q;
		return v + half_at(g + 64 + 2 * c);
	}
}

static void check(npu_tensor_type file, enum npu_dtype dtype, uint32_t rows, uint32_t cols)
{
	struct npu_tensor t = { .dtype = dtype, .rows = rows, .cols = cols, .name = "w" };
	uint32_t state = rows * 77 + cols, n, k;
	struct weight_layout l;
	float *want = malloc(cols * sizeof(*want)), got;
	uint8_t *data, *packed;
	const char *why;

	t.bytes = rows * npu_dtype_row_bytes(dtype, cols);
	data = malloc(t.bytes);
	tiny_fill(data, file, (uint64_t)rows * cols, 3.0f, &state);
	t.data = data;
	assert_true(npu_weight_layout(&t, &l, &why));
	assert_int_equal(l.unit_bytes % 4, 0);
	assert_int_equal(l.bytes, (uint64_t)l.n_units * l.unit_bytes);
	packed = malloc(l.bytes);
	assert_ok(npu_weight_pack(&t, &l, packed));
	for (n = 0; n < rows; n++) {
		assert_ok(npu_dequant_row(file, data + n * (t.bytes / rows), want, cols));
		for (k = 0; k < cols; k++) {
			got = unpack(&l, packed, n, k);
			if (got != want[k])
				fail_msg("%s (%u, %u): %.9g, must be %.9g", npu_dtype_name(dtype),
					 n, k, (double)got, (double)want[k]);
		}
	}
	/* Columns beyond the last row of the weight are zeros. */
	for (n = rows; l.packed && n < l.n_units * 32; n++)
		for (k = 0; k < cols; k++)
			assert_true(unpack(&l, packed, n, k) == 0.0f);
	free(packed);
	free(data);
	free(want);
}

static void test_exact(void **state)
{
	static const uint32_t rows[] = { 1, 31, 32, 33, 90, 192 }, cols[] = { 32, 64, 576 };
	static const uint32_t odd[] = { 1, 7, 51, 70 };
	size_t t, i, j;

	(void)state;
	for (t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			for (j = 0; j < sizeof(cols) / sizeof(cols[0]); j++)
				check(types[t].file, types[t].dtype, rows[i], cols[j]);
		for (j = 0; t < 3 && j < sizeof(odd) / sizeof(odd[0]); j++)
			check(types[t].file, types[t].dtype, 33, odd[j]);
	}
}

/* Every scale of Q4_0 either gives its exact minimum or is refused. */
static void test_q4_0_scales(void **state)
{
	struct npu_tensor t = { .dtype = NPU_DTYPE_Q4_0, .rows = 1, .cols = 32, .name = "w" };
	uint8_t block[18] = { 0 }, packed[NE1_PANEL_BYTES_U4M(32)];
	struct weight_layout l;
	uint32_t scale, refused = 0;
	npu_status status;
	const char *why;

	(void)state;
	t.data = block;
	t.bytes = sizeof(block);
	assert_true(npu_weight_layout(&t, &l, &why));
	for (scale = 0; scale < 0x10000; scale++) {
		block[0] = scale & 0xff;
		block[1] = scale >> 8;
		status = npu_weight_pack(&t, &l, packed);
		if (status) {
			assert_int_equal(status, NPU_ERR_UNSUPPORTED);
			assert_true((scale & 0x7fff) >= 0x7000); /* 8192 */
			refused++;
			continue;
		}
		assert_true(half_at(packed + 64) == -8.0f * half_at(packed));
	}
	assert_int_equal(refused, 2 * (0x8000 - 0x7000));
	assert_non_null(strstr(npu_error_message(), "'w'"));
}

static void test_too_wide(void **state)
{
	struct npu_tensor t = { .dtype = NPU_DTYPE_F16, .rows = 1, .cols = 65536, .name = "w" };
	struct weight_layout l;
	const char *why;

	(void)state;
	assert_false(npu_weight_layout(&t, &l, &why));
	assert_non_null(strstr(why, "65535"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_q4_0_scales),
		cmocka_unit_test(test_too_wide),
	};

	return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
