// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions of the driver's paths, for a guest whose time stamp counter counts them: tools/vm/run --icount --smp 1.
 *
 * A call is measured from user space, at a real-time priority, so that nothing else runs within it.  What happens
 * afterwards is measured by a loop at the lowest priority: the kernel's work interrupts it, and makes the counter jump
 * between two looks at it.  Jumps in a row belong together.  The last row is completion; the longest before it is the
 * scheduler running the job.  Medians, as the timer's ticks fall into some of them.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <x86intrin.h>

#include "../kselftest/npuedge.h"
#include "bench.h"

#define ROUNDS		60
#define QUIET		60000	/* instructions without a jump: all is done */
#define JUMP		250	/* more than a turn of the loop, less than an interrupt */
#define APART		1500	/* instructions between what belongs to different things */
#define PRODUCTS	6	/* of a job; on a busy machine fewer may end before the kernel is quiet */
#define LOST		20000000000ull
#define BIND_VA		(1ull << 33)

static void priority(bool high)
{
	struct sched_param param = { .sched_priority = high ? 90 : 0 };

	if (sched_setscheduler(0, high ? SCHED_FIFO : SCHED_IDLE, &param))
		die("sched_setscheduler", -errno);
}

/* What a system call that does nothing costs, and two looks at the counter. */
static uint64_t floor_cost(int fd)
{
	static uint64_t cost[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begin = __rdtsc();

		ioctl(fd, _IO('d', 0x3f), 0);
		cost[i] = __rdtsc() - begin;
	}
	return percentile(cost, ROUNDS, 50);
}

static void wait_idle(void)
{
	uint64_t last = __rdtsc(), now, since = last;

	while (since + QUIET > last) {
		now = __rdtsc();
		if (now - last > JUMP)
			since = now;
		last = now;
	}
}

struct costs {
	uint64_t ioctl, run, done;
};

/* A job that takes long enough for the kernel to be quiet before it ends. */
static uint32_t slow_copy_stream(struct npu_client *c)
{
	uint32_t size = npu_slow_stream(c->stream, PRODUCTS);

	/* in the place of the end */
	return size - NE1_CMD_SIZE + npu_copy_stream(c->stream + size / NE1_CMD_SIZE - 1, 1, 4);
}

/* One job: its ioctl, then jumps of the counter up to its result, then those until all is quiet. */
static struct costs one_job(struct npu_client *c, int queue, uint32_t bytes)
{
	volatile uint32_t *result = &c->data[1];
	uint64_t begin, last, now, quiet, burst = 0;
	struct costs costs = { 0 };
	uint32_t token = c->data[0] + 1;
	int ret;

	c->data[0] = token;
	priority(true);
	begin = __rdtsc();
	ret = npu_submit(c->fd, queue, NPU_STREAM, bytes, NPU_PARAMS, 0, c->sync);
	costs.ioctl = __rdtsc() - begin;
	priority(false);	/* now the scheduler's worker may run */
	last = __rdtsc();
	if (ret)
		die("SUBMIT", ret);

	quiet = last;
	while (*result != token || quiet + QUIET > last) {
		if (last - begin > LOST)
			die("a job", -ETIME);
		now = __rdtsc();
		if (now - last > JUMP) {
			/* what is far apart has nothing to do with each other; the last is completion */
			if (last - quiet > APART) {
				costs.run = burst > costs.run ? burst : costs.run;
				burst = 0;
			}
			burst += now - last;
			quiet = now;
		}
		last = now;
	}
	costs.done = burst;
	return costs;
}

static void bench_queues(struct npu_client *c, const int *queues, int count, uint32_t bytes)
{
	static uint64_t ioctl[ROUNDS], run[ROUNDS], done[ROUNDS];
	for (int i = 0; i < ROUNDS; i++) {
		struct costs costs = one_job(c, queues[i % count], bytes);

		ioctl[i] = costs.ioctl;
		run[i] = costs.run;
		done[i] = costs.done;
	}
	printf("submit queues=%d ioctl=%lu run_job=%lu completion=%lu\n", count, percentile(ioctl, ROUNDS, 50),
	       percentile(run, ROUNDS, 50), percentile(done, ROUNDS, 50));
}

static void bench_submit(void)
{
	struct drm_npuedge_chip_info chip;
	static const int counts[] = { 1, 8, 64 };
	struct npu_client c;
	int queues[64], made = 1, ret;
	uint32_t bytes;

	ret = npu_client_init(&c);
	if (ret)
		die("client", ret);
	npu_query(c.fd, DRM_NPUEDGE_QUERY_CHIP, &chip, sizeof(chip));
	bytes = slow_copy_stream(&c);
	queues[0] = c.queue;
	printf("floor ioctl=%lu\n", floor_cost(c.fd));
	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (; made < counts[i]; made++) {
			queues[made] = npu_queue_create(c.fd, c.vm, DRM_NPUEDGE_PRIORITY_NORMAL);
			if (queues[made] < 0)
				die("QUEUE_CREATE", queues[made]);
		}
		bench_queues(&c, queues, counts[i], bytes);
	}
	npu_client_fini(&c);
}

static uint64_t timed_bind(struct npu_client *c, int bo, uint64_t va, bool map)
{
	uint64_t begin = __rdtsc(), end;
	int ret = map ? npu_map(c->fd, c->vm, bo, va, 0, 65536, 0) : npu_unmap(c->fd, c->vm, va, 65536);

	end = __rdtsc();
	if (ret)
		die("VM_BIND", ret);
	return end - begin;
}

/* A VM in which @count buffers are mapped: one more map, its unmap, and a submit. */
static void bench_buffers(int count, bool shareable)
{
	static uint64_t map[ROUNDS], unmap[ROUNDS], submit[ROUNDS];
	uint64_t first = 0;
	uint32_t bytes;
	struct npu_client c;
	int extra, ret;

	ret = npu_client_init(&c);
	if (ret)
		die("client", ret);
	bytes = npu_copy_stream(c.stream, 1, 4);
	priority(true);
	for (int i = 0; i < count; i++) {
		int bo = npu_bo_create(c.fd, 4096, 0, shareable ? 0 : c.vm);
		uint64_t begin = __rdtsc();

		ret = bo < 0 ? bo : npu_map(c.fd, c.vm, bo, BIND_VA + i * 65536ull, 0, 4096, 0);
		if (ret)
			die("buffers", ret);
		first += __rdtsc() - begin;
	}
	extra = npu_bo_create(c.fd, 65536, 0, shareable ? 0 : c.vm);
	for (int i = 0; i < ROUNDS; i++) {
		priority(true);
		map[i] = timed_bind(&c, extra, NPU_VA * 2, true);
		unmap[i] = timed_bind(&c, extra, NPU_VA * 2, false);
	}
	for (int i = 0; i < ROUNDS; i++)
		submit[i] = one_job(&c, c.queue, bytes).ioctl;
	priority(false);
	wait_idle();
	printf("bind buffers=%d kind=%s mean=%lu map=%lu unmap=%lu submit=%lu\n", count,
	       shareable ? "shareable" : "private", first / count, percentile(map, ROUNDS, 50), percentile(unmap, ROUNDS, 50),
	       percentile(submit, ROUNDS, 50));
	npu_client_fini(&c);
}

int main(void)
{
	static const int counts[] = { 10, 1000, 10000 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	bench_submit();
	for (int shareable = 0; shareable < 2; shareable++)
		for (int i = 0; i < 3; i++)
			bench_buffers(counts[i], shareable);
	return 0;
}
