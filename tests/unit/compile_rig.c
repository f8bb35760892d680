// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compile_rig.h"
#include "device/sim.h"

#define PROFILE	"tools/npusim/chips/edge.chip"

/* A copy of the profile with another SRAM, in a temporary file. */
static void write_profile(FILE *out, uint32_t sram_bytes)
{
	FILE *in = fopen(PROFILE, "r");
	char line[200];

	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		if (!strncmp(line, "sram_bytes", 10))
			fprintf(out, "sram_bytes = %u\n", sram_bytes);
		else if (!strncmp(line, "dram_peak_mbps", 14))
			fputs("dram_peak_mbps = 100\n", out);
		else
			fputs(line, out);
	}
	fclose(in);
}

npu_device *rig_device(uint32_t sram_bytes)
{
	char name[] = "sim:/tmp/npuedge-chip-XXXXXX";
	int fd = mkstemp(name + 4);
	npu_device *dev;
	FILE *f;

	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	assert_non_null(f);
	write_profile(f, sram_bytes);
	fclose(f);
	assert_ok(npu_device_open(name, &dev));
	unlink(name + 4);
	npu_sim_check_hazards(dev, true);
	return dev;
}

static size_t cache_bytes(const struct rig *r)
{
	size_t bytes = 0;
	uint32_t i;

	for (i = 0; i < npu_graph_n_tensors(r->full); i++)
		if (npu_graph_tensor(r->full, i)->kind == NPU_TENSOR_KV)
			bytes += npu_graph_tensor(r->full, i)->bytes;
	return bytes;
}

/* NaNs in all rows: nobody may look at one that was not written. */
static void poison(struct rig *r)
{
	const struct npu_tensor *t;
	uint32_t i;

	memset(r->cpu_kv, 0x7f, cache_bytes(r));
	for (i = 0; i < npu_graph_n_tensors(r->full); i++) {
		t = npu_graph_tensor(r->full, i);
		if (t->kind == NPU_TENSOR_KV)
			memset(npu_kv_host(r->kv, t->layer, t->is_v), 0x7f, t->bytes);
	}
}

void rig_open(struct rig *r, const struct tiny_spec *spec, uint32_t n_ctx, uint32_t sram_bytes)
{
	struct npu_llama_shape shape = { .n_tokens = 1, .n_ctx = n_ctx, .logits = NPU_LOGITS_ALL };

	memset(r, 0, sizeof(*r));
	r->n_ctx = n_ctx;
	r->n_vocab = spec->n_vocab;
	r->dev = rig_device(sram_bytes);
	assert_ok(tiny_open(spec, &r->model, &r->copy));
	assert_ok(npu_llama_graph(r->model, &shape, &r->full));
	assert_ok(npu_weights_new(r->dev, r->full, &r->weights));
	assert_ok(npu_kv_new(r->dev, r->full, &r->kv));
	assert_ok(npu_cpu_new(1, &r->cpu));
	r->cpu_kv = malloc(cache_bytes(r));
	assert_non_null(r->cpu_kv);
	poison(r);
}

void rig_close(struct rig *r)
{
	npu_cpu_del(r->cpu);
	npu_kv_del(r->kv);
	npu_weights_del(r->weights);
	npu_graph_del(r->full);
	npu_device_close(r->dev);
	npu_gguf_close(r->model);
	free(r->copy);
	free(r->cpu_kv);
}

/* The CPU side's cache of a KV tensor. */
static void *cpu_cache(const struct rig *r, const struct npu_tensor *t)
{
	return r->cpu_kv + (2 * (size_t)t->layer + t->is_v) * t->bytes;
}

npu_status rig_compile(struct rig *r, uint32_t m, enum npu_logits logits, uint64_t cpu_ops,
		       struct rig_program *out)
{
	struct npu_llama_shape shape = { m, r->n_ctx, logits, r->full };
	struct npu_compile_options opt = { .struct_size = sizeof(opt), .cpu_ops = cpu_ops };
	const struct npu_tensor *t;
	npu_status status;
	uint32_t i, n;

	memset(out, 0, sizeof(*out));
	out->rig = r;
	assert_ok(npu_llama_graph(r->model, &shape, &out->g));
	status = npu_program_new(r->dev, r->weights, r->kv, out->g, &opt, &out->p);
	if (status) {
		npu_graph_del(out->g);
		return status;
	}
	assert_ok(npu_cpu_reserve(r->cpu, out->g));
	n = npu_graph_n_tensors(out->g);
	out->npu = calloc(n, sizeof(void *));
	out->cpu = calloc(n, sizeof(void *));
	out->owned = calloc(2 * n, sizeof(void *));
	for (i = 0; i < n; i++) {
		t = npu_graph_tensor(out->g, i);
		if (t->data)
			continue;
		if (t->kind == NPU_TENSOR_KV) {
			out->npu[i] = npu_kv_host(r->kv, t->layer, t->is_v);
			out->cpu[i] = cpu_cache(r, t);
			continue;
		}
		out->npu[i] = npu_program_tensor(out->p, i, NULL);
		if (!out->npu[i])
			out->npu[i] = out->owned[2 * i] = calloc(1, t->bytes);
		out->cpu[i] = out->owned[2 * i + 1] = calloc(1, t->bytes);
	}
	return NPU_OK;
}

void rig_program_free(struct rig_program *p)
{
	uint32_t i;

	for (i = 0; i < 2 * npu_graph_n_tensors(p->g); i++)
		free(p->owned[i]);
	free(p->owned);
	free(p->npu);
	free(p->cpu);
	npu_program_del(p->p);
	npu_graph_del(p->g);
}

static void run_both(struct rig_program *p, uint32_t n)
{
	struct rig *r = p->rig;
	const struct npu_segment *s;
	uint32_t i;

	npu_sim_preempt(r->dev, r->steps++ % 2);
	for (i = 0; i < npu_program_n_segments(p->p); i++) {
		s = npu_program_segment(p->p, i);
		if (s->on_npu)
			assert_ok(npu_program_run(p->p, i, r->pos, n, NULL));
		else
			assert_ok(npu_cpu_run(r->cpu, p->g, s->first_op, s->n_ops, p->npu, r->pos,
					      n));
		if (s->on_npu)
			r->put_aside += to_sim_device(r->dev)->last_yields.put_aside;
	}
	assert_ok(npu_cpu_run(r->cpu, p->g, 0, npu_graph_n_ops(p->g), p->cpu, r->pos, n));
}

/* First rows of tensor @t on both sides. */
static void compare(const struct rig_program *p, const struct npu_tensor *t, uint32_t rows)
{
	const uint8_t *npu = p->npu[t->id], *cpu = p->cpu[t->id];
	size_t row = t->bytes / t->rows, i, bad = 0;

	for (i = 0; i < rows * row; i++)
		bad += npu[i] != cpu[i];
	if (bad)
		fail_msg("'%s' [%u][%u]: %zu of %zu bytes differ at position %u", t->name, rows,
			 t->cols, bad, rows * row, p->rig->pos);
}

void rig_step(struct rig_program *p, uint32_t n)
{
	uint32_t *a = p->npu[npu_graph_find(p->g, "tokens")];
	uint32_t *b = p->cpu[npu_graph_find(p->g, "tokens")], i;
	const struct npu_tensor *t;

	for (i = 0; i < n; i++)
		a[i] = b[i] = tiny_random(&p->rig->seed) % p->rig->n_vocab;
	run_both(p, n);
	p->rig->pos += n;
	for (i = 0; i < npu_graph_n_tensors(p->g); i++) {
		t = npu_graph_tensor(p->g, i);
		if (t->kind == NPU_TENSOR_KV)
			compare(p, t, p->rig->pos);
		else if (t->kind == NPU_TENSOR_OUTPUT)
			compare(p, t, t->rows == npu_graph_n_tokens(p->g) ? n : t->rows);
	}
}
