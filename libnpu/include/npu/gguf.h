/* SPDX-License-Identifier: MIT */
/**
 * npu/gguf.h - read GGUF model files (version 2 and 3, little endian).
 *
 * The file is mapped read-only and checked completely while it is opened: every count, length
 * and offset against the file's size, every metadata value down to nested arrays, every tensor
 * against its type's block size.  After a successful open, nothing that these functions return
 * points outside the mapping.
 *
 * Thread safety: an npu_gguf is immutable after open; any number of threads may read it.
 * Ownership: all pointers that are handed out belong to the npu_gguf and live until
 * npu_gguf_close().
 *
 * The size is taken once, by fstat().  If another process truncates the file while it is
 * mapped, reads beyond the new end raise SIGBUS, as with every mapped file: replace model
 * files by rename(), never in place.
 *
 * Limits (beyond them: NPU_ERR_LIMIT, or NPU_ERR_FORMAT where the format itself forbids it):
 * 4 dimensions a tensor, names 1..255 bytes, keys 1..65535 bytes, array nesting 4, alignment a
 * power of two from 8 to 2^20.
 */
#ifndef NPU_GGUF_H
#define NPU_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPU_GGUF_MAX_DIMS	4u
#define NPU_GGUF_MAX_NAME	255u
#define NPU_GGUF_MAX_KEY	65535u
#define NPU_GGUF_MAX_DEPTH	4u

/**
 * Tensor types by their number in the file.
 * X(identifier, number, name, elements per block, bytes per block)
 */
#define NPU_TENSOR_TYPE_LIST(X) \
	X(NPU_TYPE_F32, 0, "F32", 1, 4) \
	X(NPU_TYPE_F16, 1, "F16", 1, 2) \
	X(NPU_TYPE_Q4_0, 2, "Q4_0", 32, 18) \
	X(NPU_TYPE_Q4_1, 3, "Q4_1", 32, 20) \
	X(NPU_TYPE_Q5_0, 6, "Q5_0", 32, 22) \
	X(NPU_TYPE_Q5_1, 7, "Q5_1", 32, 24) \
	X(NPU_TYPE_Q8_0, 8, "Q8_0", 32, 34) \
	X(NPU_TYPE_Q8_1, 9, "Q8_1", 32, 36) \
	X(NPU_TYPE_Q2_K, 10, "Q2_K", 256, 84) \
	X(NPU_TYPE_Q3_K, 11, "Q3_K", 256, 110) \
	X(NPU_TYPE_Q4_K, 12, "Q4_K", 256, 144) \
	X(NPU_TYPE_Q5_K, 13, "Q5_K", 256, 176) \
	X(NPU_TYPE_Q6_K, 14, "Q6_K", 256, 210) \
	X(NPU_TYPE_Q8_K, 15, "Q8_K", 256, 292) \
	X(NPU_TYPE_IQ2_XXS, 16, "IQ2_XXS", 256, 66) \
	X(NPU_TYPE_IQ2_XS, 17, "IQ2_XS", 256, 74) \
	X(NPU_TYPE_IQ3_XXS, 18, "IQ3_XXS", 256, 98) \
	X(NPU_TYPE_IQ1_S, 19, "IQ1_S", 256, 50) \
	X(NPU_TYPE_IQ4_NL, 20, "IQ4_NL", 32, 18) \
	X(NPU_TYPE_IQ3_S, 21, "IQ3_S", 256, 110) \
	X(NPU_TYPE_IQ2_S, 22, "IQ2_S", 256, 82) \
	X(NPU_TYPE_IQ4_XS, 23, "IQ4_XS", 256, 136) \
	X(NPU_TYPE_I8, 24, "I8", 1, 1) \
	X(NPU_TYPE_I16, 25, "I16", 1, 2) \
	X(NPU_TYPE_I32, 26, "I32", 1, 4) \
	X(NPU_TYPE_I64, 27, "I64", 1, 8) \
	X(NPU_TYPE_F64, 28, "F64", 1, 8) \
	X(NPU_TYPE_IQ1_M, 29, "IQ1_M", 256, 56) \
	X(NPU_TYPE_BF16, 30, "BF16", 1, 2) \
	X(NPU_TYPE_TQ1_0, 34, "TQ1_0", 256, 54) \
	X(NPU_TYPE_TQ2_0, 35, "TQ2_0", 256, 66) \
	X(NPU_TYPE_MXFP4, 39, "MXFP4", 32, 17)

typedef enum npu_tensor_type {
#define NPU_TENSOR_TYPE_ENUM(id, nr, name, elems, bytes) id = nr,
	NPU_TENSOR_TYPE_LIST(NPU_TENSOR_TYPE_ENUM)
#undef NPU_TENSOR_TYPE_ENUM
} npu_tensor_type;

/** Name of @type ("Q4_1"); NULL if the number is not in the list. */
NPU_API const char *npu_tensor_type_name(npu_tensor_type type);

/** Elements and bytes of one block of @type; 0 if the number is not in the list. */
NPU_API uint32_t npu_tensor_type_block_elems(npu_tensor_type type);
NPU_API uint32_t npu_tensor_type_block_bytes(npu_tensor_type type);

/**
 * Dequantise @n elements from @src (whole blocks of @type, packed, any alignment) to @dst.
 * Types: F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0; others NPU_ERR_UNSUPPORTED.
 * @n must be a multiple of the block's elements (NPU_ERR_INVALID).
 * Scales are widened to fp32; the product, then the sum with the minimum, round once each.
 */
NPU_API npu_status npu_dequant_row(npu_tensor_type type, const void *src, float *dst, uint64_t n);

/** Metadata value types by their number in the file. X(identifier, number, name, bytes) */
#define NPU_GGUF_VALUE_LIST(X) \
	X(NPU_GGUF_U8, 0, "u8", 1) \
	X(NPU_GGUF_I8, 1, "i8", 1) \
	X(NPU_GGUF_U16, 2, "u16", 2) \
	X(NPU_GGUF_I16, 3, "i16", 2) \
	X(NPU_GGUF_U32, 4, "u32", 4) \
	X(NPU_GGUF_I32, 5, "i32", 4) \
	X(NPU_GGUF_F32, 6, "f32", 4) \
	X(NPU_GGUF_BOOL, 7, "bool", 1) \
	X(NPU_GGUF_STRING, 8, "string", 0) \
	X(NPU_GGUF_ARRAY, 9, "array", 0) \
	X(NPU_GGUF_U64, 10, "u64", 8) \
	X(NPU_GGUF_I64, 11, "i64", 8) \
	X(NPU_GGUF_F64, 12, "f64", 8)

typedef enum npu_gguf_value_type {
#define NPU_GGUF_VALUE_ENUM(id, nr, name, bytes) id = nr,
	NPU_GGUF_VALUE_LIST(NPU_GGUF_VALUE_ENUM)
#undef NPU_GGUF_VALUE_ENUM
} npu_gguf_value_type;

typedef struct npu_gguf npu_gguf;

/** A string inside the file: any bytes, not NUL terminated. */
struct npu_gguf_str {
	const char *data;
	size_t len;
};

/** A metadata value where it lies in the file; read it with the npu_gguf_value_*() functions. */
struct npu_gguf_value {
	npu_gguf_value_type type;
	npu_gguf_value_type elem;	/* arrays: type of the elements */
	uint64_t n;			/* arrays: number of elements; else 1 */
	const uint8_t *data;		/* payload: scalar, string bytes or first element;
					 * little endian, unaligned */
	uint64_t size;			/* bytes of the payload */
};

/** Walks the elements of an array value in order. */
struct npu_gguf_iter {
	npu_gguf_value_type elem;
	uint64_t left;
	const uint8_t *next;
	const uint8_t *end;
};

struct npu_gguf_tensor {
	const char *name;		/* NUL terminated */
	npu_tensor_type type;
	uint32_t n_dims;		/* 1..4 */
	uint64_t ne[NPU_GGUF_MAX_DIMS];	/* elements; ne[0] is contiguous; unused ones are 1 */
	const void *data;		/* of a mapped file: aligned to npu_gguf_alignment() */
	uint64_t size;			/* bytes */
	uint64_t offset;		/* of data, from the start of the file, bytes */
};

/**
 * Map @path and check it.  On success *@out is a new object; on failure it is NULL.
 * NPU_ERR_NOT_FOUND: no such file; NPU_ERR_IO: it cannot be opened, read or mapped;
 * NPU_ERR_FORMAT: malformed; NPU_ERR_UNSUPPORTED: other version, byte order or tensor type;
 * NPU_ERR_LIMIT: see the limits above; NPU_ERR_NOMEM.
 */
NPU_API npu_status npu_gguf_open(const char *path, npu_gguf **out);

/**
 * The same for a file in memory.  @data is borrowed: it must stay unchanged until close.
 * Tensor data is as aligned as @data plus the tensor's offset is.
 */
NPU_API npu_status npu_gguf_open_mem(const void *data, size_t size, npu_gguf **out);

/** Unmaps the file; all pointers obtained from @g become invalid. NULL is allowed. */
NPU_API void npu_gguf_close(npu_gguf *g);

/** The path given to npu_gguf_open(), or "(memory)". */
NPU_API const char *npu_gguf_path(const npu_gguf *g);

/** Format version (2 or 3), data alignment and size of the file in bytes. */
NPU_API uint32_t npu_gguf_version(const npu_gguf *g);
NPU_API uint32_t npu_gguf_alignment(const npu_gguf *g);
NPU_API uint64_t npu_gguf_size(const npu_gguf *g);

/** Number of key/value pairs, and pair @i in file order (NPU_ERR_LIMIT beyond the last). */
NPU_API size_t npu_gguf_n_kv(const npu_gguf *g);
NPU_API npu_status npu_gguf_kv(const npu_gguf *g, size_t i, const char **key,
			       struct npu_gguf_value *out);

/**
 * Find a key.  All npu_gguf_find_*() leave *@out alone when they fail:
 * NPU_ERR_NOT_FOUND: no such key; NPU_ERR_FORMAT: it has another type, or the number does not
 * fit.  u32, u64 and i64 take any integer type, f32 takes f32 and f64.  The message names
 * the key.
 */
NPU_API npu_status npu_gguf_find(const npu_gguf *g, const char *key, struct npu_gguf_value *out);
NPU_API npu_status npu_gguf_find_u32(const npu_gguf *g, const char *key, uint32_t *out);
NPU_API npu_status npu_gguf_find_u64(const npu_gguf *g, const char *key, uint64_t *out);
NPU_API npu_status npu_gguf_find_i64(const npu_gguf *g, const char *key, int64_t *out);
NPU_API npu_status npu_gguf_find_f32(const npu_gguf *g, const char *key, float *out);
NPU_API npu_status npu_gguf_find_bool(const npu_gguf *g, const char *key, bool *out);
NPU_API npu_status npu_gguf_find_str(const npu_gguf *g, const char *key, struct npu_gguf_str *out);
/** An array whose elements have type @elem. */
NPU_API npu_status npu_gguf_find_array(const npu_gguf *g, const char *key,
				       npu_gguf_value_type elem, struct npu_gguf_value *out);

/** True if @v is the string @text; a convenience for comparing with literals. */
NPU_API bool npu_gguf_str_eq(struct npu_gguf_str v, const char *text);

/** Read a value of an integer type, of f32/f64, or of type string. NPU_ERR_FORMAT otherwise. */
NPU_API npu_status npu_gguf_value_u64(const struct npu_gguf_value *v, uint64_t *out);
NPU_API npu_status npu_gguf_value_i64(const struct npu_gguf_value *v, int64_t *out);
NPU_API npu_status npu_gguf_value_f64(const struct npu_gguf_value *v, double *out);
NPU_API npu_status npu_gguf_value_str(const struct npu_gguf_value *v, struct npu_gguf_str *out);

/** Start walking @array (type NPU_GGUF_ARRAY, else the walk is empty). */
NPU_API void npu_gguf_iter_init(struct npu_gguf_iter *it, const struct npu_gguf_value *array);

/** Next element (itself an array if nested); false at the end. */
NPU_API bool npu_gguf_iter_next(struct npu_gguf_iter *it, struct npu_gguf_value *out);

/** Number of tensors, and tensor @i in file order (NULL beyond the last). */
NPU_API size_t npu_gguf_n_tensors(const npu_gguf *g);
NPU_API const struct npu_gguf_tensor *npu_gguf_tensor_at(const npu_gguf *g, size_t i);

/** Tensor by name: NPU_ERR_NOT_FOUND names it. */
NPU_API npu_status npu_gguf_tensor(const npu_gguf *g, const char *name,
				   const struct npu_gguf_tensor **out);

#ifdef __cplusplus
}
#endif
#endif
