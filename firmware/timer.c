/* SPDX-License-Identifier: MIT */
#include "timer.h"

#include "hal.h"

static uint64_t deadline[TIMERS];
static uint64_t armed;		/* what the hardware waits for; UINT64_MAX: nothing */

static void arm(void)
{
	uint64_t first = UINT64_MAX;

	for (unsigned int t = 0; t < TIMERS; t++) {
		if (deadline[t] < first)
			first = deadline[t];
	}
	if (first == armed)
		return;
	armed = first;
	hal_write64(NE1_MC_TIMER_LO, first);
}

void timer_init(void)
{
	for (unsigned int t = 0; t < TIMERS; t++)
		deadline[t] = UINT64_MAX;
	armed = UINT64_MAX;
}

uint64_t timer_now(void)
{
	return hal_read64(NE1_MC_TIME_LO);
}

void timer_set(enum timer t, uint64_t at_ns)
{
	deadline[t] = at_ns;
	arm();
}

uint32_t timer_expired(void)
{
	uint64_t now = timer_now();
	uint32_t due = 0;

	for (unsigned int t = 0; t < TIMERS; t++) {
		if (deadline[t] > now)
			continue;
		deadline[t] = UINT64_MAX;
		due |= 1u << t;
	}
	/* It has fired and waits for nothing, whatever was written last. */
	armed = UINT64_MAX;
	arm();
	return due;
}

void timer_stop(void)
{
	timer_init();
	hal_write64(NE1_MC_TIMER_LO, UINT64_MAX);
}
