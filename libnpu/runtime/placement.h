/* SPDX-License-Identifier: MIT */
/* Summary of where the ops of a runner are. */
#ifndef LIBNPU_PLACEMENT_H
#define LIBNPU_PLACEMENT_H

#include "runner.h"

#define PLACEMENT_MAX \
	64 /* kinds of op times reasons; what is beyond is counted in the last entry */

struct placement {
	struct npu_placement entry[PLACEMENT_MAX];
	size_t count;
	uint32_t n_npu, n_cpu;
};

/* Reasons point into the runner. */
void placement_collect(struct placement *p, const struct runner *r);
/* The one line that every load prints. */
void placement_log(const struct placement *p, const char *device, uint32_t n_jobs);

#endif
