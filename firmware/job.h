/* SPDX-License-Identifier: MIT */
/*
 * Jobs on compute cores: from the descriptor in the ring to the result.  A job that was started is
 * on cores or put aside: then each of its streams has ended or yielded, no core works for it, and
 * it goes on later on any cores.  The time in between, on cores, is a turn.
 */
#ifndef NE1_FW_JOB_H
#define NE1_FW_JOB_H

#include <stdbool.h>

#include "queue.h"

/*
 * Starts the job at @q's head or lets the one put aside go on; ends it at once with a fault if its
 * descriptor is bad.  False if it has to wait for cores or an ASID.
 */
bool job_start(struct queue *q);

/*
 * Cores that the job of @q, which is ready or on cores, needs to start or to go on; 0 if its
 * descriptor is bad.  Reads the descriptor if that was not done.
 */
unsigned int job_width(struct queue *q);

/* Some core left RUNNING: collects results, puts jobs aside, completes those that have ended. */
void job_poll(void);

/* Ends a job that is put aside as if it had been stopped: its result is written, nothing else. */
void job_drop(struct queue *q);

/* TIMER_STOP has expired: tells the host about jobs whose cores do not stop. */
void job_check_stops(void);

/* Asks the cores of all jobs to stop and drops those that are put aside. */
void job_stop_all(void);

static inline bool job_is_aside(const struct queue *q)
{
	return q->started && !q->running;
}

#endif
