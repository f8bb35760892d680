/* SPDX-License-Identifier: MIT */
/*
 * What the host is told: replies and fault events, and the interrupt that goes with them.  The
 * event ring may be full and the firmware never waits, so a message that does not fit is kept, one
 * of each kind per queue, and sent later.  No command is taken while one is kept, so that no reply
 * is overwritten.
 */
#ifndef NE1_FW_EVENTS_H
#define NE1_FW_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "ne1_fwabi.h"

void events_init(void);

/* Answers the command @id of queue @index (or any @index for commands that concern no queue). */
void events_reply(uint32_t index, uint32_t id, enum ne1_msg_status status);

void events_fault(uint32_t index, const struct ne1_job_result *why);

/* Sends what was kept as far as there is room; true if nothing is left. */
bool events_flush(void);

/* Collects NE1_IRQ_* bits; events_interrupt() raises them in one write. */
void events_raise(uint32_t irqs);
void events_interrupt(void);

#endif
