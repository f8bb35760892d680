// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Tests of the shrinker
 *
 * Which buffer goes, and when, and what is counted.  Buffers have no memory: what would take it,
 * and says whether jobs use it, is replaced by what is here.
 */

#include <kunit/test.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/mm.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>

#include "npuedge_device.h"
#include "npuedge_event.h"
#include "npuedge_evict.h"
#include "npuedge_gem.h"
#include "npuedge_shrinker.h"

#define BUFFERS	16

struct fake_buffer {
	struct npuedge_gem bo;
	/** @used: last use by a job, in jiffies; 0: none */
	unsigned long used;
	/** @busy: a job uses it */
	bool busy;
	/** @tried: how often the shrinker wanted it */
	unsigned int tried;
};

struct fake {
	struct npuedge_device edev;
	struct fake_buffer buffer[BUFFERS];
	/** @gone: numbers of buffers in the order in which they went */
	unsigned int gone[BUFFERS];
	unsigned int n_gone;
	/** @purged: how many of them lost their contents */
	unsigned int purged;
	unsigned int events;
};

static const struct drm_driver fake_driver = { .driver_features = DRIVER_GEM };
static struct fake *fake;

static struct fake_buffer *to_fake(struct npuedge_gem *bo)
{
	return container_of(bo, struct fake_buffer, bo);
}

unsigned long npuedge_evict_last_use(struct npuedge_gem *bo)
{
	unsigned long used = to_fake(bo)->used;

	return used && time_after(used, bo->lru_time) ? used : bo->lru_time;
}

bool npuedge_evict(struct npuedge_gem *bo)
{
	to_fake(bo)->tried++;
	return !to_fake(bo)->busy;
}

void npuedge_gem_drop_pages(struct npuedge_gem *bo)
{
	fake->gone[fake->n_gone++] = to_fake(bo) - fake->buffer;
	bo->pages = NULL;
	npuedge_shrinker_update(bo);
}

void npuedge_gem_purge(struct npuedge_gem *bo)
{
	fake->purged++;
	bo->purged = true;
	npuedge_gem_drop_pages(bo);
}

void npuedge_event_send(struct npuedge_device *edev, u32 type, u32 object, u64 value)
{
	fake->events += type == DRM_NPUEDGE_EVENT_MEMORY_PRESSURE;
}

/* Buffer @n has @n + 1 pages. */
static struct npuedge_gem *fake_add(unsigned int n)
{
	struct npuedge_gem *bo = &fake->buffer[n].bo;

	drm_gem_private_object_init(&fake->edev.base, &bo->base, (n + 1) * PAGE_SIZE);
	bo->lru = NPUEDGE_LRU_NONE;
	INIT_LIST_HEAD(&bo->lru_node);
	npuedge_shrinker_add(bo);
	return bo;
}

static void fake_set(struct npuedge_gem *bo, bool pages, bool dontneed, u32 pins)
{
	static struct page *none[1];

	dma_resv_lock(bo->base.resv, NULL);
	bo->pages = pages ? none : NULL;
	bo->dontneed = dontneed;
	bo->pins = pins;
	npuedge_shrinker_update(bo);
	dma_resv_unlock(bo->base.resv);
}

static struct npuedge_gem *fake_resident(unsigned int n)
{
	struct npuedge_gem *bo = fake_add(n);

	fake_set(bo, true, false, 0);
	return bo;
}

static int shrinker_setup(struct kunit *test)
{
	struct npuedge_memory *mem;

	fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	if (!fake)
		return -ENOMEM;
	fake->edev.base.driver = &fake_driver;
	mem = &fake->edev.memory;
	spin_lock_init(&mem->lock);
	for (unsigned int i = 0; i < ARRAY_SIZE(mem->lru); i++)
		INIT_LIST_HEAD(&mem->lru[i]);
	return 0;
}

static void shrinker_teardown(struct kunit *test)
{
	for (unsigned int i = 0; fake && i < BUFFERS; i++) {
		if (fake->buffer[i].bo.base.dev)
			drm_gem_private_object_fini(&fake->buffer[i].bo.base);
	}
}

static unsigned long pages_of(enum npuedge_lru lru)
{
	return fake->edev.memory.pages[lru];
}

static void classes(struct kunit *test)
{
	struct npuedge_gem *bo = fake_add(2);

	KUNIT_EXPECT_EQ(test, bo->lru, NPUEDGE_LRU_NONE);
	KUNIT_EXPECT_FALSE(test, bo->resident);
	fake_set(bo, true, false, 0);
	KUNIT_EXPECT_EQ(test, bo->lru, NPUEDGE_LRU_EVICTABLE);
	KUNIT_EXPECT_EQ(test, pages_of(NPUEDGE_LRU_EVICTABLE), 3);
	fake_set(bo, true, true, 0);
	KUNIT_EXPECT_EQ(test, bo->lru, NPUEDGE_LRU_PURGEABLE);
	KUNIT_EXPECT_EQ(test, pages_of(NPUEDGE_LRU_EVICTABLE), 0);
	KUNIT_EXPECT_EQ(test, pages_of(NPUEDGE_LRU_PURGEABLE), 3);
	fake_set(bo, true, true, 1);
	KUNIT_EXPECT_EQ(test, bo->lru, NPUEDGE_LRU_NONE);
	KUNIT_EXPECT_TRUE(test, bo->resident);
	KUNIT_EXPECT_EQ(test, pages_of(NPUEDGE_LRU_PURGEABLE), 0);
	fake_set(bo, false, true, 0);
	KUNIT_EXPECT_EQ(test, bo->lru, NPUEDGE_LRU_NONE);
	KUNIT_EXPECT_FALSE(test, bo->resident);
}

static void counts(struct kunit *test)
{
	struct drm_npuedge_memory_info info;

	fake_resident(0);
	fake_set(fake_add(1), true, true, 0);
	fake_set(fake_add(2), true, false, 1);
	fake_add(3);
	npuedge_shrinker_info(&fake->edev, &info);
	KUNIT_EXPECT_EQ(test, info.buffers, 4);
	KUNIT_EXPECT_EQ(test, info.total_bytes, 10 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.resident_bytes, 6 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.purgeable_bytes, 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.imported_bytes, 0);

	for (unsigned int i = 0; i < 4; i++)
		npuedge_shrinker_remove(&fake->buffer[i].bo);
	npuedge_shrinker_info(&fake->edev, &info);
	KUNIT_EXPECT_EQ(test, info.buffers, 0);
	KUNIT_EXPECT_EQ(test, info.total_bytes, 0);
	KUNIT_EXPECT_EQ(test, info.resident_bytes, 0);
	KUNIT_EXPECT_EQ(test, info.purgeable_bytes, 0);
	KUNIT_EXPECT_EQ(test, pages_of(NPUEDGE_LRU_EVICTABLE), 0);
}

/* Imported memory is there, and not ours to give. */
static void imported(struct kunit *test)
{
	struct npuedge_gem *bo = &fake->buffer[4].bo;
	struct drm_npuedge_memory_info info;

	bo->import = (void *)bo;
	fake_add(4);
	npuedge_shrinker_info(&fake->edev, &info);
	KUNIT_EXPECT_EQ(test, info.imported_bytes, 5 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.resident_bytes, 5 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, npuedge_shrinker_run(&fake->edev, 100), 0);
	npuedge_shrinker_remove(bo);
	npuedge_shrinker_info(&fake->edev, &info);
	KUNIT_EXPECT_EQ(test, info.imported_bytes, 0);
	KUNIT_EXPECT_EQ(test, info.resident_bytes, 0);
}

/* The oldest first, and no more than is wanted. */
static void order(struct kunit *test)
{
	for (unsigned int i = 0; i < 4; i++)
		fake_resident(i);
	KUNIT_EXPECT_EQ(test, npuedge_shrinker_run(&fake->edev, 2), 3);
	KUNIT_ASSERT_EQ(test, fake->n_gone, 2);
	KUNIT_EXPECT_EQ(test, fake->gone[0], 0);
	KUNIT_EXPECT_EQ(test, fake->gone[1], 1);
	KUNIT_EXPECT_EQ(test, fake->buffer[2].tried, 0);
	KUNIT_EXPECT_EQ(test, fake->events, 1);

	/* what comes back is the newest */
	fake_set(&fake->buffer[0].bo, true, false, 0);
	KUNIT_EXPECT_EQ(test, npuedge_shrinker_run(&fake->edev, 100), 3 + 4 + 1);
	KUNIT_ASSERT_EQ(test, fake->n_gone, 5);
	KUNIT_EXPECT_EQ(test, fake->gone[2], 2);
	KUNIT_EXPECT_EQ(test, fake->gone[4], 0);
	KUNIT_EXPECT_EQ(test, npuedge_shrinker_run(&fake->edev, 100), 0);
	KUNIT_EXPECT_EQ(test, fake->events, 2);
}

/* What nobody needs goes before what somebody has to fetch again. */
static void purgeable_first(struct kunit *test)
{
	struct drm_npuedge_memory_info info;

	fake_resident(0);
	fake_set(fake_add(1), true, true, 0);
	KUNIT_EXPECT_EQ(test, npuedge_shrinker_run(&fake->edev, 1), 2);
	KUNIT_EXPECT_EQ(test, fake->gone[0], 1);
	KUNIT_EXPECT_EQ(test, fake->purged, 1);
	KUNIT_EXPECT_TRUE(test, fake->buffer[1].bo.purged);
	KUNIT_EXPECT_EQ(test, npuedge_shrinker_run(&fake->edev, 1), 1);
	KUNIT_EXPECT_EQ(test, fake->purged, 1);
	KUNIT_EXPECT_FALSE(test, fake->buffer[0].bo.purged);
	npuedge_shrinker_info(&fake->edev, &info);
	KUNIT_EXPECT_EQ(test, info.purged_bytes, 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.evicted_bytes, PAGE_SIZE);
}

/* Used since it came up the last time: it is passed over, once for each such use. */
static void second_chance(struct kunit *test)
{
	fake_resident(0);
	fake_resident(1);
	fake->buffer[0].used = jiffies + 1000;
	KUNIT_EXPECT_EQ(test, npuedge_shrinker_run(&fake->edev, 1), 2);
	KUNIT_EXPECT_EQ(test, fake->gone[0], 1);
	KUNIT_EXPECT_EQ(test, fake->buffer[0].tried, 0);
	fake->buffer[0].used += 1000;
	KUNIT_EXPECT_EQ(test, npuedge_shrinker_run(&fake->edev, 1), 0);
	KUNIT_EXPECT_EQ(test, npuedge_shrinker_run(&fake->edev, 1), 1);
	KUNIT_EXPECT_EQ(test, fake->gone[1], 0);
}

/* Nobody is waited for, and each is tried once. */
static void busy_and_locked(struct kunit *test)
{
	for (unsigned int i = 0; i < 4; i++)
		fake_resident(i);
	fake->buffer[0].busy = true;
	dma_resv_lock(fake->buffer[1].bo.base.resv, NULL);
	/* it changed, and has not been told of yet */
	fake->buffer[2].bo.pins = 1;
	KUNIT_EXPECT_EQ(test, npuedge_shrinker_run(&fake->edev, 100), 4);
	dma_resv_unlock(fake->buffer[1].bo.base.resv);
	KUNIT_EXPECT_EQ(test, fake->buffer[0].tried, 1);
	KUNIT_EXPECT_EQ(test, fake->buffer[1].tried, 0);
	KUNIT_EXPECT_EQ(test, fake->buffer[2].tried, 0);
	KUNIT_EXPECT_EQ(test, pages_of(NPUEDGE_LRU_EVICTABLE), 1 + 2 + 3);

	fake->buffer[0].busy = false;
	fake->buffer[2].bo.pins = 0;
	KUNIT_EXPECT_EQ(test, npuedge_shrinker_run(&fake->edev, 100), 1 + 2 + 3);
	KUNIT_EXPECT_EQ(test, pages_of(NPUEDGE_LRU_EVICTABLE), 0);
}

/* Its last reference is gone, and it is about to be taken off the list. */
static void dying(struct kunit *test)
{
	struct npuedge_gem *bo = fake_resident(0);

	refcount_set(&bo->base.refcount.refcount, 0);
	KUNIT_EXPECT_EQ(test, npuedge_shrinker_run(&fake->edev, 100), 0);
	KUNIT_EXPECT_EQ(test, fake->buffer[0].tried, 0);
	kref_init(&bo->base.refcount);
	npuedge_shrinker_remove(bo);
	KUNIT_EXPECT_EQ(test, pages_of(NPUEDGE_LRU_EVICTABLE), 0);
}

/* Sums are right after any changes in any order. */
static void sums(struct kunit *test)
{
	u32 seed = 1;

	for (unsigned int i = 0; i < BUFFERS; i++)
		fake_add(i);
	for (unsigned int round = 0; round < 2000; round++) {
		unsigned long sum[NPUEDGE_LRU_NONE] = { }, resident = 0;

		seed = seed * 1664525 + 1013904223;
		if (seed >> 29)
			fake_set(&fake->buffer[seed >> 8 & 15].bo, seed >> 12 & 1, seed >> 13 & 1,
				 !(seed >> 14 & 3));
		else
			npuedge_shrinker_run(&fake->edev, seed >> 8 & 15);
		fake->n_gone = 0;
		for (unsigned int i = 0; i < BUFFERS; i++) {
			const struct npuedge_gem *bo = &fake->buffer[i].bo;
			enum npuedge_lru lru = bo->dontneed ? NPUEDGE_LRU_PURGEABLE :
							      NPUEDGE_LRU_EVICTABLE;

			resident += bo->pages ? i + 1 : 0;
			if (bo->pages && !bo->pins)
				sum[lru] += i + 1;
		}
		KUNIT_ASSERT_EQ(test, pages_of(NPUEDGE_LRU_PURGEABLE), sum[NPUEDGE_LRU_PURGEABLE]);
		KUNIT_ASSERT_EQ(test, pages_of(NPUEDGE_LRU_EVICTABLE), sum[NPUEDGE_LRU_EVICTABLE]);
		KUNIT_ASSERT_EQ(test, fake->edev.memory.info.resident_bytes, resident * PAGE_SIZE);
	}
}

static struct kunit_case shrinker_cases[] = {
	KUNIT_CASE(classes),
	KUNIT_CASE(counts),
	KUNIT_CASE(imported),
	KUNIT_CASE(order),
	KUNIT_CASE(purgeable_first),
	KUNIT_CASE(second_chance),
	KUNIT_CASE(busy_and_locked),
	KUNIT_CASE(dying),
	KUNIT_CASE(sums),
	{ }
};

static struct kunit_suite shrinker_suite = {
	.name = "npuedge-shrinker",
	.init = shrinker_setup,
	.exit = shrinker_teardown,
	.test_cases = shrinker_cases,
};

kunit_test_suite(shrinker_suite);
