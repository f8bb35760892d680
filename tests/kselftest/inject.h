/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arms faults of the device model from the guest, through its debug window (npusim --debug-window; the
 * registers can be mapped when the kernel was booted with iomem=relaxed).  On a device without one, real
 * or modelled, inject_open() says so and the test skips:
 *
 *	struct npu_inject inj;
 *
 *	if (inject_open(&inj))
 *		SKIP(return, INJECT_ABSENT);
 *	inject_begin(&inj, NPUSIM_IRQ_LOST);
 *	inject_arg(&inj, 0, 0);			// vector 0
 *	inject_count(&inj, 3);
 *	ASSERT_EQ(0, inject_arm(&inj));
 *	...
 *	EXPECT_EQ(3, inject_fired(&inj, NPUSIM_IRQ_LOST));
 *	inject_close(&inj);			// disarms everything
 *
 * npusim(1) lists the faults with the order of their arguments.  One thread at a time.
 */
#ifndef NPUEDGE_SELFTEST_INJECT_H
#define NPUEDGE_SELFTEST_INJECT_H

#include <stdbool.h>

#if __has_include("../../tools/npusim/debug_window.h")
#include "../../tools/npusim/debug_window.h"
#else
#include "debug_window.h"	/* copied beside the tests */
#endif
#include "debugfs.h"

#define INJECT_ABSENT	"no debug window (npusim --debug-window, iomem=relaxed)"
#define INJECT_ANY	UINT64_MAX

struct npu_inject {
	volatile uint32_t *window;
};

/* The PCI function, whether the driver is bound to it or not. */
static inline int inject_slot(char *path, size_t size)
{
	char slot[64], id[128];
	glob_t found;
	int ret = -ENODEV;

	if (!npu_slot(slot, sizeof(slot)) && !strstr(slot, ".npu")) {
		snprintf(path, size, "/sys/bus/pci/devices/%s", slot);
		return 0;
	}
	if (glob("/sys/bus/pci/devices/*", 0, NULL, &found))
		return -ENODEV;
	for (size_t i = 0; i < found.gl_pathc && ret; i++) {
		unsigned int vendor = 0, device = 0;
		FILE *file;

		snprintf(id, sizeof(id), "%s/vendor", found.gl_pathv[i]);
		file = fopen(id, "r");
		if (file && fscanf(file, "%x", &vendor) != 1)
			vendor = 0;
		if (file)
			fclose(file);
		snprintf(id, sizeof(id), "%s/device", found.gl_pathv[i]);
		file = fopen(id, "r");
		if (file && fscanf(file, "%x", &device) != 1)
			device = 0;
		if (file)
			fclose(file);
		if (vendor == NE1_PCI_VENDOR && device == NE1_PCI_DEVICE) {
			snprintf(path, size, "%s", found.gl_pathv[i]);
			ret = 0;
		}
	}
	globfree(&found);
	return ret;
}

static inline uint32_t inject_read(struct npu_inject *inj, uint32_t offset)
{
	return inj->window[offset / 4];
}

static inline uint64_t inject_read64(struct npu_inject *inj, uint32_t lo)
{
	uint64_t low = inject_read(inj, lo);

	return low | (uint64_t)inject_read(inj, lo + 4) << 32;
}

static inline void inject_write(struct npu_inject *inj, uint32_t offset, uint32_t value)
{
	inj->window[offset / 4] = value;
}

static inline void inject_write64(struct npu_inject *inj, uint32_t lo, uint64_t value)
{
	inject_write(inj, lo, (uint32_t)value);
	inject_write(inj, lo + 4, value >> 32);
}

static inline void inject_unmap(struct npu_inject *inj)
{
	uintptr_t start = (uintptr_t)inj->window & ~(uintptr_t)(getpagesize() - 1);

	munmap((void *)start, (uintptr_t)inj->window + NPUSIM_WINDOW_SIZE - start);
	inj->window = NULL;
}

/* 0; -ENODEV: no device or it has no window; -EPERM and the like: the registers cannot be mapped. */
static inline int inject_open(struct npu_inject *inj)
{
	char path[192], resource[256];
	off_t page = NPUSIM_WINDOW & ~(off_t)(getpagesize() - 1);	/* of the CPU; it may begin before the window */
	uint8_t *map;
	int fd, ret;

	inj->window = NULL;
	ret = inject_slot(path, sizeof(path));
	if (ret)
		return ret;
	snprintf(resource, sizeof(resource), "%s/resource0", path);
	fd = open(resource, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	map = mmap(NULL, NPUSIM_WINDOW + NPUSIM_WINDOW_SIZE - page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, page);
	ret = map == MAP_FAILED ? -errno : 0;
	close(fd);
	if (ret)
		return ret;
	inj->window = (void *)(map + NPUSIM_WINDOW - page);
	if (inject_read(inj, NPUSIM_WIN_ID) == NPUSIM_WIN_MAGIC)
		return 0;
	inject_unmap(inj);
	return -ENODEV;
}

/* Disarms everything; fine for one that was not opened (window NULL). */
static inline void inject_close(struct npu_inject *inj)
{
	if (!inj->window)
		return;
	inject_write(inj, NPUSIM_WIN_CMD, NPUSIM_CMD_DISARM_ALL);
	inject_read(inj, NPUSIM_WIN_STATUS);	/* writes may be posted */
	inject_unmap(inj);
}

/* A client and the window, for a fixture: NULL, or what is missing.  Both may be closed in either case. */
static inline const char *inject_client(struct npu_inject *inj, struct npu_client *c)
{
	inj->window = NULL;
	if (npu_client_init(c))
		return "no npuedge device that works";
	return inject_open(inj) ? INJECT_ABSENT : NULL;
}

/* The window, and the time limit of jobs, which the fixture is going to change: NULL, or what is missing. */
static inline const char *inject_timeout(struct npu_inject *inj, long long *timeout)
{
	int fd = npu_open();

	inj->window = NULL;
	if (fd < 0)
		return "no npuedge device";
	close(fd);
	if (inject_open(inj))
		return INJECT_ABSENT;
	*timeout = npu_knob_number("job_timeout_ms");
	return *timeout < 0 ? "debugfs is not there (job_timeout_ms)" : NULL;
}

/* From the fault's defaults on; then what should differ; then inject_arm(). */
static inline void inject_begin(struct npu_inject *inj, enum npusim_fault fault)
{
	inject_write(inj, NPUSIM_WIN_FAULT, fault);
}

/* Argument @n, in the order in which npusim(1) has them. */
static inline void inject_arg(struct npu_inject *inj, unsigned int n, uint64_t value)
{
	inject_write64(inj, NPUSIM_WIN_ARG_LO(n), value);
}

static inline void inject_after(struct npu_inject *inj, uint64_t events)
{
	inject_write64(inj, NPUSIM_WIN_AFTER_LO, events);
}

/* 0: until disarmed */
static inline void inject_count(struct npu_inject *inj, uint64_t count)
{
	inject_write64(inj, NPUSIM_WIN_COUNT_LO, count);
}

static inline void inject_duration_us(struct npu_inject *inj, uint32_t us)
{
	inject_write(inj, NPUSIM_WIN_DURATION, us);
}

/* Chance of a firing per event, in millionths; the same seed gives the same firings, 0: that of all. */
static inline void inject_chance(struct npu_inject *inj, uint32_t ppm, uint64_t seed)
{
	inject_write(inj, NPUSIM_WIN_PROB, ppm);
	inject_write64(inj, NPUSIM_WIN_SEED_LO, seed);
}

/* Of faults without events of their own: what fires them.  @key: INJECT_ANY or, say, the queue. */
static inline void inject_on(struct npu_inject *inj, enum npusim_on on, uint64_t key)
{
	inject_write(inj, NPUSIM_WIN_ON, on);
	inject_write64(inj, NPUSIM_WIN_KEY_LO, key);
}

/* 0, or -EINVAL when the model refuses what was written. */
static inline int inject_arm(struct npu_inject *inj)
{
	inject_write(inj, NPUSIM_WIN_CMD, NPUSIM_CMD_ARM);
	return inject_read(inj, NPUSIM_WIN_STATUS) == NPUSIM_STATUS_OK ? 0 : -EINVAL;
}

/* With all defaults. */
static inline int inject_arm_fault(struct npu_inject *inj, enum npusim_fault fault)
{
	inject_begin(inj, fault);
	return inject_arm(inj);
}

static inline void inject_disarm(struct npu_inject *inj, enum npusim_fault fault)
{
	inject_write(inj, NPUSIM_WIN_FAULT, fault);
	inject_write(inj, NPUSIM_WIN_CMD, NPUSIM_CMD_DISARM);
	inject_read(inj, NPUSIM_WIN_STATUS);
}

static inline void inject_disarm_all(struct npu_inject *inj)
{
	inject_write(inj, NPUSIM_WIN_CMD, NPUSIM_CMD_DISARM_ALL);
	inject_read(inj, NPUSIM_WIN_STATUS);
}

/* Firings since it was armed. */
static inline uint64_t inject_fired(struct npu_inject *inj, enum npusim_fault fault)
{
	inject_write(inj, NPUSIM_WIN_FAULT, fault);
	return inject_read64(inj, NPUSIM_WIN_FIRED_LO);
}

static inline bool inject_armed(struct npu_inject *inj, enum npusim_fault fault)
{
	inject_write(inj, NPUSIM_WIN_FAULT, fault);
	return inject_read(inj, NPUSIM_WIN_STATE) & 1;
}

/* Waits for @n firings, @ms * npu_slowness() at most, but no less than 10 s; true if they came. */
static inline bool inject_wait(struct npu_inject *inj, enum npusim_fault fault, uint64_t n,
			       unsigned int ms)
{
	unsigned int limit = (ms < 10000 ? 10000 : ms) * npu_slowness();

	for (unsigned int i = 0; i < limit; i += 5) {
		if (inject_fired(inj, fault) >= n)
			return true;
		usleep(5000);
	}
	return inject_fired(inj, fault) >= n;
}

#endif
