// SPDX-License-Identifier: GPL-2.0
/* Queues: creation, priorities, limits, state. */
#include <sys/types.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "npuedge.h"

FIXTURE(queue) {
	struct npu_client c;
};

FIXTURE_SETUP(queue)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
}

FIXTURE_TEARDOWN(queue)
{
	npu_client_fini(&self->c);
}

TEST_F(queue, state_of_a_new_one)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_queue_get_state state = { .id = c->queue };

	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_OK, state.state);
	EXPECT_EQ(DRM_NPUEDGE_REASON_NONE, state.reason);
	EXPECT_EQ(0, state.fault);
	EXPECT_EQ(0, state.busy_ns);
}

TEST_F(queue, busy_time_is_accounted)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_queue_get_state state = { .id = c->queue };
	uint32_t size = npu_slow_stream(c->stream, 4);

	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
	EXPECT_GT(state.busy_ns, 0);
}

TEST_F(queue, bad_arguments)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_queue_create create = { .vm_id = c->vm, .priority = 1, .flags = 1 };
	struct drm_npuedge_queue_get_state state = { .id = 4242 };

	EXPECT_EQ(-EINVAL, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_CREATE, &create));
	EXPECT_EQ(-ENOENT, npu_queue_create(c->fd, 0, DRM_NPUEDGE_PRIORITY_NORMAL));
	EXPECT_EQ(-ENOENT, npu_queue_create(c->fd, 4242, DRM_NPUEDGE_PRIORITY_NORMAL));
	EXPECT_EQ(-EINVAL, npu_queue_create(c->fd, c->vm, 4));
	EXPECT_EQ(-EINVAL, npu_queue_create(c->fd, c->vm, ~0u));
	EXPECT_EQ(-ENOENT, npu_queue_destroy(c->fd, 0));
	EXPECT_EQ(-ENOENT, npu_queue_destroy(c->fd, 4242));
	EXPECT_EQ(-ENOENT, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
}

TEST_F(queue, destroyed_once)
{
	struct npu_client *c = &self->c;

	EXPECT_EQ(0, npu_queue_destroy(c->fd, c->queue));
	EXPECT_EQ(-ENOENT, npu_queue_destroy(c->fd, c->queue));
	EXPECT_EQ(-ENOENT, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, 0));
}

TEST_F(queue, priorities_need_permission)
{
	struct npu_client *c = &self->c;
	pid_t child;
	int status;

	for (unsigned int p = DRM_NPUEDGE_PRIORITY_LOW; p <= DRM_NPUEDGE_PRIORITY_REALTIME; p++)
		EXPECT_GT(npu_queue_create(c->fd, c->vm, p), 0);
	if (geteuid())
		SKIP(return, "needs root");
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		int bad = setuid(65534);

		bad |= npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL) <= 0;
		bad |= npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_HIGH) != -EACCES;
		bad |= npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_REALTIME) != -EACCES;
		_exit(bad);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(queue, limit_is_an_error_and_recovers)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_chip_info chip;
	int ids[NE1_MAX_QUEUES + 1], count = 0, ret = 0;

	ASSERT_EQ(0, npu_query(c->fd, DRM_NPUEDGE_QUERY_CHIP, &chip, sizeof(chip)));
	while (count <= NE1_MAX_QUEUES) {
		ret = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		if (ret < 0)
			break;
		ids[count++] = ret;
	}
	EXPECT_EQ(-EBUSY, ret);
	EXPECT_EQ(chip.queue_limit, count + 1); /* ours is one of them */
	for (int i = 0; i < count; i++)
		EXPECT_EQ(0, npu_queue_destroy(c->fd, ids[i]));
	ret = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	EXPECT_GT(ret, 0);
}

/* Queues that this user gets before one is refused with `error`; they stay. */
static uint32_t queues_until(struct npu_client *c, int error)
{
	uint32_t count = 0;
	int ret = 0;

	while (count <= NE1_MAX_QUEUES) {
		ret = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		if (ret < 0)
			break;
		count++;
	}
	return ret == error ? count : UINT32_MAX;
}

TEST_F(queue, no_user_gets_all)
{
	struct drm_npuedge_limits limits;
	struct drm_npuedge_chip_info chip;
	struct npu_client *c = &self->c;
	pid_t child;
	int status;

	ASSERT_EQ(0, npu_query(c->fd, DRM_NPUEDGE_QUERY_CHIP, &chip, sizeof(chip)));
	ASSERT_EQ(0, npu_query(c->fd, DRM_NPUEDGE_QUERY_LIMITS, &limits, sizeof(limits)));
	ASSERT_GE(limits.queues_per_user, 1);
	ASSERT_LT(limits.queues_per_user, chip.queue_limit);
	if (geteuid())
		SKIP(return, "needs root");

	/* the queues are the file's, and stay when the child has ended */
	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		_exit(setuid(65534) || queues_until(c, -EDQUOT) != limits.queues_per_user);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);

	/* another user is not concerned, nor is who may */
	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		_exit(setuid(65533) || npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL) < 0);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	/* ours is one of them, the other user's another */
	EXPECT_EQ(chip.queue_limit - limits.queues_per_user - 2, queues_until(c, -EBUSY));
}

#define CHAIN	4

/* Each job copies what the one before it in its queue has copied: the last word tells that all ran, and in order. */
TEST_F_TIMEOUT(queue, all_queues_at_once, 120)
{
	struct npu_client *c = &self->c;
	int ids[NE1_MAX_QUEUES], syncs[NE1_MAX_QUEUES], count;
	struct drm_npuedge_chip_info chip;
	const uint32_t slow = 60;

	ASSERT_EQ(0, npu_query(c->fd, DRM_NPUEDGE_QUERY_CHIP, &chip, sizeof(chip)));
	count = chip.queue_limit;
	ASSERT_LE(count, NE1_MAX_QUEUES);
	ids[0] = c->queue;
	for (int i = 0; i < count; i++) {
		if (i)
			ids[i] = npu_queue_create(c->fd, c->vm, i & 1);
		ASSERT_GT(ids[i], 0) {
			TH_LOG("queue %d of %d: %d", i, count, ids[i]);
		}
		syncs[i] = npu_syncobj_create(c->fd);
		ASSERT_GT(syncs[i], 0);
		c->data[i * (CHAIN + 1)] = 500 + i;
		for (int k = 0; k < CHAIN; k++) {
			union ne1_cmd *s = c->stream + slow + 1 + 3 * (CHAIN * i + k);

			npu_copy_stream(s, i * (CHAIN + 1) + k + 1, 4);
			s[0].dma.offset = 4 * (i * (CHAIN + 1) + k);
		}
	}
	/* the others gather behind it */
	ASSERT_EQ(0, npu_submit(c->fd, ids[0], NPU_STREAM, npu_slow_stream(c->stream, slow), NPU_PARAMS, 0, 0));
	for (int k = 0; k < CHAIN; k++) {
		for (int i = 0; i < count; i++) {
			uint64_t va = NPU_STREAM + (slow + 1 + 3 * (CHAIN * i + k)) * NE1_CMD_SIZE;

			ASSERT_EQ(0, npu_submit(c->fd, ids[i], va, 192, NPU_PARAMS, 0, syncs[i]));
		}
	}
	for (int i = 0; i < count; i++) {
		struct drm_npuedge_queue_get_state state = { .id = ids[i] };

		ASSERT_EQ(0, npu_wait(c->fd, syncs[i], 3 * NPU_WAIT_NS));
		EXPECT_EQ(1, npu_sync_status(c->fd, syncs[i]));
		EXPECT_EQ(500 + i, c->data[i * (CHAIN + 1) + CHAIN]);
		ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
		EXPECT_EQ(CHAIN + !i, state.completed);
		EXPECT_EQ(DRM_NPUEDGE_QUEUE_OK, state.state);
	}
}

TEST_F(queue, vm_lives_while_a_queue_does)
{
	struct npu_client *c = &self->c;

	npu_copy_stream(c->stream, 1, 4);
	c->data[0] = 8;
	ASSERT_EQ(0, npu_vm_destroy(c->fd, c->vm));
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	EXPECT_EQ(8, c->data[1]);
	EXPECT_EQ(-ENOENT, npu_map(c->fd, c->vm, c->bo, NPU_VA * 2, 0, NPU_PAGE, 0));
}

TEST_HARNESS_MAIN
