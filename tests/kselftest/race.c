// SPDX-License-Identifier: GPL-2.0
/* Calls that race: threads of one file create, use and destroy the same few ids for five seconds. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kselftest_harness.h"
#include "sysfs.h"

#define THREADS		6
#define SECONDS		5

FIXTURE(race) {
	struct npu_client c;
};

FIXTURE_SETUP(race)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
}

FIXTURE_TEARDOWN(race)
{
	npu_client_fini(&self->c);
}

struct racer {
	struct npu_client *c;
	unsigned int seed;
	volatile bool *stop;
	long calls;
	int bad;	/* an errno that no call may return */
};

static int race_once(struct racer *r)
{
	int fd = r->c->fd;
	uint32_t id = 1 + rand_r(&r->seed) % 5, other = 1 + rand_r(&r->seed) % 5;
	uint64_t va = NPU_VA + ((rand_r(&r->seed) & 0xff) << 12);
	struct drm_npuedge_queue_get_state state = { .id = id };

	switch (rand_r(&r->seed) % 12) {
	case 0: return npu_vm_create(fd);
	case 1: return npu_vm_destroy(fd, id);
	case 2: return npu_queue_create(fd, id, DRM_NPUEDGE_PRIORITY_NORMAL);
	case 3: return npu_queue_destroy(fd, id);
	case 4: return npu_bo_create(fd, 64 << 10, 0, 0);
	case 5: return npu_bo_create(fd, 64 << 10, 0, id);
	case 6: npu_bo_close(fd, id + 1); return 0;
	case 7: return npu_map(fd, id, other, va, 0, 16 << 10, 0);
	case 8: return npu_unmap(fd, id, va, 64 << 10);
	case 9: return npu_ioctl(fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state);
	default: return npu_submit(fd, id, NPU_STREAM, 192, NPU_PARAMS, 0, r->c->sync);
	}
}

static void *race_run(void *arg)
{
	struct racer *r = arg;

	while (!*r->stop) {
		int ret = race_once(r);

		r->calls++;
		switch (ret) {
		case -ENOENT: case -EBUSY: case -EIO: case -EPERM: case -EINVAL:
			break;
		default:
			if (ret < 0)
				r->bad = ret;
		}
	}
	return NULL;
}

TEST_F_TIMEOUT(race, create_use_destroy, 60)
{
	struct racer r[THREADS];
	pthread_t thread[THREADS];
	volatile bool stop = false;
	int file;

	npu_copy_stream(self->c.stream, 1, 4);
	for (int i = 0; i < THREADS; i++) {
		r[i] = (struct racer){ .c = &self->c, .seed = 4711 + i, .stop = &stop };
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, race_run, &r[i]));
	}
	for (int i = 0; i < SECONDS * 20; i++) {
		char buffer[4096];
		int fdinfo;

		snprintf(buffer, sizeof(buffer), "/proc/self/fdinfo/%d", self->c.fd);
		fdinfo = open(buffer, O_RDONLY);
		EXPECT_GT(read(fdinfo, buffer, sizeof(buffer)), 0);
		close(fdinfo);
		usleep(50000);
	}
	stop = true;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, r[i].bad);
		EXPECT_GT(r[i].calls, 0);
	}
	/* whatever job was last, it ends */
	file = npu_sync_file(self->c.fd, self->c.sync);
	if (file >= 0) {
		EXPECT_NE(-ETIME, npu_wait_file(file));
		close(file);
	}
	/* all hardware queues may be taken */
	npu_client_fini(&self->c);
	memset(&self->c, 0, sizeof(self->c));
	EXPECT_EQ(0, npu_device_works());
}

TEST_F_TIMEOUT(race, close_while_others_call, 60)
{
	for (int round = 0; round < 10; round++) {
		struct npu_client c;
		struct racer r;
		volatile bool stop = false;
		pthread_t thread;

		ASSERT_EQ(0, npu_client_init(&c));
		npu_copy_stream(c.stream, 1, 4);
		r = (struct racer){ .c = &c, .seed = round, .stop = &stop };
		ASSERT_EQ(0, pthread_create(&thread, NULL, race_run, &r));
		usleep(30000);
		close(c.fd);	/* calls that are under way keep the file */
		stop = true;
		pthread_join(thread, NULL);
		c.fd = 0;
		npu_client_fini(&c);
	}
	EXPECT_EQ(0, npu_device_works());
}

/* Memory that is unmapped while a job writes to it: nobody else's data changes once the call has returned. */
TEST_F_TIMEOUT(race, unmap_under_a_running_job, 60)
{
	struct npu_client *c = &self->c;
	const uint64_t va = NPU_VA * 4, size = 256 << 10;

	for (int round = 0; round < 10; round++) {
		union ne1_cmd *s = c->stream;
		int bo = npu_bo_create(c->fd, size, 0, 0), fresh;
		uint32_t *map;

		ASSERT_GT(bo, 0);
		ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, va, 0, size, 0));
		c->params->base[1] = va;
		c->data[0] = 0xdead;
		s[0] = npu_dma(NE1_OP_LD, 0, 64, 0);
		s[0].hdr.signal[0] = 0;
		for (int i = 1; i <= 2000; i++) {
			s[i] = npu_dma(NE1_OP_ST, (i * 4096ull) % size, 64, 0);
			s[i].dma.base = 1;
		}
		s[1].hdr.wait[0] = 0;
		s[2001] = npu_cmd(NE1_OP_END);
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 2002 * 64, NPU_PARAMS, 0, c->sync));
		usleep(round * 300);
		npu_bo_close(c->fd, bo);
		ASSERT_EQ(0, npu_unmap(c->fd, c->vm, va, size));

		/* likely the same pages */
		fresh = npu_bo_create(c->fd, size, 0, 0);
		map = npu_bo_map(c->fd, fresh, size);
		ASSERT_NE(MAP_FAILED, map);
		memset(map, 0x11, size);
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
		for (uint64_t i = 0; i < size / 4; i++)
			ASSERT_EQ(0x11111111, map[i]);
		munmap(map, size);
		npu_bo_close(c->fd, fresh);
		npu_queue_destroy(c->fd, c->queue);
		c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		ASSERT_GT(c->queue, 0);
	}
}

struct scribbler {
	union ne1_cmd *stream;
	unsigned int commands;
	volatile bool *stop;
	long rounds;
};

/* Now a stream that can run, now any bits in any of its words. */
static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	unsigned int seed = 815;

	while (!*s->stop) {
		volatile uint64_t *words = (volatile uint64_t *)s->stream;

		npu_copy_stream(s->stream, 1, 4);
		for (int i = 0; i < 4; i++)
			words[rand_r(&seed) % (s->commands * NE1_CMD_SIZE / 8)] ^= 1ull << rand_r(&seed) % 64;
		s->rounds++;
	}
	return NULL;
}

/* What the device reads is never what the kernel has checked: commands may change at any time, and harm their owner. */
TEST_F_TIMEOUT(race, stream_changes_while_it_runs, 120)
{
	struct npu_client *c = &self->c, other;
	volatile bool stop = false;
	struct scribbler s = { .stream = c->stream, .commands = 3, .stop = &stop };
	pthread_t thread;
	int faults = 0;

	ASSERT_EQ(0, npu_client_init(&other));
	npu_copy_stream(other.stream, 1, 4);
	memset(other.data, 0x33, NPU_PAGE);
	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &s));
	for (int i = 0; i < 500; i++) {
		int ret = npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync);

		if (!ret) {
			ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
			ret = npu_sync_status(c->fd, c->sync);
		}
		ASSERT_TRUE(ret == 1 || ret == -EIO || ret == -ETIME) {
			TH_LOG("round %d: %d", i, ret);
		}
		if (ret != 1) {
			faults++;
			npu_new_queue(c);
			ASSERT_GT(c->queue, 0);
		}
		if (i % 25)
			continue;
		other.data[0] = i;
		ASSERT_EQ(0, npu_submit(other.fd, other.queue, NPU_STREAM, 192, NPU_PARAMS, 0, other.sync));
		ASSERT_EQ(0, npu_wait(other.fd, other.sync, 3 * NPU_WAIT_NS));
		ASSERT_EQ(1, npu_sync_status(other.fd, other.sync));
		ASSERT_EQ(i, other.data[1]);
	}
	stop = true;
	pthread_join(thread, NULL);
	TH_LOG("%d faults of 500 jobs, %ld rounds", faults, s.rounds);
	EXPECT_GT(faults, 0);
	for (unsigned int i = 2; i < NPU_PAGE / 4; i++)
		ASSERT_EQ(0x33333333, other.data[i]);
	npu_client_fini(&other);
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
