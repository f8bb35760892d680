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
    def __init__(self, host, index, vm, priority=2):
        self.host, self.index, self.vm, self.tail = host, index, vm, 0
        self.record = host.SHARED + host.QUEUE_TABLE + 128 * index
        self.ring = host.FREE + 0x1000 * index
        self.results = host.FREE + 0x8000 + 0x1000 * index
        body = struct.pack("<QIIQQIIQ", host.BUS + vm.tables.root, vm.number, priority, self.ring,
                           self.results, ENTRIES, 0, 0)
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
        """head, state, done_seqno, busy_ns, busy_cycles, done_count"""
        names = ("head", "state", "done_seqno", "busy_ns", "busy_cycles", "done_count")
        return dict(zip(names, self.host.get(self.record + 64, "<IIQQQI")))[name]

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
