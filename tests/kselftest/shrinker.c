// SPDX-License-Identifier: GPL-2.0
/* Memory that goes and comes back: buffers that are swapped out, dropped, busy, pinned, shared. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

#include "kselftest_harness.h"
#include "buffer.h"

#define SIZE	(6ull << 20)
#define VA	(1ull << 32)
#define ALL	"1000000"

FIXTURE(shrinker) {
	struct npu_client c;
	int bo;
	uint32_t *map;
};

FIXTURE_SETUP(shrinker)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (npu_debugfs_open("shrinker", O_RDONLY) < 0)
		SKIP(return, "no debugfs");
	npu_settle(self->c.fd, 1);
	self->bo = npu_bo_create(self->c.fd, SIZE, 0, 0);
	self->map = npu_bo_map(self->c.fd, self->bo, SIZE);
	ASSERT_NE(MAP_FAILED, self->map);
	npu_fill(self->map, SIZE, 1);
}

FIXTURE_TEARDOWN(shrinker)
{
	npu_client_fini(&self->c);
}

TEST_F(shrinker, what_the_cpu_maps_comes_back)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_memory_info before = npu_memory(c->fd), now;

	ASSERT_EQ(0, npu_shrink(ALL));
	now = npu_memory(c->fd);
	EXPECT_EQ(before.resident_bytes - SIZE - NPU_CLIENT_SIZE, now.resident_bytes);
	EXPECT_EQ(before.evicted_bytes + SIZE + NPU_CLIENT_SIZE, now.evicted_bytes);
	EXPECT_EQ(before.total_bytes, now.total_bytes);
	for (uint64_t i = 0; i < SIZE / NPU_PAGE; i++)
		ASSERT_EQ(npu_fill_word(i, 1), self->map[i * NPU_PAGE / 4]);
	EXPECT_EQ(now.resident_bytes + SIZE, npu_memory(c->fd).resident_bytes);
}

TEST_F(shrinker, what_a_job_needs_comes_back)
{
	struct npu_client *c = &self->c;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, self->bo, VA, 0, SIZE, 0));
	munmap(self->map, SIZE);
	for (int round = 0; round < 3; round++) {
		EXPECT_EQ(0, npu_wrong_pages(c, VA, SIZE, 1, 211));
		ASSERT_EQ(0, npu_shrink(ALL));
		EXPECT_TRUE(npu_debugfs_has("vas", " evicted"));
	}
	EXPECT_EQ(0, npu_wrong_pages(c, VA, SIZE, 1, 97));
	EXPECT_FALSE(npu_debugfs_has("vas", " evicted"));
}

TEST_F(shrinker, what_a_job_wrote_is_kept)
{
	struct npu_client *c = &self->c;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, self->bo, VA, 0, SIZE, 0));
	c->data[0] = 0x77;
	EXPECT_EQ(1, npu_copy(c, NPU_DATA, VA + 12345 * 4, 4));
	ASSERT_EQ(0, npu_shrink(ALL));
	EXPECT_EQ(0x77, self->map[12345]);
	ASSERT_EQ(0, npu_shrink(ALL));
	EXPECT_EQ(1, npu_copy(c, VA + 12345 * 4, NPU_DATA + 4, 4));
	EXPECT_EQ(0x77, c->data[1]);
}

TEST_F(shrinker, private_buffers_go_and_come_too)
{
	struct npu_client *c = &self->c;
	int bo = npu_bo_create(c->fd, SIZE, 0, c->vm);
	uint32_t *map = npu_bo_map(c->fd, bo, SIZE);
	uint64_t before;

	ASSERT_NE(MAP_FAILED, map);
	npu_fill(map, SIZE, 2);
	ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, VA, 0, SIZE, 0));
	EXPECT_EQ(0, npu_wrong_pages(c, VA, SIZE, 2, 301));
	before = npu_memory(c->fd).resident_bytes;
	ASSERT_EQ(0, npu_shrink(ALL));
	EXPECT_LE(npu_memory(c->fd).resident_bytes, before - SIZE);
	EXPECT_EQ(0, npu_wrong_pages(c, VA, SIZE, 2, 301));
	munmap(map, SIZE);
}

TEST_F(shrinker, one_buffer_in_two_vms)
{
	struct npu_client *c = &self->c, other;
	int handle, dmabuf = npu_export(c->fd, self->bo, DRM_RDWR);

	ASSERT_EQ(0, npu_client_init(&other));
	handle = npu_import(other.fd, dmabuf);
	close(dmabuf);
	ASSERT_EQ(0, npu_map(c->fd, c->vm, self->bo, VA, 0, SIZE, 0));
	ASSERT_EQ(0, npu_map(other.fd, other.vm, handle, 2 * VA, 0, SIZE, DRM_NPUEDGE_BIND_READONLY));
	for (int round = 0; round < 2; round++) {
		EXPECT_EQ(0, npu_wrong_pages(&other, 2 * VA, SIZE, 1, 301));
		EXPECT_EQ(0, npu_wrong_pages(c, VA, SIZE, 1, 301));
		ASSERT_EQ(0, npu_shrink(ALL));
		EXPECT_TRUE(npu_debugfs_has("vas", " evicted"));
	}
	EXPECT_EQ(0, npu_wrong_pages(&other, 2 * VA, SIZE, 1, 301));
	other.data[0] = 5;
	EXPECT_EQ(-EIO, npu_copy(&other, NPU_DATA, 2 * VA, 4)); /* still read-only */
	npu_client_fini(&other);
	EXPECT_EQ(0, npu_wrong_pages(c, VA, SIZE, 1, 301));
}

TEST_F(shrinker, address_spaces_change_meanwhile)
{
	struct npu_client *c = &self->c;
	uint64_t hole = VA + (2ull << 20) + 5 * NPU_PAGE;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, self->bo, VA, 0, SIZE, 0));
	ASSERT_EQ(0, npu_shrink(ALL));
	ASSERT_EQ(0, npu_unmap(c->fd, c->vm, hole, NPU_PAGE));
	ASSERT_EQ(0, npu_map(c->fd, c->vm, self->bo, 2 * VA, 0, SIZE, 0)); /* brings it back */
	EXPECT_EQ(0, npu_wrong_pages(c, 2 * VA, SIZE, 1, 301));
	EXPECT_EQ(1, npu_copy(c, hole - NPU_PAGE, NPU_DATA + 4, 4));
	EXPECT_EQ(npu_fill_word(516, 1), c->data[1]);
	EXPECT_EQ(1, npu_copy(c, hole + NPU_PAGE, NPU_DATA + 4, 4));
	EXPECT_EQ(npu_fill_word(518, 1), c->data[1]);
	ASSERT_EQ(0, npu_shrink(ALL));
	EXPECT_EQ(-EIO, npu_copy(c, hole, NPU_DATA + 4, 4)); /* what was unmapped does not come back */
	npu_new_queue(c);
	ASSERT_EQ(0, npu_shrink(ALL));
	ASSERT_EQ(0, npu_unmap(c->fd, c->vm, VA, 2 * VA));
	EXPECT_EQ(-EIO, npu_copy(c, VA, NPU_DATA + 4, 4));
}

/* Memory before, and after all that could go went while a job of @user ran. */
struct shrunk {
	uint64_t before, after;
	long long active;	/* of what @seen_by has */
};

/* 0, -EAGAIN if the job of so many products had ended before, or another error; it has ended in any case. */
static int shrink_under_job(struct npu_client *user, uint32_t count, int seen_by, struct shrunk *s)
{
	uint32_t size = npu_slow_stream(user->stream, count);
	bool runs;
	int ret;

	ret = npu_submit(user->fd, user->queue, NPU_STREAM, size, NPU_PARAMS, 0, user->sync);
	if (ret)
		return ret;
	s->before = npu_memory(seen_by).resident_bytes;
	s->active = npu_fdinfo(seen_by, "drm-active-memory");
	ret = npu_shrink(ALL);
	runs = npu_wait(user->fd, user->sync, 0) == -ETIME;
	s->after = npu_memory(seen_by).resident_bytes;
	ret = ret ? ret : npu_wait(user->fd, user->sync, 2 * NPU_WAIT_NS);
	if (!ret && npu_sync_status(user->fd, user->sync) != 1)
		ret = -EIO;
	return ret ? ret : runs ? 0 : -EAGAIN;
}

/* With longer jobs until one runs so long.  The buffer of @idle goes each time: it is brought back before. */
static int shrink_under_some_job(struct npu_client *user, struct npu_client *idle, int seen_by, struct shrunk *s)
{
	int ret = -EAGAIN;

	for (uint32_t count = 60; ret == -EAGAIN && count <= 2000; count *= 2) {
		for (uint64_t i = 0; i < NPU_CLIENT_SIZE; i += NPU_PAGE)
			*(volatile uint8_t *)(idle->map + i);
		ret = shrink_under_job(user, count, seen_by, s);
	}
	return ret;
}

TEST_F_TIMEOUT(shrinker, what_is_in_use_stays, 120)
{
	struct npu_client *c = &self->c, idle;
	struct shrunk s;

	ASSERT_EQ(0, npu_client_init(&idle));
	ASSERT_EQ(0, npu_map(c->fd, c->vm, self->bo, VA, 0, SIZE, 0));
	ASSERT_EQ(0, shrink_under_some_job(c, &idle, c->fd, &s));
	EXPECT_GE(s.active, (long long)SIZE);
	/* the idle client's went, the busy one's did not */
	EXPECT_EQ(s.before - NPU_CLIENT_SIZE, s.after);
	EXPECT_EQ(0, npu_fdinfo(c->fd, "drm-active-memory"));
	npu_client_fini(&idle);
}

TEST_F_TIMEOUT(shrinker, what_another_vm_uses_stays, 180)
{
	struct npu_client *c = &self->c, other;
	int handle, dmabuf = npu_export(c->fd, self->bo, DRM_RDWR);
	struct shrunk s;

	ASSERT_EQ(0, npu_client_init(&other));
	handle = npu_import(other.fd, dmabuf);
	close(dmabuf);
	ASSERT_EQ(0, npu_map(c->fd, c->vm, self->bo, VA, 0, SIZE, 0));
	ASSERT_EQ(0, npu_map(other.fd, other.vm, handle, VA, 0, SIZE, DRM_NPUEDGE_BIND_READONLY));
	for (int round = 0; round < 2; round++) { /* the second time it has come back from swap */
		ASSERT_EQ(0, shrink_under_some_job(&other, c, c->fd, &s));
		/* the idle VM's owner sees that it is in use too */
		EXPECT_GE(s.active, (long long)SIZE);
		EXPECT_EQ(s.before - NPU_CLIENT_SIZE, s.after);
		EXPECT_EQ(0, npu_fdinfo(c->fd, "drm-active-memory"));

		ASSERT_EQ(0, npu_shrink(ALL));
		EXPECT_EQ(s.before - SIZE - 2 * NPU_CLIENT_SIZE, npu_memory(c->fd).resident_bytes);
		EXPECT_EQ(0, npu_wrong_pages(&other, VA, SIZE, 1, 301));
		EXPECT_EQ(1, npu_copy(c, NPU_DATA, NPU_DATA + 4, 4)); /* the idle client's own comes back */
	}
	npu_client_fini(&other);
}

TEST_F(shrinker, what_others_hold_stays)
{
	struct npu_client *c = &self->c;
	int dmabuf = npu_export(c->fd, self->bo, DRM_RDWR), vgem = npu_vgem_open(), theirs;
	uint32_t *map;

	if (vgem < 0)
		SKIP(return, "kernel without vgem");
	theirs = npu_import(vgem, dmabuf);
	ASSERT_GT(theirs, 0);
	ASSERT_EQ(0, npu_shrink(ALL));
	EXPECT_EQ(SIZE, npu_fdinfo(c->fd, "drm-resident-memory"));
	EXPECT_TRUE(npu_debugfs_has("bos", "pinned"));
	npu_bo_close(vgem, theirs);
	close(vgem);
	ASSERT_EQ(0, npu_shrink(ALL));
	EXPECT_EQ(0, npu_fdinfo(c->fd, "drm-resident-memory"));

	/* a mapping of the dma-buf itself is found as well */
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	ASSERT_NE(MAP_FAILED, map);
	for (uint64_t i = 0; i < SIZE / NPU_PAGE; i++)
		ASSERT_EQ(npu_fill_word(i, 1), map[i * NPU_PAGE / 4]);
	ASSERT_EQ(0, npu_shrink(ALL));
	EXPECT_EQ(0, npu_fdinfo(c->fd, "drm-resident-memory"));
	self->map[3 * NPU_PAGE / 4] = 33;
	EXPECT_EQ(33, map[3 * NPU_PAGE / 4]);
	EXPECT_EQ(npu_fill_word(4, 1), map[4 * NPU_PAGE / 4]);
	munmap(map, SIZE);
	close(dmabuf);
}

static sigjmp_buf no_memory;

static void on_sigbus(int signal)
{
	siglongjmp(no_memory, 1);
}

TEST_F(shrinker, what_is_not_needed_is_dropped_for_good)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_memory_info before;
	volatile uint32_t *map = self->map, word = ~0u;
	uint32_t retained = 7;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, self->bo, VA, 0, SIZE, 0));
	EXPECT_EQ(1, npu_copy(c, VA, NPU_DATA + 4, 4));
	before = npu_memory(c->fd);
	ASSERT_EQ(0, npu_madvise(c->fd, self->bo, DRM_NPUEDGE_MADV_DONTNEED, &retained));
	EXPECT_EQ(1, retained);
	ASSERT_EQ(0, npu_shrink("1"));
	EXPECT_EQ(before.purged_bytes + SIZE, npu_memory(c->fd).purged_bytes);
	EXPECT_EQ(before.evicted_bytes, npu_memory(c->fd).evicted_bytes); /* nothing else had to go */
	ASSERT_EQ(0, npu_madvise(c->fd, self->bo, DRM_NPUEDGE_MADV_WILLNEED, &retained));
	EXPECT_EQ(0, retained);

	/* nobody gets zeros for data */
	EXPECT_EQ(-EIO, npu_copy(c, VA, NPU_DATA + 4, 4));
	npu_new_queue(c);
	EXPECT_EQ(1, npu_copy(c, NPU_DATA, NPU_DATA + 4, 4)); /* jobs that do not use it run */
	EXPECT_EQ(-EINVAL, npu_map(c->fd, c->vm, self->bo, 2 * VA, 0, SIZE, 0));
	EXPECT_EQ(MAP_FAILED, npu_bo_map(c->fd, self->bo, SIZE));
	signal(SIGBUS, on_sigbus);
	if (!sigsetjmp(no_memory, 1))
		word = map[0];
	signal(SIGBUS, SIG_DFL);
	EXPECT_EQ(~0u, word); /* never read */
	EXPECT_EQ(0, npu_fdinfo(c->fd, "drm-purgeable-memory"));
}

TEST_F(shrinker, what_is_needed_again_is_not_dropped)
{
	struct npu_client *c = &self->c;
	uint32_t retained = 7;

	ASSERT_EQ(0, npu_madvise(c->fd, self->bo, DRM_NPUEDGE_MADV_DONTNEED, NULL));
	ASSERT_EQ(0, npu_madvise(c->fd, self->bo, DRM_NPUEDGE_MADV_WILLNEED, &retained));
	EXPECT_EQ(1, retained);
	ASSERT_EQ(0, npu_shrink(ALL));
	EXPECT_EQ(npu_fill_word(99, 1), self->map[99 * NPU_PAGE / 4]);
	EXPECT_EQ(0, npu_madvise(c->fd, self->bo, DRM_NPUEDGE_MADV_WILLNEED, &retained));
	EXPECT_EQ(1, retained);
}

TEST_F(shrinker, who_wants_to_know_is_told)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_events events = {
		.mask = DRM_NPUEDGE_EVENTS_MASK(DRM_NPUEDGE_EVENT_MEMORY_PRESSURE),
	};
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	struct drm_npuedge_event event;

	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_EVENTS, &events));
	EXPECT_EQ(0, poll(&p, 1, 0));
	ASSERT_EQ(0, npu_shrink(ALL));
	ASSERT_EQ(1, poll(&p, 1, 20000 * npu_slowness()));
	ASSERT_EQ((ssize_t)sizeof(event), read(c->fd, &event, sizeof(event)));
	EXPECT_EQ(DRM_NPUEDGE_EVENT_MEMORY_PRESSURE, event.type);
	EXPECT_GE(event.value, SIZE);
}

struct presser {
	atomic_bool stop;
	pthread_t thread;
};

static void *press(void *arg)
{
	struct presser *presser = arg;

	while (!presser->stop)
		npu_shrink("100");
	return NULL;
}

TEST_F_TIMEOUT(shrinker, jobs_run_while_memory_comes_and_goes, 120)
{
	struct npu_client *c = &self->c;
	uint64_t before = npu_memory(c->fd).evicted_bytes;
	struct presser presser = { .stop = false };
	int wrong = 0;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, self->bo, VA, 0, SIZE, 0));
	ASSERT_EQ(0, pthread_create(&presser.thread, NULL, press, &presser));
	/* until something went, that is: a busy machine may let the jobs run first */
	for (uint64_t i = 0; i < 300 || (i < 30000 && npu_memory(c->fd).evicted_bytes == before); i++) {
		uint64_t page = i * 7919 % (SIZE / NPU_PAGE);

		c->data[1] = 0;
		if (npu_copy(c, VA + page * NPU_PAGE, NPU_DATA + 4, 4) != 1 || c->data[1] != npu_fill_word(page, 1))
			wrong++;
		if (i % 8 == 0) /* and the CPU, and the page tables */
			wrong += self->map[page * NPU_PAGE / 4] != npu_fill_word(page, 1);
		if (i % 16 == 0)
			wrong += npu_map(c->fd, c->vm, self->bo, 2 * VA, 0, SIZE, 0) != 0;
	}
	presser.stop = true;
	pthread_join(presser.thread, NULL);
	EXPECT_EQ(0, wrong);
	EXPECT_GT(npu_memory(c->fd).evicted_bytes, before);
}

TEST_HARNESS_MAIN
