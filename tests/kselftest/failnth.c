// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation of a call fails once (fail-nth, Documentation/fault-injection/fault-injection.rst): the call then
 * either fails and has changed nothing, or did without.  Needs CONFIG_FAILSLAB and CONFIG_FAIL_PAGE_ALLOC.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "kselftest_harness.h"
#include "sysfs.h"

#define MOST_SITES	2000	/* in one call: far more than there are */
#define SPARE_VA	(NPU_VA + 64 * NPU_PAGE * NPU_PAGE)

struct bench {
	struct npu_client c;
	int control;	/* /proc/thread-self/fail-nth */
	int timeline;
	int spare;	/* BO to map, export and so on */
	void *map;	/* of it */
};

FIXTURE(failnth) {
	struct bench b;
};

/* Fail allocations that may wait, too, and without a stack trace for each. */
static int arm_faults(void)
{
	static const char *const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	char path[128];
	int armed = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/verbose", kinds[i]);
		npu_write_text(path, "0");
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/ignore-gfp-wait", kinds[i]);
		armed += !npu_write_text(path, "0");
	}
	npu_write_text("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	return armed ? 0 : -ENOENT;
}

FIXTURE_SETUP(failnth)
{
	int ret = npu_client_init(&self->b.c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	self->b.control = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (self->b.control < 0 || arm_faults())
		SKIP(return, "the kernel cannot fail the n-th allocation");
	self->b.timeline = npu_syncobj_create(self->b.c.fd);
	ASSERT_GT(self->b.timeline, 0);
	self->b.spare = npu_bo_create(self->b.c.fd, 64 * NPU_PAGE, 0, 0);
	ASSERT_GT(self->b.spare, 0);
	npu_copy_stream(self->b.c.stream, 1, 4);
}

FIXTURE_TEARDOWN(failnth)
{
	if (self->b.control > 0)
		close(self->b.control);
	npu_client_fini(&self->b.c);
}

/* One call: >= 0 or -errno. */
typedef int (*call_fn)(struct bench *b);
/* What follows it, without faults: undo what it did (ret >= 0), or check that it did nothing. */
typedef int (*after_fn)(struct bench *b, int ret);

static bool errno_fits(int ret)
{
	switch (ret) {
	case -ENOMEM: case -EFAULT: case -EINTR: case -EIO: case -ENOSPC: case -EMFILE:
		return true;
	default:
		return ret >= 0;
	}
}

static int arm(struct bench *b, int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	return pwrite(b->control, text, len, 0) == len ? 0 : -errno;
}

/*
 * What is left of n: 0 if a site failed.  To copy that to us, or the 0 that disarms from us, is a site as well: if it
 * is the one that fails, nothing was left but it.
 */
static int disarm(struct bench *b)
{
	char text[16] = "";
	int left = 1;

	if (pread(b->control, text, sizeof(text) - 1, 0) > 0)
		left = atoi(text);
	arm(b, 0);
	return left;
}

/* Number of sites that failed, or -errno of what should not have happened. */
static int sweep(struct bench *b, call_fn call, after_fn after)
{
	for (int n = 1; n <= MOST_SITES; n++) {
		int ret = arm(b, n), left, bad;

		if (ret)
			return ret;
		ret = call(b);
		left = disarm(b);
		bad = after ? after(b, ret) : 0;
		if (bad || !errno_fits(ret)) {
			fprintf(stderr, "# site %d: the call returned %d, what followed %d\n", n, ret, bad);
			return bad < 0 ? bad : -EPROTO;
		}
		if (left)
			return ret < 0 ? ret : n - 1;
	}
	return -ELOOP;
}

static int call_open(struct bench *b)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", b->c.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int after_open(struct bench *b, int ret)
{
	return ret >= 0 && close(ret) ? -errno : 0;
}

static int call_query(struct bench *b)
{
	struct drm_npuedge_telemetry telemetry;

	return npu_query(b->c.fd, DRM_NPUEDGE_QUERY_TELEMETRY, &telemetry, sizeof(telemetry));
}

static int call_bo_create(struct bench *b)
{
	return npu_bo_create(b->c.fd, 64 * NPU_PAGE, 0, b->c.vm);
}

static int after_bo_create(struct bench *b, int ret)
{
	if (ret > 0)
		npu_bo_close(b->c.fd, ret);
	return 0;
}

/* A fresh BO each time: its pages are allocated when it is mapped. */
static int call_map_fresh(struct bench *b)
{
	return npu_map(b->c.fd, b->c.vm, b->spare, SPARE_VA, 0, 64 * NPU_PAGE, 0);
}

static int after_map_fresh(struct bench *b, int ret)
{
	int gone = npu_unmap(b->c.fd, b->c.vm, SPARE_VA, 64 * NPU_PAGE);

	npu_bo_close(b->c.fd, b->spare);
	b->spare = npu_bo_create(b->c.fd, 64 * NPU_PAGE, 0, 0);
	return gone ?: b->spare < 0 ? b->spare : 0;
}

/* Replaces the middle of a mapping: splits it in three. */
static int call_split(struct bench *b)
{
	return npu_map(b->c.fd, b->c.vm, b->spare, SPARE_VA + 8 * NPU_PAGE, 0, NPU_PAGE, 0);
}

static int after_split(struct bench *b, int ret)
{
	return npu_map(b->c.fd, b->c.vm, b->spare, SPARE_VA, 0, 64 * NPU_PAGE, 0);
}

static int call_mmap_offset(struct bench *b)
{
	struct drm_npuedge_bo_mmap_offset args = { .handle = b->spare };

	return npu_ioctl(b->c.fd, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &args);
}

static int call_mmap(struct bench *b)
{
	b->map = npu_bo_map(b->c.fd, b->spare, 64 * NPU_PAGE);
	return b->map == MAP_FAILED ? -errno : 0;
}

static int after_mmap(struct bench *b, int ret)
{
	return ret >= 0 && munmap(b->map, 64 * NPU_PAGE) ? -errno : 0;
}

static int call_vm_create(struct bench *b)
{
	return npu_vm_create(b->c.fd);
}

static int after_vm_create(struct bench *b, int ret)
{
	return ret > 0 ? npu_vm_destroy(b->c.fd, ret) : 0;
}

static int call_queue_create(struct bench *b)
{
	return npu_queue_create(b->c.fd, b->c.vm, DRM_NPUEDGE_PRIORITY_LOW);
}

static int after_queue_create(struct bench *b, int ret)
{
	return ret > 0 ? npu_queue_destroy(b->c.fd, ret) : 0;
}

static int call_queue_destroy(struct bench *b)
{
	return npu_queue_destroy(b->c.fd, b->c.queue);
}

/* Destroying cannot fail; but the arguments may not get in, or not out again. */
static int after_queue_destroy(struct bench *b, int ret)
{
	if (ret && ret != -EFAULT)
		return ret;
	if (ret)
		npu_queue_destroy(b->c.fd, b->c.queue);
	b->c.queue = npu_queue_create(b->c.fd, b->c.vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	return b->c.queue < 0 ? b->c.queue : 0;
}

/* Two jobs, the second waits for the first by a binary syncobj and signals a point of a timeline. */
static int call_submit(struct bench *b)
{
	struct npu_client *c = &b->c;
	struct drm_npuedge_stream stream = { .va = NPU_STREAM, .size = 192 };
	struct drm_npuedge_sync binary = { .handle = c->sync };
	struct drm_npuedge_sync point = {
		.handle = b->timeline, .flags = DRM_NPUEDGE_SYNC_TIMELINE, .point = 1,
	};
	struct drm_npuedge_job jobs[2] = { 0 };
	struct drm_npuedge_submit submit = {
		.queue_id = c->queue,
		.jobs = { .stride = sizeof(jobs[0]), .count = 2, .ptr = (uintptr_t)jobs },
	};

	for (int i = 0; i < 2; i++) {
		jobs[i].streams = (struct drm_npuedge_array){ sizeof(stream), 1, (uintptr_t)&stream };
		jobs[i].params_va = NPU_PARAMS;
	}
	jobs[0].out_syncs = (struct drm_npuedge_array){ sizeof(binary), 1, (uintptr_t)&binary };
	jobs[1].in_syncs = jobs[0].out_syncs;
	jobs[1].out_syncs = (struct drm_npuedge_array){ sizeof(point), 1, (uintptr_t)&point };
	c->data[0]++;
	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit);
}

/*
 * Both syncobjs signal, or neither has been touched: a wait for a syncobj without a fence is -EINVAL.  -EFAULT may be
 * DRM's, which copies the arguments back at the end.
 */
static int after_submit(struct bench *b, int ret)
{
	struct npu_client *c = &b->c;
	int first = npu_wait(c->fd, c->sync, NPU_WAIT_NS), bad = 0;

	if (ret < 0 && !(ret == -EFAULT && !first))
		bad = first == -EINVAL ? 0 : -EBADMSG;
	else
		bad = first ?: npu_wait_point(c->fd, b->timeline, 1, NPU_WAIT_NS);
	if (!bad && !ret && c->data[1] != c->data[0])
		bad = -EBADMSG;

	npu_syncobj_destroy(c->fd, c->sync);
	npu_syncobj_destroy(c->fd, b->timeline);
	c->sync = npu_syncobj_create(c->fd);
	b->timeline = npu_syncobj_create(c->fd);
	return bad;
}

static int call_export(struct bench *b)
{
	struct drm_prime_handle args = { .handle = b->spare, .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1 };
	int ret = npu_ioctl(b->c.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	return ret ? ret : args.fd;
}

static int after_export(struct bench *b, int ret)
{
	return after_map_fresh(b, ret) ?: ret >= 0 && close(ret) ? -errno : 0;
}

/* A client with work in the device goes away while allocations fail: close() does not. */
static struct npu_client leaver;

static int call_close(struct bench *b)
{
	return close(leaver.fd) ? -errno : 0;
}

static int after_close(struct bench *b, int ret)
{
	if (leaver.map)
		munmap(leaver.map, NPU_CLIENT_SIZE);
	if (ret)
		return ret;
	ret = npu_client_init(&leaver);
	if (ret)
		return ret;
	npu_copy_stream(leaver.stream, 1, 4);
	return npu_submit(leaver.fd, leaver.queue, NPU_STREAM, 192, NPU_PARAMS, 0, leaver.sync);
}

#define SWEEP(name, after) \
	TEST_F_TIMEOUT(failnth, name, 120) \
	{ \
		int sites = sweep(&self->b, call_##name, after); \
		ASSERT_GE(sites, 0); \
		TH_LOG("%d sites", sites); \
		EXPECT_EQ(0, npu_device_works()); \
	}

SWEEP(open, after_open)
SWEEP(query, NULL)
SWEEP(bo_create, after_bo_create)
SWEEP(map_fresh, after_map_fresh)
SWEEP(mmap_offset, NULL)
SWEEP(mmap, after_mmap)
SWEEP(export, after_export)
SWEEP(vm_create, after_vm_create)
SWEEP(queue_create, after_queue_create)
SWEEP(queue_destroy, after_queue_destroy)
SWEEP(submit, after_submit)

TEST_F_TIMEOUT(failnth, split, 120)
{
	int sites;

	ASSERT_EQ(0, after_split(&self->b, 0));
	sites = sweep(&self->b, call_split, after_split);
	ASSERT_GT(sites, 0);
	TH_LOG("%d sites", sites);
	EXPECT_EQ(0, npu_device_works());
}

TEST_F_TIMEOUT(failnth, close, 120)
{
	int sites;

	ASSERT_EQ(0, after_close(&self->b, 0));
	sites = sweep(&self->b, call_close, after_close);
	ASSERT_GE(sites, 0);
	TH_LOG("%d sites", sites);
	npu_client_fini(&leaver);
	EXPECT_EQ(0, npu_device_works());
}

/* Probing: every site near the start, ever fewer later, since a try takes a while. */
TEST_F_TIMEOUT(failnth, bind, 200)
{
	char slot[64];
	int tries = 0, left = 0;

	npu_client_fini(&self->b.c);
	memset(&self->b.c, 0, sizeof(self->b.c));
	ASSERT_EQ(0, npu_slot(slot, sizeof(slot)));
	for (int n = 1; !left && n <= 20 * MOST_SITES; n += 1 + n / 10) {
		npu_unbind(slot);
		ASSERT_EQ(0, arm(&self->b, n));
		npu_bind(slot);
		left = disarm(&self->b);
		tries++;
	}
	TH_LOG("%d tries", tries);
	EXPECT_GT(left, 0);
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
