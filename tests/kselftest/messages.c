// SPDX-License-Identifier: GPL-2.0
/*
 * What firmware answers, to each kind of message that the driver sends: every status there can be, and answers that come
 * when nobody waits for them any more.  The caller gets an error or not, but whatever it is, it is over.
 *
 * NPU_STATUSES: how many statuses, from 0 on, are tried (64; fewer on slow kernels, as most cost a reset), and then
 * some of the larger ones.
 */
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "debugfs.h"
#include "inject.h"
#include "ne1_fwabi.h"

FIXTURE(messages) {
	struct npu_inject inj;
	struct npu_client c;
	long long timeout;
	unsigned int statuses;
};

FIXTURE_SETUP(messages)
{
	const char *text = getenv("NPU_STATUSES");
	const char *missing = inject_client(&self->inj, &self->c);

	if (missing)
		SKIP(return, "%s", missing);
	self->timeout = npu_knob_number("job_timeout_ms");
	if (self->timeout < 0)
		SKIP(return, "debugfs is not there (job_timeout_ms)");
	self->statuses = text ? atoi(text) : 64 / npu_slowness();
}

FIXTURE_TEARDOWN(messages)
{
	char text[32];

	inject_close(&self->inj);
	npu_client_fini(&self->c);
	if (self->timeout > 0) {
		snprintf(text, sizeof(text), "%lld", self->timeout);
		npu_knob_write("job_timeout_ms", text);
	}
	npu_dumps_clear();
}

/* What has a message sent; 0 or -errno. */
typedef int (*send_fn)(struct npu_client *c);

static int send_create(struct npu_client *c)
{
	int id = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);

	if (id < 0)
		return id;
	return npu_queue_destroy(c->fd, id);
}

static int send_reset(struct npu_client *c)
{
	int id = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL), sync = npu_syncobj_create(c->fd), ret;

	if (id < 0)
		return id;
	ret = npu_submit(c->fd, id, NPU_STREAM, npu_slow_stream(c->stream, 2000), NPU_PARAMS, 0, sync);
	/* what the scheduler has not given to the device yet needs no reset of the queue */
	if (!ret && !npu_job_runs())
		ret = -ETIMEDOUT;
	if (!ret)
		ret = npu_queue_destroy(c->fd, id);
	/* it has ended, and not well */
	if (!ret)
		ret = npu_wait(c->fd, sync, NPU_WAIT_NS);
	if (!ret && npu_sync_status(c->fd, sync) != -ECANCELED)
		ret = -EBADMSG;
	npu_syncobj_destroy(c->fd, sync);
	return ret;
}

static int send_flush(struct npu_client *c)
{
	int vm = npu_vm_create(c->fd), id = npu_queue_create(c->fd, vm, DRM_NPUEDGE_PRIORITY_NORMAL);

	if (id < 0)
		return id;
	npu_queue_destroy(c->fd, id);
	return npu_vm_destroy(c->fd, vm);
}

static int send_counters(struct npu_client *c)
{
	struct drm_npuedge_perfmon_create create = { .queue_id = c->queue };
	struct drm_npuedge_perfmon_destroy destroy = { 0 };
	int ret = npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_CREATE, &create);

	destroy.id = create.id;
	return ret ? ret : npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_DESTROY, &destroy);
}

static int send_log_level(struct npu_client *c)
{
	long long level = npu_knob_number("fw_log_level");
	char text[32];

	(void)c;
	snprintf(text, sizeof(text), "%lld", level);
	if (level < 0)
		return level;
	level = npu_knob_write("fw_log_level", text);
	/* a file of debugfs says what the protocol does; calls say -EIO */
	return level == -EPROTO ? -EIO : level;
}

static const struct {
	const char *name;
	uint16_t type;
	send_fn send;
	bool tells;	/* the caller hears of it */
} kinds[] = {
	{ "QUEUE_CREATE", NE1_CMD_QUEUE_CREATE, send_create, true },
	{ "QUEUE_DESTROY", NE1_CMD_QUEUE_DESTROY, send_create },
	{ "QUEUE_RESET", NE1_CMD_QUEUE_RESET, send_reset },
	{ "VM_FLUSH", NE1_CMD_VM_FLUSH, send_flush },
	{ "COUNTERS", NE1_CMD_COUNTERS, send_counters },
	{ "LOG_LEVEL", NE1_CMD_LOG_LEVEL, send_log_level, true },
};

static void try_status(struct __test_metadata *_metadata, struct npu_inject *inj, struct npu_client *c, size_t kind,
		       unsigned int status)
{
	int ret;

	inject_begin(inj, NPUSIM_REPLY_STATUS);
	inject_arg(inj, 0, kinds[kind].type);
	inject_arg(inj, 1, status);
	inject_count(inj, 1);
	ASSERT_EQ(0, inject_arm(inj));
	ret = kinds[kind].send(c);
	EXPECT_TRUE(!ret || (status && (ret == -EIO || ret == -EBUSY || ret == -EOPNOTSUPP))) {
		TH_LOG("%s, status %u: %d", kinds[kind].name, status, ret);
	}
	if (kinds[kind].tells && status)
		EXPECT_NE(0, ret);
	/* a queue's, or VM's, last work may be done behind the call's back */
	EXPECT_TRUE(inject_wait(inj, NPUSIM_REPLY_STATUS, 1, 5000)) {
		TH_LOG("%s was not sent", kinds[kind].name);
	}
	inject_disarm_all(inj);
	/* What firmware has, and the driver does not know of, costs whom it hits next one call. */
	if (status == NE1_MSG_NO_RESOURCE)
		send_create(c);
	/* If that was behind the call's back, so is the reset for it, which a job that was just started may meet. */
	ret = npu_copy_word(c, c->data[0] + 1);
	if (ret == -ECANCELED)
		ret = npu_copy_word(c, c->data[0] + 1);
	EXPECT_EQ(0, ret) {
		TH_LOG("after %s, status %u", kinds[kind].name, status);
	}
	npu_dumps_clear();
}

TEST_F_TIMEOUT(messages, every_status_of_every_kind, 900)
{
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
		int64_t begin = npu_deadline(0);

		for (unsigned int status = 0; status < self->statuses; status++)
			try_status(_metadata, &self->inj, &self->c, kind, status);
		for (unsigned int status = 16; status <= 0xffff; status = status * 2 + 1) {
			if (status >= self->statuses)
				try_status(_metadata, &self->inj, &self->c, kind, status);
		}
		TH_LOG("%s: %lld ms", kinds[kind].name, (long long)(npu_deadline(0) - begin) / 1000000);
	}
	EXPECT_EQ(0, npu_device_works());
}

/* Takes all queues, and keeps them until it is killed. */
static void hold_queues(int ready, unsigned int limit)
{
	struct npu_client c;

	if (npu_client_init(&c))
		_exit(1);
	for (unsigned int i = 1; i < limit; i++) {
		if (npu_queue_create(c.fd, c.vm, DRM_NPUEDGE_PRIORITY_NORMAL) < 0)
			_exit(2);
	}
	npu_submit(c.fd, c.queue, NPU_STREAM, npu_slow_stream(c.stream, 400), NPU_PARAMS, 0, c.sync);
	if (write(ready, "", 1) != 1)
		_exit(3);
	pause();
}

/* The owner of all queues is killed, and the answer to one of the messages that end them comes 2 s late. */
TEST_F_TIMEOUT(messages, late_reply_after_the_owner_died, 120)
{
	static const uint16_t types[] = { NE1_CMD_QUEUE_DESTROY, NE1_CMD_QUEUE_RESET };
	struct npu_client *c = &self->c;
	struct drm_npuedge_chip_info chip = { 0 };

	ASSERT_EQ(0, npu_query(c->fd, DRM_NPUEDGE_QUERY_CHIP, &chip, sizeof(chip)));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		long long resets = npu_knob_number("reset");
		unsigned int queues = 0;
		int pipes[2], last;
		pid_t child;
		char byte;

		ASSERT_EQ(0, pipe(pipes));
		child = fork();
		ASSERT_GE(child, 0);
		if (!child)
			hold_queues(pipes[1], chip.queue_limit - 1);
		close(pipes[1]);
		ASSERT_EQ(1, read(pipes[0], &byte, 1));
		close(pipes[0]);
		EXPECT_EQ(-EBUSY, npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL));

		inject_begin(&self->inj, NPUSIM_REPLY_LATE);
		inject_arg(&self->inj, 0, types[i]);
		inject_count(&self->inj, 1);
		inject_duration_us(&self->inj, 2000000);
		ASSERT_EQ(0, inject_arm(&self->inj));
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, NULL, 0));

		/* all but our own become free, and each of them works */
		for (int tries = 0; queues < chip.queue_limit - 1 && tries < 200; tries++) {
			last = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
			if (last < 0) {
				ASSERT_EQ(-EBUSY, last);
				usleep(50000 * npu_slowness());
				continue;
			}
			queues++;
			npu_copy_stream(c->stream, 1, 4);
			ASSERT_EQ(0, npu_submit(c->fd, last, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
			ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
			ASSERT_EQ(1, npu_sync_status(c->fd, c->sync));
		}
		EXPECT_EQ(chip.queue_limit - 1, queues);
		EXPECT_TRUE(inject_wait(&self->inj, NPUSIM_REPLY_LATE, 1, 1000));
		/* 2 s are within what the driver waits: nothing had to be reset for it */
		EXPECT_EQ(resets, npu_knob_number("reset"));
		EXPECT_EQ(0, npu_copy_word(c, c->data[0] + 1));
		npu_client_fini(c);
		ASSERT_EQ(0, npu_client_init(c));
	}
}

/*
 * A core that does not stop when firmware tells it to: firmware says so, and only a reset helps.  Before that the others'
 * queues are held, which needs nobody's consent: @status is the answer to that.
 */
static void core_does_not_stop(struct __test_metadata *_metadata, struct npu_inject *inj, struct npu_client *c,
			       unsigned int status)
{
	struct drm_npuedge_queue_get_state state;
	struct npu_client other;
	long long resets = npu_knob_number("reset");

	ASSERT_EQ(0, npu_client_init(&other));
	npu_new_queue(c);
	ASSERT_GT(c->queue, 0);
	inject_begin(inj, NPUSIM_STOP_IGNORED);
	inject_count(inj, 0);
	ASSERT_EQ(0, inject_arm(inj));
	inject_begin(inj, NPUSIM_REPLY_STATUS);
	inject_arg(inj, 0, NE1_CMD_QUEUE_SUSPEND);
	inject_arg(inj, 1, status);
	inject_count(inj, 0);
	ASSERT_EQ(0, inject_arm(inj));
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, npu_slow_stream(c->stream, 8000), NPU_PARAMS, 0, c->sync));
	ASSERT_TRUE(npu_job_runs());
	npu_copy_stream(other.stream, 1, 4);
	ASSERT_EQ(0, npu_submit(other.fd, other.queue, NPU_STREAM, 192, NPU_PARAMS, 0, other.sync));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
	EXPECT_EQ(-ETIME, npu_sync_status(c->fd, c->sync));
	EXPECT_GE(inject_fired(inj, NPUSIM_STOP_IGNORED), 1);
	EXPECT_GE(inject_fired(inj, NPUSIM_REPLY_STATUS), 1);
	state = (struct drm_npuedge_queue_get_state){ .id = c->queue };
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_GUILTY, state.state);
	EXPECT_EQ(DRM_NPUEDGE_REASON_TIMEOUT, state.reason);
	ASSERT_EQ(0, npu_wait(other.fd, other.sync, 3 * NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(other.fd, other.sync));
	/* it is counted when its jobs have long been given back */
	for (int i = 0; i < 200 && npu_knob_number("reset") == resets; i++)
		usleep(10000);
	EXPECT_EQ(resets + 1, npu_knob_number("reset"));
	inject_disarm_all(inj);
	EXPECT_EQ(0, npu_device_works());
	npu_client_fini(&other);
	npu_dumps_clear();
}

TEST_F_TIMEOUT(messages, core_that_does_not_stop, 240)
{
	static const unsigned int statuses[] = { NE1_MSG_OK, NE1_MSG_BAD_TYPE, 0xffff };

	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", "1000"));
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		core_does_not_stop(_metadata, &self->inj, &self->c, statuses[i]);
}

/*
 * A job takes too long, and ends by itself before firmware, which looks away for a while, hears that it is to be stopped.
 * When firmware looks again it sees that first, and begins the next, which is then stopped in its place: that one is lost,
 * or run again if it may be, but nobody is to blame.  Returns whether it came to that.
 */
static bool next_is_stopped(struct __test_metadata *_metadata, struct npu_inject *inj, struct npu_client *c, uint32_t flags)
{
	struct drm_npuedge_queue_get_state state = { .id = c->queue };
	bool rerun = flags & DRM_NPUEDGE_JOB_RERUN, met;
	/* ends of a stream, with its END: one that takes too long, and one that does not if it is to end well */
	uint32_t tail = (npu_slow_count(c, 1500) + 1) * NE1_CMD_SIZE;
	uint32_t tip = ((rerun ? npu_slow_count(c, 200) : 8000) + 1) * NE1_CMD_SIZE;
	uint32_t size = npu_slow_stream(c->stream, 8000);
	int next = npu_syncobj_create(c->fd), status;

	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM + size - tail, tail, NPU_PARAMS, 0, c->sync));
	ASSERT_EQ(0, npu_submit_flags(c->fd, c->queue, NPU_STREAM + size - tip, tip, NPU_PARAMS, 0, next, flags));
	usleep(200000);
	inject_begin(inj, NPUSIM_FW_HANG);
	inject_arg(inj, 0, 0);
	/* longer than a job may take, shorter than the driver waits for a reply */
	inject_duration_us(inj, 4500000);
	ASSERT_EQ(0, inject_arm(inj));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
	met = npu_sync_status(c->fd, c->sync) == 1;
	ASSERT_EQ(0, npu_wait(c->fd, next, 3 * NPU_WAIT_NS));
	status = npu_sync_status(c->fd, next);
	/* on a machine that is slow just then it takes too long itself, when it is run again */
	met = met && !(rerun && status == -ETIME);
	if (met) {
		EXPECT_EQ(rerun ? 1 : -ECANCELED, status);
		ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
		EXPECT_EQ(rerun ? DRM_NPUEDGE_QUEUE_OK : DRM_NPUEDGE_QUEUE_INNOCENT, state.state);
	}
	npu_syncobj_destroy(c->fd, next);
	inject_disarm_all(inj);
	return met;
}

static void job_ends_before_it_is_stopped(struct __test_metadata *_metadata, struct npu_inject *inj, struct npu_client *c,
					  uint32_t flags)
{
	bool met = false;

	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", "1000"));
	/* how long it takes depends on what else the machine does */
	for (int i = 0; !met && i < 3; i++) {
		npu_new_queue(c);
		ASSERT_GT(c->queue, 0);
		met = next_is_stopped(_metadata, inj, c, flags);
	}
	EXPECT_TRUE(met);
	npu_new_queue(c);
	EXPECT_EQ(0, npu_copy_word(c, 7));
	npu_dumps_clear();
}

TEST_F_TIMEOUT(messages, job_that_ends_before_it_is_stopped, 300)
{
	job_ends_before_it_is_stopped(_metadata, &self->inj, &self->c, 0);
}

TEST_F_TIMEOUT(messages, job_stopped_in_anothers_place_is_run_again, 300)
{
	job_ends_before_it_is_stopped(_metadata, &self->inj, &self->c, DRM_NPUEDGE_JOB_RERUN);
}

/* Hung for good, and its owner, or the driver, goes: fences signal at once all the same. */
TEST_F_TIMEOUT(messages, hung_core_does_not_keep_fences, 120)
{
	struct npu_client *c = &self->c;
	char slot[64];

	ASSERT_EQ(0, npu_slot(slot, sizeof(slot)));
	for (int unbind = 0; unbind < 2; unbind++) {
		int64_t begin;
		int file;

		ASSERT_EQ(0, inject_arm_fault(&self->inj, NPUSIM_ENGINE_STUCK));
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, npu_slow_stream(c->stream, 100), NPU_PARAMS, 0,
					c->sync));
		file = npu_sync_file(c->fd, c->sync);
		ASSERT_TRUE(inject_wait(&self->inj, NPUSIM_ENGINE_STUCK, 1, 5000));
		EXPECT_EQ(0, npu_sync_file_status(file));
		begin = npu_deadline(0);
		if (unbind) {
			ASSERT_EQ(0, npu_unbind(slot));
		} else {
			npu_client_fini(c);
		}
		EXPECT_LT(npu_wait_file(file), 0);
		TH_LOG("%s: %lld ms", unbind ? "unbind" : "close", (long long)(npu_deadline(0) - begin) / 1000000);
		EXPECT_LT(npu_deadline(0) - begin, 2000000000ll * npu_slowness());
		close(file);
		if (unbind) {
			npu_client_fini(c);
			ASSERT_EQ(0, npu_bind(slot));
		}
		ASSERT_EQ(0, npu_device_works());
		ASSERT_EQ(0, npu_client_init(c));
	}
}

TEST_HARNESS_MAIN
