#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the management core sees: window and MMU, interrupts, time, compute cores, panic, reset."""
import contextlib
import os
import struct
import tempfile
import time

import tap
from ne1 import C, PTE_RO, doorbell
from probe import END, JUMP, SOURCE, CoreJob, Probe, dma, header, mm, write_key
from rv32asm import assemble, available
from vfio import BAR1, MSIX, TRIGGER, DATA_NONE, Client, serving, wait_until

MB2 = 2 << 20
LOAD_FAULT, STORE_FAULT = 5, 7
MCU, LD, ST = C.NE1_UNIT_MCU, C.NE1_UNIT_LD, C.NE1_UNIT_ST


@contextlib.contextmanager
def probing(*options):
    if not available():
        raise tap.Skip("no RISC-V compiler")
    with tempfile.NamedTemporaryFile("w", suffix=".pub") as key:
        with serving("--key", write_key(key), *options) as server, Client(server.path) as client:
            with Probe(client) as probe:
                probe.server = server
                yield probe


def fault_of(client):
    """Decoded MMU_FAULT, None if not valid."""
    value = client.reg(C.NE1_REG_MMU_FAULT)
    va = client.reg(C.NE1_REG_MMU_FAULT_VA_HI) << 32 | client.reg(C.NE1_REG_MMU_FAULT_VA_LO)
    if not value & 1:
        return None
    return {"asid": value >> 4 & 15, "write": value >> 8 & 1, "unit": value >> 12 & 15,
            "code": value >> 16 & 15, "va": va}


# Window and MMU.

def test_window():
    """loads and stores of all widths reach shared memory"""
    with probing() as probe:
        at = probe.SHARED + 0x3000
        probe.store(probe.window(0x3000), 0x11223344)
        probe.store(probe.window(0x3004), 0x5566, 2)
        probe.store(probe.window(0x3007), 0x77, 1)
        assert probe.memory.map[at:at + 8] == bytes.fromhex("44332211 66550077")
        probe.put(at + 8, bytes.fromhex("efbeadde"))
        assert [probe.load(probe.window(0x3008 + o), s) for o, s in ((0, 4), (2, 2), (3, 1))] == \
            [0xdeadbeef, 0xdead, 0xde]


def test_window_faults():
    """faults in the window trap and are recorded, first one only, until cleared"""
    with probing() as probe:
        client = probe.client
        address = probe.window(0x40000000)
        assert probe.trap(LOAD_FAULT, probe.load, address) == address
        assert probe.vectors[2].wait() == 1
        first = {"asid": 0, "write": 0, "unit": MCU, "code": C.NE1_MMU_NOT_PRESENT,
                 "va": 0x40000000}
        assert fault_of(client) == first
        assert probe.trap(STORE_FAULT, probe.store, address + 0x1000, 1) == address + 0x1000
        assert fault_of(client) == first and probe.vectors[2].wait(0) == 0
        client.set_reg(C.NE1_REG_MMU_FAULT_CLEAR, 1)
        assert fault_of(client) is None
        probe.trap(STORE_FAULT, probe.store, address + 4, 1)
        assert fault_of(client) == dict(first, write=1, va=0x40000004)


def test_page_tables():
    """4 KiB and 2 MiB leaves, read-only pages, malformed entries, memory that is not there"""
    with probing() as probe:
        client, tables, bus = probe.client, probe.tables, probe.BUS
        probe.put(0x400000, struct.pack("<I", 1))
        probe.put(0x5ff000, struct.pack("<I", 2))
        tables.map(0x10000000, bus + 0x400000, level=1)
        tables.map(0x20000000, bus + 0x400000, PTE_RO)
        tables.map(0x20001000, 0x7_0000_0000)
        tables.map(0x20002000, bus + 0x400000, 1 << 8)		# reserved bit
        tables.map(0x30000000, bus + 0x401000, level=1)		# misaligned 2 MiB leaf
        assert probe.load(probe.window(0x10000000)) == 1
        assert probe.load(probe.window(0x101ff000)) == 2
        probe.store(probe.window(0x101ffffc), 3)
        assert probe.get(0x5ffffc, "<I")[0] == 3
        assert probe.load(probe.window(0x20000000)) == 1
        cases = ((probe.store, 0x20000000, C.NE1_MMU_READ_ONLY),
                 (probe.load, 0x20001000, C.NE1_MMU_BUS),
                 (probe.load, 0x20002000, C.NE1_MMU_NOT_PRESENT),
                 (probe.load, 0x30000000, C.NE1_MMU_NOT_PRESENT),
                 (probe.load, 0x10200000, C.NE1_MMU_NOT_PRESENT))
        for access, va, code in cases:
            args = (1,) if access == probe.store else ()
            probe.trap(STORE_FAULT if args else LOAD_FAULT, access, probe.window(va), *args)
            assert fault_of(client)["code"] == code, f"va {va:#x}: {fault_of(client)}"
            client.set_reg(C.NE1_REG_MMU_FAULT_CLEAR, 1)


def test_readonly_map():
    """a device write to memory that the client mapped read-only is a bus fault, not a write"""
    with probing() as probe:
        probe.client.dma_map(0x9_0000_0000, 0x1000, probe.memory.fd, 0x400000, flags=1)
        probe.put(0x400000, struct.pack("<I", 77))
        probe.tables.map(0x20000000, 0x9_0000_0000)
        assert probe.load(probe.window(0x20000000)) == 77
        probe.trap(STORE_FAULT, probe.store, probe.window(0x20000000), 1)
        assert fault_of(probe.client)["code"] == C.NE1_MMU_BUS
        assert probe.get(0x400000, "<I")[0] == 77


def test_translation_cache():
    """translations are cached until TLB_INV or AS_CTRL, absent ones are not; unmaps always count"""
    with probing() as probe:
        client, bus, va = probe.client, probe.BUS, 0x20000000
        for i, at in enumerate((0x400000, 0x401000)):
            probe.put(at, struct.pack("<I", 100 + i))
        probe.trap(LOAD_FAULT, probe.load, probe.window(va))
        probe.tables.map(va, bus + 0x400000)
        assert probe.load(probe.window(va)) == 100
        probe.tables.map(va, bus + 0x401000)
        assert probe.load(probe.window(va)) == 100	# this model caches
        client.set_reg(C.NE1_REG_MMU_TLB_INV, 1)
        wait_until(lambda: client.reg(C.NE1_REG_MMU_TLB_INV) & C.NE1_TLB_INV_BUSY == 0)
        assert probe.load(probe.window(va)) == 101
        probe.tables.map(va, bus + 0x400000)
        probe.store(0x20001008, 1)			# AS_CTRL of ASID 0
        assert probe.load(probe.window(va)) == 100
        client.dma_map(0x9_0000_0000, 0x1000, probe.memory.fd, 0x401000)
        probe.tables.map(0x20001000, 0x9_0000_0000)
        assert probe.load(probe.window(0x20001000)) == 101
        client.dma_unmap(0x9_0000_0000, 0x1000)
        probe.trap(LOAD_FAULT, probe.load, probe.window(0x20001000))


def test_address_map():
    """what is no TCM, register or window traps, so do narrow register accesses"""
    with probing() as probe:
        for address in (0, 0x0ffffffc, 0x10040000, 0x1ffffffc, 0x20003000, 0x7ffffffc):
            assert probe.trap(LOAD_FAULT, probe.load, address) == address
            assert probe.trap(STORE_FAULT, probe.store, address, 0) == address
        probe.trap(LOAD_FAULT, probe.load, C.NE1_MC_CTRL, 2)
        probe.trap(STORE_FAULT, probe.store, C.NE1_MC_CTRL, 0, 1)
        cores = probe.client.reg(C.NE1_REG_CAP_CORES)
        probe.trap(LOAD_FAULT, probe.load, C.NE1_MC_CORE0 + 0x100 * cores)
        assert probe.load(0x10000000) == 0x80000437		# lui s0, 0x80000
        assert probe.load(C.NE1_MC_CTRL + 0x100) == 0
        assert probe.load(C.NE1_MC_CAP_CORES) == probe.client.reg(C.NE1_REG_CAP_CORES)
        assert probe.load(C.NE1_MC_CAP_ASIDS) == probe.client.reg(C.NE1_REG_CAP_ASIDS)


# Interrupts and time.

def test_doorbells():
    """doorbells set their bit, and IRQ_PENDING; both are write-one-to-clear"""
    with probing() as probe:
        for queue in (0, 1, 5):
            probe.client.set_reg(doorbell(queue), 1)
        assert probe.load(C.NE1_MC_DB_PENDING_LO) == 0b100011
        assert probe.load(C.NE1_MC_IRQ_PENDING) & C.NE1_MC_IRQ_DOORBELL
        probe.store(C.NE1_MC_DB_PENDING_LO, 0b10)
        probe.store(C.NE1_MC_IRQ_PENDING, C.NE1_MC_IRQ_DOORBELL)
        assert probe.load(C.NE1_MC_DB_PENDING_LO) == 0b100001
        assert probe.load(C.NE1_MC_IRQ_PENDING) & C.NE1_MC_IRQ_DOORBELL == 0
        queues = probe.client.reg(C.NE1_REG_CAP_QUEUES)
        probe.client.set_reg(C.NE1_DOORBELL_BASE + 4, 1)	# not a doorbell
        if queues < 64:
            probe.client.set_reg(doorbell(queues), 1)
        assert (probe.load(C.NE1_MC_DB_PENDING_LO),
                probe.load(C.NE1_MC_DB_PENDING_HI)) == (0b100001, 0)


def test_host_interrupts():
    """HOST_IRQ: status always, a message if enabled, again although status is still set"""
    with probing() as probe:
        client = probe.client
        client.set_reg(C.NE1_REG_IRQ_STATUS, 0xf)
        for bit in range(4):
            probe.store(C.NE1_MC_HOST_IRQ, 1 << bit)
            assert probe.vectors[bit].wait() == 1
        assert client.reg(C.NE1_REG_IRQ_STATUS) == 0xf
        probe.store(C.NE1_MC_HOST_IRQ, 1)
        assert probe.vectors[0].wait() == 1
        client.set_reg(C.NE1_REG_IRQ_STATUS, 0b0101)
        assert client.reg(C.NE1_REG_IRQ_STATUS) == 0b1010
        client.set_reg(C.NE1_REG_IRQ_ENABLE, 0b1110)
        probe.store(C.NE1_MC_HOST_IRQ, 0b0011)
        assert probe.vectors[1].wait() == 1 and probe.vectors[0].wait(0) == 0
        assert client.reg(C.NE1_REG_IRQ_STATUS) == 0b1011


def test_interrupt_in_gap():
    """an interrupt that rises while vectors are being replaced is delivered afterwards"""
    with probing() as probe:
        probe.client.set_irqs(MSIX, TRIGGER | DATA_NONE, 0, 0)
        probe.store(C.NE1_MC_HOST_IRQ, 0b0001)
        assert probe.client.read(BAR1, 0x800, 1) == b"\1"
        probe.client.set_irqs(MSIX, TRIGGER | 4, 0, 4, [v.fd for v in probe.vectors])
        assert probe.vectors[0].wait() == 1


def cpu_seconds(server):
    with open(f"/proc/{server.proc.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_idle_costs_nothing():
    """firmware in WFI uses no processor time, also with a timer armed"""
    with probing() as probe:
        probe.store64(C.NE1_MC_TIMER_LO, 1 << 62)
        woken, before = probe.word(8), cpu_seconds(probe.server)
        time.sleep(0.5)
        assert probe.word(8) == woken
        assert cpu_seconds(probe.server) - before < 0.1


def test_timer():
    """the timer interrupt comes at its device time, once, also out of WFI"""
    with probing() as probe:
        now = probe.load64(C.NE1_MC_TIME_LO)
        probe.store(C.NE1_MC_IRQ_ENABLE, C.NE1_MC_IRQ_MBOX | C.NE1_MC_IRQ_TIMER)
        woken = probe.word(8)
        probe.store64(C.NE1_MC_TIMER_LO, now + 300_000_000)
        early = probe.load(C.NE1_MC_IRQ_PENDING) & C.NE1_MC_IRQ_TIMER
        assert not early or probe.load64(C.NE1_MC_TIME_LO) >= now + 300_000_000
        wait_until(lambda: probe.word(8) > woken + 100)		# its level keeps WFI awake
        assert probe.load64(C.NE1_MC_TIME_LO) >= now + 300_000_000
        probe.store(C.NE1_MC_IRQ_PENDING, C.NE1_MC_IRQ_TIMER)
        assert probe.load(C.NE1_MC_IRQ_PENDING) & C.NE1_MC_IRQ_TIMER == 0
        probe.store64(C.NE1_MC_TIMER_LO, 0)			# in the past: at once
        assert probe.load(C.NE1_MC_IRQ_PENDING) & C.NE1_MC_IRQ_TIMER


def test_watchdog():
    """the watchdog raises FATAL unless it is rewritten; 0 turns it off"""
    with probing() as probe:
        fatal = probe.vectors[3]
        for _ in range(10):
            probe.store(C.NE1_MC_WATCHDOG, 2000)
        probe.store(C.NE1_MC_WATCHDOG, 30)
        assert fatal.wait() == 1 and probe.client.reg(C.NE1_REG_IRQ_STATUS) & C.NE1_IRQ_FATAL
        # a busy machine may take longer than that from one to the other
        for ms in (100, 400, 1600, 6400):
            probe.store(C.NE1_MC_WATCHDOG, ms)
            probe.store(C.NE1_MC_WATCHDOG, 0)
            if fatal.wait(ms * 0.002) == 0:
                return
        raise AssertionError("the watchdog is not turned off")


def test_panic():
    """firmware's own panic code; a double fault is PANIC 0xff with FATAL"""
    with probing() as probe:
        probe.store(C.NE1_MC_BOOT_STATE, 0x1234505)
        assert probe.boot_status() == (C.NE1_BOOT_STATE_PANIC, 0x45)
        probe.reset()
        probe.boot()
        probe.store(0x10030000, 0x30501073)	# csrw mtvec, x0
        probe.store(0x10030004, 0x00000073)	# ecall
        probe.post(JUMP, 0x10030000)
        assert probe.vectors[3].wait() == 1
        assert probe.boot_status() == (C.NE1_BOOT_STATE_PANIC, 0xff)
        probe.reset()
        probe.boot()


# Compute cores.

LOAD = dma(C.NE1_OP_LD, 0, 0, 0, 256, signal=0)
STORE = dma(C.NE1_OP_ST, 0, 0x1000, 0, 256, wait=0)
# A job of more than 10 s, in commands of less than a millisecond.
MANY = [mm(0, 16384, 32768, 2048, 64, 64, same=True)] * 20000


def test_core_job():
    """a job copies memory, ends DONE, interrupts the management core and counts its traffic"""
    with probing() as probe:
        job = CoreJob(probe, [LOAD, STORE, END])
        probe.put(job.DATA, bytes(range(256)))
        assert job.run() == (C.NE1_CORE_DONE, C.NE1_FAULT_NONE)
        assert probe.memory.map[job.DATA + 0x1000:job.DATA + 0x1100] == bytes(range(256))
        assert probe.load(C.NE1_MC_IRQ_PENDING) & C.NE1_MC_IRQ_CORE
        assert job.reg(C.NE1_MC_CORE_RD_LO) >= 256 and job.reg(C.NE1_MC_CORE_WR_LO) == 256
        start = probe.load64(C.NE1_MC_CORE0 + C.NE1_MC_CORE_START_LO)
        assert 0 < start < probe.load64(C.NE1_MC_CORE0 + C.NE1_MC_CORE_END_LO)
        assert job.reg(C.NE1_MC_CORE_CYC_LO) > 0
        assert job.run() == (C.NE1_CORE_DONE, C.NE1_FAULT_NONE)


def test_core_scrub():
    """SRAM survives a job of the same ASID, SCRUB zeroes it"""
    with probing() as probe:
        probe.put(CoreJob.DATA, b"secret! " * 32)
        assert CoreJob(probe, [LOAD, END]).run()[0] == C.NE1_CORE_DONE
        leftover = CoreJob(probe, [dma(C.NE1_OP_ST, 0, 0x2000, 0, 256), END])
        assert leftover.run()[0] == C.NE1_CORE_DONE
        assert probe.memory.map[CoreJob.DATA + 0x2000:CoreJob.DATA + 0x2100] == b"secret! " * 32
        leftover.control(C.NE1_CORE_SCRUB)
        assert leftover.run()[0] == C.NE1_CORE_DONE
        assert probe.memory.map[CoreJob.DATA + 0x2000:CoreJob.DATA + 0x2100] == bytes(256)


def test_core_mmu_fault():
    """a core's MMU fault is in its registers, in MMU_FAULT and raises MMU"""
    with probing() as probe:
        job = CoreJob(probe, [LOAD, dma(C.NE1_OP_ST, 0, 0x100000, 0, 256, wait=0), END])
        assert job.run() == (C.NE1_CORE_FAULT, C.NE1_FAULT_MMU)
        va = job.VA_DATA + 0x100000
        assert probe.load64(C.NE1_MC_CORE0 + C.NE1_MC_CORE_FAULT_VA_LO) == va
        assert job.reg(C.NE1_MC_CORE_FAULT_CMD) == 1
        assert probe.vectors[2].wait() == 1
        assert fault_of(probe.client) == {"asid": 1, "write": 1, "unit": ST,
                                          "code": C.NE1_MMU_NOT_PRESENT, "va": va}
        assert probe.client.reg(C.NE1_REG_MMU_FAULT) == job.reg(C.NE1_MC_CORE_FAULT_INFO) | 1


def test_core_asid_disabled():
    """a job in a disabled address space faults with RANGE"""
    with probing() as probe:
        job = CoreJob(probe, [END])
        probe.store(C.NE1_MC_AS1 + 8, 0)
        assert job.run() == (C.NE1_CORE_FAULT, C.NE1_FAULT_MMU)
        assert fault_of(probe.client)["code"] == C.NE1_MMU_RANGE


def test_core_stop():
    """STOP ends a long job at the next command; START while one runs is ignored"""
    with probing() as probe:
        job = CoreJob(probe, MANY + [END])
        job.control(C.NE1_CORE_START)
        assert job.state() == C.NE1_CORE_RUNNING
        job.control(C.NE1_CORE_START | C.NE1_CORE_SCRUB)
        assert job.state() == C.NE1_CORE_RUNNING
        job.control(C.NE1_CORE_STOP)
        wait_until(lambda: job.state() != C.NE1_CORE_RUNNING)
        assert (job.state(), job.reg(C.NE1_MC_CORE_FAULT_CODE)) == (C.NE1_CORE_FAULT,
                                                                    C.NE1_FAULT_STOPPED)


def test_core_stop_at_once():
    """START and STOP back to back, 30 times: the job always ends STOPPED"""
    with probing() as probe:
        job = CoreJob(probe, MANY + [END])
        # The probe's code for both stores in one go, so that STOP meets the core's thread on its
        # way.
        for i, word in enumerate((0x20002337,	# lui t1, 0x20002
                                  0x00100393,	# li t2, 1
                                  0x00732023,	# sw t2, 0(t1)
                                  0x00200393,	# li t2, 2
                                  0x00732023)):	# sw t2, 0(t1)
            probe.store(0x10030000 + 4 * i, word)
        done = 0x10000000 + probe_done()
        probe.store(0x10030014, 0x00042303)	# lw t1, 0(s0)
        probe.store(0x10030018, jump(0x10030018, done))
        for _ in range(30):
            probe.request(JUMP, 0x10030000)
            wait_until(lambda: job.state() != C.NE1_CORE_RUNNING)
            assert (job.state(), job.reg(C.NE1_MC_CORE_FAULT_CODE)) == (C.NE1_CORE_FAULT,
                                                                        C.NE1_FAULT_STOPPED)


def probe_done():
    """Offset of the probe's `done:`, found by its first instruction pair."""
    code = assemble(SOURCE)
    return code.index(struct.pack("<II", 0x01f42a23, 0x0310000f))	# sw t6, 20(s0); fence rw, w


def jump(at, to):
    v = to - at & 0x1fffff
    low, high = v >> 1 & 0x3ff, v >> 12 & 0xff
    return 0x6f | high << 12 | (v >> 11 & 1) << 20 | low << 21 | v >> 20 << 31


def test_core_yield():
    """YIELD_REQ stops a job at its next YIELD, RESUME continues it, STOP abandons it"""
    with probing() as probe:
        job = CoreJob(probe, [LOAD, header(C.NE1_OP_YIELD) + bytes(56), STORE, END])
        probe.put(job.DATA, bytes(range(256)))
        probe.store(C.NE1_MC_CORE0 + C.NE1_MC_CORE_YIELD_REQ, 1)
        assert job.run()[0] == C.NE1_CORE_YIELDED
        assert probe.memory.map[job.DATA + 0x1000:job.DATA + 0x1004] == bytes(4)
        job.control(C.NE1_CORE_RESUME)
        wait_until(lambda: job.state() == C.NE1_CORE_DONE)
        assert probe.memory.map[job.DATA + 0x1000:job.DATA + 0x1100] == bytes(range(256))
        assert job.run()[0] == C.NE1_CORE_YIELDED
        job.control(C.NE1_CORE_STOP)
        assert (job.state(), job.reg(C.NE1_MC_CORE_FAULT_CODE)) == (C.NE1_CORE_FAULT,
                                                                    C.NE1_FAULT_STOPPED)


YIELD = header(C.NE1_OP_YIELD) + bytes(56)


def count(job, counter):
    return job.probe.load64(C.NE1_MC_CORE0 + 0x80 + 8 * counter)


def test_core_continue():
    """a yielded job makes room for another and goes on from POS, its profile describes the whole"""
    with probing() as probe:
        profile = CoreJob.VA_DATA + 0x8000
        job = CoreJob(probe, [LOAD, dma(C.NE1_OP_ST, 0, 0x1000, 0, 256, wait=0), YIELD,
                              LOAD, dma(C.NE1_OP_ST, 0, 0x2000, 0, 256, wait=0), YIELD, END])
        probe.put(job.DATA, bytes(range(256)))
        probe.store64(C.NE1_MC_CORE0 + C.NE1_MC_CORE_PROFILE_LO, profile)
        probe.store(C.NE1_MC_CORE0 + C.NE1_MC_CORE_YIELD_REQ, 1)
        assert job.run()[0] == C.NE1_CORE_YIELDED
        assert job.reg(C.NE1_MC_CORE_POS) == 3 and job.reg(C.NE1_MC_CORE_PROGRESS) == 3
        first = probe.get(job.DATA + 0x8000, "<13Q")
        assert first[10] == count(job, C.NE1_COUNT_COMMANDS) == 3
        assert count(job, C.NE1_COUNT_TLB_MISSES) >= 3
        start = probe.load64(C.NE1_MC_CORE0 + C.NE1_MC_CORE_START_LO)
        assert first[0] == start

        job.control(C.NE1_CORE_SCRUB)
        probe.store(C.NE1_MC_CORE0 + C.NE1_MC_CORE_STREAM_SIZE, 64)	# LOAD alone: runs off its end
        assert job.run() == (C.NE1_CORE_FAULT, C.NE1_FAULT_STREAM)
        assert job.reg(C.NE1_MC_CORE_POS) == 3

        probe.store(C.NE1_MC_CORE0 + C.NE1_MC_CORE_STREAM_SIZE, 7 * 64)
        job.control(C.NE1_CORE_SCRUB)
        for pos, commands in ((6, 3), (None, 1)):
            job.control(C.NE1_CORE_START | C.NE1_CORE_CONTINUE)
            wait_until(lambda: job.state() != C.NE1_CORE_RUNNING)
            assert job.state() == (C.NE1_CORE_YIELDED if pos else C.NE1_CORE_DONE)
            assert count(job, C.NE1_COUNT_COMMANDS) == commands
            assert job.reg(C.NE1_MC_CORE_POS) == (pos or 6)
        assert probe.memory.map[job.DATA + 0x2000:job.DATA + 0x2100] == bytes(range(256))
        whole = probe.get(job.DATA + 0x8000, "<13Q")
        assert whole[0] == start < probe.load64(C.NE1_MC_CORE0 + C.NE1_MC_CORE_START_LO)
        assert whole[10] == 7 and whole[8] == 512

        probe.store(C.NE1_MC_CORE0 + C.NE1_MC_CORE_POS, 7)
        job.control(C.NE1_CORE_START | C.NE1_CORE_CONTINUE)
        wait_until(lambda: job.state() != C.NE1_CORE_RUNNING)
        assert (job.state(), job.reg(C.NE1_MC_CORE_FAULT_CODE)) == (C.NE1_CORE_FAULT,
                                                                    C.NE1_FAULT_STREAM)
        assert job.run()[0] == C.NE1_CORE_YIELDED	# START alone begins at 0
        assert job.reg(C.NE1_MC_CORE_POS) == 3


def test_core_progress():
    """PROGRESS moves while commands start and stands still afterwards"""
    with probing() as probe:
        job = CoreJob(probe, MANY + [END])
        job.control(C.NE1_CORE_START)
        seen = job.reg(C.NE1_MC_CORE_PROGRESS)
        wait_until(lambda: job.reg(C.NE1_MC_CORE_PROGRESS) > seen + 10)
        job.control(C.NE1_CORE_STOP)
        wait_until(lambda: job.state() != C.NE1_CORE_RUNNING)
        seen = job.reg(C.NE1_MC_CORE_PROGRESS)
        assert seen == job.reg(C.NE1_MC_CORE_PROGRESS) == count(job, C.NE1_COUNT_COMMANDS)


def test_socket_never_waits():
    """registers answer promptly while a job computes, and an unmap waits for one command only"""
    with probing() as probe:
        job = CoreJob(probe, MANY + [END])
        job.control(C.NE1_CORE_START)
        took = []
        for _ in range(300):
            before = time.monotonic()
            probe.client.reg(C.NE1_REG_TIME_LO)
            took.append(time.monotonic() - before)
        took.sort()
        # a busy machine delays a few of them
        assert took[270] < 0.5, f"register reads took {took[0]:.3f} to {took[-1]:.3f} s"
        probe.client.dma_unmap(0x5_0000_0000, 0x1000)
        # neither has waited for its end
        assert job.state() == C.NE1_CORE_RUNNING, "the job was too short to show anything"
        probe.client.set_reg(C.NE1_REG_RESET, 1)
        wait_until(lambda: probe.client.reg(C.NE1_REG_RESET) == 0)


def test_unmap_under_job():
    """memory unmapped under a running job: the job faults with BUS, the device lives on"""
    with probing() as probe:
        job = CoreJob(probe, [dma(C.NE1_OP_LD, 0, 0x8000, 0, 4096, rows=1000, same=True)] * 30000 + [END])
        probe.client.dma_unmap(probe.BUS + job.DATA, 0x100000)
        probe.client.dma_map(probe.BUS + job.DATA, 0x100000, probe.memory.fd, job.DATA)
        job.control(C.NE1_CORE_START)
        assert job.state() == C.NE1_CORE_RUNNING
        probe.client.dma_unmap(probe.BUS + job.DATA, 0x100000)
        wait_until(lambda: job.state() != C.NE1_CORE_RUNNING)
        assert (job.state(), job.reg(C.NE1_MC_CORE_FAULT_CODE)) == (C.NE1_CORE_FAULT,
                                                                    C.NE1_FAULT_MMU)
        assert fault_of(probe.client)["code"] == C.NE1_MMU_BUS
        assert fault_of(probe.client)["unit"] == LD


def test_reset_under_job():
    """reset while a job runs: quiet, state and SRAM gone, firmware boots again"""
    with probing() as probe:
        probe.put(CoreJob.DATA, b"secret! " * 32)
        job = CoreJob(probe, [LOAD] + MANY + [END])
        for _ in range(3):
            job.control(C.NE1_CORE_START)
            assert job.state() == C.NE1_CORE_RUNNING
            probe.reset()
            probe.boot()
            assert probe.load(C.NE1_MC_CORE0 + C.NE1_MC_CORE_STATE) == C.NE1_CORE_IDLE
            assert probe.load(C.NE1_MC_AS1 + 8) == 0
            assert probe.load(C.NE1_MC_IRQ_PENDING) & C.NE1_MC_IRQ_CORE == 0
            job = CoreJob(probe, [dma(C.NE1_OP_ST, 0, 0x2000, 0, 256), END])
            assert job.run()[0] == C.NE1_CORE_DONE
            assert probe.memory.map[CoreJob.DATA + 0x2000:CoreJob.DATA + 0x2100] == bytes(256)
            job = CoreJob(probe, [LOAD] + MANY + [END])


def test_tlb_busy():
    """TLB_INV under a running job ends by itself"""
    with probing() as probe:
        job = CoreJob(probe, MANY + [END])
        job.control(C.NE1_CORE_START)
        for _ in range(20):
            probe.client.set_reg(C.NE1_REG_MMU_TLB_INV, 1)
            wait_until(lambda: probe.client.reg(C.NE1_REG_MMU_TLB_INV) & C.NE1_TLB_INV_BUSY == 0)
        assert job.state() == C.NE1_CORE_RUNNING


def test_trace():
    """--trace writes events with device time"""
    with tempfile.NamedTemporaryFile("r") as file:
        with probing("--trace", file.name) as probe:
            assert CoreJob(probe, [END]).run()[0] == C.NE1_CORE_DONE
        lines = file.read().splitlines()
    assert any("boot state=2" in line for line in lines)
    assert any("core0 ctrl=0x1" in line for line in lines)
    assert all(int(line.split()[0]) >= 0 for line in lines)


if __name__ == "__main__":
    tap.main(__name__)
