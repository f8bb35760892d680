/* SPDX-License-Identifier: MIT */
/* struct ne1_fw_if: what the host says about the shared region, checked once at boot. */
#ifndef NE1_FW_IFACE_H
#define NE1_FW_IFACE_H

#include <stdbool.h>
#include <stdint.h>

#include "ne1_fwabi.h"

/* Reads and checks the host's part; panics with a code of its own for each thing that is wrong. */
void iface_boot(void);

/* The checked copy; host memory is not consulted again. */
const struct ne1_fw_if *iface_get(void);

/* False until iface_boot() has accepted the region. */
bool iface_valid(void);

void iface_set_state(enum ne1_fw_state state);
void iface_set_heartbeat(uint32_t count);

#endif
