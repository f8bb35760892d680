// SPDX-License-Identifier: GPL-2.0
/* Buffers of a job, @bos of struct drm_npuedge_job: who waits for whom, within the driver and beyond it. */
#include "kselftest_harness.h"
#include "npuedge.h"
#include "vgem.h"

#include <pthread.h>
#include <stdbool.h>

#define MAX_USES	2048

FIXTURE(implicit) {
	struct npu_client c;
	int second;	/* queue */
	int bo[2];	/* shareable, not mapped by anybody */
};

FIXTURE_SETUP(implicit)
{
	struct npu_client *c = &self->c;
	int ret = npu_client_init(c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	self->second = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	ASSERT_GT(self->second, 0);
	for (int i = 0; i < 2; i++) {
		self->bo[i] = npu_bo_create(c->fd, NPU_PAGE, 0, 0);
		ASSERT_GT(self->bo[i], 0);
	}
	npu_copy_stream(c->stream, 1, 4);
}

FIXTURE_TEARDOWN(implicit)
{
	npu_client_fini(&self->c);
}

/* A short job that uses buffers; a syncobj of its end, or -errno. */
static int submit_uses(struct npu_client *c, int queue, struct drm_npuedge_bo_use *uses, uint32_t count, int in_sync)
{
	struct drm_npuedge_stream stream = { .va = NPU_STREAM, .size = 192 };
	struct drm_npuedge_sync out = { .handle = npu_syncobj_create(c->fd) }, in = { .handle = in_sync };
	struct drm_npuedge_job job = {
		.streams = { sizeof(stream), 1, (uintptr_t)&stream },
		.params_va = NPU_PARAMS,
		.in_syncs = { sizeof(in), !!in_sync, (uintptr_t)&in },
		.out_syncs = { sizeof(out), 1, (uintptr_t)&out },
		.bos = { sizeof(*uses), count, (uintptr_t)uses },
	};
	struct drm_npuedge_submit submit = {
		.queue_id = queue, .jobs = { sizeof(job), 1, (uintptr_t)&job },
	};
	int ret = npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit);

	return ret ? ret : (int)out.handle;
}

static int submit_use(struct npu_client *c, int queue, int bo, uint32_t flags, int in_sync)
{
	struct drm_npuedge_bo_use use = { .handle = bo, .flags = flags };

	return submit_uses(c, queue, &use, 1, in_sync);
}

static int end_status(int fd, int sync)
{
	int ret = sync < 0 ? sync : npu_wait(fd, sync, NPU_WAIT_NS);

	return ret ? ret : npu_sync_status(fd, sync);
}

static int export_bo(int fd, int bo)
{
	struct drm_prime_handle prime = { .handle = bo, .flags = DRM_CLOEXEC | DRM_RDWR };
	int ret = npu_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);

	return ret ? ret : prime.fd;
}

static int import_bo(int fd, int dmabuf)
{
	struct drm_prime_handle prime = { .fd = dmabuf };
	int ret = npu_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);

	return ret ? ret : (int)prime.handle;
}

static short ready(int dmabuf, short events)
{
	struct pollfd p = { .fd = dmabuf, .events = events };

	poll(&p, 1, 0);
	return p.revents;
}

/* All of @events are there, or soon: who has waited for a fence may be told before a poll() of earlier is. */
static bool becomes_ready(int dmabuf, short events)
{
	for (int i = 0; i < 2000 * npu_slowness() && ready(dmabuf, events) != events; i++)
		usleep(1000);
	return ready(dmabuf, events) == events;
}

TEST_F(implicit, bad_arguments)
{
	static struct drm_npuedge_bo_use uses[MAX_USES];
	struct npu_client *c = &self->c;
	struct { struct drm_npuedge_bo_use use; uint64_t later; } wide = { .use.handle = self->bo[0] };
	struct drm_npuedge_stream stream = { .va = NPU_STREAM, .size = 192 };
	struct drm_npuedge_limits limits = { 0 };
	struct drm_npuedge_sync out;
	struct drm_npuedge_job job;
	struct drm_npuedge_submit submit;

	/* Whatever is wrong, no job was queued and no syncobj touched. */
#define TRY(error, ...) do { \
		memset(uses, 0, sizeof(uses)); \
		for (int i = 0; i < 4; i++) \
			uses[i] = (struct drm_npuedge_bo_use){ .handle = self->bo[i & 1] }; \
		out = (struct drm_npuedge_sync){ .handle = npu_syncobj_create(c->fd) }; \
		job = (struct drm_npuedge_job){ \
			.streams = { sizeof(stream), 1, (uintptr_t)&stream }, .params_va = NPU_PARAMS, \
			.out_syncs = { sizeof(out), 1, (uintptr_t)&out }, \
			.bos = { sizeof(uses[0]), 4, (uintptr_t)uses }, \
		}; \
		submit = (struct drm_npuedge_submit){ \
			.queue_id = c->queue, .jobs = { sizeof(job), 1, (uintptr_t)&job }, \
		}; \
		__VA_ARGS__; \
		EXPECT_EQ(error, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit)) { \
			TH_LOG("%s", #__VA_ARGS__); \
		} \
		EXPECT_EQ(error ? -EINVAL : 0, npu_wait(c->fd, out.handle, error ? 0 : NPU_WAIT_NS)); \
	} while (0)

	TRY(0, (void)0);
	TRY(0, job.bos.count = 0; job.bos.ptr = 64; job.bos.stride = 1);
	TRY(0, job.flags = DRM_NPUEDGE_JOB_RERUN);
	TRY(0, job.bos = (struct drm_npuedge_array){ sizeof(wide), 1, (uintptr_t)&wide });
	TRY(-E2BIG, job.bos = (struct drm_npuedge_array){ sizeof(wide), 1, (uintptr_t)&wide }; wide.later = 1);
	TRY(-ENOENT, uses[0].handle = 0);
	TRY(-ENOENT, uses[3].handle = ~0u);
	TRY(-ENOENT, uses[1].handle = 4242);
	TRY(-EINVAL, uses[2].flags = 2);
	TRY(-EINVAL, uses[0].flags = ~0u);
	TRY(-EINVAL, job.bos.stride = 0);
	TRY(-EINVAL, job.bos.stride = 4);
	TRY(-E2BIG, job.bos.stride = ~0u);
	TRY(-E2BIG, job.bos.count = ~0u);
	TRY(-E2BIG, job.bos.count = 1u << 31);
	TRY(-E2BIG, job.bos.count = 1u << 16);
	TRY(-EFAULT, job.bos.ptr = 64);
	TRY(-EFAULT, job.bos.ptr = ~0ull - 8);
	if (!npu_query(c->fd, DRM_NPUEDGE_QUERY_LIMITS, &limits, sizeof(limits))) {
		ASSERT_LT(limits.bos_per_job, MAX_USES);
		TRY(0, for (uint32_t i = 0; i < limits.bos_per_job; i++) uses[i].handle = self->bo[0];
		    job.bos.count = limits.bos_per_job);
		TRY(-E2BIG, job.bos.count = limits.bos_per_job + 1);
	}
#undef TRY
}

/* first use, second use, whether the second waits for the first */
static const struct {
	uint32_t first, second;
	int waits;
} orders[] = {
	{ DRM_NPUEDGE_BO_WRITE, 0, 1 },
	{ 0, DRM_NPUEDGE_BO_WRITE, 1 },
	{ DRM_NPUEDGE_BO_WRITE, DRM_NPUEDGE_BO_WRITE, 1 },
	{ 0, 0, 0 },
};

TEST_F(implicit, queues_wait_for_each_other)
{
	struct npu_client *c = &self->c;

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		int bo = npu_bo_create(c->fd, NPU_PAGE, 0, 0), gate, first, second;
		struct vgem v;

		ASSERT_EQ(0, vgem_init(&v, 4096));
		ASSERT_EQ(0, vgem_begin(&v, VGEM_WRITE));
		gate = vgem_syncobj(c->fd, v.dmabuf);
		first = submit_use(c, c->queue, bo, orders[i].first, gate);
		ASSERT_GT(first, 0);
		second = submit_use(c, self->second, bo, orders[i].second, 0);
		ASSERT_GT(second, 0);
		if (orders[i].waits) {
			EXPECT_EQ(-ETIME, npu_wait(c->fd, second, 200000000));
		} else {
			EXPECT_EQ(1, end_status(c->fd, second));
		}
		EXPECT_EQ(-ETIME, npu_wait(c->fd, first, 0));
		ASSERT_EQ(0, vgem_end(&v));
		EXPECT_EQ(1, end_status(c->fd, first));
		EXPECT_EQ(1, end_status(c->fd, second));
		vgem_fini(&v);
		npu_bo_close(c->fd, bo);
	}
}

/* What a job does not name it does not wait for, though the VM maps it. */
TEST_F(implicit, only_what_is_named)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_bo_use use = { .handle = c->bo, .flags = DRM_NPUEDGE_BO_WRITE };
	int gate, first, second;
	struct vgem v;

	ASSERT_EQ(0, vgem_init(&v, 4096));
	ASSERT_EQ(0, vgem_begin(&v, VGEM_WRITE));
	gate = vgem_syncobj(c->fd, v.dmabuf);
	first = submit_uses(c, c->queue, &use, 1, gate);
	second = submit_uses(c, self->second, &use, 0, 0);
	EXPECT_EQ(1, end_status(c->fd, second));
	EXPECT_EQ(-ETIME, npu_wait(c->fd, first, 0));
	ASSERT_EQ(0, vgem_end(&v));
	EXPECT_EQ(1, end_status(c->fd, first));
	vgem_fini(&v);
}

TEST_F(implicit, twice_in_a_list)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_bo_use uses[] = {
		{ .handle = self->bo[0] }, { .handle = self->bo[1], .flags = DRM_NPUEDGE_BO_WRITE },
		{ .handle = self->bo[0], .flags = DRM_NPUEDGE_BO_WRITE }, { .handle = self->bo[0] },
		{ .handle = c->bo }, { .handle = self->bo[1] }, { .handle = c->bo },
	};

	for (int i = 0; i < 20; i++)
		EXPECT_EQ(1, end_status(c->fd, submit_uses(c, i & 1 ? self->second : c->queue, uses, 7, 0)));
}

/* A buffer of the VM alone shares its reservation object with it. */
TEST_F(implicit, private_buffer)
{
	struct npu_client *c = &self->c;
	int bo = npu_bo_create(c->fd, NPU_PAGE, 0, c->vm), last = 0;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, NPU_VA * 2, 0, NPU_PAGE, 0));
	for (int i = 0; i < 40; i++) {
		last = submit_use(c, i & 1 ? self->second : c->queue, bo, i % 3 ? 0 : DRM_NPUEDGE_BO_WRITE, 0);
		ASSERT_GT(last, 0);
	}
	EXPECT_EQ(1, end_status(c->fd, last));
}

struct lister {
	struct npu_client *c;
	int queue, *bo, reverse, failed;
};

static void *list_both(void *arg)
{
	struct lister *l = arg;

	for (int i = 0; i < 200; i++) {
		struct drm_npuedge_bo_use uses[2] = {
			{ l->bo[l->reverse], DRM_NPUEDGE_BO_WRITE }, { l->bo[!l->reverse], DRM_NPUEDGE_BO_WRITE },
		};
		int sync = submit_uses(l->c, l->queue, uses, 2, 0);

		l->failed += sync < 0 || (i % 20 == 19 && end_status(l->c->fd, sync) != 1);
		npu_syncobj_destroy(l->c->fd, sync);
	}
	return NULL;
}

TEST_F(implicit, order_of_a_list_does_not_matter)
{
	struct lister l[2] = {
		{ &self->c, self->c.queue, self->bo, 0, 0 }, { &self->c, self->second, self->bo, 1, 0 },
	};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, list_both, &l[i]));
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, l[i].failed);
	}
}

/* A camera fills a buffer of its own; the job waits for it, and the camera can wait for the job. */
TEST_F(implicit, camera)
{
	struct npu_client *c = &self->c;
	int bo, job;
	struct vgem v;

	ASSERT_EQ(0, vgem_init(&v, 65536));
	bo = import_bo(c->fd, v.dmabuf);
	ASSERT_GT(bo, 0);
	ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, NPU_VA * 2, 0, 65536, DRM_NPUEDGE_BIND_READONLY));

	for (int frame = 0; frame < 5; frame++) {
		uint32_t *pixels = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, v.dmabuf, 0);

		ASSERT_NE(MAP_FAILED, pixels);
		ASSERT_EQ(0, vgem_begin(&v, VGEM_WRITE));
		c->params->base[1] = NPU_VA * 2;
		c->stream[0].dma.base = 1;
		job = submit_use(c, c->queue, bo, 0, 0);
		ASSERT_GT(job, 0);
		EXPECT_EQ(-ETIME, npu_wait(c->fd, job, 50000000));
		/* its next owner has to wait too */
		EXPECT_EQ(0, ready(v.dmabuf, POLLOUT));
		pixels[0] = 1000 + frame;
		ASSERT_EQ(0, vgem_end(&v));
		EXPECT_EQ(1, end_status(c->fd, job));
		EXPECT_EQ(1000 + frame, c->data[1]);
		EXPECT_TRUE(becomes_ready(v.dmabuf, POLLOUT));
		munmap(pixels, 65536);
	}
	vgem_fini(&v);
}

/* Fences of a job, seen through the dma-buf of a buffer of ours. */
TEST_F(implicit, others_see_the_job)
{
	struct npu_client *c = &self->c;

	for (int write = 0; write < 2; write++) {
		int gate, job, dmabuf = export_bo(c->fd, self->bo[write]), sync;
		struct vgem v;

		ASSERT_GT(dmabuf, 0);
		ASSERT_EQ(0, vgem_init(&v, 4096));
		ASSERT_EQ(0, vgem_begin(&v, VGEM_WRITE));
		gate = vgem_syncobj(c->fd, v.dmabuf);
		EXPECT_EQ(POLLIN | POLLOUT, ready(dmabuf, POLLIN | POLLOUT));
		job = submit_use(c, c->queue, self->bo[write], write ? DRM_NPUEDGE_BO_WRITE : 0, gate);
		ASSERT_GT(job, 0);
		/* readers need not wait for readers */
		EXPECT_EQ(write ? 0 : POLLIN, ready(dmabuf, POLLIN));
		EXPECT_EQ(0, ready(dmabuf, POLLOUT));
		sync = vgem_syncobj(c->fd, dmabuf);
		ASSERT_GT(sync, 0);
		EXPECT_EQ(-ETIME, npu_wait(c->fd, sync, 0));
		ASSERT_EQ(0, vgem_end(&v));
		EXPECT_EQ(1, end_status(c->fd, job));
		EXPECT_EQ(0, npu_wait(c->fd, sync, NPU_WAIT_NS));
		EXPECT_TRUE(becomes_ready(dmabuf, POLLIN | POLLOUT));
		close(dmabuf);
		vgem_fini(&v);
	}
}

/* A batch in which a later job uses what an earlier one writes does not wait for itself. */
TEST_F(implicit, within_a_batch)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_stream stream = { .va = NPU_STREAM, .size = 192 };
	struct drm_npuedge_bo_use use = { .handle = self->bo[0], .flags = DRM_NPUEDGE_BO_WRITE };
	struct drm_npuedge_sync out = { .handle = c->sync };
	struct drm_npuedge_job jobs[64];
	struct drm_npuedge_submit submit = {
		.queue_id = c->queue, .jobs = { sizeof(jobs[0]), 64, (uintptr_t)jobs },
	};

	for (int i = 0; i < 64; i++) {
		jobs[i] = (struct drm_npuedge_job){
			.streams = { sizeof(stream), 1, (uintptr_t)&stream }, .params_va = NPU_PARAMS,
			.out_syncs = { sizeof(out), i == 63, (uintptr_t)&out },
			.bos = { sizeof(use), 1, (uintptr_t)&use },
		};
	}
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit));
	EXPECT_EQ(1, end_status(c->fd, c->sync));
	EXPECT_EQ(1, end_status(c->fd, submit_use(c, self->second, self->bo[0], 0, 0)));
}

TEST_HARNESS_MAIN
