// SPDX-License-Identifier: MIT
/* Command streams as text. */
#include "compile/emit.h"
#include "compile/program.h"

static const char *const type_names[] = { "f32", "f16", "i8", "u4m" };

static const char *type_name(unsigned int type)
{
	return type < 4 ? type_names[type] : "?";
}

static const char *opcode_name(unsigned int opcode)
{
	switch (opcode) {
	case NE1_OP_END: return "end";
	case NE1_OP_NOP: return "nop";
	case NE1_OP_SKIP: return "skip";
	case NE1_OP_YIELD: return "yield";
	case NE1_OP_MARK: return "mark";
	case NE1_OP_LD: return "ld";
	case NE1_OP_LD_GATHER: return "ld_gather";
	case NE1_OP_ST: return "st";
	case NE1_OP_MM: return "mm";
	case NE1_OP_RMSNORM: return "rmsnorm";
	case NE1_OP_ROPE: return "rope";
	case NE1_OP_SWIGLU: return "swiglu";
	case NE1_OP_ADD: return "add";
	case NE1_OP_MUL: return "mul";
	case NE1_OP_SCALE: return "scale";
	case NE1_OP_CAST: return "cast";
	case NE1_OP_DIV_ROW: return "div_row";
	case NE1_OP_SOFTMAX: return "softmax";
	case NE1_OP_SILU: return "silu";
	}
	return "?";
}

/* What a program of ours has in base[] and value[]. */
static const char *base_name(unsigned int i)
{
	static const char *const names[] = {
		[BASE_WEIGHTS] = "weights", [BASE_KV] = "kv", [BASE_IO] = "io",
		[BASE_CONST] = "const", [BASE_SCRATCH] = "scratch",
	};

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : "?";
}

static const char *value_name(unsigned int i)
{
	static const char *const names[] = {
		[VALUE_POS] = "pos", [VALUE_N_VALID] = "n_valid", [VALUE_KV_LEN] = "kv_len",
		[VALUE_LAST_ROW] = "last_row",
	};

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : "?";
}

static void print_sems(const struct ne1_cmd_hdr *h, FILE *f)
{
	int i;

	for (i = 0; i < 2; i++)
		if (h->wait[i] != NE1_NO_SEM)
			fprintf(f, " wait s%u", h->wait[i]);
	for (i = 0; i < 2; i++)
		if (h->signal[i] != NE1_NO_SEM)
			fprintf(f, " signal s%u", h->signal[i]);
}

static void print_dma(const struct ne1_cmd_dma *c, FILE *f)
{
	fprintf(f, " 0x%05x+%u %s %s+0x%llx", c->sram, c->sram_stride,
		c->hdr.opcode == NE1_OP_ST ? "->" : "<-", base_name(c->base),
		(unsigned long long)c->offset);
	if (c->dyn != NE1_NO_PARAM)
		fprintf(f, "+%s*%u", value_name(c->dyn), c->dyn_scale);
	fprintf(f, " %u x %u stride %llu", c->rows, c->row_bytes,
		(unsigned long long)c->dram_stride);
	if (c->clip != NE1_NO_PARAM)
		fprintf(f, " clip %s-%d", value_name(c->clip), c->clip_bias);
}

static void print_mm(const struct ne1_cmd_mm *c, FILE *f)
{
	fprintf(f, "%s%s c %s 0x%05x+%u = a %s 0x%05x+%u * b %s 0x%05x+%u, m %u k %u n %u",
		c->hdr.flags & NE1_MM_ACC ? ".acc" : "", c->hdr.flags & NE1_MM_B_NK ? ".nk" : "",
		type_name(c->ctype), c->c, c->c_stride, type_name(c->atype), c->a, c->a_stride,
		type_name(c->btype), c->b, c->b_stride, c->m, c->k, c->n);
}

static void print_softmax(const struct ne1_cmd_softmax *c, FILE *f)
{
	fprintf(f, "%s s 0x%05x p 0x%05x o 0x%05x state 0x%05x, rows %u (%u per token) tile %u+%u",
		c->hdr.flags & NE1_SOFTMAX_FIRST ? ".first" : "", c->s, c->p, c->o, c->state,
		c->rows, c->rows_per_token, c->tile_start, c->cols);
	if (c->window)
		fprintf(f, " window %u", c->window);
	fprintf(f, " * %g", (double)c->f0);
}

static void print_vx(const struct ne1_cmd_vx *c, FILE *f)
{
	fprintf(f, " %s 0x%05x = %s 0x%05x", type_name(c->otype), c->out, type_name(c->xtype),
		c->x);
	if (c->y || c->y_si || c->y_so)
		fprintf(f, ", %s 0x%05x", type_name(c->ytype), c->y);
	fprintf(f, ", %ux%u rows of %u", c->outer, c->inner, c->cols);
}

static void print_cmd(const union ne1_cmd *c, FILE *f)
{
	fprintf(f, "%s", opcode_name(c->hdr.opcode));
	switch (c->hdr.opcode) {
	case NE1_OP_SKIP:
		fprintf(f, " %u if %s <= %u", c->skip.count, value_name(c->skip.param),
			c->skip.limit);
		break;
	case NE1_OP_YIELD:
		if (c->yield.count)
			fprintf(f, ", or %u to go on", c->yield.count);
		break;
	case NE1_OP_LD:
	case NE1_OP_ST:
		print_dma(&c->dma, f);
		break;
	case NE1_OP_MM:
		print_mm(&c->mm, f);
		break;
	case NE1_OP_SOFTMAX:
		print_softmax(&c->softmax, f);
		break;
	case NE1_OP_RMSNORM ... NE1_OP_DIV_ROW:
	case NE1_OP_SILU:
		print_vx(&c->vx, f);
		break;
	}
	print_sems(&c->hdr, f);
}

void npu_disassemble(const union ne1_cmd *cmds, uint32_t n, FILE *f)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		fprintf(f, "%6u ", i);
		print_cmd(&cmds[i], f);
		fputc('\n', f);
	}
}
