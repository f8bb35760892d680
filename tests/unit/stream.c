// SPDX-License-Identifier: MIT
/*
 * Dependencies of command streams: random programs, with skipped regions, give the same memory
 * whether the stream orders them or every command waits for the one before, and whether or not
 * they are put aside at each YIELD.  The hazard checker is on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile/stream.h"
#include "compile_rig.h"
#include "device/sim.h"

#define SRAM		65536u
#define AREA		8192u	/* that the programs use, behind the carriers' */
#define DATA_AT		0u	/* in the BO: initial SRAM, then what ST writes */
#define OUT_AT		65536u
#define DUMP_AT		131072u
#define SAVE_AT		147456u
#define PARAMS_AT	196608u
#define STREAM_AT	200704u
#define BO_BYTES	(1u << 20)
#define MAX_CMDS	4000

/* One step of a program: a command with its accesses, or a group's structure. */
struct step {
	enum { CMD, GROUP, REGION, GROUP_END, PLACE } kind;	/* PLACE: for a YIELD */
	uint32_t limit;
	union ne1_cmd cmd;
	struct access acc[4];
	uint32_t n_acc;
};

struct program {
	struct step steps[MAX_CMDS];
	uint32_t n;
	uint32_t seed;
};

static npu_device *dev;
static npu_queue *queue;

/* ---- random commands ---------------------------------------------------------------------- */

static uint32_t rnd(struct program *p, uint32_t n)
{
	return (tiny_random(&p->seed) >> 8) % n;
}

/* Random range of @bytes, 4-byte aligned. */
static uint32_t place(struct program *p, uint32_t bytes)
{
	return CARRIER_SRAM + rnd(p, (AREA - bytes) / 4) * 4;
}

static struct step *push(struct program *p, uint8_t opcode)
{
	struct step *s = &p->steps[p->n++];

	memset(s, 0, sizeof(*s));
	s->kind = CMD;
	s->cmd = stream_cmd(opcode);
	return s;
}

static void touch(struct step *s, uint32_t addr, uint32_t bytes, bool write)
{
	s->acc[s->n_acc++] = write ? WRITE(addr, bytes) : READ(addr, bytes);
}

static void push_dma(struct program *p, uint8_t opcode, uint64_t offset, uint32_t sram,
		     uint32_t bytes)
{
	struct step *s = push(p, opcode);

	s->cmd.dma.offset = offset;
	s->cmd.dma.sram = sram;
	s->cmd.dma.row_bytes = s->cmd.dma.sram_stride = bytes;
	s->cmd.dma.dram_stride = bytes;
	s->cmd.dma.rows = 1;
	s->cmd.dma.dyn = s->cmd.dma.clip = NE1_NO_PARAM;
	touch(s, sram, bytes, opcode == NE1_OP_LD);
}

static void push_vx(struct program *p, uint32_t x, uint32_t out, uint32_t cols)
{
	struct step *s = push(p, NE1_OP_SCALE);

	s->cmd.vx.x = x;
	s->cmd.vx.out = out;
	s->cmd.vx.outer = s->cmd.vx.inner = 1;
	s->cmd.vx.cols = cols;
	s->cmd.vx.f0 = 0.75f;
	touch(s, x, cols * 4, false);
	touch(s, out, cols * 4, true);
}

/* c[m][4] = a[m][4] * b[4][4], rows packed. */
static void push_mm(struct program *p, uint32_t a, uint32_t b, uint32_t c, uint32_t m)
{
	struct step *s = push(p, NE1_OP_MM);

	s->cmd.mm.a = a;
	s->cmd.mm.b = b;
	s->cmd.mm.c = c;
	s->cmd.mm.a_stride = s->cmd.mm.b_stride = s->cmd.mm.c_stride = 16;
	s->cmd.mm.m = m;
	s->cmd.mm.k = s->cmd.mm.n = 4;
	touch(s, a, 16 * m, false);
	touch(s, b, 64, false);
	touch(s, c, 16 * m, true);
}

static void push_random(struct program *p)
{
	uint32_t bytes, a, b, c;

	switch (rnd(p, 4)) {
	case 0:
		bytes = 4 + rnd(p, 600) * 4;
		push_dma(p, NE1_OP_LD, DATA_AT + rnd(p, 1000) * 4, place(p, bytes), bytes);
		break;
	case 1:
		bytes = 4 + rnd(p, 600) * 4;
		push_dma(p, NE1_OP_ST, OUT_AT + rnd(p, 1000) * 4, place(p, bytes), bytes);
		break;
	case 2:
		bytes = 1 + rnd(p, 200);
		a = place(p, bytes * 4);
		do {
			b = place(p, bytes * 4);
		} while (b != a && b < a + bytes * 4 && a < b + bytes * 4);
		push_vx(p, a, b, bytes);
		break;
	default:
		bytes = 1 + rnd(p, 20);
		a = place(p, 16 * bytes);
		b = place(p, 64);
		do {
			c = place(p, 16 * bytes);
		} while ((c < a + 16 * bytes && a < c + 16 * bytes) ||
			 (c < b + 64 && b < c + 16 * bytes));
		push_mm(p, a, b, c, bytes);
	}
}

/* Products and vector work in turn on the same places, as attention does it tile by tile. */
static void push_chain(struct program *p, const uint32_t *at)
{
	push_mm(p, at[0], at[1], at[2], 8);
	push_vx(p, at[2], at[3], 32);
	push_mm(p, at[3], at[1], at[4], 8);
}

static void push_group(struct program *p)
{
	uint32_t at[5], i, regions = 1 + rnd(p, 3),
			   base = CARRIER_SRAM + rnd(p, AREA / 2 / 256) * 256;

	for (i = 0; i < 5; i++)
		at[i] = base + i * 256;	/* whole granules */
	push_chain(p, at);
	p->steps[p->n++] = (struct step){ .kind = GROUP };
	for (i = 0; i < regions; i++) {
		p->steps[p->n++] = (struct step){ .kind = REGION, .limit = i };
		push_chain(p, at);
	}
	p->steps[p->n++] = (struct step){ .kind = GROUP_END };
}

/* A YIELD that saves all before it. */
static void push_yield(struct program *p)
{
	push_dma(p, NE1_OP_ST, SAVE_AT, CARRIER_SRAM, AREA);
	p->steps[p->n++] = (struct step){ .kind = PLACE };
}

/* With what a job needs that goes on behind push_yield(). */
static void yield_behind(struct stream *s, const struct step *save)
{
	union ne1_cmd load = save->cmd;

	load.hdr.opcode = NE1_OP_LD;
	stream_yield(s, &load, 1);
}

static void make_program(struct program *p, uint32_t seed)
{
	uint32_t i, n;

	memset(p, 0, sizeof(*p));
	p->seed = seed * 2654435761u + 1;
	push_dma(p, NE1_OP_LD, DATA_AT, CARRIER_SRAM, AREA);
	n = 40 + rnd(p, 150);
	for (i = 0; i < n; i++) {
		if (rnd(p, 20) == 0)
			push_yield(p);
		if (rnd(p, 12) == 0)
			push_group(p);
		else
			push_random(p);
	}
	push_dma(p, NE1_OP_ST, DUMP_AT, CARRIER_SRAM, AREA);
}

/* ---- both ways of running it --------------------------------------------------------------- */

static uint32_t build_tracked(const struct program *p, union ne1_cmd *out)
{
	struct stream s;
	uint32_t i, n;

	assert_ok(stream_init(&s, SRAM, 0));
	s.carrier_offset = PARAMS_AT + 512;
	for (i = 0; i < p->n; i++) {
		const struct step *st = &p->steps[i];

		if (st->kind == CMD)
			stream_add(&s, &st->cmd, st->acc, st->n_acc);
		else if (st->kind == PLACE)
			yield_behind(&s, st - 1);
		else if (st->kind == GROUP)
			stream_group_begin(&s);
		else if (st->kind == REGION)
			stream_region(&s, 0, st->limit);
		else
			stream_group_end(&s);
	}
	stream_finish(&s);
	assert_ok(s.status);
	n = s.n;
	memcpy(out, s.cmds, n * sizeof(*out));
	stream_fini(&s);
	return n;
}

/* Behind every command the front end waits until it has ended. */
static uint32_t build_serial(const struct program *p, union ne1_cmd *out)
{
	uint32_t i, j, n = 0;

	for (i = 0; i < p->n; i++) {
		if (p->steps[i].kind == REGION) {
			out[n] = stream_cmd(NE1_OP_SKIP);
			out[n].skip.limit = p->steps[i].limit;
			for (j = i + 1; p->steps[j].kind != GROUP_END; j++)
				out[n].skip.count += p->steps[j].kind == CMD ? 2 : 1;
			n++;
		} else if (p->steps[i].kind == CMD) {
			out[n] = p->steps[i].cmd;
			out[n++].hdr.signal[0] = 31;
			out[n] = stream_cmd(NE1_OP_NOP);
			out[n++].hdr.wait[0] = 31;
		}
	}
	out[n++] = stream_cmd(NE1_OP_END);
	return n;
}

static void fill_data(uint8_t *map)
{
	uint32_t state = 5, i;
	float v;

	memset(map, 0, BO_BYTES);
	for (i = 0; i < 65536 / 4; i++) {
		v = 0.5f * tiny_uniform(&state);
		memcpy(map + DATA_AT + 4 * i, &v, 4);
	}
}

/* Memory after the run, to be freed. */
static uint8_t *run(const struct program *p, uint32_t value, bool tracked)
{
	struct ne1_params *params;
	uint8_t *map, *copy;
	struct npu_job job;
	npu_fence *fence;
	npu_bo *bo;
	npu_vm *vm;
	uint32_t n;

	assert_ok(npu_device_vm(dev, &vm));
	assert_ok(npu_bo_new(dev, BO_BYTES, &bo));
	assert_ok(npu_bo_map(bo, (void **)&map));
	assert_ok(npu_vm_bind(vm, bo, 0));
	fill_data(map);
	params = (struct ne1_params *)(map + PARAMS_AT);
	params->base[0] = npu_bo_va(bo);
	params->value[0] = value;
	n = tracked ? build_tracked(p, (union ne1_cmd *)(map + STREAM_AT)) :
		      build_serial(p, (union ne1_cmd *)(map + STREAM_AT));
	assert_true(STREAM_AT + n * NE1_CMD_SIZE <= BO_BYTES);
	job = (struct npu_job){ .stream_va = npu_bo_va(bo) + STREAM_AT,
				.stream_size = n * NE1_CMD_SIZE,
				.params_va = npu_bo_va(bo) + PARAMS_AT };
	assert_ok(npu_queue_submit(queue, &job, &fence));
	assert_ok(npu_fence_wait(fence, 60000000000ull));
	npu_fence_del(fence);
	copy = malloc(PARAMS_AT);
	memcpy(copy, map, PARAMS_AT);
	npu_bo_del(bo);
	return copy;
}

static void test_random(void **state)
{
	static struct program p;
	uint32_t seed, value, put_aside = 0;
	uint8_t *want, *got;

	(void)state;
	for (seed = 1; seed <= 250; seed++) {
		make_program(&p, seed);
		for (value = 0; value < 4; value++) {
			want = run(&p, value, false);
			npu_sim_preempt(dev, seed % 2);
			got = run(&p, value, true);
			npu_sim_preempt(dev, false);
			put_aside += to_sim_device(dev)->last_yields.put_aside;
			if (memcmp(want, got, PARAMS_AT))
				fail_msg("seed %u, value %u: memory differs", seed, value);
			free(want);
			free(got);
		}
	}
	assert_true(put_aside > 1000);
}

/* ---- particular cases ---------------------------------------------------------------------- */

/* Independent commands carry no semaphore; a chain carries one wait each. */
static void test_minimal(void **state)
{
	static struct program p;
	union ne1_cmd cmds[16];
	uint32_t n, i;

	(void)state;
	memset(&p, 0, sizeof(p));
	push_dma(&p, NE1_OP_LD, 0, 1024, 64);
	push_vx(&p, 2048, 3072, 16);
	push_mm(&p, 4096, 5120, 6144, 4);
	push_dma(&p, NE1_OP_ST, OUT_AT, 7168, 64);
	n = build_tracked(&p, cmds);
	assert_int_equal(n, 5);
	for (i = 0; i < n; i++) {
		assert_int_equal(cmds[i].hdr.wait[0], NE1_NO_SEM);
		assert_int_equal(cmds[i].hdr.signal[0], NE1_NO_SEM);
	}
	memset(&p, 0, sizeof(p));
	push_dma(&p, NE1_OP_LD, 0, 1024, 64);
	push_vx(&p, 1024, 2048, 16);
	push_dma(&p, NE1_OP_ST, OUT_AT, 2048, 64);
	push_dma(&p, NE1_OP_LD, 64, 1024,
		 64); /* behind the vector work; the store is not its concern */
	n = build_tracked(&p, cmds);
	assert_int_equal(n, 5);
	assert_int_equal(cmds[1].hdr.wait[0], SEM_PAIR(ENG_LD, ENG_VX));
	assert_int_equal(cmds[2].hdr.wait[0], SEM_PAIR(ENG_VX, ENG_ST));
	assert_int_equal(cmds[3].hdr.wait[0], SEM_PAIR(ENG_VX, ENG_LD));
	for (i = 0; i < n; i++)
		assert_int_equal(cmds[i].hdr.wait[1], NE1_NO_SEM);
}

/* What an engine knows through another one is not waited for again. */
static void test_transitive(void **state)
{
	static struct program p;
	union ne1_cmd cmds[16];
	uint32_t n;

	(void)state;
	memset(&p, 0, sizeof(p));
	push_dma(&p, NE1_OP_LD, 0, 1024, 64);
	push_vx(&p, 1024, 2048, 16);
	push_mm(&p, 1024, 2048, 3072, 4);	/* needs both, the vector work implies the load */
	n = build_tracked(&p, cmds);
	assert_int_equal(n, 4);
	assert_int_equal(cmds[2].hdr.wait[0], SEM_PAIR(ENG_VX, ENG_MX));
	assert_int_equal(cmds[2].hdr.wait[1], NE1_NO_SEM);
}

/* A region that would have to wait for something outside is refused, not miscompiled. */
static void test_region_outside(void **state)
{
	struct access acc = READ(1024, 64), out = WRITE(2048, 64);
	struct access both[2] = { acc, out };
	static struct program p;
	struct stream s;

	(void)state;
	memset(&p, 0, sizeof(p));
	push_dma(&p, NE1_OP_LD, 0, 1024, 64);
	push_vx(&p, 1024, 2048, 16);
	assert_ok(stream_init(&s, SRAM, 0));
	stream_add(&s, &p.steps[0].cmd, p.steps[0].acc, 1);
	stream_group_begin(&s);
	stream_region(&s, 0, 1);
	stream_add(&s, &p.steps[1].cmd, both, 2);
	assert_int_equal(s.status, NPU_ERR_INVALID);
	assert_non_null(strstr(npu_error_message(), "region"));
	stream_fini(&s);
}

static void test_out_of_range(void **state)
{
	struct access acc = WRITE(SRAM - 32, 64);
	static struct program p;
	struct stream s;

	(void)state;
	memset(&p, 0, sizeof(p));
	push_dma(&p, NE1_OP_LD, 0, SRAM - 32, 64);
	assert_ok(stream_init(&s, SRAM, 0));
	stream_add(&s, &p.steps[0].cmd, &acc, 1);
	assert_int_equal(s.status, NPU_ERR_INVALID);
	stream_fini(&s);
}

static int setup(void **state)
{
	npu_vm *vm;

	(void)state;
	dev = rig_device(SRAM);
	return npu_device_vm(dev, &vm) || npu_queue_new(vm, &queue);
}

static int teardown(void **state)
{
	(void)state;
	npu_queue_del(queue);
	npu_device_close(dev);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_minimal),
		cmocka_unit_test(test_transitive),
		cmocka_unit_test(test_region_outside),
		cmocka_unit_test(test_out_of_range),
	};

	return cmocka_run_group_tests_name("stream", tests, setup, teardown);
}
