/* SPDX-License-Identifier: MIT */
/*
 * Where everything of an NPU segment lies in the SRAM.  Buffers live from the first node that
 * touches them to the last; what the buffers leave at the top of the SRAM is the ring of weight
 * tiles.
 */
#ifndef LIBNPU_COMPILE_PLAN_H
#define LIBNPU_COMPILE_PLAN_H

#include "compile/node.h"
#include "compile/pack.h"
#include "compile/stream.h"

/* Choices that trade SRAM for overlap. */
struct tune {
	uint32_t slot;		/* bytes of a ring slot */
	uint32_t kv_heads;	/* of a KV tile that are loaded together */
	uint32_t kv_bufs;	/* tiles of K and of V in flight */
	uint32_t sp_bufs;	/* score and probability buffers */
	uint32_t stage_bytes;	/* of a staging buffer for outputs, at least one tile */
};

struct buf {
	uint32_t size;
	uint32_t first, last;	/* nodes */
	uint32_t addr;
};

struct buf_ref {
	struct buf *buf;
};

#define NO_BUF		UINT32_MAX

/* Where a tensor is. */
struct place {
	uint32_t buf;		/* NO_BUF: not in the SRAM */
	uint32_t stride;	/* bytes from row to row */
	bool load;		/* comes from memory, at its first use */
	bool store;		/* goes to memory, after its node */
	bool streamed;		/* goes to memory in column chunks and is never here as a whole */
	uint32_t by_group;	/* heads per KV head if ordered [KV head][token][head], else 0 */
};

/* Buffers that exist within one node. */
enum {
	TEMP_K = 0, /* attention */
	TEMP_V = 2,
	TEMP_S = 4,
	TEMP_P = 6,
	TEMP_O = 8,
	TEMP_STATE = 9,
	TEMP_Q = 10,
	TEMP_GATE = 0, /* NODE_GLU */
	TEMP_UP = 2,
	TEMP_STAGE = 0, /* MATMUL whose output is streamed or has to be rounded afterwards */
	N_TEMPS = 11,
};

struct node_temps {
	uint32_t buf[N_TEMPS];
	uint32_t chunk; /* computed at a time; MATMUL: units of the weight, NODE_GLU: columns */
};

/* Who reads a tensor. */
struct tensor_use {
	uint32_t last_node;	/* of the segment; NO_NODE: none */
	bool behind;		/* an op behind the segment */
};

#define NO_NODE		UINT32_MAX

#define CONST_SLOTS	3

struct plan {
	const npu_graph *g;
	struct npu_segment seg;
	uint32_t sram_bytes;
	uint32_t m;		/* tokens */
	struct node *nodes;
	uint32_t n_nodes;
	bool *per_token;
	struct tensor_use *uses; /* one per tensor of the graph */
	struct place *places;	/* likewise */
	struct node_temps *temps; /* one per node */
	struct buf *bufs;
	uint32_t n_bufs, max_bufs;
	struct buf_ref *order;	/* scratch of the allocator */
	uint64_t *live;		/* bytes that the last attempt needs while each node runs */
	struct tune tune;
	uint32_t carrier;	/* SRAM address */
	uint32_t const_addr, const_slot; /* ring of norm weights */
	uint32_t peak;		/* bytes below the ring */
	uint32_t ring_addr, ring_slots;
};

/* Heads and rows of an attention op under a plan. */
struct attn_shape {
	uint32_t heads, kv_heads, group;	/* group: query heads per KV head */
	uint32_t head_dim;
	uint32_t block;			/* KV heads that are loaded together, at most */
	bool flat; /* one token: scores of all heads of a block form one matrix */
	uint32_t rows;			/* query rows per KV head */
	uint32_t tile, n_tiles;
};

enum plan_goal {
	PLAN_BEST,
	PLAN_FITS,		/* a plan only to know that there is one */
	PLAN_FITS_ROOMY,	/* likewise, one that double-buffers everything */
};

/* @m tokens instead of the graph's.  NPU_ERR_LIMIT names what does not fit. */
npu_status npu_plan(const npu_graph *g, const struct npu_segment *seg, uint32_t m,
		    uint32_t sram_bytes, enum plan_goal goal, struct plan *out);
void npu_plan_fini(struct plan *p);
void npu_plan_dump(const struct plan *p, FILE *f);

/* One attempt with given choices.  If p->peak exceeds @limit, addresses are not complete. */
void npu_plan_try(struct plan *p, const struct tune *tune, uint32_t limit);
/* tune.c: the search for good choices. */
npu_status npu_plan_search(struct plan *p, enum plan_goal goal);

void npu_attn_shape(const struct plan *p, const struct npu_op *op, struct attn_shape *out);

uint32_t npu_plan_rows(const struct plan *p, uint32_t tensor);

static inline uint32_t plan_addr(const struct plan *p, uint32_t buf)
{
	return p->bufs[buf].addr;
}

/* Largest matrix tile of a weight that fits a slot. */
struct tile_shape {
	uint32_t units;
	uint32_t steps;		/* of k; all of them if the unit fits */
	uint32_t n_steps;	/* of the whole k */
};

void npu_tile_shape(const struct weight_layout *l, uint32_t slot, struct tile_shape *out);

#endif
