#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every fault of npusim, armed through the control socket and through the debug window, and seen by a
host; afterwards the device works again.
"""
import contextlib
import os
import struct
import tempfile
import time

import tap
import vfio
from faultctl import FAULTS, Control, SocketPath, WindowPath
from fwjob import COPY, JobHost, Queue
from ne1 import C, ROOT
from probe import END, dma, mm
from vfio import LIMIT, Client, Closed, serving, wait_until

IMAGE = os.path.join(os.environ.get("O", "build"), "firmware", "npuedge-ne1.fw")
LONG = [mm(0, 16384, 32768, 64, 64, 64)] * 4000 + [END]
CASES = {}


def image():
    with open(IMAGE, "rb") as file:
        return file.read()


class Rig:
    """A device with the control path of choice."""

    def __init__(self, server, client, control, kind):
        self.server, self.client, self.control = server, client, control
        self.path = kind(control, client)
        self.host = JobHost(client)

    def boot(self):
        self.host.boot(image())

    def queue(self, index=0):
        return Queue(self.host, index)

    def arm(self, fault, **args):
        self.path.arm(fault, **args)

    def fired(self, fault):
        return self.path.status(fault)[3]

    def beats(self, seconds):
        before = self.host.u32(128 + 12)
        time.sleep(seconds)
        return self.host.u32(128 + 12) - before

    def alive(self):
        """Firmware goes on, sooner or later on a busy machine."""
        before = self.host.u32(128 + 12)
        wait_until(lambda: self.host.u32(128 + 12) != before)

    def stands_still(self):
        """Firmware does not, once what was going on has ended: a heartbeat comes every 50 ms otherwise."""
        wait_until(lambda: self.beats(0.3) == 0)

    def no_event(self, seconds=0.25):
        """No message comes."""
        try:
            got = self.host.event(seconds)
        except TimeoutError:
            return
        raise AssertionError(f"message {got}")

    def quiet(self):
        """Forget interrupts so far."""
        for vector in self.host.vectors:
            vector.wait(0)


@contextlib.contextmanager
def rig(kind=SocketPath, *options):
    with tempfile.TemporaryDirectory(prefix="npusim-ctl-") as directory:
        path = os.path.join(directory, "control")
        with serving("--control", path, "--debug-window", *options) as server:
            wait_until(lambda: os.path.exists(path))
            control = Control(path, timeout=LIMIT)
            try:
                with Client(server.path) as client:
                    r = Rig(server, client, control, kind)
                    with r.host:
                        yield r
            finally:
                control.close()
        assert not os.path.exists(path), "the control socket was left"


def case(fault):
    """A test of `fault` for each control path."""
    def register(function):
        CASES[fault] = function
        for kind in (SocketPath, WindowPath):
            def test(kind=kind):
                with rig(kind) as r:
                    function(r)
                    if fault == "removal":
                        return
                    assert r.fired(fault) >= 1, "nothing was counted"
                    works_again(r)
            test.__doc__ = f"{fault} by {kind.name}"
            test.__name__ = f"test_{fault.replace('-', '_')}_{kind.name}"
            globals()[test.__name__] = test
        return function
    return register


def works_again(r):
    r.path.disarm_all()
    r.host.reboot(image())
    r.queue().copy_works()


# Firmware and boot.

@case("fw-hang")
def _(r):
    r.boot()
    r.alive()
    r.arm("fw-hang")
    r.stands_still()
    assert r.host.vectors[3].wait() == 1, "the watchdog did not bite"
    r.path.disarm("fw-hang")
    r.alive()
    r.quiet()			# it may have bitten again before
    r.arm("fw-hang", watchdog=0)
    assert r.host.vectors[3].wait(1.3) == 0, "the watchdog bites though it is stopped"
    r.path.disarm("fw-hang")
    r.alive()
    r.arm("fw-hang", watchdog=0, duration_us=400000)
    time.sleep(0.5)
    r.alive()


@case("fw-slow")
def _(r):
    r.boot()

    def ping_seconds():
        start = time.monotonic()
        r.host.call(C.NE1_CMD_PING)
        return time.monotonic() - start

    fast = min(ping_seconds() for _ in range(20))	# of several: other processes run as well
    # slow enough to be seen, not so slow (for sanitizers slow it too) that the watchdog bites
    for factor in (100, 300, 1000, 3000):
        r.arm("fw-slow", factor=factor)
        slow = min(ping_seconds() for _ in range(5))
        if slow > 3 * fast and slow > 0.005:
            break
        r.path.disarm("fw-slow")
    else:
        raise AssertionError(f"{factor} times slower: {fast} s and {slow} s")
    r.alive()


@case("fw-crash")
def _(r):
    r.boot()
    r.arm("fw-crash")
    assert r.host.vectors[3].wait() == 1
    state, error = r.host.boot_status()
    assert state == C.NE1_BOOT_STATE_PANIC and error != 0xff, (state, error)
    r.host.reboot(image())
    r.arm("fw-crash", double=1)
    assert r.host.vectors[3].wait() == 1
    assert r.host.boot_status() == (C.NE1_BOOT_STATE_PANIC, 0xff)


@case("heartbeat-stuck")
def _(r):
    r.boot()
    r.arm("heartbeat-stuck")
    r.stands_still()
    assert r.host.call(C.NE1_CMD_PING) == C.NE1_MSG_OK


def refused_boot(r, error):
    assert r.host.boot_result(image()) == (C.NE1_BOOT_STATE_FAILED, error)


@case("boot-magic")
def _(r):
    r.arm("boot-magic")
    refused_boot(r, C.NE1_BOOT_ERR_MAGIC)


@case("boot-truncated")
def _(r):
    r.arm("boot-truncated", bytes=64)
    refused_boot(r, C.NE1_BOOT_ERR_HASH)


@case("boot-copy-fail")
def _(r):
    r.arm("boot-copy-fail")
    refused_boot(r, C.NE1_BOOT_ERR_DMA)


@case("boot-error")
def _(r):
    r.arm("boot-error", error=C.NE1_BOOT_ERR_KEY)
    refused_boot(r, C.NE1_BOOT_ERR_KEY)


@case("boot-abi")
def _(r):
    r.arm("boot-abi", major=7, minor=3)
    r.boot()
    assert r.host.u32(128) == 7 | 3 << 16

    # what came with 1.1 (words of a queue's line among it) and with 1.2
    for minor, counters, hold in ((0, C.NE1_MSG_BAD_TYPE, C.NE1_MSG_BAD_TYPE), (1, C.NE1_MSG_OK, C.NE1_MSG_BAD_TYPE),
                                  (2, C.NE1_MSG_OK, C.NE1_MSG_OK)):
        r.arm("boot-abi", major=1, minor=minor)
        r.host.reboot(image())
        assert r.host.u32(128) == 1 | minor << 16
        assert r.host.call(C.NE1_CMD_COUNTERS, 1) == counters, minor
        assert r.host.call(C.NE1_CMD_HOLD, 1) == hold, minor
        assert r.host.call(C.NE1_CMD_HOLD, 0) == hold, minor
        queue = r.queue()
        queue.submit(LONG)
        queue.wait_started()
        if minor:
            wait_until(lambda line=queue.line: r.host.get(line + 64 + 40, "<QI") == (1, 1))
        else:
            assert r.host.get(queue.line + 64 + 36, "<IQI") == (0, 0, 0)
        assert r.host.call(C.NE1_CMD_QUEUE_RESET, 0) == C.NE1_MSG_OK
        queue.copy_works()


@case("boot-not-ready")
def _(r):
    r.arm("boot-not-ready")
    r.host.start(image())
    wait_until(lambda: r.host.u32(128 + 8) == 1)		# firmware runs
    time.sleep(0.1)
    assert r.host.boot_status() == (C.NE1_BOOT_STATE_STARTED, 0)


@case("boot-stuck")
def _(r):
    r.arm("boot-stuck", duration_us=300000)
    start = time.monotonic()
    r.host.start(image())
    assert r.host.boot_status()[0] == C.NE1_BOOT_STATE_LOADING or time.monotonic() - start > 0.25
    r.host.wait_state(C.NE1_BOOT_STATE_READY)
    assert time.monotonic() - start > 0.25
    r.host.reset()
    r.arm("boot-stuck")
    r.host.start(image())
    time.sleep(0.2)
    assert r.host.boot_status()[0] == C.NE1_BOOT_STATE_LOADING


@case("reset-stuck")
def _(r):
    r.boot()
    r.arm("reset-stuck", duration_us=300000)
    start = time.monotonic()
    r.host.reset()
    assert time.monotonic() - start > 0.25
    r.arm("reset-stuck")
    r.client.set_reg(C.NE1_REG_RESET, 1)
    time.sleep(0.2)
    assert r.client.reg(C.NE1_REG_RESET) == 1


# Messages and results.

@case("evt-garbage")
def _(r):
    r.boot()
    ping = r.host.command
    for what, index in ((1, 0), (2, 2), (3, 3)):
        r.arm("evt-garbage", what=what, value=0x4321)
        ping(C.NE1_CMD_PING)
        assert r.host.event()[index] == 0x4321, what
    r.arm("evt-garbage", what=5)
    last = ping(C.NE1_CMD_PING) - 1
    assert r.host.event()[:3] == (C.NE1_EVT_REPLY, 0, last), "not the stale one"
    r.arm("evt-garbage", what=4)
    sent = ping(C.NE1_CMD_PING)
    assert r.host.event()[2] == sent
    r.arm("evt-garbage", type=C.NE1_EVT_REPLY)
    sent = ping(C.NE1_CMD_PING)
    assert r.host.event()[:3] != (C.NE1_EVT_REPLY, 0, sent)
    r.arm("evt-garbage", what=6, value=1000)
    before = r.host.u32(r.host.EVT_CTL)
    ping(C.NE1_CMD_PING)
    wait_until(lambda: r.host.u32(r.host.EVT_CTL) == before + 1001)


@case("evt-inject")
def _(r):
    r.boot()
    r.quiet()
    r.arm("evt-inject", type=C.NE1_EVT_QUEUE_FAULT, queue=3, id=9, status=2)
    got = r.host.event()[:4]
    assert got == (C.NE1_EVT_QUEUE_FAULT, 2, 9, 3), got
    assert r.host.vectors[1].wait() >= 1
    for _ in range(40):			# through the wrap, with the rings apart
        assert r.host.call(C.NE1_CMD_PING) == C.NE1_MSG_OK


@case("evt-flood")
def _(r):
    r.boot()
    r.arm("evt-flood", messages=10)
    for _ in range(10):
        assert r.host.event()[0] == C.NE1_EVT_REPLY
    for _ in range(20):
        assert r.host.call(C.NE1_CMD_PING) == C.NE1_MSG_OK
    r.arm("evt-flood", messages=1000)
    # what is read while the flood still comes makes room for more of it
    wait_until(lambda: r.host.u32(r.host.EVT_CTL) - r.host.read_events == r.host.ENTRIES)
    r.alive()
    for _ in range(r.host.ENTRIES):
        r.host.event()
    r.no_event(0.1)
    r.arm("evt-flood", messages=100, overrun=1)
    wait_until(lambda: r.host.u32(r.host.EVT_CTL) - r.host.read_events == 100)
    r.alive()


@case("reply-lost")
def _(r):
    r.boot()
    r.arm("reply-lost", command=C.NE1_CMD_LOG_LEVEL, count=2)
    assert r.host.call(C.NE1_CMD_PING) == C.NE1_MSG_OK
    for _ in range(2):
        r.host.command(C.NE1_CMD_LOG_LEVEL, C.NE1_LOG_WARN)
        r.no_event()
    for _ in range(40):
        assert r.host.call(C.NE1_CMD_PING) == C.NE1_MSG_OK


@case("reply-duplicated")
def _(r):
    r.boot()
    r.arm("reply-duplicated")
    sent = r.host.command(C.NE1_CMD_PING)
    assert [r.host.event()[2] for _ in range(2)] == [sent, sent]
    for _ in range(40):
        assert r.host.call(C.NE1_CMD_PING) == C.NE1_MSG_OK


@case("reply-reordered")
def _(r):
    r.boot()
    r.arm("reply-reordered", duration_us=5000000)
    first = r.host.command(C.NE1_CMD_PING)
    r.no_event(0.1)
    second = r.host.command(C.NE1_CMD_PING)
    assert [r.host.event()[2] for _ in range(2)] == [second, first]
    r.arm("reply-reordered", duration_us=100000)
    assert r.host.call(C.NE1_CMD_PING) == C.NE1_MSG_OK	# nothing follows: it comes after all
    for _ in range(40):
        assert r.host.call(C.NE1_CMD_PING) == C.NE1_MSG_OK


@case("reply-late")
def _(r):
    r.boot()
    # a busy machine may look when it is already time for the late one
    for us in (400000, 1600000, 6400000):
        r.arm("reply-late", duration_us=us)
        start = time.monotonic()
        want = [r.host.command(C.NE1_CMD_PING) for _ in range(2)][::-1]
        got = [r.host.event()[2]]
        r.quiet()
        in_time = time.monotonic() - start < 0.9e-6 * us
        got.append(r.host.event()[2])
        assert time.monotonic() - start > 0.9e-6 * us
        if in_time:
            assert got == want and r.host.vectors[1].wait() == 1
            break
    else:
        raise AssertionError("this machine is too busy")
    for _ in range(40):
        assert r.host.call(C.NE1_CMD_PING) == C.NE1_MSG_OK


@case("reply-status")
def _(r):
    r.boot()
    r.arm("reply-status", status=255, after=1)
    assert [r.host.call(C.NE1_CMD_PING) for _ in range(3)] == [0, 255, 0]


@case("done-wrong")
def _(r):
    r.boot()
    queue = r.queue()
    r.arm("done-wrong", queue=0, delta=0x5_0000_0001)
    queue.submit(COPY)
    wait_until(lambda: queue.done() == 0x5_0000_0002)


@case("result-status")
def _(r):
    r.boot()
    queue = r.queue()
    r.arm("result-status", queue=0, code=200, after=1)
    assert [queue.run(COPY)["fault"] for _ in range(3)] == [0, 200, 0]


@case("scribble")
def _(r):
    r.boot()
    queue = r.queue()
    before = r.host.u32(r.host.EVT_CTL)
    r.arm("scribble", what=1, rate=5000, duration_us=200000)
    wait_until(lambda: r.host.u32(r.host.EVT_CTL) != before)
    for what, at, size in ((4, queue.line + 64, 8), (8, queue.line + 72, 8),
                           (16, r.host.SHARED + queue.results, 64 * queue.ENTRIES),
                           (32, r.host.SHARED + r.host.LOG_CTL, 4),
                           (64, r.host.SHARED + 128, 16)):
        old = r.host.memory.map[at:at + size]
        r.arm("scribble", what=what, rate=20000, queue=0, duration_us=500000)
        wait_until(lambda: r.host.memory.map[at:at + size] != old)
    wait_until(lambda: not r.path.status("scribble")[1])


# Doorbells and interrupts.

@case("doorbell-lost")
def _(r):
    r.boot()
    queues = [r.queue(0), r.queue(1)]
    r.arm("doorbell-lost", queue=1)
    queues[0].copy_works()
    queues[1].submit(COPY)
    time.sleep(0.2)
    assert queues[1].done() == 0
    queues[1].ring_doorbell()
    assert queues[1].wait()["fault"] == 0


@case("mbox-lost")
def _(r):
    r.boot()
    r.arm("mbox-lost", count=5)
    start = time.monotonic()
    for _ in range(5):			# firmware finds it when the next heartbeat wakes it
        assert r.host.call(C.NE1_CMD_PING) == C.NE1_MSG_OK
    assert time.monotonic() - start > 0.05
    wait_until(lambda: r.fired("mbox-lost") == 5)


@case("irq-lost")
def _(r):
    r.boot()
    queue = r.queue()
    r.quiet()
    r.client.set_reg(C.NE1_REG_IRQ_STATUS, 0xf)
    r.arm("irq-lost", vector=0)
    queue.copy_works()
    assert r.host.vectors[0].wait(0.2) == 0
    assert r.client.reg(C.NE1_REG_IRQ_STATUS) & C.NE1_IRQ_QUEUE
    queue.copy_works()
    assert r.host.vectors[0].wait() == 1


@case("irq-wrong-vector")
def _(r):
    r.boot()
    queue = r.queue()
    r.quiet()
    r.arm("irq-wrong-vector", vector=0, to=2)
    queue.copy_works()
    assert r.host.vectors[2].wait() == 1 and r.host.vectors[0].wait(0.1) == 0


@case("irq-late")
def _(r):
    r.boot()
    queue = r.queue()
    r.quiet()
    r.arm("irq-late", vector=0, duration_us=300000)
    start = time.monotonic()
    queue.copy_works()
    early = r.host.vectors[0].wait(0)
    assert not early or time.monotonic() - start > 0.25, "the job's end came with its interrupt"
    assert early + r.host.vectors[0].wait(0 if early else LIMIT) == 1
    assert time.monotonic() - start > 0.25


@case("irq-early")
def _(r):
    r.boot()
    queue = r.queue()
    r.quiet()
    r.arm("irq-early", duration_us=300000)
    start = time.monotonic()
    queue.submit(COPY)
    assert r.host.vectors[0].wait() >= 1
    assert queue.done() == 0 or time.monotonic() - start > 0.25, "the interrupt was not early"
    assert queue.wait()["fault"] == 0 and time.monotonic() - start > 0.2
    assert r.host.vectors[0].wait() >= 1


@case("irq-spurious")
def _(r):
    r.boot()
    r.quiet()
    r.client.set_reg(C.NE1_REG_IRQ_STATUS, 0xf)
    r.arm("irq-spurious", vector=2)
    assert r.host.vectors[2].wait() == 1
    assert r.client.reg(C.NE1_REG_IRQ_STATUS) & C.NE1_IRQ_MMU == 0


@case("irq-storm")
def _(r):
    r.boot()
    r.quiet()
    for _ in range(5):			# a busy machine may not be fast enough
        r.arm("irq-storm", vector=2, rate=2000, duration_us=500000)
        count, end = 0, time.monotonic() + LIMIT
        while time.monotonic() < end:
            got = r.host.vectors[2].wait(0.4)
            count += got
            if count and not got:
                break
        else:
            raise AssertionError("the storm goes on")
        assert count <= 1001, count
        if count >= 200:
            return
    raise AssertionError(f"{count} interrupts are no storm")


# Memory.

def mmu_fault(r, fault, code, command, **args):
    """Of two queues only the second one's address space is concerned."""
    r.boot()
    queues = [r.queue(0), r.queue(1)]
    r.arm(fault, queue=1, **args)
    queues[0].copy_works()
    result = queues[1].run(COPY)
    assert (result["fault"], result["code"]) == (C.NE1_FAULT_MMU, code), result
    assert result["cmd"] == command, result
    queues[0].copy_works()
    return result


@case("dma-fault")
def _(r):
    assert mmu_fault(r, "dma-fault", C.NE1_MMU_BUS, 0, va=Queue.DATA_VA)["va"] == Queue.DATA_VA


@case("mmu-invalid")
def _(r):
    va = Queue.DATA_VA + 0x1000
    assert mmu_fault(r, "mmu-invalid", C.NE1_MMU_NOT_PRESENT, 1, va=va)["va"] == va


@case("mmu-permission")
def _(r):
    va = Queue.DATA_VA + 0x1000
    assert mmu_fault(r, "mmu-permission", C.NE1_MMU_READ_ONLY, 1)["va"] == va


@case("mmu-storm")
def _(r):
    mmu_fault(r, "mmu-storm", C.NE1_MMU_NOT_PRESENT, 0)
    assert r.path.status("mmu-storm")[0], "it is disarmed"


@case("walk-error")
def _(r):
    mmu_fault(r, "walk-error", C.NE1_MMU_BUS, 0, va=Queue.DATA_VA)


@case("tlb-stale")
def _(r):
    r.boot()
    queue = r.queue()
    queue.copy_works()
    other = queue.data + 0x2000
    r.host.put(other, b"B" * 256)
    r.host.put(queue.data, b"A" * 256)

    def read_after_remap():
        queue.tables.map(queue.DATA_VA, r.host.BUS + other)
        r.client.set_reg(C.NE1_REG_MMU_TLB_INV, 1)
        assert queue.run(COPY)["fault"] == 0
        return bytes(r.host.memory.map[queue.data + 0x1000:queue.data + 0x1001])

    r.arm("tlb-stale")
    assert read_after_remap() == b"A"
    assert read_after_remap() == b"B"


@case("stray-write")
def _(r):
    r.boot()
    queue = r.queue()
    r.arm("stray-write", queue=0, duration_us=100000, value=0x1122334455667788)
    queue.copy_works()
    stray = struct.pack("<Q", 0x1122334455667788) * 8
    at = queue.data + 0x1000
    wait_until(lambda: r.host.memory.map[at:at + 64] == stray)
    r.arm("stray-write", bus=r.host.BUS + queue.data + 0x8000, value=5)
    queue.copy_works()
    at = queue.data + 0x8000
    wait_until(lambda: r.host.memory.map[at:at + 64] == struct.pack("<Q", 5) * 8)


# Compute cores.

@case("cmd-bitflip")
def _(r):
    r.boot()
    queue = r.queue()
    r.arm("cmd-bitflip", command=1, bit=0)
    result = queue.run(COPY)
    assert (result["fault"], result["cmd"]) == (C.NE1_FAULT_OPCODE, 1), result


@case("output-bitflip")
def _(r):
    r.boot()
    queue = r.queue()
    pattern = bytes(range(256))
    r.host.put(queue.data, pattern)
    r.arm("output-bitflip", core=0)
    assert queue.run(COPY)["fault"] == 0
    got = r.host.memory.map[queue.data + 0x1000:queue.data + 0x1100]
    wrong = sum(bin(a ^ b).count("1") for a, b in zip(got, pattern))
    assert wrong == 1, f"{wrong} bits differ"


@case("ecc-corrected")
def _(r):
    r.boot()
    r.arm("ecc-corrected", count=2)
    r.queue().copy_works()
    assert r.fired("ecc-corrected") == 2


@case("ecc-uncorrected")
def _(r):
    r.boot()
    queue = r.queue()
    r.arm("ecc-uncorrected", engine=1)
    result = queue.run(COPY)
    assert (result["fault"], result["cmd"]) == (C.NE1_FAULT_ECC, 1), result


def not_reset(r):
    """The queue's reset does not succeed: firmware says that the core hangs, or nothing."""
    r.host.command(C.NE1_CMD_QUEUE_RESET, 0)
    try:
        got = r.host.event(0.3)
    except TimeoutError:
        return
    assert got[0] == C.NE1_EVT_REPLY and got[1] != C.NE1_MSG_OK, got


@case("engine-stuck")
def _(r):
    r.boot()
    queue = r.queue()
    r.arm("engine-stuck", engine=1, obeys_stop=1)
    queue.submit(COPY)
    queue.wait_started()
    r.alive()
    assert queue.done() == 0
    assert r.host.call(C.NE1_CMD_QUEUE_RESET, 0) == C.NE1_MSG_OK
    r.arm("engine-stuck", engine=0, duration_us=200000)
    start = time.monotonic()
    assert queue.run(COPY)["fault"] == 0 and time.monotonic() - start > 0.15
    r.arm("engine-stuck")
    queue.submit(COPY)
    wait_until(lambda: r.fired("engine-stuck") == 1)
    not_reset(r)


@case("stop-ignored")
def _(r):
    r.boot()
    queue = r.queue()
    r.arm("stop-ignored", count=0)
    r.arm("engine-stuck", obeys_stop=1)
    queue.submit(LONG)
    wait_until(lambda: r.fired("engine-stuck") == 1)
    not_reset(r)


LOADS = [dma(C.NE1_OP_LD, 0, 0, 0, 65536)] * 8 + [END]


@case("clock-slow")
def _(r):
    r.boot()
    queue = r.queue()
    compute = [mm(0, 16384, 32768, 64, 64, 64)] * 50 + [END]
    khz, ns = r.client.reg(C.NE1_REG_FREQ), queue.run(compute)["ns"]
    r.arm("clock-slow", permille=50)
    assert r.client.reg(C.NE1_REG_FREQ) == khz // 20
    slow = queue.run(compute)["ns"]
    assert 10 * ns < slow < 30 * ns, (ns, slow)
    r.path.disarm("clock-slow")
    assert r.client.reg(C.NE1_REG_FREQ) == khz


@case("dram-slow")
def _(r):
    r.boot()
    queue = r.queue()
    ns = queue.run(LOADS)["ns"]
    r.arm("dram-slow", permille=100, jitter=100)
    slow = queue.run(LOADS)["ns"]
    assert 7 * ns < slow < 13 * ns, (ns, slow)


# Link.

@case("mmio-ones")
def _(r):
    r.boot()
    r.arm("mmio-ones", offset=C.NE1_REG_BOOT_STATUS, size=4)
    assert r.client.reg(C.NE1_REG_BOOT_STATUS) == 0xffffffff
    assert r.client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC
    r.client.call(vfio.DEVICE_RESET)
    assert r.client.reg(C.NE1_REG_BOOT_STATUS) == 0xffffffff
    r.arm("mmio-ones", bus=1)
    assert r.client.reg(C.NE1_REG_ID) == 0xffffffff
    r.client.call(vfio.DEVICE_RESET)
    assert r.client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC


@case("removal")
def _(r):
    r.boot()
    r.arm("removal", on="mmio-read", key=C.NE1_REG_FREQ)
    assert r.client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC
    try:
        r.client.reg(C.NE1_REG_FREQ)
        r.client.reg(C.NE1_REG_FREQ)
    except (Closed, BrokenPipeError):
        pass
    else:
        raise AssertionError("the device is still there")
    with Client(r.server.path) as client:		# it can be plugged in again
        assert client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC


@case("stall")
def _(r):
    r.boot()
    r.arm("stall", duration_us=400000)
    start = time.monotonic()
    r.client.reg(C.NE1_REG_ID)
    # by the window the write of CMD and the read of STATUS are part of it
    assert time.monotonic() - start > 0.3 or r.path.name == "window"


def test_a_crash_is_disarmed_before_it_happens():
    """What the core has not come to while it is held does not hit the firmware that is started next."""
    for kind in (SocketPath, WindowPath):
        with rig(kind) as r:
            r.arm("boot-stuck")
            r.host.start(image())
            r.arm("fw-crash")
            wait_until(lambda: r.fired("fw-crash") == 1)
            r.path.disarm("fw-crash")
            r.path.disarm("boot-stuck")
            r.host.wait_state(C.NE1_BOOT_STATE_READY)
            r.alive()
            assert r.host.boot_status() == (C.NE1_BOOT_STATE_READY, 0)


def test_every_fault():
    """every fault of the table has a test and is in the manual, the header has the same names and numbers"""
    with rig() as r:
        listed = {f["fault"]: f["number"] for f in r.control.request("list")["faults"]}
    assert listed == FAULTS, set(listed.items()) ^ set(FAULTS.items())
    assert sorted(listed) == sorted(CASES), set(listed) ^ set(CASES)
    with open(os.path.join(ROOT, "tools", "npusim", "npusim.1"), encoding="ascii") as file:
        manual = file.read().replace("\\-", "-")
    missing = [fault for fault in listed if f"\n.B {fault}\n" not in manual]
    assert not missing, f"not in npusim(1): {missing}"


if __name__ == "__main__":
    tap.main(__name__)
