// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Shrinker
 *
 * When the machine runs short of memory the kernel asks for pages.  Buffers whose contents do not
 * matter are dropped first; then, if there is swap space, others are left to be swapped out.  Only
 * a buffer that no job uses goes, and no job is waited for.
 *
 * Each list is a clock: a buffer that comes up is passed over once if a VM that maps it has had a
 * job since.  So a submit writes one time stamp, however many buffers its VM maps.
 *
 * Memory is asked for while locks are held, so here reservation objects are only tried.
 */

#include <linux/sched/mm.h>
#include <linux/shrinker.h>
#include <linux/swap.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_event.h"
#include "npuedge_evict.h"
#include "npuedge_gem.h"
#include "npuedge_mmu.h"
#include "npuedge_pgtable.h"
#include "npuedge_shrinker.h"

static struct npuedge_memory *npuedge_shrinker_memory(struct npuedge_gem *bo)
{
	return &to_npuedge_device(bo->base.dev)->memory;
}

static bool npuedge_shrinker_imported(const struct npuedge_gem *bo)
{
	return bo->import;
}

/*
 * Where memory must not be in the CPU's caches, it is the device's mapping that cleans them.  When
 * the device is gone, what was swapped out could not come back.
 */
static bool npuedge_shrinker_stays(const struct npuedge_gem *bo)
{
	return bo->clean && drm_dev_is_unplugged(bo->base.dev);
}

static enum npuedge_lru npuedge_shrinker_class(const struct npuedge_gem *bo)
{
	if (!bo->pages || bo->pins || npuedge_shrinker_stays(bo))
		return NPUEDGE_LRU_NONE;
	return bo->dontneed ? NPUEDGE_LRU_PURGEABLE : NPUEDGE_LRU_EVICTABLE;
}

/* Whether memory is there is counted apart from the list it is on: pinned memory is on none. */
static void npuedge_shrinker_move(struct npuedge_memory *mem, struct npuedge_gem *bo,
				  bool resident, enum npuedge_lru lru)
{
	if (bo->resident != resident) {
		mem->info.resident_bytes += resident ? bo->base.size : -bo->base.size;
		WRITE_ONCE(bo->resident, resident);
	}
	if (bo->lru == lru)
		return;

	if (bo->lru != NPUEDGE_LRU_NONE)
		mem->pages[bo->lru] -= bo->base.size >> PAGE_SHIFT;
	list_del_init(&bo->lru_node);
	bo->lru = lru;
	if (lru != NPUEDGE_LRU_NONE) {
		mem->pages[lru] += bo->base.size >> PAGE_SHIFT;
		list_add_tail(&bo->lru_node, &mem->lru[lru]);
		bo->lru_time = jiffies;
	}
}

/**
 * npuedge_shrinker_update() - tell of a change of a buffer
 * @bo: buffer that got, lost or pinned its memory, or new advice; locked, or being freed
 */
void npuedge_shrinker_update(struct npuedge_gem *bo)
{
	struct npuedge_memory *mem = npuedge_shrinker_memory(bo);

	spin_lock(&mem->lock);
	npuedge_shrinker_move(mem, bo, bo->pages || npuedge_shrinker_imported(bo),
			      npuedge_shrinker_class(bo));
	spin_unlock(&mem->lock);
}

/**
 * npuedge_shrinker_add() - tell of a new buffer
 * @bo: buffer; a view is none
 */
void npuedge_shrinker_add(struct npuedge_gem *bo)
{
	struct npuedge_memory *mem = npuedge_shrinker_memory(bo);

	spin_lock(&mem->lock);
	mem->info.buffers++;
	mem->info.total_bytes += bo->base.size;
	if (npuedge_shrinker_imported(bo))
		mem->info.imported_bytes += bo->base.size;
	spin_unlock(&mem->lock);
	npuedge_shrinker_update(bo);
}

/**
 * npuedge_shrinker_remove() - tell of the end of a buffer
 * @bo: buffer that npuedge_shrinker_add() was told of, or a view
 */
void npuedge_shrinker_remove(struct npuedge_gem *bo)
{
	struct npuedge_memory *mem = npuedge_shrinker_memory(bo);

	if (bo->target)
		return;

	spin_lock(&mem->lock);
	npuedge_shrinker_move(mem, bo, false, NPUEDGE_LRU_NONE);
	mem->info.buffers--;
	mem->info.total_bytes -= bo->base.size;
	if (npuedge_shrinker_imported(bo))
		mem->info.imported_bytes -= bo->base.size;
	spin_unlock(&mem->lock);
}

/* Pages of a locked buffer that were given back. */
static unsigned long npuedge_shrinker_free(struct npuedge_memory *mem, struct npuedge_gem *bo,
					   enum npuedge_lru lru)
{
	unsigned long used;

	if (npuedge_shrinker_class(bo) != lru)
		return 0;

	used = npuedge_evict_last_use(bo);
	if (time_after(used, bo->lru_time)) {
		bo->lru_time = used;
		return 0;
	}
	if (!npuedge_evict(bo))
		return 0;

	if (lru == NPUEDGE_LRU_PURGEABLE)
		npuedge_gem_purge(bo);
	else
		npuedge_gem_drop_pages(bo);

	spin_lock(&mem->lock);
	if (lru == NPUEDGE_LRU_PURGEABLE)
		mem->info.purged_bytes += bo->base.size;
	else
		mem->info.evicted_bytes += bo->base.size;
	spin_unlock(&mem->lock);
	return bo->base.size >> PAGE_SHIFT;
}

static unsigned long npuedge_shrinker_scan_lru(struct npuedge_memory *mem, enum npuedge_lru lru,
					       unsigned long want)
{
	unsigned long freed = 0;
	struct npuedge_gem *bo;
	LIST_HEAD(seen);

	spin_lock(&mem->lock);
	while (freed < want) {
		bo = list_first_entry_or_null(&mem->lru[lru], struct npuedge_gem, lru_node);
		if (!bo)
			break;

		list_move_tail(&bo->lru_node, &seen);
		if (!kref_get_unless_zero(&bo->base.refcount))
			continue;
		spin_unlock(&mem->lock);

		if (dma_resv_trylock(bo->base.resv)) {
			freed += npuedge_shrinker_free(mem, bo, lru);
			dma_resv_unlock(bo->base.resv);
		}
		drm_gem_object_put(&bo->base);
		spin_lock(&mem->lock);
	}
	list_splice_tail(&seen, &mem->lru[lru]);
	spin_unlock(&mem->lock);
	return freed;
}

static unsigned long npuedge_shrinker_scan_all(struct npuedge_device *edev, unsigned long want,
					       bool swap)
{
	struct npuedge_memory *mem = &edev->memory;
	unsigned long freed;

	freed = npuedge_shrinker_scan_lru(mem, NPUEDGE_LRU_PURGEABLE, want);
	if (swap && freed < want)
		freed += npuedge_shrinker_scan_lru(mem, NPUEDGE_LRU_EVICTABLE, want - freed);
	if (freed)
		npuedge_event_send(edev, DRM_NPUEDGE_EVENT_MEMORY_PRESSURE, 0,
				   (u64)freed << PAGE_SHIFT);
	return freed;
}

static unsigned long npuedge_shrinker_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct npuedge_device *edev = shrinker->private_data;
	unsigned long pages;

	pages = READ_ONCE(edev->memory.pages[NPUEDGE_LRU_PURGEABLE]);
	if (get_nr_swap_pages() > 0)
		pages += READ_ONCE(edev->memory.pages[NPUEDGE_LRU_EVICTABLE]);
	return pages ?: SHRINK_EMPTY;
}

/* Emptying the TLB sleeps. */
static bool npuedge_shrinker_may_sleep(const struct shrink_control *sc)
{
	return sc->gfp_mask & __GFP_DIRECT_RECLAIM || current_is_kswapd();
}

static unsigned long npuedge_shrinker_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct npuedge_device *edev = shrinker->private_data;
	unsigned long freed;

	if (!npuedge_shrinker_may_sleep(sc))
		return SHRINK_STOP;

	freed = npuedge_shrinker_scan_all(edev, sc->nr_to_scan, get_nr_swap_pages() > 0);
	return freed ?: SHRINK_STOP;
}

/**
 * npuedge_shrinker_run() - give pages back as if the machine were short of memory
 * @edev: device
 * @pages: number of pages wanted
 *
 * Buffers are swapped out even if there is no swap space: their contents then stay in the page
 * cache.
 *
 * Return: number of pages given back.
 */
unsigned long npuedge_shrinker_run(struct npuedge_device *edev, unsigned long pages)
{
	unsigned long freed;

	fs_reclaim_acquire(GFP_KERNEL);
	freed = npuedge_shrinker_scan_all(edev, pages, true);
	fs_reclaim_release(GFP_KERNEL);
	return freed;
}

/**
 * npuedge_shrinker_info() - how much memory there is and what became of it
 * @edev: device
 * @info: out
 */
void npuedge_shrinker_info(struct npuedge_device *edev, struct drm_npuedge_memory_info *info)
{
	struct npuedge_memory *mem = &edev->memory;

	spin_lock(&mem->lock);
	*info = mem->info;
	info->purgeable_bytes = (u64)mem->pages[NPUEDGE_LRU_PURGEABLE] << PAGE_SHIFT;
	spin_unlock(&mem->lock);
	info->table_bytes = (u64)atomic_long_read(&mem->tables) * NPUEDGE_TABLE_BYTES;
}

/**
 * npuedge_shrinker_print() - list what npuedge_shrinker_info() tells, and what could go
 * @edev: device
 * @p: where to
 */
void npuedge_shrinker_print(struct npuedge_device *edev, struct drm_printer *p)
{
	struct drm_npuedge_memory_info info;

	npuedge_shrinker_info(edev, &info);
	drm_printf(p, "buffers %llu\n", info.buffers);
	drm_printf(p, "total %llu\n", info.total_bytes);
	drm_printf(p, "resident %llu\n", info.resident_bytes);
	drm_printf(p, "imported %llu\n", info.imported_bytes);
	drm_printf(p, "tables %llu\n", info.table_bytes);
	drm_printf(p, "purgeable %llu\n", info.purgeable_bytes);
	drm_printf(p, "evictable %llu\n",
		   (u64)READ_ONCE(edev->memory.pages[NPUEDGE_LRU_EVICTABLE]) << PAGE_SHIFT);
	drm_printf(p, "purged %llu\n", info.purged_bytes);
	drm_printf(p, "evicted %llu\n", info.evicted_bytes);
}

/* Teaches lockdep that what eviction takes must not be held while allocating. */
static void npuedge_shrinker_prime_lockdep(struct npuedge_device *edev)
{
	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;

	fs_reclaim_acquire(GFP_KERNEL);
	might_lock_read(&edev->reset.lock);
	might_lock(&edev->tlb_lock);
	might_lock(&edev->memory.lock);
	fs_reclaim_release(GFP_KERNEL);
}

static void npuedge_shrinker_fini(struct drm_device *drm, void *data)
{
	shrinker_free(data);
}

/**
 * npuedge_shrinker_init() - offer the memory of buffers to the kernel
 * @edev: device whose locks are initialised; before the first buffer
 *
 * The shrinker lives as long as the DRM device, as buffers outlive the hardware.
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_shrinker_init(struct npuedge_device *edev)
{
	struct npuedge_memory *mem = &edev->memory;
	struct shrinker *shrinker;
	int ret;

	spin_lock_init(&mem->lock);
	INIT_LIST_HEAD(&mem->mapped);
	init_waitqueue_head(&mem->unmapped);
	INIT_LIST_HEAD(&mem->table_list);
	ret = drmm_mutex_init(&edev->base, &mem->table_lock);
	if (ret)
		return ret;
	for (unsigned int i = 0; i < ARRAY_SIZE(mem->lru); i++)
		INIT_LIST_HEAD(&mem->lru[i]);
	npuedge_shrinker_prime_lockdep(edev);

	shrinker = shrinker_alloc(0, "drm-npuedge:%s", dev_name(edev->dev));
	if (!shrinker)
		return -ENOMEM;

	shrinker->count_objects = npuedge_shrinker_count;
	shrinker->scan_objects = npuedge_shrinker_scan;
	shrinker->private_data = edev;
	mem->shrinker = shrinker;
	shrinker_register(shrinker);
	return drmm_add_action_or_reset(&edev->base, npuedge_shrinker_fini, shrinker);
}
