/* SPDX-License-Identifier: MIT */
/* The parts of hal.h that are more than one instruction, on the management core, and the two memory
 * functions that the compiler may call for initialisers and structure assignments.
 */
#include <stddef.h>

#include "hal.h"

#define STACK_GUARD	0x5ac7600du

extern volatile uint32_t __stack_guard;	/* ne1fw.ld: lowest word of the stack */

void *memset(void *dst, int value, size_t n);
void *memcpy(void *restrict dst, const void *restrict src, size_t n);

void hal_halt(void)
{
	hal_write(NE1_MC_IRQ_ENABLE, 0);
	for (;;)
		hal_wait();
}

void hal_stack_arm(void)
{
	__stack_guard = STACK_GUARD;
}

bool hal_stack_intact(void)
{
	return __stack_guard == STACK_GUARD;
}

void *memset(void *dst, int value, size_t n)
{
	uint32_t word = (uint8_t)value * 0x01010101u;
	uint8_t *d = dst;

	if (!((uintptr_t)d & 3)) {
		for (; n >= 4; n -= 4, d += 4)
			*(uint32_t *)d = word;
	}
	while (n--)
		*d++ = (uint8_t)value;
	return dst;
}

/* Misaligned words trap, so words are copied only when both sides are aligned. */
void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	uint8_t *d = dst;
	const uint8_t *s = src;

	if (!(((uintptr_t)d | (uintptr_t)s) & 3)) {
		for (; n >= 4; n -= 4, d += 4, s += 4)
			*(uint32_t *)d = *(const uint32_t *)s;
	}
	while (n--)
		*d++ = *s++;
	return dst;
}
