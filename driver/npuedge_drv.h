/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_DRV_H
#define NPUEDGE_DRV_H

#include <linux/mutex.h>
#include <linux/xarray.h>

struct drm_driver;
struct npuedge_device;
struct npuedge_listener;

/**
 * struct npuedge_file - what an open file has
 */
struct npuedge_file {
	/** @edev: device */
	struct npuedge_device *edev;
	/** @listener: what it hears of the device */
	struct npuedge_listener *listener;
	/** @vms: struct npuedge_vm by id; its lock also protects taking a reference */
	struct xarray vms;
	/** @queues: struct npuedge_queue by id; likewise */
	struct xarray queues;
	/** @perfmons: monitors by id; under perfmon.lock of the device */
	struct xarray perfmons;
	/** @usage_lock: protects the members below, and a queue's way from @queues to them */
	struct mutex usage_lock;
	/** @past_ns: busy time of destroyed queues */
	u64 past_ns;
	/** @past_cycles: busy cycles of destroyed queues */
	u64 past_cycles;
};

extern const struct drm_driver npuedge_drm_driver;

#endif
