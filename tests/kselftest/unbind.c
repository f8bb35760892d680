// SPDX-License-Identifier: GPL-2.0
/*
 * The driver is taken off its device, or the module unloaded, while files, jobs and fences are around.
 * NPUEDGE_MODULE names the module's file for the test that unloads it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "sysfs.h"
#include "vgem.h"

FIXTURE(unbind) {
	struct npu_client c;
	char slot[64];
};

FIXTURE_SETUP(unbind)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (npu_slot(self->slot, sizeof(self->slot)) || access(NPU_PCI_DRIVER "/unbind", W_OK))
		SKIP(return, "the device cannot be unbound");
}

FIXTURE_TEARDOWN(unbind)
{
	npu_client_fini(&self->c);
	npu_bind(self->slot); /* in case that the test did not get so far */
}

TEST_F_TIMEOUT(unbind, jobs_in_flight_end, 60)
{
	struct npu_client *c = &self->c;
	uint32_t size = npu_slow_stream(c->stream, 400);
	int files[70], gate = npu_syncobj_create(c->fd), lost = 0;
	int second = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);

	/* more than a ring holds, and one that waits for another queue */
	for (int i = 0; i < 69; i++) {
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, gate));
		files[i] = npu_sync_file(c->fd, gate);
		ASSERT_GE(files[i], 0);
	}
	ASSERT_EQ(0, npu_submit(c->fd, second, NPU_STREAM, size, NPU_PARAMS, gate, c->sync));
	files[69] = npu_sync_file(c->fd, c->sync);

	ASSERT_EQ(0, npu_unbind(self->slot));
	for (int i = 0; i < 70; i++) {
		int status = npu_wait_file(files[i]);

		EXPECT_TRUE(status == 1 || status == -ENODEV || status == -ECANCELED) {
			TH_LOG("job %d: %d", i, status);
		}
		lost += status < 0;
		close(files[i]);
	}
	EXPECT_GT(lost, 0);

	/* what is left is an open file of a device that is gone, and memory */
	EXPECT_EQ(-ENODEV, npu_vm_create(c->fd));
	EXPECT_EQ(-ENODEV, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, 0));
	c->data[0] = 5;
	EXPECT_EQ(5, c->data[0]);

	ASSERT_EQ(0, npu_bind(self->slot));
	EXPECT_EQ(0, npu_device_works());
}

struct worker {
	struct npu_client c;
	volatile bool stop;
	int error;	/* other than -ENODEV */
	atomic_long rounds;
};

/* Binds, submits and unbinds, with each its own BO, until the device is gone. */
static void *worker_run(void *arg)
{
	struct worker *w = arg;
	struct npu_client *c = &w->c;
	uint64_t va = NPU_VA * 4;
	int ret = 0;

	while (!w->stop && ret != -ENODEV) {
		int bo = npu_bo_create(c->fd, 8 * NPU_PAGE, 0, 0);

		ret = bo < 0 ? bo : npu_map(c->fd, c->vm, bo, va, 0, 8 * NPU_PAGE, 0);
		if (!ret)
			ret = npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync);
		if (!ret)
			ret = npu_unmap(c->fd, c->vm, va, 8 * NPU_PAGE);
		if (bo > 0)
			npu_bo_close(c->fd, bo);
		/* a job may meet the hole that an earlier round left */
		if (ret && ret != -ENODEV && ret != -EIO && !w->error)
			w->error = ret;
		if (ret == -EIO) {
			npu_queue_destroy(c->fd, c->queue);
			c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		}
		w->rounds++;
	}
	return NULL;
}

TEST_F_TIMEOUT(unbind, under_load, 60)
{
	for (int round = 0; round < 3; round++) {
		static struct worker w[3];
		pthread_t thread[3];

		memset(w, 0, sizeof(w));
		for (int i = 0; i < 3; i++) {
			ASSERT_EQ(0, npu_client_init(&w[i].c));
			npu_copy_stream(w[i].c.stream, 1, 4);
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, worker_run, &w[i]));
		}
		usleep(200000 + round * 30000);
		for (int i = 0; i < 3; i++) {
			for (int n = 0; n < 2000 * npu_slowness() && !w[i].rounds; n++)
				usleep(10000);
		}
		EXPECT_EQ(0, npu_unbind(self->slot));
		for (int i = 0; i < 3; i++) {
			w[i].stop = true;
			pthread_join(thread[i], NULL);
			EXPECT_EQ(0, w[i].error);
			EXPECT_GT(w[i].rounds, 0);
			npu_client_fini(&w[i].c);
		}
		ASSERT_EQ(0, npu_bind(self->slot));
		ASSERT_EQ(0, npu_device_works());
	}
}

/* linux/sync_file.h, repeated as in npuedge.h */
struct fence_info {
	char obj_name[32];
	char driver_name[32];
	int32_t status;
	uint32_t flags;
	uint64_t timestamp_ns;
};

static bool is_name(const char name[32])
{
	size_t n = strnlen(name, 32);

	for (size_t i = 0; i < n; i++) {
		if (name[i] < ' ' || name[i] > '~')
			return false;
	}
	return n > 0 && n < 32;
}

TEST_F_TIMEOUT(unbind, sync_file_outlives_the_module, 60)
{
	const char *module = getenv("NPUEDGE_MODULE");
	struct npu_client *c = &self->c;
	struct fence_info fence = { 0 };
	struct npu_sync_file_info info = { .num_fences = 1, .fences = (uintptr_t)&fence };
	int file, cancelled, fd, ret = -1;
	struct drm_prime_handle import = { 0 };
	struct vgem v;
	void *noise;

	if (!module)
		SKIP(return, "NPUEDGE_MODULE is not set");
	npu_copy_stream(c->stream, 1, 4);
	/* a foreign buffer keeps the fence as well */
	ASSERT_EQ(0, vgem_init(&v, NPU_PAGE));
	import.fd = v.dmabuf;
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &import));
	ASSERT_EQ(0, npu_map(c->fd, c->vm, import.handle, NPU_VA * 2, 0, NPU_PAGE, 0));
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	file = npu_sync_file(c->fd, c->sync);
	ASSERT_GE(file, 0);
	/* and one whose job never reached the device */
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, npu_slow_stream(c->stream, 8000), NPU_PARAMS, 0, c->sync));
	for (int i = 0; i < 66; i++)
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
	cancelled = npu_sync_file(c->fd, c->sync);
	ASSERT_GE(cancelled, 0);
	npu_client_fini(c);
	memset(c, 0, sizeof(*c));

	for (int i = 0; ret && i < 2000 * npu_slowness(); i++) {
		usleep(10000);
		ret = syscall(SYS_delete_module, "npuedge", O_NONBLOCK);
	}
	ASSERT_EQ(0, ret);
	/* have freed memory used again */
	noise = malloc(64 << 20);
	memset(noise, 0xa5, 64 << 20);

	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ioctl(i ? cancelled : file, _IOWR('>', 4, struct npu_sync_file_info), &info));
		EXPECT_EQ(i ? -ECANCELED : 1, info.status);
		EXPECT_TRUE(is_name(fence.obj_name)) {
			TH_LOG("%.32s", fence.obj_name);
		}
		EXPECT_TRUE(is_name(fence.driver_name));
		info.num_fences = 1;
		close(i ? cancelled : file);
	}
	/* dma-buf's own list names the fences of each buffer */
	if (!access("/sys/kernel/debug/dma_buf/bufinfo", R_OK))
		EXPECT_EQ(0, system("cat /sys/kernel/debug/dma_buf/bufinfo > /dev/null"));
	vgem_fini(&v);
	free(noise);

	fd = open(module, O_RDONLY | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, syscall(SYS_finit_module, fd, "", 0));
	close(fd);
	EXPECT_EQ(0, npu_device_works());
}

/* Any bytes, to any of the driver's calls; most are refused, each at another place. */
static int garbage_call(int fd, unsigned int nr, unsigned int round, unsigned int *seed)
{
	uint32_t args[64];
	int size = 4 + rand_r(seed) % 30 * 4;

	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
		switch (round % 4) {
		case 0: args[i] = 0; break;
		case 1: args[i] = ~0u; break;
		case 2: args[i] = rand_r(seed) % 4; break;
		default: args[i] = rand_r(seed); break;
		}
	}
	return npu_ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'd', DRM_COMMAND_BASE + nr, size), args);
}

#define CALLS		18
#define GARBAGE		100

/* Who is refused has left the device: nobody is waited for when it goes. */
TEST_F_TIMEOUT(unbind, after_refused_calls, 60)
{
	struct npu_client *c = &self->c;
	unsigned int seed = 23;
	int64_t begin;
	int refused = 0;

	npu_copy_stream(c->stream, 1, 4);
	for (unsigned int nr = 0; nr < CALLS; nr++) {
		for (unsigned int round = 0; round < GARBAGE; round++)
			refused += garbage_call(c->fd, nr, round, &seed) < 0;
	}
	/* and some that are right but for one thing */
	for (int i = 0; i < GARBAGE; i++) {
		refused += npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, 9999 + i) < 0;
		refused += npu_submit(c->fd, c->queue, NPU_STREAM, 191, NPU_PARAMS, 0, 0) < 0;
		refused += npu_map(c->fd, c->vm, 9999 + i, NPU_VA * 2, 0, NPU_PAGE, 0) < 0;
		refused += npu_map(c->fd, c->vm, c->bo, NPU_VA * 2 + 1, 0, NPU_PAGE, 0) < 0;
	}
	EXPECT_GT(refused, CALLS * GARBAGE / 2);
	begin = npu_deadline(0);
	ASSERT_EQ(0, npu_unbind(self->slot));
	EXPECT_LT(npu_deadline(0) - begin, NPU_WAIT_NS * npu_slowness());
	for (unsigned int nr = 0; nr < CALLS; nr++)
		EXPECT_LT(garbage_call(c->fd, nr, 2, &seed), 0);
	EXPECT_EQ(-ENODEV, npu_vm_create(c->fd));
	ASSERT_EQ(0, npu_bind(self->slot));
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
