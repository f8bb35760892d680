/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_QUERY_H
#define NPUEDGE_QUERY_H

struct drm_npuedge_dev_query;
struct npuedge_device;

int npuedge_query(struct npuedge_device *edev, struct drm_npuedge_dev_query *args);

#endif
