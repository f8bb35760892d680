/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_SUBMIT_H
#define NPUEDGE_SUBMIT_H

struct drm_file;
struct drm_npuedge_array;
struct npuedge_queue;

/** NPUEDGE_MAX_JOBS - most jobs of one call */
#define NPUEDGE_MAX_JOBS	64
/** NPUEDGE_MAX_BOS - most buffers that a job is synchronised with implicitly */
#define NPUEDGE_MAX_BOS		1024

int npuedge_submit(struct npuedge_queue *q, struct drm_file *file,
		   const struct drm_npuedge_array *jobs);

#endif
