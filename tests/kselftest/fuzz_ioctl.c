// SPDX-License-Identifier: GPL-2.0
/*
 * Threads call every ioctl of two shared files with arguments that are valid, at a limit, or random.  Nothing is known
 * about single results, but: no call returns an errno that its documentation does not have, every fence signals, the
 * device works afterwards, and the kernel has nothing to say.
 *
 * NPU_FUZZ_SECONDS (default 5): how long; NPU_FUZZ_SEED: an earlier run's seed, to do much the same again.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kselftest_harness.h"
#include "sysfs.h"

#define THREADS		4
#define FILES		2
#define MOST_IDS	12	/* higher ids are given back at once, so that guesses hit */
#define ELEMENTS	4	/* of an array */

struct fuzzer {
	struct npu_client *files;
	uint64_t random;
	atomic_bool *stop;
	unsigned long calls, good;
	unsigned long long bad_request;
	int bad;	/* an errno that no call may return */
	void *nowhere;	/* a page without access */
};

static uint64_t roll(struct fuzzer *f)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return f->random * 0x2545f4914f6cdd1dull;
}

static uint32_t below(struct fuzzer *f, uint32_t n)
{
	return (roll(f) >> 32) % n;
}

static bool one_in(struct fuzzer *f, uint32_t n)
{
	return !below(f, n);
}

/* A value which is right, unless it is at a limit, or random. */
static uint64_t some(struct fuzzer *f, uint64_t right)
{
	static const uint64_t limits[] = {
		0, 1, 2, 63, 64, 65, 0xfff, 0x1000, 0x1001, 0x7fffffff, 0x80000000, 0xffffffff,
		0x100000000, 0x7fffffffff, 0x8000000000, 0x7fffffffffffffff, 0x8000000000000000, ~0ull,
	};

	switch (below(f, 32)) {
	case 0: return limits[below(f, sizeof(limits) / sizeof(limits[0]))];
	case 1: return roll(f) >> below(f, 64);
	case 2: return right + 1;
	case 3: return right - 1;
	default: return right;
	}
}

static uint32_t some_id(struct fuzzer *f)
{
	return some(f, 1 + below(f, MOST_IDS));
}

/* What must be zero and mostly is. */
static uint32_t zero(struct fuzzer *f)
{
	return one_in(f, 64) ? roll(f) : 0;
}

static uint64_t some_pointer(struct fuzzer *f, const void *right)
{
	switch (below(f, 48)) {
	case 0: return 0;
	case 1: return (uintptr_t)f->nowhere;
	case 2: return (uintptr_t)f->nowhere - 8;
	case 3: return 0xffff888000000000ull + (roll(f) & 0xffffff);
	case 4: return roll(f);
	default: return (uintptr_t)right;
	}
}

static struct drm_npuedge_array some_array(struct fuzzer *f, const void *right, uint32_t stride, uint32_t count)
{
	struct drm_npuedge_array array = {
		.stride = some(f, stride), .count = some(f, count), .ptr = some_pointer(f, right),
	};

	return array;
}

/* Sizes that either fit into the machine many times, or not at all. */
static uint64_t some_size(struct fuzzer *f)
{
	switch (below(f, 16)) {
	case 0: return 0;
	case 1: return ~0ull;
	case 2: return 1ull << (40 + below(f, 24));
	case 3: return 1 + below(f, 0x3000);
	default: return NPU_PAGE << below(f, 8);
	}
}

static uint64_t some_va(struct fuzzer *f)
{
	return some(f, NPU_VA * 2 + NPU_PAGE * below(f, 512));
}

/* Every request goes through here: sometimes larger or smaller than the structure, rarely unknown. */
static int call(struct fuzzer *f, int fd, unsigned long request, void *args, size_t size)
{
	uint8_t grown[512] = { 0 };
	size_t use = one_in(f, 24) ? below(f, sizeof(grown)) : size;
	unsigned long sized = _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), use);
	int ret;

	memcpy(grown, args, size);
	if (use > size && one_in(f, 2))
		grown[size + below(f, use - size)] = roll(f);
	ret = one_in(f, 64) ? npu_ioctl(fd, sized, (void *)some_pointer(f, grown)) : npu_ioctl(fd, sized, grown);
	memcpy(args, grown, size);

	f->calls++;
	f->good += !ret;
	switch (ret) {
	case 0: case -EINVAL: case -ENOENT: case -EFAULT: case -EPERM: case -EACCES: case -EBUSY: case -EIO:
	case -E2BIG: case -ENOMEM: case -ETIME: case -ENOTTY: case -EBADF: case -ENOSPC: case -EOPNOTSUPP:
		break;
	default:
		f->bad = ret;
		f->bad_request = request;
	}
	return ret;
}

#define CALL(f, fd, request, args)	call(f, fd, request, args, sizeof(*(args)))

static void fuzz_query(struct fuzzer *f, struct npu_client *c)
{
	uint8_t data[256];
	struct drm_npuedge_dev_query args = {
		.type = some(f, below(f, 3)), .size = below(f, sizeof(data)), .pointer = some_pointer(f, data),
	};

	CALL(f, c->fd, DRM_IOCTL_NPUEDGE_DEV_QUERY, &args);
}

static void fuzz_bo_create(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_bo_create args = {
		.size = some_size(f), .flags = some(f, below(f, 4)), .vm_id = one_in(f, 2) ? some_id(f) : 0,
		.pad = zero(f),
	};

	if (!CALL(f, c->fd, DRM_IOCTL_NPUEDGE_BO_CREATE, &args) && args.handle > MOST_IDS)
		npu_bo_close(c->fd, args.handle);
}

static void fuzz_bo_close(struct fuzzer *f, struct npu_client *c)
{
	struct drm_gem_close args = { .handle = some_id(f), .pad = zero(f) };

	if (args.handle != (uint32_t)c->bo)
		CALL(f, c->fd, DRM_IOCTL_GEM_CLOSE, &args);
}

/* Maps, touches and unmaps it; it may be gone in between. */
static void fuzz_mmap(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_bo_mmap_offset args = { .handle = some_id(f), .pad = zero(f) };
	size_t size = NPU_PAGE * (1 + below(f, 4));
	volatile uint8_t *map;

	if (CALL(f, c->fd, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &args))
		return;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, one_in(f, 8) ? MAP_PRIVATE : MAP_SHARED, c->fd,
		   some(f, args.offset) & ~(NPU_PAGE - 1));
	if (map == MAP_FAILED)
		return;
	if (one_in(f, 2))
		madvise((void *)map, size, MADV_DONTNEED);
	map[below(f, NPU_PAGE)] = 1;
	munmap((void *)map, size);
}

static void fuzz_vm(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_vm_create create = { .flags = zero(f) };
	struct drm_npuedge_vm_destroy destroy = { .id = some_id(f), .pad = zero(f) };

	if (one_in(f, 2)) {
		if (!CALL(f, c->fd, DRM_IOCTL_NPUEDGE_VM_CREATE, &create) && create.id > MOST_IDS)
			npu_vm_destroy(c->fd, create.id);
	} else if (destroy.id != (uint32_t)c->vm) {
		CALL(f, c->fd, DRM_IOCTL_NPUEDGE_VM_DESTROY, &destroy);
	}
}

static void fuzz_bind(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_vm_bind_op ops[ELEMENTS];
	struct drm_npuedge_vm_bind args = {
		.vm_id = some_id(f), .flags = zero(f),
		.ops = some_array(f, ops, sizeof(ops[0]), 1 + below(f, ELEMENTS)),
	};

	for (int i = 0; i < ELEMENTS; i++) {
		bool map = one_in(f, 2);

		ops[i] = (struct drm_npuedge_vm_bind_op){
			.op = some(f, map ? DRM_NPUEDGE_BIND_MAP : DRM_NPUEDGE_BIND_UNMAP),
			.flags = map ? some(f, below(f, 2)) : zero(f), .handle = map ? some_id(f) : zero(f),
			.pad = zero(f), .va = some_va(f), .size = some(f, NPU_PAGE * (1 + below(f, 32))),
			.bo_offset = map ? some(f, NPU_PAGE * below(f, 4)) : zero(f),
		};
	}
	CALL(f, c->fd, DRM_IOCTL_NPUEDGE_VM_BIND, &args);
}

static void fuzz_queue(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_queue_create create = {
		.vm_id = one_in(f, 2) ? (uint32_t)c->vm : some_id(f), .priority = some(f, below(f, 4)),
		.flags = zero(f),
	};
	struct drm_npuedge_queue_destroy destroy = { .id = some_id(f), .pad = zero(f) };
	struct drm_npuedge_queue_get_state state = { .id = some_id(f) };

	switch (below(f, 3)) {
	case 0:
		if (!CALL(f, c->fd, DRM_IOCTL_NPUEDGE_QUEUE_CREATE, &create) && create.id > MOST_IDS)
			npu_queue_destroy(c->fd, create.id);
		break;
	case 1:
		CALL(f, c->fd, DRM_IOCTL_NPUEDGE_QUEUE_DESTROY, &destroy);
		break;
	default:
		CALL(f, c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state);
	}
}

static struct drm_npuedge_sync some_sync(struct fuzzer *f)
{
	bool timeline = one_in(f, 2);
	struct drm_npuedge_sync sync = {
		.handle = some_id(f), .flags = timeline ? DRM_NPUEDGE_SYNC_TIMELINE : zero(f),
		.point = timeline ? some(f, 1 + below(f, 8)) : zero(f),
	};

	return sync;
}

/* One stream in eight is where nothing is, or something else: its queue ends guilty, most likely. */
static void fuzz_submit(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_sync in[ELEMENTS], out[ELEMENTS];
	struct drm_npuedge_job jobs[ELEMENTS];
	struct drm_npuedge_stream stream = {
		.va = one_in(f, 8) ? some_va(f) : some(f, NPU_STREAM), .size = some(f, 192), .pad = zero(f),
	};
	struct drm_npuedge_submit args = {
		.queue_id = some_id(f), .flags = zero(f),
		.jobs = some_array(f, jobs, sizeof(jobs[0]), 1 + below(f, ELEMENTS)),
	};

	for (int i = 0; i < ELEMENTS; i++) {
		in[i] = some_sync(f);
		out[i] = some_sync(f);
		jobs[i] = (struct drm_npuedge_job){
			.streams = some_array(f, &stream, sizeof(stream), 1),
			.params_va = some(f, NPU_PARAMS), .profile_va = some(f, 0),
			.in_syncs = some_array(f, in, sizeof(in[0]), below(f, 4) ? 0 : 1 + below(f, ELEMENTS)),
			.out_syncs = some_array(f, out, sizeof(out[0]), below(f, ELEMENTS + 1)),
			.flags = zero(f), .pad = zero(f),
		};
	}
	CALL(f, c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &args);
}

static void fuzz_syncobj(struct fuzzer *f, struct npu_client *c)
{
	struct drm_syncobj_create create = { 0 };
	struct drm_syncobj_destroy destroy = { .handle = some_id(f) };
	uint32_t handle = some_id(f);
	struct drm_syncobj_array reset = { .handles = (uintptr_t)&handle, .count_handles = 1 };
	struct drm_syncobj_wait wait = { .handles = (uintptr_t)&handle, .count_handles = 1 };

	switch (below(f, 6)) {
	case 0: case 1:
		if (!CALL(f, c->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create) && create.handle > MOST_IDS)
			npu_syncobj_destroy(c->fd, create.handle);
		break;
	case 2:
		CALL(f, c->fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
		break;
	case 3:
		npu_ioctl(c->fd, one_in(f, 2) ? DRM_IOCTL_SYNCOBJ_RESET : DRM_IOCTL_SYNCOBJ_SIGNAL, &reset);
		break;
	default:
		npu_ioctl(c->fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
	}
}

/* Hands a BO of one file to another, or to the same. */
static void fuzz_prime(struct fuzzer *f, struct npu_client *c)
{
	struct drm_prime_handle args = { .handle = some_id(f), .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1 };
	int other = f->files[below(f, FILES)].fd;

	if (npu_ioctl(c->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args))
		return;
	if (!npu_ioctl(other, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args) && args.handle > MOST_IDS)
		npu_bo_close(other, args.handle);
	close(args.fd);
}

/* A client of its own that leaves with a job in the device. */
static void fuzz_leave(struct fuzzer *f, struct npu_client *c)
{
	struct npu_client own;

	if (!npu_client_init(&own)) {
		npu_submit(own.fd, own.queue, NPU_STREAM, npu_slow_stream(own.stream, below(f, 4)), NPU_PARAMS, 0,
			   own.sync);
	}
	npu_client_fini(&own);
}

static void *fuzz_run(void *arg)
{
	struct fuzzer *f = arg;

	while (!*f->stop) {
		struct npu_client *c = &f->files[below(f, FILES)];

		switch (below(f, 24)) {
		case 0: fuzz_query(f, c); break;
		case 1: case 2: case 3: fuzz_bo_create(f, c); break;
		case 4: fuzz_bo_close(f, c); break;
		case 5: case 6: fuzz_mmap(f, c); break;
		case 7: case 8: fuzz_vm(f, c); break;
		case 9: case 10: case 11: case 12: fuzz_bind(f, c); break;
		case 13: case 14: case 15: fuzz_queue(f, c); break;
		case 16: fuzz_syncobj(f, c); break;
		case 17: fuzz_prime(f, c); break;
		case 18: if (one_in(f, 8)) fuzz_leave(f, c); break;
		default: fuzz_submit(f, c); break;
		}
	}
	return NULL;
}

static unsigned long from_environment(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

/* The last fence of every syncobj signals, if its dependencies do: those that wait for each other are let go. */
static int drain(struct npu_client *c)
{
	int ret = 0;

	for (uint32_t id = 1; !ret && id <= MOST_IDS; id++)
		npu_queue_destroy(c->fd, id);
	for (uint32_t id = 1; !ret && id <= MOST_IDS; id++) {
		int file = npu_sync_file(c->fd, id);

		if (file < 0)
			continue;
		ret = npu_wait_file(file) == -ETIME ? -ETIME : 0;
		close(file);
	}
	return ret;
}

FIXTURE(fuzz) {
	struct npu_client files[FILES];
};

FIXTURE_SETUP(fuzz)
{
	for (int i = 0; i < FILES; i++) {
		int ret = npu_client_init(&self->files[i]);

		if (ret == -ENODEV)
			SKIP(return, "no npuedge device");
		ASSERT_EQ(0, ret);
		npu_copy_stream(self->files[i].stream, 1, 4);
	}
}

FIXTURE_TEARDOWN(fuzz)
{
	for (int i = 0; i < FILES; i++)
		npu_client_fini(&self->files[i]);
}

TEST_F_TIMEOUT(fuzz, ioctls, 900)
{
	unsigned long seconds = from_environment("NPU_FUZZ_SECONDS", 5), calls = 0, good = 0;
	uint64_t seed = from_environment("NPU_FUZZ_SEED", npu_deadline(0));
	struct fuzzer f[THREADS];
	pthread_t thread[THREADS];
	atomic_bool stop = false;
	char *pages;

	TH_LOG("NPU_FUZZ_SEED=%#llx", (unsigned long long)seed);
	pages = mmap(NULL, 2 * NPU_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, pages);
	ASSERT_EQ(0, mprotect(pages + NPU_PAGE, NPU_PAGE, PROT_NONE));

	for (int i = 0; i < THREADS; i++) {
		f[i] = (struct fuzzer){
			.files = self->files, .random = (seed + i) * 0x9e3779b97f4a7c15ull | 1, .stop = &stop,
			.nowhere = pages + NPU_PAGE,
		};
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, fuzz_run, &f[i]));
	}
	sleep(seconds);
	stop = true;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		calls += f[i].calls;
		good += f[i].good;
		EXPECT_EQ(0, f[i].bad) {
			TH_LOG("request %#llx", f[i].bad_request);
		}
	}
	TH_LOG("%lu calls, %lu of them succeeded", calls, good);
	EXPECT_GT(good, 0);
	for (int i = 0; i < FILES; i++) {
		EXPECT_EQ(0, drain(&self->files[i]));
		/* all hardware queues may be taken */
		npu_client_fini(&self->files[i]);
		memset(&self->files[i], 0, sizeof(self->files[i]));
	}
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
