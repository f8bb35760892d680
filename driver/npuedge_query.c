// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Queries
 *
 * Answers DEV_QUERY: constant properties are copied from where they are kept, the others are
 * collected at the time of the call.
 */

#include <linux/errno.h>

#include <drm/npuedge_accel.h>

#include "npuedge_bind_job.h"
#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_event.h"
#include "npuedge_fw.h"
#include "npuedge_hw.h"
#include "npuedge_limits.h"
#include "npuedge_mmu.h"
#include "npuedge_perfmon.h"
#include "npuedge_query.h"
#include "npuedge_queue.h"
#include "npuedge_reset.h"
#include "npuedge_shrinker.h"
#include "npuedge_submit.h"
#include "npuedge_sync.h"

static int npuedge_query_copy(struct drm_npuedge_dev_query *args, const void *info, u32 size)
{
	u32 user_size = args->size;

	args->size = size;
	if (!args->pointer)
		return 0;
	return copy_struct_to_user(u64_to_user_ptr(args->pointer), user_size, info, size, NULL);
}

/* On a frozen bus registers of ones say nothing: after it has recovered they do. */
static int npuedge_query_sensors(struct npuedge_device *edev, struct drm_npuedge_telemetry *out)
{
	bool frozen;

	do {
		npuedge_reset_hold(edev);
		npuedge_hw_telemetry(edev, out);
		frozen = READ_ONCE(edev->frozen);
		npuedge_reset_release(edev);
	} while (frozen && npuedge_reset_passed(edev));

	if (!frozen)
		return 0;
	return READ_ONCE(edev->lost) ? -ENODEV : -EINTR;
}

static int npuedge_query_telemetry(struct npuedge_device *edev, struct drm_npuedge_dev_query *args)
{
	struct drm_npuedge_telemetry telemetry = { };
	int cookie, ret;

	if (args->pointer) {
		ret = npuedge_device_awake(edev, &cookie);
		if (ret)
			return ret;
		ret = npuedge_query_sensors(edev, &telemetry);
		npuedge_device_asleep(edev, cookie);
		if (ret)
			return ret;
	}
	return npuedge_query_copy(args, &telemetry, sizeof(telemetry));
}

static int npuedge_query_memory(struct npuedge_device *edev, struct drm_npuedge_dev_query *args)
{
	struct drm_npuedge_memory_info info;

	npuedge_shrinker_info(edev, &info);
	return npuedge_query_copy(args, &info, sizeof(info));
}

static int npuedge_query_limits(struct npuedge_device *edev, struct drm_npuedge_dev_query *args)
{
	const struct drm_npuedge_limits limits = {
		.jobs_per_submit = NPUEDGE_MAX_JOBS,
		.syncs_per_job = NPUEDGE_MAX_SYNCS,
		.bos_per_job = NPUEDGE_MAX_BOS,
		.perfmons = NPUEDGE_MAX_PERFMONS,
		.events = NPUEDGE_EVENTS,
		.ops_per_bind = NPUEDGE_MAX_BIND_OPS,
		.label_bytes = NPUEDGE_LABEL_SIZE,
		.job_timeout_ms = READ_ONCE(edev->job_timeout_ms),
		.queues_per_user = npuedge_queues_per_user(edev),
		.vms = NPUEDGE_MAX_VMS,
		.counters = npuedge_perfmon_counters(edev),
		.bind_align = NPUEDGE_PAGE,
	};

	return npuedge_query_copy(args, &limits, sizeof(limits));
}

/**
 * npuedge_query() - answer a query
 * @edev: device
 * @args: what, and where to; out: size of the answer
 *
 * Return: 0, -EINVAL for an unknown type, -EFAULT, -ENODEV.
 */
int npuedge_query(struct npuedge_device *edev, struct drm_npuedge_dev_query *args)
{
	switch (args->type) {
	case DRM_NPUEDGE_QUERY_CHIP:
		return npuedge_query_copy(args, &edev->chip, sizeof(edev->chip));
	case DRM_NPUEDGE_QUERY_FIRMWARE:
		return npuedge_query_copy(args, &edev->fw->info, sizeof(edev->fw->info));
	case DRM_NPUEDGE_QUERY_TELEMETRY:
		return npuedge_query_telemetry(edev, args);
	case DRM_NPUEDGE_QUERY_MEMORY:
		return npuedge_query_memory(edev, args);
	case DRM_NPUEDGE_QUERY_LIMITS:
		return npuedge_query_limits(edev, args);
	default:
		return -EINVAL;
	}
}
