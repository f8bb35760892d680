// SPDX-License-Identifier: MIT
/* Inner loops for arm64: four columns or elements per register. */
#if defined(__aarch64__)

#include <arm_neon.h>

#include "simd.h"
#include "vx_loops.h"

#define REGS	(NE1_PANEL / 4)		/* registers of one row of a block */

static inline float32x4_t load_half4(const sim_f16 *in)
{
	return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16((const uint16_t *)in)));
}

static void f16_to_f32(float *out, const sim_f16 *in, size_t n)
{
	size_t i;

	for (i = 0; i + 4 <= n; i += 4)
		vst1q_f32(out + i, load_half4(in + i));
	for (; i < n; i++)
		out[i] = sim_f16_to_f32(in[i]);
}

static void f32_to_f16(sim_f16 *out, const float *in, size_t n)
{
	size_t i;

	for (i = 0; i + 4 <= n; i += 4)
		vst1_u16((uint16_t *)(out + i),
			 vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(in + i))));
	for (; i < n; i++)
		out[i] = sim_f32_to_f16(in[i]);
}

/* Sixteen signed bytes to four registers. */
static inline void load_s8(const uint8_t *q, float32x4_t v[4])
{
	int8x16_t b = vreinterpretq_s8_u8(vld1q_u8(q));
	int16x8_t lo = vmovl_s8(vget_low_s8(b)), hi = vmovl_high_s8(b);

	v[0] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(lo)));
	v[1] = vcvtq_f32_s32(vmovl_high_s16(lo));
	v[2] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(hi)));
	v[3] = vcvtq_f32_s32(vmovl_high_s16(hi));
}

/* The 32 columns of one k: low nibbles, then high ones. */
static inline void load_u4(const uint8_t *q, float32x4_t v[REGS])
{
	uint8x16_t b = vld1q_u8(q), half[2];
	uint16x8_t lo, hi;
	unsigned int h;

	half[0] = vandq_u8(b, vdupq_n_u8(0xf));
	half[1] = vshrq_n_u8(b, 4);
	for (h = 0; h < 2; h++) {
		lo = vmovl_u8(vget_low_u8(half[h]));
		hi = vmovl_high_u8(half[h]);
		v[4 * h] = vcvtq_f32_u32(vmovl_u16(vget_low_u16(lo)));
		v[4 * h + 1] = vcvtq_f32_u32(vmovl_high_u16(lo));
		v[4 * h + 2] = vcvtq_f32_u32(vmovl_u16(vget_low_u16(hi)));
		v[4 * h + 3] = vcvtq_f32_u32(vmovl_high_u16(hi));
	}
}

static inline void load_row(float32x4_t v[REGS], const float *p)
{
	unsigned int i;

	for (i = 0; i < REGS; i++)
		v[i] = vld1q_f32(p + 4 * i);
}

static inline void store_row(float *p, const float32x4_t v[REGS])
{
	unsigned int i;

	for (i = 0; i < REGS; i++)
		vst1q_f32(p + 4 * i, v[i]);
}

static void fill_i8(float *block, const uint8_t *q)
{
	float32x4_t v[4];
	unsigned int i, j;

	for (i = 0; i < SIM_BLOCK; i += 16) {
		load_s8(q + i, v);
		for (j = 0; j < 4; j++)
			vst1q_f32(block + i + 4 * j, v[j]);
	}
}

static void fill_u4(float *block, const uint8_t *q)
{
	float32x4_t v[REGS];
	unsigned int kk;

	for (kk = 0; kk < NE1_GROUP; kk++, q += NE1_PANEL / 2, block += NE1_PANEL) {
		load_u4(q, v);
		store_row(block, v);
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
		if (nc < NE1_PANEL)
			memset(block + nc, 0, (NE1_PANEL - nc) * sizeof(float));
	}
}

static void fill_nk(float *block, const uint8_t *b, size_t stride, unsigned int kc, unsigned int nc,
		    bool f32)
{
	float row[NE1_GROUP];
	unsigned int c, kk;

	if (nc < NE1_PANEL)
		memset(block, 0, SIM_BLOCK * sizeof(float));
	for (c = 0; c < nc; c++, b += stride) {
		if (f32)
			memcpy(row, b, kc * sizeof(float));
		else
			f16_to_f32(row, (const sim_f16 *)b, kc);
		for (kk = 0; kk < kc; kk++)
			block[kk * NE1_PANEL + c] = row[kk];
	}
}

static void dot(float *acc, const float *a, size_t a_stride, unsigned int rows, const float *block,
		unsigned int kc)
{
	unsigned int r, kk, i;
	float32x4_t c[REGS];
	const float *b;

	for (r = 0; r < rows; r++, acc += NE1_PANEL, a += a_stride) {
		load_row(c, acc);
		for (kk = 0, b = block; kk < kc; kk++, b += NE1_PANEL)
			for (i = 0; i < REGS; i++)
				c[i] = vfmaq_n_f32(c[i], vld1q_f32(b + 4 * i), a[kk]);
		store_row(acc, c);
	}
}

static void scale(float *acc, const float *p, unsigned int rows, const sim_f16 *sc,
		  const sim_f16 *min, const float *sum, size_t sum_stride)
{
	float32x4_t c[REGS];
	unsigned int r, i;

	for (r = 0; r < rows; r++, acc += NE1_PANEL, p += NE1_PANEL, sum += sum_stride) {
		load_row(c, acc);
		for (i = 0; i < REGS; i++)
			c[i] = vfmaq_f32(c[i], load_half4(sc + 4 * i), vld1q_f32(p + 4 * i));
		if (min)
			for (i = 0; i < REGS; i++)
				c[i] = vfmaq_n_f32(c[i], load_half4(min + 4 * i), *sum);
		store_row(acc, c);
	}
}

static void gemv_i8(float *acc, const float *a, const uint8_t *panel, unsigned int groups)
{
	float32x4_t c[REGS], p[REGS], q[REGS];
	const sim_f16 *sc;
	unsigned int kk, i;

	load_row(c, acc);
	for (; groups; groups--, a += NE1_GROUP) {
		sc = (const sim_f16 *)panel;
		panel += 2 * NE1_PANEL;
		for (i = 0; i < REGS; i++)
			p[i] = vdupq_n_f32(0);
		for (kk = 0; kk < NE1_GROUP; kk++, panel += NE1_PANEL) {
			load_s8(panel, q);
			load_s8(panel + 16, q + 4);
			for (i = 0; i < REGS; i++)
				p[i] = vfmaq_n_f32(p[i], q[i], a[kk]);
		}
		for (i = 0; i < REGS; i++)
			c[i] = vfmaq_f32(c[i], load_half4(sc + 4 * i), p[i]);
	}
	store_row(acc, c);
}

static void gemv_u4m(float *acc, const float *a, const float *sum, const uint8_t *panel,
		     unsigned int groups)
{
	float32x4_t c[REGS], p[REGS], q[REGS];
	const sim_f16 *sc;
	unsigned int kk, i;

	load_row(c, acc);
	for (; groups; groups--, a += NE1_GROUP, sum++) {
		sc = (const sim_f16 *)panel;
		panel += 4 * NE1_PANEL;
		for (i = 0; i < REGS; i++)
			p[i] = vdupq_n_f32(0);
		for (kk = 0; kk < NE1_GROUP; kk++, panel += NE1_PANEL / 2) {
			load_u4(panel, q);
			for (i = 0; i < REGS; i++)
				p[i] = vfmaq_n_f32(p[i], q[i], a[kk]);
		}
		for (i = 0; i < REGS; i++) {
			c[i] = vfmaq_f32(c[i], load_half4(sc + 4 * i), p[i]);
			c[i] = vfmaq_n_f32(c[i], load_half4(sc + NE1_PANEL + 4 * i), *sum);
		}
	}
	store_row(acc, c);
}

const struct sim_simd sim_simd_neon = {
	.name = "neon",
	.f16_to_f32 = f16_to_f32, .f32_to_f16 = f32_to_f16,
	.fill_i8 = fill_i8, .fill_u4 = fill_u4, .fill_kn = fill_kn, .fill_nk = fill_nk,
	.dot = dot, .scale = scale, .gemv_i8 = gemv_i8, .gemv_u4m = gemv_u4m,
	SIM_VX_LOOPS
};

#endif
