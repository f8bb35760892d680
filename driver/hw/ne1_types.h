/* SPDX-License-Identifier: MIT */
/*
 * Fixed-size types for the contract headers: the kernel's on Linux (driver, libnpu, npusim), the
 * compiler's own on the management core.  All contract structures are little endian and naturally
 * aligned; their sizes are asserted beside them.
 */
#ifndef NE1_TYPES_H
#define NE1_TYPES_H

#if defined(__KERNEL__) || defined(__linux__)
#include <linux/types.h>
#else
#include <stdint.h>
typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int32_t __s32;
typedef int64_t __s64;
#endif

#ifdef __KERNEL__
#include <linux/build_bug.h>
#define NE1_ASSERT(cond) static_assert(cond)
#else
#define NE1_ASSERT(cond) _Static_assert(cond, #cond)
#endif

#endif
