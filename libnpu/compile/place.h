/* SPDX-License-Identifier: MIT */
/* Which ops run on the NPU, and the segments that follow from it. */
#ifndef LIBNPU_COMPILE_PLACE_H
#define LIBNPU_COMPILE_PLACE_H

#include <stdbool.h>

#include "npu/compile.h"

/* Why @op cannot run on @chip (static text), or NULL if it can. */
const char *npu_cpu_reason(const struct npu_chip_info *chip, const npu_graph *g,
			   const struct npu_op *op);

struct placement {
	struct npu_op_placement *ops;
	struct npu_segment *segments;
	uint32_t n_segments;
};

/* @cpu_ops: bit n sends ops of kind n to the CPU. */
npu_status npu_place(const struct npu_chip_info *chip, const npu_graph *g, uint64_t cpu_ops,
		     struct placement *out);
void npu_placement_fini(struct placement *p);
void npu_placement_dump(const struct placement *p, const npu_graph *g, FILE *f);

#endif
