/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_SHRINKER_H
#define NPUEDGE_SHRINKER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <drm/npuedge_accel.h>

struct drm_printer;
struct npuedge_device;
struct npuedge_gem;
struct shrinker;

/**
 * enum npuedge_lru - what can be done with the memory of a buffer when the machine needs some
 */
enum npuedge_lru {
	/** @NPUEDGE_LRU_PURGEABLE: drop it */
	NPUEDGE_LRU_PURGEABLE,
	/** @NPUEDGE_LRU_EVICTABLE: swap it out */
	NPUEDGE_LRU_EVICTABLE,
	/** @NPUEDGE_LRU_NONE: nothing: pinned, imported, or none; also the number of lists */
	NPUEDGE_LRU_NONE,
};

/**
 * struct npuedge_memory - memory of all buffers of a device
 */
struct npuedge_memory {
	/** @shrinker: as the kernel knows us */
	struct shrinker *shrinker;
	/** @lock: protects the following, and what struct npuedge_gem says */
	spinlock_t lock;
	/** @lru: struct npuedge_gem, by lru_node, least recently used first */
	struct list_head lru[NPUEDGE_LRU_NONE];
	/** @pages: sum of the buffers of each list */
	unsigned long pages[NPUEDGE_LRU_NONE];
	/** @mapped: struct npuedge_gem that the device sees, by mapped_node; see npuedge_dma.c */
	struct list_head mapped;
	/** @unmapped: woken when @mapped gets empty */
	wait_queue_head_t unmapped;
	/** @info: what user space may ask for, without what is known elsewhere */
	struct drm_npuedge_memory_info info;
	/** @table_lock: protects @table_list, and who frees a table's memory */
	struct mutex table_lock;
	/** @table_list: struct npuedge_pt_table that have memory, by node */
	struct list_head table_list;
	/** @tables: their number; atomic, not under a lock */
	atomic_long_t tables;
};

int npuedge_shrinker_init(struct npuedge_device *edev);
void npuedge_shrinker_add(struct npuedge_gem *bo);
void npuedge_shrinker_remove(struct npuedge_gem *bo);
void npuedge_shrinker_update(struct npuedge_gem *bo);
unsigned long npuedge_shrinker_run(struct npuedge_device *edev, unsigned long pages);
void npuedge_shrinker_info(struct npuedge_device *edev, struct drm_npuedge_memory_info *info);
void npuedge_shrinker_print(struct npuedge_device *edev, struct drm_printer *p);

#endif
