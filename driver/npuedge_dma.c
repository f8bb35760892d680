// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: What is mapped for the device
 *
 * Buffers, address spaces and queues live as long as their last user, but what the device can reach
 * must end when the driver lets go of it: the bus addresses are the IOMMU's, which forgets them.
 * So there are lists of all buffers that are mapped and of all page tables, and once the device is
 * unplugged npuedge_device_unmap() takes down what is on them, and the memory shared with firmware.
 * Objects stay; a buffer keeps its pages and all mappings of the CPU.
 *
 * Whoever maps something, or uses what only exists while it is mapped (bus addresses, entries of
 * page tables, shared memory), does so within drm_dev_enter().  Unplugging waits for those that
 * are in such a section, nobody enters it afterwards, and so nothing is added to the lists that are
 * taken down.  What gives a mapping back need not: it takes it off its list when it is done, or
 * finds that this has been done.
 *
 * A buffer is unmapped with its reservation object locked, or when its last reference is gone.
 */

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include <drm/drm_drv.h>
#include <drm/drm_prime.h>

#include "npuedge_device.h"
#include "npuedge_dma.h"
#include "npuedge_gem.h"

static struct npuedge_memory *npuedge_dma_memory(struct npuedge_gem *bo)
{
	return &to_npuedge_device(bo->base.dev)->memory;
}

static void npuedge_dma_list(struct npuedge_gem *bo, struct sg_table *sgt)
{
	struct npuedge_memory *mem = npuedge_dma_memory(bo);

	bo->sgt = sgt;
	spin_lock(&mem->lock);
	list_add_tail(&bo->mapped_node, &mem->mapped);
	spin_unlock(&mem->lock);
}

/* It is unmapped, or always was. */
static void npuedge_dma_unlist(struct npuedge_gem *bo)
{
	struct npuedge_memory *mem = npuedge_dma_memory(bo);
	bool last;

	spin_lock(&mem->lock);
	list_del_init(&bo->mapped_node);
	last = list_empty(&mem->mapped);
	spin_unlock(&mem->lock);
	if (last)
		wake_up_all(&mem->unmapped);
}

/**
 * npuedge_dma_map() - map a buffer for the device
 * @bo: buffer with memory of its own, locked and not mapped
 * @sgt: its memory; belongs to the mapping on success
 *
 * Return: 0, -ENODEV if the device is gone, or why it cannot be mapped.
 */
int npuedge_dma_map(struct npuedge_gem *bo, struct sg_table *sgt)
{
	struct drm_device *drm = bo->base.dev;
	int cookie, ret;

	dma_resv_assert_held(bo->base.resv);

	if (!drm_dev_enter(drm, &cookie))
		return -ENODEV;

	ret = dma_map_sgtable(drm->dev, sgt, DMA_BIDIRECTIONAL, 0);
	if (!ret)
		npuedge_dma_list(bo, sgt);
	drm_dev_exit(cookie);
	return ret;
}

/**
 * npuedge_dma_unmap() - undo npuedge_dma_map(), if that has not been done
 * @bo: buffer with memory of its own, locked or being freed
 */
void npuedge_dma_unmap(struct npuedge_gem *bo)
{
	if (!bo->sgt)
		return;

	dma_unmap_sgtable(bo->base.dev->dev, bo->sgt, DMA_BIDIRECTIONAL, 0);
	sg_free_table(bo->sgt);
	kfree(bo->sgt);
	bo->sgt = NULL;
	npuedge_dma_unlist(bo);
}

/**
 * npuedge_dma_add_import() - tell of an imported buffer, which is mapped from the beginning
 * @bo: buffer; the device is entered until DRM knows its attachment
 * @sgt: its memory
 */
void npuedge_dma_add_import(struct npuedge_gem *bo, struct sg_table *sgt)
{
	npuedge_dma_list(bo, sgt);
}

/**
 * npuedge_dma_free_import() - let go of a dma-buf, which may be unmapped already
 * @bo: imported buffer that is being freed
 */
void npuedge_dma_free_import(struct npuedge_gem *bo)
{
	if (bo->base.import_attach)
		drm_prime_gem_destroy(&bo->base, bo->sgt);
	else
		dma_buf_put(bo->import);
	npuedge_dma_unlist(bo);
}

/*
 * Unmapping is not enough: the attachment may keep the mapping for the next user.  The buffer's
 * reference to the dma-buf stays, for the CPU's mappings, and for DRM, which looks for the
 * attachment under the lock of names and finds the dma-buf itself without.
 */
static void npuedge_dma_detach(struct npuedge_gem *bo)
{
	struct drm_gem_object *obj = &bo->base;
	struct dma_buf_attachment *attach;

	mutex_lock(&obj->dev->object_name_lock);
	attach = obj->import_attach;
	obj->import_attach = NULL;
	mutex_unlock(&obj->dev->object_name_lock);

	dma_resv_lock(obj->resv, NULL);
	dma_buf_unmap_attachment(attach, bo->sgt, DMA_BIDIRECTIONAL);
	bo->sgt = NULL;
	dma_resv_unlock(obj->resv);
	dma_buf_detach(bo->import, attach);
	npuedge_dma_unlist(bo);
}

/* Any mapped buffer that has users, with a reference. */
static struct npuedge_gem *npuedge_dma_next(struct npuedge_memory *mem)
{
	struct npuedge_gem *bo, *found = NULL;

	spin_lock(&mem->lock);
	list_for_each_entry(bo, &mem->mapped, mapped_node) {
		if (kref_get_unless_zero(&bo->base.refcount)) {
			found = bo;
			break;
		}
	}
	spin_unlock(&mem->lock);
	return found;
}

static bool npuedge_dma_all_unmapped(struct npuedge_memory *mem)
{
	bool empty;

	spin_lock(&mem->lock);
	empty = list_empty(&mem->mapped);
	spin_unlock(&mem->lock);
	return empty;
}

/**
 * npuedge_dma_unmap_all() - unmap all buffers
 * @edev: device that was unplugged; the caller holds no lock that a user of a buffer takes
 *
 * A buffer whose last user is just leaving is unmapped by that one, who is waited for.
 */
void npuedge_dma_unmap_all(struct npuedge_device *edev)
{
	struct npuedge_memory *mem = &edev->memory;
	struct npuedge_gem *bo;

	while ((bo = npuedge_dma_next(mem))) {
		if (bo->import) {
			npuedge_dma_detach(bo);
		} else {
			dma_resv_lock(bo->base.resv, NULL);
			npuedge_dma_unmap(bo);
			npuedge_shrinker_update(bo);
			dma_resv_unlock(bo->base.resv);
		}
		drm_gem_object_put(&bo->base);
	}
	wait_event(mem->unmapped, npuedge_dma_all_unmapped(mem));
}
