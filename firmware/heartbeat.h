/* SPDX-License-Identifier: MIT */
/* Proof of life: the heartbeat word of the shared region and the watchdog, fed by the timer. */
#ifndef NE1_FW_HEARTBEAT_H
#define NE1_FW_HEARTBEAT_H

void heartbeat_init(void);

/* The timer has expired. */
void heartbeat_tick(void);

/* After SHUTDOWN: no timer, no watchdog. */
void heartbeat_stop(void);

#endif
