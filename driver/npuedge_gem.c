// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Buffer objects
 *
 * There are three kinds:
 *
 * - with memory of their own, see npuedge_pages.c;
 * - imported: a dma-buf of another driver, which keeps it in place as long as we are attached;
 * - views: a buffer of this device that came back as a read-only dma-buf.  A view has a handle, a
 *   size and a label, all else is that of its target.  It exists so that whoever was given reading
 *   cannot write.
 *
 * A buffer that belongs to one VM shares that VM's reservation object: a submit locks all such
 * buffers by one lock, however many there are.  The price is that it cannot be exported.
 *
 * No dmem cgroup region is registered: that controller limits the memory that devices bring along.
 * This memory is the system's, the memory controller charges it already, and would twice.
 */

#include <linux/pagemap.h>
#include <linux/property.h>

#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_dma.h"
#include "npuedge_gem.h"
#include "npuedge_plat.h"
#include "npuedge_prime.h"
#include "npuedge_vm.h"

/* The shrinker may drop the last reference, and it must not wait for the reservation lock. */
static void npuedge_gem_free(struct drm_gem_object *obj)
{
	struct npuedge_gem *bo = to_npuedge_gem(obj);
	struct npuedge_gem *target = bo->target;
	struct drm_gem_object *owner = bo->owner;

	npuedge_shrinker_remove(bo);
	if (bo->import)
		npuedge_dma_free_import(bo);
	else
		npuedge_gem_drop_pages(bo);

	drm_gem_object_release(obj);
	kfree(bo);
	drm_gem_object_put(owner);
	if (target)
		drm_gem_object_put(&target->base);
}

static void npuedge_gem_print_info(struct drm_printer *p, unsigned int indent,
				   const struct drm_gem_object *obj)
{
	const struct npuedge_gem *bo = container_of_const(obj, struct npuedge_gem, base);

	/* For people, who may see an old value: the printer's caller may hold a spinlock. */
	drm_printf_indent(p, indent, "resident=%u pins=%u vmaps=%u dontneed=%u purged=%u\n",
			  READ_ONCE(bo->resident), READ_ONCE(bo->pins), READ_ONCE(bo->vmaps),
			  READ_ONCE(bo->dontneed), READ_ONCE(bo->purged));
}

static int npuedge_gem_pin_object(struct drm_gem_object *obj)
{
	return npuedge_gem_pin(to_npuedge_gem(obj));
}

static void npuedge_gem_unpin_object(struct drm_gem_object *obj)
{
	npuedge_gem_unpin(to_npuedge_gem(obj));
}

static enum drm_gem_object_status npuedge_gem_status(struct drm_gem_object *obj)
{
	struct npuedge_gem *bo = npuedge_gem_target(to_npuedge_gem(obj));

	return (READ_ONCE(bo->resident) ? DRM_GEM_OBJECT_RESIDENT : 0) |
	       (READ_ONCE(bo->dontneed) ? DRM_GEM_OBJECT_PURGEABLE : 0);
}

static const struct drm_gem_object_funcs npuedge_gem_funcs = {
	.free = npuedge_gem_free,
	.print_info = npuedge_gem_print_info,
	.export = npuedge_prime_export,
	.pin = npuedge_gem_pin_object,
	.unpin = npuedge_gem_unpin_object,
	.get_sg_table = npuedge_gem_copy_sgt,
	.vmap = npuedge_gem_vmap,
	.vunmap = npuedge_gem_vunmap,
	.mmap = npuedge_gem_mmap,
	.status = npuedge_gem_status,
	.vm_ops = &npuedge_gem_vm_ops,
};

/**
 * npuedge_gem_alloc() - allocate a buffer that is nothing yet
 *
 * Return: the buffer, or NULL.
 */
struct npuedge_gem *npuedge_gem_alloc(void)
{
	struct npuedge_gem *bo = kzalloc_obj(*bo, GFP_KERNEL_ACCOUNT);

	if (!bo)
		return NULL;

	bo->base.funcs = &npuedge_gem_funcs;
#ifndef NPUEDGE_HAVE_GPUVA_LOCK
	mutex_init(&bo->gpuva_lock);
	drm_gem_gpuva_set_lock(&bo->base, &bo->gpuva_lock);
#endif
	bo->lru = NPUEDGE_LRU_NONE;
	INIT_LIST_HEAD(&bo->lru_node);
	INIT_LIST_HEAD(&bo->mapped_node);
	return bo;
}

/*
 * A device that does not see the CPU's caches can only share memory that is not in them.  Its
 * description says so, or for a PCI function that of the host bridge.
 */
static bool npuedge_gem_uncached(struct npuedge_device *edev)
{
	return device_get_dma_attr(npuedge_pci_described(edev->dma_dev)) == DEV_DMA_NON_COHERENT;
}

/*
 * Elsewhere it is a hint that saves cache lines, if the processor keeps such mappings coherent
 * with what the device sees through its caches; only x86 does.
 */
static bool npuedge_gem_wants_wc(struct npuedge_device *edev, u32 flags)
{
	if (npuedge_gem_uncached(edev))
		return true;
	return IS_ENABLED(CONFIG_X86) && flags & DRM_NPUEDGE_BO_WC;
}

static struct npuedge_gem *npuedge_gem_create(struct npuedge_device *edev, u64 size, u32 flags)
{
	struct npuedge_gem *bo;
	int ret;

	bo = npuedge_gem_alloc();
	if (!bo)
		return ERR_PTR(-ENOMEM);

	bo->flags = flags;
	bo->wc = npuedge_gem_wants_wc(edev, flags);
	ret = drm_gem_object_init(&edev->base, &bo->base, PAGE_ALIGN(size));
	if (ret) {
		drm_gem_private_object_fini(&bo->base);
		goto err_free;
	}

	ret = drm_gem_create_mmap_offset(&bo->base);
	if (ret) {
		drm_gem_object_release(&bo->base);
		goto err_free;
	}

	/* Resident pages do not move.  A lack of memory is an error, nobody is killed for it. */
	mapping_set_gfp_mask(bo->base.filp->f_mapping,
			     GFP_HIGHUSER | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	npuedge_shrinker_add(bo);
	return bo;

err_free:
	kfree(bo);
	return ERR_PTR(ret);
}

/**
 * npuedge_gem_create_with_handle() - make a buffer and a handle for it
 * @file: owner of the handle
 * @vm: VM that alone may map it, or NULL
 * @args: in: size and flags; out: size and handle
 *
 * Return: 0, -EINVAL if the size is 0 or too large, -ENOMEM, also if the machine has less memory.
 */
int npuedge_gem_create_with_handle(struct drm_file *file, struct npuedge_vm *vm,
				   struct drm_npuedge_bo_create *args)
{
	struct npuedge_device *edev = to_npuedge_device(file->minor->dev);
	struct npuedge_gem *bo;
	int ret;

	if (!args->size || args->size > NPUEDGE_VA_END) {
		drm_dbg(&edev->base, "buffer of %#llx bytes, not 1..%#llx\n", args->size,
			NPUEDGE_VA_END);
		return -EINVAL;
	}
	/* Its array of pages is not charged to anybody, so there is one only for what can exist. */
	if (args->size >> PAGE_SHIFT > totalram_pages()) {
		drm_dbg(&edev->base, "buffer of %#llx bytes in a machine of %lu pages\n",
			args->size, totalram_pages());
		return -ENOMEM;
	}

	bo = npuedge_gem_create(edev, args->size, args->flags);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	if (vm) {
		bo->owner = drm_gpuvm_resv_obj(&vm->base);
		drm_gem_object_get(bo->owner);
		bo->base.resv = bo->owner->resv;
	}

	args->size = bo->base.size;
	ret = drm_gem_handle_create(file, &bo->base, &args->handle);
	drm_gem_object_put(&bo->base);
	return ret;
}

/**
 * npuedge_gem_may_map() - check whether a VM may map a buffer
 * @bo: buffer that a handle stands for
 * @vm: address space
 * @readonly: device writes fault
 *
 * Return: 0, -EPERM if it belongs to another VM, -EACCES if it may only be read.
 */
int npuedge_gem_may_map(struct npuedge_gem *bo, struct npuedge_vm *vm, bool readonly)
{
	if (bo->owner && bo->owner != drm_gpuvm_resv_obj(&vm->base))
		return -EPERM;
	return bo->readonly && !readonly ? -EACCES : 0;
}

/**
 * npuedge_gem_get_label() - read the label of a buffer
 * @bo: buffer
 * @label: out: NPUEDGE_LABEL_SIZE bytes, NUL terminated; empty if it has none
 */
void npuedge_gem_get_label(struct npuedge_gem *bo, char *label)
{
	struct npuedge_memory *memory = &to_npuedge_device(bo->base.dev)->memory;

	spin_lock(&memory->lock);
	strscpy(label, bo->label, NPUEDGE_LABEL_SIZE);
	spin_unlock(&memory->lock);
}
