/* SPDX-License-Identifier: GPL-2.0-only */
/* Allocation helpers of Linux 7.3 for older kernels; part of npuedge_compat.h. */
#ifndef NPUEDGE_SLAB_H
#define NPUEDGE_SLAB_H

#include <linux/slab.h>

#ifndef kzalloc_obj
#define kzalloc_obj(obj, ...) kzalloc(sizeof(obj), __VA_OPT__((__VA_ARGS__) |) GFP_KERNEL)
#define kvzalloc_objs(obj, count, ...) \
	kvcalloc(count, sizeof(obj), __VA_OPT__((__VA_ARGS__) |) GFP_KERNEL)
#endif

#endif
