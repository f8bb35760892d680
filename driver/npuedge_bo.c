// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Calls about buffers
 *
 * What user space may say about a buffer after it was made: which range the other side is going to
 * read, whether the contents matter, and what it is called.
 */

#include <linux/dma-mapping.h>
#include <linux/string_choices.h>
#include <linux/uaccess.h>

#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/npuedge_accel.h>

#include "npuedge_bo.h"
#include "npuedge_bo_check.h"
#include "npuedge_device.h"
#include "npuedge_gem.h"

static struct npuedge_gem *npuedge_bo_lookup(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file, handle);

	return obj ? to_npuedge_gem(obj) : NULL;
}

/* Page by page, see npuedge_bo_sync_piece(). */
static void npuedge_bo_sync_segment(struct device *dev, struct scatterlist *sg, u64 offset,
				    u64 size, u32 flags)
{
	dma_addr_t addr;
	u64 piece;

	for (; size; offset += piece, size -= piece) {
		piece = npuedge_bo_sync_piece(offset, size, sg_dma_len(sg), PAGE_SIZE);
		addr = sg_dma_address(sg) + offset;
		if (flags & DRM_NPUEDGE_SYNC_FOR_DEVICE)
			dma_sync_single_for_device(dev, addr, piece, DMA_TO_DEVICE);
		if (flags & DRM_NPUEDGE_SYNC_FOR_CPU)
			dma_sync_single_for_cpu(dev, addr, piece, DMA_FROM_DEVICE);
	}
}

/* Does nothing on a device that sees the CPU's caches, unless its memory is bounced. */
static void npuedge_bo_sync_sgt(struct device *dev, struct sg_table *sgt, u64 offset, u64 size,
				u32 flags)
{
	struct scatterlist *sg;
	unsigned int i;
	u64 len;

	if (!dma_dev_need_sync(dev))
		return;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!size)
			return;
		if (offset >= sg_dma_len(sg)) {
			offset -= sg_dma_len(sg);
			continue;
		}

		len = min(size, sg_dma_len(sg) - offset);
		npuedge_bo_sync_segment(dev, sg, offset, len, flags);
		size -= len;
		offset = 0;
	}
}

/**
 * npuedge_bo_sync() - make a range of a buffer visible to the other side
 * @file: owner of the handle
 * @args: range and direction, not yet checked
 *
 * Return: 0, -EINVAL, -ENOENT, -EINTR, or -EOPNOTSUPP for an imported buffer.
 */
int npuedge_bo_sync(struct drm_file *file, const struct drm_npuedge_bo_sync *args)
{
	const u32 known = DRM_NPUEDGE_SYNC_FOR_CPU | DRM_NPUEDGE_SYNC_FOR_DEVICE;
	struct npuedge_gem *handle, *bo;
	int ret;

	if (!args->flags || args->flags & ~known)
		return -EINVAL;

	handle = npuedge_bo_lookup(file, args->handle);
	if (!handle)
		return -ENOENT;

	bo = npuedge_gem_target(handle);
	ret = -EOPNOTSUPP;
	if (bo->import)
		goto out_put;
	ret = -EINVAL;
	if (!npuedge_bo_range_ok(bo->base.size, args->offset, args->size)) {
		drm_dbg(bo->base.dev, "sync: %#llx+%#llx of buffer %u with %#zx bytes\n",
			args->offset, args->size, args->handle, bo->base.size);
		goto out_put;
	}

	ret = dma_resv_lock_interruptible(bo->base.resv, NULL);
	if (ret)
		goto out_put;
	/* What the device has not seen yet is made visible when it does. */
	if (bo->sgt)
		npuedge_bo_sync_sgt(bo->base.dev->dev, bo->sgt, args->offset, args->size,
				    args->flags);
	dma_resv_unlock(bo->base.resv);

out_put:
	drm_gem_object_put(&handle->base);
	return ret;
}

/**
 * npuedge_bo_madvise() - say whether the contents of a buffer matter
 * @file: owner of the handle
 * @args: advice, not yet checked; out: whether the contents are there
 *
 * Return: 0, -EINVAL, -ENOENT, -EINTR, or -EOPNOTSUPP for a buffer that others may use.
 */
int npuedge_bo_madvise(struct drm_file *file, struct drm_npuedge_bo_madvise *args)
{
	struct npuedge_gem *bo;
	int ret;

	if (args->pad || args->advice > DRM_NPUEDGE_MADV_DONTNEED)
		return -EINVAL;

	bo = npuedge_bo_lookup(file, args->handle);
	if (!bo)
		return -ENOENT;

	ret = dma_resv_lock_interruptible(bo->base.resv, NULL);
	if (ret)
		goto out_put;

	if (bo->import || bo->target || bo->exported) {
		ret = -EOPNOTSUPP;
	} else {
		WRITE_ONCE(bo->dontneed, args->advice == DRM_NPUEDGE_MADV_DONTNEED);
		args->retained = !bo->purged;
		npuedge_shrinker_update(bo);
	}
	dma_resv_unlock(bo->base.resv);

out_put:
	drm_gem_object_put(&bo->base);
	return ret;
}

/**
 * npuedge_bo_set_label() - name a buffer
 * @file: owner of the handle
 * @args: label, not yet checked
 *
 * Return: 0, -E2BIG, -EFAULT, -EINVAL or -ENOENT.
 */
int npuedge_bo_set_label(struct drm_file *file, const struct drm_npuedge_bo_set_label *args)
{
	char label[NPUEDGE_LABEL_SIZE] = "";
	struct npuedge_memory *memory;
	struct npuedge_gem *bo;

	if (args->size >= sizeof(label))
		return -E2BIG;
	if (copy_from_user(label, u64_to_user_ptr(args->label), args->size))
		return -EFAULT;
	if (!npuedge_bo_label_ok(label, args->size))
		return -EINVAL;

	bo = npuedge_bo_lookup(file, args->handle);
	if (!bo)
		return -ENOENT;

	memory = &to_npuedge_device(bo->base.dev)->memory;
	spin_lock(&memory->lock);
	memcpy(bo->label, label, sizeof(label));
	spin_unlock(&memory->lock);
	drm_gem_object_put(&bo->base);
	return 0;
}

static void npuedge_bo_print(struct npuedge_gem *handle, u32 id, struct drm_printer *p)
{
	struct npuedge_gem *bo = npuedge_gem_target(handle);
	char label[NPUEDGE_LABEL_SIZE];

	npuedge_gem_get_label(handle, label);
	/* Under a spinlock, so not under that of the buffer: people may see an old value. */
	drm_printf(p, "  bo %u size %zu%s%s%s%s%s%s%s %s\n", id, bo->base.size,
		   handle->target ? " view" : "", bo->import ? " imported" : "",
		   bo->owner ? " private" : "", READ_ONCE(bo->resident) ? " resident" : "",
		   READ_ONCE(bo->pins) ? " pinned" : "",
		   READ_ONCE(bo->dontneed) ? " dontneed" : "",
		   READ_ONCE(bo->purged) ? " purged" : "", label);
}

/**
 * npuedge_bo_print_file() - list the buffers of an open file
 * @file: file
 * @p: where to; does not sleep
 */
void npuedge_bo_print_file(struct drm_file *file, struct drm_printer *p)
{
	struct drm_gem_object *obj;
	int id;

	drm_printf(p, "client %llu:\n", file->client_id);
	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, id)
		npuedge_bo_print(to_npuedge_gem(obj), id, p);
	spin_unlock(&file->table_lock);
}
