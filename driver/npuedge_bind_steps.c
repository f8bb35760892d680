// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Steps of a change of an address space
 *
 * What a change takes, what drm_gpuvm calls back for, and what is left over.  Nothing here knows of
 * files, handles or schedulers, see npuedge_bind.c.
 */

#include <linux/dma-resv.h>

#include <drm/drm_drv.h>

#include "npuedge_bind.h"
#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_evict.h"
#include "npuedge_gem.h"
#include "npuedge_mmu.h"
#include "npuedge_vm.h"

enum { NPUEDGE_SPARE_MAP, NPUEDGE_SPARE_PREV, NPUEDGE_SPARE_NEXT };

static struct npuedge_va *npuedge_bind_take(struct npuedge_bind *bind, unsigned int which)
{
	struct npuedge_va *va = bind->spare[which];

	bind->spare[which] = NULL;
	return va;
}

/* Add a mapping, which is in drm_gpuvm's tree, to its buffer's list. */
static void npuedge_bind_link(struct npuedge_bind *bind, struct npuedge_va *va,
			      struct drm_gpuvm_bo *vm_bo)
{
	struct mutex *lock = npuedge_gem_gpuva_lock(vm_bo->obj);

	mutex_lock(lock);
	drm_gpuva_link(&va->base, vm_bo);
	/* Who puts a buffer back looks for these, see npuedge_evict.c. */
	if (va->evicted)
		list_move(&va->base.gem.entry, &vm_bo->list.gpuva);
	mutex_unlock(lock);

	bind->vm->mappings++;
	bind->vm->mapped_bytes += va->base.va.range;
}

/*
 * Take a mapping, which is out of drm_gpuvm's tree, off its buffer's list.  It keeps its vm_bo, as
 * the last reference to that is dropped with the VM's reservation lock held, and that the buffer.
 */
static void npuedge_bind_unlink(struct npuedge_bind *bind, struct drm_gpuva *va)
{
	struct mutex *lock = npuedge_gem_gpuva_lock(va->gem.obj);

	mutex_lock(lock);
	list_del_init(&va->gem.entry);
	mutex_unlock(lock);

	list_add_tail(&va->rb.entry, &bind->removed);
	bind->vm->mappings--;
	bind->vm->mapped_bytes -= va->va.range;
}

static int npuedge_bind_step_map(struct drm_gpuva_op *op, void *priv)
{
	struct npuedge_bind *bind = priv;
	struct npuedge_va *va = npuedge_bind_take(bind, NPUEDGE_SPARE_MAP);

	va->readonly = bind->readonly;
	drm_gpuva_map(&bind->vm->base, &va->base, &op->map);
	npuedge_bind_link(bind, va, bind->vm_bo);
	if (!bind->plugged)
		return 0;
	return npuedge_mmu_map(&bind->vm->pt, &bind->stock, op->map.va.addr, bind->sgt,
			       op->map.gem.offset, op->map.va.range, va->readonly);
}

/* Entries are cleared, or will be overwritten, by who has us called. */
static int npuedge_bind_step_unmap(struct drm_gpuva_op *op, void *priv)
{
	struct drm_gpuva *va = op->unmap.va;

	drm_gpuva_unmap(&op->unmap);
	npuedge_bind_unlink(priv, va);
	return 0;
}

static struct npuedge_va *npuedge_bind_take_rest(struct npuedge_bind *bind, unsigned int which,
						 struct drm_gpuva *old)
{
	struct npuedge_va *rest = npuedge_bind_take(bind, which);

	rest->readonly = to_npuedge_va(old)->readonly;
	rest->evicted = to_npuedge_va(old)->evicted;
	return rest;
}

/* Likewise; the rests keep their entries. */
static int npuedge_bind_step_remap(struct drm_gpuva_op *op, void *priv)
{
	struct npuedge_bind *bind = priv;
	struct drm_gpuva *old = op->remap.unmap->va;
	struct npuedge_va *prev = NULL, *next = NULL;

	if (op->remap.prev)
		prev = npuedge_bind_take_rest(bind, NPUEDGE_SPARE_PREV, old);
	if (op->remap.next)
		next = npuedge_bind_take_rest(bind, NPUEDGE_SPARE_NEXT, old);

	drm_gpuva_remap(prev ? &prev->base : NULL, next ? &next->base : NULL, &op->remap);
	if (prev)
		npuedge_bind_link(bind, prev, old->vm_bo);
	if (next)
		npuedge_bind_link(bind, next, old->vm_bo);
	npuedge_bind_unlink(bind, old);
	return 0;
}

static int npuedge_bind_map(struct npuedge_bind *bind)
{
	const struct drm_gpuvm_map_req req = {
		.map.va.addr = bind->va,
		.map.va.range = bind->size,
		.map.gem.obj = bind->obj,
		.map.gem.offset = bind->offset,
	};

	return drm_gpuvm_sm_map(&bind->vm->base, bind, &req);
}

static int npuedge_bind_unmap(struct npuedge_bind *bind)
{
	int ret = 0;

	if (bind->plugged)
		ret = npuedge_pt_unmap(&bind->vm->pt, &bind->stock, bind->va, bind->size);
	return ret ?: drm_gpuvm_sm_unmap(&bind->vm->base, bind, bind->va, bind->size);
}

/**
 * npuedge_bind_make() - have drm_gpuvm call back, and write entries
 * @bind: reserved change; its VM's op_lock is held
 *
 * Return: 0, or -ENOSPC if less was reserved than it takes; then it is done in part.
 */
int npuedge_bind_make(struct npuedge_bind *bind)
{
	struct npuedge_vm *vm = bind->vm;
	int cookie, ret;

	lockdep_assert_held(&vm->op_lock);

	/* Without a device there are no page tables, and what is mapped is bookkeeping. */
	bind->plugged = drm_dev_enter(&vm->edev->base, &cookie);
	ret = bind->obj ? npuedge_bind_map(bind) : npuedge_bind_unmap(bind);
	if (bind->plugged)
		drm_dev_exit(cookie);
	vm->changes += vm->pt.stale;
	vm->pt.stale = false;
	return ret;
}

/**
 * npuedge_bind_alloc_spares() - get the mappings that a change may make
 * @bind: new change
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_bind_alloc_spares(struct npuedge_bind *bind)
{
	for (unsigned int i = 0; i < NPUEDGE_BIND_SPARES; i++) {
		bind->spare[i] = kzalloc_obj(*bind->spare[i], GFP_KERNEL_ACCOUNT);
		if (!bind->spare[i])
			return -ENOMEM;
	}
	return 0;
}

/**
 * npuedge_bind_reserve() - get what running the change will take
 * @bind: change; the reservation locks of its VM and buffer are held, and stay so until it has
 *	run, or its fence is in them
 *
 * Return: 0, -ENOMEM, or -EINVAL if the buffer's memory cannot be mapped, or was dropped.
 */
int npuedge_bind_reserve(struct npuedge_bind *bind)
{
	struct npuedge_vm *vm = bind->vm;
	struct npuedge_pt_need need = { };
	int ret = 0;

	if (bind->obj) {
		bind->sgt = npuedge_gem_get_sgt(to_npuedge_gem(bind->obj));
		ret = PTR_ERR_OR_ZERO(bind->sgt);
		ret = ret ?: npuedge_mmu_need_map(&need, bind->va, bind->sgt, bind->offset,
						  bind->size);
	} else {
		npuedge_pt_need_unmap(&need, bind->va, bind->size);
	}
	if (ret)
		return ret;

	mutex_lock(&vm->op_lock);
	npuedge_pt_borrow(&vm->pt, &bind->stock, &need);
	mutex_unlock(&vm->op_lock);
	ret = npuedge_pt_reserve(&vm->pt, &bind->stock, &need);
	if (ret || !bind->obj)
		return ret;

	bind->vm_bo = npuedge_gpuvm_bo_obtain(&vm->base, bind->obj,
					      npuedge_gem_gpuva_lock(bind->obj));
	if (!bind->vm_bo)
		return -ENOMEM;
	/* Others join when they are evicted, see npuedge_evict.c. */
	if (to_npuedge_gem(bind->obj)->import)
		drm_gpuvm_bo_extobj_add(bind->vm_bo);
	return 0;
}

static void npuedge_bind_put_vm_bo(struct drm_gpuvm_bo *vm_bo)
{
	struct mutex *lock = npuedge_gem_gpuva_lock(vm_bo->obj);

	mutex_lock(lock);
	drm_gpuvm_bo_put(vm_bo);
	mutex_unlock(lock);
}

/* The last reference to a buffer takes its reservation lock, which may be the VM's. */
static void npuedge_bind_free_removed(struct npuedge_bind *bind)
{
	struct drm_gpuva *va, *tmp;

	if (list_empty(&bind->removed) && !bind->vm_bo)
		return;

	dma_resv_lock(drm_gpuvm_resv(&bind->vm->base), NULL);
	list_for_each_entry(va, &bind->removed, rb.entry) {
		drm_gem_object_get(va->gem.obj);
		npuedge_bind_put_vm_bo(va->vm_bo);
	}
	if (bind->vm_bo)
		npuedge_bind_put_vm_bo(bind->vm_bo);
	dma_resv_unlock(drm_gpuvm_resv(&bind->vm->base));

	list_for_each_entry_safe(va, tmp, &bind->removed, rb.entry) {
		drm_gem_object_put(va->gem.obj);
		kfree(to_npuedge_va(va));
	}
}

/**
 * npuedge_bind_fini() - let go of what a change held, but not of itself
 * @bind: change that was not made, or made and flushed; no reservation lock is held
 */
void npuedge_bind_fini(struct npuedge_bind *bind)
{
	npuedge_bind_free_removed(bind);
	npuedge_pt_release(&bind->vm->pt, &bind->stock);
	for (unsigned int i = 0; i < NPUEDGE_BIND_SPARES; i++)
		kfree(bind->spare[i]);
	drm_gem_object_put(bind->obj);
}

const struct drm_gpuvm_ops npuedge_bind_gpuvm_ops = {
	.vm_free = npuedge_vm_free,
	.vm_bo_validate = npuedge_evict_restore,
	.sm_step_map = npuedge_bind_step_map,
	.sm_step_remap = npuedge_bind_step_remap,
	.sm_step_unmap = npuedge_bind_step_unmap,
};
