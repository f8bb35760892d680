// SPDX-License-Identifier: MIT
/* What a command stream cannot reach: chip profiles, clock, heat, the thread pool, stop and yield
 * from other threads, several cores on one device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "chip.h"
#include "core.h"
#include "ne1_cmd.h"
#include "pool.h"
#include "soc.h"

#define STREAM_VA	0x100000u
#define PARAM_VA	0x200000u
#define CMDS_MAX	64

/* --- chip profiles --------------------------------------------------------------------- */

static char *slurp(const char *path)
{
	char *text = calloc(1, 65536);
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	return text;
}

static void builtin_profiles(void **state)
{
	static const char *const needed[] = { "edge", "rk3588", "tiny" };
	struct sim_chip chip, file;
	char err[256], path[128];
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		assert_int_equal(sim_chip_load(needed[i], &chip, err, sizeof(err)), 0);
	for (i = 0; sim_chip_builtin(i); i++) {
		assert_int_equal(sim_chip_load(sim_chip_builtin(i), &chip, err, sizeof(err)), 0);
		assert_string_equal(chip.name, sim_chip_builtin(i));
		snprintf(path, sizeof(path), "tools/npusim/chips/%s.chip", chip.name);
		assert_int_equal(sim_chip_load(path, &file, err, sizeof(err)), 0);
		assert_memory_equal(&chip, &file, sizeof(chip));
	}
	assert_int_equal(i, 3);
	sim_chip_load("edge", &chip, err, sizeof(err));
	assert_int_equal(chip.cores, 1);
	assert_int_equal(chip.sram_bytes, 1 << 20);
	assert_int_equal(chip.macs_fp16, 512);
	assert_int_equal(sim_chip_top_opp(&chip)->khz, 1000000);
	assert_int_equal(chip.dram.peak_mbps, 33800);
}

static void missing_profile(void **state)
{
	struct sim_chip chip;
	char err[256];

	(void)state;
	assert_true(sim_chip_load("nosuch", &chip, err, sizeof(err)) < 0);
	assert_non_null(strstr(err, "nosuch"));
	assert_true(sim_chip_load("./no/such.chip", &chip, err, sizeof(err)) < 0);
	assert_non_null(strstr(err, "./no/such.chip"));
	assert_true(sim_chip_load("/", &chip, err, sizeof(err)) < 0);
}

/* Replaces the first line that begins with @key by @line ("": none) and expects the message. */
static void refuse(const char *key, const char *line, const char *message)
{
	char *text = slurp("tools/npusim/chips/tiny.chip"), *at, err[256] = "", *rest;
	char changed[65536];
	struct sim_chip chip;
	unsigned int no = 1;

	at = strstr(text, key);
	while (at && at != text && at[-1] != '\n')
		at = strstr(at + 1, key);
	assert_non_null(at);
	for (rest = text; rest < at; rest++)
		no += *rest == '\n';
	rest = strchr(at, '\n') + 1;
	*at = '\0';
	snprintf(changed, sizeof(changed), "%s%s%s%s", text, line, *line ? "\n" : "", rest);
	free(text);
	assert_true(sim_chip_parse("t", changed, strlen(changed), &chip, err, sizeof(err)) < 0);
	if (!strstr(err, message))
		fail_msg("'%s' for '%s' gave '%s'", message, line, err);
	/* What concerns several lines is reported at the last. */
	if (*line && !strstr(err, "trips") && !strstr(err, "above")) {
		snprintf(changed, sizeof(changed), "t:%u: ", no);
		assert_memory_equal(err, changed, strlen(changed));
	}
}

static void strict_parser(void **state)
{
	(void)state;
	refuse("cores", "", "cores is missing");
	refuse("c_mj_k", "", "c_mj_k is missing");
	refuse("cores", "cores = 0", "cores: 0 is outside 1..4");
	refuse("cores", "cores = 5", "outside");
	refuse("cores", "cores = x", "'x' is not a number");
	refuse("cores", "cores = 1x", "is not a number");
	refuse("cores", "cores = 1 1", "more than 1 number");
	refuse("cores", "cores =", "1 number(s) expected");
	refuse("cores", "cores 1", "is not 'key = value'");
	refuse("cores", "Cores = 1", "unknown key 'Cores'");
	refuse("macs_fp16", "cores = 1", "cores is given twice");
	refuse("sram_bytes", "sram_bytes = 524289", "not a multiple of 4096");
	refuse("sram_bytes", "sram_bytes = 99999999999999999999", "is not a number");
	refuse("formats", "formats = f32 i8", "f32 and f16 are required");
	refuse("formats", "formats = f32 f16 u4", "unknown format 'u4'");
	refuse("name", "name = abcdefghijklmnop", "1..15 characters");
	refuse("name", "name =", "1..15 characters");
	refuse("opp = 5", "opp = 100000 750", "does not ascend");
	refuse("r_mk_w", "r_mk_w = 1 2", "3 number(s) expected");
	refuse("r_mk_w", "r_mk_w = 1 2 3 4", "more than 3");
	refuse("trip_hot_mc", "trip_hot_mc = 60000", "do not ascend");
	refuse("dram_mixed_permille", "dram_mixed_permille = 900", "above dram_stream_permille");
}

/* --- devices for the tests below ------------------------------------------------------- */

struct rig {
	struct sim_mem mem;
	struct sim_chip chip;
	struct sim_soc *soc;
	struct sim_core *core;
	union ne1_cmd cmd[CMDS_MAX];
	unsigned int n;
	struct ne1_params params;
	uint8_t data[65536];
};

static uint8_t *map(struct sim_mem *mem, unsigned int asid, uint64_t va, uint64_t *len, bool write,
		    enum ne1_mmu_code *code)
{
	struct rig *rig = (struct rig *)mem;
	uint8_t *base = rig->data;
	uint64_t size = sizeof(rig->data);

	(void)asid;
	(void)write;
	if (va >= PARAM_VA) {
		base = (uint8_t *)&rig->params;
		size = sizeof(rig->params);
		va -= PARAM_VA;
	} else if (va >= STREAM_VA) {
		base = (uint8_t *)rig->cmd;
		size = sizeof(rig->cmd);
		va -= STREAM_VA;
	}
	if (va >= size) {
		*code = NE1_MMU_NOT_PRESENT;
		return NULL;
	}
	if (*len > size - va)
		*len = size - va;
	return base + va;
}

static struct rig *rig_new(const char *chip)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	char err[256];

	assert_non_null(rig);
	rig->mem.map = map;
	assert_int_equal(sim_chip_load(chip, &rig->chip, err, sizeof(err)), 0);
	rig->soc = sim_soc_new(&rig->chip);
	assert_non_null(rig->soc);
	rig->core = sim_core_new(&rig->chip, rig->soc, &rig->mem, 2);
	assert_non_null(rig->core);
	return rig;
}

static void rig_free(struct rig *rig)
{
	sim_core_free(rig->core);
	sim_soc_free(rig->soc);
	free(rig);
}

static union ne1_cmd *add(struct rig *rig, uint8_t opcode)
{
	union ne1_cmd *cmd = &rig->cmd[rig->n++];

	memset(cmd, 0, sizeof(*cmd));
	cmd->hdr.opcode = opcode;
	memset(cmd->hdr.wait, NE1_NO_SEM, 2);
	memset(cmd->hdr.signal, NE1_NO_SEM, 2);
	return cmd;
}

static void add_load(struct rig *rig, uint16_t rows)
{
	struct ne1_cmd_dma *c = &add(rig, NE1_OP_LD)->dma;

	c->row_bytes = 65536;
	c->rows = rows;
	c->dyn = c->clip = NE1_NO_PARAM;
}

static struct sim_job job_of(const struct rig *rig)
{
	return (struct sim_job){ .asid = 1, .stream_va = STREAM_VA, .param_va = PARAM_VA,
				 .stream_size = rig->n * NE1_CMD_SIZE };
}

static uint64_t host_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* --- clock, energy, heat --------------------------------------------------------------- */

static void clock_idles_with_the_host(void **state)
{
	struct rig *rig = rig_new("tiny");
	uint64_t h0 = host_ns(), t0 = sim_soc_time_ns(rig->soc), t1, h1;

	(void)state;
	usleep(20000);
	t1 = sim_soc_time_ns(rig->soc);
	h1 = host_ns();
	assert_true(t1 - t0 >= 20000000);
	assert_true(t1 - t0 <= h1 - h0);
	rig_free(rig);
}

static void clock_runs_with_the_work(void **state)
{
	struct rig *rig = rig_new("tiny");
	struct sim_result result;
	struct sim_job job;
	uint64_t before, after;

	(void)state;
	add_load(rig, 65535);	/* 4 GiB: half a second of the device */
	add(rig, NE1_OP_END);
	job = job_of(rig);
	before = sim_soc_time_ns(rig->soc);
	sim_core_run(rig->core, &job, &result);
	after = sim_soc_time_ns(rig->soc);
	assert_int_equal(result.state, NE1_CORE_DONE);
	assert_true(result.profile.start_ns >= before);
	assert_true(result.profile.end_ns <= after);
	assert_in_range(result.profile.end_ns - result.profile.start_ns, 500000000, 600000000);
	assert_int_equal(sim_soc_dram_rd_bytes(rig->soc), result.profile.dram_rd_bytes);
	assert_int_equal(result.profile.dram_rd_bytes, 65535ull * 65536 + 256 + 2 * 64);
	rig_free(rig);
}

static void paced_runs_take_their_time(void **state)
{
	struct rig *rig = rig_new("tiny");
	struct sim_result result;
	struct sim_job job;
	uint64_t t;

	(void)state;
	add_load(rig, 2000);	/* 17 ms */
	add(rig, NE1_OP_END);
	job = job_of(rig);
	sim_soc_set_pace(rig->soc, SIM_PACED);
	t = host_ns();
	sim_core_run(rig->core, &job, &result);
	t = host_ns() - t;
	assert_int_equal(result.state, NE1_CORE_DONE);
	assert_true(t >= (result.profile.end_ns - result.profile.start_ns) / 1000 * 999);
	rig_free(rig);
}

/* After many time constants the ladder is at ambient + power * resistances. */
static void heat_settles(void **state)
{
	struct rig *rig = rig_new("tiny");
	struct sim_work work = { 0 };
	struct sim_run run = { 0 };
	double watt = 3.0, die;
	uint64_t e0, e1, s;

	(void)state;
	rig->chip.energy.leak_uw = 0;
	rig->chip.energy.idle_uw = 1000000;
	rig->chip.energy.mac_fj = 1000;
	sim_soc_run_begin(rig->soc, &run);
	e0 = sim_soc_energy_uj(rig->soc);
	work.macs = 200000000000ull;	/* 2 W for 0.1 s at 1 pJ each */
	for (s = 1; s <= 60000; s++)
		sim_soc_run_advance(rig->soc, &run, s * 100000000000ull, &work);
	e1 = sim_soc_energy_uj(rig->soc);
	sim_soc_run_end(rig->soc, &run);
	assert_in_range(e1 - e0, 17999000000ull, 18001000000ull);
	die = rig->chip.thermal.ambient_mc + watt * (rig->chip.thermal.r_mk_w[0] +
						     rig->chip.thermal.r_mk_w[1] +
						     rig->chip.thermal.r_mk_w[2]);
	assert_in_range(sim_soc_temp_die_mc(rig->soc), (int)die - 200, (int)die + 200);
	die -= watt * rig->chip.thermal.r_mk_w[0];
	assert_in_range(sim_soc_temp_board_mc(rig->soc), (int)die - 200, (int)die + 200);
	rig_free(rig);
}

static void leakage_grows_with_heat(void **state)
{
	struct sim_work work = { 0 };
	struct sim_run run = { 0 };
	struct rig *rig = rig_new("tiny");
	uint64_t cold, warm;

	(void)state;
	rig->chip.energy.idle_uw = 0;
	rig->chip.energy.leak_uw = 100000;
	sim_soc_run_begin(rig->soc, &run);
	sim_soc_run_advance(rig->soc, &run, 1000000000000ull, &work);
	cold = (uint64_t)run.energy_pj;
	work.macs = 1000000000000ull;
	sim_soc_run_advance(rig->soc, &run, 2000000000000ull, &work);
	work.macs = 0;
	run.energy_pj = 0;
	sim_soc_run_advance(rig->soc, &run, 3000000000000ull, &work);
	warm = (uint64_t)run.energy_pj;
	sim_soc_run_end(rig->soc, &run);
	assert_in_range(cold, 99000000000ull, 101000000000ull);
	assert_true(warm > cold * 101 / 100);
	rig_free(rig);
}

/* --- threads --------------------------------------------------------------------------- */

struct counting {
	atomic_uint hits[1000];
};

static void count(void *arg, unsigned int i)
{
	struct counting *c = arg;

	atomic_fetch_add(&c->hits[i], 1);
}

static void pool_does_each_item_once(void **state)
{
	struct counting *c = calloc(1, sizeof(*c));
	struct sim_pool *pool = sim_pool_new(4);
	unsigned int round, i, n;

	(void)state;
	assert_non_null(c);
	assert_non_null(pool);
	for (round = 1; round <= 3000; round++) {
		n = round % 997 + 1;
		memset(c, 0, sizeof(*c));
		sim_pool_run(pool, count, c, n);
		for (i = 0; i < 1000; i++)
			assert_int_equal(atomic_load(&c->hits[i]), i < n);
		if (round % 500 == 0)
			usleep(2000);	/* lets the workers fall asleep */
	}
	sim_pool_free(pool);
	free(c);
}

static void *run_job(void *arg)
{
	struct rig *rig = arg;
	struct sim_job job = job_of(rig);
	struct sim_result *result = malloc(sizeof(*result));

	if (result)
		sim_core_run(rig->core, &job, result);
	return result;
}

/* One command of hours: m = 4096, k = 65535 out of one repeated row. */
static void add_endless(struct rig *rig)
{
	struct ne1_cmd_mm *c = &add(rig, NE1_OP_MM)->mm;

	c->m = 4096;
	c->k = 65535;
	c->n = 65536;
	c->atype = NE1_T_F32;
	c->btype = NE1_T_F16;
	c->ctype = NE1_T_F32;
}

static void stop_ends_a_long_command(void **state)
{
	struct rig *rig = rig_new("tiny");
	struct sim_result *result;
	pthread_t thread;
	uint64_t t;

	(void)state;
	add_endless(rig);
	add(rig, NE1_OP_END);
	assert_int_equal(pthread_create(&thread, NULL, run_job, rig), 0);
	usleep(100000);
	t = host_ns();
	sim_core_stop(rig->core);
	assert_int_equal(pthread_join(thread, (void **)&result), 0);
	assert_true(host_ns() - t < 60000000000ull);	/* not the hours of the command */
	assert_non_null(result);
	assert_int_equal(result->state, NE1_CORE_FAULT);
	assert_int_equal(result->fault, NE1_FAULT_STOPPED);
	free(result);
	/* The stop holds, also for a job that has not begun, until it is cleared. */
	rig->n = 0;
	add(rig, NE1_OP_END);
	result = run_job(rig);
	assert_non_null(result);
	assert_int_equal(result->fault, NE1_FAULT_STOPPED);
	free(result);
	sim_core_clear_stop(rig->core);
	result = run_job(rig);
	assert_non_null(result);
	assert_int_equal(result->state, NE1_CORE_DONE);
	free(result);
	rig_free(rig);
}

static void yield_continues_where_it_was(void **state)
{
	struct rig *rig = rig_new("tiny");
	struct sim_result result;
	struct sim_job job;
	unsigned int i;

	(void)state;
	for (i = 0; i < 5; i++) {
		add_load(rig, 1);
		add(rig, NE1_OP_YIELD);
	}
	add(rig, NE1_OP_END);
	job = job_of(rig);
	sim_core_set_yield(rig->core, true);
	sim_core_run(rig->core, &job, &result);
	assert_int_equal(result.state, NE1_CORE_YIELDED);
	assert_int_equal(result.profile.commands, 2);
	sim_core_resume(rig->core, &result);
	assert_int_equal(result.state, NE1_CORE_YIELDED);
	assert_int_equal(result.profile.commands, 4);
	sim_core_set_yield(rig->core, false);
	sim_core_resume(rig->core, &result);
	assert_int_equal(result.state, NE1_CORE_DONE);
	assert_int_equal(result.profile.commands, 11);
	assert_int_equal(result.profile.dram_rd_bytes, 5 * 65536 + 256 + 11 * 64);
	assert_in_range(result.profile.ld_busy, 1, result.profile.cycles);
	rig_free(rig);
}

/* Two cores stream at the same time: each gets half of the memory. */
static void cores_share_the_memory(void **state)
{
	struct rig *one = rig_new("rk3588"), *two = rig_new("rk3588");
	struct sim_result *r[2];
	struct sim_run other = { 0 };
	pthread_t thread[2];
	uint64_t alone, shared;

	(void)state;
	add_load(one, 4000);
	add(one, NE1_OP_END);
	r[0] = run_job(one);
	assert_non_null(r[0]);
	alone = r[0]->profile.cycles;
	free(r[0]);
	sim_soc_run_begin(one->soc, &other);
	r[0] = run_job(one);
	sim_soc_run_end(one->soc, &other);
	assert_non_null(r[0]);
	shared = r[0]->profile.cycles;
	free(r[0]);
	assert_in_range(shared, alone * 19 / 10, alone * 2);

	/* And in real threads on one device, for the race detector. */
	add_load(two, 4000);
	add(two, NE1_OP_END);
	sim_core_free(two->core);
	two->core = sim_core_new(&one->chip, one->soc, &two->mem, 1);
	assert_non_null(two->core);
	assert_int_equal(pthread_create(&thread[0], NULL, run_job, one), 0);
	assert_int_equal(pthread_create(&thread[1], NULL, run_job, two), 0);
	sim_soc_temp_die_mc(one->soc);
	sim_core_set_yield(one->core, true);
	assert_int_equal(pthread_join(thread[0], (void **)&r[0]), 0);
	assert_int_equal(pthread_join(thread[1], (void **)&r[1]), 0);
	assert_int_equal(r[0]->state, NE1_CORE_DONE);
	assert_int_equal(r[1]->state, NE1_CORE_DONE);
	free(r[0]);
	free(r[1]);
	rig_free(two);
	rig_free(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builtin_profiles),
		cmocka_unit_test(missing_profile),
		cmocka_unit_test(strict_parser),
		cmocka_unit_test(clock_idles_with_the_host),
		cmocka_unit_test(clock_runs_with_the_work),
		cmocka_unit_test(paced_runs_take_their_time),
		cmocka_unit_test(heat_settles),
		cmocka_unit_test(leakage_grows_with_heat),
		cmocka_unit_test(pool_does_each_item_once),
		cmocka_unit_test(stop_ends_a_long_command),
		cmocka_unit_test(yield_continues_where_it_was),
		cmocka_unit_test(cores_share_the_memory),
	};

	return cmocka_run_group_tests_name("npusim-core", tests, NULL, NULL);
}
