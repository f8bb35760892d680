/* SPDX-License-Identifier: MIT */
/*
 * Who touched which granule last.  Granules are kept in runs that share their past, because the
 * layers of a model use the same buffers over and over: an access costs as many steps as there are
 * runs under it, not granules.
 */
#ifndef LIBNPU_COMPILE_HISTORY_H
#define LIBNPU_COMPILE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "npu/status.h"

#define HISTORY_ENGINES	4

struct past {
	uint8_t writer;			/* engine */
	uint32_t written;		/* seq of the last writer, 0: none */
	uint32_t read[HISTORY_ENGINES];	/* seq of the last readers since */
};

struct history {
	uint32_t n;			/* granules */
	struct past *past;		/* [first granule of a run]; others mean nothing */
	uint64_t *starts;		/* bit g: a run starts at granule g */
};

/* Granules [first, end), end <= n, not empty. */
struct span {
	uint32_t first, end;
};

npu_status history_init(struct history *h, uint32_t n);
void history_fini(struct history *h);

/* Raise need[d] to the last command of each engine d that must have ended before @engine reads or
 * writes the span; need[engine] has no meaning.
 */
void history_need(const struct history *h, unsigned int engine, struct span span, bool write,
		  uint32_t need[HISTORY_ENGINES]);
void history_write(struct history *h, unsigned int engine, struct span span, uint32_t seq);
void history_read(struct history *h, unsigned int engine, struct span span, uint32_t seq);

#endif
