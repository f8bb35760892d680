/* SPDX-License-Identifier: MIT */
/* How a failing job is put into words, the same for every device. */
#ifndef LIBNPU_FAULT_H
#define LIBNPU_FAULT_H

#include <stdint.h>

#include "npu/status.h"

struct job_fault {
	uint32_t fault;		/* enum ne1_fault */
	uint32_t cmd;		/* index of the command */
	uint64_t va;		/* MMU faults */
	uint32_t info;		/* unit and, for MMU faults, access and code */
};

/* Sets the error message for job @job of a queue and returns NPU_ERR_FAULT. */
npu_status npu_fail_fault(uint64_t job, const struct job_fault *f);

#endif
