/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tests that take the driver off its device share.  The device is a PCI function, whose driver makes a
 * platform device for the driver proper to bind to, or one of the device tree.
 */
#ifndef NPUEDGE_SELFTEST_SYSFS_H
#define NPUEDGE_SELFTEST_SYSFS_H

#include <glob.h>
#include <libgen.h>
#include <stdlib.h>

#include "npuedge.h"

#define NPU_PCI_DRIVER	"/sys/bus/pci/drivers/npuedge-pci"
#define NPU_SOC_DRIVER	"/sys/bus/platform/drivers/npuedge"

/* Pages of 2 MiB, as the NPU's big leaves: what a kernel calls huge unless a size is named may be larger. */
#define NPU_BIG_PAGES	"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
#define NPU_MFD_BIG	(MFD_HUGETLB | 21u << 26)

static inline int npu_write_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, data, size) == (ssize_t)size ? 0 : -errno;
	close(fd);
	return ret;
}

static inline int npu_write_text(const char *path, const char *text)
{
	return npu_write_file(path, text, strlen(text));
}

/* First name that matches, or -ENOENT. */
static inline int npu_glob(const char *pattern, char *path, size_t size)
{
	glob_t found;
	int ret = -ENOENT;

	if (!glob(pattern, 0, NULL, &found) && found.gl_pathc) {
		snprintf(path, size, "%s", found.gl_pathv[0]);
		ret = 0;
	}
	globfree(&found);
	return ret;
}

/* Name of the PCI function that the driver is bound to, such as 0000:01:00.0, or of the device, such as 10000000.npu. */
static inline int npu_slot(char *slot, size_t size)
{
	char path[256];
	int ret = npu_glob(NPU_PCI_DRIVER "/0000:*", path, sizeof(path));

	if (ret)
		ret = npu_glob(NPU_SOC_DRIVER "/*.npu", path, sizeof(path));
	if (!ret)
		snprintf(slot, size, "%s", basename(path));
	return ret;
}

static inline int npu_unbind(const char *slot)
{
	return npu_write_text(strstr(slot, ".npu") ? NPU_SOC_DRIVER "/unbind" : NPU_PCI_DRIVER "/unbind", slot);
}

static inline int npu_bind(const char *slot)
{
	return npu_write_text(strstr(slot, ".npu") ? NPU_SOC_DRIVER "/bind" : NPU_PCI_DRIVER "/bind", slot);
}

/* Opens the device as soon as it is there, for at most 5 s (times npu_slowness()). */
static inline int npu_open_soon(void)
{
	int fd = npu_open();

	for (int i = 0; fd < 0 && i < 500 * npu_slowness(); i++) {
		usleep(10000);
		fd = npu_open();
	}
	return fd;
}

/* 0 if a fresh client's job passes. */
static inline int npu_device_works(void)
{
	struct npu_client c;
	int ret, fd = npu_open_soon();

	if (fd < 0)
		return fd;
	close(fd);
	ret = npu_client_init(&c);
	if (ret)
		return ret;
	ret = npu_copy_word(&c, 0x1234);
	npu_client_fini(&c);
	return ret;
}

/* Waits as long as NPU_WAIT_NS for a sync_file; its status as npu_sync_file_status() has it, or -ETIME. */
static inline int npu_wait_file(int file)
{
	struct pollfd p = { .fd = file, .events = POLLIN };

	return poll(&p, 1, NPU_WAIT_NS / 1000000 * npu_slowness()) == 1 ? npu_sync_file_status(file) : -ETIME;
}

#endif
