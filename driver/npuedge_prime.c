// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Sharing buffers by dma-buf
 *
 * Export: a dma-buf has a reference to its buffer, which so outlives the file that made it.  An
 * attached device of another driver pins the buffer.  That device need not see the CPU's caches,
 * even if the NPU does, and may work on a copy in memory that it reaches:
 *
 * - what it is given is up to date when it is mapped;
 * - from then on the CPU and the device exchange what they wrote where the CPU's access begins and
 *   ends (DMA_BUF_IOCTL_SYNC), on behalf of all attached devices, and of the NPU as by BO_SYNC;
 * - one of them at a time may write between two accesses of the CPU: a copy comes back whole, old
 *   as it may be.  That of another device counts, but not if a job that says that it writes the
 *   buffer came after it.  Of several devices that may write and have copies each, nobody knows
 *   which did: that of the one that was attached first counts, so one such mapping at a time;
 * - the end of a mapping leaves the caches alone, as it does with other DRM drivers: they may have
 *   what the CPU or a coherent NPU wrote meanwhile.  Unless the device was given the memory for
 *   writing only: that is then handed back.
 *
 * Write-combined memory is not in the caches, only copies of it need all this.
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
#include <linux/dma-resv.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_prime.h>

#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_dma.h"
#include "npuedge_gem.h"
#include "npuedge_prime.h"

/* What an attached device has of a buffer; protected by the reservation object. */
struct npuedge_prime_user {
	/* NULL: not mapped */
	struct sg_table *sgt;
	/*
	 * As it is mapped: DMA_BIDIRECTIONAL for who only writes as well, whose copy could not be
	 * brought up to date otherwise, and would come back with what is old in it.
	 */
	enum dma_data_direction dir;
	/* of the jobs that write the buffer, those whose results it has been given */
	unsigned long seen;
};

static int npuedge_prime_attach(struct dma_buf *dma_buf, struct dma_buf_attachment *attach)
{
	struct npuedge_prime_user *user;
	int ret;

	user = kzalloc_obj(*user, GFP_KERNEL_ACCOUNT);
	if (!user)
		return -ENOMEM;

	ret = drm_gem_map_attach(dma_buf, attach);
	if (ret) {
		kfree(user);
		return ret;
	}
	attach->priv = user;
	return 0;
}

static void npuedge_prime_detach(struct dma_buf *dma_buf, struct dma_buf_attachment *attach)
{
	drm_gem_map_detach(dma_buf, attach);
	kfree(attach->priv);
}

/* What jobs have written comes to where others find it, once they have ended. */
static void npuedge_prime_fetch(struct npuedge_gem *bo)
{
	if (bo->fetched == bo->writes ||
	    !dma_resv_test_signaled(bo->base.resv, DMA_RESV_USAGE_WRITE))
		return;
	if (bo->sgt)
		dma_sync_sgtable_for_cpu(bo->base.dev->dev, bo->sgt, DMA_BIDIRECTIONAL);
	bo->fetched = bo->writes;
}

/* The helper would leave what the CPU wrote in its caches. */
static struct sg_table *npuedge_prime_map(struct dma_buf_attachment *attach,
					  enum dma_data_direction dir)
{
	struct npuedge_gem *bo = to_npuedge_gem(attach->dmabuf->priv);
	struct npuedge_prime_user *user = attach->priv;
	struct sg_table *sgt;
	int ret;

	sgt = npuedge_gem_copy_sgt(&bo->base);
	if (IS_ERR(sgt))
		return sgt;

	if (dir == DMA_FROM_DEVICE)
		dir = DMA_BIDIRECTIONAL;
	npuedge_prime_fetch(bo);
	ret = dma_map_sgtable(attach->dev, sgt, dir, 0);
	if (ret) {
		sg_free_table(sgt);
		kfree(sgt);
		return ERR_PTR(ret);
	}
	user->sgt = sgt;
	user->dir = dir;
	user->seen = bo->fetched;
	return sgt;
}

static void npuedge_prime_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
				enum dma_data_direction dir)
{
	struct npuedge_gem *bo = to_npuedge_gem(attach->dmabuf->priv);
	struct npuedge_prime_user *user = attach->priv;
	bool back = dir == DMA_FROM_DEVICE && user->seen == bo->writes;

	user->sgt = NULL;
	dma_unmap_sgtable(attach->dev, sgt, user->dir, back ? 0 : DMA_ATTR_SKIP_CPU_SYNC);
	/* The NPU's own copy is the older one now, and would come back at the CPU's next access. */
	if (back && bo->sgt)
		dma_sync_sgtable_for_device(bo->base.dev->dev, bo->sgt, DMA_BIDIRECTIONAL);
	sg_free_table(sgt);
	kfree(sgt);
}

/* Of the copies that a device may have written the CPU gets those that no job has made old. */
static void npuedge_prime_from_user(struct dma_buf_attachment *attach)
{
	struct npuedge_gem *bo = to_npuedge_gem(attach->dmabuf->priv);
	struct npuedge_prime_user *user = attach->priv;

	if (user->sgt && user->dir != DMA_TO_DEVICE && user->seen == bo->writes)
		dma_sync_sgtable_for_cpu(attach->dev, user->sgt, user->dir);
}

/* What the CPU has written, and what jobs have written as far as it is here. */
static void npuedge_prime_to_user(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct npuedge_gem *bo = to_npuedge_gem(attach->dmabuf->priv);
	struct npuedge_prime_user *user = attach->priv;

	if (!user->sgt)
		return;
	/* It only reads, whatever the CPU does. */
	if (user->dir != DMA_BIDIRECTIONAL)
		dir = user->dir;
	else if (user->seen != bo->fetched)
		dir = DMA_BIDIRECTIONAL;
	dma_sync_sgtable_for_device(attach->dev, user->sgt, dir);
	user->seen = bo->fetched;
}

static int npuedge_prime_begin_cpu_access(struct dma_buf *dma_buf, enum dma_data_direction dir)
{
	struct npuedge_gem *bo = to_npuedge_gem(dma_buf->priv);
	bool write = dir != DMA_FROM_DEVICE;
	struct dma_buf_attachment *attach;
	long ret;

	/* dma-buf waits as well, but afterwards: what is not written yet cannot be fetched. */
	ret = dma_resv_wait_timeout(dma_buf->resv, dma_resv_usage_rw(write), true,
				    MAX_SCHEDULE_TIMEOUT);
	if (ret < 0)
		return ret;

	ret = dma_resv_lock_interruptible(dma_buf->resv, NULL);
	if (ret)
		return ret;
	/*
	 * Who only writes need not write all of it, and copies will be replaced as a whole.
	 * Without an attachment the buffer may have been evicted, then the NPU does not have it
	 * either; after an unplug it has nothing, the others still do.
	 */
	if (bo->sgt)
		dma_sync_sgtable_for_cpu(bo->base.dev->dev, bo->sgt,
					 write ? DMA_BIDIRECTIONAL : dir);
	npuedge_prime_fetch(bo);
	list_for_each_entry(attach, &dma_buf->attachments, node)
		npuedge_prime_from_user(attach);
	dma_resv_unlock(dma_buf->resv);
	return 0;
}

static int npuedge_prime_end_cpu_access(struct dma_buf *dma_buf, enum dma_data_direction dir)
{
	struct npuedge_gem *bo = to_npuedge_gem(dma_buf->priv);
	struct dma_buf_attachment *attach;
	bool all;

	dma_resv_lock(dma_buf->resv, NULL);
	/* The NPU gets what came from others, unless a job has just written, or still does. */
	all = !list_empty(&dma_buf->attachments) && bo->fetched == bo->writes;
	if (bo->wc) {
		/* Whoever is told that the access has ended finds what is still being combined. */
		wmb();
	}
	if (bo->sgt)
		dma_sync_sgtable_for_device(bo->base.dev->dev, bo->sgt,
					    all ? DMA_BIDIRECTIONAL : dir);
	list_for_each_entry(attach, &dma_buf->attachments, node)
		npuedge_prime_to_user(attach, dir);
	dma_resv_unlock(dma_buf->resv);
	return 0;
}

static const struct dma_buf_ops npuedge_prime_ops = {
	.attach = npuedge_prime_attach,
	.detach = npuedge_prime_detach,
	.map_dma_buf = npuedge_prime_map,
	.unmap_dma_buf = npuedge_prime_unmap,
	.release = drm_gem_dmabuf_release,
	.begin_cpu_access = npuedge_prime_begin_cpu_access,
	.end_cpu_access = npuedge_prime_end_cpu_access,
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
	bool dontneed, before;
	struct dma_buf *dma_buf;

	if (bo->owner)
		return ERR_PTR(-EPERM);

	/* From here on nobody gives that advice any more. */
	dma_resv_lock(obj->resv, NULL);
	dontneed = bo->dontneed;
	before = bo->exported;
	if (!dontneed)
		bo->exported = true;
	dma_resv_unlock(obj->resv);
	if (dontneed)
		return ERR_PTR(-EINVAL);

	dma_buf = drm_gem_dmabuf_export(obj->dev, &info);
	if (IS_ERR(dma_buf)) {
		/* DRM makes one at a time. */
		dma_resv_lock(obj->resv, NULL);
		bo->exported = before;
		dma_resv_unlock(obj->resv);
	}
	return dma_buf;
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
