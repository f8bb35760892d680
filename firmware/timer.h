/* SPDX-License-Identifier: MIT */
/* Several deadlines in device time on the one timer that the hardware has. */
#ifndef NE1_FW_TIMER_H
#define NE1_FW_TIMER_H

#include <stdint.h>

enum timer {
	TIMER_BEAT,	/* heartbeat and watchdog */
	TIMER_SLICE,	/* the time slice of a running job ends */
	TIMER_STOP,	/* cores that were asked to stop should have */
	TIMER_PATIENCE,	/* a queue of the lowest priority has waited for long */
	TIMERS
};

void timer_init(void);

uint64_t timer_now(void);	/* device time, ns */

/* Replaces the deadline of @t; UINT64_MAX: none. */
void timer_set(enum timer t, uint64_t at_ns);

/* The interrupt has come: mask (1 << enum timer) of the deadlines that have passed; they are off
 * now.
 */
uint32_t timer_expired(void);

/* No deadline is left. */
void timer_stop(void);

#endif
