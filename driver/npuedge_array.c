// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Arrays of the uAPI
 *
 * The caller passes the size of the structure that it was compiled with as a stride.  What an old
 * caller lacks is zero; what a new caller has beyond our structure must be zero.
 */

#include <linux/err.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "npuedge_array.h"

/**
 * npuedge_array_copy() - copy an array, see NPUEDGE_ARRAY_COPY()
 * @array: from user space
 * @min_stride: size of the structure's first version
 * @size: size of the structure as the kernel knows it
 * @max_count: largest count
 *
 * Return: as NPUEDGE_ARRAY_COPY().
 */
void *npuedge_array_copy(const struct drm_npuedge_array *array, size_t min_stride, size_t size,
			 u32 max_count)
{
	void *copy;
	int ret;

	ret = npuedge_array_check(array, min_stride, max_count);
	if (ret)
		return ERR_PTR(ret);
	if (!array->count)
		return NULL;

	copy = kvcalloc(array->count, size, GFP_KERNEL_ACCOUNT);
	if (!copy)
		return ERR_PTR(-ENOMEM);

	for (u32 i = 0; i < array->count; i++) {
		ret = npuedge_array_get(array, i, copy + i * size, size);
		if (ret) {
			kvfree(copy);
			return ERR_PTR(ret);
		}
	}
	return copy;
}
