// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Tests of page tables and ring indices
 *
 * Tables live in a fake memory, so that a walk sees what the MMU would see: bus addresses and
 * entries, not our bookkeeping.  Freed tables are poisoned; a walk that meets one fails.
 *
 * The same file runs under KUnit in the kernel and, with a shim of its macros, on the host.
 */

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "npuedge_pgtable.h"
#include "npuedge_ring.h"

#define FAKE_TABLES	64
#define FAKE_BUS	0x7f00000000ull
#define FAKE_POISON	0xdeadull
/* The buffer that is mapped goes on for so long on both sides: big leaves may be merged. */
#define FAKE_BUFFER	(8 * NPUEDGE_BLOCK)

/* The device's memory: tables only. */
struct fake {
	u64 mem[FAKE_TABLES][NPUEDGE_PT_ENTRIES];
	bool taken[FAKE_TABLES];
	int fail_at;	/* allocation that fails, counted down; < 0: none */
	u32 walked_free;
};

static struct fake *fake;
static struct npuedge_pgtable pt;

static int fake_alloc(void *cookie, struct npuedge_pt_table *table)
{
	struct fake *f = cookie;

	if (!f->fail_at--)
		return -ENOMEM;

	for (u32 i = 0; i < FAKE_TABLES; i++) {
		if (f->taken[i])
			continue;
		f->taken[i] = true;
		memset(f->mem[i], 0, sizeof(f->mem[i]));
		table->entries = f->mem[i];
		table->dma = FAKE_BUS + i * NPUEDGE_PAGE;
		return 0;
	}
	return -ENOMEM;
}

static void fake_free(void *cookie, struct npuedge_pt_table *table)
{
	struct fake *f = cookie;
	u32 index = (table->dma - FAKE_BUS) / NPUEDGE_PAGE;

	f->taken[index] = false;
	for (u32 i = 0; i < NPUEDGE_PT_ENTRIES; i++)
		f->mem[index][i] = FAKE_POISON;
}

static const struct npuedge_pt_ops fake_ops = { .alloc = fake_alloc, .free = fake_free };

static u64 fake_entry(u64 table, u32 index)
{
	u64 n = (table - FAKE_BUS) / NPUEDGE_PAGE;

	if (n >= FAKE_TABLES || !fake->taken[n]) {
		fake->walked_free++;
		return 0;
	}
	return fake->mem[n][index];
}

/* Bus address that the MMU finds for va, with NE1_PTE_RO in bit 0 if read only; 0: not present. */
static u64 fake_walk(u64 va)
{
	u64 table = pt.root->dma, entry;

	for (int shift = 30; shift >= 12; shift -= 9) {
		entry = fake_entry(table, va >> shift & (NPUEDGE_PT_ENTRIES - 1));
		if (!(entry & NE1_PTE_VALID))
			return 0;
		if (entry & NE1_PTE_LEAF)
			return ((entry & NE1_PTE_ADDR) + (va & ((1ull << shift) - 1))) |
			       !!(entry & NE1_PTE_RO);
		table = entry & NE1_PTE_ADDR;
	}
	return 0;
}

static int pgtable_setup(struct kunit *test)
{
	fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	if (!fake)
		return -ENOMEM;
	fake->fail_at = -1;
	return npuedge_pt_init(&pt, &fake_ops, fake);
}

static void pgtable_teardown(struct kunit *test)
{
	u32 left = 0;

	npuedge_pt_fini(&pt);
	for (u32 i = 0; i < FAKE_TABLES; i++)
		left += fake->taken[i];
	KUNIT_EXPECT_EQ(test, left, 0);
	KUNIT_EXPECT_EQ(test, pt.tables, 0);
	KUNIT_EXPECT_EQ(test, fake->walked_free, 0);
}

/* A change as the driver makes it; dma 0: unmap. */
struct change {
	u64 va, dma, len;
	bool readonly;
	struct npuedge_pt_stock stock;
};

static int change_reserve(struct change *c)
{
	struct npuedge_pt_need need = { };

	if (c->dma)
		npuedge_pt_need_map(&need, c->va, c->dma, c->len);
	else
		npuedge_pt_need_unmap(&need, c->va, c->len);
	npuedge_pt_borrow(&pt, &c->stock, &need);
	return npuedge_pt_reserve(&pt, &c->stock, &need);
}

static int change_run(struct change *c)
{
	const struct npuedge_pt_segment seg = {
		.dma = c->dma, .len = c->len, .before = FAKE_BUFFER, .after = FAKE_BUFFER,
	};
	int ret;

	ret = c->dma ? npuedge_pt_map(&pt, &c->stock, c->va, &seg, c->readonly) :
		       npuedge_pt_unmap(&pt, &c->stock, c->va, c->len);
	npuedge_pt_return(&pt, &c->stock);
	return ret;
}

/* At once; 0 or -ENOMEM. */
static int do_change(struct change *c)
{
	int ret;

	pt.stale = false;
	ret = change_reserve(c);
	ret = ret ?: change_run(c);
	npuedge_pt_release(&pt, &c->stock);
	return ret;
}

static int do_map(u64 va, u64 dma, u64 len, bool readonly)
{
	struct change c = { .va = va, .dma = dma, .len = len, .readonly = readonly };

	return do_change(&c);
}

static int do_unmap(u64 va, u64 len)
{
	struct change c = { .va = va, .len = len };

	return do_change(&c);
}

static u64 leaf_size(u64 va)
{
	u64 size;

	npuedge_pt_lookup(&pt, va, &size);
	return size;
}

static void pgtable_empty(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, fake_walk(0), 0);
	KUNIT_EXPECT_EQ(test, fake_walk((1ull << NE1_VA_BITS) - 1), 0);
	KUNIT_EXPECT_EQ(test, do_unmap(0, 1ull << NE1_VA_BITS), 0);
	KUNIT_EXPECT_FALSE(test, pt.stale);
	KUNIT_EXPECT_EQ(test, pt.tables, 1);
	KUNIT_EXPECT_EQ(test, pt.writes, 0);
}

static void pgtable_pages(struct kunit *test)
{
	u64 va = NPUEDGE_BLOCK - NPUEDGE_PAGE, dma = 0x123456000;

	/* Two pages on both sides of a table's end. */
	KUNIT_ASSERT_EQ(test, do_map(va, dma, 2 * NPUEDGE_PAGE, false), 0);
	KUNIT_EXPECT_EQ(test, fake_walk(va), dma);
	KUNIT_EXPECT_EQ(test, fake_walk(va + 0x1ffe), dma + 0x1ffe);
	KUNIT_EXPECT_EQ(test, fake_walk(va - 1), 0);
	KUNIT_EXPECT_EQ(test, fake_walk(va + 2 * NPUEDGE_PAGE), 0);
	KUNIT_EXPECT_EQ(test, pt.tables, 4);

	KUNIT_EXPECT_FALSE(test, pt.stale);

	/* The same again changes nothing. */
	KUNIT_ASSERT_EQ(test, do_map(va, dma, 2 * NPUEDGE_PAGE, false), 0);
	KUNIT_EXPECT_FALSE(test, pt.stale);

	/* Read only now, and elsewhere. */
	KUNIT_ASSERT_EQ(test, do_map(va, dma * 2, NPUEDGE_PAGE, true), 0);
	KUNIT_EXPECT_TRUE(test, pt.stale);
	KUNIT_EXPECT_EQ(test, fake_walk(va), dma * 2 | 1);
	KUNIT_EXPECT_EQ(test, fake_walk(va + NPUEDGE_PAGE), dma + NPUEDGE_PAGE);
}

static void pgtable_block(struct kunit *test)
{
	u64 va = 5 * NPUEDGE_BLOCK, dma = 9 * NPUEDGE_BLOCK;

	/* Root, middle, and a last table for the page before and the one behind. */
	KUNIT_ASSERT_EQ(test, do_map(va - NPUEDGE_PAGE, dma - NPUEDGE_PAGE,
				     NPUEDGE_BLOCK + 2 * NPUEDGE_PAGE, false), 0);
	KUNIT_EXPECT_EQ(test, leaf_size(va), NPUEDGE_BLOCK);
	KUNIT_EXPECT_EQ(test, leaf_size(va - NPUEDGE_PAGE), NPUEDGE_PAGE);
	KUNIT_EXPECT_EQ(test, fake_walk(va + 0x12344), dma + 0x12344);
	KUNIT_EXPECT_EQ(test, fake_walk(va - 4), dma - 4);
	KUNIT_EXPECT_EQ(test, fake_walk(va + NPUEDGE_BLOCK), dma + NPUEDGE_BLOCK);
	KUNIT_EXPECT_EQ(test, pt.tables, 4);

	/* Memory that is not aligned gets small leaves. */
	KUNIT_ASSERT_EQ(test, do_map(va, dma + NPUEDGE_PAGE, NPUEDGE_BLOCK, false), 0);
	KUNIT_EXPECT_EQ(test, leaf_size(va), NPUEDGE_PAGE);
	KUNIT_EXPECT_EQ(test, fake_walk(va + NPUEDGE_BLOCK - 4), dma + NPUEDGE_BLOCK + 0xffc);
	KUNIT_EXPECT_EQ(test, pt.tables, 5);

	/* And back: the table under the big leaf goes. */
	KUNIT_ASSERT_EQ(test, do_map(va, dma, NPUEDGE_BLOCK, true), 0);
	KUNIT_EXPECT_EQ(test, leaf_size(va), NPUEDGE_BLOCK);
	KUNIT_EXPECT_EQ(test, fake_walk(va + 8), (dma + 8) | 1);
	KUNIT_EXPECT_EQ(test, pt.tables, 4);
}

static void pgtable_split(struct kunit *test)
{
	u64 va = 3 * NPUEDGE_BLOCK, dma = 7 * NPUEDGE_BLOCK, hole = 100 * NPUEDGE_PAGE;

	KUNIT_ASSERT_EQ(test, do_map(va, dma, 3 * NPUEDGE_BLOCK, true), 0);
	KUNIT_ASSERT_EQ(test, do_unmap(va + hole, 2 * NPUEDGE_BLOCK), 0);
	KUNIT_EXPECT_TRUE(test, pt.stale);

	KUNIT_EXPECT_EQ(test, fake_walk(va + hole - 4), (dma + hole - 4) | 1);
	KUNIT_EXPECT_EQ(test, fake_walk(va + hole), 0);
	KUNIT_EXPECT_EQ(test, fake_walk(va + NPUEDGE_BLOCK), 0);
	KUNIT_EXPECT_EQ(test, fake_walk(va + hole + 2 * NPUEDGE_BLOCK - 4), 0);
	KUNIT_EXPECT_EQ(test, fake_walk(va + hole + 2 * NPUEDGE_BLOCK),
			(dma + hole + 2 * NPUEDGE_BLOCK) | 1);

	KUNIT_ASSERT_EQ(test, do_unmap(va, 3 * NPUEDGE_BLOCK), 0);
	KUNIT_EXPECT_EQ(test, pt.tables, 1);
}

/* A hole in a big leaf that is filled again is no reason to keep small ones. */
static void pgtable_merge(struct kunit *test)
{
	u64 va = 3 * NPUEDGE_BLOCK, dma = 7 * NPUEDGE_BLOCK, hole = 100 * NPUEDGE_PAGE;

	KUNIT_ASSERT_EQ(test, do_map(va, dma, NPUEDGE_BLOCK, false), 0);
	KUNIT_ASSERT_EQ(test, do_unmap(va + hole, 16 * NPUEDGE_PAGE), 0);
	KUNIT_EXPECT_EQ(test, leaf_size(va), NPUEDGE_PAGE);
	KUNIT_EXPECT_EQ(test, pt.tables, 3);

	/* Other rights, or other memory, prevent it. */
	KUNIT_ASSERT_EQ(test, do_map(va + hole, dma + hole, 16 * NPUEDGE_PAGE, true), 0);
	KUNIT_EXPECT_EQ(test, leaf_size(va), NPUEDGE_PAGE);
	KUNIT_ASSERT_EQ(test, do_map(va + hole, dma + hole + NPUEDGE_PAGE, 16 * NPUEDGE_PAGE,
				     false), 0);
	KUNIT_EXPECT_EQ(test, leaf_size(va), NPUEDGE_PAGE);

	KUNIT_ASSERT_EQ(test, do_map(va + hole, dma + hole, 16 * NPUEDGE_PAGE, false), 0);
	KUNIT_EXPECT_EQ(test, leaf_size(va), NPUEDGE_BLOCK);
	KUNIT_EXPECT_EQ(test, fake_walk(va + hole + 4), dma + hole + 4);
	KUNIT_EXPECT_TRUE(test, pt.stale);
	KUNIT_EXPECT_EQ(test, pt.tables, 2);
}

/* Memory of two buffers that happens to be contiguous is not merged: one may be taken away. */
static void pgtable_merge_needs_one_buffer(struct kunit *test)
{
	struct npuedge_pt_segment half = { .dma = NPUEDGE_BLOCK, .len = NPUEDGE_BLOCK / 2 };
	struct npuedge_pt_stock stock = { };
	struct npuedge_pt_need need = { };

	npuedge_pt_need_map(&need, 0, half.dma, half.len);
	KUNIT_ASSERT_EQ(test, npuedge_pt_reserve(&pt, &stock, &need), 0);
	KUNIT_ASSERT_EQ(test, npuedge_pt_map(&pt, &stock, 0, &half, false), 0);
	half.dma += half.len;
	KUNIT_ASSERT_EQ(test, npuedge_pt_map(&pt, &stock, half.len, &half, false), 0);
	npuedge_pt_release(&pt, &stock);
	KUNIT_EXPECT_EQ(test, leaf_size(0), NPUEDGE_PAGE);
	KUNIT_EXPECT_EQ(test, fake_walk(NPUEDGE_BLOCK - 8), 2 * NPUEDGE_BLOCK - 8);
}

/* Taking memory away needs no table, and a big leaf goes as a whole. */
static void pgtable_clear(struct kunit *test)
{
	u64 va = 3 * NPUEDGE_BLOCK, dma = 7 * NPUEDGE_BLOCK;

	KUNIT_ASSERT_EQ(test, do_map(va - NPUEDGE_PAGE, dma - NPUEDGE_PAGE,
				     2 * NPUEDGE_BLOCK + NPUEDGE_PAGE, false), 0);
	pt.stale = false;
	npuedge_pt_clear(&pt, va - NPUEDGE_PAGE, NPUEDGE_BLOCK);
	KUNIT_EXPECT_TRUE(test, pt.stale);
	KUNIT_EXPECT_EQ(test, fake_walk(va - NPUEDGE_PAGE), 0);
	KUNIT_EXPECT_EQ(test, fake_walk(va), 0);
	KUNIT_EXPECT_EQ(test, fake_walk(va + NPUEDGE_BLOCK - NPUEDGE_PAGE), 0);
	KUNIT_EXPECT_EQ(test, fake_walk(va + NPUEDGE_BLOCK), dma + NPUEDGE_BLOCK);
	/* Tables stay for when it is mapped again. */
	KUNIT_EXPECT_EQ(test, pt.tables, 3);
	KUNIT_ASSERT_EQ(test, do_unmap(va - NPUEDGE_PAGE, 2 * NPUEDGE_BLOCK + NPUEDGE_PAGE), 0);
	KUNIT_EXPECT_EQ(test, pt.tables, 1);
}

static void pgtable_discard_waits(struct kunit *test)
{
	struct change c = { .va = NPUEDGE_BLOCK, .len = NPUEDGE_PAGE };
	u32 taken = 0;

	KUNIT_ASSERT_EQ(test, do_map(c.va, 0x5000, NPUEDGE_PAGE, false), 0);
	KUNIT_ASSERT_EQ(test, change_run(&c), 0);

	/* Unlinked, but a walk that the MMU has begun may still read them. */
	KUNIT_EXPECT_EQ(test, pt.root->used, 0);
	KUNIT_EXPECT_EQ(test, pt.tables, 1);
	KUNIT_EXPECT_EQ(test, c.stock.discarded.count, 2);
	KUNIT_EXPECT_TRUE(test, pt.stale);
	npuedge_pt_release(&pt, &c.stock);
	for (u32 i = 0; i < FAKE_TABLES; i++)
		taken += fake->taken[i];
	KUNIT_EXPECT_EQ(test, taken, 1 + pt.spare_middle.count + pt.spare_last.count);
}

/* No allocation may fail in a way that changes a translation or leaks a table. */
static void pgtable_failures(struct kunit *test)
{
	u64 va = (1ull << 30) - NPUEDGE_BLOCK, dma = 11 * NPUEDGE_BLOCK;
	u32 tables, failures = 0;
	u64 writes;
	int ret = -ENOMEM;

	KUNIT_ASSERT_EQ(test, do_map(va, dma, 2 * NPUEDGE_BLOCK, false), 0);
	tables = pt.tables;
	writes = pt.writes;

	for (int n = 0; ret; n++) {
		fake->fail_at = n;
		ret = do_map(va + NPUEDGE_PAGE, dma * 2, 2 * NPUEDGE_BLOCK, true);
		fake->fail_at = -1;
		if (!ret)
			break;

		failures++;
		KUNIT_EXPECT_EQ(test, pt.writes, writes);
		KUNIT_EXPECT_EQ(test, pt.tables, tables);
		KUNIT_EXPECT_EQ(test, fake_walk(va + NPUEDGE_PAGE), dma + NPUEDGE_PAGE);
	}
	/* Two middle tables that may be missing, and three last ones. */
	KUNIT_EXPECT_EQ(test, failures, 5);
	KUNIT_EXPECT_EQ(test, fake_walk(va), dma);
	KUNIT_EXPECT_EQ(test, fake_walk(va + NPUEDGE_PAGE), dma * 2 | 1);
	KUNIT_EXPECT_EQ(test, fake_walk(va + 2 * NPUEDGE_BLOCK - 4),
			(dma * 2 + 2 * NPUEDGE_BLOCK - NPUEDGE_PAGE - 4) | 1);
}

/* 1 GiB in big leaves costs one entry each, and one for the table. */
static void pgtable_writes(struct kunit *test)
{
	u64 dma = 64 * NPUEDGE_SPAN;

	KUNIT_ASSERT_EQ(test, do_map(NPUEDGE_SPAN, dma, NPUEDGE_SPAN, false), 0);
	KUNIT_EXPECT_EQ(test, pt.writes, 513);
	KUNIT_EXPECT_EQ(test, pt.tables, 2);
}

#define MODEL_PAGES	(5 * NPUEDGE_PT_ENTRIES)

/* How many changes are reserved before the first of them runs. */
#define MODEL_QUEUED	4

static u32 model_seed;

static u32 model_random(u32 limit)
{
	model_seed = model_seed * 1664525 + 1013904223;
	return (model_seed >> 8) % limit;
}

static void model_invent(struct change *c, u64 base)
{
	u32 first = model_random(MODEL_PAGES), flags = model_random(64);
	u32 count = 1 + model_random(MODEL_PAGES - first);

	if (flags & 1)
		first &= ~(NPUEDGE_PT_ENTRIES - 1);
	if (flags & 2)
		count = (count - 1) % 32 + 1;
	*c = (struct change) { .va = base + first * NPUEDGE_PAGE, .len = count * NPUEDGE_PAGE };
	c->readonly = (flags & 12) == 12;
	if (flags & 48)
		c->dma = 64 * NPUEDGE_BLOCK * (1 + model_random(2)) +
			 (flags & 16 ? first * NPUEDGE_PAGE : 0);
}

static void model_apply(u64 *model, const struct change *c, u64 base)
{
	u32 first = (c->va - base) / NPUEDGE_PAGE;

	for (u32 i = 0; i < c->len / NPUEDGE_PAGE; i++)
		model[first + i] = c->dma ? (c->dma + i * NPUEDGE_PAGE) | c->readonly : 0;
}

/*
 * Random changes against a flat model, across the end of a middle table.  Each is reserved when
 * others that will run before it have not run yet.
 */
static void pgtable_random(struct kunit *test)
{
	u64 base = (1ull << 30) - 2 * NPUEDGE_BLOCK;
	u64 *model = kunit_kzalloc(test, MODEL_PAGES * sizeof(*model), GFP_KERNEL);
	struct change *queue = kunit_kzalloc(test, MODEL_QUEUED * sizeof(*queue), GFP_KERNEL);
	u32 bad = 0;

	KUNIT_ASSERT_NOT_NULL(test, model);
	KUNIT_ASSERT_NOT_NULL(test, queue);
	model_seed = 1;
	for (u32 round = 0; round < 2000; round++) {
		struct change *c = &queue[round % MODEL_QUEUED];

		if (round >= MODEL_QUEUED) {
			KUNIT_ASSERT_EQ(test, change_run(c), 0);
			npuedge_pt_release(&pt, &c->stock);
			model_apply(model, c, base);
			for (u32 i = 0; i < MODEL_PAGES; i++)
				bad += fake_walk(base + i * NPUEDGE_PAGE) != model[i];
			KUNIT_ASSERT_EQ(test, bad, 0);
		}
		model_invent(c, base);
		KUNIT_ASSERT_EQ(test, change_reserve(c), 0);
	}
	for (u32 i = 0; i < MODEL_QUEUED; i++)
		npuedge_pt_release(&pt, &queue[i].stock);
	KUNIT_ASSERT_EQ(test, do_unmap(base, MODEL_PAGES * NPUEDGE_PAGE), 0);
	KUNIT_EXPECT_EQ(test, pt.tables, 1);
}

#ifdef SHIM_WRITE_HOOK
/* What must be translated after every single store, and how often it was not. */
static struct {
	u64 va, len, dma;
	u32 lost;
} watch;

static void watch_store(void)
{
	for (u64 at = 0; at < watch.len; at += 16 * NPUEDGE_PAGE)
		watch.lost += (fake_walk(watch.va + at) & ~1ull) != watch.dma + at;
}

/* A running job never misses what a change leaves alone, or maps anew to the same memory. */
static void pgtable_no_window(struct kunit *test)
{
	u64 va = 3 * NPUEDGE_BLOCK, dma = 7 * NPUEDGE_BLOCK, hole = 64 * NPUEDGE_PAGE;

	KUNIT_ASSERT_EQ(test, do_map(va, dma, 2 * NPUEDGE_BLOCK, false), 0);
	watch.va = va;
	watch.len = hole;
	watch.dma = dma;
	shim_after_write = watch_store;
	KUNIT_ASSERT_EQ(test, do_unmap(va + hole, NPUEDGE_BLOCK), 0);
	KUNIT_ASSERT_EQ(test, do_map(va + hole, dma + hole, NPUEDGE_BLOCK, false), 0);
	KUNIT_EXPECT_EQ(test, leaf_size(va), NPUEDGE_BLOCK);

	watch.len = 2 * NPUEDGE_BLOCK;
	KUNIT_ASSERT_EQ(test, do_map(va + hole, dma + hole, NPUEDGE_BLOCK, true), 0);
	KUNIT_ASSERT_EQ(test, do_map(va, dma, 2 * NPUEDGE_BLOCK, true), 0);
	shim_after_write = NULL;
	KUNIT_EXPECT_EQ(test, watch.lost, 0);
}
#endif

static void ring_indices(struct kunit *test)
{
	u32 fill;

	KUNIT_EXPECT_TRUE(test, npuedge_ring_fill(5, 5, 4, &fill));
	KUNIT_EXPECT_EQ(test, fill, 0);
	KUNIT_EXPECT_TRUE(test, npuedge_ring_fill(1, 0xfffffffd, 4, &fill));
	KUNIT_EXPECT_EQ(test, fill, 4);
	KUNIT_EXPECT_FALSE(test, npuedge_ring_fill(2, 0xfffffffd, 4, &fill));
	KUNIT_EXPECT_FALSE(test, npuedge_ring_fill(4, 5, 4, &fill));

	KUNIT_EXPECT_FALSE(test, npuedge_ring_passed(7, 7));
	KUNIT_EXPECT_TRUE(test, npuedge_ring_passed(8, 7));
	KUNIT_EXPECT_FALSE(test, npuedge_ring_passed(6, 7));
	KUNIT_EXPECT_TRUE(test, npuedge_ring_passed(0, 0xffffffff));
	KUNIT_EXPECT_FALSE(test, npuedge_ring_passed(0xffffffff, 0));
}

static struct kunit_case npuedge_cases[] = {
	KUNIT_CASE(pgtable_empty),
	KUNIT_CASE(pgtable_pages),
	KUNIT_CASE(pgtable_block),
	KUNIT_CASE(pgtable_split),
	KUNIT_CASE(pgtable_merge),
	KUNIT_CASE(pgtable_merge_needs_one_buffer),
	KUNIT_CASE(pgtable_clear),
	KUNIT_CASE(pgtable_discard_waits),
	KUNIT_CASE(pgtable_failures),
	KUNIT_CASE(pgtable_writes),
	KUNIT_CASE(pgtable_random),
#ifdef SHIM_WRITE_HOOK
	KUNIT_CASE(pgtable_no_window),
#endif
	KUNIT_CASE(ring_indices),
	{ }
};

static struct kunit_suite npuedge_suite = {
	.name = "npuedge-pgtable",
	.init = pgtable_setup,
	.exit = pgtable_teardown,
	.test_cases = npuedge_cases,
};

kunit_test_suite(npuedge_suite);

MODULE_DESCRIPTION("KUnit tests of npuedge");
MODULE_LICENSE("GPL");
