/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_GEM_H
#define NPUEDGE_GEM_H

#include <linux/mutex.h>

#include <drm/drm_gem_shmem_helper.h>

#include "npuedge_compat.h"

struct drm_npuedge_bo_create;
struct npuedge_vm;

/**
 * struct npuedge_gem - buffer object
 */
struct npuedge_gem {
	/** @base: pages, mappings of the CPU */
	struct drm_gem_shmem_object base;
	/** @owner: reservation object of the only VM that may map it; NULL: shareable */
	struct drm_gem_object *owner;
	/** @flags: DRM_NPUEDGE_BO_* */
	u32 flags;
#ifndef NPUEDGE_HAVE_GPUVA_LOCK
	/** @gpuva_lock: protects the list of mappings */
	struct mutex gpuva_lock;
#endif
};

/**
 * to_npuedge_gem() - the buffer object of a GEM object
 * @obj: GEM object of this driver
 *
 * Return: the buffer object.
 */
static inline struct npuedge_gem *to_npuedge_gem(struct drm_gem_object *obj)
{
	return container_of(to_drm_gem_shmem_obj(obj), struct npuedge_gem, base);
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

struct drm_gem_object *npuedge_gem_create_object(struct drm_device *drm, size_t size);
int npuedge_gem_create_with_handle(struct drm_file *file, struct npuedge_vm *vm,
				   struct drm_npuedge_bo_create *args);
int npuedge_gem_mmap_offset(struct drm_file *file, u32 handle, u64 *offset);

#endif
