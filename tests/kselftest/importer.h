/* SPDX-License-Identifier: GPL-2.0 */
/* A device that uses dma-bufs of others: calls of /dev/npuedge-importer (tests/guest/importer), each open one device. */
#ifndef NPU_IMPORTER_H
#define NPU_IMPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define IMPORTER_PATH	"/dev/npuedge-importer"

/* as enum dma_data_direction */
#define IMPORTER_BIDIRECTIONAL	0
#define IMPORTER_READS		1
#define IMPORTER_WRITES		2

struct importer_map {
	__s32 dmabuf;
	__u32 direction;
};

/* A word of the memory as the device sees it. */
struct importer_word {
	__u32 offset;
	__u32 value;
};

#define IMPORTER_MAP	_IOW('i', 0, struct importer_map)
#define IMPORTER_UNMAP	_IO('i', 1)
#define IMPORTER_READ	_IOWR('i', 2, struct importer_word)
#define IMPORTER_WRITE	_IOW('i', 3, struct importer_word)

#endif
