// SPDX-License-Identifier: MIT
#include "compile/pack.h"

#include <string.h>

#include "cpu/fp16.h"
#include "error.h"

#define K_MAX		65535u	/* of ne1_cmd_mm */
#define PLAIN_STEP	32u

static bool packed_type(enum npu_dtype dtype, enum ne1_type *type)
{
	switch (dtype) {
	case NPU_DTYPE_Q4_0:
	case NPU_DTYPE_Q4_1:
		*type = NE1_T_U4M;
		return true;
	case NPU_DTYPE_Q8_0:
		*type = NE1_T_I8;
		return true;
	default:
		return false;
	}
}

bool npu_weight_layout(const struct npu_tensor *t, struct weight_layout *out, const char **why)
{
	*out = (struct weight_layout){ .n = t->rows, .k = t->cols };
	*why = "more than 65535 columns";
	if (t->cols > K_MAX)
		return false;
	*why = NULL;
	if (packed_type(t->dtype, &out->type)) {
		out->packed = true;
		out->unit_cols = NE1_PANEL;
		out->step_k = NE1_GROUP;
		out->step_bytes = out->type == NE1_T_I8 ? NE1_PANEL_BYTES_I8(NE1_GROUP) :
							  NE1_PANEL_BYTES_U4M(NE1_GROUP);
		out->unit_bytes = t->cols / NE1_GROUP * out->step_bytes;
	} else {
		uint32_t elem = t->dtype == NPU_DTYPE_F16 ? 2 : 4;

		out->type = elem == 2 ? NE1_T_F16 : NE1_T_F32;
		out->unit_cols = 1;
		out->step_k = PLAIN_STEP;
		out->step_bytes = PLAIN_STEP * elem;
		out->unit_bytes = (t->cols * elem + 3) & ~3u;
	}
	out->n_units = (t->rows + out->unit_cols - 1) / out->unit_cols;
	out->bytes = (uint64_t)out->n_units * out->unit_bytes;
	return true;
}

/* ---- packed types ------------------------------------------------------------------------ */

/* The 32 blocks of one group of a panel, one per column: column c's is c * stride behind column
 * 0's.
 */
struct group {
	const uint8_t *blocks;
	size_t stride;
};

static const uint8_t *block(const struct group *g, uint32_t c)
{
	return g->blocks + c * g->stride;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "byte i of a word is element i");

/* The bits of @b under @mask and those of @a that are @shift higher change places. */
static inline __attribute__((always_inline)) void swap_bits(uint64_t *a, uint64_t *b, int shift,
							     uint64_t mask)
{
	uint64_t t = (*a >> shift ^ *b) & mask;

	*b ^= t;
	*a ^= t << shift;
}

#define BYTES_4		0x00000000ffffffffull
#define BYTES_2		0x0000ffff0000ffffull
#define BYTES_1		0x00ff00ff00ff00ffull
#define NIBBLES		0x0f0f0f0f0f0f0f0full

/*
 * Byte j of x[i] and byte i of x[j] change places.  Plain 64-bit arithmetic on purpose: it is quick
 * everywhere, also on an emulated processor, where vector instructions are not.  Written out so
 * that x stays in registers.
 */
static inline __attribute__((always_inline)) void transpose_8x8(uint64_t x[8])
{
	swap_bits(&x[0], &x[4], 32, BYTES_4);
	swap_bits(&x[1], &x[5], 32, BYTES_4);
	swap_bits(&x[2], &x[6], 32, BYTES_4);
	swap_bits(&x[3], &x[7], 32, BYTES_4);
	swap_bits(&x[0], &x[2], 16, BYTES_2);
	swap_bits(&x[1], &x[3], 16, BYTES_2);
	swap_bits(&x[4], &x[6], 16, BYTES_2);
	swap_bits(&x[5], &x[7], 16, BYTES_2);
	swap_bits(&x[0], &x[1], 8, BYTES_1);
	swap_bits(&x[2], &x[3], 8, BYTES_1);
	swap_bits(&x[4], &x[5], 8, BYTES_1);
	swap_bits(&x[6], &x[7], 8, BYTES_1);
}

static inline __attribute__((always_inline)) uint64_t load_8(const uint8_t *src)
{
	uint64_t x;

	memcpy(&x, src, 8);
	return x;
}

/* Transpose x; row i becomes 8 bytes of row i of dst, rows `stride` bytes apart. */
static inline __attribute__((always_inline)) void store_transposed(uint64_t x[8], uint8_t *dst,
								    size_t stride)
{
	transpose_8x8(x);
	memcpy(dst, &x[0], 8);
	memcpy(dst + stride, &x[1], 8);
	memcpy(dst + 2 * stride, &x[2], 8);
	memcpy(dst + 3 * stride, &x[3], 8);
	memcpy(dst + 4 * stride, &x[4], 8);
	memcpy(dst + 5 * stride, &x[5], 8);
	memcpy(dst + 6 * stride, &x[6], 8);
	memcpy(dst + 7 * stride, &x[7], 8);
}

/*
 * In both worlds a byte holds two nibbles: there elements k and k + 16 of a column, here columns c
 * and c + 16 of an element.  8 columns and their partners, 8 elements and theirs.
 */
static void transpose_nibbles_8x8(const uint8_t *src, size_t stride, uint8_t *dst)
{
	const uint8_t *partner = src + 16 * stride;
	uint64_t low[8], high[8];

	for (int i = 0; i < 8; i++) {
		low[i] = load_8(src + i * stride);
		high[i] = load_8(partner + i * stride);
		swap_bits(&low[i], &high[i], 4, NIBBLES);
	}
	store_transposed(low, dst, 16);
	store_transposed(high, dst + 16 * 16, 16);
}

static void transpose_nibbles(const struct group *g, size_t at, uint8_t *dst)
{
	for (uint32_t c = 0; c < 16; c += 8)
		for (uint32_t k = 0; k < 16; k += 8)
			transpose_nibbles_8x8(block(g, c) + at + k, g->stride, dst + k * 16 + c);
}

static void pack_q4_1(const struct group *g, uint8_t *dst)
{
	const struct group local = *g;	/* as far as the compiler knows, dst may reach *g */
	const uint8_t *src = local.blocks;
	uint32_t c;

	for (c = 0; c < 2 * NE1_PANEL; c += 2, src += local.stride) {
		memcpy(dst + c, src, 2);
		memcpy(dst + 64 + c, src + 2, 2);
	}
	transpose_nibbles(&local, 4, dst + 128);
}

/* scale * (q - 8) as scale * q + min with min = -8 * scale, exact as long as it is finite. */
static bool pack_q4_0(const struct group *g, uint8_t *dst)
{
	uint16_t scale, min;
	uint32_t c;

	for (c = 0; c < NE1_PANEL; c++) {
		memcpy(&scale, block(g, c), 2);
		min = fp16_narrow(-8.0f * fp16_widen(scale));
		if ((min & 0x7c00) == 0x7c00)
			return false;
		memcpy(dst + 2 * c, &scale, 2);
		memcpy(dst + 64 + 2 * c, &min, 2);
	}
	transpose_nibbles(g, 2, dst + 128);
	return true;
}

static void pack_q8_0(const struct group *g, uint8_t *dst)
{
	uint64_t x[8];
	uint32_t c, i, k;

	for (c = 0; c < NE1_PANEL; c++)
		memcpy(dst + 2 * c, block(g, c), 2);
	for (c = 0; c < NE1_PANEL; c += 8) {
		for (k = 0; k < NE1_GROUP; k += 8) {
			for (i = 0; i < 8; i++)
				x[i] = load_8(block(g, c + i) + 2 + k);
			store_transposed(x, dst + 64 + k * NE1_PANEL + c, NE1_PANEL);
		}
	}
}

static bool pack_group(enum npu_dtype dtype, const struct group *g, uint8_t *dst)
{
	if (dtype == NPU_DTYPE_Q4_0)
		return pack_q4_0(g, dst);
	if (dtype == NPU_DTYPE_Q4_1)
		pack_q4_1(g, dst);
	else
		pack_q8_0(g, dst);
	return true;
}

#define BLOCK_MAX	34u	/* Q8_0 */

static npu_status pack_panels(const struct npu_tensor *t, const struct weight_layout *layout,
			      uint8_t *dst)
{
	size_t block_bytes = npu_dtype_row_bytes(t->dtype, NE1_GROUP);
	size_t row_bytes = t->cols / NE1_GROUP * block_bytes;
	/* The last panel's group with all-zero blocks for the columns that it lacks. */
	uint8_t padded[NE1_PANEL * BLOCK_MAX] = { 0 };
	const uint8_t *src = t->data;
	uint32_t panel, group, c, cols;
	struct group g;

	for (panel = 0; panel < layout->n_units; panel++, src += NE1_PANEL * row_bytes) {
		cols = t->rows - panel * NE1_PANEL;
		for (group = 0; group < t->cols / NE1_GROUP; group++, dst += layout->step_bytes) {
			g = (struct group){ src + group * block_bytes, row_bytes };
			for (c = 0; cols < NE1_PANEL && c < cols; c++)
				memcpy(padded + c * block_bytes, block(&g, c), block_bytes);
			if (cols < NE1_PANEL)
				g = (struct group){ padded, block_bytes };
			if (!pack_group(t->dtype, &g, dst))
				return npu_fail(NPU_ERR_UNSUPPORTED,
						"weight '%s': a scale beyond 8188 in panel %u",
						t->name, panel);
		}
	}
	return NPU_OK;
}

/* ---- plain types ------------------------------------------------------------------------- */

static void pack_rows(const struct npu_tensor *t, const struct weight_layout *layout, uint8_t *dst)
{
	size_t row_bytes = npu_dtype_row_bytes(t->dtype, t->cols);
	const uint8_t *src = t->data;
	uint32_t row, i;

	for (row = 0; row < t->rows; row++) {
		if (t->dtype == NPU_DTYPE_BF16) {
			for (i = 0; i < t->cols; i++) {
				dst[4 * i] = dst[4 * i + 1] = 0;
				memcpy(dst + 4 * i + 2, src + 2 * i, 2);
			}
		} else {
			memcpy(dst, src, row_bytes);
		}
		src += row_bytes;
		dst += layout->unit_bytes;
	}
}

npu_status npu_weight_pack(const struct npu_tensor *t, const struct weight_layout *layout,
			   void *dst)
{
	if (layout->packed)
		return pack_panels(t, layout, dst);
	pack_rows(t, layout, dst);
	return NPU_OK;
}
