/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tests of memory share: dma-bufs, advice, queries, fdinfo, and jobs that copy between device addresses.
 * Include after kselftest_harness.h.
 */
#ifndef NPUEDGE_SELFTEST_BUFFER_H
#define NPUEDGE_SELFTEST_BUFFER_H

#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/socket.h>

#include "sysfs.h"

#define NPU_DEBUGFS	"/sys/kernel/debug/"

static inline int npu_export(int fd, uint32_t handle, uint32_t flags)
{
	struct drm_prime_handle prime = { .handle = handle, .flags = DRM_CLOEXEC | flags, .fd = -1 };
	int ret = npu_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);

	return ret ? ret : prime.fd;
}

static inline int npu_import(int fd, int dmabuf)
{
	struct drm_prime_handle prime = { .fd = dmabuf };
	int ret = npu_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);

	return ret ? ret : (int)prime.handle;
}

static inline int npu_madvise(int fd, uint32_t handle, uint32_t advice, uint32_t *retained)
{
	struct drm_npuedge_bo_madvise args = { .handle = handle, .advice = advice };
	int ret = npu_ioctl(fd, DRM_IOCTL_NPUEDGE_BO_MADVISE, &args);

	if (retained)
		*retained = args.retained;
	return ret;
}

static inline int npu_set_label(int fd, uint32_t handle, const char *label, uint32_t size)
{
	struct drm_npuedge_bo_set_label args = { .handle = handle, .size = size, .label = (uintptr_t)label };

	return npu_ioctl(fd, DRM_IOCTL_NPUEDGE_BO_SET_LABEL, &args);
}

static inline struct drm_npuedge_memory_info npu_memory(int fd)
{
	struct drm_npuedge_memory_info info = { 0 };

	npu_query(fd, DRM_NPUEDGE_QUERY_MEMORY, &info, sizeof(info));
	return info;
}

/* What processes had that are gone is freed in the kernel's own time: waits until only so many buffers are left. */
static inline void npu_settle(int fd, uint64_t buffers)
{
	struct drm_npuedge_memory_info last = npu_memory(fd), now;

	for (int i = 0; i < 1000 * npu_slowness(); i++) {
		usleep(20000);
		now = npu_memory(fd);
		if (now.buffers <= buffers && !memcmp(&now, &last, sizeof(now)))
			return;
		last = now;
	}
}

/* Waits until the driver's memory is this once more, as workers may free the last of it; whether it is. */
static inline bool npu_memory_returns(int fd, const struct drm_npuedge_memory_info *want)
{
	struct drm_npuedge_memory_info now = npu_memory(fd);

	for (int i = 0; i < 2000 * npu_slowness() && memcmp(&now, want, sizeof(now)); i++) {
		usleep(10000);
		now = npu_memory(fd);
	}
	return !memcmp(&now, want, sizeof(now));
}

/* Value of "key:\tN …" in the fdinfo of @fd, in bytes if it has a unit of memory; -1 if absent. */
static inline long long npu_fdinfo(int fd, const char *key)
{
	char path[64], line[256];
	long long value = -1;
	size_t n = strlen(key);
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		char *unit;

		if (strncmp(line, key, n) || line[n] != ':')
			continue;
		value = strtoll(line + n + 1, &unit, 10);
		if (!strncmp(unit, " KiB", 4))
			value <<= 10;
		else if (!strncmp(unit, " MiB", 4))
			value <<= 20;
	}
	fclose(file);
	return value;
}

/* Opens a file of the driver in debugfs: -ENOENT if there is none. */
static inline int npu_debugfs_open(const char *name, int flags)
{
	static const char *const roots[] = { "accel/*/", "dri/*/" };
	char pattern[128], path[256];

	for (int i = 0; i < 2; i++) {
		snprintf(pattern, sizeof(pattern), NPU_DEBUGFS "%s%s", roots[i], name);
		if (!npu_glob(pattern, path, sizeof(path))) {
			int fd = open(path, flags);

			return fd < 0 ? -errno : fd;
		}
	}
	return -ENOENT;
}

static inline bool npu_debugfs_has(const char *name, const char *text)
{
	static char buffer[1 << 16];
	int fd = npu_debugfs_open(name, O_RDONLY);
	size_t size = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	while (size + 1 < sizeof(buffer) && (n = read(fd, buffer + size, sizeof(buffer) - 1 - size)) > 0)
		size += n;
	close(fd);
	buffer[size] = 0;
	return strstr(buffer, text) != NULL;
}

/* Has the shrinker give back so many pages; what was in use lately is passed over in the first round. */
static inline int npu_shrink(const char *pages)
{
	int fd = npu_debugfs_open("shrinker", O_WRONLY);

	if (fd < 0)
		return fd;
	for (int i = 0; i < 2; i++) {
		if (write(fd, pages, strlen(pages)) < 0) {
			close(fd);
			return -errno;
		}
	}
	close(fd);
	return 0;
}

/* Page i of a buffer starts with a word that tells it from every other. */
static inline void npu_fill(uint32_t *map, uint64_t size, uint32_t seed)
{
	for (uint64_t i = 0; i < size / NPU_PAGE; i++)
		map[i * NPU_PAGE / 4] = seed ^ (uint32_t)(i * 2654435761u);
}

static inline uint32_t npu_fill_word(uint64_t page, uint32_t seed)
{
	return seed ^ (uint32_t)(page * 2654435761u);
}

/* Pages of [va, va + size), every @step-th, that a job does not find as npu_fill() left them. */
static inline int npu_wrong_pages(struct npu_client *c, uint64_t va, uint64_t size, uint32_t seed, uint64_t step)
{
	int wrong = 0;

	for (uint64_t i = 0; i < size / NPU_PAGE; i += step) {
		uint32_t want = npu_fill_word(i, seed);
		int status;

		c->data[1] = 0;
		status = npu_copy(c, va + i * NPU_PAGE, NPU_DATA + 4, 4);
		if (status == 1 && c->data[1] == want)
			continue;
		printf("# page %llu: status %d, word %#x instead of %#x\n", (unsigned long long)i, status,
		       c->data[1], want);
		wrong++;
	}
	return wrong;
}

/* Sends and receives file descriptors with one byte. */
static inline int npu_send_fds(int socket, const int *fds, int count)
{
	char control[CMSG_SPACE(4 * sizeof(int))] = "", byte = 'f';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = CMSG_SPACE(count * sizeof(int)),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, count * sizeof(int));
	return sendmsg(socket, &msg, 0) == 1 ? 0 : -errno;
}

static inline int npu_receive_fds(int socket, int *fds, int count)
{
	char control[CMSG_SPACE(4 * sizeof(int))], byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;

	if (recvmsg(socket, &msg, 0) != 1)
		return -EIO;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_len != CMSG_LEN(count * sizeof(int)))
		return -EIO;
	memcpy(fds, CMSG_DATA(cmsg), count * sizeof(int));
	return 0;
}

/* A dma-buf of the system heap; -ENOENT if there is no heap. */
static inline int npu_heap_alloc(uint64_t size, uint32_t flags)
{
	struct dma_heap_allocation_data alloc = { .len = size, .fd_flags = O_CLOEXEC | flags };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC), ret;

	if (heap < 0)
		return -errno;
	ret = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &alloc) ? -errno : (int)alloc.fd;
	close(heap);
	return ret;
}

/* A dma-buf of the pages of a memfd made with @flags; -ENOENT if the kernel has no udmabuf. */
static inline int npu_udmabuf(uint64_t size, unsigned int flags, int *memfd)
{
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), ret;
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = size };

	if (dev < 0)
		return -errno;
	*memfd = memfd_create("npuedge", MFD_ALLOW_SEALING | MFD_CLOEXEC | flags);
	create.memfd = *memfd;
	if (*memfd < 0 || ftruncate(*memfd, size) || fcntl(*memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		ret = -errno;
	else
		ret = ioctl(dev, UDMABUF_CREATE, &create);
	if (ret < 0)
		ret = -errno;
	close(dev);
	return ret;
}

/* The DRM device of vgem, a driver with nothing but buffers; -ENODEV if it is not there. */
static inline int npu_vgem_open(void)
{
	return npu_open_other("/dev/dri/card", "vgem");
}

/* A buffer of vgem; returns its handle. */
static inline int npu_vgem_create(int vgem, uint64_t size)
{
	struct drm_mode_create_dumb create = { .width = 1024, .height = size / NPU_PAGE, .bpp = 32 };
	int ret = npu_ioctl(vgem, DRM_IOCTL_MODE_CREATE_DUMB, &create);

	return ret ? ret : (int)create.handle;
}

static inline int npu_dmabuf_sync(int dmabuf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	return ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync) ? -errno : 0;
}

#endif
