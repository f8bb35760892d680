// SPDX-License-Identifier: GPL-2.0
/*
 * How much later than the interrupt a job's fence comes.
 *
 * For one short job after the other, from the trace: the doorbell (npuedge_job_run, traced before it is rung), the
 * first entry into the kernel for the driver's queue interrupt, and the job's fence (npuedge_job_done).  The interrupt
 * is the floor: it comes when the device, its firmware and the bus have done their work.  What the fence takes more is
 * the driver's: its interrupt thread is woken up and finds the job that has ended.
 *
 * Times are those of the machine, so that figures of one run are compared with each other: the fence's divided by the
 * interrupt's.  The median's ratio decides; on a busy machine it may be MARGIN above the aim.
 */
#include <stdbool.h>
#include <sys/mount.h>

#include "../kselftest/npuedge.h"
#include "../kselftest/debugfs.h"
#include "bench.h"

#define TRACING	"/sys/kernel/tracing/"
#define JOBS	500
#define AIM	1.3
#define MARGIN	0.2

enum { RUN, IRQ, DONE, EVENTS };

static const char *const marks[EVENTS] = { " npuedge_job_run: ", " irq_handler_entry: ", " npuedge_job_done: " };

static void tracing(const char *file, const char *value)
{
	char path[256];
	int ret;

	snprintf(path, sizeof(path), TRACING "%s", file);
	ret = npu_write_text(path, value);
	if (ret)
		die(path, ret);
}

static void start_tracing(void)
{
	if (access(TRACING "events", F_OK) && mount("tracefs", TRACING, "tracefs", 0, NULL))
		die("tracefs", -errno);
	tracing("buffer_size_kb", "4096");
	tracing("events/irq/irq_handler_entry/filter", "name ~ \"npuedge-*\"");
	tracing("events/irq/irq_handler_entry/enable", "1");
	tracing("events/npuedge/npuedge_job_run/enable", "1");
	tracing("events/npuedge/npuedge_job_done/enable", "1");
	tracing("trace", "");
}

static void run_jobs(void)
{
	struct npu_client c;
	int ret = npu_client_init(&c);

	if (ret)
		die("client", ret);
	for (int i = 0; i < JOBS; i++) {
		ret = npu_copy_word(&c, i);
		if (ret)
			die("job", ret);
		/* all that a job leaves to do is done before the next */
		usleep(2000);
	}
	npu_client_fini(&c);
}

/* Microseconds of a line of the trace, and which event it is; EVENTS: none. */
static unsigned int parse(const char *line, double *us)
{
	unsigned int event = 0;
	const char *at = NULL;

	while (event < EVENTS && !(at = strstr(line, marks[event])))
		event++;
	if (!at)
		return EVENTS;
	/* "… 12.345678: event: …": back to the blank before the time */
	while (at > line && at[-1] != ' ')
		at--;
	*us = atof(at) * 1e6;
	return event;
}

static int count_jobs(char *text, uint64_t *irq, uint64_t *done)
{
	double us, run = 0, entry = 0;
	int jobs = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned int event = line[0] == '#' ? EVENTS : parse(line, &us);

		if (event == RUN) {
			run = us;
			entry = 0;
		} else if (event == IRQ && run && !entry) {
			entry = us;
		} else if (event == DONE && run) {
			/* without one, the driver was told by the interrupt of something else */
			if (entry && jobs < JOBS) {
				irq[jobs] = entry - run + 0.5;
				done[jobs++] = us - run + 0.5;
			}
			run = 0;
		}
	}
	return jobs;
}

int main(void)
{
	static uint64_t irq[JOBS], done[JOBS];
	double median = 0;
	char *text;
	int jobs;

	start_tracing();
	run_jobs();
	tracing("tracing_on", "0");
	text = npu_read_file(TRACING "trace", NULL);
	if (!text)
		die("trace", -EIO);
	jobs = count_jobs(text, irq, done);
	free(text);
	if (jobs < JOBS / 2)
		die("trace has too few jobs", -ENODATA);

	printf("Microseconds from the doorbell, %d jobs\n%12s %10s %10s %8s\n", jobs, "", "interrupt", "fence", "ratio");
	for (int part = 10; part <= 90; part += 40) {
		uint64_t floor = percentile(irq, jobs, part), fence = percentile(done, jobs, part);

		printf("%9d of 100 %8lu %10lu %8.2f\n", part, (unsigned long)floor, (unsigned long)fence,
		       (double)fence / floor);
		if (part == 50)
			median = (double)fence / floor;
	}
	printf("aim: %.1f, at most %.1f\n", AIM, AIM + MARGIN);
	if (median > AIM + MARGIN) {
		fprintf(stderr, "latency_bench: the median ratio %.2f is above %.1f\n", median, AIM + MARGIN);
		return 1;
	}
	return 0;
}
