/* SPDX-License-Identifier: MIT */
/* Copies between host memory and structures of the firmware, one word at a time, each word once. */
#include "hal.h"

void hal_win_load(void *dst, uint32_t va, uint32_t size)
{
	uint32_t *word = dst;

	for (uint32_t i = 0; i < size / 4; i++)
		word[i] = hal_win_read(va + i * 4);
}

void hal_win_store(uint32_t va, const void *src, uint32_t size)
{
	const uint32_t *word = src;

	for (uint32_t i = 0; i < size / 4; i++)
		hal_win_write(va + i * 4, word[i]);
}
