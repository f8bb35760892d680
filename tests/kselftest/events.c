// SPDX-License-Identifier: GPL-2.0
/* Events: who gets which, read() and poll(), what happens when nobody reads. */
#include "kselftest_harness.h"
#include "sysfs.h"

FIXTURE(events) {
	struct npu_client c;
	char reset[256];
};

FIXTURE_SETUP(events)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (npu_glob("/sys/kernel/debug/accel/*/reset", self->reset, sizeof(self->reset)))
		SKIP(return, "debugfs is not there (reset)");
	ASSERT_EQ(0, fcntl(self->c.fd, F_SETFL, O_NONBLOCK));
}

FIXTURE_TEARDOWN(events)
{
	npu_client_fini(&self->c);
}

static int subscribe(int fd, uint32_t mask)
{
	struct drm_npuedge_events args = { .mask = mask };

	return npu_ioctl(fd, DRM_IOCTL_NPUEDGE_EVENTS, &args);
}

#define MASK(type)	DRM_NPUEDGE_EVENTS_MASK(DRM_NPUEDGE_EVENT_##type)

/* Waits at most 20 s; 0, -ETIME, or -errno. */
static int next_event(int fd, struct drm_npuedge_event *event)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t got;

	memset(event, 0, sizeof(*event));
	if (poll(&p, 1, 20000 * npu_slowness()) != 1)
		return -ETIME;
	got = read(fd, event, sizeof(*event));
	return got == sizeof(*event) ? 0 : got < 0 ? -errno : -EPROTO;
}

static int bad_job(struct npu_client *c)
{
	c->stream[0] = npu_cmd(0x7f);
	return npu_submit(c->fd, c->queue, NPU_STREAM, 64, NPU_PARAMS, 0, c->sync);
}

TEST_F(events, nothing_unless_asked)
{
	struct drm_npuedge_event event;
	struct pollfd p = { .fd = self->c.fd, .events = POLLIN };

	ASSERT_EQ(0, npu_write_text(self->reset, "1"));
	EXPECT_EQ(0, poll(&p, 1, 100));
	EXPECT_EQ(-1, read(self->c.fd, &event, sizeof(event)));
	EXPECT_EQ(EAGAIN, errno);
}

TEST_F(events, bad_arguments)
{
	struct drm_npuedge_events pad = { .mask = 1, .pad = 1 };

	EXPECT_EQ(-EINVAL, npu_ioctl(self->c.fd, DRM_IOCTL_NPUEDGE_EVENTS, &pad));
	EXPECT_EQ(-EINVAL, subscribe(self->c.fd, ~0u));
	EXPECT_EQ(-EINVAL, subscribe(self->c.fd, 1u << 31));
	EXPECT_EQ(0, subscribe(self->c.fd, MASK(RESET)));
	EXPECT_EQ(0, subscribe(self->c.fd, 0));
}

TEST_F(events, reset_is_told_to_all_who_asked)
{
	struct drm_npuedge_event event;
	struct npu_client other;
	uint64_t count;
	int64_t before = npu_deadline(0);

	ASSERT_EQ(0, npu_client_init(&other));
	ASSERT_EQ(0, subscribe(self->c.fd, MASK(RESET) | MASK(QUEUE_LOST)));
	ASSERT_EQ(0, subscribe(other.fd, MASK(RESET)));
	ASSERT_EQ(0, npu_write_text(self->reset, "1"));
	ASSERT_EQ(0, next_event(self->c.fd, &event));
	EXPECT_EQ(DRM_NPUEDGE_EVENT_RESET, event.type);
	EXPECT_EQ(sizeof(event), event.length);
	EXPECT_EQ(0, event.dropped);
	EXPECT_GE(event.time_ns, before);
	EXPECT_LE(event.time_ns, npu_deadline(0));
	count = event.value;
	EXPECT_GT(count, 0);
	ASSERT_EQ(0, next_event(other.fd, &event));
	EXPECT_EQ(DRM_NPUEDGE_EVENT_RESET, event.type);
	EXPECT_EQ(count, event.value);

	ASSERT_EQ(0, subscribe(other.fd, 0));
	ASSERT_EQ(0, npu_write_text(self->reset, "1"));
	ASSERT_EQ(0, next_event(self->c.fd, &event));
	EXPECT_EQ(count + 1, event.value);
	EXPECT_EQ(0, fcntl(other.fd, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(-1, read(other.fd, &event, sizeof(event)));
	npu_client_fini(&other);
}

TEST_F(events, guilty_queue_is_told_to_its_owner)
{
	struct npu_client *c = &self->c, other;
	struct drm_npuedge_event event;

	ASSERT_EQ(0, npu_client_init(&other));
	ASSERT_EQ(0, fcntl(other.fd, F_SETFL, O_NONBLOCK));
	ASSERT_EQ(0, subscribe(c->fd, MASK(QUEUE_LOST)));
	ASSERT_EQ(0, subscribe(other.fd, MASK(QUEUE_LOST)));
	ASSERT_EQ(0, bad_job(c));
	ASSERT_EQ(0, next_event(c->fd, &event));
	EXPECT_EQ(DRM_NPUEDGE_EVENT_QUEUE_LOST, event.type);
	EXPECT_EQ(c->queue, event.object);
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_GUILTY, event.value);
	EXPECT_EQ(-1, read(other.fd, &event, sizeof(event)));
	npu_client_fini(&other);
}

TEST_F(events, small_buffer_gets_no_half_event)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_event events[3];
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	ASSERT_EQ(0, subscribe(c->fd, MASK(RESET)));
	ASSERT_EQ(0, npu_write_text(self->reset, "1"));
	ASSERT_EQ(0, npu_write_text(self->reset, "1"));
	ASSERT_EQ(1, poll(&p, 1, 20000 * npu_slowness()));
	EXPECT_EQ(0, read(c->fd, events, sizeof(events[0]) - 1));
	EXPECT_EQ(sizeof(events[0]), read(c->fd, events, sizeof(events[0]) * 2 - 1));
	ASSERT_EQ(1, poll(&p, 1, 20000 * npu_slowness()));
	EXPECT_EQ(sizeof(events[0]), read(c->fd, &events[1], sizeof(events[0]) * 2));
	EXPECT_EQ(events[0].value + 1, events[1].value);
}

/* Each round makes one queue guilty: many events, without a reset. */
static int storm(struct npu_client *c, int count)
{
	for (int i = 0; i < count; i++) {
		int ret = bad_job(c);

		if (ret || npu_wait(c->fd, c->sync, NPU_WAIT_NS))
			return ret ? ret : -ETIME;
		npu_queue_destroy(c->fd, c->queue);
		c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		if (c->queue < 0)
			return c->queue;
	}
	return 0;
}

TEST_F_TIMEOUT(events, unread_ones_are_bounded_and_counted, 90)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_limits limits = { 0 };
	struct drm_npuedge_event event;
	unsigned int kept = 0, limit = 64;

	if (!npu_query(c->fd, DRM_NPUEDGE_QUERY_LIMITS, &limits, sizeof(limits)))
		limit = limits.events;
	ASSERT_GT(limit, 0);
	ASSERT_EQ(0, subscribe(c->fd, MASK(QUEUE_LOST)));
	ASSERT_EQ(0, storm(c, limit + 10));
	while (read(c->fd, &event, sizeof(event)) == sizeof(event)) {
		EXPECT_EQ(0, event.dropped);
		kept++;
	}
	EXPECT_EQ(limit, kept);
	ASSERT_EQ(0, storm(c, 2));
	ASSERT_EQ(0, next_event(c->fd, &event));
	EXPECT_EQ(10, event.dropped);
	ASSERT_EQ(0, next_event(c->fd, &event));
	EXPECT_EQ(0, event.dropped);
}

TEST_F(events, file_may_close_with_unread_ones)
{
	struct npu_client other;

	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, npu_client_init(&other));
		ASSERT_EQ(0, subscribe(other.fd, MASK(RESET) | MASK(QUEUE_LOST)));
		ASSERT_EQ(0, bad_job(&other));
		if (i & 1)
			ASSERT_EQ(0, npu_wait(other.fd, other.sync, NPU_WAIT_NS));
		npu_client_fini(&other);
	}
	ASSERT_EQ(0, npu_write_text(self->reset, "1"));
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
