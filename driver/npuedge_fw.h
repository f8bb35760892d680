/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_FW_H
#define NPUEDGE_FW_H

#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <drm/npuedge_accel.h>

#include "ne1_fwabi.h"
#include "npuedge_msg.h"
#include "npuedge_pgtable.h"

struct drm_printer;
struct npuedge_device;

/** NPUEDGE_FW_LOG_SIZE - bytes of the firmware's log */
#define NPUEDGE_FW_LOG_SIZE	SZ_64K
/** NPUEDGE_FW_CMD_ENTRIES - messages on their way to firmware */
#define NPUEDGE_FW_CMD_ENTRIES	64
/** NPUEDGE_FW_EVT_ENTRIES - messages on their way from firmware */
#define NPUEDGE_FW_EVT_ENTRIES	256
/** NPUEDGE_FW_MSG_SIZE - bytes of the message rings, with their indices in front */
#define NPUEDGE_FW_MSG_SIZE \
	(SZ_4K + (NPUEDGE_FW_CMD_ENTRIES + NPUEDGE_FW_EVT_ENTRIES) * sizeof(struct ne1_msg))
/** NPUEDGE_FW_CALLS - messages that may await their reply at the same time */
#define NPUEDGE_FW_CALLS	16

/**
 * struct npuedge_fw_mem - coherent memory that the management core sees
 */
struct npuedge_fw_mem {
	/** @cpu: kernel address */
	void *cpu;
	/** @dma: bus address */
	dma_addr_t dma;
	/** @va: address in ASID 0 */
	u64 va;
	/** @size: bytes, multiple of 4096 */
	size_t size;
};

/**
 * struct npuedge_fw_ring - one direction of messages
 */
struct npuedge_fw_ring {
	/** @ctl: indices, shared with firmware */
	struct ne1_ring_ctl *ctl;
	/** @msg: slots, shared with firmware */
	struct ne1_msg *msg;
	/** @entries: number of slots, a power of two */
	u32 entries;
	/** @index: our own index; never read back from shared memory */
	u32 index;
};

/**
 * struct npuedge_fw - firmware and what is shared with it
 */
struct npuedge_fw {
	/** @image: firmware image, kept for later boots */
	struct npuedge_fw_mem image;
	/** @info: what user space may know about it */
	struct drm_npuedge_fw_info info;
	/** @window_lock: protects @window and @queue */
	struct mutex window_lock;
	/** @window: page tables of ASID 0 */
	struct npuedge_pgtable window;
	/** @shared: interface, rings, log and queue table */
	struct npuedge_fw_mem shared;
	/** @queue: ring and results per queue, allocated when first used */
	struct npuedge_fw_mem queue[NE1_MAX_QUEUES];
	/** @abi_minor: minor version that firmware and driver share, known from boot on */
	u16 abi_minor;
	/** @log_level: enum ne1_log_level that firmware is told at boot */
	u32 log_level;
	/** @iface: start of @shared */
	struct ne1_fw_if *iface;
	/** @cmd: messages to firmware; under @lock */
	struct npuedge_fw_ring cmd;
	/** @evt_lock: one reader of @evt at a time */
	struct mutex evt_lock;
	/** @evt: messages from firmware */
	struct npuedge_fw_ring evt;
	/** @lock: protects @cmd, @calls and @last_id */
	spinlock_t lock;
	/** @calls: messages that await a reply */
	struct npuedge_fw_call calls[NPUEDGE_FW_CALLS];
	/** @last_id: id of the last message */
	u32 last_id;
	/** @running: firmware was READY and nothing is known against it; under @lock */
	bool running;
};

int npuedge_fw_init(struct npuedge_device *edev);
void npuedge_fw_free_memory(struct npuedge_device *edev);
int npuedge_fw_boot(struct npuedge_device *edev);
int npuedge_fw_alloc_queue(struct npuedge_device *edev, u32 index);
struct ne1_fw_queue *npuedge_fw_queue_entry(struct npuedge_device *edev, u32 index);
struct ne1_fw_counters *npuedge_fw_counters_entry(struct npuedge_device *edev, u32 index);
int npuedge_fw_check(struct npuedge_device *edev);
bool npuedge_fw_alive(struct npuedge_device *edev);
void npuedge_fw_copy(struct npuedge_device *edev, struct ne1_fw_if *iface, void *messages);
u32 npuedge_fw_copy_log(struct npuedge_device *edev, char *to);
int npuedge_fw_print_log(struct npuedge_device *edev, struct drm_printer *p);

void npuedge_fw_msg_start(struct npuedge_device *edev);
void npuedge_fw_msg_stop(struct npuedge_device *edev);
int npuedge_fw_call(struct npuedge_device *edev, const struct ne1_msg *cmd);
bool npuedge_fw_tell(struct npuedge_device *edev, const struct ne1_msg *cmd);
void npuedge_fw_handle_events(struct npuedge_device *edev);

#endif
