/* SPDX-License-Identifier: MIT */
/* Device memory that programs share: packed weights and tables, KV cache. */
#ifndef LIBNPU_COMPILE_MEMORY_H
#define LIBNPU_COMPILE_MEMORY_H

#include "compile/pack.h"
#include "npu/compile.h"

struct weight_entry {
	char name[NPU_NAME_LEN];
	bool is_const;			/* F32 rows as they are */
	enum npu_dtype dtype;
	uint32_t rows, cols;
	struct weight_layout layout;	/* if not is_const */
	uint64_t offset;		/* in the BO */
};

struct npu_weights {
	npu_device *dev;
	npu_bo *bo;
	struct weight_entry *entries;	/* by name, ascending */
	uint32_t n;
	uint64_t bytes;
};

struct kv_entry {
	uint32_t layer, is_v;
	uint32_t cols;
	uint64_t offset;
};

struct npu_kv {
	npu_device *dev;
	npu_bo *bo;
	uint8_t *map;
	struct kv_entry *entries;	/* by layer, K before V */
	uint32_t n;
	uint32_t n_ctx;
	uint64_t bytes;
};

/* The entry for tensor @t of a graph; NPU_ERR_INVALID if it is missing or has another shape. */
npu_status npu_weights_find(const npu_weights *w, const struct npu_tensor *t,
			    const struct weight_entry **out);
npu_status npu_kv_find(const npu_kv *kv, const struct npu_tensor *t, const struct kv_entry **out);

/* A BO in the device's own address space, mapped for the CPU; 0 bytes become one page. */
npu_status npu_bo_new_bound(npu_device *dev, uint64_t bytes, uint32_t bind_flags, npu_bo **bo,
			    void **map);

#endif
