/* SPDX-License-Identifier: MIT */
#include "counters.h"

#include "hal.h"
#include "iface.h"

#define VALUES	(sizeof(struct ne1_fw_counters) / sizeof(uint64_t))

_Static_assert(NE1_COUNTERS <= VALUES, "a value per counter");

static uint64_t sums[NE1_MAX_QUEUES][NE1_COUNTERS];
static bool enabled;

void counters_init(void)
{
	enabled = false;
}

static uint32_t record(uint32_t index)
{
	return iface_get()->counter_table + index * (uint32_t)sizeof(struct ne1_fw_counters);
}

static void clear(uint32_t index)
{
	for (unsigned int n = 0; n < NE1_COUNTERS; n++)
		sums[index][n] = 0;
	for (unsigned int n = 0; n < VALUES; n++)
		hal_win_write64(record(index) + n * 8, 0);
}

bool counters_enable(bool on)
{
	const struct ne1_fw_if *fwif = iface_get();

	if (!fwif->counter_table)
		return false;
	for (uint32_t i = 0; on && !enabled && i < fwif->queue_count; i++)
		clear(i);
	enabled = on;
	return true;
}

void counters_reset(uint32_t index)
{
	if (enabled)
		clear(index);
}

void counters_add(uint32_t index, unsigned int core)
{
	if (!enabled)
		return;
	for (unsigned int n = 0; n < NE1_COUNTERS; n++)
		sums[index][n] += hal_read64(NE1_MC_CORE(core) + NE1_MC_CORE_COUNT_LO(n));
}

void counters_publish(uint32_t index)
{
	if (!enabled)
		return;
	for (unsigned int n = 0; n < NE1_COUNTERS; n++)
		hal_win_write64(record(index) + n * 8, sums[index][n]);
}
