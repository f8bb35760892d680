/* SPDX-License-Identifier: GPL-2.0 */
/* What tests of recovery and observability share: the driver's debugfs files and core dumps. */
#ifndef NPUEDGE_SELFTEST_DEBUGFS_H
#define NPUEDGE_SELFTEST_DEBUGFS_H

#include "sysfs.h"

/* Path of a file of the device's debugfs folder, or -ENOENT. */
static inline int npu_knob(const char *name, char *path, size_t size)
{
	char pattern[128];

	snprintf(pattern, sizeof(pattern), "/sys/kernel/debug/accel/*/%s", name);
	return npu_glob(pattern, path, size);
}

static inline int npu_knob_write(const char *name, const char *text)
{
	char path[256];
	int ret = npu_knob(name, path, sizeof(path));

	return ret ? ret : npu_write_text(path, text);
}

/* Reads a whole file; the caller frees it.  NULL if that fails. */
static inline char *npu_read_file(const char *path, size_t *size)
{
	size_t room = 1 << 16, used = 0;
	char *data = malloc(room + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = -1;

	while (fd >= 0 && data && (got = read(fd, data + used, room - used)) > 0) {
		used += got;
		if (used == room)
			data = realloc(data, (room *= 2) + 1);
	}
	if (fd >= 0)
		close(fd);
	if (!data || got < 0) {
		free(data);
		return NULL;
	}
	data[used] = '\0';
	if (size)
		*size = used;
	return data;
}

static inline char *npu_knob_read(const char *name)
{
	char path[256];

	return npu_knob(name, path, sizeof(path)) ? NULL : npu_read_file(path, NULL);
}

/* Number in a file of one number, or -errno. */
static inline long long npu_knob_number(const char *name)
{
	char *text = npu_knob_read(name);
	long long value = text ? atoll(text) : -ENOENT;

	free(text);
	return value;
}

/* Takes core dumps away until there is none. */
static inline void npu_dumps_clear(void)
{
	char path[256];

	for (int i = 0; i < 10 && !npu_glob("/sys/class/devcoredump/devcd*/data", path, sizeof(path)); i++) {
		npu_write_text(path, "0");
		usleep(20000);
	}
}

/* Waits up to 5 s for a core dump, and takes it away.  The caller frees it. */
static inline char *npu_dump_take(void)
{
	char path[256], *dump;

	for (int i = 0; i < 250; i++) {
		if (!npu_glob("/sys/class/devcoredump/devcd*/data", path, sizeof(path))) {
			dump = npu_read_file(path, NULL);
			npu_write_text(path, "0");
			return dump;
		}
		usleep(20000);
	}
	return NULL;
}

/* Milliseconds of a job of the client, or -errno; the queue must be idle. */
static inline long npu_run_ms(struct npu_client *c, uint32_t size)
{
	int64_t begin = npu_deadline(0);
	int ret = npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync);

	if (!ret)
		ret = npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS);
	return ret ? ret : (long)((npu_deadline(0) - begin) / 1000000);
}

/* Commands of npu_slow_stream() that take about so long here and now. */
static inline uint32_t npu_slow_count(struct npu_client *c, long ms)
{
	long probe = npu_run_ms(c, npu_slow_stream(c->stream, 40));
	long count = probe > 0 ? ms * 40 / probe : 1;

	return count < 1 ? 1 : count > 8000 ? 8000 : count;
}

#endif
