// SPDX-License-Identifier: MIT
/*
 * Threads of a device: the socket's, which answers the client and never waits for the model; the
 * management core's (mc.c); one per compute core (worker.c).
 */
#include "device.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dbgwin.h"
#include "dma.h"
#include "fault_points.h"
#include "irq.h"
#include "log.h"
#include "mc.h"
#include "mmu.h"
#include "pci.h"
#include "regs.h"
#include "chip.h"
#include "trace.h"
#include "vfio_user.h"

#define REGION_BAR0	0
#define REGION_BAR1	1

struct sim_device {
	struct sim_device_config config;
	struct sim_soc *soc;
	struct sim_fi *faults;
	struct sim_window window;	/* the socket's thread */
	struct sim_dma *dma;
	struct sim_mmu *mmu;
	struct sim_irq *irq;
	struct sim_regs *regs;
	struct sim_mc *mc;
	struct sim_pci pci;
	struct sim_vfio *vfio;
	pthread_t thread;
};

static uint64_t region_size(void *ctx, unsigned int region)
{
	const struct sim_device *dev = ctx;

	switch (region) {
	case REGION_BAR0:
		return dev->pci.shape.bar0_bytes;
	case REGION_BAR1:
		return dev->pci.shape.msix_vectors ? SIM_PCI_BAR1_SIZE : 0;
	case SIM_VFIO_REGION_CONFIG:
		return SIM_PCI_CONFIG_SIZE;
	default:
		return 0;
	}
}

/*
 * An access that no function in D3hot answers: reads are all ones, writes are lost.  Counted, as
 * none is meant.
 */
static bool unanswered(struct sim_device *dev, uint64_t offset, const char *what)
{
	if (!sim_pci_asleep(&dev->pci))
		return false;
	if (!atomic_fetch_add(&sim_fi_counters(dev->faults)->mmio_asleep, 1))
		sim_log(SIM_LOG_WARN, dev->config.socket,
			"%s register offset 0x%x while the function is in D3hot", what,
			(uint32_t)offset);
	return true;
}

static void bar0_read(struct sim_device *dev, uint64_t offset, void *data, uint32_t count)
{
	if (sim_window_has(offset)) {
		sim_window_read(&dev->window, offset, data, count);
		return;
	}
	if (unanswered(dev, offset, "read of")) {
		memset(data, 0xff, count);
		return;
	}
	sim_fi_mmio(dev->faults, offset, false);
	sim_regs_read(dev->regs, offset, data, count);
	if (sim_fi_mmio_ones(dev->faults, offset))
		memset(data, 0xff, count);
}

static void bar0_write(struct sim_device *dev, uint64_t offset, const void *data, uint32_t count)
{
	if (sim_window_has(offset)) {
		sim_window_write(&dev->window, offset, data, count);
		return;
	}
	if (unanswered(dev, offset, "write to"))
		return;
	sim_fi_mmio(dev->faults, offset, true);
	sim_regs_write(dev->regs, offset, data, count);
}

static void region_read(void *ctx, unsigned int region, uint64_t offset, void *data, uint32_t count)
{
	struct sim_device *dev = ctx;

	if (region == REGION_BAR0)
		bar0_read(dev, offset, data, count);
	else if (region == REGION_BAR1)
		sim_pci_bar1_read(&dev->pci, sim_irq_pending(dev->irq), offset, data, count);
	else
		sim_pci_config_read(&dev->pci, offset, data, count);
}

static void reset(void *ctx)
{
	struct sim_device *dev = ctx;

	sim_fi_bus_reset(dev->faults);
	sim_pci_reset(&dev->pci);
	sim_regs_reset(dev->regs);
}

static void region_write(void *ctx, unsigned int region, uint64_t offset, const void *data,
			 uint32_t count)
{
	struct sim_device *dev = ctx;

	if (region == REGION_BAR0)
		bar0_write(dev, offset, data, count);
	else if (region == REGION_BAR1)
		sim_pci_bar1_write(&dev->pci, offset, data, count);
	else if (sim_pci_config_write(&dev->pci, offset, data, count))
		reset(dev);
}

static unsigned int irq_count(void *ctx, unsigned int index)
{
	return sim_irq_count(((struct sim_device *)ctx)->irq, index);
}

static int irq_set_eventfd(void *ctx, unsigned int index, unsigned int vector, int fd)
{
	return sim_irq_set_eventfd(((struct sim_device *)ctx)->irq, index, vector, fd);
}

static void irq_disable(void *ctx, unsigned int index)
{
	sim_irq_disable(((struct sim_device *)ctx)->irq, index);
}

static void irq_trigger(void *ctx, unsigned int index, unsigned int vector)
{
	(void)index;
	sim_irq_raise(((struct sim_device *)ctx)->irq, vector);
}

static int dma_map(void *ctx, uint64_t iova, uint64_t size, int fd, uint64_t offset, bool writable)
{
	return sim_dma_map(((struct sim_device *)ctx)->dma, iova, size, fd, offset, writable);
}

static int dma_unmap(void *ctx, uint64_t iova, uint64_t size)
{
	return sim_dma_unmap(((struct sim_device *)ctx)->dma, iova, size);
}

static void dma_unmap_all(void *ctx)
{
	sim_dma_unmap_all(((struct sim_device *)ctx)->dma);
}

static void disconnect(void *ctx)
{
	struct sim_device *dev = ctx;

	reset(dev);
	sim_irq_disconnect(dev->irq);
	sim_dma_unmap_all(dev->dma);
}

static unsigned int stall_ms(void *ctx)
{
	return sim_fi_stall_ms(((struct sim_device *)ctx)->faults);
}

static const struct sim_vfio_ops vfio_ops = {
	.region_size = region_size,
	.region_read = region_read,
	.region_write = region_write,
	.irq_count = irq_count,
	.irq_set_eventfd = irq_set_eventfd,
	.irq_disable = irq_disable,
	.irq_trigger = irq_trigger,
	.dma_map = dma_map,
	.dma_unmap = dma_unmap,
	.dma_unmap_all = dma_unmap_all,
	.reset = reset,
	.disconnect = disconnect,
	.stall_ms = stall_ms,
};

static void *socket_main(void *arg)
{
	struct sim_device *dev = arg;

	sim_vfio_serve(dev->vfio);
	return NULL;
}

static int new_host_side(struct sim_device *dev)
{
	const struct sim_device_config *config = &dev->config;

	dev->soc = sim_soc_new(config->chip);
	dev->dma = sim_dma_new(config->socket);
	dev->irq = sim_irq_new(config->pci.msix_vectors);
	if (!dev->soc || !dev->dma || !dev->irq)
		return ENOMEM;
	dev->faults = sim_fi_new(config->socket, dev->soc, config->trace);
	if (!dev->faults)
		return ENOMEM;
	sim_irq_set_faults(dev->irq, dev->faults);
	sim_dma_set_faults(dev->dma, dev->faults);
	sim_window_init(&dev->window, config->debug_window ? dev->faults : NULL);
	sim_soc_set_pace(dev->soc, config->pace);
	sim_pci_init(&dev->pci, &config->pci);
	dev->mmu = sim_mmu_new(dev->dma, config->chip->asids);
	if (!dev->mmu)
		return ENOMEM;
	sim_mmu_set_faults(dev->mmu, dev->faults);
	return 0;
}

static int new_device_side(struct sim_device *dev)
{
	const struct sim_device_config *config = &dev->config;
	const struct sim_regs_parts regs = {
		.who = config->socket,
		.chip = config->chip,
		.soc = dev->soc,
		.mmu = dev->mmu,
		.irq = dev->irq,
		.fuses = config->fuses,
		.faults = dev->faults,
	};
	struct sim_mc_parts mc = {
		.who = config->socket,
		.chip = config->chip,
		.soc = dev->soc,
		.dma = dev->dma,
		.mmu = dev->mmu,
		.trace = config->trace,
		.fuses = config->fuses,
		.faults = dev->faults,
		.threads = config->threads,
	};

	dev->regs = sim_regs_new(&regs);
	if (!dev->regs)
		return ENOMEM;
	mc.regs = dev->regs;
	dev->mc = sim_mc_new(&mc);
	if (!dev->mc)
		return errno;
	sim_regs_attach_mc(dev->regs, dev->mc);
	return 0;
}

static int start_faults(struct sim_device *dev)
{
	const struct sim_fi_parts parts = {
		.who = dev->config.socket, .soc = dev->soc, .trace = dev->config.trace,
		.regs = dev->regs, .irq = dev->irq, .dma = dev->dma, .mmu = dev->mmu,
		.mc = dev->mc, .vfio = dev->vfio,
	};

	return sim_fi_start(dev->faults, &parts);
}

static void free_parts(struct sim_device *dev)
{
	sim_fi_stop(dev->faults);
	sim_vfio_free(dev->vfio);
	sim_mc_free(dev->mc);
	sim_regs_free(dev->regs);
	sim_mmu_free(dev->mmu);
	sim_irq_free(dev->irq);
	sim_dma_free(dev->dma);
	sim_fi_free(dev->faults);
	sim_soc_free(dev->soc);
	free(dev);
}

struct sim_device *sim_device_new(const struct sim_device_config *config)
{
	struct sim_device *dev = calloc(1, sizeof(*dev));
	int err = ENOMEM;

	if (!dev)
		goto err_log;
	dev->config = *config;
	err = new_host_side(dev);
	if (!err)
		err = new_device_side(dev);
	if (err)
		goto err_free;
	dev->vfio = sim_vfio_new(config->socket, &vfio_ops, dev);
	if (!dev->vfio) {
		err = EADDRNOTAVAIL;
		goto err_free;
	}
	err = start_faults(dev);
	if (err)
		goto err_free;
	err = pthread_create(&dev->thread, NULL, socket_main, dev);
	if (err)
		goto err_free;
	return dev;

err_free:
	free_parts(dev);
err_log:
	sim_log(SIM_LOG_ERROR, config->socket, "cannot create the device: %s", strerror(err));
	return NULL;
}

void sim_device_free(struct sim_device *dev)
{
	if (!dev)
		return;
	sim_vfio_stop(dev->vfio);
	pthread_join(dev->thread, NULL);
	free_parts(dev);
}

const struct sim_device_config *sim_device_config(const struct sim_device *dev)
{
	return &dev->config;
}

struct sim_fi *sim_device_faults(struct sim_device *dev)
{
	return dev->faults;
}

struct sim_regs *sim_device_regs(struct sim_device *dev)
{
	return dev->regs;
}

struct sim_soc *sim_device_soc(struct sim_device *dev)
{
	return dev->soc;
}
