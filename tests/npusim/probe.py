# SPDX-License-Identifier: MIT
"""A firmware that does loads and stores for the host: a test can act as the management core."""
import struct

from ne1 import C, Host, PageTables, TEST_SIGNER, pack_image
from rv32asm import assemble
from vfio import wait_until

SOURCE = """
	.option norvc
	.equ CTRL, 0x20000000
_start:
	li s0, 0x80000000	# the control block, VA 0 of ASID 0
	li s1, CTRL
	la t0, handler
	csrw mtvec, t0
	li t0, 1		# MBOX wakes us
	sw t0, 4(s1)
	li t0, 3		# READY
	sw t0, 0x14(s1)
	li t0, 2		# NE1_IRQ_EVENT
	sw t0, 0x10(s1)
loop:
	wfi
	addi s2, s2, 1
	sw s2, 32(s0)
	li t0, 1
	sw t0, 0(s1)
	lw t1, 0(s0)		# number of the request
	lw t2, 16(s0)		# of the last one done
	beq t1, t2, loop
	lw t3, 4(s0)
	lw t4, 8(s0)
	lw t5, 12(s0)
	sw x0, 24(s0)
	li t6, 0
	la t0, table
	slli t3, t3, 3
	add t0, t0, t3
	jr t0
done:
	sw t6, 20(s0)
	fence rw, w
	sw t1, 16(s0)
	j loop
table:
	lw t6, 0(t4)
	j done
	sw t5, 0(t4)
	j done
	lhu t6, 0(t4)
	j done
	sh t5, 0(t4)
	j done
	lbu t6, 0(t4)
	j done
	sb t5, 0(t4)
	j done
	jr t4
	j done
handler:
	csrr t0, mtval
	sw t0, 28(s0)
	csrr t0, mcause
	sw t0, 24(s0)
	csrr t0, mepc
	addi t0, t0, 4
	csrw mepc, t0
	mret
"""

LOAD = {4: 0, 2: 2, 1: 4}
STORE = {4: 1, 2: 3, 1: 5}
JUMP = 6


class Trap(Exception):
    def __init__(self, cause, value):
        super().__init__(f"trap {cause} value {value:#x}")
        self.cause, self.value = cause, value


def write_key(file):
    file.write(TEST_SIGNER.public.hex())
    file.flush()
    return file.name


class Probe(Host):
    """A Host whose firmware is the probe, booted and READY."""

    def __init__(self, client):
        super().__init__(client)
        self.number = 0
        self.boot()

    def boot(self):
        self.number = 0
        self.put(self.SHARED, bytes(64))
        self.start(pack_image(assemble(SOURCE)))
        assert self.wait_state(C.NE1_BOOT_STATE_READY,
                               C.NE1_BOOT_STATE_FAILED) == (C.NE1_BOOT_STATE_READY, 0)
        assert self.vectors[1].wait() == 1

    def word(self, index):
        return self.get(self.SHARED + 4 * index, "<I")[0]

    def post(self, op, addr, value=0):
        self.number += 1
        self.put(self.SHARED + 4, struct.pack("<III", op, addr, value))
        self.put(self.SHARED, struct.pack("<I", self.number))
        self.client.set_reg(C.NE1_REG_MBOX_DB, 1)

    def request(self, op, addr, value=0):
        self.post(op, addr, value)
        wait_until(lambda: self.word(4) == self.number)
        if self.word(6):
            raise Trap(self.word(6), self.word(7))
        return self.word(5)

    def load(self, addr, size=4):
        return self.request(LOAD[size], addr)

    def store(self, addr, value, size=4):
        self.request(STORE[size], addr, value)

    def load64(self, addr):
        low = self.load(addr)
        return self.load(addr + 4) << 32 | low

    def store64(self, addr, value):
        self.store(addr, value & 0xffffffff)
        self.store(addr + 4, value >> 32)

    def trap(self, cause, function, *args):
        """mtval of the trap that the access takes."""
        try:
            function(*args)
        except Trap as trap:
            assert trap.cause == cause, f"cause {trap.cause}, not {cause}"
            return trap.value
        raise AssertionError("no trap")

    def window(self, va):
        return C.NE1_MC_WINDOW + va


# Command streams.

NONE = 0xff


def header(opcode, flags=0, wait=NONE, signal=NONE):
    return struct.pack("<BBHBBBB", opcode, flags, 0, wait, NONE, signal, NONE)


def dma(opcode, base, offset, sram, row_bytes, rows=1, same=False, **sync):
    """@rows one behind the other, or (@same) the same one again and again."""
    stride = 0 if same else row_bytes
    return header(opcode, **sync) + struct.pack("<QIIQIIHBBB3xi12x", offset, 0, row_bytes, stride,
                                                sram, stride, rows, base, NONE, NONE, 0)


def mm(a, b, c, m, k, n, same=False):
    """fp32 times fp32, B plain; @same: all rows of A are one, and all of C."""
    apart = 0 if same else 4
    return header(C.NE1_OP_MM) + struct.pack("<IIIIIIHHIBBBB20x", a, apart * k, b, 4 * n, c, apart * n,
                                             m, k, n, 0, 0, 0, 0)


END = header(C.NE1_OP_END) + bytes(56)


class CoreJob:
    """One job on core 0 in ASID 1: stream at VA 0, a page of parameters, 1 MiB of data."""
    STREAM, PARAMS, DATA = 0x300000, 0x500000, 0x600000		# in guest memory
    VA_PARAMS, VA_DATA = 0x400000, 0x500000

    def __init__(self, probe, commands):
        self.probe = probe
        stream = b"".join(commands)
        assert len(stream) <= 0x200000
        self.tables = PageTables(probe.memory, probe.BUS, probe.take_page)
        for offset in range(0, 0x200000, 4096):
            self.tables.map(offset, probe.BUS + self.STREAM + offset)
        self.tables.map(self.VA_PARAMS, probe.BUS + self.PARAMS)
        for offset in range(0, 0x100000, 4096):
            self.tables.map(self.VA_DATA + offset, probe.BUS + self.DATA + offset)
        probe.put(self.STREAM, stream)
        probe.put(self.PARAMS, struct.pack("<16Q32I", self.VA_DATA, *[0] * 15, *[0] * 32))
        probe.store64(C.NE1_MC_AS1, probe.BUS + self.tables.root)
        probe.store(C.NE1_MC_AS1 + 8, 1)
        core = C.NE1_MC_CORE0
        probe.store(core + C.NE1_MC_CORE_ASID, 1)
        probe.store64(core + C.NE1_MC_CORE_STREAM_LO, 0)
        probe.store(core + C.NE1_MC_CORE_STREAM_SIZE, len(stream))
        probe.store64(core + C.NE1_MC_CORE_PARAM_LO, self.VA_PARAMS)
        probe.store64(core + C.NE1_MC_CORE_PROFILE_LO, 0)

    def reg(self, offset):
        return self.probe.load(C.NE1_MC_CORE0 + offset)

    def control(self, bits):
        self.probe.store(C.NE1_MC_CORE0 + C.NE1_MC_CORE_CTRL, bits)

    def state(self):
        return self.reg(C.NE1_MC_CORE_STATE)

    def run(self):
        """Start to end: state and fault code."""
        self.control(C.NE1_CORE_START)
        wait_until(lambda: self.state() != C.NE1_CORE_RUNNING)
        return self.state(), self.reg(C.NE1_MC_CORE_FAULT_CODE)
