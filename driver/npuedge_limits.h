/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits that belong to no single file of the driver. */
#ifndef NPUEDGE_LIMITS_H
#define NPUEDGE_LIMITS_H

/** NPUEDGE_MAX_VMS - address spaces of an open file */
#define NPUEDGE_MAX_VMS		4096
/** NPUEDGE_MAX_QUEUES - queues of an open file; firmware's limit is lower */
#define NPUEDGE_MAX_QUEUES	256
/** NPUEDGE_LABEL_SIZE - bytes of a buffer's label, its end included */
#define NPUEDGE_LABEL_SIZE	64

#endif
