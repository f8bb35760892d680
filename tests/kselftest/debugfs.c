// SPDX-License-Identifier: GPL-2.0
/* The driver's debugfs files: what they show is there, and what is written has an effect. */
#include "kselftest_harness.h"
#include "debugfs.h"
#include "uevent.h"

FIXTURE(debugfs) {
	struct npu_client c;
	int uses;	/* of the driver, by the client alone */
};

FIXTURE_SETUP(debugfs)
{
	int ret;

	npu_wait_uses(0);
	ret = npu_client_init(&self->c);
	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	self->uses = npu_uses();
	if (npu_knob_number("job_timeout_ms") < 0)
		SKIP(return, "debugfs is not there (job_timeout_ms)");
}

FIXTURE_TEARDOWN(debugfs)
{
	npu_client_fini(&self->c);
	npu_dumps_clear();
}

/* Whether a file contains a text, now or within 20 s. */
static bool shows(const char *knob, const char *text)
{
	bool ret = false;

	for (int i = 0; !ret && i < 1000 * npu_slowness(); i++) {
		char *found;

		if (i)
			usleep(20000);
		found = npu_knob_read(knob);
		ret = found && strstr(found, text);
		free(found);
	}
	return ret;
}

/* Whether firmware has logged it by now. */
static bool logged(const char *text)
{
	char *log = npu_knob_read("fw_log");
	bool ret = log && strstr(log, text);

	free(log);
	return ret;
}

TEST_F(debugfs, queues_and_rings)
{
	struct npu_client *c = &self->c;

	npu_copy_stream(c->stream, 1, 4);
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	EXPECT_TRUE(shows("queues", "pushed 1 started 1 ended 1"));
	EXPECT_TRUE(shows("ring", "commands: 64 entries"));
	EXPECT_TRUE(shows("ring", "events: 256 entries"));
	EXPECT_TRUE(shows("ring", "done 1 run 0"));

	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, npu_slow_stream(c->stream, 8000), NPU_PARAMS, 0,
				c->sync));
	EXPECT_TRUE(shows("ring", "seqno 2 job 2 cores 1 params 0x10000000 stream 0x10002000"));
	EXPECT_TRUE(shows("vas", "0x0010000000"));
}

TEST_F(debugfs, log_and_its_level)
{
	struct npu_client *c = &self->c;

	ASSERT_EQ(0, npu_knob_write("fw_log_level", "0"));
	ASSERT_EQ(0, npu_knob_write("reset", "1"));
	EXPECT_EQ(0, npu_knob_number("fw_log_level"));
	EXPECT_FALSE(logged("created"));
	ASSERT_EQ(0, npu_knob_write("fw_log_level", "2"));
	ASSERT_GT(npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL), 0);
	EXPECT_TRUE(shows("fw_log", "created"));
	EXPECT_EQ(-EINVAL, npu_knob_write("fw_log_level", "4"));
	EXPECT_EQ(2, npu_knob_number("fw_log_level"));
}

/* A limit of none, or one that is not a number of the file's type, is refused, and the old one stays. */
TEST_F(debugfs, limits_of_jobs)
{
	static const char *const good[] = { "1", "60000", "4294967295" };
	static const char *const bad[] = { "0", "0x0", "4294967296", "4294967297", "18446744073709551615",
					   "18446744073709551616", "-1", "a" };
	struct npu_client *c = &self->c;
	long long saved = npu_knob_number("job_timeout_ms");
	char text[32];

	ASSERT_GT(saved, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int ret = npu_knob_write("job_timeout_ms", bad[i]);

		EXPECT_TRUE(ret == -EINVAL || ret == -ERANGE)
			TH_LOG("%s: %d", bad[i], ret);
		EXPECT_EQ(saved, npu_knob_number("job_timeout_ms"));
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		EXPECT_EQ(0, npu_knob_write("job_timeout_ms", good[i]));
		EXPECT_EQ(atoll(good[i]), npu_knob_number("job_timeout_ms"));
	}
	/* The longest there is does not come at once. */
	c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	EXPECT_GT(c->queue, 0);
	npu_copy_stream(c->stream, 1, 4);
	EXPECT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
	EXPECT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
	snprintf(text, sizeof(text), "%lld", saved);
	EXPECT_EQ(0, npu_knob_write("job_timeout_ms", text));
}

/* All of it is shown, however long it is. */
TEST_F_TIMEOUT(debugfs, log_that_is_full, 120)
{
	struct npu_client *c = &self->c;
	size_t before, length = 0;

	ASSERT_EQ(0, npu_knob_write("fw_log_level", "3"));
	for (int i = 0; i < 5000; i++) {
		char *log = i % 50 ? NULL : npu_knob_read("fw_log");
		int id;

		before = length;
		length = log ? strlen(log) : length;
		free(log);
		/* it grows until it is full, and stays so */
		EXPECT_GE(length, before);
		if (log && length == before && length > 40000)
			break;
		id = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		ASSERT_GT(id, 0);
		ASSERT_EQ(0, npu_queue_destroy(c->fd, id));
	}
	EXPECT_EQ(0, length % 4096);
	EXPECT_GT(length, 40000);
	EXPECT_TRUE(logged("created"));
	ASSERT_EQ(0, npu_knob_write("fw_log_level", "2"));
}

TEST_F(debugfs, resets_are_counted_and_told)
{
	long long before = npu_knob_number("reset");
	int events = npu_uevent_open();

	ASSERT_GE(events, 0);
	ASSERT_EQ(0, npu_knob_write("reset", "1"));
	EXPECT_EQ(before + 1, npu_knob_number("reset"));
	EXPECT_TRUE(npu_uevent_wait(events, "WEDGED=none"));
	EXPECT_EQ(0, npu_device_works());
	close(events);
}

/* Has the next event of this kind fail, once: one of ours, as what others have closed is gone. */
static int inject(const char *fault, int uses)
{
	static const char *const files[][2] = { { "verbose", "0" }, { "interval", "1" }, { "times", "1" },
						{ "probability", "100" } };
	char knob[64];
	int ret = 0;

	npu_wait_uses(uses);
	for (size_t i = 0; !ret && i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(knob, sizeof(knob), "%s/%s", fault, files[i][0]);
		ret = npu_knob_write(knob, files[i][1]);
	}
	return ret;
}

TEST_F_TIMEOUT(debugfs, faults_are_injected, 120)
{
	struct npu_client *c = &self->c;
	long long resets = npu_knob_number("reset"), timeout = npu_knob_number("job_timeout_ms");
	char text[32];

	if (npu_knob_number("fail_send/probability") < 0)
		SKIP(return, "a kernel without fault injection");
	ASSERT_EQ(0, inject("fail_send", self->uses));
	EXPECT_EQ(-EIO, npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL));
	EXPECT_EQ(resets + 1, npu_knob_number("reset"));
	ASSERT_EQ(0, inject("fail_reply", self->uses));
	EXPECT_EQ(-EIO, npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL));
	EXPECT_EQ(resets + 2, npu_knob_number("reset"));
	ASSERT_EQ(0, inject("fail_tlb", self->uses));
	ASSERT_EQ(0, npu_map(c->fd, c->vm, c->bo, 2 * NPU_VA, 0, NPU_PAGE, 0));
	ASSERT_EQ(0, npu_unmap(c->fd, c->vm, 2 * NPU_VA, NPU_PAGE));
	EXPECT_EQ(resets + 3, npu_knob_number("reset"));
	ASSERT_EQ(0, inject("fail_boot", self->uses));
	ASSERT_EQ(0, npu_knob_write("reset", "1"));
	EXPECT_EQ(resets + 4, npu_knob_number("reset"));
	EXPECT_EQ(0, npu_device_works());

	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", "2000"));
	ASSERT_EQ(0, inject("fail_post", self->uses));
	EXPECT_EQ(0, npu_device_works());
	snprintf(text, sizeof(text), "%lld", timeout);
	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", text));
	EXPECT_EQ(resets + 4, npu_knob_number("reset"));
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
