/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_IRQ_H
#define NPUEDGE_IRQ_H

struct npuedge_device;
struct platform_device;

int npuedge_irq_init(struct npuedge_device *edev, struct platform_device *pdev);
void npuedge_irq_enable(struct npuedge_device *edev);
void npuedge_irq_disable(struct npuedge_device *edev);
void npuedge_irq_flush(struct npuedge_device *edev);
void npuedge_irq_stop(struct npuedge_device *edev);

#endif
