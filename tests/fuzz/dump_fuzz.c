// SPDX-License-Identifier: MIT
/*
 * Fuzzes the core dumps that npusim replays: any text is a dump or an error with a line number, and
 * the memory that is made from it holds what the dump's sections say.
 */
#include <stdlib.h>
#include <string.h>

#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sim_dump dump;
static struct sim_replay_memory memory;

/* The last byte of a section that was loaded is there; later sections may have written over it. */
static void check_section(const struct sim_dump_section *s)
{
	uint64_t len = 1;
	enum ne1_mmu_code code;

	if (strcmp(s->name, "params") != 0 || !s->va || !s->size)
		return;
	if (!memory.mem.map(&memory.mem, 1, s->va + s->size - 1, &len, false, &code) || len != 1)
		abort();
}

static void check_ranges(void)
{
	for (unsigned int i = 1; i < dump.n_ranges; i++)
		if (dump.range[i - 1].va + dump.range[i - 1].size > dump.range[i].va)
			abort();
	for (unsigned int i = 1; i < memory.n; i++)
		if (memory.range[i - 1].va + memory.range[i - 1].size > memory.range[i].va)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[256] = "";

	if (sim_dump_parse(&dump, (const char *)data, size, err, sizeof(err))) {
		if (strncmp(err, "line ", 5) != 0)
			abort();
	} else if (!sim_replay_load(&memory, &dump, err, sizeof(err))) {
		check_ranges();
		for (unsigned int i = 0; i < dump.n_sections; i++)
			check_section(&dump.section[i]);
	} else if (!err[0]) {
		abort();
	}
	sim_replay_clear(&memory);
	sim_dump_clear(&dump);
	return 0;
}
