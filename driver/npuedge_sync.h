/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_SYNC_H
#define NPUEDGE_SYNC_H

#include <linux/types.h>

struct dma_fence;
struct dma_fence_chain;
struct drm_file;
struct drm_npuedge_array;
struct drm_sched_job;
struct drm_syncobj;

/** NPUEDGE_MAX_SYNCS - longest array of struct drm_npuedge_sync */
#define NPUEDGE_MAX_SYNCS	256

/**
 * struct npuedge_signal - a syncobj that a job signals
 */
struct npuedge_signal {
	/** @syncobj: referenced */
	struct drm_syncobj *syncobj;
	/** @chain: link for a timeline; NULL: binary */
	struct dma_fence_chain *chain;
	/** @handle: what user space calls it */
	u32 handle;
	/** @point: timeline point; 0: binary */
	u64 point;
};

/**
 * struct npuedge_signals - syncobjs that a job signals; initially zero
 */
struct npuedge_signals {
	/** @earlier: what the job before this one in the same call signals, or NULL */
	const struct npuedge_signals *earlier;
	/** @array: syncobjs */
	struct npuedge_signal *array;
	/** @one: @array, if there is but one, as is usual */
	struct npuedge_signal one;
	/** @count: number of entries of @array that are filled in */
	u32 count;
};

int npuedge_sync_add_waits(struct drm_sched_job *job, struct drm_file *file,
			   const struct drm_npuedge_array *array,
			   const struct npuedge_signals *earlier);
int npuedge_sync_get_signals(struct npuedge_signals *signals, struct drm_file *file,
			     const struct drm_npuedge_array *array);
void npuedge_sync_signal(struct npuedge_signals *signals, struct dma_fence *fence);
void npuedge_sync_put_signals(struct npuedge_signals *signals);

#endif
