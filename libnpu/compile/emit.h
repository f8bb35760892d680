/* SPDX-License-Identifier: MIT */
/*
 * Emission: a planned segment becomes a command stream.
 *
 * Weights and norm weights come through rings: the load of an item is issued as soon as the item
 * that had its slot before is consumed, far ahead of its use.  What the items are is found by
 * emitting twice; the first pass only collects them.
 */
#ifndef LIBNPU_COMPILE_EMIT_H
#define LIBNPU_COMPILE_EMIT_H

#include "compile/memory.h"
#include "compile/plan.h"
#include "compile/stream.h"

/* base[] and value[] of the parameter block. */
enum {
	BASE_WEIGHTS = 0,
	BASE_KV = 1,
	BASE_IO = 2,
	BASE_CONST = 3,		/* tables and norm weights; the same buffer as the weights */
	BASE_SCRATCH = 4,
};

enum {
	VALUE_POS = 0,		/* position of the first token */
	VALUE_N_VALID = 1,
	VALUE_KV_LEN = 2,	/* pos + n_valid */
	VALUE_LAST_ROW = 3,	/* n_valid - 1 */
};

/* Rows in DRAM that a ring loads into a slot, packed. */
struct load {
	uint64_t offset;
	uint64_t stride;
	uint32_t row_bytes;
	uint32_t rows;
};

struct ring {
	uint8_t base;		/* BASE_* */
	uint32_t addr, slot, slots;
	struct load *items;
	uint32_t n, max;
	uint32_t next;		/* item to be consumed next */
	uint32_t issued;
};

/* emit_yield.c's */
struct yields {
	uint64_t bytes_per_us, macs_per_us; /* of the chip; 0: no YIELDs */
	uint64_t bytes, macs;		/* loaded and multiplied since the last one */
	uint64_t save_offset;		/* in the scratch buffer */
	uint64_t save_bytes;		/* used there */
	union ne1_cmd *loads;
	uint32_t n_loads, max_loads;
	bool failed;
};

struct emit {
	const struct plan *plan;
	const npu_weights *weights;
	const npu_kv *kv;
	const uint64_t *io_offset;	/* of each tensor in the IO buffer */
	struct stream *stream;
	bool dry;			/* first pass */
	struct ring ring, consts;
	struct yields yields;
	npu_status status;		/* sticky, like the stream's */
};

/* What a segment works with. */
struct emit_env {
	const struct npu_chip_info *chip;
	const npu_weights *weights;
	const npu_kv *kv;
	const uint64_t *io_offset;	/* of each tensor in the IO buffer */
	uint64_t carrier_offset;	/* there too */
	uint64_t save_offset;		/* in the scratch buffer: where YIELDs save the SRAM */
};

struct emit_sizes {
	uint64_t weight_bytes;		/* what the ring reads */
	uint64_t save_bytes;		/* from save_offset on */
};

/* The whole segment into @stream, which is initialised here. */
npu_status npu_emit(const struct plan *plan, const struct emit_env *env, struct stream *stream,
		    struct emit_sizes *sizes);

/* emit_yield.c: room for a YIELD behind node @node or, @inside, between its parts; what was added
 * since the last.
 */
void yield_init(struct yields *y, const struct npu_chip_info *chip, uint64_t save_offset);
void yield_count(struct yields *y, const union ne1_cmd *cmd);
void emit_yield(struct emit *e, uint32_t node, bool inside);

/* ring.c: the load of item @item; address of the next item, and the end of its use. */
union ne1_cmd ring_load(const struct ring *ring, uint32_t item);
uint32_t ring_take(struct emit *e, struct ring *ring, const struct load *load);
void ring_drop(struct emit *e, struct ring *ring);

/* Add a command unless this is the dry pass. */
void emit_cmd(struct emit *e, const union ne1_cmd *cmd, const struct access *acc, uint32_t n);
/* @rows rows of @bytes, @stride apart. */
struct access emit_rows(uint32_t addr, uint32_t bytes, uint32_t rows, uint32_t stride, bool write);

/* A DMA command without dynamic parts. */
union ne1_cmd emit_dma(uint8_t opcode, uint8_t base, uint64_t offset, uint32_t row_bytes,
		       uint64_t dram_stride, uint32_t sram, uint32_t sram_stride, uint32_t rows);

/* Can rows of @row_bytes of @t be moved by DMA?  Else the status is set. */
bool emit_can_move(struct emit *e, const struct npu_tensor *t, uint32_t row_bytes);

/* Address in the SRAM of a tensor that is there. */
uint32_t emit_addr(const struct emit *e, uint32_t tensor);

/* A row-wise operand: address, stride, type. */
struct vx_arg {
	uint32_t addr, stride;
	enum ne1_type type;
};

static inline uint32_t vx_size(enum ne1_type type)
{
	return type == NE1_T_F16 ? 2 : 4;
}

/* A tensor that is in the SRAM. */
struct vx_arg emit_arg(const struct emit *e, uint32_t tensor);

/* emit_mm.c */
void emit_matmul(struct emit *e, uint32_t node);
void emit_glu(struct emit *e, uint32_t node);

/* emit_vx.c */
void emit_norm(struct emit *e, const struct npu_op *op);
void emit_rope(struct emit *e, const struct npu_op *op);
void emit_elementwise(struct emit *e, const struct npu_op *op);

/* opcode on @rows rows of @cols elements; y may be NULL. */
void emit_vx(struct emit *e, uint8_t opcode, uint32_t rows, uint32_t cols, const struct vx_arg *x,
	     const struct vx_arg *y, const struct vx_arg *out);

/* emit_attn.c */
void emit_attention(struct emit *e, uint32_t node);

#endif
