// SPDX-License-Identifier: GPL-2.0
/*
 * Clients that die by SIGKILL at any point of their lives: opening, binding, submitting, waiting.  Others notice
 * nothing, and nothing of the dead is left.  NPU_KILLS: how many die (20).
 */
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "buffer.h"
#include "debugfs.h"

#define SHORT_JOBS	4

FIXTURE(kill) {
	struct npu_client c;
	struct drm_npuedge_memory_info memory;	/* of the device, while there is nobody but us */
	long kills, hits;			/* hits: a core worked for the one who was killed */
	unsigned int seed;
};

FIXTURE_SETUP(kill)
{
	const char *text = getenv("NPU_KILLS");
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (npu_knob_number("job_timeout_ms") < 0)
		SKIP(return, "debugfs is not there (ring)");
	npu_settle(self->c.fd, 1);
	self->memory = npu_memory(self->c.fd);
	self->kills = text ? atol(text) : 20;
	ASSERT_GT(self->kills, 0);
	self->seed = time(NULL);
	TH_LOG("%ld kills, seed %u", self->kills, self->seed);
}

FIXTURE_TEARDOWN(kill)
{
	npu_client_fini(&self->c);
}

/* Opens, binds, submits what is short and what is long, closes; again and again, or waits with the long jobs if @stay. */
static void victim(int ready, bool stay)
{
	struct npu_client c;

	for (;;) {
		uint32_t size;

		if (npu_client_init(&c))
			_exit(1);
		size = npu_copy_stream(c.stream, 1, 4);
		for (int i = 0; i < SHORT_JOBS; i++)
			npu_submit(c.fd, c.queue, NPU_STREAM, size, NPU_PARAMS, 0, c.sync);
		if (write(ready, "", 1) != 1)
			_exit(1);
		npu_wait(c.fd, c.sync, NPU_WAIT_NS);
		size = npu_slow_stream(c.stream, stay ? 8000 : 40);
		for (int i = 0; i < SHORT_JOBS; i++)
			npu_submit(c.fd, c.queue, NPU_STREAM, size, NPU_PARAMS, 0, c.sync);
		if (stay)
			pause();
		npu_unmap(c.fd, c.vm, NPU_VA, NPU_CLIENT_SIZE / 2);
		npu_client_fini(&c);
	}
}

/*
 * Kills a client: when a core works for it if @on_core, which *hit then tells, or else at the latest @most_us after it has
 * submitted for the first time.  Returns 0 or -errno.
 */
static int kill_one(unsigned int *seed, unsigned int most_us, bool on_core, bool *hit)
{
	int fds[2], status;
	pid_t pid;
	char byte;

	if (pipe(fds))
		return -errno;
	pid = fork();
	if (!pid) {
		close(fds[0]);
		victim(fds[1], on_core);
	}
	close(fds[1]);
	status = pid < 0 ? -errno : read(fds[0], &byte, 1) == 1 ? 0 : -EPIPE;
	close(fds[0]);
	if (pid < 0)
		return status;
	usleep(rand_r(seed) % most_us);
	/* nobody else has work for them */
	*hit = on_core && npu_job_runs();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return status;
}

/* The own job of a client that lives all the time. */
static int witness(struct npu_client *c, uint32_t value)
{
	int ret;

	c->data[0] = value;
	c->data[1] = 0;
	ret = npu_submit(c->fd, c->queue, NPU_STREAM, npu_copy_stream(c->stream, 1, 4), NPU_PARAMS, 0, c->sync);
	if (!ret)
		ret = npu_wait(c->fd, c->sync, NPU_WAIT_NS);
	if (!ret)
		ret = npu_sync_status(c->fd, c->sync) == 1 ? 0 : -EIO;
	return ret ? ret : c->data[1] == value ? 0 : -EILSEQ;
}

TEST_F_TIMEOUT(kill, others_notice_nothing, 7200)
{
	struct npu_client *c = &self->c;

	for (long i = 0; i < self->kills; i++) {
		bool hit;

		ASSERT_EQ(0, kill_one(&self->seed, 20000, i & 1, &hit));
		self->hits += hit;
		ASSERT_EQ(0, witness(c, 0x1000 + i)) {
			TH_LOG("after kill %ld", i);
		}
	}
	TH_LOG("%ld of %ld were killed with a job on a core, or more", self->hits, self->kills);
	EXPECT_EQ(self->kills / 2, self->hits);
	EXPECT_TRUE(npu_memory_returns(c->fd, &self->memory));
}

TEST_F_TIMEOUT(kill, nothing_is_left, 600)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_chip_info chip = { 0 };
	uint32_t queues = 0;

	ASSERT_EQ(0, npu_query(c->fd, DRM_NPUEDGE_QUERY_CHIP, &chip, sizeof(chip)));
	for (int i = 0; i < 10; i++) {
		bool hit;

		ASSERT_EQ(0, kill_one(&self->seed, 20000, i & 1, &hit));
		EXPECT_EQ(i & 1, hit);
	}
	EXPECT_TRUE(npu_memory_returns(c->fd, &self->memory));
	/* Every queue of the device but our own can be had, so the dead hold none. */
	for (int tries = 0; queues < chip.queue_limit - 1 && tries < 1200; tries++) {
		int queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);

		if (queue > 0)
			queues++;
		else
			usleep(50000 * npu_slowness());
	}
	EXPECT_EQ(chip.queue_limit - 1, queues);
	EXPECT_EQ(0, witness(c, 7));
}

TEST_HARNESS_MAIN
