// SPDX-License-Identifier: GPL-2.0
/*
 * What one buffer, one mapping and one address space cost when there are many: nanoseconds of processor time per object.
 * Under tools/vm/run --icount time is instructions.  tests/bench/scale makes tables and plots of it.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "../kselftest/npuedge.h"
#include "bench.h"

#define VA	(1ull << 33)
#define STEP	(2 * NPU_PAGE)		/* a hole after each, so that nothing merges */

enum { BO_CREATE, BO_BIND, BO_SUBMIT, BO_UNBIND, BO_CLOSE, BO_STEPS };
enum { VM_CREATE, VM_BIND, VM_DESTROY, VM_STEPS };

static const char *const bo_names[BO_STEPS] = {
	"create a buffer", "bind it", "submit a job, per buffer bound", "unbind it", "close it",
};
static const char *const vm_names[VM_STEPS] = { "create an address space", "bind a buffer", "destroy it" };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Time since *begin per object, and a new begin. */
static double lap(uint64_t *begin, int count)
{
	uint64_t end = now();
	double each = (double)(end - *begin) / count;

	*begin = now();
	return each;
}

static void bench_bos(struct npu_client *c, int count, bool private, double cost[BO_STEPS])
{
	int *handles = calloc(count, sizeof(*handles)), ret = 0;
	uint64_t begin = now();

	for (int i = 0; i < count; i++) {
		handles[i] = npu_bo_create(c->fd, NPU_PAGE, 0, private ? c->vm : 0);
		if (handles[i] < 0)
			die("BO_CREATE", handles[i]);
	}
	cost[BO_CREATE] = lap(&begin, count);

	for (int i = 0; !ret && i < count; i++)
		ret = npu_map(c->fd, c->vm, handles[i], VA + i * STEP, 0, NPU_PAGE, 0);
	if (ret)
		die("VM_BIND", ret);
	cost[BO_BIND] = lap(&begin, count);

	npu_copy_stream(c->stream, 1, 4);
	ret = npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, c->sync);
	if (ret)
		die("SUBMIT", ret);
	cost[BO_SUBMIT] = lap(&begin, count);
	npu_wait(c->fd, c->sync, NPU_WAIT_NS);

	begin = now();
	for (int i = 0; !ret && i < count; i++)
		ret = npu_unmap(c->fd, c->vm, VA + i * STEP, NPU_PAGE);
	if (ret)
		die("VM_BIND", ret);
	cost[BO_UNBIND] = lap(&begin, count);

	for (int i = 0; i < count; i++)
		npu_bo_close(c->fd, handles[i]);
	cost[BO_CLOSE] = lap(&begin, count);
	free(handles);
}

static void bench_vms(struct npu_client *c, int count, double cost[VM_STEPS])
{
	int *ids = calloc(count, sizeof(*ids)), ret = 0;
	uint64_t begin = now();

	for (int i = 0; i < count; i++) {
		ids[i] = npu_vm_create(c->fd);
		if (ids[i] < 0)
			die("VM_CREATE", ids[i]);
	}
	cost[VM_CREATE] = lap(&begin, count);

	for (int i = 0; !ret && i < count; i++)
		ret = npu_map(c->fd, ids[i], c->bo, VA, 0, NPU_PAGE, 0);
	if (ret)
		die("VM_BIND", ret);
	cost[VM_BIND] = lap(&begin, count);

	for (int i = 0; i < count; i++)
		npu_vm_destroy(c->fd, ids[i]);
	cost[VM_DESTROY] = lap(&begin, count);
	free(ids);
}

static void print_cost(const char *objects, const char *step, int count, double each)
{
	printf("cost objects=%s step=%s count=%d each=%.0f\n", objects, step, count, each);
}

static void bos(struct npu_client *c, bool private)
{
	static const int counts[] = { 10, 100, 1000, 10000 };
	const char *kind = private ? "buffers private to the address space" : "shareable buffers";
	double cost[BO_STEPS];

	for (int i = 0; i < 4; i++) {
		bench_bos(c, counts[i], private, cost);
		for (int step = 0; step < BO_STEPS; step++)
			print_cost(kind, bo_names[step], counts[i], cost[step]);
	}
}

static void vms(struct npu_client *c)
{
	static const int counts[] = { 10, 100, 1000 };
	double cost[VM_STEPS];

	for (int i = 0; i < 3; i++) {
		bench_vms(c, counts[i], cost);
		for (int step = 0; step < VM_STEPS; step++)
			print_cost("address spaces", vm_names[step], counts[i], cost[step]);
	}
}

int main(void)
{
	struct npu_client c;
	double warm[BO_STEPS];
	int ret = npu_client_init(&c);

	if (ret)
		die("no npuedge device", ret);
	bench_bos(&c, 10, false, warm);
	bos(&c, true);
	bos(&c, false);
	vms(&c);
	npu_client_fini(&c);
	return 0;
}
