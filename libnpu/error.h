/* SPDX-License-Identifier: MIT */
/* How library code sets the thread's error message and logs. */
#ifndef LIBNPU_ERROR_H
#define LIBNPU_ERROR_H

#include "npu/status.h"

/* Formats the thread's error message. */
void npu_fail_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Sets the message and is @status, so that a failing path reads
 * `return npu_fail(NPU_ERR_LIMIT, "tensor '%s': %u dims, limit 4", name, n);`
 * A macro, so that compilers and analysers see that a failure is never NPU_OK.
 */
#define npu_fail(status, ...) (npu_fail_text(__VA_ARGS__), npu_fail_status(status))

static inline npu_status npu_fail_status(npu_status status)
{
	return status;
}

void npu_log(npu_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
