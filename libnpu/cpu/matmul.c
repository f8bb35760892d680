// SPDX-License-Identifier: MIT
/*
 * MATMUL on weights as the model file stores them.  The work is cut into panels of CPU_PANEL weight
 * rows; a panel's group of CPU_GROUP values is unpacked to F32 once and used for up to ROW_BLOCK
 * tokens.
 */
#include "exec.h"

#include <string.h>

#include "fp16.h"

#define ROW_BLOCK    64u
#define BLOCK_FLOATS (CPU_GROUP * CPU_PANEL)

/* Where a block keeps its fields; packed types only. */
struct packing {
	uint32_t block_bytes;
	uint32_t quants; /* offset of the integers; the scale is at 0 */
	int has_min;	 /* stored at offset 2 for Q4_1, computed for Q4_0 */
	int bits;
};

static const struct packing *packing_of(enum npu_dtype dtype)
{
	static const struct packing q4_0 = { 18, 2, 1, 4 }, q4_1 = { 20, 4, 1, 4 },
				    q8_0 = { 34, 2, 0, 8 };

	switch (dtype) {
	case NPU_DTYPE_Q4_0: return &q4_0;
	case NPU_DTYPE_Q4_1: return &q4_1;
	case NPU_DTYPE_Q8_0: return &q8_0;
	default: return NULL;
	}
}

struct matmul {
	const struct cpu_run *run;
	const float *a;	   /* [m][k], widened */
	const float *sums; /* [m][k / CPU_GROUP] of a's groups, for types with a minimum */
	const struct packing *pack;
	enum npu_dtype wtype, ctype;
	const uint8_t *w;
	size_t w_stride; /* bytes of a weight row */
	void *c;
	uint32_t m, k, n;
};

/* A thread's scratch. */
struct panel {
	float acc[ROW_BLOCK * CPU_PANEL];
	float part[ROW_BLOCK * CPU_PANEL];
	float q[BLOCK_FLOATS];
	float scale[CPU_PANEL], min[CPU_PANEL];
};

struct cpu_need cpu_matmul_need(const npu_graph *g, const struct npu_op *op)
{
	const struct npu_tensor *a = npu_graph_tensor(g, op->in[0]);
	size_t floats = (size_t)a->rows * a->cols;

	return (struct cpu_need) { .shared = floats + floats / CPU_GROUP,
				   .local = sizeof(struct panel) / sizeof(float) };
}

static void read_scales(const struct matmul *mm, struct panel *p, const uint8_t *block,
			uint32_t cols)
{
	uint16_t scale[CPU_PANEL] = { 0 }, min[CPU_PANEL] = { 0 };

	for (uint32_t j = 0; j < cols; j++, block += mm->w_stride) {
		memcpy(&scale[j], block, 2);
		if (mm->wtype == NPU_DTYPE_Q4_1)
			memcpy(&min[j], block + 2, 2);
		else if (mm->wtype == NPU_DTYPE_Q4_0)
			min[j] = fp16_narrow(-8.0f * fp16_widen(scale[j]));
	}
	mm->run->cpu->k->widen(p->scale, scale, CPU_PANEL);
	if (mm->pack->has_min)
		mm->run->cpu->k->widen(p->min, min, CPU_PANEL);
}

/*
 * Ask for the part of the next panel that is as large as what one group takes.  Within a panel rows
 * are read 32 at a time, a pattern that hardware does not foresee.
 */
static void prefetch_next_panel(const struct matmul *mm, uint32_t j0, uint32_t group)
{
	size_t part = (size_t)CPU_PANEL * mm->pack->block_bytes;
	const uint8_t *p = mm->w + (j0 + CPU_PANEL) * mm->w_stride + group * part;

	if (j0 + 2 * CPU_PANEL > mm->n)
		return;
	for (size_t i = 0; i < part; i += 64)
		__builtin_prefetch(p + i);
}

/* part[i][j] of the group of A and weight integers that start at @a and @qs. */
static void packed_group(const struct matmul *mm, struct panel *p, const float *a,
			 const uint8_t *qs, uint32_t rows, uint32_t cols)
{
	const struct cpu_kernels *k = mm->run->cpu->k;
	int q4 = mm->pack->bits == 4;

	if (rows == 1 && cols == CPU_PANEL) {
		(q4 ? k->dot_q4 : k->dot_q8)(p->part, a, qs, mm->w_stride);
		return;
	}
	(q4 ? k->unpack_q4 : k->unpack_q8)(p->q, qs, mm->w_stride, cols);
	memset(p->part, 0, rows * CPU_PANEL * sizeof(float));
	k->mm(p->part, CPU_PANEL, a, mm->k, p->q, CPU_PANEL, rows, CPU_GROUP, CPU_PANEL);
}

/* acc[i][j] for rows i0.. of A and the @cols weight rows from j0. */
static void packed_block(const struct matmul *mm, struct panel *p, uint32_t i0, uint32_t rows,
			 uint32_t j0, uint32_t cols)
{
	uint32_t n_groups = mm->k / CPU_GROUP;
	const uint8_t *block = mm->w + j0 * mm->w_stride;
	const float *a = mm->a + (size_t)i0 * mm->k;

	for (uint32_t g = 0; g < n_groups; g++, block += mm->pack->block_bytes, a += CPU_GROUP) {
		prefetch_next_panel(mm, j0, g);
		read_scales(mm, p, block, cols);
		packed_group(mm, p, a, block + mm->pack->quants, rows, cols);
		mm->run->cpu->k->end_group(p->acc, p->part, p->scale,
					   mm->pack->has_min ? p->min : NULL,
					   mm->sums + (size_t)i0 * n_groups + g, n_groups, rows);
	}
}

/* F32 values of @n elements of a plain weight row. */
static void widen_plain(const struct cpu_kernels *k, enum npu_dtype dtype, float *dst,
			const uint8_t *src, uint32_t n)
{
	uint16_t half[CPU_GROUP];

	if (dtype == NPU_DTYPE_F32) {
		memcpy(dst, src, n * sizeof(float));
		return;
	}
	memcpy(half, src, n * sizeof(half[0]));
	if (dtype == NPU_DTYPE_F16) {
		k->widen(dst, half, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++) /* BF16: the upper half of an F32 */
		dst[i] = fp32_from_bits((uint32_t)half[i] << 16);
}

static void plain_block(const struct matmul *mm, struct panel *p, uint32_t i0, uint32_t rows,
			uint32_t j0, uint32_t cols)
{
	const struct cpu_kernels *k = mm->run->cpu->k;
	size_t size = npu_dtype_row_bytes(mm->wtype, 1);

	for (uint32_t k0 = 0; k0 < mm->k; k0 += CPU_GROUP) {
		uint32_t kn = mm->k - k0 < CPU_GROUP ? mm->k - k0 : CPU_GROUP;
		float row[CPU_GROUP];

		memset(p->q, 0, sizeof(p->q));
		for (uint32_t j = 0; j < cols; j++) {
			widen_plain(k, mm->wtype, row, mm->w + (j0 + j) * mm->w_stride + k0 * size,
				    kn);
			for (uint32_t kk = 0; kk < kn; kk++)
				p->q[kk * CPU_PANEL + j] = row[kk];
		}
		k->mm(p->acc, CPU_PANEL, mm->a + (size_t)i0 * mm->k + k0, mm->k, p->q, CPU_PANEL,
		      rows, kn, CPU_PANEL);
	}
}

static void store_block(const struct matmul *mm, const struct panel *p, uint32_t i0, uint32_t rows,
			uint32_t j0, uint32_t cols)
{
	for (uint32_t i = 0; i < rows; i++) {
		size_t at = (size_t)(i0 + i) * mm->n + j0;
		const float *acc = p->acc + i * CPU_PANEL;

		if (mm->ctype == NPU_DTYPE_F32)
			memcpy((float *)mm->c + at, acc, cols * sizeof(float));
		else
			mm->run->cpu->k->narrow((uint16_t *)mm->c + at, acc, cols);
	}
}

static void matmul_panel(void *arg, uint32_t item, uint32_t thread)
{
	const struct matmul *mm = arg;
	struct panel *p = (struct panel *)run_local(mm->run, thread);
	uint32_t j0 = item * CPU_PANEL;
	uint32_t cols = mm->n - j0 < CPU_PANEL ? mm->n - j0 : CPU_PANEL;

	for (uint32_t i0 = 0; i0 < mm->m; i0 += ROW_BLOCK) {
		uint32_t rows = mm->m - i0 < ROW_BLOCK ? mm->m - i0 : ROW_BLOCK;

		memset(p->acc, 0, rows * CPU_PANEL * sizeof(float));
		if (mm->pack)
			packed_block(mm, p, i0, rows, j0, cols);
		else
			plain_block(mm, p, i0, rows, j0, cols);
		store_block(mm, p, i0, rows, j0, cols);
	}
}

/* Sum of each group of A, in ascending order. */
static void group_sums(float *sums, const float *a, size_t n_groups)
{
	for (size_t g = 0; g < n_groups; g++, a += CPU_GROUP) {
		float s = 0.0f;

		for (int i = 0; i < CPU_GROUP; i++)
			s += a[i];
		sums[g] = s;
	}
}

void cpu_matmul(struct cpu_run *r)
{
	const struct npu_tensor *a = run_in(r, 0), *w = run_in(r, 1), *c = run_out(r);
	struct npu_cpu *cpu = r->cpu;
	struct matmul mm = {
		.run = r,
		.a = cpu->shared,
		.pack = packing_of(w->dtype),
		.wtype = w->dtype,
		.ctype = c->dtype,
		.w = w->data,
		.w_stride = npu_dtype_row_bytes(w->dtype, w->cols),
		.c = run_data(r, c),
		.m = run_rows(r, a),
		.k = a->cols,
		.n = c->cols,
	};
	size_t floats = (size_t)mm.m * mm.k;

	if (a->dtype == NPU_DTYPE_F32)
		memcpy(cpu->shared, run_data(r, a), floats * sizeof(float));
	else
		cpu->k->widen(cpu->shared, run_data(r, a), floats);
	mm.sums = cpu->shared + floats;
	if (mm.pack && mm.pack->has_min)
		group_sums(cpu->shared + floats, cpu->shared, floats / CPU_GROUP);
	cpu_pool_run(cpu->pool, matmul_panel, &mm, (mm.n + CPU_PANEL - 1) / CPU_PANEL);
}
