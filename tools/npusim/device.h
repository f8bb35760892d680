/* SPDX-License-Identifier: MIT */
/* One NE1 PCI function behind a vfio-user socket: all parts.  Devices share nothing. */
#ifndef NPUSIM_DEVICE_H
#define NPUSIM_DEVICE_H

#include <stdbool.h>

#include "bootrom.h"
#include "pci.h"
#include "soc.h"

struct sim_chip;
struct sim_device;
struct sim_fi;
struct sim_regs;
struct sim_trace;

struct sim_device_config {
	const char *socket;		/* path; kept, also the device's name in messages */
	const struct sim_chip *chip;	/* kept */
	const struct sim_fuses *fuses;	/* kept */
	struct sim_trace *trace;	/* kept; may be NULL */
	enum sim_pace pace;
	unsigned int threads;		/* host threads for the arithmetic of one command, >= 1 */
	struct sim_pci_shape pci;
	bool debug_window;		/* debug_window.h */
};

/* Listens and runs when it returns.  NULL with a message logged. */
struct sim_device *sim_device_new(const struct sim_device_config *config);
void sim_device_free(struct sim_device *device);

/* For control from outside; they live as long as the device. */
const struct sim_device_config *sim_device_config(const struct sim_device *device);
struct sim_fi *sim_device_faults(struct sim_device *device);
struct sim_regs *sim_device_regs(struct sim_device *device);
struct sim_soc *sim_device_soc(struct sim_device *device);

#endif
