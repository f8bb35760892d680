// SPDX-License-Identifier: MIT
#include "ctl_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "device.h"
#include "fault_points.h"
#include "ne1_fwabi.h"
#include "regs.h"

/* Numbers above 2^63 become text, as requests may have them. */
static json_t *u64(uint64_t value)
{
	char text[24];

	if (value <= INT64_MAX)
		return json_integer((json_int_t)value);
	if (value == SIM_FI_ANY)
		return json_string("any");
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	return json_string(text);
}

static void put(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, u64(value));
}

static void put_text(json_t *object, const char *name, const char *text)
{
	json_object_set_new(object, name, json_string(text));
}

/* ---- Faults ---- */

static json_t *describe_args(const struct sim_fi_kind *kind)
{
	json_t *args = json_array();

	for (unsigned int i = 0; i < SIM_FI_ARGS && kind->arg[i].name; i++) {
		json_t *arg = json_object();

		put_text(arg, "name", kind->arg[i].name);
		put(arg, "max", kind->arg[i].max);
		put(arg, "default", kind->arg[i].def);
		put_text(arg, "help", kind->arg[i].help);
		if (i < kind->selects)
			json_object_set_new(arg, "selects", json_true());
		json_array_append_new(args, arg);
	}
	return args;
}

json_t *sim_answer_list(void)
{
	json_t *list = json_array();

	for (unsigned int f = 0; f < NPUSIM_FAULTS; f++) {
		const struct sim_fi_kind *kind = &sim_fi_kinds[f];
		json_t *fault = json_object();

		put_text(fault, "fault", kind->name);
		put(fault, "number", f);
		put_text(fault, "help", kind->help);
		put_text(fault, "event", kind->event ? kind->event : "as \"on\" says");
		put_text(fault, "duration_us", kind->duration ? kind->duration :
			 "disarmed so long after the first firing");
		put(fault, "count", kind->unlimited ? 0 : 1);
		json_object_set_new(fault, "args", describe_args(kind));
		json_array_append_new(list, fault);
	}
	return list;
}

json_t *sim_answer_status(struct sim_device *device)
{
	json_t *list = json_array();

	for (unsigned int f = 0; f < NPUSIM_FAULTS; f++) {
		struct sim_fi_status status;
		json_t *fault;

		sim_fi_status(sim_device_faults(device), f, &status);
		if (!status.armed && !status.active && !status.seen)
			continue;
		fault = json_object();
		put_text(fault, "fault", sim_fi_kinds[f].name);
		json_object_set_new(fault, "armed", json_boolean(status.armed));
		json_object_set_new(fault, "active", json_boolean(status.active));
		put(fault, "seen", status.seen);
		put(fault, "fired", status.fired);
		json_array_append_new(list, fault);
	}
	return list;
}

json_t *sim_answer_log(struct sim_device *device, uint64_t since)
{
	struct sim_fi_firing *log = calloc(SIM_FI_LOG, sizeof(*log));
	json_t *list = json_array();
	unsigned int n;

	n = log ? sim_fi_log(sim_device_faults(device), since, log, SIM_FI_LOG) : 0;
	for (unsigned int i = 0; i < n; i++) {
		json_t *entry = json_object();

		put(entry, "number", log[i].number);
		put(entry, "time_ns", log[i].time_ns);
		put_text(entry, "fault", sim_fi_kinds[log[i].fault].name);
		json_object_set_new(entry, "key", json_pack("[o, o]", u64(log[i].key[0]),
							    u64(log[i].key[1])));
		json_array_append_new(list, entry);
	}
	free(log);
	return list;
}

/* ---- Counts ---- */

static json_t *queues(struct sim_device *device)
{
	json_t *list = json_array();

	for (unsigned int q = 0; q < NE1_MAX_QUEUES; q++) {
		struct ne1_fw_queue line;
		json_t *queue;

		if (!sim_fi_read_queue(sim_device_faults(device), q, &line, sizeof(line)))
			continue;
		queue = json_object();
		put(queue, "queue", q);
		put(queue, "tail", line.tail);
		put(queue, "head", line.head);
		put(queue, "state", line.state);
		put(queue, "done_seqno", line.done_seqno);
		put(queue, "done_count", line.done_count);
		put(queue, "run_seqno", line.run_seqno);
		put(queue, "on_core", line.on_core);
		put(queue, "preempted", line.preempted);
		put(queue, "busy_ns", line.busy_ns);
		json_array_append_new(list, queue);
	}
	return list;
}

static json_t *counters(struct sim_device *device)
{
	struct sim_fi_counters *c = sim_fi_counters(sim_device_faults(device));
	json_t *object = json_object(), *irqs = json_array();

	put(object, "mmio_reads", atomic_load(&c->mmio_reads));
	put(object, "mmio_writes", atomic_load(&c->mmio_writes));
	put(object, "mmio_asleep", atomic_load(&c->mmio_asleep));
	put(object, "doorbells", atomic_load(&c->doorbells));
	put(object, "mailboxes", atomic_load(&c->mailboxes));
	put(object, "jobs", atomic_load(&c->jobs));
	put(object, "walks", atomic_load(&c->walks));
	for (unsigned int v = 0; v < NE1_MSIX_VECTORS; v++)
		json_array_append_new(irqs, u64(atomic_load(&c->irqs[v])));
	json_object_set_new(object, "irqs", irqs);
	put(object, "doorbell_host_ns", atomic_load(&c->doorbell_ns));
	put(object, "irq_host_ns", atomic_load(&c->irq_ns));
	return object;
}

static uint32_t reg(struct sim_device *device, uint32_t offset)
{
	uint32_t value;

	sim_regs_read(sim_device_regs(device), offset, &value, sizeof(value));
	return value;
}

json_t *sim_answer_info(struct sim_device *device)
{
	const struct sim_device_config *config = sim_device_config(device);
	json_t *info = json_object();

	put_text(info, "socket", config->socket);
	put_text(info, "chip", config->chip->name);
	put(info, "time_ns", sim_soc_time_ns(sim_device_soc(device)));
	put(info, "boot_status", reg(device, NE1_REG_BOOT_STATUS));
	json_object_set_new(info, "counters", counters(device));
	json_object_set_new(info, "queues", queues(device));
	return info;
}

json_t *sim_answer_jobs(struct sim_device *device)
{
	struct sim_fi_job *job = calloc(SIM_FI_JOBS, sizeof(*job));
	json_t *list = json_array();
	unsigned int n = job ? sim_fi_jobs(sim_device_faults(device), job) : 0;

	for (unsigned int i = 0; i < n; i++) {
		json_t *entry = json_object();

		put(entry, "number", job[i].number);
		put(entry, "queue", job[i].queue);
		put(entry, "seqno", job[i].seqno);
		put(entry, "host_ns", job[i].host_ns);
		put(entry, "mmio_reads", job[i].mmio_reads);
		put(entry, "mmio_writes", job[i].mmio_writes);
		put(entry, "doorbells", job[i].doorbells);
		put(entry, "irqs", job[i].irqs);
		json_array_append_new(list, entry);
	}
	free(job);
	return list;
}

/* LO latches HI for the guest as well, so pairs that latch are left out: info has the time. */
json_t *sim_answer_registers(struct sim_device *device)
{
	static const struct {
		const char *name;
		uint32_t offset;
	} regs[] = {
		{ "ID", NE1_REG_ID }, { "VERSION", NE1_REG_VERSION },
		{ "PLATFORM", NE1_REG_PLATFORM }, { "CAP_CORES", NE1_REG_CAP_CORES },
		{ "CAP_SRAM", NE1_REG_CAP_SRAM }, { "CAP_QUEUES", NE1_REG_CAP_QUEUES },
		{ "CAP_ASIDS", NE1_REG_CAP_ASIDS }, { "BOOT_STATUS", NE1_REG_BOOT_STATUS },
		{ "BOOT_IMG_LO", NE1_REG_BOOT_IMG_LO }, { "BOOT_IMG_HI", NE1_REG_BOOT_IMG_HI },
		{ "BOOT_IMG_SIZE", NE1_REG_BOOT_IMG_SIZE },
		{ "FW_PGD_LO", NE1_REG_FW_PGD_LO }, { "FW_PGD_HI", NE1_REG_FW_PGD_HI },
		{ "RESET", NE1_REG_RESET }, { "IRQ_STATUS", NE1_REG_IRQ_STATUS },
		{ "IRQ_ENABLE", NE1_REG_IRQ_ENABLE }, { "MMU_FAULT", NE1_REG_MMU_FAULT },
		{ "MMU_FAULT_VA_LO", NE1_REG_MMU_FAULT_VA_LO },
		{ "MMU_FAULT_VA_HI", NE1_REG_MMU_FAULT_VA_HI },
		{ "MMU_TLB_INV", NE1_REG_MMU_TLB_INV }, { "FREQ", NE1_REG_FREQ },
		{ "TEMP_DIE", NE1_REG_TEMP_DIE }, { "TEMP_BOARD", NE1_REG_TEMP_BOARD },
	};
	json_t *object = json_object();

	for (unsigned int i = 0; i < sizeof(regs) / sizeof(regs[0]); i++)
		put(object, regs[i].name, reg(device, regs[i].offset));
	return object;
}
