// SPDX-License-Identifier: GPL-2.0
/* dma-bufs: buffers of others, our buffers in the hands of others, and fences both ways. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <drm/vgem_drm.h>

#include "kselftest_harness.h"
#include "buffer.h"
#include "debugfs.h"
#include "importer.h"

#define SIZE	(4ull << 20)
#define VA	(1ull << 32)

FIXTURE(dmabuf) {
	struct npu_client c;
};

FIXTURE_SETUP(dmabuf)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	npu_settle(self->c.fd, 1);
}

FIXTURE_TEARDOWN(dmabuf)
{
	npu_client_fini(&self->c);
}

/*
 * The device reads what the CPU wrote by the dma-buf's own mapping, and the other way round.  Both ways are announced
 * each time: udmabuf keeps the direction that it was told first, as the kernel's DMA checks notice.
 */
static void check_import(struct __test_metadata *_metadata, struct npu_client *c, int dmabuf, uint64_t size)
{
	int handle = npu_import(c->fd, dmabuf);
	uint32_t *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);

	ASSERT_GT(handle, 0);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	npu_fill(map, size, 0x11);
	ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));

	ASSERT_EQ(0, npu_map(c->fd, c->vm, handle, VA, 0, size, 0));
	EXPECT_EQ(0, npu_wrong_pages(c, VA, size, 0x11, 61));
	c->data[0] = 0xfeed;
	EXPECT_EQ(1, npu_copy(c, NPU_DATA, VA + size - 8, 4));
	ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	EXPECT_EQ(0xfeed, map[size / 4 - 2]);
	ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));

	/* part of it, at an odd place, by the smallest leaf */
	ASSERT_EQ(0, npu_map(c->fd, c->vm, handle, 2 * VA + NPU_PAGE, 3 * NPU_PAGE, NPU_PAGE, 0));
	EXPECT_EQ(1, npu_copy(c, 2 * VA + NPU_PAGE, NPU_DATA + 4, 4));
	EXPECT_EQ(map[3 * NPU_PAGE / 4], c->data[1]);

	/* never more than there is */
	EXPECT_EQ(-EINVAL, npu_map(c->fd, c->vm, handle, 2 * VA, 0, size + NPU_PAGE, 0));
	EXPECT_EQ(-EINVAL, npu_map(c->fd, c->vm, handle, 2 * VA, NPU_PAGE, size, 0));
	EXPECT_EQ(handle, npu_import(c->fd, dmabuf)); /* one handle for one dma-buf */
	EXPECT_GE(npu_memory(c->fd).imported_bytes, size);
	munmap(map, size);
}

static void expect_gone(struct __test_metadata *_metadata, struct npu_client *c)
{
	EXPECT_EQ(0, npu_unmap(c->fd, c->vm, VA, 2 * VA));
	/* its last job is freed by a worker */
	for (int i = 0; i < 2000 * npu_slowness() && npu_memory(c->fd).imported_bytes; i++)
		usleep(10000);
	EXPECT_EQ(0, npu_memory(c->fd).imported_bytes);
}

TEST_F(dmabuf, from_the_system_heap)
{
	struct npu_client *c = &self->c;
	int dmabuf = npu_heap_alloc(SIZE, O_RDWR), handle;

	if (dmabuf == -ENOENT)
		SKIP(return, "kernel without CONFIG_DMABUF_HEAPS_SYSTEM");
	ASSERT_GE(dmabuf, 0);
	check_import(_metadata, c, dmabuf, SIZE);
	handle = npu_import(c->fd, dmabuf);
	close(dmabuf);
	EXPECT_EQ(0, npu_wrong_pages(c, VA, SIZE, 0x11, 301)); /* the handle keeps it */
	npu_bo_close(c->fd, handle);
	EXPECT_EQ(0, npu_wrong_pages(c, VA, SIZE, 0x11, 301)); /* so does the mapping */
	expect_gone(_metadata, c);
}

TEST_F(dmabuf, from_udmabuf)
{
	struct npu_client *c = &self->c;
	int memfd = -1, dmabuf = npu_udmabuf(SIZE, 0, &memfd), handle;

	if (dmabuf == -ENOENT)
		SKIP(return, "kernel without CONFIG_UDMABUF");
	ASSERT_GE(dmabuf, 0);
	check_import(_metadata, c, dmabuf, SIZE);
	handle = npu_import(c->fd, dmabuf);
	close(dmabuf);
	close(memfd);
	npu_bo_close(c->fd, handle);
	EXPECT_EQ(0, npu_wrong_pages(c, VA, SIZE, 0x11, 301));
	expect_gone(_metadata, c);
}

TEST_F(dmabuf, contiguous_memory_gets_big_leaves)
{
	struct npu_client *c = &self->c;
	char *before = npu_read_file(NPU_BIG_PAGES, NULL);
	int memfd = -1, dmabuf;

	if (npu_debugfs_open("vas", O_RDONLY) < 0)
		SKIP(return, "no debugfs");
	/* some architectures have other sizes; a failure in tests/run */
	if (!before)
		SKIP(return, "kernel without huge pages of 2 MiB");
	npu_write_text(NPU_BIG_PAGES, "2");
	dmabuf = npu_udmabuf(SIZE, NPU_MFD_BIG, &memfd);
	if (dmabuf == -ENOENT)
		SKIP(return, "kernel without CONFIG_UDMABUF");
	ASSERT_GE(dmabuf, 0);
	ASSERT_EQ(0, npu_map(c->fd, c->vm, npu_import(c->fd, dmabuf), VA, 0, SIZE, 0));
	EXPECT_TRUE(npu_debugfs_has("vas", "rw first leaf 2048 KiB"));
	close(dmabuf);
	close(memfd);
	npu_write_text(NPU_BIG_PAGES, before);
	free(before);
}

TEST_F(dmabuf, from_vgem)
{
	struct npu_client *c = &self->c;
	int vgem = npu_vgem_open(), handle, dmabuf;

	if (vgem < 0)
		SKIP(return, "kernel without vgem");
	handle = npu_vgem_create(vgem, SIZE);
	ASSERT_GT(handle, 0);
	dmabuf = npu_export(vgem, handle, DRM_RDWR);
	ASSERT_GE(dmabuf, 0);
	close(vgem);
	check_import(_metadata, c, dmabuf, SIZE);
	close(dmabuf);
}

TEST_F(dmabuf, to_vgem_and_back)
{
	struct npu_client *c = &self->c;
	int bo = npu_bo_create(c->fd, SIZE, 0, 0), dmabuf = npu_export(c->fd, bo, DRM_RDWR);
	int vgem = npu_vgem_open(), theirs, back;
	uint32_t *map;

	if (vgem < 0)
		SKIP(return, "kernel without vgem");
	ASSERT_GE(dmabuf, 0);
	theirs = npu_import(vgem, dmabuf);
	ASSERT_GT(theirs, 0);
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	ASSERT_NE(MAP_FAILED, map);
	npu_fill(map, SIZE, 0x22);
	ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, VA, 0, SIZE, 0));
	EXPECT_EQ(0, npu_wrong_pages(c, VA, SIZE, 0x22, 301));

	/* what vgem exports is the same dma-buf, and so the same buffer */
	back = npu_export(vgem, theirs, DRM_RDWR);
	ASSERT_GE(back, 0);
	EXPECT_EQ(bo, npu_import(c->fd, back));

	/* it goes on when we have let go of it */
	close(back);
	close(dmabuf);
	ASSERT_EQ(0, npu_unmap(c->fd, c->vm, VA, SIZE));
	npu_bo_close(c->fd, bo);
	EXPECT_EQ(npu_fill_word(7, 0x22), map[7 * NPU_PAGE / 4]);
	close(vgem);
	munmap(map, SIZE);
}

/* Bug kind 16: a buffer outlives the file, and the process's device access, that made it. */
TEST_F(dmabuf, outlives_its_file)
{
	struct npu_client *c = &self->c, other;
	int bo = npu_bo_create(c->fd, SIZE, 0, 0), dmabuf = npu_export(c->fd, bo, DRM_RDWR), handle;
	uint32_t size, *map;

	ASSERT_GE(dmabuf, 0);
	ASSERT_EQ(0, npu_client_init(&other));
	ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, VA, 0, SIZE, 0));
	size = npu_slow_stream(c->stream, 100);
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, 0));
	npu_client_fini(c); /* with a job in flight */
	memset(c, 0, sizeof(*c));

	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	ASSERT_NE(MAP_FAILED, map);
	npu_fill(map, SIZE, 0x33);
	munmap(map, SIZE);
	handle = npu_import(other.fd, dmabuf);
	ASSERT_GT(handle, 0);
	ASSERT_EQ(0, npu_map(other.fd, other.vm, handle, VA, 0, SIZE, 0));
	EXPECT_EQ(0, npu_wrong_pages(&other, VA, SIZE, 0x33, 301));
	npu_client_fini(&other);

	map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, dmabuf, 0); /* nobody has the device open */
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(npu_fill_word(9, 0x33), map[9 * NPU_PAGE / 4]);
	munmap(map, SIZE);
	close(dmabuf);
	EXPECT_EQ(0, npu_device_works());
}

TEST_F(dmabuf, private_to_a_vm_is_not_exported)
{
	struct npu_client *c = &self->c;
	int bo = npu_bo_create(c->fd, SIZE, 0, c->vm);

	ASSERT_GT(bo, 0);
	EXPECT_EQ(-EPERM, npu_export(c->fd, bo, DRM_RDWR));
}

TEST_F(dmabuf, no_advice_about_what_others_use)
{
	struct npu_client *c = &self->c;
	int bo = npu_bo_create(c->fd, SIZE, 0, 0), gone = npu_bo_create(c->fd, SIZE, 0, 0);
	int dmabuf = npu_export(c->fd, bo, DRM_RDWR);

	ASSERT_GE(dmabuf, 0);
	EXPECT_EQ(-EOPNOTSUPP, npu_madvise(c->fd, bo, DRM_NPUEDGE_MADV_DONTNEED, NULL));
	close(dmabuf);
	EXPECT_EQ(-EOPNOTSUPP, npu_madvise(c->fd, bo, DRM_NPUEDGE_MADV_DONTNEED, NULL));
	ASSERT_EQ(0, npu_madvise(c->fd, gone, DRM_NPUEDGE_MADV_DONTNEED, NULL));
	EXPECT_EQ(-EINVAL, npu_export(c->fd, gone, DRM_RDWR));
	ASSERT_EQ(0, npu_madvise(c->fd, gone, DRM_NPUEDGE_MADV_WILLNEED, NULL));
	dmabuf = npu_export(c->fd, gone, DRM_RDWR);
	EXPECT_GE(dmabuf, 0);
	close(dmabuf);
}

/* In a process that may not have more files than there are may be, a buffer gets none. */
static int export_without_files(struct npu_client *c, int bo)
{
	return setuid(65534) ? 1 : npu_export(c->fd, bo, DRM_RDWR) == -ENFILE ? 0 : 2;
}

TEST_F(dmabuf, advice_after_a_failed_export)
{
	struct npu_client *c = &self->c;
	int bo = npu_bo_create(c->fd, SIZE, 0, 0), limit = open("/proc/sys/fs/file-max", O_RDWR | O_CLOEXEC);
	char before[32] = "";
	int status;
	pid_t child;

	ASSERT_GT(bo, 0);
	ASSERT_GE(limit, 0);
	ASSERT_GT(read(limit, before, sizeof(before) - 1), 0);
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		/* none: the kernel's count of those that are open is not exact */
		if (pwrite(limit, "0", 1, 0) != 1)
			_exit(3);
		_exit(export_without_files(c, bo));
	}
	EXPECT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(strlen(before), pwrite(limit, before, strlen(before), 0));
	close(limit);
	ASSERT_EQ(0, status);
	EXPECT_EQ(0, npu_madvise(c->fd, bo, DRM_NPUEDGE_MADV_DONTNEED, NULL));
	EXPECT_EQ(-EINVAL, npu_export(c->fd, bo, DRM_RDWR));
	EXPECT_EQ(0, npu_madvise(c->fd, bo, DRM_NPUEDGE_MADV_WILLNEED, NULL));
	close(npu_export(c->fd, bo, DRM_RDWR));
	EXPECT_EQ(-EOPNOTSUPP, npu_madvise(c->fd, bo, DRM_NPUEDGE_MADV_DONTNEED, NULL));
}

TEST_F(dmabuf, sync_is_for_own_buffers)
{
	struct npu_client *c = &self->c;
	int memfd = -1, dmabuf = npu_udmabuf(SIZE, 0, &memfd);
	struct drm_npuedge_bo_sync sync = { .flags = DRM_NPUEDGE_SYNC_FOR_DEVICE, .size = NPU_PAGE };

	if (dmabuf == -ENOENT)
		SKIP(return, "kernel without CONFIG_UDMABUF");
	sync.handle = npu_import(c->fd, dmabuf);
	ASSERT_GT((int)sync.handle, 0);
	EXPECT_EQ(-EOPNOTSUPP, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_BO_SYNC, &sync));
	EXPECT_EQ(-EOPNOTSUPP, npu_madvise(c->fd, sync.handle, DRM_NPUEDGE_MADV_DONTNEED, NULL));
	close(dmabuf);
}

/* npu_copy() of a word where the device may have a copy of its client's own buffer. */
static int copy_word(struct npu_client *c, uint64_t src_va, uint64_t dst_va)
{
	struct drm_npuedge_bo_sync sync = {
		.handle = c->bo, .flags = DRM_NPUEDGE_SYNC_FOR_DEVICE, .size = NPU_CLIENT_SIZE,
	};
	uint32_t size = npu_copy_stream(c->stream, 0, 4);
	int ret;

	c->params->base[1] = src_va;
	c->params->base[2] = dst_va;
	c->stream[0].dma.base = 1;
	c->stream[1].dma.base = 2;
	ret = npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_BO_SYNC, &sync);
	ret = ret ? ret : npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync);
	ret = ret ? ret : npu_wait(c->fd, c->sync, NPU_WAIT_NS);
	return ret ? ret : npu_sync_status(c->fd, c->sync);
}

/* The device, of which nobody knows how it sees memory, and the CPU pass words on to each other by the dma-buf alone. */
static void exchange(struct __test_metadata *_metadata, struct npu_client *c, int dmabuf, volatile uint32_t *map)
{
	const uint32_t last = SIZE / 4 - 1;

	for (uint32_t i = 1; i <= 3; i++) {
		ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
		map[0] = i;
		map[last] = 0;
		ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
		EXPECT_EQ(1, copy_word(c, VA, VA + last * 4));
		if (npu_devices_have_copies())
			EXPECT_EQ(0, map[last]);
		ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
		EXPECT_EQ(i, map[last]);
		ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
	}
}

/* What the device wrote stays where the CPU, which wants to write alone, does not. */
static void write_alone(struct __test_metadata *_metadata, struct npu_client *c, int dmabuf, volatile uint32_t *map)
{
	const uint32_t last = SIZE / 4 - 1;

	for (uint32_t i = 11; i <= 13; i++) {
		ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE));
		map[0] = i;
		ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE));
		EXPECT_EQ(1, copy_word(c, VA, VA + last * 4));
		ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE));
		map[1] = 100 + i;
		ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE));
		EXPECT_EQ(1, copy_word(c, VA + 4, VA + 8));
		ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
		EXPECT_EQ(i, map[last]);
		EXPECT_EQ(100 + i, map[2]);
		ASSERT_EQ(0, npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
	}
}

/* A node of another device of ours, or -ENODEV. */
static int open_another(struct npu_client *c)
{
	struct stat first, other;

	fstat(c->fd, &first);
	for (int i = 0; i < 16; i++) {
		char path[32];
		int fd;

		snprintf(path, sizeof(path), "/dev/accel/accel%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && !fstat(fd, &other) && other.st_rdev != first.st_rdev)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -ENODEV;
}

/* A BO, exported and mapped by the CPU as the dma-buf that it is for others. */
struct shared_bo {
	struct npu_client c;
	int bo, dmabuf;
	uint32_t *map;
};

static void share(struct __test_metadata *_metadata, struct shared_bo *s, uint32_t flags)
{
	s->bo = npu_bo_create(s->c.fd, SIZE, flags, 0);
	s->dmabuf = npu_export(s->c.fd, s->bo, DRM_RDWR);
	ASSERT_GE(s->dmabuf, 0);
	s->map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, s->dmabuf, 0);
	ASSERT_NE(MAP_FAILED, s->map);
	TH_LOG("devices %s", npu_devices_have_copies() ? "have copies" : "see the CPU's caches");
}

static void unshare(struct shared_bo *s)
{
	munmap(s->map, SIZE);
	close(s->dmabuf);
	npu_client_fini(&s->c);
}

FIXTURE(cpu_access) {
	struct shared_bo s;
};

FIXTURE_VARIANT(cpu_access) {
	uint32_t flags;
};

FIXTURE_VARIANT_ADD(cpu_access, cached) { .flags = 0 };
FIXTURE_VARIANT_ADD(cpu_access, write_combined) { .flags = DRM_NPUEDGE_BO_WC };

FIXTURE_SETUP(cpu_access)
{
	int ret = npu_client_init(&self->s.c);

	/* other machines; a failure in tests/run */
	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	share(_metadata, &self->s, variant->flags);
}

FIXTURE_TEARDOWN(cpu_access)
{
	unshare(&self->s);
}

TEST_F(cpu_access, reaches_the_exporter)
{
	/* it has no memory yet */
	EXPECT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	EXPECT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
	ASSERT_EQ(0, npu_map(self->s.c.fd, self->s.c.vm, self->s.bo, VA, 0, SIZE, 0));
	exchange(_metadata, &self->s.c, self->s.dmabuf, self->s.map);
	write_alone(_metadata, &self->s.c, self->s.dmabuf, self->s.map);
}

/* With NPU_DEVICES=2, as the guests of copies have it, a second device that is not there is no skip but a failure. */
static bool second_is_promised(void)
{
	const char *text = getenv("NPU_DEVICES");

	return text && atoi(text) >= 2;
}

FIXTURE(two_devices) {
	struct shared_bo s;
	struct npu_client other;
};

FIXTURE_VARIANT(two_devices) {
	uint32_t flags;
};

FIXTURE_VARIANT_ADD(two_devices, cached) { .flags = 0 };
FIXTURE_VARIANT_ADD(two_devices, write_combined) { .flags = DRM_NPUEDGE_BO_WC };

FIXTURE_SETUP(two_devices)
{
	int fd, ret = npu_client_init(&self->s.c);

	/* other machines; tests/run lets these tests skip, so where two devices are promised it is a failure below */
	if (ret == -ENODEV && !second_is_promised())
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	fd = open_another(&self->s.c);
	/* most guests have one; with two promised it is a failure below */
	if (fd == -ENODEV && !second_is_promised())
		SKIP(return, "1 npuedge devices");
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, npu_client_init_fd(&self->other, fd));
	share(_metadata, &self->s, variant->flags);
}

FIXTURE_TEARDOWN(two_devices)
{
	unshare(&self->s);
	npu_client_fini(&self->other);
}

TEST_F(two_devices, reaches_another_device)
{
	struct npu_client *other = &self->other;

	self->s.map[0] = 0x600d; /* before it is given to the other one */
	ASSERT_EQ(0, npu_map(other->fd, other->vm, npu_import(other->fd, self->s.dmabuf), VA, 0, SIZE, 0));
	EXPECT_EQ(1, copy_word(other, VA, VA + 4));
	ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
	EXPECT_EQ(0x600d, self->s.map[1]);
	ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
	exchange(_metadata, other, self->s.dmabuf, self->s.map);
	write_alone(_metadata, other, self->s.dmabuf, self->s.map);
}

/* A job that does nothing but use a buffer, as others see it. */
static int submit_user(struct npu_client *c, uint32_t handle, uint32_t flags)
{
	struct drm_npuedge_bo_use use = { .handle = handle, .flags = flags };
	struct drm_npuedge_stream stream = { .va = NPU_STREAM, .size = npu_copy_stream(c->stream, 100, 4) };
	struct drm_npuedge_sync out = { .handle = c->sync };
	struct drm_npuedge_job job = {
		.streams = { sizeof(stream), 1, (uintptr_t)&stream }, .params_va = NPU_PARAMS,
		.out_syncs = { sizeof(out), 1, (uintptr_t)&out },
		.bos = { sizeof(use), 1, (uintptr_t)&use },
	};
	struct drm_npuedge_submit submit = {
		.queue_id = c->queue, .jobs = { sizeof(job), 1, (uintptr_t)&job },
	};

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit);
}

/* A job copies a word within the buffer at VA, and says that it writes the buffer. */
static int said_copy(struct npu_client *c, uint32_t handle, uint64_t src, uint64_t dst)
{
	struct drm_npuedge_bo_sync sync = {
		.handle = c->bo, .flags = DRM_NPUEDGE_SYNC_FOR_DEVICE, .size = NPU_CLIENT_SIZE,
	};
	struct drm_npuedge_bo_use use = { .handle = handle, .flags = DRM_NPUEDGE_BO_WRITE };
	struct drm_npuedge_stream stream = { .va = NPU_STREAM, .size = npu_copy_stream(c->stream, 0, 4) };
	struct drm_npuedge_sync out = { .handle = c->sync };
	struct drm_npuedge_job job = {
		.streams = { sizeof(stream), 1, (uintptr_t)&stream }, .params_va = NPU_PARAMS,
		.out_syncs = { sizeof(out), 1, (uintptr_t)&out },
		.bos = { sizeof(use), 1, (uintptr_t)&use },
	};
	struct drm_npuedge_submit submit = {
		.queue_id = c->queue, .jobs = { sizeof(job), 1, (uintptr_t)&job },
	};
	int ret;

	c->params->base[1] = src;
	c->params->base[2] = dst;
	c->stream[0].dma.base = 1;
	c->stream[1].dma.base = 2;
	ret = npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_BO_SYNC, &sync);
	ret = ret ? ret : npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit);
	ret = ret ? ret : npu_wait(c->fd, c->sync, NPU_WAIT_NS);
	return ret ? ret : npu_sync_status(c->fd, c->sync);
}

/* The exporter's job has written before the other device was given the buffer, whose copy is younger then. */
TEST_F(two_devices, reaches_a_younger_copy)
{
	struct npu_client *other = &self->other, *c = &self->s.c;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, self->s.bo, VA, 0, SIZE, 0));
	ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE));
	self->s.map[0] = 0x600d;
	ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE));
	EXPECT_EQ(1, said_copy(c, self->s.bo, VA, VA + 4));
	ASSERT_EQ(0, npu_map(other->fd, other->vm, npu_import(other->fd, self->s.dmabuf), VA, 0, SIZE, 0));
	EXPECT_EQ(1, copy_word(other, VA + 4, VA + 8));
	ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
	EXPECT_EQ(0x600d, self->s.map[1]);
	EXPECT_EQ(0x600d, self->s.map[2]);
	ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
}

/* After the access that brings the job's result to the copy, a new one of the other device. */
TEST_F(two_devices, reaches_after_each_other)
{
	struct npu_client *other = &self->other, *c = &self->s.c;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, self->s.bo, VA, 0, SIZE, 0));
	ASSERT_EQ(0, npu_map(other->fd, other->vm, npu_import(other->fd, self->s.dmabuf), VA, 0, SIZE, 0));
	for (uint32_t i = 1; i < 4; i++) {
		ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
		self->s.map[0] = i;
		ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
		EXPECT_EQ(1, said_copy(c, self->s.bo, VA, VA + 4));
		ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
		EXPECT_EQ(i, self->s.map[1]);
		ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
		EXPECT_EQ(1, copy_word(other, VA + 4, VA + 8));
		ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
		EXPECT_EQ(i, self->s.map[2]);
		ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
		EXPECT_EQ(1, said_copy(c, self->s.bo, VA + 8, VA + 12));
		ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
		EXPECT_EQ(i, self->s.map[2]);
		EXPECT_EQ(i, self->s.map[3]);
		ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
	}
}

/* The job writes during the CPU's access, as a pipeline may; afterwards a job of the other device. */
TEST_F(two_devices, reaches_when_job_in_access)
{
	struct npu_client *other = &self->other, *c = &self->s.c;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, self->s.bo, VA, 0, SIZE, 0));
	ASSERT_EQ(0, npu_map(other->fd, other->vm, npu_import(other->fd, self->s.dmabuf), VA, 0, SIZE, 0));
	ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	self->s.map[0] = 0x77;
	ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
	ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
	EXPECT_EQ(1, said_copy(c, self->s.bo, VA, VA + 4));
	ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
	ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
	EXPECT_EQ(0x77, self->s.map[1]);
	ASSERT_EQ(0, npu_dmabuf_sync(self->s.dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
}

/* A buffer of the NPU, mapped for it, and a device of npuedge_importer.ko. */
FIXTURE(importer) {
	struct shared_bo s;
	int device;
};

FIXTURE_VARIANT(importer) {
	uint32_t flags;
};

FIXTURE_VARIANT_ADD(importer, cached) { .flags = 0 };
FIXTURE_VARIANT_ADD(importer, write_combined) { .flags = DRM_NPUEDGE_BO_WC };

FIXTURE_SETUP(importer)
{
	struct shared_bo *s = &self->s;
	int ret = npu_client_init(&s->c);

	self->device = -1;
	/* other machines, and those without the test bench's module; failures in tests/run */
	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (access("/sys/module/npuedge_importer", F_OK))
		SKIP(return, "no npuedge_importer.ko");
	self->device = open(IMPORTER_PATH, O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->device, 0);
	share(_metadata, s, variant->flags);
	ASSERT_EQ(0, npu_map(s->c.fd, s->c.vm, s->bo, VA, 0, SIZE, 0));
}

FIXTURE_TEARDOWN(importer)
{
	close(self->device);
	unshare(&self->s);
}

static int importer_map(int device, int dmabuf, uint32_t direction)
{
	struct importer_map map = { .dmabuf = dmabuf, .direction = direction };

	return npu_ioctl(device, IMPORTER_MAP, &map);
}

static int importer_write(int device, uint32_t index, uint32_t value)
{
	struct importer_word word = { .offset = index * 4, .value = value };

	return npu_ioctl(device, IMPORTER_WRITE, &word);
}

static uint32_t importer_read(int device, uint32_t index)
{
	struct importer_word word = { .offset = index * 4 };

	return npu_ioctl(device, IMPORTER_READ, &word) ? ~0u : word.value;
}

/* Two accesses, of which the second shows what the end of the first one did. */
static void expect_word(struct __test_metadata *_metadata, struct shared_bo *s, uint32_t index, uint32_t value)
{
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, npu_dmabuf_sync(s->dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
		EXPECT_EQ(value, ((volatile uint32_t *)s->map)[index]) {
			TH_LOG("word %u, access %d", index, i + 1);
		}
		ASSERT_EQ(0, npu_dmabuf_sync(s->dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
	}
}

static void put_word(struct __test_metadata *_metadata, struct shared_bo *s, uint32_t index, uint32_t value)
{
	ASSERT_EQ(0, npu_dmabuf_sync(s->dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE));
	s->map[index] = value;
	ASSERT_EQ(0, npu_dmabuf_sync(s->dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE));
}

/* The other device only writes, which does not make all that it has its own. */
TEST_F(importer, reaches_who_only_writes)
{
	struct shared_bo *s = &self->s;
	int camera = self->device;

	ASSERT_EQ(0, importer_map(camera, s->dmabuf, IMPORTER_WRITES));
	for (uint32_t i = 1; i < 4; i++) {
		put_word(_metadata, s, 0, i);
		expect_word(_metadata, s, 0, i);
		EXPECT_EQ(1, said_copy(&s->c, s->bo, VA, VA + 4));
		expect_word(_metadata, s, 1, i);
		ASSERT_EQ(0, importer_write(camera, 2, 100 + i));
		expect_word(_metadata, s, 2, 100 + i);
		EXPECT_EQ(i, importer_read(camera, 1));
		EXPECT_EQ(1, said_copy(&s->c, s->bo, VA + 8, VA + 12));
		expect_word(_metadata, s, 3, 100 + i);
		expect_word(_metadata, s, 1, i);
	}
	ASSERT_EQ(0, importer_write(camera, 2, 200));
	ASSERT_EQ(0, npu_ioctl(camera, IMPORTER_UNMAP, NULL));
	expect_word(_metadata, s, 2, 200);
	expect_word(_metadata, s, 1, 3);
	EXPECT_EQ(1, said_copy(&s->c, s->bo, VA + 8, VA + 4));
	expect_word(_metadata, s, 1, 200);
}

/* Whoever holds a read-only dma-buf cannot write, by whatever way. */
static void check_readonly(struct __test_metadata *_metadata, struct npu_client *c, int dmabuf)
{
	struct drm_npuedge_queue_get_state state = { .id = c->queue };
	struct drm_npuedge_bo_mmap_offset offset = { 0 };
	int handle = npu_import(c->fd, dmabuf), again;
	uint32_t *map;

	ASSERT_GT(handle, 0);
	EXPECT_EQ(-EACCES, npu_map(c->fd, c->vm, handle, VA, 0, SIZE, 0));
	ASSERT_EQ(0, npu_map(c->fd, c->vm, handle, VA, 0, SIZE, DRM_NPUEDGE_BIND_READONLY));
	EXPECT_EQ(1, npu_copy(c, VA, NPU_DATA + 4, 4));
	EXPECT_EQ(-EIO, npu_copy(c, NPU_DATA, VA + 4, 4));
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
	EXPECT_EQ(NE1_MMU_READ_ONLY, (state.fault_info & NE1_MMU_FAULT_CODE) >> 16);
	npu_new_queue(c);

	offset.handle = handle;
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, offset.offset));
	EXPECT_EQ(EACCES, errno);
	map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, c->fd, offset.offset);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(c->data[1], map[0]);
	EXPECT_EQ(-1, mprotect(map, SIZE, PROT_READ | PROT_WRITE));
	munmap(map, SIZE);
	EXPECT_EQ(-EACCES, submit_user(c, handle, DRM_NPUEDGE_BO_WRITE));
	EXPECT_EQ(0, submit_user(c, handle, 0));
	EXPECT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	again = npu_export(c->fd, handle, DRM_RDWR); /* does not become writable on its way */
	EXPECT_EQ(O_RDONLY, fcntl(again, F_GETFL) & O_ACCMODE);
	close(again);
}

TEST_F(dmabuf, read_only_from_the_heap)
{
	struct npu_client *c = &self->c;
	int dmabuf = npu_heap_alloc(SIZE, O_RDONLY);

	if (dmabuf == -ENOENT)
		SKIP(return, "kernel without CONFIG_DMABUF_HEAPS_SYSTEM");
	ASSERT_GE(dmabuf, 0);
	check_readonly(_metadata, c, dmabuf);
	close(dmabuf);
}

TEST_F(dmabuf, read_only_from_another_file)
{
	struct npu_client *c = &self->c;
	int owner = npu_open(), bo = npu_bo_create(owner, SIZE, 0, 0), dmabuf = npu_export(owner, bo, 0);
	uint32_t *map = npu_bo_map(owner, bo, SIZE);

	ASSERT_GE(dmabuf, 0);
	ASSERT_NE(MAP_FAILED, map);
	map[0] = 0xabcd;
	check_readonly(_metadata, c, dmabuf);
	EXPECT_EQ(0xabcd, c->data[1]);
	EXPECT_EQ(0, map[1]);
	/* the owner still writes, and may import it as often as it likes */
	EXPECT_EQ(bo, npu_import(owner, dmabuf));
	map[0] = 0x1234;
	EXPECT_EQ(1, npu_copy(c, VA, NPU_DATA + 4, 4));
	EXPECT_EQ(0x1234, c->data[1]);
	munmap(map, SIZE);
	close(owner);
	EXPECT_EQ(1, npu_copy(c, VA, NPU_DATA + 4, 4));
	EXPECT_EQ(0x1234, c->data[1]);
	close(dmabuf);
}

/* The other process: binds the weights read-only, has a job read them, reports, waits. */
static int weights_reader(int socket)
{
	struct npu_client c;
	int dmabuf, handle, ret;
	char byte;

	if (npu_receive_fds(socket, &dmabuf, 1) || npu_client_init(&c))
		return 1;
	handle = npu_import(c.fd, dmabuf);
	ret = npu_map(c.fd, c.vm, handle, VA, 0, SIZE, DRM_NPUEDGE_BIND_READONLY);
	if (!ret)
		ret = npu_wrong_pages(&c, VA, SIZE, 0x44, 97);
	if (!ret && npu_fdinfo(c.fd, "drm-shared-memory") < (long long)SIZE)
		ret = 2;
	if (!ret && npu_fdinfo(c.fd, "drm-resident-memory") < (long long)SIZE)
		ret = 3;
	byte = ret;
	if (write(socket, &byte, 1) != 1 || read(socket, &byte, 1) != 1)
		return 4;
	return ret ? 5 : 0;
}

TEST_F_TIMEOUT(dmabuf, weights_of_two_processes_are_one_copy, 60)
{
	struct npu_client *c = &self->c;
	uint64_t before = npu_memory(c->fd).resident_bytes;
	int bo = npu_bo_create(c->fd, SIZE, 0, 0), dmabuf = npu_export(c->fd, bo, 0), pair[2], status;
	uint32_t *map = npu_bo_map(c->fd, bo, SIZE);
	char byte = 1;
	pid_t child;

	ASSERT_NE(MAP_FAILED, map);
	ASSERT_GE(dmabuf, 0);
	npu_fill(map, SIZE, 0x44);
	munmap(map, SIZE);
	ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, VA, 0, SIZE, DRM_NPUEDGE_BIND_READONLY));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		npu_client_fini(c);
		close(dmabuf);
		close(pair[0]);
		_exit(weights_reader(pair[1]));
	}
	close(pair[1]);
	ASSERT_EQ(0, npu_send_fds(pair[0], &dmabuf, 1));
	ASSERT_EQ(1, read(pair[0], &byte, 1));
	EXPECT_EQ(0, byte);
	EXPECT_EQ(0, npu_wrong_pages(c, VA, SIZE, 0x44, 97));
	EXPECT_GE(npu_fdinfo(c->fd, "drm-shared-memory"), (long long)SIZE);
	/* two clients' own buffers, and the weights once */
	EXPECT_EQ(before + SIZE + NPU_CLIENT_SIZE, npu_memory(c->fd).resident_bytes);
	ASSERT_EQ(1, write(pair[0], &byte, 1));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	close(dmabuf);
}

/*
 * The other process: says when it is ready, takes the buffer and the fence of the job that uses it, and has a job of
 * its own wait for that one.
 */
static int kv_reader(int socket)
{
	struct npu_client c;
	int fds[2], handle;
	struct drm_syncobj_handle sync = { 0 };

	if (npu_client_init(&c) || write(socket, "r", 1) != 1 || npu_receive_fds(socket, fds, 2))
		return 1;
	handle = npu_import(c.fd, fds[0]);
	sync.fd = fds[1];
	if (handle < 0 || npu_ioctl(c.fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &sync))
		return 2;
	if (npu_map(c.fd, c.vm, handle, VA, 0, SIZE, 0))
		return 3;
	/* a job of ours behind a job of theirs */
	npu_copy_stream(c.stream, 1, 4);
	c.params->base[0] = VA;
	if (npu_submit(c.fd, c.queue, NPU_STREAM, 192, NPU_PARAMS, sync.handle, c.sync))
		return 4;
	if (npu_sync_status(c.fd, sync.handle) != 0)
		return 5; /* theirs had ended: nothing was handed over while it was in use */
	if (npu_wait(c.fd, c.sync, NPU_WAIT_NS) || npu_sync_status(c.fd, c.sync) != 1)
		return 6;
	return npu_copy(&c, VA + 4, NPU_DATA, 4) == 1 && c.data[0] == 0x600d ? 0 : 7;
}

/* Work of about @ms, then one word of the client's data goes to VA. */
static uint32_t kv_writer_stream(struct npu_client *c, long ms)
{
	uint32_t count = npu_slow_count(c, ms), size = npu_slow_stream(c->stream, count) - NE1_CMD_SIZE;

	c->data[0] = 0x600d;
	c->params->base[1] = VA;
	size += npu_copy_stream(c->stream + count, 0, 4);
	c->stream[count + 1].dma.base = 1;
	return size;
}

TEST_F_TIMEOUT(dmabuf, kv_is_handed_over_while_a_job_writes_it, 120)
{
	struct npu_client *c = &self->c;
	int bo = npu_bo_create(c->fd, SIZE, 0, 0), fds[2], pair[2], status;
	struct drm_syncobj_handle sync = { .handle = c->sync };
	uint32_t size = kv_writer_stream(c, 1500);
	pid_t child;
	char byte;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, VA, 0, SIZE, 0));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		npu_client_fini(c);
		close(pair[0]);
		_exit(kv_reader(pair[1]));
	}
	close(pair[1]);
	ASSERT_EQ(1, read(pair[0], &byte, 1));
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
	EXPECT_TRUE(npu_debugfs_open("ring", O_RDONLY) < 0 || npu_job_runs());
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &sync));
	fds[0] = npu_export(c->fd, bo, DRM_RDWR);
	fds[1] = sync.fd;
	ASSERT_GE(fds[0], 0);
	ASSERT_EQ(0, npu_send_fds(pair[0], fds, 2));
	close(fds[0]);
	close(fds[1]);
	npu_bo_close(c->fd, bo);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

/*
 * A fence in the hands of user space, the two kinds that there are: of sw_sync, where the kernel has it, and of vgem,
 * which signals on its own after 10 s.  producer_start() returns the fd of a sync_file, or -ENODEV; producer_done()
 * signals it.
 */
enum producer_kind { PRODUCER_SW_SYNC, PRODUCER_VGEM, PRODUCER_KINDS };

static const char *const producer_names[] = { "sw_sync", "vgem" };

struct producer {
	enum producer_kind kind;
	int fd;
	uint32_t fence;	/* vgem's */
};

#define SW_SYNC_IOC_CREATE_FENCE	_IOWR('W', 0, struct sw_sync_create_fence_data)
#define SW_SYNC_IOC_INC			_IOW('W', 1, uint32_t)

struct sw_sync_create_fence_data {
	uint32_t value;
	char name[32];
	int32_t fence;
};

static int producer_start_sw_sync(struct producer *p)
{
	struct sw_sync_create_fence_data data = { .value = 1, .name = "camera" };

	p->fd = open(NPU_DEBUGFS "sync/sw_sync", O_RDWR | O_CLOEXEC);
	if (p->fd < 0)
		return -ENODEV;
	return ioctl(p->fd, SW_SYNC_IOC_CREATE_FENCE, &data) ? -errno : data.fence;
}

static int producer_start_vgem(struct producer *p)
{
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_READ, .fd = -1 };
	struct drm_vgem_fence_attach attach = { .flags = VGEM_FENCE_WRITE };
	int dmabuf, ret;

	p->fd = npu_vgem_open();
	if (p->fd < 0)
		return -ENODEV;
	attach.handle = npu_vgem_create(p->fd, NPU_PAGE);
	if (npu_ioctl(p->fd, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach))
		return -EIO;
	p->fence = attach.out_fence;
	dmabuf = npu_export(p->fd, attach.handle, DRM_RDWR);
	ret = ioctl(dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export) ? -errno : export.fd;
	close(dmabuf);
	return ret;
}

static int producer_start(struct producer *p, enum producer_kind kind)
{
	p->kind = kind;
	return kind == PRODUCER_SW_SYNC ? producer_start_sw_sync(p) : producer_start_vgem(p);
}

static void producer_done(struct producer *p)
{
	struct drm_vgem_fence_signal signal = { .fence = p->fence };
	uint32_t one = 1;

	if (p->kind == PRODUCER_VGEM)
		npu_ioctl(p->fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, &signal);
	else
		ioctl(p->fd, SW_SYNC_IOC_INC, &one);
	close(p->fd);
}

/* The fence that a reader of a dma-buf waits for, as a binary syncobj of @fd. */
static int import_read_fence(int fd, int dmabuf, uint32_t syncobj)
{
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_READ, .fd = -1 };
	struct drm_syncobj_handle args = {
		.handle = syncobj, .flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
	};
	int ret;

	if (ioctl(dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export))
		return -errno;
	args.fd = export.fd;
	ret = npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args);
	close(export.fd);
	return ret;
}

/* A camera of udmabuf: it has no fences of its own, its user's driver puts them into the dma-buf. */
struct camera {
	int memfd, dmabuf;
	uint32_t handle;	/* of the dma-buf, mapped at VA */
	uint32_t *frame;
};

static int camera_init(struct camera *camera, struct npu_client *c)
{
	camera->dmabuf = npu_udmabuf(SIZE, 0, &camera->memfd);
	if (camera->dmabuf < 0)
		return camera->dmabuf;
	camera->frame = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, camera->memfd, 0);
	if (camera->frame == MAP_FAILED)
		return -ENOMEM;
	camera->handle = npu_import(c->fd, camera->dmabuf);
	return npu_map(c->fd, c->vm, camera->handle, VA, 0, SIZE, 0);
}

static void camera_fini(struct camera *camera)
{
	munmap(camera->frame, SIZE);
	close(camera->dmabuf);
	close(camera->memfd);
}

static short camera_ready(const struct camera *camera, short events)
{
	struct pollfd p = { .fd = camera->dmabuf, .events = events };

	poll(&p, 1, 0);
	return p.revents;
}

/* A job that copies the first word of the frame: behind @in_sync, or behind who fills the buffer that it names. */
static int camera_job(struct npu_client *c, uint32_t in_sync, uint32_t bo)
{
	struct drm_npuedge_bo_use use = { .handle = bo };
	struct drm_npuedge_stream stream = { .va = NPU_STREAM, .size = npu_copy_stream(c->stream, 1, 4) };
	struct drm_npuedge_sync in = { .handle = in_sync }, out = { .handle = c->sync };
	struct drm_npuedge_job job = {
		.streams = { sizeof(stream), 1, (uintptr_t)&stream }, .params_va = NPU_PARAMS,
		.in_syncs = { sizeof(in), !!in_sync, (uintptr_t)&in },
		.out_syncs = { sizeof(out), 1, (uintptr_t)&out },
		.bos = { sizeof(use), !!bo, (uintptr_t)&use },
	};
	struct drm_npuedge_submit submit = {
		.queue_id = c->queue, .jobs = { sizeof(job), 1, (uintptr_t)&job },
	};

	c->params->base[1] = VA;
	c->stream[0].dma.base = 1;
	c->data[1] = 0;
	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit);
}

/* One frame; the job waits for it by a syncobj, or implicitly.  Returns false if there is no such producer. */
static bool camera_frame(struct __test_metadata *_metadata, struct npu_client *c, struct camera *camera,
			 enum producer_kind kind, bool implicit)
{
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_WRITE };
	uint32_t pixel = 0xca3e00 + kind * 2 + implicit, frame_ready = npu_syncobj_create(c->fd);
	struct producer producer;

	import.fd = producer_start(&producer, kind);
	if (import.fd == -ENODEV)
		return false;
	ASSERT_GE(import.fd, 0);
	/* the camera's driver puts its fence into the buffer, the job waits for it */
	ASSERT_EQ(0, ioctl(camera->dmabuf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import));
	if (implicit) {
		ASSERT_EQ(0, camera_job(c, 0, camera->handle));
	} else {
		ASSERT_EQ(0, import_read_fence(c->fd, camera->dmabuf, frame_ready));
		ASSERT_EQ(0, camera_job(c, frame_ready, 0));
	}
	EXPECT_EQ(-ETIME, npu_wait(c->fd, c->sync, 200 * 1000000)) {
		TH_LOG("%s: the job did not wait", producer_names[kind]);
	}
	EXPECT_EQ(0, c->data[1]);
	/* neither readers nor the next writer may have it */
	EXPECT_EQ(0, camera_ready(camera, POLLIN | POLLOUT));

	camera->frame[0] = pixel;
	producer_done(&producer);
	EXPECT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
	EXPECT_EQ(pixel, c->data[1]) {
		TH_LOG("%s", producer_names[kind]);
	}
	close(import.fd);
	return true;
}

/* Frames of each kind of producer that the kernel has. */
static int camera_frames(struct __test_metadata *_metadata, struct npu_client *c, struct camera *camera, bool implicit)
{
	int kinds = 0;

	for (int kind = 0; kind < PRODUCER_KINDS; kind++) {
		int frames = 0;

		while (frames < 3 && camera_frame(_metadata, c, camera, kind, implicit))
			frames++;
		TH_LOG("%s: %d frames", producer_names[kind], frames);
		kinds += frames > 0;
	}
	return kinds;
}

TEST_F_TIMEOUT(dmabuf, camera_feeds_a_job, 60)
{
	struct camera camera;
	int ret = camera_init(&camera, &self->c);

	if (ret == -ENOENT)
		SKIP(return, "kernel without CONFIG_UDMABUF");
	ASSERT_EQ(0, ret);
	if (!camera_frames(_metadata, &self->c, &camera, false))
		SKIP(return, "kernel without CONFIG_SW_SYNC and without vgem");
	camera_fini(&camera);
}

TEST_F_TIMEOUT(dmabuf, camera_feeds_a_job_by_implicit_sync, 60)
{
	struct camera camera;
	int ret = camera_init(&camera, &self->c);

	if (ret == -ENOENT)
		SKIP(return, "kernel without CONFIG_UDMABUF");
	ASSERT_EQ(0, ret);
	if (!camera_frames(_metadata, &self->c, &camera, true))
		SKIP(return, "kernel without CONFIG_SW_SYNC and without vgem");
	camera_fini(&camera);
}

/* The camera has to wait for the job that still reads the frame, and finds that out from the dma-buf alone. */
TEST_F_TIMEOUT(dmabuf, camera_waits_for_the_reader, 60)
{
	struct npu_client *c = &self->c;
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_WRITE, .fd = -1 };
	struct camera camera;
	struct producer gate;
	int ret = camera_init(&camera, c), file, gated = npu_syncobj_create(c->fd);
	struct drm_syncobj_handle args = {
		.handle = gated, .flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
	};

	if (ret == -ENOENT)
		SKIP(return, "kernel without CONFIG_UDMABUF");
	ASSERT_EQ(0, ret);
	file = producer_start(&gate, PRODUCER_VGEM);
	if (file == -ENODEV)
		SKIP(return, "kernel without vgem");
	ASSERT_GE(file, 0);
	args.fd = file;
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args));
	close(file);
	EXPECT_EQ(POLLIN | POLLOUT, camera_ready(&camera, POLLIN | POLLOUT));
	ASSERT_EQ(0, camera_job(c, gated, camera.handle));
	EXPECT_EQ(POLLIN, camera_ready(&camera, POLLIN | POLLOUT));
	ASSERT_EQ(0, ioctl(camera.dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export));
	EXPECT_EQ(0, npu_sync_file_status(export.fd));
	producer_done(&gate);
	EXPECT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	EXPECT_EQ(1, npu_wait_file(export.fd));
	close(export.fd);
	camera_fini(&camera);
}

TEST_F(dmabuf, not_a_dmabuf)
{
	struct npu_client *c = &self->c;
	int file = open("/dev/null", O_RDWR);

	EXPECT_EQ(-EINVAL, npu_import(c->fd, file));
	EXPECT_EQ(-EBADF, npu_import(c->fd, -1));
	EXPECT_EQ(-ENOENT, npu_export(c->fd, 4242, 0));
	close(file);
}

TEST_HARNESS_MAIN
