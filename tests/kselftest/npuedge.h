/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the npuedge selftests share: finding the device, one-line ioctls that return -errno, and tiny
 * command streams.  Include after kselftest_harness.h.
 *
 * A test skips, as selftests of the kernel do, where device, option of the kernel or right is missing.  That hides
 * nothing: tests/run takes a skip that is not in its EXPECTED_SKIPS for a failure.
 */
#ifndef NPUEDGE_SELFTEST_H
#define NPUEDGE_SELFTEST_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <drm/npuedge_accel.h>

#include "ne1_cmd.h"
#include "ne1_regs.h"

#define NPU_PAGE		4096ull
#define NPU_VA			0x10000000ull	/* where the tests map things; above any va_start */
#define NPU_WAIT_NS		(20ll * 1000000000)

/* How many times longer than usual things may take: kernels that check themselves are slow. */
static inline int npu_slowness(void)
{
	const char *text = getenv("NPU_SLOWNESS");
	int times = text ? atoi(text) : 0;

	return times > 0 ? times : 1;
}

#ifdef __KSELFTEST_HARNESS_H
/* The harness takes its limits at compile time; its own constructors, which have a priority, run before this one. */
static void __attribute__((constructor)) npu_scale_time_limits(void)
{
	for (struct __fixture_metadata *f = __fixture_list; f; f = f->next)
		for (struct __test_metadata *t = f->tests; t; t = t->next)
			t->timeout *= npu_slowness();
}
#endif

static inline int npu_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(fd, request, arg);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : 0;
}

/* Opens the first node of @pattern and a number whose DRM driver is @driver; -ENODEV if there is none. */
static inline int npu_open_driver(const char *pattern, const char *driver)
{
	for (int i = 0; i < 16; i++) {
		char path[32], name[16] = "";
		struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };
		int fd;

		snprintf(path, sizeof(path), "%s%d", pattern, i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!npu_ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, driver))
			return fd;
		close(fd);
	}
	return -ENODEV;
}

/* That of another driver, which is a module of its name where it is not built in. */
static inline int npu_open_other(const char *pattern, const char *driver)
{
	char command[64];
	int fd = npu_open_driver(pattern, driver);

	snprintf(command, sizeof(command), "modprobe -q %s", driver);
	return fd < 0 && !system(command) ? npu_open_driver(pattern, driver) : fd;
}

static inline int npu_open(void)
{
	return npu_open_driver("/dev/accel/accel", "npuedge");
}

static inline int npu_query(int fd, unsigned int type, void *data, unsigned int size)
{
	struct drm_npuedge_dev_query query = { .type = type, .size = size, .pointer = (uintptr_t)data };

	return npu_ioctl(fd, DRM_IOCTL_NPUEDGE_DEV_QUERY, &query);
}

/* Returns a handle, or -errno. */
static inline int npu_bo_create(int fd, uint64_t size, uint32_t flags, uint32_t vm)
{
	struct drm_npuedge_bo_create create = { .size = size, .flags = flags, .vm_id = vm };
	int ret = npu_ioctl(fd, DRM_IOCTL_NPUEDGE_BO_CREATE, &create);

	return ret ? ret : (int)create.handle;
}

static inline void npu_bo_close(int fd, uint32_t handle)
{
	struct drm_gem_close args = { .handle = handle };

	npu_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &args);
}

static inline void *npu_bo_map(int fd, uint32_t handle, uint64_t size)
{
	struct drm_npuedge_bo_mmap_offset args = { .handle = handle };

	if (npu_ioctl(fd, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &args))
		return MAP_FAILED;
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, args.offset);
}

static inline int npu_vm_create(int fd)
{
	struct drm_npuedge_vm_create create = { 0 };
	int ret = npu_ioctl(fd, DRM_IOCTL_NPUEDGE_VM_CREATE, &create);

	return ret ? ret : (int)create.id;
}

static inline int npu_vm_destroy(int fd, uint32_t id)
{
	struct drm_npuedge_vm_destroy args = { .id = id };

	return npu_ioctl(fd, DRM_IOCTL_NPUEDGE_VM_DESTROY, &args);
}

static inline int npu_bind_ops(int fd, uint32_t vm, struct drm_npuedge_vm_bind_op *ops, uint32_t count)
{
	struct drm_npuedge_vm_bind bind = {
		.vm_id = vm,
		.ops = { .stride = sizeof(*ops), .count = count, .ptr = (uintptr_t)ops },
	};

	return npu_ioctl(fd, DRM_IOCTL_NPUEDGE_VM_BIND, &bind);
}

static inline int npu_map(int fd, uint32_t vm, uint32_t handle, uint64_t va, uint64_t offset, uint64_t size,
			  uint32_t flags)
{
	struct drm_npuedge_vm_bind_op op = {
		.op = DRM_NPUEDGE_BIND_MAP, .flags = flags, .handle = handle,
		.va = va, .size = size, .bo_offset = offset,
	};

	return npu_bind_ops(fd, vm, &op, 1);
}

static inline int npu_unmap(int fd, uint32_t vm, uint64_t va, uint64_t size)
{
	struct drm_npuedge_vm_bind_op op = { .op = DRM_NPUEDGE_BIND_UNMAP, .va = va, .size = size };

	return npu_bind_ops(fd, vm, &op, 1);
}

/* Queues changes of an address space; either sync may be 0. */
static inline int npu_bind_async(int fd, uint32_t vm, struct drm_npuedge_vm_bind_op *ops, uint32_t count,
				 uint32_t in_sync, uint32_t out_sync)
{
	struct drm_npuedge_sync in = { .handle = in_sync }, out = { .handle = out_sync };
	struct drm_npuedge_vm_bind bind = {
		.vm_id = vm, .flags = DRM_NPUEDGE_VM_BIND_ASYNC,
		.ops = { .stride = sizeof(*ops), .count = count, .ptr = (uintptr_t)ops },
		.in_syncs = { .stride = sizeof(in), .count = !!in_sync, .ptr = (uintptr_t)&in },
		.out_syncs = { .stride = sizeof(out), .count = !!out_sync, .ptr = (uintptr_t)&out },
	};

	return npu_ioctl(fd, DRM_IOCTL_NPUEDGE_VM_BIND, &bind);
}

static inline struct drm_npuedge_vm_get_state npu_vm_state(int fd, uint32_t vm)
{
	struct drm_npuedge_vm_get_state state = { .id = vm };

	if (npu_ioctl(fd, DRM_IOCTL_NPUEDGE_VM_GET_STATE, &state))
		state.state = ~0u;
	return state;
}

/* What the driver says that a page table takes. */
static inline uint64_t npu_table_bytes(void)
{
	uint64_t page = getpagesize();

	return page > NPU_PAGE ? page : NPU_PAGE;
}

static inline int npu_queue_create(int fd, uint32_t vm, uint32_t priority)
{
	struct drm_npuedge_queue_create create = { .vm_id = vm, .priority = priority };
	int ret = npu_ioctl(fd, DRM_IOCTL_NPUEDGE_QUEUE_CREATE, &create);

	return ret ? ret : (int)create.id;
}

static inline int npu_queue_destroy(int fd, uint32_t id)
{
	struct drm_npuedge_queue_destroy args = { .id = id };

	return npu_ioctl(fd, DRM_IOCTL_NPUEDGE_QUEUE_DESTROY, &args);
}

static inline int npu_syncobj_create(int fd)
{
	struct drm_syncobj_create create = { 0 };
	int ret = npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);

	return ret ? ret : (int)create.handle;
}

static inline void npu_syncobj_destroy(int fd, uint32_t handle)
{
	struct drm_syncobj_destroy args = { .handle = handle };

	npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &args);
}

static inline int64_t npu_deadline(int64_t ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec + ns * npu_slowness();
}

/* Waits ns * npu_slowness(): 0, -ETIME, or another error; a fence that signalled with an error also returns 0, see npu_sync_status(). */
static inline int npu_wait(int fd, uint32_t handle, int64_t ns)
{
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)&handle, .count_handles = 1, .timeout_nsec = npu_deadline(ns),
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
}

static inline int npu_wait_point(int fd, uint32_t handle, uint64_t point, int64_t ns)
{
	struct drm_syncobj_timeline_wait wait = {
		.handles = (uintptr_t)&handle, .points = (uintptr_t)&point, .count_handles = 1,
		.timeout_nsec = npu_deadline(ns), .flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait);
}

/* Exports the fence of a binary syncobj as a sync_file: its own fd, or -errno. */
static inline int npu_sync_file(int fd, uint32_t handle)
{
	struct drm_syncobj_handle args = {
		.handle = handle, .flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE, .fd = -1,
	};
	int ret = npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);

	return ret ? ret : args.fd;
}

/* linux/sync_file.h, repeated because not every C library environment ships it */
struct npu_sync_file_info {
	char name[32];
	int32_t status;
	uint32_t flags, num_fences, pad;
	uint64_t fences;
};

/* 1: signalled, 0: pending, < 0: error that the fence carries. */
static inline int npu_sync_file_status(int file)
{
	struct npu_sync_file_info info = { 0 };

	if (ioctl(file, _IOWR('>', 4, struct npu_sync_file_info), &info))
		return -errno;
	return info.status;
}

static inline int npu_sync_status(int fd, uint32_t handle)
{
	int file = npu_sync_file(fd, handle), status;

	if (file < 0)
		return file;
	status = npu_sync_file_status(file);
	close(file);
	return status;
}

/* One job with one stream; either sync may be 0. */
static inline int npu_submit_flags(int fd, uint32_t queue, uint64_t stream, uint32_t size, uint64_t params,
				   uint32_t in_sync, uint32_t out_sync, uint32_t flags)
{
	struct drm_npuedge_stream streams = { .va = stream, .size = size };
	struct drm_npuedge_sync in = { .handle = in_sync }, out = { .handle = out_sync };
	struct drm_npuedge_job job = {
		.streams = { .stride = sizeof(streams), .count = 1, .ptr = (uintptr_t)&streams },
		.params_va = params,
		.in_syncs = { .stride = sizeof(in), .count = !!in_sync, .ptr = (uintptr_t)&in },
		.out_syncs = { .stride = sizeof(out), .count = !!out_sync, .ptr = (uintptr_t)&out },
		.flags = flags,
	};
	struct drm_npuedge_submit submit = {
		.queue_id = queue,
		.jobs = { .stride = sizeof(job), .count = 1, .ptr = (uintptr_t)&job },
	};

	return npu_ioctl(fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit);
}

static inline int npu_submit(int fd, uint32_t queue, uint64_t stream, uint32_t size, uint64_t params,
			     uint32_t in_sync, uint32_t out_sync)
{
	return npu_submit_flags(fd, queue, stream, size, params, in_sync, out_sync, 0);
}

/*
 * A client with one VM, one queue and one BO of NPU_CLIENT_SIZE bytes at NPU_VA:
 * page 0 params, page 1 data, page 2.. stream.
 */
#define NPU_CLIENT_SIZE		(1024 * 1024)
#define NPU_PARAMS		NPU_VA
#define NPU_DATA		(NPU_VA + NPU_PAGE)
#define NPU_STREAM		(NPU_VA + 2 * NPU_PAGE)

struct npu_client {
	int fd;
	int vm, queue, bo, sync;
	uint8_t *map;
	struct ne1_params *params;
	uint32_t *data;
	union ne1_cmd *stream;
};

/* Of an open device, which it takes over. */
static inline int npu_client_init_fd(struct npu_client *c, int fd)
{
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	if (fd < 0)
		return fd;
	c->vm = npu_vm_create(c->fd);
	c->bo = npu_bo_create(c->fd, NPU_CLIENT_SIZE, 0, 0);
	c->sync = npu_syncobj_create(c->fd);
	if (c->vm < 0 || c->bo < 0 || c->sync < 0)
		return -ENOMEM;
	c->map = npu_bo_map(c->fd, c->bo, NPU_CLIENT_SIZE);
	if (c->map == MAP_FAILED)
		return -ENOMEM;
	c->params = (void *)c->map;
	c->data = (void *)(c->map + NPU_PAGE);
	c->stream = (void *)(c->map + 2 * NPU_PAGE);
	c->params->base[0] = NPU_DATA;
	c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	if (c->queue < 0)
		return c->queue;
	return npu_map(c->fd, c->vm, c->bo, NPU_VA, 0, NPU_CLIENT_SIZE, 0);
}

/* Of the first device. */
static inline int npu_client_init(struct npu_client *c)
{
	return npu_client_init_fd(c, npu_open());
}

static inline void npu_client_fini(struct npu_client *c)
{
	if (c->map && c->map != MAP_FAILED)
		munmap(c->map, NPU_CLIENT_SIZE);
	if (c->fd > 0)
		close(c->fd);
}

static inline union ne1_cmd npu_cmd(uint8_t opcode)
{
	union ne1_cmd cmd = { .hdr = {
		.opcode = opcode, .wait = { NE1_NO_SEM, NE1_NO_SEM }, .signal = { NE1_NO_SEM, NE1_NO_SEM },
	} };

	return cmd;
}

static inline union ne1_cmd npu_dma(uint8_t opcode, uint64_t offset, uint32_t bytes, uint32_t sram)
{
	union ne1_cmd cmd = npu_cmd(opcode);

	cmd.dma.offset = offset;
	cmd.dma.row_bytes = bytes;
	cmd.dma.sram = sram;
	cmd.dma.rows = 1;
	cmd.dma.dyn = NE1_NO_PARAM;
	cmd.dma.clip = NE1_NO_PARAM;
	return cmd;
}

/* Stream that copies `bytes` from data[0] to data[dst_word] through the SRAM.  Returns its size in bytes. */
static inline uint32_t npu_copy_stream(union ne1_cmd *s, uint32_t dst_word, uint32_t bytes)
{
	s[0] = npu_dma(NE1_OP_LD, 0, bytes, 0);
	s[0].hdr.signal[0] = 0;
	s[1] = npu_dma(NE1_OP_ST, dst_word * 4ull, bytes, 0);
	s[1].hdr.wait[0] = 0;
	s[2] = npu_cmd(NE1_OP_END);
	return 3 * NE1_CMD_SIZE;
}

/* Has a job copy; returns the status of its fence: 1, or an error. */
static inline int npu_copy(struct npu_client *c, uint64_t src_va, uint64_t dst_va, uint32_t bytes)
{
	uint32_t size = npu_copy_stream(c->stream, 0, bytes);
	int sync = npu_syncobj_create(c->fd), ret;

	c->params->base[1] = src_va;
	c->params->base[2] = dst_va;
	c->stream[0].dma.base = 1;
	c->stream[1].dma.base = 2;
	ret = npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, sync);
	if (!ret)
		ret = npu_wait(c->fd, sync, NPU_WAIT_NS);
	if (!ret)
		ret = npu_sync_status(c->fd, sync);
	npu_syncobj_destroy(c->fd, sync);
	return ret;
}

/* Has a job copy this word in its data; 0, -EIO if its fence or the word says otherwise, or why there was no job. */
static inline int npu_copy_word(struct npu_client *c, uint32_t word)
{
	uint32_t size = npu_copy_stream(c->stream, 1, 4);
	int ret;

	c->data[0] = word;
	c->data[1] = ~word;
	ret = npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync);
	if (!ret)
		ret = npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS);
	if (!ret)
		ret = npu_sync_status(c->fd, c->sync);
	return ret == 1 && c->data[1] == word ? 0 : ret < 0 ? ret : -EIO;
}

static inline void npu_new_queue(struct npu_client *c)
{
	npu_queue_destroy(c->fd, c->queue);
	c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
}

/*
 * Stream of `count` matrix products of 2^27 multiply-accumulates each: long for any device, and it can be stopped
 * between any two of them.
 */
static inline uint32_t npu_slow_stream(union ne1_cmd *s, uint32_t count)
{
	union ne1_cmd mm = npu_cmd(NE1_OP_MM);

	mm.mm.m = 64;
	mm.mm.k = 2048;
	mm.mm.n = 1024;
	mm.mm.atype = NE1_T_F16;
	mm.mm.btype = NE1_T_F16;
	mm.mm.ctype = NE1_T_F32;
	mm.mm.b = 8192;
	mm.mm.c = 16384;
	for (uint32_t i = 0; i < count; i++)
		s[i] = mm;
	s[count] = npu_cmd(NE1_OP_END);
	return (count + 1) * NE1_CMD_SIZE;
}

#endif
