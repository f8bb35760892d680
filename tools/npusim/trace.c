// SPDX-License-Identifier: MIT
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct sim_trace {
	pthread_mutex_t lock;
	FILE *file;
};

struct sim_trace *sim_trace_open(const char *path)
{
	struct sim_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	trace->file = fopen(path, "we");
	if (!trace->file) {
		int err = errno;

		free(trace);
		errno = err;
		return NULL;
	}
	pthread_mutex_init(&trace->lock, NULL);
	return trace;
}

void sim_trace_close(struct sim_trace *trace)
{
	if (!trace)
		return;
	fclose(trace->file);
	pthread_mutex_destroy(&trace->lock);
	free(trace);
}

void sim_trace(struct sim_trace *trace, uint64_t time_ns, const char *who, const char *fmt, ...)
{
	va_list args;

	if (!trace)
		return;
	va_start(args, fmt);
	pthread_mutex_lock(&trace->lock);
	fprintf(trace->file, "%" PRIu64 " %s ", time_ns, who);
	vfprintf(trace->file, fmt, args);
	fputc('\n', trace->file);
	pthread_mutex_unlock(&trace->lock);
	va_end(args);
}
