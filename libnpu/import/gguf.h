/* SPDX-License-Identifier: MIT */
/* Inside of the GGUF reader: the object and the cursor that all parsing goes through. */
#ifndef LIBNPU_IMPORT_GGUF_H
#define LIBNPU_IMPORT_GGUF_H

#include "npu/gguf.h"

struct gguf_pair {
	char *key;
	struct npu_gguf_value value;
};

struct npu_gguf {
	char *path;
	const uint8_t *base;
	uint64_t size;
	bool mapped;			/* base is ours to unmap */

	uint32_t version;
	uint32_t alignment;
	size_t n_pairs;
	struct gguf_pair *pairs;	/* file order */
	struct gguf_pair **by_key;	/* sorted */
	size_t n_tensors;
	struct npu_gguf_tensor *tensors;
	struct npu_gguf_tensor **by_name;
};

/*
 * A place in the file.  Nothing is read but through the functions below, which compare with
 * @end before they move @pos; @pos <= @end always.
 */
struct gguf_cursor {
	const uint8_t *base;		/* for offsets in messages */
	const uint8_t *pos;
	const uint8_t *end;
};

static inline uint64_t gguf_left(const struct gguf_cursor *c)
{
	return (uint64_t)(c->end - c->pos);
}

/* Each fails with NPU_ERR_FORMAT; the message says @what was read and where. */
npu_status gguf_take(struct gguf_cursor *c, uint64_t n, const char *what, const uint8_t **out);
npu_status gguf_take_u32(struct gguf_cursor *c, const char *what, uint32_t *out);
npu_status gguf_take_u64(struct gguf_cursor *c, const char *what, uint64_t *out);
npu_status gguf_take_str(struct gguf_cursor *c, const char *what, struct npu_gguf_str *out);

/* A value of @type, checked to its last nested element; @depth: arrays around it. */
npu_status gguf_take_value(struct gguf_cursor *c, npu_gguf_value_type type, unsigned int depth,
			   struct npu_gguf_value *out);

/* Bytes of a fixed-size value type, 0 for strings, arrays and unknown types. */
uint32_t gguf_value_bytes(npu_gguf_value_type type);
const char *gguf_value_name(npu_gguf_value_type type);

#endif
