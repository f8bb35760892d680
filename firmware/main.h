/* SPDX-License-Identifier: MIT */
#ifndef NE1_FW_MAIN_H
#define NE1_FW_MAIN_H

/* Sets up everything and reports READY; panics if the host's description of the region is wrong. */
void fw_boot(void);

/* Serves what is pending, once. */
void fw_step(void);

/* From start.S; does not return. */
void fw_main(void);

#endif
