/* SPDX-License-Identifier: MIT */
/* How library code sets the thread's error message and logs. */
#ifndef LIBNPU_ERROR_H
#define LIBNPU_ERROR_H

#include "npu/status.h"

/* Formats the thread's error message and returns @status, so that a failing path reads
 * `return npu_fail(NPU_ERR_LIMIT, "tensor '%s': %u dims, limit 4", name, n);`
 */
npu_status npu_fail(npu_status status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void npu_log(npu_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
