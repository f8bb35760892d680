// SPDX-License-Identifier: MIT
/* Portable kernels; the order of operations is the contract's, written as plainly as possible. */
#include "kernels.h"

#include <math.h>
#include <string.h>

#include "exp.h"
#include "fp16.h"

#define LANES 8

static float sum_lanes(const float l[LANES])
{
	return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

static void widen(float *dst, const uint16_t *src, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = fp16_widen(src[i]);
}

static void narrow(uint16_t *dst, const float *src, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = fp16_narrow(src[i]);
}

static void mm(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb,
	       uint32_t m, uint32_t k, uint32_t n)
{
	for (uint32_t i = 0; i < m; i++)
		for (uint32_t kk = 0; kk < k; kk++)
			for (uint32_t j = 0; j < n; j++)
				c[i * ldc + j] = fmaf(a[i * lda + kk], b[kk * ldb + j],
						      c[i * ldc + j]);
}

static void unpack_q4(float *q, const uint8_t *qs, size_t stride, uint32_t rows)
{
	memset(q, 0, CPU_GROUP * CPU_PANEL * sizeof(*q));
	for (uint32_t r = 0; r < rows; r++, qs += stride) {
		for (uint32_t i = 0; i < CPU_GROUP / 2; i++) {
			q[i * CPU_PANEL + r] = qs[i] & 15;
			q[(i + CPU_GROUP / 2) * CPU_PANEL + r] = qs[i] >> 4;
		}
	}
}

static void unpack_q8(float *q, const uint8_t *qs, size_t stride, uint32_t rows)
{
	memset(q, 0, CPU_GROUP * CPU_PANEL * sizeof(*q));
	for (uint32_t r = 0; r < rows; r++, qs += stride)
		for (uint32_t i = 0; i < CPU_GROUP; i++)
			q[i * CPU_PANEL + r] = (int8_t)qs[i];
}

static void dot_q4(float *part, const float *a, const uint8_t *qs, size_t stride)
{
	for (uint32_t j = 0; j < CPU_PANEL; j++, qs += stride) {
		float p = 0.0f;

		for (uint32_t i = 0; i < CPU_GROUP / 2; i++)
			p = fmaf(a[i], qs[i] & 15, p);
		for (uint32_t i = 0; i < CPU_GROUP / 2; i++)
			p = fmaf(a[i + CPU_GROUP / 2], qs[i] >> 4, p);
		part[j] = p;
	}
}

static void dot_q8(float *part, const float *a, const uint8_t *qs, size_t stride)
{
	for (uint32_t j = 0; j < CPU_PANEL; j++, qs += stride) {
		float p = 0.0f;

		for (uint32_t i = 0; i < CPU_GROUP; i++)
			p = fmaf(a[i], (int8_t)qs[i], p);
		part[j] = p;
	}
}

static void end_group(float *acc, const float *p, const float *scale, const float *min,
		      const float *sum, size_t sum_stride, uint32_t m)
{
	for (uint32_t i = 0; i < m; i++, acc += CPU_PANEL, p += CPU_PANEL) {
		for (uint32_t j = 0; j < CPU_PANEL; j++) {
			acc[j] = fmaf(scale[j], p[j], acc[j]);
			if (min)
				acc[j] = fmaf(min[j], sum[i * sum_stride], acc[j]);
		}
	}
}

static void rms_norm(float *out, const float *x, const float *w, uint32_t n, float eps)
{
	float lane[LANES] = { 0 };
	float r;

	for (uint32_t i = 0; i < n; i++)
		lane[i % LANES] = fmaf(x[i], x[i], lane[i % LANES]);
	r = 1.0f / sqrtf(sum_lanes(lane) / (float)n + eps);
	for (uint32_t i = 0; i < n; i++)
		out[i] = (x[i] * r) * w[i];
}

void npu_cpu_scalar_rope(float *out, const float *x, const float *table, uint32_t n, int neox)
{
	uint32_t half = n / 2;

	for (uint32_t i = 0; i < half; i++) {
		uint32_t i0 = neox ? i : 2 * i;
		uint32_t i1 = neox ? i + half : 2 * i + 1;
		float c = table[i], s = table[half + i];
		float x0 = x[i0], x1 = x[i1];

		out[i0] = (x0 * c) - (x1 * s);
		out[i1] = (x0 * s) + (x1 * c);
	}
}

static void silu(float *out, const float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = npu_silu(x[i]);
}

static void swiglu(float *out, const float *x, const float *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = npu_silu(x[i]) * y[i];
}

void npu_cpu_scalar_add(float *out, const float *x, const float *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = x[i] + y[i];
}

void npu_cpu_scalar_mul(float *out, const float *x, const float *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = x[i] * y[i];
}

void npu_cpu_scalar_div_row(float *out, const float *x, float y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = x[i] / y;
}

static void softmax(float *p, const float *s, struct cpu_softmax *st, float *o, uint32_t o_cols,
		    uint32_t cols, uint32_t first, uint32_t end, float scale)
{
	float lane[LANES] = { 0 };
	float max = st->m, c;

	memset(p, 0, cols * sizeof(*p));
	if (first >= end)
		return;
	for (uint32_t j = first; j < end; j++)
		max = s[j] * scale > max ? s[j] * scale : max;
	for (uint32_t j = first; j < end; j++) {
		p[j] = fp16_widen(fp16_narrow(npu_exp(s[j] * scale - max)));
		lane[j % LANES] += p[j];
	}
	c = npu_exp(st->m - max);
	st->l = (st->l * c) + sum_lanes(lane);
	st->m = max;
	for (uint32_t j = 0; j < o_cols; j++)
		o[j] *= c;
}

const struct cpu_kernels npu_cpu_kernels_scalar = {
	.name = "scalar",
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
