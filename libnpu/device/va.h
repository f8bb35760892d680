/* SPDX-License-Identifier: MIT */
/* Ranges of device addresses: first fit, with an unmapped gap behind each range so that overruns
 * fault.
 */
#ifndef LIBNPU_VA_H
#define LIBNPU_VA_H

#include <stdint.h>

#include "npu/status.h"

struct va_range {
	uint64_t va, size;
};

struct va_space {
	uint64_t start, end;
	struct va_range *used;		/* ascending */
	uint32_t n, max;
};

void va_init(struct va_space *space, uint64_t start, uint64_t end);
void va_fini(struct va_space *space);
/* @align is a power of two.  NPU_ERR_LIMIT: no gap is large enough. */
npu_status va_alloc(struct va_space *space, uint64_t size, uint64_t align, uint64_t *va);
void va_free(struct va_space *space, uint64_t va);

#endif
