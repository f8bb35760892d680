// SPDX-License-Identifier: GPL-2.0
/* fdinfo: the standard keys of Documentation/gpu/drm-usage-stats.rst, and that they count. */
#include "kselftest_harness.h"
#include "buffer.h"

TEST(fdinfo_counts_time_and_memory)
{
	struct npu_client c;
	long long before, memory;
	int ret = npu_client_init(&c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	ASSERT_GT(npu_fdinfo(c.fd, "drm-client-id"), -1);
	before = npu_fdinfo(c.fd, "drm-engine-npu");
	ASSERT_GE(before, 0);
	ASSERT_EQ(0, npu_submit(c.fd, c.queue, NPU_STREAM, npu_slow_stream(c.stream, 4), NPU_PARAMS, 0, c.sync));
	ASSERT_EQ(0, npu_wait(c.fd, c.sync, NPU_WAIT_NS));
	EXPECT_GT(npu_fdinfo(c.fd, "drm-engine-npu"), before);
	EXPECT_GT(npu_fdinfo(c.fd, "drm-cycles-npu"), 0);
	memory = npu_fdinfo(c.fd, "drm-total-memory");
	EXPECT_GT(memory, 0);
	npu_bo_create(c.fd, 16 << 20, 0, 0);
	EXPECT_GT(npu_fdinfo(c.fd, "drm-total-memory"), memory);
	npu_client_fini(&c);
}

static uint64_t busy_ns(struct npu_client *c, int queue)
{
	struct drm_npuedge_queue_get_state state = { .id = queue };

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state) ? 0 : state.busy_ns;
}

static int run(struct npu_client *c, int queue, uint32_t products)
{
	uint32_t size = npu_slow_stream(c->stream, products);
	int ret = npu_submit(c->fd, queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync);

	return ret ? ret : npu_wait(c->fd, c->sync, NPU_WAIT_NS);
}

/* A file's time is that of its queues, those that are gone included, and of nobody else. */
TEST(fdinfo_time_is_that_of_the_queues)
{
	struct npu_client a, b;
	long long first, both;
	int ret = npu_client_init(&a), second;

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_client_init(&b));
	second = npu_queue_create(a.fd, a.vm, DRM_NPUEDGE_PRIORITY_LOW);
	ASSERT_GT(second, 0);
	EXPECT_EQ(0, npu_fdinfo(a.fd, "drm-engine-npu"));
	EXPECT_EQ(0, npu_fdinfo(a.fd, "drm-cycles-npu"));

	ASSERT_EQ(0, run(&a, a.queue, 3));
	first = busy_ns(&a, a.queue);
	EXPECT_GT(first, 0);
	EXPECT_EQ(first, npu_fdinfo(a.fd, "drm-engine-npu"));
	ASSERT_EQ(0, run(&a, second, 2));
	both = first + busy_ns(&a, second);
	EXPECT_GT(both, first);
	EXPECT_EQ(both, npu_fdinfo(a.fd, "drm-engine-npu"));

	EXPECT_EQ(0, npu_fdinfo(b.fd, "drm-engine-npu"));
	EXPECT_EQ(0, npu_fdinfo(b.fd, "drm-cycles-npu"));
	ASSERT_EQ(0, run(&b, b.queue, 1));
	EXPECT_EQ(busy_ns(&b, b.queue), npu_fdinfo(b.fd, "drm-engine-npu"));
	EXPECT_EQ(both, npu_fdinfo(a.fd, "drm-engine-npu"));

	ASSERT_EQ(0, npu_queue_destroy(a.fd, second));
	EXPECT_EQ(both, npu_fdinfo(a.fd, "drm-engine-npu"));
	ASSERT_EQ(0, npu_queue_destroy(a.fd, a.queue));
	EXPECT_EQ(both, npu_fdinfo(a.fd, "drm-engine-npu"));
	npu_client_fini(&a);
	npu_client_fini(&b);
}

/* Cycles in that time are those of the clock, which may have been slower than it can be for a while. */
TEST(fdinfo_cycles_are_those_of_the_clock)
{
	struct drm_npuedge_chip_info chip = { 0 };
	struct drm_npuedge_telemetry now = { 0 };
	struct npu_client c;
	long long ns, cycles;
	int ret = npu_client_init(&c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_query(c.fd, DRM_NPUEDGE_QUERY_CHIP, &chip, sizeof(chip)));
	EXPECT_EQ(chip.freq_max_khz * 1000ll, npu_fdinfo(c.fd, "drm-maxfreq-npu"));
	ASSERT_EQ(0, npu_query(c.fd, DRM_NPUEDGE_QUERY_TELEMETRY, &now, sizeof(now)));
	ASSERT_EQ(0, run(&c, c.queue, 10));
	ns = npu_fdinfo(c.fd, "drm-engine-npu");
	cycles = npu_fdinfo(c.fd, "drm-cycles-npu");
	TH_LOG("%lld cycles in %lld ns, clock %u kHz", cycles, ns, now.freq_khz);
	ASSERT_GT(ns, 0);
	/* to one in a hundred */
	EXPECT_LE(cycles * 1000000 / ns, chip.freq_max_khz + chip.freq_max_khz / 100);
	EXPECT_GE(cycles * 1000000 / ns, now.freq_khz - now.freq_khz / 100);
	npu_client_fini(&c);
}

TEST_HARNESS_MAIN
