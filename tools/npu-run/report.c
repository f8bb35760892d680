// SPDX-License-Identifier: MIT
/*
 * What the run cost.  Three clocks, never mixed: the device's own, the wall's, and the CPU time
 * of this process.  A device that does not report a figure has 0 there; it is left out.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "run.h"

#define MS(ns)		((double)(ns) / 1e6)
#define MIB(bytes)	((double)(bytes) / (1 << 20))

/* A span of the run: counters at its end minus counters at its beginning. */
struct phase {
	const char *name;
	size_t tokens;		/* that went through the model */
	uint64_t device_ns, wall_ns, cpu_ns;
	uint64_t read_bytes, write_bytes, copied_bytes, jobs, energy_nj;
};

static struct phase phase_between(const char *name, size_t tokens, const struct moment *a,
				  const struct moment *b)
{
	return (struct phase){
		.name = name,
		.tokens = tokens,
		.device_ns = b->stats.device_ns - a->stats.device_ns,
		.wall_ns = b->wall_ns - a->wall_ns,
		.cpu_ns = b->cpu_ns - a->cpu_ns,
		.read_bytes = b->stats.dram_read_bytes - a->stats.dram_read_bytes,
		.write_bytes = b->stats.dram_write_bytes - a->stats.dram_write_bytes,
		.copied_bytes = b->stats.host_copied_bytes - a->stats.host_copied_bytes,
		.jobs = b->stats.jobs - a->stats.jobs,
		.energy_nj = b->stats.energy_nj - a->stats.energy_nj,
	};
}

static double rate(size_t tokens, uint64_t ns)
{
	return ns ? (double)tokens * 1e9 / (double)ns : 0;
}

/* ---- text ------------------------------------------------------------------------------ */

static void print_placement(const struct run *r)
{
	const struct npu_placement *p;
	uint32_t npu = 0, cpu = 0;
	size_t n;

	p = npu_session_placement(r->session, &n);
	for (size_t i = 0; i < n; i++) {
		npu += p[i].n_npu;
		cpu += p[i].n_cpu;
	}
	fprintf(stderr, "placement    %u ops on the NPU, %u on the CPU; NPU segments per decode "
		"step: %u\n", npu, cpu, npu_session_segments_per_decode(r->session));
	if (npu)
		fputs("  on NPU    ", stderr);
	for (size_t i = 0; npu && i < n; i++)
		if (p[i].n_npu)
			fprintf(stderr, " %s %u", p[i].op, p[i].n_npu);
	if (npu)
		fputc('\n', stderr);
	for (size_t i = 0; i < n; i++)
		if (p[i].n_cpu)
			fprintf(stderr, "  on CPU     %s %u%s%s\n", p[i].op, p[i].n_cpu,
				p[i].reason ? ": " : "", p[i].reason ? p[i].reason : "");
}

/* The device's column is "-" where it has no clock (device cpu). */
static void print_times(const struct phase *p)
{
	char device[32] = "-", speed[32] = "-";

	if (p->device_ns) {
		snprintf(device, sizeof(device), "%.1f ms", MS(p->device_ns));
		snprintf(speed, sizeof(speed), "%.1f", rate(p->tokens, p->device_ns));
	}
	fprintf(stderr, "%-12s %13s %12.1f ms %12.1f ms", p->name, device, MS(p->wall_ns),
		MS(p->cpu_ns));
	if (p->tokens)
		fprintf(stderr, " %13s %13.1f", speed, rate(p->tokens, p->wall_ns));
	fputc('\n', stderr);
}

static void print_text(const struct run *r, const struct phase *p, size_t n)
{
	const struct npu_session_stats *s = &r->finished.stats;

	fprintf(stderr, "\ndevice       %s\n", npu_session_device_name(r->session));
	print_placement(r);
	fprintf(stderr, "tokens       %zu prompt, %zu generated (%s)\n", r->n_prompt,
		r->n_predicted, r->ending);
	fprintf(stderr, "%-12s %13s %15s %15s %13s %13s\n", "", "device clock", "wall", "host CPU",
		"tok/s device", "tok/s wall");
	for (size_t i = 0; i < n; i++)
		print_times(&p[i]);
	for (size_t i = 0; i < n; i++)
		if (p[i].read_bytes || p[i].write_bytes)
			fprintf(stderr, "%-7s bytes  DRAM read %.1f MiB, written %.1f MiB; copied "
				"by the host %.1f MiB; %" PRIu64 " job%s\n", p[i].name,
				MIB(p[i].read_bytes), MIB(p[i].write_bytes), MIB(p[i].copied_bytes),
				p[i].jobs, p[i].jobs == 1 ? "" : "s");
	fprintf(stderr, "memory       weights %.1f MiB, KV %.1f MiB, scratch %.1f MiB, streams "
		"%.1f MiB\n", MIB(s->weight_bytes), MIB(s->kv_bytes), MIB(s->scratch_bytes),
		MIB(s->stream_bytes));
	if (s->energy_nj)
		fprintf(stderr, "energy       %.1f mJ by the device's own account\n",
			(double)s->energy_nj / 1e6);
	if (isfinite(s->temperature_c))
		fprintf(stderr, "temperature  %.1f C, die\n", s->temperature_c);
}

/* ---- JSON ------------------------------------------------------------------------------ */

static json_t *json_phase(const struct phase *p)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:f}",
			 "tokens", (json_int_t)p->tokens,
			 "device_ns", (json_int_t)p->device_ns,
			 "wall_ns", (json_int_t)p->wall_ns,
			 "host_cpu_ns", (json_int_t)p->cpu_ns,
			 "dram_read_bytes", (json_int_t)p->read_bytes,
			 "dram_write_bytes", (json_int_t)p->write_bytes,
			 "host_copied_bytes", (json_int_t)p->copied_bytes,
			 "jobs", (json_int_t)p->jobs,
			 "energy_nj", (json_int_t)p->energy_nj,
			 "tokens_per_s_device", rate(p->tokens, p->device_ns),
			 "tokens_per_s_wall", rate(p->tokens, p->wall_ns));
}

static json_t *json_placement(const struct run *r)
{
	const struct npu_placement *p;
	json_t *list = json_array();
	size_t n;

	p = npu_session_placement(r->session, &n);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:s,s:i,s:i,s:s?}", "op", p[i].op,
						      "npu", (int)p[i].n_npu,
						      "cpu", (int)p[i].n_cpu,
						      "reason", p[i].reason));
	return list;
}

static void print_json(const struct run *r, const struct phase *p, size_t n)
{
	const struct npu_session_stats *s = &r->finished.stats;
	json_t *root, *phases = json_object();

	for (size_t i = 0; i < n; i++)
		json_object_set_new(phases, p[i].name, json_phase(&p[i]));
	root = json_pack("{s:s,s:o,s:i,s:I,s:I,s:s,s:o,s:I,s:I,s:I,s:I}",
			 "device", npu_session_device_name(r->session),
			 "placement", json_placement(r),
			 "segments_per_decode", (int)npu_session_segments_per_decode(r->session),
			 "prompt_tokens", (json_int_t)r->n_prompt,
			 "generated_tokens", (json_int_t)r->n_predicted,
			 "ending", r->ending,
			 "phases", phases,
			 "weight_bytes", (json_int_t)s->weight_bytes,
			 "kv_bytes", (json_int_t)s->kv_bytes,
			 "scratch_bytes", (json_int_t)s->scratch_bytes,
			 "stream_bytes", (json_int_t)s->stream_bytes);
	json_object_set_new(root, "temperature_c",
			    isfinite(s->temperature_c) ? json_real(s->temperature_c) : json_null());
	json_dumpf(root, stderr, JSON_COMPACT | JSON_REAL_PRECISION(9));
	fputc('\n', stderr);
	json_decref(root);
}

void print_report(const struct run *r)
{
	enum report_format format = r->opt.report;
	struct phase phases[3];
	size_t n = 0;

	if (format == REPORT_DEFAULT)
		format = r->opt.mode == MODE_ANSWER && !r->opt.top_logits && !r->opt.quiet ?
			 REPORT_TEXT : REPORT_NONE;
	if (format == REPORT_NONE)
		return;
	phases[n++] = phase_between("load", 0, &r->start, &r->opened);
	phases[n++] = phase_between("prefill", r->n_prompt, &r->opened, &r->prefilled);
	if (r->n_predicted > 1)		/* the first token comes out of the prefill */
		phases[n++] = phase_between("decode", r->n_predicted - 1, &r->prefilled,
					    &r->finished);
	if (format == REPORT_JSON)
		print_json(r, phases, n);
	else
		print_text(r, phases, n);
}
