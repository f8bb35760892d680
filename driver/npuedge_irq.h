/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_IRQ_H
#define NPUEDGE_IRQ_H

#include <linux/bits.h>

struct npuedge_device;
struct platform_device;

/**
 * enum npuedge_irq_off - why the device raises no interrupts; who ends one reason leaves the others
 */
enum npuedge_irq_off {
	/** @NPUEDGE_IRQ_OFF_STOPPED: it does not run: not yet, for a reset, or for sleep */
	NPUEDGE_IRQ_OFF_STOPPED = BIT(0),
	/** @NPUEDGE_IRQ_OFF_IDLE: runtime suspend */
	NPUEDGE_IRQ_OFF_IDLE = BIT(1),
	/** @NPUEDGE_IRQ_OFF_LOST: it was given up, and what handlers use is about to go */
	NPUEDGE_IRQ_OFF_LOST = BIT(2),
};

int npuedge_irq_init(struct npuedge_device *edev, struct platform_device *pdev);
void npuedge_irq_enable(struct npuedge_device *edev, enum npuedge_irq_off reason);
void npuedge_irq_disable(struct npuedge_device *edev, enum npuedge_irq_off reason);
void npuedge_irq_flush(struct npuedge_device *edev);
void npuedge_irq_stop(struct npuedge_device *edev);

#endif
