/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_PLAT_H
#define NPUEDGE_PLAT_H

#include <linux/kconfig.h>
#include <linux/types.h>

struct device;

/** NPUEDGE_PCI_CHILD - name of the platform device that the PCI function makes */
#define NPUEDGE_PCI_CHILD	"npuedge-pci-ne1"

int npuedge_plat_register(void);
void npuedge_plat_unregister(void);
void npuedge_plat_reset_prepare(struct device *dev);
void npuedge_plat_reset_done(struct device *dev);
void npuedge_plat_bus_error(struct device *dev, bool frozen);
int npuedge_plat_bus_recovered(struct device *dev);
void npuedge_plat_bus_resume(struct device *dev);
void npuedge_plat_bus_lost(struct device *dev);

#if IS_ENABLED(CONFIG_PCI)
int npuedge_pci_register(void);
void npuedge_pci_unregister(void);
struct device *npuedge_pci_described(struct device *dma_dev);
void npuedge_pci_start_dma(struct device *dma_dev);
void npuedge_pci_stop_dma(struct device *dma_dev);
#else
static inline int npuedge_pci_register(void)
{
	return 0;
}

static inline void npuedge_pci_unregister(void)
{
}

static inline struct device *npuedge_pci_described(struct device *dma_dev)
{
	return dma_dev;
}

static inline void npuedge_pci_start_dma(struct device *dma_dev)
{
}

static inline void npuedge_pci_stop_dma(struct device *dma_dev)
{
}
#endif

#endif
