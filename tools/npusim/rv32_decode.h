/* SPDX-License-Identifier: MIT */
/* Decoded RV32IMC instructions. */
#ifndef NPUSIM_RV32_DECODE_H
#define NPUSIM_RV32_DECODE_H

#include <stdint.h>

enum rv32_kind {
	RV32_K_NONE,		/* slot of the cache not filled */
	RV32_K_ILLEGAL,
	RV32_K_ALU,		/* x[rd] = op(x[rs1], x[rs2]) */
	RV32_K_ALU_IMM,		/* x[rd] = op(x[rs1], imm) */
	RV32_K_LUI,
	RV32_K_AUIPC,
	RV32_K_LOAD,
	RV32_K_STORE,
	RV32_K_BRANCH,
	RV32_K_JAL,
	RV32_K_JALR,
	RV32_K_FENCE,
	RV32_K_ECALL,
	RV32_K_EBREAK,
	RV32_K_MRET,
	RV32_K_WFI,
	RV32_K_CSR,		/* op: funct3, imm: CSR number, rs1: register or immediate */
};

enum rv32_alu {
	RV32_ADD, RV32_SLL, RV32_SLT, RV32_SLTU, RV32_XOR, RV32_SRL, RV32_OR, RV32_AND,
	RV32_MUL, RV32_MULH, RV32_MULHSU, RV32_MULHU, RV32_DIV, RV32_DIVU, RV32_REM, RV32_REMU,
	RV32_SUB, RV32_SRA,
};

#define RV32_RD_NONE	32	/* writes to x0 go to a register nobody reads */

struct rv32_insn {
	uint8_t kind;		/* enum rv32_kind */
	uint8_t op;		/* ALU: enum rv32_alu; else funct3 */
	uint8_t len;		/* 2 or 4 bytes */
	uint8_t rd, rs1, rs2;
	int32_t imm;
};

/* @bits: the instruction, of which 16 are used when the low two are not 11. */
struct rv32_insn rv32_decode(uint32_t bits);

#endif
