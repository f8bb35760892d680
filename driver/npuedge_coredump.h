/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_COREDUMP_H
#define NPUEDGE_COREDUMP_H

#include <linux/types.h>

struct ne1_job_result;
struct npuedge_coredump;
struct npuedge_device;
struct npuedge_job;
struct npuedge_queue;

int npuedge_coredump_init(struct npuedge_device *edev);
bool npuedge_coredump_wanted(struct npuedge_device *edev);
void npuedge_coredump_job(struct npuedge_job *job, const char *reason,
			  const struct ne1_job_result *result);
void npuedge_coredump_device(struct npuedge_device *edev, struct npuedge_queue *guilty, u32 reason);
void npuedge_coredump_flush(struct npuedge_device *edev);

#endif
