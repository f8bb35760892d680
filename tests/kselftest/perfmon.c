// SPDX-License-Identifier: GPL-2.0
/* Performance monitors: what they count, for whom, and that they survive queues and resets. */
#include <sys/types.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "debugfs.h"

#define MACS	(1ull << 27)	/* of a command of npu_slow_stream() */

FIXTURE(perfmon) {
	struct npu_client c;
};

static int monitor(int fd, uint32_t queue)
{
	struct drm_npuedge_perfmon_create args = { .queue_id = queue };
	int ret = npu_ioctl(fd, DRM_IOCTL_NPUEDGE_PERFMON_CREATE, &args);

	return ret ? ret : (int)args.id;
}

static int end_monitor(int fd, uint32_t id)
{
	struct drm_npuedge_perfmon_destroy args = { .id = id };

	return npu_ioctl(fd, DRM_IOCTL_NPUEDGE_PERFMON_DESTROY, &args);
}

static int read_flags(int fd, uint32_t id, uint32_t counter, uint32_t flags, uint64_t *out)
{
	struct drm_npuedge_perfmon_value value = { .counter = counter };
	struct drm_npuedge_perfmon_read args = {
		.id = id, .flags = flags,
		.values = { .stride = sizeof(value), .count = 1, .ptr = (uintptr_t)&value },
	};
	int ret = npu_ioctl(fd, DRM_IOCTL_NPUEDGE_PERFMON_READ, &args);

	*out = value.value;
	return ret;
}

/* Value of a counter; all ones if it cannot be read. */
static uint64_t count(int fd, uint32_t id, uint32_t counter)
{
	uint64_t value;

	return read_flags(fd, id, counter, 0, &value) ? ~0ull : value;
}

static int run(struct npu_client *c, uint32_t products)
{
	long ms = npu_run_ms(c, npu_slow_stream(c->stream, products));

	return ms < 0 ? (int)ms : npu_sync_status(c->fd, c->sync) == 1 ? 0 : -EIO;
}

FIXTURE_SETUP(perfmon)
{
	int ret = npu_client_init(&self->c), id;

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	id = monitor(self->c.fd, self->c.queue);
	if (id == -EOPNOTSUPP)
		SKIP(return, "firmware does not count");
	ASSERT_GT(id, 0);
	ASSERT_EQ(0, end_monitor(self->c.fd, id));
}

FIXTURE_TEARDOWN(perfmon)
{
	npu_client_fini(&self->c);
	npu_dumps_clear();
}

TEST_F(perfmon, counts_jobs_of_its_queue)
{
	struct npu_client *c = &self->c, other;
	uint64_t value;
	int id;

	ASSERT_EQ(0, npu_client_init(&other));
	ASSERT_EQ(0, run(c, 2));
	id = monitor(c->fd, c->queue);
	ASSERT_GT(id, 0);
	EXPECT_EQ(0, count(c->fd, id, DRM_NPUEDGE_COUNTER_MACS));
	ASSERT_EQ(0, run(c, 3));
	ASSERT_EQ(0, run(&other, 5));
	EXPECT_EQ(3 * MACS, count(c->fd, id, DRM_NPUEDGE_COUNTER_MACS));
	EXPECT_EQ(4, count(c->fd, id, DRM_NPUEDGE_COUNTER_COMMANDS));
	EXPECT_GT(count(c->fd, id, DRM_NPUEDGE_COUNTER_CYCLES), 0);
	EXPECT_GE(count(c->fd, id, DRM_NPUEDGE_COUNTER_CYCLES), count(c->fd, id, DRM_NPUEDGE_COUNTER_MX_BUSY));
	EXPECT_GT(count(c->fd, id, DRM_NPUEDGE_COUNTER_ENERGY), 0);
	EXPECT_EQ(0, count(c->fd, id, DRM_NPUEDGE_COUNTER_SKIPPED));

	ASSERT_EQ(0, read_flags(c->fd, id, DRM_NPUEDGE_COUNTER_MACS, DRM_NPUEDGE_PERFMON_RESET, &value));
	EXPECT_EQ(3 * MACS, value);
	EXPECT_EQ(0, count(c->fd, id, DRM_NPUEDGE_COUNTER_MACS));
	ASSERT_EQ(0, run(c, 1));
	EXPECT_EQ(MACS, count(c->fd, id, DRM_NPUEDGE_COUNTER_MACS));
	EXPECT_EQ(0, end_monitor(c->fd, id));
	EXPECT_EQ(-ENOENT, end_monitor(c->fd, id));
	npu_client_fini(&other);
}

TEST_F(perfmon, device_wide)
{
	struct npu_client *c = &self->c, other;
	int id = monitor(c->fd, 0);

	ASSERT_GT(id, 0);
	ASSERT_EQ(0, npu_client_init(&other));
	ASSERT_EQ(0, run(&other, 2));
	ASSERT_EQ(0, run(c, 1));
	EXPECT_EQ(3 * MACS, count(c->fd, id, DRM_NPUEDGE_COUNTER_MACS));
	/* queues that are gone still count */
	npu_client_fini(&other);
	EXPECT_EQ(3 * MACS, count(c->fd, id, DRM_NPUEDGE_COUNTER_MACS));
	ASSERT_EQ(0, run(c, 1));
	EXPECT_EQ(4 * MACS, count(c->fd, id, DRM_NPUEDGE_COUNTER_MACS));
}

TEST_F(perfmon, device_wide_needs_permission)
{
	struct npu_client *c = &self->c;
	pid_t child;
	int status;

	if (geteuid())
		SKIP(return, "needs root");
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		int bad = setuid(65534);

		bad |= monitor(c->fd, 0) != -EACCES;
		bad |= monitor(c->fd, c->queue) <= 0;
		_exit(bad);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(perfmon, outlives_its_queue)
{
	struct npu_client *c = &self->c;
	int id = monitor(c->fd, c->queue);

	ASSERT_GT(id, 0);
	ASSERT_EQ(0, run(c, 2));
	ASSERT_EQ(0, npu_queue_destroy(c->fd, c->queue));
	EXPECT_EQ(2 * MACS, count(c->fd, id, DRM_NPUEDGE_COUNTER_MACS));
	/* a new queue may get its place in firmware */
	c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	ASSERT_GT(c->queue, 0);
	ASSERT_EQ(0, run(c, 1));
	EXPECT_EQ(2 * MACS, count(c->fd, id, DRM_NPUEDGE_COUNTER_MACS));
}

TEST_F(perfmon, survives_a_reset)
{
	struct npu_client *c = &self->c;
	int id = monitor(c->fd, c->queue);

	ASSERT_GT(id, 0);
	ASSERT_EQ(0, run(c, 2));
	if (npu_knob_write("reset", "1"))
		SKIP(return, "debugfs is not there (reset)");
	EXPECT_EQ(2 * MACS, count(c->fd, id, DRM_NPUEDGE_COUNTER_MACS));
	ASSERT_EQ(0, run(c, 1));
	EXPECT_EQ(3 * MACS, count(c->fd, id, DRM_NPUEDGE_COUNTER_MACS));
}

TEST_F(perfmon, several_values_and_strides)
{
	struct npu_client *c = &self->c;
	struct { struct drm_npuedge_perfmon_value v; uint64_t tail; } values[2] = {
		{ .v.counter = DRM_NPUEDGE_COUNTER_MACS }, { .v.counter = DRM_NPUEDGE_COUNTER_COMMANDS },
	};
	struct drm_npuedge_perfmon_read args = {
		.values = { .stride = sizeof(values[0]), .count = 2, .ptr = (uintptr_t)values },
	};
	int id = monitor(c->fd, c->queue);

	ASSERT_GT(id, 0);
	args.id = id;
	ASSERT_EQ(0, run(c, 2));
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_READ, &args));
	EXPECT_EQ(2 * MACS, values[0].v.value);
	EXPECT_EQ(3, values[1].v.value);
	values[1].tail = 1;
	EXPECT_EQ(-E2BIG, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_READ, &args));
}

TEST_F(perfmon, limits_and_bad_arguments)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_perfmon_create create = { .queue_id = c->queue, .flags = 1 };
	struct drm_npuedge_perfmon_read args = { 0 };
	struct drm_npuedge_limits limits = { 0 };
	int ids[64], made = 0, ret = 0;
	uint64_t value;

	EXPECT_EQ(-EINVAL, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_CREATE, &create));
	EXPECT_EQ(-ENOENT, monitor(c->fd, 4242));
	while (made < 64 && (ret = monitor(c->fd, c->queue)) > 0)
		ids[made++] = ret;
	EXPECT_EQ(-ENOSPC, ret);
	ASSERT_EQ(0, npu_query(c->fd, DRM_NPUEDGE_QUERY_LIMITS, &limits, sizeof(limits)));
	EXPECT_EQ(limits.perfmons, made);
	/* those that there are, and no other */
	for (uint32_t i = 0; i < 64; i++) {
		EXPECT_EQ(limits.counters >> i & 1 ? 0 : -EINVAL, read_flags(c->fd, ids[0], i, 0, &value)) {
			TH_LOG("counter %u of 0x%llx", i, (unsigned long long)limits.counters);
		}
	}
	EXPECT_NE(0, limits.counters);
	EXPECT_EQ(-EINVAL, read_flags(c->fd, ids[0], ~0u, 0, &value));
	EXPECT_EQ(-EINVAL, read_flags(c->fd, ids[0], 0, 2, &value));
	EXPECT_EQ(-ENOENT, read_flags(c->fd, 4242, 0, 0, &value));
	args.id = ids[0];
	EXPECT_EQ(-EINVAL, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_READ, &args));
	for (int i = 0; i < made; i++)
		EXPECT_EQ(0, end_monitor(c->fd, ids[i]));
}

TEST_HARNESS_MAIN
