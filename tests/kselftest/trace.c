// SPDX-License-Identifier: GPL-2.0
/* Tracepoints: names and fields that tools rely on, each fired by what it is about. */
#include <sys/mount.h>

#include "kselftest_harness.h"
#include "debugfs.h"

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
