/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_BIND_JOB_H
#define NPUEDGE_BIND_JOB_H

#include <linux/types.h>

struct drm_file;
struct drm_npuedge_vm_bind;
struct npuedge_vm;

/** NPUEDGE_MAX_BIND_OPS - most operations of one VM_BIND */
#define NPUEDGE_MAX_BIND_OPS	65536

int npuedge_bind_module_init(void);
void npuedge_bind_module_exit(void);

int npuedge_bind_init_sched(struct npuedge_vm *vm);
void npuedge_bind_fini_sched(struct npuedge_vm *vm);
int npuedge_bind_wait(struct npuedge_vm *vm);
int npuedge_bind_sync(struct npuedge_vm *vm, struct drm_file *file,
		      const struct drm_npuedge_vm_bind *args, u32 *applied);
int npuedge_bind_async(struct npuedge_vm *vm, struct drm_file *file,
		       const struct drm_npuedge_vm_bind *args);

#endif
