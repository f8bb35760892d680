/* SPDX-License-Identifier: MIT */
/*
 * Inner loops of VX, included by each table's file with VX_TARGET as its target attribute: the
 * compiler widens them as far as that allows.  Each operator rounds once (-ffp-contract=off),
 * fmaf() is one instruction where the target has it, and lanes are independent, so every build
 * gives the same bits.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef VX_TARGET
#define VX_TARGET
#endif

/* 2^n as a float, -126 <= n <= 127. */
VX_TARGET static inline float vx_pow2(int32_t n)
{
	uint32_t bits = (uint32_t)(n + 127) << 23;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

VX_TARGET static inline float vx_exp(float x)
{
	/* Arguments out of range take any path through the polynomial, replaced at the end. */
	float in = x < -87.0f ? -87.0f : x, n, r, p;
	int32_t i;

	in = in > 88.0f ? 88.0f : in;
	in = in == in ? in : 0.0f;
	n = rintf(in * 0x1.715476p+0f);
	r = fmaf(n, -0x1.63p-1f, in);
	r = fmaf(n, 0x1.bd0106p-13f, r);
	p = 0x1.a0d2cep-13f;
	p = fmaf(p, r, 0x1.6e879cp-10f);
	p = fmaf(p, r, 0x1.11121p-7f);
	p = fmaf(p, r, 0x1.555382p-5f);
	p = fmaf(p, r, 0x1.555554p-3f);
	p = fmaf(p, r, 0.5f);
	p = fmaf(p, r, 1.0f);
	p = fmaf(p, r, 1.0f);
	i = (int32_t)n;
	p = p * vx_pow2(i >> 1) * vx_pow2(i - (i >> 1));
	p = x < -87.0f ? 0.0f : p;
	p = x > 88.0f ? INFINITY : p;
	return x == x ? p : x;
}

/* A table's file may bring its own sums and exponentials, where compilers do not widen these. */
#ifndef VX_OWN_LOOPS

VX_TARGET static void vx_sumsq(float lane[8], const float *x, size_t n)
{
	size_t i, l;

	for (i = 0; i + 8 <= n; i += 8)
		for (l = 0; l < 8; l++)
			lane[l] = fmaf(x[i + l], x[i + l], lane[l]);
	for (l = 0; i + l < n; l++)
		lane[l] = fmaf(x[i + l], x[i + l], lane[l]);
}

VX_TARGET static void vx_sum(float lane[8], const float *x, size_t n)
{
	size_t i, l;

	for (i = 0; i + 8 <= n; i += 8)
		for (l = 0; l < 8; l++)
			lane[l] = lane[l] + x[i + l];
	for (l = 0; i + l < n; l++)
		lane[l] = lane[l] + x[i + l];
}

VX_TARGET static void vx_silu(float *restrict out, const float *restrict x, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		out[i] = x[i] / (1.0f + vx_exp(-x[i]));
}

VX_TARGET static void vx_exp_scaled(float *restrict out, const float *restrict x, float f0,
				    float max, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		out[i] = vx_exp(x[i] * f0 - max);
}

#endif

VX_TARGET static void vx_norm(float *restrict out, const float *restrict x, const float *restrict y,
			      float r, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		out[i] = (x[i] * r) * y[i];
}

VX_TARGET static void vx_add(float *restrict out, const float *restrict x, const float *restrict y,
			     size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		out[i] = x[i] + y[i];
}

VX_TARGET static void vx_mul(float *restrict out, const float *restrict x, const float *restrict y,
			     size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		out[i] = x[i] * y[i];
}

VX_TARGET static void vx_mul1(float *restrict out, const float *restrict x, float y, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		out[i] = x[i] * y;
}

VX_TARGET static void vx_div1(float *restrict out, const float *restrict x, float y, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		out[i] = x[i] / y;
}

VX_TARGET static void vx_rope(float *restrict out0, float *restrict out1, const float *restrict x0,
			      const float *restrict x1, const float *restrict c,
			      const float *restrict s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		out0[i] = (x0[i] * c[i]) - (x1[i] * s[i]);
		out1[i] = (x0[i] * s[i]) + (x1[i] * c[i]);
	}
}

#define SIM_VX_LOOPS \
	.sumsq = vx_sumsq, .norm = vx_norm, .silu = vx_silu, .add = vx_add, .mul = vx_mul, \
	.mul1 = vx_mul1, .div1 = vx_div1, .rope = vx_rope, .exp_scaled = vx_exp_scaled, \
	.sum = vx_sum,
