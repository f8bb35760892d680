// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Tests of how changes of an address space split and replace mappings
 *
 * drm_gpuvm, the steps of a change and page tables are the real ones.  Each page of a window is
 * compared with a table of what it should be: in drm_gpuvm's tree, in the lists of the buffers and
 * in the page tables.  Buffers have no memory: their bus addresses follow from their numbers.
 */

#include <kunit/test.h>
#include <linux/dma-resv.h>
#include <linux/gfp.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_gpuvm.h>

#include "npuedge_bind.h"
#include "npuedge_check.h"
#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_evict.h"
#include "npuedge_gem.h"
#include "npuedge_mmu.h"
#include "npuedge_vm.h"

#define BUFFERS		3
/* Two big leaves on both sides of the border of two tables of the second level. */
#define WINDOW_PAGES	2048
#define WINDOW_VA	(NPUEDGE_SPAN - WINDOW_PAGES / 2 * NPUEDGE_PAGE)
#define BUFFER_PAGES	WINDOW_PAGES
/* Changes that are reserved and not yet made. */
#define PENDING		4
#define ROUNDS		250

/* What a page of the window should be. */
struct page_state {
	/** @buffer: number of the buffer + 1; 0: not mapped */
	u8 buffer;
	bool readonly;
	u16 page;
};

struct fake {
	struct npuedge_device edev;
	struct npuedge_vm vm;
	struct drm_gem_object root;
	struct npuedge_gem bo[BUFFERS];
	struct page_state want[WINDOW_PAGES];
	/** @tables: page tables that exist */
	u32 tables;
	/** @next_table: number of the next, which is its bus address */
	u32 next_table;
	/** @fail_at: allocation that fails, counted down; < 0: none */
	int fail_at;
	bool freed;
};

static const struct drm_driver fake_driver = { .driver_features = DRIVER_GEM };
static struct fake *fake;

static u64 fake_dma(const struct npuedge_gem *bo)
{
	/* the second is not aligned as addresses are, and never gets big leaves */
	static const u64 dma[BUFFERS] = { 1ull << 32, (2ull << 32) + 8192, 3ull << 32 };

	return dma[bo - fake->bo];
}

struct sg_table *npuedge_gem_get_sgt(struct npuedge_gem *bo)
{
	return (struct sg_table *)bo;
}

int npuedge_mmu_need_map(struct npuedge_pt_need *need, u64 va, struct sg_table *sgt, u64 offset,
			 u64 len)
{
	npuedge_pt_need_map(need, va, fake_dma((struct npuedge_gem *)sgt) + offset, len);
	return 0;
}

int npuedge_mmu_map(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock, u64 va,
		    struct sg_table *sgt, u64 offset, u64 len, bool readonly)
{
	const struct npuedge_pt_segment seg = {
		.dma = fake_dma((struct npuedge_gem *)sgt) + offset, .len = len,
		.before = offset, .after = BUFFER_PAGES * NPUEDGE_PAGE - offset - len,
	};

	return npuedge_pt_map(pt, stock, va, &seg, readonly);
}

void npuedge_vm_free(struct drm_gpuvm *gpuvm)
{
	fake->freed = true;
}

int npuedge_evict_restore(struct drm_gpuvm_bo *vm_bo, struct drm_exec *exec)
{
	return -EINVAL;
}

static int fake_alloc(void *cookie, struct npuedge_pt_table *table)
{
	if (!fake->fail_at--)
		return -ENOMEM;

	table->entries = (u64 *)get_zeroed_page(GFP_KERNEL);
	if (!table->entries)
		return -ENOMEM;
	table->dma = ++fake->next_table * NPUEDGE_PAGE;
	fake->tables++;
	return 0;
}

static void fake_free(void *cookie, struct npuedge_pt_table *table)
{
	free_page((unsigned long)table->entries);
	fake->tables--;
}

static const struct npuedge_pt_ops fake_pt_ops = { .alloc = fake_alloc, .free = fake_free };

static void fake_init_buffer(struct npuedge_gem *bo)
{
	bo->base.resv = drm_gpuvm_resv(&fake->vm.base);
	drm_gem_private_object_init(&fake->edev.base, &bo->base, BUFFER_PAGES * NPUEDGE_PAGE);
#ifndef NPUEDGE_HAVE_GPUVA_LOCK
	drm_gem_gpuva_init(&bo->base);
	mutex_init(&bo->gpuva_lock);
	drm_gem_gpuva_set_lock(&bo->base, &bo->gpuva_lock);
#endif
}

static int bind_setup(struct kunit *test)
{
	struct npuedge_vm *vm;

	fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	if (!fake)
		return -ENOMEM;
	fake->fail_at = -1;
	kref_init(&fake->edev.base.ref);
	fake->edev.base.driver = &fake_driver;
	drm_gem_private_object_init(&fake->edev.base, &fake->root, 0);

	vm = &fake->vm;
	vm->edev = &fake->edev;
	mutex_init(&vm->op_lock);
	drm_gpuvm_init(&vm->base, "fake", DRM_GPUVM_RESV_PROTECTED | NPUEDGE_GPUVM_FLAGS,
		       &fake->edev.base, &fake->root, NPUEDGE_VA_START,
		       NPUEDGE_VA_END - NPUEDGE_VA_START, 0, 0, &npuedge_bind_gpuvm_ops);
	for (unsigned int i = 0; i < BUFFERS; i++)
		fake_init_buffer(&fake->bo[i]);
	return npuedge_pt_init(&vm->pt, &fake_pt_ops, NULL);
}

/* A change of @pages pages of the window; @bo NULL: unmap. */
static struct npuedge_bind *change_create(struct kunit *test, u32 first, u32 pages,
					  struct npuedge_gem *bo, u32 bo_page, bool readonly)
{
	struct npuedge_bind *bind = kzalloc_obj(*bind, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bind);
	INIT_LIST_HEAD(&bind->removed);
	bind->vm = &fake->vm;
	bind->va = WINDOW_VA + first * NPUEDGE_PAGE;
	bind->size = pages * NPUEDGE_PAGE;
	bind->offset = bo_page * NPUEDGE_PAGE;
	bind->readonly = readonly;
	if (bo) {
		bind->obj = &bo->base;
		drm_gem_object_get(bind->obj);
	}
	KUNIT_ASSERT_EQ(test, npuedge_bind_alloc_spares(bind), 0);
	return bind;
}

static int change_reserve(struct npuedge_bind *bind)
{
	int ret;

	dma_resv_lock(drm_gpuvm_resv(&fake->vm.base), NULL);
	ret = npuedge_bind_reserve(bind);
	dma_resv_unlock(drm_gpuvm_resv(&fake->vm.base));
	return ret;
}

static void change_free(struct npuedge_bind *bind)
{
	npuedge_bind_fini(bind);
	kfree(bind);
}

/* What it leaves is what is wanted then. */
static void change_make(struct kunit *test, struct npuedge_bind *bind)
{
	u32 first = (bind->va - WINDOW_VA) / NPUEDGE_PAGE;

	mutex_lock(&fake->vm.op_lock);
	KUNIT_EXPECT_EQ(test, npuedge_bind_make(bind), 0);
	npuedge_pt_return(&fake->vm.pt, &bind->stock);
	mutex_unlock(&fake->vm.op_lock);

	for (u32 i = 0; i < bind->size / NPUEDGE_PAGE; i++) {
		struct page_state *want = &fake->want[first + i];

		*want = (struct page_state) { };
		if (!bind->obj)
			continue;
		want->buffer = to_npuedge_gem(bind->obj) - fake->bo + 1;
		want->page = bind->offset / NPUEDGE_PAGE + i;
		want->readonly = bind->readonly;
	}
	change_free(bind);
}

static void change(struct kunit *test, u32 first, u32 pages, struct npuedge_gem *bo, u32 bo_page,
		   bool readonly)
{
	struct npuedge_bind *bind = change_create(test, first, pages, bo, bo_page, readonly);

	KUNIT_ASSERT_EQ(test, change_reserve(bind), 0);
	change_make(test, bind);
}

/* Entry that the device should find for a page of the window, big leaf or not. */
static void expect_page(struct kunit *test, u32 i, struct drm_gpuva *va)
{
	const struct page_state *want = &fake->want[i];
	u64 addr = WINDOW_VA + i * NPUEDGE_PAGE, leaf, entry, dma;

	entry = npuedge_pt_lookup(&fake->vm.pt, addr, &leaf);
	if (!want->buffer) {
		KUNIT_ASSERT_NULL_MSG(test, va, "page %u", i);
		KUNIT_ASSERT_EQ_MSG(test, entry & NE1_PTE_VALID, 0, "page %u", i);
		return;
	}
	KUNIT_ASSERT_NOT_NULL_MSG(test, va, "page %u", i);
	KUNIT_ASSERT_PTR_EQ(test, va->gem.obj, &fake->bo[want->buffer - 1].base);
	KUNIT_ASSERT_EQ_MSG(test, va->gem.offset + addr - va->va.addr, want->page * NPUEDGE_PAGE,
			    "page %u", i);
	KUNIT_ASSERT_EQ_MSG(test, to_npuedge_va(va)->readonly, want->readonly, "page %u", i);
	dma = (entry & NE1_PTE_ADDR) + (addr & (leaf - 1));
	KUNIT_ASSERT_EQ_MSG(test, dma,
			    fake_dma(&fake->bo[want->buffer - 1]) + want->page * NPUEDGE_PAGE,
			    "page %u", i);
	KUNIT_ASSERT_EQ_MSG(test, !!(entry & NE1_PTE_RO), want->readonly, "page %u", i);
}

/* Bytes that the lists of a buffer know. */
static u64 bytes_of(struct npuedge_gem *bo)
{
	struct mutex *lock = npuedge_gem_gpuva_lock(&bo->base);
	struct drm_gpuvm_bo *vm_bo;
	struct drm_gpuva *va;
	u64 sum = 0;

	dma_resv_lock(bo->base.resv, NULL);
	mutex_lock(lock);
	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->base)
		drm_gpuvm_bo_for_each_va(va, vm_bo)
			sum += va->va.range;
	mutex_unlock(lock);
	dma_resv_unlock(bo->base.resv);
	return sum;
}

static void expect_window(struct kunit *test)
{
	u64 bytes[BUFFERS] = { }, mappings = 0, mapped = 0;
	struct drm_gpuva *va;

	for (u32 i = 0; i < WINDOW_PAGES; i++) {
		u64 addr = WINDOW_VA + i * NPUEDGE_PAGE;

		expect_page(test, i, drm_gpuva_find_first(&fake->vm.base, addr, NPUEDGE_PAGE));
		if (fake->want[i].buffer)
			bytes[fake->want[i].buffer - 1] += NPUEDGE_PAGE;
	}
	drm_gpuvm_for_each_va(va, &fake->vm.base) {
		mappings++;
		mapped += va->va.range;
	}
	KUNIT_ASSERT_EQ(test, fake->vm.mappings, mappings);
	KUNIT_ASSERT_EQ(test, fake->vm.mapped_bytes, mapped);
	for (unsigned int i = 0; i < BUFFERS; i++) {
		KUNIT_ASSERT_EQ_MSG(test, bytes_of(&fake->bo[i]), bytes[i], "buffer %u", i);
		mapped -= bytes[i];
	}
	KUNIT_ASSERT_EQ(test, mapped, 0);
}

/* Whatever a test left mapped goes with one unmap, and nothing stays behind. */
static void bind_teardown(struct kunit *test)
{
	struct npuedge_bind all = {
		.vm = &fake->vm, .va = NPUEDGE_VA_START, .size = NPUEDGE_VA_END - NPUEDGE_VA_START,
	};

	if (!fake)
		return;
	INIT_LIST_HEAD(&all.removed);
	mutex_lock(&fake->vm.op_lock);
	KUNIT_EXPECT_EQ(test, npuedge_bind_make(&all), 0);
	mutex_unlock(&fake->vm.op_lock);
	npuedge_bind_fini(&all);
	npuedge_pt_fini(&fake->vm.pt);

	KUNIT_EXPECT_EQ(test, fake->tables, 0);
	KUNIT_EXPECT_EQ(test, fake->vm.mappings, 0);
	KUNIT_EXPECT_EQ(test, fake->vm.mapped_bytes, 0);
	for (unsigned int i = 0; i < BUFFERS; i++) {
		KUNIT_EXPECT_EQ(test, kref_read(&fake->bo[i].base.refcount), 1);
		drm_gem_private_object_fini(&fake->bo[i].base);
	}
	drm_gpuvm_put(&fake->vm.base);
	KUNIT_EXPECT_TRUE(test, fake->freed);
	drm_gem_private_object_fini(&fake->root);
	mutex_destroy(&fake->vm.op_lock);
}

static void empty(struct kunit *test)
{
	expect_window(test);
	change(test, 10, 5, NULL, 0, false);
	expect_window(test);
	change(test, 10, 5, &fake->bo[1], 3, true);
	expect_window(test);
	KUNIT_EXPECT_EQ(test, fake->vm.mappings, 1);
	/* the same once more, and what differs in one thing each */
	change(test, 10, 5, &fake->bo[1], 3, true);
	expect_window(test);
	change(test, 10, 5, &fake->bo[1], 3, false);
	expect_window(test);
	change(test, 10, 5, &fake->bo[1], 4, false);
	expect_window(test);
	change(test, 10, 5, &fake->bo[2], 4, false);
	expect_window(test);
	KUNIT_EXPECT_EQ(test, fake->vm.mappings, 1);
}

/* A change of pages @first to @end - 1 against a mapping of 100 to 199, and mappings afterwards. */
static const struct split {
	u32 first, end, mapped, unmapped;
} splits[] = {
	{ 0, 50, 2, 1 }, { 50, 100, 2, 1 }, { 50, 150, 2, 1 }, { 50, 200, 1, 0 }, { 50, 250, 1, 0 },
	{ 100, 150, 2, 1 }, { 100, 200, 1, 0 }, { 100, 250, 1, 0 }, { 120, 121, 3, 2 },
	{ 120, 180, 3, 2 }, { 120, 200, 2, 1 }, { 120, 250, 2, 1 }, { 199, 200, 2, 1 },
	{ 200, 250, 2, 1 }, { 210, 250, 2, 1 },
};

static void replaced(struct kunit *test)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(splits); i++) {
		const struct split *s = &splits[i];

		change(test, 0, WINDOW_PAGES, NULL, 0, false);
		change(test, 100, 100, &fake->bo[0], 7, true);
		change(test, s->first, s->end - s->first, &fake->bo[1], 11, false);
		expect_window(test);
		KUNIT_EXPECT_EQ_MSG(test, fake->vm.mappings, s->mapped, "split %u", i);
	}
}

static void unmapped(struct kunit *test)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(splits); i++) {
		const struct split *s = &splits[i];

		change(test, 100, 100, &fake->bo[0], 7, true);
		change(test, s->first, s->end - s->first, NULL, 0, false);
		expect_window(test);
		KUNIT_EXPECT_EQ_MSG(test, fake->vm.mappings, s->unmapped, "split %u", i);
		change(test, 0, WINDOW_PAGES, NULL, 0, false);
	}
}

/* A big leaf that a change cuts becomes small ones, and the rest stays mapped. */
static void big_leaves(struct kunit *test)
{
	u64 leaf;

	for (u32 page = 0; page < 1024; page += 511) {
		change(test, 0, WINDOW_PAGES, &fake->bo[0], 0, false);
		npuedge_pt_lookup(&fake->vm.pt, WINDOW_VA, &leaf);
		KUNIT_EXPECT_EQ(test, leaf, NPUEDGE_BLOCK);
		change(test, page, 1, NULL, 0, false);
		expect_window(test);
		change(test, page + 700, 1, &fake->bo[2], page, true);
		expect_window(test);
	}
}

/* One change over many mappings, with rests on both sides. */
static void many(struct kunit *test)
{
	for (u32 i = 0; i < 40; i++)
		change(test, i * 10, 8, &fake->bo[i % BUFFERS], i, i & 1);
	expect_window(test);
	KUNIT_EXPECT_EQ(test, fake->vm.mappings, 40);
	change(test, 34, 300, &fake->bo[1], 500, false);
	expect_window(test);
	KUNIT_EXPECT_EQ(test, fake->vm.mappings, 3 + 1 + 1 + 1 + 6);
	change(test, 5, 390, NULL, 0, false);
	expect_window(test);
	KUNIT_EXPECT_EQ(test, fake->vm.mappings, 2);
}

static bool all_rests_are_evicted(void)
{
	struct drm_gpuva *va;

	drm_gpuvm_for_each_va(va, &fake->vm.base) {
		if (va->gem.obj == &fake->bo[0].base && !to_npuedge_va(va)->evicted)
			return false;
	}
	return true;
}

/* What has no entries now gets them later, all of it. */
static void rests_stay_evicted(struct kunit *test)
{
	struct drm_gpuva *va;

	change(test, 100, 100, &fake->bo[0], 0, true);
	drm_gpuvm_for_each_va(va, &fake->vm.base)
		to_npuedge_va(va)->evicted = true;
	change(test, 120, 10, &fake->bo[1], 0, false);
	KUNIT_EXPECT_EQ(test, fake->vm.mappings, 3);
	KUNIT_EXPECT_TRUE(test, all_rests_are_evicted());
	change(test, 150, 10, NULL, 0, false);
	KUNIT_EXPECT_EQ(test, fake->vm.mappings, 4);
	KUNIT_EXPECT_TRUE(test, all_rests_are_evicted());
}

/* Without memory nothing has changed, at whichever allocation. */
static void no_memory(struct kunit *test)
{
	struct npuedge_bind *bind;
	int ret = -ENOMEM;
	u32 tables;

	change(test, 0, WINDOW_PAGES, &fake->bo[0], 0, false);
	tables = fake->vm.pt.tables;
	for (int n = 0; ret; n++) {
		KUNIT_ASSERT_LT(test, n, 16);
		bind = change_create(test, 1, WINDOW_PAGES - 2, &fake->bo[1], 0, true);
		fake->fail_at = n;
		ret = change_reserve(bind);
		fake->fail_at = -1;
		/* it has failed before it passes; what is not made leaves nothing either */
		KUNIT_EXPECT_EQ(test, ret, ret || !n ? -ENOMEM : 0);
		change_free(bind);
		expect_window(test);
		KUNIT_EXPECT_EQ(test, fake->vm.pt.tables, tables);
	}
}

/* The device is gone: what is mapped is bookkeeping, and no entry is touched. */
static void unplugged(struct kunit *test)
{
	u64 writes;

	change(test, 0, 64, &fake->bo[0], 0, false);
	writes = fake->vm.pt.writes;
	fake->edev.base.unplugged = true;
	change(test, 10, 10, &fake->bo[1], 0, false);
	KUNIT_EXPECT_EQ(test, fake->vm.mappings, 3);
	change(test, 30, 10, NULL, 0, false);
	KUNIT_EXPECT_EQ(test, fake->vm.mappings, 4);
	KUNIT_EXPECT_EQ(test, fake->vm.mapped_bytes, 54 * NPUEDGE_PAGE);
	KUNIT_EXPECT_EQ(test, fake->vm.pt.writes, writes);
}

static u32 next_random(u32 *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static struct npuedge_bind *random_change(struct kunit *test, u32 *seed)
{
	u32 first = next_random(seed) % WINDOW_PAGES, pages, bo_page;
	struct npuedge_gem *bo = NULL;

	pages = 1 + next_random(seed) % min(WINDOW_PAGES - first, 1u << next_random(seed) % 12);
	/* half of them so that big leaves are possible */
	if (next_random(seed) & 1)
		bo_page = first;
	else
		bo_page = next_random(seed) % (BUFFER_PAGES - pages + 1);
	if (next_random(seed) % 3)
		bo = &fake->bo[next_random(seed) % BUFFERS];
	return change_create(test, first, pages, bo, bo ? bo_page : 0, next_random(seed) & 1);
}

/* Any changes, some made long after they were reserved, when others have been made; some never. */
static void random(struct kunit *test)
{
	struct npuedge_bind *pending[PENDING];
	u32 seed = 1, first = 0, end = 0;

	for (u32 round = 0; round < ROUNDS; round++) {
		struct npuedge_bind *bind = random_change(test, &seed);

		KUNIT_ASSERT_EQ(test, change_reserve(bind), 0);
		if (next_random(&seed) % 8 == 0) {
			change_free(bind);
			continue;
		}
		pending[end++ % PENDING] = bind;
		while (end - first == PENDING || (end != first && next_random(&seed) & 1)) {
			change_make(test, pending[first++ % PENDING]);
			expect_window(test);
		}
	}
	while (end != first)
		change_make(test, pending[first++ % PENDING]);
	expect_window(test);
}

static struct kunit_case bind_cases[] = {
	KUNIT_CASE(empty),
	KUNIT_CASE(replaced),
	KUNIT_CASE(unmapped),
	KUNIT_CASE(big_leaves),
	KUNIT_CASE(many),
	KUNIT_CASE(rests_stay_evicted),
	KUNIT_CASE(no_memory),
	KUNIT_CASE(unplugged),
	KUNIT_CASE(random),
	{ }
};

static struct kunit_suite bind_suite = {
	.name = "npuedge-bind",
	.init = bind_setup,
	.exit = bind_teardown,
	.test_cases = bind_cases,
};

kunit_test_suite(bind_suite);
