#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The firmware with real compute cores: npusim runs image and command streams, this is the host."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "npusim"))

import tap  # noqa: E402
from fwif import FirmwareHost  # noqa: E402
from ne1 import C, PageTables, doorbell  # noqa: E402
from vfio import Client, serving, wait_until  # noqa: E402

IMAGE = os.path.join(os.environ.get("O", "build"), "firmware", "npuedge-ne1.fw")

ENTRIES = 16
JOB, RESULT = 128, 64
STREAM, PARAMS, DATA, BIG = 0x40000000, 0x40100000, 0x40200000, 0x41000000  # VAs of every VM
NONE = 0xff


def header(opcode, wait=NONE, signal=NONE):
    return struct.pack("<BB2xBBBB", opcode, 0, wait, NONE, signal, NONE)


def end():
    return header(C.NE1_OP_END).ljust(64, b"\0")


def dma(opcode, offset, size, sram=0, rows=1, wait=NONE, signal=NONE):
    return header(opcode, wait, signal) + struct.pack(
        "<QIIQIIHBBB3xi12x", offset, 0, size, 0, sram, 0, rows, 0, NONE, NONE, 0)


def copy(source, target, size):
    return (dma(C.NE1_OP_LD, source, size, signal=0) + dma(C.NE1_OP_ST, target, size, wait=0) + end())


class Vm:
    """An address space with a page each for stream, parameters and data (DATA is base 0)."""

    def __init__(self, host, number):
        self.number = number
        self.tables = PageTables(host.memory, host.BUS, host.take_page)
        self.pages = {}
        for va in (STREAM, PARAMS, DATA):
            self.pages[va] = host.take_page()
            self.tables.map(va, host.BUS + self.pages[va])
        host.put(self.pages[PARAMS], struct.pack("<Q", DATA).ljust(256, b"\0"))


class Queue:
    def __init__(self, host, index, vm, priority=2, timeslice_us=0):
        self.host, self.index, self.vm, self.tail = host, index, vm, 0
        self.record = host.SHARED + host.QUEUE_TABLE + 128 * index
        self.ring = host.FREE + 0x1000 * index
        self.results = host.FREE + 0x8000 + 0x1000 * index
        body = struct.pack("<QIIQQIIQ", host.BUS + vm.tables.root, vm.number, priority, self.ring,
                           self.results, ENTRIES, timeslice_us, 0)
        assert host.call(C.NE1_CMD_QUEUE_CREATE, index, body) == C.NE1_MSG_OK

    def push(self, stream, size=None, param=PARAMS, profile=0, cores=1):
        if stream is not None:
            self.host.put(self.vm.pages[STREAM], stream)
            size = len(stream)
        streams = struct.pack("<QII", STREAM if stream is not None else BIG, size, 0) * cores
        job = struct.pack("<QIIQQ", self.tail + 1, 0, cores, param, profile) + streams.ljust(96, b"\0")
        self.host.put(self.host.SHARED + self.ring + JOB * (self.tail % ENTRIES), job)
        self.tail += 1
        self.host.put(self.record, struct.pack("<I", self.tail))

    def ring_doorbell(self):
        self.host.client.set_reg(doorbell(self.index), 1)

    def field(self, name):
        names = ("head", "state", "done_seqno", "busy_ns", "busy_cycles", "done_count", "preempted",
                 "run_seqno", "on_core")
        return dict(zip(names, self.host.get(self.record + 64, "<IIQQQIIQI")))[name]

    def result(self, seqno):
        """seqno, fault, cmd, va, info, core, start, end, read bytes, written bytes"""
        at = self.host.SHARED + self.results + RESULT * ((seqno - 1) % ENTRIES)
        return self.host.get(at, "<QIIQIIQQQQ")

    def run(self, stream, **kwargs):
        self.push(stream, **kwargs)
        self.ring_doorbell()
        wait_until(lambda: self.field("done_seqno") == self.tail)
        return self.result(self.tail)


class Machine:
    def __init__(self, *options):
        self.options = options

    def __enter__(self):
        self.server = serving(*self.options)
        self.client = Client(self.server.__enter__().path)
        self.host = FirmwareHost(self.client)
        with open(IMAGE, "rb") as file:
            self.image = file.read()
        self.host.boot(self.image)
        return self.host

    def __exit__(self, *exc):
        self.host.close()
        self.client.__exit__(*exc)
        return self.server.__exit__(*exc)


def test_job():
    """a job copies memory, its result, counters and interrupt arrive"""
    with Machine() as host:
        queue = Queue(host, 0, Vm(host, 1))
        data = queue.vm.pages[DATA]
        host.put(data, bytes(range(256)))
        result = queue.run(copy(0, 1024, 256))
        assert host.get(data + 1024, "<256B") == tuple(range(256))
        assert result[:2] == (1, C.NE1_FAULT_NONE)
        assert result[7] > result[6] and result[8] >= 256 and result[9] == 256
        assert queue.field("busy_ns") == result[7] - result[6]
        assert queue.field("busy_cycles") > 0 and queue.field("done_count") == 1
        assert host.vectors[0].wait() >= 1


def test_many_jobs():
    """500 jobs through a ring of 16, in order, without a lost doorbell"""
    with Machine() as host:
        queue = Queue(host, 3, Vm(host, 7))
        while queue.field("done_seqno") < 500:
            while queue.tail < 500 and queue.tail - queue.field("done_seqno") < ENTRIES:
                queue.push(end())
                queue.ring_doorbell()
        assert queue.field("done_count") == 500 and queue.field("head") == 500


def test_faults():
    """a fault stops its queue only, is reported with its cause, and RESET brings the queue back"""
    with Machine() as host:
        bad, good = Queue(host, 0, Vm(host, 1)), Queue(host, 1, Vm(host, 2))
        result = bad.run(dma(C.NE1_OP_LD, 0x10000000, 64) + end())
        assert result[:4] == (1, C.NE1_FAULT_MMU, 0, DATA + 0x10000000)
        kind, _, ident, index, body = host.event()
        assert (kind, ident, index) == (C.NE1_EVT_QUEUE_FAULT, 0, 0)
        assert struct.unpack_from("<QIIQ", body) == (1, C.NE1_FAULT_MMU, 0, DATA + 0x10000000)
        assert bad.field("state") == C.NE1_QUEUE_FAULTED
        assert good.run(end())[1] == C.NE1_FAULT_NONE
        assert host.call(C.NE1_CMD_QUEUE_RESET, 0) == C.NE1_MSG_OK
        assert bad.run(end())[:2] == (2, C.NE1_FAULT_NONE)
        assert bad.run(header(0x77).ljust(64, b"\0"))[1] == C.NE1_FAULT_OPCODE
        assert host.event()[0] == C.NE1_EVT_QUEUE_FAULT  # the state is set between the result and the event
        assert bad.field("state") == C.NE1_QUEUE_FAULTED


def test_bad_descriptor():
    """a descriptor with wrong fields never reaches a core"""
    with Machine() as host:
        queue = Queue(host, 0, Vm(host, 1))
        assert queue.run(end(), param=PARAMS + 8)[:2] == (1, C.NE1_FAULT_FIELD)
        assert host.event()[0] == C.NE1_EVT_QUEUE_FAULT


def test_sram_is_scrubbed():
    """what one VM left in SRAM is zero for the next, and still there for itself"""
    with Machine("--chip", "tiny") as host:
        first, second = Queue(host, 0, Vm(host, 1)), Queue(host, 1, Vm(host, 2))
        load = dma(C.NE1_OP_LD, 0, 1024) + end()
        store = dma(C.NE1_OP_ST, 2048, 1024) + end()
        for queue in (first, second):
            host.put(queue.vm.pages[DATA], b"\xa5" * 4096)
        first.run(load)
        first.run(store)
        assert host.get(first.vm.pages[DATA] + 2048, "<1024B") == (0xa5,) * 1024
        second.run(store)
        assert host.get(second.vm.pages[DATA] + 2048, "<1024B") == (0,) * 1024


def big_stream(host, vm):
    """A stream of 2 MiB whose commands take a while each."""
    base = 0x400000
    host.put(base, dma(C.NE1_OP_LD, 0, 4096, rows=1024) * 32768)
    vm.tables.map(BIG, host.BUS + base, level=1)
    return 2 << 20


def test_reset_of_running_job():
    """RESET stops a long job within its commands; messages and queues go on meanwhile"""
    with Machine("--mode", "paced", "--chip", "tiny") as host:
        queue, other = Queue(host, 0, Vm(host, 1)), Queue(host, 1, Vm(host, 2))
        size = big_stream(host, queue.vm)
        queue.push(None, size=size)
        queue.push(end())
        queue.ring_doorbell()
        wait_until(lambda: queue.field("head") == 1)
        assert host.call(C.NE1_CMD_PING) == C.NE1_MSG_OK
        assert queue.field("done_seqno") == 0
        assert host.call(C.NE1_CMD_QUEUE_RESET, 0) == C.NE1_MSG_OK
        assert queue.result(1)[:2] == (1, C.NE1_FAULT_STOPPED)
        assert (queue.field("head"), queue.field("state")) == (2, C.NE1_QUEUE_OK)
        assert other.run(end())[1] == C.NE1_FAULT_NONE
        assert queue.run(end())[:2] == (3, C.NE1_FAULT_NONE)


def test_destroy_of_running_job():
    """DESTROY stops a long job; the queue can be created again for another VM"""
    with Machine("--mode", "paced", "--chip", "tiny") as host:
        queue = Queue(host, 0, Vm(host, 1))
        queue.push(None, size=big_stream(host, queue.vm))
        queue.ring_doorbell()
        wait_until(lambda: queue.field("head") == 1)
        assert host.call(C.NE1_CMD_VM_FLUSH, 1) == C.NE1_MSG_BAD_STATE
        assert host.call(C.NE1_CMD_QUEUE_DESTROY, 0) == C.NE1_MSG_OK
        assert queue.field("state") == C.NE1_QUEUE_FREE
        assert host.call(C.NE1_CMD_VM_FLUSH, 1) == C.NE1_MSG_OK
        host.put(queue.record, bytes(4))
        assert Queue(host, 0, Vm(host, 2)).run(end())[:2] == (1, C.NE1_FAULT_NONE)


LINKS = 40		# of the chain of copies, before it begins again


def stages(n):
    """@n stages of about 100 us that pass on a chain of copies in DATA, a YIELD after each."""
    part = b"".join(
        dma(C.NE1_OP_LD, 0, 4096, sram=4096, rows=183) +
        dma(C.NE1_OP_LD, at, 64, signal=0) + dma(C.NE1_OP_ST, at + 64, 64, wait=0) +
        header(C.NE1_OP_YIELD).ljust(64, b"\0")
        for at in (64 * (i % LINKS) for i in range(n)))
    return part + end()


class LongStream:
    """A stream beside the page of the VM: 2 MiB at BIG."""

    def __init__(self, host, vm, number, stream):
        base = 0x400000 + (2 << 20) * number
        host.put(base, stream)
        vm.tables.map(BIG, host.BUS + base, level=1)
        self.size = len(stream)


def profile(host, vm, at):
    return host.get(vm.pages[DATA] + at, "<13Q")


def meets(attempt, n, times=6):
    """@attempt(@n), whether it came while a job of @n stages ran: that takes n / 10 ms, for which a busy machine may
    keep us waiting.  Then again with a job twice as long; of the longest it has to be true.
    """
    for _ in range(times):
        if attempt(n):
            return
        n *= 2
    raise AssertionError(f"nothing was in time for a job of {n // 2} stages")


class Gate:
    """A realtime job that has the core to itself until open(): what is rung meanwhile begins together."""
    AT, PAGES = 0x300000, 16	# of the stream, in guest memory; it would take half a minute

    def __init__(self, host, index, vm):
        size = 4096 * self.PAGES
        host.put(self.AT, dma(C.NE1_OP_LD, 0, 4096, rows=65535) * (size // 64))
        for offset in range(0, size, 4096):
            vm.tables.map(BIG + offset, host.BUS + self.AT + offset)
        self.host, self.queue = host, Queue(host, index, vm, priority=0)
        self.queue.push(None, size=size)
        self.queue.ring_doorbell()
        wait_until(lambda: self.queue.field("on_core") == 1)

    def open(self):
        assert self.queue.field("done_seqno") == 0
        assert self.host.call(C.NE1_CMD_QUEUE_RESET, self.queue.index) == C.NE1_MSG_OK
        assert self.queue.result(1)[1] == C.NE1_FAULT_STOPPED


def preempt(n):
    """Whether realtime jobs met the flood of jobs of @n stages, and in the middle began before the flood's ended."""
    low_priority, realtime, jobs = 3, 0, 2
    with Machine("--mode", "paced", "--chip", "tiny") as host:
        floods = [Queue(host, i, Vm(host, 1 + i), low_priority, 1000) for i in range(2)]
        rt, gate = Queue(host, 3, Vm(host, 9), realtime), Gate(host, 2, Vm(host, 10))
        for i, queue in enumerate(floods):
            host.put(queue.vm.pages[DATA], bytes([0x40 + i]) * 64)
            stream = LongStream(host, queue.vm, i, stages(n))
            for _ in range(jobs):
                queue.push(None, size=stream.size, profile=DATA + 3072)
        for queue in floods:
            queue.ring_doorbell()
        gate.open()
        waits = []
        while any(queue.field("done_seqno") < jobs for queue in floods):
            wait_until(lambda: any(queue.field("on_core") for queue in floods) or
                       all(queue.field("done_seqno") == jobs for queue in floods))
            before = host.client.reg(C.NE1_REG_TIME_LO) | host.client.reg(C.NE1_REG_TIME_HI) << 32
            waits.append(rt.run(end())[6] - before)
        assert sum(queue.field("preempted") for queue in floods) > 4
        assert rt.field("preempted") == 0
        for i, queue in enumerate(floods):
            assert [queue.result(s)[1] for s in range(1, jobs + 1)] == [C.NE1_FAULT_NONE] * jobs
            data = host.get(queue.vm.pages[DATA], f"<{64 * (LINKS + 1)}B")
            assert set(data) == {0x40 + i}
            assert (queue.field("run_seqno"), queue.field("on_core")) == (0, 0)
            assert profile(host, queue.vm, 3072)[10] == 4 * n + 1		# commands of the whole job
            first = queue.result(1)
            assert queue.field("busy_ns") < queue.result(jobs)[7] - first[6]
        if not waits:
            return False
        waits.sort()
        # An interval is 100 us, a job 10 ms; what lies between is the host's scheduler (test_clock.c measures).
        middle = waits[len(waits) // 2]
        print(f"# realtime jobs started {waits[0] / 1000:.0f} to {waits[-1] / 1000:.0f} us after their "
              f"doorbell, {middle / 1000:.0f} us in the middle of {len(waits)}")
        # behind the flood they would have started when its jobs have ended
        return middle < floods[0].result(1)[7] - floods[0].result(1)[6]


def test_preemption():
    """a realtime job starts after one yield interval; the flood that it met goes on to the same results"""
    meets(preempt, 100)


def test_round_robin():
    """two queues of a level share the core by time slices, SRAM is scrubbed between them"""
    n = 30
    with Machine("--mode", "paced", "--chip", "tiny") as host:
        queues = [Queue(host, i, Vm(host, 1 + i), 2, 500) for i in range(2)]
        gate = Gate(host, 2, Vm(host, 10))
        for i, queue in enumerate(queues):
            host.put(queue.vm.pages[DATA], bytes([0x40 + i]) * 64)
            stream = LongStream(host, queue.vm, i, stages(n))
            for _ in range(8):
                queue.push(None, size=stream.size)
        for queue in queues:
            queue.ring_doorbell()
        gate.open()
        for i, queue in enumerate(queues):
            wait_until(lambda queue=queue: queue.field("done_seqno") == 8)
            assert set(host.get(queue.vm.pages[DATA], f"<{64 * (n + 1)}B")) == {0x40 + i}
        assert sum(queue.field("preempted") for queue in queues) >= 8


def suspend(host, queue):
    """Starts a job and has SUSPEND put it aside; how many stages it has, and its seqno is the queue's tail."""
    stages_of = []

    def attempt(n):
        host.put(queue.vm.pages[DATA], b"\x5a" * 64 + bytes(64 * LINKS))
        stream = LongStream(host, queue.vm, 0, stages(n))
        queue.push(None, size=stream.size, profile=DATA + 3072)
        queue.ring_doorbell()
        wait_until(lambda: queue.field("on_core") == 1 or queue.field("done_seqno") == queue.tail)
        assert host.call(C.NE1_CMD_QUEUE_SUSPEND, 0) == C.NE1_MSG_OK
        assert queue.field("state") == C.NE1_QUEUE_SUSPENDED
        stages_of.append(n)
        if queue.field("done_seqno") != queue.tail:
            return True
        assert host.call(C.NE1_CMD_QUEUE_RESUME, 0) == C.NE1_MSG_OK
        return False

    meets(attempt, 60)
    return stages_of[-1]


def test_suspend_and_resume():
    """SUSPEND puts a running job aside at its next YIELD, RESUME lets it go on to its end"""
    with Machine("--mode", "paced", "--chip", "tiny") as host:
        queue, other = Queue(host, 0, Vm(host, 1)), Queue(host, 1, Vm(host, 2))
        n = suspend(host, queue)
        assert (queue.field("on_core"), queue.field("run_seqno")) == (0, queue.tail)
        busy = queue.field("busy_ns")
        assert other.run(copy(0, 64, 64))[1] == C.NE1_FAULT_NONE
        assert host.call(C.NE1_CMD_VM_FLUSH, 1) == C.NE1_MSG_BAD_STATE
        assert queue.field("busy_ns") == busy and queue.field("done_seqno") == queue.tail - 1
        assert host.call(C.NE1_CMD_QUEUE_RESUME, 0) == C.NE1_MSG_OK
        wait_until(lambda: queue.field("done_seqno") == queue.tail)
        assert queue.result(queue.tail)[1] == C.NE1_FAULT_NONE and queue.field("busy_ns") > busy
        assert profile(host, queue.vm, 3072)[10] == 4 * n + 1
        assert set(host.get(queue.vm.pages[DATA], f"<{64 * (LINKS + 1)}B")) == {0x5a}

        suspend(host, queue)
        assert host.call(C.NE1_CMD_QUEUE_DESTROY, 0) == C.NE1_MSG_OK
        assert queue.result(queue.tail)[1] == C.NE1_FAULT_STOPPED
        assert host.call(C.NE1_CMD_VM_FLUSH, 1) == C.NE1_MSG_OK


def test_put_aside_on_several_cores():
    """a job of three cores is put aside as a whole for one of a core, and goes on"""
    with Machine("--mode", "paced", "--chip", "rk3588") as host:
        # its time slice does not end before it does: the realtime job alone has it put aside
        wide, rt = Queue(host, 0, Vm(host, 1), 3, 10000000), Queue(host, 1, Vm(host, 2), 0)
        # the cores run at the same time: they read what none of them writes, and the profiles are elsewhere
        stage = dma(C.NE1_OP_LD, 0, 2048, sram=4096, rows=366) + header(C.NE1_OP_YIELD).ljust(64, b"\0")

        def attempt(n):
            stream = LongStream(host, wide.vm, 0, stage * n + end())
            wide.push(None, size=stream.size, cores=3, profile=DATA + 3072)
            wide.ring_doorbell()
            wait_until(lambda: wide.field("on_core") == 7 or wide.field("done_seqno") == wide.tail)
            assert rt.run(end())[1] == C.NE1_FAULT_NONE
            wait_until(lambda: wide.field("done_seqno") == wide.tail)
            assert wide.result(wide.tail)[1] == C.NE1_FAULT_NONE
            for core in range(3):
                assert profile(host, wide.vm, 3072 + 128 * core)[10] == 2 * n + 1
            return wide.field("preempted") >= 1

        meets(attempt, 200)


def counters(host, queue):
    return host.get(host.SHARED + host.COUNTER_TABLE + 128 * queue, "<16Q")


def test_counters():
    """the counters of a queue are sums over its jobs, and agree with results and profile"""
    with Machine("--chip", "tiny") as host:
        queue = Queue(host, 2, Vm(host, 1))
        host.put(host.SHARED + host.COUNTER_TABLE, b"\xee" * 128 * 4)
        queue.run(copy(0, 64, 64))
        assert counters(host, 2)[0] == 0xeeeeeeeeeeeeeeee
        assert host.call(C.NE1_CMD_COUNTERS, 1) == C.NE1_MSG_OK
        assert counters(host, 2) == (0,) * 16
        results = [queue.run(copy(0, 64, 64), profile=DATA + 3072) for _ in range(3)]
        got = counters(host, 2)
        assert got[C.NE1_COUNT_COMMANDS] == 9 and got[C.NE1_COUNT_SKIPPED] == 0
        assert got[C.NE1_COUNT_DRAM_RD] == sum(r[8] for r in results)
        assert got[C.NE1_COUNT_DRAM_WR] == sum(r[9] for r in results)
        assert got[C.NE1_COUNT_LD_BUSY] >= 2 * profile(host, queue.vm, 3072)[3]
        assert got[C.NE1_COUNT_ENERGY_NJ] > 0 and got[C.NE1_COUNT_MACS] == 0
        assert got[12:] == (0,) * 4
        assert host.call(C.NE1_CMD_COUNTERS, 0) == C.NE1_MSG_OK
        queue.run(copy(0, 64, 64))
        assert counters(host, 2) == got


def test_log_level():
    """LOG_LEVEL changes what is written to the log from the next line on"""
    with Machine() as host:
        queue = Queue(host, 0, Vm(host, 1))
        queue.run(end())
        # what firmware says of an event or a reply may come after it
        wait_until(lambda: "D queue 0: seqno 0x1 ended" in host.log())
        assert host.call(C.NE1_CMD_LOG_LEVEL, C.NE1_LOG_WARN) == C.NE1_MSG_OK
        before = host.log()
        queue.run(end())
        assert host.call(C.NE1_CMD_QUEUE_SUSPEND, 0) == C.NE1_MSG_OK
        assert host.log() == before
        assert host.call(C.NE1_CMD_LOG_LEVEL, 7) == C.NE1_MSG_BAD_FIELD
        wait_until(lambda: "W command 7 for 7: status 2" in host.log())
        assert host.call(C.NE1_CMD_LOG_LEVEL, C.NE1_LOG_INFO) == C.NE1_MSG_OK
        assert host.call(C.NE1_CMD_QUEUE_RESUME, 0) == C.NE1_MSG_OK
        wait_until(lambda: "I queue 0: resumed" in host.log())


def test_rollback():
    """an image whose security version is below the fused minimum does not boot"""
    with open(IMAGE, "rb") as file:
        image = file.read()
    version = struct.unpack_from("<I", image, 32)[0]
    for minimum, want in ((version, (C.NE1_BOOT_STATE_READY, 0)),
                          (version + 1, (C.NE1_BOOT_STATE_FAILED, C.NE1_BOOT_ERR_ROLLBACK))):
        with serving("--min-security-version", str(minimum)) as server:
            with Client(server.path) as client:
                with FirmwareHost(client) as host:
                    assert client.reg(C.NE1_REG_SECURITY_MIN) == minimum
                    host.start(image)
                    assert host.wait_state(C.NE1_BOOT_STATE_READY, C.NE1_BOOT_STATE_FAILED) == want


def test_heartbeat():
    """the heartbeat goes on, also while a long job runs"""
    with Machine("--mode", "paced", "--chip", "tiny") as host:
        queue = Queue(host, 0, Vm(host, 1))
        for _ in range(2):
            beat = host.u32(128 + 12)
            wait_until(lambda: host.u32(128 + 12) > beat + 2)
            queue.push(None, size=big_stream(host, queue.vm))
            queue.ring_doorbell()


def test_shutdown_and_reboot():
    """SHUTDOWN stops a running job, RESET and another boot work"""
    with Machine("--mode", "paced", "--chip", "tiny") as host:
        queue = Queue(host, 0, Vm(host, 1))
        queue.push(None, size=big_stream(host, queue.vm))
        queue.ring_doorbell()
        wait_until(lambda: queue.field("head") == 1)
        assert host.call(C.NE1_CMD_SHUTDOWN) == C.NE1_MSG_OK
        assert host.u32(128 + 8) == C.NE1_FW_SUSPENDED
        assert queue.result(1)[1] == C.NE1_FAULT_STOPPED
        assert host.call(C.NE1_CMD_PING) == C.NE1_MSG_BAD_STATE
        host.reset()
        with open(IMAGE, "rb") as file:
            host.boot(file.read())
        host.put(queue.record, bytes(4))
        assert Queue(host, 0, Vm(host, 5)).run(end())[:2] == (1, C.NE1_FAULT_NONE)


def test_panic():
    """a corrupt ring index is a panic with a code, an event and a fatal interrupt"""
    with Machine() as host:
        host.put(host.SHARED + host.CMD_CTL, struct.pack("<I", 0x1000))
        host.client.set_reg(C.NE1_REG_MBOX_DB, 1)
        assert host.wait_state(C.NE1_BOOT_STATE_PANIC) == (C.NE1_BOOT_STATE_PANIC, 0x20)
        kind, _, _, _, body = host.event()
        assert kind == C.NE1_EVT_PANIC and struct.unpack_from("<IxxxxI", body) == (0x20, 0x1000)
        assert host.vectors[3].wait() >= 1
        assert "E panic 20, value 1000" in host.log()


if __name__ == "__main__":
    tap.main(__name__)
