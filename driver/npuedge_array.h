/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_ARRAY_H
#define NPUEDGE_ARRAY_H

#include <linux/mm.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include <drm/npuedge_accel.h>

void *npuedge_array_copy(const struct drm_npuedge_array *array, size_t min_stride, size_t size,
			 u32 max_count);

/**
 * npuedge_array_check() - check the description of an array
 * @array: from user space
 * @min_stride: size of the structure's first version
 * @max_count: largest count
 *
 * Return: 0; -EINVAL if the stride is too small; -E2BIG if the count or stride is too large.
 */
static inline int npuedge_array_check(const struct drm_npuedge_array *array, u32 min_stride,
				      u32 max_count)
{
	if (!array->count)
		return 0;
	if (array->stride < min_stride)
		return -EINVAL;
	if (array->count > max_count || array->stride > PAGE_SIZE)
		return -E2BIG;
	return 0;
}

/**
 * npuedge_array_get() - copy one item of an array
 * @array: from user space, checked by npuedge_array_check()
 * @index: number of the item, less than the array's count
 * @item: out: the structure, zero-padded
 * @size: size of the structure as the kernel knows it
 *
 * Inline, so that @size is constant in the usual case, that the caller knows the same structure:
 * then it need not be checked at run time where the copy goes to.
 *
 * Return: 0, -E2BIG if there is something that the kernel does not know, or -EFAULT.
 */
static __always_inline int npuedge_array_get(const struct drm_npuedge_array *array, u32 index,
					     void *item, size_t size)
{
	void __user *user = u64_to_user_ptr(array->ptr) + (size_t)index * array->stride;

	if (array->stride == size)
		return copy_from_user(item, user, size) ? -EFAULT : 0;
	return copy_struct_from_user(item, size, user, array->stride);
}

/**
 * NPUEDGE_ARRAY_CHECK() - check the description of an array of extensible structures
 * @array: struct drm_npuedge_array
 * @type: structure as the kernel knows it
 * @last: last member of its first version
 * @max: largest count
 *
 * Return: 0, -EINVAL or -E2BIG.
 */
#define NPUEDGE_ARRAY_CHECK(array, type, last, max) \
	npuedge_array_check(array, offsetofend(type, last), max)

/**
 * NPUEDGE_ARRAY_COPY() - copy an array of extensible structures from user memory
 * @array: struct drm_npuedge_array
 * @type: structure as the kernel knows it
 * @last: last member of its first version
 * @max: largest count
 *
 * Return: zero-padded kernel array, freed by kvfree(); NULL if the array is empty; -EINVAL, -E2BIG,
 * -EFAULT or -ENOMEM as an error pointer.
 */
#define NPUEDGE_ARRAY_COPY(array, type, last, max) \
	((type *)npuedge_array_copy(array, offsetofend(type, last), sizeof(type), max))

#endif
