// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Changes of address spaces
 *
 * User space chooses addresses; drm_gpuvm tells which mappings a change splits or replaces.  A
 * change goes through these steps, and everything that may fail is in the first two:
 *
 * 1. create: check it, get the buffer, allocate the mappings that it may need (one new, two rests
 *    of mappings that it splits);
 * 2. reserve, with VM and buffer locked: the buffer's pages, and page tables for the worst case,
 *    see npuedge_pgtable.c;
 * 3. run, which may be later, when other changes have run, and where fences wait for it: let
 *    drm_gpuvm call back, and write entries.  Nothing is allocated and nothing freed;
 * 4. npuedge_vm_flush(): now the device does not reach any more what was unmapped;
 * 5. free: let go of buffers, tables and mappings.
 *
 * A buffer's list of mappings is protected by a mutex of the buffer instead of its reservation
 * lock, which cannot be taken in step 3.  The steps are in npuedge_bind_steps.c.
 */

#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "npuedge_bind.h"
#include "npuedge_check.h"
#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_gem.h"
#include "npuedge_inject.h"
#include "npuedge_trace.h"
#include "npuedge_vm.h"

/**
 * npuedge_bind_run() - make the change
 * @bind: reserved change; any process context, a signalling path too
 *
 * npuedge_vm_flush() follows.
 *
 * Return: 0; an error leaves the change done in part, and the VM unusable.
 */
int npuedge_bind_run(struct npuedge_bind *bind)
{
	struct npuedge_vm *vm = bind->vm;
	int ret;

	mutex_lock(&vm->op_lock);
	ret = npuedge_inject(NPUEDGE_INJECT_BIND) ? -ENOSPC : npuedge_bind_make(bind);
	if (ret)
		WRITE_ONCE(vm->unusable, true);
	npuedge_pt_return(&vm->pt, &bind->stock);
	mutex_unlock(&vm->op_lock);

	trace_npuedge_vm_bind(bind, ret);
	return ret;
}

/**
 * npuedge_bind_free() - let go of what a change held
 * @bind: change that was not run, or run and flushed; no reservation lock is held
 */
void npuedge_bind_free(struct npuedge_bind *bind)
{
	npuedge_bind_fini(bind);
	kfree(bind);
}

/**
 * npuedge_bind_unmap_all() - empty an address space
 * @vm: address space, which has no user any more
 *
 * Whole mappings go, so that nothing is needed for it.
 */
void npuedge_bind_unmap_all(struct npuedge_vm *vm)
{
	struct npuedge_bind bind = {
		.vm = vm, .va = NPUEDGE_VA_START, .size = NPUEDGE_VA_END - NPUEDGE_VA_START,
	};

	INIT_LIST_HEAD(&bind.removed);
	mutex_lock(&vm->op_lock);
	npuedge_bind_make(&bind);
	mutex_unlock(&vm->op_lock);
	npuedge_vm_flush(vm);
	npuedge_bind_fini(&bind);
}

static int npuedge_bind_get_buffer(struct npuedge_bind *bind, struct drm_file *file, u32 handle)
{
	struct drm_gem_object *obj;
	int ret;

	obj = drm_gem_object_lookup(file, handle);
	if (!obj)
		return -ENOENT;

	ret = npuedge_gem_may_map(to_npuedge_gem(obj), bind->vm, bind->readonly);
	if (!ret && (bind->offset >= obj->size || bind->size > obj->size - bind->offset))
		ret = -EINVAL;
	if (ret)
		drm_dbg(obj->dev, "bind: %#llx+%#llx of buffer %u with %#zx bytes: %d\n",
			bind->offset, bind->size, handle, obj->size, ret);
	if (!ret) {
		bind->obj = &npuedge_gem_target(to_npuedge_gem(obj))->base;
		drm_gem_object_get(bind->obj);
	}
	drm_gem_object_put(obj);
	return ret;
}

/**
 * npuedge_bind_create() - prepare a change
 * @vm: address space; the caller has a reference until the change is freed
 * @file: owner of the GEM handle
 * @op: change, not yet checked
 *
 * Return: the change, or an error pointer: -EACCES, -EINVAL, -ENOENT, -EPERM or -ENOMEM as the
 * uAPI says.
 */
struct npuedge_bind *npuedge_bind_create(struct npuedge_vm *vm, struct drm_file *file,
					 const struct drm_npuedge_vm_bind_op *op)
{
	struct npuedge_bind *bind;
	int ret;

	ret = npuedge_check_bind_op(op);
	if (ret) {
		drm_dbg(&vm->edev->base,
			"bind: op %u flags %#x va %#llx size %#llx offset %#llx is invalid\n",
			op->op, op->flags, op->va, op->size, op->bo_offset);
		return ERR_PTR(ret);
	}

	bind = kzalloc_obj(*bind, GFP_KERNEL_ACCOUNT);
	if (!bind)
		return ERR_PTR(-ENOMEM);

	INIT_LIST_HEAD(&bind->removed);
	bind->vm = vm;
	bind->va = op->va;
	bind->size = op->size;
	bind->offset = op->bo_offset;
	bind->readonly = op->flags & DRM_NPUEDGE_BIND_READONLY;

	ret = npuedge_bind_alloc_spares(bind);
	if (!ret && op->op == DRM_NPUEDGE_BIND_MAP)
		ret = npuedge_bind_get_buffer(bind, file, op->handle);
	if (ret) {
		npuedge_bind_free(bind);
		return ERR_PTR(ret);
	}
	return bind;
}
