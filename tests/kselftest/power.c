// SPDX-License-Identifier: GPL-2.0
/*
 * Who keeps the device awake: jobs until they end, calls while they last, and nobody else.  The driver's power domain is
 * the platform device; its usage count is in sysfs where the kernel was built with CONFIG_PM_ADVANCED_DEBUG, what can be
 * seen everywhere is whether it suspends.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "kselftest_harness.h"
#include "debugfs.h"
#include "vgem.h"

#define POWER	"/sys/bus/platform/drivers/npuedge/*/power/"
#define FAILURES	1000
#define CANCELLED	100
#define THREADS		4
#define SECONDS		5
#define QUIET_NS	30000000

FIXTURE(power) {
	struct npu_client c;
	char delay[32];
};

/* A file of the device's power folder without its newline, or -errno. */
static int power_read(const char *name, char *text, size_t size)
{
	char pattern[192], path[256];
	FILE *file;
	int ret;

	snprintf(pattern, sizeof(pattern), POWER "%s", name);
	ret = npu_glob(pattern, path, sizeof(path));
	file = ret ? NULL : fopen(path, "r");
	if (!file)
		return ret ? ret : -errno;
	ret = fgets(text, size, file) ? 0 : -EIO;
	fclose(file);
	if (!ret)
		text[strcspn(text, "\n")] = '\0';
	return ret;
}

static int power_write(const char *name, const char *text)
{
	char pattern[192], path[256];
	int ret;

	snprintf(pattern, sizeof(pattern), POWER "%s", name);
	ret = npu_glob(pattern, path, sizeof(path));
	return ret ? ret : npu_write_text(path, text);
}

static bool is_asleep(void)
{
	char text[32];

	return !power_read("runtime_status", text, sizeof(text)) && !strcmp(text, "suspended");
}

/* Usages of the device; 0 where the kernel does not show them. */
static int usage(void)
{
	char text[32];

	return power_read("runtime_usage", text, sizeof(text)) ? 0 : atoi(text);
}

/*
 * Whether it falls asleep, and nobody uses it, within 5 s.  Queues of a closed file are destroyed a
 * little later, for which it wakes up once more: that it slept for a moment says nothing yet.
 */
static bool falls_asleep(void)
{
	for (int i = 0; i < 500 * npu_slowness(); i++) {
		if (is_asleep() && !usage())
			return true;
		usleep(10000);
	}
	printf("# %s, usage %d\n", is_asleep() ? "asleep" : "awake", usage());
	return false;
}

FIXTURE_SETUP(power)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (power_read("autosuspend_delay_ms", self->delay, sizeof(self->delay)))
		SKIP(return, "no runtime power management");
	npu_copy_stream(self->c.stream, 1, 4);
}

FIXTURE_TEARDOWN(power)
{
	npu_client_fini(&self->c);
	if (self->delay[0])
		power_write("autosuspend_delay_ms", self->delay);
}

/* Jobs that never ran, because their file was closed before what they waited for came. */
TEST_F_TIMEOUT(power, cancelled_jobs_let_it_sleep, 60)
{
	struct npu_client *c = &self->c;
	int files[CANCELLED], gate;
	struct vgem v;

	ASSERT_EQ(0, vgem_init(&v, 4096));
	ASSERT_TRUE(falls_asleep());
	ASSERT_EQ(0, vgem_begin(&v, VGEM_WRITE));
	gate = vgem_syncobj(c->fd, v.dmabuf);
	ASSERT_GT(gate, 0);
	for (int i = 0; i < CANCELLED; i++) {
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, gate, c->sync));
		files[i] = npu_sync_file(c->fd, c->sync);
		ASSERT_GE(files[i], 0);
	}
	EXPECT_FALSE(is_asleep());
	npu_client_fini(c);
	memset(c, 0, sizeof(*c));
	ASSERT_EQ(0, vgem_end(&v));
	for (int i = 0; i < CANCELLED; i++) {
		EXPECT_EQ(-ECANCELED, npu_wait_file(files[i]));
		close(files[i]);
	}
	EXPECT_TRUE(falls_asleep());
	vgem_fini(&v);
	EXPECT_EQ(0, npu_device_works());
}

/* A submit of two jobs, with something wrong somewhere; what it returned. */
static int failing_submit(struct npu_client *c, unsigned int which)
{
	struct drm_npuedge_stream good = { .va = NPU_STREAM, .size = 192 }, bad = good;
	struct drm_npuedge_bo_use use = { .handle = c->bo };
	struct drm_npuedge_sync sync = { .handle = c->sync };
	struct drm_npuedge_job jobs[2];
	struct drm_npuedge_submit submit = {
		.queue_id = c->queue, .jobs = { .stride = sizeof(jobs[0]), .count = 2, .ptr = (uintptr_t)jobs },
	};

	for (int i = 0; i < 2; i++) {
		jobs[i] = (struct drm_npuedge_job){
			.streams = { sizeof(good), 1, (uintptr_t)(i ? &bad : &good) }, .params_va = NPU_PARAMS,
			.out_syncs = { sizeof(sync), i, (uintptr_t)&sync }, .bos = { sizeof(use), i, (uintptr_t)&use },
		};
	}
	switch (which % 10) {
	case 0: submit.queue_id = ~0u; break;
	case 1: submit.flags = 1; break;
	case 2: submit.jobs.stride = 1; break;
	case 3: submit.jobs.ptr = 64; break;
	case 4: jobs[1].params_va = 1; break;
	case 5: bad.size = 63; break;
	case 6: sync.handle = ~0u; break;
	case 7: use.handle = ~0u; break;
	case 8: jobs[1].streams.ptr = 64; break;
	default: jobs[1].in_syncs = (struct drm_npuedge_array){ sizeof(sync), 1, 64 };
	}
	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit);
}

TEST_F_TIMEOUT(power, failing_submits_take_nothing, 60)
{
	struct npu_client *c = &self->c;

	ASSERT_TRUE(falls_asleep());
	for (unsigned int i = 0; i < FAILURES; i++) {
		ASSERT_LT(failing_submit(c, i), 0) {
			TH_LOG("kind %u", i % 10);
		}
	}
	EXPECT_TRUE(falls_asleep());
	/* and not too few either: it stays awake while there is work */
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, npu_slow_stream(c->stream, 200), NPU_PARAMS, 0, c->sync));
	while (npu_sync_status(c->fd, c->sync) == 0) {
		bool asleep = is_asleep();

		EXPECT_TRUE(!asleep || npu_sync_status(c->fd, c->sync) == 1);
		usleep(20000);
	}
	EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
	EXPECT_TRUE(falls_asleep());
}

struct caller {
	atomic_bool *stop;
	unsigned int kind;
	long calls;
	int error;
};

/* One call, or a few; 0 or -errno. */
static int some_call(struct npu_client *c, unsigned int kind)
{
	struct drm_npuedge_perfmon_create monitor = { .queue_id = c->queue };
	struct drm_npuedge_perfmon_destroy end = { 0 };
	struct drm_npuedge_telemetry telemetry;
	int id, ret;

	switch (kind % 6) {
	case 0:
		return npu_query(c->fd, DRM_NPUEDGE_QUERY_TELEMETRY, &telemetry, sizeof(telemetry));
	case 1:
		ret = npu_map(c->fd, c->vm, c->bo, NPU_VA * 4, 0, NPU_PAGE, 0);
		return ret ? ret : npu_unmap(c->fd, c->vm, NPU_VA * 4, NPU_PAGE);
	case 2:
		id = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		return id < 0 ? id : npu_queue_destroy(c->fd, id);
	case 3:
		ret = npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_CREATE, &monitor);
		end.id = monitor.id;
		return ret ? ret : npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_DESTROY, &end);
	case 4:
		id = npu_vm_create(c->fd);
		return id < 0 ? id : npu_vm_destroy(c->fd, id);
	default:
		ret = npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync);
		ret = ret ? ret : npu_wait(c->fd, c->sync, NPU_WAIT_NS);
		return ret ? ret : npu_sync_status(c->fd, c->sync) == 1 ? 0 : -EIO;
	}
}

static void *call_and_pause(void *arg)
{
	struct caller *caller = arg;
	struct npu_client c;
	int ret = npu_client_init(&c);

	npu_copy_stream(c.stream, 1, 4);
	for (unsigned int i = caller->kind; !ret && !*caller->stop; i++) {
		ret = some_call(&c, i);
		caller->calls++;
		/* all are quiet for half of the time, so that it sleeps, and wake it up again together */
		while (npu_deadline(0) / QUIET_NS % 2 && !*caller->stop)
			usleep(1000);
	}
	caller->error = ret;
	npu_client_fini(&c);
	return NULL;
}

/* Without a delay it sleeps after every job and call, while others are about to make one. */
TEST_F_TIMEOUT(power, sleeps_between_calls_of_all_kinds, 300)
{
	struct caller callers[THREADS];
	pthread_t threads[THREADS];
	atomic_bool stop = false;
	int naps = 0, looks;

	ASSERT_EQ(0, power_write("autosuspend_delay_ms", "0"));
	for (unsigned int i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){ .stop = &stop, .kind = i };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, call_and_pause, &callers[i]));
	}
	/* a busy machine finds it asleep less often */
	for (looks = 0; looks < SECONDS * 200 || (naps <= SECONDS * 4 && looks < SECONDS * 2000); looks++) {
		naps += is_asleep();
		usleep(5000);
	}
	stop = true;
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, callers[i].error);
		EXPECT_GT(callers[i].calls, 8);
	}
	EXPECT_GT(naps, SECONDS * 4);
	TH_LOG("asleep in %d of %d looks", naps, looks);
	EXPECT_TRUE(falls_asleep());
	EXPECT_EQ(0, npu_device_works());
}

/* Neither waking up nor a reset needs what user space has closed in the meantime. */
TEST_F_TIMEOUT(power, wakes_without_any_handle, 60)
{
	struct npu_client *c = &self->c, other;

	if (npu_knob_number("reset") < 0)
		SKIP(return, "debugfs is not there (reset)");
	ASSERT_EQ(0, npu_client_init(&other));
	npu_copy_stream(other.stream, 1, 4);
	npu_bo_close(c->fd, c->bo);
	ASSERT_EQ(0, npu_vm_destroy(c->fd, c->vm));
	for (int round = 0; round < 4; round++) {
		ASSERT_TRUE(falls_asleep());
		if (round & 1)
			ASSERT_EQ(0, npu_knob_write("reset", "1"));
		c->data[0] = 100 + round;
		other.data[0] = 200 + round;
		ASSERT_EQ(0, npu_submit(other.fd, other.queue, NPU_STREAM, 192, NPU_PARAMS, 0, other.sync));
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
		ASSERT_EQ(0, npu_wait(other.fd, other.sync, NPU_WAIT_NS));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
		EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
		EXPECT_EQ(1, npu_sync_status(other.fd, other.sync));
		EXPECT_EQ(100 + round, c->data[1]);
		EXPECT_EQ(200 + round, other.data[1]);
	}
	npu_client_fini(&other);
}

TEST_HARNESS_MAIN
