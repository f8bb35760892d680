// SPDX-License-Identifier: MIT
/*
 * Runs command streams for isa.py: reads requests from standard input and answers each on standard
 * output until end of file.  All numbers are little endian; see struct request and struct answer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chip.h"
#include "core.h"
#include "simd.h"
#include "soc.h"

#define RUN_BYTES	4096	/* map() hands out at most to the next page boundary */
#define REGIONS_MAX	64
#define CORES_MAX	32

enum { RUN_THROUGH, RESUME, PUT_ASIDE };	/* what `yield` asks for */

struct request {
	char chip[16];
	uint32_t simd, threads, hazards, scrub, yield, asid;
	uint64_t stream_va, param_va, profile_va;
	uint32_t stream_size, regions;
};

struct region_head {
	uint64_t va, len;
	uint32_t read_only, pad;
};

struct answer {
	uint32_t state, fault, fault_cmd, fault_info;
	uint64_t fault_va;
	uint32_t yields, bracket_errors;
	struct ne1_profile profile;
	uint64_t dram_rd, dram_wr;	/* of the device, during this request */
	uint64_t count[NE1_COUNTERS];	/* sums over the starts; of the last one with RESUME */
	uint32_t progress, resumed_at;	/* of the last start, its `pos` */
};

struct region {
	struct region_head head;
	uint8_t *data;
};

struct memory {
	struct sim_mem ops;
	struct region region[REGIONS_MAX];
	unsigned int n, depth, errors;
};

struct unit {
	char chip_name[16];
	uint32_t simd, threads;
	struct sim_chip chip;
	struct sim_soc *soc;
	struct sim_core *core;
};

static struct memory memory;
static struct unit units[CORES_MAX];
static unsigned int n_units;

static uint8_t *map(struct sim_mem *mem, unsigned int asid, uint64_t va, uint64_t *len, bool write,
		    enum ne1_mmu_code *code)
{
	struct memory *m = (struct memory *)mem;
	struct region *r;
	unsigned int i;

	(void)asid;
	m->errors += m->depth != 1;
	if (va >> NE1_VA_BITS) {
		*code = NE1_MMU_RANGE;
		return NULL;
	}
	for (i = 0; i < m->n; i++) {
		r = &m->region[i];
		if (va < r->head.va || va - r->head.va >= r->head.len)
			continue;
		if (write && r->head.read_only) {
			*code = NE1_MMU_READ_ONLY;
			return NULL;
		}
		if (*len > RUN_BYTES - va % RUN_BYTES)
			*len = RUN_BYTES - va % RUN_BYTES;
		if (*len > r->head.len - (va - r->head.va))
			*len = r->head.len - (va - r->head.va);
		return r->data + (va - r->head.va);
	}
	*code = NE1_MMU_NOT_PRESENT;
	return NULL;
}

static void enter(struct sim_mem *mem)
{
	((struct memory *)mem)->depth++;
}

static void leave(struct sim_mem *mem)
{
	((struct memory *)mem)->depth--;
}

static void fatal(const char *what)
{
	fprintf(stderr, "isa_run: %s\n", what);
	exit(2);
}

static bool read_all(void *buf, size_t len)
{
	uint8_t *at = buf;
	ssize_t n;

	for (; len; len -= n, at += n) {
		n = read(STDIN_FILENO, at, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return false;
	}
	return true;
}

static void write_all(const void *buf, size_t len)
{
	const uint8_t *at = buf;
	ssize_t n;

	for (; len; len -= n, at += n) {
		n = write(STDOUT_FILENO, at, len);
		if (n <= 0)
			fatal("cannot write the answer");
	}
}

static struct unit *get_unit(const struct request *req)
{
	struct unit *u;
	char err[256];
	unsigned int i;

	for (i = 0; i < n_units; i++) {
		u = &units[i];
		if (!memcmp(u->chip_name, req->chip, sizeof(req->chip)) && u->simd == req->simd &&
		    u->threads == req->threads)
			return u;
	}
	if (n_units == CORES_MAX)
		fatal("too many different cores");
	u = &units[n_units++];
	memcpy(u->chip_name, req->chip, sizeof(req->chip));
	u->simd = req->simd;
	u->threads = req->threads;
	if (sim_chip_load(req->chip, &u->chip, err, sizeof(err)))
		fatal(err);
	if (!sim_simd_select(req->simd))
		fatal("host lacks this SIMD level");
	u->soc = sim_soc_new(&u->chip);
	u->core = u->soc ? sim_core_new(&u->chip, u->soc, &memory.ops, req->threads) : NULL;
	if (!u->core)
		fatal("no memory");
	return u;
}

static void read_regions(unsigned int n)
{
	unsigned int i;

	if (n > REGIONS_MAX)
		fatal("too many regions");
	memory.n = n;
	for (i = 0; i < n; i++) {
		if (!read_all(&memory.region[i].head, sizeof(memory.region[i].head)))
			fatal("short request");
		/* Exactly as long as told, so that the sanitizer sees accesses beyond. */
		memory.region[i].data = malloc(memory.region[i].head.len);
		if (!memory.region[i].data ||
		    !read_all(memory.region[i].data, memory.region[i].head.len))
			fatal("short request");
	}
}

/* Goes on after everything that a job put aside may lose is lost. */
static void put_aside(struct sim_core *core, struct sim_job *job, struct sim_result *result)
{
	sim_core_scrub(core);
	job->continued = true;
	job->pos = result->pos;
	sim_core_run(core, job, result);
}

static void add_counters(struct answer *ans, const struct sim_result *result, bool anew)
{
	unsigned int i;

	for (i = 0; i < NE1_COUNTERS; i++)
		ans->count[i] = result->count[i] + (anew ? ans->count[i] : 0);
}

static void serve(const struct request *req)
{
	struct unit *u = get_unit(req);
	struct sim_job job = {
		.asid = req->asid, .stream_va = req->stream_va, .stream_size = req->stream_size,
		.param_va = req->param_va, .profile_va = req->profile_va,
	};
	struct answer ans = { .dram_rd = sim_soc_dram_rd_bytes(u->soc),
			      .dram_wr = sim_soc_dram_wr_bytes(u->soc) };
	struct sim_result result;
	unsigned int i;

	if (req->scrub)
		sim_core_scrub(u->core);
	sim_core_check_hazards(u->core, req->hazards);
	sim_core_set_yield(u->core, req->yield != RUN_THROUGH);
	sim_core_run(u->core, &job, &result);
	add_counters(&ans, &result, req->yield != RESUME);
	for (; result.state == NE1_CORE_YIELDED; ans.yields++) {
		if (req->yield == RESUME)
			sim_core_resume(u->core, &result);
		else
			put_aside(u->core, &job, &result);
		add_counters(&ans, &result, req->yield != RESUME);
	}
	ans.progress = sim_core_progress(u->core);
	ans.resumed_at = job.pos;
	ans.state = result.state;
	ans.fault = result.fault;
	ans.fault_cmd = result.fault_cmd;
	ans.fault_info = result.fault_info;
	ans.fault_va = result.fault_va;
	ans.profile = result.profile;
	ans.bracket_errors = memory.errors + memory.depth;
	ans.dram_rd = sim_soc_dram_rd_bytes(u->soc) - ans.dram_rd;
	ans.dram_wr = sim_soc_dram_wr_bytes(u->soc) - ans.dram_wr;
	write_all(&ans, sizeof(ans));
	for (i = 0; i < memory.n; i++) {
		if (!memory.region[i].head.read_only)
			write_all(memory.region[i].data, memory.region[i].head.len);
		free(memory.region[i].data);
	}
	memory.n = 0;
}

int main(void)
{
	struct request req;
	unsigned int i;

	memory.ops = (struct sim_mem){ .map = map, .enter = enter, .leave = leave };
	while (read_all(&req, sizeof(req))) {
		read_regions(req.regions);
		serve(&req);
	}
	for (i = 0; i < n_units; i++) {
		sim_core_free(units[i].core);
		sim_soc_free(units[i].soc);
	}
	return 0;
}
