/* SPDX-License-Identifier: MIT */
/* The kernel's names for types, over the ones that user space has. */
#ifndef SHIM_LINUX_TYPES_H
#define SHIM_LINUX_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;

struct list_head {
	struct list_head *next, *prev;
};

#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) do {			\
	*(volatile typeof(x) *)&(x) = (value);		\
	if (shim_after_write)				\
		shim_after_write();			\
} while (0)

/* Called after each WRITE_ONCE() of any file: a test looks at every state that others could see. */
#define SHIM_WRITE_HOOK
extern void (*shim_after_write)(void);

#endif
