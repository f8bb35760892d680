/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_EVICT_H
#define NPUEDGE_EVICT_H

#include <linux/types.h>

struct drm_exec;
struct drm_gpuvm_bo;
struct npuedge_gem;
struct npuedge_vm;

unsigned long npuedge_evict_last_use(struct npuedge_gem *bo);
bool npuedge_evict(struct npuedge_gem *bo);
bool npuedge_evict_in_use(struct npuedge_gem *bo);
int npuedge_evict_restore(struct drm_gpuvm_bo *vm_bo, struct drm_exec *exec);
int npuedge_evict_restore_vm(struct npuedge_vm *vm);

#endif
