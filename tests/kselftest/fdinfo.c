// SPDX-License-Identifier: GPL-2.0
/* fdinfo: the standard keys of Documentation/gpu/drm-usage-stats.rst, and that they count. */
#include "kselftest_harness.h"
#include "npuedge.h"

#include <stdlib.h>

/* Value of "key:\tN …" in the fdinfo of @fd; -1 if absent. */
static long long fdinfo_value(int fd, const char *key)
{
	char path[64], line[256];
	long long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		size_t n = strlen(key);

		if (!strncmp(line, key, n) && line[n] == ':')
			value = strtoll(line + n + 1, NULL, 10);
	}
	fclose(file);
	return value;
}

TEST(fdinfo_counts_time_and_memory)
{
	struct npu_client c;
	long long before, memory;
	int ret = npu_client_init(&c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	ASSERT_GT(fdinfo_value(c.fd, "drm-client-id"), -1);
	before = fdinfo_value(c.fd, "drm-engine-npu");
	ASSERT_GE(before, 0);
	ASSERT_EQ(0, npu_submit(c.fd, c.queue, NPU_STREAM, npu_slow_stream(c.stream, 4), NPU_PARAMS, 0, c.sync));
	ASSERT_EQ(0, npu_wait(c.fd, c.sync, NPU_WAIT_NS));
	EXPECT_GT(fdinfo_value(c.fd, "drm-engine-npu"), before);
	EXPECT_GT(fdinfo_value(c.fd, "drm-cycles-npu"), 0);
	memory = fdinfo_value(c.fd, "drm-total-memory");
	EXPECT_GT(memory, 0);
	npu_bo_create(c.fd, 16 << 20, 0, 0);
	EXPECT_GT(fdinfo_value(c.fd, "drm-total-memory"), memory);
	npu_client_fini(&c);
}

TEST_HARNESS_MAIN
