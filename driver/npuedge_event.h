/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_EVENT_H
#define NPUEDGE_EVENT_H

#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>

struct drm_file;
struct npuedge_device;

/** NPUEDGE_EVENTS - unread events kept per open file */
#define NPUEDGE_EVENTS		64

/**
 * struct npuedge_listener - what an open file hears of the device
 *
 * All but @ref and @edev is protected by the lock of the device's events.
 */
struct npuedge_listener {
	/** @ref: references: the file, each of its queues */
	struct kref ref;
	/** @edev: device */
	struct npuedge_device *edev;
	/** @node: entry of the device's list of listeners; empty once the file is closed */
	struct list_head node;
	/** @spare: events to be sent, by their base.link; DRM has reserved room for them */
	struct list_head spare;
	/** @total: events that exist: spare ones, and sent ones that were not read */
	u32 total;
	/** @dropped: events that found no spare one since the last that did */
	u32 dropped;
	/** @mask: types that are sent, DRM_NPUEDGE_EVENTS_MASK() */
	u32 mask;
};

void npuedge_event_init(struct npuedge_device *edev);
struct npuedge_listener *npuedge_listener_create(struct npuedge_device *edev);
struct npuedge_listener *npuedge_listener_get(struct npuedge_listener *l);
void npuedge_listener_put(struct npuedge_listener *l);
void npuedge_listener_close(struct npuedge_listener *l);
int npuedge_listener_set_mask(struct npuedge_listener *l, struct drm_file *file, u32 mask);

void npuedge_event_send(struct npuedge_device *edev, u32 type, u32 object, u64 value);
void npuedge_event_send_to(struct npuedge_listener *l, u32 type, u32 object, u64 value);
ssize_t npuedge_event_read(struct file *filp, char __user *buffer, size_t count, loff_t *offset);

#endif
