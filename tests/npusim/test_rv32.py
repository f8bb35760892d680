#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The management core's instructions, one by one, against values computed from the RISC-V manual.

Each test builds one program: cases that print results through OUT, run by rv32-run.
"""
import os
import random
import subprocess
import tempfile

import tap
from rv32asm import assemble, available

M32 = 0xffffffff
CORNERS = [0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x0000ffff,
           0xffff0000,
           0x12345678, 0xdeadbeef, 31, 32, 0xaaaaaaaa, 0x55555555]

PROLOGUE = """
_start:
	li s11, 0x20000000	# OUT; EXIT at 4, IRQ at 8
	la t0, unexpected
	csrw mtvec, t0
	j main
	.balign 4
unexpected:			# a trap that no test asked for shows in the output
	li t0, 0xbad
	sw t0, 0(s11)
	csrr t0, mcause
	sw t0, 0(s11)
	csrr t0, mepc
	sw t0, 0(s11)
	sw t0, 4(s11)
main:
"""
EPILOGUE = "\n\tsw x0, 4(s11)\n\tj .\n"


def run(body, march="rv32imc_zicsr"):
    """Words that the program printed; the last element says how it ended."""
    if not available():
        raise tap.Skip("no RISC-V compiler")
    program = os.path.join(os.environ.get("O", "build"), "tests", "npusim", "rv32-run")
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(assemble(PROLOGUE + body + EPILOGUE, march=march))
        file.flush()
        out = subprocess.run([program, file.name], check=True, capture_output=True, text=True,
                             timeout=120).stdout
    *words, end = out.split()
    return [int(w, 16) if w != "wfi" else w for w in words], end


def check(body, expected, end="exit", names=None, march="rv32imc_zicsr"):
    words, ended = run(body, march)
    for i, (got, want) in enumerate(zip(words, expected)):
        name = names[i] if names else f"result {i}"
        shown = got if isinstance(got, str) else hex(got)
        assert got == want, f"{name}: got {shown}, want {want:#x}"
    surplus = words[len(expected):][:8]
    assert len(words) == len(expected), f"{len(words)} results, want {len(expected)}: {surplus}"
    assert ended == end, f"ended by {ended}, want {end}"


def signed(v, width=32):
    v &= (1 << width) - 1
    return v - (1 << width) if v >> (width - 1) else v


def div(a, b):
    if b == 0:
        return M32
    if (a, b) == (0x80000000, M32):
        return a
    q = abs(signed(a)) // abs(signed(b))
    return (q if (signed(a) < 0) == (signed(b) < 0) else -q) & M32


def rem(a, b):
    if b == 0:
        return a
    if (a, b) == (0x80000000, M32):
        return 0
    r = abs(signed(a)) % abs(signed(b))
    return (-r if signed(a) < 0 else r) & M32


REG_OPS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "sll": lambda a, b: a << (b & 31),
    "slt": lambda a, b: signed(a) < signed(b), "sltu": lambda a, b: a < b, "xor": lambda a,
    b: a ^ b,
    "srl": lambda a, b: a >> (b & 31), "sra": lambda a, b: signed(a) >> (b & 31), "or": lambda a,
    b: a | b,
    "and": lambda a, b: a & b, "mul": lambda a, b: a * b, "mulh": lambda a,
    b: signed(a) * signed(b) >> 32,
    "mulhsu": lambda a, b: signed(a) * b >> 32, "mulhu": lambda a, b: a * b >> 32, "div": div,
    "divu": lambda a, b: a // b if b else M32, "rem": rem, "remu": lambda a, b: a % b if b else a,
}


def operands(rng):
    pairs = [(a, b) for a in CORNERS for b in CORNERS]
    return pairs + [(rng.getrandbits(32), rng.getrandbits(32)) for _ in range(40)]


def reg_op_test(op):
    def test():
        rng = random.Random(op)
        body, want, names = [], [], []
        # Register numbers vary, also rd = rs1, rd = rs2 and rs1 = rs2; s11 (x27) is taken.
        for i, (a, b) in enumerate(operands(rng)):
            rd, rs1, rs2 = rng.sample([r for r in range(1, 32) if r != 27], 3)
            rd = (rd, rs1, rs2)[i % 3]
            if i % 16 == 15:
                rs2, b = rs1, a
            body += [f"li x{rs1}, {a:#x}", f"li x{rs2}, {b:#x}", f"{op} x{rd}, x{rs1}, x{rs2}",
                     f"sw x{rd}, 0(s11)"]
            want.append(REG_OPS[op](a, b) & M32)
            names.append(f"{op} {a:#x}, {b:#x}")
        body += [f"{op} x0, x1, x2", "sw x0, 0(s11)"]
        check("\n".join(body), want + [0], names=names + ["write to x0"])
    test.__doc__ = f"{op}"
    return test


for _op in REG_OPS:
    globals()[f"test_op_{_op}"] = reg_op_test(_op)


def test_immediates():
    """addi slti sltiu xori ori andi slli srli srai with extreme immediates"""
    ops = {"addi": "add", "slti": "slt", "sltiu": "sltu", "xori": "xor", "ori": "or", "andi": "and"}
    shifts = {"slli": "sll", "srli": "srl", "srai": "sra"}
    body, want, names = [], [], []
    for a in CORNERS:
        cases = [(op, base, imm) for op, base in ops.items() for imm in (-2048, -1, 0, 1, 5, 2047)]
        cases += [(op, base, imm) for op, base in shifts.items() for imm in (0, 1, 15, 31)]
        for op, base, imm in cases:
            body += [f"li a0, {a:#x}", f"{op} t1, a0, {imm}", "sw t1, 0(s11)"]
            want.append(REG_OPS[base](a, imm & M32) & M32)
            names.append(f"{op} {a:#x}, {imm}")
    check("\n".join(body), want, names=names)


def test_upper():
    """lui auipc"""
    body, want = [], []
    for imm in (0, 1, 0x7ffff, 0x80000, 0xfffff):
        body += [f"lui t0, {imm:#x}", "sw t0, 0(s11)"]
        body += [f"1:	auipc t0, {imm:#x}", "la t1, 1b", "sub t0, t0, t1", "sw t0, 0(s11)"]
        want += [imm << 12, imm << 12]
    check("\n".join(body), want)


BRANCHES = {
    "beq": lambda a, b: a == b, "bne": lambda a, b: a != b, "blt": lambda a,
    b: signed(a) < signed(b),
    "bge": lambda a, b: signed(a) >= signed(b), "bltu": lambda a, b: a < b, "bgeu": lambda a,
    b: a >= b,
}


def test_branches():
    """beq bne blt bge bltu bgeu, forward and backward"""
    body, want, names = [], [], []
    for op, holds in BRANCHES.items():
        for a in CORNERS[:10]:
            for b in CORNERS[:10]:
                body += [f"li a0, {a:#x}", f"li a1, {b:#x}", "li t0, 1", f"{op} a0, a1, 1f",
                         "li t0, 0",
                         "1:	sw t0, 0(s11)"]
                want.append(int(holds(a, b)))
                names.append(f"{op} {a:#x}, {b:#x}")
        body += ["li a0, 3", "li a1, 0", "2:	addi a1, a1, 1", "bne a0, a1, 2b", "sw a1, 0(s11)"]
        want.append(3)
        names.append("loop")
    check("\n".join(body), want, names=names)


def test_jumps():
    """jal jalr: link, target, bit 0 cleared, rd = rs1, long distances"""
    body = """
	.option norvc
	jal t0, 1f
0:	j bad
1:	la t1, 0b
	sub t0, t0, t1
	sw t0, 0(s11)		# 0
	la t2, 3f
	addi t2, t2, 1		# bit 0 is dropped
2:	jalr t2, 0(t2)
	j bad
3:	la t1, 2b
	sub t2, t2, t1
	sw t2, 0(s11)		# 4
	la t2, 4f
	addi t2, t2, 2047
	jalr x0, -2047(t2)
	j bad
	.space 100000
4:	jal x0, far
	.option rvc
bad:	li t0, 0xbad
	sw t0, 0(s11)
	j done
	.space 100000
far:	li t0, 0x600d
	sw t0, 0(s11)
done:
"""
    check(body, [0, 4, 0x600d])


def test_loads_stores():
    """lb lh lw lbu lhu sb sh sw: sign, byte lanes, offsets"""
    data = 0x80ff7f01
    body = ["la a0, buffer", "li t0, 0x80ff7f01", "sw t0, 0(a0)"]
    want, names = [], []
    for op, size, sign in (("lb", 1, True), ("lbu", 1, False), ("lh", 2, True), ("lhu", 2, False),
                           ("lw", 4, True)):
        for at in range(0, 4, size):
            body += [f"{op} t1, {at}(a0)", "sw t1, 0(s11)"]
            raw = data >> 8 * at & ((1 << 8 * size) - 1)
            want.append((signed(raw, 8 * size) if sign else raw) & M32)
            names.append(f"{op} {at}")
    memory = data
    for op, size in (("sb", 1), ("sh", 2), ("sw", 4)):
        for at in range(0, 4, size):
            value = 0xa1b2c3d4 + at
            body += [f"li t0, {value:#x}", f"{op} t0, {at}(a0)", "lw t1, 0(a0)", "sw t1, 0(s11)"]
            mask = ((1 << 8 * size) - 1) << 8 * at
            memory = memory & ~mask | value << 8 * at & mask
            want.append(memory)
            names.append(f"{op} {at}")
    body += ["addi a1, a0, 2044", "li t0, 77", "sw t0, -2044(a1)", "lw t1, 0(a0)", "sw t1, 0(s11)",
             "addi a1, a0, -2044", "lw t1, 2044(a1)", "sw t1, 0(s11)",
             "lw t1, 0(s11)", "sw t1, 0(s11)", "lb t1, 0(s11)", "sw t1, 0(s11)", "lhu t1, 0(s11)",
             "sw t1, 0(s11)",
             "j end", ".balign 4", "buffer: .word 0", "end:"]
    want += [77, 77, 0xfeedc0de, 0xffffffde, 0xc0de]
    check("\n".join(body), want, names=names + ["offset"] * 5)


def test_compressed():
    """every RV32C instruction, written as such"""
    body = """
	.option rvc
	.macro out r
	sw \\r, 0(s11)
	.endm
	li sp, 0x10020000
	c.addi4spn a0, sp, 1020
	out a0
	c.addi4spn s0, sp, 4
	out s0
	li a1, 0x12345678
	c.sw a1, 0(s0)
	c.sw a1, 124(s0)
	c.lw a2, 0(s0)
	out a2
	c.lw a3, 124(s0)
	out a3
	c.nop
	li t3, 5
	c.addi t3, -32
	out t3
	c.addi t3, 31
	out t3
	c.jal 1f
0:	li t0, 0xbad
	out t0
1:	la t0, 0b
	sub t0, ra, t0
	out t0
	c.li t4, -32
	out t4
	c.li t4, 31
	out t4
	c.lui t5, 1
	out t5
	c.lui t5, 0xfffe0
	out t5
	c.addi16sp sp, -512
	out sp
	c.addi16sp sp, 496
	out sp
	li s1, 0x80000010
	c.srli s1, 4
	out s1
	li s1, 0x80000010
	c.srai s1, 31
	out s1
	li s1, 0x1234ff
	c.andi s1, -16
	out s1
	li s1, 100
	li a5, 7
	c.sub s1, a5
	out s1
	c.xor s1, a5
	out s1
	c.or s1, a5
	out s1
	c.and s1, a5
	out s1
	c.j 2f
	out x0
2:	li a4, 0
	c.beqz a4, 3f
	out x0
3:	li a4, 1
	c.beqz a4, 4f
	c.bnez a4, 5f
4:	out x0
5:	li t6, 0x40000001
	c.slli t6, 1
	out t6
	c.slli t6, 31
	out t6
	c.swsp a1, 252(sp)
	c.swsp a5, 0(sp)
	c.lwsp t1, 252(sp)
	out t1
	c.lwsp t2, 0(sp)
	out t2
	la t0, 6f
	c.jr t0
	out x0
6:	la t0, 7f
	c.jalr t0
8:	out x0
7:	la t1, 8b
	sub t1, ra, t1
	out t1
	c.mv s5, a1
	out s5
	c.add s5, a5
	out s5
"""
    sp = 0x10020000
    want = [sp + 1020, sp + 4, 0x12345678, 0x12345678, (5 - 32) & M32, 4, 0, -32 & M32, 31, 0x1000,
            0xfffe0000,
            sp - 512, sp - 16, 0x08000001, M32, 0x1234f0, 93, 93 ^ 7, (93 ^ 7) | 7, 7, 0x80000002,
            0,
            0x12345678, 7, 0, 0x12345678, 0x1234567f]
    check(body, want)


def test_compressed_hints():
    """RV32C HINTs do nothing, reserved encodings are illegal"""
    hints = [0x0005,	# c.nop 1
             0x4005,	# c.li x0, 1
             0x6005,	# c.lui x0, 1
             0x0006,	# c.slli x0, 1
             0x8006,	# c.mv x0, x1
             0x9006]	# c.add x0, x1
    illegal = [0x0000,	# all zeroes
               0x0004,	# c.addi4spn, immediate 0
               0x2000, 0x6000, 0xa000, 0xe000, 0x8000,	# floating point, reserved
               0x6081,	# c.lui, immediate 0
               0x6101,	# c.addi16sp, immediate 0
               0x9c01, 0x9c21,	# c.subw, c.addw of RV64
               0x9001, 0x9401,	# c.srli, c.srai with shamt[5]
               0x1086,	# c.slli with shamt[5]
               0x4002,	# c.lwsp x0
               0x8002,	# c.jr x0
               0x2002, 0x6002, 0xa002, 0xe002]
    body, want = ["la t0, handler", "csrw mtvec, t0"], []
    for bits in hints + illegal:
        body.append(f".balign 4\n.2byte {bits:#x}\n.2byte 0x0001")
        want += [] if bits in hints else [2, bits]
    body += ["j end", ".balign 4",
             "handler: csrr t1, mcause", "sw t1, 0(s11)", "csrr t1, mtval", "sw t1, 0(s11)",
             "csrr t1, mepc", "addi t1, t1, 2", "csrw mepc, t1", "mret", "end:"]
    check("\n".join(body), want)


def test_illegal_words():
    """32-bit encodings outside RV32IMC + Zicsr are illegal, with the instruction in mtval"""
    illegal = [0x0000100b,	# custom-0
               0x0000302f, 0x1000202f,	# A: amoadd.d, lr.w
               0x00003003, 0x00006003, 0x00007003,	# ld, lwu, reserved load
               0x00003023, 0x00007023,	# sd, reserved store
               0x00002063, 0x00003063,	# reserved branches
               0x00001067,	# jalr with funct3
               0x04000033, 0x40001033, 0xc0000033,	# reserved funct7
               0x40001013, 0x02001013, 0x02005013,	# slli, srli with bits set
               0x0000200f, 0x0000003b, 0x0000001b,	# reserved fence, RV64
               0x00000007, 0x00000053,	# floating point
               0x10200073, 0x00200073, 0x12000073,	# sret, uret, sfence.vma
               0x30200173, 0x00004073,	# mret with rd, funct3 4
               0x7b200073,	# dret
               0xffffffff]
    body, want = ["la t0, handler", "csrw mtvec, t0"], []
    for bits in illegal:
        body.append(f".balign 4\n.4byte {bits:#x}")
        want += [2, bits]
    body += ["j end", ".balign 4",
             "handler: csrr t1, mcause", "sw t1, 0(s11)", "csrr t1, mtval", "sw t1, 0(s11)",
             "csrr t1, mepc", "addi t1, t1, 4", "csrw mepc, t1", "mret", "end:"]
    check("\n".join(body), want)


def test_csr_access():
    """csrrw csrrs csrrc and immediate forms: old value, new value, no write for x0"""
    body = """
	li t0, 0xf0f0f0f0
	csrw mscratch, t0
	li t1, 0x00ff00ff
	csrrs t2, mscratch, t1
	sw t2, 0(s11)
	csrrc t2, mscratch, t1
	sw t2, 0(s11)
	csrrw t2, mscratch, t1
	sw t2, 0(s11)
	csrrw t1, mscratch, t1		# rd = rs1
	sw t1, 0(s11)
	csrrwi t2, mscratch, 21
	sw t2, 0(s11)
	csrrsi t2, mscratch, 10
	sw t2, 0(s11)
	csrrci t2, mscratch, 31
	sw t2, 0(s11)
	csrr t2, mscratch
	sw t2, 0(s11)
	csrr t2, mhartid		# read-only CSRs can be read with csrrs x0
	sw t2, 0(s11)
	csrr t2, mvendorid
	sw t2, 0(s11)
	csrr t2, misa
	sw t2, 0(s11)
	li t0, -1
	csrw misa, t0
	csrr t2, misa
	sw t2, 0(s11)
	csrw mtvec, t0
	csrr t2, mtvec
	sw t2, 0(s11)
	csrw mepc, t0
	csrr t2, mepc
	sw t2, 0(s11)
	csrw mie, t0
	csrr t2, mie
	sw t2, 0(s11)
	csrw mip, t0
	csrr t2, mip
	sw t2, 0(s11)
	li t0, 0x80
	csrw mstatus, t0
	csrr t2, mstatus
	sw t2, 0(s11)
"""
    check(body, [0xf0f0f0f0, 0xf0fff0ff, 0xf000f000, 0x00ff00ff, 0x00ff00ff, 21, 31, 0, 0, 0,
                 0x40001104,
                 0x40001104, 0xfffffffc, 0xfffffffe, 0x800, 0, 0x1880])


def test_csr_illegal():
    """writes to read-only CSRs and CSRs that are not there are illegal, and change no register"""
    accesses = ["csrw mhartid, t3", "csrrs t4, mvendorid, t3", "csrrsi t4, mhartid, 1",
                "csrr t4, 0xc00",
                "csrr t4, 0x180", "csrr t4, 0x7c0", "csrrw t4, 0x306, t3", "csrr t4, 0x3a0"]
    body, want = ["la t0, handler", "csrw mtvec, t0", "li t3, 1", "li t4, 0x5a"], []
    for access in accesses:
        body += [".balign 4", access, "sw t4, 0(s11)"]
        want += [2, 0x5a]
    body += ["j end", ".balign 4",
             "handler: csrr t1, mcause", "sw t1, 0(s11)",
             "csrr t1, mepc", "addi t1, t1, 4", "csrw mepc, t1", "mret", "end:"]
    check("\n".join(body), want)


def test_counters():
    """mcycle and minstret count, can be written, and carry into their high halves"""
    body = """
	.option norvc
	csrr t0, minstret
	nop
	nop
	csrr t1, minstret
	sub t1, t1, t0
	sw t1, 0(s11)
	li t0, 1000
	csrw minstret, t0
	csrr t1, minstret
	sw t1, 0(s11)
	li t0, -2
	csrw mcycle, t0
	csrw mcycleh, x0
	csrw minstreth, x0
	csrw minstret, t0
	nop
	nop
	nop
	csrr t1, minstreth
	sw t1, 0(s11)
	csrr t1, mcycleh
	sw t1, 0(s11)
"""
    check(body, [3, 1000, 1, 1])


def trap_body(causes):
    """Snippets that trap, and a handler that prints mcause, mtval, mepc - start, and skips."""
    body = ["la t0, handler", "csrw mtvec, t0"]
    for snippet in causes:
        setup, _, insn = snippet.rpartition(";")
        body += [*setup.split(";"), ".option norvc", ".balign 4", "la s2, 1f", f"1: {insn}",
                 ".option rvc"]
    body += ["j end", ".balign 4",
             "handler: csrr t1, mcause", "sw t1, 0(s11)", "csrr t1, mtval", "sw t1, 0(s11)",
             "csrr t1, mepc", "sub t2, t1, s2", "sw t2, 0(s11)", "addi t1, t1, 4", "csrw mepc, t1",
             "mret", "end:"]
    return "\n".join(body)


def test_traps():
    """cause, value and pc of misaligned and faulting accesses, ecall, ebreak"""
    cases = [("li a0, 0x10000001;lh t3, 0(a0)", 4, 0x10000001),
             ("li a0, 0x10000002;lw t3, 0(a0)", 4, 0x10000002),
             ("li a0, 0x10010001;sh t3, 0(a0)", 6, 0x10010001),
             ("li a0, 0x10010003;sw t3, 0(a0)", 6, 0x10010003),
             ("li a0, 0;lw t3, 0(a0)", 5, 0), ("li a0, 0x10040000;lb t3, 0(a0)", 5, 0x10040000),
             ("li a0, 0x0ffffffc;lw t3, 0(a0)", 5, 0x0ffffffc),
             ("li a0, 0x30000000;sw t3, 0(a0)", 7, 0x30000000),
             ("li a0, 0x10040000;sb t3, 0(a0)", 7, 0x10040000), ("ecall", 11, 0)]
    want = [v for _, cause, tval in cases for v in (cause, tval, 0)]
    check(trap_body([code for code, _, _ in cases]), want)


def test_ebreak():
    """ebreak and c.ebreak: cause 3, mtval and mepc their address"""
    body = """
	la t0, handler
	csrw mtvec, t0
	.option norvc
	la s2, 1f
	.balign 4
1:	ebreak
	.option rvc
	la s2, 2f
	.balign 4
2:	c.ebreak
	c.nop
	j end
	.balign 4
handler:
	csrr t1, mcause
	sw t1, 0(s11)
	csrr t1, mtval
	sub t1, t1, s2
	sw t1, 0(s11)
	csrr t1, mepc
	sub t2, t1, s2
	sw t2, 0(s11)
	addi t1, t1, 4
	csrw mepc, t1
	mret
end:
"""
    check(body, [3, 0, 0, 3, 0, 0])


def test_fetch_faults():
    """jumps outside TCM, a 32-bit instruction across its end: cause 1, mtval the missing byte"""
    body = """
	la t0, handler
	csrw mtvec, t0
	la s3, back
	li s2, 0x20000000
	jr s2
back:	la s3, back2
	li s2, 0x80000000
	jr s2
back2:	la s3, end
	li s2, 0x1003fffe	# last halfword: low half of a 32-bit instruction
	li t0, 0x0013
	sh t0, 0(s2)
	jr s2
	.balign 4
handler:
	csrr t1, mcause
	sw t1, 0(s11)
	csrr t1, mtval
	sub t1, t1, s2
	sw t1, 0(s11)
	csrr t1, mepc
	sub t1, t1, s2
	sw t1, 0(s11)
	csrw mepc, s3
	mret
end:
"""
    check(body, [1, 0, 0, 1, 0, 0, 1, 2, 0])


def test_trap_state():
    """a trap stacks MIE into MPIE and clears it, mret restores"""
    body = """
	la t0, handler
	csrw mtvec, t0
	csrsi mstatus, 8
	ecall
	csrr t1, mstatus
	sw t1, 0(s11)
	csrci mstatus, 8
	ecall
	csrr t1, mstatus
	sw t1, 0(s11)
	j end
	.balign 4
handler:
	csrr t1, mstatus
	sw t1, 0(s11)
	csrr t1, mepc
	addi t1, t1, 4
	csrw mepc, t1
	mret
end:
"""
    check(body, [0x1880, 0x1888, 0x1800, 0x1880])


def test_interrupts():
    """an external interrupt needs level, MEIE and MIE; mepc is the next instruction"""
    body = """
	la t0, handler
	csrw mtvec, t0
	li s4, 1
	sw s4, 8(s11)		# level up, nothing enabled
	csrr t1, mip
	sw t1, 0(s11)		# 0x800
	csrsi mstatus, 8
	li t0, 1
	sw t0, 0(s11)		# 1: still running
	csrci mstatus, 8
	li t0, 0x800
	csrw mie, t0
	li t0, 2
	sw t0, 0(s11)		# 2
	la s2, 1f
	csrsi mstatus, 8
1:	li t0, 3
	sw t0, 0(s11)		# after the handler: 3
	csrr t1, mip
	sw t1, 0(s11)		# 0
	j end
	.balign 4
handler:
	csrr t1, mcause
	sw t1, 0(s11)		# 0x8000000b
	csrr t1, mtval
	sw t1, 0(s11)		# 0
	csrr t1, mepc
	sub t1, t1, s2
	sw t1, 0(s11)		# 0
	csrr t1, mstatus
	sw t1, 0(s11)		# 0x1880
	sw x0, 8(s11)		# level down
	mret
end:
"""
    check(body, [0x800, 1, 2, 0x8000000b, 0, 0, 0x1880, 3, 0])


def test_wfi():
    """wfi sleeps until the level is up, regardless of MIE, and is a nop while it is up"""
    body = """
	li t0, 1
	sw t0, 0(s11)
	wfi			# MIE = 0, MEIE = 0
	li t0, 2
	sw t0, 0(s11)
	wfi			# level is still up
	li t0, 3
	sw t0, 0(s11)
	sw x0, 8(s11)
	la t0, handler
	csrw mtvec, t0
	li t0, 0x800
	csrw mie, t0
	csrsi mstatus, 8
	la s2, 1f
	wfi
1:	li t0, 4
	sw t0, 0(s11)
	j end
	.balign 4
handler:
	csrr t1, mepc
	sub t1, t1, s2
	sw t1, 0(s11)
	sw x0, 8(s11)
	mret
end:
"""
    words, end = run(body)
    assert words == [1, "wfi", 2, 3, "wfi", 0, 4] and end == "exit", (words, end)


def test_double_faults():
    """a trap with mtvec = 0 or before mepc was read stops the core"""
    for body in ("csrw mtvec, x0\n ecall",
                 "la t0, h\n csrw mtvec, t0\n ecall\n .balign 4\nh: ecall",
                 "la t0, h\n csrw mtvec, t0\n ecall\n .balign 4\nh: csrrw x0, mepc, t0\n ecall",
                 "la t0, h\n csrw mtvec, t0\n jr x0\n .balign 4\nh: .2byte 0"):
        words, end = run(body)
        assert end == "double-fault" and words == [], (body, words, end)
    nested = "la t0, h\n csrw mtvec, t0\n ecall\n .balign 4\n" \
             "h: csrr t1, mepc\n la t0, g\n csrw mtvec, t0\n" \
             "ecall\n .balign 4\ng: csrr t1, mcause\n sw t1, 0(s11)\n"
    check(nested, [11])
    again = "la t0, h\n csrw mtvec, t0\n li s3, 2\n" \
            "1: la t2, 2f\n csrw mepc, t2\n ecall\n2: addi s3, s3, -1\n" \
            "bnez s3, 1b\n j e\n .balign 4\nh: la t2, 3f\n csrr t3, mepc\n csrw mepc, t2\n mret\n" \
            "3: sw s3, 0(s11)\n j 2b\ne:\n"
    check(again, [2, 1])


def test_self_modifying():
    """stores to code are executed after fence.i, also over either half of an instruction"""
    body = """
	.balign 4
	.option norvc
	la a0, patch
	li s3, 0
	call patch
	sw s3, 0(s11)		# 1
	la t0, alt
	lw t0, 0(t0)
	sw t0, 0(a0)
	.4byte 0x100f		# fence.i
	call patch
	sw s3, 0(s11)		# 1 + 16
	la t0, alt2
	lhu t0, 2(t0)
	sh t0, 2(a0)		# only the high half: the immediate
	.4byte 0x100f		# fence.i
	call patch
	sw s3, 0(s11)		# 17 + 32
	la t0, alt3
	lbu t0, 3(t0)
	sb t0, 3(a0)
	.4byte 0x100f		# fence.i
	call patch
	sw s3, 0(s11)
	j end
patch:	addi s3, s3, 1
	ret
alt:	addi s3, s3, 16
alt2:	addi s3, s3, 32
alt3:	addi s3, s3, 0x7f0
end:
"""
    # Byte 3 of alt3 is imm[11:4] = 0x7f; imm[3:0] of alt2 is 0.
    check(body, [1, 17, 49, 49 + 0x7f0])


def test_fence():
    """fence in all forms does nothing visible"""
    check("fence\n fence rw, w\n fence iorw, iorw\n fence.tso\n .4byte 0x100f\n .4byte 0x0330000f\n"
          "li t0, 9\n sw t0, 0(s11)\n", [9])


def test_reset_state():
    """at entry all integer registers are zero"""
    body = "".join(f"sw x{r}, 0(t0)\n" for r in range(1, 32) if r != 5)
    source = "_start:\n li t0, 0x20000000\n" + body
    source += "csrr t1, mstatus\n sw t1, 0(t0)\n sw x0, 4(t0)\n j .\n"
    program = os.path.join(os.environ.get("O", "build"), "tests", "npusim", "rv32-run")
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(assemble(source))
        file.flush()
        out = subprocess.run([program, file.name], check=True, capture_output=True,
                             text=True).stdout.split()
    assert out == ["00000000"] * 30 + ["00001800", "exit"], out


def test_random_arithmetic():
    """20 programs of 400 random register instructions against an interpreter here"""
    rng = random.Random(32)
    for _ in range(20):
        regs = [0] + [rng.getrandbits(32) for _ in range(31)]
        names = [r for r in range(1, 32) if r != 27]
        body = [f"li x{r}, {regs[r]:#x}" for r in names]
        for _ in range(400):
            op = rng.choice(list(REG_OPS))
            rd, rs1, rs2 = rng.choice(names), rng.choice(names + [0]), rng.choice(names + [0])
            body.append(f"{op} x{rd}, x{rs1}, x{rs2}")
            regs[rd] = REG_OPS[op](regs[rs1], regs[rs2]) & M32
        body += [f"sw x{r}, 0(s11)" for r in names]
        check("\n".join(body), [regs[r] for r in names], names=[f"x{r}" for r in names])


if __name__ == "__main__":
    tap.main(__name__)
