/* SPDX-License-Identifier: MIT */
/*
 * NE1 command stream: 64-byte commands, fetched in order by the front end of a compute core.  LD, ST,
 * MX and VX commands go to their engine's FIFO (NE1_FIFO_DEPTH entries; the front end waits when it is
 * full) and run in order within the engine, concurrently across engines; control commands run in the
 * front end.  Order between engines comes only from semaphores.  Arithmetic is in ne1.md and is exact.
 */
#ifndef NE1_CMD_H
#define NE1_CMD_H

#include "ne1_types.h"

#define NE1_CMD_SIZE		64
#define NE1_FIFO_DEPTH		16
#define NE1_SEMS		32	/* counting semaphores per core, 0 at job start */
#define NE1_SEM_MAX		255
#define NE1_NO_SEM		0xff
#define NE1_NO_PARAM		0xff

/* Parameter block of a job: fetched once at job start.  base[] are VAs, value[] anything. */
#define NE1_BASES		16
#define NE1_VALUES		32
struct ne1_params {
	__u64 base[NE1_BASES];
	__u32 value[NE1_VALUES];
};
NE1_ASSERT(sizeof(struct ne1_params) == 256);

enum ne1_opcode {
	/* control, front end */
	NE1_OP_END = 0x00,	/* wait for all engines, write the profile, finish */
	NE1_OP_NOP = 0x01,	/* only its semaphores */
	NE1_OP_SKIP = 0x02,	/* struct ne1_cmd_skip */
	NE1_OP_YIELD = 0x03,	/* struct ne1_cmd_yield: preemption point */
	NE1_OP_MARK = 0x04,	/* struct ne1_cmd_mark: wait for all engines, store the device time */
	/* LD */
	NE1_OP_LD = 0x10,	/* struct ne1_cmd_dma */
	NE1_OP_LD_GATHER = 0x11, /* struct ne1_cmd_gather */
	/* ST */
	NE1_OP_ST = 0x18,	/* struct ne1_cmd_dma */
	/* MX */
	NE1_OP_MM = 0x20,	/* struct ne1_cmd_mm */
	/* VX, struct ne1_cmd_vx unless noted */
	NE1_OP_RMSNORM = 0x30,	/* out = x / sqrt(mean(x^2) + f0) * y[col]; y: one F32 row for all */
	NE1_OP_ROPE = 0x31,	/* rotates pairs by the table row y[outer]: cos[cols/2] then sin[cols/2], F32 */
	NE1_OP_SWIGLU = 0x32,	/* out = silu(x) * y */
	NE1_OP_ADD = 0x33,	/* out = x + y */
	NE1_OP_MUL = 0x34,	/* out = x * y */
	NE1_OP_SCALE = 0x35,	/* out = x * f0 */
	NE1_OP_CAST = 0x36,	/* out = x */
	NE1_OP_DIV_ROW = 0x37,	/* out = x / y[row][0]; y F32 */
	NE1_OP_SOFTMAX = 0x38,	/* struct ne1_cmd_softmax: online softmax of one KV tile */
	NE1_OP_SILU = 0x39,	/* out = silu(x) */
};

/* Element types.  The quantised ones exist only as packed MX operands B. */
enum ne1_type {
	NE1_T_F32 = 0,
	NE1_T_F16 = 1,
	NE1_T_I8 = 2,		/* packed: signed 8-bit, fp16 scale per group */
	NE1_T_U4M = 3,		/* packed: unsigned 4-bit, fp16 scale and fp16 minimum per group */
};

struct ne1_cmd_hdr {
	__u8 opcode;
	__u8 flags;		/* per opcode; unlisted bits are 0 */
	__u8 pad[2];
	__u8 wait[2];		/* before it starts: both counters > 0, then both are decremented */
	__u8 signal[2];		/* when it has ended: both are incremented */
};

/* Skip the next `count` commands if value[param] <= limit (unsigned).  Skipped commands have no effect
 * at all, so a skipped range has to be balanced in its semaphores.
 */
struct ne1_cmd_skip {
	struct ne1_cmd_hdr hdr;
	__u32 count;
	__u32 limit;
	__u8 param;
	__u8 pad[3];
	__u32 pad1[11];
};

/*
 * A core whose YIELD_REQ is set waits for all engines, then stops here; the job may lose SRAM and semaphores.
 * count = 0: a core that is not asked to stop waits for all engines too and goes on with the next command.
 * count > 0 (since 1.1): the next `count` commands are what a job needs to go on after it stopped: they make SRAM and
 * semaphores again what they were.  A core that is not asked to stop waits for nothing and skips them, a resumed
 * one skips them too, one that continues begins with them.
 */
struct ne1_cmd_yield {
	struct ne1_cmd_hdr hdr;
	__u32 count;
	__u32 pad[13];
};

/* Store device time (u64 ns) at base[base] + offset. */
struct ne1_cmd_mark {
	struct ne1_cmd_hdr hdr;
	__u64 offset;
	__u8 base;
	__u8 pad[7];
	__u32 pad1[10];
};

/*
 * LD / ST: rows of row_bytes between DRAM and SRAM.
 *   DRAM row r: base[base] + offset + value[dyn]*dyn_scale + r*dram_stride   (dyn term absent if NO_PARAM)
 *   SRAM row r: sram + r*sram_stride
 * With clip != NO_PARAM only min(rows, max(0, value[clip] - clip_bias)) rows (signed, 64-bit arithmetic)
 * are transferred; LD zero-fills the SRAM rows that were clipped away, ST leaves memory alone.
 * sram, sram_stride and row_bytes are multiples of 4; DRAM addresses are multiples of 2.
 */
struct ne1_cmd_dma {
	struct ne1_cmd_hdr hdr;
	__u64 offset;
	__u32 dyn_scale;
	__u32 row_bytes;
	__u64 dram_stride;
	__u32 sram;
	__u32 sram_stride;
	__u16 rows;		/* 1..65535 */
	__u8 base;
	__u8 dyn;
	__u8 clip;
	__u8 pad[3];
	__s32 clip_bias;
	__u32 pad1[3];
};

/*
 * LD_GATHER: as LD, but row r comes from base[base] + offset + index[r]*dram_stride, where index[] is
 * rows u32 in SRAM at `index`; an index >= limit is a FIELD fault.
 */
struct ne1_cmd_gather {
	struct ne1_cmd_hdr hdr;
	__u64 offset;
	__u32 index;
	__u32 row_bytes;
	__u64 dram_stride;
	__u32 sram;
	__u32 sram_stride;
	__u16 rows;
	__u8 base;
	__u8 pad[5];
	__u32 limit;
	__u32 pad1[3];
};

/*
 * MM: C[m][n] = A[m][k] * B[k][n]  (+ C with NE1_MM_ACC).
 *   A: F32 or F16, row i at a + i*a_stride.
 *   C: F32 or F16 (F16 not with ACC), row i at c + i*c_stride.
 *   B plain (F32, F16): NE1_MM_B_NK clear: row kk at b + kk*b_stride holds n elements;
 *                       NE1_MM_B_NK set:   row j  at b + j*b_stride holds k elements (B transposed).
 *   B packed (I8, U4M): panels of 32 columns, panel p at b + p*b_stride; within a panel, for each group
 *     of NE1_GROUP = 32 consecutive k: fp16 scale[32], for U4M fp16 min[32], then for each k of the group
 *     32 values: I8: 32 bytes, column c in byte c; U4M: 16 bytes, column c (c < 16) in the low nibble of
 *     byte c, column c + 16 in the high nibble.  k is a multiple of 32; the last panel is padded to 32
 *     columns, of which only those < n are written to C.
 * a, b, c and strides are multiples of 4.
 */
#define NE1_MM_ACC		(1u << 0)
#define NE1_MM_B_NK		(1u << 1)
#define NE1_GROUP		32
#define NE1_PANEL		32
#define NE1_PANEL_BYTES_I8(k)	((k) / 32u * (64u + 32u * 32u))
#define NE1_PANEL_BYTES_U4M(k)	((k) / 32u * (128u + 32u * 16u))
struct ne1_cmd_mm {
	struct ne1_cmd_hdr hdr;
	__u32 a, a_stride;
	__u32 b, b_stride;
	__u32 c, c_stride;
	__u16 m;		/* 1..4096 */
	__u16 k;		/* 1..65535 */
	__u32 n;		/* 1.. */
	__u8 atype, btype, ctype;
	__u8 pad;
	__u32 pad1[5];
};

/*
 * VX: rows = outer*inner, row (o, i) of an operand at addr + o*stride_o + i*stride_i, `cols` elements.
 * A stride of 0 repeats a row.  x, y, out are F32 or F16 (y as the opcode says).  Operands may be in
 * place (out == x with equal strides and type); other overlaps are undefined.
 * Addresses and strides are multiples of the element size; flags: NE1_ROPE_NEOX pairs (i, i + cols/2)
 * instead of (2i, 2i+1).
 */
#define NE1_ROPE_NEOX		(1u << 0)
struct ne1_cmd_vx {
	struct ne1_cmd_hdr hdr;
	__u32 x, x_si, x_so;
	__u32 y, y_si, y_so;
	__u32 out, out_si, out_so;
	__u16 outer, inner;	/* >= 1 */
	__u32 cols;
	__u8 xtype, ytype, otype;
	__u8 pad;
	float f0;
	__u32 pad1;
};

/*
 * SOFTMAX: one step of softmax(f0 * S) over a KV tile of `cols` positions that starts at tile_start.
 * Row r (token r / rows_per_token of the job) attends to positions p with
 *   p < limit(r) = value[pos] + r / rows_per_token + 1, and, if window != 0, p + window >= limit(r).
 *   s:     F32 scores, row r at s + r*s_stride
 *   p:     F16 probabilities out, row r at p + r*p_stride; masked columns become 0
 *   o:     F32 accumulator, row r at o + r*o_stride, o_cols wide: multiplied by exp(m_old - m_new)
 *   state: per row F32 {m, l} (8 bytes): running maximum and sum
 * NE1_SOFTMAX_FIRST: state and o are initialised (o to zero) instead of read.
 */
#define NE1_SOFTMAX_FIRST	(1u << 0)
struct ne1_cmd_softmax {
	struct ne1_cmd_hdr hdr;
	__u32 s, s_stride;
	__u32 p, p_stride;
	__u32 o, o_stride;
	__u32 state;
	__u16 rows, rows_per_token;
	__u16 cols, o_cols;
	__u32 tile_start;
	__u32 window;
	float f0;
	__u8 pos;		/* index of value[], position of the job's first token */
	__u8 pad[3];
	__u32 pad1;
};

union ne1_cmd {
	struct ne1_cmd_hdr hdr;
	struct ne1_cmd_skip skip;
	struct ne1_cmd_yield yield;
	struct ne1_cmd_mark mark;
	struct ne1_cmd_dma dma;
	struct ne1_cmd_gather gather;
	struct ne1_cmd_mm mm;
	struct ne1_cmd_vx vx;
	struct ne1_cmd_softmax softmax;
	__u8 raw[NE1_CMD_SIZE];
};
NE1_ASSERT(sizeof(struct ne1_cmd_hdr) == 8);
NE1_ASSERT(sizeof(struct ne1_cmd_skip) == NE1_CMD_SIZE);
NE1_ASSERT(sizeof(struct ne1_cmd_yield) == NE1_CMD_SIZE);
NE1_ASSERT(sizeof(struct ne1_cmd_mark) == NE1_CMD_SIZE);
NE1_ASSERT(sizeof(struct ne1_cmd_dma) == NE1_CMD_SIZE);
NE1_ASSERT(sizeof(struct ne1_cmd_gather) == NE1_CMD_SIZE);
NE1_ASSERT(sizeof(struct ne1_cmd_mm) == NE1_CMD_SIZE);
NE1_ASSERT(sizeof(struct ne1_cmd_vx) == NE1_CMD_SIZE);
NE1_ASSERT(sizeof(struct ne1_cmd_softmax) == NE1_CMD_SIZE);
NE1_ASSERT(sizeof(union ne1_cmd) == NE1_CMD_SIZE);

/* Written to profile_va at the end of a job and, since 1.1, where it yields; per core.  What a core reads to go
 * on with a job that was put aside (parameters and this profile) counts, writing this profile does not.
 */
struct ne1_profile {
	__u64 start_ns, end_ns;		/* device time */
	__u64 cycles;			/* engine clock */
	__u64 ld_busy, st_busy, mx_busy, vx_busy; /* cycles */
	__u64 dram_rd_bytes, dram_wr_bytes;
	__u64 macs;
	__u64 commands, skipped;
	__u64 energy_nj;		/* of this job: DRAM, SRAM, MAC, static */
	__s32 temp_die_mc;		/* at the end */
	__u32 freq_khz;
	__u64 reserved[2];
};
NE1_ASSERT(sizeof(struct ne1_profile) == 128);

#endif
