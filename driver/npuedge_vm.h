/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_VM_H
#define NPUEDGE_VM_H

#include <linux/kref.h>

#include <drm/drm_gpuvm.h>

#include "npuedge_pgtable.h"

struct drm_exec;
struct drm_npuedge_vm_bind_op;
struct drm_printer;
struct npuedge_device;

/**
 * struct npuedge_vm - address space of a device
 *
 * Mappings and page tables are protected by the reservation object of @base.
 */
struct npuedge_vm {
	/** @base: mappings; each mapping refers to it, so it outlives @users */
	struct drm_gpuvm base;
	/** @users: the handle and the queues; when the last goes, so do the mappings */
	struct kref users;
	/** @edev: device */
	struct npuedge_device *edev;
	/** @pt: page tables */
	struct npuedge_pgtable pt;
	/** @id: firmware's number of the VM, > 0, unique while the VM exists */
	u32 id;
	/** @known: firmware may have heard of it */
	bool known;
};

/**
 * struct npuedge_va - mapping of a part of a buffer
 */
struct npuedge_va {
	/** @base: address, range, buffer */
	struct drm_gpuva base;
	/** @readonly: device writes fault */
	bool readonly;
};

struct npuedge_vm *npuedge_vm_create(struct npuedge_device *edev);
struct npuedge_vm *npuedge_vm_get(struct npuedge_vm *vm);
void npuedge_vm_put(struct npuedge_vm *vm);
int npuedge_vm_bind_op(struct npuedge_vm *vm, struct drm_file *file,
		       const struct drm_npuedge_vm_bind_op *op);
int npuedge_vm_lock(struct npuedge_vm *vm, struct drm_exec *exec, unsigned int fences);
void npuedge_vm_print(struct npuedge_vm *vm, struct drm_printer *p);

#endif
