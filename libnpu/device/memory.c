// SPDX-License-Identifier: MIT
/* Buffers, address spaces and bindings, as far as all devices share them. */
#include <string.h>

#include "device/backend.h"
#include "error.h"

/* From this size on a BO starts at a large-page boundary, so that the driver can use large pages.
 */
#define LARGE_PAGE	0x200000u

npu_status npu_bo_new(npu_device *dev, uint64_t size, npu_bo **out)
{
	npu_status status;

	if (!dev || !out)
		return npu_fail(NPU_ERR_INVALID, "npu_bo_new: no device or no place for the BO");
	*out = NULL;
	if (!size || size > dev->chip.va_end - dev->chip.va_start)
		return npu_fail(NPU_ERR_INVALID, "BO of 0x%llx bytes: must be 1..0x%llx",
				(unsigned long long)size,
				(unsigned long long)(dev->chip.va_end - dev->chip.va_start));
	size = (size + dev->page - 1) & ~(uint64_t)(dev->page - 1);
	status = dev->ops->bo_new(dev, size, out);
	if (status)
		return status;
	(*out)->dev = dev;
	(*out)->size = size;
	return NPU_OK;
}

void npu_bo_del(npu_bo *bo)
{
	if (!bo)
		return;
	if (bo->vm)
		npu_vm_unbind(bo->vm, bo);
	npu_bo_unmap(bo);
	bo->dev->ops->bo_del(bo);
}

npu_status npu_bo_map(npu_bo *bo, void **out)
{
	npu_status status = NPU_OK;

	if (!bo || !out)
		return npu_fail(NPU_ERR_INVALID, "npu_bo_map: no BO or no place for the address");
	pthread_mutex_lock(&bo->dev->lock);
	if (!bo->map)
		status = bo->dev->ops->bo_map(bo, &bo->map);
	*out = bo->map;
	pthread_mutex_unlock(&bo->dev->lock);
	return status;
}

void npu_bo_unmap(npu_bo *bo)
{
	if (!bo)
		return;
	pthread_mutex_lock(&bo->dev->lock);
	if (bo->map)
		bo->dev->ops->bo_unmap(bo);
	bo->map = NULL;
	pthread_mutex_unlock(&bo->dev->lock);
}

uint64_t npu_bo_size(const npu_bo *bo)
{
	return bo->size;
}

uint64_t npu_bo_va(const npu_bo *bo)
{
	return bo->va;
}

npu_status npu_vm_new(npu_device *dev, npu_vm **out)
{
	npu_status status;

	if (!dev || !out)
		return npu_fail(NPU_ERR_INVALID, "npu_vm_new: no device or no place for the VM");
	*out = NULL;
	status = dev->ops->vm_new(dev, out);
	if (status)
		return status;
	(*out)->dev = dev;
	va_init(&(*out)->space, dev->chip.va_start, dev->chip.va_end);
	return NPU_OK;
}

void npu_vm_del(npu_vm *vm)
{
	if (!vm)
		return;
	while (vm->bos)
		npu_vm_unbind(vm, vm->bos);
	va_fini(&vm->space);
	vm->dev->ops->vm_del(vm);
}

static npu_status bind_locked(npu_vm *vm, npu_bo *bo, uint32_t flags)
{
	uint64_t align = bo->size >= LARGE_PAGE ? LARGE_PAGE : vm->dev->page;
	npu_status status;
	uint64_t va;

	if (bo->vm)
		return npu_fail(NPU_ERR_INVALID, "npu_vm_bind: BO is bound at 0x%llx already",
				(unsigned long long)bo->va);
	status = va_alloc(&vm->space, bo->size, align, &va);
	if (status)
		return status;
	status = vm->dev->ops->vm_map(vm, bo, va, flags);
	if (status) {
		va_free(&vm->space, va);
		return status;
	}
	bo->vm = vm;
	bo->va = va;
	bo->next = vm->bos;
	vm->bos = bo;
	return NPU_OK;
}

npu_status npu_vm_bind(npu_vm *vm, npu_bo *bo, uint32_t flags)
{
	npu_status status;

	if (!vm || !bo || vm->dev != bo->dev)
		return npu_fail(NPU_ERR_INVALID, "npu_vm_bind: VM and BO must be of one device");
	if (flags & ~NPU_BIND_READONLY)
		return npu_fail(NPU_ERR_INVALID, "npu_vm_bind: unknown flags 0x%x", flags);
	pthread_mutex_lock(&vm->dev->lock);
	status = bind_locked(vm, bo, flags);
	pthread_mutex_unlock(&vm->dev->lock);
	return status;
}

npu_status npu_vm_unbind(npu_vm *vm, npu_bo *bo)
{
	npu_status status;
	npu_bo **link;

	if (!vm || !bo)
		return npu_fail(NPU_ERR_INVALID, "npu_vm_unbind: no VM or no BO");
	pthread_mutex_lock(&vm->dev->lock);
	if (bo->vm != vm) {
		pthread_mutex_unlock(&vm->dev->lock);
		return npu_fail(NPU_ERR_INVALID, "npu_vm_unbind: BO is not bound in this VM");
	}
	status = vm->dev->ops->vm_unmap(vm, bo, bo->va);
	/* Even if the device would not listen: the address is not used again while it may be
	 * mapped.
	 */
	if (!status)
		va_free(&vm->space, bo->va);
	for (link = &vm->bos; *link != bo; link = &(*link)->next)
		;
	*link = bo->next;
	bo->vm = NULL;
	bo->va = 0;
	pthread_mutex_unlock(&vm->dev->lock);
	return status;
}
