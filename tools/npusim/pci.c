// SPDX-License-Identifier: MIT
#include "pci.h"

#include <linux/pci_regs.h>
#include <string.h>

/* Where the capabilities are. */
#define CAP_PM		0x40
#define CAP_MSI		0x50
#define CAP_EXP		0x70
#define CAP_MSIX	0xb0
#define CAP_AER		0x100	/* the first of the extended ones has to be there */

#define CAP_EXP_SIZE	0x3c
#define EXP_VERSION	2
#define LINK_SPEED	3	/* 8 GT/s */
#define LINK_WIDTH	4
#define MAX_PAYLOAD_256	1

#define AER_VERSION	2
#define AER_UNCOR	(PCI_ERR_UNC_DLP | PCI_ERR_UNC_SURPDN | PCI_ERR_UNC_POISON_TLP | PCI_ERR_UNC_FCP | \
			 PCI_ERR_UNC_COMP_TIME | PCI_ERR_UNC_COMP_ABORT | PCI_ERR_UNC_UNX_COMP | \
			 PCI_ERR_UNC_RX_OVER | PCI_ERR_UNC_MALF_TLP | PCI_ERR_UNC_ECRC | PCI_ERR_UNC_UNSUP | \
			 PCI_ERR_UNC_INTN)
/* What a link does not survive, by default. */
#define AER_FATAL	(PCI_ERR_UNC_DLP | PCI_ERR_UNC_SURPDN | PCI_ERR_UNC_FCP | PCI_ERR_UNC_RX_OVER | \
			 PCI_ERR_UNC_MALF_TLP | PCI_ERR_UNC_INTN)
#define AER_COR		(PCI_ERR_COR_RCVR | PCI_ERR_COR_BAD_TLP | PCI_ERR_COR_BAD_DLLP | PCI_ERR_COR_REP_ROLL | \
			 PCI_ERR_COR_REP_TIMER | PCI_ERR_COR_ADV_NFAT | PCI_ERR_COR_INTERNAL)

static void put8(struct sim_pci *pci, unsigned int at, uint8_t value, uint8_t writable)
{
	pci->config[at] = value;
	pci->writable[at] = writable;
}

static void put16(struct sim_pci *pci, unsigned int at, uint16_t value, uint16_t writable)
{
	put8(pci, at, value & 0xff, writable & 0xff);
	put8(pci, at + 1, value >> 8, writable >> 8);
}

static void put32(struct sim_pci *pci, unsigned int at, uint32_t value, uint32_t writable)
{
	put16(pci, at, value & 0xffff, writable & 0xffff);
	put16(pci, at + 2, value >> 16, writable >> 16);
}

/* Status bits, which are cleared by writing ones. */
static void put_status32(struct sim_pci *pci, unsigned int at, uint32_t bits)
{
	put32(pci, at, 0, 0);
	for (unsigned int i = 0; i < 4; i++)
		pci->clears[at + i] = bits >> 8 * i & 0xff;
}

static void put_header(struct sim_pci *pci)
{
	put16(pci, PCI_VENDOR_ID, NE1_PCI_VENDOR, 0);
	put16(pci, PCI_DEVICE_ID, NE1_PCI_DEVICE, 0);
	put16(pci, PCI_COMMAND, 0, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY |
	      PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE);
	put16(pci, PCI_STATUS, PCI_STATUS_CAP_LIST, 0);
	put32(pci, PCI_CLASS_REVISION, NE1_PCI_CLASS << 8 | pci->shape.revision, 0);
	put8(pci, PCI_CACHE_LINE_SIZE, 0, 0xff);
	put32(pci, PCI_BASE_ADDRESS_0, PCI_BASE_ADDRESS_MEM_TYPE_32, ~(pci->shape.bar0_bytes - 1u));
	if (pci->shape.msix_vectors)
		put32(pci, PCI_BASE_ADDRESS_1, PCI_BASE_ADDRESS_MEM_TYPE_32,
		      ~(SIM_PCI_BAR1_SIZE - 1u));
	put16(pci, PCI_SUBSYSTEM_VENDOR_ID, NE1_PCI_VENDOR, 0);
	put16(pci, PCI_SUBSYSTEM_ID, NE1_PCI_DEVICE, 0);
	put8(pci, PCI_CAPABILITY_LIST, CAP_PM, 0);
	put8(pci, PCI_INTERRUPT_LINE, 0, 0xff);
}

static void put_pm(struct sim_pci *pci)
{
	put16(pci, CAP_PM, PCI_CAP_ID_PM | CAP_MSI << 8, 0);
	put16(pci, CAP_PM + PCI_PM_PMC, 3, 0);
	/* D3hot keeps the state: only FLR and the RESET register reset the function. */
	put16(pci, CAP_PM + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET, PCI_PM_CTRL_STATE_MASK);
}

static void put_msi(struct sim_pci *pci)
{
	put16(pci, CAP_MSI, PCI_CAP_ID_MSI | CAP_EXP << 8, 0);
	put16(pci, CAP_MSI + PCI_MSI_FLAGS, PCI_MSI_FLAGS_64BIT, PCI_MSI_FLAGS_ENABLE);
	put32(pci, CAP_MSI + PCI_MSI_ADDRESS_LO, 0, ~3u);
	put32(pci, CAP_MSI + PCI_MSI_ADDRESS_HI, 0, ~0u);
	put16(pci, CAP_MSI + PCI_MSI_DATA_64, 0, 0xffff);
}

static void put_express(struct sim_pci *pci)
{
	put16(pci, CAP_EXP, PCI_CAP_ID_EXP | (pci->shape.msix_vectors ? CAP_MSIX : 0) << 8, 0);
	put16(pci, CAP_EXP + PCI_EXP_FLAGS, EXP_VERSION | PCI_EXP_TYPE_ENDPOINT << 4, 0);
	put32(pci, CAP_EXP + PCI_EXP_DEVCAP,
	      MAX_PAYLOAD_256 | PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR, 0);
	put16(pci, CAP_EXP + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN |
	      2u << 12, 0x7fff);
	put32(pci, CAP_EXP + PCI_EXP_LNKCAP, LINK_SPEED | LINK_WIDTH << 4, 0);
	put16(pci, CAP_EXP + PCI_EXP_LNKCTL, 0, PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_CCC);
	put16(pci, CAP_EXP + PCI_EXP_LNKSTA, LINK_SPEED | LINK_WIDTH << 4, 0);
	put32(pci, CAP_EXP + PCI_EXP_LNKCAP2, 0xe, 0);	/* 2.5, 5 and 8 GT/s */
	put16(pci, CAP_EXP + PCI_EXP_LNKCTL2, LINK_SPEED, 0xf);
}

static void put_msix(struct sim_pci *pci)
{
	put16(pci, CAP_MSIX, PCI_CAP_ID_MSIX, 0);
	put16(pci, CAP_MSIX + PCI_MSIX_FLAGS, pci->shape.msix_vectors - 1,
	      PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	put32(pci, CAP_MSIX + PCI_MSIX_TABLE, SIM_PCI_MSIX_TABLE | 1, 0);
	put32(pci, CAP_MSIX + PCI_MSIX_PBA, SIM_PCI_MSIX_PBA | 1, 0);
}

/* The model has no link that could fail: status and log are for those who look at them, and stay zero. */
static void put_aer(struct sim_pci *pci)
{
	put32(pci, CAP_AER, PCI_EXT_CAP_ID_ERR | AER_VERSION << 16, 0);
	put_status32(pci, CAP_AER + PCI_ERR_UNCOR_STATUS, AER_UNCOR);
	put32(pci, CAP_AER + PCI_ERR_UNCOR_MASK, 0, AER_UNCOR);
	put32(pci, CAP_AER + PCI_ERR_UNCOR_SEVER, AER_FATAL, AER_UNCOR);
	put_status32(pci, CAP_AER + PCI_ERR_COR_STATUS, AER_COR);
	put32(pci, CAP_AER + PCI_ERR_COR_MASK, PCI_ERR_COR_ADV_NFAT | PCI_ERR_COR_INTERNAL, AER_COR);
}

void sim_pci_init(struct sim_pci *pci, const struct sim_pci_shape *shape)
{
	memset(pci, 0, sizeof(*pci));
	pci->shape = *shape;
	put_aer(pci);
	sim_pci_reset(pci);
}

void sim_pci_reset(struct sim_pci *pci)
{
	/* What is known of errors outlives a reset, which may be what they led to. */
	memset(pci->config, 0, CAP_AER);
	memset(pci->writable, 0, CAP_AER);
	memset(pci->msix_table, 0, sizeof(pci->msix_table));
	for (unsigned int i = 0; i < NE1_MSIX_VECTORS; i++)
		pci->msix_table[16 * i + PCI_MSIX_ENTRY_VECTOR_CTRL] = PCI_MSIX_ENTRY_CTRL_MASKBIT;
	put_header(pci);
	put_pm(pci);
	put_msi(pci);
	put_express(pci);
	if (pci->shape.msix_vectors)
		put_msix(pci);
}

void sim_pci_config_read(const struct sim_pci *pci, uint32_t offset, void *data, uint32_t count)
{
	memcpy(data, pci->config + offset, count);
}

bool sim_pci_config_write(struct sim_pci *pci, uint32_t offset, const void *data, uint32_t count)
{
	const unsigned int flr_byte = CAP_EXP + PCI_EXP_DEVCTL + 1;
	const uint8_t *in = data;

	for (uint32_t i = 0; i < count; i++) {
		uint8_t mask = pci->writable[offset + i];

		pci->config[offset + i] = (pci->config[offset + i] & ~mask) | (in[i] & mask);
		pci->config[offset + i] &= ~(in[i] & pci->clears[offset + i]);
	}
	return flr_byte >= offset && flr_byte - offset < count &&
	       in[flr_byte - offset] & PCI_EXP_DEVCTL_BCR_FLR >> 8;
}

bool sim_pci_asleep(const struct sim_pci *pci)
{
	return pci->config[CAP_PM + PCI_PM_CTRL] & PCI_PM_CTRL_STATE_MASK;
}

void sim_pci_bar1_read(const struct sim_pci *pci, uint32_t pba, uint32_t offset, void *data,
		       uint32_t count)
{
	uint8_t *out = data;

	for (uint32_t i = 0; i < count; i++, offset++) {
		if (offset < sizeof(pci->msix_table))
			out[i] = pci->msix_table[offset];
		else
			out[i] = offset == SIM_PCI_MSIX_PBA ? pba & 0xff : 0;
	}
}

void sim_pci_bar1_write(struct sim_pci *pci, uint32_t offset, const void *data, uint32_t count)
{
	const uint8_t *in = data;

	for (uint32_t i = 0; i < count; i++, offset++)
		if (offset < sizeof(pci->msix_table))
			pci->msix_table[offset] = in[i];
}
