/* SPDX-License-Identifier: MIT */
/**
 * npu/status.h - how every libnpu call reports its outcome.
 *
 * Each call returns an npu_status.  When it is not NPU_OK, npu_error_message()
 * gives the reason in words, with the name of the object, the offending value
 * and the limit, for the last failing call of the calling thread.
 *
 * Pointers are not NULL unless the function says that they may be.  The functions that make an
 * object check theirs (NPU_ERR_INVALID); all that delete one take NULL.
 */
#ifndef NPU_STATUS_H
#define NPU_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/** Marks a symbol that the shared library exports. */
#define NPU_API __attribute__((visibility("default")))

/** One list for the enum and its names. X(identifier, number, short text). */
#define NPU_STATUS_LIST(X) \
	X(NPU_OK, 0, "ok") \
	X(NPU_ERR_INVALID, 1, "invalid argument") \
	X(NPU_ERR_NOMEM, 2, "out of memory") \
	X(NPU_ERR_IO, 3, "input/output error") \
	X(NPU_ERR_NOT_FOUND, 4, "not found") \
	X(NPU_ERR_FORMAT, 5, "malformed data") \
	X(NPU_ERR_UNSUPPORTED, 6, "not supported") \
	X(NPU_ERR_LIMIT, 7, "limit exceeded") \
	X(NPU_ERR_NO_DEVICE, 8, "no device") \
	X(NPU_ERR_DEVICE_LOST, 9, "device lost") \
	X(NPU_ERR_TIMEOUT, 10, "timed out") \
	X(NPU_ERR_FAULT, 11, "job faulted") \
	X(NPU_ERR_CANCELLED, 12, "cancelled") \
	X(NPU_ERR_STRICT, 13, "fallback refused in strict mode")

typedef enum npu_status {
#define NPU_STATUS_ENUM(id, nr, text) id = nr,
	NPU_STATUS_LIST(NPU_STATUS_ENUM)
#undef NPU_STATUS_ENUM
} npu_status;

/** Short text of @status ("not found"); never NULL. */
NPU_API const char *npu_status_str(npu_status status);

/**
 * Message of the last failing libnpu call of this thread; "" if none.
 * The pointer stays valid until the next failing call of the same thread.
 */
NPU_API const char *npu_error_message(void);

/** Severity of a log line. */
typedef enum npu_log_level {
	NPU_LOG_ERROR = 0,
	NPU_LOG_WARN = 1,
	NPU_LOG_INFO = 2,
	NPU_LOG_DEBUG = 3,
} npu_log_level;

typedef void (*npu_log_fn)(void *user, npu_log_level level, const char *line);

/**
 * Install the log callback (process wide, the library's only global).
 * NULL restores the default: errors and warnings to standard error.
 * Call it before other threads use the library.
 */
NPU_API void npu_set_log(npu_log_fn fn, void *user);

#ifdef __cplusplus
}
#endif
#endif
