// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Buffer objects
 *
 * Pages come from shmem and so are zero, charged to the creator's memory cgroup, and allocated
 * when the CPU or a VM first maps them.  Once a VM has mapped a buffer its pages stay until it
 * dies.
 *
 * A buffer that belongs to one VM shares that VM's reservation object: a submit locks all such
 * buffers by one lock, however many there are.  The price is that it cannot be exported.
 */

#include <drm/drm_file.h>
#include <drm/drm_prime.h>

#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_gem.h"
#include "npuedge_vm.h"

static void npuedge_gem_free(struct drm_gem_object *obj)
{
	struct npuedge_gem *bo = to_npuedge_gem(obj);
	struct drm_gem_object *owner = bo->owner;

	drm_gem_shmem_free(&bo->base);
	drm_gem_object_put(owner);
}

static struct dma_buf *npuedge_gem_export(struct drm_gem_object *obj, int flags)
{
	if (to_npuedge_gem(obj)->owner)
		return ERR_PTR(-EPERM);
	return drm_gem_prime_export(obj, flags);
}

static int npuedge_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	if (to_npuedge_gem(obj)->flags & DRM_NPUEDGE_BO_NO_MMAP)
		return -EPERM;
	return drm_gem_shmem_object_mmap(obj, vma);
}

static enum drm_gem_object_status npuedge_gem_status(struct drm_gem_object *obj)
{
	struct drm_gem_shmem_object *shmem = to_drm_gem_shmem_obj(obj);

	return shmem->pages || shmem->sgt ? DRM_GEM_OBJECT_RESIDENT : 0;
}

static const struct drm_gem_object_funcs npuedge_gem_funcs = {
	.free = npuedge_gem_free,
	.print_info = drm_gem_shmem_object_print_info,
	.export = npuedge_gem_export,
	.pin = drm_gem_shmem_object_pin,
	.unpin = drm_gem_shmem_object_unpin,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.vmap = drm_gem_shmem_object_vmap,
	.vunmap = drm_gem_shmem_object_vunmap,
	.mmap = npuedge_gem_mmap,
	.status = npuedge_gem_status,
	.vm_ops = &drm_gem_shmem_vm_ops,
};

/**
 * npuedge_gem_create_object() - allocate the driver's part of a GEM object
 * @drm: DRM device
 * @size: bytes, not used
 *
 * Return: the object, or an error pointer.
 */
struct drm_gem_object *npuedge_gem_create_object(struct drm_device *drm, size_t size)
{
	struct npuedge_gem *bo;

	bo = kzalloc_obj(*bo, GFP_KERNEL_ACCOUNT);
	if (!bo)
		return ERR_PTR(-ENOMEM);

	bo->base.base.funcs = &npuedge_gem_funcs;
	return &bo->base.base;
}

/**
 * npuedge_gem_create_with_handle() - make a buffer and a handle for it
 * @file: owner of the handle
 * @vm: VM that alone may map it, or NULL
 * @args: in: size and flags; out: size and handle
 *
 * Return: 0, -EINVAL if the size is 0 or too large, -ENOMEM.
 */
int npuedge_gem_create_with_handle(struct drm_file *file, struct npuedge_vm *vm,
				   struct drm_npuedge_bo_create *args)
{
	struct drm_gem_shmem_object *shmem;
	struct npuedge_gem *bo;
	int ret;

	if (!args->size || args->size > NPUEDGE_VA_END)
		return -EINVAL;

	shmem = drm_gem_shmem_create(file->minor->dev, args->size);
	if (IS_ERR(shmem))
		return PTR_ERR(shmem);

	bo = to_npuedge_gem(&shmem->base);
	bo->flags = args->flags;
	shmem->map_wc = args->flags & DRM_NPUEDGE_BO_WC;
	if (vm) {
		bo->owner = drm_gpuvm_resv_obj(&vm->base);
		drm_gem_object_get(bo->owner);
		shmem->base.resv = bo->owner->resv;
	}

	args->size = shmem->base.size;
	ret = drm_gem_handle_create(file, &shmem->base, &args->handle);
	drm_gem_object_put(&shmem->base);
	return ret;
}

/**
 * npuedge_gem_mmap_offset() - where mmap() of the device file finds a buffer
 * @file: owner of the handle
 * @handle: GEM handle
 * @offset: out
 *
 * Return: 0, -ENOENT, or -EPERM if the buffer was created with NO_MMAP.
 */
int npuedge_gem_mmap_offset(struct drm_file *file, u32 handle, u64 *offset)
{
	struct drm_gem_object *obj;
	int ret = 0;

	obj = drm_gem_object_lookup(file, handle);
	if (!obj)
		return -ENOENT;

	if (to_npuedge_gem(obj)->flags & DRM_NPUEDGE_BO_NO_MMAP)
		ret = -EPERM;
	else
		*offset = drm_vma_node_offset_addr(&obj->vma_node);

	drm_gem_object_put(obj);
	return ret;
}
