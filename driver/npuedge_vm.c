// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Address spaces
 *
 * An address space lives as long as it has users: its handle, queues, and binds that are queued.
 * Then its mappings go; the object itself stays until the last of them is gone.
 *
 * Changes are made one at a time under its op_lock, see npuedge_bind.c.  They count how often they
 * left the device's TLB with something that is no longer so.  Who has made a change, or wants the
 * memory behind one, calls npuedge_vm_flush() and knows afterwards that the device sees all changes
 * up to then, whoever made them.
 */

#include <linux/sched/mm.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_print.h>

#include "npuedge_bind.h"
#include "npuedge_bind_job.h"
#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_fw.h"
#include "npuedge_gem.h"
#include "npuedge_mmu.h"
#include "npuedge_reset.h"
#include "npuedge_vm.h"

/**
 * npuedge_vm_free() - free an address space
 * @gpuvm: GPUVM that nothing refers to any more
 */
void npuedge_vm_free(struct drm_gpuvm *gpuvm)
{
	struct npuedge_vm *vm = to_npuedge_vm(gpuvm);
	struct npuedge_device *edev = vm->edev;

	npuedge_pt_fini(&vm->pt);
	xa_erase(&edev->vms, vm->id);
	mutex_destroy(&vm->op_lock);
	/* Who reads a fence's timeline name, which is in vm->sched, does so under RCU. */
	kfree_rcu(vm, rcu);
	drm_dev_put(&edev->base);
}

/**
 * npuedge_vm_lock() - lock a VM, and of the buffers mapped in it the evicted and the imported ones
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

/* Whether the TLB may know what is no longer so, and the number of changes up to now. */
static bool npuedge_vm_is_stale(struct npuedge_vm *vm, u64 *changes)
{
	bool stale;

	mutex_lock(&vm->op_lock);
	*changes = vm->changes;
	stale = vm->flushed != *changes;
	mutex_unlock(&vm->op_lock);
	return stale;
}

static void npuedge_vm_set_flushed(struct npuedge_vm *vm, u64 changes)
{
	mutex_lock(&vm->op_lock);
	vm->flushed = max(vm->flushed, changes);
	mutex_unlock(&vm->op_lock);
}

/**
 * npuedge_vm_flush() - have the device see all changes that were made
 * @vm: address space; the caller holds no lock that a reset takes
 *
 * May be called where fences wait for it.  The TLB is only invalidated if it may know what is no
 * longer so.
 */
void npuedge_vm_flush(struct npuedge_vm *vm)
{
	u64 changes;

	if (!npuedge_vm_is_stale(vm, &changes))
		return;

	if (READ_ONCE(vm->known))
		npuedge_mmu_invalidate(vm->edev);
	npuedge_vm_set_flushed(vm, changes);
}

/**
 * npuedge_vm_try_flush() - npuedge_vm_flush() for who must not wait
 * @vm: address space, idle and locked; the device's reset.lock is held for reading, no reset is due
 * @awake: the device is awake and stays so; else it empties its TLB before it uses the VM again
 *
 * Return: 0, or -ETIMEDOUT; then a reset is due.
 */
int npuedge_vm_try_flush(struct npuedge_vm *vm, bool awake)
{
	u64 changes;
	int ret;

	if (!npuedge_vm_is_stale(vm, &changes))
		return 0;

	if (awake && READ_ONCE(vm->known)) {
		ret = npuedge_mmu_try_invalidate(vm->edev);
		if (ret)
			return ret;
	}
	npuedge_vm_set_flushed(vm, changes);
	return 0;
}

/* Who frees memory may take it: tell lockdep before it happens. */
static void npuedge_vm_init_lock(struct npuedge_vm *vm)
{
	mutex_init(&vm->op_lock);
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&vm->op_lock);
	fs_reclaim_release(GFP_KERNEL);
}

/**
 * npuedge_vm_create() - make an empty address space
 * @edev: device, entered
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

	ret = xa_alloc_cyclic(&edev->vms, &vm->id, vm, xa_limit_32b, &edev->vm_next,
			      GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		goto err_pgtable;

	vm->edev = edev;
	ret = npuedge_bind_init_sched(vm);
	if (ret)
		goto err_id;

	kref_init(&vm->users);
	npuedge_vm_init_lock(vm);
	drm_dev_get(&edev->base);
	drm_gpuvm_init(&vm->base, "npuedge", DRM_GPUVM_RESV_PROTECTED | NPUEDGE_GPUVM_FLAGS,
		       &edev->base, resv_obj, NPUEDGE_VA_START, NPUEDGE_VA_END - NPUEDGE_VA_START,
		       0, 0, &npuedge_bind_gpuvm_ops);
	drm_gem_object_put(resv_obj);
	return vm;

err_id:
	xa_erase(&edev->vms, vm->id);
err_pgtable:
	npuedge_pt_fini(&vm->pt);
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
		npuedge_reset_schedule(edev, NPUEDGE_RESET_MESSAGE);
	/* After -ECANCELED too: firmware knows the VM until the reset that is due. */
	if (ret)
		npuedge_reset_wait(edev);
	npuedge_device_asleep(edev, cookie);
}

static void npuedge_vm_release(struct kref *users)
{
	struct npuedge_vm *vm = container_of(users, struct npuedge_vm, users);

	npuedge_vm_forget(vm);
	npuedge_bind_fini_sched(vm);
	npuedge_bind_unmap_all(vm);
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
 * npuedge_vm_get_state() - read the state of a VM
 * @vm: address space
 * @out: filled but for its id
 */
void npuedge_vm_get_state(struct npuedge_vm *vm, struct drm_npuedge_vm_get_state *out)
{
	mutex_lock(&vm->op_lock);
	out->state = vm->unusable ? DRM_NPUEDGE_VM_UNUSABLE : DRM_NPUEDGE_VM_USABLE;
	out->mapped_bytes = vm->mapped_bytes;
	out->table_bytes = vm->pt.tables * NPUEDGE_TABLE_BYTES;
	out->mappings = vm->mappings;
	out->pte_writes = vm->pt.writes;
	mutex_unlock(&vm->op_lock);
}

/**
 * npuedge_vm_print() - list the mappings of a VM
 * @vm: address space
 * @p: where to; printing allocates no memory
 */
void npuedge_vm_print(struct npuedge_vm *vm, struct drm_printer *p)
{
	char label[NPUEDGE_LABEL_SIZE];
	struct drm_gpuva *va;
	u64 leaf;

	mutex_lock(&vm->op_lock);
	drm_printf(p, "vm %u: %llu mappings of %llu bytes, %u tables%s\n", vm->id, vm->mappings,
		   vm->mapped_bytes, vm->pt.tables, vm->unusable ? ", unusable" : "");
	drm_gpuvm_for_each_va(va, &vm->base) {
		if (va == &vm->base.kernel_alloc_node)
			continue;

		npuedge_pt_lookup(&vm->pt, va->va.addr, &leaf);
		npuedge_gem_get_label(to_npuedge_gem(va->gem.obj), label);
		drm_printf(p, "  %#012llx-%#012llx bo %zu+%#llx %s%s first leaf %llu KiB %s\n",
			   va->va.addr, va->va.addr + va->va.range, va->gem.obj->size,
			   va->gem.offset, to_npuedge_va(va)->readonly ? "ro" : "rw",
			   to_npuedge_va(va)->evicted ? " evicted" : "", leaf >> 10, label);
	}
	mutex_unlock(&vm->op_lock);
}
