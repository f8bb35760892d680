/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_RESET_H
#define NPUEDGE_RESET_H

struct npuedge_device;
struct npuedge_job;

int npuedge_reset_init(struct npuedge_device *edev);
void npuedge_reset_schedule(struct npuedge_device *edev);
void npuedge_reset_cancel(struct npuedge_device *edev);
void npuedge_reset_wait(struct npuedge_device *edev);
void npuedge_reset_job_timedout(struct npuedge_job *job);
void npuedge_reset_lose(struct npuedge_device *edev);
int npuedge_reset_suspend(struct npuedge_device *edev);
int npuedge_reset_resume(struct npuedge_device *edev);

#endif
