/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_RESET_H
#define NPUEDGE_RESET_H

#include <linux/types.h>

struct npuedge_device;
struct npuedge_job;

/**
 * enum npuedge_reset_reason - why the device is reset; names are in npuedge_reset_reason_name()
 */
enum npuedge_reset_reason {
	/** @NPUEDGE_RESET_ASKED: by debugfs */
	NPUEDGE_RESET_ASKED,
	/** @NPUEDGE_RESET_HANG: firmware does not stop a queue */
	NPUEDGE_RESET_HANG,
	/** @NPUEDGE_RESET_FATAL: fatal interrupt */
	NPUEDGE_RESET_FATAL,
	/** @NPUEDGE_RESET_PANIC: firmware says that it cannot go on */
	NPUEDGE_RESET_PANIC,
	/** @NPUEDGE_RESET_MESSAGE: firmware did not do, or answer, what it was told */
	NPUEDGE_RESET_MESSAGE,
	/** @NPUEDGE_RESET_PROTOCOL: shared memory contradicts itself */
	NPUEDGE_RESET_PROTOCOL,
	/** @NPUEDGE_RESET_TLB: a TLB invalidation did not end */
	NPUEDGE_RESET_TLB,
	/** @NPUEDGE_RESET_BUS: reset by the bus, as user space or error handling wanted */
	NPUEDGE_RESET_BUS,
};

const char *npuedge_reset_reason_name(u32 reason);
int npuedge_reset_init(struct npuedge_device *edev);
void npuedge_reset_schedule(struct npuedge_device *edev, enum npuedge_reset_reason reason);
void npuedge_reset_cancel(struct npuedge_device *edev);
void npuedge_reset_wait(struct npuedge_device *edev);
bool npuedge_reset_passed(struct npuedge_device *edev);
void npuedge_reset_hold(struct npuedge_device *edev);
void npuedge_reset_release(struct npuedge_device *edev);
void npuedge_reset_job_timedout(struct npuedge_job *job);
void npuedge_reset_lose(struct npuedge_device *edev);
int npuedge_reset_suspend(struct npuedge_device *edev);
int npuedge_reset_resume(struct npuedge_device *edev);
void npuedge_reset_bus_begin(struct npuedge_device *edev);
void npuedge_reset_bus_end(struct npuedge_device *edev);
void npuedge_reset_bus_error(struct npuedge_device *edev, bool frozen);
int npuedge_reset_bus_recovered(struct npuedge_device *edev);
void npuedge_reset_bus_resume(struct npuedge_device *edev);
void npuedge_reset_bus_lost(struct npuedge_device *edev);
void npuedge_reset_bus_forget(struct npuedge_device *edev);

#endif
