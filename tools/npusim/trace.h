/* SPDX-License-Identifier: MIT */
/*
 * Event trace of a device: one line per event, "<device ns> <device> <event> key=value ...".
 * Any thread.  A NULL trace is off and costs nothing.
 */
#ifndef NPUSIM_TRACE_H
#define NPUSIM_TRACE_H

#include <stdint.h>

struct sim_trace;

/* NULL with errno set when @path cannot be written. */
struct sim_trace *sim_trace_open(const char *path);
void sim_trace_close(struct sim_trace *trace);

void sim_trace(struct sim_trace *trace, uint64_t time_ns, const char *who, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
