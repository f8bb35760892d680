// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Core dumps
 *
 * A fault, a timeout and a reset each leave a device core dump (/sys/class/devcoredump), from which
 * the device model can run the job again.  Its text begins with "npuedge-coredump 1" and lines
 * "key: value"; then come sections, each a line "[name bytes=N]" or "[name bytes=N va=0x...]"
 * followed by N bytes: as text in regs, fw_log, walk and vm, elsewhere in hexadecimal, 32 bytes a
 * line.
 *
 * - regs: "offset value" per register;
 * - fw_log: what firmware said last;
 * - fw_if, msg_rings: start of the memory shared with firmware, indices and messages;
 * - queue, ring, results: the queue's entry, jobs and results;
 * - walk: "level index entry" of the page-table walk of the faulting address;
 * - params, stream0 to stream3: of the job;
 * - vm: "va size ro label" per mapping of the address space;
 * - bo: contents of mapped buffers, up to coredump_bo_bytes in all.
 *
 * The state is copied where the incident is noticed, before fences signal, into memory allocated
 * with the device; nothing is allocated there, and a lock that is not free is not waited for.  A
 * worker makes the text.  While a dump is in the making, further incidents leave none; nor do they
 * while the last dump has not been read and removed, or is younger than 5 minutes.
 *
 * A dump holds what a program's buffers held.  The file that shows it is readable by root alone,
 * and coredump_bo_bytes=0 keeps buffers out of it, but for streams and parameters.
 */

#include <linux/bitfield.h>
#include <linux/devcoredump.h>
#include <linux/highmem.h>
#include <linux/hex.h>
#include <linux/moduleparam.h>
#include <linux/vmalloc.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "ne1_cmd.h"
#include "npuedge_compat.h"
#include "npuedge_coredump.h"
#include "npuedge_fw.h"
#include "npuedge_gem.h"
#include "npuedge_hw.h"
#include "npuedge_job.h"
#include "npuedge_queue.h"
#include "npuedge_reset.h"
#include "npuedge_vm.h"

static uint npuedge_coredump_bo_bytes = SZ_1M;
module_param_named(coredump_bo_bytes, npuedge_coredump_bo_bytes, uint, 0444);
MODULE_PARM_DESC(coredump_bo_bytes,
		 "Bytes of buffers in a core dump, allocated per device (default 1 MiB, at most 64 MiB)");

#define NPUEDGE_DUMP_BO_LIMIT	SZ_64M
/* Room for parameters and streams. */
#define NPUEDGE_DUMP_JOB_BYTES	SZ_1M
#define NPUEDGE_DUMP_RANGES	1024
#define NPUEDGE_DUMP_PIECES	64
#define NPUEDGE_DUMP_LINE	32
#define NPUEDGE_DUMP_RANGE_TEXT	(NPUEDGE_LABEL_SIZE + 64)

/* Registers without side effects. */
static const u16 npuedge_dump_regs[] = {
	NE1_REG_ID, NE1_REG_VERSION, NE1_REG_PLATFORM, NE1_REG_CAP_CORES, NE1_REG_CAP_SRAM,
	NE1_REG_CAP_MACS, NE1_REG_CAP_QUEUES, NE1_REG_CAP_ASIDS, NE1_REG_CAP_FORMATS,
	NE1_REG_CAP_FREQ_MAX, NE1_REG_CAP_DRAM_BW, NE1_REG_CAP_VX_LANES, NE1_REG_BOOT_STATUS,
	NE1_REG_FW_PGD_LO, NE1_REG_FW_PGD_HI, NE1_REG_RESET, NE1_REG_IRQ_STATUS,
	NE1_REG_IRQ_ENABLE, NE1_REG_MMU_FAULT, NE1_REG_MMU_FAULT_VA_LO, NE1_REG_MMU_FAULT_VA_HI,
	NE1_REG_MMU_TLB_INV, NE1_REG_TIME_LO, NE1_REG_TIME_HI, NE1_REG_FREQ, NE1_REG_TEMP_DIE,
	NE1_REG_TEMP_BOARD, NE1_REG_ENERGY_LO, NE1_REG_ENERGY_HI, NE1_REG_DRAM_RD_LO,
	NE1_REG_DRAM_RD_HI, NE1_REG_DRAM_WR_LO, NE1_REG_DRAM_WR_HI,
};

enum npuedge_dump_state { NPUEDGE_DUMP_FREE, NPUEDGE_DUMP_TAKEN };

/**
 * struct npuedge_dump_range - mapping of the address space
 */
struct npuedge_dump_range {
	/** @va: first address */
	u64 va;
	/** @size: bytes */
	u64 size;
	/** @readonly: device writes fault */
	bool readonly;
	/** @label: of the buffer; empty: none */
	char label[NPUEDGE_LABEL_SIZE];
};

/**
 * struct npuedge_dump_piece - memory of the address space that was copied
 */
struct npuedge_dump_piece {
	/** @name: of its section */
	const char *name;
	/** @va: first address */
	u64 va;
	/** @offset: first byte in the area */
	u32 offset;
	/** @bytes: its length */
	u32 bytes;
};

/**
 * struct npuedge_coredump - what was seen of an incident
 */
struct npuedge_coredump {
	/** @edev: device */
	struct npuedge_device *edev;
	/** @state: enum npuedge_dump_state; who takes it fills the rest in */
	atomic_t state;
	/** @work: makes the text */
	struct work_struct work;
	/** @reason: what happened */
	char reason[32];
	/** @has_job: there is a job, and @queue to @vm tell of it */
	bool has_job;
	/** @queue: firmware's number of the queue */
	u32 queue;
	/** @desc: the job as firmware got it */
	struct ne1_job desc;
	/** @result: how it ended, or zero */
	struct ne1_job_result result;
	/** @vm: its address space, kept until the text is made */
	struct npuedge_vm *vm;
	/** @vm_copied: the rest was copied from @vm */
	bool vm_copied;
	/** @walk: page-table entries of the faulting address, from the root on */
	u64 walk[NPUEDGE_PT_LEVELS];
	/** @levels: number of @walk */
	u32 levels;
	/** @range_count: number of @ranges */
	u32 range_count;
	/** @piece_count: number of @pieces */
	u32 piece_count;
	/** @area_used: bytes of @area in use */
	u32 area_used;
	/** @area_size: bytes of @area */
	u32 area_size;
	/** @bo_bytes: how much of it is for buffers; constant */
	u32 bo_bytes;
	/** @area: contents of @pieces */
	void *area;
	/** @time_ns: device time */
	u64 time_ns;
	/** @regs: values of npuedge_dump_regs */
	u32 regs[ARRAY_SIZE(npuedge_dump_regs)];
	/** @iface: interface structure */
	struct ne1_fw_if iface;
	/** @hw: queue's entry of the queue table */
	struct ne1_fw_queue hw;
	/** @ring: queue's jobs */
	struct ne1_job ring[NPUEDGE_QUEUE_DEPTH];
	/** @results: queue's results */
	struct ne1_job_result results[NPUEDGE_QUEUE_DEPTH];
	/** @log_bytes: bytes of @log */
	u32 log_bytes;
	/** @log: what firmware said last */
	char log[NPUEDGE_FW_LOG_SIZE];
	/** @messages: message rings and their indices */
	u8 messages[NPUEDGE_FW_MSG_SIZE];
	/** @ranges: mappings */
	struct npuedge_dump_range ranges[NPUEDGE_DUMP_RANGES];
	/** @pieces: memory that was copied */
	struct npuedge_dump_piece pieces[NPUEDGE_DUMP_PIECES];
};

/* ---- taking: allocates nothing, waits for nobody ---- */

static struct npuedge_coredump *npuedge_dump_take(struct npuedge_device *edev)
{
	struct npuedge_coredump *d = edev->coredump;

	if (!d || READ_ONCE(edev->lost) ||
	    atomic_cmpxchg(&d->state, NPUEDGE_DUMP_FREE, NPUEDGE_DUMP_TAKEN) != NPUEDGE_DUMP_FREE)
		return NULL;

	d->has_job = false;
	d->vm = NULL;
	d->vm_copied = false;
	d->levels = 0;
	d->range_count = 0;
	d->piece_count = 0;
	d->area_used = 0;
	memset(&d->result, 0, sizeof(d->result));
	memset(&d->desc, 0, sizeof(d->desc));
	return d;
}

static void npuedge_dump_device(struct npuedge_coredump *d)
{
	struct npuedge_device *edev = d->edev;

	mutex_lock(&edev->latch_lock);
	for (u32 i = 0; i < ARRAY_SIZE(npuedge_dump_regs); i++)
		d->regs[i] = npuedge_read(edev, npuedge_dump_regs[i]);
	mutex_unlock(&edev->latch_lock);

	d->time_ns = npuedge_hw_read64(edev, NE1_REG_TIME_LO);
	npuedge_fw_copy(edev, &d->iface, d->messages);
	d->log_bytes = npuedge_fw_copy_log(edev, d->log);
}

/* The job may end while it is looked at; the caller has a reference. */
static void npuedge_dump_job(struct npuedge_coredump *d, struct npuedge_job *job,
			     const struct ne1_job_result *result)
{
	struct npuedge_queue *q = job->queue;
	unsigned long flags;

	d->has_job = true;
	d->queue = q->index;
	d->vm = npuedge_vm_get(q->vm);
	if (result)
		d->result = *result;

	spin_lock_irqsave(&q->lock, flags);
	npuedge_job_describe(job, &d->desc);
	if (q->hw) {
		d->hw = *q->hw;
		memcpy(d->ring, q->ring, sizeof(d->ring));
		memcpy(d->results, q->results, sizeof(d->results));
	}
	spin_unlock_irqrestore(&q->lock, flags);
}

/* A page of a buffer whose reservation object is locked; NULL if not in memory, or not ours. */
static struct page *npuedge_dump_page(struct drm_gem_object *obj, u64 offset)
{
	struct page **pages = to_npuedge_gem(obj)->pages;

	return pages ? pages[offset >> PAGE_SHIFT] : NULL;
}

/* Copy what is mapped and in memory from @va on; returns the bytes. */
static u32 npuedge_dump_read(struct npuedge_vm *vm, u64 va, u8 *to, u32 size)
{
	u32 done = 0;

	while (done < size) {
		struct drm_gpuva *gva = drm_gpuva_find_first(&vm->base, va + done, 1);
		struct drm_gem_object *obj;
		struct page *page;
		u32 bytes = 0;
		bool shared;
		u64 offset;

		if (!gva || !gva->gem.obj)
			break;

		obj = gva->gem.obj;
		shared = obj->resv != drm_gpuvm_resv(&vm->base);
		if (shared && !dma_resv_trylock(obj->resv))
			break;

		offset = gva->gem.offset + (va + done - gva->va.addr);
		page = npuedge_dump_page(obj, offset);
		if (page) {
			bytes = min_t(u64, size - done, PAGE_SIZE - offset_in_page(offset));
			bytes = min_t(u64, bytes, gva->va.addr + gva->va.range - (va + done));
			memcpy_from_page(to + done, page, offset_in_page(offset), bytes);
		}
		if (shared)
			dma_resv_unlock(obj->resv);
		if (!bytes)
			break;
		done += bytes;
	}
	return done;
}

static void npuedge_dump_add_piece(struct npuedge_coredump *d, const char *name, u64 va, u64 size)
{
	u32 room = d->area_size - d->area_used;
	struct npuedge_dump_piece *piece = &d->pieces[d->piece_count];

	if (!size || !room || d->piece_count == NPUEDGE_DUMP_PIECES)
		return;

	*piece = (struct npuedge_dump_piece) { .name = name, .va = va, .offset = d->area_used };
	piece->bytes = npuedge_dump_read(d->vm, va, d->area + d->area_used, min_t(u64, size, room));
	if (!piece->bytes)
		return;
	d->area_used += piece->bytes;
	d->piece_count++;
}

static void npuedge_dump_add_range(struct npuedge_coredump *d, struct npuedge_va *va)
{
	struct npuedge_dump_range *range = &d->ranges[d->range_count];

	if (d->range_count == NPUEDGE_DUMP_RANGES)
		return;

	range->va = va->base.va.addr;
	range->size = va->base.va.range;
	range->readonly = va->readonly;
	npuedge_gem_get_label(to_npuedge_gem(va->base.gem.obj), range->label);
	d->range_count++;
}

/* With the address space locked: its reservation object, and its mappings. */
static void npuedge_dump_vm_locked(struct npuedge_coredump *d)
{
	static const char * const streams[] = { "stream0", "stream1", "stream2", "stream3" };
	struct npuedge_vm *vm = d->vm;
	struct drm_gpuva *gva;
	u32 end;

	d->levels = npuedge_pt_walk(&vm->pt, d->result.va, d->walk);

	d->area_size = NPUEDGE_DUMP_JOB_BYTES;
	npuedge_dump_add_piece(d, "params", d->desc.param_va, sizeof(struct ne1_params));
	for (u32 i = 0; i < d->desc.cores && i < ARRAY_SIZE(streams); i++)
		npuedge_dump_add_piece(d, streams[i], d->desc.stream[i].va, d->desc.stream[i].size);

	end = d->area_used + d->bo_bytes;
	d->area_size = end;
	drm_gpuvm_for_each_va(gva, &vm->base) {
		if (gva == &vm->base.kernel_alloc_node)
			continue;
		npuedge_dump_add_range(d, to_npuedge_va(gva));
		npuedge_dump_add_piece(d, "bo", gva->va.addr, gva->va.range);
	}
	d->vm_copied = true;
}

static void npuedge_dump_publish(struct npuedge_coredump *d)
{
	if (d->vm && dma_resv_trylock(drm_gpuvm_resv(&d->vm->base))) {
		if (mutex_trylock(&d->vm->op_lock)) {
			npuedge_dump_vm_locked(d);
			mutex_unlock(&d->vm->op_lock);
		}
		dma_resv_unlock(drm_gpuvm_resv(&d->vm->base));
	}
	queue_work(system_dfl_wq, &d->work);
}

/**
 * npuedge_coredump_wanted() - whether an incident would leave a dump now
 * @edev: device
 *
 * Return: true if so.
 */
bool npuedge_coredump_wanted(struct npuedge_device *edev)
{
	return edev->coredump && atomic_read(&edev->coredump->state) == NPUEDGE_DUMP_FREE;
}

/**
 * npuedge_coredump_job() - leave a dump of a job that failed
 * @job: job of a device that is awake; the caller has a reference
 * @reason: a word
 * @result: how it ended, or NULL
 *
 * Fences may wait for the caller.
 */
void npuedge_coredump_job(struct npuedge_job *job, const char *reason,
			  const struct ne1_job_result *result)
{
	struct npuedge_coredump *d = npuedge_dump_take(job->queue->edev);

	if (!d)
		return;

	strscpy(d->reason, reason);
	npuedge_dump_device(d);
	npuedge_dump_job(d, job, result);
	npuedge_dump_publish(d);
}

/* The job of a queue that firmware works, or worked, on; referenced. */
static struct npuedge_job *npuedge_dump_oldest(struct npuedge_queue *q)
{
	struct npuedge_job *job;

	spin_lock_irq(&q->lock);
	job = list_first_entry_or_null(&q->inflight, struct npuedge_job, node);
	if (job)
		npuedge_job_get(job);
	spin_unlock_irq(&q->lock);
	return job;
}

static struct npuedge_queue *npuedge_dump_suspect(struct npuedge_device *edev)
{
	struct npuedge_queue *q;

	list_for_each_entry(q, &edev->queues.list, node) {
		if (npuedge_queue_busy(q))
			return q;
	}
	return NULL;
}

/**
 * npuedge_coredump_device() - leave a dump of a device that is going to be reset
 * @edev: device, with reset.lock held for writing
 * @guilty: queue that is the cause, or NULL: the job that happens to be on a core is in the dump
 * @reason: enum npuedge_reset_reason
 */
void npuedge_coredump_device(struct npuedge_device *edev, struct npuedge_queue *guilty, u32 reason)
{
	struct npuedge_queue *q = guilty ?: npuedge_dump_suspect(edev);
	struct npuedge_coredump *d = npuedge_dump_take(edev);
	struct npuedge_job *job;

	if (!d)
		return;

	snprintf(d->reason, sizeof(d->reason), "reset-%s", npuedge_reset_reason_name(reason));
	npuedge_dump_device(d);
	job = q ? npuedge_dump_oldest(q) : NULL;
	if (job) {
		npuedge_dump_job(d, job, NULL);
		npuedge_job_put(job);
	}
	npuedge_dump_publish(d);
}

/* ---- writing: the worker ---- */

/**
 * struct npuedge_dump_text - text in the making
 */
struct npuedge_dump_text {
	/** @to: its memory */
	char *to;
	/** @size: bytes of @to */
	size_t size;
	/** @used: of them */
	size_t used;
};

static __printf(2, 3) void npuedge_dump_print(struct npuedge_dump_text *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	t->used += vscnprintf(t->to + t->used, t->size - t->used, format, args);
	va_end(args);
}

/* Text of exactly @bytes, and an end of line if it has none. */
static void npuedge_dump_put_text(struct npuedge_dump_text *t, const char *name, const char *text,
				  size_t bytes)
{
	npuedge_dump_print(t, "[%s bytes=%zu]\n", name, bytes);
	bytes = min(bytes, t->size - t->used - 1);
	memcpy(t->to + t->used, text, bytes);
	t->used += bytes;
	if (bytes && text[bytes - 1] != '\n')
		npuedge_dump_print(t, "\n");
}

static void npuedge_dump_put_hex(struct npuedge_dump_text *t, const void *from, size_t bytes)
{
	for (size_t at = 0, line; at < bytes; at += line) {
		line = min_t(size_t, bytes - at, NPUEDGE_DUMP_LINE);
		if (t->size - t->used < 2 * line + 2)
			return;
		bin2hex(t->to + t->used, from + at, line);
		t->used += 2 * line;
		t->to[t->used++] = '\n';
	}
}

static void npuedge_dump_put(struct npuedge_dump_text *t, const char *name, const void *from,
			     size_t bytes)
{
	npuedge_dump_print(t, "[%s bytes=%zu]\n", name, bytes);
	npuedge_dump_put_hex(t, from, bytes);
}

static void npuedge_dump_put_head(struct npuedge_dump_text *t, struct npuedge_coredump *d)
{
	struct npuedge_device *edev = d->edev;
	const struct drm_npuedge_fw_info *fw = &edev->fw->info;

	npuedge_dump_print(t, "npuedge-coredump 1\n");
	npuedge_dump_print(t, "chip: %s\n", edev->chip.name);
	npuedge_dump_print(t, "contract: %u.%u\n", edev->chip.contract_version >> 16,
			   edev->chip.contract_version & 0xffff);
	npuedge_dump_print(t, "firmware: %u.%u.%u %s\n", fw->version >> 24,
			   fw->version >> 16 & 0xff, fw->version & 0xffff, fw->build);
	npuedge_dump_print(t, "reason: %s\n", d->reason);
	npuedge_dump_print(t, "time_ns: %llu\n", d->time_ns);
	if (!d->has_job)
		return;

	npuedge_dump_print(t, "queue: %u\n", d->queue);
	npuedge_dump_print(t, "vm: %u\n", d->vm->id);
	npuedge_dump_print(t, "seqno: %llu\n", d->desc.seqno);
	npuedge_dump_print(t, "fault: %u\n", d->result.fault);
	npuedge_dump_print(t, "cmd: %u\n", d->result.cmd);
	npuedge_dump_print(t, "va: %#llx\n", d->result.va);
	npuedge_dump_print(t, "info: %#x\n", d->result.info);
	npuedge_dump_print(t, "core: %u\n", d->result.core);
}

/* Sections that are text are made in the scratch buffer first, as their length comes first. */
static void npuedge_dump_put_regs(struct npuedge_dump_text *t, struct npuedge_coredump *d,
				  struct npuedge_dump_text *scratch)
{
	scratch->used = 0;
	for (u32 i = 0; i < ARRAY_SIZE(npuedge_dump_regs); i++)
		npuedge_dump_print(scratch, "%#06x %#010x\n", npuedge_dump_regs[i], d->regs[i]);
	npuedge_dump_put_text(t, "regs", scratch->to, scratch->used);
}

static void npuedge_dump_put_walk(struct npuedge_dump_text *t, struct npuedge_coredump *d,
				  struct npuedge_dump_text *scratch)
{
	scratch->used = 0;
	for (u32 i = 0; i < d->levels; i++)
		npuedge_dump_print(scratch, "%u %u %#018llx\n", i,
				   npuedge_pt_index(d->result.va, i), d->walk[i]);
	npuedge_dump_put_text(t, "walk", scratch->to, scratch->used);
}

static void npuedge_dump_put_vm(struct npuedge_dump_text *t, struct npuedge_coredump *d,
				struct npuedge_dump_text *scratch)
{
	scratch->used = 0;
	for (u32 i = 0; i < d->range_count; i++) {
		const struct npuedge_dump_range *range = &d->ranges[i];

		npuedge_dump_print(scratch, "%#llx %#llx %u %s\n", range->va, range->size,
				   range->readonly, range->label[0] ? range->label : "-");
	}
	npuedge_dump_put_text(t, "vm", scratch->to, scratch->used);
}

static void npuedge_dump_put_job(struct npuedge_dump_text *t, struct npuedge_coredump *d,
				 struct npuedge_dump_text *scratch)
{
	npuedge_dump_put(t, "queue", &d->hw, sizeof(d->hw));
	npuedge_dump_put(t, "ring", d->ring, sizeof(d->ring));
	npuedge_dump_put(t, "results", d->results, sizeof(d->results));
	npuedge_dump_put_walk(t, d, scratch);
	npuedge_dump_put_vm(t, d, scratch);
	for (u32 i = 0; i < d->piece_count; i++) {
		const struct npuedge_dump_piece *piece = &d->pieces[i];

		npuedge_dump_print(t, "[%s bytes=%u va=%#llx]\n", piece->name, piece->bytes,
				   piece->va);
		npuedge_dump_put_hex(t, d->area + piece->offset, piece->bytes);
	}
}

static void npuedge_dump_put_all(struct npuedge_dump_text *t, struct npuedge_coredump *d,
				 struct npuedge_dump_text *scratch)
{
	npuedge_dump_put_head(t, d);
	npuedge_dump_put_regs(t, d, scratch);
	npuedge_dump_put_text(t, "fw_log", d->log, d->log_bytes);
	npuedge_dump_put(t, "fw_if", &d->iface, sizeof(d->iface));
	npuedge_dump_put(t, "msg_rings", d->messages, sizeof(d->messages));
	if (d->has_job)
		npuedge_dump_put_job(t, d, scratch);
}

/* More than all sections can take: two digits a byte, an end of line each 32, and headlines. */
static size_t npuedge_dump_max(const struct npuedge_coredump *d)
{
	size_t binary = sizeof(d->iface) + sizeof(d->messages) + sizeof(d->hw) + sizeof(d->ring) +
			sizeof(d->results) + d->area_used;

	return binary * 2 + binary / NPUEDGE_DUMP_LINE + d->log_bytes +
	       d->range_count * NPUEDGE_DUMP_RANGE_TEXT + (NPUEDGE_DUMP_PIECES + 16) * 64 +
	       sizeof(npuedge_dump_regs) * 16 + SZ_4K;
}

static void npuedge_dump_write(struct npuedge_coredump *d)
{
	struct npuedge_dump_text scratch = {
		.size = NPUEDGE_DUMP_RANGES * NPUEDGE_DUMP_RANGE_TEXT,
	};
	struct npuedge_dump_text text = { .size = npuedge_dump_max(d) };

	text.to = vmalloc(text.size);
	scratch.to = vmalloc(scratch.size);
	if (text.to && scratch.to) {
		npuedge_dump_put_all(&text, d, &scratch);
		/* Drops it if nobody has looked at the last one. */
		dev_coredumpv(d->edev->dev, text.to, text.used, GFP_KERNEL);
		text.to = NULL;
	} else {
		drm_dbg(&d->edev->base, "no memory for a core dump of %zu bytes\n", text.size);
	}
	vfree(scratch.to);
	vfree(text.to);
}

static void npuedge_dump_work(struct work_struct *work)
{
	struct npuedge_coredump *d = container_of(work, struct npuedge_coredump, work);
	struct npuedge_vm *vm = d->vm;

	/* Its locks were taken when it happened; what is there now is better than nothing. */
	if (vm && !d->vm_copied) {
		dma_resv_lock(drm_gpuvm_resv(&vm->base), NULL);
		mutex_lock(&vm->op_lock);
		npuedge_dump_vm_locked(d);
		mutex_unlock(&vm->op_lock);
		dma_resv_unlock(drm_gpuvm_resv(&vm->base));
	}
	npuedge_dump_write(d);
	d->vm = NULL;
	atomic_set_release(&d->state, NPUEDGE_DUMP_FREE);
	npuedge_vm_put(vm);
}

/**
 * npuedge_coredump_flush() - wait for the dump that is in the making
 * @edev: device
 */
void npuedge_coredump_flush(struct npuedge_device *edev)
{
	if (edev->coredump)
		flush_work(&edev->coredump->work);
}

static void npuedge_coredump_fini(struct drm_device *drm, void *arg)
{
	struct npuedge_coredump *d = arg;

	vfree(d->area);
	vfree(d);
}

/**
 * npuedge_coredump_init() - allocate what a dump is copied to
 * @edev: device
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_coredump_init(struct npuedge_device *edev)
{
	struct npuedge_coredump *d;
	int ret;

	if (!IS_ENABLED(CONFIG_DEV_COREDUMP))
		return 0;

	d = vzalloc(sizeof(*d));
	if (!d)
		return -ENOMEM;

	d->edev = edev;
	d->bo_bytes = min_t(u32, npuedge_coredump_bo_bytes, NPUEDGE_DUMP_BO_LIMIT);
	d->area = vmalloc(NPUEDGE_DUMP_JOB_BYTES + d->bo_bytes);
	INIT_WORK(&d->work, npuedge_dump_work);
	ret = drmm_add_action_or_reset(&edev->base, npuedge_coredump_fini, d);
	if (ret)
		return ret;
	if (!d->area)
		return -ENOMEM;

	edev->coredump = d;
	return 0;
}
