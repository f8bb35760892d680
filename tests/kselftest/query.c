// SPDX-License-Identifier: GPL-2.0
/* Opening the device, DEV_QUERY. */
#include "kselftest_harness.h"
#include "npuedge.h"

FIXTURE(query) {
	int fd;
};

FIXTURE_SETUP(query)
{
	self->fd = npu_open();
	if (self->fd < 0)
		SKIP(return, "no npuedge device");
}

FIXTURE_TEARDOWN(query)
{
	close(self->fd);
}

TEST_F(query, driver_version)
{
	char name[16] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_VERSION, &version));
	EXPECT_STREQ("npuedge", name);
	EXPECT_EQ(DRM_NPUEDGE_VERSION_MAJOR, version.version_major);
	EXPECT_GE(version.version_minor, DRM_NPUEDGE_VERSION_MINOR);
}

TEST_F(query, chip)
{
	struct drm_npuedge_chip_info chip;

	memset(&chip, 0xaa, sizeof(chip));
	ASSERT_EQ(0, npu_query(self->fd, DRM_NPUEDGE_QUERY_CHIP, &chip, sizeof(chip)));
	EXPECT_EQ(NE1_VERSION_MAJOR, chip.contract_version >> 16);
	EXPECT_GE(chip.cores, 1);
	EXPECT_LE(chip.cores, NE1_MAX_CORES);
	EXPECT_GE(chip.sram_bytes, 64 * 1024);
	EXPECT_GT(chip.freq_max_khz, 0);
	EXPECT_GT(chip.dram_bw_mbps, 0);
	EXPECT_GT(chip.queue_depth, 0);
	EXPECT_LT(chip.va_start, NPU_VA);
	EXPECT_EQ(1ull << NE1_VA_BITS, chip.va_end);
	EXPECT_NE(0, chip.formats & (1 << NE1_T_F16));
	EXPECT_NE(0, chip.name[0]);
	EXPECT_EQ(0, chip.name[sizeof(chip.name) - 1]);
}

TEST_F(query, firmware)
{
	struct drm_npuedge_fw_info fw = { 0 };

	ASSERT_EQ(0, npu_query(self->fd, DRM_NPUEDGE_QUERY_FIRMWARE, &fw, sizeof(fw)));
	EXPECT_EQ(1, fw.abi_version >> 16);
	EXPECT_EQ(0, fw.build[sizeof(fw.build) - 1]);
}

TEST_F(query, telemetry_advances)
{
	struct drm_npuedge_telemetry a = { 0 }, b = { 0 };

	ASSERT_EQ(0, npu_query(self->fd, DRM_NPUEDGE_QUERY_TELEMETRY, &a, sizeof(a)));
	usleep(20000);
	ASSERT_EQ(0, npu_query(self->fd, DRM_NPUEDGE_QUERY_TELEMETRY, &b, sizeof(b)));
	EXPECT_GT(b.time_ns, a.time_ns);
	EXPECT_GT(a.temp_die_mc, -40000);
	EXPECT_LT(a.temp_die_mc, 150000);
	EXPECT_EQ(0, a.pad);
}

TEST_F(query, limits_hold)
{
	static struct drm_npuedge_job jobs[4096];
	struct drm_npuedge_limits limits = { 0 };
	struct drm_npuedge_submit submit = { .jobs = { .stride = sizeof(jobs[0]), .ptr = (uintptr_t)jobs } };
	static struct drm_npuedge_vm_bind_op op;
	struct drm_npuedge_vm_bind bind = { .ops = { .stride = sizeof(op), .ptr = (uintptr_t)&op } };
	int vm = npu_vm_create(self->fd);

	ASSERT_EQ(0, npu_query(self->fd, DRM_NPUEDGE_QUERY_LIMITS, &limits, sizeof(limits)));
	EXPECT_GE(limits.jobs_per_submit, 1);
	EXPECT_GE(limits.syncs_per_job, 1);
	EXPECT_GE(limits.ops_per_bind, 1);
	EXPECT_GE(limits.label_bytes, 2);
	EXPECT_GE(limits.bos_per_job, 1);
	EXPECT_GE(limits.perfmons, 1);
	EXPECT_GE(limits.events, 1);
	EXPECT_GE(limits.job_timeout_ms, 100);

	submit.queue_id = npu_queue_create(self->fd, vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	ASSERT_GT((int)submit.queue_id, 0);
	ASSERT_LT(limits.jobs_per_submit, 4096);
	submit.jobs.count = limits.jobs_per_submit;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit)); /* empty jobs */
	submit.jobs.count = limits.jobs_per_submit + 1;
	EXPECT_EQ(-E2BIG, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit));

	/* one of them is there */
	ASSERT_LT(limits.vms, 1 << 20);
	for (uint32_t i = 1; i < limits.vms; i++)
		ASSERT_GT(npu_vm_create(self->fd), 0);
	EXPECT_EQ(-EBUSY, npu_vm_create(self->fd));

	bind.vm_id = vm;
	bind.ops.count = limits.ops_per_bind;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_VM_BIND, &bind));
	bind.ops.count = limits.ops_per_bind + 1;
	EXPECT_EQ(-E2BIG, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_VM_BIND, &bind));
}

TEST_F(query, size_rules)
{
	struct drm_npuedge_dev_query query = { .type = DRM_NPUEDGE_QUERY_CHIP };
	uint8_t big[256], whole[sizeof(struct drm_npuedge_chip_info)];

	/* no pointer: only the size is asked */
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_DEV_QUERY, &query));
	EXPECT_EQ(sizeof(struct drm_npuedge_chip_info), query.size);

	/* an older caller gets the beginning, and nothing behind it is touched */
	ASSERT_EQ(0, npu_query(self->fd, DRM_NPUEDGE_QUERY_CHIP, whole, sizeof(whole)));
	memset(big, 0xaa, sizeof(big));
	ASSERT_EQ(0, npu_query(self->fd, DRM_NPUEDGE_QUERY_CHIP, big, 8));
	EXPECT_EQ(0, memcmp(big, whole, 8));
	EXPECT_EQ(0xaa, big[8]);

	/* a newer caller gets zeroes behind */
	memset(big, 0xaa, sizeof(big));
	ASSERT_EQ(0, npu_query(self->fd, DRM_NPUEDGE_QUERY_CHIP, big, sizeof(big)));
	EXPECT_EQ(0, memcmp(big, whole, sizeof(whole)));
	for (size_t i = sizeof(whole); i < sizeof(big); i++)
		ASSERT_EQ(0, big[i]);
}

TEST_F(query, bad_arguments)
{
	uint8_t data[16];

	EXPECT_EQ(-EINVAL, npu_query(self->fd, 12345, data, sizeof(data)));
	EXPECT_EQ(-EINVAL, npu_query(self->fd, ~0u, data, sizeof(data)));
	EXPECT_EQ(-EFAULT, npu_query(self->fd, DRM_NPUEDGE_QUERY_CHIP, (void *)8, 16));
}

TEST_F(query, many_opens)
{
	int fds[64];

	for (int i = 0; i < 64; i++) {
		fds[i] = npu_open();
		ASSERT_GE(fds[i], 0);
	}
	for (int i = 0; i < 64; i++)
		close(fds[i]);
}

TEST_HARNESS_MAIN
