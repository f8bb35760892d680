/* SPDX-License-Identifier: MIT */
/*
 * The host memory that the device can reach: ranges of bus addresses backed by files which the
 * vfio-user client passed, mapped here.
 *
 * Readers bracket their accesses with enter and leave, pointers die at leave.  Changing the maps
 * waits until no reader is inside, so when sim_dma_unmap() returns no access to the range is under
 * way and none will follow.  A thread enters at most once at a time.
 */
#ifndef NPUSIM_DMA_H
#define NPUSIM_DMA_H

#include <stdbool.h>
#include <stdint.h>

struct sim_dma;
struct sim_fi;

struct sim_dma *sim_dma_new(const char *who);	/* NULL when memory is short */
void sim_dma_free(struct sim_dma *dma);

/*
 * Adds [@iova, @iova + @size) backed by @fd from @offset; the file stays mapped while a range uses
 * it and @fd is the caller's to close.  @fd < 0: memory the device cannot reach, recorded as
 * nothing. 0, -EINVAL (empty, wrapping or beyond the file), -EEXIST (overlaps), -ENOSPC (too many)
 * or mmap's error.
 */
int sim_dma_map(struct sim_dma *dma, uint64_t iova, uint64_t size, int fd, uint64_t offset,
		bool writable);

/* Removes every part of a range in [@iova, @iova + @size - 1]; the end may wrap, then it is the top
 * of the address space.  @size 0 removes nothing.  Splits ranges that straddle.  0 or -ENOMEM.
 */
int sim_dma_unmap(struct sim_dma *dma, uint64_t iova, uint64_t size);
void sim_dma_unmap_all(struct sim_dma *dma);

void sim_dma_enter(struct sim_dma *dma);
void sim_dma_leave(struct sim_dma *dma);

/* Waits until every reader that is inside now has left.  Not from inside. */
void sim_dma_quiesce(struct sim_dma *dma);

/* Changes with every map or unmap; pointers are good only while it is the same.  From inside. */
uint64_t sim_dma_generation(const struct sim_dma *dma);

/*
 * From inside.  Finds @bus and returns its memory with *len = bytes to the end of the range, or
 * NULL when it is not there or only readable and @write.  *before, unless NULL: bytes of the range
 * before @bus.
 */
uint8_t *sim_dma_find(struct sim_dma *dma, uint64_t bus, bool write, uint64_t *before,
		      uint64_t *len);

/*
 * Once per process: a page that the client has cut off its file since is replaced by zeroes when a
 * thread that is inside touches it, instead of SIGBUS ending the process.  0 or -errno.
 */
int sim_dma_survive_truncation(void);

/* sim_dma_read() may go wrong from now on. */
void sim_dma_set_faults(struct sim_dma *dma, struct sim_fi *faults);

/* Copies @len bytes from @bus, across ranges; enters and leaves itself.  False: some are not there.
 */
bool sim_dma_read(struct sim_dma *dma, uint64_t bus, void *buf, uint64_t len);

#endif
