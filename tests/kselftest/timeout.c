// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs that take too long: an error on their fence, the cause in the queue's state, innocents unharmed.
 * NPU_TIMEOUT_RACES: how many jobs end just when their time does (200).
 */
#include "kselftest_harness.h"
#include "debugfs.h"
#include "inject.h"

FIXTURE(timeout) {
	struct npu_client c;
	char path[256];
	unsigned int saved;
};

static int write_knob(const char *path, unsigned int ms)
{
	FILE *file = fopen(path, "w");
	int ret;

	if (!file)
		return -errno;
	ret = fprintf(file, "%u\n", ms) < 0;
	return fclose(file) || ret ? -EIO : 0;
}

FIXTURE_SETUP(timeout)
{
	glob_t found;
	FILE *file;
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (glob("/sys/kernel/debug/accel/*/job_timeout_ms", 0, NULL, &found) || !found.gl_pathc)
		SKIP(return, "debugfs is not there (job_timeout_ms)");
	snprintf(self->path, sizeof(self->path), "%s", found.gl_pathv[0]);
	globfree(&found);
	file = fopen(self->path, "r");
	ASSERT_NE(NULL, file);
	ASSERT_EQ(1, fscanf(file, "%u", &self->saved));
	fclose(file);
	ASSERT_EQ(0, write_knob(self->path, 1500));
	/* the timeout is fixed when a queue is made */
	npu_queue_destroy(self->c.fd, self->c.queue);
	self->c.queue = npu_queue_create(self->c.fd, self->c.vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	ASSERT_GT(self->c.queue, 0);
}

FIXTURE_TEARDOWN(timeout)
{
	if (self->path[0])
		write_knob(self->path, self->saved);
	npu_client_fini(&self->c);
}

TEST_F_TIMEOUT(timeout, hung_job_ends_in_an_error, 120)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_queue_get_state state = { .id = c->queue };
	uint32_t size = npu_slow_stream(c->stream, 8000);
	int second = npu_syncobj_create(c->fd);

	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, second));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
	ASSERT_EQ(0, npu_wait(c->fd, second, 3 * NPU_WAIT_NS));
	EXPECT_EQ(-ETIME, npu_sync_status(c->fd, c->sync));
	EXPECT_EQ(-ECANCELED, npu_sync_status(c->fd, second));
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_GUILTY, state.state);
	EXPECT_EQ(DRM_NPUEDGE_REASON_TIMEOUT, state.reason);
	EXPECT_EQ(1, state.fault_job);
	EXPECT_EQ(-EIO, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, 0));
}

TEST_F_TIMEOUT(timeout, device_works_afterwards, 120)
{
	struct npu_client *c = &self->c;

	for (int round = 0; round < 3; round++) {
		uint32_t size = npu_slow_stream(c->stream, 8000);

		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
		ASSERT_EQ(-ETIME, npu_sync_status(c->fd, c->sync));
		npu_queue_destroy(c->fd, c->queue);
		c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		ASSERT_GT(c->queue, 0);
		npu_copy_stream(c->stream, 1, 4);
		c->data[0] = round + 100;
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
		ASSERT_EQ(1, npu_sync_status(c->fd, c->sync));
		ASSERT_EQ(round + 100, c->data[1]);
	}
}

TEST_F_TIMEOUT(timeout, innocent_queue_completes, 120)
{
	struct npu_client *c = &self->c;
	struct npu_client other;
	struct drm_npuedge_queue_get_state state;
	uint32_t size = npu_slow_stream(c->stream, 8000);

	ASSERT_EQ(0, npu_client_init(&other));
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
	for (int i = 0; i < 20; i++) {
		npu_copy_stream(other.stream + 3 * i, i + 1, 4);
		other.stream[3 * i].dma.offset = 4 * i;
	}
	other.data[0] = 0xabcd;
	for (int i = 0; i < 20; i++)
		ASSERT_EQ(0, npu_submit(other.fd, other.queue, NPU_STREAM + 192 * i, 192, NPU_PARAMS, 0, other.sync));
	ASSERT_EQ(0, npu_wait(other.fd, other.sync, 3 * NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(other.fd, other.sync));
	EXPECT_EQ(0xabcd, other.data[20]);
	state = (struct drm_npuedge_queue_get_state){ .id = other.queue };
	ASSERT_EQ(0, npu_ioctl(other.fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
	EXPECT_NE(DRM_NPUEDGE_QUEUE_GUILTY, state.state);
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
	EXPECT_EQ(-ETIME, npu_sync_status(c->fd, c->sync));
	npu_client_fini(&other);
}

#define RACE_TIMEOUT_MS	40
#define HEARD_TIMEOUT_MS	200	/* a busy machine stops the device for long, and no job here may end for that */

static int race_rounds(void)
{
	const char *text = getenv("NPU_TIMEOUT_RACES");

	return text ? atoi(text) : 200;
}

/* Limits are meant for some hundred rounds. */
static void __attribute__((constructor)) scale_time_limits(void)
{
	for (struct __fixture_metadata *f = __fixture_list; f; f = f->next)
		for (struct __test_metadata *t = f->tests; t; t = t->next)
			t->timeout *= 1 + race_rounds() / 1000;
}

static struct drm_npuedge_queue_get_state queue_state(struct npu_client *c)
{
	struct drm_npuedge_queue_get_state state = { .id = c->queue };

	npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state);
	return state;
}

/*
 * The job is done at once, but that is heard when its time is over, or just before or after: it counts as done, once,
 * and nothing is reset.
 */
TEST_F_TIMEOUT(timeout, done_is_heard_when_the_time_is_over, 300)
{
	struct npu_client *c = &self->c;
	long long resets = npu_knob_number("reset");
	int rounds = race_rounds() / 2, completed = 0, late = 0;
	struct npu_inject inj;

	if (inject_open(&inj))
		SKIP(return, INJECT_ABSENT);
	ASSERT_EQ(0, write_knob(self->path, HEARD_TIMEOUT_MS));
	npu_new_queue(c);
	npu_copy_stream(c->stream, 1, 4);
	for (int i = 0; i < rounds; i++) {
		/* +- 10 ms, in steps of 0.2 ms */
		int late_us = HEARD_TIMEOUT_MS * 1000 + i * 37 % 100 * 200 - 10000;

		inject_begin(&inj, NPUSIM_IRQ_LATE);
		inject_arg(&inj, 0, 0);
		inject_count(&inj, 1);
		inject_duration_us(&inj, late_us);
		ASSERT_EQ(0, inject_arm(&inj));
		c->data[0] = i + 1;
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
		/* it was not done: the device had come to a standstill for so long.  Once more, if that is rare. */
		if (npu_sync_status(c->fd, c->sync) == -ETIME && c->data[1] != i + 1u && late++ < rounds / 10) {
			completed += queue_state(c).completed - 1;
			inject_disarm_all(&inj);
			npu_new_queue(c);
			i--;
			continue;
		}
		ASSERT_EQ(1, npu_sync_status(c->fd, c->sync)) {
			TH_LOG("round %d, interrupt %d us late", i, late_us);
		}
		ASSERT_EQ(i + 1, c->data[1]);
	}
	EXPECT_EQ(rounds, completed + queue_state(c).completed);
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_OK, queue_state(c).state);
	EXPECT_EQ(resets, npu_knob_number("reset"));
	inject_close(&inj);
	EXPECT_EQ(0, npu_device_works());
}

/*
 * Nothing else happens on the device that could find it: what the timeout is for, besides hangs.  It takes the fixture's
 * 1.5 s, once; a busy machine may be late now and then, but not always.
 */
TEST_F_TIMEOUT(timeout, lost_interrupt_is_found_when_the_time_is_over, 120)
{
	struct npu_client *c = &self->c;
	long long resets = npu_knob_number("reset");
	int64_t took = INT64_MAX;
	struct npu_inject inj;

	if (inject_open(&inj))
		SKIP(return, INJECT_ABSENT);
	npu_copy_stream(c->stream, 1, 4);
	for (int i = 0; i < 4 && took >= 2500000000ll; i++) {
		int64_t begin;

		inject_begin(&inj, NPUSIM_IRQ_LOST);
		inject_arg(&inj, 0, 0);
		inject_count(&inj, 1);
		ASSERT_EQ(0, inject_arm(&inj));
		c->data[0] = 0x10575 + i;
		begin = npu_deadline(0);
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
		took = npu_deadline(0) - begin;
		EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
		EXPECT_EQ(0x10575 + i, c->data[1]);
		EXPECT_EQ(1, inject_fired(&inj, NPUSIM_IRQ_LOST));
	}
	EXPECT_LT(took, 2500000000ll);
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_OK, queue_state(c).state);
	EXPECT_EQ(resets, npu_knob_number("reset"));
	inject_close(&inj);
}

/* Jobs that need about the time that they have: they end well or are stopped, and nothing in between. */
TEST_F_TIMEOUT(timeout, job_ends_when_its_time_is_over, 300)
{
	struct npu_client *c = &self->c;
	long long resets = npu_knob_number("reset");
	int rounds = race_rounds() / 2, ended = 0, stopped = 0;
	uint32_t just;

	just = npu_slow_count(c, RACE_TIMEOUT_MS + RACE_TIMEOUT_MS / 2);
	ASSERT_LT(just, 1000);
	ASSERT_EQ(0, write_knob(self->path, RACE_TIMEOUT_MS));
	npu_new_queue(c);
	for (int i = 0; i < rounds; i++) {
		/* mostly about right; some far below and above, since nobody knows how busy the machine is */
		uint32_t about = just / 2 + i * 7 % (just + 1);
		uint32_t count = i % 10 == 0 ? 1 : i % 10 == 5 ? 8 * just : about;
		uint32_t size = npu_slow_stream(c->stream, count);
		int status;

		npu_copy_stream(c->stream + count, 1, 4);
		c->data[0] = i + 1;
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size + 2 * NE1_CMD_SIZE, NPU_PARAMS, 0, c->sync));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
		status = npu_sync_status(c->fd, c->sync);
		ASSERT_TRUE(status == 1 || status == -ETIME) {
			TH_LOG("round %d: %d", i, status);
		}
		ended += status == 1;
		stopped += status != 1;
		if (status == 1) {
			ASSERT_EQ(i + 1, c->data[1]);
			ASSERT_EQ(DRM_NPUEDGE_QUEUE_OK, queue_state(c).state);
			continue;
		}
		ASSERT_EQ(DRM_NPUEDGE_QUEUE_GUILTY, queue_state(c).state);
		ASSERT_EQ(DRM_NPUEDGE_REASON_TIMEOUT, queue_state(c).reason);
		npu_new_queue(c);
		ASSERT_GT(c->queue, 0);
	}
	TH_LOG("%d ended, %d were stopped", ended, stopped);
	EXPECT_GT(ended, 0);
	EXPECT_GT(stopped, 0);
	EXPECT_EQ(resets, npu_knob_number("reset"));
	npu_dumps_clear();
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
