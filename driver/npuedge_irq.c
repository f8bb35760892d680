// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Interrupts
 *
 * Each cause has its own line if the bus gives us four, else all share one.  What an interrupt is
 * about is in memory for the frequent causes (jobs, events); only the rare ones (MMU, FATAL) and
 * a shared line read registers.  A wired line stays up until its status bit is cleared, so the
 * bit is cleared before the cause is looked at; for messages that write does no harm, and costs
 * no round trip.
 *
 * A vector that comes too often is masked for a while, and looked after when it is unmasked: bad
 * jobs cannot keep a processor busy.  A broken device may not heed its mask, so a line that is the
 * vector's alone is disabled as well, and so is one that all share if nothing is behind its
 * interrupts.
 */

#include <linux/cleanup.h>
#include <linux/interrupt.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>

#include <drm/drm_print.h>

#include "npuedge_compat.h"
#include "npuedge_fw.h"
#include "npuedge_hw.h"
#include "npuedge_irq.h"
#include "npuedge_mmu.h"
#include "npuedge_queue.h"
#include "npuedge_reset.h"

static const char * const npuedge_vector_names[NPUEDGE_IRQ_COUNTS] = {
	[NPUEDGE_VECTOR_QUEUE] = "queue",
	[NPUEDGE_VECTOR_EVENT] = "event",
	[NPUEDGE_VECTOR_MMU] = "mmu",
	[NPUEDGE_VECTOR_FATAL] = "fatal",
	[NPUEDGE_VECTOR_NONE] = "all",
};

/**
 * struct npuedge_storm - how many interrupts of a vector are too many
 */
struct npuedge_storm {
	/** @limit: interrupts within NPUEDGE_STORM_WINDOW */
	u32 limit;
	/** @pause: how long the vector is masked then, in milliseconds */
	u32 pause;
};

#define NPUEDGE_STORM_WINDOW	msecs_to_jiffies(100)

/* Jobs may be short and many, and events follow them; the others are rare if all is well. */
static const struct npuedge_storm npuedge_storms[NPUEDGE_IRQ_COUNTS] = {
	[NPUEDGE_VECTOR_QUEUE] = { .limit = 10000, .pause = 20 },
	[NPUEDGE_VECTOR_EVENT] = { .limit = 2000, .pause = 20 },
	[NPUEDGE_VECTOR_MMU] = { .limit = 10, .pause = 500 },
	[NPUEDGE_VECTOR_FATAL] = { .limit = 10, .pause = 500 },
	[NPUEDGE_VECTOR_NONE] = { .limit = 10, .pause = 100 },
};

/* Clear causes before they are looked at; on a wired line the write has to arrive first. */
static void npuedge_irq_ack(struct npuedge_device *edev, u32 causes)
{
	npuedge_write(edev, NE1_REG_IRQ_STATUS, causes);
	if (edev->irq.wired)
		npuedge_read(edev, NE1_REG_IRQ_STATUS);
}

static void npuedge_irq_write_mask(struct npuedge_device *edev)
{
	lockdep_assert_held(&edev->irq.mask_lock);

	npuedge_write(edev, NE1_REG_IRQ_ENABLE,
		      edev->irq.off ? 0 : NE1_IRQ_ALL & ~edev->irq.masked);
}

/*
 * A frequent cause that has its own message need not be cleared, as it sends one each time that it
 * is raised, and nobody reads whether it was.
 */
static void npuedge_irq_ack_frequent(struct npuedge_device *edev, u32 cause)
{
	if (edev->irq.wired)
		npuedge_irq_ack(edev, cause);
}

/* The line that is off while a cause is masked, or -1: it is needed for others. */
static int npuedge_irq_masked_line(struct npuedge_device *edev, enum npuedge_vector vector)
{
	if (edev->irq.shared)
		return vector == NPUEDGE_VECTOR_NONE ? edev->irq.line[0] : -1;
	return edev->irq.line[vector];
}

/* When the first of the masked vectors is due, or at once for the work to find out. */
static void npuedge_irq_unmask_later(struct npuedge_device *edev)
{
	unsigned long now = jiffies, delay = MAX_JIFFY_OFFSET;

	lockdep_assert_held(&edev->irq.mask_lock);

	for (u32 i = 0; i < NPUEDGE_IRQ_COUNTS; i++) {
		if (!(edev->irq.masked & BIT(i)))
			continue;
		if (time_after_eq(now, edev->irq.until[i]))
			delay = 0;
		else
			delay = min(delay, edev->irq.until[i] - now);
	}
	/* There is nothing to look at any more once the device is given up. */
	if (edev->irq.masked && !(edev->irq.off & NPUEDGE_IRQ_OFF_LOST))
		mod_delayed_work(system_dfl_wq, &edev->irq.unmask_work, delay);
}

/* Any user's jobs may fault as often as they like: no news for the administrator. */
static void npuedge_irq_report_storm(struct npuedge_device *edev, enum npuedge_vector vector)
{
	const char *name = npuedge_vector_names[vector];
	u32 pause = npuedge_storms[vector].pause;

	if (vector == NPUEDGE_VECTOR_MMU)
		drm_dbg(&edev->base, "interrupt storm on vector %s, off for %u ms\n", name, pause);
	else
		dev_warn_ratelimited(edev->dev, "interrupt storm on vector %s, off for %u ms\n",
				     name, pause);
}

/* Count an interrupt; mask its cause if there are too many. */
static void npuedge_irq_count(struct npuedge_device *edev, enum npuedge_vector vector)
{
	int line = npuedge_irq_masked_line(edev, vector);
	const struct npuedge_storm *storm = &npuedge_storms[vector];
	bool masked = false;

	spin_lock_irq(&edev->irq.mask_lock);
	if (time_after(jiffies, edev->irq.window[vector] + NPUEDGE_STORM_WINDOW)) {
		edev->irq.window[vector] = jiffies;
		edev->irq.count[vector] = 0;
	}
	/* Two causes may be seen at the message of the first: that of the second shows none. */
	if (vector != NPUEDGE_VECTOR_NONE && edev->irq.count[NPUEDGE_VECTOR_NONE])
		edev->irq.count[NPUEDGE_VECTOR_NONE]--;
	if (++edev->irq.count[vector] > storm->limit && !(edev->irq.masked & BIT(vector))) {
		edev->irq.masked |= BIT(vector);
		edev->irq.until[vector] = jiffies + msecs_to_jiffies(storm->pause);
		edev->irq.storms++;
		npuedge_irq_write_mask(edev);
		if (line >= 0)
			disable_irq_nosync(line);
		npuedge_irq_unmask_later(edev);
		masked = true;
	}
	spin_unlock_irq(&edev->irq.mask_lock);

	if (masked)
		npuedge_irq_report_storm(edev, vector);
}

/*
 * What an interrupt of the two frequent causes is about is in memory, and costs little to look at:
 * whichever of them came, both are.  One that finds nothing may have been faster than what it tells
 * of, so that somebody looks again a little later.
 */
static void npuedge_irq_look(struct npuedge_device *edev)
{
	bool waiting = npuedge_queues_process(edev);

	npuedge_fw_handle_events(edev);
	if (waiting)
		queue_delayed_work(system_dfl_wq, &edev->irq.again_work, msecs_to_jiffies(10));
}

static void npuedge_irq_again_work(struct work_struct *work)
{
	struct npuedge_device *edev = container_of(work, struct npuedge_device,
						   irq.again_work.work);
	int awake = pm_runtime_get_if_active(edev->dev);

	/* Asleep, there is nothing that it could find. */
	if (!awake)
		return;

	npuedge_queues_process(edev);
	npuedge_fw_handle_events(edev);
	if (awake > 0)
		pm_runtime_put_autosuspend(edev->dev);
}

static irqreturn_t npuedge_irq_queue(int irq, void *data)
{
	struct npuedge_device *edev = data;

	npuedge_irq_ack_frequent(edev, NE1_IRQ_QUEUE);
	npuedge_irq_count(edev, NPUEDGE_VECTOR_QUEUE);
	npuedge_irq_look(edev);
	return IRQ_HANDLED;
}

static irqreturn_t npuedge_irq_event(int irq, void *data)
{
	struct npuedge_device *edev = data;

	npuedge_irq_ack_frequent(edev, NE1_IRQ_EVENT);
	npuedge_irq_count(edev, NPUEDGE_VECTOR_EVENT);
	npuedge_fw_handle_events(edev);
	npuedge_queues_process(edev);
	return IRQ_HANDLED;
}

static void npuedge_irq_fatal(struct npuedge_device *edev)
{
	u32 status = npuedge_read(edev, NE1_REG_BOOT_STATUS);

	drm_err_ratelimited(&edev->base, "fatal interrupt: firmware state %u error %u\n",
			    FIELD_GET(NE1_BOOT_STATE_MASK, status),
			    FIELD_GET(NE1_BOOT_ERROR_MASK, status));
	npuedge_reset_schedule(edev, NPUEDGE_RESET_FATAL);
}

/* A rare cause: whether there is one is what the status says, whatever vector it came by. */
static void npuedge_irq_handle_rare(struct npuedge_device *edev, u32 status)
{
	if (status & NE1_IRQ_MMU) {
		npuedge_irq_count(edev, NPUEDGE_VECTOR_MMU);
		npuedge_mmu_report_fault(edev);
	}
	if (status & NE1_IRQ_FATAL) {
		npuedge_irq_count(edev, NPUEDGE_VECTOR_FATAL);
		npuedge_irq_fatal(edev);
	}
}

static irqreturn_t npuedge_irq_rare(int irq, void *data)
{
	struct npuedge_device *edev = data;
	u32 status = npuedge_read(edev, NE1_REG_IRQ_STATUS);
	bool fatal = irq == edev->irq.line[NPUEDGE_VECTOR_FATAL];

	/* All ones: the device is gone. */
	if (status & ~NE1_IRQ_ALL)
		return IRQ_NONE;

	if (status & (NE1_IRQ_MMU | NE1_IRQ_FATAL)) {
		npuedge_irq_ack(edev, status & (NE1_IRQ_MMU | NE1_IRQ_FATAL));
		npuedge_irq_handle_rare(edev, status);
	} else {
		npuedge_irq_count(edev, fatal ? NPUEDGE_VECTOR_FATAL : NPUEDGE_VECTOR_MMU);
		npuedge_irq_look(edev);
	}
	return IRQ_HANDLED;
}

static const irq_handler_t npuedge_vector_handlers[NPUEDGE_VECTORS] = {
	[NPUEDGE_VECTOR_QUEUE] = npuedge_irq_queue,
	[NPUEDGE_VECTOR_EVENT] = npuedge_irq_event,
	[NPUEDGE_VECTOR_MMU] = npuedge_irq_rare,
	[NPUEDGE_VECTOR_FATAL] = npuedge_irq_rare,
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

	npuedge_irq_ack(edev, status);
	if (status & NE1_IRQ_EVENT)
		npuedge_irq_count(edev, NPUEDGE_VECTOR_EVENT);
	if (status & NE1_IRQ_QUEUE)
		npuedge_irq_count(edev, NPUEDGE_VECTOR_QUEUE);
	if (!status)
		npuedge_irq_count(edev, NPUEDGE_VECTOR_NONE);
	npuedge_irq_look(edev);
	npuedge_irq_handle_rare(edev, status);
	return IRQ_HANDLED;
}

/* Those whose time is over; returns them. */
static u32 npuedge_irq_unmask(struct npuedge_device *edev)
{
	u32 over = 0;

	lockdep_assert_held(&edev->irq.mask_lock);

	for (u32 i = 0; i < NPUEDGE_IRQ_COUNTS; i++) {
		if (!(edev->irq.masked & BIT(i)) || time_before(jiffies, edev->irq.until[i]))
			continue;
		over |= BIT(i);
		edev->irq.count[i] = 0;
	}
	edev->irq.masked &= ~over;
	npuedge_irq_unmask_later(edev);
	return over;
}

/* What was masked may come again; what came meanwhile is looked at. */
static void npuedge_irq_unmask_work(struct work_struct *work)
{
	struct npuedge_device *edev = container_of(work, struct npuedge_device,
						   irq.unmask_work.work);
	int awake = pm_runtime_get_if_active(edev->dev);
	u32 status = 0, masked;

	spin_lock_irq(&edev->irq.mask_lock);
	masked = npuedge_irq_unmask(edev);
	/* It may be waking up: interrupts are on by then, and somebody has to let them come. */
	if (!edev->irq.off) {
		npuedge_irq_write_mask(edev);
		status = npuedge_read(edev, NE1_REG_IRQ_STATUS);
		/* What came while it was masked sends no interrupt; handled once it is awake. */
		if (!awake && status && !(status & ~NE1_IRQ_ALL))
			mod_delayed_work(system_dfl_wq, &edev->irq.unmask_work,
					 msecs_to_jiffies(10));
	}
	spin_unlock_irq(&edev->irq.mask_lock);
	for (u32 i = 0; i < NPUEDGE_IRQ_COUNTS; i++) {
		int line = masked & BIT(i) ? npuedge_irq_masked_line(edev, i) : -1;

		if (line >= 0)
			enable_irq(line);
	}
	/* Asleep, the causes are enabled when it wakes up. */
	if (!awake)
		return;

	npuedge_queues_process(edev);
	npuedge_fw_handle_events(edev);
	if (status & (NE1_IRQ_MMU | NE1_IRQ_FATAL) && !(status & ~NE1_IRQ_ALL)) {
		npuedge_write(edev, NE1_REG_IRQ_STATUS, status & (NE1_IRQ_MMU | NE1_IRQ_FATAL));
		npuedge_irq_handle_rare(edev, status);
	}
	if (awake > 0)
		pm_runtime_put_autosuspend(edev->dev);
}

/* True if interrupts, which were off, are on now. */
static bool npuedge_irq_set(struct npuedge_device *edev, u32 off, u32 on)
{
	u32 lines = edev->irq.shared ? 1 : NPUEDGE_VECTORS;
	bool was_off, is_off;

	guard(mutex)(&edev->irq.lock);

	spin_lock_irq(&edev->irq.mask_lock);
	was_off = edev->irq.off;
	edev->irq.off = (edev->irq.off | off) & ~on;
	is_off = edev->irq.off;
	/* Whoever resets the device clears the register. */
	if (!was_off || !is_off)
		npuedge_irq_write_mask(edev);
	spin_unlock_irq(&edev->irq.mask_lock);
	for (u32 i = 0; was_off != is_off && i < lines; i++) {
		if (is_off)
			disable_irq(edev->irq.line[i]);
		else
			enable_irq(edev->irq.line[i]);
	}
	return was_off && !is_off;
}

/**
 * npuedge_irq_enable() - let the device raise interrupts
 * @edev: device
 * @reason: why it did not; there may be other reasons, for which it still does not
 *
 * What happened before raises no interrupt any more, so it is looked at once.
 */
void npuedge_irq_enable(struct npuedge_device *edev, enum npuedge_irq_off reason)
{
	u32 status;

	if (!npuedge_irq_set(edev, 0, reason))
		return;
	npuedge_irq_look(edev);

	status = npuedge_read(edev, NE1_REG_IRQ_STATUS);
	if (status & NE1_IRQ_FATAL && !(status & ~NE1_IRQ_ALL))
		npuedge_irq_fatal(edev);
}

/**
 * npuedge_irq_disable() - stop interrupts and wait for the handlers that run
 * @edev: device
 * @reason: why, until npuedge_irq_enable() says the same
 */
void npuedge_irq_disable(struct npuedge_device *edev, enum npuedge_irq_off reason)
{
	npuedge_irq_set(edev, reason, 0);
}

/**
 * npuedge_irq_flush() - wait for what interrupts have asked for, to be done at once
 * @edev: device with interrupts disabled, which may be enabled again
 */
void npuedge_irq_flush(struct npuedge_device *edev)
{
	flush_delayed_work(&edev->irq.again_work);
	/* Lines that are off must be on again. */
	spin_lock_irq(&edev->irq.mask_lock);
	for (u32 i = 0; i < NPUEDGE_IRQ_COUNTS; i++)
		edev->irq.until[i] = jiffies;
	npuedge_irq_unmask_later(edev);
	spin_unlock_irq(&edev->irq.mask_lock);
	flush_delayed_work(&edev->irq.unmask_work);
}

/**
 * npuedge_irq_stop() - wait for what interrupts have asked for
 * @edev: device with interrupts disabled for good
 */
void npuedge_irq_stop(struct npuedge_device *edev)
{
	cancel_delayed_work_sync(&edev->irq.again_work);
	cancel_delayed_work_sync(&edev->irq.unmask_work);
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

	spin_lock_init(&edev->irq.mask_lock);
	INIT_DELAYED_WORK(&edev->irq.again_work, npuedge_irq_again_work);
	INIT_DELAYED_WORK(&edev->irq.unmask_work, npuedge_irq_unmask_work);
	npuedge_write(edev, NE1_REG_IRQ_ENABLE, 0);
	edev->irq.off = NPUEDGE_IRQ_OFF_STOPPED;
	edev->irq.wired = edev->dma_dev == edev->dev;
	for (u32 i = 0; i < NPUEDGE_VECTORS; i++) {
		ret = platform_get_irq_byname_optional(pdev, npuedge_vector_names[i]);
		if (ret == -EPROBE_DEFER)
			return dev_err_probe(edev->dev, ret, "interrupt %s\n",
					     npuedge_vector_names[i]);
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
