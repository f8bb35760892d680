// SPDX-License-Identifier: MIT
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_int log_level = SIM_LOG_WARN;
static const char *const level_names[] = { "error", "warn", "info", "debug" };

void sim_log_set_level(enum sim_log_level level)
{
	atomic_store(&log_level, (int)level);
}

int sim_log_parse_level(const char *name)
{
	for (int i = 0; i < 4; i++)
		if (!strcmp(name, level_names[i]))
			return i;
	return -1;
}

void sim_log(enum sim_log_level level, const char *who, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if ((int)level > atomic_load_explicit(&log_level, memory_order_relaxed))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	/* One call, so that lines of threads do not mix. */
	fprintf(stderr, "npusim: %s: %s: %s\n", who, level_names[level], text);
}
