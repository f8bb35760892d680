// SPDX-License-Identifier: GPL-2.0
/*
 * Behind an IOMMU: what the device may reach is what the driver has mapped, for as long as it is mapped.  Without one
 * the tests skip; with NPU_IOMMU there has to be one.
 */
#include <sys/mount.h>

#include "kselftest_harness.h"
#include "debugfs.h"
#include "inject.h"

#define TRACING		"/sys/kernel/tracing"
#define NOBODY		0x5500000000ull	/* within the IOMMU's reach; addresses are given from the top, or from 4 GiB, down */
#define PATTERN		0x77777777u
#define BUFFER		(64 * NPU_PAGE)

FIXTURE(iommu) {
	struct npu_inject inj;
	struct npu_client c, other;
	char slot[64];
};

FIXTURE_SETUP(iommu)
{
	const char *missing, *wanted = getenv("NPU_IOMMU");
	char path[128];

	if (npu_slot(self->slot, sizeof(self->slot)))
		SKIP(return, "no PCI function with our driver");
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", self->slot);
	if (access(path, F_OK)) {
		ASSERT_EQ(NULL, wanted);
		SKIP(return, "no IOMMU");
	}
	missing = inject_client(&self->inj, &self->c);
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, npu_client_init(&self->other));
	memset(self->other.data, 0x77, NPU_PAGE);
}

FIXTURE_TEARDOWN(iommu)
{
	inject_close(&self->inj);
	npu_client_fini(&self->c);
	npu_client_fini(&self->other);
	npu_dumps_clear();
}

/* Addresses are translated: otherwise nothing of this proves anything. */
TEST_F(iommu, translates)
{
	char path[128], *type;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group/type", self->slot);
	type = npu_read_file(path, NULL);
	ASSERT_NE(NULL, type);
	EXPECT_EQ(0, strncmp(type, "DMA", 3)) {
		TH_LOG("%s", type);
	}
	free(type);
}

/* Waits for a line of the kernel log with both texts. */
static bool logged(int log, const char *what, const char *where)
{
	char line[2048];

	for (int i = 0; i < 1000 * npu_slowness(); i++) {
		ssize_t got;

		while ((got = read(log, line, sizeof(line) - 1)) > 0 || (got < 0 && errno == EPIPE)) {
			if (got < 0)
				continue;
			line[got] = '\0';
			if (strstr(line, what) && strstr(line, where))
				return true;
		}
		usleep(5000);
	}
	return false;
}

/* The device writes where nothing is mapped: the IOMMU reports it, memory is as it was, and jobs go on. */
TEST_F_TIMEOUT(iommu, stray_write_is_stopped, 60)
{
	struct npu_client *c = &self->c;
	long long resets = npu_knob_number("reset");
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char where[32];

	ASSERT_GE(log, 0);
	lseek(log, 0, SEEK_END);
	memset(c->data, 0x77, NPU_PAGE);
	inject_begin(&self->inj, NPUSIM_STRAY_WRITE);
	inject_arg(&self->inj, 1, NOBODY);
	ASSERT_EQ(0, inject_arm(&self->inj));
	EXPECT_EQ(0, npu_copy_word(c, 0x57a4));
	EXPECT_TRUE(inject_wait(&self->inj, NPUSIM_STRAY_WRITE, 1, 1000));
	snprintf(where, sizeof(where), "fault addr 0x%llx", NOBODY);
	EXPECT_TRUE(logged(log, "DMAR: [DMA Write", where));
	close(log);
	for (uint64_t i = 0; i < NPU_PAGE / 4; i++) {
		EXPECT_EQ(PATTERN, self->other.data[i]);
		if (i > 1)
			EXPECT_EQ(PATTERN, c->data[i]);
	}
	inject_disarm_all(&self->inj);
	EXPECT_EQ(0, npu_copy_word(c, 0x600d));
	EXPECT_EQ(0, npu_copy_word(&self->other, 0x600e));
	EXPECT_EQ(resets, npu_knob_number("reset"));
	EXPECT_EQ(0, npu_device_works());
}

static void trace(const char *on)
{
	npu_write_text(TRACING "/events/iommu/map/enable", on);
	npu_write_text(TRACING "/events/iommu/unmap/enable", on);
}

/* Bytes of lines of the trace with @event that follow @key. */
static long long traced(const char *text, const char *event, const char *key)
{
	long long sum = 0;

	for (const char *at = text; at && (at = strstr(at, event)); at++) {
		const char *end = strchr(at, '\n'), *value = strstr(at, key);

		if (value && (!end || value < end))
			sum += strtoll(value + strlen(key), NULL, 0);
	}
	return sum;
}

/* Bytes that are mapped since the trace began; @all: that ever were.  The NPU alone is translated. */
static long long mapped(long long *all)
{
	char *text = npu_read_file(TRACING "/trace", NULL);
	long long ended = traced(text, " unmap: ", " unmapped_size=");

	*all = traced(text, " map: ", " size=");
	free(text);
	return *all - ended;
}

TEST_F_TIMEOUT(iommu, nothing_is_mapped_after_unbind, 60)
{
	struct npu_client *c = &self->c;
	long long all;
	int bo;

	if (access(TRACING "/events", F_OK))
		ASSERT_EQ(0, mount("tracefs", TRACING, "tracefs", 0, NULL));
	ASSERT_EQ(0, access(TRACING "/events/iommu/map", F_OK));
	inject_close(&self->inj);
	npu_client_fini(c);
	memset(c, 0, sizeof(*c));
	ASSERT_EQ(0, npu_unbind(self->slot));
	ASSERT_EQ(0, npu_write_text(TRACING "/buffer_size_kb", "16384"));
	ASSERT_EQ(0, npu_write_text(TRACING "/trace", ""));
	trace("1");
	ASSERT_EQ(0, npu_bind(self->slot));
	ASSERT_EQ(0, npu_device_works());
	ASSERT_EQ(0, npu_client_init(c));
	bo = npu_bo_create(c->fd, BUFFER, 0, 0);
	ASSERT_GT(bo, 0);
	ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, NPU_VA * 2, 0, BUFFER, 0));
	EXPECT_EQ(0, npu_copy_word(c, 0x10e3));
	EXPECT_GE(mapped(&all), BUFFER);
	/* with buffers and address spaces that live on */
	ASSERT_EQ(0, npu_unbind(self->slot));
	EXPECT_EQ(0, mapped(&all));
	EXPECT_GE(all, BUFFER);
	trace("0");
	npu_write_text(TRACING "/trace", "");
	ASSERT_EQ(0, npu_bind(self->slot));
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
