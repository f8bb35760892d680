// SPDX-License-Identifier: GPL-2.0
/* Files, queues and processes that go away while jobs are in flight: every fence signals, the device goes on. */
#include <signal.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "buffer.h"
#include "debugfs.h"
#include "vgem.h"

FIXTURE(lifetime) {
	struct npu_client c;
	int watch;				/* a file that has nothing */
	struct drm_npuedge_memory_info memory;	/* of the device, with the client */
};

FIXTURE_SETUP(lifetime)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (npu_knob_number("job_timeout_ms") < 0)
		SKIP(return, "debugfs is not there (ring)");
	self->watch = npu_open();
	ASSERT_GE(self->watch, 0);
	npu_settle(self->watch, 1);
	self->memory = npu_memory(self->watch);
	ASSERT_EQ(1, self->memory.buffers);
}

FIXTURE_TEARDOWN(lifetime)
{
	npu_client_fini(&self->c);
	if (self->watch > 0)
		close(self->watch);
}

/* Buffers and tables are those of a client that has done nothing: makes one to look. */
static bool nothing_is_left(int watch, const struct drm_npuedge_memory_info *want)
{
	struct npu_client c;
	bool same;

	if (npu_client_init(&c))
		return false;
	same = npu_memory_returns(watch, want);
	npu_client_fini(&c);
	return same;
}

TEST_F_TIMEOUT(lifetime, close_with_jobs_in_flight, 120)
{
	struct npu_client *c = &self->c;
	uint32_t size = npu_slow_stream(c->stream, 8000);
	int files[8], cancelled = 0;

	for (int i = 0; i < 8; i++) {
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
		files[i] = npu_sync_file(c->fd, c->sync);
		ASSERT_GE(files[i], 0);
	}
	ASSERT_TRUE(npu_job_runs());
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
	EXPECT_TRUE(nothing_is_left(self->watch, &self->memory));
}

TEST_F_TIMEOUT(lifetime, destroy_queue_with_jobs_in_flight, 120)
{
	struct npu_client *c = &self->c;
	uint32_t size = npu_slow_stream(c->stream, 8000);
	int file;

	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
	file = npu_sync_file(c->fd, c->sync);
	ASSERT_TRUE(npu_job_runs());
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
	EXPECT_TRUE(nothing_is_left(self->watch, &self->memory));
}

/* A core works for it when it dies, in later rounds since a little while. */
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
			npu_submit(c.fd, c.queue, NPU_STREAM, npu_slow_stream(c.stream, 8000), NPU_PARAMS, 0, c.sync);
			if (write(pipes[1], "x", 1) != 1)
				_exit(1);
			pause();
		}
		ASSERT_EQ(1, read(pipes[0], &go, 1));
		EXPECT_TRUE(npu_job_runs());
		usleep(round * 7000);
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		close(pipes[0]);
		close(pipes[1]);
		EXPECT_EQ(0, npu_device_works());
		EXPECT_TRUE(npu_memory_returns(self->watch, &self->memory));
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

static int send_file(int socket, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	return sendmsg(socket, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_file(int socket)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd = -EPIPE;

	if (recvmsg(socket, &msg, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* Makes everything, submits, passes the file on and is gone, and with it the address space of the submits. */
static void maker(int socket, int jobs, uint32_t count, int dmabuf)
{
	struct npu_client c;
	int gate;

	if (npu_client_init(&c))
		_exit(1);
	gate = vgem_syncobj(c.fd, dmabuf);
	npu_slow_stream(c.stream, count);
	npu_copy_stream(c.stream + count, 1, 4);
	c.data[0] = 0x5ca1ab1e;
	for (int i = 0; i < jobs; i++) {
		if (npu_submit(c.fd, c.queue, NPU_STREAM, (count + 3) * NE1_CMD_SIZE, NPU_PARAMS,
			       i == jobs - 1 ? gate : 0, c.sync))
			_exit(2);
	}
	/* what the receiver cannot know: names, in the order of struct npu_client */
	if (write(socket, &c, sizeof(c)) != sizeof(c) || send_file(socket, c.fd))
		_exit(3);
	_exit(0);
}

/* @close_at_once: the one who got the file closes it with all jobs in flight, else it uses it first. */
static void pass_on(struct __test_metadata *_metadata, bool close_at_once)
{
	const uint32_t count = close_at_once ? 1000 : 100;
	int sockets[2], status, fd, file;
	struct npu_client c;
	struct vgem v;
	uint32_t *map;
	pid_t child;

	/* the last job waits for us: it has not ended when we have the file */
	ASSERT_EQ(0, vgem_init(&v, NPU_PAGE));
	ASSERT_EQ(0, vgem_begin(&v, VGEM_WRITE));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		close(sockets[0]);
		maker(sockets[1], 8, count, v.dmabuf);
	}
	close(sockets[1]);
	ASSERT_EQ(sizeof(c), read(sockets[0], &c, sizeof(c)));
	fd = receive_file(sockets[0]);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, status);
	file = npu_sync_file(fd, c.sync);
	ASSERT_GE(file, 0);
	EXPECT_EQ(0, npu_sync_file_status(file));

	if (!close_at_once) {
		ASSERT_EQ(0, vgem_end(&v));
		EXPECT_EQ(1, npu_wait_file(file));
		map = npu_bo_map(fd, c.bo, NPU_CLIENT_SIZE);
		ASSERT_NE(MAP_FAILED, map);
		EXPECT_EQ(0x5ca1ab1e, map[NPU_PAGE / 4 + 1]);
		/* its queue goes on in the name of whoever has the file */
		map[NPU_PAGE / 4] = 77;
		EXPECT_EQ(0, npu_submit(fd, c.queue, NPU_STREAM + count * NE1_CMD_SIZE, 192, NPU_PARAMS, 0, c.sync));
		EXPECT_EQ(0, npu_wait(fd, c.sync, NPU_WAIT_NS));
		EXPECT_EQ(77, map[NPU_PAGE / 4 + 1]);
		munmap(map, NPU_CLIENT_SIZE);
	}
	close(fd);
	/* one that waits is cancelled when its turn comes */
	vgem_fini(&v);
	EXPECT_NE(-ETIME, npu_wait_file(file));
	close(file);
	close(sockets[0]);
	EXPECT_EQ(0, npu_device_works());
}

TEST_F_TIMEOUT(lifetime, file_outlives_its_process, 120)
{
	pass_on(_metadata, false);
}

TEST_F_TIMEOUT(lifetime, heir_closes_the_file_mid_job, 120)
{
	for (int i = 0; i < 5; i++)
		pass_on(_metadata, true);
}

TEST_HARNESS_MAIN
