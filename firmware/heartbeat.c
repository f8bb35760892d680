/* SPDX-License-Identifier: MIT */
#include "heartbeat.h"

#include <stdbool.h>

#include "hal.h"
#include "iface.h"
#include "panic.h"
#include "timer.h"

/* Twice as often as promised: the host may look at any moment, and the loop may be late. */
#define PERIOD_NS	(NE1_HEARTBEAT_MS * 1000000ull / 2)
#define WATCHDOG_MS	(NE1_HEARTBEAT_MS * 10)

static uint32_t beats;
static bool stopped;

/* From now and not from the last deadline: device time leaps over long jobs, and missed beats are
 * not made up for.
 */
static void arm(void)
{
	timer_set(TIMER_BEAT, timer_now() + PERIOD_NS);
	hal_write(NE1_MC_WATCHDOG, WATCHDOG_MS);
}

void heartbeat_init(void)
{
	beats = 0;
	stopped = false;
	hal_stack_arm();
	arm();
}

void heartbeat_tick(void)
{
	if (stopped)
		return;
	if (!hal_stack_intact())
		panic(PANIC_STACK, 0);
	iface_set_heartbeat(++beats);
	arm();
}

void heartbeat_stop(void)
{
	stopped = true;
	hal_write(NE1_MC_WATCHDOG, 0);
	timer_stop();
}
