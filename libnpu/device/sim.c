// SPDX-License-Identifier: MIT
/* Opening, closing and asking the in-process device. */
#include "device/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "error.h"

/* Addresses below are left out, so that small numbers taken for addresses fault. */
#define VA_START	0x100000u
/* Host threads for the arithmetic; more do not pay for commands of this size. */
#define MAX_THREADS	4

static void sim_close(npu_device *base)
{
	struct sim_device *dev = to_sim_device(base);

	npu_sim_worker_stop(dev);
	sim_core_free(dev->core);
	sim_soc_free(dev->soc);
	pthread_cond_destroy(&dev->work);
	pthread_cond_destroy(&dev->done);
	pthread_mutex_destroy(&dev->work_lock);
	pthread_mutex_destroy(&dev->map_lock);
	free(dev);
}

static npu_status sim_telemetry(npu_device *base, struct npu_telemetry *out)
{
	struct sim_soc *soc = to_sim_device(base)->soc;

	out->time_ns = sim_soc_time_ns(soc);
	out->energy_uj = sim_soc_energy_uj(soc);
	out->dram_rd_bytes = sim_soc_dram_rd_bytes(soc);
	out->dram_wr_bytes = sim_soc_dram_wr_bytes(soc);
	out->temp_die_mc = sim_soc_temp_die_mc(soc);
	out->temp_board_mc = sim_soc_temp_board_mc(soc);
	out->freq_khz = sim_soc_freq_khz(soc);
	return NPU_OK;
}

static const struct device_ops sim_ops = {
	.close = sim_close,
	.telemetry = sim_telemetry,
	.bo_new = npu_sim_bo_new,
	.bo_del = npu_sim_bo_del,
	.bo_map = npu_sim_bo_map,
	.bo_unmap = npu_sim_bo_unmap,
	.vm_new = npu_sim_vm_new,
	.vm_del = npu_sim_vm_del,
	.vm_map = npu_sim_vm_map,
	.vm_unmap = npu_sim_vm_unmap,
	.queue_new = npu_sim_queue_new,
	.queue_stop = npu_sim_queue_stop,
	.queue_free = npu_sim_queue_free,
	.submit = npu_sim_submit,
	.fence_wait = npu_sim_fence_wait,
	.fence_free = npu_sim_fence_free,
};

static void fill_chip(struct npu_chip_info *info, const struct sim_chip *chip)
{
	info->contract_version = NE1_VERSION_MAJOR << 16 | NE1_VERSION_MINOR;
	info->cores = chip->cores;
	info->sram_bytes = chip->sram_bytes;
	info->macs_per_cycle = chip->macs_fp16;
	info->vx_lanes = chip->vx_lanes;
	info->formats = chip->formats;
	info->freq_max_khz = sim_chip_top_opp(chip)->khz;
	info->dram_bw_mbps = chip->dram.peak_mbps;
	info->va_start = VA_START;
	info->va_end = 1ull << NE1_VA_BITS;
	snprintf(info->name, sizeof(info->name), "%.*s", SIM_CHIP_NAME_SIZE, chip->name);
}

static unsigned int host_threads(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (unsigned int)n;
}

void npu_sim_check_hazards(npu_device *dev, bool on)
{
	sim_core_check_hazards(to_sim_device(dev)->core, on);
}

void npu_sim_preempt(npu_device *dev, bool on)
{
	sim_core_set_yield(to_sim_device(dev)->core, on);
}

static void init_locks(struct sim_device *dev)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(&dev->base.lock, NULL);
	pthread_mutex_init(&dev->map_lock, NULL);
	pthread_mutex_init(&dev->work_lock, NULL);
	pthread_cond_init(&dev->work, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&dev->done, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

/* CHIP[,preempt] */
static npu_status parse_name(struct sim_device *dev, const char *name, bool *put_aside)
{
	static const char preempt[] = ",preempt";
	char chip[sizeof(dev->base.name)], err[200];
	size_t len = strlen(name), tail = sizeof(preempt) - 1;

	*put_aside = len >= tail && !strcmp(name + len - tail, preempt);
	if (*put_aside)
		len -= tail;
	if (len >= sizeof(chip))
		return npu_fail(NPU_ERR_NO_DEVICE,
				"device sim:%s: a name of %zu characters, limit %zu", name, len,
				sizeof(chip) - 1);
	memcpy(chip, name, len);
	chip[len] = '\0';
	if (sim_chip_load(len ? chip : "edge", &dev->chip, err, sizeof(err)))
		return npu_fail(NPU_ERR_NO_DEVICE, "device sim:%s: %s", name, err);
	return NPU_OK;
}

npu_status npu_sim_open(const char *chip, npu_device **out)
{
	struct sim_device *dev = calloc(1, sizeof(*dev));
	npu_status status;
	bool put_aside;

	if (!dev)
		return npu_fail(NPU_ERR_NOMEM, "device sim:%s: no memory", chip);
	status = parse_name(dev, chip, &put_aside);
	if (status) {
		free(dev);
		return status;
	}
	dev->base.ops = &sim_ops;
	dev->base.page = NPU_PAGE;
	snprintf(dev->base.name, sizeof(dev->base.name), "sim:%s", chip);
	fill_chip(&dev->base.chip, &dev->chip);
	init_locks(dev);
	npu_sim_mem_init(dev);
	dev->soc = sim_soc_new(&dev->chip);
	if (dev->soc)
		dev->core = sim_core_new(&dev->chip, dev->soc, &dev->mem, host_threads());
	if (dev->core)
		npu_sim_preempt(&dev->base, put_aside);
	status = dev->core ? npu_sim_worker_start(dev) :
			     npu_fail(NPU_ERR_NOMEM, "device %s: no memory", dev->base.name);
	if (status) {
		npu_device_close(&dev->base);
		return status;
	}
	*out = &dev->base;
	return NPU_OK;
}
