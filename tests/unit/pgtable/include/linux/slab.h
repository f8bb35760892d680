/* SPDX-License-Identifier: MIT */
#ifndef SHIM_LINUX_SLAB_H
#define SHIM_LINUX_SLAB_H

#include <stdlib.h>

#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
#define kcalloc(count, size, gfp) calloc(count, size)
#define kzalloc(size, gfp) calloc(1, size)
#define kfree(p) free(p)

#endif
