/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_BO_H
#define NPUEDGE_BO_H

struct drm_file;
struct drm_npuedge_bo_madvise;
struct drm_npuedge_bo_set_label;
struct drm_npuedge_bo_sync;
struct drm_printer;

int npuedge_bo_sync(struct drm_file *file, const struct drm_npuedge_bo_sync *args);
int npuedge_bo_madvise(struct drm_file *file, struct drm_npuedge_bo_madvise *args);
int npuedge_bo_set_label(struct drm_file *file, const struct drm_npuedge_bo_set_label *args);
void npuedge_bo_print_file(struct drm_file *file, struct drm_printer *p);

#endif
