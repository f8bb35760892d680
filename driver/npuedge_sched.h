/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_SCHED_H
#define NPUEDGE_SCHED_H

#include <drm/gpu_scheduler.h>

/**
 * npuedge_sched_fini() - end a scheduler whose last job may just be being freed
 * @sched: scheduler without entities; who pauses it does not start it again; a grace period has
 *         passed since its last job ended
 *
 * What frees the last job drops the last reference to us, and then asks for the next job to be run.
 * It looks whether the scheduler is stopped, and queues that work afterwards; so may a timeout.
 * drm_sched_fini() cancels the work before it waits for those, and frees what the work looks at.
 * Wait for them first: what they still have queued is cancelled then.
 *
 * The grace period is for who signals what the last job waits for.  That lets the job run, and
 * wakes the scheduler of its entity afterwards, when the job may have ended: in a fence's callback,
 * which holds a spinlock.
 */
static inline void npuedge_sched_fini(struct drm_gpu_scheduler *sched)
{
	drm_sched_wqueue_stop(sched);
	cancel_delayed_work_sync(&sched->work_tdr);
	drm_sched_fini(sched);
}

#endif
