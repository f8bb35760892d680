// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "compile/emit.h"
#include "error.h"

static uint32_t slot_addr(const struct ring *ring, uint32_t item)
{
	return ring->addr + item % ring->slots * ring->slot;
}

static void collect(struct emit *e, struct ring *ring, const struct load *load)
{
	uint32_t max = ring->max ? 2 * ring->max : 256;
	struct load *items;

	if (ring->n == ring->max) {
		items = realloc(ring->items, max * sizeof(*items));
		if (!items) {
			e->status = npu_fail(NPU_ERR_NOMEM, "ring: no memory for %u items", max);
			return;
		}
		ring->items = items;
		ring->max = max;
	}
	ring->items[ring->n++] = *load;
}

union ne1_cmd ring_load(const struct ring *ring, uint32_t item)
{
	const struct load *l = &ring->items[item];

	return emit_dma(NE1_OP_LD, ring->base, l->offset, l->row_bytes, l->stride,
			slot_addr(ring, item), l->row_bytes, l->rows);
}

static void issue(struct emit *e, struct ring *ring)
{
	const struct load *l = &ring->items[ring->issued];
	struct access acc = WRITE(slot_addr(ring, ring->issued), l->rows * l->row_bytes);
	union ne1_cmd cmd = ring_load(ring, ring->issued);

	emit_cmd(e, &cmd, &acc, 1);
	ring->issued++;
}

uint32_t ring_take(struct emit *e, struct ring *ring, const struct load *load)
{
	if (e->status)
		return ring->addr;
	if (load->rows * load->row_bytes > ring->slot) {
		e->status =
			npu_fail(NPU_ERR_INVALID, "internal: a load of %u bytes in a slot of %u",
				 load->rows * load->row_bytes, ring->slot);
		return ring->addr;
	}
	if (e->dry) {
		collect(e, ring, load);
		return ring->addr;
	}
	if (ring->next >= ring->n || memcmp(&ring->items[ring->next], load, sizeof(*load)) != 0) {
		e->status = npu_fail(NPU_ERR_INVALID, "internal: ring item %u changed", ring->next);
		return ring->addr;
	}
	while (ring->issued < ring->n && ring->issued < ring->next + ring->slots)
		issue(e, ring);
	return slot_addr(ring, ring->next);
}

void ring_drop(struct emit *e, struct ring *ring)
{
	if (e->status || e->dry)
		return;
	ring->next++;
	if (ring->issued < ring->n && ring->issued < ring->next + ring->slots)
		issue(e, ring);
}
