/* SPDX-License-Identifier: MIT */
/* Jobs on compute cores: from the descriptor in the ring to the result. */
#ifndef NE1_FW_JOB_H
#define NE1_FW_JOB_H

#include <stdbool.h>

#include "queue.h"

/* @count: compute cores of the chip, which are idle. */
void job_init(unsigned int count);

bool job_cores_free(void);
bool job_any_running(void);

/* Starts the job at @q's head, or ends it at once with a fault if its descriptor is bad.  False if
 * it has to wait for cores or an ASID.
 */
bool job_start(struct queue *q);

/* Some core left RUNNING: collects results and completes jobs whose cores have all ended. */
void job_poll(void);

/* Asks the cores of @q's job, or all busy ones, to stop; job_poll() sees them end. */
void job_stop(const struct queue *q);
void job_stop_all(void);

#endif
