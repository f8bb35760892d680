// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Interrupts
 *
 * Each cause has its own line if the bus gives us four, else all share one.  What an interrupt is
 * about is in memory for the frequent causes (jobs, events); only the rare ones (MMU, FATAL) and
 * a shared line read registers.  A wired line stays up until its status bit is cleared, so the
 * bit is cleared before the cause is looked at; for messages that write does no harm, and costs
 * no round trip.
 */

#include <linux/cleanup.h>
#include <linux/interrupt.h>
#include <linux/platform_device.h>

#include <drm/drm_print.h>

#include "npuedge_fw.h"
#include "npuedge_hw.h"
#include "npuedge_irq.h"
#include "npuedge_mmu.h"
#include "npuedge_queue.h"
#include "npuedge_reset.h"

static const char * const npuedge_vector_names[NPUEDGE_VECTORS] = {
	[NPUEDGE_VECTOR_QUEUE] = "queue",
	[NPUEDGE_VECTOR_EVENT] = "event",
	[NPUEDGE_VECTOR_MMU] = "mmu",
	[NPUEDGE_VECTOR_FATAL] = "fatal",
};

/* Clear causes before they are looked at; on a wired line the write has to arrive first. */
static void npuedge_irq_ack(struct npuedge_device *edev, u32 causes)
{
	npuedge_write(edev, NE1_REG_IRQ_STATUS, causes);
	if (edev->irq.wired)
		npuedge_read(edev, NE1_REG_IRQ_STATUS);
}

static irqreturn_t npuedge_irq_queue(int irq, void *data)
{
	struct npuedge_device *edev = data;

	npuedge_irq_ack(edev, NE1_IRQ_QUEUE);
	npuedge_queues_process(edev);
	return IRQ_HANDLED;
}

static irqreturn_t npuedge_irq_event(int irq, void *data)
{
	struct npuedge_device *edev = data;

	npuedge_irq_ack(edev, NE1_IRQ_EVENT);
	npuedge_fw_handle_events(edev);
	return IRQ_HANDLED;
}

static irqreturn_t npuedge_irq_mmu(int irq, void *data)
{
	struct npuedge_device *edev = data;

	npuedge_irq_ack(edev, NE1_IRQ_MMU);
	npuedge_mmu_report_fault(edev);
	return IRQ_HANDLED;
}

static irqreturn_t npuedge_irq_fatal(int irq, void *data)
{
	struct npuedge_device *edev = data;
	u32 status;

	npuedge_irq_ack(edev, NE1_IRQ_FATAL);
	status = npuedge_read(edev, NE1_REG_BOOT_STATUS);
	drm_err(&edev->base, "fatal interrupt: firmware state %u error %u\n",
		FIELD_GET(NE1_BOOT_STATE_MASK, status), FIELD_GET(NE1_BOOT_ERROR_MASK, status));
	npuedge_reset_schedule(edev);
	return IRQ_HANDLED;
}

static const irq_handler_t npuedge_vector_handlers[NPUEDGE_VECTORS] = {
	[NPUEDGE_VECTOR_QUEUE] = npuedge_irq_queue,
	[NPUEDGE_VECTOR_EVENT] = npuedge_irq_event,
	[NPUEDGE_VECTOR_MMU] = npuedge_irq_mmu,
	[NPUEDGE_VECTOR_FATAL] = npuedge_irq_fatal,
};

/*
 * A cause that is raised between our reading and clearing the status loses its bit, but sends its
 * own message: then the status shows nothing, and what is in memory is looked at all the same.
 */
static irqreturn_t npuedge_irq_shared(int irq, void *data)
{
	struct npuedge_device *edev = data;
	u32 status = npuedge_read(edev, NE1_REG_IRQ_STATUS);

	/* All ones: the device is gone. */
	if (status & ~NE1_IRQ_ALL || (!status && edev->irq.wired))
		return IRQ_NONE;

	npuedge_irq_ack(edev, status & (NE1_IRQ_QUEUE | NE1_IRQ_EVENT));
	npuedge_queues_process(edev);
	npuedge_fw_handle_events(edev);
	if (status & NE1_IRQ_MMU)
		npuedge_irq_mmu(irq, data);
	if (status & NE1_IRQ_FATAL)
		npuedge_irq_fatal(irq, data);
	return IRQ_HANDLED;
}

static void npuedge_irq_set(struct npuedge_device *edev, bool enable)
{
	u32 lines = edev->irq.shared ? 1 : NPUEDGE_VECTORS;

	guard(mutex)(&edev->irq.lock);
	if (edev->irq.enabled == enable)
		return;

	edev->irq.enabled = enable;
	npuedge_write(edev, NE1_REG_IRQ_ENABLE, enable ? NE1_IRQ_ALL : 0);
	for (u32 i = 0; i < lines; i++) {
		if (enable)
			enable_irq(edev->irq.line[i]);
		else
			disable_irq(edev->irq.line[i]);
	}
}

/**
 * npuedge_irq_enable() - let the device raise interrupts
 * @edev: device
 *
 * What happened before raises no interrupt any more, so it is looked at once.
 */
void npuedge_irq_enable(struct npuedge_device *edev)
{
	u32 status;

	npuedge_irq_set(edev, true);
	npuedge_queues_process(edev);

	status = npuedge_read(edev, NE1_REG_IRQ_STATUS);
	if (status & NE1_IRQ_FATAL && !(status & ~NE1_IRQ_ALL))
		npuedge_irq_fatal(0, edev);
}

/**
 * npuedge_irq_disable() - stop interrupts and wait for the handlers that run
 * @edev: device
 */
void npuedge_irq_disable(struct npuedge_device *edev)
{
	npuedge_irq_set(edev, false);
}

static int npuedge_irq_request(struct npuedge_device *edev, u32 vector, irq_handler_t handler,
			       const char *what)
{
	int line = edev->irq.line[vector];
	const char *name;
	int ret;

	name = devm_kasprintf(edev->dev, GFP_KERNEL, "npuedge-%s", what);
	if (!name)
		return -ENOMEM;

	ret = devm_request_threaded_irq(edev->dev, line, NULL, handler,
					IRQF_ONESHOT | IRQF_NO_AUTOEN, name, edev);
	return ret ? dev_err_probe(edev->dev, ret, "cannot take interrupt %d\n", line) : 0;
}

/**
 * npuedge_irq_init() - take the interrupt lines; they stay disabled
 * @edev: device with mapped registers
 * @pdev: its platform device
 *
 * Return: 0 or a negative errno.
 */
int npuedge_irq_init(struct npuedge_device *edev, struct platform_device *pdev)
{
	int ret;

	npuedge_write(edev, NE1_REG_IRQ_ENABLE, 0);
	edev->irq.wired = edev->dma_dev == edev->dev;
	for (u32 i = 0; i < NPUEDGE_VECTORS; i++) {
		ret = platform_get_irq_byname_optional(pdev, npuedge_vector_names[i]);
		if (ret == -EPROBE_DEFER)
			return ret;
		edev->irq.line[i] = ret;
		if (ret < 0)
			edev->irq.shared = true;
	}

	if (edev->irq.shared) {
		ret = platform_get_irq(pdev, 0);
		if (ret < 0)
			return ret;
		edev->irq.line[0] = ret;
		return npuedge_irq_request(edev, 0, npuedge_irq_shared, "all");
	}

	for (u32 i = 0; i < NPUEDGE_VECTORS; i++) {
		ret = npuedge_irq_request(edev, i, npuedge_vector_handlers[i],
					  npuedge_vector_names[i]);
		if (ret)
			return ret;
	}
	return 0;
}
