/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_PERFMON_H
#define NPUEDGE_PERFMON_H

#include <linux/kref.h>
#include <linux/spinlock.h>

#include "ne1_fwabi.h"

struct drm_npuedge_perfmon_create;
struct drm_npuedge_perfmon_read;
struct npuedge_device;
struct npuedge_file;
struct npuedge_queue;

/** NPUEDGE_MAX_PERFMONS - monitors of an open file */
#define NPUEDGE_MAX_PERFMONS	16

/**
 * struct npuedge_counters - what a queue has used; outlives the queue if a monitor looks at it
 */
struct npuedge_counters {
	/** @ref: references: the queue, each of its monitors */
	struct kref ref;
	/** @edev: device */
	struct npuedge_device *edev;
	/** @lock: protects the members below */
	spinlock_t lock;
	/** @hw: firmware's sums in shared memory; NULL while firmware does not know the queue */
	struct ne1_fw_counters *hw;
	/** @last: values of @hw that are part of @total */
	u64 last[NE1_COUNTERS];
	/** @total: sums since the queue was created */
	u64 total[NE1_COUNTERS];
};

u64 npuedge_perfmon_counters(struct npuedge_device *edev);
int npuedge_perfmon_init(struct npuedge_device *edev);
int npuedge_perfmon_create(struct npuedge_file *f, struct npuedge_queue *q, u32 *id);
int npuedge_perfmon_destroy(struct npuedge_file *f, u32 id);
int npuedge_perfmon_read(struct npuedge_file *f, const struct drm_npuedge_perfmon_read *args);
void npuedge_perfmon_close(struct npuedge_file *f);
int npuedge_perfmon_restore(struct npuedge_device *edev);

struct npuedge_counters *npuedge_counters_create(struct npuedge_device *edev);
void npuedge_counters_put(struct npuedge_counters *c);
void npuedge_counters_attach(struct npuedge_counters *c, struct ne1_fw_counters *hw);
void npuedge_counters_detach(struct npuedge_counters *c);
void npuedge_counters_end(struct npuedge_counters *c);

#endif
