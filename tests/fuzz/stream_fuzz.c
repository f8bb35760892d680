// SPDX-License-Identifier: MIT
/*
 * Fuzzes the compute cores: any stream, parameters and memory layout end in a result, without
 * touching a byte outside memory and scratchpad.
 *
 * Input: one byte of options, 32 bytes for value[], then commands.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chip.h"
#include "core.h"
#include "ne1_cmd.h"
#include "soc.h"

#define SRAM_BYTES	65536u
#define MEM_VA		0x10000u
#define MEM_BYTES	12288u
#define STREAM_VA	0x100000u
#define PARAM_VA	0x200000u
#define CMDS_MAX	64
#define LIMIT_US	20000	/* a command stopped in the middle is a test as well */

struct space {
	struct sim_mem mem;
	uint8_t *data, *stream;
	size_t stream_size;
	struct ne1_params params;
};

static struct space space;
static struct sim_chip chip;
static struct sim_soc *soc;
static struct sim_core *core;
static atomic_uint runs;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static uint8_t *map(struct sim_mem *mem, unsigned int asid, uint64_t va, uint64_t *len, bool write,
		    enum ne1_mmu_code *code)
{
	struct space *s = (struct space *)mem;
	uint64_t start = PARAM_VA, size = sizeof(s->params);
	uint8_t *base = (uint8_t *)&s->params;

	(void)asid;
	if (va < PARAM_VA) {
		start = va < STREAM_VA ? MEM_VA : STREAM_VA;
		base = va < STREAM_VA ? s->data : s->stream;
		size = va < STREAM_VA ? MEM_BYTES : s->stream_size;
	}
	if (va < start || va - start >= size) {
		*code = va >> NE1_VA_BITS ? NE1_MMU_RANGE : NE1_MMU_NOT_PRESENT;
		return NULL;
	}
	if (write && start != MEM_VA) {
		*code = NE1_MMU_READ_ONLY;
		return NULL;
	}
	if (*len > size - (va - start))
		*len = size - (va - start);
	if (*len > 4096 - va % 4096)
		*len = 4096 - va % 4096;
	return base + (va - start);
}

/* Stops a run that is still the same one after a while. */
static void *watch(void *arg)
{
	unsigned int last = 0, now;

	for (;;) {
		usleep(LIMIT_US);
		now = atomic_load(&runs);
		if (now == last)
			sim_core_stop(core);
		last = now;
	}
	return arg;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	pthread_t thread;
	char err[256];

	(void)argc;
	(void)argv;
	if (sim_chip_load("tiny", &chip, err, sizeof(err)))
		abort();
	chip.sram_bytes = SRAM_BYTES;
	space.mem.map = map;
	space.data = malloc(MEM_BYTES);
	soc = sim_soc_new(&chip);
	core = soc ? sim_core_new(&chip, soc, &space.mem, 1) : NULL;
	if (!space.data || !core || pthread_create(&thread, NULL, watch, NULL))
		abort();
	return 0;
}

/* A job that has yielded: goes on at once, or anew where it stopped or, wrongly, one command behind. */
static void go_on(struct sim_job *job, struct sim_result *result, uint8_t how)
{
	if (how & 8) {
		sim_core_resume(core, result);
		return;
	}
	sim_core_scrub(core);
	job->continued = true;
	job->pos = result->pos + !!(how & 16);
	sim_core_run(core, job, result);
}

static void run(const uint8_t *options)
{
	struct sim_job job = { .asid = 1, .stream_va = STREAM_VA, .param_va = PARAM_VA,
			       .stream_size = (uint32_t)space.stream_size };
	struct sim_result result;

	sim_core_check_hazards(core, *options & 1);
	sim_core_set_yield(core, *options & 2);
	job.profile_va = *options & 4 ? MEM_VA + 8192 - 64 : 0;
	atomic_fetch_add(&runs, 1);
	sim_core_clear_stop(core);
	sim_core_run(core, &job, &result);
	while (result.state == NE1_CORE_YIELDED)
		go_on(&job, &result, *options);
	if (result.state != NE1_CORE_DONE && result.state != NE1_CORE_FAULT)
		abort();
	if ((result.state == NE1_CORE_DONE) != (result.fault == NE1_FAULT_NONE))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int i;

	if (size < 33 + NE1_CMD_SIZE)
		return -1;
	for (i = 0; i < NE1_VALUES; i++)
		space.params.value[i] =
			data[1 + i] < 0x80 ? data[1 + i] : data[1 + i] * 0x01010101u;
	for (i = 0; i < NE1_BASES; i++)
		space.params.base[i] = MEM_VA + i * 1024u;
	for (i = 0; i < MEM_BYTES; i++)
		space.data[i] = data[i % size];
	space.stream_size = (size - 33) / NE1_CMD_SIZE * NE1_CMD_SIZE;
	if (space.stream_size > CMDS_MAX * NE1_CMD_SIZE)
		space.stream_size = CMDS_MAX * NE1_CMD_SIZE;
	space.stream = malloc(space.stream_size);
	if (!space.stream)
		return -1;
	memcpy(space.stream, data + 33, space.stream_size);
	run(data);
	free(space.stream);
	return 0;
}
