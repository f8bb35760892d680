/* SPDX-License-Identifier: MIT */
/* How a weight of the model file lies in device memory as operand B of the matrix engine. */
#ifndef LIBNPU_COMPILE_PACK_H
#define LIBNPU_COMPILE_PACK_H

#include <stdbool.h>

#include "ne1_cmd.h"
#include "npu/graph.h"

/*
 * A weight [n][k] is a row of equal units of unit_cols outputs each: panels of 32 (packed types) or
 * single rows (plain types).  Within a unit, k is a row of steps of step_k elements; a matrix tile
 * is a range of units by a range of steps.  The last step of a plain row may be short.
 */
struct weight_layout {
	enum ne1_type type;
	bool packed;
	uint32_t n, k;
	uint32_t unit_cols, n_units;
	uint32_t unit_bytes;		/* multiple of 4 */
	uint32_t step_k, step_bytes;
	uint64_t bytes;
};

/* False, with the reason in @why (static text), if the matrix engine cannot use it. */
bool npu_weight_layout(const struct npu_tensor *t, struct weight_layout *out, const char **why);

/* Fill @dst (layout->bytes, 4-byte aligned) from t->data. */
npu_status npu_weight_pack(const struct npu_tensor *t, const struct weight_layout *layout,
			   void *dst);

#endif
