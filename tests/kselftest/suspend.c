// SPDX-License-Identifier: GPL-2.0
/*
 * System sleep, as far as the kernel's test of devices goes, runtime suspend, and power-off.  The first puts all devices of
 * the machine to sleep, which not every one survives: it is done if NPUEDGE_SLEEP is set; the last if NPUEDGE_POWER_OFF is.
 */
#include "kselftest_harness.h"
#include "debugfs.h"
#include "inject.h"
#include "ne1_fwabi.h"

#define JOBS	100	/* more than a ring holds: some are in the device, some wait */
#define BACKLOG	64	/* what a ring holds: all are in the device */

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
	if (getenv("NPUEDGE_SLEEP"))
		npu_write_text("/sys/power/pm_test", "none");
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

	/* the guest's own devices do not survive it: tests/e2e/sleep sets this, and takes a skip for a failure */
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

/* Takes a second or so, and adds one to data[0]: tells how often it has run. */
static uint32_t counting_stream(struct npu_client *c, uint32_t products)
{
	union ne1_cmd *s;

	npu_slow_stream(c->stream, products);
	s = c->stream + products;
	s[0] = npu_dma(NE1_OP_LD, 0, 128, 0);
	s[0].hdr.signal[0] = 0;
	s[1] = npu_cmd(NE1_OP_ADD);
	s[1].hdr.wait[0] = 0;
	s[1].hdr.signal[0] = 1;
	s[1].vx.y = 64;
	s[1].vx.out = 128;
	s[1].vx.outer = 1;
	s[1].vx.inner = 1;
	s[1].vx.cols = 1;
	s[2] = npu_dma(NE1_OP_ST, 0, 4, 128);
	s[2].hdr.wait[0] = 1;
	s[3] = npu_cmd(NE1_OP_END);
	memset(c->data, 0, NPU_PAGE);
	((float *)c->data)[16] = 1;
	return (products + 4) * NE1_CMD_SIZE;
}

static int count(struct npu_client *c)
{
	return ((volatile float *)c->data)[0];
}

/* What was not started does not keep the machine from sleeping, however much it is, and runs afterwards: all, and once. */
TEST_F_TIMEOUT(suspend, backlog_waits_for_the_end_of_sleep, 300)
{
	struct npu_client *c = &self->c;
	int syncs[BACKLOG];
	uint32_t size;

	/* the guest's own devices do not survive it: tests/e2e/sleep sets this, and takes a skip for a failure */
	if (!getenv("NPUEDGE_SLEEP"))
		SKIP(return, "NPUEDGE_SLEEP is not set");
	if (npu_write_text("/sys/power/pm_test", "devices"))
		SKIP(return, "the kernel has no test of suspend (pm_test)");
	/* more in the device than it would be waited for: BACKLOG times a second */
	size = counting_stream(c, npu_slow_count(c, 1000));
	for (int i = 0; i < BACKLOG; i++) {
		syncs[i] = npu_syncobj_create(c->fd);
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, syncs[i]));
	}
	for (int round = 0; round < 2; round++) {
		int before = count(c);

		ASSERT_TRUE(npu_job_runs());
		EXPECT_EQ(0, npu_write_text("/sys/power/state", "freeze"));
		EXPECT_LE(count(c), before + BACKLOG / 4);
		EXPECT_EQ(0, npu_sync_status(c->fd, syncs[BACKLOG - 1]));
		TH_LOG("%d of %d jobs have ended", count(c), BACKLOG);
	}
	npu_write_text("/sys/power/pm_test", "none");
	for (int i = 0; i < BACKLOG; i++) {
		ASSERT_EQ(0, npu_wait(c->fd, syncs[i], 3 * NPU_WAIT_NS));
		EXPECT_EQ(1, npu_sync_status(c->fd, syncs[i]));
		EXPECT_GE(count(c), i + 1);
		npu_syncobj_destroy(c->fd, syncs[i]);
	}
	EXPECT_EQ(BACKLOG, count(c));
}

/* One that was started and takes too long does, and neither it nor those behind it are harmed. */
TEST_F_TIMEOUT(suspend, a_long_job_keeps_the_machine_awake, 300)
{
	struct npu_client *c = &self->c;
	int first = npu_syncobj_create(c->fd);
	char *before = npu_knob_read("job_timeout_ms");
	uint32_t size, products;

	/* the guest's own devices do not survive it: tests/e2e/sleep sets this, and takes a skip for a failure */
	if (!getenv("NPUEDGE_SLEEP"))
		SKIP(return, "NPUEDGE_SLEEP is not set");
	/* a kernel without debugfs; a failure in tests/e2e/sleep */
	if (!before)
		SKIP(return, "debugfs is not there (job_timeout_ms)");
	if (npu_write_text("/sys/power/pm_test", "devices"))
		SKIP(return, "the kernel has no test of suspend (pm_test)");
	products = npu_slow_count(c, 10000);
	size = counting_stream(c, products);
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, first));
	/* its end alone */
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM + products * NE1_CMD_SIZE, 4 * NE1_CMD_SIZE, NPU_PARAMS,
					0, c->sync));
	ASSERT_TRUE(npu_job_runs());
	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", "500"));
	EXPECT_EQ(-EBUSY, npu_write_text("/sys/power/state", "freeze"));
	EXPECT_EQ(0, npu_sync_status(c->fd, first));
	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", before));
	npu_write_text("/sys/power/pm_test", "none");
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(c->fd, first));
	EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
	EXPECT_EQ(11, count(c));
	free(before);
}

/*
 * Power is taken away from the PCI function, or as much of it as a model can take (D3hot): nobody reads or writes a
 * register meanwhile.  Those that the machine's emulator has not let through are not in the model's count but in the
 * emulator's log, which tests/e2e/sleep reads: it looks for this text.
 */
TEST_F_TIMEOUT(suspend, registers_rest_without_power, 120)
{
	struct npu_client *c = &self->c;
	char path[192], resource[256], *text;
	struct npu_inject inj;
	uint64_t before;

	/* the guest's own devices do not survive it: tests/e2e/sleep sets this, and takes a skip for a failure */
	if (!getenv("NPUEDGE_SLEEP"))
		SKIP(return, "NPUEDGE_SLEEP is not set");
	/* no model, or without its window; a failure in tests/e2e/sleep, as is the next */
	if (inject_slot(path, sizeof(path)) || inject_open(&inj))
		SKIP(return, INJECT_ABSENT);
	snprintf(resource, sizeof(resource), "%s/resource", path);
	text = npu_read_file(resource, NULL);
	ASSERT_NE(NULL, text);
	TH_LOG("registers at %.37s", text);
	free(text);
	if (npu_write_text("/sys/power/pm_test", "platform"))
		SKIP(return, "the kernel has no test of suspend (pm_test)");
	before = inject_read64(&inj, NPUSIM_WIN_ASLEEP_LO);
	for (int round = 0; round < 2; round++) {
		ASSERT_EQ(0, submit_chain(c));
		EXPECT_EQ(0, npu_write_text("/sys/power/state", "freeze"));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
		EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
		for (int i = 0; i <= JOBS; i++)
			ASSERT_EQ(42, c->data[i]);
	}
	npu_write_text("/sys/power/pm_test", "none");
	EXPECT_EQ(before, inject_read64(&inj, NPUSIM_WIN_ASLEEP_LO));
	inject_close(&inj);
	EXPECT_EQ(0, npu_device_works());
}

/*
 * Firmware before ABI 1.2 cannot hold jobs back, and is not told to: all that is in the ring has to end, which keeps the
 * machine awake if it takes longer than a job may.
 */
TEST_F_TIMEOUT(suspend, older_firmware_ends_all_before_sleep, 300)
{
	struct npu_client *c = &self->c;
	long long before = npu_knob_number("job_timeout_ms");
	struct npu_inject inj;
	uint32_t size;

	/* the guest's own devices do not survive it: tests/e2e/sleep sets this, and takes a skip for a failure */
	if (!getenv("NPUEDGE_SLEEP"))
		SKIP(return, "NPUEDGE_SLEEP is not set");
	/* what a kernel or a machine may lack; each a failure in tests/e2e/sleep */
	if (before < 0)
		SKIP(return, "debugfs is not there (job_timeout_ms)");
	if (inject_open(&inj))
		SKIP(return, INJECT_ABSENT);
	if (npu_write_text("/sys/power/pm_test", "devices"))
		SKIP(return, "the kernel has no test of suspend (pm_test)");
	size = counting_stream(c, npu_slow_count(c, 1000));
	for (unsigned int minor = 0; minor < 2; minor++) {
		char text[32];

		inject_begin(&inj, NPUSIM_BOOT_ABI);
		inject_arg(&inj, 0, NE1_ABI_MAJOR);
		inject_arg(&inj, 1, minor);
		inject_count(&inj, 0);
		ASSERT_EQ(0, inject_arm(&inj));
		ASSERT_EQ(0, npu_knob_write("reset", "1"));
		inject_begin(&inj, NPUSIM_REPLY_STATUS);	/* counts replies */
		inject_arg(&inj, 0, NE1_CMD_HOLD);
		inject_arg(&inj, 1, NE1_MSG_BAD_TYPE);
		inject_count(&inj, 0);
		ASSERT_EQ(0, inject_arm(&inj));

		memset(c->data, 0, NPU_PAGE / 8);
		((float *)c->data)[16] = 1;
		for (int i = 0; i < 8; i++)
			ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
		ASSERT_EQ(0, npu_knob_write("job_timeout_ms", "2000"));
		EXPECT_EQ(-EBUSY, npu_write_text("/sys/power/state", "freeze"));
		EXPECT_EQ(0, npu_sync_status(c->fd, c->sync));
		snprintf(text, sizeof(text), "%lld", before);
		ASSERT_EQ(0, npu_knob_write("job_timeout_ms", text));
		EXPECT_EQ(0, npu_write_text("/sys/power/state", "freeze"));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
		EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
		EXPECT_EQ(8, count(c));
		EXPECT_EQ(0, inject_fired(&inj, NPUSIM_REPLY_STATUS));
		EXPECT_LE(2, inject_fired(&inj, NPUSIM_BOOT_ABI));
		inject_disarm_all(&inj);
	}
	npu_write_text("/sys/power/pm_test", "none");
	/* the real one knows it */
	ASSERT_EQ(0, npu_knob_write("reset", "1"));
	inject_close(&inj);
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
