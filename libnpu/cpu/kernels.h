/* SPDX-License-Identifier: MIT */
/*
 * The inner loops of the CPU executor, one table per instruction set.  All tables give the same
 * bits, those of driver/hw/ne1.md, section 6.  Operands are F32 in memory unless named otherwise;
 * rows are contiguous; nothing needs alignment; out may equal an input of the same shape.
 */
#ifndef LIBNPU_CPU_KERNELS_H
#define LIBNPU_CPU_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#define CPU_GROUP 32 /* elements that share a scale */
#define CPU_PANEL 32 /* weight rows (output columns) that are unpacked together */

/* One row's running state of the online softmax. */
struct cpu_softmax {
	float m, l;
};

struct cpu_kernels {
	const char *name;

	/* F16 <-> F32 */
	void (*widen)(float *dst, const uint16_t *src, size_t n);
	void (*narrow)(uint16_t *dst, const float *src, size_t n);

	/* C[m][n] += A[m][k] * B[k][n], every element one chain of fma in ascending k.
	 * Leading dimensions in elements.
	 */
	void (*mm)(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb,
		   uint32_t m, uint32_t k, uint32_t n);

	/* Integers of one group of @rows <= CPU_PANEL weight rows, transposed: q[kk * CPU_PANEL +
	 * row]; columns beyond @rows are set to 0.  Row r starts at qs + r * stride. q4: 16 bytes,
	 * element i < 16 in the low nibble of byte i, i + 16 in the high one; 0..15. q8: 32 signed
	 * bytes.
	 */
	void (*unpack_q4)(float *q, const uint8_t *qs, size_t stride, uint32_t rows);
	void (*unpack_q8)(float *q, const uint8_t *qs, size_t stride, uint32_t rows);

	/* unpack and mm in one, for a single row of A: part[j] = the chain of fma(a[kk], q[kk][j])
	 * from +0 over the group, for CPU_PANEL weight rows.
	 */
	void (*dot_q4)(float *part, const float *a, const uint8_t *qs, size_t stride);
	void (*dot_q8)(float *part, const float *a, const uint8_t *qs, size_t stride);

	/* End of a group, for CPU_PANEL columns of @m rows: acc = fma(scale, p, acc), then, unless
	 * min is NULL, acc = fma(min, sum, acc) with sum[i * sum_stride] for row i.
	 */
	void (*end_group)(float *acc, const float *p, const float *scale, const float *min,
			  const float *sum, size_t sum_stride, uint32_t m);

	void (*rms_norm)(float *out, const float *x, const float *w, uint32_t n, float eps);
	/* table: cos[n / 2], sin[n / 2]; neox pairs (i, i + n / 2) instead of (2i, 2i + 1). */
	void (*rope)(float *out, const float *x, const float *table, uint32_t n, int neox);
	void (*silu)(float *out, const float *x, size_t n);
	void (*swiglu)(float *out, const float *x, const float *y, size_t n);
	void (*add)(float *out, const float *x, const float *y, size_t n);
	void (*mul)(float *out, const float *x, const float *y, size_t n);
	void (*div_row)(float *out, const float *x, float y, size_t n);

	/* One tile of the online softmax: columns first..end-1 of @cols are valid (a multiple of 8;
	 * s holds any finite or non-finite values elsewhere).  p gets probabilities rounded to F16,
	 * 0 in masked columns; o[o_cols] is scaled.  @st starts as {-FLT_MAX, 0} and o as zeros.
	 */
	void (*softmax)(float *p, const float *s, struct cpu_softmax *st, float *o, uint32_t o_cols,
			uint32_t cols, uint32_t first, uint32_t end, float scale);
};

/* The fastest table that this CPU runs; the choice is made once per process. */
const struct cpu_kernels *npu_cpu_kernels(void);

extern const struct cpu_kernels npu_cpu_kernels_scalar;

/* Not worth a version of their own: few elements, and compilers do them well. */
void npu_cpu_scalar_rope(float *out, const float *x, const float *table, uint32_t n, int neox);
void npu_cpu_scalar_add(float *out, const float *x, const float *y, size_t n);
void npu_cpu_scalar_mul(float *out, const float *x, const float *y, size_t n);
void npu_cpu_scalar_div_row(float *out, const float *x, float y, size_t n);

/* NULL where the CPU or the architecture lacks it. */
const struct cpu_kernels *npu_cpu_kernels_avx2(void);

#endif
