// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Eviction
 *
 * Takes a buffer out of all address spaces, so that its memory can go, and puts it back.  The
 * mappings stay in drm_gpuvm's tree, only the page-table entries go; the buffer is then on the
 * list of evicted ones of each VM, and the next submit of that VM restores them all.
 *
 * A job's fence is in the reservation object of its VM, that of a queued bind in those of its VM
 * and its buffers.  If all fences of a buffer and of the VMs that map it have signalled, no job
 * uses the buffer and no bind refers to its pages, and none will while the objects are locked.
 * While they are, the buffer stays connected to the same VMs.
 *
 * So a submit need not lock, and put a fence into, each shareable buffer that its VM maps, of which
 * there may be thousands: to hold the VM's lock is enough for them to stay.  On drm_gpuvm's list of
 * external objects, which a submit does lock, are only those that need it: buffers that were
 * evicted, until they are put back, and imported ones, whose fences are another driver's business.
 *
 * A buffer whose contents were dropped is not put back: a job that uses it faults.
 */

#include <linux/cleanup.h>
#include <linux/jiffies.h>
#include <linux/pm_runtime.h>
#include <linux/sched/signal.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_gpuvm.h>
#include <drm/drm_vma_manager.h>

#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_evict.h"
#include "npuedge_gem.h"
#include "npuedge_mmu.h"
#include "npuedge_vm.h"

/**
 * npuedge_evict_last_use() - when a job could last have used a buffer
 * @bo: buffer, locked
 *
 * Return: in jiffies; when it was last known to be in use, if that was later.
 */
unsigned long npuedge_evict_last_use(struct npuedge_gem *bo)
{
	struct mutex *lock = npuedge_gem_gpuva_lock(&bo->base);
	unsigned long used, last = bo->lru_time;
	struct drm_gpuvm_bo *vm_bo;

	mutex_lock(lock);
	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->base) {
		used = READ_ONCE(to_npuedge_vm(vm_bo->vm)->used);
		if (used && time_after(used, last))
			last = used;
	}
	mutex_unlock(lock);
	return last;
}

/**
 * npuedge_evict_in_use() - whether a job or a queued bind may use a buffer
 * @bo: buffer that is not a view, referenced; may sleep
 *
 * Return: true if so, unless that has changed since.
 */
bool npuedge_evict_in_use(struct npuedge_gem *bo)
{
	struct mutex *lock = npuedge_gem_gpuva_lock(&bo->base);
	bool idle = dma_resv_test_signaled(bo->base.resv, DMA_RESV_USAGE_BOOKKEEP);
	struct drm_gpuvm_bo *vm_bo;

	mutex_lock(lock);
	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->base)
		idle = idle && dma_resv_test_signaled(drm_gpuvm_resv(vm_bo->vm),
						      DMA_RESV_USAGE_BOOKKEEP);
	mutex_unlock(lock);
	return !idle;
}

/* Unlock the VMs that map a buffer and do not share its lock, up to @end. */
static void npuedge_evict_unlock_vms(struct npuedge_gem *bo, struct drm_gpuvm_bo *end)
{
	struct drm_gpuvm_bo *vm_bo;

	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->base) {
		if (vm_bo == end)
			return;
		if (drm_gpuvm_resv(vm_bo->vm) != bo->base.resv)
			dma_resv_unlock(drm_gpuvm_resv(vm_bo->vm));
	}
}

static bool npuedge_evict_lock_vm(struct dma_resv *resv)
{
	if (!dma_resv_trylock(resv))
		return false;
	if (dma_resv_test_signaled(resv, DMA_RESV_USAGE_BOOKKEEP))
		return true;

	dma_resv_unlock(resv);
	return false;
}

/* Lock the VMs that map a buffer, if that needs no waiting and all are idle. */
static bool npuedge_evict_lock_vms(struct npuedge_gem *bo)
{
	struct mutex *lock = npuedge_gem_gpuva_lock(&bo->base);
	struct drm_gpuvm_bo *vm_bo;
	struct dma_resv *resv;
	bool done = true;

	mutex_lock(lock);
	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->base) {
		resv = drm_gpuvm_resv(vm_bo->vm);
		if (resv != bo->base.resv && !npuedge_evict_lock_vm(resv)) {
			npuedge_evict_unlock_vms(bo, vm_bo);
			done = false;
			break;
		}
	}
	mutex_unlock(lock);
	return done;
}

/*
 * Keep the device as it is, which must need no waiting and no memory: awake, so that its TLB can be
 * emptied at once; asleep, so that it will be when it wakes up; or stopped for good.  It may wake
 * up meanwhile: the TLB is emptied then, and no job of the locked VMs can fill it before they are
 * unlocked.
 */
static bool npuedge_evict_hold(struct npuedge_device *edev, bool *awake)
{
	int ret;

	*awake = false;
	if (!down_read_trylock(&edev->reset.lock))
		return false;
	if (READ_ONCE(edev->reset.stopped))
		return true;
	if (atomic_read(&edev->reset.pending))
		goto err_unlock;

	npuedge_mmu_invalidate_on_resume(edev);
	ret = pm_runtime_get_if_active(edev->dev);
	/* Without runtime PM it never sleeps. */
	*awake = ret > 0 || !IS_ENABLED(CONFIG_PM);
	if (*awake || (!ret && pm_runtime_suspended(edev->dev)))
		return true;

err_unlock:
	up_read(&edev->reset.lock);
	return false;
}

static void npuedge_evict_release(struct npuedge_device *edev, bool awake)
{
	if (awake) {
		pm_runtime_mark_last_busy(edev->dev);
		pm_runtime_put_autosuspend(edev->dev);
	}
	up_read(&edev->reset.lock);
}

/* A VM without users is emptied without its reservation lock, hence op_lock. */
static void npuedge_evict_clear(struct drm_gpuvm_bo *vm_bo)
{
	struct npuedge_vm *vm = to_npuedge_vm(vm_bo->vm);
	struct drm_gpuva *va;
	bool plugged;
	int cookie;

	/* It still is, if something was mapped after an eviction and no job has come since. */
	if (!vm_bo->evicted)
		drm_gpuvm_bo_evict(vm_bo, true);
	/* The next submit has to lock it, unless it shares the VM's lock. */
	drm_gpuvm_bo_extobj_add(vm_bo);

	plugged = drm_dev_enter(&vm->edev->base, &cookie);
	mutex_lock(&vm->op_lock);
	drm_gpuvm_bo_for_each_va(va, vm_bo) {
		if (to_npuedge_va(va)->evicted)
			continue;
		if (plugged)
			npuedge_pt_clear(&vm->pt, va->va.addr, va->va.range);
		to_npuedge_va(va)->evicted = true;
	}
	vm->changes += vm->pt.stale;
	vm->pt.stale = false;
	mutex_unlock(&vm->op_lock);
	if (plugged)
		drm_dev_exit(cookie);
}

/* Also a VM that has no mapping left: what a bind removed may not have been flushed yet. */
static bool npuedge_evict_from_vms(struct npuedge_gem *bo, bool awake)
{
	struct drm_gpuvm_bo *vm_bo;

	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->base) {
		npuedge_evict_clear(vm_bo);
		if (npuedge_vm_try_flush(to_npuedge_vm(vm_bo->vm), awake))
			return false;
	}
	return true;
}

/**
 * npuedge_evict() - take a buffer out of all mappings, of VMs and of processes
 * @bo: buffer that is not pinned, locked; waits for nobody, may sleep for the TLB
 *
 * Return: false if it is in use, or if that cannot be known without waiting.
 */
bool npuedge_evict(struct npuedge_gem *bo)
{
	struct npuedge_device *edev = to_npuedge_device(bo->base.dev);
	struct mutex *lock = npuedge_gem_gpuva_lock(&bo->base);
	bool awake, done;

	if (!dma_resv_test_signaled(bo->base.resv, DMA_RESV_USAGE_BOOKKEEP))
		return false;
	if (!npuedge_evict_lock_vms(bo))
		return false;

	done = npuedge_evict_hold(edev, &awake);
	if (done) {
		done = npuedge_evict_from_vms(bo, awake);
		npuedge_evict_release(edev, awake);
	}
	/* A VM that has been unlocked may leave, which takes this lock. */
	mutex_lock(lock);
	npuedge_evict_unlock_vms(bo, NULL);
	mutex_unlock(lock);
	if (done)
		drm_vma_node_unmap(&bo->base.vma_node, edev->base.anon_inode->i_mapping);
	return done;
}

/* Any mapping of the buffer that is not in the page tables; it exists while the VM is locked. */
static struct npuedge_va *npuedge_evict_find(struct npuedge_vm *vm, struct drm_gpuvm_bo *vm_bo)
{
	struct drm_gpuva *va;

	guard(mutex)(&vm->op_lock);
	drm_gpuvm_bo_for_each_va(va, vm_bo) {
		if (to_npuedge_va(va)->evicted)
			return to_npuedge_va(va);
	}
	return NULL;
}

/* Behind those that are still to be mapped, so that the next one is found at once. */
static void npuedge_evict_move_back(struct npuedge_va *va)
{
	struct mutex *lock = npuedge_gem_gpuva_lock(va->base.gem.obj);

	mutex_lock(lock);
	list_move_tail(&va->base.gem.entry, &va->base.vm_bo->list.gpuva);
	mutex_unlock(lock);
}

/* A queued bind may have replaced the mapping meanwhile; then it is on no list. */
static int npuedge_evict_map(struct npuedge_vm *vm, struct npuedge_va *va, struct sg_table *sgt,
			     struct npuedge_pt_stock *stock)
{
	int ret = 0;

	mutex_lock(&vm->op_lock);
	if (!list_empty(&va->base.gem.entry)) {
		ret = npuedge_mmu_map(&vm->pt, stock, va->base.va.addr, sgt, va->base.gem.offset,
				      va->base.va.range, va->readonly);
		va->evicted = ret;
		npuedge_evict_move_back(va);
	}
	vm->changes += vm->pt.stale;
	vm->pt.stale = false;
	npuedge_pt_return(&vm->pt, stock);
	mutex_unlock(&vm->op_lock);
	return ret;
}

static int npuedge_evict_remap(struct npuedge_vm *vm, struct npuedge_va *va, struct sg_table *sgt)
{
	struct npuedge_pt_stock stock = { };
	struct npuedge_pt_need need = { };
	int ret;

	ret = npuedge_mmu_need_map(&need, va->base.va.addr, sgt, va->base.gem.offset,
				   va->base.va.range);
	if (ret)
		return ret;

	mutex_lock(&vm->op_lock);
	npuedge_pt_borrow(&vm->pt, &stock, &need);
	mutex_unlock(&vm->op_lock);

	ret = npuedge_pt_reserve(&vm->pt, &stock, &need);
	if (!ret) {
		ret = npuedge_evict_map(vm, va, sgt, &stock);
		npuedge_vm_flush(vm);
	}
	npuedge_pt_release(&vm->pt, &stock);
	return ret;
}

/**
 * npuedge_evict_restore() - put a buffer back into an address space
 * @vm_bo: the buffer in the VM; both are locked, the device is entered
 * @exec: not used
 *
 * Return: 0; -ENOMEM, -EINTR if the caller is being killed, or -ENODEV if the device is gone: then
 * some of it may be mapped, and it still counts as evicted.
 */
int npuedge_evict_restore(struct drm_gpuvm_bo *vm_bo, struct drm_exec *exec)
{
	struct npuedge_gem *bo = to_npuedge_gem(vm_bo->obj);
	struct npuedge_vm *vm = to_npuedge_vm(vm_bo->vm);
	struct npuedge_va *va;
	struct sg_table *sgt;
	int ret;

	if (!bo->purged) {
		sgt = npuedge_gem_get_sgt(bo);
		if (IS_ERR(sgt))
			return PTR_ERR(sgt);

		while ((va = npuedge_evict_find(vm, vm_bo))) {
			ret = fatal_signal_pending(current) ? -EINTR : 0;
			ret = ret ?: npuedge_evict_remap(vm, va, sgt);
			if (ret)
				return ret;
			cond_resched();
		}
	}
	drm_gpuvm_bo_evict(vm_bo, false);
	/* As npuedge_evict_clear() put it there: the VM's lock protects that list. */
	list_del_init(&vm_bo->list.entry.extobj);
	return 0;
}

/**
 * npuedge_evict_restore_vm() - put all buffers back into an address space, which a job will use
 * @vm: address space, locked by npuedge_vm_lock(), or alone if npuedge_vm_locks_no_buffer()
 *
 * They stay at least until the VM is unlocked.
 *
 * Return: 0, -ENOMEM, -EINTR or -ENODEV.
 */
int npuedge_evict_restore_vm(struct npuedge_vm *vm)
{
	WRITE_ONCE(vm->used, jiffies ?: 1);
	/* Mostly nothing was evicted; the list is protected by the VM's lock. */
	return list_empty(&vm->base.evict.list) ? 0 : drm_gpuvm_validate(&vm->base, NULL);
}
