// SPDX-License-Identifier: GPL-2.0
/*
 * Faults and interrupts without end: others make progress all the time, interrupts come at a bounded rate, and so do
 * lines of the kernel log.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "kselftest_harness.h"
#include "debugfs.h"
#include "inject.h"
#include "interrupts.h"

#define SECONDS		5
#define MOST_SECONDS	60	/* for as many faults and jobs as it takes to say something */
#define FAULTS		20
#define JOBS		20
#define RARE_PER_SECOND	60	/* interrupts of a vector that is masked when it comes too often */
#define SHARED_PER_SECOND	200	/* of one that all causes share, besides those of jobs */
#define PER_JOB			4
#define LINES		100	/* in SECONDS */

FIXTURE(storm) {
	struct npu_inject inj;
	struct npu_client a, b;
	int log;
};

FIXTURE_SETUP(storm)
{
	const char *missing;

	npu_wait_uses(0);
	missing = inject_client(&self->inj, &self->a);
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, npu_client_init(&self->b));
	self->log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ASSERT_GE(self->log, 0);
	lseek(self->log, 0, SEEK_END);
}

FIXTURE_TEARDOWN(storm)
{
	inject_close(&self->inj);
	npu_client_fini(&self->a);
	npu_client_fini(&self->b);
	if (self->log > 0)
		close(self->log);
	npu_dumps_clear();
}

/* Lines of the log about the device since the test began. */
static int log_lines(int log)
{
	char line[2048];
	int lines = 0;
	ssize_t got;

	while ((got = read(log, line, sizeof(line) - 1)) > 0 || (got < 0 && errno == EPIPE)) {
		if (got < 0)
			continue;
		line[got] = '\0';
		lines += !!strstr(line, "npuedge");
	}
	return lines;
}

struct witness {
	struct npu_client *c;
	atomic_bool *stop;
	atomic_long jobs;
	int error;
	int64_t worst_ns;
};

/* Short jobs, one after the other. */
static void *witness(void *arg)
{
	struct witness *w = arg;
	struct npu_client *c = w->c;

	npu_copy_stream(c->stream, 1, 4);
	while (!*w->stop && !w->error) {
		int64_t begin = npu_deadline(0);

		c->data[0] = w->jobs + 1;
		w->error = npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync);
		if (!w->error)
			w->error = npu_wait(c->fd, c->sync, NPU_WAIT_NS);
		if (!w->error && (npu_sync_status(c->fd, c->sync) != 1 || c->data[1] != w->jobs + 1))
			w->error = -EIO;
		if (npu_deadline(0) - begin > w->worst_ns)
			w->worst_ns = npu_deadline(0) - begin;
		w->jobs++;
	}
	return NULL;
}

/* Whether the time is over: SECONDS, or what it takes on a slow machine to have been of use. */
static bool time_over(unsigned long seconds, bool of_use)
{
	return seconds > SECONDS && (of_use || seconds > MOST_SECONDS * (unsigned long)npu_slowness());
}

/* Seconds since @begin, rounded up. */
static unsigned long seconds_since(int64_t begin)
{
	return (npu_deadline(0) - begin) / 1000000000 + 1;
}

/*
 * What was seen in so many seconds was bounded; @spare: seconds more, for what came at once; @jobs: how many there were,
 * which add to a line that all causes share.
 */
static void check_bounds(struct __test_metadata *_metadata, FIXTURE_DATA(storm) *self, unsigned long seen,
			 unsigned long seconds, unsigned long spare, long jobs)
{
	unsigned long most = (seconds + spare) * RARE_PER_SECOND;

	if (npu_irq_shared())
		most = (seconds + spare) * SHARED_PER_SECOND + jobs * PER_JOB;
	EXPECT_LT(seen, most);
	EXPECT_LT((unsigned long)log_lines(self->log), seconds > SECONDS ? LINES * seconds / SECONDS : LINES);
}

/* The index in hardware of the only queue there is. */
static int only_queue(void)
{
	char *text = npu_knob_read("queues");
	int index = -1;

	if (text)
		sscanf(text, "queue %d:", &index);
	free(text);
	return index;
}

TEST_F_TIMEOUT(storm, one_context_faults_all_the_time, 180)
{
	struct npu_client *a = &self->a;
	long long resets = npu_knob_number("reset");
	struct witness w = { .c = &self->b };
	atomic_bool stop = false;
	unsigned long before;
	pthread_t thread;
	int64_t begin;
	int index, faults = 0;

	/* have it alone for a moment: which queue of the device is a's */
	npu_queue_destroy(self->b.fd, self->b.queue);
	index = only_queue();
	ASSERT_GE(index, 0);
	self->b.queue = npu_queue_create(self->b.fd, self->b.vm, DRM_NPUEDGE_PRIORITY_NORMAL);
	ASSERT_GT(self->b.queue, 0);

	inject_begin(&self->inj, NPUSIM_MMU_STORM);
	inject_arg(&self->inj, 0, index);
	ASSERT_EQ(0, inject_arm(&self->inj));
	w.stop = &stop;
	ASSERT_EQ(0, pthread_create(&thread, NULL, witness, &w));
	before = npu_interrupts("mmu");
	npu_copy_stream(a->stream, 1, 4);
	begin = npu_deadline(0);
	/* both make progress, however slow the machine */
	while (!time_over(seconds_since(begin), faults > FAULTS && w.jobs > JOBS)) {
		/* its own queue takes nothing any more after a fault; a new one has the lowest index again */
		ASSERT_EQ(0, npu_submit(a->fd, a->queue, NPU_STREAM, 192, NPU_PARAMS, 0, a->sync));
		ASSERT_EQ(0, npu_wait(a->fd, a->sync, NPU_WAIT_NS));
		ASSERT_EQ(-EIO, npu_sync_status(a->fd, a->sync));
		npu_new_queue(a);
		ASSERT_GT(a->queue, 0);
		faults++;
	}
	stop = true;
	pthread_join(thread, NULL);
	TH_LOG("%d faults, %lu interrupts, %ld jobs of the other, worst %lld us", faults,
	       npu_interrupts("mmu") - before, w.jobs, (long long)w.worst_ns / 1000);
	EXPECT_GT(faults, FAULTS);
	EXPECT_EQ(0, w.error);
	EXPECT_GT(w.jobs, JOBS);
	EXPECT_LT(w.worst_ns, 4000000000ll * npu_slowness());
	check_bounds(_metadata, self, npu_interrupts("mmu") - before, seconds_since(begin), 1, w.jobs + faults);
	EXPECT_EQ(resets, npu_knob_number("reset"));
	inject_disarm_all(&self->inj);
	EXPECT_EQ(0, npu_device_works());
}

/* Interrupts that nothing is behind, as fast as the device can. */
static void flood(struct __test_metadata *_metadata, FIXTURE_DATA(storm) *self, unsigned int vector, const char *name)
{
	struct witness w = { .c = &self->b };
	atomic_bool stop = false;
	unsigned long before = npu_interrupts(name);
	int64_t begin = npu_deadline(0);
	pthread_t thread;

	inject_begin(&self->inj, NPUSIM_IRQ_STORM);
	inject_arg(&self->inj, 0, vector);
	inject_arg(&self->inj, 1, 1000000);
	inject_duration_us(&self->inj, 0);
	ASSERT_EQ(0, inject_arm(&self->inj));
	w.stop = &stop;
	ASSERT_EQ(0, pthread_create(&thread, NULL, witness, &w));
	while (!time_over(seconds_since(begin), w.jobs > JOBS))
		usleep(100000);
	stop = true;
	pthread_join(thread, NULL);
	inject_disarm_all(&self->inj);
	TH_LOG("%s: %lu interrupts, %ld jobs, worst %lld us", name, npu_interrupts(name) - before, w.jobs,
	       (long long)w.worst_ns / 1000);
	EXPECT_GT(npu_interrupts(name) - before, 0);
	EXPECT_EQ(0, w.error);
	EXPECT_GT(w.jobs, JOBS);
	EXPECT_LT(w.worst_ns, 4000000000ll * npu_slowness());
	check_bounds(_metadata, self, npu_interrupts(name) - before, seconds_since(begin), 4, w.jobs);
	EXPECT_EQ(0, npu_device_works());
}

TEST_F_TIMEOUT(storm, interrupts_of_the_mmu, 180)
{
	flood(_metadata, self, 2, "mmu");
}

TEST_F_TIMEOUT(storm, interrupts_of_the_fatal_kind, 180)
{
	flood(_metadata, self, 3, "fatal");
}

TEST_HARNESS_MAIN
