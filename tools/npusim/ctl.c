// SPDX-License-Identifier: MIT
/*
 * Clients are served in threads of their own that end with them; sim_ctl_free() wakes and joins
 * what is left.  A client that does not read its answers is dropped, one that sends a line too long
 * as well.
 */
#include "ctl.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl_answer.h"
#include "ctl_parse.h"
#include "device.h"
#include "usock.h"

#define CLIENTS_MAX	8u
#define SEND_TIMEOUT_MS 5000
#define LOOK_MS		2	/* how often a wait looks */

struct client {
	struct sim_ctl *ctl;
	pthread_t thread;
	bool ended;
	int fd;
	size_t len;
	char line[SIM_CTL_LINE_MAX];
};

struct sim_ctl {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct sim_device *const *devices;
	unsigned int n_devices;
	int listener, stop;	/* stop: readable when everybody has to end */
	pthread_t thread;
	pthread_mutex_t lock;	/* ended of clients */
	struct client *clients[CLIENTS_MAX];
};

/* ---- Requests ---- */

/* Sleeps; false when told to end. */
static bool pause_ms(struct sim_ctl *ctl, int ms)
{
	struct pollfd p = { .fd = ctl->stop, .events = POLLIN };

	return poll(&p, 1, ms) <= 0;
}

static json_t *error_answer(json_t *error)
{
	return json_pack("{s:b, s:o}", "ok", 0, "error", error ? error : json_null());
}

static json_t *number_error(const char *field, uint64_t value, const char *limit,
			    const char *message)
{
	json_t *number = json_integer((json_int_t)value);
	json_t *error = sim_ctl_error(field, number, limit, message);

	json_decref(number);
	return error_answer(error);
}

static json_t *ok_with(const char *name, json_t *value)
{
	return json_pack("{s:b, s:o}", "ok", 1, name, value ? value : json_null());
}

static json_t *wait_fired(struct sim_ctl *ctl, const struct sim_ctl_request *req,
			  struct sim_device *device)
{
	struct sim_fi_status status;
	unsigned int waited = 0;

	for (;;) {
		sim_fi_status(sim_device_faults(device), req->spec.fault, &status);
		if (status.fired >= req->number)
			return ok_with("fired", json_integer((json_int_t)status.fired));
		if (waited >= req->timeout_ms || !pause_ms(ctl, LOOK_MS))
			break;
		waited += LOOK_MS;
	}
	return number_error("fired", status.fired, "timeout_ms", "did not fire so often in time");
}

static json_t *perform(struct sim_ctl *ctl, const struct sim_ctl_request *req);

static json_t *run_script(struct sim_ctl *ctl, const struct sim_ctl_request *req)
{
	json_t *results = json_array();
	bool good = true;

	for (unsigned int i = 0; i < req->n_steps && good; i++) {
		json_t *result = perform(ctl, &req->steps[i]);

		good = json_is_true(json_object_get(result, "ok"));
		json_array_append_new(results, result);
	}
	return json_pack("{s:b, s:o}", "ok", good, "results", results);
}

static json_t *perform_faults(const struct sim_ctl_request *req, struct sim_device *device)
{
	struct sim_fi *fi = sim_device_faults(device);

	switch (req->op) {
	case SIM_CTL_ARM:
		sim_fi_arm(fi, &req->spec);
		break;
	case SIM_CTL_DISARM:
		sim_fi_disarm(fi, req->spec.fault);
		break;
	case SIM_CTL_DISARM_ALL:
		sim_fi_disarm_all(fi);
		break;
	default:
		sim_fi_seed(fi, req->number);
		break;
	}
	return json_pack("{s:b}", "ok", 1);
}

static json_t *perform(struct sim_ctl *ctl, const struct sim_ctl_request *req)
{
	struct sim_device *device;

	if (req->device >= ctl->n_devices)
		return number_error("device", req->device, "number of sockets", "no such device");
	device = ctl->devices[req->device];
	switch (req->op) {
	case SIM_CTL_LIST:
		return ok_with("faults", sim_answer_list());
	case SIM_CTL_STATUS:
		return ok_with("faults", sim_answer_status(device));
	case SIM_CTL_LOG:
		return ok_with("log", sim_answer_log(device, req->number));
	case SIM_CTL_INFO:
		return ok_with("info", sim_answer_info(device));
	case SIM_CTL_JOBS:
		return ok_with("jobs", sim_answer_jobs(device));
	case SIM_CTL_REGISTERS:
		return ok_with("registers", sim_answer_registers(device));
	case SIM_CTL_SLEEP:
		pause_ms(ctl, (int)req->number);
		return json_pack("{s:b}", "ok", 1);
	case SIM_CTL_WAIT:
		return wait_fired(ctl, req, device);
	case SIM_CTL_SCRIPT:
		return run_script(ctl, req);
	default:
		return perform_faults(req, device);
	}
}

/* ---- Clients ---- */

static bool send_all(int fd, const char *text, size_t len)
{
	while (len) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN && poll(&p, 1, SEND_TIMEOUT_MS) == 1)
			continue;
		if (n <= 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return true;
}

static bool send_answer(int fd, json_t *answer)
{
	char *text = json_dumps(answer, JSON_COMPACT);
	bool sent = text && send_all(fd, text, strlen(text)) && send_all(fd, "\n", 1);

	free(text);
	json_decref(answer);
	return sent;
}

static bool serve_line(struct client *client, const char *line, size_t len)
{
	struct sim_ctl_request req;
	json_t *error, *answer;

	if (sim_ctl_parse(line, len, &req, &error))
		return send_answer(client->fd, error_answer(error));
	answer = perform(client->ctl, &req);
	if (req.tag)
		json_object_set(answer, "tag", req.tag);
	sim_ctl_clear(&req);
	return send_answer(client->fd, answer);
}

/* Serves the whole lines that have come. */
static bool serve_lines(struct client *client)
{
	char *start = client->line, *end;
	size_t left = client->len;

	while ((end = memchr(start, '\n', left))) {
		if (!serve_line(client, start, (size_t)(end - start)))
			return false;
		left -= (size_t)(end + 1 - start);
		start = end + 1;
	}
	memmove(client->line, start, left);
	client->len = left;
	if (left < sizeof(client->line))
		return true;
	send_answer(client->fd, error_answer(sim_ctl_error("request", NULL, "65536 bytes",
							   "the line is too long")));
	return false;
}

static void *client_main(void *arg)
{
	struct client *client = arg;
	struct pollfd p[2] = { { .fd = client->fd, .events = POLLIN },
			       { .fd = client->ctl->stop, .events = POLLIN } };
	ssize_t n;

	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		if (p[1].revents)
			break;
		n = recv(client->fd, client->line + client->len,
			 sizeof(client->line) - client->len, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			break;
		client->len += (size_t)n;
		if (!serve_lines(client))
			break;
	}
	shutdown(client->fd, SHUT_RDWR);
	pthread_mutex_lock(&client->ctl->lock);
	client->ended = true;
	pthread_mutex_unlock(&client->ctl->lock);
	return NULL;
}

static void end_client(struct client **slot)
{
	pthread_join((*slot)->thread, NULL);
	close((*slot)->fd);
	free(*slot);
	*slot = NULL;
}

/* A place for a client, after those that have left are cleared away. */
static struct client **free_slot(struct sim_ctl *ctl)
{
	struct client **found = NULL;

	for (unsigned int i = 0; i < CLIENTS_MAX; i++) {
		bool ended;

		pthread_mutex_lock(&ctl->lock);
		ended = ctl->clients[i] && ctl->clients[i]->ended;
		pthread_mutex_unlock(&ctl->lock);
		if (ended)
			end_client(&ctl->clients[i]);
		if (!ctl->clients[i])
			found = &ctl->clients[i];
	}
	return found;
}

static void new_client(struct sim_ctl *ctl, int fd)
{
	struct client **slot = free_slot(ctl), *client = slot ? calloc(1, sizeof(*client)) : NULL;

	if (!client) {
		send_answer(fd, error_answer(sim_ctl_error("client", NULL, "8 at a time",
							   "no room for another")));
		close(fd);
		return;
	}
	client->ctl = ctl;
	client->fd = fd;
	if (pthread_create(&client->thread, NULL, client_main, client)) {
		close(fd);
		free(client);
		return;
	}
	*slot = client;
}

static void *ctl_main(void *arg)
{
	struct sim_ctl *ctl = arg;
	struct pollfd p[2] = { { .fd = ctl->listener, .events = POLLIN },
			       { .fd = ctl->stop, .events = POLLIN } };

	for (;;) {
		int fd;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		if (p[1].revents)
			break;
		fd = accept4(ctl->listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			new_client(ctl, fd);
	}
	for (unsigned int i = 0; i < CLIENTS_MAX; i++)
		if (ctl->clients[i])
			end_client(&ctl->clients[i]);
	return NULL;
}

/* ---- Life ---- */

struct sim_ctl *sim_ctl_new(const char *path, struct sim_device *const *devices,
			    unsigned int n_devices)
{
	struct sim_ctl *ctl = calloc(1, sizeof(*ctl));

	if (!ctl)
		return NULL;
	ctl->devices = devices;
	ctl->n_devices = n_devices;
	pthread_mutex_init(&ctl->lock, NULL);
	ctl->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ctl->stop < 0)
		goto err_free;
	ctl->listener = sim_listen(path);
	if (ctl->listener < 0)
		goto err_stop;
	memcpy(ctl->path, path, strlen(path) + 1);
	if (!pthread_create(&ctl->thread, NULL, ctl_main, ctl))
		return ctl;
	unlink(path);
	close(ctl->listener);
err_stop:
	close(ctl->stop);
err_free:
	pthread_mutex_destroy(&ctl->lock);
	free(ctl);
	return NULL;
}

void sim_ctl_free(struct sim_ctl *ctl)
{
	uint64_t one = 1;
	ssize_t n;

	if (!ctl)
		return;
	n = write(ctl->stop, &one, sizeof(one));
	(void)n;	/* fails only when it is set already */
	pthread_join(ctl->thread, NULL);
	unlink(ctl->path);
	close(ctl->listener);
	close(ctl->stop);
	pthread_mutex_destroy(&ctl->lock);
	free(ctl);
}
