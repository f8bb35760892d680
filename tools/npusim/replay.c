// SPDX-License-Identifier: MIT
/*
 * The job sees what the dump has: contents of parameters, streams and buffers, zeroes elsewhere in
 * what was mapped, nothing where nothing was.  Scratchpads begin as zero.  Of a job with several
 * streams the one that ends as the dump says is shown, else the first that faults.
 */
#include "replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "chip.h"
#include "core.h"
#include "ne1_cmd.h"
#include "ne1_fwabi.h"
#include "ne1_names.h"
#include "soc.h"

#define PAGE		4096ull
#define MAPPED_MAX	(64ull << 30)	/* bytes of mappings; only those used take memory */
#define STREAMS		4
#define ASID		1
#define WHERE		(NE1_MMU_FAULT_UNIT | NE1_MMU_FAULT_WRITE | NE1_MMU_FAULT_CODE)

/* ---- Memory ---- */

/* Index of the mapping that holds @va, or of the first one behind it. */
static unsigned int find(const struct sim_replay_memory *m, uint64_t va)
{
	unsigned int lo = 0, hi = m->n;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (m->range[mid].va + m->range[mid].size <= va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static uint8_t *map(struct sim_mem *mem, unsigned int asid, uint64_t va, uint64_t *len, bool write,
		    enum ne1_mmu_code *code)
{
	struct sim_replay_memory *m = (struct sim_replay_memory *)mem;
	unsigned int i = find(m, va);
	uint64_t left;

	(void)asid;
	*code = va >> NE1_VA_BITS ? NE1_MMU_RANGE : NE1_MMU_NOT_PRESENT;
	if (i == m->n || va < m->range[i].va)
		return NULL;
	*code = NE1_MMU_READ_ONLY;
	if (write && m->range[i].readonly)
		return NULL;
	*code = NE1_MMU_OK;
	left = m->range[i].va + m->range[i].size - va;
	if (*len > left)
		*len = left;
	return m->host[i] + (va - m->range[i].va);
}

static int add_range(struct sim_replay_memory *m, uint64_t va, uint64_t size, bool readonly)
{
	unsigned int at = find(m, va);
	void *host = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (host == MAP_FAILED)
		return -1;
	memmove(&m->range[at + 1], &m->range[at], (m->n - at) * sizeof(m->range[0]));
	memmove(&m->host[at + 1], &m->host[at], (m->n - at) * sizeof(m->host[0]));
	m->range[at] = (struct sim_dump_range){ va, size, readonly };
	m->host[at] = host;
	m->n++;
	return 0;
}

/* What a dump has contents of was mapped, also if the list of mappings was cut short. */
static int cover(struct sim_replay_memory *m, uint64_t va, uint64_t end)
{
	while (va < end) {
		unsigned int i = find(m, va);
		uint64_t stop = end;

		if (i < m->n && m->range[i].va <= va) {
			va = m->range[i].va + m->range[i].size;
			continue;
		}
		if (i < m->n && m->range[i].va < stop)
			stop = m->range[i].va;
		if (m->n == sizeof(m->range) / sizeof(m->range[0]) ||
		    add_range(m, va, stop - va, false))
			return -1;
		va = stop;
	}
	return 0;
}

static bool has_memory(const struct sim_dump_section *s)
{
	return s->va && s->size && (!strcmp(s->name, "bo") || !strcmp(s->name, "params") ||
				    !strncmp(s->name, "stream", 6));
}

static int load_section(struct sim_replay_memory *m, const struct sim_dump_section *s, char *err,
			size_t err_size)
{
	uint64_t va = s->va, done = 0;

	if (va >> NE1_VA_BITS || s->size > (1ull << NE1_VA_BITS) - va) {
		snprintf(err, err_size, "%s: 0x%llx is beyond the address space", s->name,
			 (unsigned long long)va);
		return -1;
	}
	if (cover(m, va & ~(PAGE - 1), (va + s->size + PAGE - 1) & ~(PAGE - 1))) {
		snprintf(err, err_size, "%s: no room for its memory", s->name);
		return -1;
	}
	while (done < s->size) {
		uint64_t n = s->size - done;
		unsigned int i = find(m, va + done);
		uint64_t offset = va + done - m->range[i].va;

		if (i == m->n || !m->host[i])	/* cover() has seen to it */
			return -1;
		if (n > m->range[i].size - offset)
			n = m->range[i].size - offset;
		memcpy(m->host[i] + offset, s->data + done, n);
		done += n;
	}
	return 0;
}

int sim_replay_load(struct sim_replay_memory *m, const struct sim_dump *dump, char *err,
		    size_t err_size)
{
	uint64_t total = 0;

	memset(m, 0, sizeof(*m));
	m->mem.map = map;
	for (unsigned int i = 0; i < dump->n_ranges; i++) {
		total += dump->range[i].size;
		if (total > MAPPED_MAX ||
		    add_range(m, dump->range[i].va, dump->range[i].size, dump->range[i].readonly)) {
			snprintf(err, err_size, "vm: 0x%llx bytes of mappings (limit 0x%llx)",
				 (unsigned long long)total, MAPPED_MAX);
			return -1;
		}
	}
	for (unsigned int i = 0; i < dump->n_sections; i++)
		if (has_memory(&dump->section[i]) &&
		    load_section(m, &dump->section[i], err, err_size))
			return -1;
	return 0;
}

void sim_replay_clear(struct sim_replay_memory *m)
{
	for (unsigned int i = 0; i < m->n; i++)
		munmap(m->host[i], m->range[i].size);
	m->n = 0;
}

/* ---- The job ---- */

struct plan {
	struct sim_job job[STREAMS];
	unsigned int n;
};

/* The job's entry in the ring has all; parameters and streams alone are enough too. */
static bool from_ring(const struct sim_dump *dump, struct plan *plan)
{
	const struct sim_dump_section *ring = sim_dump_find(dump, "ring");
	struct ne1_job job;

	for (size_t at = 0; ring && ring->size - at >= sizeof(job); at += sizeof(job)) {
		memcpy(&job, ring->data + at, sizeof(job));
		if (job.seqno != dump->seqno || !job.cores || job.cores > STREAMS)
			continue;
		plan->n = job.cores;
		for (unsigned int i = 0; i < plan->n; i++)
			plan->job[i] = (struct sim_job){
				.asid = ASID, .stream_va = job.stream[i].va,
				.stream_size = job.stream[i].size, .param_va = job.param_va,
				.profile_va = job.profile_va ? job.profile_va +
					      i * sizeof(struct ne1_profile) : 0,
			};
		return true;
	}
	return false;
}

static bool from_sections(const struct sim_dump *dump, struct plan *plan)
{
	const struct sim_dump_section *params = sim_dump_find(dump, "params"), *stream;
	char name[16];

	plan->n = 0;
	for (unsigned int i = 0; params && i < STREAMS; i++) {
		snprintf(name, sizeof(name), "stream%u", i);
		stream = sim_dump_find(dump, name);
		if (stream)
			plan->job[plan->n++] = (struct sim_job){
				.asid = ASID, .stream_va = stream->va,
				.stream_size = (uint32_t)stream->size, .param_va = params->va,
			};
	}
	return plan->n;
}

static bool same(const struct sim_dump *dump, const struct sim_result *r)
{
	if (r->fault != dump->fault)
		return false;
	if (r->fault == NE1_FAULT_NONE)
		return true;
	if (r->fault_cmd != dump->cmd || (r->fault_info ^ dump->info) & NE1_MMU_FAULT_UNIT)
		return false;
	return r->fault != NE1_FAULT_MMU ||
	       (r->fault_va == dump->va && !((r->fault_info ^ dump->info) & WHERE));
}

static int run(const struct sim_chip *chip, struct sim_replay_memory *memory,
	       const struct sim_dump *dump, const struct plan *plan, struct sim_result *result)
{
	struct sim_soc *soc = sim_soc_new(chip);
	struct sim_core *core = soc ? sim_core_new(chip, soc, &memory->mem, 1) : NULL;
	struct sim_result r;

	for (unsigned int i = 0; core && i < plan->n; i++) {
		sim_core_scrub(core);
		sim_core_run(core, &plan->job[i], &r);
		if (!i || same(dump, &r) || (!result->fault && r.fault))
			*result = r;
		if (same(dump, &r) && r.fault)
			break;
	}
	sim_core_free(core);
	sim_soc_free(soc);
	return core ? 0 : -1;
}

/* ---- Words ---- */

static const char *const fault_names[] = NE1_FAULT_NAMES;
static const char *const unit_names[] = NE1_UNIT_NAMES;
static const char *const mmu_names[] = NE1_MMU_NAMES;

#define NAME(names, i)	((i) < sizeof(names) / sizeof((names)[0]) ? (names)[i] : "?")

static void say(const char *who, uint64_t fault, uint64_t cmd, uint64_t va, uint32_t info)
{
	const char *unit = NAME(unit_names, (info & NE1_MMU_FAULT_UNIT) >> 12);

	if (fault == NE1_FAULT_NONE)
		printf("%s: no fault\n", who);
	else if (fault == NE1_FAULT_MMU)
		printf("%s: MMU fault (%s) at 0x%llx, %s by %s, command %llu\n", who,
		       NAME(mmu_names, (info & NE1_MMU_FAULT_CODE) >> 16), (unsigned long long)va,
		       info & NE1_MMU_FAULT_WRITE ? "write" : "read", unit,
		       (unsigned long long)cmd);
	else
		printf("%s: %s (fault %llu) in %s, command %llu\n", who, NAME(fault_names, fault),
		       (unsigned long long)fault, unit, (unsigned long long)cmd);
}

/* ---- All ---- */

static int bad(const char *path, const char *what)
{
	fprintf(stderr, "npusim: %s: %s\n", path, what);
	return 2;
}

static int replay_dump(const char *path, const struct sim_dump *dump, struct sim_replay_memory *mem,
		       const char *chip_name)
{
	struct sim_result result = { 0 };
	struct sim_chip chip;
	struct plan plan;
	char err[256] = "";

	if (!dump->has_job)
		return bad(path, "no job in this dump: nothing to run");
	if (!chip_name && (!dump->chip[0] || strchr(dump->chip, '/')))
		return bad(path, "names no chip: use --chip");
	if (sim_chip_load(chip_name ? chip_name : dump->chip, &chip, err, sizeof(err)) ||
	    sim_replay_load(mem, dump, err, sizeof(err)))
		return bad(path, err);
	if (!from_ring(dump, &plan) && !from_sections(dump, &plan))
		return bad(path, "neither the job's ring entry nor its stream are in it");
	if (run(&chip, mem, dump, &plan, &result))
		return bad(path, "no memory for a compute core");
	printf("queue %llu, job %llu, chip %s, reason %s\n", (unsigned long long)dump->queue,
	       (unsigned long long)dump->seqno, chip.name, dump->reason);
	say("dump", dump->fault, dump->cmd, dump->va, (uint32_t)dump->info);
	say("replay", result.fault, result.fault_cmd, result.fault_va, result.fault_info);
	printf("%s\n", same(dump, &result) ? "same" : "different");
	return same(dump, &result) ? 0 : 1;
}

/* Whole file; NULL with errno set. */
static char *read_file(const char *path, size_t *len)
{
	FILE *file = fopen(path, "re");
	char *text = NULL, *more;
	size_t room = 0, n;

	*len = 0;
	if (!file)
		return NULL;
	do {
		if (*len == room) {
			room = room ? 2 * room : 1 << 16;
			more = realloc(text, room);
			if (!more)
				break;
			text = more;
		}
		n = fread(text + *len, 1, room - *len, file);
		*len += n;
	} while (n && !feof(file) && !ferror(file) && *len <= SIM_DUMP_TEXT_MAX);
	if (ferror(file)) {
		free(text);
		text = NULL;
		errno = EIO;
	}
	fclose(file);
	return text;
}

int sim_replay(const char *path, const char *chip)
{
	struct sim_replay_memory *memory = calloc(1, sizeof(*memory));
	struct sim_dump *dump = calloc(1, sizeof(*dump));
	char err[256], *text = NULL;
	size_t len;
	int status;

	if (memory && dump)
		text = read_file(path, &len);
	if (!text)
		status = bad(path, memory && dump ? strerror(errno) : "no memory");
	else if (sim_dump_parse(dump, text, len, err, sizeof(err)))
		status = bad(path, err);
	else
		status = replay_dump(path, dump, memory, chip);
	if (dump)
		sim_dump_clear(dump);
	if (memory)
		sim_replay_clear(memory);
	free(text);
	free(dump);
	free(memory);
	return status;
}
