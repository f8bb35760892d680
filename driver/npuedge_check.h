/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_CHECK_H
#define NPUEDGE_CHECK_H

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/types.h>

#include <drm/npuedge_accel.h>

#include "ne1_regs.h"

/** NPUEDGE_VA_START - lowest VA for user space; below it, so that null pointers fault */
#define NPUEDGE_VA_START	0x10000ull
/** NPUEDGE_VA_END - first VA above the address space */
#define NPUEDGE_VA_END		BIT_ULL(NE1_VA_BITS)

/**
 * npuedge_check_va() - whether a range lies in the address space of user space
 * @va: first address
 * @size: bytes, > 0
 *
 * Return: true if so.
 */
static inline bool npuedge_check_va(u64 va, u64 size)
{
	return size && va >= NPUEDGE_VA_START && va < NPUEDGE_VA_END && size <= NPUEDGE_VA_END - va;
}

/**
 * npuedge_check_sync() - whether a syncobj is described well
 * @sync: from user space
 *
 * A timeline has a point, a binary syncobj has none.
 *
 * Return: 0 or -EINVAL.
 */
static inline int npuedge_check_sync(const struct drm_npuedge_sync *sync)
{
	if (sync->flags & ~DRM_NPUEDGE_SYNC_TIMELINE)
		return -EINVAL;
	return !(sync->flags & DRM_NPUEDGE_SYNC_TIMELINE) == !sync->point ? 0 : -EINVAL;
}

int npuedge_check_bind_op(const struct drm_npuedge_vm_bind_op *op);

#endif
