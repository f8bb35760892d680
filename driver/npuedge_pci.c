// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: PCI Express glue
 *
 * Makes the platform device that npuedge_plat.c binds to: BAR 0 as its registers, four MSI-X
 * vectors or one MSI as its interrupts.  Nothing else of the driver knows of PCI.
 *
 * After an uncorrectable error that the function reported (AER, DPC) it is always reset: of the
 * data that got lost nobody knows whose they were.
 */

#include <linux/module.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "ne1_regs.h"
#include "npuedge_plat.h"

static const char * const npuedge_pci_irq_names[NE1_MSIX_VECTORS] = {
	"queue", "event", "mmu", "fatal"
};

/**
 * struct npuedge_pci - a PCI function
 */
struct npuedge_pci {
	/** @child: what the driver proper binds to */
	struct platform_device *child;
	/** @state: configuration space, to be restored after an error has led to a reset */
	struct pci_saved_state *state;
};

static void npuedge_pci_free_vectors(void *pdev)
{
	pci_free_irq_vectors(pdev);
}

/* Four vectors, or one; the number of vectors, or an error. */
static int npuedge_pci_alloc_vectors(struct pci_dev *pdev)
{
	int count, ret;

	count = pci_alloc_irq_vectors(pdev, NE1_MSIX_VECTORS, NE1_MSIX_VECTORS, PCI_IRQ_MSIX);
	if (count < 0)
		count = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (count < 0)
		return dev_err_probe(&pdev->dev, count, "no interrupt vectors\n");

	ret = devm_add_action_or_reset(&pdev->dev, npuedge_pci_free_vectors, pdev);
	return ret ?: count;
}

static void npuedge_pci_free_state(void *state)
{
	kfree(state);
}

/* Now, as it cannot be read any more when it is needed. */
static int npuedge_pci_keep_state(struct pci_dev *pdev, struct npuedge_pci *npu)
{
	/* Perhaps left on by what ran before us; who does not stop must not have it back. */
	pci_clear_master(pdev);
	pci_save_state(pdev);
	npu->state = pci_store_saved_state(pdev);
	if (!npu->state)
		return -ENOMEM;
	return devm_add_action_or_reset(&pdev->dev, npuedge_pci_free_state, npu->state);
}

static int npuedge_pci_add_child(struct pci_dev *pdev, struct npuedge_pci *npu, int vectors)
{
	struct resource res[1 + NE1_MSIX_VECTORS] = {
		DEFINE_RES_MEM_NAMED(pci_resource_start(pdev, 0), NE1_BAR_SIZE, "regs"),
	};
	const struct platform_device_info info = {
		.parent = &pdev->dev,
		.name = NPUEDGE_PCI_CHILD,
		.id = PLATFORM_DEVID_AUTO,
		.res = res,
		.num_res = 1 + vectors,
	};
	struct platform_device *child;

	/* Within the BAR: of the same size it would be taken for what the BAR is in, and freed. */
	res[0].parent = &pdev->resource[0];
	for (int i = 0; i < vectors; i++) {
		res[1 + i].start = pci_irq_vector(pdev, i);
		res[1 + i].end = res[1 + i].start;
		res[1 + i].name = vectors > 1 ? npuedge_pci_irq_names[i] : "all";
		res[1 + i].flags = IORESOURCE_IRQ;
	}

	child = platform_device_register_full(&info);
	if (IS_ERR(child))
		return dev_err_probe(&pdev->dev, PTR_ERR(child), "cannot add platform device\n");

	npu->child = child;
	pci_set_drvdata(pdev, npu);
	return 0;
}

/*
 * When the bus was reset after an error, and the function had no driver, nobody has restored its
 * configuration: there are no registers where the kernel believes them to be.
 */
static int npuedge_pci_check_bar(struct pci_dev *pdev)
{
	u32 lo = 0, hi = 0;
	u64 start;

	if (pci_resource_len(pdev, 0) < NE1_BAR_SIZE)
		return dev_err_probe(&pdev->dev, -ENODEV, "BAR 0 of %llu bytes, need %u\n",
				     (u64)pci_resource_len(pdev, 0), NE1_BAR_SIZE);

	pci_read_config_dword(pdev, PCI_BASE_ADDRESS_0, &lo);
	if (pci_resource_flags(pdev, 0) & IORESOURCE_MEM_64)
		pci_read_config_dword(pdev, PCI_BASE_ADDRESS_1, &hi);
	start = (u64)hi << 32 | (lo & (u32)PCI_BASE_ADDRESS_MEM_MASK);
	if (start != pci_bus_address(pdev, 0))
		return dev_err_probe(&pdev->dev, -EIO,
				     "BAR 0 is at %#llx, not at %#llx: reset without driver? Remove the function, then rescan the bus\n",
				     start, (u64)pci_bus_address(pdev, 0));
	return 0;
}

static int npuedge_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct npuedge_pci *npu;
	int vectors, ret;

	npu = devm_kzalloc(&pdev->dev, sizeof(*npu), GFP_KERNEL);
	if (!npu)
		return -ENOMEM;

	ret = npuedge_pci_check_bar(pdev);
	if (ret)
		return ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "cannot enable\n");

	vectors = npuedge_pci_alloc_vectors(pdev);
	if (vectors < 0)
		return vectors;

	ret = npuedge_pci_keep_state(pdev, npu);
	return ret ?: npuedge_pci_add_child(pdev, npu, vectors);
}

static struct device *npuedge_pci_child(struct pci_dev *pdev)
{
	struct npuedge_pci *npu = pci_get_drvdata(pdev);

	return &npu->child->dev;
}

static void npuedge_pci_remove(struct pci_dev *pdev)
{
	platform_device_unregister(to_platform_device(npuedge_pci_child(pdev)));
}

/* Locked from here to the other, so that its driver is neither bound nor unbound in between. */
static void npuedge_pci_reset_prepare(struct pci_dev *pdev)
{
	struct device *child = npuedge_pci_child(pdev);

	device_lock(child);
	npuedge_plat_reset_prepare(child);
}

static void npuedge_pci_reset_done(struct pci_dev *pdev)
{
	struct device *child = npuedge_pci_child(pdev);

	npuedge_plat_reset_done(child);
	device_unlock(child);
}

/*
 * The PCI core has the function locked in each of the following, but not in between: its driver,
 * or the child's, may be unbound and bound.
 */
static pci_ers_result_t npuedge_pci_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	if (state == pci_channel_io_perm_failure) {
		npuedge_plat_bus_lost(npuedge_pci_child(pdev));
		return PCI_ERS_RESULT_DISCONNECT;
	}

	npuedge_plat_bus_error(npuedge_pci_child(pdev), state == pci_channel_io_frozen);
	return PCI_ERS_RESULT_NEED_RESET;
}

/* Older kernels have reset the function only if the bus was frozen; its child resets it anyway. */
static pci_ers_result_t npuedge_pci_slot_reset(struct pci_dev *pdev)
{
	struct npuedge_pci *npu = pci_get_drvdata(pdev);

	if (pci_load_saved_state(pdev, npu->state))
		return PCI_ERS_RESULT_DISCONNECT;
	pci_restore_state(pdev);

	if (npuedge_plat_bus_recovered(&npu->child->dev))
		return PCI_ERS_RESULT_DISCONNECT;
	/* What was saved is from before npuedge_pci_start_dma(). */
	if (pdev->is_busmaster)
		pci_set_master(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void npuedge_pci_resume(struct pci_dev *pdev)
{
	npuedge_plat_bus_resume(npuedge_pci_child(pdev));
}

static const struct pci_error_handlers npuedge_pci_err_handler = {
	.error_detected = npuedge_pci_error_detected,
	.slot_reset = npuedge_pci_slot_reset,
	.resume = npuedge_pci_resume,
	.reset_prepare = npuedge_pci_reset_prepare,
	.reset_done = npuedge_pci_reset_done,
};

static const struct pci_device_id npuedge_pci_ids[] = {
	{ PCI_DEVICE(NE1_PCI_VENDOR, NE1_PCI_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, npuedge_pci_ids);

/*
 * Nothing to do but what the PCI core does for a driver that has such operations, even empty ones:
 * the function is in D3hot while the system sleeps, after npuedge_pm.c has stopped it.
 */
static const struct dev_pm_ops npuedge_pci_pm_ops = { };

static struct pci_driver npuedge_pci_driver = {
	.name = "npuedge-pci",
	.id_table = npuedge_pci_ids,
	.probe = npuedge_pci_probe,
	.remove = npuedge_pci_remove,
	.err_handler = &npuedge_pci_err_handler,
	.driver.pm = pm_ptr(&npuedge_pci_pm_ops),
};

/**
 * npuedge_pci_register() - register the PCI driver
 *
 * Return: 0 or a negative errno.
 */
int npuedge_pci_register(void)
{
	return pci_register_driver(&npuedge_pci_driver);
}

/**
 * npuedge_pci_unregister() - unregister the PCI driver
 */
void npuedge_pci_unregister(void)
{
	pci_unregister_driver(&npuedge_pci_driver);
}

/**
 * npuedge_pci_described() - the device whose description tells how its DMA reaches memory
 * @dma_dev: device that does its DMA
 *
 * Return: the parent of the host bridge of a PCI function, else @dma_dev.
 */
struct device *npuedge_pci_described(struct device *dma_dev)
{
	struct pci_host_bridge *bridge;

	if (!dev_is_pci(dma_dev))
		return dma_dev;
	bridge = pci_find_host_bridge(to_pci_dev(dma_dev)->bus);
	return bridge->dev.parent ?: &bridge->dev;
}

/**
 * npuedge_pci_start_dma() - let a device reach memory that is in reset
 * @dma_dev: device that does its DMA; nothing happens if that is no PCI function
 *
 * Not before: it may still be doing what the kernel before this one had started.
 */
void npuedge_pci_start_dma(struct device *dma_dev)
{
	if (dev_is_pci(dma_dev))
		pci_set_master(to_pci_dev(dma_dev));
}

/**
 * npuedge_pci_stop_dma() - keep a device that does not obey from reaching memory
 * @dma_dev: device that does its DMA; nothing happens if that is no PCI function
 */
void npuedge_pci_stop_dma(struct device *dma_dev)
{
	if (dev_is_pci(dma_dev))
		pci_clear_master(to_pci_dev(dma_dev));
}
