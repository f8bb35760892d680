/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_GEM_H
#define NPUEDGE_GEM_H

#include <linux/mutex.h>

#include <drm/drm_gem.h>
#include <drm/npuedge_accel.h>

#include "npuedge_compat.h"
#include "npuedge_limits.h"
#include "npuedge_shrinker.h"

struct dma_buf;
struct iosys_map;
struct npuedge_vm;

/**
 * struct npuedge_gem - buffer object
 *
 * Where nothing else is said, members are protected by the reservation object of @base.
 */
struct npuedge_gem {
	/** @base: handles, reservation object, mappings by VMs */
	struct drm_gem_object base;
	/** @target: buffer whose memory this one shows read-only; NULL: has memory of its own */
	struct npuedge_gem *target;
	/** @owner: reservation object of the only VM that may map it; NULL: shareable */
	struct drm_gem_object *owner;
	/** @import: dma-buf that it came from, referenced; NULL: none; constant */
	struct dma_buf *import;
	/** @flags: DRM_NPUEDGE_BO_*; constant */
	u32 flags;
#ifndef NPUEDGE_HAVE_GPUVA_LOCK
	/** @gpuva_lock: protects the list of mappings */
	struct mutex gpuva_lock;
#endif
	/** @wc: CPU mappings are write-combined; constant */
	bool wc;
	/** @readonly: came as a read-only dma-buf; constant */
	bool readonly;
	/** @exported: has been a dma-buf, or becomes one */
	bool exported;
	/** @dontneed: contents may be dropped, DRM_NPUEDGE_MADV_DONTNEED */
	bool dontneed;
	/** @purged: contents were dropped; set once */
	bool purged;
	/** @pins: who needs @pages to stay */
	u32 pins;
	/** @vmaps: users of @vaddr; each has a pin */
	u32 vmaps;
	/** @vaddr: kernel's mapping */
	void *vaddr;
	/** @pages: memory; NULL: none yet, or swapped out, or imported */
	struct page **pages;
	/** @sgt: memory as the device sees it; NULL: it does not, see npuedge_dma.c */
	struct sg_table *sgt;
	/** @writes: jobs that are said to write it; protected by @base.resv, as is @fetched */
	unsigned long writes;
	/** @fetched: of these, those whose results are where the CPU and other devices find them */
	unsigned long fetched;
	/** @clean: nothing of @pages is in the CPU's caches, if that matters: see @wc */
	bool clean;

	/** @lru: list of the shrinker that it is on; protected by its lock, as are the following */
	enum npuedge_lru lru;
	/** @lru_node: entry of that list */
	struct list_head lru_node;
	/** @lru_time: jiffies when it was last known to be in use */
	unsigned long lru_time;
	/** @mapped_node: entry of the list of buffers that have an @sgt */
	struct list_head mapped_node;
	/** @resident: counted as such */
	bool resident;
	/** @label: name for humans, NUL terminated */
	char label[NPUEDGE_LABEL_SIZE];
};

/**
 * to_npuedge_gem() - the buffer object of a GEM object
 * @obj: GEM object of this driver
 *
 * Return: the buffer object.
 */
static inline struct npuedge_gem *to_npuedge_gem(struct drm_gem_object *obj)
{
	return container_of(obj, struct npuedge_gem, base);
}

/**
 * npuedge_gem_gpuva_lock() - what protects the list of a buffer's mappings
 * @obj: GEM object of this driver
 *
 * Return: the lock, which is taken where fences wait: no memory is allocated while it is held.
 */
static inline struct mutex *npuedge_gem_gpuva_lock(struct drm_gem_object *obj)
{
#ifdef NPUEDGE_HAVE_GPUVA_LOCK
	return &obj->gpuva.lock;
#else
	return &to_npuedge_gem(obj)->gpuva_lock;
#endif
}

/**
 * npuedge_gem_target() - the buffer that has the memory
 * @bo: buffer
 *
 * Return: @bo, or what it is a read-only view of.
 */
static inline struct npuedge_gem *npuedge_gem_target(struct npuedge_gem *bo)
{
	return bo->target ?: bo;
}

struct npuedge_gem *npuedge_gem_alloc(void);
int npuedge_gem_create_with_handle(struct drm_file *file, struct npuedge_vm *vm,
				   struct drm_npuedge_bo_create *args);
int npuedge_gem_may_map(struct npuedge_gem *bo, struct npuedge_vm *vm, bool readonly);
void npuedge_gem_get_label(struct npuedge_gem *bo, char *label);
int npuedge_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma);
int npuedge_gem_mmap_offset(struct drm_file *file, u32 handle, u64 *offset);
extern const struct vm_operations_struct npuedge_gem_vm_ops;

int npuedge_gem_get_pages(struct npuedge_gem *bo);
int npuedge_gem_get_pages_for_cpu(struct npuedge_gem *bo);
struct sg_table *npuedge_gem_get_sgt(struct npuedge_gem *bo);
void npuedge_gem_drop_pages(struct npuedge_gem *bo);
void npuedge_gem_purge(struct npuedge_gem *bo);
int npuedge_gem_pin(struct npuedge_gem *bo);
void npuedge_gem_unpin(struct npuedge_gem *bo);
int npuedge_gem_pin_unlocked(struct npuedge_gem *bo);
void npuedge_gem_unpin_unlocked(struct npuedge_gem *bo);
int npuedge_gem_vmap(struct drm_gem_object *obj, struct iosys_map *map);
void npuedge_gem_vunmap(struct drm_gem_object *obj, struct iosys_map *map);
struct sg_table *npuedge_gem_copy_sgt(struct drm_gem_object *obj);

#endif
