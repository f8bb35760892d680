// SPDX-License-Identifier: GPL-2.0
/*
 * Every field of every call that names an object, with 0, all ones, the name of what is gone, of what another file has,
 * and of something else: refused where the call is made.  No worker ever meets such a name.
 */
#include "kselftest_harness.h"
#include "sysfs.h"

FIXTURE(handles) {
	struct npu_client c, other;
	int strangers;	/* many buffers: their handles are nobody's queue, VM, syncobj or monitor */
};

#define STRANGERS	64

FIXTURE_SETUP(handles)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_client_init(&self->other));
	for (int i = 0; i < STRANGERS; i++)
		self->strangers = npu_bo_create(self->c.fd, NPU_PAGE, 0, 0);
	ASSERT_GT(self->strangers, STRANGERS);
	npu_copy_stream(self->c.stream, 1, 4);
}

FIXTURE_TEARDOWN(handles)
{
	npu_client_fini(&self->c);
	npu_client_fini(&self->other);
}

/* A call with @id in one of its fields: what it returned. */
typedef int (*field_fn)(struct npu_client *c, uint32_t id);

static int submit_with(struct npu_client *c, uint32_t queue, uint32_t in, uint32_t out, uint32_t bo)
{
	struct drm_npuedge_stream stream = { .va = NPU_STREAM, .size = 192 };
	struct drm_npuedge_sync in_sync = { .handle = in }, out_sync = { .handle = out };
	struct drm_npuedge_bo_use use = { .handle = bo };
	struct drm_npuedge_job job = {
		.streams = { sizeof(stream), 1, (uintptr_t)&stream }, .params_va = NPU_PARAMS,
		.in_syncs = { sizeof(in_sync), in != (uint32_t)c->sync, (uintptr_t)&in_sync },
		.out_syncs = { sizeof(out_sync), 1, (uintptr_t)&out_sync },
		.bos = { sizeof(use), 1, (uintptr_t)&use },
	};
	struct drm_npuedge_submit submit = {
		.queue_id = queue, .jobs = { sizeof(job), 1, (uintptr_t)&job },
	};

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit);
}

static int submit_queue(struct npu_client *c, uint32_t id)
{
	return submit_with(c, id, c->sync, c->sync, c->bo);
}

static int submit_in(struct npu_client *c, uint32_t id)
{
	return submit_with(c, c->queue, id, c->sync, c->bo);
}

static int submit_out(struct npu_client *c, uint32_t id)
{
	return submit_with(c, c->queue, c->sync, id, c->bo);
}

static int submit_bo(struct npu_client *c, uint32_t id)
{
	return submit_with(c, c->queue, c->sync, c->sync, id);
}

static int queue_vm(struct npu_client *c, uint32_t id)
{
	int ret = npu_queue_create(c->fd, id, DRM_NPUEDGE_PRIORITY_NORMAL);

	return ret < 0 ? ret : 0;
}

static int queue_end(struct npu_client *c, uint32_t id)
{
	return npu_queue_destroy(c->fd, id);
}

static int queue_state(struct npu_client *c, uint32_t id)
{
	struct drm_npuedge_queue_get_state args = { .id = id };

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &args);
}

static int vm_end(struct npu_client *c, uint32_t id)
{
	return npu_vm_destroy(c->fd, id);
}

static int vm_state(struct npu_client *c, uint32_t id)
{
	struct drm_npuedge_vm_get_state args = { .id = id };

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_VM_GET_STATE, &args);
}

static int bind_vm(struct npu_client *c, uint32_t id)
{
	return npu_map(c->fd, id, c->bo, NPU_VA * 4, 0, NPU_PAGE, 0);
}

static int bind_bo(struct npu_client *c, uint32_t id)
{
	return npu_map(c->fd, c->vm, id, NPU_VA * 4, 0, NPU_PAGE, 0);
}

static int bind_with(struct npu_client *c, uint32_t in, uint32_t out)
{
	struct drm_npuedge_vm_bind_op op = { .handle = c->bo, .va = NPU_VA * 4, .size = NPU_PAGE };
	struct drm_npuedge_sync in_sync = { .handle = in }, out_sync = { .handle = out };
	struct drm_npuedge_vm_bind bind = {
		.vm_id = c->vm, .flags = DRM_NPUEDGE_VM_BIND_ASYNC, .ops = { sizeof(op), 1, (uintptr_t)&op },
		.in_syncs = { sizeof(in_sync), in != (uint32_t)c->sync, (uintptr_t)&in_sync },
		.out_syncs = { sizeof(out_sync), 1, (uintptr_t)&out_sync },
	};

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_VM_BIND, &bind);
}

static int bind_in(struct npu_client *c, uint32_t id)
{
	return bind_with(c, id, c->sync);
}

static int bind_out(struct npu_client *c, uint32_t id)
{
	return bind_with(c, c->sync, id);
}

static int bo_vm(struct npu_client *c, uint32_t id)
{
	int ret = npu_bo_create(c->fd, NPU_PAGE, 0, id);

	return ret < 0 ? ret : 0;
}

static int bo_mmap(struct npu_client *c, uint32_t id)
{
	struct drm_npuedge_bo_mmap_offset args = { .handle = id };

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &args);
}

static int bo_sync(struct npu_client *c, uint32_t id)
{
	struct drm_npuedge_bo_sync args = { .handle = id, .flags = DRM_NPUEDGE_SYNC_FOR_CPU, .size = NPU_PAGE };

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_BO_SYNC, &args);
}

static int bo_advise(struct npu_client *c, uint32_t id)
{
	struct drm_npuedge_bo_madvise args = { .handle = id };

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_BO_MADVISE, &args);
}

static int bo_label(struct npu_client *c, uint32_t id)
{
	struct drm_npuedge_bo_set_label args = { .handle = id };

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_BO_SET_LABEL, &args);
}

static int bo_export(struct npu_client *c, uint32_t id)
{
	struct drm_prime_handle args = { .handle = id, .flags = DRM_CLOEXEC };
	int ret = npu_ioctl(c->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	if (!ret)
		close(args.fd);
	return ret;
}

static int monitor_queue(struct npu_client *c, uint32_t id)
{
	struct drm_npuedge_perfmon_create args = { .queue_id = id };

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_CREATE, &args);
}

static int monitor_end(struct npu_client *c, uint32_t id)
{
	struct drm_npuedge_perfmon_destroy args = { .id = id };

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_DESTROY, &args);
}

static int monitor_read(struct npu_client *c, uint32_t id)
{
	struct drm_npuedge_perfmon_value value = { 0 };
	struct drm_npuedge_perfmon_read args = { .id = id, .values = { sizeof(value), 1, (uintptr_t)&value } };

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_READ, &args);
}

enum object { QUEUE, VM, BO, SYNCOBJ, MONITOR, OBJECTS };

static const struct {
	const char *name;
	field_fn call;
	enum object object;
	bool zero_is_none;	/* 0 stands for "none", and is fine */
} fields[] = {
	{ "SUBMIT queue_id", submit_queue, QUEUE },
	{ "SUBMIT in_syncs", submit_in, SYNCOBJ },
	{ "SUBMIT out_syncs", submit_out, SYNCOBJ },
	{ "SUBMIT bos", submit_bo, BO },
	{ "QUEUE_CREATE vm_id", queue_vm, VM },
	{ "QUEUE_DESTROY id", queue_end, QUEUE },
	{ "QUEUE_GET_STATE id", queue_state, QUEUE },
	{ "VM_DESTROY id", vm_end, VM },
	{ "VM_GET_STATE id", vm_state, VM },
	{ "VM_BIND vm_id", bind_vm, VM },
	{ "VM_BIND ops", bind_bo, BO },
	{ "VM_BIND in_syncs", bind_in, SYNCOBJ },
	{ "VM_BIND out_syncs", bind_out, SYNCOBJ },
	{ "BO_CREATE vm_id", bo_vm, VM, true },
	{ "BO_MMAP_OFFSET", bo_mmap, BO },
	{ "BO_SYNC", bo_sync, BO },
	{ "BO_MADVISE", bo_advise, BO },
	{ "BO_SET_LABEL", bo_label, BO },
	{ "PRIME_HANDLE_TO_FD", bo_export, BO },
	{ "PERFMON_CREATE queue_id", monitor_queue, QUEUE, true },
	{ "PERFMON_DESTROY id", monitor_end, MONITOR },
	{ "PERFMON_READ id", monitor_read, MONITOR },
};

/* The name of an object that @c has had and has no more. */
static int gone(struct npu_client *c, enum object object)
{
	struct drm_npuedge_perfmon_create monitor = { .queue_id = c->queue };
	int id;

	switch (object) {
	case QUEUE:
		id = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		npu_queue_destroy(c->fd, id);
		return id;
	case VM:
		id = npu_vm_create(c->fd);
		npu_vm_destroy(c->fd, id);
		return id;
	case BO:
		id = npu_bo_create(c->fd, NPU_PAGE, 0, 0);
		npu_bo_close(c->fd, id);
		return id;
	case SYNCOBJ:
		id = npu_syncobj_create(c->fd);
		npu_syncobj_destroy(c->fd, id);
		return id;
	default:
		npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_PERFMON_CREATE, &monitor);
		monitor_end(c, monitor.id);
		return monitor.id;
	}
}

/* The name of an object of another file; handles of files are counted by themselves, hence the last of many. */
static int foreign(struct npu_client *other, enum object object)
{
	int id = -1;

	for (int i = 0; i < 8; i++) {
		struct drm_npuedge_perfmon_create monitor = { .queue_id = other->queue };

		switch (object) {
		case VM: id = npu_vm_create(other->fd); break;
		case SYNCOBJ: id = npu_syncobj_create(other->fd); break;
		case MONITOR: id = npu_ioctl(other->fd, DRM_IOCTL_NPUEDGE_PERFMON_CREATE, &monitor) ? -1 : (int)monitor.id;
			break;
		case QUEUE: id = npu_queue_create(other->fd, other->vm, DRM_NPUEDGE_PRIORITY_NORMAL); break;
		default: return STRANGERS * 2 + npu_bo_create(other->fd, NPU_PAGE, 0, 0);
		}
		if (id < 0)
			return STRANGERS * 2;
	}
	return id;
}

TEST_F_TIMEOUT(handles, wrong_ones_are_refused, 60)
{
	struct npu_client *c = &self->c;
	int theirs[OBJECTS];

	for (int object = 0; object < OBJECTS; object++)
		theirs[object] = foreign(&self->other, object);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		enum object object = fields[i].object;
		const struct {
			const char *what;
			uint32_t id;
		} wrong[] = {
			{ "0", 0 }, { "all ones", ~0u }, { "INT_MAX", 0x7fffffff }, { "INT_MIN", 0x80000000 },
			{ "of one that is gone", gone(c, object) }, { "of another file", theirs[object] },
			{ "of a buffer", object == BO ? STRANGERS * 3 : self->strangers },
		};

		for (size_t w = 0; w < sizeof(wrong) / sizeof(wrong[0]); w++) {
			if (!w && fields[i].zero_is_none)
				continue;
			EXPECT_EQ(-ENOENT, fields[i].call(c, wrong[w].id)) {
				TH_LOG("%s: %s (%u)", fields[i].name, wrong[w].what, wrong[w].id);
			}
		}
	}
	/* the queue has not heard of any of it */
	c->data[0] = 0x4711;
	ASSERT_EQ(0, submit_bo(c, c->bo));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
	EXPECT_EQ(0x4711, c->data[1]);
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
