// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Memory of buffers
 *
 * A buffer's memory is a shmem file, so it is zero at first, charged to the memory cgroup of who
 * needs it first, and can be swapped out.  While a buffer has its page array all its pages are
 * resident and do not move; npuedge_gem_get_pages() makes them so, and only the shrinker, see
 * npuedge_shrinker.c, or the end of the buffer undoes it.  A pin keeps the shrinker off: for a
 * device of another driver that was given bus addresses, and for the kernel.
 *
 * Writes are not tracked page by page.  Whoever gets pages may write them, the device unseen, so
 * all count as dirty.
 *
 * This is not drm_gem_shmem_object: its memory can be dropped for good, but not swapped out while
 * the device has it mapped.  Weights are to come back after memory was short.
 *
 * All functions but the last want the reservation object locked, or the last reference gone.
 */

#include <linux/dma-buf.h>
#include <linux/iosys-map.h>
#include <linux/pagemap.h>
#include <linux/shmem_fs.h>
#include <linux/vmalloc.h>

#ifdef CONFIG_X86
#include <asm/set_memory.h>
#endif

#include <drm/drm_drv.h>
#include <drm/drm_prime.h>
#include <drm/drm_vma_manager.h>

#include "npuedge_compat.h"
#include "npuedge_dma.h"
#include "npuedge_gem.h"

/* On x86 the kernel's own mapping decides how memory may be cached. */
static int npuedge_pages_set_wc(struct npuedge_gem *bo, bool wc)
{
#ifdef CONFIG_X86
	if (!bo->wc)
		return 0;
	if (wc)
		return set_pages_array_wc(bo->pages, bo->base.size >> PAGE_SHIFT);
	return set_pages_array_wb(bo->pages, bo->base.size >> PAGE_SHIFT);
#else
	return 0;
#endif
}

/**
 * npuedge_gem_get_pages() - make a buffer resident
 * @bo: buffer with memory of its own
 *
 * Return: 0, -ENOMEM, or -EINVAL if its contents were dropped.
 */
int npuedge_gem_get_pages(struct npuedge_gem *bo)
{
	struct page **pages;
	int ret;

	dma_resv_assert_held(bo->base.resv);

	if (bo->pages)
		return 0;
	if (bo->purged)
		return -EINVAL;

	pages = drm_gem_get_pages(&bo->base);
	if (IS_ERR(pages))
		return PTR_ERR(pages);

	bo->pages = pages;
	ret = npuedge_pages_set_wc(bo, true);
	if (ret) {
		/* Some may be: they go back as they came. */
		npuedge_pages_set_wc(bo, false);
		bo->pages = NULL;
		drm_gem_put_pages(&bo->base, pages, false, false);
		return ret;
	}
	npuedge_shrinker_update(bo);
	return 0;
}

/**
 * npuedge_gem_get_sgt() - make a buffer resident and visible to the device
 * @bo: buffer, no view
 *
 * Return: its segments, valid until it is unlocked, or as long as it is in use by a job and the
 * device is there; or an error pointer: -ENOMEM, -EINVAL if its contents were dropped, -ENODEV if
 * the device is gone.
 */
struct sg_table *npuedge_gem_get_sgt(struct npuedge_gem *bo)
{
	struct drm_device *drm = bo->base.dev;
	struct sg_table *sgt;
	int ret;

	dma_resv_assert_held(bo->base.resv);

	if (bo->sgt)
		return bo->sgt;
	if (bo->import)
		return ERR_PTR(-ENODEV);

	ret = npuedge_gem_get_pages(bo);
	if (ret)
		return ERR_PTR(ret);

	sgt = drm_prime_pages_to_sg(drm, bo->pages, bo->base.size >> PAGE_SHIFT);
	if (IS_ERR(sgt))
		return sgt;

	ret = npuedge_dma_map(bo, sgt);
	if (ret) {
		sg_free_table(sgt);
		kfree(sgt);
		return ERR_PTR(ret);
	}
	bo->clean = bo->wc && !IS_ENABLED(CONFIG_X86);
	return sgt;
}

/**
 * npuedge_gem_get_pages_for_cpu() - make a buffer resident, for a mapping by the CPU
 * @bo: buffer with memory of its own
 *
 * The zeros that the kernel wrote are in the CPU's caches, and must leave them before somebody
 * writes past these.  Mapping for the device does that; x86 does when it makes memory
 * write-combined.
 *
 * Return: as npuedge_gem_get_pages(); -ENODEV if it takes a device that is gone.
 */
int npuedge_gem_get_pages_for_cpu(struct npuedge_gem *bo)
{
	if (!bo->wc || bo->clean || IS_ENABLED(CONFIG_X86))
		return npuedge_gem_get_pages(bo);
	return PTR_ERR_OR_ZERO(npuedge_gem_get_sgt(bo));
}

/**
 * npuedge_gem_drop_pages() - let the kernel swap a buffer out
 * @bo: buffer with memory of its own that nobody maps
 */
void npuedge_gem_drop_pages(struct npuedge_gem *bo)
{
	npuedge_dma_unmap(bo);
	if (!bo->pages)
		return;

	bo->clean = false;
	npuedge_pages_set_wc(bo, false);
	drm_gem_put_pages(&bo->base, bo->pages, true, false);
	bo->pages = NULL;
	npuedge_shrinker_update(bo);
}

/**
 * npuedge_gem_purge() - drop the contents of a buffer for good
 * @bo: buffer with memory of its own that nobody maps
 */
void npuedge_gem_purge(struct npuedge_gem *bo)
{
	struct inode *inode = file_inode(bo->base.filp);

	WRITE_ONCE(bo->purged, true);
	npuedge_gem_drop_pages(bo);
	shmem_truncate_range(inode, 0, (loff_t)-1);
	invalidate_mapping_pages(inode->i_mapping, 0, -1);
}

/**
 * npuedge_gem_pin() - have a buffer stay resident
 * @bo: buffer, no view
 *
 * Return: 0, -ENOMEM, or -EINVAL if its contents were dropped.
 */
int npuedge_gem_pin(struct npuedge_gem *bo)
{
	int ret;

	/* Who exports an imported buffer pins it. */
	if (bo->import)
		return 0;

	ret = npuedge_gem_get_pages(bo);
	if (ret)
		return ret;

	WRITE_ONCE(bo->pins, bo->pins + 1);
	npuedge_shrinker_update(bo);
	return 0;
}

/**
 * npuedge_gem_unpin() - undo npuedge_gem_pin()
 * @bo: buffer
 */
void npuedge_gem_unpin(struct npuedge_gem *bo)
{
	if (bo->import)
		return;

	WRITE_ONCE(bo->pins, bo->pins - 1);
	npuedge_shrinker_update(bo);
}

static int npuedge_pages_vmap(struct npuedge_gem *bo)
{
	pgprot_t prot = bo->wc ? pgprot_writecombine(PAGE_KERNEL) : PAGE_KERNEL;
	int ret;

	if (bo->vmaps)
		return 0;

	ret = npuedge_gem_get_pages_for_cpu(bo);
	ret = ret ?: npuedge_gem_pin(bo);
	if (ret)
		return ret;

	bo->vaddr = vmap(bo->pages, bo->base.size >> PAGE_SHIFT, VM_MAP, prot);
	if (!bo->vaddr) {
		npuedge_gem_unpin(bo);
		return -ENOMEM;
	}
	return 0;
}

/**
 * npuedge_gem_vmap() - map a buffer for the kernel
 * @obj: buffer
 * @map: out: where
 *
 * Return: 0, -ENOMEM, or -EINVAL if its contents were dropped.
 */
int npuedge_gem_vmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	struct npuedge_gem *bo = npuedge_gem_target(to_npuedge_gem(obj));
	int ret;

	if (bo->import)
		return dma_buf_vmap(bo->import, map);

	ret = npuedge_pages_vmap(bo);
	if (ret)
		return ret;

	WRITE_ONCE(bo->vmaps, bo->vmaps + 1);
	iosys_map_set_vaddr(map, bo->vaddr);
	return 0;
}

/**
 * npuedge_gem_vunmap() - undo npuedge_gem_vmap()
 * @obj: buffer
 * @map: what npuedge_gem_vmap() gave
 */
void npuedge_gem_vunmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	struct npuedge_gem *bo = npuedge_gem_target(to_npuedge_gem(obj));

	if (bo->import) {
		dma_buf_vunmap(bo->import, map);
		return;
	}
	WRITE_ONCE(bo->vmaps, bo->vmaps - 1);
	if (bo->vmaps)
		return;

	vunmap(bo->vaddr);
	bo->vaddr = NULL;
	npuedge_gem_unpin(bo);
}

/**
 * npuedge_gem_copy_sgt() - the pages of a buffer, for the device of another driver
 * @obj: buffer that is pinned
 *
 * Return: segments, which the caller frees, or an error pointer.
 */
struct sg_table *npuedge_gem_copy_sgt(struct drm_gem_object *obj)
{
	return drm_prime_pages_to_sg(obj->dev, to_npuedge_gem(obj)->pages, obj->size >> PAGE_SHIFT);
}

/**
 * npuedge_gem_pin_unlocked() - npuedge_gem_pin() that takes the lock
 * @bo: buffer, no view
 *
 * Return: as npuedge_gem_pin().
 */
int npuedge_gem_pin_unlocked(struct npuedge_gem *bo)
{
	int ret;

	dma_resv_lock(bo->base.resv, NULL);
	ret = npuedge_gem_pin(bo);
	dma_resv_unlock(bo->base.resv);
	return ret;
}

/**
 * npuedge_gem_unpin_unlocked() - npuedge_gem_unpin() that takes the lock
 * @bo: buffer
 */
void npuedge_gem_unpin_unlocked(struct npuedge_gem *bo)
{
	dma_resv_lock(bo->base.resv, NULL);
	npuedge_gem_unpin(bo);
	dma_resv_unlock(bo->base.resv);
}
