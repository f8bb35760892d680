/* SPDX-License-Identifier: MIT */
/*
 * The debug window of the device model: BAR0 offsets 0x8000 to 0x8fff, present with `npusim
 * --debug-window`, zero otherwise.  It is no part of the hardware contract and the driver knows
 * nothing of it: tests that run in the guest arm faults through it and read what the model counted.
 *
 * All registers are 32 bits; 64-bit quantities are a LO/HI pair, of counters LO latches HI.  To arm
 * a fault write FAULT, which fills the registers below it with that fault's defaults, then those
 * that should differ, then CMD.  STATUS says how that went, at once.
 */
#ifndef NPUSIM_DEBUG_WINDOW_H
#define NPUSIM_DEBUG_WINDOW_H

#define NPUSIM_WINDOW			0x8000
#define NPUSIM_WINDOW_SIZE		0x1000

/* Offsets from NPUSIM_WINDOW. */
#define NPUSIM_WIN_ID			0x000
#define   NPUSIM_WIN_MAGIC		0x5746534e /* "NSFW" */
#define NPUSIM_WIN_VERSION		0x004	/* of this page: grows when something is added */
#define   NPUSIM_WIN_VERSION_NOW	2
#define NPUSIM_WIN_FAULTS		0x008	/* number of faults that exist */

#define NPUSIM_WIN_FAULT		0x010	/* enum npusim_fault */
#define NPUSIM_WIN_AFTER_LO		0x014	/* events that pass first */
#define NPUSIM_WIN_AFTER_HI		0x018
#define NPUSIM_WIN_COUNT_LO		0x01c	/* firings until it disarms itself, 0: no limit */
#define NPUSIM_WIN_COUNT_HI		0x020
#define NPUSIM_WIN_DURATION		0x024	/* microseconds of host time */
#define NPUSIM_WIN_PROB			0x028	/* of a firing per event, in millionths */
#define NPUSIM_WIN_SEED_LO		0x02c	/* 0: from the seed of all */
#define NPUSIM_WIN_SEED_HI		0x030
#define NPUSIM_WIN_ON			0x034	/* enum npusim_on, if it has no events of its own */
#define NPUSIM_WIN_KEY_LO		0x038	/* which of these events; all ones: any */
#define NPUSIM_WIN_KEY_HI		0x03c
#define NPUSIM_WIN_ARG_LO(n)		(0x040 + 8 * (n)) /* n = 0..3; all ones in both: any */
#define NPUSIM_WIN_ARG_HI(n)		(0x044 + 8 * (n))

#define NPUSIM_WIN_CMD			0x060
#define   NPUSIM_CMD_ARM		1
#define   NPUSIM_CMD_DISARM		2	/* FAULT */
#define   NPUSIM_CMD_DISARM_ALL		3
#define   NPUSIM_CMD_SEED_ALL		4	/* SEED becomes that of all random faults */
#define NPUSIM_WIN_STATUS		0x064	/* of the last CMD */
#define   NPUSIM_STATUS_OK		0
#define   NPUSIM_STATUS_BAD_FAULT	1
#define   NPUSIM_STATUS_BAD_CMD		2
#define   NPUSIM_STATUS_BAD_VALUE	3	/* bits 15:8: offset / 4 of the register at fault */

/* Of FAULT. */
#define NPUSIM_WIN_STATE		0x068	/* bit 0 armed, bit 1 its condition holds now */
#define NPUSIM_WIN_SEEN_LO		0x06c	/* events since it was armed */
#define NPUSIM_WIN_SEEN_HI		0x070
#define NPUSIM_WIN_FIRED_LO		0x074
#define NPUSIM_WIN_FIRED_HI		0x078

/* Counters since the model started; accesses to this window are not among them. */
#define NPUSIM_WIN_READS_LO		0x080	/* of BAR0 */
#define NPUSIM_WIN_READS_HI		0x084
#define NPUSIM_WIN_WRITES_LO		0x088	/* to BAR0, doorbells included */
#define NPUSIM_WIN_WRITES_HI		0x08c
#define NPUSIM_WIN_DOORBELLS_LO		0x090
#define NPUSIM_WIN_DOORBELLS_HI		0x094
#define NPUSIM_WIN_JOBS_LO		0x098	/* that firmware reported as ended */
#define NPUSIM_WIN_JOBS_HI		0x09c
#define NPUSIM_WIN_WALKS_LO		0x0a0	/* page-table walks */
#define NPUSIM_WIN_WALKS_HI		0x0a4
#define NPUSIM_WIN_IRQS_LO(v)		(0x0b0 + 8 * (v)) /* messages of vector v = 0..3 */
#define NPUSIM_WIN_IRQS_HI(v)		(0x0b4 + 8 * (v))
/* Host monotonic time in ns of the last doorbell and of the last message; HOST_NS: now. */
#define NPUSIM_WIN_DOORBELL_NS_LO	0x0d0
#define NPUSIM_WIN_DOORBELL_NS_HI	0x0d4
#define NPUSIM_WIN_IRQ_NS_LO		0x0d8
#define NPUSIM_WIN_IRQ_NS_HI		0x0dc
#define NPUSIM_WIN_HOST_NS_LO		0x0e0
#define NPUSIM_WIN_HOST_NS_HI		0x0e4
/* Version 2: accesses to registers while the function was in D3hot, which nobody answers. */
#define NPUSIM_WIN_ASLEEP_LO		0x0e8
#define NPUSIM_WIN_ASLEEP_HI		0x0ec

/* What fires faults that have no events of their own.  Append only. */
enum npusim_on {
	NPUSIM_ON_NOW = 0,	/* when it is armed, and whenever firmware becomes READY then */
	NPUSIM_ON_READY = 1,
	NPUSIM_ON_RESET = 2,
	NPUSIM_ON_DOORBELL = 3,	/* key: queue */
	NPUSIM_ON_MBOX = 4,
	NPUSIM_ON_JOB_START = 5, /* key: compute core */
	NPUSIM_ON_JOB_END = 6,	/* key: queue; before the host can see it */
	NPUSIM_ON_EVENT = 7,	/* key: type of the message to the host */
	NPUSIM_ON_MMIO_READ = 8, /* key: offset in BAR0 */
	NPUSIM_ON_MMIO_WRITE = 9,
	NPUSIM_ONS = 10,
};

/*
 * `npusim-ctl list` has the arguments; names there are these in lower case with dashes.  Append
 * only.
 */
enum npusim_fault {
	NPUSIM_FW_HANG = 0,
	NPUSIM_FW_SLOW = 1,
	NPUSIM_FW_CRASH = 2,
	NPUSIM_HEARTBEAT_STUCK = 3,
	NPUSIM_BOOT_MAGIC = 4,
	NPUSIM_BOOT_TRUNCATED = 5,
	NPUSIM_BOOT_COPY_FAIL = 6,
	NPUSIM_BOOT_ERROR = 7,
	NPUSIM_BOOT_ABI = 8,
	NPUSIM_BOOT_NOT_READY = 9,
	NPUSIM_BOOT_STUCK = 10,
	NPUSIM_RESET_STUCK = 11,
	NPUSIM_EVT_GARBAGE = 12,
	NPUSIM_EVT_INJECT = 13,
	NPUSIM_EVT_FLOOD = 14,
	NPUSIM_REPLY_LOST = 15,
	NPUSIM_REPLY_DUPLICATED = 16,
	NPUSIM_REPLY_REORDERED = 17,
	NPUSIM_REPLY_LATE = 18,
	NPUSIM_REPLY_STATUS = 19,
	NPUSIM_DONE_WRONG = 20,
	NPUSIM_RESULT_STATUS = 21,
	NPUSIM_SCRIBBLE = 22,
	NPUSIM_DOORBELL_LOST = 23,
	NPUSIM_MBOX_LOST = 24,
	NPUSIM_IRQ_LOST = 25,
	NPUSIM_IRQ_WRONG_VECTOR = 26,
	NPUSIM_IRQ_LATE = 27,
	NPUSIM_IRQ_EARLY = 28,
	NPUSIM_IRQ_SPURIOUS = 29,
	NPUSIM_IRQ_STORM = 30,
	NPUSIM_DMA_FAULT = 31,
	NPUSIM_MMU_INVALID = 32,
	NPUSIM_MMU_PERMISSION = 33,
	NPUSIM_MMU_STORM = 34,
	NPUSIM_WALK_ERROR = 35,
	NPUSIM_TLB_STALE = 36,
	NPUSIM_STRAY_WRITE = 37,
	NPUSIM_CMD_BITFLIP = 38,
	NPUSIM_OUTPUT_BITFLIP = 39,
	NPUSIM_ECC_CORRECTED = 40,
	NPUSIM_ECC_UNCORRECTED = 41,
	NPUSIM_ENGINE_STUCK = 42,
	NPUSIM_STOP_IGNORED = 43,
	NPUSIM_CLOCK_SLOW = 44,
	NPUSIM_DRAM_SLOW = 45,
	NPUSIM_MMIO_ONES = 46,
	NPUSIM_REMOVAL = 47,
	NPUSIM_STALL = 48,
	NPUSIM_FAULTS = 49,
};

#endif
