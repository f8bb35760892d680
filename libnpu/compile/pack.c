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

/* The 32 blocks of one group of a panel, one per column; missing columns are all zero. */
struct group {
	const uint8_t *block[NE1_PANEL];
};

static const uint8_t zero_block[34];

static void gather(const struct npu_tensor *t, size_t block_bytes, uint32_t panel, uint32_t group,
		   struct group *g)
{
	size_t row_bytes = t->cols / NE1_GROUP * block_bytes;
	uint32_t c, row;

	for (c = 0; c < NE1_PANEL; c++) {
		row = panel * NE1_PANEL + c;
		g->block[c] = row < t->rows ?
			      (const uint8_t *)t->data + row * row_bytes + group * block_bytes :
			      zero_block;
	}
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "byte i of a word is element i");

/*
 * Byte j of x[i] and byte i of x[j] change places.  Plain 64-bit arithmetic on purpose: it is quick everywhere,
 * also on an emulated processor, where vector instructions are not.
 */
static void transpose_8x8(uint64_t x[8])
{
	uint64_t t;
	int i;

	for (i = 0; i < 4; i++) {
		t = (x[i] >> 32 ^ x[i + 4]) & 0x00000000ffffffffull;
		x[i + 4] ^= t;
		x[i] ^= t << 32;
	}
	for (i = 0; i < 6; i += i == 1 ? 3 : 1) {
		t = (x[i] >> 16 ^ x[i + 2]) & 0x0000ffff0000ffffull;
		x[i + 2] ^= t;
		x[i] ^= t << 16;
	}
	for (i = 0; i < 8; i += 2) {
		t = (x[i] >> 8 ^ x[i + 1]) & 0x00ff00ff00ff00ffull;
		x[i + 1] ^= t;
		x[i] ^= t << 8;
	}
}

/* x[i] becomes 8 bytes of row i of dst, rows `stride` bytes apart. */
static void store_rows(const uint64_t x[8], uint8_t *dst, size_t stride)
{
	int i;

	for (i = 0; i < 8; i++)
		memcpy(dst + i * stride, &x[i], 8);
}

/* In both worlds a byte holds two nibbles: there elements k and k + 16 of a column, here columns c
 * and c + 16 of an element.
 */
static void transpose_nibbles(const struct group *g, size_t at, uint8_t *dst)
{
	const uint64_t low = 0x0f0f0f0f0f0f0f0full;
	uint64_t x[8], y[8], a, b;
	uint32_t c, i, k;

	for (c = 0; c < 16; c += 8) {
		for (k = 0; k < 16; k += 8) {
			for (i = 0; i < 8; i++) {
				memcpy(&a, g->block[c + i] + at + k, 8);
				memcpy(&b, g->block[c + i + 16] + at + k, 8);
				x[i] = (a & low) | (b & low) << 4;
				y[i] = (a >> 4 & low) | (b & ~low);
			}
			transpose_8x8(x);
			transpose_8x8(y);
			store_rows(x, dst + k * 16 + c, 16);
			store_rows(y, dst + (k + 16) * 16 + c, 16);
		}
	}
}

static void pack_q4_1(const struct group *g, uint8_t *dst)
{
	uint32_t c;

	for (c = 0; c < NE1_PANEL; c++) {
		memcpy(dst + 2 * c, g->block[c], 2);
		memcpy(dst + 64 + 2 * c, g->block[c] + 2, 2);
	}
	transpose_nibbles(g, 4, dst + 128);
}

/* scale * (q - 8) as scale * q + min with min = -8 * scale, exact as long as it is finite. */
static bool pack_q4_0(const struct group *g, uint8_t *dst)
{
	uint16_t scale, min;
	uint32_t c;

	for (c = 0; c < NE1_PANEL; c++) {
		memcpy(&scale, g->block[c], 2);
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
		memcpy(dst + 2 * c, g->block[c], 2);
	for (c = 0; c < NE1_PANEL; c += 8) {
		for (k = 0; k < NE1_GROUP; k += 8) {
			for (i = 0; i < 8; i++)
				memcpy(&x[i], g->block[c + i] + 2 + k, 8);
			transpose_8x8(x);
			store_rows(x, dst + 64 + k * NE1_PANEL + c, NE1_PANEL);
		}
	}
}

static npu_status pack_panels(const struct npu_tensor *t, const struct weight_layout *layout,
			      uint8_t *dst)
{
	size_t block_bytes = npu_dtype_row_bytes(t->dtype, NE1_GROUP);
	uint32_t panel, group;
	struct group g;
	bool ok = true;

	for (panel = 0; panel < layout->n_units; panel++) {
		for (group = 0; group < t->cols / NE1_GROUP; group++) {
			gather(t, block_bytes, panel, group, &g);
			if (t->dtype == NPU_DTYPE_Q4_1)
				pack_q4_1(&g, dst);
			else if (t->dtype == NPU_DTYPE_Q4_0)
				ok = pack_q4_0(&g, dst);
			else
				pack_q8_0(&g, dst);
			if (!ok)
				return npu_fail(NPU_ERR_UNSUPPORTED,
						"weight '%s': a scale beyond 8188 in panel %u",
						t->name, panel);
			dst += layout->step_bytes;
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
