/* SPDX-License-Identifier: MIT */
/* Messages of the model on standard error.  Any thread. */
#ifndef NPUSIM_LOG_H
#define NPUSIM_LOG_H

enum sim_log_level { SIM_LOG_ERROR, SIM_LOG_WARN, SIM_LOG_INFO, SIM_LOG_DEBUG };

void sim_log_set_level(enum sim_log_level level);
/* "error", "warn", "info" or "debug"; -1 for anything else. */
int sim_log_parse_level(const char *name);

/* @who names the object that speaks, usually the device's socket.  A newline is appended. */
void sim_log(enum sim_log_level level, const char *who, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
