// SPDX-License-Identifier: MIT
#include "rv32.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "rv32_decode.h"

#define SLOTS		(NE1_MC_TCM_SIZE / 2)	/* an instruction may start at every halfword */

#define MSTATUS_MIE	(1u << 3)
#define MSTATUS_MPIE	(1u << 7)
#define MSTATUS_MPP	(3u << 11)	/* machine mode only: reads as ones */
#define MIP_MEIP	(1u << 11)
#define MISA		0x40001104u	/* RV32, C, I, M */

struct rv32 {
	uint32_t x[RV32_RD_NONE + 1];
	uint32_t pc;
	uint32_t mstatus, mie, mtvec, mepc, mcause, mtval, mscratch;
	uint64_t cycles, retired;
	bool irq;		/* external interrupt level */
	bool in_trap;		/* since a trap was taken, until mepc is read or mret */
	bool halted;		/* double fault */
	bool yield;
	atomic_uint fence;
	struct rv32_bus bus;
	uint8_t *tcm;
	struct rv32_insn *cache;
};

struct rv32 *rv32_new(const struct rv32_bus *bus)
{
	struct rv32 *cpu = calloc(1, sizeof(*cpu));

	if (!cpu)
		return NULL;
	cpu->bus = *bus;
	cpu->tcm = calloc(1, NE1_MC_TCM_SIZE);
	cpu->cache = calloc(SLOTS, sizeof(*cpu->cache));
	if (!cpu->tcm || !cpu->cache) {
		rv32_free(cpu);
		return NULL;
	}
	return cpu;
}

void rv32_free(struct rv32 *cpu)
{
	if (!cpu)
		return;
	free(cpu->tcm);
	free(cpu->cache);
	free(cpu);
}

void rv32_reset(struct rv32 *cpu, uint32_t load_addr, const void *image, uint32_t size,
		uint32_t entry)
{
	memset(cpu->x, 0, sizeof(cpu->x));
	cpu->mstatus = MSTATUS_MPP;
	cpu->mie = cpu->mtvec = cpu->mepc = cpu->mcause = cpu->mtval = cpu->mscratch = 0;
	cpu->cycles = cpu->retired = 0;
	cpu->irq = cpu->in_trap = cpu->halted = cpu->yield = false;
	cpu->pc = entry;
	memset(cpu->tcm, 0, NE1_MC_TCM_SIZE);
	memset(cpu->cache, 0, SLOTS * sizeof(*cpu->cache));
	if (size)
		memcpy(cpu->tcm + (load_addr - NE1_MC_TCM), image, size);
}

void rv32_yield(struct rv32 *cpu)
{
	cpu->yield = true;
}

void rv32_jump(struct rv32 *cpu, uint32_t pc, bool unhandled)
{
	cpu->pc = pc;
	cpu->in_trap = false;
	if (unhandled)
		cpu->mtvec = 0;
}

uint32_t rv32_pc(const struct rv32 *cpu)
{
	return cpu->pc;
}

uint32_t rv32_reg(const struct rv32 *cpu, unsigned int index)
{
	return index && index < 32 ? cpu->x[index] : 0;
}

uint64_t rv32_retired(const struct rv32 *cpu)
{
	return cpu->retired;
}

const uint8_t *rv32_tcm(const struct rv32 *cpu)
{
	return cpu->tcm;
}

/* ---- Traps ---- */

/* @pc: of the instruction that trapped, or the one an interrupt goes before. */
static void trap(struct rv32 *cpu, uint32_t cause, uint32_t pc, uint32_t tval)
{
	if (!cpu->mtvec || cpu->in_trap) {
		cpu->halted = true;
		cpu->pc = pc;
		return;
	}
	cpu->in_trap = true;
	cpu->mepc = pc;
	cpu->mcause = cause;
	cpu->mtval = tval;
	cpu->mstatus = MSTATUS_MPP | (cpu->mstatus & MSTATUS_MIE ? MSTATUS_MPIE : 0);
	cpu->pc = cpu->mtvec;
}

static void mret(struct rv32 *cpu)
{
	cpu->in_trap = false;
	cpu->mstatus = MSTATUS_MPP | MSTATUS_MPIE | (cpu->mstatus & MSTATUS_MPIE ? MSTATUS_MIE : 0);
	cpu->pc = cpu->mepc;
}

static bool irq_taken(const struct rv32 *cpu)
{
	return cpu->irq && cpu->mie & MIP_MEIP && cpu->mstatus & MSTATUS_MIE;
}

/* ---- CSRs ---- */

#define CSR_READ_ONLY(n)	((n) >> 10 == 3)

static bool csr_read(struct rv32 *cpu, uint32_t csr, uint32_t *value)
{
	switch (csr) {
	case 0x300: *value = cpu->mstatus; return true;
	case 0x301: *value = MISA; return true;
	case 0x304: *value = cpu->mie; return true;
	case 0x305: *value = cpu->mtvec; return true;
	case 0x340: *value = cpu->mscratch; return true;
	case 0x341:
		cpu->in_trap = false;
		*value = cpu->mepc;
		return true;
	case 0x342: *value = cpu->mcause; return true;
	case 0x343: *value = cpu->mtval; return true;
	case 0x344: *value = cpu->irq ? MIP_MEIP : 0; return true;
	case 0xb00: *value = (uint32_t)cpu->cycles; return true;
	case 0xb80: *value = cpu->cycles >> 32; return true;
	case 0xb02: *value = (uint32_t)cpu->retired; return true;
	case 0xb82: *value = cpu->retired >> 32; return true;
	case 0xf11:	/* mvendorid */
	case 0xf14:	/* mhartid */
		*value = 0;
		return true;
	default:
		return false;
	}
}

/* A counter reads as written right after the write, whose own instruction is not counted. */
static void set_counter(uint64_t *counter, uint32_t value, bool high)
{
	uint64_t old = *counter;

	*counter = (high ? (uint64_t)value << 32 | (uint32_t)old : (old >> 32 << 32) | value) - 1;
}

static void csr_write(struct rv32 *cpu, uint32_t csr, uint32_t value)
{
	switch (csr) {
	case 0x300:
		cpu->mstatus = MSTATUS_MPP | (value & (MSTATUS_MIE | MSTATUS_MPIE));
		break;
	case 0x304:
		cpu->mie = value & MIP_MEIP;
		break;
	case 0x305:
		cpu->mtvec = value & ~3u;
		break;
	case 0x340:
		cpu->mscratch = value;
		break;
	case 0x341:
		cpu->mepc = value & ~1u;
		break;
	case 0x342:
		cpu->mcause = value;
		break;
	case 0x343:
		cpu->mtval = value;
		break;
	case 0xb00:
	case 0xb80:
		set_counter(&cpu->cycles, value, csr == 0xb80);
		break;
	case 0xb02:
	case 0xb82:
		set_counter(&cpu->retired, value, csr == 0xb82);
		break;
	}	/* misa and mip have no writable bits */
}

/* False: illegal. */
static bool exec_csr(struct rv32 *cpu, const struct rv32_insn *i)
{
	uint32_t operand = i->op & 4 ? i->rs1 : cpu->x[i->rs1];
	bool writes = (i->op & 3) == 1 || i->rs1;
	bool reads = (i->op & 3) != 1 || i->rd != RV32_RD_NONE;
	bool was_in_trap = cpu->in_trap;
	uint32_t old = 0;

	if (writes && CSR_READ_ONLY(i->imm))
		return false;
	if (!csr_read(cpu, i->imm, &old))
		return false;
	if (!reads)	/* csrrw to x0 has no side effect of a read */
		cpu->in_trap = was_in_trap;
	if (writes) {
		if ((i->op & 3) == 2)
			operand |= old;
		else if ((i->op & 3) == 3)
			operand = old & ~operand;
		csr_write(cpu, i->imm, operand);
	}
	cpu->x[i->rd] = old;
	return true;
}

/* ---- Execution ---- */

static uint32_t divide(uint32_t op, uint32_t a, uint32_t b)
{
	bool overflow = a == 0x80000000u && b == 0xffffffffu;

	switch (op) {
	case RV32_DIV:
		return !b ? ~0u : overflow ? a : (uint32_t)((int32_t)a / (int32_t)b);
	case RV32_DIVU:
		return b ? a / b : ~0u;
	case RV32_REM:
		return !b ? a : overflow ? 0 : (uint32_t)((int32_t)a % (int32_t)b);
	default:
		return b ? a % b : a;
	}
}

static uint32_t alu(uint32_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case RV32_ADD:
		return a + b;
	case RV32_SUB:
		return a - b;
	case RV32_SLL:
		return a << (b & 31);
	case RV32_SLT:
		return (int32_t)a < (int32_t)b;
	case RV32_SLTU:
		return a < b;
	case RV32_XOR:
		return a ^ b;
	case RV32_SRL:
		return a >> (b & 31);
	case RV32_SRA:
		return (int32_t)a >> (b & 31);
	case RV32_OR:
		return a | b;
	case RV32_AND:
		return a & b;
	case RV32_MUL:
		return a * b;
	case RV32_MULH:
		return (uint64_t)((int64_t)(int32_t)a * (int32_t)b) >> 32;
	case RV32_MULHSU:
		return (uint64_t)((int64_t)(int32_t)a * (int64_t)b) >> 32;
	case RV32_MULHU:
		return (uint64_t)a * b >> 32;
	default:
		return divide(op, a, b);
	}
}

static bool branch_taken(uint32_t funct3, uint32_t a, uint32_t b)
{
	switch (funct3) {
	case 0:
		return a == b;
	case 1:
		return a != b;
	case 4:
		return (int32_t)a < (int32_t)b;
	case 5:
		return (int32_t)a >= (int32_t)b;
	case 6:
		return a < b;
	default:
		return a >= b;
	}
}

static bool exec_load(struct rv32 *cpu, const struct rv32_insn *i, uint32_t pc)
{
	uint32_t addr = cpu->x[i->rs1] + i->imm, size = 1u << (i->op & 3), value = 0;

	if (addr & (size - 1)) {
		trap(cpu, RV32_LOAD_MISALIGNED, pc, addr);
		return false;
	}
	if (addr - NE1_MC_TCM < NE1_MC_TCM_SIZE) {
		memcpy(&value, cpu->tcm + (addr - NE1_MC_TCM), size);
	} else if (!cpu->bus.load(cpu->bus.ctx, addr, size, &value)) {
		trap(cpu, RV32_LOAD_ACCESS, pc, addr);
		return false;
	}
	if (i->op == 0)
		value = (uint32_t)(int8_t)value;
	else if (i->op == 1)
		value = (uint32_t)(int16_t)value;
	cpu->x[i->rd] = value;
	return true;
}

/* Forgets decoded instructions that overlap the bytes at TCM offset @at. */
static void undecode(struct rv32 *cpu, uint32_t at, uint32_t size)
{
	uint32_t first = at / 2, last = (at + size - 1) / 2;

	if (first)
		first--;	/* a 32-bit instruction that starts before */
	for (uint32_t slot = first; slot <= last; slot++)
		cpu->cache[slot].kind = RV32_K_NONE;
}

static bool exec_store(struct rv32 *cpu, const struct rv32_insn *i, uint32_t pc)
{
	uint32_t addr = cpu->x[i->rs1] + i->imm, size = 1u << i->op, value = cpu->x[i->rs2];

	if (addr & (size - 1)) {
		trap(cpu, RV32_STORE_MISALIGNED, pc, addr);
		return false;
	}
	if (addr - NE1_MC_TCM < NE1_MC_TCM_SIZE) {
		memcpy(cpu->tcm + (addr - NE1_MC_TCM), &value, size);
		undecode(cpu, addr - NE1_MC_TCM, size);
	} else if (!cpu->bus.store(cpu->bus.ctx, addr, size, value)) {
		trap(cpu, RV32_STORE_ACCESS, pc, addr);
		return false;
	}
	return true;
}

/* Instructions that change more than a register.  False: trapped. */
static bool exec_system(struct rv32 *cpu, const struct rv32_insn *i, uint32_t pc)
{
	uint32_t bits;

	switch (i->kind) {
	case RV32_K_FENCE:
		/* Orders the window's release stores before its acquire loads.  Not
		 * atomic_thread_fence(), which the thread sanitizer does not know.
		 */
		atomic_exchange(&cpu->fence, 0);
		return true;
	case RV32_K_ECALL:
		trap(cpu, RV32_ECALL_M, pc, 0);
		return false;
	case RV32_K_EBREAK:
		trap(cpu, RV32_BREAKPOINT, pc, pc);
		return false;
	case RV32_K_MRET:
		mret(cpu);
		return true;
	case RV32_K_WFI:
		return true;
	case RV32_K_CSR:
		if (exec_csr(cpu, i))
			return true;
		memcpy(&bits, cpu->tcm + (pc - NE1_MC_TCM), sizeof(bits));
		trap(cpu, RV32_ILLEGAL, pc, bits);
		return false;
	default:
		trap(cpu, RV32_ILLEGAL, pc, i->imm);
		return false;
	}
}

/* One instruction; pc has been advanced past it.  False: trapped, nothing retired. */
static bool execute(struct rv32 *cpu, const struct rv32_insn *i, uint32_t pc)
{
	uint32_t *x = cpu->x, target;

	switch (i->kind) {
	case RV32_K_ALU:
		x[i->rd] = alu(i->op, x[i->rs1], x[i->rs2]);
		return true;
	case RV32_K_ALU_IMM:
		x[i->rd] = alu(i->op, x[i->rs1], i->imm);
		return true;
	case RV32_K_LUI:
		x[i->rd] = i->imm;
		return true;
	case RV32_K_AUIPC:
		x[i->rd] = pc + i->imm;
		return true;
	case RV32_K_LOAD:
		return exec_load(cpu, i, pc);
	case RV32_K_STORE:
		return exec_store(cpu, i, pc);
	case RV32_K_BRANCH:
		if (branch_taken(i->op, x[i->rs1], x[i->rs2]))
			cpu->pc = pc + i->imm;
		return true;
	case RV32_K_JAL:
		x[i->rd] = cpu->pc;
		cpu->pc = pc + i->imm;
		return true;
	case RV32_K_JALR:
		target = (x[i->rs1] + i->imm) & ~1u;
		x[i->rd] = cpu->pc;
		cpu->pc = target;
		return true;
	default:
		return exec_system(cpu, i, pc);
	}
}

/* The instruction at pc, decoded; NULL when it is not in TCM: *fault is the first byte outside. */
static const struct rv32_insn *fetch(struct rv32 *cpu, uint32_t *fault)
{
	uint32_t at = cpu->pc - NE1_MC_TCM;
	uint16_t half[2] = { 0, 0 };
	struct rv32_insn *slot;

	*fault = cpu->pc;
	if (at >= NE1_MC_TCM_SIZE)
		return NULL;
	slot = cpu->cache + at / 2;
	if (slot->kind != RV32_K_NONE)
		return slot;
	memcpy(&half[0], cpu->tcm + at, 2);
	if ((half[0] & 3) == 3) {
		*fault = cpu->pc + 2;
		if (at + 2 >= NE1_MC_TCM_SIZE)
			return NULL;
		memcpy(&half[1], cpu->tcm + at + 2, 2);
	}
	*slot = rv32_decode(half[0] | (uint32_t)half[1] << 16);
	return slot;
}

enum rv32_exit rv32_run(struct rv32 *cpu, unsigned int budget, bool irq)
{
	const struct rv32_insn *insn;
	uint32_t pc, fault;

	cpu->irq = irq;
	cpu->yield = false;
	while (budget-- && !cpu->yield && !cpu->halted) {
		cpu->cycles++;
		if (irq_taken(cpu)) {
			trap(cpu, RV32_EXTERNAL_IRQ, cpu->pc, 0);
			continue;
		}
		insn = fetch(cpu, &fault);
		if (!insn) {
			trap(cpu, RV32_FETCH_ACCESS, cpu->pc, fault);
			continue;
		}
		pc = cpu->pc;
		cpu->pc += insn->len;
		if (!execute(cpu, insn, pc))
			continue;
		cpu->retired++;
		if (insn->kind == RV32_K_WFI && !cpu->irq)
			return RV32_WFI;
	}
	return cpu->halted ? RV32_DOUBLE_FAULT : RV32_BUDGET;
}
