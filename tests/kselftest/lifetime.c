// SPDX-License-Identifier: GPL-2.0
/* Files, queues and processes that go away while jobs are in flight: every fence signals, the device goes on. */
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "sysfs.h"

FIXTURE(lifetime) {
	struct npu_client c;
};

FIXTURE_SETUP(lifetime)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
}

FIXTURE_TEARDOWN(lifetime)
{
	npu_client_fini(&self->c);
}

TEST_F_TIMEOUT(lifetime, close_with_jobs_in_flight, 120)
{
	struct npu_client *c = &self->c;
	uint32_t size = npu_slow_stream(c->stream, 400);
	int files[8], cancelled = 0;

	for (int i = 0; i < 8; i++) {
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
		files[i] = npu_sync_file(c->fd, c->sync);
		ASSERT_GE(files[i], 0);
	}
	npu_client_fini(c);
	memset(c, 0, sizeof(*c));
	for (int i = 0; i < 8; i++) {
		int status = npu_wait_file(files[i]);

		EXPECT_TRUE(status == 1 || status == -ECANCELED) {
			TH_LOG("job %d: %d", i, status);
		}
		cancelled += status == -ECANCELED;
		close(files[i]);
	}
	EXPECT_GT(cancelled, 0);
	EXPECT_EQ(0, npu_device_works());
}

TEST_F_TIMEOUT(lifetime, destroy_queue_with_jobs_in_flight, 120)
{
	struct npu_client *c = &self->c;
	uint32_t size = npu_slow_stream(c->stream, 400);
	int file;

	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
	file = npu_sync_file(c->fd, c->sync);
	EXPECT_EQ(0, npu_queue_destroy(c->fd, c->queue));
	EXPECT_EQ(-ECANCELED, npu_wait_file(file));
	close(file);
	c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	npu_copy_stream(c->stream, 1, 4);
	c->data[0] = 6;
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	EXPECT_EQ(6, c->data[1]);
}

TEST_F_TIMEOUT(lifetime, close_with_jobs_that_never_become_ready, 120)
{
	struct npu_client *c = &self->c;
	uint32_t size = npu_slow_stream(c->stream, 400);
	int gate = npu_syncobj_create(c->fd), second = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	int files[100];

	/* a hundred jobs behind a slow one of another queue of the same file */
	npu_copy_stream(c->stream + 401, 1, 4);
	ASSERT_EQ(0, npu_submit(c->fd, second, NPU_STREAM, size, NPU_PARAMS, 0, gate));
	for (int i = 0; i < 100; i++) {
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM + 401 * 64, 192, NPU_PARAMS, gate, c->sync));
		files[i] = npu_sync_file(c->fd, c->sync);
	}
	npu_client_fini(c);
	memset(c, 0, sizeof(*c));
	for (int i = 0; i < 100; i++) {
		EXPECT_NE(-ETIME, npu_wait_file(files[i]));
		close(files[i]);
	}
	EXPECT_EQ(0, npu_device_works());
}

TEST_F_TIMEOUT(lifetime, kill_a_client_mid_job, 120)
{
	for (int round = 0; round < 5; round++) {
		int pipes[2], status;
		pid_t child;
		char go;

		ASSERT_EQ(0, pipe(pipes));
		child = fork();
		ASSERT_GE(child, 0);
		if (!child) {
			struct npu_client c;

			if (npu_client_init(&c))
				_exit(1);
			npu_submit(c.fd, c.queue, NPU_STREAM, npu_slow_stream(c.stream, 400), NPU_PARAMS, 0, c.sync);
			if (write(pipes[1], "x", 1) != 1)
				_exit(1);
			pause();
		}
		ASSERT_EQ(1, read(pipes[0], &go, 1));
		usleep(round * 7000);
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		close(pipes[0]);
		close(pipes[1]);
		EXPECT_EQ(0, npu_device_works());
	}
}

TEST_F(lifetime, fork_shares_the_file)
{
	struct npu_client *c = &self->c;
	int status;
	pid_t child;

	npu_copy_stream(c->stream, 1, 4);
	c->data[0] = 31;
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		int ret = npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync);

		_exit(ret != 0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	EXPECT_EQ(31, c->data[1]);
}

TEST_HARNESS_MAIN
