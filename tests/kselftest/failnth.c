// SPDX-License-Identifier: GPL-2.0
/*
 * Every site of a call that can fail does so once, one after the other, until a call has come to its end without a
 * failure: it then either fails and has changed nothing, or did without.  After each of them the driver has as many
 * buffers, mappings, page tables, queues and references as before.  See failnth.h; failnth_probe.c does it to probing.
 */
#include "kselftest_harness.h"
#include "failnth.h"
#include "vgem.h"

#define SPARE_PAGES	64
#define SPARE_SIZE	(SPARE_PAGES * NPU_PAGE)
#define SPARE_VA	(NPU_VA + 64 * NPU_PAGE * NPU_PAGE)

/* What there is of everything. */
struct census {
	struct drm_npuedge_memory_info memory;
	struct drm_npuedge_vm_get_state vm;
	long long queues, references, files;
};

struct bench {
	struct npu_client c;
	struct vgem v;
	int control;	/* see nth_open() */
	int queues, references;	/* files that tell of them */
	int timeline;
	int ready;	/* syncobj with a fence that has signalled */
	int spare;	/* BO to map, export and so on */
	int other;	/* another file of the device, if the call needs one */
	int object;	/* what the call destroys or reads */
	int next;	/* id or handle that the call would make */
	void *map;	/* of the spare BO */
	struct census census;
};

FIXTURE(failnth) {
	struct bench b;
};

static void make_spare(struct bench *b)
{
	b->spare = npu_bo_create(b->c.fd, SPARE_SIZE, 0, 0);
}

FIXTURE_SETUP(failnth)
{
	struct bench *b = &self->b;
	char path[256];
	int ret = npu_client_init(&b->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	b->control = nth_open();
	if (b->control < 0)
		SKIP(return, "the kernel cannot fail the n-th allocation");
	/* comes when all is reserved, and is the end of the VM: bind_async.c has it fail */
	nth_mute("fail_bind", true);
	b->timeline = npu_syncobj_create(b->c.fd);
	ASSERT_GT(b->timeline, 0);
	make_spare(b);
	ASSERT_GT(b->spare, 0);
	npu_copy_stream(b->c.stream, 1, 4);
	b->ready = npu_syncobj_create(b->c.fd);
	ASSERT_EQ(0, npu_submit(b->c.fd, b->c.queue, NPU_STREAM, 192, NPU_PARAMS, 0, b->ready));
	ASSERT_EQ(0, npu_wait(b->c.fd, b->ready, NPU_WAIT_NS));
	ASSERT_EQ(0, npu_knob("queues", path, sizeof(path)));
	b->queues = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_GT(b->queues, 0);
	b->references = open("/sys/module/npuedge/refcnt", O_RDONLY | O_CLOEXEC);
	ASSERT_GT(b->references, 0);
}

FIXTURE_TEARDOWN(failnth)
{
	struct bench *b = &self->b;

	nth_mute("fail_bind", false);
	if (b->control > 0)
		close(b->control);
	if (b->queues > 0)
		close(b->queues);
	if (b->references > 0)
		close(b->references);
	if (b->other > 0)
		close(b->other);
	vgem_fini(&b->v);
	npu_client_fini(&b->c);
}

/* One call: >= 0 or -errno. */
typedef int (*call_fn)(struct bench *b);
/* What follows it, without faults: undo what it did (ret >= 0), or check that it did nothing. */
typedef int (*after_fn)(struct bench *b, int ret);

static bool errno_fits(int ret)
{
	switch (ret) {
	case -ENOMEM: case -EFAULT: case -EINTR: case -EIO: case -ENOSPC: case -EMFILE:
		return true;
	default:
		return ret >= 0;
	}
}

/* Censuses are many: what they read stays open, and is read again from its begin. */
static long long count_lines(int file)
{
	long long lines = 0;
	char text[4096];
	off_t at = 0;
	ssize_t got;

	while ((got = pread(file, text, sizeof(text), at)) > 0) {
		for (ssize_t i = 0; i < got; i++)
			lines += text[i] == '\n';
		at += got;
	}
	return got < 0 ? -errno : lines;
}

static long long read_number(int file)
{
	char text[32] = "";

	return pread(file, text, sizeof(text) - 1, 0) > 0 ? atoll(text) : -errno;
}

static long long count_files(void)
{
	long long files = 0;

	for (int fd = 0; fd < 256; fd++)
		files += fcntl(fd, F_GETFD) >= 0;
	return files;
}

static struct census take_census(struct bench *b)
{
	struct census now;

	memset(&now, 0, sizeof(now));
	npu_query(b->c.fd, DRM_NPUEDGE_QUERY_MEMORY, &now.memory, sizeof(now.memory));
	now.vm = npu_vm_state(b->c.fd, b->c.vm);
	now.queues = count_lines(b->queues);
	now.references = read_number(b->references);
	now.files = count_files();
	/* these only grow, or depend on what the rest of the machine does */
	now.vm.pte_writes = 0;
	now.memory.evicted_bytes = now.memory.purged_bytes = now.memory.resident_bytes = 0;
	now.memory.purgeable_bytes = 0;
	return now;
}

static void print_census(const char *when, const struct census *c)
{
	fprintf(stderr, "# %s: %llu buffers of %llu bytes, %llu bytes imported, %llu bytes of tables; VM: state %u, "
		"%llu mappings of %llu bytes, %llu bytes of tables; %lld queues, %lld references, %lld files\n", when,
		(unsigned long long)c->memory.buffers, (unsigned long long)c->memory.total_bytes,
		(unsigned long long)c->memory.imported_bytes, (unsigned long long)c->memory.table_bytes, c->vm.state,
		(unsigned long long)c->vm.mappings, (unsigned long long)c->vm.mapped_bytes,
		(unsigned long long)c->vm.table_bytes, c->queues, c->references, c->files);
}

/* Some things are freed by workers: wait for them. */
static int check_census(struct bench *b)
{
	int64_t end = npu_deadline(5000000000ll);
	struct census now;

	for (;;) {
		now = take_census(b);
		if (!memcmp(&now, &b->census, sizeof(now)))
			return 0;
		if (npu_deadline(0) > end)
			break;
		usleep(1000);
	}
	print_census("before", &b->census);
	print_census("now", &now);
	return -EUCLEAN;
}

/* The first, once the last of what there was before has gone. */
static void begin_census(struct bench *b)
{
	struct census now;

	b->census = take_census(b);
	for (int same = 0; same < 3; same++) {
		usleep(20000 * npu_slowness());
		now = take_census(b);
		if (memcmp(&now, &b->census, sizeof(now)))
			same = 0;
		b->census = now;
	}
}

/* Number of sites that failed, or -errno of what should not have happened. */
static int sweep(struct bench *b, call_fn call, after_fn after)
{
	int ret = call(b);

	ret = after ? after(b, ret) : ret;
	if (ret < 0)
		return ret;
	begin_census(b);
	if (b->census.queues < 0 || b->census.references < 1)
		return -ENODATA;
	for (int n = 1; n <= NTH_MOST; n++) {
		int left, bad;

		ret = nth_arm(b->control, n);
		if (ret)
			return ret;
		ret = call(b);
		left = nth_disarm(b->control);
		bad = after ? after(b, ret) : 0;
		bad = bad ?: check_census(b);
		if (bad || !errno_fits(ret)) {
			fprintf(stderr, "# site %d: the call returned %d, what followed %d\n", n, ret, bad);
			return bad < 0 ? bad : -EPROTO;
		}
		if (left)
			return ret < 0 ? ret : n - 1;
	}
	return -ELOOP;
}

/*
 * A call that failed has made nothing; but with -EFAULT it may be DRM that could not copy the new id out, which then
 * is the next one, as @destroy of it tells: it returns @absent if there is none.
 */
static int nothing_made(int ret, int destroyed, int absent)
{
	if (destroyed == absent)
		return 0;
	return ret == -EFAULT ? destroyed : -EEXIST;
}

static int bo_close(int fd, uint32_t handle)
{
	struct drm_gem_close args = { .handle = handle };

	return npu_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &args);
}

/* ---- files and queries ---- */

static int call_open(struct bench *b)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", b->c.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int after_open(struct bench *b, int ret)
{
	return ret >= 0 && close(ret) ? -errno : 0;
}

static int call_query(struct bench *b)
{
	uint8_t data[256];
	int ret = 0;

	for (unsigned int type = 0; !ret && type <= DRM_NPUEDGE_QUERY_LIMITS; type++)
		ret = npu_query(b->c.fd, type, data, sizeof(data));
	return ret;
}

static int call_fdinfo(struct bench *b)
{
	char path[64], text[2048];
	int fd, ret;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", b->c.fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = read(fd, text, sizeof(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int call_events(struct bench *b)
{
	struct drm_npuedge_events args = { .mask = DRM_NPUEDGE_EVENTS_MASK(DRM_NPUEDGE_EVENT_RESET) };

	return npu_ioctl(b->other, DRM_IOCTL_NPUEDGE_EVENTS, &args);
}

/* A fresh file each time, as events are made when the first are asked for; those of a call that failed are no loss. */
static int after_events(struct bench *b, int ret)
{
	ret = call_events(b);
	close(b->other);
	b->other = npu_open();
	return ret ?: b->other < 0 ? b->other : 0;
}

static int call_read(struct bench *b)
{
	struct drm_npuedge_event event;
	int ret = read(b->other, &event, sizeof(event));

	return ret < 0 ? -errno : ret;
}

/* An event that could not be read can be read later.  The next one is that of a reset. */
static int after_read(struct bench *b, int ret)
{
	if (ret < 0)
		ret = call_read(b);
	if (ret != sizeof(struct drm_npuedge_event))
		return ret < 0 ? ret : -EBADMSG;
	return npu_knob_write("reset", "1");
}

/* ---- buffers ---- */

static int call_bo_create(struct bench *b)
{
	return npu_bo_create(b->c.fd, SPARE_SIZE, 0, b->c.vm);
}

static int after_bo_create(struct bench *b, int ret)
{
	if (ret > 0) {
		b->next = ret;
		return bo_close(b->c.fd, ret);
	}
	return nothing_made(ret, bo_close(b->c.fd, b->next), -EINVAL);
}

static int call_bo_close(struct bench *b)
{
	return bo_close(b->c.fd, b->spare);
}

/* Closing cannot fail; but the arguments may not get in, or not out again. */
static int after_bo_close(struct bench *b, int ret)
{
	if (ret && ret != -EFAULT)
		return ret;
	if (ret)
		bo_close(b->c.fd, b->spare);
	make_spare(b);
	return b->spare < 0 ? b->spare : 0;
}

static int call_bo_sync(struct bench *b)
{
	struct drm_npuedge_bo_sync args = {
		.handle = b->c.bo, .flags = DRM_NPUEDGE_SYNC_FOR_CPU | DRM_NPUEDGE_SYNC_FOR_DEVICE,
		.size = NPU_CLIENT_SIZE,
	};

	return npu_ioctl(b->c.fd, DRM_IOCTL_NPUEDGE_BO_SYNC, &args);
}

static int call_madvise(struct bench *b)
{
	struct drm_npuedge_bo_madvise args = { .handle = b->spare, .advice = DRM_NPUEDGE_MADV_DONTNEED };

	return npu_ioctl(b->c.fd, DRM_IOCTL_NPUEDGE_BO_MADVISE, &args);
}

static int after_madvise(struct bench *b, int ret)
{
	struct drm_npuedge_bo_madvise args = { .handle = b->spare, .advice = DRM_NPUEDGE_MADV_WILLNEED };

	ret = npu_ioctl(b->c.fd, DRM_IOCTL_NPUEDGE_BO_MADVISE, &args);
	return ret ?: args.retained ? 0 : -EBADMSG;
}

static int call_set_label(struct bench *b)
{
	static const char label[] = "one two three";
	struct drm_npuedge_bo_set_label args = {
		.handle = b->spare, .size = sizeof(label) - 1, .label = (uintptr_t)label,
	};

	return npu_ioctl(b->c.fd, DRM_IOCTL_NPUEDGE_BO_SET_LABEL, &args);
}

static int call_mmap_offset(struct bench *b)
{
	struct drm_npuedge_bo_mmap_offset args = { .handle = b->spare };

	return npu_ioctl(b->c.fd, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &args);
}

static int call_mmap(struct bench *b)
{
	b->map = npu_bo_map(b->c.fd, b->spare, SPARE_SIZE);
	return b->map == MAP_FAILED ? -errno : 0;
}

static int after_mmap(struct bench *b, int ret)
{
	return ret >= 0 && munmap(b->map, SPARE_SIZE) ? -errno : 0;
}

/* Touches a page of a buffer that has none, by the kernel's hand: to ours a failure would be a signal. */
static int call_fault(struct bench *b)
{
	return read(b->object, (char *)b->map + 5 * NPU_PAGE, 64) < 0 ? -errno : 0;
}

/* Where the table of page table entries is still to be made: in 2 MiB that nothing else is mapped to. */
static int map_apart(struct bench *b)
{
	struct drm_npuedge_bo_mmap_offset args = { .handle = b->spare };
	const size_t apart = NPU_PAGE * 512;
	char *area = mmap(NULL, 3 * apart, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *middle = (char *)(((uintptr_t)area + apart - 1) / apart * apart);

	if (area == MAP_FAILED || munmap(area, 3 * apart))
		return -errno;
	if (npu_ioctl(b->c.fd, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &args))
		return -EINVAL;
	b->map = mmap(middle, SPARE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, b->c.fd,
		      args.offset);
	return b->map == MAP_FAILED ? -errno : 0;
}

static int after_fault(struct bench *b, int ret)
{
	if (b->map && munmap(b->map, SPARE_SIZE))
		return -errno;
	bo_close(b->c.fd, b->spare);
	make_spare(b);
	return map_apart(b);
}

static int call_export(struct bench *b)
{
	struct drm_prime_handle args = { .handle = b->spare, .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1 };
	int ret = npu_ioctl(b->c.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	return ret ? ret : args.fd;
}

/* A fresh BO each time.  What -EFAULT has not told us is the file that comes next. */
static int after_export(struct bench *b, int ret)
{
	if (ret >= 0)
		b->next = ret;
	if ((ret >= 0 || ret == -EFAULT) && close(b->next) && ret >= 0)
		return -errno;
	bo_close(b->c.fd, b->spare);
	make_spare(b);
	return b->spare < 0 ? b->spare : 0;
}

/* Imports what b->object is a dma-buf of. */
static int call_import(struct bench *b)
{
	struct drm_prime_handle args = { .fd = b->object };
	int ret = npu_ioctl(b->other, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);

	return ret ? ret : (int)args.handle;
}

static int after_import(struct bench *b, int ret)
{
	if (ret > 0)
		b->next = ret;
	if (ret > 0)
		return bo_close(b->other, ret);
	return nothing_made(ret, bo_close(b->other, b->next), -EINVAL);
}

/* ---- address spaces ---- */

static int call_vm_create(struct bench *b)
{
	return npu_vm_create(b->c.fd);
}

static int after_vm_create(struct bench *b, int ret)
{
	if (ret > 0) {
		b->next = ret;
		return npu_vm_destroy(b->c.fd, ret);
	}
	return nothing_made(ret, npu_vm_destroy(b->c.fd, b->next), -ENOENT);
}

static int call_vm_destroy(struct bench *b)
{
	return npu_vm_destroy(b->c.fd, b->object);
}

/* An address space with a mapping. */
static int after_vm_destroy(struct bench *b, int ret)
{
	if (ret && ret != -EFAULT)
		return ret;
	if (ret)
		npu_vm_destroy(b->c.fd, b->object);
	b->object = npu_vm_create(b->c.fd);
	return b->object < 0 ? b->object : npu_map(b->c.fd, b->object, b->c.bo, SPARE_VA, 0, NPU_PAGE, 0);
}

static int call_get_state(struct bench *b)
{
	struct drm_npuedge_vm_get_state vm = { .id = b->c.vm };
	struct drm_npuedge_queue_get_state queue = { .id = b->c.queue };
	int ret = npu_ioctl(b->c.fd, DRM_IOCTL_NPUEDGE_VM_GET_STATE, &vm);

	return ret ?: npu_ioctl(b->c.fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &queue);
}

/* A call that failed has mapped nothing; but -EFAULT may be DRM's, at the end. */
static int check_mappings(struct bench *b, int ret, uint64_t added)
{
	uint64_t now = npu_vm_state(b->c.fd, b->c.vm).mappings, before = b->census.vm.mappings;

	if (!before || (ret == -EFAULT && now == before + added))
		return 0;
	return now == before + (ret ? 0 : added) ? 0 : -EBADMSG;
}

/* A fresh BO each time: its pages are allocated when it is mapped. */
static int call_map_fresh(struct bench *b)
{
	return npu_map(b->c.fd, b->c.vm, b->spare, SPARE_VA, 0, SPARE_SIZE, 0);
}

static int unmap_spare(struct bench *b)
{
	int gone = npu_unmap(b->c.fd, b->c.vm, SPARE_VA, SPARE_SIZE);

	bo_close(b->c.fd, b->spare);
	make_spare(b);
	return gone ?: b->spare < 0 ? b->spare : 0;
}

static int after_map_fresh(struct bench *b, int ret)
{
	return check_mappings(b, ret, 1) ?: unmap_spare(b);
}

/* Replaces the middle of a mapping: splits it in three. */
static int call_split(struct bench *b)
{
	return npu_map(b->c.fd, b->c.vm, b->spare, SPARE_VA + 8 * NPU_PAGE, 0, NPU_PAGE, 0);
}

static int after_split(struct bench *b, int ret)
{
	return check_mappings(b, ret, 2) ?: npu_map(b->c.fd, b->c.vm, b->spare, SPARE_VA, 0, SPARE_SIZE, 0);
}

/* Takes the middle out. */
static int call_unmap(struct bench *b)
{
	return npu_unmap(b->c.fd, b->c.vm, SPARE_VA + 8 * NPU_PAGE, NPU_PAGE);
}

static int after_unmap(struct bench *b, int ret)
{
	return check_mappings(b, ret, 1) ?: npu_map(b->c.fd, b->c.vm, b->spare, SPARE_VA, 0, SPARE_SIZE, 0);
}

/* Two changes that wait for a fence and signal a binary syncobj and a point of a timeline. */
static int call_bind_async(struct bench *b)
{
	struct drm_npuedge_vm_bind_op ops[2] = {
		{ .op = DRM_NPUEDGE_BIND_MAP, .handle = b->spare, .va = SPARE_VA, .size = SPARE_SIZE },
		{ .op = DRM_NPUEDGE_BIND_UNMAP, .va = SPARE_VA + 8 * NPU_PAGE, .size = NPU_PAGE },
	};
	struct drm_npuedge_sync in = { .handle = b->ready };
	struct drm_npuedge_sync out[2] = {
		{ .handle = b->c.sync },
		{ .handle = b->timeline, .flags = DRM_NPUEDGE_SYNC_TIMELINE, .point = 1 },
	};
	struct drm_npuedge_vm_bind bind = {
		.vm_id = b->c.vm, .flags = DRM_NPUEDGE_VM_BIND_ASYNC,
		.ops = { sizeof(ops[0]), 2, (uintptr_t)ops },
		.in_syncs = { sizeof(in), 1, (uintptr_t)&in },
		.out_syncs = { sizeof(out[0]), 2, (uintptr_t)out },
	};

	return npu_ioctl(b->c.fd, DRM_IOCTL_NPUEDGE_VM_BIND, &bind);
}

/*
 * Both syncobjs signal, or neither has been touched: a wait for a syncobj without a fence is -EINVAL.  -EFAULT may be
 * DRM's, which copies the arguments back at the end.
 */
static int check_syncs(struct bench *b, int ret)
{
	struct npu_client *c = &b->c;
	int first = npu_wait(c->fd, c->sync, NPU_WAIT_NS), bad;

	if (ret < 0 && !(ret == -EFAULT && !first))
		bad = first == -EINVAL ? 0 : -EBADMSG;
	else
		bad = first ?: npu_wait_point(c->fd, b->timeline, 1, NPU_WAIT_NS);
	npu_syncobj_destroy(c->fd, c->sync);
	npu_syncobj_destroy(c->fd, b->timeline);
	c->sync = npu_syncobj_create(c->fd);
	b->timeline = npu_syncobj_create(c->fd);
	return bad;
}

static int after_bind_async(struct bench *b, int ret)
{
	int bad = check_syncs(b, ret);

	bad = bad ?: check_mappings(b, ret, 2);
	if (npu_vm_state(b->c.fd, b->c.vm).state != DRM_NPUEDGE_VM_USABLE)
		bad = -EIO;
	return bad ?: unmap_spare(b);
}

/* ---- queues, jobs and monitors ---- */

static int call_queue_create(struct bench *b)
{
	return npu_queue_create(b->c.fd, b->c.vm, DRM_NPUEDGE_PRIORITY_LOW);
}

static int after_queue_create(struct bench *b, int ret)
{
	if (ret > 0) {
		b->next = ret;
		return npu_queue_destroy(b->c.fd, ret);
	}
	return nothing_made(ret, npu_queue_destroy(b->c.fd, b->next), -ENOENT);
}

static int call_queue_destroy(struct bench *b)
{
	return npu_queue_destroy(b->c.fd, b->c.queue);
}

/* As with closing a BO. */
static int after_queue_destroy(struct bench *b, int ret)
{
	if (ret && ret != -EFAULT)
		return ret;
	if (ret)
		npu_queue_destroy(b->c.fd, b->c.queue);
	b->c.queue = npu_queue_create(b->c.fd, b->c.vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	return b->c.queue < 0 ? b->c.queue : 0;
}

/* Two jobs: the second waits for the first by a binary syncobj, uses buffers, and signals a point of a timeline. */
static int call_submit(struct bench *b)
{
	struct npu_client *c = &b->c;
	struct drm_npuedge_stream stream = { .va = NPU_STREAM, .size = 192 };
	struct drm_npuedge_sync binary = { .handle = c->sync };
	struct drm_npuedge_sync point = {
		.handle = b->timeline, .flags = DRM_NPUEDGE_SYNC_TIMELINE, .point = 1,
	};
	struct drm_npuedge_bo_use bos[2] = {
		{ .handle = b->spare, .flags = DRM_NPUEDGE_BO_WRITE }, { .handle = c->bo },
	};
	struct drm_npuedge_job jobs[2] = { 0 };
	struct drm_npuedge_submit submit = {
		.queue_id = c->queue,
		.jobs = { .stride = sizeof(jobs[0]), .count = 2, .ptr = (uintptr_t)jobs },
	};

	for (int i = 0; i < 2; i++) {
		jobs[i].streams = (struct drm_npuedge_array){ sizeof(stream), 1, (uintptr_t)&stream };
		jobs[i].params_va = NPU_PARAMS;
		jobs[i].flags = DRM_NPUEDGE_JOB_RERUN;
	}
	jobs[0].out_syncs = (struct drm_npuedge_array){ sizeof(binary), 1, (uintptr_t)&binary };
	jobs[1].in_syncs = jobs[0].out_syncs;
	jobs[1].out_syncs = (struct drm_npuedge_array){ sizeof(point), 1, (uintptr_t)&point };
	jobs[1].bos = (struct drm_npuedge_array){ sizeof(bos[0]), 2, (uintptr_t)bos };
	c->data[0]++;
	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit);
}

static int after_submit(struct bench *b, int ret)
{
	int bad = check_syncs(b, ret);

	return bad ?: !ret && b->c.data[1] != b->c.data[0] ? -EBADMSG : 0;
}

static int end_monitor(int fd, uint32_t id)
{
	struct drm_npuedge_perfmon_destroy args = { .id = id };

	return npu_ioctl(fd, DRM_IOCTL_NPUEDGE_PERFMON_DESTROY, &args);
}

static int call_perfmon_create(struct bench *b)
{
	struct drm_npuedge_perfmon_create args = { .queue_id = b->c.queue };
	int ret = npu_ioctl(b->c.fd, DRM_IOCTL_NPUEDGE_PERFMON_CREATE, &args);

	return ret ? ret : (int)args.id;
}

static int after_perfmon_create(struct bench *b, int ret)
{
	if (ret > 0) {
		b->next = ret;
		return end_monitor(b->c.fd, ret);
	}
	return nothing_made(ret, end_monitor(b->c.fd, b->next), -ENOENT);
}

static int call_perfmon_destroy(struct bench *b)
{
	return end_monitor(b->c.fd, b->object);
}

static int after_perfmon_destroy(struct bench *b, int ret)
{
	if (ret && ret != -EFAULT)
		return ret;
	if (ret)
		end_monitor(b->c.fd, b->object);
	b->object = call_perfmon_create(b);
	return b->object < 0 ? b->object : 0;
}

static int call_perfmon_read(struct bench *b)
{
	struct drm_npuedge_perfmon_value values[DRM_NPUEDGE_COUNTER_ENERGY + 1];
	struct drm_npuedge_perfmon_read args = {
		.id = b->object, .values = { sizeof(values[0]), DRM_NPUEDGE_COUNTER_ENERGY + 1, (uintptr_t)values },
	};

	for (unsigned int i = 0; i <= DRM_NPUEDGE_COUNTER_ENERGY; i++)
		values[i] = (struct drm_npuedge_perfmon_value){ .counter = i };
	return npu_ioctl(b->c.fd, DRM_IOCTL_NPUEDGE_PERFMON_READ, &args);
}

/* A client with work in the device goes away while allocations fail: close() does not. */
static struct npu_client leaver;

/* Its mapping, which keeps the file open, is gone already. */
static int call_close(struct bench *b)
{
	return close(leaver.fd) ? -errno : 0;
}

static int after_close(struct bench *b, int ret)
{
	if (ret)
		return ret;
	ret = npu_client_init(&leaver);
	if (ret)
		return ret;
	npu_copy_stream(leaver.stream, 1, 4);
	munmap(leaver.map, NPU_CLIENT_SIZE);
	leaver.map = NULL;
	return npu_submit(leaver.fd, leaver.queue, NPU_STREAM, 192, NPU_PARAMS, 0, leaver.sync);
}

/* @ready: what has to be there for the first call. */
#define SWEEP(name, after, ready) \
	TEST_F_TIMEOUT(failnth, name, 120) \
	{ \
		struct bench *b = &self->b; \
		int sites; \
		ASSERT_EQ(0, ready); \
		sites = sweep(b, call_##name, after); \
		ASSERT_GT(sites, 0); \
		TH_LOG("%d sites", sites); \
		EXPECT_EQ(0, npu_device_works()); \
	}

static int ready_other(struct bench *b)
{
	b->other = npu_open();
	return b->other < 0 ? b->other : 0;
}

static int ready_read(struct bench *b)
{
	return ready_other(b) ?: call_events(b) ?: npu_knob_write("reset", "1");
}

static int ready_fault(struct bench *b)
{
	b->object = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	return b->object < 0 ? -errno : map_apart(b);
}

static int ready_import(struct bench *b)
{
	int ret = vgem_init(&b->v, SPARE_SIZE);

	b->object = b->v.dmabuf;
	return ret ?: ready_other(b);
}

/* Who imports a dma-buf of ours that may be read only gets a view of the buffer. */
static int ready_import_view(struct bench *b)
{
	struct drm_prime_handle args = { .handle = b->spare, .flags = DRM_CLOEXEC, .fd = -1 };
	int ret = npu_ioctl(b->c.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	b->object = args.fd;
	return ret ?: ready_other(b);
}

#define call_import_view	call_import

SWEEP(open, after_open, 0)
SWEEP(query, NULL, 0)
SWEEP(fdinfo, NULL, 0)
SWEEP(events, after_events, ready_other(b))
SWEEP(read, after_read, ready_read(b))
SWEEP(bo_create, after_bo_create, 0)
SWEEP(bo_close, after_bo_close, 0)
SWEEP(bo_sync, NULL, 0)
SWEEP(madvise, after_madvise, 0)
SWEEP(set_label, NULL, 0)
SWEEP(mmap_offset, NULL, 0)
SWEEP(mmap, after_mmap, 0)
SWEEP(fault, after_fault, ready_fault(b))
SWEEP(export, after_export, 0)
SWEEP(import, after_import, ready_import(b))
SWEEP(import_view, after_import, ready_import_view(b))
SWEEP(vm_create, after_vm_create, 0)
SWEEP(vm_destroy, after_vm_destroy, after_vm_destroy(b, 0))
SWEEP(get_state, NULL, 0)
SWEEP(map_fresh, after_map_fresh, 0)
SWEEP(split, after_split, after_split(b, 0))
SWEEP(unmap, after_unmap, after_unmap(b, 0))
SWEEP(bind_async, after_bind_async, 0)
SWEEP(queue_create, after_queue_create, 0)
SWEEP(queue_destroy, after_queue_destroy, 0)
SWEEP(submit, after_submit, 0)
SWEEP(perfmon_create, after_perfmon_create, 0)
SWEEP(perfmon_destroy, after_perfmon_destroy, after_perfmon_destroy(b, 0))
SWEEP(perfmon_read, NULL, after_perfmon_destroy(b, 0))

TEST_F_TIMEOUT(failnth, close, 120)
{
	int sites;

	ASSERT_EQ(0, after_close(&self->b, 0));
	sites = sweep(&self->b, call_close, after_close);
	ASSERT_GT(sites, 0);
	TH_LOG("%d sites", sites);
	npu_client_fini(&leaver);
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
