/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_CHECK_H
#define NPUEDGE_CHECK_H

#include <linux/bits.h>
#include <linux/types.h>

#include "ne1_regs.h"

struct drm_npuedge_sync;
struct drm_npuedge_vm_bind_op;

/** NPUEDGE_VA_START - lowest VA for user space; below it, so that null pointers fault */
#define NPUEDGE_VA_START	0x10000ull
/** NPUEDGE_VA_END - first VA above the address space */
#define NPUEDGE_VA_END		BIT_ULL(NE1_VA_BITS)

bool npuedge_check_va(u64 va, u64 size);
int npuedge_check_bind_op(const struct drm_npuedge_vm_bind_op *op);
int npuedge_check_sync(const struct drm_npuedge_sync *sync);

#endif
