// SPDX-License-Identifier: MIT
/*
 * Compressed instructions are expanded to the 32-bit one that they stand for and decoded as such,
 * so there is one decoder.  Reserved encodings are illegal, HINTs do nothing because their rd is
 * x0.
 */
#include "rv32_decode.h"

#define OP_LOAD		0x03
#define OP_MISC_MEM	0x0f
#define OP_IMM		0x13
#define OP_AUIPC	0x17
#define OP_STORE	0x23
#define OP_OP		0x33
#define OP_LUI		0x37
#define OP_BRANCH	0x63
#define OP_JALR		0x67
#define OP_JAL		0x6f
#define OP_SYSTEM	0x73

#define INSN_ECALL	0x00000073u
#define INSN_EBREAK	0x00100073u
#define INSN_MRET	0x30200073u
#define INSN_WFI	0x10500073u

/* Bits @hi..@lo of @v, at bit @to. */
static uint32_t bits(uint32_t v, unsigned int hi, unsigned int lo, unsigned int to)
{
	return (v >> lo & ((2u << (hi - lo)) - 1)) << to;
}

static int32_t sign_extend(uint32_t v, unsigned int width)
{
	return (int32_t)(v << (32 - width)) >> (32 - width);
}

/* ---- Encoders of the 32-bit formats, for expansion ---- */

static uint32_t enc_r(uint32_t op, uint32_t f3, uint32_t f7, uint32_t rd, uint32_t rs1,
		      uint32_t rs2)
{
	return op | rd << 7 | f3 << 12 | rs1 << 15 | rs2 << 20 | f7 << 25;
}

static uint32_t enc_i(uint32_t op, uint32_t f3, uint32_t rd, uint32_t rs1, int32_t imm)
{
	return op | rd << 7 | f3 << 12 | rs1 << 15 | (uint32_t)imm << 20;
}

static uint32_t enc_sw(uint32_t rs1, uint32_t rs2, uint32_t imm)
{
	return OP_STORE | bits(imm, 4, 0, 7) | 2u << 12 | rs1 << 15 | rs2 << 20 |
	       bits(imm, 11, 5, 25);
}

static uint32_t enc_branch(uint32_t f3, uint32_t rs1, int32_t imm)
{
	uint32_t v = imm;

	return OP_BRANCH | bits(v, 11, 11, 7) | bits(v, 4, 1, 8) | f3 << 12 | rs1 << 15 |
	       bits(v, 10, 5, 25) | bits(v, 12, 12, 31);
}

static uint32_t enc_jal(uint32_t rd, int32_t imm)
{
	uint32_t v = imm;

	return OP_JAL | rd << 7 | bits(v, 19, 12, 12) | bits(v, 11, 11, 20) | bits(v, 10, 1, 21) |
	       bits(v, 20, 20, 31);
}

/* ---- Compressed, by quadrant; 0 is illegal ---- */

static uint32_t expand_q0(uint32_t c)
{
	uint32_t rd = bits(c, 4, 2, 0) + 8, rs1 = bits(c, 9, 7, 0) + 8;
	uint32_t word = bits(c, 12, 10, 3) | bits(c, 6, 6, 2) | bits(c, 5, 5, 6);
	uint32_t spn = bits(c, 12, 11, 4) | bits(c, 10, 7, 6) | bits(c, 6, 6, 2) | bits(c, 5, 5, 3);

	switch (c >> 13) {
	case 0:		/* c.addi4spn */
		return spn ? enc_i(OP_IMM, 0, rd, 2, spn) : 0;
	case 2:		/* c.lw */
		return enc_i(OP_LOAD, 2, rd, rs1, word);
	case 6:		/* c.sw */
		return enc_sw(rs1, rd, word);
	default:
		return 0;
	}
}

static uint32_t expand_arith(uint32_t c, int32_t imm)
{
	static const uint8_t f3[] = { 0, 4, 6, 7 };	/* sub, xor, or, and */
	uint32_t rd = bits(c, 9, 7, 0) + 8, rs2 = bits(c, 4, 2, 0) + 8, which = bits(c, 6, 5, 0);

	switch (bits(c, 11, 10, 0)) {
	case 0:		/* c.srli, shamt[5] is reserved */
		return c & 1u << 12 ? 0 : enc_i(OP_IMM, 5, rd, rd, imm & 31);
	case 1:		/* c.srai */
		return c & 1u << 12 ? 0 : enc_i(OP_IMM, 5, rd, rd, (imm & 31) | 0x400);
	case 2:		/* c.andi */
		return enc_i(OP_IMM, 7, rd, rd, imm);
	default:
		return c & 1u << 12 ? 0 : enc_r(OP_OP, f3[which], which ? 0 : 0x20, rd, rd, rs2);
	}
}

static uint32_t expand_lui(uint32_t c, uint32_t rd, int32_t imm)
{
	uint32_t sp = bits(c, 12, 12, 9) | bits(c, 6, 6, 4) | bits(c, 5, 5, 6) | bits(c, 4, 3, 7) |
		      bits(c, 2, 2, 5);

	if (!imm)
		return 0;
	if (rd == 2)	/* c.addi16sp */
		return enc_i(OP_IMM, 0, 2, 2, sign_extend(sp, 10));
	return OP_LUI | rd << 7 | (uint32_t)imm << 12;
}

static uint32_t expand_q1(uint32_t c)
{
	uint32_t rd = bits(c, 11, 7, 0), rs1 = bits(c, 9, 7, 0) + 8;
	int32_t imm = sign_extend(bits(c, 12, 12, 5) | bits(c, 6, 2, 0), 6);
	uint32_t jump = bits(c, 12, 12, 11) | bits(c, 11, 11, 4) | bits(c, 10, 9, 8) |
			bits(c, 8, 8, 10) | bits(c, 7, 7, 6) | bits(c, 6, 6, 7) | bits(c, 5, 3, 1) |
			bits(c, 2, 2, 5);
	uint32_t branch = bits(c, 12, 12, 8) | bits(c, 11, 10, 3) | bits(c, 6, 5, 6) |
			  bits(c, 4, 3, 1) | bits(c, 2, 2, 5);

	switch (c >> 13) {
	case 0:		/* c.addi */
		return enc_i(OP_IMM, 0, rd, rd, imm);
	case 1:		/* c.jal */
		return enc_jal(1, sign_extend(jump, 12));
	case 2:		/* c.li */
		return enc_i(OP_IMM, 0, rd, 0, imm);
	case 3:
		return expand_lui(c, rd, imm);
	case 4:
		return expand_arith(c, imm);
	case 5:		/* c.j */
		return enc_jal(0, sign_extend(jump, 12));
	case 6:		/* c.beqz */
		return enc_branch(0, rs1, sign_extend(branch, 9));
	default:	/* c.bnez */
		return enc_branch(1, rs1, sign_extend(branch, 9));
	}
}

static uint32_t expand_jump(uint32_t c, uint32_t rd, uint32_t rs2)
{
	if (!(c & 1u << 12)) {
		if (rs2)	/* c.mv */
			return enc_r(OP_OP, 0, 0, rd, 0, rs2);
		return rd ? enc_i(OP_JALR, 0, 0, rd, 0) : 0;	/* c.jr */
	}
	if (rs2)		/* c.add */
		return enc_r(OP_OP, 0, 0, rd, rd, rs2);
	return rd ? enc_i(OP_JALR, 0, 1, rd, 0) : INSN_EBREAK;	/* c.jalr */
}

static uint32_t expand_q2(uint32_t c)
{
	uint32_t rd = bits(c, 11, 7, 0), rs2 = bits(c, 6, 2, 0), word;

	switch (c >> 13) {
	case 0:		/* c.slli */
		return c & 1u << 12 ? 0 : enc_i(OP_IMM, 1, rd, rd, rs2);
	case 2:		/* c.lwsp */
		word = bits(c, 12, 12, 5) | bits(c, 6, 4, 2) | bits(c, 3, 2, 6);
		return rd ? enc_i(OP_LOAD, 2, rd, 2, word) : 0;
	case 4:
		return expand_jump(c, rd, rs2);
	case 6:		/* c.swsp */
		return enc_sw(2, rs2, bits(c, 12, 9, 2) | bits(c, 8, 7, 6));
	default:
		return 0;
	}
}

static uint32_t expand(uint32_t c)
{
	switch (c & 3) {
	case 0:
		return expand_q0(c);
	case 1:
		return expand_q1(c);
	default:
		return expand_q2(c);
	}
}

/* ---- 32-bit ---- */

static void decode_op(uint32_t v, struct rv32_insn *i)
{
	uint32_t f7 = v >> 25, f3 = bits(v, 14, 12, 0);

	i->kind = RV32_K_ALU;
	i->op = f3;
	if (f7 == 1)
		i->op = RV32_MUL + f3;
	else if (f7 == 0x20 && f3 == 0)
		i->op = RV32_SUB;
	else if (f7 == 0x20 && f3 == 5)
		i->op = RV32_SRA;
	else if (f7)
		i->kind = RV32_K_ILLEGAL;
}

static void decode_op_imm(uint32_t v, struct rv32_insn *i)
{
	uint32_t f7 = v >> 25, f3 = bits(v, 14, 12, 0);

	i->kind = RV32_K_ALU_IMM;
	i->op = f3;
	i->imm = (int32_t)v >> 20;
	if (f3 != 1 && f3 != 5)
		return;
	i->imm &= 31;
	if (f3 == 5 && f7 == 0x20)
		i->op = RV32_SRA;
	else if (f7)
		i->kind = RV32_K_ILLEGAL;
}

static void decode_system(uint32_t v, struct rv32_insn *i)
{
	switch (v) {
	case INSN_ECALL:
		i->kind = RV32_K_ECALL;
		return;
	case INSN_EBREAK:
		i->kind = RV32_K_EBREAK;
		return;
	case INSN_MRET:
		i->kind = RV32_K_MRET;
		return;
	case INSN_WFI:
		i->kind = RV32_K_WFI;
		return;
	}
	if (i->op % 4 == 0)	/* funct3 0 and 4 are no CSR instructions */
		return;
	i->kind = RV32_K_CSR;
	i->imm = v >> 20;
}

static void decode_memory(uint32_t v, struct rv32_insn *i)
{
	if (bits(v, 6, 0, 0) == OP_STORE) {
		i->imm = sign_extend(bits(v, 31, 25, 5) | bits(v, 11, 7, 0), 12);
		i->kind = i->op <= 2 ? RV32_K_STORE : RV32_K_ILLEGAL;
		return;
	}
	i->imm = (int32_t)v >> 20;
	i->kind = i->op <= 2 || i->op == 4 || i->op == 5 ? RV32_K_LOAD : RV32_K_ILLEGAL;
}

static void decode_jump(uint32_t v, struct rv32_insn *i)
{
	uint32_t imm;

	switch (bits(v, 6, 0, 0)) {
	case OP_JAL:
		i->kind = RV32_K_JAL;
		imm = bits(v, 31, 31, 20) | bits(v, 19, 12, 12) | bits(v, 20, 20, 11) |
		      bits(v, 30, 21, 1);
		i->imm = sign_extend(imm, 21);
		return;
	case OP_JALR:
		i->imm = (int32_t)v >> 20;
		i->kind = i->op == 0 ? RV32_K_JALR : RV32_K_ILLEGAL;
		return;
	default:
		i->imm = sign_extend(bits(v, 31, 31, 12) | bits(v, 7, 7, 11) | bits(v, 30, 25, 5) |
				     bits(v, 11, 8, 1), 13);
		i->kind = i->op == 2 || i->op == 3 ? RV32_K_ILLEGAL : RV32_K_BRANCH;
	}
}

static void decode_full(uint32_t v, struct rv32_insn *i)
{
	switch (bits(v, 6, 0, 0)) {
	case OP_LOAD:
	case OP_STORE:
		decode_memory(v, i);
		return;
	case OP_JAL:
	case OP_JALR:
	case OP_BRANCH:
		decode_jump(v, i);
		return;
	case OP_OP:
		decode_op(v, i);
		return;
	case OP_IMM:
		decode_op_imm(v, i);
		return;
	case OP_LUI:
	case OP_AUIPC:
		i->kind = bits(v, 6, 0, 0) == OP_LUI ? RV32_K_LUI : RV32_K_AUIPC;
		i->imm = v & 0xfffff000u;
		return;
	case OP_MISC_MEM:	/* fence, fence.i */
		i->kind = i->op <= 1 ? RV32_K_FENCE : RV32_K_ILLEGAL;
		return;
	case OP_SYSTEM:
		decode_system(v, i);
		return;
	}
}

struct rv32_insn rv32_decode(uint32_t v)
{
	struct rv32_insn i = { .kind = RV32_K_ILLEGAL, .len = 4 };
	uint32_t full = v;

	if ((v & 3) != 3) {
		i.len = 2;
		v &= 0xffff;
		full = expand(v);
	}
	i.op = bits(full, 14, 12, 0);
	i.rd = bits(full, 11, 7, 0);
	i.rs1 = bits(full, 19, 15, 0);
	i.rs2 = bits(full, 24, 20, 0);
	if (full)
		decode_full(full, &i);
	if (!i.rd)
		i.rd = RV32_RD_NONE;
	if (i.kind == RV32_K_ILLEGAL)
		i.imm = (int32_t)v;	/* for mtval */
	return i;
}
