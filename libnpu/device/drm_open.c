// SPDX-License-Identifier: MIT
/* Finding the driver's device node and reading what it says about the chip. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/drm.h"
#include "error.h"
#include "ne1_regs.h"

#define DRIVER_NAME	"npuedge"

/* Is @fd a DRM device of our driver?  Its uAPI version goes to @major and @minor. */
static bool is_npuedge(int fd, int *major, int *minor)
{
	char name[sizeof(DRIVER_NAME)] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) };

	if (npu_drm_ioctl(fd, DRM_IOCTL_VERSION, &version))
		return false;
	/* The kernel stores the full length, whatever fitted. */
	if (version.name_len != strlen(DRIVER_NAME) ||
	    memcmp(name, DRIVER_NAME, strlen(DRIVER_NAME)) != 0)
		return false;
	*major = version.version_major;
	*minor = version.version_minor;
	return true;
}

static npu_status open_node(const char *path, int *out)
{
	int major, minor, fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return npu_fail(NPU_ERR_NO_DEVICE, "%s: %s", path, strerror(errno));
	if (!is_npuedge(fd, &major, &minor)) {
		close(fd);
		return npu_fail(NPU_ERR_NO_DEVICE, "%s: not a device of driver %s", path,
				DRIVER_NAME);
	}
	if (major != DRM_NPUEDGE_VERSION_MAJOR) {
		close(fd);
		return npu_fail(NPU_ERR_NO_DEVICE, "%s: driver interface %d.%d, need %d.x", path,
				major, minor, DRM_NPUEDGE_VERSION_MAJOR);
	}
	*out = fd;
	return NPU_OK;
}

/* First node of our driver.  A node that cannot be opened is only worth a word if none else fits.
 */
static npu_status find_node(char *path, size_t path_len, int *out)
{
	npu_status status = NPU_ERR_NO_DEVICE;
	char why[200] = "";
	glob_t nodes;
	size_t i;

	if (glob("/dev/accel/accel*", 0, NULL, &nodes))
		return npu_fail(NPU_ERR_NO_DEVICE, "no NPU: there is no /dev/accel/accel*");
	for (i = 0; i < nodes.gl_pathc && status; i++) {
		status = open_node(nodes.gl_pathv[i], out);
		if (status)
			snprintf(why, sizeof(why), "%s", npu_error_message());
		else
			snprintf(path, path_len, "%s", nodes.gl_pathv[i]);
	}
	globfree(&nodes);
	if (status)
		return npu_fail(status, "no NPU: %s", why);
	return NPU_OK;
}

static npu_status read_chip(struct drm_device *dev)
{
	struct npu_chip_info *chip = &dev->base.chip;
	struct drm_npuedge_chip_info info;
	npu_status status = npu_drm_query(&dev->base, DRM_NPUEDGE_QUERY_CHIP, &info, sizeof(info),
					  "query of the chip");

	if (status)
		return status;
	if (info.contract_version >> 16 != NE1_VERSION_MAJOR)
		return npu_fail(NPU_ERR_NO_DEVICE, "%s: NE1 contract %u.%u, need %u.x",
				dev->base.name, info.contract_version >> 16,
				info.contract_version & 0xffff, NE1_VERSION_MAJOR);
	chip->contract_version = info.contract_version;
	chip->cores = info.cores;
	chip->sram_bytes = info.sram_bytes;
	chip->macs_per_cycle = info.macs_per_cycle;
	chip->vx_lanes = info.vx_lanes;
	chip->formats = info.formats;
	chip->freq_max_khz = info.freq_max_khz;
	chip->dram_bw_mbps = info.dram_bw_mbps;
	chip->va_start = info.va_start;
	chip->va_end = info.va_end;
	snprintf(chip->name, sizeof(chip->name), "%.*s", (int)sizeof(info.name), info.name);
	return NPU_OK;
}

/* A driver before 1.4 does not say it, and those have pages of NPU_PAGE. */
static npu_status read_page(struct drm_device *dev, int minor)
{
	struct drm_npuedge_limits limits = { 0 };
	npu_status status = NPU_OK;

	if (minor >= 4)
		status = npu_drm_query(&dev->base, DRM_NPUEDGE_QUERY_LIMITS, &limits,
				       sizeof(limits), "query of limits");
	dev->base.page = limits.bind_align ? limits.bind_align : NPU_PAGE;
	return status;
}

npu_status npu_drm_open(const char *path, npu_device **out)
{
	struct drm_device *dev;
	npu_status status;
	int fd = -1, major, minor = 0;
	char found[80];

	if (path && strlen(path) >= sizeof(found))
		return npu_fail(NPU_ERR_INVALID, "device path '%.60s...': longer than %zu bytes",
				path, sizeof(found) - 1);
	if (path)
		status = open_node(strcpy(found, path), &fd);
	else
		status = find_node(found, sizeof(found), &fd);
	if (status)
		return status;
	dev = calloc(1, sizeof(*dev));
	if (!dev) {
		close(fd);
		return npu_fail(NPU_ERR_NOMEM, "device %s: no memory", found);
	}
	dev->fd = fd;
	dev->rerun = is_npuedge(fd, &major, &minor) && minor >= 1;
	dev->base.ops = &npu_drm_ops;
	snprintf(dev->base.name, sizeof(dev->base.name), "drm:%s", found);
	pthread_mutex_init(&dev->base.lock, NULL);
	pthread_mutex_init(&dev->pool_lock, NULL);
	status = read_chip(dev);
	status = status ? status : read_page(dev, minor);
	if (status) {
		npu_device_close(&dev->base);
		return status;
	}
	*out = &dev->base;
	return NPU_OK;
}
