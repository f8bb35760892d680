/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_PRIME_H
#define NPUEDGE_PRIME_H

struct dma_buf;
struct dma_buf_attachment;
struct drm_device;
struct drm_gem_object;
struct sg_table;

struct dma_buf *npuedge_prime_export(struct drm_gem_object *obj, int flags);
struct drm_gem_object *npuedge_prime_import(struct drm_device *drm, struct dma_buf *dma_buf);
struct drm_gem_object *npuedge_prime_import_sg_table(struct drm_device *drm,
						     struct dma_buf_attachment *attach,
						     struct sg_table *sgt);

#endif
