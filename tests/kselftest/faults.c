// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of device, firmware, messages and interrupts, armed in the model one by one.  After each: every fence has
 * signalled, the job that was hit ended as it should, jobs of an innocent bystander all passed, and so does the next
 * job of a new client.  That the kernel log holds no splat is for who runs the tests to see.
 */
#include <linux/pci_regs.h>

#include "kselftest_harness.h"
#include "debugfs.h"
#include "inject.h"
#include "ne1_fwabi.h"
#include "uevent.h"

/* How a job, or a call, may end. */
#define OK		(1u << 0)
#define FAULT		(1u << 1)	/* -EIO */
#define HANG		(1u << 2)	/* -ETIME */
#define LOST		(1u << 3)	/* -ECANCELED: interrupted by a reset */
#define BUSY		(1u << 4)	/* -EBUSY, of a call */

enum scenario {
	SHORT_JOB,	/* armed, then a job that copies a word */
	LONG_JOB,	/* a job of about half a second, or more if it is to be lost, armed while it runs */
	STUCK_JOB,	/* armed, then a job of about half a second */
	CALL,		/* armed, then a queue is created */
	RESET,		/* armed, then the device is reset */
};

/* Resets of the device that it takes; more are needless, and so is one where none is called for. */
enum resets {
	NEVER,		/* the driver copes without, or it is the job's own fault */
	ONCE,		/* nothing else helps, or it was asked for */
	MAYBE,		/* none or one: up to what is random, or to what comes first */
};

/* An argument that is given: 0 leaves the fault's default. */
#define ARG(value)	((uint64_t)(value) + 1)

#define BYSTANDER_JOBS	4
#define JOB_TIMEOUT	"4000"

FIXTURE(faults) {
	struct npu_inject inj;
	struct npu_client a, b;
	long long timeout, storms, resets;
};

FIXTURE_VARIANT(faults) {
	enum npusim_fault fault;
	uint64_t args[4];
	enum scenario scenario;
	unsigned int ends;		/* allowed */
	enum resets resets;
	unsigned int duration_us;
	uint64_t count;			/* 0: the fault's default */
	bool storm;			/* interrupts are masked */
};

#define VARIANT(name, ...) FIXTURE_VARIANT_ADD(faults, name) { __VA_ARGS__ }

/* firmware */
VARIANT(fw_hang_watchdog, .fault = NPUSIM_FW_HANG, .scenario = LONG_JOB, .ends = LOST, .resets = ONCE);
VARIANT(fw_hang_silent, .fault = NPUSIM_FW_HANG, .args = { ARG(0) }, .scenario = LONG_JOB, .ends = HANG | OK, .resets = ONCE);
VARIANT(fw_crash, .fault = NPUSIM_FW_CRASH, .scenario = LONG_JOB, .ends = LOST, .resets = ONCE);
VARIANT(fw_crash_double, .fault = NPUSIM_FW_CRASH, .args = { 0, ARG(1) }, .scenario = LONG_JOB, .ends = LOST, .resets = ONCE);
VARIANT(fw_slow, .fault = NPUSIM_FW_SLOW, .args = { ARG(20) }, .scenario = SHORT_JOB, .ends = OK);
VARIANT(heartbeat_stuck, .fault = NPUSIM_HEARTBEAT_STUCK, .scenario = SHORT_JOB, .ends = OK);

/* boot: the second try works */
VARIANT(boot_magic, .fault = NPUSIM_BOOT_MAGIC, .scenario = RESET, .resets = ONCE, .count = 1);
VARIANT(boot_truncated, .fault = NPUSIM_BOOT_TRUNCATED, .scenario = RESET, .resets = ONCE, .count = 1);
VARIANT(boot_copy_fail, .fault = NPUSIM_BOOT_COPY_FAIL, .scenario = RESET, .resets = ONCE, .count = 1);
VARIANT(boot_error, .fault = NPUSIM_BOOT_ERROR, .scenario = RESET, .resets = ONCE, .count = 1);
VARIANT(boot_error_unknown, .fault = NPUSIM_BOOT_ERROR, .args = { ARG(0xee) }, .scenario = RESET, .resets = ONCE, .count = 1);
VARIANT(boot_abi, .fault = NPUSIM_BOOT_ABI, .scenario = RESET, .resets = ONCE, .count = 1);
VARIANT(boot_stuck, .fault = NPUSIM_BOOT_STUCK, .scenario = RESET, .resets = ONCE, .count = 1);
VARIANT(reset_slow, .fault = NPUSIM_RESET_STUCK, .scenario = RESET, .resets = ONCE, .count = 1, .duration_us = 500000);

/* messages; a reply that does not come, or means nothing, costs a reset, and the caller an error */
VARIANT(reply_garbage, .fault = NPUSIM_EVT_GARBAGE, .args = { ARG(NE1_EVT_REPLY), ARG(0) }, .scenario = CALL,
	.ends = OK | FAULT | BUSY, .resets = MAYBE, .count = 1);
VARIANT(reply_type, .fault = NPUSIM_EVT_GARBAGE, .args = { ARG(NE1_EVT_REPLY), ARG(1), ARG(0x5555) },
	.scenario = CALL, .ends = FAULT, .resets = ONCE, .count = 1);
VARIANT(reply_id, .fault = NPUSIM_EVT_GARBAGE, .args = { ARG(NE1_EVT_REPLY), ARG(2), ARG(0xdeadbeef) },
	.scenario = CALL, .ends = FAULT, .resets = ONCE, .count = 1);
VARIANT(reply_queue, .fault = NPUSIM_EVT_GARBAGE, .args = { ARG(NE1_EVT_REPLY), ARG(3), ARG(0xffffffff) },
	.scenario = CALL, .ends = OK, .count = 1);
VARIANT(reply_torn, .fault = NPUSIM_EVT_GARBAGE, .args = { ARG(NE1_EVT_REPLY), ARG(4) }, .scenario = CALL,
	.ends = OK | FAULT, .resets = MAYBE, .count = 1);
/* one that was read already; of its own nothing is heard */
VARIANT(reply_stale, .fault = NPUSIM_EVT_GARBAGE, .args = { ARG(NE1_EVT_REPLY), ARG(5) }, .scenario = CALL,
	.ends = FAULT, .resets = ONCE, .count = 1);
VARIANT(event_index, .fault = NPUSIM_EVT_GARBAGE, .args = { ARG(NE1_EVT_REPLY), ARG(6), ARG(100000) },
	.scenario = CALL, .ends = OK | FAULT, .resets = MAYBE, .count = 1);
VARIANT(reply_of_nobody, .fault = NPUSIM_EVT_INJECT, .args = { 0, ARG(4711) }, .scenario = LONG_JOB, .ends = OK);
VARIANT(event_unknown, .fault = NPUSIM_EVT_INJECT, .args = { ARG(200), ARG(1) }, .scenario = LONG_JOB, .ends = OK);
VARIANT(event_fault_of_nobody, .fault = NPUSIM_EVT_INJECT, .args = { ARG(NE1_EVT_QUEUE_FAULT), 0, ARG(0xffffff) },
	.scenario = LONG_JOB, .ends = OK);
VARIANT(event_panic, .fault = NPUSIM_EVT_INJECT, .args = { ARG(NE1_EVT_PANIC) }, .scenario = LONG_JOB, .ends = LOST, .resets = ONCE);
VARIANT(event_flood, .fault = NPUSIM_EVT_FLOOD, .scenario = LONG_JOB, .ends = OK);
VARIANT(event_overrun, .fault = NPUSIM_EVT_FLOOD, .args = { 0, 0, ARG(1) }, .scenario = LONG_JOB,
	.ends = OK | LOST, .resets = MAYBE);
VARIANT(reply_lost, .fault = NPUSIM_REPLY_LOST, .scenario = CALL, .ends = FAULT, .resets = ONCE, .count = 1);
VARIANT(reply_duplicated, .fault = NPUSIM_REPLY_DUPLICATED, .scenario = CALL, .ends = OK, .count = 1);
VARIANT(reply_reordered, .fault = NPUSIM_REPLY_REORDERED, .scenario = CALL, .ends = OK, .count = 1);
VARIANT(reply_late, .fault = NPUSIM_REPLY_LATE, .scenario = CALL, .ends = OK, .count = 1);
VARIANT(reply_too_late, .fault = NPUSIM_REPLY_LATE, .scenario = CALL, .ends = FAULT, .resets = ONCE, .count = 1,
	.duration_us = 7000000);
VARIANT(no_resource, .fault = NPUSIM_REPLY_STATUS, .args = { ARG(NE1_CMD_QUEUE_CREATE) }, .scenario = CALL,
	.ends = BUSY, .resets = ONCE, .count = 1);
VARIANT(bad_state, .fault = NPUSIM_REPLY_STATUS, .args = { ARG(NE1_CMD_QUEUE_CREATE), ARG(NE1_MSG_BAD_STATE) },
	.scenario = CALL, .ends = FAULT, .resets = ONCE, .count = 1);
VARIANT(unknown_status, .fault = NPUSIM_REPLY_STATUS, .args = { ARG(NE1_CMD_QUEUE_CREATE), ARG(0xabcd) },
	.scenario = CALL, .ends = FAULT, .resets = ONCE, .count = 1);
VARIANT(mbox_lost, .fault = NPUSIM_MBOX_LOST, .scenario = CALL, .ends = OK, .count = 1);

/* results */
VARIANT(done_wrong, .fault = NPUSIM_DONE_WRONG, .scenario = SHORT_JOB, .ends = OK | FAULT, .count = 1);
VARIANT(result_ecc, .fault = NPUSIM_RESULT_STATUS, .scenario = SHORT_JOB, .ends = FAULT, .count = 1);
VARIANT(result_unknown, .fault = NPUSIM_RESULT_STATUS, .args = { 0, ARG(0xffffff) }, .scenario = SHORT_JOB,
	.ends = FAULT, .count = 1);

/* doorbells and interrupts: nothing is lost, at worst the timeout finds it */
VARIANT(doorbell_lost, .fault = NPUSIM_DOORBELL_LOST, .scenario = SHORT_JOB, .ends = OK, .count = 1);
VARIANT(irq_lost, .fault = NPUSIM_IRQ_LOST, .args = { ARG(0) }, .scenario = SHORT_JOB, .ends = OK, .count = 1);
VARIANT(irq_of_reply_lost, .fault = NPUSIM_IRQ_LOST, .args = { ARG(1) }, .scenario = CALL, .ends = OK, .count = 1);
VARIANT(irq_on_event, .fault = NPUSIM_IRQ_WRONG_VECTOR, .args = { ARG(0), ARG(1) }, .scenario = SHORT_JOB,
	.ends = OK, .count = 1);
VARIANT(irq_on_fatal, .fault = NPUSIM_IRQ_WRONG_VECTOR, .args = { ARG(0), ARG(3) }, .scenario = SHORT_JOB,
	.ends = OK, .count = 1);
VARIANT(irq_of_reply_on_queue, .fault = NPUSIM_IRQ_WRONG_VECTOR, .args = { ARG(1), ARG(0) }, .scenario = CALL,
	.ends = OK, .count = 1);
VARIANT(irq_late, .fault = NPUSIM_IRQ_LATE, .scenario = SHORT_JOB, .ends = OK, .count = 1, .duration_us = 300000);
VARIANT(irq_early, .fault = NPUSIM_IRQ_EARLY, .scenario = SHORT_JOB, .ends = OK, .count = 1);
VARIANT(irq_early_alone, .fault = NPUSIM_IRQ_EARLY, .args = { 0, ARG(0) }, .scenario = SHORT_JOB, .ends = OK,
	.count = 1);
VARIANT(irq_spurious_queue, .fault = NPUSIM_IRQ_SPURIOUS, .args = { ARG(0) }, .scenario = LONG_JOB, .ends = OK);
VARIANT(irq_spurious_event, .fault = NPUSIM_IRQ_SPURIOUS, .args = { ARG(1) }, .scenario = LONG_JOB, .ends = OK);
VARIANT(irq_spurious_mmu, .fault = NPUSIM_IRQ_SPURIOUS, .args = { ARG(2) }, .scenario = LONG_JOB, .ends = OK);
VARIANT(irq_spurious_fatal, .fault = NPUSIM_IRQ_SPURIOUS, .args = { ARG(3) }, .scenario = LONG_JOB, .ends = OK);
VARIANT(irq_storm_queue, .fault = NPUSIM_IRQ_STORM, .args = { ARG(0) }, .scenario = LONG_JOB, .ends = OK,
	.duration_us = 1000000);
VARIANT(irq_storm_mmu, .fault = NPUSIM_IRQ_STORM, .args = { ARG(2) }, .scenario = LONG_JOB, .ends = OK,
	.duration_us = 3000000, .storm = true);
VARIANT(irq_storm_fatal, .fault = NPUSIM_IRQ_STORM, .args = { ARG(3) }, .scenario = LONG_JOB, .ends = OK,
	.duration_us = 3000000, .storm = true);

/* memory and cores: the job's own fault */
VARIANT(dma_fault, .fault = NPUSIM_DMA_FAULT, .scenario = SHORT_JOB, .ends = FAULT, .count = 1);
VARIANT(mmu_invalid, .fault = NPUSIM_MMU_INVALID, .scenario = SHORT_JOB, .ends = FAULT, .count = 1);
VARIANT(mmu_permission, .fault = NPUSIM_MMU_PERMISSION, .scenario = SHORT_JOB, .ends = FAULT, .count = 1);
VARIANT(walk_error, .fault = NPUSIM_WALK_ERROR, .scenario = SHORT_JOB, .ends = FAULT, .count = 1);
VARIANT(cmd_bitflip, .fault = NPUSIM_CMD_BITFLIP, .args = { 0, 0, ARG(7) }, .scenario = SHORT_JOB,
	.ends = FAULT, .count = 1);
VARIANT(ecc_corrected, .fault = NPUSIM_ECC_CORRECTED, .scenario = SHORT_JOB, .ends = OK, .count = 1);
VARIANT(ecc_uncorrected, .fault = NPUSIM_ECC_UNCORRECTED, .scenario = SHORT_JOB, .ends = FAULT, .count = 1);
VARIANT(engine_stuck, .fault = NPUSIM_ENGINE_STUCK, .args = { 0, 0, ARG(1) }, .scenario = STUCK_JOB, .ends = HANG,
	.count = 1);
VARIANT(core_stuck, .fault = NPUSIM_ENGINE_STUCK, .scenario = STUCK_JOB, .ends = HANG, .resets = ONCE, .count = 1);
VARIANT(dram_slow, .fault = NPUSIM_DRAM_SLOW, .scenario = SHORT_JOB, .ends = OK, .duration_us = 500000);
VARIANT(clock_slow, .fault = NPUSIM_CLOCK_SLOW, .scenario = SHORT_JOB, .ends = OK, .duration_us = 500000);
VARIANT(stall, .fault = NPUSIM_STALL, .scenario = LONG_JOB, .ends = OK, .duration_us = 300000);

FIXTURE_SETUP(faults)
{
	int fd = npu_open();

	if (fd < 0)
		SKIP(return, "no npuedge device");
	close(fd);
	/* the messages that end address spaces of the test before are not ours to have faults */
	npu_wait_uses(0);
	if (inject_open(&self->inj))
		SKIP(return, INJECT_ABSENT);
	self->timeout = npu_knob_number("job_timeout_ms");
	if (self->timeout < 0)
		SKIP(return, "debugfs is not there (job_timeout_ms)");
	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", JOB_TIMEOUT));
	ASSERT_EQ(0, npu_client_init(&self->a));
	ASSERT_EQ(0, npu_client_init(&self->b));
	self->storms = npu_knob_number("irq_storms");
	self->resets = npu_knob_number("reset");
}

FIXTURE_TEARDOWN(faults)
{
	char text[32];

	inject_close(&self->inj);
	npu_client_fini(&self->a);
	npu_client_fini(&self->b);
	snprintf(text, sizeof(text), "%lld", self->timeout);
	npu_knob_write("job_timeout_ms", text);
	npu_dumps_clear();
}

static int arm(struct npu_inject *inj, const FIXTURE_VARIANT(faults) *v)
{
	inject_begin(inj, v->fault);
	for (unsigned int i = 0; i < 4; i++) {
		if (v->args[i])
			inject_arg(inj, i, v->args[i] - 1);
	}
	if (v->count)
		inject_count(inj, v->count);
	if (v->duration_us)
		inject_duration_us(inj, v->duration_us);
	return inject_arm(inj);
}

static unsigned int ending(int status)
{
	switch (status) {
	case 0:
	case 1: return OK;
	case -EIO: return FAULT;
	case -ETIME: return HANG;
	case -ECANCELED: return LOST;
	case -EBUSY: return BUSY;
	default: return 0;
	}
}

/* What the victim does; its status, or -ETIMEDOUT if a fence does not signal within a minute. */
static int victim(struct npu_inject *inj, const FIXTURE_VARIANT(faults) *v, struct npu_client *c)
{
	uint32_t size = v->scenario == SHORT_JOB ? npu_copy_stream(c->stream, 1, 4) : 0;
	int ret;

	if (v->scenario == LONG_JOB || v->scenario == STUCK_JOB)
		size = npu_slow_stream(c->stream, npu_slow_count(c, v->ends == LOST ? 2500 : 500));
	if (v->scenario != LONG_JOB && arm(inj, v))
		return -EINVAL;
	if (v->scenario == RESET)
		return npu_knob_write("reset", "1");
	if (v->scenario == CALL) {
		ret = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		return ret < 0 ? ret : 0;
	}
	ret = npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync);
	if (ret)
		return ret;
	/* one that is to be lost has to be on a core; any other may have ended as well */
	if (v->scenario == LONG_JOB && v->ends == LOST && !npu_job_runs())
		return -EINVAL;
	if (v->scenario == LONG_JOB && v->ends != LOST)
		usleep(100000);
	return v->scenario == LONG_JOB && arm(inj, v) ? -EINVAL : 0;
}

static bool is_job(const FIXTURE_VARIANT(faults) *v)
{
	return v->scenario == SHORT_JOB || v->scenario == LONG_JOB || v->scenario == STUCK_JOB;
}

TEST_F_TIMEOUT(faults, recovers, 150)
{
	struct npu_client *a = &self->a, *b = &self->b;
	long long resets;
	int status;

	status = victim(&self->inj, variant, a);
	ASSERT_NE(-EINVAL, status);
	/* what is not told whom to hit may hit the next who comes */
	if (variant->scenario == SHORT_JOB || variant->scenario == STUCK_JOB)
		EXPECT_TRUE(inject_wait(&self->inj, variant->fault, 1, 5000));
	/* behind the victim's job, or into whatever is going on */
	b->data[0] = 0x600d;
	for (int i = 0; i < BYSTANDER_JOBS; i++) {
		npu_copy_stream(b->stream + 3 * i, i + 1, 4);
		b->stream[3 * i].dma.offset = 4 * i;
		ASSERT_EQ(0, npu_submit(b->fd, b->queue, NPU_STREAM + 192 * i, 192, NPU_PARAMS, 0, b->sync));
	}
	if (is_job(variant)) {
		ASSERT_EQ(0, npu_wait(a->fd, a->sync, 3 * NPU_WAIT_NS));
		status = npu_sync_status(a->fd, a->sync);
	}
	if (variant->scenario == RESET)
		ASSERT_EQ(0, status);
	if (variant->ends)
		EXPECT_TRUE(ending(status) & variant->ends) {
			TH_LOG("ended with %d", status);
		}
	EXPECT_TRUE(inject_wait(&self->inj, variant->fault, 1, 1000));

	ASSERT_EQ(0, npu_wait(b->fd, b->sync, 3 * NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(b->fd, b->sync));
	EXPECT_EQ(0x600d, b->data[BYSTANDER_JOBS]);
	if (variant->storm)
		EXPECT_GT(npu_knob_above("irq_storms", self->storms), self->storms);

	inject_disarm_all(&self->inj);
	/* firmware has made the queue all the same, of which the driver learns when it makes the next */
	if (variant->ends == BUSY)
		npu_device_works();
	EXPECT_EQ(0, npu_device_works());
	resets = npu_knob_number("reset") - self->resets;
	EXPECT_TRUE(variant->resets == MAYBE ? resets <= 1 : resets == (variant->resets == ONCE)) {
		TH_LOG("%lld resets", resets);
	}
}

/* Registers that read as all ones while the others are well: no bit of them means anything. */
enum glance {
	BAD_ACCESS,	/* a job that accesses what is not mapped, of which an interrupt tells, and two registers */
	SENSORS,
	UNMAP,
	ANEW,		/* the device is reset and firmware booted */
};

FIXTURE(window) {
	struct npu_inject inj;
	struct npu_client a, b;
	long long resets;
};

FIXTURE_VARIANT(window) {
	uint32_t offset, size;
	enum glance glance;
	uint64_t reads;		/* that show ones; 0: all */
	long long resets;
};

FIXTURE_VARIANT_ADD(window, irq_status) { NE1_REG_IRQ_STATUS, 4, BAD_ACCESS, 0, 0 };
FIXTURE_VARIANT_ADD(window, irq_and_mmu) {
	NE1_REG_IRQ_STATUS, NE1_REG_MMU_TLB_INV - NE1_REG_IRQ_STATUS, BAD_ACCESS, 0, 0
};
FIXTURE_VARIANT_ADD(window, mmu_fault) { NE1_REG_MMU_FAULT, 12, BAD_ACCESS, 0, 0 };
FIXTURE_VARIANT_ADD(window, capabilities) { NE1_REG_ID, NE1_REG_BOOT_CTRL, BAD_ACCESS, 0, 0 };
FIXTURE_VARIANT_ADD(window, sensors) { NE1_REG_TIME_LO, NE1_REG_MBOX_DB - NE1_REG_TIME_LO, SENSORS, 0, 0 };
FIXTURE_VARIANT_ADD(window, tlb) { NE1_REG_MMU_TLB_INV, 4, UNMAP, 1, 0 };
/* what does not say that it is done is not believed to be */
FIXTURE_VARIANT_ADD(window, tlb_for_good) { NE1_REG_MMU_TLB_INV, 4, UNMAP, 0, 1 };
FIXTURE_VARIANT_ADD(window, boot_status) { NE1_REG_BOOT_STATUS, 4, ANEW, 1, 1 };
FIXTURE_VARIANT_ADD(window, reset) { NE1_REG_RESET, 4, ANEW, 1, 1 };

FIXTURE_SETUP(window)
{
	const char *missing;

	npu_wait_uses(0);
	missing = inject_client(&self->inj, &self->a);
	if (missing)
		SKIP(return, "%s", missing);
	self->resets = npu_knob_number("reset");
	if (self->resets < 0)
		SKIP(return, "debugfs is not there (reset)");
	ASSERT_EQ(0, npu_client_init(&self->b));
}

FIXTURE_TEARDOWN(window)
{
	inject_close(&self->inj);
	npu_client_fini(&self->a);
	npu_client_fini(&self->b);
	npu_dumps_clear();
}

static void glance(struct __test_metadata *_metadata, struct npu_client *c, enum glance what)
{
	struct drm_npuedge_queue_get_state state = { .id = c->queue };
	struct drm_npuedge_telemetry telemetry = { 0 };

	switch (what) {
	case BAD_ACCESS:
		npu_copy_stream(c->stream, 1, 4);
		c->stream[0].dma.offset = NPU_VA;
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
		EXPECT_EQ(-EIO, npu_sync_status(c->fd, c->sync));
		ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
		EXPECT_EQ(NE1_FAULT_MMU, state.fault);
		EXPECT_EQ(NPU_DATA + NPU_VA, state.fault_va);
		break;
	case SENSORS:
		ASSERT_EQ(0, npu_query(c->fd, DRM_NPUEDGE_QUERY_TELEMETRY, &telemetry, sizeof(telemetry)));
		EXPECT_EQ(~0u, telemetry.freq_khz);
		break;
	case UNMAP:
		EXPECT_EQ(0, npu_unmap(c->fd, c->vm, NPU_VA, NPU_CLIENT_SIZE));
		break;
	case ANEW:
		EXPECT_EQ(0, npu_knob_write("reset", "1"));
		break;
	}
}

TEST_F_TIMEOUT(window, of_ones_means_nothing, 120)
{
	struct npu_client *b = &self->b;

	inject_begin(&self->inj, NPUSIM_MMIO_ONES);
	inject_arg(&self->inj, 0, variant->offset);
	inject_arg(&self->inj, 1, variant->size);
	inject_count(&self->inj, variant->reads);
	ASSERT_EQ(0, inject_arm(&self->inj));
	glance(_metadata, &self->a, variant->glance);
	/* what others do goes on meanwhile */
	EXPECT_EQ(0, npu_copy_word(b, 0x600d));
	/* the dump has them all, and interrupts may be slow */
	EXPECT_TRUE(inject_wait(&self->inj, NPUSIM_MMIO_ONES, 1, 5000));
	inject_disarm_all(&self->inj);
	EXPECT_EQ(0, npu_copy_word(b, 0xfee1));
	EXPECT_EQ(0, npu_device_works());
	EXPECT_EQ(self->resets + variant->resets, npu_knob_number("reset"));
}

FIXTURE(device) {
	struct npu_inject inj;
	struct npu_client c;
	long long timeout;
};

FIXTURE_SETUP(device)
{
	const char *missing = inject_timeout(&self->inj, &self->timeout);

	/* other machines, or no model with its window; a failure in tests/run */
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", JOB_TIMEOUT));
}

FIXTURE_TEARDOWN(device)
{
	char text[32];

	inject_close(&self->inj);
	npu_client_fini(&self->c);
	snprintf(text, sizeof(text), "%lld", self->timeout);
	npu_knob_write("job_timeout_ms", text);
	npu_dumps_clear();
}

/* Firmware that does not know what it was told: whatever it answers, it is an error or not. */
TEST_F_TIMEOUT(device, every_status_is_an_answer, 300)
{
	struct npu_inject *inj = &self->inj;

	for (unsigned int status = 0; status < 256; status++) {
		int ret;

		inject_begin(inj, NPUSIM_REPLY_STATUS);
		inject_arg(inj, 0, NE1_CMD_LOG_LEVEL);
		inject_arg(inj, 1, status);
		inject_count(inj, 1);
		ASSERT_EQ(0, inject_arm(inj));
		ret = npu_knob_write("fw_log_level", "2");
		EXPECT_TRUE(status ? ret == -EPROTO || ret == -EBUSY : !ret) {
			TH_LOG("status %u: %d", status, ret);
		}
	}
	EXPECT_EQ(0, npu_device_works());
}

/* Shared memory that changes all the time while jobs run: anything may happen to them, but no fence stays. */
TEST_F_TIMEOUT(device, scribbling_firmware, 150)
{
	struct npu_inject *inj = &self->inj;
	struct npu_client *c = &self->c;

	for (unsigned int what = 1; what < 0x80; what <<= 1) {
		int ret = npu_client_init(c);

		ASSERT_EQ(0, ret);
		inject_begin(inj, NPUSIM_SCRIBBLE);
		inject_arg(inj, 0, what);
		inject_duration_us(inj, 300000);
		ASSERT_EQ(0, inject_arm(inj));
		npu_copy_stream(c->stream, 1, 4);
		for (int i = 0; i < 20; i++) {
			ret = npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync);
			if (!ret) {
				ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
				continue;
			}
			ASSERT_EQ(-EIO, ret);
			npu_queue_destroy(c->fd, c->queue);
			c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		}
		npu_client_fini(c);
		memset(c, 0, sizeof(*c));
		inject_disarm_all(inj);
		ASSERT_EQ(0, npu_knob_write("reset", "1"));
		ASSERT_EQ(0, npu_device_works());
	}
}

/* The device is lost; the driver has let go of it when this returns true. */
static bool is_lost(int fd)
{
	for (int i = 0; i < 3000 * npu_slowness() && npu_vm_create(fd) != -ENODEV; i++)
		usleep(10000);
	return npu_vm_create(fd) == -ENODEV;
}

/* Whether a PCI function may access memory; one of the device tree may not be kept from it. */
static int bus_master(const char *slot)
{
	uint16_t command = 0;
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", slot);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return strstr(slot, ".npu") ? 0 : -errno;
	ret = pread(fd, &command, sizeof(command), PCI_COMMAND) == sizeof(command) ? 0 : -EIO;
	close(fd);
	return ret ? ret : !!(command & PCI_COMMAND_MASTER);
}

/* The owner of a queue reads that it is lost, though there is no device any more. */
static void check_queue_lost(struct __test_metadata *_metadata, struct npu_client *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	struct drm_npuedge_event event = { 0 };

	ASSERT_EQ(1, poll(&p, 1, 20000 * npu_slowness()));
	ASSERT_TRUE(p.revents & POLLIN);
	ASSERT_EQ(sizeof(event), read(c->fd, &event, sizeof(event)));
	EXPECT_EQ(DRM_NPUEDGE_EVENT_QUEUE_LOST, event.type);
	EXPECT_EQ(c->queue, event.object);
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_LOST, event.value);
	EXPECT_EQ(0, event.dropped);
}

static void lose(struct __test_metadata *_metadata, struct npu_inject *inj, struct npu_client *c)
{
	struct drm_npuedge_events mask = { .mask = DRM_NPUEDGE_EVENTS_MASK(DRM_NPUEDGE_EVENT_QUEUE_LOST) };
	int events = npu_uevent_open(), file;
	char slot[64];

	ASSERT_GE(events, 0);
	ASSERT_EQ(0, npu_slot(slot, sizeof(slot)));
	ASSERT_EQ(0, npu_client_init(c));
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_EVENTS, &mask));
	ASSERT_EQ(0, fcntl(c->fd, F_SETFL, O_NONBLOCK));
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, npu_slow_stream(c->stream, 8000), NPU_PARAMS, 0, c->sync));
	file = npu_sync_file(c->fd, c->sync);
	ASSERT_TRUE(npu_job_runs());
	ASSERT_EQ(0, inject_arm(inj));
	npu_knob_write("reset", "1");
	EXPECT_EQ(-ENODEV, npu_wait_file(file));
	EXPECT_TRUE(is_lost(c->fd));
	/* memory that it may have been writing to is free */
	EXPECT_EQ(0, bus_master(slot));
	check_queue_lost(_metadata, c);
	EXPECT_TRUE(npu_uevent_wait(events, "WEDGED=rebind,bus-reset"));
	close(events);
	close(file);
	npu_client_fini(c);
	memset(c, 0, sizeof(*c));
	inject_disarm_all(inj);
	ASSERT_EQ(0, npu_unbind(slot));
	ASSERT_EQ(0, npu_bind(slot));
	EXPECT_EQ(0, npu_device_works());
}

TEST_F_TIMEOUT(device, reset_that_never_ends_is_a_loss, 120)
{
	struct npu_inject *inj = &self->inj;
	struct npu_client *c = &self->c;

	inject_begin(inj, NPUSIM_RESET_STUCK);
	inject_count(inj, 2);
	lose(_metadata, inj, c);
}

/* What a driver sees of a device that was pulled out. */
TEST_F_TIMEOUT(device, all_ones_are_a_loss, 120)
{
	struct npu_inject *inj = &self->inj;
	struct npu_client *c = &self->c;

	inject_begin(inj, NPUSIM_MMIO_ONES);
	inject_arg(inj, 0, 0);
	inject_arg(inj, 1, NPUSIM_WINDOW);
	lose(_metadata, inj, c);
}

/* A device that works until it gets work is not reset for ever. */
TEST_F_TIMEOUT(device, resets_without_end_are_a_loss, 150)
{
	struct npu_inject *inj = &self->inj;
	struct npu_client *c = &self->c;
	char slot[64];
	int ret = 0;

	ASSERT_EQ(0, npu_slot(slot, sizeof(slot)));
	ASSERT_EQ(0, npu_client_init(c));
	inject_begin(inj, NPUSIM_FW_CRASH);
	inject_on(inj, NPUSIM_ON_DOORBELL, INJECT_ANY);
	inject_count(inj, 0);
	ASSERT_EQ(0, inject_arm(inj));
	npu_copy_stream(c->stream, 1, 4);
	for (int i = 0; i < 20 && !ret; i++) {
		ret = npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync);
		if (!ret)
			ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
	}
	EXPECT_EQ(-ENODEV, ret);
	EXPECT_TRUE(is_lost(c->fd));
	inject_disarm_all(inj);
	npu_client_fini(c);
	memset(c, 0, sizeof(*c));
	ASSERT_EQ(0, npu_unbind(slot));
	ASSERT_EQ(0, npu_bind(slot));
	EXPECT_EQ(0, npu_device_works());
}

/*
 * A full ring, of which the device has heard nothing: there is no room for another job, whose doorbell might wake it up.
 * What finds that is the time limit, which has the doorbell rung again, and all jobs run.
 */
TEST_F_TIMEOUT(device, doorbells_of_a_full_ring_are_lost, 120)
{
	const uint32_t more = 8;
	struct npu_inject *inj = &self->inj;
	struct npu_client *c = &self->c;
	long long resets = npu_knob_number("reset");
	struct drm_npuedge_queue_get_state state = { 0 };
	struct drm_npuedge_chip_info chip;
	uint32_t jobs;

	ASSERT_EQ(0, npu_client_init(c));
	ASSERT_EQ(0, npu_query(c->fd, DRM_NPUEDGE_QUERY_CHIP, &chip, sizeof(chip)));
	ASSERT_GT(chip.queue_depth, 1);
	jobs = chip.queue_depth + more;
	ASSERT_LT(jobs, NPU_PAGE / 4);
	inject_begin(inj, NPUSIM_DOORBELL_LOST);
	inject_count(inj, chip.queue_depth);
	ASSERT_EQ(0, inject_arm(inj));
	c->data[0] = 0xd00b;
	/* each copies what the one before it has */
	for (uint32_t i = 0; i < jobs; i++) {
		npu_copy_stream(c->stream + 3 * i, i + 1, 4);
		c->stream[3 * i].dma.offset = 4 * i;
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM + 192 * i, 192, NPU_PARAMS, 0, c->sync));
	}
	EXPECT_TRUE(inject_wait(inj, NPUSIM_DOORBELL_LOST, chip.queue_depth, 5000));
	EXPECT_EQ(0, c->data[1]);
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
	EXPECT_EQ(0xd00b, c->data[jobs]);
	state.id = c->queue;
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_OK, state.state);
	EXPECT_EQ(jobs, state.completed);
	EXPECT_EQ(resets, npu_knob_number("reset"));
}

/* State of boot, as BAR 0 tells whether a driver is bound or not; 0: reset. */
static int boot_state(void)
{
	volatile uint32_t *regs;
	char path[192], resource[256];
	int fd, state;

	if (inject_slot(path, sizeof(path)))
		return -ENODEV;
	snprintf(resource, sizeof(resource), "%s/resource0", path);
	fd = open(resource, O_RDWR | O_CLOEXEC);
	regs = mmap(NULL, NPU_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (regs == MAP_FAILED)
		return -errno;
	state = regs[NE1_REG_BOOT_STATUS / 4] & NE1_BOOT_STATE_MASK;
	munmap((void *)regs, NPU_PAGE);
	return state;
}

/* Whether nobody has accessed a register for a while. */
static bool registers_rest(struct npu_inject *inj)
{
	uint64_t reads = inject_read64(inj, NPUSIM_WIN_READS_LO), writes = inject_read64(inj, NPUSIM_WIN_WRITES_LO);

	usleep(200000);
	return reads == inject_read64(inj, NPUSIM_WIN_READS_LO) && writes == inject_read64(inj, NPUSIM_WIN_WRITES_LO);
}

static bool file_has(const char *path, const char *text)
{
	char *all = npu_read_file(path, NULL);
	bool has = all && strstr(all, text);

	free(all);
	return has;
}

/* The driver tells boot-stuck and boot-not-ready by nothing but half a minute of waiting: one of them will do. */
static const struct {
	enum npusim_fault fault;
	uint64_t args[2];
	uint64_t count;
} at_probe[] = {
	{ NPUSIM_RESET_STUCK, .count = 1 },
	{ NPUSIM_BOOT_MAGIC, .count = 1 },
	{ NPUSIM_BOOT_TRUNCATED, .count = 1 },
	{ NPUSIM_BOOT_COPY_FAIL, .count = 1 },
	{ NPUSIM_BOOT_ERROR, { ARG(NE1_BOOT_ERR_ROLLBACK) }, 1 },
	{ NPUSIM_BOOT_ABI, .count = 1 },
	{ NPUSIM_BOOT_NOT_READY, .count = 1 },
	{ NPUSIM_MMIO_ONES, { ARG(NE1_REG_ID), ARG(NE1_REG_BOOT_CTRL) } },
	{ NPUSIM_MMIO_ONES, { ARG(NE1_REG_CAP_CORES), ARG(4) } },
};

/* The driver does not take a device that does not boot, and leaves it in reset; when it is well again, it takes it. */
TEST_F_TIMEOUT(device, that_does_not_boot_is_not_taken, 240)
{
	struct npu_inject *inj = &self->inj;
	char slot[64];

	ASSERT_EQ(0, npu_slot(slot, sizeof(slot)));
	for (size_t i = 0; i < sizeof(at_probe) / sizeof(at_probe[0]); i++) {
		ASSERT_EQ(0, npu_unbind(slot));
		inject_begin(inj, at_probe[i].fault);
		for (unsigned int k = 0; k < 2; k++) {
			if (at_probe[i].args[k])
				inject_arg(inj, k, at_probe[i].args[k] - 1);
		}
		inject_count(inj, at_probe[i].count);
		ASSERT_EQ(0, inject_arm(inj));
		npu_bind(slot);
		EXPECT_LE(1, inject_fired(inj, at_probe[i].fault));
		inject_disarm_all(inj);
		EXPECT_EQ(-ENODEV, npu_open()) {
			TH_LOG("taken in spite of fault %d", at_probe[i].fault);
		}
		EXPECT_EQ(NE1_BOOT_STATE_RESET, boot_state()) {
			TH_LOG("not in reset after fault %d", at_probe[i].fault);
		}
		EXPECT_FALSE(file_has("/proc/interrupts", "npuedge-"));
		EXPECT_TRUE(registers_rest(inj));
		ASSERT_EQ(0, npu_unbind(slot));
		ASSERT_EQ(0, npu_bind(slot));
		EXPECT_EQ(0, npu_device_works());
	}
}

/* A job hangs and firmware with it; @file ends with the job.  Waits until the driver has told firmware to stop it. */
static void hang(struct __test_metadata *_metadata, struct npu_inject *inj, struct npu_client *c, int *file)
{
	char path[256];
	uint32_t size;

	npu_dumps_clear();
	ASSERT_EQ(0, npu_client_init(c));
	size = npu_slow_stream(c->stream, npu_slow_count(c, 10000));
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
	*file = npu_sync_file(c->fd, c->sync);
	ASSERT_TRUE(npu_job_runs());
	inject_begin(inj, NPUSIM_FW_HANG);
	inject_arg(inj, 0, 0);
	ASSERT_EQ(0, inject_arm(inj));
	/* its dump is left just before the message is sent */
	ASSERT_TRUE(npu_dump_wait(path, sizeof(path)));
}

/*
 * Unbound while the driver makes up its mind to reset the device: a message got no answer within 5 s, and the heartbeat
 * is waited for 2 s more.  What is unbound then stays stopped.
 */
TEST_F_TIMEOUT(device, unbind_ends_a_recovery, 240)
{
	struct npu_inject *inj = &self->inj;
	struct npu_client *c = &self->c;
	int file, status = 0;
	char slot[64];

	ASSERT_EQ(0, npu_slot(slot, sizeof(slot)));
	/* A busy machine may be late, and the recovery over: sooner then, at worst while the answer is waited for. */
	for (unsigned int ms = 6000; ms >= 1000 && status != -ENODEV; ms -= 1000) {
		ASSERT_EQ(0, npu_knob_write("job_timeout_ms", "1000"));
		hang(_metadata, inj, c, &file);
		usleep(ms * 1000);
		ASSERT_EQ(0, npu_unbind(slot));
		EXPECT_EQ(NE1_BOOT_STATE_RESET, boot_state());
		status = npu_wait_file(file);
		if (status != -ENODEV)
			EXPECT_EQ(-ETIME, status);

		close(file);
		npu_client_fini(c);
		memset(c, 0, sizeof(*c));
		inject_disarm_all(inj);
		ASSERT_EQ(0, npu_bind(slot));
		EXPECT_EQ(0, npu_device_works());
		EXPECT_EQ(NE1_BOOT_STATE_READY, boot_state());
	}
	EXPECT_EQ(-ENODEV, status);
}

TEST_HARNESS_MAIN
