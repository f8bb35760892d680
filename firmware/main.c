/* SPDX-License-Identifier: MIT */
/*
 * NE1 management firmware: one loop that sleeps until an interrupt is pending and serves it.
 * Nothing in it waits: what takes time (a job, stopping a core, a full event ring) is remembered
 * and continued when its interrupt comes.
 */
#include "main.h"

#include "asid.h"
#include "cores.h"
#include "counters.h"
#include "events.h"
#include "hal.h"
#include "heartbeat.h"
#include "iface.h"
#include "job.h"
#include "log.h"
#include "msg.h"
#include "panic.h"
#include "power.h"
#include "queue.h"
#include "rings.h"
#include "sched.h"
#include "timer.h"
#include "version.h"

#define SERVED	(NE1_MC_IRQ_MBOX | NE1_MC_IRQ_DOORBELL | NE1_MC_IRQ_CORE | NE1_MC_IRQ_TIMER)

void fw_boot(void)
{
	uint32_t cores, asids;

	panic_init();
	iface_boot();
	rings_init();
	log_init((enum ne1_log_level)iface_get()->log_level);
	cores = hal_read(NE1_MC_CAP_CORES);
	asids = hal_read(NE1_MC_CAP_ASIDS);
	if (!cores || cores > NE1_MAX_CORES)
		panic(PANIC_CHIP, cores);
	if (asids < 2 || asids > NE1_MAX_ASIDS)
		panic(PANIC_CHIP, asids);
	timer_init();
	power_init();
	events_init();
	sched_init();
	asid_init(asids);
	cores_init(cores);
	counters_init();
	queues_init();
	heartbeat_init();
	log_info("ne1 firmware %u.%u.%u, ABI %u.%u, %u cores, %u ASIDs", FW_VERSION >> 24,
		 FW_VERSION >> 16 & 0xff, FW_VERSION & 0xffff, NE1_ABI_MAJOR, NE1_ABI_MINOR,
		 (unsigned int)cores, (unsigned int)asids);

	iface_set_state(NE1_FW_RUNNING);
	hal_wmb();
	hal_write(NE1_MC_IRQ_ENABLE, SERVED);
	hal_write(NE1_MC_BOOT_STATE, NE1_BOOT_STATE_READY);
	hal_write(NE1_MC_HOST_IRQ, NE1_IRQ_EVENT);
}

static void serve_doorbells(uint32_t reg, uint32_t first)
{
	uint32_t rung = hal_read(reg);

	hal_write(reg, rung);
	for (; rung; rung &= rung - 1) {
		uint32_t index = first + (uint32_t)__builtin_ctz(rung);

		if (index < iface_get()->queue_count)
			queue_doorbell(queue_at(index));
	}
}

/* Each source is cleared before what it announces is read, so that a new one is not lost. */
void fw_step(void)
{
	uint32_t pending = hal_read(NE1_MC_IRQ_PENDING) & SERVED;
	uint32_t due = 0;

	hal_write(NE1_MC_IRQ_PENDING, pending);
	if (pending & NE1_MC_IRQ_CORE)
		job_poll();
	if (pending & NE1_MC_IRQ_DOORBELL) {
		serve_doorbells(NE1_MC_DB_PENDING_LO, 0);
		if (iface_get()->queue_count > 32)
			serve_doorbells(NE1_MC_DB_PENDING_HI, 32);
	}
	if (pending & NE1_MC_IRQ_TIMER)
		due = timer_expired();
	if (due & 1u << TIMER_PATIENCE)
		sched_end_patience();
	/* An idle core waits for this, so it goes before messages. */
	if (!power_closing())
		sched_run();
	if (due & 1u << TIMER_STOP)
		job_check_stops();
	if (pending & NE1_MC_IRQ_TIMER)
		events_flush();
	/* The host does not ring after making room for events, so the timer looks as well. */
	if (pending & (NE1_MC_IRQ_MBOX | NE1_MC_IRQ_TIMER)) {
		msg_poll();
		if (!power_closing())
			sched_run();
	}
	power_poll();
	events_interrupt();
	if (due & 1u << TIMER_BEAT)
		heartbeat_tick();
}

void fw_main(void)
{
	fw_boot();
	for (;;) {
		hal_wait();
		fw_step();
	}
}
