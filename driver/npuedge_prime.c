// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Sharing buffers by dma-buf
 *
 * Export: a dma-buf has a reference to its buffer, which so outlives the file that made it.  An
 * attached device of another driver pins the buffer.
 *
 * Import: the attachment is static, so the exporter keeps the memory in place and there is nothing
 * to follow.  It ends with the buffer, or before when the device is unplugged: then the CPU alone
 * sees the memory.
 *
 * A buffer of this device is not imported: its handle stands for the same object, so that there is
 * one copy of it and one reservation object.
 *
 * A file descriptor that was opened for reading only gives reading only, to the CPU and to the
 * device: an imported buffer is marked, one of this device gets a view, see npuedge_gem.c.  DRM
 * makes one dma-buf of a buffer, so its first export decides.
 */

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/scatterlist.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_prime.h>

#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_dma.h"
#include "npuedge_gem.h"
#include "npuedge_prime.h"

static const struct dma_buf_ops npuedge_prime_ops = {
	.attach = drm_gem_map_attach,
	.detach = drm_gem_map_detach,
	.map_dma_buf = drm_gem_map_dma_buf,
	.unmap_dma_buf = drm_gem_unmap_dma_buf,
	.release = drm_gem_dmabuf_release,
	.mmap = drm_gem_dmabuf_mmap,
	.vmap = drm_gem_dmabuf_vmap,
	.vunmap = drm_gem_dmabuf_vunmap,
};

/**
 * npuedge_prime_export() - make a dma-buf of a buffer
 * @obj: buffer with memory of its own; DRM has the dma-buf of any other
 * @flags: DRM_CLOEXEC, DRM_RDWR
 *
 * Return: the dma-buf, or an error pointer: -EPERM if the buffer belongs to a VM, -EINVAL if its
 * contents may be dropped, -ENOMEM.
 */
struct dma_buf *npuedge_prime_export(struct drm_gem_object *obj, int flags)
{
	struct npuedge_gem *bo = to_npuedge_gem(obj);
	struct dma_buf_export_info info = {
		.exp_name = KBUILD_MODNAME,
		.owner = THIS_MODULE,
		.ops = &npuedge_prime_ops,
		.size = obj->size,
		.flags = flags,
		.priv = obj,
		.resv = obj->resv,
	};
	bool dontneed;

	if (bo->owner)
		return ERR_PTR(-EPERM);

	/* From here on nobody gives that advice any more. */
	dma_resv_lock(obj->resv, NULL);
	dontneed = bo->dontneed;
	if (!dontneed)
		bo->exported = true;
	dma_resv_unlock(obj->resv);
	if (dontneed)
		return ERR_PTR(-EINVAL);

	return drm_gem_dmabuf_export(obj->dev, &info);
}

/* A read-only handle of a buffer of this device. */
static struct drm_gem_object *npuedge_prime_view(struct drm_gem_object *target)
{
	struct npuedge_gem *view = npuedge_gem_alloc();

	if (!view)
		return ERR_PTR(-ENOMEM);

	drm_gem_private_object_init(target->dev, &view->base, target->size);
	drm_gem_object_get(target);
	view->base.resv = target->resv;
	view->target = to_npuedge_gem(target);
	view->readonly = true;
	return &view->base;
}

/**
 * npuedge_prime_import() - make a buffer of a dma-buf
 * @drm: DRM device
 * @dma_buf: dma-buf of any driver
 *
 * Return: the buffer, or an error pointer; -ENODEV if the device is gone.
 */
struct drm_gem_object *npuedge_prime_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	bool readonly = !(dma_buf->file->f_mode & FMODE_WRITE);
	struct drm_gem_object *obj = dma_buf->priv;
	int cookie;

	if (dma_buf->ops == &npuedge_prime_ops && obj->dev == drm) {
		if (readonly)
			return npuedge_prime_view(obj);
		drm_gem_object_get(obj);
		return obj;
	}

	if (!drm_dev_enter(drm, &cookie))
		return ERR_PTR(-ENODEV);

	obj = drm_gem_prime_import_dev(drm, dma_buf, drm->dev);
	if (!IS_ERR(obj))
		to_npuedge_gem(obj)->readonly = readonly;
	drm_dev_exit(cookie);
	return obj;
}

/**
 * npuedge_prime_import_sg_table() - make a buffer of the segments of a dma-buf
 * @drm: DRM device
 * @attach: attachment
 * @sgt: its memory, mapped for the device
 *
 * Return: the buffer, or an error pointer: -EINVAL if the memory is shorter than the dma-buf says,
 * -ENOMEM.
 */
struct drm_gem_object *npuedge_prime_import_sg_table(struct drm_device *drm,
						     struct dma_buf_attachment *attach,
						     struct sg_table *sgt)
{
	size_t size = attach->dmabuf->size, mapped = 0;
	struct npuedge_gem *bo;
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_dma_sg(sgt, sg, i)
		mapped += sg_dma_len(sg);
	if (!size || !PAGE_ALIGNED(size) || mapped < size)
		return ERR_PTR(-EINVAL);

	bo = npuedge_gem_alloc();
	if (!bo)
		return ERR_PTR(-ENOMEM);

	drm_gem_private_object_init(drm, &bo->base, size);
	bo->import = attach->dmabuf;
	npuedge_dma_add_import(bo, sgt);
	npuedge_shrinker_add(bo);
	return &bo->base;
}
