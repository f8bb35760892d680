// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exit.h"

int fail(int status, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("npu-run: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return status;
}

static int status_of(npu_status st)
{
	switch (st) {
	case NPU_OK:
		return EXIT_OK;
	case NPU_ERR_NOT_FOUND:		/* a key or tensor that the model should have */
	case NPU_ERR_FORMAT:
		return EXIT_MODEL;
	case NPU_ERR_UNSUPPORTED:
	case NPU_ERR_STRICT:
		return EXIT_UNSUPPORTED;
	case NPU_ERR_NO_DEVICE:
		return EXIT_NO_DEVICE;
	case NPU_ERR_LIMIT:
		return EXIT_CONTEXT;
	case NPU_ERR_DEVICE_LOST:
	case NPU_ERR_TIMEOUT:
	case NPU_ERR_FAULT:
	case NPU_ERR_CANCELLED:
		return EXIT_DEVICE;
	case NPU_ERR_INVALID:
	case NPU_ERR_NOMEM:
	case NPU_ERR_IO:
		break;
	}
	return EXIT_OTHER;
}

int fail_npu(npu_status st)
{
	const char *why = npu_error_message();
	const char *hint = st == NPU_ERR_NO_DEVICE ?
			   " (is npuedge.ko loaded? --device sim and cpu need no driver)" : "";

	return fail(status_of(st), "%s%s", *why ? why : npu_status_str(st), hint);
}

int fail_model(npu_status st)
{
	if (st == NPU_ERR_NOT_FOUND || st == NPU_ERR_IO)
		return fail(EXIT_FILE, "%s", npu_error_message());
	if (st == NPU_ERR_LIMIT)
		return fail(EXIT_MODEL, "%s", npu_error_message());
	return fail_npu(st);
}

int flush_output(void)
{
	int err = fflush(stdout) ? errno : ferror(stdout) ? EIO : 0;

	if (!err)
		return EXIT_OK;
	if (err == EPIPE)
		return EXIT_PIPE;
	return fail(EXIT_OTHER, "standard output: %s", strerror(err));
}
