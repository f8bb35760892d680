/* SPDX-License-Identifier: MIT */
/* NE1_CMD_SHUTDOWN: the orderly end before a reset or power-off. */
#ifndef NE1_FW_POWER_H
#define NE1_FW_POWER_H

#include <stdbool.h>
#include <stdint.h>

void power_init(void);

/* Stops all work; the reply to @id follows when the last core has ended. */
void power_shutdown(uint32_t id);

/* True from SHUTDOWN on: no job starts, no command is served. */
bool power_closing(void);

/* A core does not stop: the shutdown is answered with that and stays unfinished. */
void power_hung(void);

/* Completes a shutdown once nothing runs. */
void power_poll(void);

#endif
