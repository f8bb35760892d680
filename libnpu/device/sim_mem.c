// SPDX-License-Identifier: MIT
/* Memory of the in-process device: BOs are host memory, an address space is a sorted table of them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device/sim.h"
#include "error.h"

/* ---- how the model reaches memory -------------------------------------------------------- */

static struct sim_device *mem_to_device(struct sim_mem *mem)
{
	return (struct sim_device *)((char *)mem - offsetof(struct sim_device, mem));
}

static void mem_enter(struct sim_mem *mem)
{
	pthread_mutex_lock(&mem_to_device(mem)->map_lock);
}

static void mem_leave(struct sim_mem *mem)
{
	pthread_mutex_unlock(&mem_to_device(mem)->map_lock);
}

/* The map that holds @va, or NULL. */
static const struct sim_map *find_map(struct sim_vm *vm, uint64_t va)
{
	uint32_t lo = 0, hi = vm->n, mid;

	if (vm->last < vm->n && va - vm->maps[vm->last].va < vm->maps[vm->last].size)
		return &vm->maps[vm->last];
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (vm->maps[mid].va + vm->maps[mid].size <= va)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == vm->n || vm->maps[lo].va > va)
		return NULL;
	vm->last = lo;
	return &vm->maps[lo];
}

static uint8_t *mem_map(struct sim_mem *mem, unsigned int asid, uint64_t va, uint64_t *len,
			bool write, enum ne1_mmu_code *code)
{
	struct sim_device *dev = mem_to_device(mem);
	const struct sim_map *map;
	uint64_t left;

	*code = NE1_MMU_RANGE;
	if (asid >= SIM_MAX_ASIDS || !dev->vms[asid] || va >> NE1_VA_BITS)
		return NULL;
	map = find_map(dev->vms[asid], va);
	*code = NE1_MMU_NOT_PRESENT;
	if (!map)
		return NULL;
	*code = NE1_MMU_READ_ONLY;
	if (write && map->readonly)
		return NULL;
	*code = NE1_MMU_OK;
	left = map->va + map->size - va;
	if (*len > left)
		*len = left;
	return map->host + (va - map->va);
}

void npu_sim_mem_init(struct sim_device *dev)
{
	dev->mem.map = mem_map;
	dev->mem.enter = mem_enter;
	dev->mem.leave = mem_leave;
}

/* ---- BOs and address spaces -------------------------------------------------------------- */

npu_status npu_sim_bo_new(npu_device *dev, uint64_t size, npu_bo **out)
{
	struct sim_bo *bo = calloc(1, sizeof(*bo));

	(void)dev;
	if (!bo)
		return npu_fail(NPU_ERR_NOMEM, "BO: no memory");
	bo->mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bo->mem == MAP_FAILED) {
		free(bo);
		return npu_fail(NPU_ERR_NOMEM, "BO of 0x%llx bytes: no memory",
				(unsigned long long)size);
	}
	/* Only a hint: fewer page faults while weights are packed. */
	madvise(bo->mem, size, MADV_HUGEPAGE);
	*out = &bo->base;
	return NPU_OK;
}

void npu_sim_bo_del(npu_bo *bo)
{
	munmap(to_sim_bo(bo)->mem, bo->size);
	free(to_sim_bo(bo));
}

npu_status npu_sim_bo_map(npu_bo *bo, void **out)
{
	*out = to_sim_bo(bo)->mem;
	return NPU_OK;
}

void npu_sim_bo_unmap(npu_bo *bo)
{
	(void)bo;
}

npu_status npu_sim_vm_new(npu_device *base, npu_vm **out)
{
	struct sim_device *dev = to_sim_device(base);
	struct sim_vm *vm = calloc(1, sizeof(*vm));
	unsigned int asid;

	if (!vm)
		return npu_fail(NPU_ERR_NOMEM, "VM: no memory");
	pthread_mutex_lock(&dev->map_lock);
	/* ASID 0 is the management core's. */
	for (asid = 1; asid < dev->chip.asids && dev->vms[asid]; asid++)
		;
	if (asid < dev->chip.asids)
		dev->vms[asid] = vm;
	pthread_mutex_unlock(&dev->map_lock);
	if (asid == dev->chip.asids) {
		free(vm);
		return npu_fail(NPU_ERR_LIMIT, "%s: all %u address spaces are taken", base->name,
				dev->chip.asids - 1);
	}
	vm->asid = asid;
	*out = &vm->base;
	return NPU_OK;
}

void npu_sim_vm_del(npu_vm *base)
{
	struct sim_device *dev = to_sim_device(base->dev);
	struct sim_vm *vm = to_sim_vm(base);

	pthread_mutex_lock(&dev->map_lock);
	dev->vms[vm->asid] = NULL;
	pthread_mutex_unlock(&dev->map_lock);
	free(vm->maps);
	free(vm);
}

static npu_status grow(struct sim_vm *vm)
{
	uint32_t max = vm->max ? 2 * vm->max : 16;
	struct sim_map *maps;

	if (vm->n < vm->max)
		return NPU_OK;
	maps = realloc(vm->maps, max * sizeof(*maps));
	if (!maps)
		return npu_fail(NPU_ERR_NOMEM, "VM: no memory for %u bindings", max);
	vm->maps = maps;
	vm->max = max;
	return NPU_OK;
}

npu_status npu_sim_vm_map(npu_vm *base, npu_bo *bo, uint64_t va, uint32_t flags)
{
	struct sim_device *dev = to_sim_device(base->dev);
	struct sim_vm *vm = to_sim_vm(base);
	npu_status status;
	uint32_t i;

	pthread_mutex_lock(&dev->map_lock);
	status = grow(vm);
	if (!status) {
		for (i = vm->n; i > 0 && vm->maps[i - 1].va > va; i--)
			vm->maps[i] = vm->maps[i - 1];
		vm->maps[i] = (struct sim_map){ va, bo->size, to_sim_bo(bo)->mem,
						flags & NPU_BIND_READONLY };
		vm->n++;
	}
	pthread_mutex_unlock(&dev->map_lock);
	return status;
}

npu_status npu_sim_vm_unmap(npu_vm *base, npu_bo *bo, uint64_t va)
{
	struct sim_device *dev = to_sim_device(base->dev);
	struct sim_vm *vm = to_sim_vm(base);
	uint32_t i;

	(void)bo;
	/* The lock waits for the command that is using the memory now. */
	pthread_mutex_lock(&dev->map_lock);
	for (i = 0; i < vm->n && vm->maps[i].va != va; i++)
		;
	if (i < vm->n) {
		vm->n--;
		memmove(&vm->maps[i], &vm->maps[i + 1], (vm->n - i) * sizeof(*vm->maps));
	}
	pthread_mutex_unlock(&dev->map_lock);
	return NPU_OK;
}
