// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Platform device
 *
 * The driver proper binds to a platform device.  On a system on chip that comes from the device
 * tree; on PCI Express npuedge_pci.c makes it as a child of the PCI function.  Then DMA is the
 * function's, and the DRM device hangs below the function, so that helpers which map memory for
 * "the device" do right.
 */

#include <linux/cleanup.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "npuedge_compat.h"
#include "npuedge_debugfs.h"
#include "npuedge_device.h"
#include "npuedge_drv.h"
#include "npuedge_irq.h"
#include "npuedge_plat.h"
#include "npuedge_pm.h"
#include "npuedge_reset.h"

static void npuedge_plat_release_group(void *dma_dev)
{
	devres_release_group(dma_dev, npuedge_plat_release_group);
}

/*
 * The DRM device, released when the platform device is unbound.  If its parent is the PCI
 * function, that stays bound; a group of the function's resources lets us release this one early.
 */
static struct npuedge_device *npuedge_plat_alloc(struct platform_device *pdev,
						 struct device *dma_dev)
{
	struct npuedge_device *edev;
	int ret;

	if (dma_dev == &pdev->dev)
		return devm_drm_dev_alloc(dma_dev, &npuedge_drm_driver, struct npuedge_device,
					  base);

	if (!devres_open_group(dma_dev, npuedge_plat_release_group, GFP_KERNEL))
		return ERR_PTR(-ENOMEM);

	edev = devm_drm_dev_alloc(dma_dev, &npuedge_drm_driver, struct npuedge_device, base);
	devres_close_group(dma_dev, npuedge_plat_release_group);

	ret = devm_add_action_or_reset(&pdev->dev, npuedge_plat_release_group, dma_dev);
	return ret ? ERR_PTR(ret) : edev;
}

static void npuedge_plat_put_device(struct drm_device *drm, void *dev)
{
	put_device(dev);
}

static int npuedge_plat_register_drm(struct npuedge_device *edev)
{
	int ret;

	ret = npuedge_pm_init(edev);
	if (ret)
		goto err_stop;

	npuedge_debugfs_init(edev);
	ret = npuedge_device_register(edev);
	if (ret)
		goto err_put;

	pm_runtime_mark_last_busy(edev->dev);
	pm_runtime_put_autosuspend(edev->dev);
	return 0;

err_put:
	npuedge_pm_fini(edev);
err_stop:
	npuedge_device_unplug(edev);
	flush_work(&edev->unplug.work);
	flush_work(&edev->reset.report_work);
	return dev_err_probe(edev->dev, ret, "cannot register\n");
}

static int npuedge_plat_probe(struct platform_device *pdev)
{
	const struct platform_device_id *id = platform_get_device_id(pdev);
	struct device *dma_dev = id ? pdev->dev.parent : &pdev->dev;
	struct npuedge_device *edev;
	struct resource *regs;
	int ret;

	edev = npuedge_plat_alloc(pdev, dma_dev);
	if (IS_ERR(edev))
		return PTR_ERR(edev);

	edev->dev = &pdev->dev;
	edev->dma_dev = dma_dev;
	platform_set_drvdata(pdev, edev);

	/* Jobs that outlive the binding drop their runtime PM reference late. */
	ret = drmm_add_action_or_reset(&edev->base, npuedge_plat_put_device,
				       get_device(&pdev->dev));
	if (ret)
		return ret;

	edev->regs = devm_platform_get_and_ioremap_resource(pdev, 0, &regs);
	if (IS_ERR(edev->regs))
		return PTR_ERR(edev->regs);
	if (resource_size(regs) < NE1_BAR_SIZE)
		return dev_err_probe(&pdev->dev, -EINVAL, "registers of %llu bytes, need %u\n",
				     (u64)resource_size(regs), NE1_BAR_SIZE);

	ret = npuedge_irq_init(edev, pdev);
	if (ret)
		return ret;

	ret = npuedge_device_init(edev);
	return ret ?: npuedge_plat_register_drm(edev);
}

static void npuedge_plat_remove(struct platform_device *pdev)
{
	struct npuedge_device *edev = platform_get_drvdata(pdev);

	pm_runtime_get_sync(edev->dev);
	npuedge_reset_bus_forget(edev);
	npuedge_device_unplug(edev);
	flush_work(&edev->unplug.work);
	flush_work(&edev->reset.report_work);
	npuedge_pm_fini(edev);
}

static void npuedge_plat_shutdown(struct platform_device *pdev)
{
	struct npuedge_device *edev = platform_get_drvdata(pdev);

	pm_runtime_get_sync(edev->dev);
	npuedge_device_shutdown(edev);
}

/**
 * npuedge_plat_reset_prepare() - the bus is about to reset a device
 * @dev: platform device, locked until npuedge_plat_reset_done(); may have no driver
 */
void npuedge_plat_reset_prepare(struct device *dev)
{
	struct npuedge_device *edev = dev_get_drvdata(dev);

	device_lock_assert(dev);
	if (edev)
		npuedge_reset_bus_begin(edev);
}

/**
 * npuedge_plat_reset_done() - the bus has reset a device
 * @dev: platform device that npuedge_plat_reset_prepare() was called for
 */
void npuedge_plat_reset_done(struct device *dev)
{
	struct npuedge_device *edev = dev_get_drvdata(dev);

	device_lock_assert(dev);
	if (edev)
		npuedge_reset_bus_end(edev);
}

/**
 * npuedge_plat_bus_error() - the bus had an error that lost data
 * @dev: platform device; may have no driver, and be unbound and bound before the bus has recovered
 * @frozen: nothing may touch the device
 */
void npuedge_plat_bus_error(struct device *dev, bool frozen)
{
	struct npuedge_device *edev;

	guard(device)(dev);
	edev = dev_get_drvdata(dev);
	if (edev)
		npuedge_reset_bus_error(edev, frozen);
}

/**
 * npuedge_plat_bus_recovered() - the bus can reach a device again
 * @dev: platform device
 *
 * Return: 0, or a negative errno if the device does not answer.
 */
int npuedge_plat_bus_recovered(struct device *dev)
{
	struct npuedge_device *edev;

	guard(device)(dev);
	edev = dev_get_drvdata(dev);
	return edev ? npuedge_reset_bus_recovered(edev) : 0;
}

/**
 * npuedge_plat_bus_resume() - all devices of the bus have recovered
 * @dev: platform device
 */
void npuedge_plat_bus_resume(struct device *dev)
{
	struct npuedge_device *edev;

	guard(device)(dev);
	edev = dev_get_drvdata(dev);
	if (edev)
		npuedge_reset_bus_resume(edev);
}

/**
 * npuedge_plat_bus_lost() - the bus cannot reach a device any more
 * @dev: platform device
 */
void npuedge_plat_bus_lost(struct device *dev)
{
	struct npuedge_device *edev;

	guard(device)(dev);
	edev = dev_get_drvdata(dev);
	if (edev)
		npuedge_reset_bus_lost(edev);
}

static const struct of_device_id npuedge_of_match[] = {
	{ .compatible = "npuedge,ne1" },
	{ }
};
MODULE_DEVICE_TABLE(of, npuedge_of_match);

static const struct platform_device_id npuedge_plat_ids[] = {
	{ .name = NPUEDGE_PCI_CHILD },
	{ }
};
MODULE_DEVICE_TABLE(platform, npuedge_plat_ids);

static struct platform_driver npuedge_plat_driver = {
	.probe = npuedge_plat_probe,
	.remove = npuedge_plat_remove,
	.shutdown = npuedge_plat_shutdown,
	.id_table = npuedge_plat_ids,
	.driver = {
		.name = "npuedge",
		.of_match_table = npuedge_of_match,
		.pm = pm_ptr(&npuedge_pm_ops),
	},
};

/**
 * npuedge_plat_register() - register the platform driver
 *
 * Return: 0 or a negative errno.
 */
int npuedge_plat_register(void)
{
	return platform_driver_register(&npuedge_plat_driver);
}

/**
 * npuedge_plat_unregister() - unregister the platform driver
 */
void npuedge_plat_unregister(void)
{
	platform_driver_unregister(&npuedge_plat_driver);
}
