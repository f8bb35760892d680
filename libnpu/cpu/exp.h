/* SPDX-License-Identifier: MIT */
/* exp() of the NE1 contract, section 6.  The constants are also used by the vector kernels. */
#ifndef LIBNPU_CPU_EXP_H
#define LIBNPU_CPU_EXP_H

#include <math.h>
#include <stdint.h>

#include "fp16.h"

#define EXP_MIN	   -87.0f
#define EXP_MAX	   88.0f
#define EXP_LOG2E  0x1.715476p+0f
#define EXP_LN2_HI -0x1.63p-1f
#define EXP_LN2_LO 0x1.bd0106p-13f
#define EXP_P0	   0x1.a0d2cep-13f
#define EXP_COEFFS \
	{ \
		0x1.6e879cp-10f, 0x1.11121p-7f, 0x1.555382p-5f, 0x1.555554p-3f, 0x1.0p-1f, 1.0f, \
			1.0f \
	}
#define EXP_N_COEFFS 7

static inline float npu_exp(float x)
{
	static const float coeffs[EXP_N_COEFFS] = EXP_COEFFS;
	float n, r, p = EXP_P0;
	int32_t e;

	if (x < EXP_MIN)
		return 0.0f;
	if (x > EXP_MAX)
		return INFINITY;
	if (x != x)
		return x;
	n = rintf(x * EXP_LOG2E);
	r = fmaf(n, EXP_LN2_HI, x);
	r = fmaf(n, EXP_LN2_LO, r);
	for (int i = 0; i < EXP_N_COEFFS; i++)
		p = fmaf(p, r, coeffs[i]);
	e = (int32_t)n;
	p *= fp32_from_bits((uint32_t)((e >> 1) + 127) << 23);
	return p * fp32_from_bits((uint32_t)(e - (e >> 1) + 127) << 23);
}

static inline float npu_silu(float x)
{
	return x / (1.0f + npu_exp(-x));
}

#endif
