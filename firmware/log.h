/* SPDX-License-Identifier: MIT */
/* Text for the host's log ring; lines are "seconds.microseconds LEVEL text". */
#ifndef NE1_FW_LOG_H
#define NE1_FW_LOG_H

#include "ne1_fwabi.h"

#define LOG_LINE_MAX	120	/* bytes of a line with its newline; longer ones are cut */

/* Below @level nothing is formatted at all. */
void log_init(enum ne1_log_level level);
void log_set_level(enum ne1_log_level level);

/* Understands %u, %x (unsigned int), %llx (unsigned long long), %s and %%. */
__attribute__((format(printf, 2, 3)))
void log_printf(enum ne1_log_level level, const char *fmt, ...);

#define log_error(...)	log_printf(NE1_LOG_ERROR, __VA_ARGS__)
#define log_warn(...)	log_printf(NE1_LOG_WARN, __VA_ARGS__)
#define log_info(...)	log_printf(NE1_LOG_INFO, __VA_ARGS__)
#define log_debug(...)	log_printf(NE1_LOG_DEBUG, __VA_ARGS__)

#endif
