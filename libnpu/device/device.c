// SPDX-License-Identifier: MIT
/* Opening and asking devices; which back end a name means. */
#include <stdlib.h>
#include <string.h>

#include "device/backend.h"
#include "error.h"

/* Does @name mean back end @kind?  Then *@arg is what follows the colon, or NULL. */
static bool is_kind(const char *name, const char *kind, const char **arg)
{
	size_t len = strlen(kind);

	if (strncmp(name, kind, len) != 0 || (name[len] && name[len] != ':'))
		return false;
	*arg = name[len] == ':' && name[len + 1] ? name + len + 1 : NULL;
	return true;
}

npu_status npu_device_open(const char *name, npu_device **out)
{
	const char *arg;

	if (!out)
		return npu_fail(NPU_ERR_INVALID, "npu_device_open: no place for the device");
	*out = NULL;
	if (!name)
		name = getenv("NPU_DEVICE");
	if (!name || !*name)
		name = "drm";
	if (is_kind(name, "drm", &arg))
		return npu_drm_open(arg, out);
	if (is_kind(name, "sim", &arg))
		return npu_sim_open(arg ? arg : "edge", out);
	return npu_fail(NPU_ERR_INVALID, "device '%s': neither drm[:PATH] nor sim[:CHIP]", name);
}

void npu_device_close(npu_device *dev)
{
	if (!dev)
		return;
	npu_vm_del(dev->vm);
	pthread_mutex_destroy(&dev->lock);
	dev->ops->close(dev);
}

const char *npu_device_name(const npu_device *dev)
{
	return dev->name;
}

const struct npu_chip_info *npu_device_chip(const npu_device *dev)
{
	return &dev->chip;
}

npu_status npu_device_telemetry(npu_device *dev, struct npu_telemetry *out)
{
	if (!dev || !out)
		return npu_fail(NPU_ERR_INVALID, "npu_device_telemetry: no device or no place");
	memset(out, 0, sizeof(*out));
	return dev->ops->telemetry(dev, out);
}

npu_status npu_device_vm(npu_device *dev, npu_vm **out)
{
	npu_status status = NPU_OK;

	if (!dev || !out)
		return npu_fail(NPU_ERR_INVALID, "npu_device_vm: no device or no place");
	pthread_mutex_lock(&dev->lock);
	if (!dev->vm)
		status = npu_vm_new(dev, &dev->vm);
	*out = dev->vm;
	pthread_mutex_unlock(&dev->lock);
	return status;
}
