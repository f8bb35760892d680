/* SPDX-License-Identifier: MIT */
/* Messages of the vfio-user protocol, version 0.0 (docs/interop/vfio-user.rst of QEMU). */
#ifndef NPUSIM_VFIO_PROTO_H
#define NPUSIM_VFIO_PROTO_H

#include <stdint.h>

struct vu_header {
	uint16_t id;
	uint16_t command;
	uint32_t size;		/* of the message, this header included */
	uint32_t flags;
	uint32_t error;		/* errno, with VU_FLAG_ERROR */
};

#define VU_FLAG_TYPE		0xfu
#define VU_TYPE_REQUEST		0
#define VU_TYPE_REPLY		1
#define VU_FLAG_NO_REPLY	0x10u
#define VU_FLAG_ERROR		0x20u

enum vu_command {
	VU_VERSION = 1,
	VU_DMA_MAP = 2,
	VU_DMA_UNMAP = 3,
	VU_DEVICE_GET_INFO = 4,
	VU_DEVICE_GET_REGION_INFO = 5,
	VU_DEVICE_GET_IRQ_INFO = 7,
	VU_DEVICE_SET_IRQS = 8,
	VU_REGION_READ = 9,
	VU_REGION_WRITE = 10,
	VU_DMA_WRITE_MEMORY = 12,	/* asked by the server */
	VU_DEVICE_RESET = 13,
	VU_REGION_WRITE_MULTI = 15,
};

struct vu_version {
	uint16_t major, minor;
	/* JSON text, NUL terminated */
};

#define VU_DMA_READ	(1u << 0)
#define VU_DMA_WRITE	(1u << 1)
#define VU_DMA_MODES	(3u << 2)	/* how the file may be used: a hint */
struct vu_dma_map {
	uint32_t argsz, flags;
	uint64_t offset, iova, size;
};

struct vu_dma_access {
	uint64_t address, count;
	/* data */
};

#define VU_UNMAP_ALL	(1u << 1)
struct vu_dma_unmap {
	uint32_t argsz, flags;
	uint64_t iova, size;
};

#define VU_DEVICE_RESETS	(1u << 0)
#define VU_DEVICE_PCI		(1u << 1)
struct vu_device_info {
	uint32_t argsz, flags, regions, irqs;
};

#define VU_REGION_READABLE	(1u << 0)
#define VU_REGION_WRITABLE	(1u << 1)
struct vu_region_info {
	uint32_t argsz, flags, index, cap_offset;
	uint64_t size, offset;
};

#define VU_IRQ_EVENTFD	(1u << 0)
#define VU_IRQ_NORESIZE	(1u << 3)
struct vu_irq_info {
	uint32_t argsz, flags, index, count;
};

#define VU_SET_DATA		0x07u
#define VU_SET_NONE		(1u << 0)
#define VU_SET_BOOL		(1u << 1)
#define VU_SET_EVENTFD		(1u << 2)
#define VU_SET_ACTION		0x38u
#define VU_SET_TRIGGER		(1u << 5)
struct vu_set_irqs {
	uint32_t argsz, flags, index, start, count;
};

struct vu_region_access {
	uint64_t offset;
	uint32_t region, count;
};

struct vu_multi_entry {
	uint64_t offset;
	uint32_t region, count;
	uint8_t data[8];
};

_Static_assert(sizeof(struct vu_header) == 16, "header is packed");
_Static_assert(sizeof(struct vu_dma_map) == 32, "message is packed");
_Static_assert(sizeof(struct vu_region_info) == 32, "message is packed");
_Static_assert(sizeof(struct vu_set_irqs) == 20, "message is packed");
_Static_assert(sizeof(struct vu_multi_entry) == 24, "message is packed");

#endif
