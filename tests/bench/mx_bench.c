// SPDX-License-Identifier: MIT
/*
 * Host speed of the model's MX, per operand format, number of rows and host threads, and the device's
 * own time for the same commands: GMAC per second of wall time and of device time.
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

static union ne1_cmd stream[COMMANDS + 1];
static struct ne1_params params;

static uint8_t *map(struct sim_mem *mem, unsigned int asid, uint64_t va, uint64_t *len, bool write,
		    enum ne1_mmu_code *code)
{
	uint8_t *base = va >= VA ? (uint8_t *)stream : (uint8_t *)&params;
	uint64_t at = va - (va >= VA ? VA : PARAMS_VA);
	uint64_t size = va >= VA ? sizeof(stream) : sizeof(params);

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
		.hdr = { .opcode = NE1_OP_MM, .flags = (uint8_t)s->flags, .wait = { NE1_NO_SEM, NE1_NO_SEM },
			 .signal = { NE1_NO_SEM, NE1_NO_SEM } },
		.a = 0, .a_stride = row_bytes(s->k), .c = 128 << 10, .c_stride = 4 * s->n, .b = 384 << 10,
		.m = (uint16_t)s->m, .k = (uint16_t)s->k, .n = s->n,
		.atype = NE1_T_F16, .btype = (uint8_t)s->btype, .ctype = NE1_T_F32,
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
	stream[COMMANDS].hdr = mm.hdr;
	stream[COMMANDS].hdr.flags = 0;
	stream[COMMANDS].hdr.opcode = NE1_OP_END;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

/* Best of a few rounds, so that a busy host does not count. */
static int measure(struct sim_core *core, const struct shape *s, double *gmacs, double *device)
{
	struct sim_job job = { .asid = 1, .stream_va = VA, .stream_size = sizeof(stream),
			       .param_va = PARAMS_VA };
	double macs = (double)COMMANDS * s->m * s->k * s->n, best = 1e9, t;
	struct sim_result result;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		t = now();
		sim_core_run(core, &job, &result);
		t = now() - t;
		if (result.state != NE1_CORE_DONE) {
			fprintf(stderr, "mx_bench: %s: fault %d in command %u\n", s->name, result.fault,
				result.fault_cmd);
			return -1;
		}
		best = t < best ? t : best;
	}
	*gmacs = macs * 1e-9 / best;
	*device = macs / (result.profile.mx_busy * 1e6 / result.profile.freq_khz);
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
	printf("%-24s %12s %12s %14s\n", sim_simd_selected()->name, "1 thread", "2 threads", "device");
	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]) && core[0] && core[1] && !ret; i++) {
		make_stream(&shapes[i]);
		ret = measure(core[0], &shapes[i], &one, &device) ||
		      measure(core[1], &shapes[i], &two, &device);
		if (!ret)
			printf("  %-22s %7.2f GMAC/s %7.2f GMAC/s %7.2f GMAC/s\n", shapes[i].name, one, two,
			       device);
	}
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
	ret = bench(&chip, soc, SIM_SIMD_BEST);
	if (!ret && argc > 2)
		ret = bench(&chip, soc, SIM_SIMD_SCALAR);
	sim_soc_free(soc);
	return ret ? 1 : 0;
}
