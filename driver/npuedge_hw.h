/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_HW_H
#define NPUEDGE_HW_H

#include <linux/bitfield.h>
#include <linux/io.h>

#include "ne1_regs.h"
#include "npuedge_device.h"

struct drm_npuedge_chip_info;
struct drm_npuedge_telemetry;

/**
 * npuedge_read() - read a register; costs a bus round trip
 * @edev: device
 * @reg: NE1_REG_*
 *
 * Return: value; all ones if the device is gone, or the bus frozen.
 */
static inline u32 npuedge_read(struct npuedge_device *edev, u32 reg)
{
	return unlikely(READ_ONCE(edev->frozen)) ? U32_MAX : readl(edev->regs + reg);
}

/**
 * npuedge_write() - write a register, after all earlier writes to memory; not if the bus is frozen
 * @edev: device
 * @reg: NE1_REG_* or NE1_DOORBELL()
 * @value: value
 */
static inline void npuedge_write(struct npuedge_device *edev, u32 reg, u32 value)
{
	if (likely(!READ_ONCE(edev->frozen)))
		writel(value, edev->regs + reg);
}

int npuedge_hw_init(struct npuedge_device *edev);
int npuedge_hw_reset(struct npuedge_device *edev);
u64 npuedge_hw_read64(struct npuedge_device *edev, u32 reg_lo);
void npuedge_hw_write64(struct npuedge_device *edev, u32 reg_lo, u64 value);
void npuedge_hw_telemetry(struct npuedge_device *edev, struct drm_npuedge_telemetry *out);

#endif
