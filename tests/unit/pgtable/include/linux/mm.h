/* SPDX-License-Identifier: MIT */
#ifndef SHIM_LINUX_MM_H
#define SHIM_LINUX_MM_H

#include <linux/slab.h>
#include <linux/uaccess.h>

#define PAGE_SIZE	4096ul
#include <linux/array_size.h>

#define kvcalloc(count, size, gfp) calloc(count, size)
#define kvfree(p) free(p)

#endif
