// SPDX-License-Identifier: MIT
#include "ctl_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const op_names[SIM_CTL_OPS] = {
	[SIM_CTL_LIST] = "list",	   [SIM_CTL_ARM] = "arm",
	[SIM_CTL_DISARM] = "disarm",	   [SIM_CTL_DISARM_ALL] = "disarm-all",
	[SIM_CTL_STATUS] = "status",	   [SIM_CTL_LOG] = "log",
	[SIM_CTL_SEED] = "seed",	   [SIM_CTL_INFO] = "info",
	[SIM_CTL_JOBS] = "jobs",	   [SIM_CTL_REGISTERS] = "registers",
	[SIM_CTL_SLEEP] = "sleep",	   [SIM_CTL_WAIT] = "wait",
	[SIM_CTL_SCRIPT] = "script",
};

/* Where an error goes. */
struct parse {
	json_t **error;
};

json_t *sim_ctl_error(const char *field, json_t *value, const char *limit, const char *message)
{
	json_t *error = json_object();

	if (!error)
		return NULL;
	json_object_set_new(error, "field", json_string(field));
	json_object_set(error, "value", value ? value : json_null());
	json_object_set_new(error, "limit", json_string(limit));
	json_object_set_new(error, "message", json_string(message));
	return error;
}

static int wrong(struct parse *p, const char *field, json_t *value, const char *limit,
		 const char *message)
{
	*p->error = sim_ctl_error(field, value, limit, message);
	return -1;
}

/* ---- Values ---- */

static int out_of_range(struct parse *p, const char *field, json_t *value, uint64_t max, bool any)
{
	char limit[64];

	snprintf(limit, sizeof(limit), "0 to %llu%s", (unsigned long long)max,
		 any ? " or any" : "");
	return wrong(p, field, value, limit, "no number in the range");
}

/* A number from 0 to @max, also as text in C's notation, since JSON's numbers end at 2^63. */
static int number(struct parse *p, const char *field, json_t *value, uint64_t max, bool any,
		  uint64_t *out)
{
	const char *text;
	char *end;

	if (json_is_integer(value)) {
		*out = (uint64_t)json_integer_value(value);
		if (json_integer_value(value) < 0 || *out > max)
			return out_of_range(p, field, value, max, any);
		return 0;
	}
	text = json_string_value(value);
	if (!text)
		return out_of_range(p, field, value, max, any);
	if (any && !strcmp(text, "any")) {
		*out = SIM_FI_ANY;
		return 0;
	}
	errno = 0;
	*out = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text < '0' || *text > '9' || *out > max)
		return out_of_range(p, field, value, max, any);
	return 0;
}

static int probability(struct parse *p, json_t *value, uint32_t *ppm)
{
	double x = json_number_value(value);

	if (!json_is_number(value) || !(x >= 0 && x <= 1))
		return wrong(p, "probability", value, "0 to 1", "no number in the range");
	*ppm = (uint32_t)(x * SIM_FI_PPM + 0.5);
	return 0;
}

static int one_of(struct parse *p, const char *field, json_t *value, const char *const *names,
		  unsigned int n)
{
	const char *text = json_string_value(value);
	char limit[512] = "";

	for (unsigned int i = 0; text && i < n; i++)
		if (!strcmp(text, names[i]))
			return (int)i;
	for (unsigned int i = 0; i < n; i++) {
		strncat(limit, i ? ", " : "", sizeof(limit) - strlen(limit) - 1);
		strncat(limit, names[i], sizeof(limit) - strlen(limit) - 1);
	}
	return wrong(p, field, value, limit, "not one of these");
}

static int fault_name(struct parse *p, json_t *object, enum npusim_fault *fault)
{
	json_t *value = json_object_get(object, "fault");
	const char *text = json_string_value(value);
	int found = text ? sim_fi_find(text) : -1;

	if (found < 0)
		return wrong(p, "fault", value, "a name that list gives", "no such fault");
	*fault = (enum npusim_fault)found;
	return 0;
}

/* ---- Arm ---- */

/* A member of an arm request other than the fault; 1: not one. */
static int common_member(struct parse *p, const char *key, json_t *value, struct sim_fi_spec *spec)
{
	int on;

	if (!strcmp(key, "after"))
		return number(p, key, value, UINT64_MAX, false, &spec->after);
	if (!strcmp(key, "count"))
		return number(p, key, value, UINT64_MAX, false, &spec->count);
	if (!strcmp(key, "duration_us"))
		return number(p, key, value, SIM_FI_DURATION_MAX_US, false, &spec->duration_us);
	if (!strcmp(key, "seed"))
		return number(p, key, value, UINT64_MAX, false, &spec->seed);
	if (!strcmp(key, "key"))
		return number(p, key, value, UINT64_MAX, true, &spec->key);
	if (!strcmp(key, "probability"))
		return probability(p, value, &spec->ppm);
	if (strcmp(key, "on") != 0)
		return 1;
	on = one_of(p, key, value, sim_fi_on_names, NPUSIM_ONS);
	if (on < 0)
		return -1;
	spec->on = (enum npusim_on)on;
	return 0;
}

static int argument(struct parse *p, const char *key, json_t *value, struct sim_fi_spec *spec)
{
	const struct sim_fi_kind *kind = &sim_fi_kinds[spec->fault];
	char limit[256] = "";

	for (unsigned int i = 0; i < SIM_FI_ARGS && kind->arg[i].name; i++) {
		const struct sim_fi_arg *arg = &kind->arg[i];

		if (!strcmp(key, arg->name))
			return number(p, key, value, arg->max, arg->def == SIM_FI_ANY,
				      &spec->arg[i]);
		strncat(limit, arg->name, sizeof(limit) - strlen(limit) - 1);
		strncat(limit, ", ", sizeof(limit) - strlen(limit) - 1);
	}
	strncat(limit, "after, count, duration_us, probability, seed, on, key",
		sizeof(limit) - strlen(limit) - 1);
	return wrong(p, key, value, limit, "the fault has no such argument");
}

static int parse_arm(struct parse *p, json_t *object, struct sim_ctl_request *req)
{
	struct sim_fi_error error;
	const char *key;
	json_t *value;
	char limit[32];
	int err;

	if (fault_name(p, object, &req->spec.fault))
		return -1;
	sim_fi_defaults(&req->spec, req->spec.fault);
	json_object_foreach(object, key, value) {
		if (!strcmp(key, "request") || !strcmp(key, "fault") || !strcmp(key, "tag") ||
		    !strcmp(key, "device"))
			continue;
		err = common_member(p, key, value, &req->spec);
		if (err > 0)
			err = argument(p, key, value, &req->spec);
		if (err)
			return -1;
	}
	if (sim_fi_check(&req->spec, &error))
		return 0;
	snprintf(limit, sizeof(limit), "0 to %llu", (unsigned long long)error.limit);
	return wrong(p, error.field, json_object_get(object, error.field), limit,
		     "not for this fault");
}

/* ---- Others ---- */

/* Members beyond request, tag and device are those of @names. */
static int only(struct parse *p, json_t *object, const char *const *names)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) {
		bool known = !strcmp(key, "request") || !strcmp(key, "tag") ||
			     !strcmp(key, "device");

		for (unsigned int i = 0; names[i] && !known; i++)
			known = !strcmp(key, names[i]);
		if (!known)
			return wrong(p, key, value, "", "the request has no such member");
	}
	return 0;
}

/* Member @name, if it is there. */
static int optional(struct parse *p, json_t *object, const char *name, uint64_t max, uint64_t *out)
{
	json_t *value = json_object_get(object, name);

	return value ? number(p, name, value, max, false, out) : 0;
}

static int required(struct parse *p, json_t *object, const char *name, uint64_t max, uint64_t *out)
{
	return number(p, name, json_object_get(object, name), max, false, out);
}

static int parse_wait(struct parse *p, json_t *object, struct sim_ctl_request *req)
{
	uint64_t timeout = 10000;

	req->number = 1;
	if (only(p, object, (const char *const[]){ "fault", "fired", "timeout_ms", NULL }) ||
	    fault_name(p, object, &req->spec.fault) ||
	    optional(p, object, "fired", UINT64_MAX, &req->number) ||
	    optional(p, object, "timeout_ms", SIM_CTL_WAIT_MAX_MS, &timeout))
		return -1;
	req->timeout_ms = (unsigned int)timeout;
	return 0;
}

static int parse_object(struct parse *p, json_t *object, struct sim_ctl_request *req, bool step);

static int parse_script(struct parse *p, json_t *object, struct sim_ctl_request *req)
{
	json_t *steps = json_object_get(object, "steps"), *step;
	char limit[32];
	size_t i;

	if (only(p, object, (const char *const[]){ "steps", NULL }))
		return -1;
	snprintf(limit, sizeof(limit), "1 to %u", SIM_CTL_STEPS_MAX);
	if (!json_is_array(steps) || !json_array_size(steps) ||
	    json_array_size(steps) > SIM_CTL_STEPS_MAX)
		return wrong(p, "steps", NULL, limit, "not an array of so many requests");
	req->steps = calloc(json_array_size(steps), sizeof(*req->steps));
	if (!req->steps)
		return wrong(p, "steps", NULL, "", "no memory");
	json_array_foreach(steps, i, step) {
		req->n_steps++;
		if (parse_object(p, step, &req->steps[i], true)) {
			if (*p->error)
				json_object_set_new(*p->error, "step", json_integer((json_int_t)i));
			return -1;
		}
	}
	return 0;
}

static int parse_members(struct parse *p, json_t *object, struct sim_ctl_request *req)
{
	static const char *const none[] = { NULL };

	switch (req->op) {
	case SIM_CTL_ARM:
		return parse_arm(p, object, req);
	case SIM_CTL_DISARM:
		if (only(p, object, (const char *const[]){ "fault", NULL }))
			return -1;
		return fault_name(p, object, &req->spec.fault);
	case SIM_CTL_LOG:
		if (only(p, object, (const char *const[]){ "since", NULL }))
			return -1;
		return optional(p, object, "since", UINT64_MAX, &req->number);
	case SIM_CTL_SEED:
		if (only(p, object, (const char *const[]){ "seed", NULL }))
			return -1;
		return required(p, object, "seed", UINT64_MAX, &req->number);
	case SIM_CTL_SLEEP:
		if (only(p, object, (const char *const[]){ "ms", NULL }))
			return -1;
		return required(p, object, "ms", SIM_CTL_WAIT_MAX_MS, &req->number);
	case SIM_CTL_WAIT:
		return parse_wait(p, object, req);
	case SIM_CTL_SCRIPT:
		return parse_script(p, object, req);
	default:
		return only(p, object, none);
	}
}

static int parse_object(struct parse *p, json_t *object, struct sim_ctl_request *req, bool step)
{
	uint64_t device = 0;
	int op;

	if (!json_is_object(object))
		return wrong(p, "request", NULL, "", "not an object");
	op = one_of(p, "request", json_object_get(object, "request"), op_names,
		    step ? SIM_CTL_SCRIPT : SIM_CTL_OPS);
	if (op < 0)
		return -1;
	req->op = (enum sim_ctl_op)op;
	if (optional(p, object, "device", UINT32_MAX, &device))
		return -1;
	req->device = (unsigned int)device;
	req->tag = json_incref(json_object_get(object, "tag"));
	return parse_members(p, object, req);
}

int sim_ctl_parse(const char *text, size_t len, struct sim_ctl_request *req, json_t **error)
{
	struct parse p = { .error = error };
	json_error_t why;
	json_t *object;
	char where[32];
	int err;

	memset(req, 0, sizeof(*req));
	*error = NULL;
	object = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!object) {
		snprintf(where, sizeof(where), "byte %d", why.position);
		return wrong(&p, where, NULL, "", why.text);
	}
	err = parse_object(&p, object, req, false);
	json_decref(object);
	if (err)
		sim_ctl_clear(req);
	return err;
}

void sim_ctl_clear(struct sim_ctl_request *req)
{
	for (unsigned int i = 0; i < req->n_steps; i++)
		sim_ctl_clear(&req->steps[i]);
	free(req->steps);
	json_decref(req->tag);
	memset(req, 0, sizeof(*req));
}
