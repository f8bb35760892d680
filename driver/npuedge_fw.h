/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_FW_H
#define NPUEDGE_FW_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <drm/npuedge_accel.h>

#include "ne1_fwabi.h"
#include "npuedge_pgtable.h"

struct drm_printer;
struct npuedge_device;

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
 * struct npuedge_fw_call - a message that awaits its reply
 */
struct npuedge_fw_call {
	/** @id: id of the message; 0: free */
	u32 id;
	/** @done: the reply has arrived */
	bool done;
	/** @status: enum ne1_msg_status of the reply */
	u16 status;
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
	/** @iface: start of @shared */
	struct ne1_fw_if *iface;
	/** @cmd: messages to firmware; under @lock */
	struct npuedge_fw_ring cmd;
	/** @evt: messages from firmware; only the event interrupt reads them */
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
int npuedge_fw_boot(struct npuedge_device *edev);
int npuedge_fw_alloc_queue(struct npuedge_device *edev, u32 index);
struct ne1_fw_queue *npuedge_fw_queue_entry(struct npuedge_device *edev, u32 index);
int npuedge_fw_check(struct npuedge_device *edev);
bool npuedge_fw_alive(struct npuedge_device *edev);
void npuedge_fw_print_log(struct npuedge_device *edev, struct drm_printer *p);

void npuedge_fw_msg_start(struct npuedge_device *edev);
void npuedge_fw_msg_stop(struct npuedge_device *edev);
int npuedge_fw_call(struct npuedge_device *edev, const struct ne1_msg *cmd);
void npuedge_fw_handle_events(struct npuedge_device *edev);

#endif
