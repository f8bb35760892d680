// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs of several streams, one per core: each stream's results and profile, what its fault is attributed to, that the
 * cores are shared with others, and that there are no more streams than cores.  On a device with one core only the
 * last is left; with NPU_CORES it has to have as many.
 */
#include "kselftest_harness.h"
#include "debugfs.h"

#define WORDS		16		/* that a stream copies */
#define TARGET		256		/* word to which the first stream copies */
#define PROFILES	512		/* word where profiles are */
#define MOST		4		/* streams of a job, whatever the chip */
#define BAD_VA		(NPU_VA + 0x40000000ull)
#define PLACE		256		/* commands of the stream area for each stream */
#define MACS		(1ull << 27)	/* of a command of npu_slow_stream() */
#define BATCH		30
#define QUEUES		4

FIXTURE(cores) {
	struct npu_client a, b;
	unsigned int count;
};

FIXTURE_SETUP(cores)
{
	const char *text = getenv("NPU_CORES");
	unsigned int wanted = text ? atoi(text) : 0;
	struct drm_npuedge_chip_info chip = { 0 };
	int ret = npu_client_init(&self->a);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_query(self->a.fd, DRM_NPUEDGE_QUERY_CHIP, &chip, sizeof(chip)));
	self->count = chip.cores < MOST ? chip.cores : MOST;
	ASSERT_GE(chip.cores, wanted);
	if (chip.cores < 2)
		SKIP(return, "one core");
	if (npu_knob_number("job_timeout_ms") < 0)
		SKIP(return, "debugfs is not there (job_timeout_ms)");
	ASSERT_EQ(0, npu_client_init(&self->b));
	npu_dumps_clear();
}

FIXTURE_TEARDOWN(cores)
{
	npu_client_fini(&self->a);
	npu_client_fini(&self->b);
	npu_dumps_clear();
}

static int submit(struct npu_client *c, const struct drm_npuedge_stream *streams, unsigned int count, uint64_t profile,
		  uint32_t flags)
{
	struct drm_npuedge_sync out = { .handle = c->sync };
	struct drm_npuedge_job job = {
		.streams = { .stride = sizeof(*streams), .count = count, .ptr = (uintptr_t)streams },
		.params_va = NPU_PARAMS, .profile_va = profile, .flags = flags,
		.out_syncs = { .stride = sizeof(out), .count = 1, .ptr = (uintptr_t)&out },
	};
	struct drm_npuedge_submit args = {
		.queue_id = c->queue, .jobs = { .stride = sizeof(job), .count = 1, .ptr = (uintptr_t)&job },
	};

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &args);
}

static int result(struct npu_client *c)
{
	int ret = npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS);

	return ret ? ret : npu_sync_status(c->fd, c->sync);
}

/*
 * Stream @i of a client, in its place: @products that take their time and can be interrupted, then a copy of words of
 * its own; @i commands more than the first has.
 */
static struct drm_npuedge_stream make_stream(struct npu_client *c, unsigned int i, unsigned int products)
{
	union ne1_cmd *begin = c->stream + i * PLACE, *s = begin;

	npu_slow_stream(s, products);
	s += products;
	for (unsigned int n = 0; n < i; n++)
		*s++ = npu_cmd(NE1_OP_NOP);
	npu_copy_stream(s, TARGET + i * WORDS, WORDS * 4);
	s[0].dma.offset = i * WORDS * 4;
	s += 3;
	return (struct drm_npuedge_stream){
		.va = NPU_STREAM + i * PLACE * NE1_CMD_SIZE, .size = (s - begin) * NE1_CMD_SIZE,
	};
}

static void make_streams(struct npu_client *c, struct drm_npuedge_stream *streams, unsigned int count,
			 unsigned int products)
{
	for (unsigned int i = 0; i < count; i++)
		streams[i] = make_stream(c, i, products);
	for (unsigned int i = 0; i < MOST * WORDS; i++)
		c->data[i] = 0x01010101 * (i + 1);
	memset(c->data + TARGET, 0xee, NPU_PAGE - TARGET * 4);
}

/* Whether stream @i has copied what it was to copy; if not, its target has to be as it was. */
static bool copied(struct npu_client *c, unsigned int i)
{
	return !memcmp(c->data + i * WORDS, c->data + TARGET + i * WORDS, WORDS * 4);
}

static bool untouched(struct npu_client *c, unsigned int word, unsigned int words)
{
	for (unsigned int i = word; i < word + words; i++) {
		if (c->data[i] != 0xeeeeeeee)
			return false;
	}
	return true;
}

static int wide_job_works(struct npu_client *c, unsigned int count)
{
	struct drm_npuedge_stream streams[MOST];
	int ret;

	make_streams(c, streams, count, 0);
	ret = submit(c, streams, count, 0, 0);
	if (ret)
		return ret;
	ret = result(c);
	for (unsigned int i = 0; i < count && ret == 1; i++)
		ret = copied(c, i) ? 1 : -EIO;
	return ret == 1 ? 0 : ret;
}

TEST_F(cores, results_and_profiles)
{
	struct npu_client *c = &self->a;
	const struct ne1_profile *profile = (void *)(c->data + PROFILES);
	struct drm_npuedge_stream streams[MOST];

	for (unsigned int count = 1; count <= self->count; count++) {
		make_streams(c, streams, count, 0);
		ASSERT_EQ(0, submit(c, streams, count, NPU_DATA + PROFILES * 4, 0));
		ASSERT_EQ(1, result(c));
		for (unsigned int i = 0; i < count; i++) {
			EXPECT_TRUE(copied(c, i));
			EXPECT_EQ(3 + i, profile[i].commands);
			EXPECT_GE(profile[i].dram_wr_bytes, WORDS * 4);
			EXPECT_GT(profile[i].end_ns, profile[i].start_ns);
			EXPECT_GT(profile[i].cycles, 0);
		}
		EXPECT_TRUE(untouched(c, TARGET + count * WORDS, PROFILES - TARGET - count * WORDS));
		EXPECT_TRUE(untouched(c, PROFILES + count * sizeof(*profile) / 4, sizeof(*profile) / 4));
	}
}

/* Cores that work for jobs now, as a mask. */
static unsigned long working(void)
{
	char *text = npu_knob_read("ring");
	unsigned long mask = 0;

	for (char *at = text; at && (at = strstr(at, " cores 0x")); at++)
		mask |= strtoul(at + strlen(" cores 0x"), NULL, 16);
	free(text);
	return mask;
}

static bool all_work(unsigned int count)
{
	unsigned long all = (1ul << count) - 1;

	for (int i = 0; i < 2000 * npu_slowness(); i++) {
		if (working() == all)
			return true;
		usleep(2000);
	}
	return false;
}

TEST_F_TIMEOUT(cores, work_at_the_same_time, 60)
{
	struct npu_client *c = &self->a;
	const struct ne1_profile *profile = (void *)(c->data + PROFILES);
	uint32_t size = npu_slow_stream(c->stream, npu_slow_count(c, 1000));
	struct drm_npuedge_stream streams[MOST];

	for (unsigned int i = 0; i < self->count; i++)
		streams[i] = (struct drm_npuedge_stream){ .va = NPU_STREAM, .size = size };
	ASSERT_EQ(0, submit(c, streams, self->count, NPU_DATA + PROFILES * 4, 0));
	EXPECT_TRUE(all_work(self->count));
	ASSERT_EQ(1, result(c));
	EXPECT_EQ(0, working());
	for (unsigned int i = 0; i < self->count; i++) {
		for (unsigned int j = 0; j < self->count; j++)
			EXPECT_LT(profile[i].start_ns, profile[j].end_ns);
	}
}

TEST_F(cores, are_summed_by_monitors)
{
	struct npu_client *c = &self->a;
	struct drm_npuedge_perfmon_create create = { .queue_id = c->queue };
	struct drm_npuedge_perfmon_value values[2] = {
		{ .counter = DRM_NPUEDGE_COUNTER_MACS }, { .counter = DRM_NPUEDGE_COUNTER_COMMANDS },
	};
	struct drm_npuedge_perfmon_read args = {
		.values = { .stride = sizeof(values[0]), .count = 2, .ptr = (uintptr_t)values },
	};
	struct drm_npuedge_stream streams[MOST];
	unsigned int commands = 0;

	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_CREATE, &create));
	args.id = create.id;
	make_streams(c, streams, self->count, 2);
	ASSERT_EQ(0, submit(c, streams, self->count, 0, 0));
	ASSERT_EQ(1, result(c));
	for (unsigned int i = 0; i < self->count; i++)
		commands += streams[i].size / NE1_CMD_SIZE;
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_READ, &args));
	EXPECT_EQ(2 * self->count * MACS, values[0].value);
	EXPECT_EQ(commands, values[1].value);
}

/* Value of a line "key: number" of a core dump. */
static unsigned long long dump_number(const char *dump, const char *key)
{
	char pattern[32];
	const char *at;

	snprintf(pattern, sizeof(pattern), "\n%s: ", key);
	at = dump ? strstr(dump, pattern) : NULL;
	return at ? strtoull(at + strlen(pattern), NULL, 0) : ~0ull;
}

/* Job of so many streams, of which one faults at once; the others would go on for long. */
static int fault_job(struct npu_client *c, unsigned int count, unsigned int bad)
{
	struct drm_npuedge_stream streams[MOST];

	make_streams(c, streams, count, PLACE - MOST - 3);
	streams[bad].size = npu_copy_stream(c->stream + bad * PLACE, TARGET + bad * WORDS, WORDS * 4);
	c->stream[bad * PLACE + 1].dma.offset = BAD_VA - NPU_DATA;
	return submit(c, streams, count, 0, 0);
}

/* Queue and core dump tell of command 1 of that stream. */
static void check_fault(struct __test_metadata *_metadata, struct npu_client *c, unsigned int count, unsigned int bad)
{
	struct drm_npuedge_queue_get_state state = { .id = c->queue };
	char *dump, section[64];

	EXPECT_EQ(-EIO, result(c));
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
	EXPECT_EQ(DRM_NPUEDGE_REASON_FAULT, state.reason);
	EXPECT_EQ(NE1_FAULT_MMU, state.fault);
	EXPECT_EQ(BAD_VA, state.fault_va);
	EXPECT_EQ(1, state.fault_cmd);
	dump = npu_dump_take();
	ASSERT_NE(NULL, dump);
	EXPECT_EQ(NE1_FAULT_MMU, dump_number(dump, "fault"));
	EXPECT_EQ(1, dump_number(dump, "cmd"));
	EXPECT_EQ(BAD_VA, dump_number(dump, "va"));
	EXPECT_EQ(bad, dump_number(dump, "core")) {
		TH_LOG("stream %u of %u", bad, count);
	}
	for (unsigned int i = 0; i < MOST; i++) {
		snprintf(section, sizeof(section), "\n[stream%u bytes=%u va=%#llx]", i,
			 i == bad ? 3 * NE1_CMD_SIZE : (int)((PLACE - MOST + i) * NE1_CMD_SIZE),
			 (unsigned long long)(NPU_STREAM + i * PLACE * NE1_CMD_SIZE));
		EXPECT_EQ(i < count, !!strstr(dump, section)) {
			TH_LOG("%s of %u", section + 1, count);
		}
	}
	free(dump);
}

/* All of a job's streams end with the first that fails; what failed is told; cores and queue's owner are unharmed. */
TEST_F_TIMEOUT(cores, fault_of_one_stream, 120)
{
	struct npu_client *c = &self->a;

	for (unsigned int count = 2; count <= self->count; count++) {
		for (unsigned int bad = 0; bad < count; bad++) {
			ASSERT_EQ(0, fault_job(c, count, bad));
			check_fault(_metadata, c, count, bad);
			for (unsigned int i = 0; i < count; i++)
				EXPECT_FALSE(copied(c, i));
			npu_new_queue(c);
			ASSERT_GT(c->queue, 0);
			EXPECT_EQ(0, wide_job_works(c, self->count));
		}
	}
}

/* A stream is not always on the core of its number: somebody else has the first. */
TEST_F_TIMEOUT(cores, fault_beside_a_job_of_another, 120)
{
	struct npu_client *a = &self->a, *b = &self->b;
	struct drm_npuedge_stream stream = { .va = NPU_STREAM };

	for (unsigned int count = 1; count < self->count; count++) {
		stream.size = npu_slow_stream(b->stream, npu_slow_count(b, 3000));
		ASSERT_EQ(0, submit(b, &stream, 1, 0, 0));
		ASSERT_TRUE(npu_job_runs());
		ASSERT_EQ(0, fault_job(a, count, count - 1));
		check_fault(_metadata, a, count, count - 1);
		EXPECT_EQ(1, working());
		EXPECT_EQ(1, result(b));
		npu_new_queue(a);
		ASSERT_GT(a->queue, 0);
	}
	EXPECT_EQ(0, wide_job_works(a, self->count));
	EXPECT_EQ(0, npu_device_works());
}

/* A job of all cores has its turn though jobs of one come all the time, and these go on behind it. */
TEST_F_TIMEOUT(cores, wide_job_is_not_starved, 120)
{
	struct npu_client *a = &self->a, *b = &self->b;
	struct drm_npuedge_stream streams[MOST], stream = { .va = NPU_STREAM };
	int syncs[QUEUES];

	stream.size = npu_slow_stream(b->stream, npu_slow_count(b, 60));
	for (unsigned int q = 0; q < self->count; q++) {
		b->queue = q ? npu_queue_create(b->fd, b->vm, DRM_NPUEDGE_PRIORITY_NORMAL) : b->queue;
		ASSERT_GT(b->queue, 0);
		b->sync = syncs[q] = npu_syncobj_create(b->fd);
		for (int i = 0; i < BATCH; i++)
			ASSERT_EQ(0, submit(b, &stream, 1, 0, 0));
	}
	ASSERT_TRUE(npu_job_runs());
	make_streams(a, streams, self->count, 0);
	ASSERT_EQ(0, submit(a, streams, self->count, 0, 0));
	EXPECT_EQ(1, result(a));
	for (unsigned int q = 0; q < self->count; q++)
		EXPECT_EQ(0, npu_sync_status(b->fd, syncs[q]));
	for (unsigned int q = 0; q < self->count; q++) {
		EXPECT_EQ(0, npu_wait(b->fd, syncs[q], 3 * NPU_WAIT_NS));
		EXPECT_EQ(1, npu_sync_status(b->fd, syncs[q]));
	}
	for (unsigned int i = 0; i < self->count; i++)
		EXPECT_TRUE(copied(a, i));
}

/* It hangs, and is stopped on all cores. */
TEST_F_TIMEOUT(cores, timeout_frees_all, 120)
{
	struct npu_client *c = &self->a;
	struct drm_npuedge_stream streams[MOST];
	long long saved = npu_knob_number("job_timeout_ms");
	uint32_t size = npu_slow_stream(c->stream, 8000);
	char text[32];

	for (unsigned int i = 0; i < self->count; i++)
		streams[i] = (struct drm_npuedge_stream){ .va = NPU_STREAM, .size = size };
	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", "1000"));
	npu_new_queue(c);
	snprintf(text, sizeof(text), "%lld", saved);
	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", text));
	ASSERT_EQ(0, submit(c, streams, self->count, 0, 0));
	EXPECT_TRUE(all_work(self->count));
	EXPECT_EQ(-ETIME, result(c));
	EXPECT_EQ(0, working());
	npu_new_queue(c);
	ASSERT_GT(c->queue, 0);
	EXPECT_EQ(0, wide_job_works(c, self->count));
}

/* The device is reset while all cores work for a job: it is run again, all of it. */
TEST_F_TIMEOUT(cores, reset_runs_it_again, 120)
{
	struct npu_client *c = &self->a;
	struct drm_npuedge_stream streams[MOST];
	uint32_t products = npu_slow_count(c, 2000);

	if (products > PLACE - MOST - 3)
		products = PLACE - MOST - 3;
	make_streams(c, streams, self->count, products);
	ASSERT_EQ(0, submit(c, streams, self->count, 0, DRM_NPUEDGE_JOB_RERUN));
	EXPECT_TRUE(all_work(self->count));
	ASSERT_EQ(0, npu_knob_write("reset", "1"));
	EXPECT_EQ(1, result(c));
	for (unsigned int i = 0; i < self->count; i++)
		EXPECT_TRUE(copied(c, i));
	EXPECT_EQ(0, wide_job_works(c, self->count));
}

/* On any device, one core or many. */
TEST(more_streams_than_cores_are_refused)
{
	struct drm_npuedge_chip_info chip = { 0 };
	struct drm_npuedge_stream streams[64];
	struct npu_client c;
	int ret = npu_client_init(&c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_query(c.fd, DRM_NPUEDGE_QUERY_CHIP, &chip, sizeof(chip)));
	ASSERT_LT(chip.cores, 64);
	make_streams(&c, streams, 1, 0);
	for (unsigned int i = 1; i < 64; i++)
		streams[i] = streams[0];
	for (unsigned int count = chip.cores + 1; count <= 64; count++)
		EXPECT_EQ(-EINVAL, submit(&c, streams, count, 0, 0));
	EXPECT_EQ(-EINVAL, submit(&c, streams, 0, 0, 0));
	EXPECT_EQ(-EINVAL, submit(&c, streams, UINT32_MAX, 0, 0));
	/* each stream is looked at, the last as well */
	streams[chip.cores - 1].size = 0;
	EXPECT_EQ(-EINVAL, submit(&c, streams, chip.cores, 0, 0));
	streams[chip.cores - 1] = (struct drm_npuedge_stream){ .va = NPU_STREAM + 32, .size = NE1_CMD_SIZE };
	EXPECT_EQ(-EINVAL, submit(&c, streams, chip.cores, 0, 0));
	/* nothing was queued, and nothing is wrong with the queue */
	EXPECT_TRUE(untouched(&c, TARGET, MOST * WORDS));
	EXPECT_NE(0, npu_wait(c.fd, c.sync, 1000000));
	EXPECT_EQ(0, wide_job_works(&c, chip.cores < MOST ? chip.cores : MOST));
	npu_client_fini(&c);
}

TEST_HARNESS_MAIN
