// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: CPU mappings of buffers
 *
 * mmap() makes a buffer resident, so that a lack of memory is an error of that call.  A page fault
 * then maps what surrounds it as well: as one entry where the memory is a huge page of the CPU,
 * else up to 2 MiB in pages, of whatever size these are.  When the shrinker takes pages away it
 * takes these entries out first, and the next access brings the pages back.
 *
 * The entries are found by the inode of what is mapped: DRM gives device files and dma-bufs the
 * same one.
 */

#include <linux/dma-buf.h>
#include <linux/huge_mm.h>
#include <linux/mm.h>
#include <linux/sizes.h>

#include <drm/drm_file.h>
#include <drm/drm_vma_manager.h>

#include "npuedge_compat.h"
#include "npuedge_gem.h"

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

/* The page at fault, then those around it; what is mapped stays. */
static vm_fault_t npuedge_gem_insert_around(struct vm_fault *vmf, struct page **pages,
					    pgoff_t index, pgoff_t count)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long start, end, addr = vmf->address & PAGE_MASK;
	vm_fault_t ret;

	ret = vmf_insert_pfn(vma, addr, page_to_pfn(pages[index]));
	if (ret != VM_FAULT_NOPAGE)
		return ret;

	start = ALIGN_DOWN(addr, SZ_2M);
	end = min3(start + SZ_2M, vma->vm_end, addr + ((count - index) << PAGE_SHIFT));
	start = max(start, vma->vm_start);
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
	pgoff_t index = vmf->pgoff - drm_vma_node_start(&obj->vma_node);
	struct npuedge_gem *bo = to_npuedge_gem(obj);
	pgoff_t count = obj->size >> PAGE_SHIFT;
	vm_fault_t ret;
	int err;

	if (index >= count)
		return VM_FAULT_SIGBUS;

	dma_resv_lock(obj->resv, NULL);
	err = npuedge_gem_get_pages_for_cpu(bo);
	if (err)
		ret = vmf_error(err);
	else
		ret = huge ? npuedge_gem_insert_huge(vmf, bo->pages[index]) :
			     npuedge_gem_insert_around(vmf, bo->pages, index, count);
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

const struct vm_operations_struct npuedge_gem_vm_ops = {
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
	.fault = npuedge_gem_fault,
	.huge_fault = npuedge_gem_huge_fault,
};

static int npuedge_gem_mmap_import(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	int ret;

	/* The other driver's, or none. */
	vma->vm_private_data = NULL;
	vma->vm_ops = NULL;

	ret = dma_buf_mmap(to_npuedge_gem(obj)->import, vma, 0);
	if (!ret)
		drm_gem_object_put(obj);
	return ret;
}

/* A view's mapping is one of the memory that it shows; so it is found when pages go. */
static void npuedge_gem_mmap_target(struct npuedge_gem *view, struct vm_area_struct *vma)
{
	struct npuedge_gem *bo = view->target;

	vma->vm_pgoff += drm_vma_node_start(&bo->base.vma_node) -
			 drm_vma_node_start(&view->base.vma_node);
	vma->vm_private_data = &bo->base;
	drm_gem_object_get(&bo->base);
	drm_gem_object_put(&view->base);
}

/**
 * npuedge_gem_mmap() - map a buffer for a process
 * @obj: buffer; the mapping owns a reference on success
 * @vma: mapping
 *
 * Return: 0, -ENOMEM, -EPERM (created with NO_MMAP), -EACCES (writing to a read-only dma-buf), or
 * -EINVAL (a private mapping; contents were dropped).
 */
int npuedge_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	struct npuedge_gem *view = to_npuedge_gem(obj);
	struct npuedge_gem *bo = npuedge_gem_target(view);
	int ret;

	if (bo->flags & DRM_NPUEDGE_BO_NO_MMAP)
		return -EPERM;
	if (view->readonly) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	if (bo->import)
		return npuedge_gem_mmap_import(obj, vma);
	if ((vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE)
		return -EINVAL;
	if (WARN_ON_ONCE(vma->vm_file->f_mapping != obj->dev->anon_inode->i_mapping))
		return -EINVAL;

	dma_resv_lock(bo->base.resv, NULL);
	ret = npuedge_gem_get_pages_for_cpu(bo);
	dma_resv_unlock(bo->base.resv);
	if (ret)
		return ret;

	vm_flags_set(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	if (bo->wc)
		vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	if (view != bo)
		npuedge_gem_mmap_target(view, vma);
	return 0;
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

	if (npuedge_gem_target(to_npuedge_gem(obj))->flags & DRM_NPUEDGE_BO_NO_MMAP)
		goto out_put;

	/* An imported buffer has none yet. */
	ret = drm_gem_create_mmap_offset(obj);
	if (!ret)
		*offset = drm_vma_node_offset_addr(&obj->vma_node);

out_put:
	drm_gem_object_put(obj);
	return ret;
}
