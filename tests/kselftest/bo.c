// SPDX-License-Identifier: GPL-2.0
/* Buffer objects: creation, mapping, sharing, lifetime. */
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "buffer.h"
#include "debugfs.h"

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
	EXPECT_LT(create.size, 5000 + getpagesize());
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
	EXPECT_EQ(-EPERM, npu_ioctl(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
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

TEST_F(bo, every_page_is_its_own)
{
	const uint64_t size = 5 << 20;
	int handle = npu_bo_create(self->fd, size, 0, 0);
	uint32_t *map = npu_bo_map(self->fd, handle, size), *again;

	ASSERT_NE(MAP_FAILED, map);
	/* the middle first: a fault there maps its surroundings too */
	for (uint64_t i = size / 2; i < size; i += NPU_PAGE)
		map[i / 4] = i;
	for (uint64_t i = 0; i < size / 2; i += NPU_PAGE)
		map[i / 4] = i;
	again = npu_bo_map(self->fd, handle, size);
	ASSERT_NE(MAP_FAILED, again);
	for (uint64_t i = 0; i < size; i += NPU_PAGE) {
		ASSERT_EQ(i, again[i / 4]);
		ASSERT_EQ(0, again[i / 4 + 1]);
	}

	/* what is left of a mapping shows what it showed */
	munmap(again, size);
	again = npu_bo_map(self->fd, handle, size);
	munmap(again, 3 << 20);
	EXPECT_EQ(3 << 20, again[(3 << 20) / 4]);
	EXPECT_EQ(size - NPU_PAGE, again[(size - NPU_PAGE) / 4]);
	munmap(again, size);
	munmap(map, size);
}

/* Whatever the size of the CPU's pages, and what one of its page tables spans. */
TEST_F(bo, fault_maps_two_megabytes)
{
	const uint64_t size = 16ull << 20, window = 2ull << 20, page = getpagesize();
	int handle = npu_bo_create(self->fd, size, 0, 0);
	volatile uint8_t *map = npu_bo_map(self->fd, handle, size);
	struct rusage before, after;
	uint8_t all = 0;

	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, getrusage(RUSAGE_SELF, &before));
	/* only reading: a first write to each page is a fault where the processor does not mark pages dirty */
	for (uint64_t i = 0; i < size; i += page)
		all |= map[i];
	ASSERT_EQ(0, getrusage(RUSAGE_SELF, &after));
	EXPECT_EQ(0, all);
	EXPECT_GE(after.ru_minflt - before.ru_minflt, size / window);
	EXPECT_LE(after.ru_minflt - before.ru_minflt, size / window + 4); /* a window more, and our own */
	munmap((void *)map, size);
}

TEST_F(bo, pages_survive_without_a_mapping)
{
	const uint64_t size = 1 << 20;
	int handle = npu_bo_create(self->fd, size, 0, 0);

	for (uint32_t round = 0; round < 3; round++) {
		uint32_t *map = npu_bo_map(self->fd, handle, size);

		ASSERT_NE(MAP_FAILED, map);
		for (uint64_t i = 0; i < size / 4; i += 1024) {
			ASSERT_EQ(round * i, map[i]);
			map[i] += i;
		}
		munmap(map, size);
		npu_write_text("/proc/sys/vm/drop_caches", "3");
	}
}

TEST_F(bo, sync_of_ranges)
{
	const uint64_t size = 4 * getpagesize(); /* as large as the buffer gets */
	int handle = npu_bo_create(self->fd, size, 0, 0);
	uint32_t *map = npu_bo_map(self->fd, handle, size);
	struct {
		struct drm_npuedge_bo_sync sync;
		int error;
	} cases[] = {
		{ { .flags = DRM_NPUEDGE_SYNC_FOR_DEVICE, .size = size }, 0 },
		{ { .flags = DRM_NPUEDGE_SYNC_FOR_CPU, .offset = 100, .size = NPU_PAGE }, 0 },
		{ { .flags = 3, .offset = size - 1, .size = 1 }, 0 },
		{ { .flags = 0, .size = size }, -EINVAL },
		{ { .flags = 4, .size = size }, -EINVAL },
		{ { .flags = 1 }, -EINVAL },
		{ { .flags = 1, .size = size + 1 }, -EINVAL },
		{ { .flags = 1, .offset = size, .size = 1 }, -EINVAL },
		{ { .flags = 1, .offset = 1, .size = ~0ull }, -EINVAL }, /* wraps */
		{ { .flags = 1, .offset = ~0ull, .size = 2 }, -EINVAL },
	};
	struct drm_npuedge_bo_sync all = { .handle = handle, .flags = DRM_NPUEDGE_SYNC_FOR_DEVICE, .size = size };
	int vm = npu_vm_create(self->fd);

	ASSERT_NE(MAP_FAILED, map);
	for (int mapped = 0; mapped < 2; mapped++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			cases[i].sync.handle = handle;
			map[33] = i;
			/* what the device has comes back, see below */
			EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_BO_SYNC, &all));
			EXPECT_EQ(cases[i].error, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_BO_SYNC, &cases[i].sync)) {
				TH_LOG("case %zu", i);
			}
			EXPECT_EQ(i, map[33]);
		}
		/* the second time the device sees it */
		ASSERT_EQ(0, npu_map(self->fd, vm, handle, NPU_VA, 0, size, 0));
	}
	cases[0].sync.handle = 4242;
	EXPECT_EQ(-ENOENT, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_BO_SYNC, &cases[0].sync));
	munmap(map, size);
}

static int sync_range(struct npu_client *c, uint32_t flags, uint64_t offset, uint64_t size)
{
	struct drm_npuedge_bo_sync sync = { .handle = c->bo, .flags = flags, .offset = offset, .size = size };

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_BO_SYNC, &sync);
}

static int run_and_wait(struct npu_client *c)
{
	int ret = npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync);

	ret = ret ? ret : npu_wait(c->fd, c->sync, NPU_WAIT_NS);
	return ret ? ret : npu_sync_status(c->fd, c->sync);
}

/* Copies of the buffers, where there are any, are kept in step by BO_SYNC alone. */
TEST_F(bo, sync_makes_the_other_side_see)
{
	bool copies = npu_devices_have_copies();
	struct npu_client c;

	TH_LOG("%s", copies ? "the device has copies" : "the device sees the CPU's caches");
	ASSERT_EQ(0, npu_client_init(&c));
	npu_copy_stream(c.stream, 1, 4);
	c.data[0] = 0x1111;
	ASSERT_EQ(0, sync_range(&c, DRM_NPUEDGE_SYNC_FOR_DEVICE, 0, NPU_CLIENT_SIZE));
	EXPECT_EQ(1, run_and_wait(&c));
	if (copies)
		EXPECT_EQ(0, c.data[1]);
	EXPECT_EQ(0, sync_range(&c, DRM_NPUEDGE_SYNC_FOR_CPU, 0, NPU_CLIENT_SIZE));
	EXPECT_EQ(0x1111, c.data[1]);

	/* no more than was asked for */
	c.data[0] = 0x2222;
	EXPECT_EQ(0, sync_range(&c, DRM_NPUEDGE_SYNC_FOR_DEVICE, 2 * NPU_PAGE, NPU_PAGE));
	EXPECT_EQ(0, sync_range(&c, DRM_NPUEDGE_SYNC_FOR_CPU, NPU_PAGE + 4, 4));
	EXPECT_EQ(1, run_and_wait(&c));
	EXPECT_EQ(0, sync_range(&c, DRM_NPUEDGE_SYNC_FOR_CPU, NPU_PAGE + 4, 4));
	if (copies)
		EXPECT_EQ(0x1111, c.data[1]);

	EXPECT_EQ(0, sync_range(&c, DRM_NPUEDGE_SYNC_FOR_DEVICE, NPU_PAGE, 4));
	EXPECT_EQ(1, run_and_wait(&c));
	EXPECT_EQ(0, sync_range(&c, DRM_NPUEDGE_SYNC_FOR_CPU, NPU_PAGE + 4, 4));
	EXPECT_EQ(0x2222, c.data[1]);
	npu_client_fini(&c);
}

TEST_F(bo, labels)
{
	static const char longest[] = "012345678901234567890123456789012345678901234567890123456789abc";
	int handle = npu_bo_create(self->fd, NPU_PAGE, 0, 0);

	EXPECT_EQ(0, npu_set_label(self->fd, handle, "KV cache, layer 7", 17));
	if (npu_debugfs_open("bos", O_RDONLY) >= 0) {
		EXPECT_TRUE(npu_debugfs_has("bos", "KV cache, layer 7\n"));
		EXPECT_EQ(0, npu_set_label(self->fd, handle, longest, 63));
		EXPECT_TRUE(npu_debugfs_has("bos", longest));
		EXPECT_FALSE(npu_debugfs_has("bos", "KV cache"));
		EXPECT_EQ(0, npu_set_label(self->fd, handle, NULL, 0));
		EXPECT_FALSE(npu_debugfs_has("bos", longest));
	}
	EXPECT_EQ(-E2BIG, npu_set_label(self->fd, handle, longest, 64));
	EXPECT_EQ(-E2BIG, npu_set_label(self->fd, handle, longest, ~0u));
	EXPECT_EQ(-EINVAL, npu_set_label(self->fd, handle, "new\nline", 8));
	EXPECT_EQ(-EINVAL, npu_set_label(self->fd, handle, "nul\0", 4));
	EXPECT_EQ(-EINVAL, npu_set_label(self->fd, handle, "\xc3\xa4", 2));
	EXPECT_EQ(-EFAULT, npu_set_label(self->fd, handle, (void *)8, 8));
	EXPECT_EQ(-ENOENT, npu_set_label(self->fd, 4242, "x", 1));
}

TEST_F(bo, advice_arguments)
{
	struct drm_npuedge_bo_madvise args = { .handle = npu_bo_create(self->fd, NPU_PAGE, 0, 0), .pad = 1 };
	uint32_t retained = 0;

	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPUEDGE_BO_MADVISE, &args));
	EXPECT_EQ(-EINVAL, npu_madvise(self->fd, args.handle, 2, NULL));
	EXPECT_EQ(-ENOENT, npu_madvise(self->fd, 4242, DRM_NPUEDGE_MADV_DONTNEED, NULL));
	EXPECT_EQ(0, npu_madvise(self->fd, args.handle, DRM_NPUEDGE_MADV_DONTNEED, &retained));
	EXPECT_EQ(1, retained);
	EXPECT_EQ(0, npu_madvise(self->fd, args.handle, DRM_NPUEDGE_MADV_WILLNEED, &retained));
	EXPECT_EQ(1, retained);
}

TEST_F(bo, memory_is_counted)
{
	const uint64_t size = 64 * NPU_PAGE;
	struct drm_npuedge_memory_info before, now;
	int handle, vm;
	uint32_t *map;

	npu_settle(self->fd, 0);
	before = npu_memory(self->fd);
	handle = npu_bo_create(self->fd, size, 0, 0);
	vm = npu_vm_create(self->fd);
	now = npu_memory(self->fd);
	EXPECT_EQ(before.buffers + 1, now.buffers);
	EXPECT_EQ(before.total_bytes + size, now.total_bytes);
	EXPECT_EQ(before.resident_bytes, now.resident_bytes);
	EXPECT_EQ(before.table_bytes + npu_table_bytes(), now.table_bytes);

	map = npu_bo_map(self->fd, handle, size);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(before.resident_bytes + size, npu_memory(self->fd).resident_bytes);
	EXPECT_EQ(size, npu_fdinfo(self->fd, "drm-resident-memory"));
	EXPECT_EQ(0, npu_fdinfo(self->fd, "drm-purgeable-memory"));
	EXPECT_EQ(0, npu_fdinfo(self->fd, "drm-shared-memory"));

	ASSERT_EQ(0, npu_madvise(self->fd, handle, DRM_NPUEDGE_MADV_DONTNEED, NULL));
	EXPECT_EQ(before.purgeable_bytes + size, npu_memory(self->fd).purgeable_bytes);
	EXPECT_EQ(size, npu_fdinfo(self->fd, "drm-purgeable-memory"));

	munmap(map, size);
	npu_bo_close(self->fd, handle);
	EXPECT_EQ(0, npu_vm_destroy(self->fd, vm));
	EXPECT_TRUE(npu_memory_returns(self->fd, &before));
}

TEST_F(bo, more_than_the_machine_has)
{
	EXPECT_EQ(-ENOMEM, npu_bo_create(self->fd, 1ull << 39, 0, 0));
	EXPECT_EQ(-EINVAL, npu_bo_create(self->fd, (1ull << 39) + 1, 0, 0));
}

TEST_F(bo, foreign_memory)
{
	const uint64_t size = 64 << 10;
	struct drm_prime_handle prime = { 0 };
	int memory = -1, vm = npu_vm_create(self->fd);
	uint32_t *map, *theirs;

	prime.fd = npu_udmabuf(size, 0, &memory);
	if (prime.fd == -ENOENT)
		SKIP(return, "no /dev/udmabuf");
	ASSERT_GE(prime.fd, 0);
	theirs = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	ASSERT_NE(MAP_FAILED, theirs);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	close(prime.fd);

	theirs[5000] = 0xcafe;
	map = npu_bo_map(self->fd, prime.handle, size);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0xcafe, map[5000]);
	EXPECT_EQ(0, npu_map(self->fd, vm, prime.handle, NPU_VA, 0, size, 0));
	EXPECT_EQ(-EINVAL, npu_map(self->fd, vm, prime.handle, NPU_VA, 0, size + NPU_PAGE, 0));
	npu_bo_close(self->fd, prime.handle);
	map[5001] = 0xbeef;
	EXPECT_EQ(0xbeef, theirs[5001]);
	munmap(map, size);
	EXPECT_EQ(0, npu_unmap(self->fd, vm, NPU_VA, size));
	munmap(theirs, size);
	close(memory);
}

TEST_HARNESS_MAIN
