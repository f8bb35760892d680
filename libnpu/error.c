// SPDX-License-Identifier: MIT
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char message[512];
static npu_log_fn log_fn;
static void *log_user;

const char *npu_status_str(npu_status status)
{
	switch (status) {
#define STATUS_CASE(id, nr, text) case id: return text;
	NPU_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
	}
	return "unknown status";
}

const char *npu_error_message(void)
{
	return message;
}

void npu_fail_text(const char *fmt, ...)
{
	char text[sizeof(message)];
	va_list ap;

	/* Formatted aside: an argument may be the previous message. */
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(message, sizeof(message), "%s", text);
}

void npu_set_log(npu_log_fn fn, void *user)
{
	log_fn = fn;
	log_user = user;
}

void npu_log(npu_log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (!log_fn && level > NPU_LOG_WARN)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (log_fn)
		log_fn(log_user, level, line);
	else
		fprintf(stderr, "npu: %s\n", line);
}
