# SPDX-License-Identifier: MIT
"""Queues and jobs of the firmware interface, on a FirmwareHost."""
import struct

from fwif import FirmwareHost
from ne1 import C, PageTables, doorbell
from probe import END, dma
from vfio import LIMIT, wait_until

QUEUE = struct.Struct("<I60xIIQQQIIQI12x")	# struct ne1_fw_queue
RESULT = struct.Struct("<QIIQIIQQQQ")		# struct ne1_job_result
COPY = [dma(C.NE1_OP_LD, 0, 0, 0, 256, signal=0), dma(C.NE1_OP_ST, 0, 0x1000, 0, 256, wait=0), END]


class Queue:
    """A queue with a VM of its own: stream, parameters, 256 KiB of data that base[0] points to."""
    ENTRIES = 16
    STREAM_VA, PARAM_VA, DATA_VA = 0x100000, 0x400000, 0x500000
    STREAM_SIZE, DATA_SIZE = 0x40000, 0x40000

    def __init__(self, host, index, priority=2):
        self.host, self.index, self.seqno = host, index, 0
        self.ring = host.FREE + 0x2000 * index		# in the shared region
        self.results = self.ring + 128 * self.ENTRIES
        self.stream = 0x300000 + self.STREAM_SIZE * index	# in guest memory
        self.params = 0x500000 + 4096 * index
        self.data = 0x600000 + self.DATA_SIZE * index
        self.tables = PageTables(host.memory, host.BUS, host.take_page)
        for va, at, size in ((self.STREAM_VA, self.stream, self.STREAM_SIZE),
                             (self.PARAM_VA, self.params, 4096),
                             (self.DATA_VA, self.data, self.DATA_SIZE)):
            for offset in range(0, size, 4096):
                self.tables.map(va + offset, host.BUS + at + offset)
        host.put(self.params, struct.pack("<16Q32I", self.DATA_VA, *[0] * 15, *[0] * 32))
        host.put(self.line, bytes(128))
        body = struct.pack("<QIIQQIIQ", host.BUS + self.tables.root, index + 1, priority, self.ring,
                           self.results, self.ENTRIES, 0, 0)
        assert host.call(C.NE1_CMD_QUEUE_CREATE, index, body) == C.NE1_MSG_OK

    @property
    def line(self):
        return self.host.SHARED + self.host.QUEUE_TABLE + 128 * self.index

    def state(self):
        """tail, head, state, done_seqno, ... of the queue's line"""
        return self.host.get(self.line, QUEUE.format)

    def done(self):
        return self.state()[3]

    def submit(self, commands, ring=True):
        """Queues a job; returns its seqno."""
        self.seqno += 1
        stream = b"".join(commands)
        assert len(stream) <= self.STREAM_SIZE
        self.host.put(self.stream, stream)
        job = struct.pack("<QIIQQ", self.seqno, 0, 1, self.PARAM_VA, 0)
        job += struct.pack("<QII", self.STREAM_VA, len(stream), 0)
        slot = (self.seqno - 1) % self.ENTRIES
        self.host.put(self.host.SHARED + self.ring + 128 * slot, job.ljust(128, b"\0"))
        self.host.put(self.line, struct.pack("<I", self.seqno))
        if ring:
            self.ring_doorbell()
        return self.seqno

    def ring_doorbell(self):
        self.host.client.set_reg(doorbell(self.index), 1)

    def wait_started(self):
        """Firmware has taken the last job."""
        wait_until(lambda: self.state()[1] == self.seqno)

    def wait(self, seqno=None, seconds=LIMIT):
        seqno = self.seqno if seqno is None else seqno
        wait_until(lambda: self.done() >= seqno, seconds)
        return self.result(seqno)

    def result(self, seqno):
        """fault, cmd, va, info and start, end of the job's result"""
        slot = (seqno - 1) % self.ENTRIES
        got = self.host.get(self.host.SHARED + self.results + 64 * slot, RESULT.format)
        assert got[0] == seqno, f"result of job {got[0]}, not {seqno}"
        return {"fault": got[1], "cmd": got[2], "va": got[3], "info": got[4],
                "code": got[4] >> 16 & 15, "ns": got[7] - got[6]}

    def run(self, commands, seconds=LIMIT):
        self.submit(commands)
        return self.wait(seconds=seconds)

    def copy_works(self):
        """A job that copies 256 bytes does."""
        pattern = bytes((7 * i + self.seqno) & 0xff for i in range(256))
        self.host.put(self.data, pattern)
        self.host.put(self.data + 0x1000, bytes(256))
        result = self.run(COPY)
        assert result["fault"] == C.NE1_FAULT_NONE, result
        assert self.host.memory.map[self.data + 0x1000:self.data + 0x1100] == pattern


class JobHost(FirmwareHost):
    """Layout of FirmwareHost; boots again after a reset."""

    def __init__(self, client):
        super().__init__(client)
        self.first_page = self.next_page

    def reboot(self, image):
        self.reset()
        self.sent = self.read_events = 0
        self.next_page = self.first_page
        for control in (self.CMD_CTL, self.EVT_CTL, self.LOG_CTL):
            self.put(self.SHARED + control, bytes(128))
        self.put(self.SHARED + 128, bytes(128))
        for vector in self.vectors:
            vector.wait(0)
        self.boot(image)
