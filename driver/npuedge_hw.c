// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Registers
 *
 * The NE1 has few registers, and they are slow: identification, boot and reset, interrupt enable,
 * the MMU's fault record and TLB invalidation, telemetry.  All work goes through memory and
 * doorbells. The identification registers never change and are read once.
 */

#include <linux/device.h>
#include <linux/iopoll.h>

#include "npuedge_hw.h"

/* Time limits by what NE1_REG_PLATFORM says, all in milliseconds. */
static const struct npuedge_timeouts npuedge_timeout_table[] = {
	[NE1_PLATFORM_SILICON] = {
		.reset = 100, .boot = 1000, .tlb = 10, .message = 200, .heartbeat = 300,
		.job = 2000, .drain = 100, .link = 1000,
	},
	[NE1_PLATFORM_FPGA] = {
		.reset = 1000, .boot = 10000, .tlb = 100, .message = 2000, .heartbeat = 1000,
		.job = 30000, .drain = 1000, .link = 1000,
	},
	[NE1_PLATFORM_MODEL] = {
		.reset = 5000, .boot = 30000, .tlb = 1000, .message = 5000, .heartbeat = 2000,
		.job = 30000, .drain = 3000, .link = 5000,
	},
};

/**
 * npuedge_hw_read64() - read a LO/HI pair of registers
 * @edev: device
 * @reg_lo: the LO register; HI follows it
 *
 * Return: the value; consistent, because reading LO latches HI.
 */
u64 npuedge_hw_read64(struct npuedge_device *edev, u32 reg_lo)
{
	u32 lo, hi;

	mutex_lock(&edev->latch_lock);
	lo = npuedge_read(edev, reg_lo);
	hi = npuedge_read(edev, reg_lo + 4);
	mutex_unlock(&edev->latch_lock);

	return (u64)hi << 32 | lo;
}

/**
 * npuedge_hw_write64() - write a LO/HI pair of registers
 * @edev: device
 * @reg_lo: the LO register; HI follows it
 * @value: value
 */
void npuedge_hw_write64(struct npuedge_device *edev, u32 reg_lo, u64 value)
{
	npuedge_write(edev, reg_lo, lower_32_bits(value));
	npuedge_write(edev, reg_lo + 4, upper_32_bits(value));
}

/**
 * npuedge_hw_telemetry() - read counters and sensors
 * @edev: device, awake
 * @out: filled
 */
void npuedge_hw_telemetry(struct npuedge_device *edev, struct drm_npuedge_telemetry *out)
{
	*out = (struct drm_npuedge_telemetry) {
		.time_ns = npuedge_hw_read64(edev, NE1_REG_TIME_LO),
		.energy_uj = npuedge_hw_read64(edev, NE1_REG_ENERGY_LO),
		.dram_rd_bytes = npuedge_hw_read64(edev, NE1_REG_DRAM_RD_LO),
		.dram_wr_bytes = npuedge_hw_read64(edev, NE1_REG_DRAM_WR_LO),
		.temp_die_mc = (s32)npuedge_read(edev, NE1_REG_TEMP_DIE),
		.temp_board_mc = (s32)npuedge_read(edev, NE1_REG_TEMP_BOARD),
		.freq_khz = npuedge_read(edev, NE1_REG_FREQ),
	};
}

/**
 * npuedge_hw_reset() - stop everything on the device
 * @edev: device
 *
 * When it returns 0 the device touches no memory: engines are stopped, the TLB is empty.  Or it
 * answers nothing but ones, which the boot that follows finds out.
 *
 * Return: 0, -ETIMEDOUT, or -EIO if the bus is frozen, and nobody knows what the device does.
 */
int npuedge_hw_reset(struct npuedge_device *edev)
{
	u32 value;
	int ret;

	npuedge_write(edev, NE1_REG_RESET, 1);
	/* All ones: there is no device any more, or one that cannot be asked. */
	ret = read_poll_timeout(npuedge_read, value, !value || value == U32_MAX, 100,
				edev->timeouts->reset * USEC_PER_MSEC, false, edev, NE1_REG_RESET);
	return READ_ONCE(edev->frozen) ? -EIO : ret;
}

static void npuedge_hw_read_name(struct npuedge_device *edev)
{
	u32 word[sizeof(edev->chip.name) / sizeof(u32)];

	for (unsigned int i = 0; i < ARRAY_SIZE(word); i++)
		word[i] = npuedge_read(edev, NE1_REG_CHIP_NAME + i * sizeof(u32));

	memcpy(edev->chip.name, word, sizeof(edev->chip.name));
	edev->chip.name[sizeof(edev->chip.name) - 1] = '\0';
}

static int npuedge_hw_check_caps(struct npuedge_device *edev)
{
	const struct drm_npuedge_chip_info *chip = &edev->chip;
	struct device *dev = edev->dev;

	if (!chip->cores || chip->cores > NE1_MAX_CORES)
		return dev_err_probe(dev, -EINVAL, "%u cores, not 1..%u\n", chip->cores,
				     NE1_MAX_CORES);
	if (!chip->queue_limit || chip->queue_limit > NE1_MAX_QUEUES)
		return dev_err_probe(dev, -EINVAL, "%u queues, not 1..%u\n", chip->queue_limit,
				     NE1_MAX_QUEUES);
	return 0;
}

/**
 * npuedge_hw_init() - identify the device
 * @edev: device with mapped registers
 *
 * Return: 0, -ENODEV if it is no NE1 or one of another major version, -EINVAL on odd capabilities.
 */
int npuedge_hw_init(struct npuedge_device *edev)
{
	struct device *dev = edev->dev;
	u32 id, version, platform;

	id = npuedge_read(edev, NE1_REG_ID);
	if (id != NE1_ID_MAGIC)
		return dev_err_probe(dev, -ENODEV, "id %#x is not that of an NE1\n", id);

	version = npuedge_read(edev, NE1_REG_VERSION);
	if (version >> 16 != NE1_VERSION_MAJOR)
		return dev_err_probe(dev, -ENODEV, "contract version %u.%u, need %u.x\n",
				     version >> 16, version & 0xffff, NE1_VERSION_MAJOR);

	platform = npuedge_read(edev, NE1_REG_PLATFORM);
	if (platform >= ARRAY_SIZE(npuedge_timeout_table))
		platform = NE1_PLATFORM_SILICON;
	edev->timeouts = &npuedge_timeout_table[platform];
	edev->job_timeout_ms = edev->timeouts->job;

	edev->chip = (struct drm_npuedge_chip_info) {
		.contract_version = version,
		.cores = npuedge_read(edev, NE1_REG_CAP_CORES),
		.sram_bytes = npuedge_read(edev, NE1_REG_CAP_SRAM),
		.macs_per_cycle = npuedge_read(edev, NE1_REG_CAP_MACS),
		.vx_lanes = npuedge_read(edev, NE1_REG_CAP_VX_LANES),
		.formats = npuedge_read(edev, NE1_REG_CAP_FORMATS),
		.freq_max_khz = npuedge_read(edev, NE1_REG_CAP_FREQ_MAX),
		.dram_bw_mbps = npuedge_read(edev, NE1_REG_CAP_DRAM_BW),
		.queue_limit = npuedge_read(edev, NE1_REG_CAP_QUEUES),
		.queue_depth = NPUEDGE_QUEUE_DEPTH,
		.va_start = NPUEDGE_VA_START,
		.va_end = NPUEDGE_VA_END,
	};
	npuedge_hw_read_name(edev);

	return npuedge_hw_check_caps(edev);
}
