// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: MMU
 *
 * Feeds page tables with coherent memory and with the segments of buffers, and empties the device's
 * TLB.  The MMU never caches an entry that is not present, so mapping into a hole needs no
 * invalidation; everything else does, before the memory that was mapped may be used otherwise.
 *
 * Pages of the CPU may be larger than those of the NPU, in which VM_BIND counts: a part of one may
 * be mapped.  Buffers are whole pages of the CPU, so nobody else's memory is in the rest.  A table
 * is a page of the NPU, and takes one of the CPU.
 *
 * Tables exist as long as the device, see npuedge_dma.c: entries are changed within
 * drm_dev_enter().  They are looked at there as well, but by debugfs and by the worker that writes
 * core dumps.  These are through before the tables go: drm_dev_unregister() takes the files away
 * and waits for those who read them, and npuedge_device_unplug() waits for the dump.
 */

#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/scatterlist.h>
#include <linux/string_choices.h>

#include <drm/drm_print.h>

#include "npuedge_hw.h"
#include "npuedge_inject.h"
#include "npuedge_mmu.h"
#include "npuedge_pgtable.h"
#include "npuedge_reset.h"

static int npuedge_mmu_alloc_table(void *cookie, struct npuedge_pt_table *table)
{
	struct npuedge_device *edev = cookie;
	dma_addr_t dma;

	table->entries = dma_alloc_coherent(edev->dma_dev, NPUEDGE_PAGE, &dma, GFP_KERNEL_ACCOUNT);
	if (!table->entries)
		return -ENOMEM;

	table->dma = dma;
	mutex_lock(&edev->memory.table_lock);
	list_add(&table->node, &edev->memory.table_list);
	mutex_unlock(&edev->memory.table_lock);
	atomic_long_inc(&edev->memory.tables);
	return 0;
}

static void npuedge_mmu_free_entries(struct npuedge_device *edev, struct npuedge_pt_table *table)
{
	lockdep_assert_held(&edev->memory.table_lock);

	dma_free_coherent(edev->dma_dev, NPUEDGE_PAGE, table->entries, table->dma);
	table->entries = NULL;
	list_del(&table->node);
	atomic_long_dec(&edev->memory.tables);
}

/* Under the lock to the end, so that who frees all tables knows of it. */
static void npuedge_mmu_free_table(void *cookie, struct npuedge_pt_table *table)
{
	struct npuedge_device *edev = cookie;

	mutex_lock(&edev->memory.table_lock);
	if (table->entries)
		npuedge_mmu_free_entries(edev, table);
	mutex_unlock(&edev->memory.table_lock);
}

static const struct npuedge_pt_ops npuedge_mmu_pt_ops = {
	.alloc = npuedge_mmu_alloc_table,
	.free = npuedge_mmu_free_table,
};

/**
 * npuedge_mmu_init_pgtable() - make page tables that the device can walk
 * @edev: device, entered; outlives @pt
 * @pt: page tables, ended by npuedge_pt_fini()
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_mmu_init_pgtable(struct npuedge_device *edev, struct npuedge_pgtable *pt)
{
	return npuedge_pt_init(pt, &npuedge_mmu_pt_ops, edev);
}

/**
 * npuedge_mmu_free_tables() - free the memory of all page tables
 * @edev: device that was unplugged
 *
 * What it belongs to stays: tables without entries.
 */
void npuedge_mmu_free_tables(struct npuedge_device *edev)
{
	struct npuedge_pt_table *table, *tmp;

	mutex_lock(&edev->memory.table_lock);
	list_for_each_entry_safe(table, tmp, &edev->memory.table_list, node)
		npuedge_mmu_free_entries(edev, table);
	mutex_unlock(&edev->memory.table_lock);
}

/**
 * struct npuedge_mmu_cursor - walks the contiguous segments of a part of a buffer
 */
struct npuedge_mmu_cursor {
	/** @sg: scatter list entry of the next segment */
	struct scatterlist *sg;
	/** @nents: entries left, @sg included */
	unsigned int nents;
	/** @skip: bytes of @sg that were passed */
	u64 skip;
	/** @run: bytes of entries before @sg that lead up to it without a gap */
	u64 run;
	/** @left: bytes left of the part */
	u64 left;
};

static void npuedge_mmu_cursor_init(struct npuedge_mmu_cursor *cur, struct sg_table *sgt,
				    u64 offset, u64 len)
{
	*cur = (struct npuedge_mmu_cursor) {
		.sg = sgt->sgl, .nents = sgt->nents, .skip = offset, .left = len,
	};
}

static u64 npuedge_mmu_sg_end(struct scatterlist *sg)
{
	return sg_dma_address(sg) + sg_dma_len(sg);
}

static void npuedge_mmu_cursor_next_entry(struct npuedge_mmu_cursor *cur)
{
	u64 end = npuedge_mmu_sg_end(cur->sg);

	cur->skip -= sg_dma_len(cur->sg);
	cur->run += sg_dma_len(cur->sg);
	cur->sg = sg_next(cur->sg);
	cur->nents--;
	if (!cur->nents || sg_dma_address(cur->sg) != end)
		cur->run = 0;
}

/* How far memory goes on without a gap; beyond a big leaf nobody asks. */
static u64 npuedge_mmu_cursor_after(const struct npuedge_mmu_cursor *cur)
{
	u64 after = sg_dma_len(cur->sg) - cur->skip, end = npuedge_mmu_sg_end(cur->sg);
	struct scatterlist *sg = cur->sg;

	for (unsigned int i = 1; i < cur->nents && after < NPUEDGE_BLOCK; i++) {
		sg = sg_next(sg);
		if (sg_dma_address(sg) != end)
			break;
		after += sg_dma_len(sg);
		end = npuedge_mmu_sg_end(sg);
	}
	return after;
}

/* The next segment; entries that follow each other in bus addresses are one. */
static void npuedge_mmu_cursor_next(struct npuedge_mmu_cursor *cur, struct npuedge_pt_segment *seg)
{
	u64 piece;

	*seg = (struct npuedge_pt_segment) { };
	while (cur->left && cur->nents) {
		if (cur->skip >= sg_dma_len(cur->sg)) {
			npuedge_mmu_cursor_next_entry(cur);
			continue;
		}

		if (!seg->len) {
			seg->dma = sg_dma_address(cur->sg) + cur->skip;
			seg->before = cur->run + cur->skip;
		} else if (seg->dma + seg->len != sg_dma_address(cur->sg) + cur->skip) {
			return;
		}

		piece = min(cur->left, sg_dma_len(cur->sg) - cur->skip);
		seg->len += piece;
		cur->skip += piece;
		cur->left -= piece;
	}
	if (cur->nents)
		seg->after = npuedge_mmu_cursor_after(cur);
}

/**
 * npuedge_mmu_need_map() - count the tables that mapping a part of a buffer may take
 * @need: sum so far
 * @va: first address, multiple of 4096
 * @sgt: buffer, mapped for DMA
 * @offset: first byte, multiple of 4096
 * @len: bytes, multiple of 4096
 *
 * Return: 0, or -EINVAL if the buffer's segments are no multiples of 4096 or it is too short.
 */
int npuedge_mmu_need_map(struct npuedge_pt_need *need, u64 va, struct sg_table *sgt, u64 offset,
			 u64 len)
{
	struct npuedge_mmu_cursor cur;
	struct npuedge_pt_segment seg;

	npuedge_mmu_cursor_init(&cur, sgt, offset, len);
	while (cur.left) {
		npuedge_mmu_cursor_next(&cur, &seg);
		if (!seg.len || (seg.dma | seg.len) & (NPUEDGE_PAGE - 1))
			return -EINVAL;

		npuedge_pt_need_map(need, va, seg.dma, seg.len);
		va += seg.len;
	}
	return 0;
}

/**
 * npuedge_mmu_map() - map a part of a buffer, replacing what is mapped
 * @pt: page tables
 * @stock: holds what npuedge_mmu_need_map() with the same arguments asks for
 * @va: first address, multiple of 4096
 * @sgt: buffer, mapped for DMA
 * @offset: first byte, multiple of 4096
 * @len: bytes, multiple of 4096
 * @readonly: device writes fault
 *
 * Return: 0, or -ENOSPC if the stock was too small.
 */
int npuedge_mmu_map(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock, u64 va,
		    struct sg_table *sgt, u64 offset, u64 len, bool readonly)
{
	struct npuedge_mmu_cursor cur;
	struct npuedge_pt_segment seg;
	int ret = 0;

	npuedge_mmu_cursor_init(&cur, sgt, offset, len);
	while (!ret && cur.left) {
		npuedge_mmu_cursor_next(&cur, &seg);
		ret = npuedge_pt_map(pt, stock, va, &seg, readonly);
		va += seg.len;
	}
	return ret;
}

static int npuedge_mmu_empty_tlb(struct npuedge_device *edev)
{
	u32 value;
	int ret;

	mutex_lock(&edev->tlb_lock);
	npuedge_write(edev, NE1_REG_MMU_TLB_INV, 1);
	ret = read_poll_timeout(npuedge_read, value, !(value & NE1_TLB_INV_BUSY), 10,
				edev->timeouts->tlb * USEC_PER_MSEC, false, edev,
				NE1_REG_MMU_TLB_INV);
	mutex_unlock(&edev->tlb_lock);

	if (npuedge_inject(NPUEDGE_INJECT_TLB))
		ret = -ETIMEDOUT;
	/* A bus that froze meanwhile has nothing to say of the device. */
	if (ret && !READ_ONCE(edev->frozen))
		drm_err(&edev->base, "TLB invalidation took longer than %u ms\n",
			edev->timeouts->tlb);
	return ret;
}

/**
 * npuedge_mmu_try_invalidate() - drop all cached translations
 * @edev: device that is awake; its reset.lock is held for reading and no reset is due
 *
 * Return: 0, or -ETIMEDOUT; then a reset is due.
 */
int npuedge_mmu_try_invalidate(struct npuedge_device *edev)
{
	int ret = npuedge_mmu_empty_tlb(edev);

	if (ret)
		npuedge_reset_schedule(edev, NPUEDGE_RESET_TLB);
	return ret;
}

/* With the device awake.  A reset that is due or runs, and suspend, empty the TLB as well. */
static void npuedge_mmu_invalidate_or_reset(struct npuedge_device *edev)
{
	int ret = -ECANCELED;

	down_read(&edev->reset.lock);
	if (!atomic_read(&edev->reset.pending))
		ret = npuedge_mmu_try_invalidate(edev);
	up_read(&edev->reset.lock);
	if (!ret)
		return;

	npuedge_reset_wait(edev);
}

/**
 * npuedge_mmu_invalidate_on_resume() - have cached translations dropped when the device wakes up
 * @edev: device
 *
 * Runtime suspend keeps the TLB.  If the device turns out to be suspended after this call, no
 * access that comes after its resume uses an entry that was cached before the call.
 */
void npuedge_mmu_invalidate_on_resume(struct npuedge_device *edev)
{
	atomic_set(&edev->tlb_stale, 1);
	/* The caller reads the runtime status after this; pairs with npuedge_mmu_resume(). */
	smp_mb();
}

/**
 * npuedge_mmu_resume() - do what npuedge_mmu_invalidate_on_resume() asked for
 * @edev: device that is being resumed
 */
void npuedge_mmu_resume(struct npuedge_device *edev)
{
	if (!atomic_xchg(&edev->tlb_stale, 0) || atomic_read(&edev->reset.pending))
		return;

	/* No job may run before that: the device stops at once, and is started by a reset. */
	if (npuedge_mmu_empty_tlb(edev)) {
		npuedge_hw_reset(edev);
		npuedge_reset_schedule(edev, NPUEDGE_RESET_TLB);
	}
}

/**
 * npuedge_mmu_invalidate() - drop all cached translations
 * @edev: device; the caller holds no lock that a reset takes
 *
 * When it returns, no access of the device uses an entry that was changed before the call: a device
 * that does not confirm that is reset, one that is going away has stopped.
 */
void npuedge_mmu_invalidate(struct npuedge_device *edev)
{
	int cookie;

	if (npuedge_device_awake(edev, &cookie)) {
		npuedge_reset_wait(edev);
		return;
	}
	npuedge_mmu_invalidate_or_reset(edev);
	npuedge_device_asleep(edev, cookie);
}

/**
 * npuedge_mmu_report_fault() - log the recorded translation fault and record the next
 * @edev: device
 *
 * The job that faulted learns of it from its result.
 */
void npuedge_mmu_report_fault(struct npuedge_device *edev)
{
	u32 fault = npuedge_read(edev, NE1_REG_MMU_FAULT);
	u64 va;

	if (!(fault & NE1_MMU_FAULT_VALID))
		return;

	va = npuedge_hw_read64(edev, NE1_REG_MMU_FAULT_VA_LO);
	npuedge_write(edev, NE1_REG_MMU_FAULT_CLEAR, 1);

	drm_dbg(&edev->base, "MMU fault: asid %u unit %u %s va %#llx code %u\n",
		FIELD_GET(NE1_MMU_FAULT_ASID, fault), FIELD_GET(NE1_MMU_FAULT_UNIT, fault),
		str_write_read(fault & NE1_MMU_FAULT_WRITE), va,
		FIELD_GET(NE1_MMU_FAULT_CODE, fault));
}
