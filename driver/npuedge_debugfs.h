/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_DEBUGFS_H
#define NPUEDGE_DEBUGFS_H

#include <linux/kconfig.h>

struct npuedge_device;

#if IS_ENABLED(CONFIG_DEBUG_FS)
void npuedge_debugfs_init(struct npuedge_device *edev);
#else
static inline void npuedge_debugfs_init(struct npuedge_device *edev)
{
}
#endif

#endif
