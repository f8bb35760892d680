// SPDX-License-Identifier: GPL-2.0
/* The debug window of the device model, through which the other tests arm faults. */
#include "kselftest_harness.h"
#include "debugfs.h"
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

	for (int i = 0; i < 3; i++)
		ASSERT_EQ(1, copy_job(&self->c, i + 1));
	EXPECT_EQ(jobs + 3, inject_read64(&self->inj, NPUSIM_WIN_JOBS_LO));
	EXPECT_LT(0, inject_read64(&self->inj, NPUSIM_WIN_DOORBELL_NS_LO));
}

/* Has the driver keep the device awake; sleeping and waking up need registers. */
static int keep_awake(const char *control)
{
	char path[256];
	int ret = npu_glob("/sys/bus/platform/drivers/npuedge/*npuedge*/power/control", path, sizeof(path));

	return ret ? ret : npu_write_text(path, control);
}

/* Each interrupt has a line of its own; with one for all, its handler has to read a register. */
static bool lines_are_separate(void)
{
	char *text = npu_read_file("/proc/interrupts", NULL);
	bool separate = text && strstr(text, "npuedge-queue");

	free(text);
	return separate;
}

/* What a job costs on the bus: its doorbell is written, and nothing is read. */
static void check_cost(struct __test_metadata *_metadata, FIXTURE_DATA(inject) *self, unsigned int jobs, bool at_once)
{
	struct npu_inject *inj = &self->inj;
	struct npu_client *c = &self->c;
	uint64_t reads, writes, doorbells;

	reads = inject_read64(inj, NPUSIM_WIN_READS_LO);
	writes = inject_read64(inj, NPUSIM_WIN_WRITES_LO);
	doorbells = inject_read64(inj, NPUSIM_WIN_DOORBELLS_LO);
	for (unsigned int i = 0; i < jobs; i++) {
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
		if (!at_once)
			ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	}
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	ASSERT_EQ(1, npu_sync_status(c->fd, c->sync));
	EXPECT_EQ(jobs, inject_read64(inj, NPUSIM_WIN_DOORBELLS_LO) - doorbells);
	EXPECT_EQ(jobs, inject_read64(inj, NPUSIM_WIN_WRITES_LO) - writes);
	EXPECT_EQ(0, inject_read64(inj, NPUSIM_WIN_READS_LO) - reads);
}

TEST_F(inject, a_job_costs_one_doorbell_and_no_read)
{
	if (!lines_are_separate())
		SKIP(return, "one interrupt for everything");
	if (keep_awake("on"))
		SKIP(return, "no runtime power management in sysfs");
	/* what others have closed is gone, and nobody tells firmware of it in between */
	npu_wait_uses(1 + 1);
	EXPECT_EQ(1, copy_job(&self->c, 1));
	check_cost(_metadata, self, 20, false);
	check_cost(_metadata, self, 200, true);
	EXPECT_EQ(0, keep_awake("auto"));
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
