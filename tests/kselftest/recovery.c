// SPDX-License-Identifier: GPL-2.0
/* What a reset of the device, and jobs of others, cost a queue: nothing that can be avoided. */
#include <pthread.h>
#include <stdatomic.h>

#include "kselftest_harness.h"
#include "debugfs.h"
#include "inject.h"

FIXTURE(recovery) {
	struct npu_client a, b;
	long long timeout;
};

FIXTURE_SETUP(recovery)
{
	int ret = npu_client_init(&self->a);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	self->timeout = npu_knob_number("job_timeout_ms");
	if (self->timeout < 0)
		SKIP(return, "debugfs is not there (job_timeout_ms)");
	ASSERT_EQ(0, npu_client_init(&self->b));
}

FIXTURE_TEARDOWN(recovery)
{
	char text[32];

	if (self->timeout > 0) {
		snprintf(text, sizeof(text), "%lld", self->timeout);
		npu_knob_write("job_timeout_ms", text);
	}
	npu_client_fini(&self->a);
	npu_client_fini(&self->b);
	npu_dumps_clear();
}

static int submit_flags(struct npu_client *c, uint32_t size, uint32_t flags)
{
	return npu_submit_flags(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync, flags);
}

static struct drm_npuedge_queue_get_state get_state(struct npu_client *c)
{
	struct drm_npuedge_queue_get_state state = { .id = c->queue };

	npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state);
	return state;
}

/* Products, each followed by a point where the job may be put aside. */
static uint32_t yielding_stream(union ne1_cmd *s, uint32_t count)
{
	npu_slow_stream(s, 1);
	for (uint32_t i = 1; i < count; i++)
		s[2 * i] = s[0];
	for (uint32_t i = 0; i < count; i++)
		s[2 * i + 1] = npu_cmd(NE1_OP_YIELD);
	s[2 * count] = npu_cmd(NE1_OP_END);
	return (2 * count + 1) * NE1_CMD_SIZE;
}

/* A product stream that ends with a copy of word 0 to word 1. */
static uint32_t slow_copy_stream(union ne1_cmd *s, uint32_t count)
{
	npu_slow_stream(s, count);
	npu_copy_stream(s + count, 1, 4);
	return (count + 3) * NE1_CMD_SIZE;
}

static int new_queue(struct npu_client *c, uint32_t priority, const char *timeout_ms)
{
	int ret = npu_knob_write("job_timeout_ms", timeout_ms);

	if (ret)
		return ret;
	npu_queue_destroy(c->fd, c->queue);
	c->queue = npu_queue_create(c->fd, c->vm, priority);
	return c->queue < 0 ? c->queue : 0;
}

TEST_F_TIMEOUT(recovery, reset_costs_the_started_job_alone, 120)
{
	struct npu_client *a = &self->a, *b = &self->b;
	struct drm_npuedge_events mask = { .mask = DRM_NPUEDGE_EVENTS_MASK(DRM_NPUEDGE_EVENT_QUEUE_LOST) };
	struct drm_npuedge_event event = { 0 };
	struct pollfd p = { .fd = a->fd, .events = POLLIN };
	uint32_t count = npu_slow_count(a, 20000);

	ASSERT_EQ(0, npu_ioctl(a->fd, DRM_IOCTL_NPUEDGE_EVENTS, &mask));
	ASSERT_EQ(0, npu_ioctl(b->fd, DRM_IOCTL_NPUEDGE_EVENTS, &mask));
	ASSERT_EQ(0, fcntl(a->fd, F_SETFL, O_NONBLOCK));
	ASSERT_EQ(0, fcntl(b->fd, F_SETFL, O_NONBLOCK));
	ASSERT_EQ(0, submit_flags(a, npu_slow_stream(a->stream, count), 0));
	ASSERT_TRUE(npu_job_runs());
	for (int i = 0; i < 10; i++) {
		npu_copy_stream(b->stream + 3 * i, i + 1, 4);
		b->stream[3 * i].dma.offset = 4 * i;
		b->data[0] = 0xbeef;
		ASSERT_EQ(0, npu_submit(b->fd, b->queue, NPU_STREAM + 192 * i, 192, NPU_PARAMS, 0, b->sync));
	}
	ASSERT_EQ(0, npu_knob_write("reset", "1"));

	ASSERT_EQ(0, npu_wait(a->fd, a->sync, NPU_WAIT_NS));
	EXPECT_EQ(-ECANCELED, npu_sync_status(a->fd, a->sync));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_INNOCENT, get_state(a).state);
	EXPECT_EQ(DRM_NPUEDGE_REASON_NONE, get_state(a).reason);
	ASSERT_EQ(1, poll(&p, 1, 20000 * npu_slowness()));
	ASSERT_EQ(sizeof(event), read(a->fd, &event, sizeof(event)));
	EXPECT_EQ(DRM_NPUEDGE_EVENT_QUEUE_LOST, event.type);
	EXPECT_EQ(a->queue, event.object);
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_INNOCENT, event.value);

	ASSERT_EQ(0, npu_wait(b->fd, b->sync, NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(b->fd, b->sync));
	EXPECT_EQ(0xbeef, b->data[10]);
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_OK, get_state(b).state);
	EXPECT_EQ(10, get_state(b).completed);
	EXPECT_EQ(-1, read(b->fd, &event, sizeof(event)));

	/* an innocent queue goes on */
	npu_copy_stream(a->stream, 1, 4);
	a->data[0] = 0x77;
	ASSERT_EQ(0, submit_flags(a, 192, 0));
	ASSERT_EQ(0, npu_wait(a->fd, a->sync, NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(a->fd, a->sync));
	EXPECT_EQ(0x77, a->data[1]);
}

static void *reset_again(void *stop)
{
	while (!atomic_load((atomic_bool *)stop))
		npu_knob_write("reset", "1");
	return NULL;
}

/* Calls that need firmware: whatever of them a reset comes in between, and another when they are tried again. */
TEST_F_TIMEOUT(recovery, calls_meet_one_reset_after_another, 180)
{
	struct drm_npuedge_perfmon_destroy destroy = { 0 };
	struct npu_client *a = &self->a;
	long long resets = npu_knob_number("reset");
	atomic_bool stop = false;
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, reset_again, &stop));
	for (int i = 0; i < 20; i++) {
		struct drm_npuedge_perfmon_create create = { 0 };
		int queue = npu_queue_create(a->fd, a->vm, DRM_NPUEDGE_PRIORITY_NORMAL);

		EXPECT_LT(0, queue);
		EXPECT_EQ(0, npu_ioctl(a->fd, DRM_IOCTL_NPUEDGE_PERFMON_CREATE, &create));
		destroy.id = create.id;
		EXPECT_EQ(0, npu_ioctl(a->fd, DRM_IOCTL_NPUEDGE_PERFMON_DESTROY, &destroy));
		EXPECT_EQ(0, npu_queue_destroy(a->fd, queue));
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	EXPECT_GT(npu_knob_number("reset"), resets + 1);
	EXPECT_EQ(0, npu_device_works());
}

TEST_F_TIMEOUT(recovery, job_that_may_is_run_again, 120)
{
	struct npu_client *a = &self->a;
	uint32_t count = npu_slow_count(a, 3000);
	int ret;

	a->data[0] = 0x1111;
	ret = submit_flags(a, slow_copy_stream(a->stream, count), DRM_NPUEDGE_JOB_RERUN);
	ASSERT_EQ(0, ret);
	for (int i = 0; i < 2; i++) {
		ASSERT_TRUE(npu_job_runs());
		EXPECT_EQ(0, npu_sync_status(a->fd, a->sync));
		ASSERT_EQ(0, npu_knob_write("reset", "1"));
	}
	ASSERT_EQ(0, npu_wait(a->fd, a->sync, NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(a->fd, a->sync));
	EXPECT_EQ(0x1111, a->data[1]);
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_OK, get_state(a).state);
}

TEST_F_TIMEOUT(recovery, job_is_not_run_again_for_ever, 120)
{
	struct npu_client *a = &self->a;
	uint32_t count = npu_slow_count(a, 4000);
	int resets = 0;

	ASSERT_EQ(0, submit_flags(a, npu_slow_stream(a->stream, count), DRM_NPUEDGE_JOB_RERUN));
	while (resets < 10 && !npu_sync_status(a->fd, a->sync)) {
		/* one that was not started yet does not count as interrupted */
		ASSERT_TRUE(npu_job_runs());
		ASSERT_EQ(0, npu_knob_write("reset", "1"));
		resets++;
	}
	EXPECT_EQ(4, resets);
	EXPECT_EQ(-ECANCELED, npu_sync_status(a->fd, a->sync));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_INNOCENT, get_state(a).state);
}

TEST_F_TIMEOUT(recovery, ended_jobs_are_counted, 60)
{
	struct npu_client *a = &self->a;

	npu_copy_stream(a->stream, 1, 4);
	for (int i = 0; i < 5; i++)
		ASSERT_EQ(0, submit_flags(a, 192, 0));
	ASSERT_EQ(0, npu_wait(a->fd, a->sync, NPU_WAIT_NS));
	EXPECT_EQ(5, get_state(a).completed);
	EXPECT_EQ(0, get_state(a).preempted);
	a->stream[0] = npu_cmd(0x7f);
	ASSERT_EQ(0, submit_flags(a, 64, 0));
	ASSERT_EQ(0, npu_wait(a->fd, a->sync, NPU_WAIT_NS));
	EXPECT_EQ(6, get_state(a).completed);
	ASSERT_EQ(0, npu_knob_write("reset", "1"));
	EXPECT_EQ(6, get_state(a).completed);
}

TEST_F_TIMEOUT(recovery, waiting_is_no_reason_to_die, 120)
{
	struct npu_client *a = &self->a, *b = &self->b;
	uint32_t count = npu_slow_count(a, 5000);

	ASSERT_EQ(0, new_queue(b, DRM_NPUEDGE_PRIORITY_NORMAL, "1000"));
	ASSERT_EQ(0, submit_flags(a, npu_slow_stream(a->stream, count), 0));
	ASSERT_TRUE(npu_job_runs());
	npu_copy_stream(b->stream, 1, 4);
	b->data[0] = 0x2222;
	ASSERT_EQ(0, submit_flags(b, 192, 0));
	ASSERT_EQ(0, npu_wait(b->fd, b->sync, 3 * NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(b->fd, b->sync));
	EXPECT_EQ(0x2222, b->data[1]);
	ASSERT_EQ(0, npu_wait(a->fd, a->sync, 3 * NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(a->fd, a->sync));
}

/*
 * It needs a second, of two and a half.  A busy machine may need more, or come with the other job when it has ended: then
 * once more.
 */
TEST_F_TIMEOUT(recovery, neither_is_being_put_aside, 240)
{
	struct npu_client *a = &self->a, *b = &self->b;
	uint32_t count = npu_slow_count(a, 5000), few = count / 5 + 1;
	int status = 0;

	for (int i = 0; i < 3 && (status != 1 || !get_state(a).preempted); i++) {
		ASSERT_EQ(0, new_queue(a, DRM_NPUEDGE_PRIORITY_LOW, "2500"));
		ASSERT_EQ(0, submit_flags(a, yielding_stream(a->stream, few), 0));
		ASSERT_TRUE(npu_job_runs());
		ASSERT_EQ(0, submit_flags(b, npu_slow_stream(b->stream, count), 0));
		ASSERT_EQ(0, npu_wait(b->fd, b->sync, 3 * NPU_WAIT_NS));
		EXPECT_EQ(1, npu_sync_status(b->fd, b->sync));
		ASSERT_EQ(0, npu_wait(a->fd, a->sync, 3 * NPU_WAIT_NS));
		status = npu_sync_status(a->fd, a->sync);
	}
	EXPECT_EQ(1, status);
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_OK, get_state(a).state);
	EXPECT_GE(get_state(a).preempted, 1);
	EXPECT_EQ(0, get_state(b).preempted);
}

/* A machine that is busy now and then may be late once. */
TEST_F_TIMEOUT(recovery, hung_job_gets_its_time_and_no_more_than_twice, 240)
{
	struct npu_client *a = &self->a;
	int64_t took = INT64_MAX;

	for (int i = 0; i < 3 && took > 5000000000ll; i++) {
		int64_t begin;

		ASSERT_EQ(0, new_queue(a, DRM_NPUEDGE_PRIORITY_NORMAL, "1500"));
		begin = npu_deadline(0);
		ASSERT_EQ(0, submit_flags(a, npu_slow_stream(a->stream, 8000), 0));
		ASSERT_EQ(0, npu_wait(a->fd, a->sync, 3 * NPU_WAIT_NS));
		EXPECT_EQ(-ETIME, npu_sync_status(a->fd, a->sync));
		took = npu_deadline(0) - begin;
		EXPECT_GE(took, 1400000000ll);
	}
	EXPECT_LE(took, 5000000000ll);
}

/* How the job ends whose data lie in the SRAM, all of it. */
enum leaving { LEAVES_WELL, LEAVES_BY_FAULT, LEAVES_KILLED, LEAVES_ASIDE, LEAVES_BY_RESET };

#define SRAM_VA		(4 * NPU_VA)

FIXTURE(sram) {
	struct npu_client a, b;
	uint32_t bytes, *from, *to;
};

FIXTURE_VARIANT(sram) {
	enum leaving leaving;
};

FIXTURE_VARIANT_ADD(sram, end) { LEAVES_WELL };
FIXTURE_VARIANT_ADD(sram, fault) { LEAVES_BY_FAULT };
FIXTURE_VARIANT_ADD(sram, kill) { LEAVES_KILLED };
FIXTURE_VARIANT_ADD(sram, preemption) { LEAVES_ASIDE };
FIXTURE_VARIANT_ADD(sram, reset) { LEAVES_BY_RESET };

/* A client with room for what is in an SRAM. */
static uint32_t *sram_client(struct npu_client *c, uint32_t bytes)
{
	uint32_t *map;
	int bo;

	if (npu_client_init(c))
		return NULL;
	bo = npu_bo_create(c->fd, bytes, 0, 0);
	map = bo < 0 ? MAP_FAILED : npu_bo_map(c->fd, bo, bytes);
	if (map == MAP_FAILED || npu_map(c->fd, c->vm, bo, SRAM_VA, 0, bytes, 0))
		return NULL;
	c->params->base[1] = SRAM_VA;
	return map;
}

FIXTURE_SETUP(sram)
{
	struct drm_npuedge_chip_info chip = { 0 };
	int fd = npu_open();

	if (fd < 0)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, npu_query(fd, DRM_NPUEDGE_QUERY_CHIP, &chip, sizeof(chip)));
	close(fd);
	if (npu_knob_number("job_timeout_ms") < 0)
		SKIP(return, "debugfs is not there (ring)");
	self->bytes = chip.sram_bytes;
	self->from = sram_client(&self->a, self->bytes);
	self->to = sram_client(&self->b, self->bytes);
	ASSERT_NE(NULL, self->from);
	ASSERT_NE(NULL, self->to);
}

FIXTURE_TEARDOWN(sram)
{
	npu_client_fini(&self->a);
	npu_client_fini(&self->b);
	npu_dumps_clear();
}

/*
 * Fills the SRAM, says so in word 0 of the data, and then ends, faults, or has work for long: with points where it may be put
 * aside if @leaving says so.
 */
static uint32_t filling_stream(union ne1_cmd *s, uint32_t bytes, enum leaving leaving)
{
	uint32_t size;

	s[0] = npu_dma(NE1_OP_LD, 0, bytes, 0);
	s[0].dma.base = 1;
	s[1] = npu_cmd(NE1_OP_MARK);
	switch (leaving) {
	case LEAVES_WELL:
		s[2] = npu_cmd(NE1_OP_END);
		return 3 * NE1_CMD_SIZE;
	case LEAVES_BY_FAULT:
		s[2] = npu_cmd(0x7f);
		return 3 * NE1_CMD_SIZE;
	case LEAVES_ASIDE:
		size = yielding_stream(s + 2, 3000);
		break;
	default:
		size = npu_slow_stream(s + 2, 6000);
		break;
	}
	return size + 2 * NE1_CMD_SIZE;
}

/* Has the other client store all of the SRAM; bytes that are not 0. */
static uint32_t sram_left(struct __test_metadata *_metadata, FIXTURE_DATA(sram) *self)
{
	struct npu_client *b = &self->b;
	uint32_t left = 0;

	memset(self->to, 0xff, self->bytes);
	b->stream[0] = npu_dma(NE1_OP_ST, 0, self->bytes, 0);
	b->stream[0].dma.base = 1;
	b->stream[1] = npu_cmd(NE1_OP_END);
	ASSERT_EQ(0, submit_flags(b, 2 * NE1_CMD_SIZE, 0));
	ASSERT_EQ(0, npu_wait(b->fd, b->sync, 3 * NPU_WAIT_NS));
	ASSERT_EQ(1, npu_sync_status(b->fd, b->sync));
	for (uint32_t i = 0; i < self->bytes; i++)
		left += ((uint8_t *)self->to)[i] != 0;
	return left;
}

static void leave(struct __test_metadata *_metadata, struct npu_client *a, enum leaving leaving)
{
	switch (leaving) {
	case LEAVES_WELL:
	case LEAVES_BY_FAULT:
		ASSERT_EQ(0, npu_wait(a->fd, a->sync, NPU_WAIT_NS));
		ASSERT_EQ(leaving == LEAVES_WELL ? 1 : -EIO, npu_sync_status(a->fd, a->sync));
		return;
	case LEAVES_KILLED:
		ASSERT_EQ(0, npu_queue_destroy(a->fd, a->queue));
		break;
	case LEAVES_BY_RESET:
		ASSERT_EQ(0, npu_knob_write("reset", "1"));
		break;
	case LEAVES_ASIDE:
		return;
	}
	ASSERT_EQ(0, npu_wait(a->fd, a->sync, NPU_WAIT_NS));
	ASSERT_EQ(-ECANCELED, npu_sync_status(a->fd, a->sync));
}

TEST_F_TIMEOUT(sram, holds_nothing_for_others, 120)
{
	volatile uint64_t *mark = (void *)self->a.data;
	struct npu_client *a = &self->a;

	for (int round = 0; round < 2; round++) {
		*mark = 0;
		memset(self->from, 0xa5, self->bytes);
		npu_queue_destroy(a->fd, a->queue);
		a->queue = npu_queue_create(a->fd, a->vm, DRM_NPUEDGE_PRIORITY_LOW);
		ASSERT_GT(a->queue, 0);
		ASSERT_EQ(0, submit_flags(a, filling_stream(a->stream, self->bytes, variant->leaving), 0));
		for (int i = 0; i < 4000 * npu_slowness() && !*mark; i++)
			usleep(5000);
		ASSERT_NE(0, *mark);
		leave(_metadata, a, variant->leaving);
		EXPECT_EQ(0, sram_left(_metadata, self));
		if (variant->leaving == LEAVES_ASIDE)
			EXPECT_LE(1, get_state(a).preempted);
	}
}

/*
 * Three clients when the device is reset: one whose job hangs and does not obey, one whose job was put aside for it,
 * one whose jobs wait.
 */
TEST_F_TIMEOUT(recovery, guilty_innocent_and_unharmed_are_told_apart, 150)
{
	struct npu_client *a = &self->a, *b = &self->b, c;
	struct npu_inject inj;
	uint32_t count;

	if (inject_open(&inj))
		SKIP(return, INJECT_ABSENT);
	ASSERT_EQ(0, npu_client_init(&c));
	count = npu_slow_count(b, 6000);
	ASSERT_EQ(0, new_queue(b, DRM_NPUEDGE_PRIORITY_LOW, "30000"));
	ASSERT_EQ(0, new_queue(&c, DRM_NPUEDGE_PRIORITY_LOW, "30000"));
	ASSERT_EQ(0, new_queue(a, DRM_NPUEDGE_PRIORITY_NORMAL, "3000"));
	ASSERT_EQ(0, submit_flags(b, yielding_stream(b->stream, count), 0));
	ASSERT_TRUE(npu_job_runs());

	ASSERT_EQ(0, submit_flags(a, npu_slow_stream(a->stream, 8000), 0));
	for (int i = 0; i < 20000 && !get_state(b).preempted; i++)
		usleep(1000);
	EXPECT_EQ(1, get_state(b).preempted);
	/* the next product does not end, and the core does not stop */
	ASSERT_EQ(0, inject_arm_fault(&inj, NPUSIM_ENGINE_STUCK));
	c.data[0] = 0x3333;
	npu_copy_stream(c.stream, 1, 4);
	ASSERT_EQ(0, submit_flags(&c, 192, 0));

	ASSERT_EQ(0, npu_wait(a->fd, a->sync, 3 * NPU_WAIT_NS));
	ASSERT_EQ(0, npu_wait(b->fd, b->sync, 3 * NPU_WAIT_NS));
	ASSERT_EQ(0, npu_wait(c.fd, c.sync, 3 * NPU_WAIT_NS));
	EXPECT_EQ(-ETIME, npu_sync_status(a->fd, a->sync));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_GUILTY, get_state(a).state);
	EXPECT_EQ(DRM_NPUEDGE_REASON_TIMEOUT, get_state(a).reason);
	EXPECT_EQ(-ECANCELED, npu_sync_status(b->fd, b->sync));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_INNOCENT, get_state(b).state);
	EXPECT_EQ(1, npu_sync_status(c.fd, c.sync));
	EXPECT_EQ(0x3333, c.data[1]);
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_OK, get_state(&c).state);
	inject_close(&inj);
	npu_client_fini(&c);
}

TEST_HARNESS_MAIN
