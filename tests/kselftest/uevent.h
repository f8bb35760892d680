/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel tells udev of our devices. */
#ifndef NPUEDGE_SELFTEST_UEVENT_H
#define NPUEDGE_SELFTEST_UEVENT_H

#include "npuedge.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Hears all events from now on; a file, or -errno. */
static inline int npu_uevent_open(void)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&kernel, sizeof(kernel))) {
		int ret = -errno;

		close(fd);
		return ret;
	}
	return fd;
}

/* "ACTION@DEVPATH", then "NAME=value" each, with zeros between. */
static inline bool npu_uevent_is(const char *text, size_t size, const char *property)
{
	bool ours = false, found = false;

	for (size_t i = 0; i < size; i += strlen(text + i) + 1) {
		ours |= !i && strstr(text, "/accel/accel");
		found |= !strcmp(text + i, property);
	}
	return ours && found;
}

/* Whether an accelerator's event with this property ("NAME=value") comes, at the latest 20 s after the one before it. */
static inline bool npu_uevent_wait(int fd, const char *property)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char text[4096];
	ssize_t got;

	while (poll(&p, 1, 20000 * npu_slowness()) == 1) {
		got = recv(fd, text, sizeof(text) - 1, 0);
		if (got <= 0)
			continue;
		text[got] = '\0';
		if (npu_uevent_is(text, got, property))
			return true;
	}
	return false;
}

#endif
