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
 *
 * All pages of a buffer exist when it is mapped, so a page fault of the CPU maps what surrounds it
 * as well, up to 2 MiB: as one entry where the memory is a huge page.  Writes are not tracked page
 * by page.  Whoever gets pages may write them, the device unseen, so all count as dirty.
 */

#include <linux/mm.h>
#include <linux/property.h>

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

#ifdef NPUEDGE_HAVE_PMD_FAULT
static vm_fault_t npuedge_gem_insert_huge(struct vm_fault *vmf, struct page *page)
{
	unsigned long start = ALIGN_DOWN(vmf->address, PMD_SIZE);
	unsigned long pfn = page_to_pfn(page);

	if (start < vmf->vma->vm_start || start + PMD_SIZE > vmf->vma->vm_end ||
	    !folio_test_pmd_mappable(page_folio(page)) ||
	    (vmf->address ^ PFN_PHYS(pfn)) & (PMD_SIZE - 1) & PAGE_MASK)
		return VM_FAULT_FALLBACK;

	return vmf_insert_pfn_pmd(vmf, ALIGN_DOWN(pfn, PMD_SIZE >> PAGE_SHIFT),
				  vmf->flags & FAULT_FLAG_WRITE);
}
#else
static vm_fault_t npuedge_gem_insert_huge(struct vm_fault *vmf, struct page *page)
{
	return VM_FAULT_FALLBACK;
}
#endif

/* The page at fault, then those around it below the same page table; what is mapped stays. */
static vm_fault_t npuedge_gem_insert_around(struct vm_fault *vmf, struct page **pages,
					    pgoff_t index, pgoff_t count)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long start, end, addr = vmf->address & PAGE_MASK;
	vm_fault_t ret;

	ret = vmf_insert_pfn(vma, addr, page_to_pfn(pages[index]));
	if (ret != VM_FAULT_NOPAGE)
		return ret;

	start = max(ALIGN_DOWN(addr, PMD_SIZE), vma->vm_start);
	end = min3(ALIGN_DOWN(addr, PMD_SIZE) + PMD_SIZE, vma->vm_end,
		   addr + ((count - index) << PAGE_SHIFT));
	pages += index - ((addr - start) >> PAGE_SHIFT);
	for (; start < end; start += PAGE_SIZE) {
		if (vmf_insert_pfn(vma, start, page_to_pfn(*pages++)) != VM_FAULT_NOPAGE)
			break;
	}
	return VM_FAULT_NOPAGE;
}

static vm_fault_t npuedge_gem_map_fault(struct vm_fault *vmf, bool huge)
{
	struct drm_gem_object *obj = vmf->vma->vm_private_data;
	struct drm_gem_shmem_object *shmem = to_drm_gem_shmem_obj(obj);
	pgoff_t index = vmf->pgoff - drm_vma_node_start(&obj->vma_node);
	pgoff_t count = obj->size >> PAGE_SHIFT;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	dma_resv_lock(obj->resv, NULL);
	if (shmem->pages && index < count) {
		shmem->pages_mark_dirty_on_put = true;
		ret = huge ? npuedge_gem_insert_huge(vmf, shmem->pages[index]) :
			     npuedge_gem_insert_around(vmf, shmem->pages, index, count);
	}
	dma_resv_unlock(obj->resv);
	return ret;
}

static vm_fault_t npuedge_gem_fault(struct vm_fault *vmf)
{
	return npuedge_gem_map_fault(vmf, false);
}

static vm_fault_t npuedge_gem_huge_fault(struct vm_fault *vmf, unsigned int order)
{
	return order == PMD_ORDER ? npuedge_gem_map_fault(vmf, true) : VM_FAULT_FALLBACK;
}

/* The helper's functions are not exported but in its structure. */
static void npuedge_gem_vm_open(struct vm_area_struct *vma)
{
	drm_gem_shmem_vm_ops.open(vma);
}

static void npuedge_gem_vm_close(struct vm_area_struct *vma)
{
	drm_gem_shmem_vm_ops.close(vma);
}

static const struct vm_operations_struct npuedge_gem_vm_ops = {
	.open = npuedge_gem_vm_open,
	.close = npuedge_gem_vm_close,
	.fault = npuedge_gem_fault,
	.huge_fault = npuedge_gem_huge_fault,
};

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
	.vm_ops = &npuedge_gem_vm_ops,
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
	bo->base.pages_mark_dirty_on_put = true;
#ifndef NPUEDGE_HAVE_GPUVA_LOCK
	mutex_init(&bo->gpuva_lock);
	drm_gem_gpuva_set_lock(&bo->base.base, &bo->gpuva_lock);
#endif
	return &bo->base.base;
}

/* A device that does not see the CPU's caches can only share memory that is not in them. */
static bool npuedge_gem_uncached(struct npuedge_device *edev)
{
	return edev->dma_dev == edev->dev && device_get_dma_attr(edev->dev) != DEV_DMA_COHERENT;
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
	struct drm_gem_shmem_object *shmem;
	struct npuedge_gem *bo;
	int ret;

	if (!args->size || args->size > NPUEDGE_VA_END)
		return -EINVAL;
	/* Its array of pages is not charged to anybody, so there is one only for what can exist. */
	if (args->size >> PAGE_SHIFT > totalram_pages())
		return -ENOMEM;

	shmem = drm_gem_shmem_create(&edev->base, args->size);
	if (IS_ERR(shmem))
		return PTR_ERR(shmem);

	bo = to_npuedge_gem(&shmem->base);
	bo->flags = args->flags;
	shmem->map_wc = args->flags & DRM_NPUEDGE_BO_WC || npuedge_gem_uncached(edev);
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
 * Return: 0, -ENOENT, -ENOMEM, or -EPERM if the buffer was created with NO_MMAP.
 */
int npuedge_gem_mmap_offset(struct drm_file *file, u32 handle, u64 *offset)
{
	struct drm_gem_object *obj;
	int ret = -EPERM;

	obj = drm_gem_object_lookup(file, handle);
	if (!obj)
		return -ENOENT;

	if (to_npuedge_gem(obj)->flags & DRM_NPUEDGE_BO_NO_MMAP)
		goto out_put;

	/* An imported buffer has none yet. */
	ret = drm_gem_create_mmap_offset(obj);
	if (!ret)
		*offset = drm_vma_node_offset_addr(&obj->vma_node);

out_put:
	drm_gem_object_put(obj);
	return ret;
}
