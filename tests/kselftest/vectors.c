// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt vectors: four by MSI-X, or one by MSI for all causes.  Each cause is heard, whichever the device has.
 * NPU_VECTORS: how many it has to have.
 */
#include <dirent.h>

#include "kselftest_harness.h"
#include "debugfs.h"
#include "inject.h"
#include "interrupts.h"

#define BAD_VA	(NPU_VA + 0x40000000ull)

FIXTURE(vectors) {
	struct npu_inject inj;
	struct npu_client c;
};

FIXTURE_SETUP(vectors)
{
	const char *missing = inject_client(&self->inj, &self->c);

	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN(vectors)
{
	inject_close(&self->inj);
	npu_client_fini(&self->c);
	npu_dumps_clear();
}

/* Interrupts that the bus has given to the function, and by what. */
static int bus_vectors(char *kind, size_t size)
{
	char path[192], file[512];
	struct dirent *entry;
	int vectors = 0;
	DIR *dir;

	kind[0] = '\0';
	if (inject_slot(path, sizeof(path)))
		return -ENODEV;
	snprintf(file, sizeof(file), "%s/msi_irqs", path);
	dir = opendir(file);
	while (dir && (entry = readdir(dir))) {
		char *text;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/msi_irqs/%s", path, entry->d_name);
		text = npu_read_file(file, NULL);
		if (text)
			snprintf(kind, size, "%.*s", (int)strcspn(text, "\n"), text);
		free(text);
		vectors++;
	}
	if (dir)
		closedir(dir);
	return vectors;
}

TEST_F(vectors, four_or_one)
{
	const char *text = getenv("NPU_VECTORS");
	int wanted = text ? atoi(text) : 4, vectors;
	unsigned long sum;
	char kind[16];

	vectors = bus_vectors(kind, sizeof(kind));
	EXPECT_EQ(wanted, vectors);
	EXPECT_STREQ(wanted == 4 ? "msix" : "msi", kind);
	EXPECT_EQ(wanted, npu_irq_lines("npuedge-", &sum));
	EXPECT_EQ(wanted == 1, npu_irq_shared());
}

/* One more interrupt than before, soon. */
static bool raised(const char *vector, unsigned long before)
{
	for (int i = 0; i < 200 * npu_slowness() && npu_interrupts(vector) <= before; i++)
		usleep(5000);
	return npu_interrupts(vector) > before;
}

TEST_F(vectors, end_of_a_job)
{
	unsigned long before = npu_interrupts("queue");

	EXPECT_EQ(0, npu_copy_word(&self->c, 0x7e57));
	EXPECT_TRUE(raised("queue", before));
}

TEST_F(vectors, message_of_firmware)
{
	unsigned long before = npu_interrupts("event");
	int queue = npu_queue_create(self->c.fd, self->c.vm, DRM_NPUEDGE_PRIORITY_NORMAL);

	ASSERT_GT(queue, 0);
	EXPECT_TRUE(raised("event", before));
	EXPECT_EQ(0, npu_queue_destroy(self->c.fd, queue));
}

/* A fault is recorded until the driver has looked at it. */
static bool fault_recorded(volatile uint32_t *regs)
{
	return regs[NE1_REG_MMU_FAULT / 4] & NE1_MMU_FAULT_VALID;
}

TEST_F(vectors, fault_of_the_mmu)
{
	struct npu_client *c = &self->c;
	unsigned long before = npu_interrupts("mmu");
	char path[192], file[256];
	volatile uint32_t *regs;
	int fd;

	ASSERT_EQ(0, inject_slot(path, sizeof(path)));
	snprintf(file, sizeof(file), "%s/resource0", path);
	fd = open(file, O_RDWR | O_CLOEXEC);
	regs = mmap(NULL, NPU_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)regs);
	close(fd);
	for (int i = 0; i < 3; i++) {
		npu_copy_stream(c->stream, 1, 4);
		c->stream[0].dma.offset = BAD_VA - NPU_DATA;
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
		EXPECT_EQ(-EIO, npu_sync_status(c->fd, c->sync));
		EXPECT_TRUE(raised("mmu", before + i));
		for (int tries = 0; tries < 200 * npu_slowness() && fault_recorded(regs); tries++)
			usleep(5000);
		EXPECT_FALSE(fault_recorded(regs));
		npu_new_queue(c);
		ASSERT_GT(c->queue, 0);
	}
	munmap((void *)regs, NPU_PAGE);
	EXPECT_EQ(0, npu_copy_word(c, 0xfa17));
}

/* Of a line of the kernel log since @log was at its end. */
static bool logged(int log, const char *text)
{
	char line[2048];
	ssize_t got;

	while ((got = read(log, line, sizeof(line) - 1)) > 0 || (got < 0 && errno == EPIPE)) {
		if (got < 0)
			continue;
		line[got] = '\0';
		if (strstr(line, text))
			return true;
	}
	return false;
}

/* While a job runs: otherwise the device may sleep. */
TEST_F_TIMEOUT(vectors, crash_of_firmware, 120)
{
	struct npu_client *c = &self->c;
	uint32_t size = npu_slow_stream(c->stream, npu_slow_count(c, 4000));
	long long resets = npu_knob_number("reset");
	unsigned long before;
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	ASSERT_GE(log, 0);
	lseek(log, 0, SEEK_END);
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
	ASSERT_TRUE(npu_job_runs());
	before = npu_interrupts("fatal");
	ASSERT_EQ(0, inject_arm_fault(&self->inj, NPUSIM_FW_CRASH));
	EXPECT_TRUE(raised("fatal", before));
	EXPECT_EQ(resets + 1, npu_knob_above("reset", resets));
	EXPECT_TRUE(logged(log, "fatal interrupt"));
	close(log);
	inject_disarm_all(&self->inj);
	EXPECT_EQ(0, npu_device_works());
}

/* They are looked after, and do no harm.  While a job runs: otherwise the device may sleep. */
TEST_F_TIMEOUT(vectors, interrupts_without_a_cause, 120)
{
	static const char *const names[NE1_MSIX_VECTORS] = { "queue", "event", "mmu", "fatal" };
	struct npu_client *c = &self->c;
	uint32_t size = npu_slow_stream(c->stream, npu_slow_count(c, 4000));
	long long resets = npu_knob_number("reset");

	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
	ASSERT_TRUE(npu_job_runs());
	for (unsigned int vector = 0; vector < NE1_MSIX_VECTORS; vector++) {
		unsigned long before = npu_interrupts(names[vector]);

		inject_begin(&self->inj, NPUSIM_IRQ_SPURIOUS);
		inject_arg(&self->inj, 0, vector);
		ASSERT_EQ(0, inject_arm(&self->inj));
		EXPECT_TRUE(raised(names[vector], before)) {
			TH_LOG("%s", names[vector]);
		}
		inject_disarm_all(&self->inj);
	}
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
	EXPECT_EQ(0, npu_copy_word(c, 0x5000));
	EXPECT_EQ(resets, npu_knob_number("reset"));
}

TEST_HARNESS_MAIN
