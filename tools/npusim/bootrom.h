/* SPDX-License-Identifier: MIT */
/* The boot ROM: fetches a firmware image from host memory and decides whether it may run. */
#ifndef NPUSIM_BOOTROM_H
#define NPUSIM_BOOTROM_H

#include <stdint.h>

#include "ne1_fw_image.h"
#include "ne1_regs.h"

struct sim_dma;

#define SIM_KEY_SIZE	32	/* Ed25519 public key */

/* What is fused into the chip. */
struct sim_fuses {
	uint8_t key[SIM_KEY_SIZE];
	uint32_t min_security_version;
};

struct sim_image {
	struct ne1_fw_header header;
	uint8_t payload[NE1_MC_TCM_SIZE];	/* header.payload_size bytes */
};

/* 0 or -1: the crypto library does not work.  Once per process, before sim_bootrom_load(). */
int sim_bootrom_init(void);

/*
 * Copies the image at bus address @bus (@size bytes with header) to @image and checks the copy.
 * Returns NE1_BOOT_ERR_*; @image may be run only after NE1_BOOT_ERR_NONE.
 */
unsigned int sim_bootrom_load(struct sim_dma *dma, uint64_t bus, uint32_t size,
			      const struct sim_fuses *fuses, struct sim_image *image);

/* A key from text: a line of 64 hex digits, other lines are ignored.  0 or -1. */
int sim_key_parse(const char *text, uint8_t key[SIM_KEY_SIZE]);

#endif
