/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_RING_H
#define NPUEDGE_RING_H

#include <linux/types.h>

/*
 * Arithmetic of free-running 32-bit indices: they wrap, so that only differences mean something,
 * and only while they are smaller than 2^31.
 */

/**
 * npuedge_ring_fill() - entries between the consumer's and the producer's index
 * @write: producer's index
 * @read: consumer's index
 * @entries: size of the ring
 * @fill: out
 *
 * Return: false if the indices contradict each other.
 */
static inline bool npuedge_ring_fill(u32 write, u32 read, u32 entries, u32 *fill)
{
	*fill = write - read;
	return *fill <= entries;
}

/**
 * npuedge_ring_passed() - whether an index has gone beyond a position
 * @index: index
 * @position: value that the index had when the entry in question was next
 *
 * Return: true if the entry at @position lies behind the index.
 */
static inline bool npuedge_ring_passed(u32 index, u32 position)
{
	return (s32)(index - position) > 0;
}

#endif
