/* SPDX-License-Identifier: MIT */
/*
 * NE1 host registers (BAR0 of the PCI function, or the reg range of the platform device).
 *
 * 512 KiB: 64 KiB of registers, then one doorbell per 4 KiB page from NE1_DOORBELL_BASE, so that a
 * doorbell can be handed out alone.  All registers are 32 bits wide and accessed as such; 64-bit
 * quantities are a LO/HI pair, and reading LO latches HI.  Unlisted offsets read as zero and ignore
 * writes.  See ne1.md for behaviour.
 */
#ifndef NE1_REGS_H
#define NE1_REGS_H

#define NE1_BAR_SIZE			0x80000

#define NE1_PCI_VENDOR			0x1d1d	/* development ids, see ne1.md */
#define NE1_PCI_DEVICE			0x4e31
#define NE1_PCI_CLASS			0x120000 /* processing accelerator */
#define NE1_MSIX_VECTORS		4

/* Identification and capabilities: read only, constant. */
#define NE1_REG_ID			0x0000
#define   NE1_ID_MAGIC			0x3145554e /* "NUE1" */
#define NE1_REG_VERSION			0x0004	/* contract version: major 31:16, minor 15:0 */
#define   NE1_VERSION_MAJOR		1
#define   NE1_VERSION_MINOR		1
#define NE1_REG_PLATFORM		0x0008	/* selects the driver's timeout table, nothing else */
#define   NE1_PLATFORM_SILICON		0
#define   NE1_PLATFORM_FPGA		1
#define   NE1_PLATFORM_MODEL		2
#define NE1_REG_CAP_CORES		0x0010	/* compute cores, 1..NE1_MAX_CORES */
#define NE1_REG_CAP_SRAM		0x0014	/* bytes of SRAM per core */
#define NE1_REG_CAP_MACS		0x0018	/* fp16 multiply-accumulates per cycle per core */
#define NE1_REG_CAP_QUEUES		0x001c	/* queues, <= NE1_MAX_QUEUES */
#define NE1_REG_CAP_ASIDS		0x0020	/* address spaces incl. ASID 0, <= NE1_MAX_ASIDS */
#define NE1_REG_CAP_FORMATS		0x0024	/* bit n set: enum ne1_type n is supported by MX */
#define NE1_REG_CAP_FREQ_MAX		0x0028	/* kHz */
#define NE1_REG_CAP_DRAM_BW		0x002c	/* peak DRAM bandwidth in MB/s (10^6) */
#define NE1_REG_CAP_VX_LANES		0x0030	/* vector elements per cycle per core */
#define NE1_REG_CHIP_NAME		0x0040	/* 16 bytes of text, NUL padded */
#define NE1_REG_SECURITY_MIN		0x0050	/* 1.1: lowest security version of an image that the ROM accepts (fuses) */

#define NE1_MAX_CORES			4
#define NE1_MAX_QUEUES			64
#define NE1_MAX_ASIDS			16

/* Boot and reset. */
#define NE1_REG_BOOT_CTRL		0x0100
#define   NE1_BOOT_START		(1u << 0) /* boot ROM: copy, check, run; ignored unless state is RESET */
#define NE1_REG_BOOT_STATUS		0x0104
#define   NE1_BOOT_STATE_MASK		0x000000ff
#define   NE1_BOOT_STATE_RESET		0
#define   NE1_BOOT_STATE_LOADING	1	/* ROM is copying and checking */
#define   NE1_BOOT_STATE_STARTED	2	/* image accepted, management core runs */
#define   NE1_BOOT_STATE_READY		3	/* set by firmware: message rings are served */
#define   NE1_BOOT_STATE_FAILED		4	/* ROM refused the image, see error */
#define   NE1_BOOT_STATE_PANIC		5	/* firmware stopped itself, see error (firmware's code) */
#define   NE1_BOOT_ERROR_MASK		0x0000ff00
#define   NE1_BOOT_ERR_NONE		0
#define   NE1_BOOT_ERR_DMA		1	/* image address or size not readable */
#define   NE1_BOOT_ERR_MAGIC		2
#define   NE1_BOOT_ERR_HEADER		3	/* header size, load address or entry out of range */
#define   NE1_BOOT_ERR_SIZE		4	/* payload does not fit image or TCM */
#define   NE1_BOOT_ERR_HASH		5
#define   NE1_BOOT_ERR_KEY		6	/* key id unknown to the ROM */
#define   NE1_BOOT_ERR_SIGNATURE	7
#define   NE1_BOOT_ERR_ROLLBACK		8	/* security version below the fused minimum */
#define NE1_REG_BOOT_IMG_LO		0x0108	/* bus address of the image, physically contiguous */
#define NE1_REG_BOOT_IMG_HI		0x010c
#define NE1_REG_BOOT_IMG_SIZE		0x0110	/* bytes incl. header */
#define NE1_REG_FW_PGD_LO		0x0118	/* page-table root of ASID 0 (firmware's window) */
#define NE1_REG_FW_PGD_HI		0x011c
#define NE1_REG_RESET			0x0120	/* write 1: stop everything, state becomes RESET; reads 1 until done */

/* Interrupts.  Bit n of STATUS is vector n; with one MSI vector all share it.  A raise sends the
 * message if the bit is set in ENABLE, pending before or not, and stays pending in STATUS until written with 1.
 * Handlers of vectors 0 and 1 need not read STATUS: the state they serve is in memory.
 */
#define NE1_REG_IRQ_STATUS		0x0200
#define NE1_REG_IRQ_ENABLE		0x0204
#define   NE1_IRQ_QUEUE			(1u << 0) /* some queue completed a job */
#define   NE1_IRQ_EVENT			(1u << 1) /* event ring has messages */
#define   NE1_IRQ_MMU			(1u << 2) /* translation fault recorded (also reported as an event) */
#define   NE1_IRQ_FATAL			(1u << 3) /* watchdog, firmware panic, critical temperature */
#define   NE1_IRQ_ALL			0xf

/* MMU. */
#define NE1_REG_MMU_FAULT		0x0300	/* first fault since CLEAR */
#define   NE1_MMU_FAULT_VALID		(1u << 0)
#define   NE1_MMU_FAULT_ASID		0x000000f0
#define   NE1_MMU_FAULT_WRITE		(1u << 8)
#define   NE1_MMU_FAULT_UNIT		0x0000f000 /* enum ne1_unit */
#define   NE1_MMU_FAULT_CODE		0x000f0000 /* enum ne1_mmu_code */
#define NE1_REG_MMU_FAULT_VA_LO		0x0304
#define NE1_REG_MMU_FAULT_VA_HI		0x0308
#define NE1_REG_MMU_FAULT_CLEAR		0x030c	/* write 1 */
#define NE1_REG_MMU_TLB_INV		0x0310	/* write 1: drop all cached translations of all ASIDs */
#define   NE1_TLB_INV_BUSY		(1u << 0) /* read: 1 until no access uses a dropped entry */

enum ne1_mmu_code {
	NE1_MMU_OK = 0,
	NE1_MMU_NOT_PRESENT = 1,
	NE1_MMU_READ_ONLY = 2,
	NE1_MMU_RANGE = 3,	/* VA at or above 2^39, or ASID disabled */
	NE1_MMU_BUS = 4,	/* page table or page not reachable on the bus */
};

enum ne1_unit {
	NE1_UNIT_MCU = 0,
	NE1_UNIT_FE = 1,	/* command front end */
	NE1_UNIT_LD = 2,
	NE1_UNIT_ST = 3,
	NE1_UNIT_MX = 4,
	NE1_UNIT_VX = 5,
};

/* Page tables: 39-bit VA, 3 levels of 512 eight-byte entries, 4 KiB tables.  VA bits 38:30 index the
 * root, 29:21 the middle, 20:12 the last level.  A leaf is 4 KiB (last) or 2 MiB (middle, LEAF set).
 */
#define NE1_VA_BITS			39
#define NE1_PTE_VALID			(1ull << 0)
#define NE1_PTE_LEAF			(1ull << 1) /* required in every leaf */
#define NE1_PTE_RO			(1ull << 2) /* leaf: writes fault */
#define NE1_PTE_ADDR			0x000ffffffffff000ull
/* all other bits are reserved, must be zero */

/* Time and telemetry. */
#define NE1_REG_TIME_LO			0x0400	/* device time in ns */
#define NE1_REG_TIME_HI			0x0404
#define NE1_REG_FREQ			0x0408	/* current engine clock, kHz */
#define NE1_REG_TEMP_DIE		0x040c	/* millidegrees Celsius, signed */
#define NE1_REG_TEMP_BOARD		0x0410
#define NE1_REG_ENERGY_LO		0x0414	/* microjoules since power-on */
#define NE1_REG_ENERGY_HI		0x0418
#define NE1_REG_DRAM_RD_LO		0x0420	/* bytes read from DRAM by the NPU since power-on */
#define NE1_REG_DRAM_RD_HI		0x0424
#define NE1_REG_DRAM_WR_LO		0x0428
#define NE1_REG_DRAM_WR_HI		0x042c

#define NE1_REG_MBOX_DB			0x0500	/* write: command ring has messages */

#define NE1_DOORBELL_BASE		0x40000
#define NE1_DOORBELL(q)			(NE1_DOORBELL_BASE + (q) * 0x1000u) /* write: queue q has jobs */

/*
 * What the management core sees.  Everything but TCM and window is 32-bit registers.
 */
#define NE1_MC_TCM			0x10000000u
#define NE1_MC_TCM_SIZE			0x00040000u /* 256 KiB, executable */
#define NE1_MC_WINDOW			0x80000000u /* load/store at W+x accesses VA x of ASID 0 */

#define NE1_MC_CTRL			0x20000000u
#define NE1_MC_IRQ_PENDING		(NE1_MC_CTRL + 0x000) /* write 1 to clear */
#define NE1_MC_IRQ_ENABLE		(NE1_MC_CTRL + 0x004) /* pending & enable raises mip.MEIP */
#define   NE1_MC_IRQ_MBOX		(1u << 0)
#define   NE1_MC_IRQ_DOORBELL		(1u << 1)
#define   NE1_MC_IRQ_CORE		(1u << 2) /* a core left RUNNING */
#define   NE1_MC_IRQ_TIMER		(1u << 3)
#define NE1_MC_DB_PENDING_LO		(NE1_MC_CTRL + 0x008) /* doorbells rung, write 1 to clear */
#define NE1_MC_DB_PENDING_HI		(NE1_MC_CTRL + 0x00c)
#define NE1_MC_HOST_IRQ			(NE1_MC_CTRL + 0x010) /* write: raise these NE1_IRQ_* */
#define NE1_MC_BOOT_STATE		(NE1_MC_CTRL + 0x014) /* write: becomes BOOT_STATUS 15:0 */
#define NE1_MC_TIME_LO			(NE1_MC_CTRL + 0x018) /* device time in ns; LO latches HI */
#define NE1_MC_TIME_HI			(NE1_MC_CTRL + 0x01c)
#define NE1_MC_TIMER_LO			(NE1_MC_CTRL + 0x020) /* TIMER pending when time >= this; writing HI arms */
#define NE1_MC_TIMER_HI			(NE1_MC_CTRL + 0x024)
#define NE1_MC_WATCHDOG			(NE1_MC_CTRL + 0x028) /* write n: FATAL unless rewritten in n ms; 0 = off */
#define NE1_MC_CAP_CORES		(NE1_MC_CTRL + 0x02c)
#define NE1_MC_CAP_ASIDS		(NE1_MC_CTRL + 0x030)
#define NE1_MC_TEMP_DIE			(NE1_MC_CTRL + 0x034)

#define NE1_MC_AS(asid)			(0x20001000u + (asid) * 0x10u)
#define NE1_MC_AS_PGD_LO(asid)		(NE1_MC_AS(asid) + 0x0)
#define NE1_MC_AS_PGD_HI(asid)		(NE1_MC_AS(asid) + 0x4)
#define NE1_MC_AS_CTRL(asid)		(NE1_MC_AS(asid) + 0x8) /* write: drops the ASID's cached translations */
#define   NE1_MC_AS_ENABLE		(1u << 0)

#define NE1_MC_CORE(c)			(0x20002000u + (c) * 0x100u)
#define NE1_MC_CORE_CTRL		0x00
#define   NE1_CORE_START		(1u << 0) /* run from STREAM; state must not be RUNNING */
#define   NE1_CORE_STOP			(1u << 1) /* abandon the job at the next command boundary -> FAULT/STOPPED */
#define   NE1_CORE_SCRUB		(1u << 2) /* zero the SRAM; state must not be RUNNING */
#define   NE1_CORE_RESUME		(1u << 3) /* continue after YIELDED, if nothing was started since */
#define   NE1_CORE_CONTINUE		(1u << 4) /* 1.1, with START: go on with a job that yielded earlier, see POS */
#define NE1_MC_CORE_STATE		0x04
#define   NE1_CORE_IDLE			0
#define   NE1_CORE_RUNNING		1
#define   NE1_CORE_DONE			2
#define   NE1_CORE_FAULT		3
#define   NE1_CORE_YIELDED		4	/* stopped at a YIELD because YIELD_REQ was set */
#define NE1_MC_CORE_ASID		0x08
#define NE1_MC_CORE_YIELD_REQ		0x0c	/* 1: stop at the next YIELD */
#define NE1_MC_CORE_STREAM_LO		0x10
#define NE1_MC_CORE_STREAM_HI		0x14
#define NE1_MC_CORE_STREAM_SIZE		0x18	/* bytes, multiple of 64 */
#define NE1_MC_CORE_PARAM_LO		0x20
#define NE1_MC_CORE_PARAM_HI		0x24
#define NE1_MC_CORE_PROFILE_LO		0x28	/* 0: no profile is written */
#define NE1_MC_CORE_PROFILE_HI		0x2c
#define NE1_MC_CORE_FAULT_CODE		0x30	/* enum ne1_fault */
#define NE1_MC_CORE_FAULT_CMD		0x34	/* index of the faulting command in the stream */
#define NE1_MC_CORE_FAULT_VA_LO		0x38
#define NE1_MC_CORE_FAULT_VA_HI		0x3c
#define NE1_MC_CORE_FAULT_INFO		0x40	/* as NE1_REG_MMU_FAULT for MMU faults; unit otherwise */
#define NE1_MC_CORE_START_LO		0x48	/* device time of the start, ns */
#define NE1_MC_CORE_START_HI		0x4c
#define NE1_MC_CORE_END_LO		0x50
#define NE1_MC_CORE_END_HI		0x54
#define NE1_MC_CORE_RD_LO		0x58	/* DRAM bytes read by the job so far */
#define NE1_MC_CORE_RD_HI		0x5c
#define NE1_MC_CORE_WR_LO		0x60
#define NE1_MC_CORE_WR_HI		0x64
#define NE1_MC_CORE_CYC_LO		0x68	/* engine-clock cycles spent running */
#define NE1_MC_CORE_CYC_HI		0x6c
/* 1.1: index of a command.  YIELDED: the command after the YIELD.  Before START|CONTINUE: where to
 * begin.  START alone begins at 0 and ignores it.
 */
#define NE1_MC_CORE_POS			0x70
#define NE1_MC_CORE_PROGRESS		0x74	/* 1.1: commands started since START, modulo 2^32; shows life */
/* 1.1: what a job has used since START or START|CONTINUE; n is an enum ne1_counter */
#define NE1_MC_CORE_COUNT_LO(n)		(0x80 + (n) * 8u)
#define NE1_MC_CORE_COUNT_HI(n)		(0x84 + (n) * 8u)

/* Counters of a core (1.1).  Append only. */
enum ne1_counter {
	NE1_COUNT_CYCLES = 0,		/* engine clock, while running */
	NE1_COUNT_LD_BUSY = 1,		/* cycles */
	NE1_COUNT_ST_BUSY = 2,
	NE1_COUNT_MX_BUSY = 3,
	NE1_COUNT_VX_BUSY = 4,
	NE1_COUNT_DRAM_RD = 5,		/* bytes */
	NE1_COUNT_DRAM_WR = 6,
	NE1_COUNT_MACS = 7,
	NE1_COUNT_COMMANDS = 8,		/* executed; skipped ones are not */
	NE1_COUNT_SKIPPED = 9,
	NE1_COUNT_TLB_MISSES = 10,
	NE1_COUNT_ENERGY_NJ = 11,
	NE1_COUNTERS = 12,
};

/* Why a core faulted. */
enum ne1_fault {
	NE1_FAULT_NONE = 0,
	NE1_FAULT_OPCODE = 1,		/* unknown opcode */
	NE1_FAULT_FIELD = 2,		/* field out of range, reserved field not zero */
	NE1_FAULT_SRAM = 3,		/* SRAM operand outside the scratchpad or misaligned */
	NE1_FAULT_MMU = 4,
	NE1_FAULT_DEADLOCK = 5,		/* every engine waits and the front end cannot go on */
	NE1_FAULT_SEMAPHORE = 6,	/* counter above NE1_SEM_MAX */
	NE1_FAULT_STREAM = 7,		/* ran off the stream without END, or SKIP beyond it */
	NE1_FAULT_STOPPED = 8,		/* NE1_CORE_STOP */
	NE1_FAULT_FORMAT = 9,		/* operand type not supported by this chip */
	NE1_FAULT_ECC = 10,		/* 1.1: uncorrected error in SRAM or on the way to memory; the data are lost */
};

#endif
