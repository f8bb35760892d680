/* SPDX-License-Identifier: MIT */
/* What npu-run tells its caller: one message on standard error and one of these statuses. */
#ifndef NPU_RUN_EXIT_H
#define NPU_RUN_EXIT_H

#include "npu/status.h"

enum exit_status {
	EXIT_OK = 0,
	EXIT_OTHER = 1,
	EXIT_USAGE = 2,
	EXIT_FILE = 3,		/* a file is missing or unreadable */
	EXIT_MODEL = 4,		/* the model file is malformed */
	EXIT_UNSUPPORTED = 5,	/* well-formed, but nothing we can run */
	EXIT_NO_DEVICE = 6,
	EXIT_CONTEXT = 7,	/* more tokens than the context holds */
	EXIT_DEVICE = 8,	/* the device failed or was lost */
	EXIT_INTERRUPTED = 130,	/* 128 + SIGINT, as a shell has it */
	EXIT_PIPE = 141,	/* 128 + SIGPIPE: nobody reads standard output any more */
};

/* Prints "npu-run: ..." and returns @status. */
int fail(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints libnpu's message for @st and returns the exit status that belongs to it. */
int fail_npu(npu_status st);

/* The same where @st came from reading the model file. */
int fail_model(npu_status st);

/* Has all of standard output been written?  If only its reader has gone, there is no message. */
int flush_output(void);

#endif
