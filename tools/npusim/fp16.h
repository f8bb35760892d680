/* SPDX-License-Identifier: MIT */
/* Scalar conversions between fp16 and fp32 of the contract: nearest even, subnormals kept. */
#ifndef NPUSIM_FP16_H
#define NPUSIM_FP16_H

#include <stdint.h>
#include <string.h>

/* Operands in SRAM: bytes that commands see as one type or another. */
typedef float __attribute__((may_alias)) sim_f32;
typedef uint16_t __attribute__((may_alias)) sim_f16;

static inline float sim_f16_to_f32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 0x1f, man = h & 0x3ff, bits;
	float f;

	if (exp == 0x1f) {
		bits = sign | 0x7f800000 | man << 13 | (man ? 0x400000 : 0);
	} else if (exp) {
		bits = sign | (exp + 112) << 23 | man << 13;
	} else {
		f = (float)man * 0x1p-24f;	/* exact; zero and subnormals */
		memcpy(&bits, &f, sizeof(bits));
		bits |= sign;
	}
	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline uint16_t sim_f32_to_f16(float f)
{
	uint32_t bits, sign, man, shift, half;
	int32_t exp;

	memcpy(&bits, &f, sizeof(bits));
	sign = bits >> 16 & 0x8000;
	exp = (int32_t)(bits >> 23 & 0xff) - 127;
	man = bits & 0x7fffff;
	if (exp == 128)
		return (uint16_t)(sign | 0x7c00 | (man ? 0x200 | man >> 13 : 0));
	if (exp > 15)
		return (uint16_t)(sign | 0x7c00);
	if (exp < -25)
		return (uint16_t)sign;
	man |= 0x800000;
	/* A unit of the result is 2^-24 or 2^(exp - 10). */
	shift = exp < -14 ? (uint32_t)(-1 - exp) : 13;
	half = exp < -14 ? 0 : (uint32_t)(exp + 14) << 10;
	half += man >> shift;
	man &= (1u << shift) - 1;
	if (man > 1u << (shift - 1) || (man == 1u << (shift - 1) && half & 1))
		half++;		/* may carry into the exponent, up to infinity */
	return (uint16_t)(sign | half);
}

#endif
