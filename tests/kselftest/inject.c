// SPDX-License-Identifier: GPL-2.0
/* The debug window of the device model, through which the other tests arm faults. */
#include "kselftest_harness.h"
#include "inject.h"

FIXTURE(inject) {
	struct npu_inject inj;
	struct npu_client c;
};

FIXTURE_SETUP(inject)
{
	const char *missing = inject_client(&self->inj, &self->c);

	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN(inject)
{
	inject_close(&self->inj);
	npu_client_fini(&self->c);
}

static int copy_job(struct npu_client *c, uint32_t value)
{
	int ret;

	c->data[0] = value;
	c->data[1] = 0;
	npu_copy_stream(c->stream, 1, 4);
	ret = npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync);
	if (!ret)
		ret = npu_wait(c->fd, c->sync, NPU_WAIT_NS);
	return ret ? ret : npu_sync_status(c->fd, c->sync);
}

TEST_F(inject, counts)
{
	uint64_t jobs = inject_read64(&self->inj, NPUSIM_WIN_JOBS_LO);
	uint64_t doorbells = inject_read64(&self->inj, NPUSIM_WIN_DOORBELLS_LO);

	for (int i = 0; i < 3; i++)
		ASSERT_EQ(1, copy_job(&self->c, i + 1));
	EXPECT_EQ(jobs + 3, inject_read64(&self->inj, NPUSIM_WIN_JOBS_LO));
	EXPECT_LE(doorbells + 3, inject_read64(&self->inj, NPUSIM_WIN_DOORBELLS_LO));
	EXPECT_LT(0, inject_read64(&self->inj, NPUSIM_WIN_DOORBELL_NS_LO));
}

TEST_F(inject, fires_and_disarms)
{
	inject_begin(&self->inj, NPUSIM_OUTPUT_BITFLIP);
	inject_arg(&self->inj, 1, 4);
	inject_after(&self->inj, 1);
	inject_count(&self->inj, 1);
	ASSERT_EQ(0, inject_arm(&self->inj));
	EXPECT_TRUE(inject_armed(&self->inj, NPUSIM_OUTPUT_BITFLIP));
	ASSERT_EQ(1, copy_job(&self->c, 0x1000));
	EXPECT_EQ(0x1000, self->c.data[1]);
	ASSERT_EQ(1, copy_job(&self->c, 0x1000));
	EXPECT_EQ(0x1010, self->c.data[1]);
	EXPECT_TRUE(inject_wait(&self->inj, NPUSIM_OUTPUT_BITFLIP, 1, 1000));
	EXPECT_FALSE(inject_armed(&self->inj, NPUSIM_OUTPUT_BITFLIP));
	ASSERT_EQ(1, copy_job(&self->c, 0x1000));
	EXPECT_EQ(0x1000, self->c.data[1]);
}

TEST_F(inject, refuses)
{
	inject_begin(&self->inj, NPUSIM_IRQ_LOST);
	inject_arg(&self->inj, 0, NE1_MSIX_VECTORS);
	EXPECT_EQ(-EINVAL, inject_arm(&self->inj));
	EXPECT_FALSE(inject_armed(&self->inj, NPUSIM_IRQ_LOST));
}

TEST_HARNESS_MAIN
