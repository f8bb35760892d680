/* SPDX-License-Identifier: MIT */
#include "events.h"

#include "hal.h"
#include "rings.h"

#define KEPT_FAULT	(1u << 0)
#define KEPT_REPLY	(1u << 1)

struct kept {
	uint8_t what;		/* KEPT_* */
	uint8_t status;		/* of the reply */
	uint32_t id;
	struct ne1_job_result fault;
};

static struct kept kept[NE1_MAX_QUEUES];
static uint32_t kept_count;	/* messages in kept[] */
static uint32_t irqs;

void events_init(void)
{
	for (unsigned int i = 0; i < NE1_MAX_QUEUES; i++)
		kept[i].what = 0;
	kept_count = 0;
	irqs = 0;
}

void events_raise(uint32_t bits)
{
	irqs |= bits;
}

void events_interrupt(void)
{
	if (!irqs)
		return;
	hal_wmb();
	hal_write(NE1_MC_HOST_IRQ, irqs);
	irqs = 0;
}

static bool send(const struct ne1_msg *msg)
{
	if (!rings_put_event(msg))
		return false;
	events_raise(NE1_IRQ_EVENT);
	return true;
}

static bool send_reply(uint32_t index, uint32_t id, uint32_t status)
{
	struct ne1_msg msg = { .type = NE1_EVT_REPLY, .status = (uint16_t)status, .id = id,
			       .queue = index };

	return send(&msg);
}

static bool send_fault(uint32_t index, const struct ne1_job_result *why)
{
	struct ne1_msg msg = {
		.type = NE1_EVT_QUEUE_FAULT,
		.queue = index,
		.fault = { .seqno = why->seqno, .fault = why->fault, .cmd = why->cmd, .va = why->va,
			   .info = why->info, .core = why->core },
	};

	return send(&msg);
}

static void keep(struct kept *k, uint8_t what)
{
	if (k->what & what)
		return;
	k->what |= what;
	kept_count++;
}

void events_reply(uint32_t index, uint32_t id, enum ne1_msg_status status)
{
	struct kept *k;

	/* Only replies of queues come when no room was made sure of, see msg_poll(). */
	if ((!kept_count && send_reply(index, id, status)) || index >= NE1_MAX_QUEUES)
		return;
	k = &kept[index];
	k->id = id;
	k->status = (uint8_t)status;
	keep(k, KEPT_REPLY);
}

void events_fault(uint32_t index, const struct ne1_job_result *why)
{
	struct kept *k = &kept[index];

	if (!kept_count && send_fault(index, why))
		return;
	k->fault = *why;
	keep(k, KEPT_FAULT);
}

/* A queue's fault goes before its reply: that is the order in which they happened. */
bool events_flush(void)
{
	for (uint32_t i = 0; kept_count && i < NE1_MAX_QUEUES; i++) {
		struct kept *k = &kept[i];

		if (k->what & KEPT_FAULT) {
			if (!send_fault(i, &k->fault))
				return false;
			k->what &= (uint8_t)~KEPT_FAULT;
			kept_count--;
		}
		if (k->what & KEPT_REPLY) {
			if (!send_reply(i, k->id, k->status))
				return false;
			k->what = 0;
			kept_count--;
		}
	}
	return true;
}
