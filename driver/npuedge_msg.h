/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What messages of firmware mean and whom they are for; nothing in them is trusted.  Without device
 * or locks, so that this is tested alone.
 */
#ifndef NPUEDGE_MSG_H
#define NPUEDGE_MSG_H

#include <linux/errno.h>
#include <linux/types.h>

#include "ne1_fwabi.h"
#include "npuedge_ring.h"

/**
 * struct npuedge_fw_call - a message that awaits its reply
 */
struct npuedge_fw_call {
	/** @id: id of the message; 0: free */
	u32 id;
	/** @done: the reply has arrived */
	bool done;
	/** @status: enum ne1_msg_status of the reply */
	u16 status;
};

/**
 * npuedge_msg_room() - whether a message may be put into the command ring
 * @write: our own index
 * @read: index of firmware, as it says
 * @entries: slots of the ring
 *
 * Return: false if all slots are taken, or if what firmware says cannot be.
 */
static inline bool npuedge_msg_room(u32 write, u32 read, u32 entries)
{
	u32 fill;

	return npuedge_ring_fill(write, read, entries, &fill) && fill < entries;
}

/**
 * npuedge_msg_next_id() - id of the next message
 * @last: id of the last one
 *
 * Return: an id that is not 0, which stands for none.
 */
static inline u32 npuedge_msg_next_id(u32 last)
{
	return last + 1 ?: 1;
}

/**
 * npuedge_msg_free_call() - find room for one more message that awaits its reply
 * @calls: places
 * @count: their number
 *
 * Return: a free place, or NULL.
 */
static inline struct npuedge_fw_call *npuedge_msg_free_call(struct npuedge_fw_call *calls,
							    u32 count)
{
	for (u32 i = 0; i < count; i++) {
		if (!calls[i].id)
			return &calls[i];
	}
	return NULL;
}

/**
 * npuedge_msg_awaited() - find who awaits a reply
 * @calls: messages that await one
 * @count: their number
 * @msg: reply
 *
 * Return: the call; NULL if nobody does: it gave up, it has its reply, or there never was one.
 */
static inline struct npuedge_fw_call *npuedge_msg_awaited(struct npuedge_fw_call *calls, u32 count,
							  const struct ne1_msg *msg)
{
	for (u32 i = 0; msg->id && i < count; i++) {
		if (calls[i].id == msg->id)
			return calls[i].done ? NULL : &calls[i];
	}
	return NULL;
}

/**
 * npuedge_msg_errno() - what the status of a reply means for who asked
 * @status: enum ne1_msg_status, or anything
 *
 * That a core does not stop (5, since ABI 1.1) is for the caller the same as a refusal.
 *
 * Return: 0, -EBUSY if firmware has no room, or -EPROTO.
 */
static inline int npuedge_msg_errno(u16 status)
{
	switch (status) {
	case NE1_MSG_OK:
		return 0;
	case NE1_MSG_NO_RESOURCE:
		return -EBUSY;
	default:
		return -EPROTO;
	}
}

#endif
