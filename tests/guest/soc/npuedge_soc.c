// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of a system on chip that is around its NPU, made of a PCI function: npuedge.ko finds a node of the device
 * tree, registers at a physical address, and wires that are up for as long as a cause is pending and enabled.
 *
 * A message of the function says that a wire may have gone up.  What writes to the enable register do to the wires
 * sends none, so they are looked at every few milliseconds as well.  The function has to be free when this is loaded;
 * npuedge.ko has to be gone when it is unloaded.
 */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqdomain.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_platform.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/timer.h>

#include "ne1_regs.h"

#define SOC_LINES	NE1_MSIX_VECTORS
#define SOC_LOOK_MS	5

static unsigned int lines = SOC_LINES;
module_param(lines, uint, 0444);
MODULE_PARM_DESC(lines, "interrupt lines: 4, one for each cause, or 1 for all");

static bool coherent;
module_param(coherent, bool, 0444);
MODULE_PARM_DESC(coherent, "the node says that the processor's caches see what the NPU does");

struct soc_line {
	struct soc *soc;
	u32 causes;
	unsigned int index;
	bool masked;
	struct irq_work work;
};

struct soc {
	struct pci_dev *pdev;
	void __iomem *regs;
	struct of_changeset nodes;
	struct device_node *bus, *npu;
	struct irq_domain *domain;
	struct platform_device *device;
	struct soc_line line[SOC_LINES];
	struct timer_list look;
};

static bool soc_line_is_up(struct soc_line *line)
{
	u32 up = readl(line->soc->regs + NE1_REG_IRQ_STATUS) & readl(line->soc->regs + NE1_REG_IRQ_ENABLE);

	/* all ones: the function does not answer */
	return up & line->causes && !(up & ~NE1_IRQ_ALL);
}

/* In hard interrupt context: what an interrupt controller does whose input is up. */
static void soc_line_look(struct soc_line *line)
{
	if (!READ_ONCE(line->masked) && soc_line_is_up(line))
		generic_handle_domain_irq(line->soc->domain, line->index);
}

static void soc_line_work(struct irq_work *work)
{
	soc_line_look(container_of(work, struct soc_line, work));
}

static irqreturn_t soc_message(int irq, void *data)
{
	struct soc *soc = data;

	for (unsigned int i = 0; i < lines; i++)
		soc_line_look(&soc->line[i]);
	return IRQ_HANDLED;
}

static void soc_look(struct timer_list *timer)
{
	struct soc *soc = container_of(timer, struct soc, look);

	for (unsigned int i = 0; i < lines; i++)
		if (!READ_ONCE(soc->line[i].masked))
			irq_work_queue(&soc->line[i].work);
	mod_timer(timer, jiffies + msecs_to_jiffies(SOC_LOOK_MS));
}

static void soc_irq_mask(struct irq_data *d)
{
	struct soc_line *line = irq_data_get_irq_chip_data(d);

	WRITE_ONCE(line->masked, true);
}

static void soc_irq_unmask(struct irq_data *d)
{
	struct soc_line *line = irq_data_get_irq_chip_data(d);

	WRITE_ONCE(line->masked, false);
	irq_work_queue(&line->work);
}

static struct irq_chip soc_irq_chip = {
	.name = "npuedge-soc",
	.irq_mask = soc_irq_mask,
	.irq_unmask = soc_irq_unmask,
};

static int soc_irq_map(struct irq_domain *domain, unsigned int irq, irq_hw_number_t index)
{
	struct soc *soc = domain->host_data;

	irq_set_chip_data(irq, &soc->line[index]);
	irq_set_chip_and_handler(irq, &soc_irq_chip, handle_level_irq);
	return 0;
}

static const struct irq_domain_ops soc_irq_ops = {
	.map = soc_irq_map,
	.xlate = irq_domain_xlate_onecell,
};

static void soc_init_lines(struct soc *soc)
{
	for (unsigned int i = 0; i < lines; i++) {
		struct soc_line *line = &soc->line[i];

		line->soc = soc;
		line->index = i;
		line->causes = lines == 1 ? NE1_IRQ_ALL : BIT(i);
		line->masked = true;
		init_irq_work(&line->work, soc_line_work);
	}
}

/* The bus is the interrupt controller of what is on it. */
static int soc_add_bus_node(struct soc *soc)
{
	struct of_changeset *nodes = &soc->nodes;
	int ret;

	soc->bus = of_changeset_create_node(nodes, of_root, "npuedge-soc");
	if (!soc->bus)
		return -ENOMEM;
	ret = of_changeset_add_prop_u32(nodes, soc->bus, "#address-cells", 2);
	ret = ret ?: of_changeset_add_prop_u32(nodes, soc->bus, "#size-cells", 2);
	ret = ret ?: of_changeset_add_prop_u32(nodes, soc->bus, "#interrupt-cells", 1);
	ret = ret ?: of_changeset_add_prop_bool(nodes, soc->bus, "interrupt-controller");
	return ret ?: of_changeset_add_prop_bool(nodes, soc->bus, "ranges");
}

static int soc_add_npu_node(struct soc *soc)
{
	static const char * const names[] = { "queue", "event", "mmu", "fatal" }, * const all[] = { "all" };
	static const u32 interrupts[] = { 0, 1, 2, 3 };
	struct resource *bar = &soc->pdev->resource[0];
	const u32 reg[] = {
		upper_32_bits(bar->start), lower_32_bits(bar->start), 0, (u32)resource_size(bar),
	};
	struct of_changeset *nodes = &soc->nodes;
	char name[32];
	int ret;

	snprintf(name, sizeof(name), "npu@%llx", (u64)bar->start);
	soc->npu = of_changeset_create_node(nodes, soc->bus, name);
	if (!soc->npu)
		return -ENOMEM;
	ret = of_changeset_add_prop_string(nodes, soc->npu, "compatible", "npuedge,ne1");
	ret = ret ?: of_changeset_add_prop_u32_array(nodes, soc->npu, "reg", reg, ARRAY_SIZE(reg));
	ret = ret ?: of_changeset_add_prop_u32_array(nodes, soc->npu, "interrupts", interrupts, lines);
	ret = ret ?: of_changeset_add_prop_string_array(nodes, soc->npu, "interrupt-names",
							lines == 1 ? all : names, lines);
	if (!ret && coherent)
		ret = of_changeset_add_prop_bool(nodes, soc->npu, "dma-coherent");
	return ret;
}

static int soc_add_nodes(struct soc *soc)
{
	int ret;

	of_changeset_init(&soc->nodes);
	ret = soc_add_bus_node(soc) ?: soc_add_npu_node(soc) ?: of_changeset_apply(&soc->nodes);
	if (ret)
		of_changeset_destroy(&soc->nodes);
	return ret;
}

static void soc_remove_nodes(void *data)
{
	struct soc *soc = data;

	of_changeset_revert(&soc->nodes);
	of_changeset_destroy(&soc->nodes);
	of_node_put(soc->npu);
	of_node_put(soc->bus);
}

static void soc_remove_domain(void *data)
{
	struct soc *soc = data;

	for (unsigned int i = 0; i < lines; i++)
		irq_dispose_mapping(irq_find_mapping(soc->domain, i));
	irq_domain_remove(soc->domain);
}

static void soc_stop(void *data)
{
	struct soc *soc = data;

	of_platform_device_destroy(&soc->device->dev, NULL);
	timer_shutdown_sync(&soc->look);
	for (unsigned int i = 0; i < lines; i++)
		irq_work_sync(&soc->line[i].work);
}

static int soc_take_messages(struct soc *soc)
{
	int ret = pci_alloc_irq_vectors(soc->pdev, SOC_LINES, SOC_LINES, PCI_IRQ_MSIX);

	for (int i = 0; ret >= 0 && i < SOC_LINES; i++)
		ret = devm_request_irq(&soc->pdev->dev, pci_irq_vector(soc->pdev, i), soc_message, 0,
				       "npuedge-soc", soc);
	return min(ret, 0);
}

static int soc_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct soc *soc = devm_kzalloc(&pdev->dev, sizeof(*soc), GFP_KERNEL);
	int ret;

	if (!soc)
		return -ENOMEM;
	soc->pdev = pdev;
	soc_init_lines(soc);
	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	soc->regs = pcim_iomap(pdev, 0, 0);
	if (!soc->regs)
		return -ENOMEM;
	pci_set_master(pdev);

	ret = soc_add_nodes(soc);
	ret = ret ?: devm_add_action_or_reset(&pdev->dev, soc_remove_nodes, soc);
	if (ret)
		return ret;
	soc->domain = irq_domain_create_linear(of_fwnode_handle(soc->bus), lines, &soc_irq_ops, soc);
	if (!soc->domain)
		return -ENOMEM;
	ret = devm_add_action_or_reset(&pdev->dev, soc_remove_domain, soc);
	ret = ret ?: soc_take_messages(soc);
	if (ret)
		return ret;

	soc->device = of_platform_device_create(soc->npu, NULL, NULL);
	if (!soc->device)
		return -ENODEV;
	timer_setup(&soc->look, soc_look, 0);
	mod_timer(&soc->look, jiffies + 1);
	return devm_add_action_or_reset(&pdev->dev, soc_stop, soc);
}

static const struct pci_device_id soc_ids[] = {
	{ PCI_DEVICE(NE1_PCI_VENDOR, NE1_PCI_DEVICE) },
	{ }
};

static struct pci_driver soc_driver = {
	.name = "npuedge-soc",
	.id_table = soc_ids,
	.probe = soc_probe,
};

static int __init soc_init(void)
{
	if (lines != 1 && lines != SOC_LINES)
		return -EINVAL;
	return pci_register_driver(&soc_driver);
}
module_init(soc_init);

static void __exit soc_exit(void)
{
	pci_unregister_driver(&soc_driver);
}
module_exit(soc_exit);

MODULE_DESCRIPTION("A system on chip around the NPU of a PCI function, for tests");
MODULE_LICENSE("GPL");
