// SPDX-License-Identifier: MIT
/*
 * The device layer, on the device that $NPU_DEVICE names (default: the in-process model).  Every
 * test does the same on every device; streams are written by hand here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ne1_cmd.h"
#include "npu/device.h"

#define SECOND		1000000000ull
#define TIMEOUT		(60 * SECOND)
#define PARAMS_AT	0u
#define PROFILE_AT	256u
#define STREAM_AT	4096u
#define DATA_AT		16384u
#define JOB_BYTES	65536u

#define assert_ok(call) assert_string_equal((call) ? npu_error_message() : "", "")

static npu_device *dev;
static npu_vm *vm;

/* A BO with everything of one job: parameter block, profile, stream, data. */
struct bench {
	npu_bo *bo;
	uint8_t *map;
	union ne1_cmd *stream;
	uint32_t n;
};

static void bench_new(struct bench *b)
{
	struct ne1_params *params;
	void *map;

	memset(b, 0, sizeof(*b));
	assert_ok(npu_bo_new(dev, JOB_BYTES, &b->bo));
	assert_ok(npu_vm_bind(vm, b->bo, 0));
	assert_ok(npu_bo_map(b->bo, &map));
	b->map = map;
	b->stream = (union ne1_cmd *)(b->map + STREAM_AT);
	params = (struct ne1_params *)(b->map + PARAMS_AT);
	params->base[0] = npu_bo_va(b->bo);
}

static union ne1_cmd *add(struct bench *b, uint8_t opcode)
{
	union ne1_cmd *cmd = &b->stream[b->n++];

	memset(cmd, 0, sizeof(*cmd));
	cmd->hdr.opcode = opcode;
	memset(cmd->hdr.wait, NE1_NO_SEM, sizeof(cmd->hdr.wait));
	memset(cmd->hdr.signal, NE1_NO_SEM, sizeof(cmd->hdr.signal));
	return cmd;
}

static union ne1_cmd *add_dma(struct bench *b, uint8_t opcode, uint64_t offset, uint32_t sram,
			      uint32_t bytes)
{
	union ne1_cmd *cmd = add(b, opcode);

	cmd->dma.offset = offset;
	cmd->dma.row_bytes = bytes;
	cmd->dma.dram_stride = bytes;
	cmd->dma.sram = sram;
	cmd->dma.sram_stride = bytes;
	cmd->dma.rows = 1;
	cmd->dma.dyn = NE1_NO_PARAM;
	cmd->dma.clip = NE1_NO_PARAM;
	return cmd;
}

/* A job that reads the same 64 KiB @times x 150 times: long beside the time that submitting some takes, also in an
 * emulated guest.
 */
static void add_slow(struct bench *b, uint16_t times)
{
	union ne1_cmd *cmd;
	int i;

	for (i = 0; i < 150; i++) {
		cmd = add_dma(b, NE1_OP_LD, 0, 0, 65536);
		cmd->dma.rows = times;
		cmd->dma.dram_stride = 0;
		cmd->dma.sram_stride = 0;
	}
	add(b, NE1_OP_END);
}

/* data[to] = data[from], through the SRAM. */
static void add_copy(struct bench *b, uint32_t from, uint32_t to, uint32_t bytes)
{
	add_dma(b, NE1_OP_LD, DATA_AT + from, 0, bytes)->hdr.signal[0] = 0;
	add_dma(b, NE1_OP_ST, DATA_AT + to, 0, bytes)->hdr.wait[0] = 0;
	add(b, NE1_OP_END);
}

static struct npu_job bench_job(const struct bench *b)
{
	uint64_t va = npu_bo_va(b->bo);

	return (struct npu_job){
		.stream_va = va + STREAM_AT,
		.stream_size = b->n * NE1_CMD_SIZE,
		.params_va = va + PARAMS_AT,
		.profile_va = va + PROFILE_AT,
	};
}

static void fill(uint8_t *p, uint32_t n, uint32_t seed)
{
	while (n--) {
		seed = seed * 1664525u + 1013904223u;
		*p++ = seed >> 24;
	}
}

static npu_status run(npu_queue *queue, const struct bench *b)
{
	struct npu_job job = bench_job(b);
	npu_fence *fence;
	npu_status status = npu_queue_submit(queue, &job, &fence);

	if (status)
		return status;
	status = npu_fence_wait(fence, TIMEOUT);
	npu_fence_del(fence);
	return status;
}

/* ---- tests ------------------------------------------------------------------------------- */

static void test_chip(void **state)
{
	const struct npu_chip_info *chip = npu_device_chip(dev);
	struct npu_telemetry t;

	(void)state;
	assert_int_equal(chip->contract_version >> 16, 1);
	assert_in_range(chip->cores, 1, 4);
	assert_in_range(chip->sram_bytes, 65536, 64 << 20);
	assert_true(chip->formats & 1u << NE1_T_U4M);
	assert_true(chip->va_start < chip->va_end);
	assert_true(chip->name[0]);
	assert_ok(npu_device_telemetry(dev, &t));
	assert_in_range(t.freq_khz, 1, chip->freq_max_khz);
	assert_in_range(t.temp_die_mc, 1000, 125000);
}

static void test_names(void **state)
{
	npu_device *other;

	(void)state;
	assert_int_equal(npu_device_open("cpu", &other), NPU_ERR_INVALID);
	assert_null(other);
	assert_non_null(strstr(npu_error_message(), "cpu"));
	assert_int_equal(npu_device_open("drm:/dev/null", &other), NPU_ERR_NO_DEVICE);
	assert_non_null(strstr(npu_error_message(), "/dev/null"));
	assert_int_equal(npu_device_open("sim:nosuchchip", &other), NPU_ERR_NO_DEVICE);
	assert_non_null(strstr(npu_error_message(), "nosuchchip"));
}

static void test_bo(void **state)
{
	uint8_t *map, *again;
	npu_bo *bo;
	uint32_t i;

	(void)state;
	assert_int_equal(npu_bo_new(dev, 0, &bo), NPU_ERR_INVALID);
	assert_ok(npu_bo_new(dev, 5000, &bo));
	assert_int_equal(npu_bo_size(bo), 8192);
	assert_ok(npu_bo_map(bo, (void **)&map));
	assert_ok(npu_bo_map(bo, (void **)&again));
	assert_ptr_equal(map, again);
	for (i = 0; i < 8192; i++)
		assert_int_equal(map[i], 0);
	fill(map, 8192, 7);
	npu_bo_unmap(bo);
	assert_ok(npu_bo_map(bo, (void **)&map));
	again = malloc(8192);
	fill(again, 8192, 7);
	assert_memory_equal(map, again, 8192);
	free(again);
	assert_int_equal(npu_bo_va(bo), 0);
	assert_ok(npu_vm_bind(vm, bo, 0));
	assert_true(npu_bo_va(bo) >= npu_device_chip(dev)->va_start);
	assert_int_equal(npu_vm_bind(vm, bo, 0), NPU_ERR_INVALID);
	assert_ok(npu_vm_unbind(vm, bo));
	assert_int_equal(npu_vm_unbind(vm, bo), NPU_ERR_INVALID);
	assert_int_equal(npu_bo_va(bo), 0);
	npu_bo_del(bo);
}

static void test_copy(void **state)
{
	struct ne1_profile *profile;
	npu_queue *queue;
	struct bench b;

	(void)state;
	bench_new(&b);
	assert_ok(npu_queue_new(vm, &queue));
	fill(b.map + DATA_AT, 4096, 1);
	add_copy(&b, 0, 8192, 4096);
	assert_ok(run(queue, &b));
	assert_memory_equal(b.map + DATA_AT, b.map + DATA_AT + 8192, 4096);
	profile = (struct ne1_profile *)(b.map + PROFILE_AT);
	assert_int_equal(profile->commands, 3);
	assert_true(profile->end_ns > profile->start_ns);
	assert_true(profile->dram_rd_bytes >= 4096);
	assert_in_range(profile->dram_wr_bytes, 4096, 4096 + 256);
	npu_queue_del(queue);
	npu_bo_del(b.bo);
}

static void test_bad_jobs(void **state)
{
	npu_queue *queue;
	struct npu_job job;
	struct bench b;

	(void)state;
	bench_new(&b);
	assert_ok(npu_queue_new(vm, &queue));
	add(&b, NE1_OP_END);
	job = bench_job(&b);
	job.stream_size = 0;
	assert_int_equal(npu_queue_submit(queue, &job, NULL), NPU_ERR_INVALID);
	job = bench_job(&b);
	job.stream_va += 4;
	assert_int_equal(npu_queue_submit(queue, &job, NULL), NPU_ERR_INVALID);
	job = bench_job(&b);
	job.n_waits = NPU_JOB_MAX_WAITS + 1;
	assert_int_equal(npu_queue_submit(queue, &job, NULL), NPU_ERR_INVALID);
	assert_ok(run(queue, &b));
	npu_queue_del(queue);
	npu_bo_del(b.bo);
}

/* A fault names what, where and by whom; the queue is spent, another one works. */
static void test_fault(void **state)
{
	npu_queue *queue, *other;
	struct bench b, good;
	struct npu_job job;
	npu_fence *fence;
	npu_bo *gone;
	char va[32];

	(void)state;
	bench_new(&b);
	bench_new(&good);
	assert_ok(npu_bo_new(dev, 4096, &gone));
	assert_ok(npu_vm_bind(vm, gone, 0));
	((struct ne1_params *)(b.map + PARAMS_AT))->base[1] = npu_bo_va(gone);
	snprintf(va, sizeof(va), "0x%llx", (unsigned long long)npu_bo_va(gone));
	npu_bo_del(gone);
	add(&b, NE1_OP_NOP);
	add_dma(&b, NE1_OP_LD, 0, 0, 64)->dma.base = 1;
	add(&b, NE1_OP_END);
	add_copy(&good, 0, 64, 64);
	assert_ok(npu_queue_new(vm, &queue));
	job = bench_job(&b);
	assert_ok(npu_queue_submit(queue, &job, &fence));
	assert_int_equal(npu_fence_wait(fence, TIMEOUT), NPU_ERR_FAULT);
	assert_non_null(strstr(npu_error_message(), va));
	assert_non_null(strstr(npu_error_message(), "LD"));
	assert_non_null(strstr(npu_error_message(), "command 1"));
	assert_int_equal(npu_fence_wait(fence, 0), NPU_ERR_FAULT);
	assert_int_equal(run(queue, &good), NPU_ERR_FAULT);
	assert_ok(npu_queue_new(vm, &other));
	assert_ok(run(other, &good));
	npu_queue_del(queue);
	/* The fence outlives its queue and still knows. */
	assert_int_equal(npu_fence_wait(fence, 0), NPU_ERR_FAULT);
	assert_non_null(strstr(npu_error_message(), va));
	npu_fence_del(fence);
	npu_queue_del(other);
	npu_bo_del(b.bo);
	npu_bo_del(good.bo);
}

static void test_opcode_fault(void **state)
{
	npu_queue *queue;
	struct bench b;

	(void)state;
	bench_new(&b);
	assert_ok(npu_queue_new(vm, &queue));
	add(&b, 0xee);
	add(&b, NE1_OP_END);
	assert_int_equal(run(queue, &b), NPU_ERR_FAULT);
	assert_non_null(strstr(npu_error_message(), "opcode"));
	npu_queue_del(queue);
	npu_bo_del(b.bo);
}

static void test_readonly(void **state)
{
	npu_queue *queue;
	struct bench b;
	npu_bo *target;

	(void)state;
	bench_new(&b);
	assert_ok(npu_bo_new(dev, 4096, &target));
	assert_int_equal(npu_vm_bind(vm, target, 1u << 31), NPU_ERR_INVALID);
	assert_ok(npu_vm_bind(vm, target, NPU_BIND_READONLY));
	((struct ne1_params *)(b.map + PARAMS_AT))->base[1] = npu_bo_va(target);
	add_dma(&b, NE1_OP_LD, 0, 0, 64)->dma.base = 1;
	add_dma(&b, NE1_OP_ST, 0, 1024, 64)->dma.base = 1;
	add(&b, NE1_OP_END);
	assert_ok(npu_queue_new(vm, &queue));
	assert_int_equal(run(queue, &b), NPU_ERR_FAULT);
	assert_non_null(strstr(npu_error_message(), "read-only"));
	npu_queue_del(queue);
	npu_bo_del(target);
	npu_bo_del(b.bo);
}

/* Two queues, the second job waits for the first: 0 -> 8K in one, 8K -> 16K in the other. */
static void test_dependent(void **state)
{
	npu_queue *q1, *q2;
	npu_fence *f1, *f2;
	struct bench b1, b2;
	struct npu_job j1, j2;
	int i;

	(void)state;
	bench_new(&b1);
	bench_new(&b2);
	assert_ok(npu_queue_new(vm, &q1));
	assert_ok(npu_queue_new(vm, &q2));
	((struct ne1_params *)(b2.map + PARAMS_AT))->base[0] = npu_bo_va(b1.bo);
	/* The first job takes its time, so that an ignored dependency shows. */
	for (i = 0; i < 60; i++) {
		add_dma(&b1, NE1_OP_LD, DATA_AT, 0, 4096)->hdr.signal[0] = 1;
		add_dma(&b1, NE1_OP_LD, DATA_AT, 0, 4096)->hdr.wait[0] = 1;
	}
	add_copy(&b1, 0, 8192, 4096);
	add_copy(&b2, 8192, 16384, 4096);
	for (i = 0; i < 20; i++) {
		fill(b1.map + DATA_AT, 4096, i);
		j1 = bench_job(&b1);
		j2 = bench_job(&b2);
		assert_ok(npu_queue_submit(q1, &j1, &f1));
		j2.n_waits = 1;
		j2.waits = &f1;
		assert_ok(npu_queue_submit(q2, &j2, &f2));
		assert_ok(npu_fence_wait(f2, TIMEOUT));
		assert_ok(npu_fence_wait(f1, 0));
		assert_memory_equal(b1.map + DATA_AT, b1.map + DATA_AT + 16384, 4096);
		npu_fence_del(f1);
		npu_fence_del(f2);
	}
	npu_queue_del(q1);
	npu_queue_del(q2);
	npu_bo_del(b1.bo);
	npu_bo_del(b2.bo);
}

static void test_many_bos(void **state)
{
	enum { N = 300 };
	static npu_bo *bos[N];
	static uint64_t vas[N];
	npu_queue *queue;
	struct bench b;
	uint8_t *map;
	int i, j;

	(void)state;
	for (i = 0; i < N; i++) {
		assert_ok(npu_bo_new(dev, 4096 * (1 + i % 5), &bos[i]));
		assert_ok(npu_vm_bind(vm, bos[i], 0));
		vas[i] = npu_bo_va(bos[i]);
		for (j = 0; j < i; j++)
			assert_true(vas[j] + npu_bo_size(bos[j]) <= vas[i] ||
				    vas[i] + npu_bo_size(bos[i]) <= vas[j]);
	}
	bench_new(&b);
	assert_ok(npu_queue_new(vm, &queue));
	/* One job that copies a word from each into the data area. */
	for (i = 0; i < N; i++) {
		assert_ok(npu_bo_map(bos[i], (void **)&map));
		memcpy(map, &i, sizeof(i));
	}
	for (i = 0; i < 100; i++) {
		uint64_t off = npu_bo_va(bos[3 * i]);

		add_dma(&b, NE1_OP_LD, off, 64 * i, 4)->dma.base = 2;
	}
	b.stream[b.n - 1].hdr.signal[0] = 0;
	add_dma(&b, NE1_OP_ST, DATA_AT, 0, 6400)->hdr.wait[0] = 0;
	add(&b, NE1_OP_END);
	assert_ok(run(queue, &b));
	for (i = 0; i < 100; i++) {
		memcpy(&j, b.map + DATA_AT + 64 * i, sizeof(j));
		assert_int_equal(j, 3 * i);
	}
	for (i = 0; i < N; i += 2)
		npu_bo_del(bos[i]);
	for (i = 1; i < N; i += 2)
		npu_bo_del(bos[i]);
	npu_queue_del(queue);
	npu_bo_del(b.bo);
}

/* How the last of a queue's jobs ends when the queue is deleted. */
static npu_status delete_in_flight(struct bench *b, uint16_t times)
{
	enum { JOBS = 12 };
	npu_fence *fences[JOBS];
	npu_queue *queue;
	npu_status status = NPU_OK;
	struct npu_job job;
	int i;

	assert_ok(npu_queue_new(vm, &queue));
	b->n = 0;
	add_slow(b, times);
	job = bench_job(b);
	for (i = 0; i < JOBS; i++)
		assert_ok(npu_queue_submit(queue, &job, &fences[i]));
	npu_queue_del(queue);
	for (i = 0; i < JOBS; i++) {
		status = npu_fence_wait(fences[i], TIMEOUT);
		assert_true(status == NPU_OK || status == NPU_ERR_CANCELLED);
		npu_fence_del(fences[i]);
	}
	return status;
}

/* Deleting a queue with jobs in flight ends them all, one way or the other, and the device goes on.
 */
static void test_delete_in_flight(void **state)
{
	npu_status status = NPU_OK;
	npu_queue *queue;
	struct bench b;
	uint16_t times;

	(void)state;
	bench_new(&b);
	/* Longer ones if a busy machine let them end before. */
	for (times = 64; status == NPU_OK && times <= 1024; times *= 2)
		status = delete_in_flight(&b, times);
	assert_int_equal(status, NPU_ERR_CANCELLED);
	b.n = 0;
	add_copy(&b, 0, 4096, 64);
	assert_ok(npu_queue_new(vm, &queue));
	assert_ok(run(queue, &b));
	npu_queue_del(queue);
	npu_bo_del(b.bo);
}

static void test_timeout(void **state)
{
	npu_status status = NPU_OK;
	npu_queue *queue;
	npu_fence *fence;
	struct npu_job job;
	struct bench b;
	uint16_t times;
	int i;

	(void)state;
	bench_new(&b);
	assert_ok(npu_queue_new(vm, &queue));
	/* Longer jobs if a busy machine looked when they had ended. */
	for (times = 32; status == NPU_OK && times <= 512; times *= 2) {
		b.n = 0;
		add_slow(&b, times);
		job = bench_job(&b);
		for (i = 0; i < 8; i++)
			assert_ok(npu_queue_submit(queue, &job, NULL));
		assert_ok(npu_queue_submit(queue, &job, &fence));
		status = npu_fence_wait(fence, 0);
		assert_ok(npu_fence_wait(fence, TIMEOUT));
		npu_fence_del(fence);
	}
	assert_int_equal(status, NPU_ERR_TIMEOUT);
	npu_queue_del(queue);
	npu_bo_del(b.bo);
}

/* The same address means other memory in another VM. */
static void test_vms(void **state)
{
	npu_queue *queue;
	npu_vm *other, *saved = vm;
	struct bench b, c;

	(void)state;
	assert_ok(npu_vm_new(dev, &other));
	vm = other;
	bench_new(&b);
	vm = saved;
	assert_ok(npu_queue_new(other, &queue));
	fill(b.map + DATA_AT, 64, 3);
	add_copy(&b, 0, 64, 64);
	assert_ok(run(queue, &b));
	assert_memory_equal(b.map + DATA_AT, b.map + DATA_AT + 64, 64);
	npu_queue_del(queue);
	/* A job of this VM does not reach b. */
	bench_new(&c);
	((struct ne1_params *)(c.map + PARAMS_AT))->base[0] = npu_bo_va(b.bo) + (64ull << 30);
	add_copy(&c, 0, 64, 64);
	assert_ok(npu_queue_new(vm, &queue));
	assert_int_equal(run(queue, &c), NPU_ERR_FAULT);
	npu_queue_del(queue);
	npu_bo_del(c.bo);
	npu_bo_del(b.bo);
	npu_vm_del(other);
}

static int setup(void **state)
{
	const char *name = getenv("NPU_DEVICE");

	(void)state;
	if (npu_device_open(name ? name : "sim", &dev) || npu_device_vm(dev, &vm)) {
		print_error("%s\n", npu_error_message());
		return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	npu_device_close(dev);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chip),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_bo),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_bad_jobs),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_opcode_fault),
		cmocka_unit_test(test_readonly),
		cmocka_unit_test(test_dependent),
		cmocka_unit_test(test_many_bos),
		cmocka_unit_test(test_delete_in_flight),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_vms),
	};

	return cmocka_run_group_tests_name("device", tests, setup, teardown);
}
