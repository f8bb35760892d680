# SPDX-License-Identifier: MIT
"""Host side of the firmware interface (ne1_fwabi.h) in a Host's shared region."""
import struct

from ne1 import C, Host
from vfio import LIMIT, wait_until

MSG = struct.Struct("<HHIII48s")


class FirmwareHost(Host):
    """Lays out the shared region; offsets are from its start, which is VA 0 of ASID 0."""
    CMD_CTL, EVT_CTL, LOG_CTL = 0x1000, 0x1080, 0x1100
    CMD_RING, EVT_RING, LOG_RING = 0x2000, 0x3000, 0x4000
    ENTRIES, LOG_SIZE = 16, 0x4000
    QUEUE_TABLE, QUEUES = 0x8000, 4
    COUNTER_TABLE = 0x9000
    FREE = 0x10000		# for rings of queues

    def __init__(self, client):
        super().__init__(client)
        self.sent = self.read_events = 0
        header = struct.pack("<IHHIIIIIIIIIIIIII", C.NE1_FW_IF_MAGIC, C.NE1_ABI_MAJOR,
                             C.NE1_ABI_MINOR,
                             self.SHARED_SIZE, self.CMD_CTL, self.CMD_RING, self.ENTRIES,
                             self.EVT_CTL, self.EVT_RING, self.ENTRIES, self.LOG_CTL, self.LOG_RING,
                             self.LOG_SIZE, self.QUEUE_TABLE, self.QUEUES, C.NE1_LOG_DEBUG,
                             self.COUNTER_TABLE)
        self.put(self.SHARED, header)

    def u32(self, offset):
        return self.get(self.SHARED + offset, "<I")[0]

    def log(self):
        written = self.u32(self.LOG_CTL)
        return bytes(self.memory.map[self.SHARED + self.LOG_RING + i % self.LOG_SIZE]
                     for i in range(max(0, written - self.LOG_SIZE), written)).decode()

    def boot(self, image):
        """To READY."""
        self.start(image)
        got = self.wait_state(C.NE1_BOOT_STATE_READY, C.NE1_BOOT_STATE_FAILED,
                              C.NE1_BOOT_STATE_PANIC)
        assert got == (C.NE1_BOOT_STATE_READY,
                       0), f"boot ended in state, error {got}; log: {self.log()}"

    def command(self, kind, queue=0, body=b""):
        """Sends a message, rings the mailbox and returns its id."""
        self.sent += 1
        slot = (self.sent - 1) % self.ENTRIES
        self.put(self.SHARED + self.CMD_RING + 64 * slot,
                 MSG.pack(kind, 0, self.sent, queue, 0, body))
        self.put(self.SHARED + self.CMD_CTL, struct.pack("<I", self.sent))
        self.client.set_reg(C.NE1_REG_MBOX_DB, 1)
        return self.sent

    def event(self, seconds=LIMIT):
        """The next message of the firmware: type, status, id, queue, body."""
        wait_until(lambda: self.u32(self.EVT_CTL) != self.read_events, seconds)
        slot = self.read_events % self.ENTRIES
        self.read_events += 1
        kind, status, ident, queue, _, body = MSG.unpack(
            self.memory.map[self.SHARED + self.EVT_RING + 64 * slot:][:64])
        self.put(self.SHARED + self.EVT_CTL + 64, struct.pack("<I", self.read_events))
        return kind, status, ident, queue, body

    def call(self, kind, queue=0, body=b""):
        """Status of the reply."""
        ident = self.command(kind, queue, body)
        got, status, got_id, _, _ = self.event()
        assert (got, got_id) == (C.NE1_EVT_REPLY,
                                 ident), f"event {got} id {got_id}, sent id {ident}"
        return status
