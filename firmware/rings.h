/* SPDX-License-Identifier: MIT */
/* The two message rings.  The firmware's own indices live here; host memory only gets copies. */
#ifndef NE1_FW_RINGS_H
#define NE1_FW_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "ne1_fwabi.h"

/* After iface_boot().  Continues at the firmware's own indices in memory, 0 in a fresh region. */
void rings_init(void);

/* Commands that wait, as of now.  Panics on an impossible index. */
uint32_t rings_commands(void);

/* Takes the oldest command; rings_commands() said that there is one. */
void rings_get_command(struct ne1_msg *msg);

/* Free entries for events.  Panics on an impossible index. */
uint32_t rings_event_space(void);

/* Publishes @msg; false if the ring is full.  The caller raises NE1_IRQ_EVENT. */
bool rings_put_event(const struct ne1_msg *msg);

/* The same for a panic: whatever the host's index says, room or not, it is written or dropped. */
void rings_put_last_event(const struct ne1_msg *msg);

#endif
