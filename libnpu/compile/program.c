// SPDX-License-Identifier: MIT
/* A compiled graph: its memory on the device, and running its segments. */
#include <stdlib.h>
#include <string.h>

#include "compile/emit.h"
#include "compile/place.h"
#include "compile/program.h"
#include "error.h"

#define DEFAULT_TIMEOUT_NS	60000000000ull

/* Start of the IO buffer; tensors follow. */
#define PARAMS_AT	0u
#define PROFILE_AT	256u
#define CARRIER_AT	448u
#define TENSORS_AT	512u
#define TENSOR_ALIGN	64u

/* ---- planning ---------------------------------------------------------------------------- */

static npu_status plan_segments(npu_program *p)
{
	const struct npu_chip_info *chip = npu_device_chip(p->dev);
	npu_status status;
	uint32_t i;

	for (i = 0; i < p->placement.n_segments; i++) {
		if (!p->placement.segments[i].on_npu)
			continue;
		status = npu_plan(p->g, &p->placement.segments[i], npu_graph_n_tokens(p->g),
				  chip->sram_bytes, PLAN_BEST, &p->segments[i].plan);
		if (status)
			return status;
		if (npu_dump_wanted(p->dump, "plan"))
			npu_plan_dump(&p->segments[i].plan, stderr);
	}
	return NPU_OK;
}

/* Does @tensor lie in the IO buffer? */
static bool is_shared(const npu_program *p, const struct npu_tensor *t)
{
	const struct plan *plan;
	uint32_t i;

	if (t->kind == NPU_TENSOR_INPUT || t->kind == NPU_TENSOR_OUTPUT)
		return true;
	if (t->kind != NPU_TENSOR_ACT)
		return false;
	for (i = 0; i < p->placement.n_segments; i++) {
		plan = &p->segments[i].plan;
		if (plan->places && (plan->places[t->id].load || plan->places[t->id].store))
			return true;
	}
	return false;
}

static npu_status make_io(npu_program *p)
{
	uint32_t i, n = npu_graph_n_tensors(p->g);
	uint64_t at = TENSORS_AT;
	const struct npu_tensor *t;
	npu_status status;
	void *map;

	p->io_offset = calloc(n + 1, sizeof(*p->io_offset));
	if (!p->io_offset)
		return npu_fail(NPU_ERR_NOMEM, "program: no memory for %u tensors", n);
	for (i = 0; i < n; i++) {
		t = npu_graph_tensor(p->g, i);
		if (!is_shared(p, t))
			continue;
		p->io_offset[i] = at;
		at += (t->bytes + TENSOR_ALIGN - 1) & ~(uint64_t)(TENSOR_ALIGN - 1);
	}
	status = npu_bo_new_bound(p->dev, at, 0, &p->io, &map);
	p->io_map = map;
	return status;
}

/* Room for the largest tensor that goes through memory to have a row picked. */
static uint64_t row_bytes(const npu_program *p)
{
	const struct npu_op *op;
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < npu_graph_n_ops(p->g); i++) {
		op = npu_graph_op(p->g, i);
		if (op->kind == NPU_OP_ROW_SELECT && p->placement.ops[i].on_npu &&
		    npu_graph_tensor(p->g, op->in[0])->bytes > bytes)
			bytes = npu_graph_tensor(p->g, op->in[0])->bytes;
	}
	return (bytes + TENSOR_ALIGN - 1) & ~(uint64_t)(TENSOR_ALIGN - 1);
}

/* ---- streams ----------------------------------------------------------------------------- */

static npu_status emit_segments(npu_program *p)
{
	const struct emit_env env = {
		.chip = npu_device_chip(p->dev),
		.weights = p->weights,
		.kv = p->kv,
		.io_offset = p->io_offset,
		.carrier_offset = CARRIER_AT,
		.save_offset = row_bytes(p),
	};
	struct program_segment *seg;
	struct emit_sizes sizes;
	struct stream stream;
	npu_status status;
	uint32_t i;

	p->scratch_bytes = env.save_offset;

	for (i = 0; i < p->placement.n_segments; i++) {
		seg = &p->segments[i];
		if (!p->placement.segments[i].on_npu)
			continue;
		status = npu_emit(&seg->plan, &env, &stream, &sizes);
		if (status)
			return status;
		seg->weight_bytes = sizes.weight_bytes;
		/* Segments run one after the other. */
		if (env.save_offset + sizes.save_bytes > p->scratch_bytes)
			p->scratch_bytes = env.save_offset + sizes.save_bytes;
		/* The commands outlive the rest of the stream. */
		seg->cmds = stream.cmds;
		seg->n_cmds = stream.n;
		stream.cmds = NULL;
		stream_fini(&stream);
		seg->stream_offset = p->stream_bytes;
		p->stream_bytes += (uint64_t)seg->n_cmds * NE1_CMD_SIZE;
		if (npu_dump_wanted(p->dump, "stream")) {
			fprintf(stderr, "stream of segment %u: %u commands\n", i, seg->n_cmds);
			npu_program_dump(p, i, stderr);
		}
	}
	return NPU_OK;
}

static npu_status make_scratch(npu_program *p)
{
	void *map;

	if (!p->scratch_bytes)
		return NPU_OK;
	return npu_bo_new_bound(p->dev, p->scratch_bytes, 0, &p->scratch, &map);
}

static npu_status upload_streams(npu_program *p)
{
	npu_status status;
	uint32_t i;
	void *map;

	status = npu_bo_new_bound(p->dev, p->stream_bytes, NPU_BIND_READONLY, &p->streams, &map);
	if (status)
		return status;
	for (i = 0; i < p->placement.n_segments; i++)
		if (p->segments[i].cmds)
			memcpy((uint8_t *)map + p->segments[i].stream_offset, p->segments[i].cmds,
			       (size_t)p->segments[i].n_cmds * NE1_CMD_SIZE);
	npu_bo_unmap(p->streams);
	return NPU_OK;
}

static void set_bases(npu_program *p)
{
	struct ne1_params *params = (struct ne1_params *)(p->io_map + PARAMS_AT);

	memset(params, 0, sizeof(*params));
	params->base[BASE_WEIGHTS] = npu_bo_va(p->weights->bo);
	params->base[BASE_CONST] = npu_bo_va(p->weights->bo);
	params->base[BASE_KV] = npu_bo_va(p->kv->bo);
	params->base[BASE_IO] = npu_bo_va(p->io);
	params->base[BASE_SCRATCH] = p->scratch ? npu_bo_va(p->scratch) : 0;
}

/* ---- life -------------------------------------------------------------------------------- */

static npu_status build(npu_program *p, uint64_t cpu_ops)
{
	npu_status status;

	if (npu_dump_wanted(p->dump, "graph"))
		npu_graph_dump(p->g, stderr);
	status = npu_place(npu_device_chip(p->dev), p->g, cpu_ops, &p->placement);
	if (status)
		return status;
	if (npu_dump_wanted(p->dump, "partition"))
		npu_placement_dump(&p->placement, p->g, stderr);
	p->segments = calloc(p->placement.n_segments + 1, sizeof(*p->segments));
	if (!p->segments)
		return npu_fail(NPU_ERR_NOMEM, "program: no memory for %u segments",
				p->placement.n_segments);
	status = plan_segments(p);
	if (!status)
		status = make_io(p);
	if (!status)
		status = emit_segments(p);
	if (!status)
		status = make_scratch(p);
	if (!status)
		status = upload_streams(p);
	if (!status)
		set_bases(p);
	return status;
}

npu_status npu_program_new(npu_device *dev, npu_weights *w, npu_kv *kv, const npu_graph *g,
			   const struct npu_compile_options *opt, npu_program **out)
{
	struct npu_compile_options o = { 0 };
	npu_status status;
	npu_program *p;

	if (!dev || !w || !kv || !g || !out || w->dev != dev || kv->dev != dev)
		return npu_fail(NPU_ERR_INVALID, "npu_program_new: device, weights, cache, graph "
						 "and place must be given and fit");
	*out = NULL;
	if (opt && opt->struct_size != sizeof(o))
		return npu_fail(NPU_ERR_INVALID,
				"program: options of %u bytes, this library's have %zu",
				opt->struct_size, sizeof(o));
	if (opt)
		o = *opt;
	p = calloc(1, sizeof(*p));
	if (!p)
		return npu_fail(NPU_ERR_NOMEM, "program: no memory");
	p->dev = dev;
	p->weights = w;
	p->kv = kv;
	p->g = g;
	p->dump = o.dump ? o.dump : getenv("NPU_DUMP");
	p->timeout_ns = o.timeout_ns ? o.timeout_ns : DEFAULT_TIMEOUT_NS;
	npu_dump_check(p->dump);
	status = build(p, o.cpu_ops);
	p->dump = NULL;
	if (status) {
		npu_program_del(p);
		return status;
	}
	*out = p;
	return NPU_OK;
}

void npu_program_del(npu_program *p)
{
	uint32_t i;

	if (!p)
		return;
	npu_queue_del(p->queue);
	for (i = 0; p->segments && i < p->placement.n_segments; i++) {
		npu_plan_fini(&p->segments[i].plan);
		free(p->segments[i].cmds);
	}
	npu_bo_del(p->streams);
	npu_bo_del(p->scratch);
	npu_bo_del(p->io);
	npu_placement_fini(&p->placement);
	free(p->segments);
	free(p->io_offset);
	free(p);
}

/* ---- questions --------------------------------------------------------------------------- */

uint32_t npu_program_n_segments(const npu_program *p)
{
	return p->placement.n_segments;
}

const struct npu_segment *npu_program_segment(const npu_program *p, uint32_t i)
{
	return i < p->placement.n_segments ? &p->placement.segments[i] : NULL;
}

const struct npu_op_placement *npu_program_placement(const npu_program *p, uint32_t op)
{
	return op < npu_graph_n_ops(p->g) ? &p->placement.ops[op] : NULL;
}

void *npu_program_tensor(const npu_program *p, uint32_t tensor, size_t *bytes)
{
	if (tensor >= npu_graph_n_tensors(p->g) || !p->io_offset[tensor])
		return NULL;
	if (bytes)
		*bytes = npu_graph_tensor(p->g, tensor)->bytes;
	return p->io_map + p->io_offset[tensor];
}

npu_status npu_program_info(const npu_program *p, struct npu_program_info *out)
{
	const struct program_segment *seg;
	uint32_t i;

	if (!p || !out)
		return npu_fail(NPU_ERR_INVALID, "npu_program_info: no program or no place");
	memset(out, 0, sizeof(*out));
	out->stream_bytes = npu_bo_size(p->streams);
	out->io_bytes = npu_bo_size(p->io);
	out->scratch_bytes = p->scratch ? npu_bo_size(p->scratch) : 0;
	out->sram_bytes = npu_device_chip(p->dev)->sram_bytes;
	for (i = 0; i < p->placement.n_segments; i++) {
		seg = &p->segments[i];
		out->n_commands += seg->n_cmds;
		out->weight_bytes += seg->weight_bytes;
		if (!seg->cmds || seg->plan.peak < out->sram_acts)
			continue;
		out->sram_acts = seg->plan.peak;
		out->ring_slots = seg->plan.ring_slots;
		out->sram_ring = seg->plan.ring_slots * seg->plan.tune.slot;
	}
	return NPU_OK;
}

/* ---- running ----------------------------------------------------------------------------- */

static npu_status check_run(const npu_program *p, uint32_t segment, uint32_t pos, uint32_t n_valid)
{
	uint32_t m = npu_graph_n_tokens(p->g);

	if (segment >= p->placement.n_segments || !p->placement.segments[segment].on_npu)
		return npu_fail(NPU_ERR_INVALID, "program: segment %u is not one of the NPU",
				segment);
	if (!n_valid || n_valid > m)
		return npu_fail(NPU_ERR_LIMIT, "program: %u tokens, must be 1..%u", n_valid, m);
	if (pos > p->kv->n_ctx || n_valid > p->kv->n_ctx - pos)
		return npu_fail(NPU_ERR_LIMIT, "program: positions %u..%llu, the context has %u",
				pos, (unsigned long long)pos + n_valid - 1, p->kv->n_ctx);
	return NPU_OK;
}

static npu_status submit(npu_program *p, const struct program_segment *seg, npu_fence **fence)
{
	struct npu_job job = {
		.stream_va = npu_bo_va(p->streams) + seg->stream_offset,
		.stream_size = seg->n_cmds * NE1_CMD_SIZE,
		.params_va = npu_bo_va(p->io) + PARAMS_AT,
		.profile_va = npu_bo_va(p->io) + PROFILE_AT,
		/* Each tensor in memory has a place of its own and is written once; rows of the KV
		 * cache that a step writes, it reads only after that.
		 */
		.rerun = 1,
	};
	npu_status status;
	npu_vm *vm;

	if (!p->queue) {
		status = npu_device_vm(p->dev, &vm);
		if (!status)
			status = npu_queue_new(vm, &p->queue);
		if (status)
			return status;
	}
	return npu_queue_submit(p->queue, &job, fence);
}

static void read_profile(const npu_program *p, struct npu_run_stats *stats)
{
	const struct ne1_profile *pr = (const struct ne1_profile *)(p->io_map + PROFILE_AT);

	*stats = (struct npu_run_stats){
		.device_ns = pr->end_ns - pr->start_ns,
		.cycles = pr->cycles,
		.ld_busy = pr->ld_busy,
		.st_busy = pr->st_busy,
		.mx_busy = pr->mx_busy,
		.vx_busy = pr->vx_busy,
		.dram_rd_bytes = pr->dram_rd_bytes,
		.dram_wr_bytes = pr->dram_wr_bytes,
		.macs = pr->macs,
		.commands = pr->commands,
		.skipped = pr->skipped,
		.energy_nj = pr->energy_nj,
		.temp_die_mc = pr->temp_die_mc,
		.freq_khz = pr->freq_khz,
	};
}

npu_status npu_program_run(npu_program *p, uint32_t segment, uint32_t pos, uint32_t n_valid,
			   struct npu_run_stats *stats)
{
	struct ne1_params *params;
	npu_status status;
	npu_fence *fence;

	status = check_run(p, segment, pos, n_valid);
	if (status)
		return status;
	params = (struct ne1_params *)(p->io_map + PARAMS_AT);
	params->value[VALUE_POS] = pos;
	params->value[VALUE_N_VALID] = n_valid;
	params->value[VALUE_KV_LEN] = pos + n_valid;
	params->value[VALUE_LAST_ROW] = n_valid - 1;
	status = submit(p, &p->segments[segment], &fence);
	if (!status) {
		status = npu_fence_wait(fence, p->timeout_ns);
		npu_fence_del(fence);
	}
	if (status) {
		/* Also ends a job that is still running. */
		npu_queue_del(p->queue);
		p->queue = NULL;
		return status;
	}
	if (stats)
		read_profile(p, stats);
	return NPU_OK;
}

void npu_program_dump(const npu_program *p, uint32_t segment, FILE *f)
{
	if (segment < p->placement.n_segments && p->segments[segment].cmds)
		npu_disassemble(p->segments[segment].cmds, p->segments[segment].n_cmds, f);
}
