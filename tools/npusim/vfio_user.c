// SPDX-License-Identifier: MIT
/*
 * The client is not trusted: every size is checked before it is used, what a message does not say
 * right gets an error reply, and a header that cannot be right ends the connection (there is no way
 * to find the next message).  File descriptors ride on the header; those that a handler does not
 * take are closed.
 */
#include "vfio_user.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <stdatomic.h>
#include <unistd.h>

#include "irq.h"
#include "log.h"
#include "usock.h"
#include "vfio_proto.h"

#define PAYLOAD_MAX	(SIM_VFIO_MAX_XFER + 4096)

struct message {
	struct vu_header hdr;
	uint32_t len;			/* of payload */
	int fds[SIM_VFIO_MAX_FDS];	/* -1: taken */
	unsigned int n_fds;
	bool too_many_fds;
};

struct sim_vfio {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const struct sim_vfio_ops *ops;
	void *ctx;
	int listener, conn, stop;
	pthread_mutex_t conn_lock;	/* conn is closed with it held */
	pthread_mutex_t send_lock;	/* one message at a time */
	atomic_bool negotiated;
	struct message msg;
	/* 8-byte aligned: the messages' structs are read in place. */
	_Alignas(8) uint8_t payload[PAYLOAD_MAX];
	_Alignas(8) uint8_t reply[PAYLOAD_MAX];
};

/* ---- Bytes ---- */

/* Waits for @events on the connection; false when told to stop. */
static bool wait_conn(struct sim_vfio *vfio, int fd, short events)
{
	struct pollfd p[2] = { { .fd = fd, .events = events },
			       { .fd = vfio->stop, .events = POLLIN } };

	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return false;
		if (p[1].revents)
			return false;
		if (p[0].revents)
			return true;
	}
}

static void take_fds(struct message *msg, struct msghdr *mh)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		unsigned int n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (unsigned int i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (msg->n_fds < SIM_VFIO_MAX_FDS) {
				msg->fds[msg->n_fds++] = fd;
			} else {
				msg->too_many_fds = true;
				close(fd);
			}
		}
	}
	if (mh->msg_flags & MSG_CTRUNC)
		msg->too_many_fds = true;
}

/* Exactly @len bytes, collecting descriptors on the way.  False: the connection is over. */
static bool receive(struct sim_vfio *vfio, void *buf, size_t len)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(SIM_VFIO_MAX_FDS * sizeof(int))];
	uint8_t *at = buf;

	while (len) {
		struct iovec iov = { .iov_base = at, .iov_len = len };
		struct msghdr mh = {
			.msg_iov = &iov, .msg_iovlen = 1,
			.msg_control = control, .msg_controllen = sizeof(control),
		};
		ssize_t n = recvmsg(vfio->conn, &mh, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			if (!wait_conn(vfio, vfio->conn, POLLIN))
				return false;
			continue;
		}
		if (n <= 0)
			return false;
		take_fds(&vfio->msg, &mh);
		at += n;
		len -= n;
	}
	return true;
}

static bool transmit(struct sim_vfio *vfio, const void *buf, size_t len)
{
	const uint8_t *at = buf;

	while (len) {
		ssize_t n = send(vfio->conn, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			if (!wait_conn(vfio, vfio->conn, POLLOUT))
				return false;
			continue;
		}
		if (n < 0)
			return false;
		at += n;
		len -= n;
	}
	return true;
}

static bool transmit_locked(struct sim_vfio *vfio, const void *buf, size_t len)
{
	bool sent;

	pthread_mutex_lock(&vfio->send_lock);
	sent = transmit(vfio, buf, len);
	pthread_mutex_unlock(&vfio->send_lock);
	return sent;
}

static void close_fds(struct message *msg)
{
	for (unsigned int i = 0; i < msg->n_fds; i++)
		if (msg->fds[i] >= 0)
			close(msg->fds[i]);
	msg->n_fds = 0;
}

/* ---- Commands: each returns the length of its reply's payload, or a negative errno ---- */

static const void *request(const struct sim_vfio *vfio, size_t size)
{
	return vfio->msg.len >= size ? vfio->payload : NULL;
}

static void *reply_payload(struct sim_vfio *vfio)
{
	return vfio->reply + sizeof(struct vu_header);
}

/* What this server can do, as long as it fits the room (the client's receive buffer is as big as
 * its request).
 */
static size_t write_capabilities(char *out, size_t room)
{
	static const char all[] =
		"{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":1048576,"
		"\"pgsizes\":4096,\"max_dma_maps\":65535,\"write_multiple\":true}}";
	static const char *const texts[] = {
		all,
		"{\"capabilities\":{\"max_msg_fds\":16}}",
		"{}",
	};

	for (unsigned int i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t len = strlen(texts[i]) + 1;

		if (len <= room) {
			memcpy(out, texts[i], len);
			return len;
		}
	}
	return 0;
}

static int do_version(struct sim_vfio *vfio)
{
	const struct vu_version *req = request(vfio, sizeof(*req));
	struct vu_version *rep = reply_payload(vfio);
	size_t room = vfio->msg.len - sizeof(*req);
	const char *text = (const char *)(req + 1);
	json_error_t error;
	json_t *json;

	if (!req)
		return -EINVAL;
	if (req->major != 0) {
		sim_log(SIM_LOG_ERROR, vfio->path, "client speaks vfio-user %u.%u, not 0.x",
			req->major, req->minor);
		return -ENOTSUP;
	}
	if (room) {
		if (text[room - 1])
			return -EINVAL;
		json = json_loads(text, 0, &error);
		if (!json) {
			sim_log(SIM_LOG_WARN, vfio->path, "capabilities of the client: %s",
				error.text);
			return -EINVAL;
		}
		json_decref(json);	/* nothing in it changes what we do */
	}
	*rep = (struct vu_version) { 0, 0 };
	vfio->negotiated = true;
	return sizeof(*rep) + write_capabilities((char *)(rep + 1), room);
}

static int do_dma_map(struct sim_vfio *vfio)
{
	const struct vu_dma_map *req = request(vfio, sizeof(*req));
	int fd;

	if (!req || vfio->msg.n_fds > 1)
		return -EINVAL;
	if (!(req->flags & (VU_DMA_READ | VU_DMA_WRITE)) ||
	    req->flags & ~(VU_DMA_READ | VU_DMA_WRITE | VU_DMA_MODES))
		return -EINVAL;
	fd = vfio->msg.n_fds ? vfio->msg.fds[0] : -1;
	return vfio->ops->dma_map(vfio->ctx, req->iova, req->size, fd, req->offset,
				  req->flags & VU_DMA_WRITE);
}

static int do_dma_unmap(struct sim_vfio *vfio)
{
	const struct vu_dma_unmap *req = request(vfio, sizeof(*req));
	int err = 0;

	if (!req || req->flags & ~VU_UNMAP_ALL)
		return -EINVAL;
	if (req->flags & VU_UNMAP_ALL)
		vfio->ops->dma_unmap_all(vfio->ctx);
	else
		err = vfio->ops->dma_unmap(vfio->ctx, req->iova, req->size);
	if (err)
		return err;
	memcpy(reply_payload(vfio), req, sizeof(*req));
	return sizeof(*req);
}

static int do_get_info(struct sim_vfio *vfio)
{
	const struct vu_device_info info = {
		.argsz = sizeof(info), .flags = VU_DEVICE_RESETS | VU_DEVICE_PCI,
		.regions = SIM_VFIO_REGIONS, .irqs = SIM_IRQ_INDICES,
	};

	if (!request(vfio, sizeof(uint32_t)))
		return -EINVAL;
	memcpy(reply_payload(vfio), &info, sizeof(info));
	return sizeof(info);
}

static int do_get_region_info(struct sim_vfio *vfio)
{
	const struct vu_region_info *req = request(vfio, sizeof(*req));
	struct vu_region_info info = { .argsz = sizeof(info) };

	if (!req || req->argsz < sizeof(info) || req->index >= SIM_VFIO_REGIONS)
		return -EINVAL;
	info.index = req->index;
	info.size = vfio->ops->region_size(vfio->ctx, req->index);
	if (info.size)
		info.flags = VU_REGION_READABLE | VU_REGION_WRITABLE;
	memcpy(reply_payload(vfio), &info, sizeof(info));
	return sizeof(info);
}

static int do_get_irq_info(struct sim_vfio *vfio)
{
	const struct vu_irq_info *req = request(vfio, sizeof(*req));
	struct vu_irq_info info = { .argsz = sizeof(info),
				    .flags = VU_IRQ_EVENTFD | VU_IRQ_NORESIZE };

	if (!req || req->argsz < sizeof(info) || req->index >= SIM_IRQ_INDICES)
		return -EINVAL;
	info.index = req->index;
	info.count = vfio->ops->irq_count(vfio->ctx, req->index);
	memcpy(reply_payload(vfio), &info, sizeof(info));
	return sizeof(info);
}

static int set_eventfds(struct sim_vfio *vfio, const struct vu_set_irqs *req)
{
	struct message *msg = &vfio->msg;
	int err = 0;

	if (msg->n_fds && msg->n_fds != req->count)
		return -EINVAL;
	for (uint32_t i = 0; i < req->count && !err; i++) {
		int fd = msg->n_fds ? msg->fds[i] : -1;

		if (msg->n_fds)
			msg->fds[i] = -1;
		err = vfio->ops->irq_set_eventfd(vfio->ctx, req->index, req->start + i, fd);
	}
	return err;
}

static int do_set_irqs(struct sim_vfio *vfio)
{
	const struct vu_set_irqs *req = request(vfio, sizeof(*req));
	const uint8_t *bools;
	uint32_t count;

	if (!req || req->index >= SIM_IRQ_INDICES)
		return -EINVAL;
	count = vfio->ops->irq_count(vfio->ctx, req->index);
	if (req->start > count || req->count > count - req->start)
		return -EINVAL;
	if ((req->flags & VU_SET_ACTION) != VU_SET_TRIGGER)
		return -EINVAL;		/* no index is maskable */
	bools = (const uint8_t *)(req + 1);
	switch (req->flags & VU_SET_DATA) {
	case VU_SET_EVENTFD:
		return set_eventfds(vfio, req);
	case VU_SET_NONE:
		if (!req->count)
			vfio->ops->irq_disable(vfio->ctx, req->index);
		for (uint32_t i = 0; i < req->count; i++)
			vfio->ops->irq_trigger(vfio->ctx, req->index, req->start + i);
		return 0;
	case VU_SET_BOOL:
		if (vfio->msg.len - sizeof(*req) < req->count)
			return -EINVAL;
		for (uint32_t i = 0; i < req->count; i++)
			if (bools[i])
				vfio->ops->irq_trigger(vfio->ctx, req->index, req->start + i);
		return 0;
	default:
		return -EINVAL;
	}
}

static bool access_ok(struct sim_vfio *vfio, uint64_t offset, uint32_t region, uint32_t count)
{
	uint64_t size;

	if (region >= SIM_VFIO_REGIONS || !count || count > SIM_VFIO_MAX_XFER)
		return false;
	size = vfio->ops->region_size(vfio->ctx, region);
	return offset < size && count <= size - offset;
}

static int do_region_read(struct sim_vfio *vfio)
{
	const struct vu_region_access *req = request(vfio, sizeof(*req));
	uint8_t *rep = reply_payload(vfio);

	if (!req || !access_ok(vfio, req->offset, req->region, req->count))
		return -EINVAL;
	memcpy(rep, req, sizeof(*req));
	vfio->ops->region_read(vfio->ctx, req->region, req->offset, rep + sizeof(*req), req->count);
	return sizeof(*req) + req->count;
}

static int do_region_write(struct sim_vfio *vfio)
{
	const struct vu_region_access *req = request(vfio, sizeof(*req));

	if (!req || !access_ok(vfio, req->offset, req->region, req->count) ||
	    vfio->msg.len - sizeof(*req) < req->count)
		return -EINVAL;
	vfio->ops->region_write(vfio->ctx, req->region, req->offset, req + 1, req->count);
	memcpy(reply_payload(vfio), req, sizeof(*req));
	return sizeof(*req);
}

static int do_write_multi(struct sim_vfio *vfio)
{
	const uint64_t *n = request(vfio, sizeof(*n));
	const struct vu_multi_entry *entry;
	uint64_t done;

	if (!n || *n > (vfio->msg.len - sizeof(*n)) / sizeof(*entry))
		return -EINVAL;
	entry = (const struct vu_multi_entry *)(n + 1);
	for (done = 0; done < *n; done++) {
		if (entry[done].count > sizeof(entry->data) ||
		    !access_ok(vfio, entry[done].offset, entry[done].region, entry[done].count))
			break;
		vfio->ops->region_write(vfio->ctx, entry[done].region, entry[done].offset,
					entry[done].data, entry[done].count);
	}
	if (*n && !done)
		return -EINVAL;
	memcpy(reply_payload(vfio), &done, sizeof(done));
	return sizeof(done);
}

static int do_reset(struct sim_vfio *vfio)
{
	vfio->ops->reset(vfio->ctx);
	return 0;
}

static int dispatch(struct sim_vfio *vfio)
{
	const struct message *msg = &vfio->msg;

	if (msg->too_many_fds)
		return -EINVAL;
	if (!vfio->negotiated && msg->hdr.command != VU_VERSION)
		return -EINVAL;
	switch (msg->hdr.command) {
	case VU_VERSION:
		return do_version(vfio);
	case VU_DMA_MAP:
		return do_dma_map(vfio);
	case VU_DMA_UNMAP:
		return do_dma_unmap(vfio);
	case VU_DEVICE_GET_INFO:
		return do_get_info(vfio);
	case VU_DEVICE_GET_REGION_INFO:
		return do_get_region_info(vfio);
	case VU_DEVICE_GET_IRQ_INFO:
		return do_get_irq_info(vfio);
	case VU_DEVICE_SET_IRQS:
		return do_set_irqs(vfio);
	case VU_REGION_READ:
		return do_region_read(vfio);
	case VU_REGION_WRITE:
		return do_region_write(vfio);
	case VU_REGION_WRITE_MULTI:
		return do_write_multi(vfio);
	case VU_DEVICE_RESET:
		return do_reset(vfio);
	default:
		return -ENOTSUP;
	}
}

/* ---- Connection ---- */

static bool answer(struct sim_vfio *vfio, int result)
{
	struct vu_header hdr = vfio->msg.hdr;

	if (result < 0)
		sim_log(SIM_LOG_INFO, vfio->path, "command %u of %u bytes refused: %s", hdr.command,
			hdr.size, strerror(-result));
	if (hdr.flags & VU_FLAG_NO_REPLY)
		return true;
	hdr.size = sizeof(hdr) + (result > 0 ? result : 0);
	hdr.flags = VU_TYPE_REPLY | (result < 0 ? VU_FLAG_ERROR : 0);
	hdr.error = result < 0 ? -result : 0;
	memcpy(vfio->reply, &hdr, sizeof(hdr));
	return transmit_locked(vfio, vfio->reply, hdr.size);
}

static void stall(struct sim_vfio *vfio)
{
	struct pollfd p = { .fd = vfio->stop, .events = POLLIN };
	unsigned int ms = vfio->ops->stall_ms(vfio->ctx);

	if (ms)
		poll(&p, 1, (int)ms);
}

static bool serve_message(struct sim_vfio *vfio)
{
	struct message *msg = &vfio->msg;
	int result;

	msg->too_many_fds = false;
	if (!receive(vfio, &msg->hdr, sizeof(msg->hdr)))
		return false;
	if (msg->hdr.size < sizeof(msg->hdr) || msg->hdr.size - sizeof(msg->hdr) > PAYLOAD_MAX) {
		sim_log(SIM_LOG_WARN, vfio->path,
			"message of %u bytes (limits %zu and %zu): closing the connection",
			msg->hdr.size, sizeof(msg->hdr), sizeof(msg->hdr) + PAYLOAD_MAX);
		return false;
	}
	msg->len = msg->hdr.size - sizeof(msg->hdr);
	if (!receive(vfio, vfio->payload, msg->len))
		return false;
	if ((msg->hdr.flags & VU_FLAG_TYPE) != VU_TYPE_REQUEST &&
	    msg->hdr.command == VU_DMA_WRITE_MEMORY) {
		sim_log(SIM_LOG_INFO, vfio->path, "write by the client: %s",
			msg->hdr.flags & VU_FLAG_ERROR ? strerror((int)msg->hdr.error) : "done");
		return true;
	}
	if ((msg->hdr.flags & VU_FLAG_TYPE) != VU_TYPE_REQUEST) {
		sim_log(SIM_LOG_WARN, vfio->path, "reply to a question never asked, command %u",
			msg->hdr.command);
		return true;
	}
	stall(vfio);
	result = dispatch(vfio);
	close_fds(msg);		/* before the client hears of it */
	return answer(vfio, result);
}

static void serve_connection(struct sim_vfio *vfio)
{
	bool alive;

	sim_log(SIM_LOG_INFO, vfio->path, "client connected");
	vfio->negotiated = false;
	vfio->msg.n_fds = 0;
	do {
		alive = serve_message(vfio);
		close_fds(&vfio->msg);
	} while (alive);
	pthread_mutex_lock(&vfio->conn_lock);
	close(vfio->conn);
	vfio->conn = -1;
	pthread_mutex_unlock(&vfio->conn_lock);
	vfio->ops->disconnect(vfio->ctx);
	sim_log(SIM_LOG_INFO, vfio->path, "client disconnected");
}

void sim_vfio_serve(struct sim_vfio *vfio)
{
	while (wait_conn(vfio, vfio->listener, POLLIN)) {
		int conn = accept4(vfio->listener, NULL, NULL, SOCK_CLOEXEC);

		pthread_mutex_lock(&vfio->conn_lock);
		vfio->conn = conn;
		pthread_mutex_unlock(&vfio->conn_lock);
		if (conn >= 0)
			serve_connection(vfio);
	}
}

void sim_vfio_stop(struct sim_vfio *vfio)
{
	uint64_t one = 1;
	ssize_t n = write(vfio->stop, &one, sizeof(one));

	(void)n;	/* fails only when it is set already */
}

void sim_vfio_drop(struct sim_vfio *vfio)
{
	pthread_mutex_lock(&vfio->conn_lock);
	if (vfio->conn >= 0)
		shutdown(vfio->conn, SHUT_RDWR);
	pthread_mutex_unlock(&vfio->conn_lock);
}

void sim_vfio_dma_write(struct sim_vfio *vfio, uint64_t bus, const void *data, uint32_t count)
{
	uint8_t message[sizeof(struct vu_header) + sizeof(struct vu_dma_access) + SIM_VFIO_DMA_MAX];
	struct vu_dma_access access = { .address = bus, .count = count };
	struct vu_header hdr = { .command = VU_DMA_WRITE_MEMORY };

	if (count > SIM_VFIO_DMA_MAX)
		return;
	hdr.size = sizeof(hdr) + sizeof(struct vu_dma_access) + count;
	memcpy(message, &hdr, sizeof(hdr));
	memcpy(message + sizeof(hdr), &access, sizeof(struct vu_dma_access));
	memcpy(message + sizeof(hdr) + sizeof(struct vu_dma_access), data, count);
	/* while it stays open */
	pthread_mutex_lock(&vfio->conn_lock);
	if (vfio->conn >= 0 && vfio->negotiated)
		transmit_locked(vfio, message, hdr.size);
	pthread_mutex_unlock(&vfio->conn_lock);
}

struct sim_vfio *sim_vfio_new(const char *path, const struct sim_vfio_ops *ops, void *ctx)
{
	struct sim_vfio *vfio = calloc(1, sizeof(*vfio));

	if (!vfio)
		return NULL;
	vfio->ops = ops;
	vfio->ctx = ctx;
	vfio->conn = -1;
	pthread_mutex_init(&vfio->conn_lock, NULL);
	pthread_mutex_init(&vfio->send_lock, NULL);
	vfio->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (vfio->stop < 0)
		goto err_free;
	vfio->listener = sim_listen(path);
	if (vfio->listener < 0)
		goto err_stop;
	memcpy(vfio->path, path, strlen(path) + 1);
	return vfio;

err_stop:
	close(vfio->stop);
err_free:
	free(vfio);
	return NULL;
}

void sim_vfio_free(struct sim_vfio *vfio)
{
	if (!vfio)
		return;
	unlink(vfio->path);
	close(vfio->listener);
	close(vfio->stop);
	pthread_mutex_destroy(&vfio->send_lock);
	pthread_mutex_destroy(&vfio->conn_lock);
	free(vfio);
}
