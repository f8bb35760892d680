// SPDX-License-Identifier: MIT
#include "placement.h"

#include <stdio.h>
#include <string.h>

#include "error.h"

static struct npu_placement *entry_for(struct placement *p, const char *op, const char *reason)
{
	for (size_t i = 0; i < p->count; i++) {
		struct npu_placement *e = &p->entry[i];

		if (!strcmp(e->op, op) && (!e->reason || !reason || !strcmp(e->reason, reason)))
			return e;
	}
	if (p->count == PLACEMENT_MAX)
		return &p->entry[PLACEMENT_MAX - 1];
	p->entry[p->count] = (struct npu_placement) { .op = op };
	return &p->entry[p->count++];
}

void placement_collect(struct placement *p, const struct runner *r)
{
	static const struct npu_op_placement on_cpu = { .planned = 1,
							.reason = "the device is the CPU" };

	memset(p, 0, sizeof(*p));
	for (uint32_t i = 0; i < npu_graph_n_ops(r->g); i++) {
		const struct npu_op_placement *where = &on_cpu;
		struct npu_placement *e;

		if (r->program)
			where = npu_program_placement(r->program, i);
		e = entry_for(p, npu_op_name(npu_graph_op(r->g, i)->kind),
			      where->on_npu ? NULL : where->reason);
		if (where->on_npu) {
			e->n_npu++;
			p->n_npu++;
			continue;
		}
		e->n_cpu++;
		e->reason = where->reason;
		p->n_cpu++;
	}
}

void placement_log(const struct placement *p, const char *device, uint32_t n_jobs)
{
	char why[512] = "";
	size_t len = 0;

	for (size_t i = 0; p->n_npu && i < p->count && len < sizeof(why); i++)
		if (p->entry[i].n_cpu)
			len += snprintf(why + len, sizeof(why) - len, "%s%u %s: %s",
					len ? "; " : " (", p->entry[i].n_cpu, p->entry[i].op,
					p->entry[i].reason);
	npu_log(NPU_LOG_INFO, "%s: %u ops of a token on the NPU in %u job%s, %u on the CPU%s%s",
		device, p->n_npu, n_jobs, n_jobs == 1 ? "" : "s", p->n_cpu, why, len ? ")" : "");
}
