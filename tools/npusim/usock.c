// SPDX-License-Identifier: MIT
#include "usock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"

#define BACKLOG		8

/* Whether @path may become our socket: it is free, or a socket left over from a process that died.
 */
static int check_free(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd, err = 0;

	if (lstat(addr->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		err = -EADDRINUSE;
	close(fd);
	return err;
}

/* Whoever waits for the socket to appear may connect at once: it gets its name when it listens. */
static int listen_then_name(const struct sockaddr_un *addr)
{
	struct sockaddr_un temp = *addr;
	int fd, err;

	strcat(temp.sun_path, "~");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	unlink(temp.sun_path);
	if (!bind(fd, (struct sockaddr *)&temp, sizeof(temp)) && !listen(fd, BACKLOG) &&
	    !rename(temp.sun_path, addr->sun_path))
		return fd;
	err = -errno;
	unlink(temp.sun_path);
	close(fd);
	return err;
}

int sim_listen(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) + 1 >= sizeof(addr.sun_path)) {
		sim_log(SIM_LOG_ERROR, path, "socket path is longer than %zu bytes",
			sizeof(addr.sun_path) - 2);
		return -1;
	}
	memcpy(addr.sun_path, path, strlen(path));
	fd = check_free(&addr);
	if (!fd)
		fd = listen_then_name(&addr);
	if (fd < 0) {
		sim_log(SIM_LOG_ERROR, path, "cannot listen: %s", strerror(-fd));
		return -1;
	}
	return fd;
}
