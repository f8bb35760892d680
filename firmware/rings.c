/* SPDX-License-Identifier: MIT */
#include "rings.h"

#include <stddef.h>

#include "hal.h"
#include "iface.h"
#include "panic.h"

#define CTL_WRITE	offsetof(struct ne1_ring_ctl, write)
#define CTL_READ	offsetof(struct ne1_ring_ctl, read)

static uint32_t cmd_read;	/* commands ever taken */
static uint32_t evt_write;	/* events ever published */

void rings_init(void)
{
	cmd_read = hal_win_read(iface_get()->cmd_ctl + CTL_READ);
	evt_write = hal_win_read(iface_get()->evt_ctl + CTL_WRITE);
}

uint32_t rings_commands(void)
{
	const struct ne1_fw_if *fwif = iface_get();
	uint32_t write = hal_win_read(fwif->cmd_ctl + CTL_WRITE);

	if (write - cmd_read > fwif->cmd_entries)
		panic(PANIC_CMD_INDEX, write);
	hal_rmb();
	return write - cmd_read;
}

void rings_get_command(struct ne1_msg *msg)
{
	const struct ne1_fw_if *fwif = iface_get();
	uint32_t slot = cmd_read & (fwif->cmd_entries - 1);

	hal_win_load(msg, fwif->cmd_ring + slot * sizeof(*msg), sizeof(*msg));
	cmd_read++;
	/* The host may reuse the entry from here on. */
	hal_rmb();
	hal_win_write(fwif->cmd_ctl + CTL_READ, cmd_read);
}

uint32_t rings_event_space(void)
{
	const struct ne1_fw_if *fwif = iface_get();
	uint32_t read = hal_win_read(fwif->evt_ctl + CTL_READ);

	if (evt_write - read > fwif->evt_entries)
		panic(PANIC_EVT_INDEX, read);
	return fwif->evt_entries - (evt_write - read);
}

static void publish(const struct ne1_msg *msg)
{
	const struct ne1_fw_if *fwif = iface_get();
	uint32_t slot = evt_write & (fwif->evt_entries - 1);

	hal_win_store(fwif->evt_ring + slot * sizeof(*msg), msg, sizeof(*msg));
	evt_write++;
	hal_wmb();
	hal_win_write(fwif->evt_ctl + CTL_WRITE, evt_write);
}

bool rings_put_event(const struct ne1_msg *msg)
{
	if (!rings_event_space())
		return false;
	publish(msg);
	return true;
}

void rings_put_last_event(const struct ne1_msg *msg)
{
	const struct ne1_fw_if *fwif = iface_get();
	uint32_t read = hal_win_read(fwif->evt_ctl + CTL_READ);

	if (evt_write - read < fwif->evt_entries)
		publish(msg);
}
