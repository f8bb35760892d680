// SPDX-License-Identifier: MIT
/*
 * Host speed of the model's MX, per operand format, number of rows and host threads, and the
 * device's own time for the same commands: GMAC per second of wall time and of device time.  Then
 * the weights of a small language model streamed from memory once, as in a decode step, in both
 * times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chip.h"
#include "core.h"
#include "ne1_cmd.h"
#include "simd.h"
#include "soc.h"

#define COMMANDS	40
#define ROUNDS		5
#define VA		0x100000
#define PARAMS_VA	0x10000
#define WEIGHTS_VA	0x10000000

/* 106 M weights U4M and 28 M I8, in tiles of 576 x 512. */
#define TILE_K		576
#define TILE_N		512
#define TILES_U4M	360
#define TILES_I8	96
#define TILE_U4M	(TILE_N / NE1_PANEL * NE1_PANEL_BYTES_U4M(TILE_K))
#define TILE_I8		(TILE_N / NE1_PANEL * NE1_PANEL_BYTES_I8(TILE_K))
#define WEIGHTS_BYTES	(TILES_U4M * TILE_U4M + TILES_I8 * TILE_I8)
#define STREAM_MAX	(2 * (TILES_U4M + TILES_I8) + 2)

static union ne1_cmd stream[STREAM_MAX];
static struct ne1_params params = { .base = { WEIGHTS_VA } };
static uint8_t *weights;

static uint8_t *map(struct sim_mem *mem, unsigned int asid, uint64_t va, uint64_t *len, bool write,
		    enum ne1_mmu_code *code)
{
	uint8_t *base = (uint8_t *)&params;
	uint64_t at = va - PARAMS_VA, size = sizeof(params);

	if (va >= WEIGHTS_VA) {
		base = weights;
		at = va - WEIGHTS_VA;
		size = WEIGHTS_BYTES;
	} else if (va >= VA) {
		base = (uint8_t *)stream;
		at = va - VA;
		size = sizeof(stream);
	}
	(void)mem;
	(void)asid;
	(void)write;
	if (va < PARAMS_VA || at >= size) {
		*code = NE1_MMU_NOT_PRESENT;
		return NULL;
	}
	if (*len > size - at)
		*len = size - at;
	return base + at;
}

struct shape {
	const char *name;
	unsigned int m, k, n, btype, flags;
};

static const struct shape shapes[] = {
	{ "u4m m=1", 1, 576, 1536, NE1_T_U4M, 0 },
	{ "u4m m=1 small", 1, 576, 192, NE1_T_U4M, 0 },
	{ "u4m m=32", 32, 576, 1536, NE1_T_U4M, 0 },
	{ "i8 m=1", 1, 576, 1024, NE1_T_I8, 0 },
	{ "i8 m=32", 32, 576, 1024, NE1_T_I8, 0 },
	{ "f16 nk m=3 (scores)", 3, 64, 512, NE1_T_F16, NE1_MM_B_NK },
	{ "f16 kn m=3 (values)", 3, 512, 64, NE1_T_F16, 0 },
	{ "f16 nk m=96", 96, 64, 512, NE1_T_F16, NE1_MM_B_NK },
};

static uint32_t row_bytes(uint32_t elements)
{
	return elements * 2;
}

static void make_stream(const struct shape *s)
{
	struct ne1_cmd_mm mm = {
		.hdr = { .opcode = NE1_OP_MM,
			 .flags = (uint8_t)s->flags,
			 .wait = { NE1_NO_SEM, NE1_NO_SEM },
			 .signal = { NE1_NO_SEM, NE1_NO_SEM } },
		.a = 0,
		.a_stride = row_bytes(s->k),
		.c = 128 << 10,
		.c_stride = 4 * s->n,
		.b = 384 << 10,
		.m = (uint16_t)s->m,
		.k = (uint16_t)s->k,
		.n = s->n,
		.atype = NE1_T_F16,
		.btype = (uint8_t)s->btype,
		.ctype = NE1_T_F32,
	};
	unsigned int i;

	if (s->btype == NE1_T_U4M)
		mm.b_stride = NE1_PANEL_BYTES_U4M(s->k);
	else if (s->btype == NE1_T_I8)
		mm.b_stride = NE1_PANEL_BYTES_I8(s->k);
	else
		mm.b_stride = row_bytes(s->flags & NE1_MM_B_NK ? s->k : s->n);
	memset(stream, 0, sizeof(stream));
	for (i = 0; i < COMMANDS; i++)
		stream[i].mm = mm;
	stream[COMMANDS].hdr = mm.hdr;	/* the rest is never reached */
	stream[COMMANDS].hdr.flags = 0;
	stream[COMMANDS].hdr.opcode = NE1_OP_END;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

/* Seconds of the best of a few rounds, so that a busy host does not count; negative after a fault.
 */
static double run(struct sim_core *core, const char *name, struct ne1_profile *profile)
{
	struct sim_job job = { .asid = 1, .stream_va = VA, .stream_size = sizeof(stream),
			       .param_va = PARAMS_VA };
	struct sim_result result;
	double best = 1e9, t;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		t = now();
		sim_core_run(core, &job, &result);
		t = now() - t;
		if (result.state != NE1_CORE_DONE) {
			fprintf(stderr, "mx_bench: %s: fault %d in command %u\n", name,
				result.fault, result.fault_cmd);
			return -1;
		}
		best = t < best ? t : best;
	}
	*profile = result.profile;
	return best;
}

static int measure(struct sim_core *core, const struct shape *s, double *gmacs, double *device)
{
	double macs = (double)COMMANDS * s->m * s->k * s->n, t;
	struct ne1_profile p;

	t = run(core, s->name, &p);
	if (t < 0)
		return -1;
	*gmacs = macs * 1e-9 / t;
	*device = macs / (p.mx_busy * 1e6 / p.freq_khz);
	return 0;
}

/* Semaphores 0, 1: tile is there; 2, 3: its buffer is free. */
static void make_tile(unsigned int i, bool u4, uint64_t offset)
{
	struct ne1_cmd_dma *ld = &stream[1 + 2 * i].dma;
	struct ne1_cmd_mm *mm = &stream[2 + 2 * i].mm;
	uint8_t b = i & 1;

	*ld = (struct ne1_cmd_dma){
		.hdr = { .opcode = NE1_OP_LD,
			 .wait = { 2 + b, NE1_NO_SEM },
			 .signal = { b, NE1_NO_SEM } },
		.offset = offset,
		.row_bytes = u4 ? TILE_U4M : TILE_I8,
		.rows = 1,
		.sram = 65536 + (b ? 400000 : 0),
		.dyn = NE1_NO_PARAM,
		.clip = NE1_NO_PARAM,
	};
	*mm = (struct ne1_cmd_mm){
		.hdr = { .opcode = NE1_OP_MM,
			 .wait = { b, NE1_NO_SEM },
			 .signal = { 2 + b, NE1_NO_SEM } },
		.a = 0,
		.b = ld->sram,
		.b_stride = ld->row_bytes / (TILE_N / NE1_PANEL),
		.c = 8192,
		.m = 1,
		.k = TILE_K,
		.n = TILE_N,
		.atype = NE1_T_F16,
		.btype = u4 ? NE1_T_U4M : NE1_T_I8,
		.ctype = NE1_T_F32,
	};
}

static void make_decode(void)
{
	const struct ne1_cmd_hdr none = { .wait = { NE1_NO_SEM, NE1_NO_SEM },
					  .signal = { NE1_NO_SEM, NE1_NO_SEM } };
	uint64_t offset = 0;
	unsigned int i;
	bool u4;

	memset(stream, 0, sizeof(stream));
	stream[0].hdr = none;
	stream[0].hdr.opcode = NE1_OP_NOP;
	stream[0].hdr.signal[0] = 2;
	stream[0].hdr.signal[1] = 3;
	for (i = 0; i < TILES_U4M + TILES_I8; i++) {
		u4 = i < TILES_U4M;
		make_tile(i, u4, offset);
		offset += u4 ? TILE_U4M : TILE_I8;
	}
	stream[STREAM_MAX - 1].hdr = none;
	stream[STREAM_MAX - 1].hdr.opcode = NE1_OP_END;
}

static int decode(struct sim_core *core, unsigned int threads)
{
	struct ne1_profile p;
	double t;

	make_decode();
	t = run(core, "decode", &p);
	if (t < 0)
		return -1;
	printf("  decode, %u thread(s): %.1f steps/s of wall time; device %.1f steps/s, %.1f GB/s, "
	       "%.2f mJ\n",
	       threads, 1 / t, 1e9 / (p.end_ns - p.start_ns),
	       (double)p.dram_rd_bytes / (p.end_ns - p.start_ns), p.energy_nj * 1e-6);
	return 0;
}

static int bench(const struct sim_chip *chip, struct sim_soc *soc, enum sim_simd_level level)
{
	struct sim_mem mem = { .map = map };
	struct sim_core *core[2];
	double one, two, device;
	unsigned int i;
	int ret = 0;

	if (!sim_simd_select(level))
		return 0;
	core[0] = sim_core_new(chip, soc, &mem, 1);
	core[1] = sim_core_new(chip, soc, &mem, 2);
	printf("%-24s %12s %12s %14s\n", sim_simd_selected()->name, "1 thread", "2 threads",
	       "device");
	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]) && core[0] && core[1] && !ret; i++) {
		make_stream(&shapes[i]);
		ret = measure(core[0], &shapes[i], &one, &device) ||
		      measure(core[1], &shapes[i], &two, &device);
		if (!ret)
			printf("  %-22s %7.2f GMAC/s %7.2f GMAC/s %7.2f GMAC/s\n", shapes[i].name,
			       one, two, device);
	}
	if (!ret)
		ret = core[0] && core[1] ? decode(core[0], 1) || decode(core[1], 2) : -1;
	sim_core_free(core[0]);
	sim_core_free(core[1]);
	return ret;
}

int main(int argc, char **argv)
{
	struct sim_chip chip;
	struct sim_soc *soc;
	char err[256];
	int ret;

	if (sim_chip_load(argc > 1 ? argv[1] : "edge", &chip, err, sizeof(err))) {
		fprintf(stderr, "mx_bench: %s\n", err);
		return 2;
	}
	soc = sim_soc_new(&chip);
	if (!soc)
		return 2;
	weights = malloc(WEIGHTS_BYTES);
	if (!weights)
		return 2;
	memset(weights, 0x11, WEIGHTS_BYTES);
	ret = bench(&chip, soc, SIM_SIMD_BEST);
	if (!ret && argc > 2)
		ret = bench(&chip, soc, SIM_SIMD_SCALAR);
	free(weights);
	sim_soc_free(soc);
	return ret ? 1 : 0;
}
