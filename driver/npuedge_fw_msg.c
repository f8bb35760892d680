// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Messages
 *
 * A call puts a message into the command ring and sleeps until the event interrupt finds the
 * reply with the same id; while it waits it looks for the reply itself now and then.  Several
 * calls may be on their way.  A call that gave up has freed its place, so that a late reply finds
 * nobody and is dropped; but then firmware's state is not known any more and the caller asks for
 * a reset, as npuedge_fw_call() tells it to.
 *
 * Nothing of the shared memory is trusted: indices are compared with our own copies, a message is
 * copied before it is looked at.  What it means is told by npuedge_msg.h.
 */

#include <drm/drm_print.h>

#include "npuedge_compat.h"
#include "npuedge_fw.h"
#include "npuedge_hw.h"
#include "npuedge_inject.h"
#include "npuedge_reset.h"
#include "npuedge_ring.h"

/**
 * npuedge_fw_msg_start() - messages may be sent
 * @edev: device with firmware that is READY
 */
void npuedge_fw_msg_start(struct npuedge_device *edev)
{
	struct npuedge_fw *fw = edev->fw;

	spin_lock_irq(&fw->lock);
	fw->running = true;
	spin_unlock_irq(&fw->lock);
}

/**
 * npuedge_fw_msg_stop() - fail the calls that wait, and all later ones
 * @edev: device
 */
void npuedge_fw_msg_stop(struct npuedge_device *edev)
{
	struct npuedge_fw *fw = edev->fw;

	spin_lock_irq(&fw->lock);
	fw->running = false;
	spin_unlock_irq(&fw->lock);
	wake_up_all(&edev->reset.wait);
}

/* Whether the command ring has a free slot, as far as firmware can be believed. */
static bool npuedge_fw_has_room(struct npuedge_fw *fw)
{
	struct npuedge_fw_ring *ring = &fw->cmd;

	lockdep_assert_held(&fw->lock);

	return npuedge_msg_room(ring->index, READ_ONCE(ring->ctl->read), ring->entries);
}

/* Put a message into a free slot; returns its id. */
static u32 npuedge_fw_put(struct npuedge_device *edev, const struct ne1_msg *cmd)
{
	struct npuedge_fw *fw = edev->fw;
	struct npuedge_fw_ring *ring = &fw->cmd;
	struct ne1_msg *slot = &ring->msg[ring->index % ring->entries];

	lockdep_assert_held(&fw->lock);

	fw->last_id = npuedge_msg_next_id(fw->last_id);
	*slot = *cmd;
	slot->id = fw->last_id;
	dma_wmb();
	WRITE_ONCE(ring->ctl->write, ++ring->index);
	npuedge_write(edev, NE1_REG_MBOX_DB, 1);
	return fw->last_id;
}

static struct npuedge_fw_call *npuedge_fw_post_locked(struct npuedge_device *edev,
						      const struct ne1_msg *cmd)
{
	struct npuedge_fw *fw = edev->fw;
	struct npuedge_fw_call *call;

	lockdep_assert_held(&fw->lock);

	if (!fw->running)
		return ERR_PTR(-ECANCELED);
	if (!npuedge_fw_has_room(fw))
		return NULL;

	call = npuedge_msg_free_call(fw->calls, NPUEDGE_FW_CALLS);
	if (call)
		*call = (struct npuedge_fw_call) { .id = npuedge_fw_put(edev, cmd) };
	return call;
}

/* Send a message.  Returns its call, NULL if there is no room, or an error. */
static struct npuedge_fw_call *npuedge_fw_post(struct npuedge_device *edev,
					       const struct ne1_msg *cmd)
{
	struct npuedge_fw *fw = edev->fw;
	struct npuedge_fw_call *call;

	spin_lock_irq(&fw->lock);
	call = npuedge_fw_post_locked(edev, cmd);
	spin_unlock_irq(&fw->lock);
	return call;
}

/**
 * npuedge_fw_tell() - send a message and do not care for its reply
 * @edev: device, awake
 * @cmd: message; its id is chosen here
 *
 * For what makes no difference in the end: the message is lost if there is no room.
 *
 * Return: whether it was sent.
 */
bool npuedge_fw_tell(struct npuedge_device *edev, const struct ne1_msg *cmd)
{
	struct npuedge_fw *fw = edev->fw;
	bool sent;

	spin_lock_irq(&fw->lock);
	sent = fw->running && npuedge_fw_has_room(fw);
	if (sent)
		npuedge_fw_put(edev, cmd);
	spin_unlock_irq(&fw->lock);
	return sent;
}

static bool npuedge_fw_call_ended(struct npuedge_device *edev, struct npuedge_fw_call *call)
{
	return READ_ONCE(call->done) || !READ_ONCE(edev->fw->running);
}

/*
 * Wait for a reply.  Half-way, and at the end, look for what was said unheard; half-way also ring
 * once more, as it may be us who were not heard.
 */
static void npuedge_fw_await(struct npuedge_device *edev, struct npuedge_fw_call *call)
{
	long half = msecs_to_jiffies(edev->timeouts->message / 2);

	for (int part = 0; part < 2; part++) {
		if (wait_event_timeout(edev->reset.wait, npuedge_fw_call_ended(edev, call), half))
			return;
		npuedge_fw_handle_events(edev);
		if (!part)
			npuedge_write(edev, NE1_REG_MBOX_DB, 1);
	}
}

/**
 * npuedge_fw_call() - send a message and wait for its reply
 * @edev: device, awake
 * @cmd: message; its id is chosen here
 *
 * Does not allocate memory.
 *
 * Return: 0; -EBUSY if firmware has no room for it; -EPROTO if firmware refuses it; -ECANCELED if
 * firmware was stopped meanwhile, and with it all its state is gone; -ETIMEDOUT if there was no
 * reply: the caller must then have the device reset.
 */
int npuedge_fw_call(struct npuedge_device *edev, const struct ne1_msg *cmd)
{
	long timeout = msecs_to_jiffies(edev->timeouts->message);
	bool lost = npuedge_inject(NPUEDGE_INJECT_REPLY);
	struct npuedge_fw *fw = edev->fw;
	struct npuedge_fw_call *call;
	int ret;

	if (npuedge_inject(NPUEDGE_INJECT_SEND))
		return -ETIMEDOUT;
	wait_event_timeout(edev->reset.wait, (call = npuedge_fw_post(edev, cmd)), timeout);
	if (!call)
		return -ETIMEDOUT;
	if (IS_ERR(call))
		return PTR_ERR(call);

	npuedge_fw_await(edev, call);

	spin_lock_irq(&fw->lock);
	if (call->done && !lost)
		ret = npuedge_msg_errno(call->status);
	else
		ret = fw->running ? -ETIMEDOUT : -ECANCELED;
	*call = (struct npuedge_fw_call) { };
	spin_unlock_irq(&fw->lock);
	wake_up_all(&edev->reset.wait);

	if (ret == -ETIMEDOUT)
		drm_err(&edev->base, "no reply to message %u within %u ms\n", cmd->type,
			edev->timeouts->message);
	else if (ret == -EPROTO)
		drm_err(&edev->base, "firmware refused message %u for %u\n", cmd->type, cmd->queue);
	return ret;
}

static void npuedge_fw_handle_reply(struct npuedge_device *edev, const struct ne1_msg *msg)
{
	struct npuedge_fw *fw = edev->fw;
	struct npuedge_fw_call *call;

	spin_lock_irq(&fw->lock);
	call = npuedge_msg_awaited(fw->calls, NPUEDGE_FW_CALLS, msg);
	if (call) {
		call->status = msg->status;
		WRITE_ONCE(call->done, true);
	}
	spin_unlock_irq(&fw->lock);

	if (!call)
		drm_dbg(&edev->base, "late reply to message id %u\n", msg->id);
	else
		wake_up_all(&edev->reset.wait);
}

static void npuedge_fw_handle_event(struct npuedge_device *edev, const struct ne1_msg *msg)
{
	switch (msg->type) {
	case NE1_EVT_REPLY:
		npuedge_fw_handle_reply(edev, msg);
		break;
	case NE1_EVT_QUEUE_FAULT:
		/* The job's result says the same, and is read with the job's completion. */
		drm_dbg(&edev->base, "queue %u: job %llu failed: fault %u command %u va %#llx\n",
			msg->queue, msg->fault.seqno, msg->fault.fault, msg->fault.cmd,
			msg->fault.va);
		break;
	case NE1_EVT_PANIC:
		drm_err(&edev->base, "firmware panic: code %#x pc %#x address %#x\n",
			msg->panic.code, msg->panic.pc, msg->panic.addr);
		npuedge_reset_schedule(edev, NPUEDGE_RESET_PANIC);
		break;
	default:
		drm_dbg(&edev->base, "event of unknown type %u\n", msg->type);
	}
}

static void npuedge_fw_take_events(struct npuedge_device *edev)
{
	struct npuedge_fw_ring *ring = &edev->fw->evt;
	u32 write = READ_ONCE(ring->ctl->write);
	struct ne1_msg msg;
	u32 fill;

	if (!npuedge_ring_fill(write, ring->index, ring->entries, &fill)) {
		drm_err(&edev->base, "event ring: write index %u is not within %u of %u\n", write,
			ring->entries, ring->index);
		npuedge_reset_schedule(edev, NPUEDGE_RESET_PROTOCOL);
		return;
	}

	dma_rmb();
	while (fill--) {
		msg = ring->msg[ring->index % ring->entries];
		/* The slot is free once firmware sees the index. */
		dma_mb();
		WRITE_ONCE(ring->ctl->read, ++ring->index);
		npuedge_fw_handle_event(edev, &msg);
	}
}

/**
 * npuedge_fw_handle_events() - take messages from the event ring
 * @edev: device
 *
 * Called by interrupt threads, and by who waits for something that may have been said unheard.
 */
void npuedge_fw_handle_events(struct npuedge_device *edev)
{
	struct npuedge_fw_ring *ring = &edev->fw->evt;

	if (READ_ONCE(ring->ctl->write) == READ_ONCE(ring->index))
		return;

	mutex_lock(&edev->fw->evt_lock);
	npuedge_fw_take_events(edev);
	mutex_unlock(&edev->fw->evt_lock);
}
