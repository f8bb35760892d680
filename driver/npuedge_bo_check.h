/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks of what user space says about a buffer; without state, so that they are tested alone. */
#ifndef NPUEDGE_BO_CHECK_H
#define NPUEDGE_BO_CHECK_H

#include <linux/minmax.h>
#include <linux/types.h>

/**
 * npuedge_bo_range_ok() - check a range of a buffer
 * @total: bytes of the buffer
 * @offset: first byte of the range
 * @size: bytes of the range
 *
 * Return: whether it is not empty and within the buffer.
 */
static inline bool npuedge_bo_range_ok(u64 total, u64 offset, u64 size)
{
	return size && offset < total && size <= total - offset;
}

/**
 * npuedge_bo_sync_piece() - how much of a range can be made visible at once
 * @offset: first byte of what is left of the range, in a segment of bus addresses that begins with
 *	a page of the buffer
 * @size: bytes left
 * @segment: bytes of the segment
 * @page: bytes of a page
 *
 * An IOMMU makes one segment of pages that do not follow each other in memory, but caches are
 * cleaned by the address in memory, which is looked up for the first byte of a piece alone.
 *
 * Return: bytes of the next piece, which lie in one page.
 */
static inline u64 npuedge_bo_sync_piece(u64 offset, u64 size, u64 segment, u64 page)
{
	u64 left = min(size, segment - offset);

	return min(left, page - (offset & (page - 1)));
}

/**
 * npuedge_bo_label_ok() - check a label
 * @label: text
 * @size: its length
 *
 * Return: whether all of it is printable ASCII.
 */
static inline bool npuedge_bo_label_ok(const char *label, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (label[i] < ' ' || label[i] > '~')
			return false;
	}
	return true;
}

#endif
