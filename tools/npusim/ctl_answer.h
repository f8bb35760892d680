/* SPDX-License-Identifier: MIT */
/* Answers to requests about one device, as JSON.  Any thread; NULL when memory is short. */
#ifndef NPUSIM_CTL_ANSWER_H
#define NPUSIM_CTL_ANSWER_H

#include <jansson.h>
#include <stdint.h>

struct sim_device;

json_t *sim_answer_list(void);				/* all faults with their arguments */
json_t *sim_answer_status(struct sim_device *device);	/* of faults that are or were armed */
json_t *sim_answer_log(struct sim_device *device, uint64_t since);
json_t *sim_answer_info(struct sim_device *device);	/* time, boot state, counters, queues */
json_t *sim_answer_jobs(struct sim_device *device);
json_t *sim_answer_registers(struct sim_device *device);

#endif
