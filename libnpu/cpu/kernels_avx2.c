// SPDX-License-Identifier: MIT
/*
 * Kernels for x86-64 with AVX2, FMA and F16C.  Eight columns (or the contract's eight lanes) per
 * register, so that every element sees the same operations in the same order as in the scalar code.
 */
#include "kernels.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "exp.h"
#include "fp16.h"

#define AVX2   __attribute__((target("avx2,fma,f16c")))
#define INLINE AVX2 static inline __attribute__((always_inline))
#define LANES  8

AVX2 static void widen(float *dst, const uint16_t *src, size_t n)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		_mm256_storeu_ps(dst + i,
				 _mm256_cvtph_ps(_mm_loadu_si128((const void *)(src + i))));
	for (; i < n; i++)
		dst[i] = fp16_widen(src[i]);
}

#define ROUND_EVEN (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

AVX2 static void narrow(uint16_t *dst, const float *src, size_t n)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		_mm_storeu_si128((void *)(dst + i),
				 _mm256_cvtps_ph(_mm256_loadu_ps(src + i), ROUND_EVEN));
	for (; i < n; i++)
		dst[i] = fp16_narrow(src[i]);
}

/* ---- matrix multiplication -------------------------------------------------------------- */

/* @rows x (8 * @regs) of C stay in registers for all of k. */
INLINE void mm_block(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb,
		     uint32_t k, const int rows, const int regs)
{
	__m256 acc[2][4];

	for (int i = 0; i < rows; i++)
		for (int j = 0; j < regs; j++)
			acc[i][j] = _mm256_loadu_ps(c + i * ldc + j * LANES);
	for (uint32_t kk = 0; kk < k; kk++, b += ldb) {
		for (int j = 0; j < regs; j++) {
			__m256 w = _mm256_loadu_ps(b + j * LANES);

			for (int i = 0; i < rows; i++)
				acc[i][j] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + i * lda + kk),
							    w, acc[i][j]);
		}
	}
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < regs; j++)
			_mm256_storeu_ps(c + i * ldc + j * LANES, acc[i][j]);
}

/* The last n < 8 columns. */
AVX2 static void mm_tail(float *c, size_t ldc, const float *a, size_t lda, const float *b,
			 size_t ldb, uint32_t m, uint32_t k, uint32_t n)
{
	for (uint32_t i = 0; i < m; i++)
		for (uint32_t j = 0; j < n; j++) {
			float acc = c[i * ldc + j];

			for (uint32_t kk = 0; kk < k; kk++)
				acc = fmaf(a[i * lda + kk], b[kk * ldb + j], acc);
			c[i * ldc + j] = acc;
		}
}

AVX2 static void mm(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb,
		    uint32_t m, uint32_t k, uint32_t n)
{
	uint32_t j = 0;

	for (; j + 4 * LANES <= n; j += 4 * LANES) {
		uint32_t i = 0;

		for (; i + 2 <= m; i += 2)
			mm_block(c + i * ldc + j, ldc, a + i * lda, lda, b + j, ldb, k, 2, 4);
		if (i < m)
			mm_block(c + i * ldc + j, ldc, a + i * lda, lda, b + j, ldb, k, 1, 4);
	}
	for (; j + LANES <= n; j += LANES) {
		uint32_t i = 0;

		for (; i + 2 <= m; i += 2)
			mm_block(c + i * ldc + j, ldc, a + i * lda, lda, b + j, ldb, k, 2, 1);
		if (i < m)
			mm_block(c + i * ldc + j, ldc, a + i * lda, lda, b + j, ldb, k, 1, 1);
	}
	if (j < n)
		mm_tail(c + j, ldc, a, lda, b + j, ldb, m, k, n - j);
}

/* Dword w of rows r..r+7 (16 bytes each), one row a lane. */
INLINE void transpose_dwords(__m256i word[4], const uint8_t *qs, size_t stride)
{
	__m256i r[4], t[4];

	for (int i = 0; i < 4; i++)
		r[i] = _mm256_inserti128_si256(
			_mm256_castsi128_si256(_mm_loadu_si128((const void *)(qs + i * stride))),
			_mm_loadu_si128((const void *)(qs + (i + 4) * stride)), 1);
	t[0] = _mm256_unpacklo_epi32(r[0], r[1]);
	t[1] = _mm256_unpackhi_epi32(r[0], r[1]);
	t[2] = _mm256_unpacklo_epi32(r[2], r[3]);
	t[3] = _mm256_unpackhi_epi32(r[2], r[3]);
	word[0] = _mm256_unpacklo_epi64(t[0], t[2]);
	word[1] = _mm256_unpackhi_epi64(t[0], t[2]);
	word[2] = _mm256_unpacklo_epi64(t[1], t[3]);
	word[3] = _mm256_unpackhi_epi64(t[1], t[3]);
}

INLINE void store_int(float *dst, __m256i v)
{
	_mm256_storeu_ps(dst, _mm256_cvtepi32_ps(v));
}

AVX2 static void unpack_q4(float *q, const uint8_t *qs, size_t stride, uint32_t rows)
{
	const __m256i low = _mm256_set1_epi32(15);

	if (rows < CPU_PANEL) {
		npu_cpu_kernels_scalar.unpack_q4(q, qs, stride, rows);
		return;
	}
	for (int r = 0; r < CPU_PANEL; r += LANES, qs += LANES * stride) {
		__m256i word[4];

		transpose_dwords(word, qs, stride);
		for (int w = 0; w < 4; w++) {
			float *lo = q + 4 * w * CPU_PANEL + r;
			float *hi = lo + CPU_GROUP / 2 * CPU_PANEL;

			for (int i = 0; i < 4; i++) {
				__m256i v = _mm256_srli_epi32(word[w], 8 * i);

				store_int(lo + i * CPU_PANEL, _mm256_and_si256(v, low));
				store_int(hi + i * CPU_PANEL,
					  _mm256_and_si256(_mm256_srli_epi32(v, 4), low));
			}
		}
	}
}

AVX2 static void unpack_q8(float *q, const uint8_t *qs, size_t stride, uint32_t rows)
{
	if (rows < CPU_PANEL) {
		npu_cpu_kernels_scalar.unpack_q8(q, qs, stride, rows);
		return;
	}
	for (int r = 0; r < CPU_PANEL; r += LANES, qs += LANES * stride) {
		for (int half = 0; half < 2; half++) {
			__m256i word[4];

			transpose_dwords(word, qs + 16 * half, stride);
			for (int w = 0; w < 4; w++) {
				float *dst = q + (16 * half + 4 * w) * CPU_PANEL + r;

				for (int i = 0; i < 4; i++)
					store_int(dst + i * CPU_PANEL,
						  _mm256_srai_epi32(
							  _mm256_slli_epi32(word[w], 24 - 8 * i),
							  24));
			}
		}
	}
}

/* acc += a * (integers of lanes @v) */
INLINE __m256 fma_int(const float *a, __m256i v, __m256 acc)
{
	return _mm256_fmadd_ps(_mm256_broadcast_ss(a), _mm256_cvtepi32_ps(v), acc);
}

/* Byte i of every lane, zero extended and shifted right by @shift bits, 4 bits of it. */
INLINE __m256i nibble(__m256i word, int shift)
{
	return _mm256_and_si256(_mm256_srli_epi32(word, shift), _mm256_set1_epi32(15));
}

/* Sixteen weight rows at a time: two chains hide each other's latency. */
AVX2 static void dot_q4(float *part, const float *a, const uint8_t *qs, size_t stride)
{
	for (int r = 0; r < CPU_PANEL; r += 2 * LANES, qs += 2 * LANES * stride) {
		__m256 p0 = _mm256_setzero_ps(), p1 = _mm256_setzero_ps();
		__m256i word[2][4];

		transpose_dwords(word[0], qs, stride);
		transpose_dwords(word[1], qs + LANES * stride, stride);
		for (int high = 0; high < 2; high++) {
			for (int i = 0; i < CPU_GROUP / 2; i++) {
				int shift = 8 * (i % 4) + 4 * high;
				const float *x = a + CPU_GROUP / 2 * high + i;

				p0 = fma_int(x, nibble(word[0][i / 4], shift), p0);
				p1 = fma_int(x, nibble(word[1][i / 4], shift), p1);
			}
		}
		_mm256_storeu_ps(part + r, p0);
		_mm256_storeu_ps(part + r + LANES, p1);
	}
}

/* Byte i of every lane, sign extended. */
INLINE __m256i signed_byte(__m256i word, int i)
{
	return _mm256_srai_epi32(_mm256_slli_epi32(word, 24 - 8 * i), 24);
}

AVX2 static void dot_q8(float *part, const float *a, const uint8_t *qs, size_t stride)
{
	for (int r = 0; r < CPU_PANEL; r += 2 * LANES, qs += 2 * LANES * stride) {
		__m256 p0 = _mm256_setzero_ps(), p1 = _mm256_setzero_ps();

		for (int half = 0; half < 2; half++) {
			__m256i word[2][4];

			transpose_dwords(word[0], qs + 16 * half, stride);
			transpose_dwords(word[1], qs + 16 * half + LANES * stride, stride);
			for (int i = 0; i < CPU_GROUP / 2; i++) {
				const float *x = a + CPU_GROUP / 2 * half + i;

				p0 = fma_int(x, signed_byte(word[0][i / 4], i % 4), p0);
				p1 = fma_int(x, signed_byte(word[1][i / 4], i % 4), p1);
			}
		}
		_mm256_storeu_ps(part + r, p0);
		_mm256_storeu_ps(part + r + LANES, p1);
	}
}

AVX2 static void end_group(float *acc, const float *p, const float *scale, const float *min,
			   const float *sum, size_t sum_stride, uint32_t m)
{
	for (uint32_t i = 0; i < m; i++, acc += CPU_PANEL, p += CPU_PANEL) {
		for (int j = 0; j < CPU_PANEL; j += LANES) {
			__m256 v = _mm256_fmadd_ps(_mm256_loadu_ps(scale + j),
						   _mm256_loadu_ps(p + j),
						   _mm256_loadu_ps(acc + j));

			if (min)
				v = _mm256_fmadd_ps(_mm256_loadu_ps(min + j),
						    _mm256_broadcast_ss(sum + i * sum_stride), v);
			_mm256_storeu_ps(acc + j, v);
		}
	}
}

/* ---- vector ops -------------------------------------------------------------------------- */

INLINE float sum_lanes(__m256 v)
{
	float l[LANES];

	_mm256_storeu_ps(l, v);
	return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

AVX2 static void rms_norm(float *out, const float *x, const float *w, uint32_t n, float eps)
{
	__m256 lane = _mm256_setzero_ps();
	float tail[LANES];
	uint32_t i = 0;
	float r;

	for (; i + LANES <= n; i += LANES) {
		__m256 v = _mm256_loadu_ps(x + i);

		lane = _mm256_fmadd_ps(v, v, lane);
	}
	_mm256_storeu_ps(tail, lane);
	for (; i < n; i++)
		tail[i % LANES] = fmaf(x[i], x[i], tail[i % LANES]);
	r = 1.0f / sqrtf(sum_lanes(_mm256_loadu_ps(tail)) / (float)n + eps);
	for (i = 0; i + LANES <= n; i += LANES) {
		__m256 v = _mm256_mul_ps(_mm256_loadu_ps(x + i), _mm256_set1_ps(r));

		_mm256_storeu_ps(out + i, _mm256_mul_ps(v, _mm256_loadu_ps(w + i)));
	}
	for (; i < n; i++)
		out[i] = (x[i] * r) * w[i];
}

INLINE __m256 exp8(__m256 x)
{
	static const float coeffs[EXP_N_COEFFS] = EXP_COEFFS;
	__m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(EXP_LOG2E)), ROUND_EVEN);
	__m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(EXP_LN2_HI), x);
	__m256 p = _mm256_set1_ps(EXP_P0);
	__m256i e = _mm256_cvtps_epi32(n);
	__m256i half = _mm256_srai_epi32(e, 1);
	__m256i rest = _mm256_sub_epi32(e, half);
	const __m256i bias = _mm256_set1_epi32(127);

	r = _mm256_fmadd_ps(n, _mm256_set1_ps(EXP_LN2_LO), r);
	for (int i = 0; i < EXP_N_COEFFS; i++)
		p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(coeffs[i]));
	half = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
	rest = _mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23);
	p = _mm256_mul_ps(p, _mm256_castsi256_ps(half));
	p = _mm256_mul_ps(p, _mm256_castsi256_ps(rest));
	p = _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(EXP_MIN), _CMP_LT_OQ), p);
	p = _mm256_blendv_ps(p, _mm256_set1_ps(INFINITY),
			     _mm256_cmp_ps(x, _mm256_set1_ps(EXP_MAX), _CMP_GT_OQ));
	return _mm256_blendv_ps(p, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

INLINE __m256 silu8(__m256 x)
{
	__m256 e = exp8(_mm256_xor_ps(x, _mm256_set1_ps(-0.0f)));

	return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1.0f), e));
}

AVX2 static void silu(float *out, const float *x, size_t n)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		_mm256_storeu_ps(out + i, silu8(_mm256_loadu_ps(x + i)));
	for (; i < n; i++)
		out[i] = npu_silu(x[i]);
}

AVX2 static void swiglu(float *out, const float *x, const float *y, size_t n)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		_mm256_storeu_ps(out + i, _mm256_mul_ps(silu8(_mm256_loadu_ps(x + i)),
							_mm256_loadu_ps(y + i)));
	for (; i < n; i++)
		out[i] = npu_silu(x[i]) * y[i];
}

/* All ones in lanes whose column (j + lane) is valid. */
INLINE __m256 valid_mask(uint32_t j, uint32_t first, uint32_t end)
{
	__m256i col = _mm256_add_epi32(_mm256_set1_epi32((int)j),
				       _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
	__m256i below = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)first), col);

	return _mm256_castsi256_ps(
		_mm256_andnot_si256(below, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)end), col)));
}

INLINE float max_lanes(__m256 v, float max)
{
	float l[LANES];

	_mm256_storeu_ps(l, v);
	for (int i = 0; i < LANES; i++)
		max = l[i] > max ? l[i] : max;
	return max;
}

AVX2 static void softmax(float *p, const float *s, struct cpu_softmax *st, float *o,
			 uint32_t o_cols, uint32_t cols, uint32_t first, uint32_t end, float scale)
{
	const __m256 f0 = _mm256_set1_ps(scale);
	__m256 max8 = _mm256_set1_ps(st->m), lane = _mm256_setzero_ps(), max_all;
	uint32_t j;
	float max, c;

	memset(p, 0, cols * sizeof(*p));
	if (first >= end)
		return;
	for (j = first & ~7u; j < end; j += LANES) {
		__m256 t = _mm256_mul_ps(_mm256_loadu_ps(s + j), f0);

		t = _mm256_blendv_ps(max8, t, valid_mask(j, first, end));
		max8 = _mm256_max_ps(t, max8);
	}
	max = max_lanes(max8, st->m);
	max_all = _mm256_set1_ps(max);
	for (j = first & ~7u; j < end; j += LANES) {
		__m256 e = exp8(_mm256_sub_ps(_mm256_mul_ps(_mm256_loadu_ps(s + j), f0), max_all));

		e = _mm256_cvtph_ps(_mm256_cvtps_ph(e, ROUND_EVEN));
		e = _mm256_and_ps(e, valid_mask(j, first, end));
		_mm256_storeu_ps(p + j, e);
		lane = _mm256_add_ps(lane, e);
	}
	c = npu_exp(st->m - max);
	st->l = (st->l * c) + sum_lanes(lane);
	st->m = max;
	for (j = 0; j < o_cols; j++)
		o[j] *= c;
}

static const struct cpu_kernels kernels_avx2 = {
	.name = "avx2",
	.widen = widen,
	.narrow = narrow,
	.mm = mm,
	.unpack_q4 = unpack_q4,
	.unpack_q8 = unpack_q8,
	.dot_q4 = dot_q4,
	.dot_q8 = dot_q8,
	.end_group = end_group,
	.rms_norm = rms_norm,
	.rope = npu_cpu_scalar_rope,
	.silu = silu,
	.swiglu = swiglu,
	.add = npu_cpu_scalar_add,
	.mul = npu_cpu_scalar_mul,
	.div_row = npu_cpu_scalar_div_row,
	.softmax = softmax,
};

/* Not every compiler knows the feature by name. */
static int have_f16c(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
}

const struct cpu_kernels *npu_cpu_kernels_avx2(void)
{
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && have_f16c())
		return &kernels_avx2;
	return NULL;
}

#else

const struct cpu_kernels *npu_cpu_kernels_avx2(void)
{
	return NULL;
}

#endif
