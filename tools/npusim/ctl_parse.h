/* SPDX-License-Identifier: MIT */
/*
 * Requests of the control socket: one JSON object a line (npusim(1) lists them).  Nothing here
 * touches a device; the text is not trusted.
 */
#ifndef NPUSIM_CTL_PARSE_H
#define NPUSIM_CTL_PARSE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "fault_inject.h"

#define SIM_CTL_LINE_MAX	65536u	/* bytes of a request */
#define SIM_CTL_STEPS_MAX	256u	/* of a script */
#define SIM_CTL_WAIT_MAX_MS	600000u

enum sim_ctl_op {
	SIM_CTL_LIST,
	SIM_CTL_ARM,
	SIM_CTL_DISARM,
	SIM_CTL_DISARM_ALL,
	SIM_CTL_STATUS,
	SIM_CTL_LOG,
	SIM_CTL_SEED,
	SIM_CTL_INFO,
	SIM_CTL_JOBS,
	SIM_CTL_REGISTERS,
	SIM_CTL_SLEEP,
	SIM_CTL_WAIT,
	SIM_CTL_SCRIPT,
	SIM_CTL_OPS,
};

struct sim_ctl_request {
	enum sim_ctl_op op;
	unsigned int device;
	json_t *tag;			/* to be repeated by the answer; NULL */
	struct sim_fi_spec spec;	/* ARM; the others use spec.fault alone */
	uint64_t number;		/* LOG: since; SEED; SLEEP: ms; WAIT: firings */
	unsigned int timeout_ms;	/* WAIT */
	unsigned int n_steps;
	struct sim_ctl_request *steps;	/* SCRIPT */
};

/*
 * 0, and @req is to be cleared; or -1, and *@error is an object that names field, value and limit
 * (NULL when memory is short).
 */
int sim_ctl_parse(const char *text, size_t len, struct sim_ctl_request *req, json_t **error);
void sim_ctl_clear(struct sim_ctl_request *req);

/*
 * {"field": ..., "value": ..., "limit": ..., "message": ...}; @value is not taken over, may be
 * NULL.
 */
json_t *sim_ctl_error(const char *field, json_t *value, const char *limit, const char *message);

#endif
