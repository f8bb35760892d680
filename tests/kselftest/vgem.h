/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fences that a test signals when it likes, and a producer that others synchronise with implicitly: buffers of
 * vgem, the kernel's memory-only DRM device.  It signals on its own after 10 s.  Include after npuedge.h.
 */
#ifndef NPUEDGE_SELFTEST_VGEM_H
#define NPUEDGE_SELFTEST_VGEM_H

#include <drm/drm_mode.h>

/* drm/vgem_drm.h and linux/dma-buf.h, repeated because not every C library environment ships them */
struct vgem_fence_attach {
	uint32_t handle, flags, out_fence, pad;
};

struct vgem_fence_signal {
	uint32_t fence, flags;
};

struct vgem_sync_file {
	uint32_t flags;
	int32_t fd;
};

#define VGEM_WRITE		1u
#define VGEM_FENCE_ATTACH	DRM_IOWR(DRM_COMMAND_BASE + 0x1, struct vgem_fence_attach)
#define VGEM_FENCE_SIGNAL	DRM_IOW(DRM_COMMAND_BASE + 0x2, struct vgem_fence_signal)
#define VGEM_EXPORT_SYNC_FILE	_IOWR('b', 2, struct vgem_sync_file)
#define VGEM_SYNC_RW		3u

struct vgem {
	int fd;
	int dmabuf;
	uint32_t handle;
	uint32_t fence;
};

/* A buffer of @size bytes without a fence; -ENODEV if the kernel has no vgem. */
static inline int vgem_init(struct vgem *v, uint32_t size)
{
	struct drm_mode_create_dumb dumb = { .width = size / 4, .height = 1, .bpp = 32 };
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR };
	int ret;

	memset(v, 0, sizeof(*v));
	v->fd = npu_open_other("/dev/dri/card", "vgem");
	if (v->fd < 0)
		return v->fd;
	ret = npu_ioctl(v->fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb);
	if (ret)
		return ret;
	prime.handle = v->handle = dumb.handle;
	ret = npu_ioctl(v->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);
	v->dmabuf = prime.fd;
	return ret;
}

static inline void vgem_fini(struct vgem *v)
{
	if (v->fd <= 0)
		return;
	close(v->dmabuf);
	close(v->fd);	/* signals what it has not signalled */
}

/* Somebody begins to read (@flags 0) or write the buffer. */
static inline int vgem_begin(struct vgem *v, uint32_t flags)
{
	struct vgem_fence_attach attach = { .handle = v->handle, .flags = flags };
	int ret = npu_ioctl(v->fd, VGEM_FENCE_ATTACH, &attach);

	v->fence = attach.out_fence;
	return ret;
}

static inline int vgem_end(struct vgem *v)
{
	struct vgem_fence_signal signal = { .fence = v->fence };

	return npu_ioctl(v->fd, VGEM_FENCE_SIGNAL, &signal);
}

/* A binary syncobj of @fd with the fences of all users of @dmabuf; or -errno. */
static inline int vgem_syncobj(int fd, int dmabuf)
{
	struct vgem_sync_file file = { .flags = VGEM_SYNC_RW };
	struct drm_syncobj_handle import = {
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
	};
	int ret = npu_ioctl(dmabuf, VGEM_EXPORT_SYNC_FILE, &file);

	if (ret)
		return ret;
	ret = npu_syncobj_create(fd);
	if (ret > 0) {
		import.handle = ret;
		import.fd = file.fd;
		if (npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &import))
			ret = -EINVAL;
	}
	close(file.fd);
	return ret;
}

#endif
