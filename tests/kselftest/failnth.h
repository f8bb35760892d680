/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Failing the n-th site of a call: fail-nth, Documentation/fault-injection/fault-injection.rst.  Sites are allocations
 * of slab objects and pages, copies from and to user memory, and the driver's own fault attributes.
 */
#ifndef NPUEDGE_SELFTEST_FAILNTH_H
#define NPUEDGE_SELFTEST_FAILNTH_H

#include <stdbool.h>

#include "debugfs.h"

#define NTH_MOST	40000	/* sites of one call: far more than there are */

/* Attributes below @pattern shall not print a stack trace for each failure. */
static inline void nth_hush(const char *pattern)
{
	glob_t found;

	if (!glob(pattern, 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			npu_write_text(found.gl_pathv[i], "0");
	}
	globfree(&found);
}

/* Where a function of the kernel begins and ends; 0 or -errno. */
static inline int nth_function(const char *name, unsigned long long *start, unsigned long long *end)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long at;
	char symbol[256];

	*start = 0;
	*end = ~0ull;
	if (!file)
		return -errno;
	while (fscanf(file, "%llx %*c %255s%*[^\n]", &at, symbol) == 2) {
		if (!strcmp(symbol, name))
			*start = at;
	}
	rewind(file);
	/* in an order of their own */
	while (*start && fscanf(file, "%llx %*c %255s%*[^\n]", &at, symbol) == 2) {
		if (at > *start && at < *end)
			*end = at;
	}
	fclose(file);
	return *start ? 0 : -ENOENT;
}

/*
 * Allocations that do not count as sites, as what cannot do without them is the kernel's: drm_minor_alloc() puts an
 * error pointer when drm_sysfs_minor_alloc() has failed.
 */
static inline void nth_spare_minor(const char *attribute)
{
	unsigned long long start, end;
	char path[96], text[32];

	if (nth_function("drm_sysfs_minor_alloc", &start, &end))
		return;
	snprintf(path, sizeof(path), "%s/stacktrace-depth", attribute);
	npu_write_text(path, "32");
	snprintf(path, sizeof(path), "%s/reject-start", attribute);
	snprintf(text, sizeof(text), "%#llx", start);
	npu_write_text(path, text);
	snprintf(path, sizeof(path), "%s/reject-end", attribute);
	snprintf(text, sizeof(text), "%#llx", end);
	npu_write_text(path, text);
}

/* Opens the calling thread's control file; -ENOENT if the kernel cannot fail allocations. */
static inline int nth_open(void)
{
	int armed = 0;

	/* allocations that may wait, and single pages, too */
	armed += !npu_write_text("/sys/kernel/debug/failslab/ignore-gfp-wait", "0");
	armed += !npu_write_text("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "0");
	npu_write_text("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "0");
	npu_write_text("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	nth_spare_minor("/sys/kernel/debug/failslab");
	nth_spare_minor("/sys/kernel/debug/fail_page_alloc");
	nth_hush("/sys/kernel/debug/fail*/verbose");
	nth_hush("/sys/kernel/debug/accel/*/fail_*/verbose");
	return armed ? open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC) : -ENOENT;
}

/* Whether an attribute of the driver does not count as a site: it is to be called from where nothing is. */
static inline void nth_mute(const char *attribute, bool mute)
{
	char knob[64];

	snprintf(knob, sizeof(knob), "%s/stacktrace-depth", attribute);
	npu_knob_write(knob, mute ? "0" : "32");
	snprintf(knob, sizeof(knob), "%s/require-start", attribute);
	npu_knob_write(knob, mute ? "1" : "0");
}

static inline int nth_arm(int control, int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	return pwrite(control, text, len, 0) == len ? 0 : -errno;
}

/*
 * What is left of n: 0 if a site failed.  To copy that to us, or the 0 that disarms from us, is a site as well: if it
 * is the one that fails, nothing was left but it.
 */
static inline int nth_disarm(int control)
{
	char text[16] = "";
	int left = 1;

	if (pread(control, text, sizeof(text) - 1, 0) > 0)
		left = atoi(text);
	nth_arm(control, 0);
	return left;
}

#endif
