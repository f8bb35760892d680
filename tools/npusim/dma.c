// SPDX-License-Identifier: MIT
/*
 * Files are mapped whole, once per (device, inode, writable), since QEMU passes the same memfd
 * again for every piece of guest RAM and, behind a vIOMMU, for every page.  Ranges are kept sorted
 * by address.
 */
#include "dma.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_points.h"
#include "log.h"

#define RANGES_MAX	65535	/* what the server announces as max_dma_maps */

struct backing {
	struct backing *next;
	dev_t dev;
	ino_t ino;
	bool writable;
	uint8_t *mem;
	uint64_t size;
	unsigned int users;	/* ranges */
};

struct range {
	uint64_t first, last;	/* inclusive: the last page of the address space is a valid one */
	uint8_t *mem;
	struct backing *backing;
};

struct sim_dma {
	const char *who;
	struct sim_fi *faults;
	pthread_rwlock_t
		lock; /* held for reading inside enter/leave, for writing to change all below */
	uint64_t generation;
	struct backing *backings;
	struct range *ranges;
	unsigned int n_ranges, cap_ranges;
};

struct sim_dma *sim_dma_new(const char *who)
{
	struct sim_dma *dma = calloc(1, sizeof(*dma));
	pthread_rwlockattr_t attr;

	if (!dma)
		return NULL;
	dma->who = who;
	dma->generation = 1;
	/* Unmap must not wait for ever because cores keep entering. */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&dma->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	return dma;
}

void sim_dma_free(struct sim_dma *dma)
{
	if (!dma)
		return;
	sim_dma_unmap_all(dma);
	pthread_rwlock_destroy(&dma->lock);
	free(dma->ranges);
	free(dma);
}

/* For the signal handler: whose memory this thread is inside of, and the host's page size. */
static _Thread_local struct sim_dma *inside;
static uintptr_t page_size;

void sim_dma_enter(struct sim_dma *dma)
{
	pthread_rwlock_rdlock(&dma->lock);
	inside = dma;
}

void sim_dma_leave(struct sim_dma *dma)
{
	inside = NULL;
	pthread_rwlock_unlock(&dma->lock);
}

/* Being inside, the thread that faulted keeps the list of backings as it is. */
static bool replace_page(const struct sim_dma *dma, uintptr_t addr)
{
	uintptr_t page = addr & ~(page_size - 1);

	for (const struct backing *b = dma->backings; b; b = b->next) {
		int prot = PROT_READ | (b->writable ? PROT_WRITE : 0);

		if (addr - (uintptr_t)b->mem < b->size)
			return mmap((void *)page, page_size, prot,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
	}
	return false;
}

static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	int err = errno;

	(void)context;
	if (!inside || !replace_page(inside, (uintptr_t)info->si_addr))
		signal(sig, SIG_DFL);	/* not ours: it comes again and ends the process */
	errno = err;
}

int sim_dma_survive_truncation(void)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };

	page_size = sysconf(_SC_PAGESIZE);
	sigemptyset(&action.sa_mask);
	return sigaction(SIGBUS, &action, NULL) ? -errno : 0;
}

void sim_dma_quiesce(struct sim_dma *dma)
{
	pthread_rwlock_wrlock(&dma->lock);
	pthread_rwlock_unlock(&dma->lock);
}

uint64_t sim_dma_generation(const struct sim_dma *dma)
{
	return dma->generation;
}

/* Index of the first range that ends at or after @bus. */
static unsigned int find_index(const struct sim_dma *dma, uint64_t bus)
{
	unsigned int lo = 0, hi = dma->n_ranges;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (dma->ranges[mid].last < bus)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint8_t *sim_dma_find(struct sim_dma *dma, uint64_t bus, bool write, uint64_t *before,
		      uint64_t *len)
{
	unsigned int i = find_index(dma, bus);
	const struct range *range = dma->ranges + i;

	if (i == dma->n_ranges || bus < range->first)
		return NULL;
	if (write && !range->backing->writable) {
		sim_log(SIM_LOG_WARN, dma->who,
			"write to read-only memory at bus address 0x%" PRIx64, bus);
		return NULL;
	}
	if (before)
		*before = bus - range->first;
	*len = range->last - bus + 1;
	return range->mem + (bus - range->first);
}

void sim_dma_set_faults(struct sim_dma *dma, struct sim_fi *faults)
{
	dma->faults = faults;
}

bool sim_dma_read(struct sim_dma *dma, uint64_t bus, void *buf, uint64_t len)
{
	uint64_t wanted = len;
	uint8_t *out = buf;
	bool ok = true;

	sim_dma_enter(dma);
	while (len) {
		uint64_t n;
		const uint8_t *mem = sim_dma_find(dma, bus, false, NULL, &n);

		if (!mem) {
			ok = false;
			break;
		}
		if (n > len)
			n = len;
		memcpy(out, mem, n);
		out += n;
		bus += n;
		len -= n;
		if (len && !bus) {	/* ran off the top of the address space */
			ok = false;
			break;
		}
	}
	sim_dma_leave(dma);
	sim_fi_boot_copied(dma->faults, buf, wanted, &ok);	/* only the boot ROM reads so */
	return ok;
}

/* NULL: errno tells why. */
static struct backing *map_file(int fd, const struct stat *st, bool writable)
{
	struct backing *backing = calloc(1, sizeof(*backing));
	int prot = PROT_READ | (writable ? PROT_WRITE : 0);
	void *mem;

	if (!backing)
		return NULL;
	mem = mmap(NULL, st->st_size, prot, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED) {
		int err = errno;

		free(backing);
		errno = err;
		return NULL;
	}
	backing->dev = st->st_dev;
	backing->ino = st->st_ino;
	backing->writable = writable;
	backing->mem = mem;
	backing->size = st->st_size;
	return backing;
}

/* The mapping of @fd's file that covers @end bytes, new if there is none.  With the lock held. */
static int get_backing(struct sim_dma *dma, int fd, uint64_t end, bool writable,
		       struct backing **out)
{
	struct backing *b;
	struct stat st;

	if (fstat(fd, &st))
		return errno > 0 ? -errno : -EIO;
	if (st.st_size < 0 || (uint64_t)st.st_size < end) {
		sim_log(SIM_LOG_WARN, dma->who, "map needs %" PRIu64 " bytes of a file of %" PRIu64,
			end, (uint64_t)st.st_size);
		return -EINVAL;
	}
	for (b = dma->backings; b; b = b->next) {
		if (b->dev == st.st_dev && b->ino == st.st_ino && b->writable == writable &&
		    b->size >= end) {
			*out = b;
			return 0;
		}
	}
	b = map_file(fd, &st, writable);
	if (!b)
		return errno > 0 ? -errno : -EIO;
	b->next = dma->backings;
	dma->backings = b;
	*out = b;
	return 0;
}

static void put_unused_backings(struct sim_dma *dma)
{
	struct backing **p = &dma->backings;

	while (*p) {
		struct backing *b = *p;

		if (b->users) {
			p = &b->next;
			continue;
		}
		*p = b->next;
		munmap(b->mem, b->size);
		free(b);
	}
}

static int reserve_range(struct sim_dma *dma)
{
	unsigned int cap = dma->cap_ranges ? 2 * dma->cap_ranges : 64;
	struct range *ranges;

	if (dma->n_ranges < dma->cap_ranges)
		return 0;
	ranges = reallocarray(dma->ranges, cap, sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	dma->ranges = ranges;
	dma->cap_ranges = cap;
	return 0;
}

static void insert_range(struct sim_dma *dma, unsigned int at, const struct range *range)
{
	memmove(dma->ranges + at + 1, dma->ranges + at, (dma->n_ranges - at) * sizeof(*range));
	dma->ranges[at] = *range;
	dma->n_ranges++;
	range->backing->users++;
}

static int map_locked(struct sim_dma *dma, uint64_t iova, uint64_t last, int fd, uint64_t offset,
		      bool writable)
{
	struct range range = { .first = iova, .last = last };
	unsigned int at = find_index(dma, iova);
	int err;

	if (at < dma->n_ranges && dma->ranges[at].first <= last)
		return -EEXIST;
	if (dma->n_ranges >= RANGES_MAX)
		return -ENOSPC;
	err = reserve_range(dma);
	if (err)
		return err;
	err = get_backing(dma, fd, offset + (last - iova) + 1, writable, &range.backing);
	if (err)
		return err;
	range.mem = range.backing->mem + offset;
	insert_range(dma, at, &range);
	dma->generation++;
	return 0;
}

int sim_dma_map(struct sim_dma *dma, uint64_t iova, uint64_t size, int fd, uint64_t offset,
		bool writable)
{
	uint64_t last = iova + size - 1, end;
	int err;

	if (!size || last < iova || __builtin_add_overflow(offset, size, &end))
		return -EINVAL;
	if (fd < 0)
		return 0;
	pthread_rwlock_wrlock(&dma->lock);
	err = map_locked(dma, iova, last, fd, offset, writable);
	pthread_rwlock_unlock(&dma->lock);
	return err;
}

/* Cuts [first, last] out of range @i; returns how many ranges are left of it (0, 1 or 2). */
static unsigned int cut_range(struct sim_dma *dma, unsigned int i, uint64_t first, uint64_t last)
{
	struct range old = dma->ranges[i], tail = old;
	bool keep_head = old.first < first, keep_tail = old.last > last;

	if (keep_head)
		dma->ranges[i].last = first - 1;
	if (keep_tail) {
		tail.first = last + 1;
		tail.mem = old.mem + (tail.first - old.first);
	}
	if (keep_head && keep_tail) {
		insert_range(dma, i + 1, &tail);
		return 2;
	}
	if (keep_head)
		return 1;
	if (keep_tail) {
		dma->ranges[i] = tail;
		return 1;
	}
	old.backing->users--;
	dma->n_ranges--;
	memmove(dma->ranges + i, dma->ranges + i + 1, (dma->n_ranges - i) * sizeof(old));
	return 0;
}

int sim_dma_unmap(struct sim_dma *dma, uint64_t iova, uint64_t size)
{
	uint64_t last = iova + size - 1;
	unsigned int i;
	int err;

	if (!size)
		return 0;
	if (last < iova)
		last = UINT64_MAX;
	pthread_rwlock_wrlock(&dma->lock);
	err = reserve_range(dma);	/* a cut in the middle adds one, at most once per call */
	if (!err) {
		i = find_index(dma, iova);
		while (i < dma->n_ranges && dma->ranges[i].first <= last)
			i += cut_range(dma, i, iova, last);
		put_unused_backings(dma);
		dma->generation++;
	}
	pthread_rwlock_unlock(&dma->lock);
	return err;
}

void sim_dma_unmap_all(struct sim_dma *dma)
{
	pthread_rwlock_wrlock(&dma->lock);
	for (unsigned int i = 0; i < dma->n_ranges; i++)
		dma->ranges[i].backing->users--;
	dma->n_ranges = 0;
	put_unused_backings(dma);
	dma->generation++;
	pthread_rwlock_unlock(&dma->lock);
}
