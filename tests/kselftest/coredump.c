// SPDX-License-Identifier: GPL-2.0
/* Core dumps: each incident leaves one, with what is needed to run the job again. */
#include <sys/stat.h>

#include "kselftest_harness.h"
#include "debugfs.h"
#include "ne1_fwabi.h"

#define BAD_VA	(NPU_VA + 0x40000000ull)

FIXTURE(coredump) {
	struct npu_client c;
};

FIXTURE_SETUP(coredump)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (npu_knob_number("job_timeout_ms") < 0)
		SKIP(return, "debugfs is not there (job_timeout_ms)");
	npu_dumps_clear();
}

FIXTURE_TEARDOWN(coredump)
{
	npu_client_fini(&self->c);
	npu_dumps_clear();
}

/* Value of a line "key: value" of the head, or "" */
static const char *value(const char *dump, const char *key, char *buffer, size_t size)
{
	char pattern[32];
	const char *at;

	snprintf(pattern, sizeof(pattern), "\n%s: ", key);
	at = strstr(dump, pattern);
	buffer[0] = '\0';
	if (at)
		snprintf(buffer, size, "%.*s", (int)strcspn(at + strlen(pattern), "\n"), at + strlen(pattern));
	return buffer;
}

/* The section that begins with "[name bytes=", its length, and what follows its first line. */
static const char *section(const char *dump, const char *name, size_t *bytes, unsigned long long *va)
{
	char pattern[64];
	const char *at;

	snprintf(pattern, sizeof(pattern), "\n[%s bytes=", name);
	at = strstr(dump, pattern);
	if (!at)
		return NULL;
	at += strlen(pattern);
	*bytes = strtoull(at, (char **)&at, 10);
	if (va)
		*va = strncmp(at, " va=", 4) ? 0 : strtoull(at + 4, (char **)&at, 0);
	at = strchr(at, '\n');
	return at ? at + 1 : NULL;
}

/* Whether hexadecimal lines of 32 bytes begin with these bytes. */
static bool hex_begins(const char *hex, const void *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		char digits[3] = { hex[0], hex[1], '\0' };

		if (strtoul(digits, NULL, 16) != ((const uint8_t *)data)[i])
			return false;
		hex += 2;
		if (*hex == '\n')
			hex++;
	}
	return true;
}

/* Bytes from @offset on of such lines. */
static void hex_read(const char *hex, size_t offset, void *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		size_t digit = 2 * (offset + i);
		char digits[3] = { hex[digit + digit / 64], hex[digit + digit / 64 + 1], '\0' };

		((uint8_t *)data)[i] = strtoul(digits, NULL, 16);
	}
}

/* A record of a section of such lines; all of it has to be there. */
static bool record(const char *dump, const char *name, size_t index, void *data, size_t bytes)
{
	size_t all = 0;
	const char *at = section(dump, name, &all, NULL);

	if (!at || (index + 1) * bytes > all)
		return false;
	hex_read(at, index * bytes, data, bytes);
	return true;
}

/* Value of a register in the dump; false if it is not there. */
static bool reg(const char *dump, uint32_t offset, uint32_t *value)
{
	size_t bytes = 0;
	const char *at = section(dump, "regs", &bytes, NULL), *end = at + bytes;
	unsigned int which, is;

	for (; at && at < end && sscanf(at, "%x %x", &which, &is) == 2; at = strchr(at, '\n') + 1) {
		if (which == offset) {
			*value = is;
			return true;
		}
	}
	return false;
}

/* Whether a text is in a section. */
static bool section_has(const char *dump, const char *name, const char *text)
{
	size_t bytes = 0;
	const char *at = section(dump, name, &bytes, NULL);
	char *copy = at ? strndup(at, bytes) : NULL;
	bool has = copy && strstr(copy, text);

	free(copy);
	return has;
}

/* What the device and firmware had to say: not only that there is something. */
static void check_device(struct __test_metadata *_metadata, const char *dump)
{
	struct ne1_fw_if iface = { 0 };
	uint32_t value = 0;
	size_t bytes = 0;

	EXPECT_TRUE(reg(dump, NE1_REG_ID, &value));
	EXPECT_EQ(NE1_ID_MAGIC, value);
	EXPECT_TRUE(reg(dump, NE1_REG_BOOT_STATUS, &value));
	EXPECT_EQ(NE1_BOOT_STATE_READY, value & NE1_BOOT_STATE_MASK);
	EXPECT_TRUE(reg(dump, NE1_REG_FREQ, &value));
	EXPECT_LT(0, value);
	EXPECT_TRUE(reg(dump, NE1_REG_CAP_QUEUES, &value));
	EXPECT_LT(0, value);

	EXPECT_TRUE(record(dump, "fw_if", 0, &iface, sizeof(iface)));
	EXPECT_EQ(NE1_ABI_MAJOR, iface.fw_abi_major);
	EXPECT_EQ(NE1_FW_RUNNING, iface.fw_state);
	EXPECT_LE(1, iface.queue_count);
	EXPECT_NE(NULL, section(dump, "msg_rings", &bytes, NULL));
	EXPECT_LE(2 * sizeof(struct ne1_ring_ctl) + 64 * sizeof(struct ne1_msg), bytes);
}

/* The job in its queue's ring, and its result: both of them where the job was. */
static void check_job(struct __test_metadata *_metadata, const char *dump, uint64_t seqno)
{
	struct ne1_job_result result = { 0 };
	struct ne1_fw_queue queue = { 0 };
	struct ne1_job job = { 0 };
	char queue_name[16], vm[16], line[96];

	EXPECT_TRUE(record(dump, "ring", seqno - 1, &job, sizeof(job)));
	EXPECT_EQ(seqno, job.seqno);
	EXPECT_EQ(1, job.cores);
	EXPECT_EQ(NPU_PARAMS, job.param_va);
	EXPECT_EQ(NPU_STREAM, job.stream[0].va);
	EXPECT_EQ(3 * NE1_CMD_SIZE, job.stream[0].size);
	EXPECT_TRUE(record(dump, "results", seqno - 1, &result, sizeof(result)));
	EXPECT_EQ(seqno, result.seqno);
	EXPECT_EQ(NE1_FAULT_MMU, result.fault);
	EXPECT_EQ(BAD_VA, result.va);
	EXPECT_LT(0, result.start_ns);
	EXPECT_LT(result.start_ns, result.end_ns);
	EXPECT_TRUE(record(dump, "queue", 0, &queue, sizeof(queue)));
	EXPECT_EQ(seqno, queue.tail);
	EXPECT_EQ(seqno, queue.head);
	EXPECT_EQ(seqno, queue.done_seqno);
	EXPECT_LT(0, queue.busy_ns);

	snprintf(line, sizeof(line), "queue %s: created, vm %s priority %u", value(dump, "queue", queue_name, 16),
		 value(dump, "vm", vm, 16), NE1_PRIO_NORMAL);
	EXPECT_TRUE(section_has(dump, "fw_log", line)) {
		TH_LOG("firmware's log does not have '%s'", line);
	}
}

static int fault_job(struct npu_client *c)
{
	npu_copy_stream(c->stream, 1, 4);
	c->stream[0].dma.offset = BAD_VA - NPU_DATA;
	return npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync);
}

TEST_F(coredump, fault)
{
	struct npu_client *c = &self->c;
	static const char *const sections[] = { "regs", "fw_log", "fw_if", "msg_rings", "queue", "ring", "results",
						"walk", "params", "stream0", "vm", "bo" };
	struct drm_npuedge_bo_set_label label = {
		.handle = c->bo, .size = 9, .label = (uintptr_t)"all of it",
	};
	union ne1_cmd stream[3];
	struct ne1_params params;
	unsigned long long va;
	char text[64], *dump;
	const char *at;
	size_t bytes;

	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_BO_SET_LABEL, &label));
	/* two that end well come before it in the ring */
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, npu_copy_word(c, 0x600d));
	ASSERT_EQ(0, fault_job(c));
	memcpy(stream, c->stream, sizeof(stream));
	params = *c->params;
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	EXPECT_EQ(-EIO, npu_sync_status(c->fd, c->sync));
	/* what is done to the memory afterwards does not matter */
	memset(c->map, 0xee, 3 * NPU_PAGE);

	dump = npu_dump_take();
	ASSERT_NE(NULL, dump);
	EXPECT_EQ(0, strncmp(dump, "npuedge-coredump 1\n", 19));
	EXPECT_STREQ("fault", value(dump, "reason", text, sizeof(text)));
	EXPECT_EQ(NE1_FAULT_MMU, atoi(value(dump, "fault", text, sizeof(text))));
	EXPECT_EQ(BAD_VA, strtoull(value(dump, "va", text, sizeof(text)), NULL, 0));
	EXPECT_EQ(0, atoi(value(dump, "cmd", text, sizeof(text))));
	EXPECT_EQ(3, atoi(value(dump, "seqno", text, sizeof(text))));
	EXPECT_STREQ("tiny", value(dump, "chip", text, sizeof(text)));
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		EXPECT_NE(NULL, section(dump, sections[i], &bytes, NULL)) {
			TH_LOG("no section %s", sections[i]);
		}
		EXPECT_LT(0, bytes) {
			TH_LOG("nothing in section %s", sections[i]);
		}
	}
	check_device(_metadata, dump);
	check_job(_metadata, dump, 3);

	at = section(dump, "stream0", &bytes, &va);
	EXPECT_EQ(sizeof(stream), bytes);
	EXPECT_EQ(NPU_STREAM, va);
	EXPECT_TRUE(hex_begins(at, stream, sizeof(stream)));
	at = section(dump, "params", &bytes, &va);
	EXPECT_EQ(sizeof(params), bytes);
	EXPECT_EQ(NPU_PARAMS, va);
	EXPECT_TRUE(hex_begins(at, &params, sizeof(params)));
	at = section(dump, "bo", &bytes, &va);
	EXPECT_EQ(NPU_VA, va);
	EXPECT_EQ(NPU_CLIENT_SIZE, bytes);
	EXPECT_TRUE(hex_begins(at, &params, sizeof(params)));
	snprintf(text, sizeof(text), "%#llx %#x 0 all of it\n", NPU_VA, NPU_CLIENT_SIZE);
	at = section(dump, "vm", &bytes, NULL);
	EXPECT_EQ(0, strncmp(at, text, strlen(text)));
	/* the walk ends where nothing is mapped */
	at = section(dump, "walk", &bytes, NULL);
	EXPECT_EQ(0, strncmp(at, "0 1 0x", 6));
	free(dump);
}

/* Streams that fault, each in its way; returns the size, 0 behind the last. */
static uint32_t faulting_stream(struct npu_client *c, unsigned int kind)
{
	union ne1_cmd *s = c->stream;

	npu_copy_stream(s, 1, 4);
	switch (kind) {
	case 0: s[1].dma.offset = BAD_VA - NPU_DATA; break;		/* store where nothing is */
	case 1: s[1].dma.offset = 2 * NPU_VA - NPU_DATA; break;		/* store to read-only memory */
	case 2: s[0].dma.sram = 0xfffff000; break;			/* SRAM that does not exist */
	case 3: s[1] = npu_cmd(0x7f); break;				/* unknown command */
	case 4: s[1].hdr.wait[0] = 5; break;				/* nobody signals this semaphore */
	case 5: return 2 * NE1_CMD_SIZE;				/* no end */
	default: return 0;
	}
	return 3 * NE1_CMD_SIZE;
}

TEST_F_TIMEOUT(coredump, kinds_of_faults, 60)
{
	struct npu_client *c = &self->c;
	char text[64], *dump;
	uint32_t size;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, c->bo, 2 * NPU_VA, 0, NPU_PAGE, DRM_NPUEDGE_BIND_READONLY));
	for (unsigned int kind = 0; (size = faulting_stream(c, kind)); kind++) {
		struct drm_npuedge_queue_get_state state = { .id = c->queue };

		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
		ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
		EXPECT_EQ(DRM_NPUEDGE_REASON_FAULT, state.reason);
		dump = npu_dump_take();
		ASSERT_NE(NULL, dump);
		EXPECT_EQ(state.fault, strtoul(value(dump, "fault", text, sizeof(text)), NULL, 0));
		EXPECT_EQ(state.fault_cmd, strtoul(value(dump, "cmd", text, sizeof(text)), NULL, 0));
		EXPECT_EQ(state.fault_va, strtoull(value(dump, "va", text, sizeof(text)), NULL, 0));
		EXPECT_EQ(state.fault_info, strtoul(value(dump, "info", text, sizeof(text)), NULL, 0));
		free(dump);
		npu_queue_destroy(c->fd, c->queue);
		c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		ASSERT_GT(c->queue, 0);
	}
}

TEST_F_TIMEOUT(coredump, timeout, 60)
{
	struct npu_client *c = &self->c;
	long long saved = npu_knob_number("job_timeout_ms");
	char text[64], *dump;

	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", "1000"));
	npu_queue_destroy(c->fd, c->queue);
	c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	snprintf(text, sizeof(text), "%lld", saved);
	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", text));
	ASSERT_GT(c->queue, 0);
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, npu_slow_stream(c->stream, 8000), NPU_PARAMS, 0,
				c->sync));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, 2 * NPU_WAIT_NS));
	EXPECT_EQ(-ETIME, npu_sync_status(c->fd, c->sync));
	dump = npu_dump_take();
	ASSERT_NE(NULL, dump);
	EXPECT_STREQ("timeout", value(dump, "reason", text, sizeof(text)));
	EXPECT_EQ(0, atoi(value(dump, "fault", text, sizeof(text))));
	EXPECT_STREQ("1", value(dump, "seqno", text, sizeof(text)));
	free(dump);
}

TEST_F_TIMEOUT(coredump, reset, 60)
{
	struct npu_client *c = &self->c;
	char text[64], *dump;

	ASSERT_EQ(0, npu_knob_write("reset", "1"));
	dump = npu_dump_take();
	ASSERT_NE(NULL, dump);
	EXPECT_STREQ("reset-asked", value(dump, "reason", text, sizeof(text)));
	EXPECT_STREQ("", value(dump, "seqno", text, sizeof(text)));
	free(dump);

	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, npu_slow_stream(c->stream, 8000), NPU_PARAMS, 0,
				c->sync));
	ASSERT_TRUE(npu_job_runs());
	ASSERT_EQ(0, npu_knob_write("reset", "1"));
	dump = npu_dump_take();
	ASSERT_NE(NULL, dump);
	EXPECT_STREQ("1", value(dump, "seqno", text, sizeof(text)));
	free(dump);
}

TEST_F(coredump, root_alone_and_one_at_a_time)
{
	struct npu_client *c = &self->c;
	char path[256], other[256];
	struct stat stat;
	glob_t found;

	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, fault_job(c));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
		npu_queue_destroy(c->fd, c->queue);
		c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		ASSERT_GT(c->queue, 0);
	}
	ASSERT_TRUE(npu_dump_wait(path, sizeof(path)));
	ASSERT_EQ(0, glob(NPU_DUMPS, 0, NULL, &found));
	EXPECT_EQ(1, found.gl_pathc);
	snprintf(other, sizeof(other), "%s", found.gl_pathv[0]);
	globfree(&found);
	ASSERT_EQ(0, lstat(other, &stat));
	EXPECT_EQ(0600, stat.st_mode & 0777);
	EXPECT_EQ(0, stat.st_uid);
}

TEST_HARNESS_MAIN
