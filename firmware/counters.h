/* SPDX-License-Identifier: MIT */
/* Sums of the cores' counters per queue, for NE1_CMD_COUNTERS. */
#ifndef NE1_FW_COUNTERS_H
#define NE1_FW_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

void counters_init(void);

/* Starts at zero, or stops and leaves the table as it is.  False: the host has laid out no table.
 */
bool counters_enable(bool on);

/* @index belongs to a new queue. */
void counters_reset(uint32_t index);

/* Core @core has left RUNNING: adds what it counted since its start to queue @index. */
void counters_add(uint32_t index, unsigned int core);

/* Shows the sums of queue @index to the host. */
void counters_publish(uint32_t index);

#endif
