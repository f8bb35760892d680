// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Address spaces
 *
 * User space chooses addresses; drm_gpuvm tells which mappings a change splits or replaces.  A
 * change is made in this order, so that it happens as a whole or not at all:
 *
 * 1. allocate the mapping objects it may need (one new, two rests of mappings that it splits);
 * 2. get the buffer's pages; lock the VM and all buffers that are mapped in it;
 * 3. make page tables and split big leaves, see npuedge_pgtable.c;
 * 4. let drm_gpuvm call back: clear entries, write entries; nothing can fail any more;
 * 5. invalidate the TLB if something had been mapped, and only then let go of buffers and tables.
 */

#include <linux/sched/signal.h>

#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_fw.h"
#include "npuedge_gem.h"
#include "npuedge_mmu.h"
#include "npuedge_reset.h"
#include "npuedge_trace.h"
#include "npuedge_vm.h"

/* What a bind operation may need in its second half. */
enum { NPUEDGE_SPARE_MAP, NPUEDGE_SPARE_PREV, NPUEDGE_SPARE_NEXT, NPUEDGE_SPARES };

/**
 * struct npuedge_bind - a change of an address space in the making
 */
struct npuedge_bind {
	/** @vm: address space */
	struct npuedge_vm *vm;
	/** @va: first address */
	u64 va;
	/** @size: bytes */
	u64 size;
	/** @obj: buffer to map, or NULL to unmap */
	struct drm_gem_object *obj;
	/** @sgt: its pages */
	struct sg_table *sgt;
	/** @offset: first byte of the buffer */
	u64 offset;
	/** @readonly: device writes fault */
	bool readonly;
	/** @changed: a translation was removed */
	bool changed;
	/** @vm_bo: connects the VM and @obj */
	struct drm_gpuvm_bo *vm_bo;
	/** @spare: mapping objects */
	struct npuedge_va *spare[NPUEDGE_SPARES];
	/** @removed: mappings that are gone, by their rb.entry; buffers are put after unlocking */
	struct list_head removed;
};

static struct npuedge_vm *to_npuedge_vm(struct drm_gpuvm *gpuvm)
{
	return container_of(gpuvm, struct npuedge_vm, base);
}

static struct npuedge_va *to_npuedge_va(struct drm_gpuva *va)
{
	return container_of(va, struct npuedge_va, base);
}

static struct npuedge_va *npuedge_bind_take(struct npuedge_bind *bind, unsigned int which)
{
	struct npuedge_va *va = bind->spare[which];

	bind->spare[which] = NULL;
	return va;
}

static int npuedge_vm_step_map(struct drm_gpuva_op *op, void *priv)
{
	struct npuedge_bind *bind = priv;
	struct npuedge_va *va = npuedge_bind_take(bind, NPUEDGE_SPARE_MAP);

	va->readonly = bind->readonly;
	drm_gpuva_map(&bind->vm->base, &va->base, &op->map);
	drm_gpuva_link(&va->base, bind->vm_bo);
	npuedge_mmu_map(&bind->vm->pt, op->map.va.addr, bind->sgt, op->map.gem.offset,
			op->map.va.range, va->readonly);
	return 0;
}

/* The mapping is out of drm_gpuvm's tree, but its buffer stays until the TLB forgets it. */
static void npuedge_bind_remove(struct npuedge_bind *bind, struct drm_gpuva *va)
{
	list_add_tail(&va->rb.entry, &bind->removed);
}

static int npuedge_vm_step_unmap(struct drm_gpuva_op *op, void *priv)
{
	struct npuedge_bind *bind = priv;
	struct drm_gpuva *va = op->unmap.va;

	bind->changed |= npuedge_pt_unmap(&bind->vm->pt, va->va.addr, va->va.range);
	drm_gpuva_unmap(&op->unmap);
	npuedge_bind_remove(bind, va);
	return 0;
}

static int npuedge_vm_step_remap(struct drm_gpuva_op *op, void *priv)
{
	struct npuedge_bind *bind = priv;
	struct drm_gpuva *old = op->remap.unmap->va;
	struct npuedge_va *prev = NULL, *next = NULL;
	u64 addr, range;

	if (op->remap.prev) {
		prev = npuedge_bind_take(bind, NPUEDGE_SPARE_PREV);
		prev->readonly = to_npuedge_va(old)->readonly;
	}
	if (op->remap.next) {
		next = npuedge_bind_take(bind, NPUEDGE_SPARE_NEXT);
		next->readonly = to_npuedge_va(old)->readonly;
	}

	/* The rests keep their entries. */
	drm_gpuva_op_remap_to_unmap_range(&op->remap, &addr, &range);
	bind->changed |= npuedge_pt_unmap(&bind->vm->pt, addr, range);

	drm_gpuva_remap(prev ? &prev->base : NULL, next ? &next->base : NULL, &op->remap);
	if (prev)
		drm_gpuva_link(&prev->base, old->vm_bo);
	if (next)
		drm_gpuva_link(&next->base, old->vm_bo);
	npuedge_bind_remove(bind, old);
	return 0;
}

static void npuedge_vm_free(struct drm_gpuvm *gpuvm)
{
	struct npuedge_vm *vm = to_npuedge_vm(gpuvm);

	npuedge_pt_fini(&vm->pt);
	kfree(vm);
}

static const struct drm_gpuvm_ops npuedge_vm_ops = {
	.vm_free = npuedge_vm_free,
	.sm_step_map = npuedge_vm_step_map,
	.sm_step_remap = npuedge_vm_step_remap,
	.sm_step_unmap = npuedge_vm_step_unmap,
};

/**
 * npuedge_vm_lock() - lock a VM and the shareable buffers that are mapped in it
 * @vm: address space
 * @exec: locking context, within drm_exec_until_all_locked()
 * @fences: fences that will be added to each reservation object
 *
 * Return: 0 or a negative errno; the caller retries on contention.
 */
int npuedge_vm_lock(struct npuedge_vm *vm, struct drm_exec *exec, unsigned int fences)
{
	int ret;

	ret = drm_gpuvm_prepare_vm(&vm->base, exec, fences);
	if (ret)
		return ret;
	return drm_gpuvm_prepare_objects(&vm->base, exec, fences);
}

static int npuedge_bind_lock(struct npuedge_bind *bind, struct drm_exec *exec)
{
	int ret = 0;

	drm_exec_until_all_locked(exec) {
		ret = npuedge_vm_lock(bind->vm, exec, 0);
		if (!ret && bind->obj)
			ret = drm_exec_lock_obj(exec, bind->obj);
		drm_exec_retry_on_contention(exec);
		if (ret)
			break;
	}
	return ret;
}

static int npuedge_bind_alloc(struct npuedge_bind *bind)
{
	for (unsigned int i = 0; i < NPUEDGE_SPARES; i++) {
		bind->spare[i] = kzalloc_obj(*bind->spare[i], GFP_KERNEL_ACCOUNT);
		if (!bind->spare[i])
			return -ENOMEM;
	}
	return 0;
}

/* First half, under locks: everything that may fail. */
static int npuedge_bind_prepare(struct npuedge_bind *bind)
{
	struct npuedge_vm *vm = bind->vm;
	int ret;

	ret = npuedge_pt_prepare_unmap(&vm->pt, bind->va, bind->size);
	if (ret || !bind->obj)
		return ret;

	ret = npuedge_mmu_prepare_map(&vm->pt, bind->va, bind->sgt, bind->offset, bind->size);
	if (ret)
		return ret;

	bind->vm_bo = drm_gpuvm_bo_obtain_locked(&vm->base, bind->obj);
	if (IS_ERR(bind->vm_bo)) {
		ret = PTR_ERR(bind->vm_bo);
		bind->vm_bo = NULL;
		return ret;
	}
	drm_gpuvm_bo_extobj_add(bind->vm_bo);
	return 0;
}

/* Second half, under locks. */
static int npuedge_bind_commit(struct npuedge_bind *bind)
{
	struct drm_gpuvm_map_req req = {
		.map.va.addr = bind->va,
		.map.va.range = bind->size,
		.map.gem.obj = bind->obj,
		.map.gem.offset = bind->offset,
	};

	if (!bind->obj)
		return drm_gpuvm_sm_unmap(&bind->vm->base, bind, bind->va, bind->size);
	return drm_gpuvm_sm_map(&bind->vm->base, bind, &req);
}

/* Still under locks; what was mapped is let go when the device cannot reach it any more. */
static void npuedge_bind_finish(struct npuedge_bind *bind)
{
	struct npuedge_vm *vm = bind->vm;
	struct drm_gpuva *va;

	npuedge_pt_trim(&vm->pt, bind->va, bind->size);
	if ((bind->changed || vm->pt.discarded) && READ_ONCE(vm->known))
		npuedge_mmu_invalidate(vm->edev);
	npuedge_pt_reap(&vm->pt);

	list_for_each_entry(va, &bind->removed, rb.entry) {
		drm_gem_object_get(va->gem.obj);
		drm_gpuva_unlink(va);
	}
	drm_gpuvm_bo_put(bind->vm_bo);
}

/*
 * Without locks: the last reference to a buffer takes its reservation lock, which may be the VM's.
 */
static void npuedge_bind_free(struct npuedge_bind *bind)
{
	struct drm_gpuva *va, *tmp;

	list_for_each_entry_safe(va, tmp, &bind->removed, rb.entry) {
		drm_gem_object_put(va->gem.obj);
		kfree(to_npuedge_va(va));
	}
	for (unsigned int i = 0; i < NPUEDGE_SPARES; i++)
		kfree(bind->spare[i]);
}

static int npuedge_bind_run(struct npuedge_bind *bind)
{
	struct drm_exec exec;
	int ret;

	/* Not interruptible: a restarted call would find its count of operations changed. */
	drm_exec_init(&exec, DRM_EXEC_IGNORE_DUPLICATES, 0);
	ret = npuedge_bind_lock(bind, &exec);
	if (!ret) {
		ret = npuedge_bind_prepare(bind);
		if (!ret)
			ret = npuedge_bind_commit(bind);
		npuedge_bind_finish(bind);
	}
	drm_exec_fini(&exec);
	return ret;
}

/* The helper's lock is interruptible, see npuedge_bind_run(): wait for who holds it, try again. */
static struct sg_table *npuedge_bind_get_pages(struct npuedge_gem *bo)
{
	struct sg_table *sgt;

	for (;;) {
		sgt = drm_gem_shmem_get_pages_sgt(&bo->base);
		if (sgt != ERR_PTR(-EINTR) || fatal_signal_pending(current))
			return sgt;
		dma_resv_lock(bo->base.base.resv, NULL);
		dma_resv_unlock(bo->base.base.resv);
	}
}

static int npuedge_vm_bind_map(struct npuedge_bind *bind, struct drm_file *file, u32 handle)
{
	struct npuedge_gem *bo;
	int ret;

	bind->obj = drm_gem_object_lookup(file, handle);
	if (!bind->obj)
		return -ENOENT;

	bo = to_npuedge_gem(bind->obj);
	if (bo->owner && bo->owner != drm_gpuvm_resv_obj(&bind->vm->base)) {
		ret = -EPERM;
		goto out_put;
	}
	if (bind->offset >= bind->obj->size || bind->size > bind->obj->size - bind->offset) {
		ret = -EINVAL;
		goto out_put;
	}

	bind->sgt = npuedge_bind_get_pages(bo);
	ret = PTR_ERR_OR_ZERO(bind->sgt);
	if (!ret)
		ret = npuedge_bind_run(bind);

out_put:
	drm_gem_object_put(bind->obj);
	return ret;
}

/**
 * npuedge_vm_bind_op() - change an address space
 * @vm: address space
 * @file: owner of the GEM handle
 * @op: change, not yet checked
 *
 * Return: 0; on an error nothing has changed: -EINVAL, -ENOENT, -EPERM or -ENOMEM as the uAPI says.
 */
int npuedge_vm_bind_op(struct npuedge_vm *vm, struct drm_file *file,
		       const struct drm_npuedge_vm_bind_op *op)
{
	struct npuedge_bind bind = {
		.vm = vm, .va = op->va, .size = op->size, .offset = op->bo_offset,
		.readonly = op->flags & DRM_NPUEDGE_BIND_READONLY,
	};
	int ret;

	INIT_LIST_HEAD(&bind.removed);
	if (op->pad || (op->va | op->size | op->bo_offset) & (NPUEDGE_PAGE - 1))
		return -EINVAL;
	if (!op->size || op->va < NPUEDGE_VA_START || op->va >= NPUEDGE_VA_END ||
	    op->size > NPUEDGE_VA_END - op->va)
		return -EINVAL;

	if (op->op == DRM_NPUEDGE_BIND_MAP && op->flags & ~DRM_NPUEDGE_BIND_READONLY)
		return -EINVAL;
	if (op->op == DRM_NPUEDGE_BIND_UNMAP && (op->flags || op->handle || op->bo_offset))
		return -EINVAL;
	if (op->op > DRM_NPUEDGE_BIND_UNMAP)
		return -EINVAL;

	ret = npuedge_bind_alloc(&bind);
	if (!ret)
		ret = op->op == DRM_NPUEDGE_BIND_MAP ?
		      npuedge_vm_bind_map(&bind, file, op->handle) : npuedge_bind_run(&bind);
	npuedge_bind_free(&bind);

	trace_npuedge_vm_bind(vm->id, op, ret);
	return ret;
}

/**
 * npuedge_vm_create() - make an empty address space
 * @edev: device
 *
 * Return: the VM with one user, or an error pointer.
 */
struct npuedge_vm *npuedge_vm_create(struct npuedge_device *edev)
{
	struct drm_gem_object *resv_obj;
	struct npuedge_vm *vm;
	int ret;

	vm = kzalloc_obj(*vm, GFP_KERNEL_ACCOUNT);
	if (!vm)
		return ERR_PTR(-ENOMEM);

	resv_obj = drm_gpuvm_resv_object_alloc(&edev->base);
	if (!resv_obj) {
		ret = -ENOMEM;
		goto err_free;
	}

	ret = npuedge_mmu_init_pgtable(edev, &vm->pt);
	if (ret)
		goto err_put_resv;

	kref_init(&vm->users);
	vm->edev = edev;
	vm->id = atomic_inc_return(&edev->vm_ids) ?: atomic_inc_return(&edev->vm_ids);
	drm_gpuvm_init(&vm->base, "npuedge", DRM_GPUVM_RESV_PROTECTED, &edev->base, resv_obj,
		       NPUEDGE_VA_START, NPUEDGE_VA_END - NPUEDGE_VA_START, 0, 0, &npuedge_vm_ops);
	drm_gem_object_put(resv_obj);
	return vm;

err_put_resv:
	drm_gem_object_put(resv_obj);
err_free:
	kfree(vm);
	return ERR_PTR(ret);
}

/**
 * npuedge_vm_get() - become a user of a VM
 * @vm: address space with a user
 *
 * Return: @vm.
 */
struct npuedge_vm *npuedge_vm_get(struct npuedge_vm *vm)
{
	kref_get(&vm->users);
	return vm;
}

/* Firmware must not keep the root of page tables that are freed. */
static void npuedge_vm_forget(struct npuedge_vm *vm)
{
	const struct ne1_msg msg = { .type = NE1_CMD_VM_FLUSH, .queue = vm->id };
	struct npuedge_device *edev = vm->edev;
	int cookie, ret;

	if (!vm->known || npuedge_device_awake(edev, &cookie))
		return;

	down_read(&edev->reset.lock);
	ret = npuedge_fw_call(edev, &msg);
	up_read(&edev->reset.lock);

	if (ret && ret != -ECANCELED)
		npuedge_reset_schedule(edev);
	/* After -ECANCELED too: firmware knows the VM until the reset that is due. */
	if (ret)
		npuedge_reset_wait(edev);
	npuedge_device_asleep(edev, cookie);
}

static void npuedge_vm_release(struct kref *users)
{
	struct npuedge_vm *vm = container_of(users, struct npuedge_vm, users);
	struct npuedge_bind bind = {
		.vm = vm, .va = NPUEDGE_VA_START, .size = NPUEDGE_VA_END - NPUEDGE_VA_START,
	};

	INIT_LIST_HEAD(&bind.removed);
	npuedge_vm_forget(vm);
	/* Whole mappings go, so no spare is needed. */
	npuedge_bind_run(&bind);
	npuedge_bind_free(&bind);
	drm_gpuvm_put(&vm->base);
}

/**
 * npuedge_vm_put() - stop being a user of a VM
 * @vm: address space, or NULL; may sleep
 */
void npuedge_vm_put(struct npuedge_vm *vm)
{
	if (vm)
		kref_put(&vm->users, npuedge_vm_release);
}

/**
 * npuedge_vm_print() - list the mappings of a VM
 * @vm: address space
 * @p: where to
 */
void npuedge_vm_print(struct npuedge_vm *vm, struct drm_printer *p)
{
	struct drm_gpuva *va;
	u64 leaf;

	dma_resv_lock(drm_gpuvm_resv(&vm->base), NULL);
	drm_printf(p, "vm %u: %u tables\n", vm->id, vm->pt.tables);
	drm_gpuvm_for_each_va(va, &vm->base) {
		if (va == &vm->base.kernel_alloc_node)
			continue;

		npuedge_pt_lookup(&vm->pt, va->va.addr, &leaf);
		drm_printf(p, "  %#012llx-%#012llx bo %zu+%#llx %s first leaf %llu KiB\n",
			   va->va.addr, va->va.addr + va->va.range, va->gem.obj->size,
			   va->gem.offset, to_npuedge_va(va)->readonly ? "ro" : "rw", leaf >> 10);
	}
	dma_resv_unlock(drm_gpuvm_resv(&vm->base));
}
