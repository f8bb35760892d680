/* SPDX-License-Identifier: MIT */
/*
 * Inner loops of MX and VX, one table per instruction set.  Every table gives the same bits: the
 * order of roundings of each result is the contract's, only independent results go side by side.
 */
#ifndef NPUSIM_SIMD_H
#define NPUSIM_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fp16.h"
#include "ne1_cmd.h"

#define SIM_BLOCK	(NE1_GROUP * NE1_PANEL)	/* floats of a block [32 of k][32 columns] */
#define SIM_MX_ROWS	32			/* rows of A worked on together */
#define SIM_VX_CHUNK	256			/* elements per call, a multiple of 8 */

enum sim_simd_level {
	SIM_SIMD_SCALAR,
	SIM_SIMD_AVX2,	/* with FMA and F16C */
	SIM_SIMD_NEON,
	SIM_SIMD_BEST,
};

struct sim_simd {
	const char *name;

	void (*f16_to_f32)(float *out, const sim_f16 *in, size_t n);
	void (*f32_to_f16)(sim_f16 *out, const float *in, size_t n);

	/* MX: one block of B as fp32; columns from @nc on are zero; rows are @stride bytes apart */
	void (*fill_i8)(float *block, const uint8_t *q);
	void (*fill_u4)(float *block, const uint8_t *q);
	void (*fill_kn)(float *block, const uint8_t *b, size_t stride, unsigned int kc,
			unsigned int nc, bool f32);
	void (*fill_nk)(float *block, const uint8_t *b, size_t stride, unsigned int kc,
			unsigned int nc, bool f32);
	/* acc[r][j] = fma(a[r][kk], block[kk][j], acc[r][j]), kk ascending; @a_stride in floats */
	void (*dot)(float *acc, const float *a, size_t a_stride, unsigned int rows,
		    const float *block, unsigned int kc);
	/* acc[r][j] = fma(scale[j], p[r][j], acc[r][j]), with @min then fma(min[j], sum[r], acc) */
	void (*scale)(float *acc, const float *p, unsigned int rows, const sim_f16 *scale,
		      const sim_f16 *min, const float *sum, size_t sum_stride);
	/* One row times one packed panel of @groups. */
	void (*gemv_i8)(float *acc, const float *a, const uint8_t *panel, unsigned int groups);
	void (*gemv_u4m)(float *acc, const float *a, const float *sum, const uint8_t *panel,
			 unsigned int groups);

	/* VX: @n <= SIM_VX_CHUNK elements of fp32. */
	void (*sumsq)(float lane[8], const float *x, size_t n);
	void (*norm)(float *out, const float *x, const float *y, float r, size_t n);
	void (*silu)(float *out, const float *x, size_t n);
	void (*add)(float *out, const float *x, const float *y, size_t n);
	void (*mul)(float *out, const float *x, const float *y, size_t n);
	void (*mul1)(float *out, const float *x, float y, size_t n);
	void (*div1)(float *out, const float *x, float y, size_t n);
	void (*rope)(float *out0, float *out1, const float *x0, const float *x1, const float *c,
		     const float *s, size_t n);
	/* out = exp(x * f0 - max) */
	void (*exp_scaled)(float *out, const float *x, float f0, float max, size_t n);
	void (*sum)(float lane[8], const float *x, size_t n);
};

extern const struct sim_simd sim_simd_scalar;
#if defined(__x86_64__)
extern const struct sim_simd sim_simd_avx2;
#elif defined(__aarch64__)
extern const struct sim_simd sim_simd_neon;
#endif

/* Loops of @level (SIM_SIMD_BEST: the fastest), NULL if this host has not got it. */
const struct sim_simd *sim_simd_table(enum sim_simd_level level);

/* Makes cores created from now on use @level; false if the host has not got it.  For tests. */
bool sim_simd_select(enum sim_simd_level level);
const struct sim_simd *sim_simd_selected(void);

/* exp of the contract. */
float sim_expf(float x);

#endif
