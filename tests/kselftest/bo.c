// SPDX-License-Identifier: GPL-2.0
/* Buffer objects: creation, mapping, sharing, lifetime. */
#include "kselftest_harness.h"
#include "npuedge.h"

FIXTURE(bo) {
	int fd;
};

FIXTURE_SETUP(bo)
{
	self->fd = npu_open();
	if (self->fd < 0)
		SKIP(return, "no npuedge device");
}

FIXTURE_TEARDOWN(bo)
{
	close(self->fd);
}

TEST_F(bo, rounds_up_and_zeroes)
{
	struct drm_npuedge_bo_create create = { .size = 5000 };
	uint8_t *map;

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_BO_CREATE, &create));
	EXPECT_EQ(0, create.size % getpagesize());
	EXPECT_GE(create.size, 5000);
	EXPECT_NE(0, create.handle);
	map = npu_bo_map(self->fd, create.handle, create.size);
	ASSERT_NE(MAP_FAILED, map);
	for (uint64_t i = 0; i < create.size; i++)
		ASSERT_EQ(0, map[i]);
	memset(map, 0x5a, create.size);
	npu_bo_close(self->fd, create.handle);
	EXPECT_EQ(0x5a, map[create.size - 1]); /* a mapping outlives the handle */
	munmap(map, create.size);
}

TEST_F(bo, write_combined)
{
	int handle = npu_bo_create(self->fd, 65536, DRM_NPUEDGE_BO_WC, 0);
	uint32_t *map;

	ASSERT_GT(handle, 0);
	map = npu_bo_map(self->fd, handle, 65536);
	ASSERT_NE(MAP_FAILED, map);
	map[1000] = 0x12345678;
	EXPECT_EQ(0x12345678, map[1000]);
	munmap(map, 65536);
}

TEST_F(bo, no_mmap)
{
	int handle = npu_bo_create(self->fd, 4096, DRM_NPUEDGE_BO_NO_MMAP, 0);
	struct drm_npuedge_bo_mmap_offset offset = { .handle = handle };

	ASSERT_GT(handle, 0);
	EXPECT_EQ(-EPERM, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &offset));
}

TEST_F(bo, bad_arguments)
{
	struct drm_npuedge_bo_create create = { .size = 4096, .pad = 1 };
	struct drm_npuedge_bo_mmap_offset offset = { .handle = 4242 };

	EXPECT_EQ(-EINVAL, npu_bo_create(self->fd, 0, 0, 0));
	EXPECT_EQ(-EINVAL, npu_bo_create(self->fd, 4096, 1u << 31, 0));
	EXPECT_EQ(-ENOENT, npu_bo_create(self->fd, 4096, 0, 777));
	EXPECT_LT(npu_bo_create(self->fd, ~0ull, 0, 0), 0);
	EXPECT_LT(npu_bo_create(self->fd, 1ull << 62, 0, 0), 0);
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_BO_CREATE, &create));
	EXPECT_EQ(-ENOENT, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &offset));
	offset.handle = npu_bo_create(self->fd, 4096, 0, 0);
	offset.pad = 1;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &offset));
}

TEST_F(bo, another_file_cannot_use_the_handle)
{
	int handle = npu_bo_create(self->fd, 4096, 0, 0), other = npu_open();
	struct drm_npuedge_bo_mmap_offset offset = { .handle = handle };

	ASSERT_GE(other, 0);
	EXPECT_EQ(-ENOENT, npu_ioctl(other, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &offset));
	close(other);
}

TEST_F(bo, another_file_cannot_map_the_offset)
{
	int handle = npu_bo_create(self->fd, 4096, 0, 0), other = npu_open();
	struct drm_npuedge_bo_mmap_offset offset = { .handle = handle };

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, other, offset.offset));
	close(other);
}

TEST_F(bo, prime_outlives_the_device_file)
{
	int handle = npu_bo_create(self->fd, 8192, 0, 0), fd = npu_open();
	struct drm_prime_handle prime = { .handle = handle, .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1 };
	uint8_t *map = npu_bo_map(self->fd, handle, 8192);

	ASSERT_NE(MAP_FAILED, map);
	map[4097] = 77;
	munmap(map, 8192);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	npu_bo_close(self->fd, handle);
	close(self->fd);
	self->fd = fd;

	prime.handle = 0;
	prime.flags = 0;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	close(prime.fd);
	map = npu_bo_map(self->fd, prime.handle, 8192);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(77, map[4097]);
	munmap(map, 8192);
}

TEST_F(bo, private_to_a_vm_is_not_exported)
{
	int vm = npu_vm_create(self->fd);
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC, .fd = -1 };

	ASSERT_GT(vm, 0);
	prime.handle = npu_bo_create(self->fd, 4096, 0, vm);
	ASSERT_GT((int)prime.handle, 0);
	EXPECT_LT(npu_ioctl(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime), 0);
}

TEST_F(bo, thousand_and_back)
{
	for (int round = 0; round < 2; round++) {
		int handles[500];

		for (int i = 0; i < 500; i++) {
			handles[i] = npu_bo_create(self->fd, 4096, 0, 0);
			ASSERT_GT(handles[i], 0);
		}
		for (int i = 0; i < 500; i++)
			npu_bo_close(self->fd, handles[i]);
	}
}

TEST_HARNESS_MAIN
