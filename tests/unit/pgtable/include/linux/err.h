/* SPDX-License-Identifier: MIT */
#ifndef SHIM_LINUX_ERR_H
#define SHIM_LINUX_ERR_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#define IS_ERR_VALUE(x) ((uintptr_t)(x) >= (uintptr_t)-4095)

static inline void *ERR_PTR(long error)
{
	return (void *)error;
}

static inline bool IS_ERR(const void *ptr)
{
	return IS_ERR_VALUE(ptr);
}

static inline bool IS_ERR_OR_NULL(const void *ptr)
{
	return !ptr || IS_ERR(ptr);
}

static inline long PTR_ERR_OR_ZERO(const void *ptr)
{
	return IS_ERR(ptr) ? (long)ptr : 0;
}

#endif
