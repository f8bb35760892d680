// SPDX-License-Identifier: GPL-2.0
/*
 * Wrong data without a sign: a bit of a result, a write that comes late, a translation that should be gone.  No driver
 * can notice; so what is seen here is that they are visible where they should be, and nowhere else, and that they are
 * over with the next job.  That way the other tests, which compare data, are known to be able to fail.
 */
#include "kselftest_harness.h"
#include "debugfs.h"
#include "inject.h"

/* what a sleep between two steps of a test would empty is the TLB */
#define POWER_CONTROL	"/sys/bus/platform/drivers/npuedge/*npuedge*/power/control"
#define WORDS	16		/* 64 bytes */
#define TARGET	512		/* word of the data page to which jobs copy */
#define FAR_VA	(NPU_VA * 8)

FIXTURE(integrity) {
	struct npu_inject inj;
	struct npu_client c, other;
	long long resets;
	char power[256];
};

FIXTURE_SETUP(integrity)
{
	const char *missing = inject_client(&self->inj, &self->c);

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, npu_client_init(&self->other));
	ASSERT_EQ(0, npu_glob(POWER_CONTROL, self->power, sizeof(self->power)));
	ASSERT_EQ(0, npu_write_text(self->power, "on"));
	self->resets = npu_knob_number("reset");
	for (int i = 0; i < WORDS; i++)
		self->c.data[i] = 0x01020304 * (i + 1);
	memset(self->other.data, 0x77, NPU_PAGE);
	npu_copy_stream(self->c.stream, TARGET, WORDS * 4);
}

FIXTURE_TEARDOWN(integrity)
{
	inject_close(&self->inj);
	npu_client_fini(&self->c);
	npu_client_fini(&self->other);
	npu_write_text(self->power, "auto");
}

/* The job ends well, whatever it has written. */
static int copy(struct npu_client *c)
{
	int ret = npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync);

	if (!ret)
		ret = npu_wait(c->fd, c->sync, NPU_WAIT_NS);
	return ret ? ret : npu_sync_status(c->fd, c->sync);
}

static int bits_wrong(struct npu_client *c)
{
	int bits = 0;

	for (int i = 0; i < WORDS; i++)
		bits += __builtin_popcount(c->data[i] ^ c->data[TARGET + i]);
	return bits;
}

/* The write is there, as a whole: of the late write the words need not come at once. */
static bool written_late(const volatile uint32_t *words, int count)
{
	for (int i = 0; i < count; i++) {
		if (words[i] != 0xdeadbeef)
			return false;
	}
	return true;
}

/* Device time may run slower than ours. */
static void wait_written_late(const volatile uint32_t *words, int count)
{
	for (int i = 0; i < 4000 * npu_slowness() && !written_late(words, count); i++)
		usleep(5000);
}

static bool untouched(struct npu_client *c)
{
	for (uint64_t i = 0; i < NPU_PAGE / 4; i++) {
		if (c->data[i] != 0x77777777)
			return false;
	}
	return true;
}

TEST_F(integrity, wrong_bit_of_a_result)
{
	struct npu_client *c = &self->c;

	ASSERT_EQ(0, inject_arm_fault(&self->inj, NPUSIM_OUTPUT_BITFLIP));
	EXPECT_EQ(1, copy(c));
	EXPECT_TRUE(inject_wait(&self->inj, NPUSIM_OUTPUT_BITFLIP, 1, 1000));
	EXPECT_EQ(1, bits_wrong(c));
	EXPECT_EQ(1, copy(c));
	EXPECT_EQ(0, bits_wrong(c));
	EXPECT_TRUE(untouched(&self->other));
	EXPECT_EQ(self->resets, npu_knob_number("reset"));
}

TEST_F(integrity, late_write_hits_its_owner_alone)
{
	struct npu_client *c = &self->c;

	ASSERT_EQ(0, inject_arm_fault(&self->inj, NPUSIM_STRAY_WRITE));
	EXPECT_EQ(1, copy(c));
	EXPECT_TRUE(inject_wait(&self->inj, NPUSIM_STRAY_WRITE, 1, 1000));
	wait_written_late(c->data + TARGET, WORDS);
	for (int i = 0; i < WORDS; i++)
		EXPECT_EQ(0xdeadbeef, c->data[TARGET + i]);
	EXPECT_TRUE(untouched(&self->other));
	EXPECT_EQ(1, copy(c));
	EXPECT_EQ(0, bits_wrong(c));
	EXPECT_EQ(self->resets, npu_knob_number("reset"));
	EXPECT_EQ(0, npu_device_works());
}

/* The job stores into memory that is unmapped before the late write comes: then it reaches nothing. */
TEST_F_TIMEOUT(integrity, late_write_does_not_reach_what_was_unmapped, 120)
{
	struct npu_client *c = &self->c;
	int bo = npu_bo_create(c->fd, NPU_PAGE, 0, 0);
	uint32_t *map = npu_bo_map(c->fd, bo, NPU_PAGE);

	unsigned int late_us = 500000;

	ASSERT_NE(MAP_FAILED, map);
	for (int keep = 1; keep >= 0; keep--) {
		ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, FAR_VA, 0, NPU_PAGE, 0));
		inject_begin(&self->inj, NPUSIM_STRAY_WRITE);
		inject_duration_us(&self->inj, late_us);
		ASSERT_EQ(0, inject_arm(&self->inj));
		EXPECT_EQ(1, npu_copy(c, NPU_DATA, FAR_VA, WORDS * 4));
		if (!keep)
			ASSERT_EQ(0, npu_unmap(c->fd, c->vm, FAR_VA, NPU_PAGE));
		EXPECT_TRUE(inject_wait(&self->inj, NPUSIM_STRAY_WRITE, 1, 1000));
		/* a busy machine may have unmapped it too late: once more with a write that comes later */
		if (!keep && map[0] == 0xdeadbeef && late_us < 5000000) {
			keep++;
			late_us *= 3;
			inject_disarm_all(&self->inj);
			continue;
		}
		if (keep)
			wait_written_late(map, WORDS);
		else
			usleep(late_us + 2500000);
		EXPECT_EQ(keep ? 0xdeadbeef : c->data[0], map[0]);
		inject_disarm_all(&self->inj);
	}
	munmap(map, NPU_PAGE);
	EXPECT_EQ(0, npu_device_works());
}

/* The translation stays when it is unmapped; the status of a job that uses it then. */
static int use_stale(struct __test_metadata *_metadata, struct npu_client *c, struct npu_inject *inj, int bo)
{
	EXPECT_EQ(0, npu_map(c->fd, c->vm, bo, FAR_VA, 0, NPU_PAGE, 0));
	EXPECT_EQ(1, npu_copy(c, FAR_VA, NPU_DATA, 4));
	EXPECT_EQ(0, inject_arm_fault(inj, NPUSIM_TLB_STALE));
	EXPECT_EQ(0, npu_unmap(c->fd, c->vm, FAR_VA, NPU_PAGE));
	EXPECT_TRUE(inject_wait(inj, NPUSIM_TLB_STALE, 1, 1000));
	c->data[0] = 0;
	return npu_copy(c, FAR_VA, NPU_DATA, 4);
}

TEST_F(integrity, stale_translation_lasts_until_the_next_invalidation)
{
	struct npu_client *c = &self->c;
	int bo = npu_bo_create(c->fd, NPU_PAGE, 0, 0), status = 0;
	uint32_t *map = npu_bo_map(c->fd, bo, NPU_PAGE);

	ASSERT_NE(MAP_FAILED, map);
	map[0] = 0x57a1e;
	/* what tests before this one have left behind is still being freed, and ends all translations, too */
	for (int i = 0; i < 10 && status != 1; i++) {
		if (status)
			npu_new_queue(c);
		status = use_stale(_metadata, c, &self->inj, bo);
		if (status != 1)
			EXPECT_EQ(-EIO, status);
	}
	ASSERT_EQ(1, status);
	EXPECT_EQ(0x57a1e, c->data[0]);
	/* of another address space: all translations go */
	ASSERT_EQ(0, npu_copy(&self->other, NPU_DATA, NPU_DATA + 64, 4) < 0);
	ASSERT_EQ(0, npu_unmap(self->other.fd, self->other.vm, NPU_VA + NPU_CLIENT_SIZE / 2, NPU_PAGE));
	EXPECT_EQ(-EIO, npu_copy(c, FAR_VA, NPU_DATA, 4));
	munmap(map, NPU_PAGE);
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
