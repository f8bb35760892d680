// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Checks of the uAPI
 *
 * What can be told of user space's structures without looking at anything else.  Like page tables,
 * this is tested on the host too.
 */

#include <linux/errno.h>

#include <drm/npuedge_accel.h>

#include "npuedge_check.h"
#include "npuedge_pgtable.h"

/**
 * npuedge_check_va() - whether a range lies in the address space of user space
 * @va: first address
 * @size: bytes, > 0
 *
 * Return: true if so.
 */
bool npuedge_check_va(u64 va, u64 size)
{
	return size && va >= NPUEDGE_VA_START && va < NPUEDGE_VA_END && size <= NPUEDGE_VA_END - va;
}

/**
 * npuedge_check_bind_op() - whether a change of an address space makes sense
 * @op: change
 *
 * Return: 0 or -EINVAL.
 */
int npuedge_check_bind_op(const struct drm_npuedge_vm_bind_op *op)
{
	if (op->pad || (op->va | op->size | op->bo_offset) & (NPUEDGE_PAGE - 1) ||
	    !npuedge_check_va(op->va, op->size))
		return -EINVAL;

	switch (op->op) {
	case DRM_NPUEDGE_BIND_MAP:
		return op->flags & ~DRM_NPUEDGE_BIND_READONLY ? -EINVAL : 0;
	case DRM_NPUEDGE_BIND_UNMAP:
		return op->flags || op->handle || op->bo_offset ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}

/**
 * npuedge_check_sync() - whether a syncobj is described well
 * @sync: from user space
 *
 * A timeline has a point, a binary syncobj has none.
 *
 * Return: 0 or -EINVAL.
 */
int npuedge_check_sync(const struct drm_npuedge_sync *sync)
{
	if (sync->flags & ~DRM_NPUEDGE_SYNC_TIMELINE)
		return -EINVAL;
	return !(sync->flags & DRM_NPUEDGE_SYNC_TIMELINE) == !sync->point ? 0 : -EINVAL;
}
