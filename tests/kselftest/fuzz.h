/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random arguments: right ones mostly, so that calls get far, else at a limit, or anything.  Each thread has a struct
 * fuzzer of its own.
 */
#ifndef NPUEDGE_SELFTEST_FUZZ_H
#define NPUEDGE_SELFTEST_FUZZ_H

#include <stdatomic.h>
#include <stdbool.h>

#include "npuedge.h"

#define FUZZ_FILES	2
#define FUZZ_ROOM	(257ull * getpagesize())	/* values of PERFMON_READ at the largest count and stride */
#define FUZZ_IDS	12	/* higher ids are given back at once, so that guesses hit */
#define FUZZ_NUMBERS	256	/* of requests: _IOC_NR() */

/*
 * What the uAPI header says that a call may return, besides what it says of all calls.  Not -ENODEV: the device stays.
 * tests/static/kselftest compares this with the header.
 */
static const int fuzz_errors[][5] = {
	[DRM_NPUEDGE_DEV_QUERY] = { 0 },
	[DRM_NPUEDGE_BO_CREATE] = { 0 },
	[DRM_NPUEDGE_BO_MMAP_OFFSET] = { EPERM },
	[DRM_NPUEDGE_VM_CREATE] = { EBUSY },
	[DRM_NPUEDGE_VM_DESTROY] = { 0 },
	[DRM_NPUEDGE_VM_BIND] = { EPERM, EACCES, EIO, E2BIG },
	[DRM_NPUEDGE_QUEUE_CREATE] = { EACCES, EBUSY, EDQUOT, EIO },
	[DRM_NPUEDGE_QUEUE_DESTROY] = { 0 },
	[DRM_NPUEDGE_QUEUE_GET_STATE] = { 0 },
	[DRM_NPUEDGE_SUBMIT] = { EIO, EACCES, E2BIG },
	[DRM_NPUEDGE_BO_SYNC] = { EOPNOTSUPP },
	[DRM_NPUEDGE_BO_MADVISE] = { EOPNOTSUPP },
	[DRM_NPUEDGE_BO_SET_LABEL] = { E2BIG },
	[DRM_NPUEDGE_VM_GET_STATE] = { 0 },
	[DRM_NPUEDGE_PERFMON_CREATE] = { EACCES, ENOSPC, EOPNOTSUPP, EIO },
	[DRM_NPUEDGE_PERFMON_DESTROY] = { 0 },
	[DRM_NPUEDGE_PERFMON_READ] = { E2BIG },
	[DRM_NPUEDGE_EVENTS] = { 0 },
};

struct fuzzer {
	struct npu_client *files;
	uint64_t random;
	atomic_bool *stop;
	bool renews;	/* may have new clients take the place of files */
	unsigned long calls[FUZZ_NUMBERS], good[FUZZ_NUMBERS];	/* by number of the request */
	unsigned long long bad_request;
	int bad;	/* an errno that no call may return */
	void *room;	/* FUZZ_ROOM bytes of all threads, for calls that write as much as they are told to */
	void *nowhere;	/* a page without access, right behind it */
};

static inline uint64_t roll(struct fuzzer *f)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return f->random * 0x2545f4914f6cdd1dull;
}

static inline uint32_t below(struct fuzzer *f, uint32_t n)
{
	return (roll(f) >> 32) % n;
}

static inline bool one_in(struct fuzzer *f, uint32_t n)
{
	return !below(f, n);
}

/* A value which is right, unless it is at a limit, or random. */
static inline uint64_t some(struct fuzzer *f, uint64_t right)
{
	static const uint64_t limits[] = {
		0, 1, 2, 63, 64, 65, 0xfff, 0x1000, 0x1001, 0x7fffffff, 0x80000000, 0xffffffff,
		0x100000000, 0x7fffffffff, 0x8000000000, 0x7fffffffffffffff, 0x8000000000000000, ~0ull,
	};

	switch (below(f, 32)) {
	case 0: return limits[below(f, sizeof(limits) / sizeof(limits[0]))];
	case 1: return roll(f) >> below(f, 64);
	case 2: return right + 1;
	case 3: return right - 1;
	default: return right;
	}
}

static inline uint32_t some_id(struct fuzzer *f)
{
	return some(f, 1 + below(f, FUZZ_IDS));
}

/* What must be zero and mostly is. */
static inline uint32_t zero(struct fuzzer *f)
{
	return one_in(f, 64) ? roll(f) : 0;
}

static inline uint64_t some_pointer(struct fuzzer *f, const void *right)
{
	switch (below(f, 48)) {
	case 0: return 0;
	case 1: return (uintptr_t)f->nowhere;
	case 2: return (uintptr_t)f->nowhere - 8;
	case 3: return 0xffff888000000000ull + (roll(f) & 0xffffff);
	case 4: return roll(f);
	default: return (uintptr_t)right;
	}
}

static inline struct drm_npuedge_array some_array(struct fuzzer *f, const void *right, uint32_t stride,
						  uint32_t count)
{
	struct drm_npuedge_array array = {
		.stride = some(f, stride), .count = some(f, count), .ptr = some_pointer(f, right),
	};

	return array;
}

/* Sizes that either fit into the machine many times, or not at all. */
static inline uint64_t some_size(struct fuzzer *f)
{
	switch (below(f, 16)) {
	case 0: return 0;
	case 1: return ~0ull;
	case 2: return 1ull << (40 + below(f, 24));
	case 3: return 1 + below(f, 0x3000);
	default: return NPU_PAGE << below(f, 8);
	}
}

/* Away from what the clients' own jobs use. */
static inline uint64_t some_va(struct fuzzer *f)
{
	return some(f, NPU_VA * 2 + NPU_PAGE * below(f, 512));
}

static inline struct drm_npuedge_sync some_sync(struct fuzzer *f)
{
	bool timeline = one_in(f, 2);
	struct drm_npuedge_sync sync = {
		.handle = some_id(f), .flags = timeline ? DRM_NPUEDGE_SYNC_TIMELINE : zero(f),
		.point = timeline ? some(f, 1 + below(f, 8)) : zero(f),
	};

	return sync;
}

/*
 * Whether a call may fail so; @unknown: its structure has more that is not zero than the kernel knows.  Calls of DRM
 * itself, which are here to prepare others, have the common errors alone.
 */
static inline bool fuzz_documented(unsigned long request, bool unknown, int error)
{
	unsigned int call = _IOC_NR(request) - DRM_COMMAND_BASE;

	switch (error) {
	case 0: case EFAULT: case EINVAL: case ENOENT: case ENOMEM:
		return true;
	}
	if (call >= sizeof(fuzz_errors) / sizeof(fuzz_errors[0]))
		return false;
	if (unknown && error == E2BIG)
		return true;
	for (const int *own = fuzz_errors[call]; *own; own++) {
		if (*own == error)
			return true;
	}
	return false;
}

/* Every request goes through here: sometimes larger or smaller than the structure, rarely with a bad pointer. */
static inline int fuzz_call(struct fuzzer *f, int fd, unsigned long request, void *args, size_t size)
{
	uint8_t grown[512] = { 0 };
	size_t use = one_in(f, 24) ? below(f, sizeof(grown)) : size;
	unsigned long sized = _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), use);
	bool unknown = use > size && one_in(f, 2);
	int ret;

	memcpy(grown, args, size);
	if (unknown)
		grown[size + below(f, use - size)] = roll(f);
	ret = npu_ioctl(fd, sized, one_in(f, 64) ? (void *)some_pointer(f, grown) : grown);
	memcpy(args, grown, size);

	f->calls[_IOC_NR(request)]++;
	f->good[_IOC_NR(request)] += !ret;
	if (!fuzz_documented(request, unknown, -ret)) {
		f->bad = ret;
		f->bad_request = request;
	}
	return ret;
}

#define CALL(f, fd, request, args)	fuzz_call(f, fd, request, args, sizeof(*(args)))

#endif
