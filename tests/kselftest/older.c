// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware of an older ABI.  The model makes it of the one that there is: it says that it is old, does not know the
 * commands that came later, and does not write what came later.  With 1.0 the driver is not told which job runs, has no
 * counters, and cannot have firmware hold jobs back; with 1.1 just the last.  It never asks for what it cannot get.
 */
#include <stdbool.h>

#include "kselftest_harness.h"
#include "debugfs.h"
#include "inject.h"
#include "ne1_fwabi.h"

#define LIMIT_MS	4000	/* of a job; one that hangs is stopped before it had twice that */
#define JOBS		40

FIXTURE(older) {
	struct npu_inject inj;
	struct npu_client a, b;
	long long timeout, resets;
	int log;
};

FIXTURE_VARIANT(older) {
	unsigned int minor;
	bool counts;
};

FIXTURE_VARIANT_ADD(older, abi_1_0) { .minor = 0 };
FIXTURE_VARIANT_ADD(older, abi_1_1) { .minor = 1, .counts = true };

static int set_timeout(long long ms)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", ms);
	return npu_knob_write("job_timeout_ms", text);
}

/* From the next boot on, and at each. */
static int arm_older(struct npu_inject *inj, unsigned int minor)
{
	inject_begin(inj, NPUSIM_BOOT_ABI);
	inject_arg(inj, 0, NE1_ABI_MAJOR);
	inject_arg(inj, 1, minor);
	inject_count(inj, 0);
	return inject_arm(inj);
}

/* Whether firmware was sent what came later, since the file of the kernel's log was opened. */
static bool refused(int log)
{
	char line[2048], counters[64], hold[64];
	ssize_t got;

	snprintf(counters, sizeof(counters), "firmware refused message %d ", NE1_CMD_COUNTERS);
	snprintf(hold, sizeof(hold), "firmware refused message %d ", NE1_CMD_HOLD);

	while ((got = read(log, line, sizeof(line) - 1)) > 0 || (got < 0 && errno == EPIPE)) {
		line[got > 0 ? got : 0] = '\0';
		if (strstr(line, counters) || strstr(line, hold))
			return true;
	}
	return false;
}

FIXTURE_SETUP(older)
{
	const char *missing = inject_timeout(&self->inj, &self->timeout);

	/* on other machines; a failure in tests/run */
	if (missing)
		SKIP(return, "%s", missing);
	/* messages that end queues of the test before are not to be lost in the reset */
	npu_wait_uses(0);
	self->log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ASSERT_GE(self->log, 0);
	ASSERT_EQ(0, lseek(self->log, 0, SEEK_END));
	ASSERT_EQ(0, set_timeout(LIMIT_MS));
	ASSERT_EQ(0, arm_older(&self->inj, variant->minor));
	ASSERT_EQ(0, npu_knob_write("reset", "1"));
	ASSERT_EQ(1, inject_fired(&self->inj, NPUSIM_BOOT_ABI));
	self->resets = npu_knob_number("reset");
	ASSERT_EQ(0, npu_client_init(&self->a));
	ASSERT_EQ(0, npu_client_init(&self->b));
}

FIXTURE_TEARDOWN(older)
{
	npu_client_fini(&self->a);
	npu_client_fini(&self->b);
	npu_wait_uses(0);
	EXPECT_FALSE(refused(self->log));
	close(self->log);
	inject_close(&self->inj);
	EXPECT_EQ(0, npu_knob_write("reset", "1"));
	set_timeout(self->timeout);
	npu_dumps_clear();
	EXPECT_EQ(0, npu_device_works());
}

/* As npu_job_runs(), by what each ABI has: whether firmware has taken a job of a queue that has ended none. */
static bool job_was_taken(void)
{
	for (int i = 0; i < 4000 * npu_slowness(); i++) {
		char *text = npu_knob_read("ring");
		bool taken = false;

		for (char *at = text; at && (at = strstr(at, "queue ")); at++)
			taken |= !!strstr(at, " head 1 done 0 ");
		free(text);
		if (taken)
			return true;
		usleep(5000);
	}
	return false;
}

static struct drm_npuedge_queue_get_state get_state(struct npu_client *c)
{
	struct drm_npuedge_queue_get_state state = { .id = c->queue };

	npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state);
	return state;
}

/* Job i copies word i to word i + 1. */
static int submit_chain(struct npu_client *c, uint32_t word)
{
	int ret = 0;

	c->data[0] = word;
	for (int i = 0; !ret && i < JOBS; i++) {
		npu_copy_stream(c->stream + 3 * i, i + 1, 4);
		c->stream[3 * i].dma.offset = 4 * i;
		ret = npu_submit(c->fd, c->queue, NPU_STREAM + 192 * i, 192, NPU_PARAMS, 0, c->sync);
	}
	return ret;
}

static int end_of_chain(struct npu_client *c)
{
	int ret = npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS);

	return ret ? ret : npu_sync_status(c->fd, c->sync);
}

TEST_F_TIMEOUT(older, runs_jobs, 60)
{
	struct npu_client *a = &self->a, *b = &self->b;

	ASSERT_EQ(0, submit_chain(a, 0x01de7));
	EXPECT_EQ(1, end_of_chain(a));
	EXPECT_EQ(0x01de7, a->data[JOBS]);
	EXPECT_EQ(JOBS, get_state(a).completed);
	EXPECT_GT(get_state(a).busy_ns, 0);
	/* and one that fails is blamed alone */
	npu_copy_stream(a->stream, 1, 4);
	a->stream[0].dma.offset = NPU_VA;
	ASSERT_EQ(0, npu_submit(a->fd, a->queue, NPU_STREAM, 192, NPU_PARAMS, 0, a->sync));
	ASSERT_EQ(0, submit_chain(b, 0xb));
	EXPECT_EQ(-EIO, end_of_chain(a));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_GUILTY, get_state(a).state);
	EXPECT_EQ(NE1_FAULT_MMU, get_state(a).fault);
	EXPECT_EQ(1, end_of_chain(b));
	EXPECT_EQ(0, npu_unmap(a->fd, a->vm, NPU_VA, NPU_CLIENT_SIZE));
	EXPECT_EQ(self->resets, npu_knob_number("reset"));
}

TEST_F_TIMEOUT(older, queues_end_with_jobs_in_flight, 60)
{
	struct npu_client *a = &self->a, *b = &self->b;

	for (int round = 0; round < 5; round++) {
		int first = npu_syncobj_create(a->fd);
		uint32_t size = npu_slow_stream(a->stream, 8000);

		npu_new_queue(a);
		ASSERT_GT(a->queue, 0);
		ASSERT_EQ(0, npu_submit(a->fd, a->queue, NPU_STREAM, size, NPU_PARAMS, 0, first));
		ASSERT_EQ(0, npu_submit(a->fd, a->queue, NPU_STREAM, size, NPU_PARAMS, 0, a->sync));
		if (round)
			ASSERT_TRUE(job_was_taken());
		ASSERT_EQ(0, npu_queue_destroy(a->fd, a->queue));
		EXPECT_EQ(-ECANCELED, end_of_chain(a));
		EXPECT_EQ(-ECANCELED, npu_sync_status(a->fd, first));
		npu_syncobj_destroy(a->fd, first);
		a->queue = 0;
		EXPECT_EQ(0, npu_copy_word(b, 0xb0b + round));
	}
	EXPECT_EQ(self->resets, npu_knob_number("reset"));
}

TEST_F_TIMEOUT(older, a_job_that_hangs_is_stopped, 120)
{
	struct npu_client *a = &self->a, *b = &self->b;
	uint32_t size = npu_slow_stream(a->stream, 8000);
	int second = npu_syncobj_create(a->fd);

	ASSERT_EQ(0, npu_submit(a->fd, a->queue, NPU_STREAM, size, NPU_PARAMS, 0, a->sync));
	ASSERT_EQ(0, npu_submit(a->fd, a->queue, NPU_STREAM, size, NPU_PARAMS, 0, second));
	ASSERT_EQ(0, submit_chain(b, 0xb0b));
	EXPECT_EQ(-ETIME, end_of_chain(a));
	ASSERT_EQ(0, npu_wait(a->fd, second, NPU_WAIT_NS));
	EXPECT_EQ(-ECANCELED, npu_sync_status(a->fd, second));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_GUILTY, get_state(a).state);
	EXPECT_EQ(DRM_NPUEDGE_REASON_TIMEOUT, get_state(a).reason);
	EXPECT_EQ(1, get_state(a).fault_job);
	EXPECT_EQ(1, end_of_chain(b));
	EXPECT_EQ(0xb0b, b->data[JOBS]);
	EXPECT_EQ(self->resets, npu_knob_number("reset"));
}

/* Its time does not begin before it does: what it waits for takes more than twice the limit, each part of it far less. */
TEST_F_TIMEOUT(older, a_job_that_waits_does_not_hang, 120)
{
	struct npu_client *a = &self->a, *b = &self->b;
	uint32_t size;

	size = npu_slow_stream(a->stream, npu_slow_count(a, LIMIT_MS / 5));
	ASSERT_EQ(0, npu_queue_destroy(a->fd, a->queue));
	a->queue = npu_queue_create(a->fd, a->vm, DRM_NPUEDGE_PRIORITY_HIGH);
	ASSERT_GT(a->queue, 0);
	for (int i = 0; i < 12; i++)
		ASSERT_EQ(0, npu_submit(a->fd, a->queue, NPU_STREAM, size, NPU_PARAMS, 0, a->sync));
	ASSERT_TRUE(job_was_taken());
	ASSERT_EQ(0, submit_chain(b, 0xb0b));
	EXPECT_EQ(1, end_of_chain(b));
	EXPECT_EQ(1, end_of_chain(a));
	EXPECT_EQ(0xb0b, b->data[JOBS]);
	EXPECT_EQ(self->resets, npu_knob_number("reset"));
}

/* Of a device that is reset what was started is lost, and nothing else. */
static void lose_one(struct __test_metadata *_metadata, struct npu_client *a, struct npu_client *b,
		     struct npu_inject *crash)
{
	uint32_t size = npu_slow_stream(a->stream, 8000);
	long long resets = npu_knob_number("reset");

	ASSERT_EQ(0, npu_submit(a->fd, a->queue, NPU_STREAM, size, NPU_PARAMS, 0, a->sync));
	ASSERT_TRUE(job_was_taken());
	ASSERT_EQ(0, submit_chain(b, 0xbeef));
	ASSERT_EQ(0, crash ? inject_arm_fault(crash, NPUSIM_FW_CRASH) : npu_knob_write("reset", "1"));
	EXPECT_EQ(-ECANCELED, end_of_chain(a));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_INNOCENT, get_state(a).state);
	EXPECT_EQ(1, end_of_chain(b));
	EXPECT_EQ(0xbeef, b->data[JOBS]);
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_OK, get_state(b).state);
	EXPECT_EQ(0, npu_copy_word(a, 0xa));
	EXPECT_EQ(resets + 1, npu_knob_number("reset"));
}

TEST_F_TIMEOUT(older, a_reset_costs_the_started_job_alone, 60)
{
	lose_one(_metadata, &self->a, &self->b, NULL);
	EXPECT_EQ(2, inject_fired(&self->inj, NPUSIM_BOOT_ABI));
}

TEST_F_TIMEOUT(older, a_crash_costs_the_started_job_alone, 60)
{
	lose_one(_metadata, &self->a, &self->b, &self->inj);
	EXPECT_EQ(2, inject_fired(&self->inj, NPUSIM_BOOT_ABI));
}

/* A core that does not stop, as firmware says: the device is reset for the job. */
TEST_F_TIMEOUT(older, a_core_that_hangs_is_reset, 120)
{
	struct npu_client *a = &self->a, *b = &self->b;

	ASSERT_EQ(0, inject_arm_fault(&self->inj, NPUSIM_ENGINE_STUCK));
	ASSERT_EQ(0, npu_submit(a->fd, a->queue, NPU_STREAM, npu_slow_stream(a->stream, 100), NPU_PARAMS, 0, a->sync));
	EXPECT_TRUE(inject_wait(&self->inj, NPUSIM_ENGINE_STUCK, 1, 5000));
	ASSERT_EQ(0, submit_chain(b, 0xb0b));
	EXPECT_EQ(-ETIME, end_of_chain(a));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_GUILTY, get_state(a).state);
	EXPECT_EQ(1, end_of_chain(b));
	EXPECT_EQ(0xb0b, b->data[JOBS]);
	EXPECT_EQ(self->resets + 1, npu_knob_number("reset"));
	EXPECT_EQ(2, inject_fired(&self->inj, NPUSIM_BOOT_ABI));
}

static int monitor(struct npu_client *c)
{
	struct drm_npuedge_perfmon_create args = { .queue_id = c->queue };
	int ret = npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_CREATE, &args);

	return ret ? ret : (int)args.id;
}

/* Commands that a monitor has counted; -1 if it cannot be read. */
static int64_t counted(struct npu_client *c, int id)
{
	struct drm_npuedge_perfmon_value value = { .counter = DRM_NPUEDGE_COUNTER_COMMANDS };
	struct drm_npuedge_perfmon_read args = {
		.id = id, .values = { .stride = sizeof(value), .count = 1, .ptr = (uintptr_t)&value },
	};

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_READ, &args) ? -1 : (int64_t)value.value;
}

TEST_F_TIMEOUT(older, counts_or_says_that_it_cannot, 60)
{
	struct npu_client *a = &self->a;
	struct drm_npuedge_limits limits = { 0 };
	int id = monitor(a);

	ASSERT_EQ(0, npu_query(a->fd, DRM_NPUEDGE_QUERY_LIMITS, &limits, sizeof(limits)));
	EXPECT_EQ(variant->counts, limits.counters != 0);
	if (!variant->counts) {
		EXPECT_EQ(-EOPNOTSUPP, id);
	} else {
		ASSERT_GT(id, 0);
		EXPECT_EQ(0, npu_copy_word(a, 7));
		EXPECT_EQ(3, counted(a, id));
		EXPECT_EQ(0, npu_knob_write("reset", "1"));
		EXPECT_EQ(0, npu_copy_word(a, 8));
		EXPECT_EQ(6, counted(a, id));
	}
	EXPECT_EQ(0, npu_copy_word(a, 9));
}

TEST_F_TIMEOUT(older, sleeps_and_wakes, 60)
{
	struct npu_client *a = &self->a;
	char path[256];

	/* a kernel without CONFIG_PM; a failure in tests/run */
	if (npu_glob(NPU_SOC_DRIVER "/*/power/runtime_status", path, sizeof(path)))
		SKIP(return, "no runtime power management");
	for (int round = 0; round < 3; round++) {
		char *status = NULL;

		for (int i = 0; i < 1000 * npu_slowness() && (!status || strcmp(status, "suspended\n")); i++) {
			free(status);
			usleep(10000);
			status = npu_read_file(path, NULL);
		}
		EXPECT_STREQ("suspended\n", status);
		free(status);
		EXPECT_EQ(0, npu_copy_word(a, round));
	}
}

/* The driver takes it when it is bound as well, and what is newer when there is such again. */
TEST_F_TIMEOUT(older, is_taken_and_left, 120)
{
	char slot[64];
	int id;

	npu_client_fini(&self->a);
	npu_client_fini(&self->b);
	memset(&self->a, 0, sizeof(self->a));
	memset(&self->b, 0, sizeof(self->b));
	ASSERT_EQ(0, npu_slot(slot, sizeof(slot)));
	ASSERT_EQ(0, npu_unbind(slot));
	ASSERT_EQ(0, npu_bind(slot));
	EXPECT_EQ(2, inject_fired(&self->inj, NPUSIM_BOOT_ABI));
	EXPECT_EQ(0, npu_device_works());
	ASSERT_EQ(0, npu_client_init(&self->a));
	id = monitor(&self->a);
	EXPECT_TRUE(variant->counts ? id > 0 : id == -EOPNOTSUPP);

	inject_disarm_all(&self->inj);
	ASSERT_EQ(0, npu_knob_write("reset", "1"));
	EXPECT_GT(monitor(&self->a), 0);
	EXPECT_EQ(0, npu_copy_word(&self->a, 0x12));
	ASSERT_EQ(0, npu_client_init(&self->b));
	EXPECT_EQ(0, npu_submit(self->b.fd, self->b.queue, NPU_STREAM, npu_slow_stream(self->b.stream, 200), NPU_PARAMS,
				0, self->b.sync));
	EXPECT_TRUE(npu_job_runs());
}

TEST_HARNESS_MAIN
