// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: debugfs
 *
 * - fw_log: what firmware logged since its last boot (read)
 * - fw_log_level: how much it logs, 0 (errors) to 3 (everything); kept over resets (read, write)
 * - queues: queues that firmware knows (read)
 * - ring: indices and last messages of the message rings, and jobs in the queues' rings (read)
 * - vas: mappings of all address spaces (read)
 * - job_timeout_ms: time limit, at least 1, of jobs of queues that are created from now on (read,
 *   write)
 * - bos: buffers of all open files (read)
 * - shrinker: memory of buffers (read); swap out or drop so many pages (write)
 * - reset: resets so far; a write has the device reset (read, write)
 * - irq_storms: how often an interrupt vector was masked because it came too often (read)
 * - fail_*: see npuedge_inject.c
 */

#include <linux/debugfs.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "npuedge_bo.h"
#include "npuedge_debugfs.h"
#include "npuedge_device.h"
#include "npuedge_drv.h"
#include "npuedge_fw.h"
#include "npuedge_inject.h"
#include "npuedge_job.h"
#include "npuedge_queue.h"
#include "npuedge_reset.h"
#include "npuedge_shrinker.h"
#include "npuedge_vm.h"

static struct npuedge_device *npuedge_debugfs_device(struct seq_file *m)
{
	struct drm_debugfs_entry *entry = m->private;

	return to_npuedge_device(entry->dev);
}

static int npuedge_debugfs_fw_log(struct seq_file *m, void *data)
{
	struct npuedge_device *edev = npuedge_debugfs_device(m);
	struct drm_printer p = drm_seq_file_printer(m);
	int cookie, ret;

	if (!npuedge_device_enter(edev, &cookie))
		return -ENODEV;
	ret = npuedge_fw_print_log(edev, &p);
	npuedge_device_exit(edev, cookie);
	return ret;
}

static int npuedge_debugfs_queues(struct seq_file *m, void *data)
{
	struct npuedge_device *edev = npuedge_debugfs_device(m);
	struct npuedge_queue *q;

	mutex_lock(&edev->queues.lock);
	list_for_each_entry(q, &edev->queues.list, node) {
		spin_lock_irq(&q->lock);
		seq_printf(m, "queue %u: vm %u state %u reason %u pushed %llu started %llu ended %llu",
			   q->index, q->vm->id, q->state.state, q->state.reason,
			   (u64)atomic64_read(&q->pushed), q->started,
			   q->hw ? READ_ONCE(q->hw->done_seqno) : 0);
		if (q->hw)
			seq_printf(m, " tail %u head %u fw state %u busy %llu ns", q->tail,
				   READ_ONCE(q->hw->head), READ_ONCE(q->hw->state),
				   READ_ONCE(q->hw->busy_ns));
		seq_puts(m, "\n");
		spin_unlock_irq(&q->lock);
	}
	mutex_unlock(&edev->queues.lock);
	return 0;
}

static void npuedge_debugfs_msg_ring(struct seq_file *m, const char *name,
				     const struct npuedge_fw_ring *ring)
{
	u32 last = READ_ONCE(ring->index);
	struct ne1_msg msg;

	seq_printf(m, "%s: %u entries write %u read %u ours %u\n", name, ring->entries,
		   READ_ONCE(ring->ctl->write), READ_ONCE(ring->ctl->read), last);
	for (u32 i = last - min(last, 16U); i != last; i++) {
		msg = ring->msg[i % ring->entries];
		seq_printf(m, "  %u: type %u status %u id %u queue %u\n", i, msg.type, msg.status,
			   msg.id, msg.queue);
	}
}

static void npuedge_debugfs_queue_ring(struct seq_file *m, struct npuedge_queue *q)
{
	struct npuedge_job *job;

	spin_lock_irq(&q->lock);
	if (q->hw)
		seq_printf(m, "queue %u: tail %u head %u done %llu run %llu cores %#x\n", q->index,
			   q->tail, READ_ONCE(q->hw->head), READ_ONCE(q->hw->done_seqno),
			   READ_ONCE(q->hw->run_seqno), READ_ONCE(q->hw->on_core));
	list_for_each_entry(job, &q->inflight, node)
		seq_printf(m, "  %u: seqno %llu job %llu cores %u params %#llx stream %#llx+%#x\n",
			   job->position, job->seqno, job->number, job->cores, job->param_va,
			   job->stream_va[0], job->stream_size[0]);
	spin_unlock_irq(&q->lock);
}

static int npuedge_debugfs_ring(struct seq_file *m, void *data)
{
	struct npuedge_device *edev = npuedge_debugfs_device(m);
	struct npuedge_queue *q;
	int cookie;

	if (!npuedge_device_enter(edev, &cookie))
		return -ENODEV;

	npuedge_debugfs_msg_ring(m, "commands", &edev->fw->cmd);
	npuedge_debugfs_msg_ring(m, "events", &edev->fw->evt);
	mutex_lock(&edev->queues.lock);
	list_for_each_entry(q, &edev->queues.list, node)
		npuedge_debugfs_queue_ring(m, q);
	mutex_unlock(&edev->queues.lock);
	npuedge_device_exit(edev, cookie);
	return 0;
}

static void npuedge_debugfs_file_vas(struct npuedge_file *f, struct drm_printer *p)
{
	unsigned long id = 0;
	struct npuedge_vm *vm;

	for (;;) {
		xa_lock(&f->vms);
		vm = xa_find(&f->vms, &id, ULONG_MAX, XA_PRESENT);
		if (vm)
			npuedge_vm_get(vm);
		xa_unlock(&f->vms);
		if (!vm)
			return;

		npuedge_vm_print(vm, p);
		npuedge_vm_put(vm);
		id++;
	}
}

static int npuedge_debugfs_vas(struct seq_file *m, void *data)
{
	struct npuedge_device *edev = npuedge_debugfs_device(m);
	struct drm_printer p = drm_seq_file_printer(m);
	struct drm_file *file;

	mutex_lock(&edev->base.filelist_mutex);
	list_for_each_entry(file, &edev->base.filelist, lhead)
		npuedge_debugfs_file_vas(file->driver_priv, &p);
	mutex_unlock(&edev->base.filelist_mutex);
	return 0;
}

static int npuedge_debugfs_bos(struct seq_file *m, void *data)
{
	struct npuedge_device *edev = npuedge_debugfs_device(m);
	struct drm_printer p = drm_seq_file_printer(m);
	struct drm_file *file;

	mutex_lock(&edev->base.filelist_mutex);
	list_for_each_entry(file, &edev->base.filelist, lhead)
		npuedge_bo_print_file(file, &p);
	mutex_unlock(&edev->base.filelist_mutex);
	return 0;
}

static int npuedge_debugfs_show_shrinker(struct seq_file *m, void *data)
{
	struct drm_printer p = drm_seq_file_printer(m);

	npuedge_shrinker_print(m->private, &p);
	return 0;
}

static int npuedge_debugfs_open_shrinker(struct inode *inode, struct file *file)
{
	return single_open(file, npuedge_debugfs_show_shrinker, inode->i_private);
}

static ssize_t npuedge_debugfs_run_shrinker(struct file *file, const char __user *user, size_t size,
					    loff_t *pos)
{
	struct npuedge_device *edev = file_inode(file)->i_private;
	unsigned long pages;
	int ret;

	ret = kstrtoul_from_user(user, size, 0, &pages);
	if (ret)
		return ret;

	npuedge_shrinker_run(edev, pages);
	return size;
}

static const struct file_operations npuedge_debugfs_shrinker_fops = {
	.owner = THIS_MODULE,
	.open = npuedge_debugfs_open_shrinker,
	.read = seq_read,
	.write = npuedge_debugfs_run_shrinker,
	.llseek = seq_lseek,
	.release = single_release,
};

static const struct drm_debugfs_info npuedge_debugfs_list[] = {
	{ "fw_log", npuedge_debugfs_fw_log, 0 },
	{ "queues", npuedge_debugfs_queues, 0 },
	{ "ring", npuedge_debugfs_ring, 0 },
	{ "vas", npuedge_debugfs_vas, 0 },
	{ "bos", npuedge_debugfs_bos, 0 },
};

static int npuedge_debugfs_get_log_level(void *data, u64 *value)
{
	struct npuedge_device *edev = data;

	*value = READ_ONCE(edev->fw->log_level);
	return 0;
}

static int npuedge_debugfs_set_log_level(void *data, u64 value)
{
	struct ne1_msg msg = { .type = NE1_CMD_LOG_LEVEL, .queue = value };
	struct npuedge_device *edev = data;
	int cookie, ret;

	if (value > NE1_LOG_DEBUG)
		return -EINVAL;
	ret = npuedge_device_awake(edev, &cookie);
	if (ret)
		return ret;

	/* Firmware that is being booted finds it in the interface structure. */
	down_read(&edev->reset.lock);
	WRITE_ONCE(edev->fw->log_level, value);
	ret = npuedge_fw_call(edev, &msg);
	up_read(&edev->reset.lock);
	if (ret == -ETIMEDOUT)
		npuedge_reset_schedule(edev, NPUEDGE_RESET_MESSAGE);
	npuedge_device_asleep(edev, cookie);
	return ret == -ECANCELED ? 0 : ret;
}

DEFINE_DEBUGFS_ATTRIBUTE(npuedge_debugfs_log_level_fops, npuedge_debugfs_get_log_level,
			 npuedge_debugfs_set_log_level, "%llu\n");

static int npuedge_debugfs_get_job_timeout(void *data, u64 *value)
{
	struct npuedge_device *edev = data;

	*value = READ_ONCE(edev->job_timeout_ms);
	return 0;
}

static int npuedge_debugfs_set_job_timeout(void *data, u64 value)
{
	struct npuedge_device *edev = data;

	/* At 0 the scheduler's timeout would be due again whenever it has been handled. */
	if (!value || value > U32_MAX)
		return -EINVAL;
	WRITE_ONCE(edev->job_timeout_ms, value);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(npuedge_debugfs_job_timeout_fops, npuedge_debugfs_get_job_timeout,
			 npuedge_debugfs_set_job_timeout, "%llu\n");

static int npuedge_debugfs_get_reset(void *data, u64 *value)
{
	struct npuedge_device *edev = data;

	*value = atomic_read(&edev->reset.count);
	return 0;
}

static int npuedge_debugfs_set_reset(void *data, u64 value)
{
	struct npuedge_device *edev = data;
	int cookie, ret;

	ret = npuedge_device_awake(edev, &cookie);
	if (ret)
		return ret;

	npuedge_reset_schedule(edev, NPUEDGE_RESET_ASKED);
	npuedge_reset_wait(edev);
	npuedge_device_asleep(edev, cookie);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(npuedge_debugfs_reset_fops, npuedge_debugfs_get_reset,
			 npuedge_debugfs_set_reset, "%llu\n");

/**
 * npuedge_debugfs_init() - make the files
 * @edev: device, before it is registered: DRM calls no driver for accelerators' minors
 */
void npuedge_debugfs_init(struct npuedge_device *edev)
{
	struct dentry *root = edev->base.debugfs_root;

	drm_debugfs_add_files(&edev->base, npuedge_debugfs_list, ARRAY_SIZE(npuedge_debugfs_list));
	debugfs_create_file_unsafe("job_timeout_ms", 0600, root, edev,
				   &npuedge_debugfs_job_timeout_fops);
	debugfs_create_file("shrinker", 0600, root, edev, &npuedge_debugfs_shrinker_fops);
	debugfs_create_file_unsafe("reset", 0600, root, edev, &npuedge_debugfs_reset_fops);
	debugfs_create_file_unsafe("fw_log_level", 0600, root, edev,
				   &npuedge_debugfs_log_level_fops);
	debugfs_create_u32("irq_storms", 0400, root, &edev->irq.storms);
	npuedge_inject_debugfs(root);
}
