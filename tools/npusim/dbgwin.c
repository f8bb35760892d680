// SPDX-License-Identifier: MIT
#include "dbgwin.h"

#include <string.h>
#include <time.h>

#include "fault_points.h"

#define ARG_FIRST	NPUSIM_WIN_ARG_LO(0)
#define ARG_LAST	NPUSIM_WIN_ARG_HI(SIM_FI_ARGS - 1)

void sim_window_init(struct sim_window *w, struct sim_fi *faults)
{
	memset(w, 0, sizeof(*w));
	w->faults = faults;
	sim_fi_defaults(&w->spec, w->fault);
}

/* Registers of 64 bits that were written, by the offset of their low half. */
static uint64_t *pair_at(struct sim_window *w, uint32_t offset)
{
	switch (offset) {
	case NPUSIM_WIN_AFTER_LO:
		return &w->spec.after;
	case NPUSIM_WIN_COUNT_LO:
		return &w->spec.count;
	case NPUSIM_WIN_SEED_LO:
		return &w->spec.seed;
	case NPUSIM_WIN_KEY_LO:
		return &w->spec.key;
	}
	if (offset >= ARG_FIRST && offset <= ARG_LAST && !(offset & 4))
		return &w->spec.arg[(offset - ARG_FIRST) / 8];
	return NULL;
}

/* ---- Reads ---- */

static bool read_counter(struct sim_window *w, uint32_t offset, uint64_t *value)
{
	struct sim_fi_counters *c = sim_fi_counters(w->faults);
	struct sim_fi_status status;
	struct timespec ts;

	sim_fi_status(w->faults, w->fault, &status);
	switch (offset) {
	case NPUSIM_WIN_SEEN_LO:
		*value = status.seen;
		return true;
	case NPUSIM_WIN_FIRED_LO:
		*value = status.fired;
		return true;
	case NPUSIM_WIN_READS_LO:
		*value = atomic_load(&c->mmio_reads);
		return true;
	case NPUSIM_WIN_WRITES_LO:
		*value = atomic_load(&c->mmio_writes);
		return true;
	case NPUSIM_WIN_DOORBELLS_LO:
		*value = atomic_load(&c->doorbells);
		return true;
	case NPUSIM_WIN_JOBS_LO:
		*value = atomic_load(&c->jobs);
		return true;
	case NPUSIM_WIN_WALKS_LO:
		*value = atomic_load(&c->walks);
		return true;
	case NPUSIM_WIN_DOORBELL_NS_LO:
		*value = atomic_load(&c->doorbell_ns);
		return true;
	case NPUSIM_WIN_IRQ_NS_LO:
		*value = atomic_load(&c->irq_ns);
		return true;
	case NPUSIM_WIN_ASLEEP_LO:
		*value = atomic_load(&c->mmio_asleep);
		return true;
	case NPUSIM_WIN_HOST_NS_LO:
		clock_gettime(CLOCK_MONOTONIC, &ts);
		*value = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
		return true;
	}
	for (unsigned int v = 0; v < NE1_MSIX_VECTORS; v++) {
		if (offset == NPUSIM_WIN_IRQS_LO(v)) {
			*value = atomic_load(&c->irqs[v]);
			return true;
		}
	}
	return false;
}

static uint32_t read_word(struct sim_window *w, uint32_t offset)
{
	struct sim_fi_status status;
	uint64_t value;

	switch (offset) {
	case NPUSIM_WIN_ID:
		return NPUSIM_WIN_MAGIC;
	case NPUSIM_WIN_VERSION:
		return NPUSIM_WIN_VERSION_NOW;
	case NPUSIM_WIN_FAULTS:
		return NPUSIM_FAULTS;
	case NPUSIM_WIN_FAULT:
		return w->fault;
	case NPUSIM_WIN_DURATION:
		return (uint32_t)w->spec.duration_us;
	case NPUSIM_WIN_PROB:
		return w->spec.ppm;
	case NPUSIM_WIN_ON:
		return w->spec.on;
	case NPUSIM_WIN_STATUS:
		return w->status;
	case NPUSIM_WIN_STATE:
		sim_fi_status(w->faults, w->fault, &status);
		return status.armed | status.active << 1;
	}
	if (pair_at(w, offset))
		return (uint32_t)*pair_at(w, offset);
	if (pair_at(w, offset - 4))
		return *pair_at(w, offset - 4) >> 32;
	if (read_counter(w, offset, &value)) {
		w->high = value >> 32;
		return (uint32_t)value;
	}
	return offset >= NPUSIM_WIN_SEEN_HI && offset <= NPUSIM_WIN_ASLEEP_HI ? w->high : 0;
}

void sim_window_read(struct sim_window *w, uint32_t offset, void *data, uint32_t count)
{
	uint32_t value;

	memset(data, 0, count);
	if (!w->faults || count != sizeof(value) || offset % sizeof(value))
		return;
	value = read_word(w, offset - NPUSIM_WINDOW);
	memcpy(data, &value, sizeof(value));
}

/* ---- Writes ---- */

/* Offset of the register that holds what @field is about. */
static uint32_t register_of(const struct sim_window *w, const char *field)
{
	const struct sim_fi_kind *kind = &sim_fi_kinds[w->fault];

	if (!strcmp(field, "on"))
		return NPUSIM_WIN_ON;
	if (!strcmp(field, "key"))
		return NPUSIM_WIN_KEY_LO;
	if (!strcmp(field, "probability"))
		return NPUSIM_WIN_PROB;
	if (!strcmp(field, "duration_us"))
		return NPUSIM_WIN_DURATION;
	for (unsigned int i = 0; i < SIM_FI_ARGS; i++)
		if (kind->arg[i].name && !strcmp(kind->arg[i].name, field))
			return NPUSIM_WIN_ARG_LO(i);
	return NPUSIM_WIN_FAULT;
}

static void arm(struct sim_window *w)
{
	struct sim_fi_error error;

	if (sim_fi_check(&w->spec, &error))
		sim_fi_arm(w->faults, &w->spec);
	else
		w->status = NPUSIM_STATUS_BAD_VALUE | register_of(w, error.field) / 4 << 8;
}

static void command(struct sim_window *w, uint32_t cmd)
{
	w->status = NPUSIM_STATUS_OK;
	switch (cmd) {
	case NPUSIM_CMD_ARM:
		arm(w);
		break;
	case NPUSIM_CMD_DISARM:
		sim_fi_disarm(w->faults, w->fault);
		break;
	case NPUSIM_CMD_DISARM_ALL:
		sim_fi_disarm_all(w->faults);
		break;
	case NPUSIM_CMD_SEED_ALL:
		sim_fi_seed(w->faults, w->spec.seed);
		break;
	default:
		w->status = NPUSIM_STATUS_BAD_CMD;
	}
}

static void choose_fault(struct sim_window *w, uint32_t fault)
{
	w->status = fault < NPUSIM_FAULTS ? NPUSIM_STATUS_OK : NPUSIM_STATUS_BAD_FAULT;
	if (w->status)
		return;
	w->fault = fault;
	sim_fi_defaults(&w->spec, fault);
}

static void write_word(struct sim_window *w, uint32_t offset, uint32_t value)
{
	uint64_t *pair;

	switch (offset) {
	case NPUSIM_WIN_FAULT:
		choose_fault(w, value);
		return;
	case NPUSIM_WIN_DURATION:
		w->spec.duration_us = value;
		return;
	case NPUSIM_WIN_PROB:
		w->spec.ppm = value;
		return;
	case NPUSIM_WIN_ON:
		w->spec.on = value;
		return;
	case NPUSIM_WIN_CMD:
		command(w, value);
		return;
	}
	pair = pair_at(w, offset);
	if (pair) {
		*pair = (*pair >> 32 << 32) | value;
		return;
	}
	pair = pair_at(w, offset - 4);
	if (pair)
		*pair = (uint64_t)value << 32 | (uint32_t)*pair;
}

void sim_window_write(struct sim_window *w, uint32_t offset, const void *data, uint32_t count)
{
	uint32_t value;

	if (!w->faults || count != sizeof(value) || offset % sizeof(value))
		return;
	memcpy(&value, data, sizeof(value));
	write_word(w, offset - NPUSIM_WINDOW, value);
}
