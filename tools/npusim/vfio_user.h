/* SPDX-License-Identifier: MIT */
/*
 * vfio-user server: one UNIX socket, one client at a time, messages answered in the order they
 * come. Transport only: what regions, interrupts and memory mean is up to the ops, which are called
 * from the thread in sim_vfio_serve() and must not block on anything but memory that is being let
 * go.
 */
#ifndef NPUSIM_VFIO_USER_H
#define NPUSIM_VFIO_USER_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_VFIO_REGIONS	9	/* VFIO's: BARs 0..5, ROM, configuration space, VGA */
#define SIM_VFIO_REGION_CONFIG	7
#define SIM_VFIO_MAX_XFER	(1u << 20)
#define SIM_VFIO_MAX_FDS	16

/* Entries returning int: 0 or a negative errno that becomes the error reply. */
struct sim_vfio_ops {
	uint64_t (*region_size)(void *ctx, unsigned int region);	/* 0: absent */
	/* Within the region; @count <= SIM_VFIO_MAX_XFER. */
	void (*region_read)(void *ctx, unsigned int region, uint64_t offset, void *data,
			    uint32_t count);
	void (*region_write)(void *ctx, unsigned int region, uint64_t offset, const void *data,
			     uint32_t count);

	unsigned int (*irq_count)(void *ctx, unsigned int index);
	/* Takes over @fd, -1: none. */
	int (*irq_set_eventfd)(void *ctx, unsigned int index, unsigned int vector, int fd);
	void (*irq_disable)(void *ctx, unsigned int index);
	void (*irq_trigger)(void *ctx, unsigned int index, unsigned int vector);

	int (*dma_map)(void *ctx, uint64_t iova, uint64_t size, int fd, uint64_t offset,
		       bool writable);
	int (*dma_unmap)(void *ctx, uint64_t iova, uint64_t size);
	void (*dma_unmap_all)(void *ctx);

	void (*reset)(void *ctx);
	void (*disconnect)(void *ctx);	/* the client is gone, whatever it gave us too */

	unsigned int (*stall_ms)(void *ctx);	/* before a message is served: be silent so long */
};

struct sim_vfio;

/* Listens at @path (an abandoned socket there is replaced).  NULL with a message logged. */
struct sim_vfio *sim_vfio_new(const char *path, const struct sim_vfio_ops *ops, void *ctx);
void sim_vfio_free(struct sim_vfio *vfio);	/* removes the socket */

void sim_vfio_serve(struct sim_vfio *vfio);	/* until sim_vfio_stop() */
void sim_vfio_stop(struct sim_vfio *vfio);	/* any thread */
void sim_vfio_drop(struct sim_vfio *vfio);	/* ends the connection there is; any thread */

#define SIM_VFIO_DMA_MAX	64	/* bytes */
/*
 * Has the client write memory, as it does for addresses that it has not mapped for us: behind a vIOMMU the guest is
 * told of a fault.  What comes of it is not waited for.  Any thread.
 */
void sim_vfio_dma_write(struct sim_vfio *vfio, uint64_t bus, const void *data, uint32_t count);

#endif
