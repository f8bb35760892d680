/* SPDX-License-Identifier: MIT */
#include "power.h"

#include "cores.h"
#include "events.h"
#include "heartbeat.h"
#include "iface.h"
#include "job.h"
#include "log.h"
#include "rings.h"

static enum { OPEN, CLOSING, HUNG, CLOSED } phase;
static uint32_t reply_id;

void power_init(void)
{
	phase = OPEN;
}

bool power_closing(void)
{
	return phase != OPEN;
}

void power_shutdown(uint32_t id)
{
	phase = CLOSING;
	reply_id = id;
	job_stop_all();
}

void power_hung(void)
{
	if (phase != CLOSING)
		return;
	phase = HUNG;
	events_reply(0, reply_id, NE1_MSG_HUNG);
}

/* The timer stays on until the reply fits into the ring, because it is what brings us back here. */
void power_poll(void)
{
	if (phase != CLOSING || !cores_all_idle() || !events_flush() || !rings_event_space())
		return;
	phase = CLOSED;
	log_info("shut down");
	heartbeat_stop();
	iface_set_state(NE1_FW_SUSPENDED);
	events_reply(0, reply_id, NE1_MSG_OK);
}
