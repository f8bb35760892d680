// SPDX-License-Identifier: GPL-2.0
/*
 * System sleep, as far as the kernel's test of devices goes, runtime suspend, and power-off.  The first puts all devices of
 * the machine to sleep, which not every one survives: it is done if NPUEDGE_SLEEP is set; the last if NPUEDGE_POWER_OFF is.
 */
#include "kselftest_harness.h"
#include "debugfs.h"
#include "sysfs.h"

#define JOBS	100	/* more than a ring holds: some are in the device, some wait */

FIXTURE(suspend) {
	struct npu_client c;
};

FIXTURE_SETUP(suspend)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
}

FIXTURE_TEARDOWN(suspend)
{
	npu_client_fini(&self->c);
}

/* Job i copies word i to word i + 1; the first has the device busy for a while. */
static int submit_chain(struct npu_client *c)
{
	int ret = 0;

	memset(c->data, 0, NPU_PAGE);
	c->data[0] = 42;
	for (int i = 0; !ret && i < JOBS; i++) {
		union ne1_cmd *s = c->stream + i * 4;

		npu_slow_stream(s, 1);
		npu_copy_stream(s + !i, i + 1, 4);
		s[!i].dma.offset = i * 4;
		ret = npu_submit(c->fd, c->queue, NPU_STREAM + i * 256, 192 + 64 * !i, NPU_PARAMS, 0, c->sync);
	}
	return ret;
}

TEST_F_TIMEOUT(suspend, jobs_go_on_after_sleep, 120)
{
	struct npu_client *c = &self->c;

	if (!getenv("NPUEDGE_SLEEP"))
		SKIP(return, "NPUEDGE_SLEEP is not set");
	if (npu_write_text("/sys/power/pm_test", "devices"))
		SKIP(return, "the kernel has no test of suspend (pm_test)");
	for (int round = 0; round < 2; round++) {
		int ret;

		ASSERT_EQ(0, submit_chain(c));
		ret = npu_write_text("/sys/power/state", "freeze");
		EXPECT_EQ(0, ret);
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
		EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
		for (int i = 0; i <= JOBS; i++)
			ASSERT_EQ(42, c->data[i]);
	}
	npu_write_text("/sys/power/pm_test", "none");
	EXPECT_EQ(0, npu_device_works());
}

/* Does not come back: whether the driver has stopped the device, its debug message says. */
TEST_F_TIMEOUT(suspend, power_off_stops_the_device, 120)
{
	struct npu_client *c = &self->c;

	if (!getenv("NPUEDGE_POWER_OFF"))
		SKIP(return, "NPUEDGE_POWER_OFF is not set");
	ASSERT_EQ(0, npu_write_text("/sys/module/drm/parameters/debug", "2"));
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, npu_slow_stream(c->stream, 8000), NPU_PARAMS, 0, c->sync));
	ASSERT_TRUE(npu_job_runs());
	TH_LOG("a job runs");
	ASSERT_EQ(0, npu_write_text("/proc/sysrq-trigger", "o"));
	sleep(100);
	EXPECT_EQ(0, npu_sync_status(c->fd, c->sync));
}

TEST_F_TIMEOUT(suspend, idle_device_sleeps_and_wakes, 120)
{
	struct npu_client *c = &self->c;
	char path[256], status[16];
	FILE *file;

	if (npu_glob("/sys/bus/platform/drivers/npuedge/*npuedge*/power/runtime_status", path, sizeof(path)))
		SKIP(return, "no runtime power management");
	for (int round = 0; round < 3; round++) {
		memset(status, 0, sizeof(status));
		for (int i = 0; i < 2000 * npu_slowness() && strncmp(status, "suspended", 9); i++) {
			usleep(10000);
			file = fopen(path, "r");
			ASSERT_NE(NULL, file);
			EXPECT_NE(NULL, fgets(status, sizeof(status), file));
			fclose(file);
		}
		EXPECT_STREQ("suspended\n", status);
		npu_copy_stream(c->stream, 1, 4);
		c->data[0] = round + 3;
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
		EXPECT_EQ(round + 3, c->data[1]);
	}
}

TEST_HARNESS_MAIN
