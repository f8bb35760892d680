/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_FDINFO_H
#define NPUEDGE_FDINFO_H

struct drm_file;
struct drm_printer;

void npuedge_fdinfo_show(struct drm_printer *p, struct drm_file *file);

#endif
