// SPDX-License-Identifier: MIT
#include "dram.h"

#include <string.h>

#include "chip.h"

#define ONE	1024	/* units of flow->left per ps */

uint64_t sim_dram_ps(const struct sim_chip *chip, uint64_t bursts, uint64_t jumps)
{
	const struct sim_chip_dram *d = &chip->dram;
	unsigned __int128 ps = bursts;

	/* MB/s and permille: 10^9 bytes-permille per ps-unit. */
	ps = ps * d->burst_bytes * 1000000000u / ((uint64_t)d->peak_mbps * d->stream_permille);
	return (uint64_t)ps + jumps * d->row_ps;
}

void sim_dram_init(struct sim_dram *dram, const struct sim_chip *chip)
{
	memset(dram, 0, sizeof(*dram));
	dram->chip = chip;
}

void sim_dram_start(struct sim_dram *dram, bool write, uint64_t latency_ps, uint64_t channel_ps)
{
	dram->flow[write].active = true;
	dram->flow[write].data_ps = dram->now_ps + latency_ps;
	dram->flow[write].left = channel_ps * ONE;
}

static bool in_data(const struct sim_dram *dram, unsigned int i)
{
	return dram->flow[i].active && dram->flow[i].data_ps <= dram->now_ps && dram->flow[i].left;
}

/* Units per ps that each direction in its data phase gets. */
static uint64_t rate(const struct sim_dram *dram, unsigned int cores)
{
	const struct sim_chip_dram *d = &dram->chip->dram;
	uint64_t r = ONE;

	if (in_data(dram, 0) && in_data(dram, 1))
		r = ONE / 2 * d->mixed_permille / d->stream_permille;
	r /= cores;
	return r ? r : 1;
}

uint64_t sim_dram_next(const struct sim_dram *dram, unsigned int cores)
{
	uint64_t next = SIM_DRAM_NEVER, t, r = rate(dram, cores);
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (!dram->flow[i].active)
			continue;
		if (dram->flow[i].data_ps > dram->now_ps)
			t = dram->flow[i].data_ps;
		else
			t = dram->now_ps + (dram->flow[i].left + r - 1) / r;
		if (t < next)
			next = t;
	}
	return next;
}

void sim_dram_advance(struct sim_dram *dram, uint64_t now_ps, unsigned int cores)
{
	uint64_t done = (now_ps - dram->now_ps) * rate(dram, cores);
	bool data[2] = { in_data(dram, 0), in_data(dram, 1) };
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (data[i])
			dram->flow[i].left -= done < dram->flow[i].left ? done : dram->flow[i].left;
	dram->now_ps = now_ps;
}

bool sim_dram_ended(struct sim_dram *dram, bool write)
{
	if (!dram->flow[write].active || dram->flow[write].left ||
	    dram->flow[write].data_ps > dram->now_ps)
		return false;
	dram->flow[write].active = false;
	return true;
}
