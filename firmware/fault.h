/* SPDX-License-Identifier: MIT */
/* Failed jobs: what the cores say about it, and what becomes of the queue. */
#ifndef NE1_FW_FAULT_H
#define NE1_FW_FAULT_H

#include <stdbool.h>

#include "queue.h"

/* Core @core ended stream @stream with a fault: takes its record into @result.  True for the job's
 * first fault.
 */
bool fault_record(struct ne1_job_result *result, unsigned int core, unsigned int stream);

/* Somebody asked for the end of @q's job: RESET, DESTROY or SHUTDOWN. */
bool fault_is_expected(const struct queue *q);

/* @q's job has ended: a fault that nobody asked for makes the queue FAULTED. */
void fault_check(struct queue *q);

/*
 * A core of @q's job was asked to stop and hangs.  What waits for its end is answered with
 * NE1_MSG_HUNG; if nothing waits, because its job failed on another core, the queue's fault is
 * reported now.
 */
void fault_hung(struct queue *q);

#endif
