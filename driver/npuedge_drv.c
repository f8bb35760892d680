// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: DRM driver
 *
 * The user-space interface: arguments are checked here and handed to who owns the object.  See
 * uapi/drm/npuedge_accel.h for what each call promises.
 */

#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>
#include <drm/npuedge_accel.h>

#include "npuedge_array.h"
#include "npuedge_bind_job.h"
#include "npuedge_bo.h"
#include "npuedge_compat.h"
#include "npuedge_device.h"
#include "npuedge_drv.h"
#include "npuedge_event.h"
#include "npuedge_fdinfo.h"
#include "npuedge_fw.h"
#include "npuedge_gem.h"
#include "npuedge_job.h"
#include "npuedge_limits.h"
#include "npuedge_perfmon.h"
#include "npuedge_plat.h"
#include "npuedge_prime.h"
#include "npuedge_query.h"
#include "npuedge_queue.h"
#include "npuedge_submit.h"
#include "npuedge_vm.h"

static struct npuedge_vm *npuedge_file_get_vm(struct npuedge_file *f, u32 id)
{
	struct npuedge_vm *vm;

	xa_lock(&f->vms);
	vm = xa_load(&f->vms, id);
	if (vm)
		npuedge_vm_get(vm);
	xa_unlock(&f->vms);
	return vm;
}

static struct npuedge_queue *npuedge_file_get_queue(struct npuedge_file *f, u32 id)
{
	struct npuedge_queue *q;

	xa_lock(&f->queues);
	q = xa_load(&f->queues, id);
	if (q)
		npuedge_queue_get(q);
	xa_unlock(&f->queues);
	return q;
}

/* Takes over the creator's reference, also on an error. */
static int npuedge_file_add_queue(struct npuedge_file *f, struct npuedge_queue *q, u32 *id)
{
	int ret;

	/* With an id, another thread may destroy it. */
	npuedge_queue_get(q);
	ret = xa_alloc(&f->queues, id, q, XA_LIMIT(1, NPUEDGE_MAX_QUEUES), GFP_KERNEL_ACCOUNT);
	if (ret)
		npuedge_queue_destroy(q);
	else
		WRITE_ONCE(q->id, *id);
	npuedge_queue_put(q);
	return ret;
}

/* End a queue of the file; fdinfo never sees its busy time missing. */
static int npuedge_file_end_queue(struct npuedge_file *f, u32 id)
{
	struct npuedge_queue *q;
	u64 ns, cycles;

	guard(mutex)(&f->usage_lock);
	q = xa_erase(&f->queues, id);
	if (!q)
		return -ENOENT;

	npuedge_queue_get(q);
	npuedge_queue_destroy(q);
	npuedge_queue_usage(q, &ns, &cycles);
	f->past_ns += ns;
	f->past_cycles += cycles;
	npuedge_queue_put(q);
	return 0;
}

static int npuedge_ioctl_dev_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	return npuedge_query(to_npuedge_device(drm), data);
}

static int npuedge_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npuedge_bo_create *args = data;
	struct npuedge_vm *vm = NULL;
	int ret;

	if (args->pad || args->flags & ~(DRM_NPUEDGE_BO_WC | DRM_NPUEDGE_BO_NO_MMAP))
		return -EINVAL;

	if (args->vm_id) {
		vm = npuedge_file_get_vm(file->driver_priv, args->vm_id);
		if (!vm)
			return -ENOENT;
	}
	ret = npuedge_gem_create_with_handle(file, vm, args);
	npuedge_vm_put(vm);
	return ret;
}

static int npuedge_ioctl_bo_mmap_offset(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npuedge_bo_mmap_offset *args = data;

	if (args->pad)
		return -EINVAL;
	return npuedge_gem_mmap_offset(file, args->handle, &args->offset);
}

static int npuedge_ioctl_bo_sync(struct drm_device *drm, void *data, struct drm_file *file)
{
	return npuedge_bo_sync(file, data);
}

static int npuedge_ioctl_bo_madvise(struct drm_device *drm, void *data, struct drm_file *file)
{
	return npuedge_bo_madvise(file, data);
}

static int npuedge_ioctl_bo_set_label(struct drm_device *drm, void *data, struct drm_file *file)
{
	return npuedge_bo_set_label(file, data);
}

static int npuedge_ioctl_vm_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npuedge_file *f = file->driver_priv;
	struct drm_npuedge_vm_create *args = data;
	struct npuedge_vm *vm;
	int cookie, ret;

	if (args->flags)
		return -EINVAL;
	if (!npuedge_device_enter(f->edev, &cookie))
		return -ENODEV;

	vm = npuedge_vm_create(f->edev);
	npuedge_device_exit(f->edev, cookie);
	if (IS_ERR(vm))
		return PTR_ERR(vm);

	ret = xa_alloc(&f->vms, &args->id, vm, XA_LIMIT(1, NPUEDGE_MAX_VMS), GFP_KERNEL_ACCOUNT);
	if (ret)
		npuedge_vm_put(vm);
	return ret;
}

static int npuedge_ioctl_vm_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npuedge_file *f = file->driver_priv;
	struct drm_npuedge_vm_destroy *args = data;
	struct npuedge_vm *vm;

	if (args->pad)
		return -EINVAL;

	vm = xa_erase(&f->vms, args->id);
	npuedge_vm_put(vm);
	return vm ? 0 : -ENOENT;
}

static int npuedge_vm_bind_check(const struct drm_npuedge_vm_bind *args)
{
	if (args->flags & ~DRM_NPUEDGE_VM_BIND_ASYNC || !args->ops.count)
		return -EINVAL;
	if (!(args->flags & DRM_NPUEDGE_VM_BIND_ASYNC) &&
	    (args->in_syncs.count || args->out_syncs.count))
		return -EINVAL;
	return NPUEDGE_ARRAY_CHECK(&args->ops, struct drm_npuedge_vm_bind_op, bo_offset,
				   NPUEDGE_MAX_BIND_OPS);
}

static int npuedge_vm_bind(struct npuedge_vm *vm, struct drm_file *file,
			   const struct drm_npuedge_vm_bind *args, u32 *applied)
{
	bool async = args->flags & DRM_NPUEDGE_VM_BIND_ASYNC;
	int cookie, ret;

	/* Without the device: what is waited for may take as long as it likes. */
	ret = async ? npuedge_vm_check(vm) : npuedge_bind_wait(vm);
	if (ret)
		return ret;

	ret = npuedge_device_awake(vm->edev, &cookie);
	if (ret)
		return ret;

	ret = async ? npuedge_bind_async(vm, file, args) :
		      npuedge_bind_sync(vm, file, args, applied);
	npuedge_device_asleep(vm->edev, cookie);
	return ret;
}

static int npuedge_ioctl_vm_bind(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npuedge_vm_bind *args = data;
	struct npuedge_vm *vm;
	u32 applied = 0;
	int ret;

	ret = npuedge_vm_bind_check(args);
	if (ret) {
		drm_dbg(drm, "bind: flags %#x with %u ops, %u in- and %u out-syncs: %d\n",
			args->flags, args->ops.count, args->in_syncs.count, args->out_syncs.count,
			ret);
		goto out;
	}

	ret = -ENOENT;
	vm = npuedge_file_get_vm(file->driver_priv, args->vm_id);
	if (!vm)
		goto out;

	ret = npuedge_vm_bind(vm, file, args, &applied);
	npuedge_vm_put(vm);
out:
	/* A call that a signal has interrupted is made again with the same arguments. */
	if (ret && ret != -ERESTARTSYS && ret != -EINTR)
		args->ops.count = applied;
	return ret;
}

static int npuedge_ioctl_vm_get_state(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npuedge_vm_get_state *args = data;
	struct npuedge_vm *vm;

	vm = npuedge_file_get_vm(file->driver_priv, args->id);
	if (!vm)
		return -ENOENT;

	npuedge_vm_get_state(vm, args);
	npuedge_vm_put(vm);
	return 0;
}

static const u32 npuedge_priorities[] = {
	[DRM_NPUEDGE_PRIORITY_LOW] = NE1_PRIO_LOW,
	[DRM_NPUEDGE_PRIORITY_NORMAL] = NE1_PRIO_NORMAL,
	[DRM_NPUEDGE_PRIORITY_HIGH] = NE1_PRIO_HIGH,
	[DRM_NPUEDGE_PRIORITY_REALTIME] = NE1_PRIO_REALTIME,
};

static int npuedge_ioctl_queue_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npuedge_device *edev = to_npuedge_device(drm);
	struct drm_npuedge_queue_create *args = data;
	struct npuedge_file *f = file->driver_priv;
	struct npuedge_queue *q;
	struct npuedge_vm *vm;
	int cookie, ret;
	u32 priority;

	if (args->flags || args->priority >= ARRAY_SIZE(npuedge_priorities))
		return -EINVAL;
	priority = array_index_nospec(args->priority, ARRAY_SIZE(npuedge_priorities));
	if (args->priority > DRM_NPUEDGE_PRIORITY_NORMAL && !capable(CAP_SYS_NICE)) {
		drm_dbg(drm, "queue of priority %u needs CAP_SYS_NICE\n", args->priority);
		return -EACCES;
	}

	vm = npuedge_file_get_vm(f, args->vm_id);
	if (!vm)
		return -ENOENT;

	ret = npuedge_device_awake(edev, &cookie);
	if (ret)
		goto out_put;

	q = npuedge_queue_create(edev, vm, f->listener, npuedge_priorities[priority]);
	ret = PTR_ERR_OR_ZERO(q);
	if (!ret)
		ret = npuedge_file_add_queue(f, q, &args->id);
	npuedge_device_asleep(edev, cookie);

out_put:
	npuedge_vm_put(vm);
	return ret;
}

static int npuedge_ioctl_queue_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npuedge_queue_destroy *args = data;

	if (args->pad)
		return -EINVAL;
	return npuedge_file_end_queue(file->driver_priv, args->id);
}

static int npuedge_ioctl_queue_get_state(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npuedge_queue_get_state *args = data;
	struct npuedge_queue *q;
	u32 id = args->id;

	q = npuedge_file_get_queue(file->driver_priv, id);
	if (!q)
		return -ENOENT;

	npuedge_queue_get_state(q, args);
	args->id = id;
	npuedge_queue_put(q);
	return 0;
}

static int npuedge_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npuedge_device *edev = to_npuedge_device(drm);
	struct drm_npuedge_submit *args = data;
	struct npuedge_queue *q;
	int cookie, ret;

	if (args->flags)
		return -EINVAL;

	q = npuedge_file_get_queue(file->driver_priv, args->queue_id);
	if (!q)
		return -ENOENT;

	ret = -ENODEV;
	if (npuedge_device_enter(edev, &cookie)) {
		ret = npuedge_submit(q, file, &args->jobs);
		npuedge_device_exit(edev, cookie);
	}
	if (ret)
		drm_dbg(drm, "submit: %u jobs to queue %u refused: %d\n", args->jobs.count,
			args->queue_id, ret);
	npuedge_queue_put(q);
	return ret;
}

static int npuedge_ioctl_perfmon_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npuedge_perfmon_create *args = data;
	struct npuedge_file *f = file->driver_priv;
	struct npuedge_queue *q = NULL;
	int ret;

	if (args->flags || args->pad)
		return -EINVAL;
	if (args->queue_id) {
		q = npuedge_file_get_queue(f, args->queue_id);
		if (!q)
			return -ENOENT;
	}

	ret = npuedge_perfmon_create(f, q, &args->id);
	npuedge_queue_put(q);
	return ret;
}

static int npuedge_ioctl_perfmon_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npuedge_perfmon_destroy *args = data;

	if (args->pad)
		return -EINVAL;
	return npuedge_perfmon_destroy(file->driver_priv, args->id);
}

static int npuedge_ioctl_perfmon_read(struct drm_device *drm, void *data, struct drm_file *file)
{
	return npuedge_perfmon_read(file->driver_priv, data);
}

static int npuedge_ioctl_events(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npuedge_file *f = file->driver_priv;
	struct drm_npuedge_events *args = data;

	if (args->pad)
		return -EINVAL;
	return npuedge_listener_set_mask(f->listener, file, args->mask);
}

static const struct drm_ioctl_desc npuedge_ioctls[] = {
	DRM_IOCTL_DEF_DRV(NPUEDGE_DEV_QUERY, npuedge_ioctl_dev_query, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_BO_CREATE, npuedge_ioctl_bo_create, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_BO_MMAP_OFFSET, npuedge_ioctl_bo_mmap_offset, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_VM_CREATE, npuedge_ioctl_vm_create, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_VM_DESTROY, npuedge_ioctl_vm_destroy, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_VM_BIND, npuedge_ioctl_vm_bind, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_QUEUE_CREATE, npuedge_ioctl_queue_create, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_QUEUE_DESTROY, npuedge_ioctl_queue_destroy, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_QUEUE_GET_STATE, npuedge_ioctl_queue_get_state, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_SUBMIT, npuedge_ioctl_submit, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_VM_GET_STATE, npuedge_ioctl_vm_get_state, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_PERFMON_CREATE, npuedge_ioctl_perfmon_create, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_PERFMON_DESTROY, npuedge_ioctl_perfmon_destroy, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_PERFMON_READ, npuedge_ioctl_perfmon_read, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_EVENTS, npuedge_ioctl_events, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_BO_SYNC, npuedge_ioctl_bo_sync, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_BO_MADVISE, npuedge_ioctl_bo_madvise, 0),
	DRM_IOCTL_DEF_DRV(NPUEDGE_BO_SET_LABEL, npuedge_ioctl_bo_set_label, 0),
};

/* DRM ignores what a caller passes beyond our structure; the uAPI promises that it must be zero. */
static int npuedge_check_ioctl_tail(unsigned int cmd, unsigned long arg)
{
	unsigned int nr = DRM_IOCTL_NR(cmd) - DRM_COMMAND_BASE;
	size_t known;
	int ret;

	if (nr >= ARRAY_SIZE(npuedge_ioctls))
		return 0;

	nr = array_index_nospec(nr, ARRAY_SIZE(npuedge_ioctls));
	known = _IOC_SIZE(npuedge_ioctls[nr].cmd);
	if (_IOC_SIZE(cmd) <= known)
		return 0;

	ret = check_zeroed_user((void __user *)arg + known, _IOC_SIZE(cmd) - known);
	if (ret < 0)
		return ret;
	return ret ? 0 : -E2BIG;
}

static long npuedge_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = npuedge_check_ioctl_tail(cmd, arg);

	return ret ?: drm_ioctl(filp, cmd, arg);
}

#ifdef CONFIG_COMPAT
static long npuedge_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = npuedge_check_ioctl_tail(cmd, (unsigned long)compat_ptr(arg));

	return ret ?: drm_compat_ioctl(filp, cmd, arg);
}
#endif

static int npuedge_open(struct drm_device *drm, struct drm_file *file)
{
	struct npuedge_file *f;

	f = kzalloc_obj(*f, GFP_KERNEL_ACCOUNT);
	if (!f)
		return -ENOMEM;

	f->edev = to_npuedge_device(drm);
	f->listener = npuedge_listener_create(f->edev);
	if (!f->listener) {
		kfree(f);
		return -ENOMEM;
	}
	xa_init_flags(&f->vms, XA_FLAGS_ALLOC1);
	xa_init_flags(&f->queues, XA_FLAGS_ALLOC1);
	xa_init_flags(&f->perfmons, XA_FLAGS_ALLOC1);
	mutex_init(&f->usage_lock);
	file->driver_priv = f;
	return 0;
}

static void npuedge_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct npuedge_file *f = file->driver_priv;
	struct npuedge_queue *q;
	struct npuedge_vm *vm;
	unsigned long id;

	npuedge_perfmon_close(f);
	xa_for_each(&f->queues, id, q)
		npuedge_file_end_queue(f, id);
	xa_for_each(&f->vms, id, vm)
		npuedge_vm_put(xa_erase(&f->vms, id));

	npuedge_listener_close(f->listener);
	xa_destroy(&f->queues);
	xa_destroy(&f->vms);
	mutex_destroy(&f->usage_lock);
	kfree(f);
}

static const struct file_operations npuedge_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = npuedge_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = npuedge_compat_ioctl,
#endif
	.poll = drm_poll,
	.read = npuedge_event_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
#ifdef NPUEDGE_HAVE_GEM_HUGE_MNT
	.get_unmapped_area = drm_gem_get_unmapped_area,
#endif
	.show_fdinfo = drm_show_fdinfo,
	.fop_flags = FOP_UNSIGNED_OFFSET,
};

/**
 * DOC: Driver version
 *
 * - 1.0: first interface
 * - 1.1: calls about buffers, state of address spaces, performance monitors, events; asynchronous
 *   VM_BIND; jobs that may run again; implicit synchronisation
 * - 1.2: limits of queues and address spaces in DEV_QUERY; QUEUE_CREATE fails with -EDQUOT
 * - 1.3: counters of performance monitors in DEV_QUERY
 *
 * The header of the interface has the details.
 */
const struct drm_driver npuedge_drm_driver = {
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE | NPUEDGE_COMPAT_FEATURES,
	.open = npuedge_open,
	.postclose = npuedge_postclose,
	.show_fdinfo = npuedge_fdinfo_show,
	.ioctls = npuedge_ioctls,
	.num_ioctls = ARRAY_SIZE(npuedge_ioctls),
	.fops = &npuedge_fops,
	.name = "npuedge",
	.desc = "NE1 neural processing unit",
#ifdef NPUEDGE_HAVE_DRM_DRIVER_DATE
	.date = "20261129",
#endif
	.major = DRM_NPUEDGE_VERSION_MAJOR,
	.minor = DRM_NPUEDGE_VERSION_MINOR,
	.gem_prime_import = npuedge_prime_import,
	.gem_prime_import_sg_table = npuedge_prime_import_sg_table,
};

static int __init npuedge_init(void)
{
	int ret;

	ret = npuedge_job_module_init();
	if (ret)
		return ret;

	ret = npuedge_queue_module_init();
	if (ret)
		goto err_job;

	ret = npuedge_bind_module_init();
	if (ret)
		goto err_queue;

	ret = npuedge_plat_register();
	if (ret)
		goto err_bind;

	ret = npuedge_pci_register();
	if (ret)
		goto err_plat;
	return 0;

err_plat:
	npuedge_plat_unregister();
err_bind:
	npuedge_bind_module_exit();
err_queue:
	npuedge_queue_module_exit();
err_job:
	npuedge_job_module_exit();
	return ret;
}
module_init(npuedge_init);

static void __exit npuedge_exit(void)
{
	npuedge_pci_unregister();
	npuedge_plat_unregister();
	npuedge_queue_module_exit();
	npuedge_bind_module_exit();
	npuedge_job_module_exit();
}
module_exit(npuedge_exit);

MODULE_DESCRIPTION("NE1 neural processing unit");
MODULE_AUTHOR("The npuedge authors");
MODULE_LICENSE("GPL");
MODULE_FIRMWARE("npuedge/npuedge-ne1.fw");
#ifdef NPUEDGE_HAVE_IMPORT_NS_BARE
MODULE_IMPORT_NS(DMA_BUF);
#else
MODULE_IMPORT_NS("DMA_BUF");
#endif
