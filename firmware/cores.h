/* SPDX-License-Identifier: MIT */
/* Compute cores: whose job each works on, and the registers that start, stop and preempt it. */
#ifndef NE1_FW_CORES_H
#define NE1_FW_CORES_H

#include <stdbool.h>
#include <stdint.h>

#include "queue.h"

/* @count: compute cores of the chip, which are idle. */
void cores_init(unsigned int count);
unsigned int cores_count(void);

/* Mask of cores without a job. */
uint32_t cores_idle(void);
bool cores_all_idle(void);

/* The queue whose job core @core works on; NULL if it is idle. */
struct queue *core_queue(unsigned int core);
/* The stream of that job. */
unsigned int core_stream(unsigned int core);

/*
 * Gives an idle core the registers for stream @stream of @q's job, whose ASID is q->asid.  Zeroes
 * the SRAM if another VM's job was there before.  core_start() then sets it off, at command @pos
 * if that is not 0.
 */
void core_assign(unsigned int core, struct queue *q, unsigned int stream);
void core_start(unsigned int core, uint32_t pos);

/* A core has left RUNNING and its registers were read. */
void core_release(unsigned int core);

/* Device time at which core @core was started. */
uint64_t core_started_ns(unsigned int core);

/* Cores of @mask stop at their next YIELD, the others run through it. */
void cores_request_yield(uint32_t mask);

/* Asks the cores of @mask to end; job_poll() sees them do so, or cores_check_stops() does not. */
void cores_stop(uint32_t mask);

/*
 * TIMER_STOP has expired: mask of cores that were asked to stop and have not started a command
 * since the last look.  Each is reported once per stop.
 */
uint32_t cores_check_stops(void);

#endif
