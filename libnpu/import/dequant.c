// SPDX-License-Identifier: MIT
/*
 * Quantised rows to fp32, straight from the format's definition.  Blocks of the 4- and 5-bit
 * types hold element j in the low nibble of byte j and element j + 16 in its high nibble; the
 * fifth bit of element j is bit j of a little-endian word.
 */
#include <string.h>

#include "error.h"
#include "npu/gguf.h"

#define BLOCK 32

static float f32_from_bits(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static uint32_t load16(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t load32(const uint8_t *p)
{
	return load16(p) | load16(p + 2) << 16;
}

/* IEEE binary16; subnormals are exact, NaN keeps its payload. */
static float load_f16(const uint8_t *p)
{
	uint32_t h = load16(p);
	uint32_t sign = (h & 0x8000) << 16;
	uint32_t exp = h >> 10 & 0x1f;
	uint32_t man = h & 0x3ff;
	float tiny;

	if (exp == 0x1f)
		return f32_from_bits(sign | 0x7f800000 | man << 13);
	if (exp)
		return f32_from_bits(sign | (exp + 112) << 23 | man << 13);
	tiny = (float)man * 0x1p-24f;
	return sign ? -tiny : tiny;
}

static void row_f32(const uint8_t *src, float *dst, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		dst[i] = f32_from_bits(load32(src + 4 * i));
}

static void row_f16(const uint8_t *src, float *dst, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		dst[i] = load_f16(src + 2 * i);
}

static void row_bf16(const uint8_t *src, float *dst, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		dst[i] = f32_from_bits(load16(src + 2 * i) << 16);
}

static void row_q4_0(const uint8_t *src, float *dst, uint64_t n)
{
	for (; n; n -= BLOCK, src += 18, dst += BLOCK) {
		float d = load_f16(src);
		const uint8_t *q = src + 2;

		for (int j = 0; j < BLOCK / 2; j++) {
			dst[j] = d * (float)((q[j] & 15) - 8);
			dst[j + 16] = d * (float)((q[j] >> 4) - 8);
		}
	}
}

static void row_q4_1(const uint8_t *src, float *dst, uint64_t n)
{
	for (; n; n -= BLOCK, src += 20, dst += BLOCK) {
		float d = load_f16(src), m = load_f16(src + 2);
		const uint8_t *q = src + 4;

		for (int j = 0; j < BLOCK / 2; j++) {
			dst[j] = d * (float)(q[j] & 15) + m;
			dst[j + 16] = d * (float)(q[j] >> 4) + m;
		}
	}
}

static int q5(uint32_t nibble, uint32_t high, int j)
{
	return (int)(nibble | (high >> j & 1) << 4);
}

static void row_q5_0(const uint8_t *src, float *dst, uint64_t n)
{
	for (; n; n -= BLOCK, src += 22, dst += BLOCK) {
		float d = load_f16(src);
		uint32_t high = load32(src + 2);
		const uint8_t *q = src + 6;

		for (int j = 0; j < BLOCK / 2; j++) {
			dst[j] = d * (float)(q5(q[j] & 15, high, j) - 16);
			dst[j + 16] = d * (float)(q5(q[j] >> 4, high, j + 16) - 16);
		}
	}
}

static void row_q5_1(const uint8_t *src, float *dst, uint64_t n)
{
	for (; n; n -= BLOCK, src += 24, dst += BLOCK) {
		float d = load_f16(src), m = load_f16(src + 2);
		uint32_t high = load32(src + 4);
		const uint8_t *q = src + 8;

		for (int j = 0; j < BLOCK / 2; j++) {
			dst[j] = d * (float)q5(q[j] & 15, high, j) + m;
			dst[j + 16] = d * (float)q5(q[j] >> 4, high, j + 16) + m;
		}
	}
}

static void row_q8_0(const uint8_t *src, float *dst, uint64_t n)
{
	for (; n; n -= BLOCK, src += 34, dst += BLOCK) {
		float d = load_f16(src);

		for (int j = 0; j < BLOCK; j++)
			dst[j] = d * (float)(int8_t)src[2 + j];
	}
}

npu_status npu_dequant_row(npu_tensor_type type, const void *src, float *dst, uint64_t n)
{
	static const struct {
		npu_tensor_type type;
		void (*row)(const uint8_t *src, float *dst, uint64_t n);
	} rows[] = {
		{ NPU_TYPE_F32, row_f32 },	{ NPU_TYPE_F16, row_f16 },
		{ NPU_TYPE_BF16, row_bf16 },	{ NPU_TYPE_Q4_0, row_q4_0 },
		{ NPU_TYPE_Q4_1, row_q4_1 },	{ NPU_TYPE_Q5_0, row_q5_0 },
		{ NPU_TYPE_Q5_1, row_q5_1 },	{ NPU_TYPE_Q8_0, row_q8_0 },
	};
	const char *name = npu_tensor_type_name(type);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].type != type)
			continue;
		if (n % npu_tensor_type_block_elems(type))
			return npu_fail(NPU_ERR_INVALID, "row of %llu elements is not whole %s "
					"blocks of %u", (unsigned long long)n, name,
					npu_tensor_type_block_elems(type));
		rows[i].row(src, dst, n);
		return NPU_OK;
	}
	return npu_fail(NPU_ERR_UNSUPPORTED, "no dequantiser for tensor type %s (%d)",
			name ? name : "unknown", (int)type);
}
