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

TEST_HARNESS_MAIN
