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

/* Waits for the number in a file to become larger, for 20 s at most; the number then. */
static inline long long npu_knob_above(const char *name, long long value)
{
	for (int i = 0; i < 2000 * npu_slowness() && npu_knob_number(name) <= value; i++)
		usleep(10000);
	return npu_knob_number(name);
}

/*
 * Waits until a core works for a job: true, or false if none does within 20 s.  The caller has submitted one that takes
 * long; a job that was not started yet is spared by what befalls the device.
 */
static inline bool npu_job_runs(void)
{
	for (int i = 0; i < 4000 * npu_slowness(); i++) {
		char *text = npu_knob_read("ring");
		bool runs = false;

		for (char *at = text; at && (at = strstr(at, " cores 0x")); at++)
			runs |= strtoul(at + strlen(" cores 0x"), NULL, 16) > 0;
		free(text);
		if (runs)
			return true;
		usleep(5000);
	}
	return false;
}

/* How often the driver's module is in use: by a file, or a queue until a worker has freed it and its address space. */
static inline int npu_uses(void)
{
	char *text = npu_read_file("/sys/module/npuedge/refcnt", NULL);
	int uses = text ? atoi(text) : 0;

	free(text);
	return uses;
}

#define NPU_DUMPS	"/sys/class/devcoredump/devcd*/data"

/* Waits up to 20 s for a core dump to be there; whether it is. */
static inline bool npu_dump_wait(char *path, size_t size)
{
	for (int i = 0; i < 2000 * npu_slowness() && npu_glob(NPU_DUMPS, path, size); i++)
		usleep(10000);
	return !npu_glob(NPU_DUMPS, path, size);
}

/* Takes a core dump away.  A worker does, and until then no other is left. */
static inline void npu_dump_drop(const char *path)
{
	npu_write_text(path, "0");
	for (int i = 0; i < 2000 * npu_slowness() && !access(path, F_OK); i++)
		usleep(10000);
}

/* Takes core dumps away until there is none. */
static inline void npu_dumps_clear(void)
{
	char path[256];

	for (int i = 0; i < 10 && !npu_glob(NPU_DUMPS, path, sizeof(path)); i++)
		npu_dump_drop(path);
}

/*
 * Waits until what others have closed is gone, and firmware was told of it: until only so many uses are left.  Core dumps,
 * which are uses as well, are taken away.
 */
static inline void npu_wait_uses(int most)
{
	for (int i = 0; i < 500 * npu_slowness() && npu_uses() > most; i++) {
		npu_dumps_clear();
		usleep(10000);
	}
}

/* Waits for a core dump, and takes it away.  The caller frees it. */
static inline char *npu_dump_take(void)
{
	char path[256], *dump;

	if (!npu_dump_wait(path, sizeof(path)))
		return NULL;
	dump = npu_read_file(path, NULL);
	npu_dump_drop(path);
	return dump;
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

/* Commands of npu_slow_stream() that take about so long, or longer where others are busy now and then. */
static inline uint32_t npu_slow_count(struct npu_client *c, long ms)
{
	uint32_t size = npu_slow_stream(c->stream, 40);
	long probe = 0, count;

	for (int i = 0; i < 3; i++) {
		long took = npu_run_ms(c, size);

		if (took > 0 && (!probe || took < probe))
			probe = took;
	}
	count = probe > 0 ? ms * 40 / probe : 1;
	return count < 1 ? 1 : count > 8000 ? 8000 : count;
}

/*
 * With swiotlb=force on the kernel's command line devices have copies of all memory that they are given, so that calls
 * are noticed that do nothing where a device sees the CPU's caches.
 */
static inline bool npu_devices_have_copies(void)
{
	char *cmdline = npu_read_file("/proc/cmdline", NULL);
	bool copies = cmdline && strstr(cmdline, "swiotlb=force");

	free(cmdline);
	return copies;
}

#endif
