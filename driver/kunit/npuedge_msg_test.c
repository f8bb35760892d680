// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Tests of messages of firmware
 *
 * Which reply is whose, what its status means, and whether there is room for a message: firmware
 * may say anything.
 *
 * Like the tests of page tables, this runs under KUnit and on the host.
 */

#include <kunit/test.h>
#include <linux/array_size.h>
#include <linux/slab.h>

#include "npuedge_msg.h"

#define CALLS	16

static struct npuedge_fw_call *calls;

static int msg_setup(struct kunit *test)
{
	calls = kunit_kzalloc(test, CALLS * sizeof(*calls), GFP_KERNEL);
	return calls ? 0 : -ENOMEM;
}

/* Index of the call that a reply with this id is for, or -1. */
static long awaited(u32 id, u32 count)
{
	const struct ne1_msg msg = { .type = NE1_EVT_REPLY, .id = id };
	struct npuedge_fw_call *call = npuedge_msg_awaited(calls, count, &msg);

	return call ? call - calls : -1;
}

static const struct {
	u16 status;
	int error;
} meanings[] = {
	{ NE1_MSG_OK, 0 },
	{ NE1_MSG_BAD_TYPE, -EPROTO },
	{ NE1_MSG_BAD_FIELD, -EPROTO },
	{ NE1_MSG_BAD_STATE, -EPROTO },
	{ NE1_MSG_NO_RESOURCE, -EBUSY },
	{ NE1_MSG_HUNG, -EPROTO },
	{ NE1_MSG_HUNG + 1, -EPROTO },
	{ 0x100, -EPROTO },
	{ 0xffff, -EPROTO },
};

static void status(struct kunit *test)
{
	unsigned int successes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
		KUNIT_EXPECT_EQ(test, npuedge_msg_errno(meanings[i].status), meanings[i].error);

	/* nothing else is a success */
	for (u32 value = 0; value < 0x10000; value++)
		successes += !npuedge_msg_errno(value);
	KUNIT_EXPECT_EQ(test, successes, 1);
}

/* Indices of a ring of 64: ours, what firmware says, whether one more message fits. */
static const struct {
	u32 write, read;
	bool room;
} rings[] = {
	{ 0, 0, true },
	{ 63, 0, true },
	{ 64, 0, false },
	{ 65, 0, false },		/* more than the ring holds */
	{ 64, 1, true },
	{ 5, 6, false },		/* read what was not written */
	{ 0, 1, false },
	{ 0, 0x80000000, false },
	{ 0, 0xffffffff, true },	/* indices wrap */
	{ 0x1f, 0xffffffe0, true },	/* 63 */
	{ 0x20, 0xffffffe0, false },	/* 64 */
	{ 0xffffffff, 0, false },
};

static void room(struct kunit *test)
{
	for (size_t i = 0; i < ARRAY_SIZE(rings); i++)
		KUNIT_EXPECT_EQ(test, npuedge_msg_room(rings[i].write, rings[i].read, 64),
				rings[i].room);
}

static void ids(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, npuedge_msg_next_id(0), 1);
	KUNIT_EXPECT_EQ(test, npuedge_msg_next_id(1), 2);
	KUNIT_EXPECT_EQ(test, npuedge_msg_next_id(0xfffffffe), 0xffffffff);
	/* 0 is left out, as it stands for none */
	KUNIT_EXPECT_EQ(test, npuedge_msg_next_id(0xffffffff), 1);
}

/* A free place has id 0, which firmware may send: it is nobody's reply. */
static void unsolicited(struct kunit *test)
{
	static const u32 sent[] = { 0, 1, 4, 5, 6, 7, 0x80000000, 0xffffffff };

	for (size_t i = 0; i < ARRAY_SIZE(sent); i++)
		KUNIT_EXPECT_EQ(test, awaited(sent[i], CALLS), -1);
	calls[3].id = 5;
	for (size_t i = 0; i < ARRAY_SIZE(sent); i++)
		KUNIT_EXPECT_EQ(test, awaited(sent[i], CALLS), sent[i] == 5 ? 3 : -1);
	/* not beyond the places that there are */
	KUNIT_EXPECT_EQ(test, awaited(5, 3), -1);
	KUNIT_EXPECT_EQ(test, awaited(5, 4), 3);
}

/* Replies come in any order; each finds its own call, once. */
static void replies(struct kunit *test)
{
	u32 id = 0xfffffff8; /* wraps in the middle */

	for (u32 i = 0; i < CALLS; i++) {
		struct npuedge_fw_call *call = npuedge_msg_free_call(calls, CALLS);

		KUNIT_ASSERT_NOT_NULL(test, call);
		KUNIT_EXPECT_EQ(test, call - calls, i);
		id = npuedge_msg_next_id(id);
		call->id = id;
	}
	KUNIT_EXPECT_TRUE(test, !npuedge_msg_free_call(calls, CALLS));

	for (u32 n = 0; n < CALLS; n++) {
		u32 i = n * 5 % CALLS;

		KUNIT_EXPECT_EQ(test, awaited(calls[i].id, CALLS), i);
		calls[i].done = true;
		/* the same once more, before its caller has seen the first */
		KUNIT_EXPECT_EQ(test, awaited(calls[i].id, CALLS), -1);
	}
}

/* Who gave up has freed the place: a late reply finds nobody, not the next user of the place. */
static void late(struct kunit *test)
{
	calls[0].id = 7;
	calls[0] = (struct npuedge_fw_call) { };
	KUNIT_EXPECT_EQ(test, awaited(7, CALLS), -1);
	KUNIT_EXPECT_TRUE(test, npuedge_msg_free_call(calls, CALLS) == &calls[0]);
	calls[0].id = 8;
	KUNIT_EXPECT_EQ(test, awaited(7, CALLS), -1);
	KUNIT_EXPECT_EQ(test, awaited(8, CALLS), 0);
}

static struct kunit_case msg_cases[] = {
	KUNIT_CASE(status),
	KUNIT_CASE(room),
	KUNIT_CASE(ids),
	KUNIT_CASE(unsolicited),
	KUNIT_CASE(replies),
	KUNIT_CASE(late),
	{ }
};

static struct kunit_suite msg_suite = {
	.name = "npuedge-msg",
	.init = msg_setup,
	.test_cases = msg_cases,
};

kunit_test_suite(msg_suite);
