/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_VM_H
#define NPUEDGE_VM_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include <drm/drm_gpuvm.h>
#include <drm/gpu_scheduler.h>

#include "npuedge_pgtable.h"

struct drm_exec;
struct drm_npuedge_vm_get_state;
struct drm_printer;
struct npuedge_device;

/**
 * struct npuedge_vm - address space of a device
 */
struct npuedge_vm {
	/** @base: mappings; each mapping refers to it, so it outlives @users */
	struct drm_gpuvm base;
	/**
	 * @users: the handle, the queues, binds that are queued; when the last goes, so do the
	 * mappings
	 */
	struct kref users;
	/** @edev: device */
	struct npuedge_device *edev;
	/** @id: firmware's number of the VM, > 0, unique while the VM exists */
	u32 id;
	/** @known: firmware may have heard of it */
	bool known;
	/** @used: when it last got a job, in jiffies; 0: never */
	unsigned long used;

	/** @sched: scheduler of binds */
	struct drm_gpu_scheduler sched;
	/** @entity: its only entity, so that binds run in order; under the VM's reservation lock */
	struct drm_sched_entity entity;

	/**
	 * @op_lock: protects mappings, page tables and the members below.  Fences wait for who
	 * holds it: no memory is allocated, and no reservation lock taken
	 */
	struct mutex op_lock;
	/** @pt: page tables */
	struct npuedge_pgtable pt;
	/** @changes: number of changes that left the TLB stale */
	u64 changes;
	/** @flushed: value of @changes before the last invalidation of the TLB that is complete */
	u64 flushed;
	/** @mappings: number of mapped ranges */
	u64 mappings;
	/** @mapped_bytes: their sum */
	u64 mapped_bytes;
	/** @last_bind: end of the bind that was queued last, or NULL */
	struct dma_fence *last_bind;
	/** @bind_gp: a grace period after the last queued bind was freed, if there was one */
	unsigned long bind_gp;
	/** @unusable: a queued bind has failed; set once */
	bool unusable;

	/** @rcu: frees it when nobody reads the name of @sched any more */
	struct rcu_head rcu;
};

/**
 * struct npuedge_va - mapping of a part of a buffer
 */
struct npuedge_va {
	/** @base: address, range, buffer */
	struct drm_gpuva base;
	/** @readonly: device writes fault */
	bool readonly;
	/** @evicted: nothing is mapped, as the buffer's memory was taken away */
	bool evicted;
};

/**
 * to_npuedge_vm() - the address space of a GPUVM
 * @gpuvm: GPUVM of this driver
 *
 * Return: the address space.
 */
static inline struct npuedge_vm *to_npuedge_vm(struct drm_gpuvm *gpuvm)
{
	return container_of(gpuvm, struct npuedge_vm, base);
}

/**
 * to_npuedge_va() - the mapping of a GPUVA
 * @va: GPUVA of this driver
 *
 * Return: the mapping.
 */
static inline struct npuedge_va *to_npuedge_va(struct drm_gpuva *va)
{
	return container_of(va, struct npuedge_va, base);
}

/**
 * npuedge_vm_check() - whether an address space can be used
 * @vm: address space
 *
 * Return: 0, or -EIO if a queued bind has failed.
 */
static inline int npuedge_vm_check(struct npuedge_vm *vm)
{
	return READ_ONCE(vm->unusable) ? -EIO : 0;
}

/**
 * npuedge_vm_locks_no_buffer() - whether npuedge_vm_lock() would lock nothing but the VM
 * @vm: address space, locked
 *
 * Return: true if so, as long as it stays locked.
 */
static inline bool npuedge_vm_locks_no_buffer(struct npuedge_vm *vm)
{
	drm_gpuvm_resv_assert_held(&vm->base);

	return list_empty(&vm->base.extobj.list);
}

struct npuedge_vm *npuedge_vm_create(struct npuedge_device *edev);
struct npuedge_vm *npuedge_vm_get(struct npuedge_vm *vm);
void npuedge_vm_put(struct npuedge_vm *vm);
void npuedge_vm_free(struct drm_gpuvm *gpuvm);
int npuedge_vm_lock(struct npuedge_vm *vm, struct drm_exec *exec, unsigned int fences);
void npuedge_vm_flush(struct npuedge_vm *vm);
int npuedge_vm_try_flush(struct npuedge_vm *vm, bool awake);
void npuedge_vm_get_state(struct npuedge_vm *vm, struct drm_npuedge_vm_get_state *out);
void npuedge_vm_print(struct npuedge_vm *vm, struct drm_printer *p);

#endif
