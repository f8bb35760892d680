/* SPDX-License-Identifier: MIT */
/*
 * The PCI function's configuration space: header, power management, MSI, PCI Express with FLR,
 * MSI-X, advanced error reporting, and BAR 1 with the MSI-X table.  One thread (that of the socket).
 */
#ifndef NPUSIM_PCI_H
#define NPUSIM_PCI_H

#include <stdbool.h>
#include <stdint.h>

#include "ne1_regs.h"

#define SIM_PCI_CONFIG_SIZE	4096
#define SIM_PCI_BAR1_SIZE	4096
#define SIM_PCI_MSIX_TABLE	0x000	/* in BAR 1 */
#define SIM_PCI_MSIX_PBA	0x800

/* What a function offers; an odd one tests who probes it. */
struct sim_pci_shape {
	unsigned int msix_vectors;	/* 0: no MSI-X capability */
	uint32_t bar0_bytes;		/* power of two */
	uint8_t revision;
};

struct sim_pci {
	uint8_t config[SIM_PCI_CONFIG_SIZE];
	uint8_t writable[SIM_PCI_CONFIG_SIZE];	/* bits software may change */
	uint8_t clears[SIM_PCI_CONFIG_SIZE];	/* bits software clears by writing ones */
	uint8_t msix_table[16 * NE1_MSIX_VECTORS];
	struct sim_pci_shape shape;
};

void sim_pci_init(struct sim_pci *pci, const struct sim_pci_shape *shape);	/* copied */
/* The state after FLR and reset; what is sticky stays. */
void sim_pci_reset(struct sim_pci *pci);

/* Callers keep [@offset, @offset + @count) within the space. */
void sim_pci_config_read(const struct sim_pci *pci, uint32_t offset, void *data, uint32_t count);
/* True: the write asked for a function-level reset. */
bool sim_pci_config_write(struct sim_pci *pci, uint32_t offset, const void *data, uint32_t count);

/* In D3hot, or another state than D0: the function does not answer at its BARs. */
bool sim_pci_asleep(const struct sim_pci *pci);

/* @pba: pending bits, one per vector. */
void sim_pci_bar1_read(const struct sim_pci *pci, uint32_t pba, uint32_t offset, void *data,
		       uint32_t count);
void sim_pci_bar1_write(struct sim_pci *pci, uint32_t offset, const void *data, uint32_t count);

#endif
