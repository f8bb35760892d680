/* SPDX-License-Identifier: MIT */
/*
 * Everything the firmware does to the outside: registers, the window into host memory, barriers,
 * waiting.  On the management core these are single instructions; the unit tests implement the same
 * functions on the host.
 *
 * Host memory is reached by value only, word by word: nothing in the firmware holds a pointer into
 * it, so a value that was checked cannot change afterwards.
 */
#ifndef NE1_FW_HAL_H
#define NE1_FW_HAL_H

#include <stdbool.h>
#include <stdint.h>

#include "ne1_regs.h"

#define HAL_WINDOW_SIZE		0x80000000u	/* VAs of ASID 0 that the window reaches */

#ifdef __riscv

static inline uint32_t hal_read(uint32_t reg)
{
	return *(volatile uint32_t *)reg;
}

static inline void hal_write(uint32_t reg, uint32_t value)
{
	*(volatile uint32_t *)reg = value;
}

/* @va: multiple of 4, below HAL_WINDOW_SIZE. */
static inline uint32_t hal_win_read(uint32_t va)
{
	return *(volatile uint32_t *)(NE1_MC_WINDOW + va);
}

static inline void hal_win_write(uint32_t va, uint32_t value)
{
	*(volatile uint32_t *)(NE1_MC_WINDOW + va) = value;
}

static inline void hal_win_write8(uint32_t va, uint8_t value)
{
	*(volatile uint8_t *)(NE1_MC_WINDOW + va) = value;
}

/* Earlier window reads happen before later ones. */
static inline void hal_rmb(void)
{
	__asm__ volatile("fence r,r" ::: "memory");
}

/* Earlier window writes happen before later writes of window and registers. */
static inline void hal_wmb(void)
{
	__asm__ volatile("fence w,ow" ::: "memory");
}

/* Sleeps until an enabled interrupt is pending; returns at once if one is. */
static inline void hal_wait(void)
{
	__asm__ volatile("wfi" ::: "memory");
}

/* Never returns; only a reset of the device ends it. */
_Noreturn void hal_halt(void);

/* The word below the stack still holds what hal_stack_arm() stored there. */
void hal_stack_arm(void);
bool hal_stack_intact(void);

#else

uint32_t hal_read(uint32_t reg);
void hal_write(uint32_t reg, uint32_t value);
uint32_t hal_win_read(uint32_t va);
void hal_win_write(uint32_t va, uint32_t value);
void hal_win_write8(uint32_t va, uint8_t value);
void hal_rmb(void);
void hal_wmb(void);
void hal_wait(void);
_Noreturn void hal_halt(void);
void hal_stack_arm(void);
bool hal_stack_intact(void);

#endif

/* A LO/HI pair of registers: reading LO latches HI. */
static inline uint64_t hal_read64(uint32_t lo)
{
	uint32_t low = hal_read(lo);

	return low | (uint64_t)hal_read(lo + 4) << 32;
}

static inline void hal_write64(uint32_t lo, uint64_t value)
{
	hal_write(lo, (uint32_t)value);
	hal_write(lo + 4, (uint32_t)(value >> 32));
}

/* Low word first: a counter read in between is too small, never too large. */
static inline void hal_win_write64(uint32_t va, uint64_t value)
{
	hal_win_write(va, (uint32_t)value);
	hal_wmb();
	hal_win_write(va + 4, (uint32_t)(value >> 32));
}

/* Copies of whole structures; @dst and @src are word aligned, @size a multiple of 4. */
void hal_win_load(void *dst, uint32_t va, uint32_t size);
void hal_win_store(uint32_t va, const void *src, uint32_t size);

#endif
