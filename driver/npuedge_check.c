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
