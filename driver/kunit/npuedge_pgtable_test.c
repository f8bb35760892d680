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

/* What the driver does for a bind; 0 or -ENOMEM. */
static int do_map(u64 va, u64 dma, u64 len, bool readonly)
{
	int ret;

	ret = npuedge_pt_prepare_unmap(&pt, va, len);
	ret = ret ?: npuedge_pt_prepare_map(&pt, va, dma, len);
	if (!ret) {
		npuedge_pt_unmap(&pt, va, len);
		npuedge_pt_map(&pt, va, dma, len, readonly);
	}
	npuedge_pt_trim(&pt, va, len);
	npuedge_pt_reap(&pt);
	return ret;
}

static int do_unmap(u64 va, u64 len, bool *changed)
{
	int ret;

	ret = npuedge_pt_prepare_unmap(&pt, va, len);
	if (!ret)
		*changed = npuedge_pt_unmap(&pt, va, len);
	npuedge_pt_trim(&pt, va, len);
	npuedge_pt_reap(&pt);
	return ret;
}

static u64 leaf_size(u64 va)
{
	u64 size;

	npuedge_pt_lookup(&pt, va, &size);
	return size;
}

static void pgtable_empty(struct kunit *test)
{
	bool changed = true;

	KUNIT_EXPECT_EQ(test, fake_walk(0), 0);
	KUNIT_EXPECT_EQ(test, fake_walk((1ull << NE1_VA_BITS) - 1), 0);
	KUNIT_EXPECT_EQ(test, do_unmap(0, 1ull << NE1_VA_BITS, &changed), 0);
	KUNIT_EXPECT_FALSE(test, changed);
	KUNIT_EXPECT_EQ(test, pt.tables, 1);
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

	/* Read only now, and elsewhere. */
	KUNIT_ASSERT_EQ(test, do_map(va, dma * 2, NPUEDGE_PAGE, true), 0);
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
	bool changed = false;

	KUNIT_ASSERT_EQ(test, do_map(va, dma, 3 * NPUEDGE_BLOCK, true), 0);
	KUNIT_ASSERT_EQ(test, do_unmap(va + hole, 2 * NPUEDGE_BLOCK, &changed), 0);
	KUNIT_EXPECT_TRUE(test, changed);

	KUNIT_EXPECT_EQ(test, fake_walk(va + hole - 4), (dma + hole - 4) | 1);
	KUNIT_EXPECT_EQ(test, fake_walk(va + hole), 0);
	KUNIT_EXPECT_EQ(test, fake_walk(va + NPUEDGE_BLOCK), 0);
	KUNIT_EXPECT_EQ(test, fake_walk(va + hole + 2 * NPUEDGE_BLOCK - 4), 0);
	KUNIT_EXPECT_EQ(test, fake_walk(va + hole + 2 * NPUEDGE_BLOCK),
			(dma + hole + 2 * NPUEDGE_BLOCK) | 1);

	KUNIT_ASSERT_EQ(test, do_unmap(va, 3 * NPUEDGE_BLOCK, &changed), 0);
	KUNIT_EXPECT_EQ(test, pt.tables, 1);
}

static void pgtable_reap_waits(struct kunit *test)
{
	u64 va = NPUEDGE_BLOCK;

	KUNIT_ASSERT_EQ(test, do_map(va, 0x5000, NPUEDGE_PAGE, false), 0);
	npuedge_pt_unmap(&pt, va, NPUEDGE_PAGE);
	npuedge_pt_trim(&pt, va, NPUEDGE_PAGE);

	/* Unlinked, but a walk that the MMU has begun may still read them. */
	KUNIT_EXPECT_EQ(test, pt.root->used, 0);
	KUNIT_EXPECT_EQ(test, pt.tables, 3);
	npuedge_pt_reap(&pt);
	KUNIT_EXPECT_EQ(test, pt.tables, 1);
}

/* No allocation may fail in a way that changes a translation or leaks a table. */
static void pgtable_failures(struct kunit *test)
{
	u64 va = (1ull << 30) - NPUEDGE_BLOCK, dma = 11 * NPUEDGE_BLOCK;
	u32 tables, failures = 0;
	int ret = -ENOMEM;

	KUNIT_ASSERT_EQ(test, do_map(va, dma, 2 * NPUEDGE_BLOCK, false), 0);
	tables = pt.tables;

	for (int n = 0; ret; n++) {
		fake->fail_at = n;
		ret = do_map(va + NPUEDGE_PAGE, dma * 2, 2 * NPUEDGE_BLOCK, true);
		fake->fail_at = -1;
		if (!ret)
			break;

		failures++;
		KUNIT_EXPECT_EQ(test, fake_walk(va + NPUEDGE_PAGE), dma + NPUEDGE_PAGE);
		KUNIT_EXPECT_EQ(test, fake_walk(va + 2 * NPUEDGE_BLOCK - 4),
				dma + 2 * NPUEDGE_BLOCK - 4);
		KUNIT_EXPECT_EQ(test, fake_walk(va + 2 * NPUEDGE_BLOCK), 0);
	}
	/* Three tables; but a split that succeeded once need not be made again. */
	KUNIT_EXPECT_EQ(test, failures, 2);
	KUNIT_EXPECT_EQ(test, fake_walk(va), dma);
	KUNIT_EXPECT_EQ(test, fake_walk(va + NPUEDGE_PAGE), dma * 2 | 1);
	KUNIT_EXPECT_GE(test, pt.tables, tables);
}

#define MODEL_PAGES	(5 * NPUEDGE_PT_ENTRIES)

/* Random binds against a flat model, across the end of a middle table. */
static void pgtable_random(struct kunit *test)
{
	u64 base = (1ull << 30) - 2 * NPUEDGE_BLOCK;
	u64 *model = kunit_kzalloc(test, MODEL_PAGES * sizeof(*model), GFP_KERNEL);
	u32 seed = 1, bad = 0;
	bool changed;

	KUNIT_ASSERT_NOT_NULL(test, model);
	for (u32 round = 0; round < 2000; round++) {
		u32 first, count;
		u64 dma, va;

		seed = seed * 1664525 + 1013904223;
		first = (seed >> 8) % MODEL_PAGES;
		seed = seed * 1664525 + 1013904223;
		count = 1 + (seed >> 8) % (MODEL_PAGES - first);
		if (seed & 0x100000)
			first &= ~(NPUEDGE_PT_ENTRIES - 1);
		va = base + first * NPUEDGE_PAGE;
		dma = (1 + (seed >> 28)) * 64 * NPUEDGE_BLOCK +
		      (seed & 0x80000 ? first * NPUEDGE_PAGE : 0);

		if (seed & 0x200000) {
			KUNIT_ASSERT_EQ(test, do_unmap(va, count * NPUEDGE_PAGE, &changed), 0);
			memset(model + first, 0, count * sizeof(*model));
		} else {
			KUNIT_ASSERT_EQ(test, do_map(va, dma, count * NPUEDGE_PAGE, seed & 1), 0);
			for (u32 i = 0; i < count; i++)
				model[first + i] = (dma + i * NPUEDGE_PAGE) | (seed & 1);
		}
		for (u32 i = 0; i < MODEL_PAGES; i++)
			bad += fake_walk(base + i * NPUEDGE_PAGE) != model[i];
		KUNIT_ASSERT_EQ(test, bad, 0);
	}
	KUNIT_ASSERT_EQ(test, do_unmap(base, MODEL_PAGES * NPUEDGE_PAGE, &changed), 0);
	KUNIT_EXPECT_EQ(test, pt.tables, 1);
}

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
	KUNIT_CASE(pgtable_reap_waits),
	KUNIT_CASE(pgtable_failures),
	KUNIT_CASE(pgtable_random),
	KUNIT_CASE(ring_indices),
	{ }
};

static struct kunit_suite npuedge_suite = {
	.name = "npuedge",
	.init = pgtable_setup,
	.exit = pgtable_teardown,
	.test_cases = npuedge_cases,
};

kunit_test_suite(npuedge_suite);

MODULE_DESCRIPTION("KUnit tests of npuedge");
MODULE_LICENSE("GPL");
