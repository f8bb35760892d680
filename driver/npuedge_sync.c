// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Syncobjs
 *
 * What a job waits for becomes its dependencies; what it signals is looked up, and the links of
 * timelines are allocated, before the job is armed, so that signalling cannot fail.
 *
 * A fence must exist when it is waited for.  What an earlier job of the same call signals has none
 * yet: such waits are dropped, as those jobs run in order.  Of a timeline only what the earlier job
 * adds is dropped: a point is reached when all before it are, and these may be somebody else's.
 */

#include <linux/dma-fence-chain.h>

#include <drm/drm_syncobj.h>
#include <drm/gpu_scheduler.h>
#include <drm/npuedge_accel.h>

#include "npuedge_array.h"
#include "npuedge_check.h"
#include "npuedge_compat.h"
#include "npuedge_sync.h"

static int npuedge_sync_check_array(const struct drm_npuedge_array *array)
{
	return NPUEDGE_ARRAY_CHECK(array, struct drm_npuedge_sync, point, NPUEDGE_MAX_SYNCS);
}

static int npuedge_sync_get(const struct drm_npuedge_array *array, u32 index,
			    struct drm_npuedge_sync *sync)
{
	int ret = npuedge_array_get(array, index, sync, sizeof(*sync));

	return ret ?: npuedge_check_sync(sync);
}

/* Whether earlier jobs of the call signal the syncobj: at this point, or (@beyond) a later one. */
static bool npuedge_sync_is_signalled(const struct npuedge_signals *earlier,
				      const struct drm_npuedge_sync *sync, bool beyond)
{
	for (; earlier; earlier = earlier->earlier) {
		for (u32 i = 0; i < earlier->count; i++) {
			const struct npuedge_signal *sig = &earlier->array[i];

			if (sig->handle != sync->handle || !sig->point != !sync->point)
				continue;
			if (beyond ? sig->point > sync->point : sig->point == sync->point)
				return true;
		}
	}
	return false;
}

static int npuedge_sync_add_wait(struct drm_sched_job *job, struct drm_file *file,
				 const struct drm_npuedge_sync *sync,
				 const struct npuedge_signals *earlier)
{
	struct dma_fence *fence;
	bool inner;
	int ret;

	inner = npuedge_sync_is_signalled(earlier, sync, false);
	if (inner && !sync->point)
		return 0;

	ret = inner ? -EINVAL :
		      drm_syncobj_find_fence(file, sync->handle, sync->point, 0, &fence);
	inner |= ret == -EINVAL && npuedge_sync_is_signalled(earlier, sync, true);
	if (inner) {
		/* What the timeline has so far, if anything. */
		ret = drm_syncobj_find_fence(file, sync->handle, 0, 0, &fence);
		if (ret == -EINVAL)
			return 0;
	}
	return ret ?: drm_sched_job_add_dependency(job, fence);
}

/**
 * npuedge_sync_add_waits() - make a job wait for syncobjs
 * @job: job, not armed
 * @file: owner of the handles
 * @array: struct drm_npuedge_sync[] in user memory
 * @earlier: what the job before in the same call signals, or NULL
 *
 * Return: 0, or a negative errno as the uAPI says.
 */
int npuedge_sync_add_waits(struct drm_sched_job *job, struct drm_file *file,
			   const struct drm_npuedge_array *array,
			   const struct npuedge_signals *earlier)
{
	struct drm_npuedge_sync sync;
	int ret;

	ret = npuedge_sync_check_array(array);
	for (u32 i = 0; !ret && i < array->count; i++) {
		ret = npuedge_sync_get(array, i, &sync);
		ret = ret ?: npuedge_sync_add_wait(job, file, &sync, earlier);
	}
	return ret;
}

static int npuedge_sync_get_signal(struct npuedge_signal *sig, struct drm_file *file,
				   const struct drm_npuedge_sync *sync)
{
	sig->handle = sync->handle;
	sig->point = sync->point;
	if (sync->flags & DRM_NPUEDGE_SYNC_TIMELINE) {
		sig->chain = dma_fence_chain_alloc();
		if (!sig->chain)
			return -ENOMEM;
	}

	sig->syncobj = drm_syncobj_find(file, sync->handle);
	if (sig->syncobj)
		return 0;

	dma_fence_chain_free(sig->chain);
	return -ENOENT;
}

/**
 * npuedge_sync_get_signals() - get hold of the syncobjs that a job is going to signal
 * @signals: filled, and not moved afterwards; npuedge_sync_put_signals() empties it, also after
 *	an error
 * @file: owner of the handles
 * @array: struct drm_npuedge_sync[] in user memory
 *
 * Return: 0, or a negative errno as the uAPI says.
 */
int npuedge_sync_get_signals(struct npuedge_signals *signals, struct drm_file *file,
			     const struct drm_npuedge_array *array)
{
	struct drm_npuedge_sync sync;
	int ret;

	ret = npuedge_sync_check_array(array);
	if (ret || !array->count)
		return ret;

	signals->array = array->count == 1 ? &signals->one :
			 kvzalloc_objs(*signals->array, array->count, GFP_KERNEL_ACCOUNT);
	if (!signals->array)
		return -ENOMEM;

	for (u32 i = 0; !ret && i < array->count; i++) {
		ret = npuedge_sync_get(array, i, &sync);
		ret = ret ?: npuedge_sync_get_signal(&signals->array[i], file, &sync);
		signals->count += !ret;
	}
	return ret;
}

/**
 * npuedge_sync_signal() - give the syncobjs their fence
 * @signals: syncobjs
 * @fence: end of the job, which is armed
 */
void npuedge_sync_signal(struct npuedge_signals *signals, struct dma_fence *fence)
{
	for (u32 i = 0; i < signals->count; i++) {
		struct npuedge_signal *sig = &signals->array[i];

		if (sig->chain)
			drm_syncobj_add_point(sig->syncobj, sig->chain, fence, sig->point);
		else
			drm_syncobj_replace_fence(sig->syncobj, fence);
		/* The syncobj owns it now. */
		sig->chain = NULL;
	}
}

/**
 * npuedge_sync_put_signals() - let go of syncobjs
 * @signals: syncobjs, signalled or not
 */
void npuedge_sync_put_signals(struct npuedge_signals *signals)
{
	for (u32 i = 0; i < signals->count; i++) {
		if (signals->array[i].chain)
			dma_fence_chain_free(signals->array[i].chain);
		drm_syncobj_put(signals->array[i].syncobj);
	}
	if (signals->array != &signals->one)
		kvfree(signals->array);
}
