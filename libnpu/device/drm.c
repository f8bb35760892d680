// SPDX-License-Identifier: MIT
/* Memory, address spaces and telemetry through the kernel driver. */
#include "device/drm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "error.h"

int npu_drm_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(fd, request, arg);
	} while (ret == -1 && (errno == EINTR || errno == EAGAIN));
	return ret == -1 ? -errno : 0;
}

npu_status npu_drm_fail(npu_device *dev, const char *what, int err)
{
	npu_status status;

	switch (-err) {
	case ENODEV:
		status = NPU_ERR_DEVICE_LOST;
		break;
	case ENOMEM:
		status = NPU_ERR_NOMEM;
		break;
	case EBUSY:
	case ENOSPC:
	case EMFILE:
		status = NPU_ERR_LIMIT;
		break;
	default:
		status = NPU_ERR_IO;
	}
	return npu_fail(status, "%s: %s: %s", dev->name, what, strerror(-err));
}

npu_status npu_drm_query(npu_device *dev, uint32_t type, void *out, uint32_t size,
			 const char *what)
{
	struct drm_npuedge_dev_query query = {
		.type = type,
		.size = size,
		.pointer = (uintptr_t)out,
	};
	int err;

	memset(out, 0, size);
	err = npu_drm_ioctl(to_drm_device(dev)->fd, DRM_IOCTL_NPUEDGE_DEV_QUERY, &query);
	return err ? npu_drm_fail(dev, what, err) : NPU_OK;
}

static void drm_close(npu_device *dev)
{
	struct drm_device *drm = to_drm_device(dev);

	npu_drm_pool_drain(drm);
	close(drm->fd);
	pthread_mutex_destroy(&drm->pool_lock);
	free(drm);
}

static npu_status drm_telemetry(npu_device *dev, struct npu_telemetry *out)
{
	struct drm_npuedge_telemetry t;
	npu_status status = npu_drm_query(dev, DRM_NPUEDGE_QUERY_TELEMETRY, &t, sizeof(t),
					  "query of telemetry");

	if (status)
		return status;
	out->time_ns = t.time_ns;
	out->energy_uj = t.energy_uj;
	out->dram_rd_bytes = t.dram_rd_bytes;
	out->dram_wr_bytes = t.dram_wr_bytes;
	out->temp_die_mc = t.temp_die_mc;
	out->temp_board_mc = t.temp_board_mc;
	out->freq_khz = t.freq_khz;
	return NPU_OK;
}

static npu_status drm_bo_new(npu_device *dev, uint64_t size, npu_bo **out)
{
	struct drm_npuedge_bo_create create = { .size = size };
	struct drm_bo *bo = calloc(1, sizeof(*bo));
	npu_status status;
	int err;

	if (!bo)
		return npu_fail(NPU_ERR_NOMEM, "BO: no memory");
	err = npu_drm_ioctl(to_drm_device(dev)->fd, DRM_IOCTL_NPUEDGE_BO_CREATE, &create);
	if (err) {
		free(bo);
		status = npu_drm_fail(dev, "allocation of a BO", err);
		return npu_fail(status, "BO of 0x%llx bytes: %s", (unsigned long long)size,
				npu_error_message());
	}
	bo->handle = create.handle;
	*out = &bo->base;
	return NPU_OK;
}

static void drm_bo_del(npu_bo *bo)
{
	struct drm_gem_close close_arg = { .handle = to_drm_bo(bo)->handle };

	npu_drm_ioctl(to_drm_device(bo->dev)->fd, DRM_IOCTL_GEM_CLOSE, &close_arg);
	free(to_drm_bo(bo));
}

static npu_status drm_bo_map(npu_bo *bo, void **out)
{
	struct drm_npuedge_bo_mmap_offset arg = { .handle = to_drm_bo(bo)->handle };
	int fd = to_drm_device(bo->dev)->fd;
	int err = npu_drm_ioctl(fd, DRM_IOCTL_NPUEDGE_BO_MMAP_OFFSET, &arg);
	void *map;

	if (err)
		return npu_drm_fail(bo->dev, "mmap offset of a BO", err);
	map = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)arg.offset);
	if (map == MAP_FAILED)
		return npu_drm_fail(bo->dev, "mmap of a BO", -errno);
	*out = map;
	return NPU_OK;
}

static void drm_bo_unmap(npu_bo *bo)
{
	munmap(bo->map, bo->size);
}

static npu_status drm_vm_new(npu_device *dev, npu_vm **out)
{
	struct drm_npuedge_vm_create create = { 0 };
	struct drm_vm *vm = calloc(1, sizeof(*vm));
	int err;

	if (!vm)
		return npu_fail(NPU_ERR_NOMEM, "VM: no memory");
	err = npu_drm_ioctl(to_drm_device(dev)->fd, DRM_IOCTL_NPUEDGE_VM_CREATE, &create);
	if (err) {
		free(vm);
		return npu_drm_fail(dev, "creation of a VM", err);
	}
	vm->id = create.id;
	*out = &vm->base;
	return NPU_OK;
}

static void drm_vm_del(npu_vm *vm)
{
	struct drm_npuedge_vm_destroy destroy = { .id = to_drm_vm(vm)->id };

	npu_drm_ioctl(to_drm_device(vm->dev)->fd, DRM_IOCTL_NPUEDGE_VM_DESTROY, &destroy);
	free(to_drm_vm(vm));
}

static npu_status vm_op(npu_vm *vm, const struct drm_npuedge_vm_bind_op *op, const char *what)
{
	struct drm_npuedge_vm_bind bind = {
		.vm_id = to_drm_vm(vm)->id,
		.ops = { .stride = sizeof(*op), .count = 1, .ptr = (uintptr_t)op },
	};
	int err = npu_drm_ioctl(to_drm_device(vm->dev)->fd, DRM_IOCTL_NPUEDGE_VM_BIND, &bind);

	return err ? npu_drm_fail(vm->dev, what, err) : NPU_OK;
}

static npu_status drm_vm_map(npu_vm *vm, npu_bo *bo, uint64_t va, uint32_t flags)
{
	const struct drm_npuedge_vm_bind_op op = {
		.op = DRM_NPUEDGE_BIND_MAP,
		.flags = flags & NPU_BIND_READONLY ? DRM_NPUEDGE_BIND_READONLY : 0,
		.handle = to_drm_bo(bo)->handle,
		.va = va,
		.size = bo->size,
	};

	return vm_op(vm, &op, "binding a BO");
}

static npu_status drm_vm_unmap(npu_vm *vm, npu_bo *bo, uint64_t va)
{
	const struct drm_npuedge_vm_bind_op op = {
		.op = DRM_NPUEDGE_BIND_UNMAP,
		.va = va,
		.size = bo->size,
	};

	return vm_op(vm, &op, "unbinding a BO");
}

const struct device_ops npu_drm_ops = {
	.close = drm_close,
	.telemetry = drm_telemetry,
	.bo_new = drm_bo_new,
	.bo_del = drm_bo_del,
	.bo_map = drm_bo_map,
	.bo_unmap = drm_bo_unmap,
	.vm_new = drm_vm_new,
	.vm_del = drm_vm_del,
	.vm_map = drm_vm_map,
	.vm_unmap = drm_vm_unmap,
	.queue_new = npu_drm_queue_new,
	.queue_stop = npu_drm_queue_stop,
	.queue_free = npu_drm_queue_free,
	.submit = npu_drm_submit,
	.fence_wait = npu_drm_fence_wait,
	.fence_free = npu_drm_fence_free,
};
