/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_SUBMIT_H
#define NPUEDGE_SUBMIT_H

struct drm_file;
struct drm_npuedge_array;
struct npuedge_queue;

int npuedge_submit(struct npuedge_queue *q, struct drm_file *file,
		   const struct drm_npuedge_array *jobs);

#endif
