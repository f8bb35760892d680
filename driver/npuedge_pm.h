/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_PM_H
#define NPUEDGE_PM_H

#include <linux/pm.h>

struct npuedge_device;

extern const struct dev_pm_ops npuedge_pm_ops;

int npuedge_pm_init(struct npuedge_device *edev);
void npuedge_pm_fini(struct npuedge_device *edev);

#endif
