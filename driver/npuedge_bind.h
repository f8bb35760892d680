/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_BIND_H
#define NPUEDGE_BIND_H

#include <linux/list.h>

#include "npuedge_pgtable.h"

struct drm_file;
struct drm_gem_object;
struct drm_gpuvm_bo;
struct drm_gpuvm_ops;
struct drm_npuedge_vm_bind_op;
struct npuedge_va;
struct npuedge_vm;
struct sg_table;

/** NPUEDGE_BIND_SPARES - mappings that a change may make: the new one, two rests of old ones */
#define NPUEDGE_BIND_SPARES	3

/**
 * struct npuedge_bind - one change of an address space
 */
struct npuedge_bind {
	/** @node: entry of a list of changes */
	struct list_head node;
	/** @vm: address space; the caller has a reference */
	struct npuedge_vm *vm;
	/** @va: first address */
	u64 va;
	/** @size: bytes */
	u64 size;
	/** @obj: buffer to map, referenced; NULL to unmap */
	struct drm_gem_object *obj;
	/** @sgt: its pages */
	struct sg_table *sgt;
	/** @plugged: the device is there, and so are page tables and @sgt; while it is made */
	bool plugged;
	/** @offset: first byte of the buffer */
	u64 offset;
	/** @readonly: device writes fault */
	bool readonly;
	/** @vm_bo: connects the VM and @obj */
	struct drm_gpuvm_bo *vm_bo;
	/** @spare: mappings to be made */
	struct npuedge_va *spare[NPUEDGE_BIND_SPARES];
	/** @stock: tables to be linked, and those that were unlinked */
	struct npuedge_pt_stock stock;
	/** @removed: mappings that are gone, by their rb.entry; they keep their buffers */
	struct list_head removed;
};

extern const struct drm_gpuvm_ops npuedge_bind_gpuvm_ops;

struct npuedge_bind *npuedge_bind_create(struct npuedge_vm *vm, struct drm_file *file,
					 const struct drm_npuedge_vm_bind_op *op);
int npuedge_bind_alloc_spares(struct npuedge_bind *bind);
int npuedge_bind_reserve(struct npuedge_bind *bind);
int npuedge_bind_make(struct npuedge_bind *bind);
void npuedge_bind_fini(struct npuedge_bind *bind);
int npuedge_bind_run(struct npuedge_bind *bind);
void npuedge_bind_free(struct npuedge_bind *bind);
void npuedge_bind_unmap_all(struct npuedge_vm *vm);

#endif
