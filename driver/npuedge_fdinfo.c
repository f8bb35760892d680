// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: fdinfo
 *
 * What tools such as nvtop and gputop read: device time and memory of an open file, by the keys of
 * Documentation/gpu/drm-usage-stats.rst.
 *
 * DRM's helper takes a buffer for active if somebody would have to wait for it.  Fences of explicit
 * synchronisation are not among those, so memory is counted here.
 */

#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_drv.h"
#include "npuedge_evict.h"
#include "npuedge_fdinfo.h"
#include "npuedge_gem.h"
#include "npuedge_queue.h"

static void npuedge_fdinfo_engine(struct drm_printer *p, struct npuedge_file *f)
{
	u64 ns, cycles, all_ns, all_cycles;
	struct npuedge_queue *q;
	unsigned long id;

	mutex_lock(&f->usage_lock);
	all_ns = f->past_ns;
	all_cycles = f->past_cycles;
	xa_lock(&f->queues);
	xa_for_each(&f->queues, id, q) {
		npuedge_queue_usage(q, &ns, &cycles);
		all_ns += ns;
		all_cycles += cycles;
	}
	xa_unlock(&f->queues);
	mutex_unlock(&f->usage_lock);

	drm_printf(p, "drm-engine-npu:\t%llu ns\n", all_ns);
	drm_printf(p, "drm-engine-capacity-npu:\t%u\n", f->edev->chip.cores);
	drm_printf(p, "drm-cycles-npu:\t%llu\n", all_cycles);
	drm_printf(p, "drm-maxfreq-npu:\t%llu Hz\n", (u64)f->edev->chip.freq_max_khz * 1000);
}

static void npuedge_fdinfo_add(struct drm_memory_stats *stats, struct drm_gem_object *obj)
{
	enum drm_gem_object_status status = obj->funcs->status(obj);
	bool active = npuedge_evict_in_use(npuedge_gem_target(to_npuedge_gem(obj)));

	if (drm_gem_object_is_shared_for_memory_stats(obj))
		stats->shared += obj->size;
	else
		stats->private += obj->size;

	if (active)
		stats->active += obj->size;
	if (status & DRM_GEM_OBJECT_RESIDENT) {
		stats->resident += obj->size;
		if (status & DRM_GEM_OBJECT_PURGEABLE && !active)
			stats->purgeable += obj->size;
	}
}

/* The buffer with the lowest handle from @id on, referenced, or NULL. */
static struct drm_gem_object *npuedge_fdinfo_next(struct drm_file *file, int *id)
{
	struct drm_gem_object *obj;

	spin_lock(&file->table_lock);
	obj = idr_get_next(&file->object_idr, id);
	if (obj)
		drm_gem_object_get(obj);
	spin_unlock(&file->table_lock);
	return obj;
}

static void npuedge_fdinfo_memory(struct drm_printer *p, struct drm_file *file)
{
	struct drm_memory_stats stats = { };
	struct drm_gem_object *obj;

	for (int id = 0; (obj = npuedge_fdinfo_next(file, &id)); id++) {
		npuedge_fdinfo_add(&stats, obj);
		drm_gem_object_put(obj);
	}

	drm_print_memory_stats(p, &stats, DRM_GEM_OBJECT_ACTIVE | DRM_GEM_OBJECT_RESIDENT |
			       DRM_GEM_OBJECT_PURGEABLE, "memory");
}

/**
 * npuedge_fdinfo_show() - print what an open file uses
 * @p: where to
 * @file: file
 */
void npuedge_fdinfo_show(struct drm_printer *p, struct drm_file *file)
{
	npuedge_fdinfo_engine(p, file->driver_priv);
	npuedge_fdinfo_memory(p, file);
}
