/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_DMA_H
#define NPUEDGE_DMA_H

struct npuedge_device;
struct npuedge_gem;
struct sg_table;

int npuedge_dma_map(struct npuedge_gem *bo, struct sg_table *sgt);
void npuedge_dma_unmap(struct npuedge_gem *bo);
void npuedge_dma_add_import(struct npuedge_gem *bo, struct sg_table *sgt);
void npuedge_dma_free_import(struct npuedge_gem *bo);
void npuedge_dma_unmap_all(struct npuedge_device *edev);

#endif
