// SPDX-License-Identifier: GPL-2.0
/* VM_BIND with DRM_NPUEDGE_VM_BIND_ASYNC: order, fences, and what is left when everybody leaves. */
#include "kselftest_harness.h"
#include "debugfs.h"
#include "vgem.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#define FAR	(NPU_VA * 2)

FIXTURE(bind_async) {
	struct npu_client c;
	struct vgem v;
	int gate;	/* syncobj whose fence vgem_end() signals */
};

FIXTURE_SETUP(bind_async)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	ret = vgem_init(&self->v, 4096);
	if (ret == -ENODEV)
		SKIP(return, "no vgem");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, vgem_begin(&self->v, VGEM_WRITE));
	self->gate = vgem_syncobj(self->c.fd, self->v.dmabuf);
	ASSERT_GT(self->gate, 0);
}

FIXTURE_TEARDOWN(bind_async)
{
	vgem_fini(&self->v);
	npu_client_fini(&self->c);
}

static struct drm_npuedge_vm_bind_op map_op(int bo, uint64_t va, uint64_t offset, uint64_t size)
{
	struct drm_npuedge_vm_bind_op op = {
		.op = DRM_NPUEDGE_BIND_MAP, .handle = bo, .va = va, .size = size, .bo_offset = offset,
	};

	return op;
}

static struct drm_npuedge_vm_bind_op unmap_op(uint64_t va, uint64_t size)
{
	struct drm_npuedge_vm_bind_op op = { .op = DRM_NPUEDGE_BIND_UNMAP, .va = va, .size = size };

	return op;
}

/* Job that copies a word from @src to data[1]; returns its syncobj. */
static int submit_read(struct npu_client *c, uint64_t src, int in_sync)
{
	int sync = npu_syncobj_create(c->fd), ret;

	npu_copy_stream(c->stream, 1, 4);
	c->params->base[1] = src;
	c->stream[0].dma.base = 1;
	ret = npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, in_sync, sync);
	return ret ? ret : sync;
}

static int end_status(int fd, int sync)
{
	int ret = npu_wait(fd, sync, NPU_WAIT_NS);

	return ret ? ret : npu_sync_status(fd, sync);
}

TEST_F(bind_async, bad_arguments)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_vm_bind_op ops[3];
	struct drm_npuedge_sync sync;
	struct drm_npuedge_vm_bind bind;

	/* Whatever is wrong, no operation was made and no syncobj touched. */
#define BAD(error, ...) do { \
		for (int i = 0; i < 3; i++) \
			ops[i] = map_op(c->bo, FAR + i * 4096, 0, 4096); \
		sync = (struct drm_npuedge_sync){ .handle = c->sync }; \
		bind = (struct drm_npuedge_vm_bind){ \
			.vm_id = c->vm, .flags = DRM_NPUEDGE_VM_BIND_ASYNC, \
			.ops = { sizeof(ops[0]), 3, (uintptr_t)ops }, \
			.out_syncs = { sizeof(sync), 1, (uintptr_t)&sync }, \
		}; \
		__VA_ARGS__; \
		EXPECT_EQ(error, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_VM_BIND, &bind)) { \
			TH_LOG("%s", #__VA_ARGS__); \
		} \
		EXPECT_EQ(0, bind.ops.count); \
		EXPECT_EQ(-EINVAL, npu_wait(c->fd, c->sync, 0)); \
		EXPECT_EQ(1, npu_vm_state(c->fd, c->vm).mappings); \
	} while (0)

	BAD(-EINVAL, bind.flags = 3);
	BAD(-EINVAL, bind.flags = 0);
	BAD(-EINVAL, bind.flags = 0; bind.in_syncs = bind.out_syncs; bind.out_syncs.count = 0);
	BAD(-EINVAL, bind.ops.count = 0);
	BAD(-E2BIG, bind.ops.count = ~0u);
	BAD(-EINVAL, bind.ops.stride = 16);
	BAD(-EINVAL, bind.ops.stride = 0);
	BAD(-EFAULT, bind.ops.ptr = 64);
	BAD(-ENOENT, bind.vm_id = 999);
	BAD(-E2BIG, bind.out_syncs.count = 257);
	BAD(-EINVAL, bind.out_syncs.stride = 8);
	BAD(-EFAULT, bind.out_syncs.ptr = 64);
	BAD(-ENOENT, sync.handle = 9999);
	BAD(-EINVAL, sync.point = 1);
	BAD(-EINVAL, sync.flags = 2);
	BAD(-EINVAL, bind.in_syncs = bind.out_syncs);		/* no fence to wait for */
	BAD(-ENOENT, ops[2].handle = 4242);
	BAD(-ENOENT, ops[0].handle = 0);
	BAD(-ENOENT, ops[1].handle = ~0u);
	BAD(-EINVAL, ops[2].va = 4097);
	BAD(-EINVAL, ops[1].size = 0);
	BAD(-EINVAL, ops[2].bo_offset = NPU_CLIENT_SIZE);
	BAD(-EINVAL, ops[2].op = 2);
	BAD(-EINVAL, ops[2].flags = 2);
#undef BAD
}

TEST_F(bind_async, waits_for_its_fence)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_vm_bind_op op = map_op(c->bo, FAR, NPU_PAGE, NPU_PAGE);

	ASSERT_EQ(0, npu_bind_async(c->fd, c->vm, &op, 1, self->gate, c->sync));
	EXPECT_EQ(-ETIME, npu_wait(c->fd, c->sync, 100000000));
	EXPECT_EQ(1, npu_vm_state(c->fd, c->vm).mappings);
	ASSERT_EQ(0, vgem_end(&self->v));
	ASSERT_EQ(1, end_status(c->fd, c->sync));
	EXPECT_EQ(2, npu_vm_state(c->fd, c->vm).mappings);
	EXPECT_EQ(NPU_CLIENT_SIZE + NPU_PAGE, npu_vm_state(c->fd, c->vm).mapped_bytes);
	c->data[0] = 77;
	EXPECT_EQ(1, end_status(c->fd, submit_read(c, FAR, 0)));
	EXPECT_EQ(77, c->data[1]);
}

TEST_F(bind_async, in_order)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_vm_bind_op first = map_op(c->bo, FAR, NPU_PAGE, NPU_PAGE);
	struct drm_npuedge_vm_bind_op second = map_op(c->bo, FAR, 100 * NPU_PAGE, NPU_PAGE);
	int sync = npu_syncobj_create(c->fd);

	*(uint32_t *)(c->map + NPU_PAGE) = 1;
	*(uint32_t *)(c->map + 100 * NPU_PAGE) = 2;
	/* the second waits for nothing but the first */
	ASSERT_EQ(0, npu_bind_async(c->fd, c->vm, &first, 1, self->gate, c->sync));
	ASSERT_EQ(0, npu_bind_async(c->fd, c->vm, &second, 1, 0, sync));
	EXPECT_EQ(-ETIME, npu_wait(c->fd, sync, 100000000));
	ASSERT_EQ(0, vgem_end(&self->v));
	ASSERT_EQ(1, end_status(c->fd, sync));
	EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
	EXPECT_EQ(1, end_status(c->fd, submit_read(c, FAR, 0)));
	EXPECT_EQ(2, c->data[1]);
}

struct late {
	struct npu_client *c;
	volatile bool done;
	int ret;
};

static void *late_bind(void *arg)
{
	struct late *l = arg;

	l->ret = npu_map(l->c->fd, l->c->vm, l->c->bo, FAR, 100 * NPU_PAGE, NPU_PAGE, 0);
	l->done = true;
	return NULL;
}

TEST_F(bind_async, synchronous_calls_wait)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_vm_bind_op op = map_op(c->bo, FAR, NPU_PAGE, NPU_PAGE);
	struct late late = { .c = c };
	pthread_t thread;

	*(uint32_t *)(c->map + 100 * NPU_PAGE) = 2;
	ASSERT_EQ(0, npu_bind_async(c->fd, c->vm, &op, 1, self->gate, c->sync));
	ASSERT_EQ(0, pthread_create(&thread, NULL, late_bind, &late));
	usleep(200000);
	EXPECT_FALSE(late.done);
	ASSERT_EQ(0, vgem_end(&self->v));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, late.ret);
	EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
	EXPECT_EQ(1, end_status(c->fd, submit_read(c, FAR, 0)));
	EXPECT_EQ(2, c->data[1]);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* A signal neither ends the wait with an error nor spoils the arguments. */
TEST_F(bind_async, synchronous_calls_are_restarted)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_vm_bind_op op = map_op(c->bo, FAR, NPU_PAGE, NPU_PAGE);
	struct sigaction action = { .sa_handler = on_alarm };
	struct late late = { .c = c };
	pthread_t thread;

	ASSERT_EQ(0, npu_bind_async(c->fd, c->vm, &op, 1, self->gate, c->sync));
	sigaction(SIGALRM, &action, NULL);
	ASSERT_EQ(0, pthread_create(&thread, NULL, late_bind, &late));
	for (int i = 0; i < 10; i++) {
		usleep(10000);
		pthread_kill(thread, SIGALRM);
	}
	ASSERT_EQ(0, vgem_end(&self->v));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, late.ret);
	EXPECT_EQ(2, npu_vm_state(c->fd, c->vm).mappings);
}

TEST_F(bind_async, jobs_and_binds_wait_for_each_other)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_vm_bind_op map = map_op(c->bo, FAR, NPU_PAGE, NPU_PAGE);
	struct drm_npuedge_vm_bind_op unmap = unmap_op(FAR, NPU_PAGE);
	int job, gone = npu_syncobj_create(c->fd);

	/* map, job, unmap, all queued behind the gate */
	c->data[0] = 4711;
	ASSERT_EQ(0, npu_bind_async(c->fd, c->vm, &map, 1, self->gate, c->sync));
	job = submit_read(c, FAR, c->sync);
	ASSERT_GT(job, 0);
	ASSERT_EQ(0, npu_bind_async(c->fd, c->vm, &unmap, 1, job, gone));
	ASSERT_EQ(0, vgem_end(&self->v));
	ASSERT_EQ(1, end_status(c->fd, gone));
	EXPECT_EQ(1, end_status(c->fd, job));
	EXPECT_EQ(4711, c->data[1]);
	EXPECT_EQ(1, npu_vm_state(c->fd, c->vm).mappings);
	EXPECT_EQ(-EIO, end_status(c->fd, submit_read(c, FAR, 0)));
}

TEST_F(bind_async, timeline)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_vm_bind_op op;
	struct drm_npuedge_sync in, out;
	struct drm_npuedge_vm_bind bind = {
		.vm_id = c->vm, .flags = DRM_NPUEDGE_VM_BIND_ASYNC,
		.ops = { sizeof(op), 1, (uintptr_t)&op },
		.out_syncs = { sizeof(out), 1, (uintptr_t)&out },
		.in_syncs = { sizeof(in), 0, (uintptr_t)&in },
	};
	uint64_t writes;

	/* point n: n pages are mapped; every other call waits for the point before */
	for (int i = 1; i <= 64; i++) {
		op = map_op(c->bo, FAR + i * NPU_PAGE, i * NPU_PAGE, NPU_PAGE);
		in = (struct drm_npuedge_sync){ c->sync, DRM_NPUEDGE_SYNC_TIMELINE, i - 1 };
		out = (struct drm_npuedge_sync){ c->sync, DRM_NPUEDGE_SYNC_TIMELINE, i };
		bind.in_syncs.count = i > 1 && i % 2;
		ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_VM_BIND, &bind));
	}
	ASSERT_EQ(0, npu_wait_point(c->fd, c->sync, 64, NPU_WAIT_NS));
	EXPECT_EQ(65, npu_vm_state(c->fd, c->vm).mappings);

	op = unmap_op(FAR, 1ull << 30);
	writes = npu_vm_state(c->fd, c->vm).pte_writes;
	out.point = 65;
	bind.in_syncs.count = 0;
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_VM_BIND, &bind));
	ASSERT_EQ(0, npu_wait_point(c->fd, c->sync, 65, NPU_WAIT_NS));
	EXPECT_EQ(1, npu_vm_state(c->fd, c->vm).mappings);
	EXPECT_LE(npu_vm_state(c->fd, c->vm).pte_writes - writes, 64 + 2);
}

/* Prepared in one state of the tables, run in another: what was reserved is enough. */
TEST_F(bind_async, tables_change_in_between)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_vm_bind_op ops[64];
	struct drm_npuedge_vm_get_state state;
	uint32_t seed = 1;

	for (int round = 0; round < 12; round++) {
		for (int i = 0; i < 64; i++) {
			uint64_t va, size;

			seed = seed * 1664525 + 1013904223;
			va = FAR + (seed >> 20) * NPU_PAGE * 16;
			size = (1 + (seed >> 8 & 127)) * NPU_PAGE;
			ops[i] = seed & 3 ? map_op(c->bo, va, (seed >> 16 & 63) * NPU_PAGE, size) :
					    unmap_op(va, size * 16);
		}
		ASSERT_EQ(0, npu_bind_async(c->fd, c->vm, ops, 64, round ? 0 : self->gate, c->sync));
	}
	ASSERT_EQ(0, vgem_end(&self->v));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
	state = npu_vm_state(c->fd, c->vm);
	EXPECT_EQ(DRM_NPUEDGE_VM_USABLE, state.state);
	EXPECT_GT(state.mappings, 100);
	ASSERT_EQ(0, npu_unmap(c->fd, c->vm, FAR, 1ull << 32));
	state = npu_vm_state(c->fd, c->vm);
	EXPECT_EQ(1, state.mappings);
	EXPECT_EQ(3 * npu_table_bytes(), state.table_bytes);
}

/* The device may use what it has found before; afterwards it may not. */
TEST_F(bind_async, unmap_below_a_running_job)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_vm_bind_op unmap = unmap_op(FAR, NPU_PAGE);
	int status, slow = npu_syncobj_create(c->fd);
	uint32_t size;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, c->bo, FAR, NPU_PAGE, NPU_PAGE, 0));
	size = npu_slow_stream(c->stream, 8);
	for (int i = 1; i < 8; i += 2) {
		c->stream[i] = npu_dma(NE1_OP_LD, 0, 64, 4096);
		c->stream[i].dma.base = 1;
	}
	c->params->base[1] = FAR;
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, slow));
	ASSERT_EQ(0, npu_bind_async(c->fd, c->vm, &unmap, 1, 0, c->sync));
	ASSERT_EQ(1, end_status(c->fd, c->sync));
	status = end_status(c->fd, slow);
	EXPECT_TRUE(status == 1 || status == -EIO);

	npu_queue_destroy(c->fd, c->queue);
	c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	EXPECT_EQ(-EIO, end_status(c->fd, submit_read(c, FAR, 0)));
}

/* A buffer that is closed while its mapping is queued is mapped all the same. */
TEST_F(bind_async, keeps_its_buffer)
{
	struct npu_client *c = &self->c;
	int bo = npu_bo_create(c->fd, NPU_PAGE, 0, c->vm);
	struct drm_npuedge_vm_bind_op op = map_op(bo, FAR, 0, NPU_PAGE);
	uint32_t *map = npu_bo_map(c->fd, bo, NPU_PAGE);

	ASSERT_NE(MAP_FAILED, map);
	*map = 0xabcd;
	ASSERT_EQ(0, npu_bind_async(c->fd, c->vm, &op, 1, self->gate, c->sync));
	munmap(map, NPU_PAGE);
	npu_bo_close(c->fd, bo);
	ASSERT_EQ(0, vgem_end(&self->v));
	ASSERT_EQ(1, end_status(c->fd, c->sync));
	EXPECT_EQ(1, end_status(c->fd, submit_read(c, FAR, 0)));
	EXPECT_EQ(0xabcd, c->data[1]);
}

/* The handle, or the file, goes while binds are queued: their fences signal. */
TEST_F(bind_async, everybody_leaves)
{
	for (int how = 0; how < 2; how++) {
		struct drm_npuedge_vm_bind_op op;
		struct npu_client other;
		int gate, file;
		struct vgem v;

		ASSERT_EQ(0, npu_client_init(&other));
		ASSERT_EQ(0, vgem_init(&v, 4096));
		ASSERT_EQ(0, vgem_begin(&v, VGEM_WRITE));
		gate = vgem_syncobj(other.fd, v.dmabuf);
		op = map_op(other.bo, FAR, 0, NPU_CLIENT_SIZE);
		for (int i = 0; i < 20; i++)
			ASSERT_EQ(0, npu_bind_async(other.fd, other.vm, &op, 1, i ? 0 : gate, other.sync));
		file = npu_sync_file(other.fd, other.sync);
		ASSERT_GE(file, 0);
		if (how) {
			EXPECT_EQ(0, npu_queue_destroy(other.fd, other.queue));
			EXPECT_EQ(0, npu_vm_destroy(other.fd, other.vm));
		} else {
			npu_client_fini(&other);
		}
		EXPECT_EQ(0, npu_sync_file_status(file));
		ASSERT_EQ(0, vgem_end(&v));
		EXPECT_EQ(1, npu_wait_file(file));
		close(file);
		vgem_fini(&v);
		if (how)
			npu_client_fini(&other);
	}
}

/* A client with binds that wait for @v dies; its wait status. */
static int kill_client(struct vgem *v)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		struct drm_npuedge_vm_bind_op op;
		struct npu_client own;
		int gate;

		if (npu_client_init(&own))
			_exit(1);
		gate = vgem_syncobj(own.fd, v->dmabuf);
		op = map_op(own.bo, FAR, 0, NPU_CLIENT_SIZE);
		for (int k = 0; k < 8; k++)
			npu_bind_async(own.fd, own.vm, &op, 1, k ? 0 : gate, own.sync);
		kill(getpid(), SIGKILL);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status;
}

#define KILLS		10
#define ROUND_NS	2000000000ll

/* In rounds, as the fence that they wait for signals on its own after a while: 10 s. */
TEST_F_TIMEOUT(bind_async, kill_with_binds_queued, 120)
{
	struct npu_client *c = &self->c;

	for (int kills = 0; kills < KILLS;) {
		int64_t begin = npu_deadline(0);

		if (kills)
			ASSERT_EQ(0, vgem_begin(&self->v, VGEM_WRITE));
		for (; kills < KILLS && npu_deadline(0) - begin < ROUND_NS; kills++)
			EXPECT_TRUE(WIFSIGNALED(kill_client(&self->v)));
		ASSERT_EQ(0, vgem_end(&self->v));
	}
	c->data[0] = 5;
	EXPECT_EQ(1, end_status(c->fd, submit_read(c, NPU_DATA, 0)));
	EXPECT_EQ(5, c->data[1]);
}

/* The @count-th bind from now on fails when it is made; or none, if 0. */
static int arm_fault(int count)
{
	char times[16], space[16];

	snprintf(times, sizeof(times), "%d", count ? 1 : 0);
	snprintf(space, sizeof(space), "%d", count ? count - 1 : 0);
	npu_knob_write("fail_bind/verbose", "0");
	npu_knob_write("fail_bind/interval", "1");
	npu_knob_write("fail_bind/space", space);
	npu_knob_write("fail_bind/times", times);
	return npu_knob_write("fail_bind/probability", count ? "100" : "0");
}

/* What cannot happen happens: nobody knows then what is mapped, so nobody may use it. */
TEST_F(bind_async, a_failed_bind_makes_the_vm_unusable)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_vm_bind_op ops[2] = {
		map_op(c->bo, FAR, 0, NPU_PAGE), map_op(c->bo, FAR + NPU_PAGE, 0, NPU_PAGE),
	};
	int later = npu_syncobj_create(c->fd);

	if (arm_fault(0))
		SKIP(return, "kernel without fault injection");
	ASSERT_EQ(0, npu_bind_async(c->fd, c->vm, ops, 2, self->gate, c->sync));
	ASSERT_EQ(0, npu_bind_async(c->fd, c->vm, ops, 1, 0, later));
	ASSERT_EQ(0, arm_fault(2));
	ASSERT_EQ(0, vgem_end(&self->v));
	EXPECT_EQ(-ENOSPC, end_status(c->fd, c->sync));
	arm_fault(0);
	EXPECT_EQ(-EIO, end_status(c->fd, later));

	EXPECT_EQ(DRM_NPUEDGE_VM_UNUSABLE, npu_vm_state(c->fd, c->vm).state);
	EXPECT_EQ(-EIO, npu_bind_async(c->fd, c->vm, ops, 1, 0, 0));
	EXPECT_EQ(-EIO, npu_unmap(c->fd, c->vm, FAR, NPU_PAGE));
	EXPECT_EQ(-EIO, submit_read(c, NPU_DATA, 0));
	npu_queue_destroy(c->fd, c->queue);
	EXPECT_EQ(0, npu_vm_destroy(c->fd, c->vm));
	c->vm = npu_vm_create(c->fd);
	EXPECT_EQ(0, npu_map(c->fd, c->vm, c->bo, NPU_VA, 0, NPU_CLIENT_SIZE, 0));
}

TEST_HARNESS_MAIN
