/* SPDX-License-Identifier: MIT */
/* Proof of life: the heartbeat word of the shared region and the watchdog. */
#ifndef NE1_FW_HEARTBEAT_H
#define NE1_FW_HEARTBEAT_H

void heartbeat_init(void);

/* TIMER_BEAT has expired and all that was pending has been served: only a loop that works gets
 * here.
 */
void heartbeat_tick(void);

/* After SHUTDOWN: no timer, no watchdog. */
void heartbeat_stop(void);

#endif
