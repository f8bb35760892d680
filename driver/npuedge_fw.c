// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Firmware
 *
 * The management core runs firmware from its own memory, where the boot ROM copies it after
 * checking the signature.  The image stays in memory that the device can read, so that a reset
 * needs neither the file system nor an allocation.
 *
 * Firmware and driver share one region at VA 0 of ASID 0: interface structure, message rings, log,
 * queue table.  Behind it lie the rings and results of the queues, one piece per queue at a fixed
 * address, allocated when the queue is used for the first time and kept until the device is
 * unplugged, see npuedge_dma.c.
 */

#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/firmware.h>
#include <linux/iopoll.h>
#include <linux/overflow.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "ne1_fw_image.h"
#include "npuedge_compat.h"
#include "npuedge_fw.h"
#include "npuedge_hw.h"
#include "npuedge_inject.h"
#include "npuedge_mmu.h"

#define NPUEDGE_FW_NAME		"npuedge/npuedge-ne1.fw"

/* Layout of the shared region. */
#define NPUEDGE_OFF_CMD_CTL	sizeof(struct ne1_fw_if)
#define NPUEDGE_OFF_EVT_CTL	(NPUEDGE_OFF_CMD_CTL + sizeof(struct ne1_ring_ctl))
#define NPUEDGE_OFF_LOG_CTL	(NPUEDGE_OFF_EVT_CTL + sizeof(struct ne1_ring_ctl))
#define NPUEDGE_OFF_CMD		SZ_4K
#define NPUEDGE_OFF_EVT		(NPUEDGE_OFF_CMD + NPUEDGE_FW_CMD_ENTRIES * sizeof(struct ne1_msg))
#define NPUEDGE_OFF_QUEUES	NPUEDGE_FW_MSG_SIZE
#define NPUEDGE_OFF_COUNTERS \
	(NPUEDGE_OFF_QUEUES + NE1_MAX_QUEUES * sizeof(struct ne1_fw_queue))
#define NPUEDGE_OFF_LOG \
	(NPUEDGE_OFF_COUNTERS + NE1_MAX_QUEUES * sizeof(struct ne1_fw_counters))
#define NPUEDGE_SHARED_SIZE	(NPUEDGE_OFF_LOG + NPUEDGE_FW_LOG_SIZE)
static_assert(NPUEDGE_OFF_LOG_CTL + sizeof(struct ne1_ring_ctl) <= NPUEDGE_OFF_CMD);
static_assert(NPUEDGE_OFF_EVT + NPUEDGE_FW_EVT_ENTRIES * sizeof(struct ne1_msg) ==
	      NPUEDGE_OFF_QUEUES);
static_assert(NPUEDGE_SHARED_SIZE % NPUEDGE_PAGE == 0);

/* A queue's piece: jobs, then results. */
#define NPUEDGE_QUEUE_MEM \
	(NPUEDGE_QUEUE_DEPTH * (sizeof(struct ne1_job) + sizeof(struct ne1_job_result)))
static_assert(NPUEDGE_QUEUE_MEM % NPUEDGE_PAGE == 0);

#define NPUEDGE_WINDOW_SIZE \
	(NPUEDGE_SHARED_SIZE + NE1_MAX_QUEUES * NPUEDGE_QUEUE_MEM)

static int npuedge_fw_alloc(struct npuedge_device *edev, struct npuedge_fw_mem *mem, size_t size)
{
	mem->size = ALIGN(size, NPUEDGE_PAGE);
	mem->cpu = dma_alloc_coherent(edev->dma_dev, mem->size, &mem->dma, GFP_KERNEL);
	return mem->cpu ? 0 : -ENOMEM;
}

static void npuedge_fw_free(struct npuedge_device *edev, struct npuedge_fw_mem *mem)
{
	if (mem->cpu)
		dma_free_coherent(edev->dma_dev, mem->size, mem->cpu, mem->dma);
	mem->cpu = NULL;
}

static int npuedge_fw_alloc_mapped(struct npuedge_device *edev, struct npuedge_fw_mem *mem, u64 va,
				   size_t size)
{
	struct npuedge_fw *fw = edev->fw;
	int ret;

	ret = npuedge_fw_alloc(edev, mem, size);
	if (ret)
		return ret;

	ret = npuedge_pt_map_new(&fw->window, va, mem->dma, mem->size);
	if (ret)
		npuedge_fw_free(edev, mem);
	else
		mem->va = va;
	return ret;
}

/**
 * npuedge_fw_alloc_queue() - make sure that a queue's ring and results exist
 * @edev: device
 * @index: firmware's queue number, taken by the caller
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_fw_alloc_queue(struct npuedge_device *edev, u32 index)
{
	struct npuedge_fw_mem *mem = &edev->fw->queue[index];
	u64 va = NPUEDGE_SHARED_SIZE + index * NPUEDGE_QUEUE_MEM;

	guard(mutex)(&edev->fw->window_lock);
	return mem->cpu ? 0 : npuedge_fw_alloc_mapped(edev, mem, va, NPUEDGE_QUEUE_MEM);
}

/**
 * npuedge_fw_queue_entry() - entry of the queue table
 * @edev: device
 * @index: firmware's queue number
 *
 * Return: the entry in shared memory.
 */
struct ne1_fw_queue *npuedge_fw_queue_entry(struct npuedge_device *edev, u32 index)
{
	struct ne1_fw_queue *table = edev->fw->shared.cpu + NPUEDGE_OFF_QUEUES;

	return &table[index];
}

/**
 * npuedge_fw_counters_entry() - entry of the table of counters
 * @edev: device
 * @index: firmware's queue number
 *
 * Return: the entry in shared memory.
 */
struct ne1_fw_counters *npuedge_fw_counters_entry(struct npuedge_device *edev, u32 index)
{
	struct ne1_fw_counters *table = edev->fw->shared.cpu + NPUEDGE_OFF_COUNTERS;

	return &table[index];
}

/* What the boot ROM checks too, but its answer would be a number. */
static int npuedge_fw_check_header(struct npuedge_device *edev, const struct firmware *file)
{
	const struct ne1_fw_header *h = (const void *)file->data;
	struct device *dev = edev->dev;
	size_t total;

	if (file->size < sizeof(*h) || h->magic != NE1_FW_MAGIC)
		return dev_err_probe(dev, -EINVAL, "%s is no NE1 firmware\n", NPUEDGE_FW_NAME);
	if (h->header_size != sizeof(*h))
		return dev_err_probe(dev, -EINVAL, "firmware header of %u bytes, need %zu\n",
				     h->header_size, sizeof(*h));
	if (check_add_overflow(sizeof(*h), h->payload_size, &total) || total > file->size ||
	    !h->payload_size || h->payload_size > NE1_MC_TCM_SIZE)
		return dev_err_probe(dev, -EINVAL, "firmware payload of %u bytes, file has %zu\n",
				     h->payload_size, file->size);
	if (h->memory_size < h->payload_size || h->memory_size > NE1_MC_TCM_SIZE ||
	    h->load_addr < NE1_MC_TCM ||
	    h->load_addr - NE1_MC_TCM > NE1_MC_TCM_SIZE - h->memory_size)
		return dev_err_probe(dev, -EINVAL, "firmware memory %#x+%#x is outside of TCM\n",
				     h->load_addr, h->memory_size);
	if (h->abi_major != NE1_ABI_MAJOR)
		return dev_err_probe(dev, -EINVAL, "firmware ABI %u.%u, need %u.x\n", h->abi_major,
				     h->abi_minor, NE1_ABI_MAJOR);
	return 0;
}

static void npuedge_fw_set_info(struct npuedge_fw *fw, const struct ne1_fw_header *h)
{
	fw->info.version = h->fw_version;
	fw->info.abi_version = (u32)h->abi_major << 16 | h->abi_minor;
	static_assert(sizeof(fw->info.build) == sizeof(h->build));
	memcpy(fw->info.build, h->build, sizeof(h->build));
	fw->info.build[sizeof(fw->info.build) - 1] = '\0';
}

static int npuedge_fw_load(struct npuedge_device *edev)
{
	const struct firmware *file __free(firmware) = NULL;
	struct npuedge_fw *fw = edev->fw;
	int ret;

	ret = request_firmware(&file, NPUEDGE_FW_NAME, edev->dev);
	if (ret)
		return dev_err_probe(edev->dev, ret, "cannot load %s\n", NPUEDGE_FW_NAME);

	ret = npuedge_fw_check_header(edev, file);
	ret = ret ?: npuedge_fw_alloc(edev, &fw->image, file->size);
	if (ret)
		return ret;

	npuedge_fw_set_info(fw, (const void *)file->data);
	memcpy(fw->image.cpu, file->data, file->size);
	return 0;
}

/* Everything back to what firmware expects at its start. */
static void npuedge_fw_init_shared(struct npuedge_device *edev)
{
	struct npuedge_fw *fw = edev->fw;
	void *base = fw->shared.cpu;

	memset(base, 0, NPUEDGE_OFF_LOG);
	fw->cmd = (struct npuedge_fw_ring) {
		.ctl = base + NPUEDGE_OFF_CMD_CTL, .msg = base + NPUEDGE_OFF_CMD,
		.entries = NPUEDGE_FW_CMD_ENTRIES,
	};
	fw->evt = (struct npuedge_fw_ring) {
		.ctl = base + NPUEDGE_OFF_EVT_CTL, .msg = base + NPUEDGE_OFF_EVT,
		.entries = NPUEDGE_FW_EVT_ENTRIES,
	};
	*fw->iface = (struct ne1_fw_if) {
		.magic = NE1_FW_IF_MAGIC,
		.abi_major = NE1_ABI_MAJOR,
		.abi_minor = NE1_ABI_MINOR,
		.size = NPUEDGE_WINDOW_SIZE,
		.cmd_ctl = NPUEDGE_OFF_CMD_CTL,
		.cmd_ring = NPUEDGE_OFF_CMD,
		.cmd_entries = NPUEDGE_FW_CMD_ENTRIES,
		.evt_ctl = NPUEDGE_OFF_EVT_CTL,
		.evt_ring = NPUEDGE_OFF_EVT,
		.evt_entries = NPUEDGE_FW_EVT_ENTRIES,
		.log_ctl = NPUEDGE_OFF_LOG_CTL,
		.log_ring = NPUEDGE_OFF_LOG,
		.log_size = NPUEDGE_FW_LOG_SIZE,
		.queue_table = NPUEDGE_OFF_QUEUES,
		.queue_count = edev->chip.queue_limit,
		.log_level = fw->log_level,
		.counter_table = NPUEDGE_OFF_COUNTERS,
	};
}

static void npuedge_fw_report_failure(struct npuedge_device *edev, u32 state, u32 error)
{
	static const char * const reasons[] = {
		[NE1_BOOT_ERR_DMA] = "image not readable",
		[NE1_BOOT_ERR_MAGIC] = "no firmware image",
		[NE1_BOOT_ERR_HEADER] = "bad header",
		[NE1_BOOT_ERR_SIZE] = "bad size",
		[NE1_BOOT_ERR_HASH] = "bad hash",
		[NE1_BOOT_ERR_KEY] = "unknown key",
		[NE1_BOOT_ERR_SIGNATURE] = "bad signature",
	};
	const struct ne1_fw_header *h = edev->fw->image.cpu;

	if (state == NE1_BOOT_STATE_FAILED && error == NE1_BOOT_ERR_ROLLBACK)
		drm_err(&edev->base,
			"boot ROM refuses the firmware: rollback to security version %u, need %u\n",
			h->security_version, npuedge_read(edev, NE1_REG_SECURITY_MIN));
	else if (state == NE1_BOOT_STATE_FAILED && error < ARRAY_SIZE(reasons) && reasons[error])
		drm_err(&edev->base, "boot ROM refuses the firmware: %s (error %u)\n",
			reasons[error], error);
	else
		drm_err(&edev->base, "firmware does not start: state %u, error %u\n", state, error);
}

static int npuedge_fw_wait_ready(struct npuedge_device *edev)
{
	u32 status, state;
	int ret;

	if (npuedge_inject(NPUEDGE_INJECT_BOOT))
		return -EIO;

	ret = read_poll_timeout(npuedge_read, status,
				FIELD_GET(NE1_BOOT_STATE_MASK, status) >= NE1_BOOT_STATE_READY,
				5000, edev->timeouts->boot * USEC_PER_MSEC, false, edev,
				NE1_REG_BOOT_STATUS);
	state = FIELD_GET(NE1_BOOT_STATE_MASK, status);
	if (ret || state != NE1_BOOT_STATE_READY) {
		npuedge_fw_report_failure(edev, state, FIELD_GET(NE1_BOOT_ERROR_MASK, status));
		return ret ?: -EIO;
	}
	return 0;
}

/**
 * npuedge_fw_boot() - start the firmware
 * @edev: device, in reset
 *
 * Does not allocate memory.
 *
 * Return: 0, -ETIMEDOUT, -EIO if the ROM refuses the image or firmware stopped, -EINVAL if it
 * speaks another ABI.
 */
int npuedge_fw_boot(struct npuedge_device *edev)
{
	struct npuedge_fw *fw = edev->fw;
	u16 major;
	int ret;

	mutex_lock(&fw->evt_lock);
	npuedge_fw_init_shared(edev);
	mutex_unlock(&fw->evt_lock);
	npuedge_hw_write64(edev, NE1_REG_BOOT_IMG_LO, fw->image.dma);
	npuedge_write(edev, NE1_REG_BOOT_IMG_SIZE, fw->image.size);
	npuedge_hw_write64(edev, NE1_REG_FW_PGD_LO, fw->window.root->dma);
	npuedge_write(edev, NE1_REG_BOOT_CTRL, NE1_BOOT_START);

	ret = npuedge_fw_wait_ready(edev);
	if (ret)
		return ret;

	dma_rmb();
	major = READ_ONCE(fw->iface->fw_abi_major);
	if (major != NE1_ABI_MAJOR) {
		drm_err(&edev->base, "firmware runs ABI %u, need %u\n", major, NE1_ABI_MAJOR);
		return -EINVAL;
	}

	fw->abi_minor = min_t(u16, READ_ONCE(fw->iface->fw_abi_minor), NE1_ABI_MINOR);
	npuedge_fw_msg_start(edev);
	return 0;
}

/**
 * npuedge_fw_check() - whether firmware runs, as far as the hardware can tell
 * @edev: device
 *
 * Return: 0, or -EIO if it has stopped.
 */
int npuedge_fw_check(struct npuedge_device *edev)
{
	u32 status = npuedge_read(edev, NE1_REG_BOOT_STATUS);

	return FIELD_GET(NE1_BOOT_STATE_MASK, status) == NE1_BOOT_STATE_READY ? 0 : -EIO;
}

/**
 * npuedge_fw_alive() - whether firmware's heart beats
 * @edev: device
 *
 * Sleeps until it does, at most the platform's heartbeat time.  Needs no help of firmware's message
 * handling and no register.  Firmware counts device time, which a model may let pass slowly: this
 * is for diagnosis, not for decisions.
 *
 * Return: true if so.
 */
bool npuedge_fw_alive(struct npuedge_device *edev)
{
	u32 *heartbeat = &edev->fw->iface->heartbeat;
	u32 before = READ_ONCE(*heartbeat);

	for (u32 waited = 0; waited < edev->timeouts->heartbeat; waited += NE1_HEARTBEAT_MS / 2) {
		msleep(NE1_HEARTBEAT_MS / 2);
		if (READ_ONCE(*heartbeat) != before)
			return true;
	}
	return false;
}

/**
 * npuedge_fw_copy() - copy what is shared with firmware, for a core dump
 * @edev: device
 * @iface: out: interface structure
 * @messages: out: NPUEDGE_FW_MSG_SIZE bytes: the region's start, with all message rings
 */
void npuedge_fw_copy(struct npuedge_device *edev, struct ne1_fw_if *iface, void *messages)
{
	memcpy(iface, edev->fw->shared.cpu, sizeof(*iface));
	memcpy(messages, edev->fw->shared.cpu, NPUEDGE_FW_MSG_SIZE);
}

/**
 * npuedge_fw_copy_log() - copy what is left of the firmware's log
 * @edev: device
 * @to: NPUEDGE_FW_LOG_SIZE bytes; what is no text becomes a dot
 *
 * Return: bytes copied.
 */
u32 npuedge_fw_copy_log(struct npuedge_device *edev, char *to)
{
	struct ne1_ring_ctl *ctl = edev->fw->shared.cpu + NPUEDGE_OFF_LOG_CTL;
	const char *log = edev->fw->shared.cpu + NPUEDGE_OFF_LOG;
	u32 write = READ_ONCE(ctl->write);
	u32 len = min_t(u32, write, NPUEDGE_FW_LOG_SIZE);

	dma_rmb();
	for (u32 i = 0; i < len; i++) {
		char c = READ_ONCE(log[(write - len + i) % NPUEDGE_FW_LOG_SIZE]);

		to[i] = c == '\n' || (c >= ' ' && c <= '~') ? c : '.';
	}
	return len;
}

/**
 * npuedge_fw_print_log() - print what is left of the firmware's log
 * @edev: device
 * @p: where to
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_fw_print_log(struct npuedge_device *edev, struct drm_printer *p)
{
	char *copy __free(kvfree) = kvmalloc(NPUEDGE_FW_LOG_SIZE, GFP_KERNEL);
	u32 len;

	if (!copy)
		return -ENOMEM;

	len = npuedge_fw_copy_log(edev, copy);
	/* A precision has 16 bits. */
	for (u32 at = 0; at < len; at += SZ_4K)
		drm_printf(p, "%.*s", min_t(int, len - at, SZ_4K), copy + at);
	return 0;
}

/**
 * npuedge_fw_free_memory() - free all that is shared with firmware
 * @edev: device that has stopped and was unplugged, or whose probe has failed
 */
void npuedge_fw_free_memory(struct npuedge_device *edev)
{
	struct npuedge_fw *fw = edev->fw;

	npuedge_pt_fini(&fw->window);
	for (u32 i = 0; i < NE1_MAX_QUEUES; i++)
		npuedge_fw_free(edev, &fw->queue[i]);
	npuedge_fw_free(edev, &fw->shared);
	npuedge_fw_free(edev, &fw->image);
	fw->iface = NULL;
	fw->cmd = (struct npuedge_fw_ring) { };
	fw->evt = (struct npuedge_fw_ring) { };
}

static void npuedge_fw_fini(struct drm_device *drm, void *arg)
{
	npuedge_fw_free_memory(to_npuedge_device(drm));
}

/**
 * npuedge_fw_init() - load the firmware and make its shared memory
 * @edev: device
 *
 * Queues of open files refer to the structure, which is freed with the DRM device; the memory goes
 * before, when the device is unplugged.
 *
 * Return: 0, -ENOENT if there is no firmware file, -EINVAL if it is none, -ENOMEM.
 */
int npuedge_fw_init(struct npuedge_device *edev)
{
	struct npuedge_fw *fw;
	int ret;

	fw = drmm_kzalloc(&edev->base, sizeof(*fw), GFP_KERNEL);
	if (!fw)
		return -ENOMEM;

	edev->fw = fw;
	fw->log_level = NE1_LOG_INFO;
	spin_lock_init(&fw->lock);
	ret = drmm_mutex_init(&edev->base, &fw->window_lock);
	ret = ret ?: drmm_mutex_init(&edev->base, &fw->evt_lock);
	if (ret)
		return ret;

	ret = drmm_add_action_or_reset(&edev->base, npuedge_fw_fini, NULL);
	if (ret)
		return ret;

	ret = npuedge_fw_load(edev);
	if (ret)
		return ret;

	ret = npuedge_mmu_init_pgtable(edev, &fw->window);
	if (ret)
		return ret;

	ret = npuedge_fw_alloc_mapped(edev, &fw->shared, 0, NPUEDGE_SHARED_SIZE);
	if (ret)
		return ret;

	fw->iface = fw->shared.cpu;
	return 0;
}
