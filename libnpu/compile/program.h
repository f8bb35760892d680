/* SPDX-License-Identifier: MIT */
#ifndef LIBNPU_COMPILE_PROGRAM_H
#define LIBNPU_COMPILE_PROGRAM_H

#include "compile/memory.h"
#include "compile/place.h"
#include "compile/plan.h"

struct program_segment {
	struct plan plan;		/* NPU segments only, as the rest */
	union ne1_cmd *cmds;
	uint32_t n_cmds;
	uint64_t stream_offset;
	uint64_t weight_bytes;
};

struct npu_program {
	npu_device *dev;
	npu_weights *weights;
	npu_kv *kv;
	const npu_graph *g;
	const char *dump;		/* while it is built */
	uint64_t timeout_ns;
	struct placement placement;
	struct program_segment *segments;
	npu_bo *io, *scratch, *streams;
	uint8_t *io_map;
	uint64_t *io_offset;		/* of tensors in io, 0: not there */
	uint64_t stream_bytes, scratch_bytes;
	npu_queue *queue;		/* made on the first run, and again after a failure */
};

/* dump.c: whether a comma-separated list (or NULL) has a stage or "all", and a warning about words
 * that are no stage.
 */
bool npu_dump_wanted(const char *list, const char *stage);
void npu_dump_check(const char *list);

/* disasm.c: one line per command. */
void npu_disassemble(const union ne1_cmd *cmds, uint32_t n, FILE *f);

#endif
