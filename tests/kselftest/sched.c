// SPDX-License-Identifier: GPL-2.0
/*
 * Who gets the cores: strict priority of the four levels, equal shares within one, and nobody waits for lower levels longer
 * than from one YIELD to the next.  All is measured in the device's own time, so that it does not matter how busy the
 * machine is.
 */
#include "kselftest_harness.h"
#include "debugfs.h"
#include "ne1_fwabi.h"

#define LEVELS		(DRM_NPUEDGE_PRIORITY_REALTIME + 1)
#define SLOTS		64		/* jobs with parameters, profiles and marks of their own */
#define MARKS		256		/* per slot */
#define SLICE_NS	10000000ull	/* of firmware */

/* Behind the streams of struct npu_client. */
#define AREA		(NPU_CLIENT_SIZE / 2)
#define PARAMS(n)	(AREA + (n) * sizeof(struct ne1_params))
#define PROFILE(n)	(AREA + 0x10000 + (n) * NE1_MAX_CORES * sizeof(struct ne1_profile))
#define MARK(n)		(AREA + 0x20000 + (n) * MARKS * sizeof(uint64_t))
#define STREAM_ROOM	((AREA - 2 * NPU_PAGE) / NE1_CMD_SIZE)

FIXTURE(sched) {
	struct npu_client c;
	struct drm_npuedge_chip_info chip;
	int gate;
};

FIXTURE_SETUP(sched)
{
	struct npu_client *c = &self->c;
	int ret = npu_client_init(c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (npu_knob_number("job_timeout_ms") < 0)
		SKIP(return, "debugfs is not there (ring)");
	self->gate = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_REALTIME);
	if (self->gate == -EACCES)
		SKIP(return, "needs CAP_SYS_NICE");
	ASSERT_GT(self->gate, 0);
	ASSERT_EQ(0, npu_query(c->fd, DRM_NPUEDGE_QUERY_CHIP, &self->chip, sizeof(self->chip)));
	for (int i = 0; i < SLOTS; i++)
		((struct ne1_params *)(c->map + PARAMS(i)))->base[0] = NPU_VA + MARK(i);
}

FIXTURE_TEARDOWN(sched)
{
	npu_client_fini(&self->c);
}

static volatile struct ne1_profile *profile(struct npu_client *c, int slot)
{
	return (void *)(c->map + PROFILE(slot));
}

/* A job on all cores, so that two never run at once, whatever the chip. */
static int start(struct npu_client *c, uint32_t cores, int queue, int slot, uint32_t first, uint32_t commands, int sync)
{
	struct drm_npuedge_stream streams[NE1_MAX_CORES];
	struct drm_npuedge_sync out = { .handle = sync };
	struct drm_npuedge_job job = {
		.streams = { .stride = sizeof(streams[0]), .count = cores, .ptr = (uintptr_t)streams },
		.params_va = NPU_VA + PARAMS(slot),
		.profile_va = NPU_VA + PROFILE(slot),
		.out_syncs = { .stride = sizeof(out), .count = !!sync, .ptr = (uintptr_t)&out },
	};
	struct drm_npuedge_submit submit = {
		.queue_id = queue,
		.jobs = { .stride = sizeof(job), .count = 1, .ptr = (uintptr_t)&job },
	};

	for (uint32_t i = 0; i < cores; i++)
		streams[i] = (struct drm_npuedge_stream){
			.va = NPU_STREAM + first * NE1_CMD_SIZE, .size = commands * NE1_CMD_SIZE,
		};
	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit);
}

/*
 * @intervals times: a mark, which tells the time, @products products, a point where the job may be put aside.  Returns its
 * commands.
 */
static uint32_t marking_stream(union ne1_cmd *s, uint32_t intervals, uint32_t products)
{
	union ne1_cmd product, *begin = s;

	npu_slow_stream(s, 1);
	product = s[0];
	for (uint32_t i = 0; i < intervals; i++) {
		*s = npu_cmd(NE1_OP_MARK);
		s++->mark.offset = i * sizeof(uint64_t);
		for (uint32_t k = 0; k < products; k++)
			*s++ = product;
		*s++ = npu_cmd(NE1_OP_YIELD);
	}
	*s++ = npu_cmd(NE1_OP_END);
	return s - begin;
}

/* Jobs that are in the rings of queues, on a core or not. */
static int jobs_in_rings(void)
{
	char *text = npu_knob_read("ring");
	int jobs = 0;

	for (char *at = text; at && (at = strstr(at, ": seqno ")); at++)
		jobs++;
	free(text);
	return jobs;
}

static bool wait_in_rings(int jobs)
{
	for (int i = 0; i < 4000 * npu_slowness() && jobs_in_rings() < jobs; i++)
		usleep(5000);
	return jobs_in_rings() == jobs;
}

/*
 * Keeps the cores busy with a job that does not yield until its queue is destroyed, which is when all that was submitted
 * meanwhile is told apart.  Its stream is at the beginning.
 */
static void close_gate(struct __test_metadata *_metadata, FIXTURE_DATA(sched) *self)
{
	const uint32_t products = 4000;

	npu_slow_stream(self->c.stream, products);
	ASSERT_EQ(0, start(&self->c, self->chip.cores, self->gate, 0, 0, products + 1, self->c.sync));
	ASSERT_TRUE(npu_job_runs());
}

static void open_gate(struct __test_metadata *_metadata, FIXTURE_DATA(sched) *self)
{
	struct npu_client *c = &self->c;

	ASSERT_EQ(0, npu_sync_status(c->fd, c->sync));
	ASSERT_EQ(0, npu_queue_destroy(c->fd, self->gate));
	self->gate = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_REALTIME);
	ASSERT_GT(self->gate, 0);
}

/* A job of each level, submitted in this order while nothing can start; they start in that of their levels. */
static void check_order(struct __test_metadata *_metadata, FIXTURE_DATA(sched) *self, const uint32_t *order)
{
	struct npu_client *c = &self->c;
	const uint32_t first = 4100;
	uint64_t start_ns[LEVELS];
	int queues[LEVELS], syncs[LEVELS];

	npu_slow_stream(c->stream + first, 1);
	memset(c->map + PROFILE(0), 0, PROFILE(SLOTS) - PROFILE(0));
	close_gate(_metadata, self);
	for (int i = 0; i < LEVELS; i++) {
		uint32_t level = order[i];

		queues[level] = npu_queue_create(c->fd, c->vm, level);
		syncs[level] = npu_syncobj_create(c->fd);
		ASSERT_GT(queues[level], 0);
		ASSERT_EQ(0, start(c, self->chip.cores, queues[level], 1 + level, first, 2, syncs[level]));
		ASSERT_TRUE(wait_in_rings(i + 2));
	}
	open_gate(_metadata, self);
	for (int i = 0; i < LEVELS; i++) {
		ASSERT_EQ(0, npu_wait(c->fd, syncs[i], NPU_WAIT_NS));
		ASSERT_EQ(1, npu_sync_status(c->fd, syncs[i]));
		npu_queue_destroy(c->fd, queues[i]);
		npu_syncobj_destroy(c->fd, syncs[i]);
		start_ns[i] = profile(c, 1 + i)->start_ns;
		ASSERT_GT(start_ns[i], 0);
	}
	EXPECT_LT(start_ns[DRM_NPUEDGE_PRIORITY_REALTIME], start_ns[DRM_NPUEDGE_PRIORITY_HIGH]);
	EXPECT_LT(start_ns[DRM_NPUEDGE_PRIORITY_HIGH], start_ns[DRM_NPUEDGE_PRIORITY_NORMAL]);
	EXPECT_LT(start_ns[DRM_NPUEDGE_PRIORITY_NORMAL], start_ns[DRM_NPUEDGE_PRIORITY_LOW]);
}

TEST_F_TIMEOUT(sched, levels_start_in_their_order, 120)
{
	static const uint32_t orders[][LEVELS] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 2, 0, 3, 1 } };

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		check_order(_metadata, self, orders[i]);
}

static uint64_t busy_ns(struct npu_client *c, int queue)
{
	struct drm_npuedge_queue_get_state state = { .id = queue };

	npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state);
	return state.busy_ns;
}

/* Of both at one instant: only one of them has a turn at a time. */
static void busy_both(struct npu_client *c, const int *queues, uint64_t *busy)
{
	uint64_t again = busy_ns(c, queues[0]);

	do {
		busy[0] = again;
		busy[1] = busy_ns(c, queues[1]);
		again = busy_ns(c, queues[0]);
	} while (again != busy[0]);
}

/* They can be put aside after each product, of which a slice has a few, and have more to do than they are given time for. */
TEST_F_TIMEOUT(sched, equals_share_alike, 240)
{
	const uint64_t enough = 2 * 20 * SLICE_NS;
	struct npu_client *c = &self->c;
	const uint32_t first = 4100;
	uint64_t busy[2] = { 0 };
	uint32_t commands;
	int queues[2];

	commands = marking_stream(c->stream + first, MARKS, 1);
	ASSERT_LE(first + commands, STREAM_ROOM);
	close_gate(_metadata, self);
	for (int i = 0; i < 2; i++) {
		queues[i] = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		ASSERT_GT(queues[i], 0);
		/* several, as it is not for us to say how much faster than this a chip may be */
		for (int k = 0; k < 8; k++)
			ASSERT_EQ(0, start(c, self->chip.cores, queues[i], 1 + i, first, commands, 0));
	}
	ASSERT_TRUE(wait_in_rings(1 + 2 * 8));
	open_gate(_metadata, self);
	for (int i = 0; i < 6000 * npu_slowness() && busy[0] + busy[1] < enough; i++) {
		usleep(10000);
		busy_both(c, queues, busy);
	}
	TH_LOG("%llu and %llu us", (unsigned long long)busy[0] / 1000, (unsigned long long)busy[1] / 1000);
	EXPECT_GE(busy[0] + busy[1], enough);
	EXPECT_GE(busy[0] * 5, busy[1] * 4);
	EXPECT_GE(busy[1] * 5, busy[0] * 4);
}

/*
 * A job of the lowest level, of many slices, behind work of the next one that does not end: it begins after the firmware's
 * patience, and then has every second slice until it ends.
 */
TEST_F_TIMEOUT(sched, a_long_job_of_the_lowest_ends, 240)
{
	struct npu_client *c = &self->c;
	volatile uint64_t *normal = (void *)(c->map + MARK(1)), *low = (void *)(c->map + MARK(2));
	const uint32_t first = 4100;
	const int busy_jobs = 24;
	uint64_t waited, took, used;
	uint32_t commands;
	int queue, sync = npu_syncobj_create(c->fd);

	commands = marking_stream(c->stream + first, MARKS, 1);
	ASSERT_LE(first + commands, STREAM_ROOM);
	queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_LOW);
	ASSERT_GT(queue, 0);
	close_gate(_metadata, self);
	for (int i = 0; i < busy_jobs; i++)
		ASSERT_EQ(0, start(c, self->chip.cores, c->queue, i ? 3 : 1, first, commands, 0));
	ASSERT_EQ(0, start(c, self->chip.cores, queue, 2, first, commands, sync));
	ASSERT_TRUE(wait_in_rings(1 + busy_jobs + 1));
	open_gate(_metadata, self);
	ASSERT_EQ(0, npu_wait(c->fd, sync, 12 * NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(c->fd, sync));
	EXPECT_GT(jobs_in_rings(), 0);

	waited = low[0] - normal[0];
	took = low[MARKS - 1] - low[0];
	used = busy_ns(c, queue);
	TH_LOG("waited %llu us, then took %llu us for %llu us of work", (unsigned long long)waited / 1000,
	       (unsigned long long)took / 1000, (unsigned long long)used / 1000);
	EXPECT_GE(waited, NE1_PATIENCE_NS * 9 / 10);
	EXPECT_GE(used, 10 * SLICE_NS);
	EXPECT_LE(took, 3 * used + 3 * SLICE_NS);
}

/* Intervals of all jobs that began between two times. */
static int begun(struct npu_client *c, int jobs, uint64_t after, uint64_t before)
{
	int count = 0;

	for (int i = 0; i < jobs; i++) {
		volatile uint64_t *marks = (void *)(c->map + MARK(i));

		for (int k = 0; k < MARKS; k++)
			count += marks[k] > after && marks[k] < before;
	}
	return count;
}

/*
 * A job of the highest level comes while as many queues as there are have work of the lowest.  It waits for the interval that
 * goes on, and for no other: at most one more begins, if it comes just at the end of one.  A busy machine may take long
 * to let us tell the device of it, in which more may begin; so that counts which is seen mostly.
 */
TEST_F_TIMEOUT(sched, a_flood_delays_realtime_by_one_interval, 240)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_telemetry now;
	const int rounds = 12;
	uint32_t products, intervals, commands, first;
	int flood = 0, late = 0, worst = 0, queues[SLOTS];

	products = npu_slow_count(c, 100);
	intervals = 4000 / (products + 2);
	intervals = intervals < 4 ? 4 : intervals > MARKS ? MARKS : intervals;
	first = marking_stream(c->stream, intervals, products);
	ASSERT_LT(first + 3, STREAM_ROOM);
	commands = first;
	npu_copy_stream(c->stream + first, 0, 4);
	npu_queue_destroy(c->fd, c->queue);
	while (flood < SLOTS - 1 && (queues[flood] = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_LOW)) > 0)
		flood++;
	ASSERT_GE(flood + 1, self->chip.queue_limit < SLOTS ? self->chip.queue_limit : SLOTS);
	for (int i = 0; i < flood; i++)
		ASSERT_EQ(0, start(c, self->chip.cores, queues[i], i, 0, commands, 0));
	ASSERT_TRUE(wait_in_rings(flood));
	ASSERT_TRUE(npu_job_runs());

	for (int i = 0; i < rounds; i++) {
		int intervals_before;

		ASSERT_EQ(0, npu_query(c->fd, DRM_NPUEDGE_QUERY_TELEMETRY, &now, sizeof(now)));
		ASSERT_EQ(0, start(c, self->chip.cores, self->gate, SLOTS - 1, first, 3, c->sync));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
		ASSERT_EQ(1, npu_sync_status(c->fd, c->sync));
		intervals_before = begun(c, flood, now.time_ns, profile(c, SLOTS - 1)->start_ns);
		late += intervals_before > 1;
		worst = intervals_before > worst ? intervals_before : worst;
		usleep(20000);
	}
	TH_LOG("%d queues, %u products from one yield to the next: %d of %d waited for more than one, %d at most", flood,
	       products, late, rounds, worst);
	/* the flood was there all the time */
	EXPECT_EQ(flood, jobs_in_rings());
	EXPECT_LE(late, rounds / 4);
}

TEST_HARNESS_MAIN
