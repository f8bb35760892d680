// SPDX-License-Identifier: GPL-2.0
/* Tracepoints: names and fields that tools rely on, each fired by what it is about. */
#include <sys/mount.h>

#include "kselftest_harness.h"
#include "debugfs.h"
#include "inject.h"
#include "ne1_fwabi.h"

#define TRACING	"/sys/kernel/tracing"

static const char *const events[] = {
	"npuedge_job_submit", "npuedge_job_run", "npuedge_job_done", "npuedge_vm_bind", "npuedge_reset",
};

FIXTURE(trace) {
	struct npu_client c;
};

static int enable(const char *event, const char *value)
{
	char path[256];

	snprintf(path, sizeof(path), TRACING "/events/npuedge/%s/enable", event);
	return npu_write_text(path, value);
}

FIXTURE_SETUP(trace)
{
	int ret;

	ret = npu_client_init(&self->c);
	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (access(TRACING "/events/npuedge", F_OK) && mount("tracefs", TRACING, "tracefs", 0, NULL))
		SKIP(return, "no tracefs");
	ASSERT_EQ(0, npu_write_text(TRACING "/trace", ""));
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		ASSERT_EQ(0, enable(events[i], "1"));
}

FIXTURE_TEARDOWN(trace)
{
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		enable(events[i], "0");
	npu_client_fini(&self->c);
	npu_dumps_clear();
}

/* What follows "event: " in the trace's first line about it; "" if there is none.  The caller frees it. */
static char *first_line(const char *event)
{
	char pattern[64], *text = npu_read_file(TRACING "/trace", NULL), *at;

	snprintf(pattern, sizeof(pattern), " %s: ", event);
	at = text ? strstr(text, pattern) : NULL;
	at = at ? strndup(at + strlen(pattern), strcspn(at + strlen(pattern), "\n")) : strdup("");
	free(text);
	return at;
}

TEST_F(trace, job)
{
	struct npu_client *c = &self->c;
	unsigned long long context[3], job;
	unsigned int queue, cores;
	int error;

	npu_copy_stream(c->stream, 1, 4);
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	for (int i = 0; i < 3; i++) {
		char *line = first_line(events[i]);

		EXPECT_EQ(5, sscanf(line, "queue=%u context=%llu job=%llu cores=%u error=%d", &queue, &context[i],
				    &job, &cores, &error)) {
			TH_LOG("%s: '%s'", events[i], line);
		}
		EXPECT_EQ(1, job);
		EXPECT_EQ(1, cores);
		EXPECT_EQ(0, error);
		free(line);
	}
	EXPECT_EQ(context[0], context[1]);
	EXPECT_EQ(context[0], context[2]);
}

TEST_F(trace, failed_job)
{
	struct npu_client *c = &self->c;
	char *line;

	c->stream[0] = npu_cmd(0x7f);
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, 64, NPU_PARAMS, 0, c->sync));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	line = first_line("npuedge_job_done");
	EXPECT_NE(NULL, strstr(line, "error=-5"));
	free(line);
}

TEST_F(trace, bind)
{
	struct npu_client *c = &self->c;
	char *line, *text;
	char word[8] = "";
	unsigned long long va, size;
	unsigned int vm;
	int error;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, c->bo, 2 * NPU_VA, 0, 2 * NPU_PAGE, 0));
	ASSERT_EQ(0, npu_unmap(c->fd, c->vm, 2 * NPU_VA, NPU_PAGE));
	line = first_line("npuedge_vm_bind");
	EXPECT_EQ(5, sscanf(line, "vm=%u %7s va=%llx size=%llx error=%d", &vm, word, &va, &size, &error));
	EXPECT_STREQ("map", word);
	EXPECT_EQ(2 * NPU_VA, va);
	EXPECT_EQ(2 * NPU_PAGE, size);
	EXPECT_EQ(0, error);
	free(line);
	text = npu_read_file(TRACING "/trace", NULL);
	EXPECT_NE(NULL, strstr(text, " unmap va=0x20000000 size=0x1000 error=0"));
	free(text);
}

/* How often a text is in the trace. */
static int lines_with(const char *text)
{
	char *all = npu_read_file(TRACING "/trace", NULL);
	int lines = 0;

	for (char *at = all; at && (at = strstr(at, text)); at++)
		lines++;
	free(all);
	return lines;
}

/* What is queued is traced when it is done, and not before. */
TEST_F(trace, asynchronous_bind)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_vm_bind_op ops[] = {
		{ .op = DRM_NPUEDGE_BIND_MAP, .handle = c->bo, .va = 3 * NPU_VA, .size = 2 * NPU_PAGE },
		{ .op = DRM_NPUEDGE_BIND_UNMAP, .va = 3 * NPU_VA + NPU_PAGE, .size = NPU_PAGE },
	};
	uint32_t size = npu_slow_stream(c->stream, 100);
	int gate = npu_syncobj_create(c->fd), done = npu_syncobj_create(c->fd);
	int before, signalled;

	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, gate));
	ASSERT_EQ(0, npu_bind_async(c->fd, c->vm, ops, 2, gate, done));
	before = lines_with("npuedge_vm_bind: ");
	signalled = npu_sync_status(c->fd, gate);
	ASSERT_EQ(0, npu_wait(c->fd, done, NPU_WAIT_NS));
	ASSERT_EQ(1, npu_sync_status(c->fd, done));
	/* unless a busy machine has made us late */
	if (!signalled)
		EXPECT_EQ(0, before);
	EXPECT_EQ(2, lines_with("npuedge_vm_bind: "));
	EXPECT_EQ(1, lines_with(" map va=0x30000000 size=0x2000 error=0"));
	EXPECT_EQ(1, lines_with(" unmap va=0x30001000 size=0x1000 error=0"));
}

/* The reason in the trace's first line about a reset, which is waited for; "" if there is none. */
static void reset_reason(char reason[16], unsigned long long *context)
{
	char *line = NULL;
	unsigned int count;
	int error;

	for (int i = 0; i < 3000 * npu_slowness() && (!line || !*line); i++) {
		free(line);
		usleep(10000);
		line = first_line("npuedge_reset");
	}
	if (sscanf(line, "count=%u reason=%15s context=%llu error=%d", &count, reason, context, &error) != 4 || error)
		reason[0] = '\0';
	free(line);
}

static const struct {
	enum npusim_fault fault;
	int arg;		/* the first, or -1 */
	bool message;		/* hits a message, and not a job that runs */
	const char *reason;
} causes[] = {
	{ NPUSIM_FW_HANG, -1, false, "fatal" },			/* the watchdog */
	{ NPUSIM_EVT_INJECT, NE1_EVT_PANIC, false, "panic" },
	{ NPUSIM_REPLY_LOST, -1, true, "message" },
};

/* Each reason by what leads to it. */
TEST_F_TIMEOUT(trace, reasons_of_resets, 120)
{
	struct npu_client *c = &self->c;
	struct npu_inject inj;

	if (npu_knob_number("reset") < 0)
		SKIP(return, "debugfs is not there (reset)");
	if (inject_open(&inj))
		SKIP(return, INJECT_ABSENT);
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		unsigned long long context = ~0ull;
		char reason[16] = "";

		ASSERT_EQ(0, npu_write_text(TRACING "/trace", ""));
		npu_new_queue(c);
		if (!causes[i].message) {
			ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, npu_slow_stream(c->stream, 8000), NPU_PARAMS,
						0, c->sync));
			ASSERT_TRUE(npu_job_runs());
		}
		inject_begin(&inj, causes[i].fault);
		if (causes[i].arg >= 0)
			inject_arg(&inj, 0, causes[i].arg);
		inject_count(&inj, 1);
		ASSERT_EQ(0, inject_arm(&inj));
		if (causes[i].message)
			npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		reset_reason(reason, &context);
		EXPECT_STREQ(causes[i].reason, reason);
		EXPECT_EQ(0, context);
		inject_disarm_all(&inj);
	}
	inject_close(&inj);
	EXPECT_EQ(0, npu_device_works());
}

/* A job hangs on a core that does not stop: the reset's context is that of its fences. */
TEST_F_TIMEOUT(trace, reset_for_a_job, 120)
{
	struct npu_client *c = &self->c;
	long long saved = npu_knob_number("job_timeout_ms");
	unsigned long long context = 0, jobs = 0, job;
	char reason[16] = "", text[32], *line;
	struct npu_inject inj;
	unsigned int queue;

	if (saved < 0)
		SKIP(return, "debugfs is not there (job_timeout_ms)");
	if (inject_open(&inj))
		SKIP(return, INJECT_ABSENT);
	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", "1000"));
	npu_new_queue(c);
	snprintf(text, sizeof(text), "%lld", saved);
	ASSERT_EQ(0, npu_knob_write("job_timeout_ms", text));
	ASSERT_EQ(0, inject_arm_fault(&inj, NPUSIM_ENGINE_STUCK));
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, npu_slow_stream(c->stream, 100), NPU_PARAMS, 0, c->sync));
	reset_reason(reason, &context);
	EXPECT_STREQ("hang", reason);
	line = first_line("npuedge_job_run");
	EXPECT_EQ(3, sscanf(line, "queue=%u context=%llu job=%llu", &queue, &jobs, &job));
	free(line);
	EXPECT_NE(0, context);
	EXPECT_EQ(jobs, context);
	inject_close(&inj);
	EXPECT_EQ(0, npu_device_works());
}

TEST_F(trace, reset)
{
	unsigned long long context;
	unsigned int count;
	char reason[16] = "", *line;
	int error;

	if (npu_knob_write("reset", "1"))
		SKIP(return, "debugfs is not there (reset)");
	line = first_line("npuedge_reset");
	EXPECT_EQ(4, sscanf(line, "count=%u reason=%15s context=%llu error=%d", &count, reason, &context, &error));
	EXPECT_GE(count, 1);
	EXPECT_STREQ("asked", reason);
	EXPECT_EQ(0, context);
	EXPECT_EQ(0, error);
	free(line);
}

TEST_HARNESS_MAIN
