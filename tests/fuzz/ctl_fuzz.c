// SPDX-License-Identifier: MIT
/*
 * Fuzzes the requests of npusim's control socket: any line is a request or an error that names a
 * member, and what is accepted is within the limits that the table of faults sets.
 */
#include <stdlib.h>
#include <string.h>

#include "ctl_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct sim_ctl_request *req, bool step)
{
	struct sim_fi_error error;

	if ((unsigned int)req->op >= SIM_CTL_OPS || (step && req->op == SIM_CTL_SCRIPT))
		abort();
	if (req->op == SIM_CTL_ARM && !sim_fi_check(&req->spec, &error))
		abort();
	if ((unsigned int)req->spec.fault >= NPUSIM_FAULTS || req->n_steps > SIM_CTL_STEPS_MAX ||
	    req->timeout_ms > SIM_CTL_WAIT_MAX_MS ||
	    (req->op == SIM_CTL_SLEEP && req->number > SIM_CTL_WAIT_MAX_MS))
		abort();
	for (unsigned int i = 0; i < req->n_steps; i++)
		check(&req->steps[i], true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_ctl_request req;
	json_t *error = NULL;

	if (!sim_ctl_parse((const char *)data, size, &req, &error)) {
		check(&req, false);
		sim_ctl_clear(&req);
		return 0;
	}
	if (!json_is_string(json_object_get(error, "field")) ||
	    !json_is_string(json_object_get(error, "message")) || req.steps || req.tag)
		abort();
	json_decref(error);
	return 0;
}
