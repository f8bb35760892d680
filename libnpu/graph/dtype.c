// SPDX-License-Identifier: MIT
#include "npu/graph.h"

struct dtype_info {
	const char *name;
	uint32_t block_elems, block_bytes;
};

static const struct dtype_info dtypes[NPU_N_DTYPES] = {
#define DTYPE_INFO(id, text, elems, size) [NPU_DTYPE_##id] = { text, elems, size },
	NPU_DTYPE_LIST(DTYPE_INFO)
#undef DTYPE_INFO
};

const char *npu_dtype_name(enum npu_dtype dtype)
{
	return (unsigned)dtype < NPU_N_DTYPES ? dtypes[dtype].name : "?";
}

size_t npu_dtype_row_bytes(enum npu_dtype dtype, uint32_t cols)
{
	if ((unsigned)dtype >= NPU_N_DTYPES || cols % dtypes[dtype].block_elems)
		return 0;
	return (size_t)(cols / dtypes[dtype].block_elems) * dtypes[dtype].block_bytes;
}

const char *npu_op_name(enum npu_op_kind kind)
{
	static const char *const names[NPU_N_OPS] = {
#define OP_NAME(id, text, n_in) [NPU_OP_##id] = text,
		NPU_OP_LIST(OP_NAME)
#undef OP_NAME
	};

	return (unsigned)kind < NPU_N_OPS ? names[kind] : "?";
}
