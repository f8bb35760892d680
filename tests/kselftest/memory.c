// SPDX-License-Identifier: GPL-2.0
/* Whose memory it is: cgroups, and a machine that runs out of it. */
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "buffer.h"

#define MIB	(1ull << 20)
#define VA	(1ull << 32)

static int read_number(const char *path, unsigned long long *value)
{
	FILE *file = fopen(path, "r");
	int n;

	if (!file)
		return -errno;
	n = fscanf(file, "%llu", value);
	fclose(file);
	return n == 1 ? 0 : -EINVAL;
}

/* Value of a line of a file such as /proc/meminfo, in bytes. */
static unsigned long long file_bytes(const char *path, const char *key)
{
	unsigned long long value = 0;
	FILE *file = fopen(path, "r");
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':')
			value = strtoull(line + strlen(key) + 1, NULL, 10) << 10;
	}
	if (file)
		fclose(file);
	return value;
}

static unsigned long long meminfo(const char *key)
{
	return file_bytes("/proc/meminfo", key);
}

static unsigned long long status_bytes(const char *key)
{
	return file_bytes("/proc/self/status", key);
}

struct cgroup {
	char path[64];
};

static int cgroup_file(const struct cgroup *group, const char *name, char *path, size_t size)
{
	return snprintf(path, size, "%s/%s", group->path, name);
}

static unsigned long long cgroup_current(const struct cgroup *group)
{
	unsigned long long value = 0;
	char path[128];

	cgroup_file(group, "memory.current", path, sizeof(path));
	read_number(path, &value);
	return value;
}

/* A new cgroup with a memory controller, with the caller in it; -EOPNOTSUPP if that is not to be had. */
static int cgroup_enter(struct cgroup *group, const char *max)
{
	static const char root[] = "/run/npuedge-cgroup";
	char path[128];

	mkdir(root, 0755);
	if (access("/run/npuedge-cgroup/cgroup.procs", F_OK) && mount("cgroup2", root, "cgroup2", 0, NULL))
		return -EOPNOTSUPP;
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", root);
	npu_write_text(path, "+memory");
	snprintf(group->path, sizeof(group->path), "%s/test-%d", root, getpid());
	if (mkdir(group->path, 0755))
		return -EOPNOTSUPP;
	cgroup_file(group, "memory.max", path, sizeof(path));
	if (npu_write_text(path, max))
		return -EOPNOTSUPP;
	cgroup_file(group, "cgroup.procs", path, sizeof(path));
	return npu_write_text(path, "0") ? -EOPNOTSUPP : 0;
}

static void cgroup_leave(const struct cgroup *group)
{
	npu_write_text("/run/npuedge-cgroup/cgroup.procs", "0");
	rmdir(group->path);
}

TEST(pages_are_charged_to_the_creator)
{
	unsigned long long before, with;
	struct cgroup group;
	struct npu_client c;
	uint32_t *map;
	int ret, bo;

	ret = npu_client_init(&c);
	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (cgroup_enter(&group, "max"))
		SKIP(return, "no memory controller of cgroup v2");

	before = cgroup_current(&group);
	bo = npu_bo_create(c.fd, 32 * MIB, 0, 0);
	map = npu_bo_map(c.fd, bo, 32 * MIB);
	EXPECT_NE(MAP_FAILED, map);
	with = cgroup_current(&group);
	EXPECT_GE(with, before + 32 * MIB);
	EXPECT_LT(with, before + 40 * MIB);

	/* another 32 MiB by the device alone; the kernel charges in batches, hence the slack */
	bo = npu_bo_create(c.fd, 32 * MIB, 0, 0);
	EXPECT_EQ(0, npu_map(c.fd, c.vm, bo, VA, 0, 32 * MIB, 0));
	EXPECT_GE(cgroup_current(&group), with + 31 * MIB);

	munmap(map, 32 * MIB);
	npu_client_fini(&c);
	for (int i = 0; i < 400 * npu_slowness() && cgroup_current(&group) > before + 8 * MIB; i++)
		usleep(50000); /* the kernel frees in its own time */
	EXPECT_LT(cgroup_current(&group), before + 8 * MIB);
	cgroup_leave(&group);
}

TEST(limit_of_a_cgroup_is_an_error)
{
	struct cgroup group;
	struct npu_client c;
	int ret, bo, small;

	ret = npu_client_init(&c);
	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (cgroup_enter(&group, "16M"))
		SKIP(return, "no memory controller of cgroup v2");

	bo = npu_bo_create(c.fd, 64 * MIB, 0, 0);
	ASSERT_GT(bo, 0);
	EXPECT_EQ(-ENOMEM, npu_map(c.fd, c.vm, bo, VA, 0, 64 * MIB, 0));
	EXPECT_EQ(MAP_FAILED, npu_bo_map(c.fd, bo, 64 * MIB));
	EXPECT_EQ(ENOMEM, errno);
	npu_bo_close(c.fd, bo);

	/* and the rest of the client goes on */
	small = npu_bo_create(c.fd, MIB, 0, 0);
	EXPECT_EQ(0, npu_map(c.fd, c.vm, small, VA, 0, MIB, 0));
	c.data[0] = 3;
	EXPECT_EQ(1, npu_copy(&c, NPU_DATA, VA, 4));
	npu_client_fini(&c);
	cgroup_leave(&group);
}

/* Buffers are swapped or charged, never locked: a limit of locked memory is not theirs, the cgroup's is. */
TEST(limit_of_locked_memory_does_not_matter)
{
	const struct rlimit none = { 0 };
	unsigned long long locked, pinned;
	struct npu_client c;
	uint32_t *map;
	int ret, bo;

	ret = npu_client_init(&c);
	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	locked = status_bytes("VmLck");
	pinned = status_bytes("VmPin");
	/* root may lock as much as it likes */
	ret = fork();
	ASSERT_GE(ret, 0);
	if (ret) {
		int status;

		ASSERT_EQ(ret, waitpid(ret, &status, 0));
		EXPECT_EQ(0, status);
		npu_client_fini(&c);
		return;
	}
	if (setrlimit(RLIMIT_MEMLOCK, &none) || setuid(65534))
		_exit(1);
	bo = npu_bo_create(c.fd, 16 * MIB, 0, 0);
	map = npu_bo_map(c.fd, bo, 16 * MIB);
	if (bo < 0 || map == MAP_FAILED || npu_map(c.fd, c.vm, bo, VA, 0, 16 * MIB, 0))
		_exit(2);
	map[0] = 0x10c4ed;
	if (npu_copy(&c, VA, VA + 16 * MIB - 64, 4) != 1 || map[(16 * MIB - 64) / 4] != 0x10c4ed)
		_exit(3);
	_exit(status_bytes("VmLck") == locked && status_bytes("VmPin") == pinned ? 0 : 4);
}

/* Swap space, if there is none, in compressed memory. */
static int have_swap(void)
{
	if (meminfo("SwapFree") > 256 * MIB)
		return 0;
	/* modprobe refuses what is built in, and then the disk is there */
	if (system("modprobe -q zram num_devices=1") && access("/sys/block/zram0", F_OK))
		return -ENOENT;
	if (npu_write_text("/sys/block/zram0/disksize", "512M"))
		return -ENOENT;
	return system("mkswap /dev/zram0 >/dev/null 2>&1 && swapon /dev/zram0") ? -ENOENT : 0;
}

/* Takes memory that cannot be swapped, step by step, until told to stop. */
static void hog(int go)
{
	char byte;

	npu_write_text("/proc/self/oom_score_adj", "1000");
	while (read(go, &byte, 1) == 1) {
		void *map = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (map == MAP_FAILED)
			_exit(1);
		mlock(map, 8 * MIB); /* as much as goes */
	}
	_exit(0);
}

/*
 * Most of a large machine's memory would have to be touched before it is short of it: there the kernel is told to
 * keep nearly all that is free.
 */
static unsigned long long reserve_memory(void)
{
	unsigned long long before = 0, free = meminfo("MemFree");
	char text[32];

	read_number("/proc/sys/vm/min_free_kbytes", &before);
	if (free > 384 * MIB) {
		snprintf(text, sizeof(text), "%llu", (free - free / 10) >> 10);
		npu_write_text("/proc/sys/vm/min_free_kbytes", text);
	}
	return before;
}

static void release_memory(unsigned long long before)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", before);
	npu_write_text("/proc/sys/vm/min_free_kbytes", text);
}

/* Another program: it works on its own memory and says so. */
static void bystander(int out)
{
	static uint32_t memory[1 << 20];

	for (uint32_t round = 1;; round++) {
		for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i += 1024) {
			if (memory[i] != round - 1)
				_exit(1);
			memory[i] = round;
		}
		if (write(out, "x", 1) != 1)
			_exit(2);
		usleep(20000);
	}
}

FIXTURE(pressure) {
	struct npu_client c;
	pid_t hog, other;
	int hog_pipe[2], other_pipe[2];
	unsigned long long reserved;
};

FIXTURE_SETUP(pressure)
{
	int ret = npu_client_init(&self->c);

	self->hog = 0;
	self->other = 0;
	self->reserved = 0;
	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (have_swap())
		SKIP(return, "no swap space and no zram");
	ASSERT_EQ(0, pipe(self->hog_pipe));
	ASSERT_EQ(0, pipe(self->other_pipe));
	self->other = fork();
	ASSERT_GE(self->other, 0);
	if (!self->other)
		bystander(self->other_pipe[1]);
	self->hog = fork();
	ASSERT_GE(self->hog, 0);
	if (!self->hog) {
		close(self->hog_pipe[1]);
		hog(self->hog_pipe[0]);
	}
}

FIXTURE_TEARDOWN(pressure)
{
	if (self->reserved)
		release_memory(self->reserved);
	if (self->other > 0) {
		kill(self->other, SIGKILL);
		waitpid(self->other, NULL, 0);
	}
	if (self->hog > 0) {
		kill(self->hog, SIGKILL);
		waitpid(self->hog, NULL, 0);
	}
	npu_client_fini(&self->c);
}

/* Has the hog take memory until so much of ours went; the number of its steps, or -ETIME. */
static int press_until(struct __test_metadata *_metadata, FIXTURE_DATA(pressure) *self, uint64_t bytes)
{
	struct drm_npuedge_memory_info begin = npu_memory(self->c.fd), now;
	int64_t deadline = npu_deadline(120ll * 1000000000);

	for (int i = 1; npu_deadline(0) < deadline; i++) {
		if (write(self->hog_pipe[1], "x", 1) != 1)
			return -EPIPE;
		usleep(50000);
		now = npu_memory(self->c.fd);
		if (now.evicted_bytes + now.purged_bytes - begin.evicted_bytes - begin.purged_bytes >= bytes)
			return i;
		if (waitpid(self->hog, NULL, WNOHANG) == self->hog) {
			self->hog = 0;
			return -ECHILD;
		}
	}
	return -ETIME;
}

TEST_F_TIMEOUT(pressure, weights_go_and_come_back, 300)
{
	const uint64_t size = 64 * MIB;
	struct npu_client *c = &self->c;
	int weights = npu_bo_create(c->fd, size, 0, c->vm), scratch = npu_bo_create(c->fd, size / 4, 0, c->vm);
	uint32_t *map = npu_bo_map(c->fd, weights, size), retained = 7;
	char signs[4096];

	ASSERT_NE(MAP_FAILED, map);
	npu_fill(map, size, 0x88);
	munmap(map, size);
	ASSERT_EQ(0, npu_map(c->fd, c->vm, weights, VA, 0, size, DRM_NPUEDGE_BIND_READONLY));
	ASSERT_EQ(0, npu_map(c->fd, c->vm, scratch, 2 * VA, 0, size / 4, 0));
	ASSERT_EQ(0, npu_madvise(c->fd, scratch, DRM_NPUEDGE_MADV_DONTNEED, NULL));
	EXPECT_EQ(0, npu_wrong_pages(c, VA, size, 0x88, 1001));

	self->reserved = reserve_memory();
	ASSERT_GT(press_until(_metadata, self, size), 0) {
		TH_LOG("free %llu swap free %llu", meminfo("MemFree"), meminfo("SwapFree"));
	}
	EXPECT_EQ(0, npu_madvise(c->fd, scratch, DRM_NPUEDGE_MADV_WILLNEED, &retained));
	EXPECT_EQ(0, retained); /* dropped before anything was swapped */
	EXPECT_GT(npu_memory(c->fd).evicted_bytes, 0);

	/* while the pressure lasts, and after it */
	EXPECT_EQ(0, npu_wrong_pages(c, VA, size, 0x88, 997));
	kill(self->hog, SIGKILL);
	ASSERT_EQ(self->hog, waitpid(self->hog, NULL, 0));
	self->hog = 0;
	release_memory(self->reserved);
	EXPECT_EQ(0, npu_wrong_pages(c, VA, size, 0x88, 199));

	/* nobody else came to harm */
	ASSERT_GT(read(self->other_pipe[0], signs, sizeof(signs)), 0);
	usleep(500000);
	EXPECT_GT(read(self->other_pipe[0], signs, sizeof(signs)), 0);
	EXPECT_EQ(0, waitpid(self->other, NULL, WNOHANG));
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
