// SPDX-License-Identifier: MIT
/* Inner loops for x86-64 with AVX2, FMA and F16C: eight columns or elements per register. */
#if defined(__x86_64__)

#include <immintrin.h>

#define VX_TARGET	__attribute__((target("avx2,fma,f16c")))
#define VX_OWN_LOOPS

#include "simd.h"
#include "vx_loops.h"

#define AVX2	VX_TARGET

AVX2 static void f16_to_f32(float *out, const sim_f16 *in, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm256_storeu_ps(out + i,
				 _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
	for (; i < n; i++)
		out[i] = _cvtsh_ss(in[i]);
}

AVX2 static void f32_to_f16(sim_f16 *out, const float *in, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i),
								       _MM_FROUND_TO_NEAREST_INT));
	for (; i < n; i++)
		out[i] = _cvtss_sh(in[i], _MM_FROUND_TO_NEAREST_INT);
}

AVX2 static inline __m256 load_half8(const sim_f16 *in)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)in));
}

AVX2 static inline __m256 load_s8(const uint8_t *q)
{
	return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)q)));
}

/* Eight bytes to the floats of their low and high nibbles. */
AVX2 static inline void load_u4(const uint8_t *q, __m256 *lo, __m256 *hi)
{
	__m256i v = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)q));

	*lo = _mm256_cvtepi32_ps(_mm256_and_si256(v, _mm256_set1_epi32(0xf)));
	*hi = _mm256_cvtepi32_ps(_mm256_srli_epi32(v, 4));
}

AVX2 static void fill_i8(float *block, const uint8_t *q)
{
	unsigned int i;

	for (i = 0; i < SIM_BLOCK; i += 8)
		_mm256_storeu_ps(block + i, load_s8(q + i));
}

AVX2 static void fill_u4(float *block, const uint8_t *q)
{
	unsigned int kk;
	__m256 v[4];

	for (kk = 0; kk < NE1_GROUP; kk++, q += 16, block += NE1_PANEL) {
		load_u4(q, &v[0], &v[2]);
		load_u4(q + 8, &v[1], &v[3]);
		_mm256_storeu_ps(block, v[0]);
		_mm256_storeu_ps(block + 8, v[1]);
		_mm256_storeu_ps(block + 16, v[2]);
		_mm256_storeu_ps(block + 24, v[3]);
	}
}

AVX2 static void fill_kn(float *block, const uint8_t *b, size_t stride, unsigned int kc,
			 unsigned int nc, bool f32)
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

AVX2 static inline void transpose8(__m256 r[8])
{
	__m256 t[8], u[8];
	unsigned int i;

	for (i = 0; i < 8; i += 2) {
		t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
	}
	for (i = 0; i < 8; i += 4) {
		u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
		u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
		u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
		u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
	}
	for (i = 0; i < 4; i++) {
		r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
		r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
	}
}

/* Eight rows of eight elements, turned. */
AVX2 static void turn8(float *block, const uint8_t *b, size_t stride, bool f32)
{
	unsigned int i;
	__m256 r[8];

	for (i = 0; i < 8; i++, b += stride)
		r[i] = f32 ? _mm256_loadu_ps((const float *)(const void *)b) :
		       load_half8((const sim_f16 *)b);
	transpose8(r);
	for (i = 0; i < 8; i++)
		_mm256_storeu_ps(block + i * NE1_PANEL, r[i]);
}

AVX2 static void fill_nk(float *block, const uint8_t *b, size_t stride, unsigned int kc,
			 unsigned int nc, bool f32)
{
	unsigned int c, kk, kv = kc & ~7u, cv = nc & ~7u, size = f32 ? 4 : 2;
	const uint8_t *row;

	if (nc < NE1_PANEL)
		memset(block, 0, SIM_BLOCK * sizeof(float));
	for (c = 0; c < cv; c += 8)
		for (kk = 0; kk < kv; kk += 8)
			turn8(block + kk * NE1_PANEL + c, b + c * stride + kk * size, stride, f32);
	for (c = 0; c < nc; c++) {
		row = b + c * stride;
		for (kk = c < cv ? kv : 0; kk < kc; kk++)
			block[kk * NE1_PANEL + c] = f32 ? ((const sim_f32 *)row)[kk] :
						    _cvtsh_ss(((const sim_f16 *)row)[kk]);
	}
}

AVX2 static inline void load4(__m256 v[4], const float *p)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		v[i] = _mm256_loadu_ps(p + 8 * i);
}

AVX2 static inline void store4(float *p, const __m256 v[4])
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		_mm256_storeu_ps(p + 8 * i, v[i]);
}

/* Two rows: eight independent chains, as many as the multipliers' latency needs. */
AVX2 static void dot2(float *acc, const float *a0, const float *a1, const float *block,
		      unsigned int kc)
{
	__m256 c0[4], c1[4], b[4], x0, x1;
	unsigned int kk, i;

	load4(c0, acc);
	load4(c1, acc + NE1_PANEL);
	for (kk = 0; kk < kc; kk++, block += NE1_PANEL) {
		x0 = _mm256_broadcast_ss(a0 + kk);
		x1 = _mm256_broadcast_ss(a1 + kk);
		load4(b, block);
#pragma GCC unroll 4
		for (i = 0; i < 4; i++) {
			c0[i] = _mm256_fmadd_ps(x0, b[i], c0[i]);
			c1[i] = _mm256_fmadd_ps(x1, b[i], c1[i]);
		}
	}
	store4(acc, c0);
	store4(acc + NE1_PANEL, c1);
}

AVX2 static void dot1(float *acc, const float *a, const float *block, unsigned int kc)
{
	unsigned int kk, i;
	__m256 c[4], x;

	load4(c, acc);
	for (kk = 0; kk < kc; kk++, block += NE1_PANEL) {
		x = _mm256_broadcast_ss(a + kk);
#pragma GCC unroll 4
		for (i = 0; i < 4; i++)
			c[i] = _mm256_fmadd_ps(x, _mm256_loadu_ps(block + 8 * i), c[i]);
	}
	store4(acc, c);
}

AVX2 static void dot(float *acc, const float *a, size_t a_stride, unsigned int rows,
		     const float *block, unsigned int kc)
{
	unsigned int r;

	for (r = 0; r + 2 <= rows; r += 2)
		dot2(acc + r * NE1_PANEL, a + r * a_stride, a + (r + 1) * a_stride, block, kc);
	if (r < rows)
		dot1(acc + r * NE1_PANEL, a + r * a_stride, block, kc);
}

AVX2 static void scale(float *acc, const float *p, unsigned int rows, const sim_f16 *sc,
		       const sim_f16 *min, const float *sum, size_t sum_stride)
{
	__m256 c[4], s[4], m[4], x;
	unsigned int r, i;

	for (i = 0; i < 4; i++) {
		s[i] = load_half8(sc + 8 * i);
		m[i] = min ? load_half8(min + 8 * i) : _mm256_setzero_ps();
	}
	for (r = 0; r < rows; r++, acc += NE1_PANEL, p += NE1_PANEL) {
		load4(c, acc);
		for (i = 0; i < 4; i++)
			c[i] = _mm256_fmadd_ps(s[i], _mm256_loadu_ps(p + 8 * i), c[i]);
		if (min) {
			x = _mm256_broadcast_ss(sum + r * sum_stride);
			for (i = 0; i < 4; i++)
				c[i] = _mm256_fmadd_ps(m[i], x, c[i]);
		}
		store4(acc, c);
	}
}

AVX2 static void gemv_i8(float *acc, const float *a, const uint8_t *panel, unsigned int groups)
{
	__m256 c[4], p[4], x;
	const sim_f16 *sc;
	unsigned int kk, i;

	load4(c, acc);
	for (; groups; groups--, a += NE1_GROUP) {
		sc = (const sim_f16 *)panel;
		panel += 2 * NE1_PANEL;
		for (i = 0; i < 4; i++)
			p[i] = _mm256_setzero_ps();
		for (kk = 0; kk < NE1_GROUP; kk++, panel += NE1_PANEL) {
			x = _mm256_broadcast_ss(a + kk);
#pragma GCC unroll 4
			for (i = 0; i < 4; i++)
				p[i] = _mm256_fmadd_ps(x, load_s8(panel + 8 * i), p[i]);
		}
		for (i = 0; i < 4; i++)
			c[i] = _mm256_fmadd_ps(load_half8(sc + 8 * i), p[i], c[i]);
	}
	store4(acc, c);
}

AVX2 static void gemv_u4m(float *acc, const float *a, const float *sum, const uint8_t *panel,
			  unsigned int groups)
{
	__m256 c[4], p[4], q[4], x;
	const sim_f16 *sc;
	unsigned int kk, i;

	load4(c, acc);
	for (; groups; groups--, a += NE1_GROUP) {
		sc = (const sim_f16 *)panel;
		panel += 4 * NE1_PANEL;
		for (i = 0; i < 4; i++)
			p[i] = _mm256_setzero_ps();
		for (kk = 0; kk < NE1_GROUP; kk++, panel += NE1_PANEL / 2) {
			x = _mm256_broadcast_ss(a + kk);
			load_u4(panel, &q[0], &q[2]);
			load_u4(panel + 8, &q[1], &q[3]);
#pragma GCC unroll 4
			for (i = 0; i < 4; i++)
				p[i] = _mm256_fmadd_ps(x, q[i], p[i]);
		}
		x = _mm256_broadcast_ss(sum++);
		for (i = 0; i < 4; i++) {
			c[i] = _mm256_fmadd_ps(load_half8(sc + 8 * i), p[i], c[i]);
			c[i] = _mm256_fmadd_ps(load_half8(sc + NE1_PANEL + 8 * i), x, c[i]);
		}
	}
	store4(acc, c);
}

/* vx_exp() of eight; arguments out of range are replaced at the end, as there. */
AVX2 static inline __m256 exp8(__m256 x)
{
	const __m256 low = _mm256_set1_ps(-87.0f), high = _mm256_set1_ps(88.0f);
	__m256 in = _mm256_min_ps(_mm256_max_ps(x, low), high), n, r, p;
	__m256i i, half;

	n = _mm256_round_ps(_mm256_mul_ps(in, _mm256_set1_ps(0x1.715476p+0f)),
			    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
	r = _mm256_fmadd_ps(n, _mm256_set1_ps(-0x1.63p-1f), in);
	r = _mm256_fmadd_ps(n, _mm256_set1_ps(0x1.bd0106p-13f), r);
	p = _mm256_set1_ps(0x1.a0d2cep-13f);
	p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.6e879cp-10f));
	p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.11121p-7f));
	p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.555382p-5f));
	p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.555554p-3f));
	p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
	p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
	p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
	i = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(2 * 127));
	half = _mm256_srai_epi32(i, 1);
	p = _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(half, 23)));
	p = _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_sub_epi32(i, half), 23)));
	p = _mm256_blendv_ps(p, _mm256_setzero_ps(), _mm256_cmp_ps(x, low, _CMP_LT_OQ));
	p = _mm256_blendv_ps(p, _mm256_set1_ps(INFINITY), _mm256_cmp_ps(x, high, _CMP_GT_OQ));
	return _mm256_blendv_ps(p, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

AVX2 static void vx_silu(float *restrict out, const float *restrict x, size_t n)
{
	const __m256 one = _mm256_set1_ps(1.0f), sign = _mm256_set1_ps(-0.0f);
	size_t i;
	__m256 v;

	for (i = 0; i + 8 <= n; i += 8) {
		v = _mm256_loadu_ps(x + i);
		v = _mm256_div_ps(v, _mm256_add_ps(one, exp8(_mm256_xor_ps(v, sign))));
		_mm256_storeu_ps(out + i, v);
	}
	for (; i < n; i++)
		out[i] = x[i] / (1.0f + vx_exp(-x[i]));
}

AVX2 static void vx_exp_scaled(float *restrict out, const float *restrict x, float f0, float max,
			       size_t n)
{
	const __m256 f = _mm256_set1_ps(f0), m = _mm256_set1_ps(max);
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm256_storeu_ps(out + i,
				 exp8(_mm256_sub_ps(_mm256_mul_ps(_mm256_loadu_ps(x + i), f), m)));
	for (; i < n; i++)
		out[i] = vx_exp(x[i] * f0 - max);
}

AVX2 static void vx_sumsq(float lane[8], const float *x, size_t n)
{
	__m256 sum = _mm256_loadu_ps(lane), v;
	size_t i, l;

	for (i = 0; i + 8 <= n; i += 8) {
		v = _mm256_loadu_ps(x + i);
		sum = _mm256_fmadd_ps(v, v, sum);
	}
	_mm256_storeu_ps(lane, sum);
	for (l = 0; i + l < n; l++)
		lane[l] = fmaf(x[i + l], x[i + l], lane[l]);
}

AVX2 static void vx_sum(float lane[8], const float *x, size_t n)
{
	__m256 sum = _mm256_loadu_ps(lane);
	size_t i, l;

	for (i = 0; i + 8 <= n; i += 8)
		sum = _mm256_add_ps(sum, _mm256_loadu_ps(x + i));
	_mm256_storeu_ps(lane, sum);
	for (l = 0; i + l < n; l++)
		lane[l] = lane[l] + x[i + l];
}

const struct sim_simd sim_simd_avx2 = {
	.name = "avx2",
	.f16_to_f32 = f16_to_f32, .f32_to_f16 = f32_to_f16,
	.fill_i8 = fill_i8, .fill_u4 = fill_u4, .fill_kn = fill_kn, .fill_nk = fill_nk,
	.dot = dot, .scale = scale, .gemv_i8 = gemv_i8, .gemv_u4m = gemv_u4m,
	SIM_VX_LOOPS
};

#endif
