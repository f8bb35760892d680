// SPDX-License-Identifier: GPL-2.0
/*
 * Threads call every ioctl of two shared files with arguments that are valid, at a limit, or random, read what the
 * files and debugfs have to tell, and have the files closed under each other, while the device is reset and buffers are
 * swapped out.  Nothing is known about single results, but: no call returns an errno that its documentation does not
 * have, every call succeeds now and then, every fence signals, the device works afterwards, and the kernel has nothing
 * to say.
 *
 * NPU_FUZZ_SECONDS (default 5): how long; NPU_FUZZ_SEED: an earlier run's seed, to do much the same again.
 */
#include <pthread.h>

#include "kselftest_harness.h"
#include "debugfs.h"
#include "fuzz.h"

#define THREADS		4
#define ELEMENTS	4	/* of an array */
#define MORE_SECONDS	120

static void fuzz_query(struct fuzzer *f, struct npu_client *c)
{
	uint8_t data[256];
	struct drm_npuedge_dev_query args = {
		.type = some(f, below(f, 5)), .size = below(f, sizeof(data)), .pointer = some_pointer(f, data),
	};

	CALL(f, c->fd, DRM_IOCTL_NPUEDGE_DEV_QUERY, &args);
}

static void fuzz_bo_create(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_bo_create args = {
		.size = some_size(f), .flags = some(f, below(f, 4)), .vm_id = one_in(f, 2) ? some_id(f) : 0,
		.pad = zero(f),
	};

	if (!CALL(f, c->fd, DRM_IOCTL_NPUEDGE_BO_CREATE, &args) && args.handle > FUZZ_IDS)
		npu_bo_close(c->fd, args.handle);
}

static void fuzz_bo_close(struct fuzzer *f, struct npu_client *c)
{
	struct drm_gem_close args = { .handle = some_id(f), .pad = zero(f) };

	if (args.handle != (uint32_t)c->bo)
		CALL(f, c->fd, DRM_IOCTL_GEM_CLOSE, &args);
}

/* By the kernel, which returns an error where we would get a SIGBUS: the contents may have been dropped. */
static void touch(void *page)
{
	int zeroes = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (zeroes < 0)
		return;
	if (read(zeroes, page, 64) != 64)
		errno = 0;
	close(zeroes);
}

/* Maps, touches and unmaps it; it may be gone in between. */
static void fuzz_mmap(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_bo_mmap_offset args = { .handle = some_id(f), .pad = zero(f) };
	size_t size = NPU_PAGE * (2 + below(f, 3));
	char *map;

	if (CALL(f, c->fd, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &args))
		return;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, one_in(f, 8) ? MAP_PRIVATE : MAP_SHARED, c->fd,
		   some(f, args.offset) & ~(NPU_PAGE - 1));
	if (map == MAP_FAILED)
		return;
	if (one_in(f, 2))
		madvise(map, size, MADV_DONTNEED);
	/* not what jobs read as parameters or commands */
	touch(map + (args.handle == (uint32_t)c->bo ? NPU_PAGE : 0));
	munmap(map, size);
}

static void fuzz_bo_sync(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_bo_sync args = {
		.handle = some_id(f), .flags = some(f, 1 + below(f, 3)),
		.offset = some(f, below(f, 2 * NPU_PAGE)), .size = some(f, 1 + below(f, 2 * NPU_PAGE)),
	};

	CALL(f, c->fd, DRM_IOCTL_NPUEDGE_BO_SYNC, &args);
}

/* The client's own buffer stays: dropped, it would be the end of all its jobs. */
static void fuzz_madvise(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_bo_madvise args = {
		.handle = some_id(f), .advice = some(f, below(f, 2)), .retained = roll(f), .pad = zero(f),
	};

	if (args.handle == (uint32_t)c->bo)
		args.advice = DRM_NPUEDGE_MADV_WILLNEED;
	CALL(f, c->fd, DRM_IOCTL_NPUEDGE_BO_MADVISE, &args);
}

static void fuzz_set_label(struct fuzzer *f, struct npu_client *c)
{
	char label[80];
	struct drm_npuedge_bo_set_label args = {
		.handle = some_id(f), .size = some(f, below(f, 64)), .label = some_pointer(f, label),
	};

	for (size_t i = 0; i < sizeof(label); i++)
		label[i] = one_in(f, 512) ? roll(f) : ' ' + below(f, 95);
	CALL(f, c->fd, DRM_IOCTL_NPUEDGE_BO_SET_LABEL, &args);
}

static void fuzz_vm(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_vm_create create = { .flags = zero(f) };
	struct drm_npuedge_vm_destroy destroy = { .id = some_id(f), .pad = zero(f) };
	struct drm_npuedge_vm_get_state state = { .id = some_id(f), .state = roll(f), .mappings = roll(f) };

	switch (below(f, 3)) {
	case 0:
		if (!CALL(f, c->fd, DRM_IOCTL_NPUEDGE_VM_CREATE, &create) && create.id > FUZZ_IDS)
			npu_vm_destroy(c->fd, create.id);
		break;
	case 1:
		if (destroy.id != (uint32_t)c->vm)
			CALL(f, c->fd, DRM_IOCTL_NPUEDGE_VM_DESTROY, &destroy);
		break;
	default:
		CALL(f, c->fd, DRM_IOCTL_NPUEDGE_VM_GET_STATE, &state);
	}
}

/* Half of them are queued, half of these with syncobjs. */
static void fuzz_bind(struct fuzzer *f, struct npu_client *c)
{
	bool async = one_in(f, 2), syncs = async ? one_in(f, 2) : zero(f);
	struct drm_npuedge_sync in[ELEMENTS], out[ELEMENTS];
	struct drm_npuedge_vm_bind_op ops[ELEMENTS];
	struct drm_npuedge_vm_bind args = {
		.vm_id = some_id(f), .flags = async ? some(f, DRM_NPUEDGE_VM_BIND_ASYNC) : zero(f),
		.ops = some_array(f, ops, sizeof(ops[0]), 1 + below(f, ELEMENTS)),
	};

	for (int i = 0; i < ELEMENTS; i++) {
		bool map = one_in(f, 2);

		in[i] = some_sync(f);
		out[i] = some_sync(f);
		ops[i] = (struct drm_npuedge_vm_bind_op){
			.op = some(f, map ? DRM_NPUEDGE_BIND_MAP : DRM_NPUEDGE_BIND_UNMAP),
			.flags = map ? some(f, below(f, 2)) : zero(f), .handle = map ? some_id(f) : zero(f),
			.pad = zero(f), .va = some_va(f), .size = some(f, NPU_PAGE * (1 + below(f, 32))),
			.bo_offset = map ? some(f, NPU_PAGE * below(f, 4)) : zero(f),
		};
	}
	if (syncs) {
		args.in_syncs = some_array(f, in, sizeof(in[0]), below(f, 3));
		args.out_syncs = some_array(f, out, sizeof(out[0]), below(f, ELEMENTS + 1));
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
		if (!CALL(f, c->fd, DRM_IOCTL_NPUEDGE_QUEUE_CREATE, &create) && create.id > FUZZ_IDS)
			npu_queue_destroy(c->fd, create.id);
		break;
	case 1:
		CALL(f, c->fd, DRM_IOCTL_NPUEDGE_QUEUE_DESTROY, &destroy);
		break;
	default:
		CALL(f, c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state);
	}
}

/*
 * One stream in eight is where nothing is, or something else: its queue ends guilty, most likely.  One job in four has
 * buffers to synchronise with.
 */
static void fuzz_submit(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_sync in[ELEMENTS], out[ELEMENTS];
	struct drm_npuedge_bo_use bos[ELEMENTS];
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
		bos[i] = (struct drm_npuedge_bo_use){ .handle = some_id(f), .flags = some(f, below(f, 2)) };
		jobs[i] = (struct drm_npuedge_job){
			.streams = some_array(f, &stream, sizeof(stream), 1),
			.params_va = some(f, NPU_PARAMS), .profile_va = some(f, 0),
			.in_syncs = some_array(f, in, sizeof(in[0]), below(f, 4) ? 0 : 1 + below(f, ELEMENTS)),
			.out_syncs = some_array(f, out, sizeof(out[0]), below(f, ELEMENTS + 1)),
			.flags = some(f, one_in(f, 2) ? DRM_NPUEDGE_JOB_RERUN : 0), .pad = zero(f),
			.bos = some_array(f, bos, sizeof(bos[0]), below(f, 4) ? 0 : 1 + below(f, ELEMENTS)),
		};
	}
	CALL(f, c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &args);
}

static void fuzz_perfmon_read(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_perfmon_value *values = f->room;
	struct drm_npuedge_perfmon_read args = {
		.id = some_id(f), .flags = some(f, below(f, 2)),
		.values = some_array(f, values, sizeof(values[0]), 1 + below(f, 2 * ELEMENTS)),
	};

	for (int i = 0; i < 2 * ELEMENTS; i++)
		values[i] = (struct drm_npuedge_perfmon_value){
			.counter = some(f, below(f, DRM_NPUEDGE_COUNTER_ENERGY + 1)), .pad = zero(f),
		};
	CALL(f, c->fd, DRM_IOCTL_NPUEDGE_PERFMON_READ, &args);
}

static void fuzz_perfmon(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_perfmon_create create = {
		.queue_id = one_in(f, 2) ? some_id(f) : 0, .flags = zero(f), .pad = zero(f),
	};
	struct drm_npuedge_perfmon_destroy destroy = { .id = some_id(f), .pad = zero(f) };

	switch (below(f, 4)) {
	case 0:
		if (!CALL(f, c->fd, DRM_IOCTL_NPUEDGE_PERFMON_CREATE, &create) && create.id > FUZZ_IDS) {
			destroy = (struct drm_npuedge_perfmon_destroy){ .id = create.id };
			npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_DESTROY, &destroy);
		}
		break;
	case 1:
		CALL(f, c->fd, DRM_IOCTL_NPUEDGE_PERFMON_DESTROY, &destroy);
		break;
	default:
		fuzz_perfmon_read(f, c);
	}
}

/* Reading does not wait: the files are O_NONBLOCK. */
static void fuzz_events(struct fuzzer *f, struct npu_client *c)
{
	struct drm_npuedge_events args = { .mask = some(f, below(f, 8)), .pad = zero(f) };
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	struct drm_npuedge_event events[ELEMENTS];
	size_t size = some(f, sizeof(events));

	if (one_in(f, 2)) {
		CALL(f, c->fd, DRM_IOCTL_NPUEDGE_EVENTS, &args);
		return;
	}
	poll(&p, 1, 0);
	if (read(c->fd, events, size > sizeof(events) ? sizeof(events) : size) < 0)
		errno = 0;
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
		if (!CALL(f, c->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create) && create.handle > FUZZ_IDS)
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
	struct drm_prime_handle args = {
		.handle = some_id(f), .flags = DRM_CLOEXEC | (one_in(f, 4) ? 0 : DRM_RDWR), .fd = -1,
	};
	int other = f->files[below(f, FUZZ_FILES)].fd;

	if (npu_ioctl(c->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args))
		return;
	if (!npu_ioctl(other, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args) && args.handle > FUZZ_IDS)
		npu_bo_close(other, args.handle);
	close(args.fd);
}

/* What a look at processes, or at the driver, shows. */
static void fuzz_look(struct fuzzer *f, struct npu_client *c)
{
	static const char *const knobs[] = { "bos", "vas", "queues", "ring", "fw_log", "shrinker" };
	char path[64];

	if (one_in(f, 2)) {
		free(npu_knob_read(knobs[below(f, sizeof(knobs) / sizeof(knobs[0]))]));
	} else {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", c->fd);
		free(npu_read_file(path, NULL));
	}
}

static int client_init(struct npu_client *c)
{
	int ret = npu_client_init(c);

	if (ret)
		return ret;
	npu_copy_stream(c->stream, 1, 4);
	return fcntl(c->fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
}

/* A client of its own that leaves with a job in the device. */
static void fuzz_leave(struct fuzzer *f)
{
	struct npu_client own;

	if (!client_init(&own)) {
		npu_submit(own.fd, own.queue, NPU_STREAM, npu_slow_stream(own.stream, below(f, 4)), NPU_PARAMS, 0,
			   own.sync);
	}
	npu_client_fini(&own);
}

/*
 * One thread has a new client take the place of a file, since the mess only grows; others may be in the middle of a
 * call.  Handles and ids are those of the old one, as both made the same things first.
 */
static void fuzz_renew(struct npu_client *c)
{
	struct npu_client fresh;

	if (client_init(&fresh)) {
		npu_client_fini(&fresh);
		return;
	}
	munmap(c->map, NPU_CLIENT_SIZE);
	c->map = fresh.map;
	dup2(fresh.fd, c->fd);
	close(fresh.fd);
}

static void *fuzz_run(void *arg)
{
	struct fuzzer *f = arg;

	while (!*f->stop) {
		struct npu_client *c = &f->files[below(f, FUZZ_FILES)];

		switch (below(f, 36)) {
		case 0: fuzz_query(f, c); break;
		case 1: case 2: case 3: fuzz_bo_create(f, c); break;
		case 4: fuzz_bo_close(f, c); break;
		case 5: case 6: fuzz_mmap(f, c); break;
		case 7: fuzz_bo_sync(f, c); break;
		case 8: fuzz_madvise(f, c); break;
		case 9: fuzz_set_label(f, c); break;
		case 10: case 11: case 12: fuzz_vm(f, c); break;
		case 13: case 14: case 15: case 16: case 17: fuzz_bind(f, c); break;
		case 18: case 19: case 20: fuzz_queue(f, c); break;
		case 21: case 22: fuzz_perfmon(f, c); break;
		case 23: fuzz_events(f, c); break;
		case 24: case 25: fuzz_syncobj(f, c); break;
		case 26: fuzz_prime(f, c); break;
		case 27: if (one_in(f, 8)) fuzz_leave(f); break;
		case 28: if (one_in(f, 16)) fuzz_look(f, c); break;
		case 29: if (f->renews && one_in(f, 32)) fuzz_renew(c); break;
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

/* The limit is for what comes after the calls. */
static void __attribute__((constructor)) add_to_time_limit(void)
{
	for (struct __fixture_metadata *f = __fixture_list; f; f = f->next)
		for (struct __test_metadata *t = f->tests; t; t = t->next)
			t->timeout += from_environment("NPU_FUZZ_SECONDS", 5);
}

/* The last fence of every syncobj signals, if its dependencies do: those that wait for each other are let go. */
static int drain(struct npu_client *c)
{
	int ret = 0;

	for (uint32_t id = 1; id <= FUZZ_IDS; id++)
		npu_queue_destroy(c->fd, id);
	for (uint32_t id = 1; !ret && id <= FUZZ_IDS; id++) {
		int file = npu_sync_file(c->fd, id);

		if (file < 0)
			continue;
		ret = npu_wait_file(file) == -ETIME ? -ETIME : 0;
		close(file);
	}
	return ret;
}

static const char *const names[] = {
	[DRM_NPUEDGE_DEV_QUERY] = "DEV_QUERY", [DRM_NPUEDGE_BO_CREATE] = "BO_CREATE",
	[DRM_NPUEDGE_BO_MMAP_OFFSET] = "BO_MMAP_OFFSET", [DRM_NPUEDGE_VM_CREATE] = "VM_CREATE",
	[DRM_NPUEDGE_VM_DESTROY] = "VM_DESTROY", [DRM_NPUEDGE_VM_BIND] = "VM_BIND",
	[DRM_NPUEDGE_QUEUE_CREATE] = "QUEUE_CREATE", [DRM_NPUEDGE_QUEUE_DESTROY] = "QUEUE_DESTROY",
	[DRM_NPUEDGE_QUEUE_GET_STATE] = "QUEUE_GET_STATE", [DRM_NPUEDGE_SUBMIT] = "SUBMIT",
	[DRM_NPUEDGE_BO_SYNC] = "BO_SYNC", [DRM_NPUEDGE_BO_MADVISE] = "BO_MADVISE",
	[DRM_NPUEDGE_BO_SET_LABEL] = "BO_SET_LABEL", [DRM_NPUEDGE_VM_GET_STATE] = "VM_GET_STATE",
	[DRM_NPUEDGE_PERFMON_CREATE] = "PERFMON_CREATE", [DRM_NPUEDGE_PERFMON_DESTROY] = "PERFMON_DESTROY",
	[DRM_NPUEDGE_PERFMON_READ] = "PERFMON_READ", [DRM_NPUEDGE_EVENTS] = "EVENTS",
};

/* Whether every call has succeeded so far. */
static bool each_succeeded(const struct fuzzer *f)
{
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unsigned long good = 0;

		for (int t = 0; t < THREADS; t++)
			good += *(volatile const unsigned long *)&f[t].good[DRM_COMMAND_BASE + i];
		if (!good)
			return false;
	}
	return true;
}

/*
 * Until the time is over: resets and swaps out, by turns.  A slow machine gets more of it for calls that succeed
 * rarely.
 */
static void disturb(const struct fuzzer *f, unsigned long seconds)
{
	int64_t end = npu_deadline(0) + seconds * 1000000000ll, last = end + MORE_SECONDS * 1000000000ll;

	for (int i = 0; npu_deadline(0) < end || (npu_deadline(0) < last && !each_succeeded(f)); i++) {
		usleep(500000);
		if (i % 8 == 7)
			npu_knob_write("reset", "1");
		else if (i % 2)
			npu_knob_write("shrinker", "64");
	}
}

FIXTURE(fuzz) {
	struct npu_client files[FUZZ_FILES];
	struct fuzzer f[THREADS];
	atomic_bool stop;
	void *room, *nowhere;
};

FIXTURE_SETUP(fuzz)
{
	char *pages;

	for (int i = 0; i < FUZZ_FILES; i++) {
		int ret = client_init(&self->files[i]);

		if (ret == -ENODEV)
			SKIP(return, "no npuedge device");
		ASSERT_EQ(0, ret);
	}
	pages = mmap(NULL, FUZZ_ROOM + getpagesize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, pages);
	self->room = pages;
	self->nowhere = pages + FUZZ_ROOM;
	ASSERT_EQ(0, mprotect(self->nowhere, getpagesize(), PROT_NONE));
}

FIXTURE_TEARDOWN(fuzz)
{
	for (int i = 0; i < FUZZ_FILES; i++)
		npu_client_fini(&self->files[i]);
	npu_dumps_clear();
}

/* Every ioctl of the driver was called, and did what it is there for. */
static void judge(struct __test_metadata *_metadata, FIXTURE_DATA(fuzz) *self)
{
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unsigned long calls = 0, good = 0;

		for (int t = 0; t < THREADS; t++) {
			calls += self->f[t].calls[DRM_COMMAND_BASE + i];
			good += self->f[t].good[DRM_COMMAND_BASE + i];
		}
		EXPECT_GT(good, 0);
		TH_LOG("%-15s %7lu calls, %7lu of them succeeded", names[i], calls, good);
	}
}

TEST_F_TIMEOUT(fuzz, ioctls, 300)
{
	unsigned long seconds = from_environment("NPU_FUZZ_SECONDS", 5);
	uint64_t seed = from_environment("NPU_FUZZ_SEED", npu_deadline(0));
	pthread_t thread[THREADS];

	TH_LOG("NPU_FUZZ_SEED=%#llx", (unsigned long long)seed);
	for (int i = 0; i < THREADS; i++) {
		self->f[i].files = self->files;
		self->f[i].random = (seed + i) * 0x9e3779b97f4a7c15ull | 1;
		self->f[i].stop = &self->stop;
		self->f[i].renews = !i;
		self->f[i].room = self->room;
		self->f[i].nowhere = self->nowhere;
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, fuzz_run, &self->f[i]));
	}
	disturb(self->f, seconds);
	self->stop = true;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, self->f[i].bad) {
			TH_LOG("request %#llx: %s", self->f[i].bad_request, strerror(-self->f[i].bad));
		}
	}
	judge(_metadata, self);
	for (int i = 0; i < FUZZ_FILES; i++) {
		EXPECT_EQ(0, drain(&self->files[i]));
		/* all hardware queues may be taken */
		npu_client_fini(&self->files[i]);
		memset(&self->files[i], 0, sizeof(self->files[i]));
	}
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
