// SPDX-License-Identifier: MIT
/* Inner loops without SIMD: the reference for the other tables. */
#include <math.h>
#include <string.h>

#include "simd.h"

static void f16_to_f32(float *out, const sim_f16 *in, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		out[i] = sim_f16_to_f32(in[i]);
}

static void f32_to_f16(sim_f16 *out, const float *in, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		out[i] = sim_f32_to_f16(in[i]);
}

static void fill_i8(float *block, const uint8_t *q)
{
	unsigned int i;

	for (i = 0; i < SIM_BLOCK; i++)
		block[i] = (int8_t)q[i];
}

static void fill_u4(float *block, const uint8_t *q)
{
	unsigned int kk, c;

	for (kk = 0; kk < NE1_GROUP; kk++, q += 16, block += NE1_PANEL)
		for (c = 0; c < 16; c++) {
			block[c] = q[c] & 0xf;
			block[c + 16] = q[c] >> 4;
		}
}

static void fill_kn(float *block, const uint8_t *b, size_t stride, unsigned int kc, unsigned int nc,
		    bool f32)
{
	unsigned int kk;

	for (kk = 0; kk < kc; kk++, b += stride, block += NE1_PANEL) {
		if (f32)
			memcpy(block, b, nc * sizeof(float));
		else
			f16_to_f32(block, (const sim_f16 *)b, nc);
		memset(block + nc, 0, (NE1_PANEL - nc) * sizeof(float));
	}
}

static void fill_nk(float *block, const uint8_t *b, size_t stride, unsigned int kc, unsigned int nc,
		    bool f32)
{
	unsigned int kk, c;

	if (nc < NE1_PANEL)
		memset(block, 0, SIM_BLOCK * sizeof(float));
	for (c = 0; c < nc; c++, b += stride)
		for (kk = 0; kk < kc; kk++)
			block[kk * NE1_PANEL + c] = f32 ? ((const sim_f32 *)b)[kk] :
						    sim_f16_to_f32(((const sim_f16 *)b)[kk]);
}

static void dot(float *acc, const float *a, size_t a_stride, unsigned int rows, const float *block,
		unsigned int kc)
{
	unsigned int r, kk, c;

	for (r = 0; r < rows; r++, acc += NE1_PANEL, a += a_stride)
		for (kk = 0; kk < kc; kk++)
			for (c = 0; c < NE1_PANEL; c++)
				acc[c] = fmaf(a[kk], block[kk * NE1_PANEL + c], acc[c]);
}

static void scale(float *acc, const float *p, unsigned int rows, const sim_f16 *sc,
		  const sim_f16 *min, const float *sum, size_t sum_stride)
{
	unsigned int r, c;

	for (r = 0; r < rows; r++, acc += NE1_PANEL, p += NE1_PANEL, sum += sum_stride)
		for (c = 0; c < NE1_PANEL; c++) {
			acc[c] = fmaf(sim_f16_to_f32(sc[c]), p[c], acc[c]);
			if (min)
				acc[c] = fmaf(sim_f16_to_f32(min[c]), *sum, acc[c]);
		}
}

static void gemv_i8(float *acc, const float *a, const uint8_t *panel, unsigned int groups)
{
	float block[SIM_BLOCK], p[NE1_PANEL];

	for (; groups; groups--, a += NE1_GROUP, panel += NE1_PANEL_BYTES_I8(NE1_GROUP)) {
		memset(p, 0, sizeof(p));
		fill_i8(block, panel + 2 * NE1_PANEL);
		dot(p, a, 0, 1, block, NE1_GROUP);
		scale(acc, p, 1, (const sim_f16 *)panel, NULL, p, 0);
	}
}

static void gemv_u4m(float *acc, const float *a, const float *sum, const uint8_t *panel,
		     unsigned int groups)
{
	const sim_f16 *sc;
	float block[SIM_BLOCK], p[NE1_PANEL];

	for (; groups; groups--, a += NE1_GROUP, panel += NE1_PANEL_BYTES_U4M(NE1_GROUP)) {
		sc = (const sim_f16 *)panel;
		memset(p, 0, sizeof(p));
		fill_u4(block, panel + 4 * NE1_PANEL);
		dot(p, a, 0, 1, block, NE1_GROUP);
		scale(acc, p, 1, sc, sc + NE1_PANEL, sum++, 0);
	}
}

#include "vx_loops.h"

const struct sim_simd sim_simd_scalar = {
	.name = "scalar",
	.f16_to_f32 = f16_to_f32, .f32_to_f16 = f32_to_f16,
	.fill_i8 = fill_i8, .fill_u4 = fill_u4, .fill_kn = fill_kn, .fill_nk = fill_nk,
	.dot = dot, .scale = scale, .gemv_i8 = gemv_i8, .gemv_u4m = gemv_u4m,
	SIM_VX_LOOPS
};

float sim_expf(float x)
{
	return vx_exp(x);
}
