/* SPDX-License-Identifier: MIT */
#include "msg.h"

#include "asid.h"
#include "counters.h"
#include "events.h"
#include "iface.h"
#include "log.h"
#include "power.h"
#include "queue.h"
#include "rings.h"

/* What the field `queue` of a command means, and so which values it may have. */
enum arg { ARG_NONE, ARG_QUEUE, ARG_VM, ARG_LOG_LEVEL, ARG_SWITCH };

/* A handler returns enum ne1_msg_status, or QUEUE_LATER if the reply follows. */
struct command {
	int (*handle)(const struct ne1_msg *msg);
	uint8_t arg;		/* enum arg */
	bool payload;		/* has fields in the union; otherwise it is all zero */
};

static int handle_ping(const struct ne1_msg *msg)
{
	(void)msg;
	return NE1_MSG_OK;
}

static int handle_create(const struct ne1_msg *msg)
{
	return queue_create(queue_at(msg->queue), msg);
}

static int handle_destroy(const struct ne1_msg *msg)
{
	return queue_command(queue_at(msg->queue), QUEUE_DESTROY, msg->id);
}

static int handle_suspend(const struct ne1_msg *msg)
{
	return queue_command(queue_at(msg->queue), QUEUE_SUSPEND, msg->id);
}

static int handle_resume(const struct ne1_msg *msg)
{
	return queue_command(queue_at(msg->queue), QUEUE_RESUME, msg->id);
}

static int handle_reset(const struct ne1_msg *msg)
{
	return queue_command(queue_at(msg->queue), QUEUE_RESET, msg->id);
}

static int handle_log_level(const struct ne1_msg *msg)
{
	log_set_level((enum ne1_log_level)msg->queue);
	return NE1_MSG_OK;
}

static int handle_shutdown(const struct ne1_msg *msg)
{
	power_shutdown(msg->id);
	return QUEUE_LATER;
}

static int handle_vm_flush(const struct ne1_msg *msg)
{
	if (queue_vm_busy(msg->queue))
		return NE1_MSG_BAD_STATE;
	asid_flush(msg->queue);
	return NE1_MSG_OK;
}

static int handle_counters(const struct ne1_msg *msg)
{
	return counters_enable(msg->queue) ? NE1_MSG_OK : NE1_MSG_BAD_STATE;
}

static int handle_hold(const struct ne1_msg *msg)
{
	queues_hold(msg->queue);
	return NE1_MSG_OK;
}

static const struct command commands[] = {
	[NE1_CMD_PING]		= { handle_ping, ARG_NONE, false },
	[NE1_CMD_QUEUE_CREATE]	= { handle_create, ARG_QUEUE, true },
	[NE1_CMD_QUEUE_DESTROY]	= { handle_destroy, ARG_QUEUE, false },
	[NE1_CMD_QUEUE_SUSPEND]	= { handle_suspend, ARG_QUEUE, false },
	[NE1_CMD_QUEUE_RESUME]	= { handle_resume, ARG_QUEUE, false },
	[NE1_CMD_QUEUE_RESET]	= { handle_reset, ARG_QUEUE, false },
	[NE1_CMD_LOG_LEVEL]	= { handle_log_level, ARG_LOG_LEVEL, false },
	[NE1_CMD_SHUTDOWN]	= { handle_shutdown, ARG_NONE, false },
	[NE1_CMD_VM_FLUSH]	= { handle_vm_flush, ARG_VM, false },
	[NE1_CMD_COUNTERS]	= { handle_counters, ARG_SWITCH, false },
	[NE1_CMD_HOLD]		= { handle_hold, ARG_SWITCH, false },
};

static bool arg_ok(enum arg arg, uint32_t value)
{
	switch (arg) {
	case ARG_NONE:
		return value == 0;
	case ARG_QUEUE:
		return value < iface_get()->queue_count;
	case ARG_VM:
		return value != 0;
	case ARG_LOG_LEVEL:
		return value <= NE1_LOG_DEBUG;
	case ARG_SWITCH:
		return value <= 1;
	}
	return false;
}

static bool fields_ok(const struct command *cmd, const struct ne1_msg *msg)
{
	if (msg->status || msg->pad || !arg_ok((enum arg)cmd->arg, msg->queue))
		return false;
	for (unsigned int i = 0; !cmd->payload && i < sizeof(msg->raw); i++) {
		if (msg->raw[i])
			return false;
	}
	return true;
}

static int dispatch(const struct ne1_msg *msg)
{
	const struct command *cmd;

	if (msg->type >= sizeof(commands) / sizeof(commands[0]) || !commands[msg->type].handle)
		return NE1_MSG_BAD_TYPE;
	cmd = &commands[msg->type];
	if (!fields_ok(cmd, msg))
		return NE1_MSG_BAD_FIELD;
	if (power_closing())
		return NE1_MSG_BAD_STATE;
	return cmd->handle(msg);
}

void msg_poll(void)
{
	uint32_t count = rings_commands();
	struct ne1_msg msg;
	int status;

	for (; count && events_flush() && rings_event_space(); count--) {
		rings_get_command(&msg);
		status = dispatch(&msg);
		if (status == QUEUE_LATER)
			continue;
		if (status != NE1_MSG_OK)
			log_warn("command %u for %u: status %u", msg.type, (unsigned int)msg.queue,
				 (unsigned int)status);
		events_reply(msg.queue, msg.id, (enum ne1_msg_status)status);
	}
}
