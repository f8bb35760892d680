/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_DEBUGFS_H
#define NPUEDGE_DEBUGFS_H

#include <linux/kconfig.h>

struct drm_minor;

#if IS_ENABLED(CONFIG_DEBUG_FS)
void npuedge_debugfs_init(struct drm_minor *minor);
#else
#define npuedge_debugfs_init NULL
#endif

#endif
