// SPDX-License-Identifier: MIT
/*
 * Attention over the cache, tile by tile, scores never leaving the SRAM.  A tile's K and V are
 * loaded for a block of KV heads together, as they lie side by side in the cache.  Tile 0 always
 * runs; each further one is a region that is skipped, with all behind it, once it starts at or
 * beyond kv_len.
 *
 * Order of a region's loads against the products of two tiles before comes from tokens: semaphore
 * SEM_USER counts free pairs of K and V buffers; every tile takes one and gives one back, skipped
 * or not.
 */
#include "compile/emit.h"

struct attn {
	struct emit *e;
	const struct npu_op *op;
	struct attn_shape s;
	const struct node_temps *temps;
	const struct kv_entry *k, *v;
	uint32_t k_memory, v_memory;	/* what stands for the caches in dependencies */
	uint32_t kv_row;		/* bytes of a cache row in memory */
	uint32_t tile_row;		/* bytes of the block's part, in a tile buffer */
	uint32_t q, q_group, q_stride;	/* queries: address, to the next KV head, to the next row */
	uint32_t head0, block;		/* KV heads of the block: first, number */
};

static uint32_t temp_addr(const struct attn *a, uint32_t slot)
{
	return plan_addr(a->e->plan, a->temps->buf[slot]);
}

static bool attn_init(struct attn *a, struct emit *e, uint32_t node)
{
	const struct npu_tensor *k, *v;

	a->e = e;
	a->op = npu_graph_op(e->plan->g, e->plan->nodes[node].op);
	a->temps = &e->plan->temps[node];
	npu_attn_shape(e->plan, a->op, &a->s);
	k = npu_graph_tensor(e->plan->g, a->op->in[1]);
	v = npu_graph_tensor(e->plan->g, a->op->in[2]);
	e->status = npu_kv_find(e->kv, k, &a->k);
	if (!e->status)
		e->status = npu_kv_find(e->kv, v, &a->v);
	a->k_memory = stream_resource(e->stream, k->id);
	a->v_memory = stream_resource(e->stream, v->id);
	a->kv_row = k->cols * 2;
	return !e->status;
}

/* Queries ordered [KV head][token][head of the group], so that the rows of a KV head are evenly
 * spaced.
 */
static void arrange_queries(struct attn *a)
{
	struct emit *e = a->e;
	const struct place *pl = &e->plan->places[a->op->in[0]];
	uint32_t hd = a->s.head_dim, g, m = e->plan->m;
	uint32_t row = a->s.group * hd * 2;
	struct access acc[2];
	union ne1_cmd cmd;

	a->q = emit_addr(e, a->op->in[0]);
	a->q_stride = hd * 2;
	a->q_group = m * row;
	if (pl->by_group || a->s.flat || a->s.kv_heads == 1)
		return;
	if (a->s.group == 1) {
		/* Rows of a head are a token apart. */
		a->q_stride = pl->stride;
		a->q_group = hd * 2;
		return;
	}
	for (g = 0; g < a->s.kv_heads; g++) {
		cmd = stream_cmd(NE1_OP_CAST);
		cmd.vx.x = a->q + g * row;
		cmd.vx.x_si = pl->stride;
		cmd.vx.out = temp_addr(a, TEMP_Q) + g * m * row;
		cmd.vx.out_si = row;
		cmd.vx.xtype = cmd.vx.otype = NE1_T_F16;
		cmd.vx.outer = 1;
		cmd.vx.inner = m;
		cmd.vx.cols = a->s.group * hd;
		acc[0] = emit_rows(cmd.vx.x, row, m, pl->stride, false);
		acc[1] = WRITE(cmd.vx.out, m * row);
		emit_cmd(e, &cmd, acc, 2);
	}
	a->q = temp_addr(a, TEMP_Q);
}

/* ---- one tile ---------------------------------------------------------------------------- */

/* K (or V) rows of tile @t for the block. */
static void load_tile(struct attn *a, uint32_t t, bool is_v)
{
	struct emit *e = a->e;
	uint32_t bufs = e->plan->tune.kv_bufs, first = is_v ? TEMP_V : TEMP_K, i;
	uint32_t to = temp_addr(a, first + t % bufs), bytes = a->s.tile * a->tile_row;
	const struct kv_entry *entry = is_v ? a->v : a->k;
	struct access acc[2 + 4];
	uint32_t n = 0;
	union ne1_cmd cmd;

	cmd = emit_dma(NE1_OP_LD, BASE_KV,
		       entry->offset + (uint64_t)t * a->s.tile * a->kv_row +
		       a->head0 * a->s.head_dim * 2,
		       a->tile_row, a->kv_row, to, a->tile_row, a->s.tile);
	cmd.dma.clip = VALUE_KV_LEN;
	cmd.dma.clip_bias = t * a->s.tile;
	if (!is_v)
		cmd.hdr.wait[0] = SEM_USER;
	acc[n] = WRITE(to, bytes);
	acc[n++].no_wait = t > 0;
	acc[n++] = READ(is_v ? a->v_memory : a->k_memory, 1);
	/* Tile 0 waits for what used the other buffers before, since regions cannot. */
	for (i = 0; i < 2 * bufs && t == 0 && !is_v; i++)
		acc[n++] = WRITE(temp_addr(a, i < bufs ? TEMP_K + i : TEMP_V + i - bufs), bytes);
	emit_cmd(e, &cmd, acc, n);
}

/* Read a tile of K or V.  All of it rather than one head's columns: it comes by one load and makes
 * room for another, so that the rows would only be work for the tracker.
 */
static struct access read_tile(const struct attn *a, uint32_t slot)
{
	return READ(temp_addr(a, slot), a->s.tile * a->tile_row);
}

/* Scores of KV head @h of the block: rows of S at @s. */
static void emit_scores(struct attn *a, uint32_t t, uint32_t h, uint32_t s)
{
	struct emit *e = a->e;
	uint32_t hd = a->s.head_dim, row = a->s.tile * 4;
	uint32_t slot = TEMP_K + t % e->plan->tune.kv_bufs;
	union ne1_cmd cmd = stream_cmd(NE1_OP_MM);
	struct access acc[3];

	cmd.hdr.flags = NE1_MM_B_NK;
	cmd.mm.a = a->q + (a->head0 + h) * a->q_group;
	cmd.mm.a_stride = a->q_stride;
	cmd.mm.b = temp_addr(a, slot) + h * hd * 2;
	cmd.mm.b_stride = a->tile_row;
	cmd.mm.c = s;
	cmd.mm.c_stride = row;
	cmd.mm.m = a->s.rows;
	cmd.mm.k = hd;
	cmd.mm.n = a->s.tile;
	cmd.mm.atype = cmd.mm.btype = NE1_T_F16;
	cmd.mm.ctype = NE1_T_F32;
	acc[0] = emit_rows(cmd.mm.a, hd * 2, a->s.rows, a->q_stride, false);
	acc[1] = read_tile(a, slot);
	acc[2] = WRITE(s, a->s.rows * row);
	emit_cmd(e, &cmd, acc, 3);
}

/* @rows rows of scores to probabilities; accumulators and states from row @row0 of the block on. */
static void emit_softmax(struct attn *a, uint32_t t, uint32_t row0, uint32_t rows,
			 uint32_t rows_per_token, uint32_t s, uint32_t p)
{
	uint32_t hd = a->s.head_dim;
	union ne1_cmd cmd = stream_cmd(NE1_OP_SOFTMAX);
	struct access acc[4];

	cmd.hdr.flags = t ? 0 : NE1_SOFTMAX_FIRST;
	cmd.softmax.s = s;
	cmd.softmax.s_stride = a->s.tile * 4;
	cmd.softmax.p = p;
	cmd.softmax.p_stride = a->s.tile * 2;
	cmd.softmax.o = temp_addr(a, TEMP_O) + row0 * hd * 4;
	cmd.softmax.o_stride = hd * 4;
	cmd.softmax.state = temp_addr(a, TEMP_STATE) + row0 * 8;
	cmd.softmax.rows = rows;
	cmd.softmax.rows_per_token = rows_per_token;
	cmd.softmax.cols = a->s.tile;
	cmd.softmax.o_cols = hd;
	cmd.softmax.tile_start = t * a->s.tile;
	cmd.softmax.window = a->op->attention.window;
	cmd.softmax.f0 = a->op->attention.scale;
	cmd.softmax.pos = VALUE_POS;
	acc[0] = READ(s, rows * a->s.tile * 4);
	acc[1] = WRITE(p, rows * a->s.tile * 2);
	acc[2] = WRITE(cmd.softmax.o, rows * hd * 4);
	acc[3] = WRITE(cmd.softmax.state, rows * 8);
	emit_cmd(a->e, &cmd, acc, 4);
}

/* o += p * V for KV head @h of the block; the tile's last product frees its buffers. */
static void emit_values(struct attn *a, uint32_t t, uint32_t h, uint32_t p, bool last)
{
	struct emit *e = a->e;
	uint32_t hd = a->s.head_dim, rows = a->s.rows;
	uint32_t slot = TEMP_V + t % e->plan->tune.kv_bufs;
	uint32_t o = temp_addr(a, TEMP_O) + h * rows * hd * 4;
	union ne1_cmd cmd = stream_cmd(NE1_OP_MM);
	struct access acc[3];

	cmd.hdr.flags = NE1_MM_ACC;
	if (last)
		cmd.hdr.signal[0] = SEM_USER;
	cmd.mm.a = p;
	cmd.mm.a_stride = a->s.tile * 2;
	cmd.mm.b = temp_addr(a, slot) + h * hd * 2;
	cmd.mm.b_stride = a->tile_row;
	cmd.mm.c = o;
	cmd.mm.c_stride = hd * 4;
	cmd.mm.m = rows;
	cmd.mm.k = a->s.tile;
	cmd.mm.n = hd;
	cmd.mm.atype = cmd.mm.btype = NE1_T_F16;
	cmd.mm.ctype = NE1_T_F32;
	acc[0] = READ(p, rows * a->s.tile * 2);
	acc[1] = read_tile(a, slot);
	acc[2] = WRITE(o, rows * hd * 4);
	emit_cmd(e, &cmd, acc, 3);
}

/* One token: one softmax over the heads of the block. */
static void emit_tile_flat(struct attn *a, uint32_t t)
{
	uint32_t s = temp_addr(a, TEMP_S), p = temp_addr(a, TEMP_P), h;
	uint32_t rows = a->block * a->s.group;

	for (h = 0; h < a->block; h++)
		emit_scores(a, t, h, s + h * a->s.group * a->s.tile * 4);
	emit_softmax(a, t, 0, rows, rows, s, p);
	for (h = 0; h < a->block; h++)
		emit_values(a, t, h, p + h * a->s.group * a->s.tile * 2, h + 1 == a->block);
}

/* Several tokens: KV head by KV head, the scores of the next one beside the softmax of this one. */
static void emit_tile_heads(struct attn *a, uint32_t t)
{
	uint32_t bufs = a->e->plan->tune.sp_bufs, block = a->block, h, next;

	emit_scores(a, t, 0, temp_addr(a, TEMP_S));
	for (h = 0; h < block; h++) {
		next = h + 1;
		if (bufs > 1 && next < block)
			emit_scores(a, t, next, temp_addr(a, TEMP_S + next % bufs));
		emit_softmax(a, t, h * a->s.rows, a->s.rows, a->s.group,
			     temp_addr(a, TEMP_S + h % bufs), temp_addr(a, TEMP_P + h % bufs));
		emit_values(a, t, h, temp_addr(a, TEMP_P + h % bufs), next == block);
		if (bufs == 1 && next < block)
			emit_scores(a, t, next, temp_addr(a, TEMP_S));
	}
}

static void emit_kv_tile(struct attn *a, uint32_t t)
{
	load_tile(a, t, false);
	load_tile(a, t, true);
	if (a->s.flat)
		emit_tile_flat(a, t);
	else
		emit_tile_heads(a, t);
}

/* ---- the whole --------------------------------------------------------------------------- */

/* Accumulators of KV head @h of the block by their sums, to the output's columns. */
static void emit_divide(struct attn *a, uint32_t h)
{
	struct emit *e = a->e;
	struct vx_arg out = emit_arg(e, a->op->out);
	uint32_t hd = a->s.head_dim, group = a->s.group, m = e->plan->m;
	uint32_t row = hd * vx_size(out.type);
	union ne1_cmd cmd = stream_cmd(NE1_OP_DIV_ROW);
	struct access acc[3];

	cmd.vx.x = temp_addr(a, TEMP_O) + h * a->s.rows * hd * 4;
	cmd.vx.x_so = group * hd * 4;
	cmd.vx.x_si = hd * 4;
	cmd.vx.y = temp_addr(a, TEMP_STATE) + h * a->s.rows * 8 + 4;
	cmd.vx.y_so = group * 8;
	cmd.vx.y_si = 8;
	cmd.vx.out = out.addr + (a->head0 + h) * group * row;
	cmd.vx.out_so = out.stride;
	cmd.vx.out_si = row;
	cmd.vx.xtype = cmd.vx.ytype = NE1_T_F32;
	cmd.vx.otype = out.type;
	cmd.vx.outer = m;
	cmd.vx.inner = group;
	cmd.vx.cols = hd;
	acc[0] = READ(cmd.vx.x, a->s.rows * hd * 4);
	acc[1] = READ(cmd.vx.y - 4, a->s.rows * 8);
	acc[2] = emit_rows(cmd.vx.out, group * row, m, out.stride, true);
	emit_cmd(e, &cmd, acc, 3);
}

static void emit_block(struct attn *a)
{
	struct emit *e = a->e;
	uint32_t t, h;

	emit_kv_tile(a, 0);
	if (a->s.n_tiles > 1 && !e->dry) {
		stream_group_begin(e->stream);
		for (t = 1; t < a->s.n_tiles && !e->status; t++) {
			stream_region(e->stream, VALUE_KV_LEN, t * a->s.tile);
			emit_kv_tile(a, t);
		}
		stream_group_end(e->stream);
	}
	for (h = 0; h < a->block; h++)
		emit_divide(a, h);
}

void emit_attention(struct emit *e, uint32_t node)
{
	struct attn a;

	if (!attn_init(&a, e, node))
		return;
	arrange_queries(&a);
	for (a.head0 = 0; a.head0 < a.s.kv_heads && !e->status; a.head0 += a.block) {
		a.block = a.s.kv_heads - a.head0 < a.s.block ? a.s.kv_heads - a.head0 : a.s.block;
		a.tile_row = a.block * a.s.head_dim * 2;
		emit_block(&a);
	}
}
