/* SPDX-License-Identifier: MIT */
/* IEEE half precision in integer arithmetic: the same bits on every host. */
#ifndef LIBNPU_FP16_H
#define LIBNPU_FP16_H

#include <stdint.h>
#include <string.h>

static inline float fp32_from_bits(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline uint32_t fp32_to_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

/* Exact. */
static inline float fp16_widen(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16;
	uint32_t exp = h >> 10 & 0x1f;
	uint32_t man = h & 0x3ff;

	if (exp == 0) /* zero or subnormal: man * 2^-24 is exact */
		return fp32_from_bits(sign | fp32_to_bits((float)man * 0x1p-24f));
	if (exp == 31)
		return fp32_from_bits(sign | 0x7f800000 | man << 13);
	return fp32_from_bits(sign | (exp + 112) << 23 | man << 13);
}

/* Rounds to nearest even; overflows to infinity. */
static inline uint16_t fp16_narrow(float f)
{
	uint32_t u = fp32_to_bits(f);
	uint16_t sign = u >> 16 & 0x8000;
	uint32_t half;

	u &= 0x7fffffff;
	if (u >= 0x47800000) /* 65536 and up, infinity, NaN */
		return sign | (u > 0x7f800000 ? 0x7e00 : 0x7c00);
	if (u <
	    0x38800000) { /* below 2^-14: adding 0.5 leaves man * 2^-24 in the low bits, rounded */
		half = fp32_to_bits(fp32_from_bits(u) + 0.5f) - 0x3f000000;
		return sign | half;
	}
	half = (u - 0x38000000) >> 13;
	/* Halfway cases go to even; a carry runs into the exponent and, at the top, to infinity. */
	if ((u & 0x1fff) > 0x1000 || ((u & 0x1fff) == 0x1000 && (half & 1)))
		half++;
	return sign | half;
}

#endif
