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

/*
 * Where a function of the kernel begins and ends; 0 or -errno.  To print all symbols takes the kernel seconds; those of
 * modules are in an order of their own.
 */
static inline int nth_function(const char *name, unsigned long long *start, unsigned long long *end)
{
	char *text = npu_read_file("/proc/kallsyms", NULL), *line, *next;
	char word[72];
	size_t len = snprintf(word, sizeof(word), " %s", name);

	*start = 0;
	*end = ~0ull;
	for (line = text; line && (line = strstr(line, word)); line += len) {
		if (line[len] != '\n' && line[len] != '\t')
			continue;
		while (line > text && line[-1] != '\n')
			line--;
		*start = strtoull(line, NULL, 16);
		break;
	}
	for (line = text; *start && line && *line; line = next ? next + 1 : NULL) {
		unsigned long long at = strtoull(line, NULL, 16);

		if (at > *start && at < *end)
			*end = at;
		next = strchr(line, '\n');
	}
	free(text);
	return *start ? 0 : -ENOENT;
}

/*
 * Allocations that do not count as sites, as what cannot do without them is the kernel's: drm_minor_alloc() puts an
 * error pointer when drm_sysfs_minor_alloc() has failed.  To be called before a device is made while sites fail.
 */
static inline void nth_spare_minor(void)
{
	static const char *const attributes[] = { "failslab", "fail_page_alloc" };
	unsigned long long start, end;
	char path[96], text[32];

	if (nth_function("drm_sysfs_minor_alloc", &start, &end))
		return;
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/stacktrace-depth", attributes[i]);
		npu_write_text(path, "32");
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/reject-start", attributes[i]);
		snprintf(text, sizeof(text), "%#llx", start);
		npu_write_text(path, text);
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/reject-end", attributes[i]);
		snprintf(text, sizeof(text), "%#llx", end);
		npu_write_text(path, text);
	}
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
