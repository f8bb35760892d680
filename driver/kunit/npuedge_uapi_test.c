// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Tests of what is told of user space's arguments alone
 *
 * Arrays of extensible structures with every stride and tail, and the checks of addresses, changes
 * of address spaces, syncobjs, ranges and labels of buffers.
 *
 * Like the tests of page tables, this runs under KUnit and on the host.
 */

#include <kunit/test.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/string.h>

#include <drm/npuedge_accel.h>

#include "npuedge_array.h"
#include "npuedge_bo_check.h"
#include "npuedge_check.h"
#include "npuedge_pgtable.h"

#define USER_BYTES	(2 * PAGE_SIZE)
#define MAX_ITEMS	100

/* A structure of which the first version ended with @b, and what a later version adds. */
struct item {
	u32 a;
	u32 b;
	u64 since_second;
};

struct wide_item {
	struct item known;
	u64 later;
};

static u8 __user *user;

static int uapi_setup(struct kunit *test)
{
	unsigned long addr;

	addr = kunit_vm_mmap(test, NULL, 0, USER_BYTES, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	user = (u8 __user *)addr;
	return !addr || IS_ERR_VALUE(addr) ? -ENOMEM : 0;
}

static void put(size_t offset, const void *data, size_t size)
{
	if (copy_to_user(user + offset, data, size))
		user = NULL;
}

static struct item *get(u32 stride, u32 count, u64 ptr)
{
	const struct drm_npuedge_array array = { .stride = stride, .count = count, .ptr = ptr };

	return NPUEDGE_ARRAY_COPY(&array, struct item, b, MAX_ITEMS);
}

static u64 user_ptr(size_t offset)
{
	return (u64)(uintptr_t)user + offset;
}

static long error_of(u32 stride, u32 count, u64 ptr)
{
	struct item *items = get(stride, count, ptr);
	long ret = PTR_ERR_OR_ZERO(items);

	if (!IS_ERR(items))
		kvfree(items);
	return ret;
}

static void array_limits(struct kunit *test)
{
	static const struct {
		u32 stride, count;
		long error;
	} cases[] = {
		{ 0, 1, -EINVAL },
		{ 1, 1, -EINVAL },
		{ 7, 1, -EINVAL },
		{ 8, 1, 0 },
		{ 8, MAX_ITEMS, 0 },
		{ 8, MAX_ITEMS + 1, -E2BIG },
		{ 8, 1u << 16, -E2BIG },
		{ 8, 1u << 31, -E2BIG },
		{ 8, ~0u, -E2BIG },
		{ ~0u, 1, -E2BIG },
		{ 1u << 31, 2, -E2BIG },
		{ PAGE_SIZE + 8, 1, -E2BIG },
		{ PAGE_SIZE, 2, 0 },
		/* An empty array is not looked at. */
		{ 0, 0, 0 },
		{ ~0u, 0, 0 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ(test, error_of(cases[i].stride, cases[i].count, user_ptr(0)),
				cases[i].error);
	KUNIT_EXPECT_EQ(test, error_of(8, 0, 64), 0L);
	KUNIT_EXPECT_TRUE(test, !get(8, 0, 64));
}

/* An old caller passes less than we know: the rest is zero, and the stride is its own. */
static void array_of_an_old_caller(struct kunit *test)
{
	const u32 data[] = { 1, 2, 3, 4, 5, 6 };
	struct item *items;

	put(0, data, sizeof(data));
	items = get(8, 3, user_ptr(0));
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(items));
	for (u32 i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, items[i].a, 2 * i + 1);
		KUNIT_EXPECT_EQ(test, items[i].b, 2 * i + 2);
		KUNIT_EXPECT_EQ(test, items[i].since_second, 0ull);
	}
	kvfree(items);
}

/* A new caller may pass more, as long as it is zero. */
static void array_of_a_new_caller(struct kunit *test)
{
	struct wide_item data[2] = { { { 1, 2, 3 }, 0 }, { { 4, 5, 6 }, 0 } };
	struct item *items;

	put(0, data, sizeof(data));
	items = get(sizeof(data[0]), 2, user_ptr(0));
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(items));
	KUNIT_EXPECT_EQ(test, items[1].a, 4u);
	KUNIT_EXPECT_EQ(test, items[1].since_second, 6ull);
	kvfree(items);

	for (u32 byte = sizeof(struct item); byte < sizeof(data[0]); byte++) {
		data[1].later = 0;
		((u8 *)&data[1])[byte] = 0x80;
		put(0, data, sizeof(data));
		KUNIT_EXPECT_EQ(test, error_of(sizeof(data[0]), 2, user_ptr(0)), (long)-E2BIG);
		KUNIT_EXPECT_EQ(test, error_of(sizeof(data[0]), 1, user_ptr(0)), 0L);
	}
}

static void array_faults(struct kunit *test)
{
	/* The second item begins within the memory and ends behind it. */
	KUNIT_EXPECT_EQ(test, error_of(16, 1, user_ptr(USER_BYTES - 24)), 0L);
	KUNIT_EXPECT_EQ(test, error_of(16, 2, user_ptr(USER_BYTES - 24)), (long)-EFAULT);
	KUNIT_EXPECT_EQ(test, error_of(8, 1, user_ptr(USER_BYTES)), (long)-EFAULT);
	KUNIT_EXPECT_EQ(test, error_of(8, 1, 64), (long)-EFAULT);
	KUNIT_EXPECT_EQ(test, error_of(8, 2, ~0ull - 8), (long)-EFAULT);
}

static void check_addresses(struct kunit *test)
{
	const u64 end = NPUEDGE_VA_END;

	KUNIT_EXPECT_TRUE(test, npuedge_check_va(NPUEDGE_VA_START, 1));
	KUNIT_EXPECT_TRUE(test, npuedge_check_va(NPUEDGE_VA_START, end - NPUEDGE_VA_START));
	KUNIT_EXPECT_TRUE(test, npuedge_check_va(end - 1, 1));
	KUNIT_EXPECT_FALSE(test, npuedge_check_va(0, 1));
	KUNIT_EXPECT_FALSE(test, npuedge_check_va(NPUEDGE_VA_START - 1, 2));
	KUNIT_EXPECT_FALSE(test, npuedge_check_va(NPUEDGE_VA_START, 0));
	KUNIT_EXPECT_FALSE(test, npuedge_check_va(NPUEDGE_VA_START, end));
	KUNIT_EXPECT_FALSE(test, npuedge_check_va(end, 1));
	KUNIT_EXPECT_FALSE(test, npuedge_check_va(end - 1, 2));
	/* Sums that wrap. */
	KUNIT_EXPECT_FALSE(test, npuedge_check_va(NPUEDGE_VA_START, ~0ull));
	KUNIT_EXPECT_FALSE(test, npuedge_check_va(~0ull, 1));
	KUNIT_EXPECT_FALSE(test, npuedge_check_va(~0ull - 63, 128));
	KUNIT_EXPECT_FALSE(test, npuedge_check_va(end - 64, ~0ull - end + 128));
}

#define PAGE	NPUEDGE_PAGE
#define START	NPUEDGE_VA_START
#define END	NPUEDGE_VA_END

/* op, flags, handle, pad, va, size, bo_offset */
static const struct drm_npuedge_vm_bind_op good_ops[] = {
	{ 0, 0, 1, 0, START, PAGE, 0 },
	{ 0, DRM_NPUEDGE_BIND_READONLY, 1, 0, START, PAGE, 0 },
	{ 0, 0, 1, 0, START, END - START, 0 },
	{ 0, 0, 1, 0, END - PAGE, PAGE, PAGE },
	/* Compared with the buffer, and looked up, elsewhere. */
	{ 0, 0, 1, 0, START, PAGE, ~(PAGE - 1) },
	{ 0, 0, 0, 0, START, PAGE, 0 },
	{ 1, 0, 0, 0, START, PAGE, 0 },
	{ 1, 0, 0, 0, START, END - START, 0 },
};

static const struct drm_npuedge_vm_bind_op bad_ops[] = {
	{ 2, 0, 1, 0, START, PAGE, 0 },
	{ ~0u, 0, 1, 0, START, PAGE, 0 },
	{ 0, 2, 1, 0, START, PAGE, 0 },
	{ 0, ~0u, 1, 0, START, PAGE, 0 },
	{ 0, 0, 1, 1, START, PAGE, 0 },
	{ 0, 0, 1, 0, 0, PAGE, 0 },
	{ 0, 0, 1, 0, START + 1, PAGE, 0 },
	{ 0, 0, 1, 0, START + PAGE / 2, PAGE, 0 },
	{ 0, 0, 1, 0, START - PAGE, PAGE, 0 },
	{ 0, 0, 1, 0, START - PAGE, 2 * PAGE, 0 },
	{ 0, 0, 1, 0, END, PAGE, 0 },
	{ 0, 0, 1, 0, END - PAGE, 2 * PAGE, 0 },
	{ 0, 0, 1, 0, ~(PAGE - 1), 2 * PAGE, 0 },
	{ 0, 0, 1, 0, START, 0, 0 },
	{ 0, 0, 1, 0, START, PAGE / 2, 0 },
	{ 0, 0, 1, 0, START, ~0ull, 0 },
	{ 0, 0, 1, 0, START, ~(PAGE - 1), 0 },
	{ 0, 0, 1, 0, START, PAGE, 1 },
	{ 0, 0, 1, 0, START, PAGE, ~0ull },
	{ 1, 1, 0, 0, START, PAGE, 0 },
	{ 1, 0, 1, 0, START, PAGE, 0 },
	{ 1, 0, 0, 1, START, PAGE, 0 },
	{ 1, 0, 0, 0, START, 0, 0 },
	{ 1, 0, 0, 0, START, PAGE, PAGE },
};

static void check_bind_ops(struct kunit *test)
{
	for (u32 i = 0; i < ARRAY_SIZE(good_ops); i++)
		KUNIT_EXPECT_EQ(test, npuedge_check_bind_op(&good_ops[i]), 0);
	for (u32 i = 0; i < ARRAY_SIZE(bad_ops); i++)
		KUNIT_EXPECT_EQ(test, npuedge_check_bind_op(&bad_ops[i]), -EINVAL);
}

static void check_syncs(struct kunit *test)
{
	static const struct {
		u32 flags;
		u64 point;
		int error;
	} cases[] = {
		{ 0, 0, 0 },
		{ 0, 1, -EINVAL },
		{ 0, ~0ull, -EINVAL },
		{ DRM_NPUEDGE_SYNC_TIMELINE, 0, -EINVAL },
		{ DRM_NPUEDGE_SYNC_TIMELINE, 1, 0 },
		{ DRM_NPUEDGE_SYNC_TIMELINE, ~0ull, 0 },
		{ 2, 0, -EINVAL },
		{ 1u << 31, 0, -EINVAL },
		{ DRM_NPUEDGE_SYNC_TIMELINE | 2, 1, -EINVAL },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct drm_npuedge_sync sync = {
			.flags = cases[i].flags, .point = cases[i].point,
		};

		KUNIT_EXPECT_EQ(test, npuedge_check_sync(&sync), cases[i].error);
	}
}

static void check_ranges(struct kunit *test)
{
	static const struct {
		u64 offset, size;
		bool ok;
	} cases[] = {
		{ 0, 1, true }, { 0, 4096, true }, { 4095, 1, true }, { 100, 3996, true },
		{ 0, 0, false }, { 0, 4097, false }, { 4096, 1, false }, { 4095, 2, false },
		{ ~0ull, 1, false }, { 1, ~0ull, false }, { ~0ull, ~0ull, false },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ(test, npuedge_bo_range_ok(4096, cases[i].offset, cases[i].size),
				cases[i].ok);
}

/* Pieces of a range that is made visible: all of it, in order, none beyond its page or segment. */
static void sync_pieces(struct kunit *test)
{
	static const struct {
		u64 offset, size, segment, page;
		u32 pieces;
	} cases[] = {
		{ 0, 1, 4096, 4096, 1 },
		{ 0, 4096, 4096, 4096, 1 },
		{ 0, 16384, 16384, 4096, 4 },
		{ 1, 16383, 16384, 4096, 4 },
		{ 4095, 2, 8192, 4096, 2 },
		{ 12292, 8, 16384, 4096, 1 },
		{ 4096, 100000, 16384, 4096, 3 },
		{ 4096, 100000, 65536, 65536, 1 },
		{ 0xffffff000, 0x2001, 0x1000002000, 4096, 3 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 at = cases[i].offset, left = cases[i].size, piece;
		u32 pieces = 0;

		while (left && at < cases[i].segment) {
			piece = npuedge_bo_sync_piece(at, left, cases[i].segment, cases[i].page);
			KUNIT_ASSERT_FALSE(test, !piece || piece > left);
			KUNIT_EXPECT_GE(test, cases[i].segment, at + piece);
			KUNIT_EXPECT_EQ(test, at / cases[i].page, (at + piece - 1) / cases[i].page);
			at += piece;
			left -= piece;
			pieces++;
		}
		KUNIT_EXPECT_EQ(test, pieces, cases[i].pieces);
	}
}

static void check_labels(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, npuedge_bo_label_ok("", 0));
	KUNIT_EXPECT_TRUE(test, npuedge_bo_label_ok(" KV ~", 5));
	for (int c = 0; c < 256; c++) {
		const char label[] = { 'a', c };

		KUNIT_EXPECT_EQ(test, npuedge_bo_label_ok(label, 2), c >= 0x20 && c < 0x7f);
		KUNIT_EXPECT_TRUE(test, npuedge_bo_label_ok(label, 1));
	}
}

static struct kunit_case uapi_cases[] = {
	KUNIT_CASE(array_limits),
	KUNIT_CASE(array_of_an_old_caller),
	KUNIT_CASE(array_of_a_new_caller),
	KUNIT_CASE(array_faults),
	KUNIT_CASE(check_addresses),
	KUNIT_CASE(check_bind_ops),
	KUNIT_CASE(check_syncs),
	KUNIT_CASE(check_ranges),
	KUNIT_CASE(check_labels),
	KUNIT_CASE(sync_pieces),
	{ }
};

static struct kunit_suite uapi_suite = {
	.name = "npuedge-uapi",
	.init = uapi_setup,
	.test_cases = uapi_cases,
};

kunit_test_suite(uapi_suite);
