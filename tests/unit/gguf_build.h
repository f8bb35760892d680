/* SPDX-License-Identifier: MIT */
/* Writes small GGUF files into memory, right or wrong ones, for tests. */
#ifndef TESTS_UNIT_GGUF_BUILD_H
#define TESTS_UNIT_GGUF_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "npu/gguf.h"

struct gguf_build {
	uint8_t bytes[32 << 20];	/* never on a stack */
	size_t n;
};

void gb_u32(struct gguf_build *b, uint32_t v);
void gb_u64(struct gguf_build *b, uint64_t v);
void gb_raw(struct gguf_build *b, const void *data, size_t n);
void gb_str(struct gguf_build *b, const char *s);

/* Magic, @version and the two counts. */
void gb_header(struct gguf_build *b, uint32_t version, uint64_t n_tensors, uint64_t n_pairs);

void gb_pair(struct gguf_build *b, const char *key, uint32_t type);	/* the value follows */
void gb_pair_u32(struct gguf_build *b, const char *key, uint32_t v);
void gb_pair_str(struct gguf_build *b, const char *key, const char *v);
void gb_pair_bool(struct gguf_build *b, const char *key, uint8_t v);
void gb_pair_strs(struct gguf_build *b, const char *key, const char *const *v, size_t n);
void gb_pair_i32s(struct gguf_build *b, const char *key, const int32_t *v, size_t n);

void gb_tensor(struct gguf_build *b, const char *name, uint32_t n_dims, const uint64_t *ne,
	       uint32_t type, uint64_t offset);
/* Zeroes up to the next multiple of @align. */
void gb_align(struct gguf_build *b, size_t align);

/*
 * Opens a copy of exactly @n bytes, so that sanitizers see any read beyond them.  *@copy is to
 * be freed after npu_gguf_close(); it is NULL if the open failed.
 */
npu_status gb_open(const uint8_t *bytes, size_t n, npu_gguf **out, uint8_t **copy);

#endif
