/* SPDX-License-Identifier: MIT */
/*
 * User memory is one range of the test program; all other addresses fault.  As in the kernel, a copy that faults may
 * have copied something before.
 */
#ifndef SHIM_LINUX_UACCESS_H
#define SHIM_LINUX_UACCESS_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define __user
#define u64_to_user_ptr(x) ((void *)(uintptr_t)(x))
#define offsetofend(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

extern uintptr_t shim_user_start, shim_user_size;

static inline int shim_user_ok(const void *ptr, size_t size)
{
	uintptr_t at = (uintptr_t)ptr - shim_user_start;

	return at < shim_user_size && size <= shim_user_size - at;
}

static inline unsigned long copy_to_user(void *to, const void *from, size_t size)
{
	if (!shim_user_ok(to, size))
		return size;
	memcpy(to, from, size);
	return 0;
}

static inline unsigned long copy_from_user(void *to, const void *from, size_t size)
{
	if (!shim_user_ok(from, size))
		return size;
	memcpy(to, from, size);
	return 0;
}

static inline int copy_struct_from_user(void *to, size_t ksize, const void *from, size_t usize)
{
	if (!shim_user_ok(from, usize))
		return -EFAULT;
	for (size_t i = ksize; i < usize; i++) {
		if (((const char *)from)[i])
			return -E2BIG;
	}
	memset(to, 0, ksize);
	memcpy(to, from, ksize < usize ? ksize : usize);
	return 0;
}

#endif
