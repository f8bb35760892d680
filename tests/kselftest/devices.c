// SPDX-License-Identifier: GPL-2.0
/*
 * Two devices of one driver: what befalls one is not noticed by the other, and they share buffers.
 *
 * NPU_DEVICES=2: there have to be two; otherwise the tests skip where there is one.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "kselftest_harness.h"
#include "buffer.h"
#include "debugfs.h"
#include "inject.h"

#define ROUNDS	3

/* [0] is the one that inject.h and npu_slot() mean. */
struct device {
	char slot[64];
	struct npu_client c;
};

/* Jobs one after the other, until told to stop; a wrong one ends it. */
struct worker {
	struct npu_client *c;
	pthread_t thread;
	atomic_bool stop;
	atomic_int jobs;
	int error;
};

FIXTURE(devices) {
	struct device d[2];
	struct npu_inject inj;
	struct worker w;
};

/* Slots of the driver's devices; how many there are, of two at most. */
static int find_both(struct device *d)
{
	glob_t slots;
	int found = 0;

	if (glob(NPU_PCI_DRIVER "/0000:*", 0, NULL, &slots))
		return 0;
	while (found < 2 && found < (int)slots.gl_pathc) {
		snprintf(d[found].slot, sizeof(d[found].slot), "%s", basename(slots.gl_pathv[found]));
		found++;
	}
	globfree(&slots);
	return found;
}

/* A file of this device's debugfs folder, whatever the kernel calls that. */
static int knob(struct device *d, const char *name, char *path, size_t size)
{
	glob_t found;
	int ret = -ENOENT;

	if (glob("/sys/kernel/debug/accel/*/name", 0, NULL, &found))
		return ret;
	for (size_t i = 0; i < found.gl_pathc && ret; i++) {
		char *text = npu_read_file(found.gl_pathv[i], NULL);

		if (text && strstr(text, d->slot)) {
			snprintf(path, size, "%.*s%s", (int)(strrchr(found.gl_pathv[i], '/') + 1 - found.gl_pathv[i]),
				 found.gl_pathv[i], name);
			ret = 0;
		}
		free(text);
	}
	globfree(&found);
	return ret;
}

static long long resets(struct device *d)
{
	char path[256], *text;
	long long value = -ENOENT;

	if (knob(d, "reset", path, sizeof(path)))
		return value;
	text = npu_read_file(path, NULL);
	if (text)
		value = atoll(text);
	free(text);
	return value;
}

/* Its node has another number after each bind, and comes a little later. */
static int open_client(struct device *d)
{
	char pattern[128], path[256], node[64];

	snprintf(pattern, sizeof(pattern), "/sys/bus/pci/devices/%s/accel/accel*", d->slot);
	for (int i = 0; i < 500 * npu_slowness(); i++) {
		if (!npu_glob(pattern, path, sizeof(path))) {
			snprintf(node, sizeof(node), "/dev/accel/%s", basename(path));
			if (!access(node, R_OK | W_OK))
				return npu_client_init_fd(&d->c, open(node, O_RDWR | O_CLOEXEC));
		}
		usleep(10000);
	}
	return -ENOENT;
}

static void *work(void *data)
{
	struct worker *w = data;

	while (!w->error && !atomic_load(&w->stop)) {
		w->error = npu_copy_word(w->c, atomic_load(&w->jobs) + 1);
		atomic_fetch_add(&w->jobs, 1);
	}
	return NULL;
}

static int start(struct worker *w, struct npu_client *c)
{
	memset(w, 0, sizeof(*w));
	w->c = c;
	return -pthread_create(&w->thread, NULL, work, w);
}

/* It goes on, right now. */
static bool goes_on(struct worker *w)
{
	int before = atomic_load(&w->jobs);

	for (int i = 0; i < 1000 * npu_slowness() && atomic_load(&w->jobs) < before + 2; i++)
		usleep(5000);
	return atomic_load(&w->jobs) >= before + 2 && !w->error;
}

FIXTURE_SETUP(devices)
{
	const char *text = getenv("NPU_DEVICES");
	int found = find_both(self->d);

	if (found < 2 && (!text || atoi(text) < 2))
		SKIP(return, "%d npuedge devices", found);
	ASSERT_EQ(2, found);
	ASSERT_STRNE(self->d[0].slot, self->d[1].slot);
	if (inject_open(&self->inj))
		SKIP(return, INJECT_ABSENT);
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, open_client(&self->d[i]));
}

FIXTURE_TEARDOWN(devices)
{
	inject_close(&self->inj);
	for (int i = 0; i < 2; i++)
		npu_client_fini(&self->d[i].c);
	npu_dumps_clear();
}

TEST_F_TIMEOUT(devices, recovery_of_one_is_not_noticed_by_the_other, 180)
{
	struct device *sick = &self->d[0], *well = &self->d[1];
	long long before = resets(well), begin = resets(sick);
	uint32_t size;
	char path[256];

	ASSERT_GE(before, 0);
	ASSERT_EQ(0, knob(sick, "reset", path, sizeof(path)));
	ASSERT_EQ(0, start(&self->w, &well->c));
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, npu_write_text(path, "1"));
		EXPECT_TRUE(goes_on(&self->w));
		EXPECT_EQ(0, npu_copy_word(&sick->c, 0x100 + i));
	}
	/* firmware crashes, and a job with it: it was started, otherwise it would be run once more */
	size = npu_slow_stream(sick->c.stream, npu_slow_count(&sick->c, 4000));
	ASSERT_EQ(0, npu_submit(sick->c.fd, sick->c.queue, NPU_STREAM, size, NPU_PARAMS, 0, sick->c.sync));
	usleep(500000);
	ASSERT_EQ(0, inject_arm_fault(&self->inj, NPUSIM_FW_CRASH));
	ASSERT_EQ(0, npu_wait(sick->c.fd, sick->c.sync, 3 * NPU_WAIT_NS));
	EXPECT_LT(npu_sync_status(sick->c.fd, sick->c.sync), 0);
	EXPECT_TRUE(goes_on(&self->w));
	EXPECT_GT(resets(sick), begin + ROUNDS);

	atomic_store(&self->w.stop, true);
	pthread_join(self->w.thread, NULL);
	EXPECT_EQ(0, self->w.error);
	EXPECT_EQ(before, resets(well));
	inject_disarm_all(&self->inj);
}

TEST_F_TIMEOUT(devices, unbind_of_one_leaves_the_other, 180)
{
	struct device *gone = &self->d[0], *stays = &self->d[1];

	ASSERT_EQ(0, start(&self->w, &stays->c));
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, npu_submit(gone->c.fd, gone->c.queue, NPU_STREAM,
					npu_slow_stream(gone->c.stream, 2000), NPU_PARAMS, 0, gone->c.sync));
		ASSERT_EQ(0, npu_unbind(gone->slot));
		EXPECT_TRUE(goes_on(&self->w));
		EXPECT_EQ(-ENODEV, npu_submit(gone->c.fd, gone->c.queue, NPU_STREAM, 192, NPU_PARAMS, 0, 0));
		npu_client_fini(&gone->c);
		memset(&gone->c, 0, sizeof(gone->c));
		ASSERT_EQ(0, npu_bind(gone->slot));
		ASSERT_EQ(0, open_client(gone));
		EXPECT_EQ(0, npu_copy_word(&gone->c, 0x200 + i));
	}
	atomic_store(&self->w.stop, true);
	pthread_join(self->w.thread, NULL);
	EXPECT_EQ(0, self->w.error);
}

/* A buffer of one is read and written by jobs of both; it survives the first one's driver. */
TEST_F_TIMEOUT(devices, one_buffer_for_both, 120)
{
	struct device *owner = &self->d[0], *user = &self->d[1];
	int dmabuf = npu_export(owner->c.fd, owner->c.bo, DRM_RDWR), theirs;
	uint64_t va = NPU_VA + 16 * NPU_CLIENT_SIZE;

	ASSERT_GE(dmabuf, 0);
	theirs = npu_import(user->c.fd, dmabuf);
	ASSERT_GT(theirs, 0);
	ASSERT_EQ(0, npu_map(user->c.fd, user->c.vm, theirs, va, 0, NPU_CLIENT_SIZE, 0));

	/* the owner's job writes, the user's reads what it wrote */
	owner->c.data[0] = 0xabcd;
	npu_copy_stream(owner->c.stream, 1, 4);
	ASSERT_EQ(0, npu_submit(owner->c.fd, owner->c.queue, NPU_STREAM, 192, NPU_PARAMS, 0, owner->c.sync));
	ASSERT_EQ(0, npu_wait(owner->c.fd, owner->c.sync, NPU_WAIT_NS));
	ASSERT_EQ(1, npu_sync_status(owner->c.fd, owner->c.sync));
	user->c.params->base[0] = va + NPU_PAGE;
	for (int i = 0; i < 2; i++) {
		npu_copy_stream(user->c.stream, 2 + i, 4);
		user->c.stream[0].dma.offset = 4;
		ASSERT_EQ(0, npu_submit(user->c.fd, user->c.queue, NPU_STREAM, 192, NPU_PARAMS, 0, user->c.sync));
		ASSERT_EQ(0, npu_wait(user->c.fd, user->c.sync, NPU_WAIT_NS));
		EXPECT_EQ(1, npu_sync_status(user->c.fd, user->c.sync));
		EXPECT_EQ(0xabcd, owner->c.data[2 + i]);
		/* once more without the owner's driver */
		if (!i)
			ASSERT_EQ(0, npu_unbind(owner->slot));
	}
	close(dmabuf);
	npu_client_fini(&owner->c);
	memset(&owner->c, 0, sizeof(owner->c));
	ASSERT_EQ(0, npu_bind(owner->slot));
	ASSERT_EQ(0, open_client(owner));
	EXPECT_EQ(0, npu_copy_word(&owner->c, 0x300));
}

/*
 * One is torn out when a job of it has ended: nothing answers any more, and reads are all ones.  Not while the processor
 * is at its registers, as the machine then waits for an answer.  The last test here, as that device does not come back.
 */
TEST_F_TIMEOUT(devices, surprise_removal_of_one_leaves_the_other, 300)
{
	struct device *gone = &self->d[0], *stays = &self->d[1];
	struct npu_client *c = &gone->c;
	struct pollfd p = { .events = POLLIN };
	uint32_t size;
	char path[256];
	int ret;

	ASSERT_EQ(0, knob(gone, "job_timeout_ms", path, sizeof(path)));
	ASSERT_EQ(0, npu_write_text(path, "3000"));
	npu_new_queue(c);
	ASSERT_GT(c->queue, 0);
	size = npu_slow_count(c, 500);
	ASSERT_EQ(0, start(&self->w, &stays->c));
	inject_begin(&self->inj, NPUSIM_REMOVAL);
	inject_on(&self->inj, NPUSIM_ON_JOB_END, INJECT_ANY);
	ASSERT_EQ(0, inject_arm(&self->inj));
	size = npu_slow_stream(c->stream, size);
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
	/* its end may have been seen after all */
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
	p.fd = npu_sync_file(c->fd, c->sync);
	ASSERT_GE(p.fd, 0);

	EXPECT_EQ(1, poll(&p, 1, 3 * NPU_WAIT_NS / 1000000 * npu_slowness()));
	EXPECT_LT(npu_sync_file_status(p.fd), 0);
	close(p.fd);
	EXPECT_EQ(~0u, inject_read(&self->inj, NPUSIM_WIN_ID));
	for (int i = 0; i < 500 * npu_slowness(); i++) {
		ret = npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, 0);
		if (ret == -ENODEV)
			break;
		usleep(10000);
	}
	EXPECT_EQ(-ENODEV, ret);
	EXPECT_EQ(0, npu_unbind(gone->slot));
	EXPECT_LT(npu_bind(gone->slot), 0);
	EXPECT_TRUE(goes_on(&self->w));

	atomic_store(&self->w.stop, true);
	pthread_join(self->w.thread, NULL);
	EXPECT_EQ(0, self->w.error);
}

TEST_HARNESS_MAIN
