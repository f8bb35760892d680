// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices that map dma-bufs of others in the direction that a test asks for: of the drivers in a guest none maps them
 * for writing only.  Each open of the file is a device; what it reads and writes is what is at its bus addresses, which
 * with swiotlb=force is its copy.  These are taken for addresses of memory, so there must be no IOMMU in front of it,
 * and it is the CPU that does it, so this is for emulated machines, whose caches do not matter.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "importer.h"

struct importer {
	struct mutex lock;	/* one call at a time */
	struct platform_device *device;
	struct dma_buf *dma_buf;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	enum dma_data_direction dir;
};

static void importer_unmap(struct importer *im)
{
	if (!im->dma_buf)
		return;
	dma_buf_unmap_attachment_unlocked(im->attach, im->sgt, im->dir);
	dma_buf_detach(im->dma_buf, im->attach);
	dma_buf_put(im->dma_buf);
	im->dma_buf = NULL;
}

static int importer_map(struct importer *im, const struct importer_map *map)
{
	struct dma_buf *dma_buf;
	int ret;

	if (im->dma_buf || map->direction > DMA_FROM_DEVICE)
		return -EINVAL;
	dma_buf = dma_buf_get(map->dmabuf);
	if (IS_ERR(dma_buf))
		return PTR_ERR(dma_buf);
	im->dir = map->direction;
	im->attach = dma_buf_attach(dma_buf, &im->device->dev);
	ret = PTR_ERR_OR_ZERO(im->attach);
	if (ret)
		goto err_put;
	im->sgt = dma_buf_map_attachment_unlocked(im->attach, im->dir);
	ret = PTR_ERR_OR_ZERO(im->sgt);
	if (ret)
		goto err_detach;
	im->dma_buf = dma_buf;
	return 0;

err_detach:
	dma_buf_detach(dma_buf, im->attach);
err_put:
	dma_buf_put(dma_buf);
	return ret;
}

static u32 *importer_find(struct importer *im, u32 offset)
{
	struct scatterlist *sg;
	unsigned int i;

	if (!im->dma_buf || offset % sizeof(u32))
		return NULL;
	for_each_sgtable_dma_sg(im->sgt, sg, i) {
		if (offset < sg_dma_len(sg))
			return phys_to_virt(sg_dma_address(sg) + offset);
		offset -= sg_dma_len(sg);
	}
	return NULL;
}

static long importer_access(struct importer *im, unsigned int cmd, struct importer_word *word)
{
	u32 *place = importer_find(im, word->offset);

	if (!place)
		return -EINVAL;
	if (cmd == IMPORTER_READ)
		word->value = READ_ONCE(*place);
	else
		WRITE_ONCE(*place, word->value);
	return 0;
}

static long importer_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct importer *im = file->private_data;
	void __user *user = (void __user *)arg;
	struct importer_word word;
	struct importer_map map;
	long ret = 0;

	mutex_lock(&im->lock);
	switch (cmd) {
	case IMPORTER_MAP:
		ret = copy_from_user(&map, user, sizeof(map)) ? -EFAULT : importer_map(im, &map);
		break;
	case IMPORTER_UNMAP:
		importer_unmap(im);
		break;
	case IMPORTER_READ:
	case IMPORTER_WRITE:
		ret = copy_from_user(&word, user, sizeof(word)) ? -EFAULT : importer_access(im, cmd, &word);
		if (!ret && copy_to_user(user, &word, sizeof(word)))
			ret = -EFAULT;
		break;
	default:
		ret = -ENOTTY;
	}
	mutex_unlock(&im->lock);
	return ret;
}

static int importer_open(struct inode *inode, struct file *file)
{
	struct importer *im = kzalloc(sizeof(*im), GFP_KERNEL);
	int ret;

	if (!im)
		return -ENOMEM;
	mutex_init(&im->lock);
	im->device = platform_device_register_simple("npuedge-importer", PLATFORM_DEVID_AUTO, NULL, 0);
	ret = PTR_ERR_OR_ZERO(im->device);
	if (ret) {
		kfree(im);
		return ret;
	}
	dma_coerce_mask_and_coherent(&im->device->dev, DMA_BIT_MASK(64));
	file->private_data = im;
	return 0;
}

static int importer_release(struct inode *inode, struct file *file)
{
	struct importer *im = file->private_data;

	importer_unmap(im);
	platform_device_unregister(im->device);
	kfree(im);
	return 0;
}

static const struct file_operations importer_fops = {
	.owner = THIS_MODULE,
	.open = importer_open,
	.release = importer_release,
	.unlocked_ioctl = importer_ioctl,
};

static struct miscdevice importer_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "npuedge-importer",
	.fops = &importer_fops,
};
module_misc_device(importer_misc);

/* MODULE_IMPORT_NS() takes a name before Linux 6.13, since then a string; this is what both become. */
MODULE_INFO(import_ns, "DMA_BUF");
MODULE_DESCRIPTION("Devices that use dma-bufs of others, for tests");
MODULE_LICENSE("GPL");
