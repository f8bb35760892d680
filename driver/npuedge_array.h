/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_ARRAY_H
#define NPUEDGE_ARRAY_H

#include <linux/types.h>

struct drm_npuedge_array;

int npuedge_array_check(const struct drm_npuedge_array *array, u32 min_stride, u32 max_count);
int npuedge_array_get(const struct drm_npuedge_array *array, u32 index, void *item, size_t size);
void *npuedge_array_copy(const struct drm_npuedge_array *array, size_t min_stride, size_t size,
			 u32 max_count);

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
