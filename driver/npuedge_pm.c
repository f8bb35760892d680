// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Power management
 *
 * Runtime suspend silences the device: it keeps its power, and firmware its state, so that the
 * first job after a pause pays two register writes.  Every job keeps the device awake from submit
 * to its end.
 *
 * System sleep takes the power away.  Jobs that were started may end before, the others wait in
 * their rings and schedulers; on resume firmware is booted and gets all queues again, and what is
 * in the rings.  If those that were started do not end in the time of one job the machine stays
 * awake: nothing is lost for sleep.
 */

#include <linux/pm_runtime.h>

#include "npuedge_device.h"
#include "npuedge_irq.h"
#include "npuedge_mmu.h"
#include "npuedge_pm.h"
#include "npuedge_reset.h"

#define NPUEDGE_AUTOSUSPEND_MS	100

static int npuedge_pm_runtime_suspend(struct device *dev)
{
	struct npuedge_device *edev = dev_get_drvdata(dev);

	npuedge_irq_disable(edev, NPUEDGE_IRQ_OFF_IDLE);
	/* The last interrupts may have asked for a reset, which needs the device awake. */
	if (!atomic_read(&edev->reset.pending) || READ_ONCE(edev->lost))
		return 0;

	npuedge_irq_enable(edev, NPUEDGE_IRQ_OFF_IDLE);
	return -EBUSY;
}

static int npuedge_pm_runtime_resume(struct device *dev)
{
	struct npuedge_device *edev = dev_get_drvdata(dev);

	if (!READ_ONCE(edev->lost))
		npuedge_mmu_resume(edev);
	npuedge_irq_enable(edev, NPUEDGE_IRQ_OFF_IDLE);
	return 0;
}

static int npuedge_pm_suspend(struct device *dev)
{
	struct npuedge_device *edev = dev_get_drvdata(dev);
	int ret;

	ret = pm_runtime_resume_and_get(dev);
	if (ret)
		return ret;

	ret = npuedge_reset_suspend(edev);
	if (ret)
		pm_runtime_put(dev);
	return ret;
}

static int npuedge_pm_resume(struct device *dev)
{
	struct npuedge_device *edev = dev_get_drvdata(dev);
	int ret = 0;

	if (!READ_ONCE(edev->lost))
		ret = npuedge_reset_resume(edev);
	pm_runtime_mark_last_busy(dev);
	pm_runtime_put_autosuspend(dev);
	return ret;
}

const struct dev_pm_ops npuedge_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(npuedge_pm_suspend, npuedge_pm_resume)
	RUNTIME_PM_OPS(npuedge_pm_runtime_suspend, npuedge_pm_runtime_resume, NULL)
};

/**
 * npuedge_pm_init() - begin runtime power management
 * @edev: device that runs
 *
 * On success the device has one usage, which the caller drops when it has registered the device.
 *
 * Return: 0 or a negative errno.
 */
int npuedge_pm_init(struct npuedge_device *edev)
{
	int ret;

	pm_runtime_get_noresume(edev->dev);
	/* A domain would take the power away, and with it the firmware: it stays awake then. */
	if (edev->dev->pm_domain)
		pm_runtime_get_noresume(edev->dev);
	pm_runtime_set_active(edev->dev);
	pm_runtime_set_autosuspend_delay(edev->dev, NPUEDGE_AUTOSUSPEND_MS);
	pm_runtime_use_autosuspend(edev->dev);
	ret = devm_pm_runtime_enable(edev->dev);
	if (ret)
		npuedge_pm_fini(edev);
	return ret;
}

/**
 * npuedge_pm_fini() - end runtime power management
 * @edev: device with one usage of the caller, which is dropped
 */
void npuedge_pm_fini(struct npuedge_device *edev)
{
	pm_runtime_dont_use_autosuspend(edev->dev);
	if (edev->dev->pm_domain)
		pm_runtime_put_noidle(edev->dev);
	pm_runtime_put_noidle(edev->dev);
}
