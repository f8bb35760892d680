// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Events
 *
 * A file that asked for events has a number of them made ahead, with room reserved in DRM's list,
 * so that sending one allocates nothing and waits for nobody: it may be done with a queue's lock
 * held, while fences wait, and in reclaim.  What finds no spare event is counted, and the next
 * event tells.  Reading events makes new ones.
 */

#include <linux/ktime.h>
#include <linux/sched.h>

#include <drm/drm_file.h>
#include <drm/npuedge_accel.h>

#include "npuedge_device.h"
#include "npuedge_drv.h"
#include "npuedge_event.h"
#include "npuedge_slab.h"

#define NPUEDGE_EVENT_TYPES	(DRM_NPUEDGE_EVENTS_MASK(DRM_NPUEDGE_EVENT_RESET) | \
				 DRM_NPUEDGE_EVENTS_MASK(DRM_NPUEDGE_EVENT_QUEUE_LOST) | \
				 DRM_NPUEDGE_EVENTS_MASK(DRM_NPUEDGE_EVENT_MEMORY_PRESSURE))

/**
 * struct npuedge_event - event that was, or may be, sent
 */
struct npuedge_event {
	/** @base: DRM's part, first because DRM frees it */
	struct drm_pending_event base;
	/** @event: what user space reads */
	struct drm_npuedge_event event;
};

static_assert(!offsetof(struct npuedge_event, base));
static_assert(offsetof(struct drm_npuedge_event, length) == offsetof(struct drm_event, length));

/**
 * npuedge_event_init() - prepare a device for sending events
 * @edev: device
 */
void npuedge_event_init(struct npuedge_device *edev)
{
	spin_lock_init(&edev->events.lock);
	INIT_LIST_HEAD(&edev->events.list);
}

/**
 * npuedge_listener_create() - make a listener, which hears nothing yet
 * @edev: device
 *
 * Return: the listener, ended by npuedge_listener_close(); NULL without memory.
 */
struct npuedge_listener *npuedge_listener_create(struct npuedge_device *edev)
{
	struct npuedge_listener *l;

	l = kzalloc_obj(*l, GFP_KERNEL_ACCOUNT);
	if (!l)
		return NULL;

	kref_init(&l->ref);
	l->edev = edev;
	INIT_LIST_HEAD(&l->spare);
	spin_lock_irq(&edev->events.lock);
	list_add_tail(&l->node, &edev->events.list);
	spin_unlock_irq(&edev->events.lock);
	return l;
}

static void npuedge_listener_release(struct kref *ref)
{
	kfree(container_of(ref, struct npuedge_listener, ref));
}

/**
 * npuedge_listener_get() - take a reference
 * @l: listener, or NULL
 *
 * Return: @l.
 */
struct npuedge_listener *npuedge_listener_get(struct npuedge_listener *l)
{
	if (l)
		kref_get(&l->ref);
	return l;
}

/**
 * npuedge_listener_put() - drop a reference
 * @l: listener, or NULL; any context
 */
void npuedge_listener_put(struct npuedge_listener *l)
{
	if (l)
		kref_put(&l->ref, npuedge_listener_release);
}

/**
 * npuedge_listener_close() - the file goes away
 * @l: listener; the caller's reference is dropped
 *
 * Queues of the file may outlive it; what they tell is not heard any more.
 */
void npuedge_listener_close(struct npuedge_listener *l)
{
	struct npuedge_device *edev = l->edev;
	struct drm_pending_event *e, *tmp;
	LIST_HEAD(spare);

	spin_lock_irq(&edev->events.lock);
	list_del_init(&l->node);
	list_splice_init(&l->spare, &spare);
	l->mask = 0;
	spin_unlock_irq(&edev->events.lock);

	/* DRM has taken them off its list of pending events, and freed those that were sent. */
	list_for_each_entry_safe(e, tmp, &spare, link)
		kfree(container_of(e, struct npuedge_event, base));
	npuedge_listener_put(l);
}

/* Make one event; its room counts against the file's. */
static int npuedge_listener_add_spare(struct npuedge_listener *l, struct drm_file *file)
{
	struct npuedge_device *edev = l->edev;
	struct npuedge_event *e;
	int ret;

	e = kzalloc_obj(*e, GFP_KERNEL_ACCOUNT);
	if (!e)
		return -ENOMEM;

	e->event.length = sizeof(e->event);
	ret = drm_event_reserve_init(&edev->base, file, &e->base, (struct drm_event *)&e->event);
	if (ret) {
		kfree(e);
		return ret;
	}

	spin_lock_irq(&edev->events.lock);
	list_add_tail(&e->base.link, &l->spare);
	spin_unlock_irq(&edev->events.lock);
	return 0;
}

/* Take the right to make one more event. */
static bool npuedge_listener_count(struct npuedge_listener *l)
{
	bool room;

	spin_lock_irq(&l->edev->events.lock);
	room = l->total < NPUEDGE_EVENTS;
	l->total += room;
	spin_unlock_irq(&l->edev->events.lock);
	return room;
}

static void npuedge_listener_uncount(struct npuedge_listener *l, u32 count)
{
	spin_lock_irq(&l->edev->events.lock);
	l->total -= min(l->total, count);
	spin_unlock_irq(&l->edev->events.lock);
}

static int npuedge_listener_refill(struct npuedge_listener *l, struct drm_file *file)
{
	int ret = 0;

	while (!ret && npuedge_listener_count(l)) {
		ret = npuedge_listener_add_spare(l, file);
		if (ret)
			npuedge_listener_uncount(l, 1);
	}
	return ret;
}

/**
 * npuedge_listener_set_mask() - choose what a file hears
 * @l: its listener
 * @file: file
 * @mask: DRM_NPUEDGE_EVENTS_MASK() of each type
 *
 * Return: 0, -EINVAL for types that do not exist, -ENOMEM.
 */
int npuedge_listener_set_mask(struct npuedge_listener *l, struct drm_file *file, u32 mask)
{
	int ret = 0;

	if (mask & ~NPUEDGE_EVENT_TYPES)
		return -EINVAL;
	if (mask)
		ret = npuedge_listener_refill(l, file);
	if (ret)
		return ret;

	spin_lock_irq(&l->edev->events.lock);
	l->mask = mask;
	spin_unlock_irq(&l->edev->events.lock);
	return 0;
}

static void npuedge_event_send_locked(struct npuedge_listener *l, u32 type, u32 object, u64 value)
{
	struct npuedge_event *e;

	lockdep_assert_held(&l->edev->events.lock);

	if (!(l->mask & DRM_NPUEDGE_EVENTS_MASK(type)))
		return;

	e = list_first_entry_or_null(&l->spare, struct npuedge_event, base.link);
	if (!e) {
		l->dropped++;
		return;
	}

	list_del_init(&e->base.link);
	e->event.type = type;
	e->event.time_ns = ktime_get_ns();
	e->event.object = object;
	e->event.value = value;
	e->event.dropped = l->dropped;
	l->dropped = 0;
	drm_send_event(&l->edev->base, &e->base);
}

/**
 * npuedge_event_send() - tell all files that want to know
 * @edev: device
 * @type: enum drm_npuedge_event_type
 * @object: as the type says
 * @value: as the type says
 *
 * Any context but a hard interrupt's; allocates nothing.
 */
void npuedge_event_send(struct npuedge_device *edev, u32 type, u32 object, u64 value)
{
	struct npuedge_listener *l;
	unsigned long flags;

	spin_lock_irqsave(&edev->events.lock, flags);
	list_for_each_entry(l, &edev->events.list, node)
		npuedge_event_send_locked(l, type, object, value);
	spin_unlock_irqrestore(&edev->events.lock, flags);
}

/**
 * npuedge_event_send_to() - tell one file, if it wants to know
 * @l: listener of the file, or NULL
 * @type: enum drm_npuedge_event_type
 * @object: as the type says
 * @value: as the type says
 *
 * As npuedge_event_send().
 */
void npuedge_event_send_to(struct npuedge_listener *l, u32 type, u32 object, u64 value)
{
	unsigned long flags;

	if (!l)
		return;

	spin_lock_irqsave(&l->edev->events.lock, flags);
	npuedge_event_send_locked(l, type, object, value);
	spin_unlock_irqrestore(&l->edev->events.lock, flags);
}

/**
 * npuedge_event_read() - read() of the device file
 * @filp: file
 * @buffer: user memory
 * @count: bytes of it
 * @offset: not used
 *
 * Return: bytes of whole events, or a negative errno.
 */
ssize_t npuedge_event_read(struct file *filp, char __user *buffer, size_t count, loff_t *offset)
{
	struct drm_file *file = filp->private_data;
	struct npuedge_file *f = file->driver_priv;
	ssize_t ret = drm_read(filp, buffer, count, offset);

	if (ret > 0) {
		npuedge_listener_uncount(f->listener, ret / sizeof(struct drm_npuedge_event));
		/* If there is no memory, later events are dropped and counted. */
		npuedge_listener_refill(f->listener, file);
	}
	return ret;
}
