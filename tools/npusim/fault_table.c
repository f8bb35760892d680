// SPDX-License-Identifier: MIT
/*
 * The faults that exist: what they are called, what counts as an event, what their arguments mean.
 */
#include <string.h>

#include "fault_inject.h"
#include "ne1_fwabi.h"

#define ANY		SIM_FI_ANY
#define ARG(n, m, d, h)	{ .name = n, .max = m, .def = d, .help = h }
#define QUEUE		ARG("queue", NE1_MAX_QUEUES - 1, ANY, "queue")
#define VM_QUEUE	ARG("queue", NE1_MAX_QUEUES - 1, ANY, "the address space of this queue")
#define VECTOR		ARG("vector", NE1_MSIX_VECTORS - 1, ANY, "interrupt vector")
#define CORE		ARG("core", NE1_MAX_CORES - 1, ANY, "compute core")
#define ENGINE		ARG("engine", 3, ANY, "0 LD, 1 ST, 2 MX, 3 VX")
#define VA		ARG("va", ANY - 1, ANY, "start of a range of addresses")
#define SIZE		ARG("size", ANY - 1, 4096, "of the range, bytes")
#define COMMAND		ARG("command", 0xffff, ANY, "type of the command that is answered")
#define TYPE		ARG("type", 0xffff, ANY, "message type")

const char *const sim_fi_on_names[NPUSIM_ONS] = {
	[NPUSIM_ON_NOW] = "now",
	[NPUSIM_ON_READY] = "ready",
	[NPUSIM_ON_RESET] = "reset",
	[NPUSIM_ON_DOORBELL] = "doorbell",
	[NPUSIM_ON_MBOX] = "mbox",
	[NPUSIM_ON_JOB_START] = "job-start",
	[NPUSIM_ON_JOB_END] = "job-end",
	[NPUSIM_ON_EVENT] = "event",
	[NPUSIM_ON_MMIO_READ] = "mmio-read",
	[NPUSIM_ON_MMIO_WRITE] = "mmio-write",
};

#define LASTS		"the condition lasts so long, 0: until disarmed"
#define LASTS_FW	"the condition lasts so long, 0: until disarmed or the device is reset"

const struct sim_fi_kind sim_fi_kinds[NPUSIM_FAULTS] = {
	/* ---- firmware and boot ---- */
	[NPUSIM_FW_HANG] = {
		.name = "fw-hang", .help = "the management core stops executing; no heartbeat",
		.duration = LASTS_FW, .firmware = true,
		.arg = { ARG("watchdog", 1, 1, "1: the watchdog bites, 0: it is stopped too") },
	},
	[NPUSIM_FW_SLOW] = {
		.name = "fw-slow", .help = "the management core runs slower by a factor",
		.duration = LASTS_FW, .firmware = true,
		.arg = { ARG("factor", 1000000, 100, "2 takes twice the time") },
	},
	[NPUSIM_FW_CRASH] = {
		.name = "fw-crash", .help = "the management core jumps to a bad address and traps",
		.arg = { ARG("pc", UINT32_MAX, 0xdead0000, "where it jumps to"),
			 ARG("double", 1, 0, "1: no trap handler either, the core stops "
			     "(PANIC 0xff)") },
	},
	[NPUSIM_HEARTBEAT_STUCK] = {
		.name = "heartbeat-stuck",
		.help = "the heartbeat does not move though firmware runs",
		.event = "a beat", .unlimited = true,
	},
	[NPUSIM_BOOT_MAGIC] = {
		.name = "boot-magic", .help = "the ROM's copy of the image has a wrong magic",
		.event = "a boot",
	},
	[NPUSIM_BOOT_TRUNCATED] = {
		.name = "boot-truncated",
		.help = "the ROM's copy of the payload ends early, zeroes follow",
		.event = "a boot", .arg = { ARG("bytes", NE1_MC_TCM_SIZE, 256, "that arrive") },
	},
	[NPUSIM_BOOT_COPY_FAIL] = {
		.name = "boot-copy-fail", .help = "the ROM cannot read the image (error DMA)",
		.event = "a boot",
	},
	[NPUSIM_BOOT_ERROR] = {
		.name = "boot-error", .help = "the ROM refuses the image with an error of choice",
		.event = "a boot",
		.arg = { ARG("error", 0xff, NE1_BOOT_ERR_SIGNATURE, "NE1_BOOT_ERR_*") },
	},
	[NPUSIM_BOOT_ABI] = {
		.name = "boot-abi",
		.help = "firmware says that it speaks another ABI, and knows and writes nothing "
			"newer",
		.event = "a boot",
		.arg = { ARG("major", 0xffff, NE1_ABI_MAJOR + 1, "ABI major"),
			 ARG("minor", 0xffff, NE1_ABI_MINOR, "ABI minor") },
	},
	[NPUSIM_BOOT_NOT_READY] = {
		.name = "boot-not-ready", .help = "READY never shows; firmware runs on",
		.event = "firmware saying READY",
	},
	[NPUSIM_BOOT_STUCK] = {
		.name = "boot-stuck", .help = "the ROM stays in LOADING",
		.event = "a boot", .duration = "so long, 0: until the device is reset",
	},
	[NPUSIM_RESET_STUCK] = {
		.name = "reset-stuck", .help = "a reset takes long; RESET reads 1",
		.event = "a reset by register, FLR or link",
		.duration = "so long, 0: until the fault is disarmed",
	},
	/* ---- messages and results ---- */
	[NPUSIM_EVT_GARBAGE] = {
		.name = "evt-garbage", .help = "a message of the event ring is damaged",
		.event = "a message to the host", .selects = 1,
		.arg = { TYPE,
			 ARG("what", 6, 0, "0 all random, 1 type, 2 id, 3 queue, 4 torn (its end is "
			     "that of an earlier one), 5 stale (all of it), 6 write index"),
			 ARG("value", UINT32_MAX, ANY, "of 1 to 3; added to the index by 6") },
	},
	[NPUSIM_EVT_INJECT] = {
		.name = "evt-inject",
		.help = "a message that firmware did not send, with its interrupt",
		.arg = { ARG("type", 0xffff, NE1_EVT_REPLY, "message type"),
			 ARG("id", UINT32_MAX, 0, "message id"),
			 ARG("queue", UINT32_MAX, 0, "queue"),
			 ARG("status", 0xffff, 0, "status") },
	},
	[NPUSIM_EVT_FLOOD] = {
		.name = "evt-flood", .help = "many messages at once",
		.arg = { ARG("type", 0xffff, NE1_EVT_REPLY, "message type"),
			 ARG("messages", 65536, 1024, "how many"),
			 ARG("overrun", 1, 0, "1: the host's read index is not waited for"),
			 ARG("queue", UINT32_MAX, 0, "queue") },
	},
	[NPUSIM_REPLY_LOST] = {
		.name = "reply-lost", .help = "a reply does not arrive",
		.event = "a reply", .selects = 1, .arg = { COMMAND },
	},
	[NPUSIM_REPLY_DUPLICATED] = {
		.name = "reply-duplicated", .help = "a reply arrives twice",
		.event = "a reply", .selects = 1, .arg = { COMMAND },
	},
	[NPUSIM_REPLY_REORDERED] = {
		.name = "reply-reordered", .help = "a reply arrives after the next message",
		.event = "a reply", .selects = 1, .arg = { COMMAND },
		.duration = "longest wait for a next message, 0: 100 ms",
	},
	[NPUSIM_REPLY_LATE] = {
		.name = "reply-late", .help = "a reply arrives late",
		.event = "a reply", .selects = 1, .arg = { COMMAND },
		.duration = "so late, 0: 1 s",
	},
	[NPUSIM_REPLY_STATUS] = {
		.name = "reply-status", .help = "a reply has another status",
		.event = "a reply", .selects = 1,
		.arg = { COMMAND,
			 ARG("status", 0xffff, NE1_MSG_NO_RESOURCE, "enum ne1_msg_status") },
	},
	[NPUSIM_DONE_WRONG] = {
		.name = "done-wrong", .help = "done_seqno of a queue is written wrong",
		.event = "the end of a job", .selects = 1,
		.arg = { QUEUE, ARG("delta", ANY - 1, 1000, "added to it, modulo 2^64") },
	},
	[NPUSIM_RESULT_STATUS] = {
		.name = "result-status", .help = "the result of a job has another fault code",
		.event = "the end of a job", .selects = 1,
		.arg = { QUEUE, ARG("code", UINT32_MAX, NE1_FAULT_ECC, "enum ne1_fault") },
	},
	[NPUSIM_SCRIBBLE] = {
		.name = "scribble",
		.help = "hostile firmware: writes random values to what it shares",
		.duration = LASTS_FW, .firmware = true,
		.arg = { ARG("what", 0x7f, 0x7f, "1 event indices, 2 command indices, 4 heads and "
			     "states, 8 done_seqno, 16 results, 32 log index, 64 firmware's words "
			     "of ne1_fw_if"),
			 ARG("rate", 1000000, 1000, "writes per second"), QUEUE },
	},
	/* ---- doorbells and interrupts ---- */
	[NPUSIM_DOORBELL_LOST] = {
		.name = "doorbell-lost", .help = "a doorbell is not heard",
		.event = "a doorbell", .selects = 1, .arg = { QUEUE },
	},
	[NPUSIM_MBOX_LOST] = {
		.name = "mbox-lost", .help = "MBOX_DB is not heard", .event = "a write of MBOX_DB",
	},
	[NPUSIM_IRQ_LOST] = {
		.name = "irq-lost", .help = "an interrupt message is not sent; STATUS shows it",
		.event = "an interrupt", .selects = 1, .arg = { VECTOR },
	},
	[NPUSIM_IRQ_WRONG_VECTOR] = {
		.name = "irq-wrong-vector", .help = "an interrupt message comes on another vector",
		.event = "an interrupt", .selects = 1,
		.arg = { VECTOR, ARG("to", NE1_MSIX_VECTORS - 1, 3, "vector that is sent") },
	},
	[NPUSIM_IRQ_LATE] = {
		.name = "irq-late", .help = "an interrupt message is sent late",
		.event = "an interrupt", .selects = 1, .arg = { VECTOR },
		.duration = "so late, 0: 1 ms",
	},
	[NPUSIM_IRQ_EARLY] = {
		.name = "irq-early",
		.help = "a job's interrupt comes before its done_seqno is written",
		.event = "the end of a job", .selects = 1,
		.arg = { QUEUE, ARG("again", 1, 1, "1: a second one after it is, 0: none") },
		.duration = "done_seqno is written so late, 0: 1 ms",
	},
	[NPUSIM_IRQ_SPURIOUS] = {
		.name = "irq-spurious", .help = "an interrupt message without a cause",
		.arg = { ARG("vector", NE1_MSIX_VECTORS - 1, 0, "interrupt vector") },
	},
	[NPUSIM_IRQ_STORM] = {
		.name = "irq-storm", .help = "interrupt messages without a cause, again and again",
		.duration = LASTS,
		.arg = { ARG("vector", NE1_MSIX_VECTORS - 1, 0, "interrupt vector"),
			 ARG("rate", 1000000, 10000, "per second") },
	},
	/* ---- memory ---- */
	[NPUSIM_DMA_FAULT] = {
		.name = "dma-fault",
		.help = "a compute core's access reaches no memory (bus error)",
		.event = "an access of a core", .selects = 2, .range = 2, .by_table = true,
		.arg = { VM_QUEUE, VA, SIZE },
	},
	[NPUSIM_MMU_INVALID] = {
		.name = "mmu-invalid", .help = "a compute core finds nothing mapped",
		.event = "an access of a core", .selects = 2, .range = 2, .by_table = true,
		.arg = { VM_QUEUE, VA, SIZE },
	},
	[NPUSIM_MMU_PERMISSION] = {
		.name = "mmu-permission", .help = "a compute core finds a page read-only",
		.event = "a write of a core", .selects = 2, .range = 2, .by_table = true,
		.arg = { VM_QUEUE, VA, SIZE },
	},
	[NPUSIM_MMU_STORM] = {
		.name = "mmu-storm", .help = "every access of an address space faults",
		.event = "an access of a core", .selects = 1, .by_table = true, .unlimited = true,
		.arg = { VM_QUEUE },
	},
	[NPUSIM_WALK_ERROR] = {
		.name = "walk-error", .help = "a page-table walk of a core fails on the bus",
		.event = "a walk", .selects = 2, .range = 2, .by_table = true,
		.arg = { VM_QUEUE, VA, SIZE },
	},
	[NPUSIM_TLB_STALE] = {
		.name = "tlb-stale", .help = "a write of MMU_TLB_INV drops nothing",
		.event = "a write of MMU_TLB_INV",
	},
	[NPUSIM_STRAY_WRITE] = {
		.name = "stray-write", .help = "the device writes 64 bytes after a job has ended",
		.event = "the end of a job", .selects = 1, .duration = "so long after, 0: 1 ms",
		.arg = { QUEUE,
			 ARG("bus", ANY - 1, ANY, "bus address; any: where the job stored last"),
			 ARG("value", ANY - 1, 0xdeadbeefdeadbeef, "what is written") },
	},
	/* ---- compute cores ---- */
	[NPUSIM_CMD_BITFLIP] = {
		.name = "cmd-bitflip", .help = "a bit of a fetched command is wrong",
		.event = "a command", .selects = 2,
		.arg = { CORE, ARG("command", UINT32_MAX, ANY, "index in the stream"),
			 ARG("bit", 511, ANY, "of 512") },
	},
	[NPUSIM_OUTPUT_BITFLIP] = {
		.name = "output-bitflip", .help = "a bit of what ST wrote is wrong, without a sign",
		.event = "a stretch stored", .selects = 1,
		.arg = { CORE, ARG("bit", ANY - 1, ANY, "modulo the stretch") },
	},
	[NPUSIM_ECC_CORRECTED] = {
		.name = "ecc-corrected",
		.help = "an error that is corrected: counted, nothing else",
		.event = "a command", .selects = 2, .arg = { CORE, ENGINE },
	},
	[NPUSIM_ECC_UNCORRECTED] = {
		.name = "ecc-uncorrected",
		.help = "an error that is not: the job ends with NE1_FAULT_ECC",
		.event = "a command", .selects = 2, .arg = { CORE, ENGINE },
	},
	[NPUSIM_ENGINE_STUCK] = {
		.name = "engine-stuck", .help = "a command does not end",
		.event = "a command", .selects = 2,
		.duration = "so long, 0: until reset or disarmed",
		.arg = { CORE, ENGINE, ARG("obeys_stop", 1, 0, "1: STOP ends it") },
	},
	[NPUSIM_STOP_IGNORED] = {
		.name = "stop-ignored", .help = "CORE_STOP has no effect",
		.event = "a STOP", .selects = 1, .arg = { CORE },
	},
	[NPUSIM_CLOCK_SLOW] = {
		.name = "clock-slow", .help = "the engine clock is a fraction of what it should be",
		.duration = LASTS, .arg = { ARG("permille", 1000, 100, "of the frequency") },
	},
	[NPUSIM_DRAM_SLOW] = {
		.name = "dram-slow", .help = "DRAM gives a fraction of its bandwidth",
		.duration = LASTS,
		.arg = { ARG("permille", 1000, 200, "of the bandwidth"),
			 ARG("jitter", 1000, 0, "permille by which a transfer may take longer") },
	},
	/* ---- link ---- */
	[NPUSIM_MMIO_ONES] = {
		.name = "mmio-ones", .help = "registers read as all ones",
		.event = "a read of them", .selects = 1, .range = 1, .unlimited = true,
		.arg = { ARG("offset", NE1_BAR_SIZE - 1, 0, "in BAR0"),
			 ARG("size", NE1_BAR_SIZE, NE1_BAR_SIZE, "bytes of registers"),
			 ARG("bus", 1, 0, "1: a reset by the bus ends it, as of a link that failed") },
	},
	[NPUSIM_REMOVAL] = {
		.name = "removal",
		.help = "the socket is closed; the client finds no device any more",
	},
	[NPUSIM_STALL] = {
		.name = "stall", .help = "the socket's thread answers nothing for a while",
		.duration = "so long, 0: 1 s; a client may give up",
	},
};

int sim_fi_find(const char *name)
{
	for (int f = 0; f < NPUSIM_FAULTS; f++)
		if (!strcmp(sim_fi_kinds[f].name, name))
			return f;
	return -1;
}

/* ---- Specifications ---- */

void sim_fi_defaults(struct sim_fi_spec *spec, enum npusim_fault fault)
{
	const struct sim_fi_kind *kind = &sim_fi_kinds[fault];

	*spec = (struct sim_fi_spec){ .fault = fault, .key = SIM_FI_ANY, .ppm = SIM_FI_PPM,
				      .count = kind->unlimited ? 0 : 1 };
	for (unsigned int i = 0; i < SIM_FI_ARGS; i++)
		spec->arg[i] = kind->arg[i].name ? kind->arg[i].def : SIM_FI_ANY;
}

static bool wrong(struct sim_fi_error *error, const char *field, uint64_t value, uint64_t limit)
{
	*error = (struct sim_fi_error){ .field = field, .value = value, .limit = limit };
	return false;
}

bool sim_fi_check(const struct sim_fi_spec *spec, struct sim_fi_error *error)
{
	const struct sim_fi_kind *kind;

	if ((unsigned int)spec->fault >= NPUSIM_FAULTS)
		return wrong(error, "fault", spec->fault, NPUSIM_FAULTS - 1);
	kind = &sim_fi_kinds[spec->fault];
	if ((unsigned int)spec->on >= NPUSIM_ONS || (kind->event && spec->on))
		return wrong(error, "on", spec->on, kind->event ? 0 : NPUSIM_ONS - 1);
	if (kind->event && spec->key != SIM_FI_ANY)
		return wrong(error, "key", spec->key, SIM_FI_ANY);
	if (spec->ppm > SIM_FI_PPM)
		return wrong(error, "probability", spec->ppm, SIM_FI_PPM);
	if (spec->duration_us > SIM_FI_DURATION_MAX_US)
		return wrong(error, "duration_us", spec->duration_us, SIM_FI_DURATION_MAX_US);
	for (unsigned int i = 0; i < SIM_FI_ARGS; i++) {
		const struct sim_fi_arg *arg = &kind->arg[i];

		if (!arg->name || (spec->arg[i] == SIM_FI_ANY && arg->def == SIM_FI_ANY))
			continue;
		if (spec->arg[i] > arg->max)
			return wrong(error, arg->name, spec->arg[i], arg->max);
	}
	return true;
}
