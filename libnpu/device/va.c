// SPDX-License-Identifier: MIT
#include "device/va.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

#define GUARD	0x10000u

void va_init(struct va_space *space, uint64_t start, uint64_t end)
{
	memset(space, 0, sizeof(*space));
	space->start = start;
	space->end = end;
}

void va_fini(struct va_space *space)
{
	free(space->used);
	space->used = NULL;
	space->n = space->max = 0;
}

static npu_status grow(struct va_space *space)
{
	uint32_t max = space->max ? 2 * space->max : 16;
	struct va_range *used;

	if (space->n < space->max)
		return NPU_OK;
	used = realloc(space->used, max * sizeof(*used));
	if (!used)
		return npu_fail(NPU_ERR_NOMEM, "device addresses: no memory for %u ranges", max);
	space->used = used;
	space->max = max;
	return NPU_OK;
}

npu_status va_alloc(struct va_space *space, uint64_t size, uint64_t align, uint64_t *va)
{
	uint64_t at = (space->start + align - 1) & ~(align - 1);
	npu_status status = grow(space);
	uint32_t i;

	if (status)
		return status;
	for (i = 0; i < space->n; i++) {
		if (at < space->used[i].va && space->used[i].va - at >= size + GUARD)
			break;
		at = space->used[i].va + space->used[i].size + GUARD;
		at = (at + align - 1) & ~(align - 1);
	}
	if (at >= space->end || space->end - at < size)
		return npu_fail(NPU_ERR_LIMIT,
				"device addresses: no gap of 0x%llx bytes below 0x%llx",
				(unsigned long long)size, (unsigned long long)space->end);
	memmove(&space->used[i + 1], &space->used[i], (space->n - i) * sizeof(*space->used));
	space->used[i] = (struct va_range){ at, size };
	space->n++;
	*va = at;
	return NPU_OK;
}

void va_free(struct va_space *space, uint64_t va)
{
	uint32_t i;

	for (i = 0; i < space->n && space->used[i].va != va; i++)
		;
	if (i == space->n)
		return;
	space->n--;
	memmove(&space->used[i], &space->used[i + 1], (space->n - i) * sizeof(*space->used));
}
