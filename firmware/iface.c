/* SPDX-License-Identifier: MIT */
#include "iface.h"

#include <stddef.h>

#include "hal.h"
#include "panic.h"
#include "version.h"

#define AREA_ALIGN	64u
#define MAX_ENTRIES	4096u		/* messages of a ring */
#define MAX_LOG		0x01000000u	/* bytes of log */

/* A part of the shared region; 64-bit so that offset + size cannot wrap.  Sizes themselves are
 * small: check_counts() has limited what they are made of.
 */
struct area {
	uint32_t offset;
	uint64_t size;
	enum panic_code code;	/* if it is out of place */
};

static struct ne1_fw_if fwif;
static bool valid;

const struct ne1_fw_if *iface_get(void)
{
	return &fwif;
}

bool iface_valid(void)
{
	return valid;
}

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static void check_counts(void)
{
	if (!power_of_two(fwif.cmd_entries) || fwif.cmd_entries > MAX_ENTRIES)
		panic(PANIC_IF_CMD, fwif.cmd_entries);
	if (!power_of_two(fwif.evt_entries) || fwif.evt_entries > MAX_ENTRIES)
		panic(PANIC_IF_EVT, fwif.evt_entries);
	if (!power_of_two(fwif.log_size) || fwif.log_size < AREA_ALIGN || fwif.log_size > MAX_LOG)
		panic(PANIC_IF_LOG, fwif.log_size);
	if (fwif.log_level > NE1_LOG_DEBUG)
		panic(PANIC_IF_LOG, fwif.log_level);
	if (!fwif.queue_count || fwif.queue_count > NE1_MAX_QUEUES)
		panic(PANIC_IF_QUEUES, fwif.queue_count);
}

static void check_areas(void)
{
	const struct area areas[] = {
		{ 0, sizeof(struct ne1_fw_if), PANIC_IF_SIZE },
		{ fwif.cmd_ctl, sizeof(struct ne1_ring_ctl), PANIC_IF_CMD },
		{ fwif.cmd_ring, fwif.cmd_entries * sizeof(struct ne1_msg), PANIC_IF_CMD },
		{ fwif.evt_ctl, sizeof(struct ne1_ring_ctl), PANIC_IF_EVT },
		{ fwif.evt_ring, fwif.evt_entries * sizeof(struct ne1_msg), PANIC_IF_EVT },
		{ fwif.log_ctl, sizeof(struct ne1_ring_ctl), PANIC_IF_LOG },
		{ fwif.log_ring, fwif.log_size, PANIC_IF_LOG },
		{ fwif.queue_table, fwif.queue_count * sizeof(struct ne1_fw_queue),
		  PANIC_IF_QUEUES },
		{ fwif.counter_table, fwif.queue_count * sizeof(struct ne1_fw_counters),
		  PANIC_IF_QUEUES },
	};
	/* The last one is there only if the host wants it. */
	const unsigned int count = sizeof(areas) / sizeof(areas[0]) - !fwif.counter_table;

	for (unsigned int i = 0; i < count; i++) {
		const struct area *a = &areas[i];

		if (a->offset % AREA_ALIGN || a->offset + a->size > fwif.size)
			panic(a->code, a->offset);
		for (unsigned int j = 0; j < i; j++) {
			const struct area *b = &areas[j];

			if (a->offset < b->offset + b->size && b->offset < a->offset + a->size)
				panic(PANIC_IF_OVERLAP, a->offset);
		}
	}
}

void iface_boot(void)
{
	valid = false;
	hal_win_load(&fwif, 0, offsetof(struct ne1_fw_if, fw_abi_major));
	if (fwif.magic != NE1_FW_IF_MAGIC)
		panic(PANIC_IF_MAGIC, fwif.magic);
	if (fwif.abi_major != NE1_ABI_MAJOR)
		panic(PANIC_IF_ABI, fwif.abi_major);
	if (fwif.size < sizeof(struct ne1_fw_if) || fwif.size > HAL_WINDOW_SIZE)
		panic(PANIC_IF_SIZE, fwif.size);
	/* A host of ABI 1.0 does not know the field. */
	if (!fwif.abi_minor)
		fwif.counter_table = 0;
	check_counts();
	check_areas();

	hal_win_write(offsetof(struct ne1_fw_if, fw_abi_major),
		      NE1_ABI_MAJOR | NE1_ABI_MINOR << 16);
	hal_win_write(offsetof(struct ne1_fw_if, fw_version), FW_VERSION);
	iface_set_heartbeat(0);
	iface_set_state(NE1_FW_BOOTING);
	valid = true;
}

void iface_set_state(enum ne1_fw_state state)
{
	hal_win_write(offsetof(struct ne1_fw_if, fw_state), state);
}

void iface_set_heartbeat(uint32_t count)
{
	hal_win_write(offsetof(struct ne1_fw_if, heartbeat), count);
}
