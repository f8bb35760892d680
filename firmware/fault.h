/* SPDX-License-Identifier: MIT */
/* Failed jobs: what the cores say about it, and what becomes of the queue. */
#ifndef NE1_FW_FAULT_H
#define NE1_FW_FAULT_H

#include <stdbool.h>

#include "queue.h"

/* Core @core ended with a fault: takes its record into @result.  True for the job's first fault. */
bool fault_record(struct ne1_job_result *result, unsigned int core);

/* @q's job has ended: a fault that nobody asked for makes the queue FAULTED. */
void fault_check(struct queue *q);

#endif
