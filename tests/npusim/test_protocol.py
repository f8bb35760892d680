#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vfio-user as npusim speaks it: framing, regions, interrupts, memory, hostile clients."""
import errno
import json
import os
import random
import struct

import tap
import vfio
from ne1 import C, Host, doorbell, pack_image
from vfio import (BAR0, BAR1, CONFIG, DATA_BOOL, DATA_EVENTFD, DATA_NONE, MSI, MSIX, TRIGGER,
                  Client, Closed,
                  Eventfd, Memory, refused, serving, wait_until)

MB = 1 << 20
EXP_DEVCTL = 0x70 + 8


def alive(server):
    """A new client is served (the last one has been cleaned up after)."""
    with Client(server.path) as client:
        assert client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC


# Negotiation and framing.

def test_version():
    """VERSION: 0.0, JSON capabilities, reply not longer than the request"""
    with serving() as server, Client(server.path, negotiate=False) as client:
        text = json.dumps(vfio.CAPABILITIES).encode() + b"\0"
        version, rep = client.version(text)
        assert version == (0, 0)
        assert len(rep) <= len(text) and rep.endswith(b"\0")
        caps = json.loads(rep[:-1])["capabilities"]
        assert caps["max_data_xfer_size"] == MB and caps["pgsizes"] == 4096
        assert caps["write_multiple"] is True


def test_version_short():
    """VERSION with little or no room in the reply still negotiates"""
    for text in (b"", b"{}\0", b'{"capabilities":{"max_msg_fds":1}}\0'):
        with serving() as server, Client(server.path, negotiate=False) as client:
            version, rep = client.version(text)
            assert version == (0, 0) and len(rep) <= len(text)
            assert client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC


def test_version_bad():
    """VERSION of another major, without NUL, or not JSON is refused; nothing works before it"""
    with serving() as server, Client(server.path, negotiate=False) as client:
        refused(errno.EINVAL, client.reg, C.NE1_REG_ID)
        refused(errno.ENOTSUP, client.version, major=1)
        refused(errno.EINVAL, client.version, b'{"capabilities":{}}')
        refused(errno.EINVAL, client.version, b"{not json\0")
        refused(errno.EINVAL, client.version, b"[" * 5000 + b"\0")
        refused(errno.EINVAL, client.call, vfio.VERSION, b"\0\0")
        client.version()
        assert client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC


def test_pipelining():
    """100 requests in one stream are answered in order"""
    with serving() as server, Client(server.path) as client:
        asked = []
        for i in range(100):
            offset = (C.NE1_REG_ID, C.NE1_REG_VERSION)[i % 2]
            asked.append((client.send(vfio.REGION_READ, struct.pack("<QII", offset, BAR0, 4)),
                          offset))
        want = {C.NE1_REG_ID: C.NE1_ID_MAGIC, C.NE1_REG_VERSION: C.NE1_VERSION_MAJOR << 16 | C.NE1_VERSION_MINOR}
        for ident, offset in asked:
            rep = client.reply(ident, vfio.REGION_READ)
            assert struct.unpack("<I", rep[16:])[0] == want[offset]


def test_dribble():
    """a request that arrives byte by byte is one request"""
    with serving() as server, Client(server.path) as client:
        payload = struct.pack("<QII", C.NE1_REG_ID, BAR0, 4)
        for byte in vfio.HEADER.pack(77, vfio.REGION_READ, 16 + len(payload), 0, 0) + payload:
            client.sock.sendall(bytes([byte]))
        rep = client.reply(77, vfio.REGION_READ)
        assert struct.unpack("<I", rep[16:])[0] == C.NE1_ID_MAGIC


def test_bad_size():
    """a header with an impossible size ends the connection, not the server"""
    with serving() as server:
        for size in (0, 15, 0x7fffffff, 0xffffffff, 16 + MB + 8192):
            with Client(server.path) as client:
                client.send(vfio.REGION_READ, size=size)
                try:
                    client.receive(1)
                    raise AssertionError("still there")
                except Closed:
                    pass
        alive(server)


def test_truncated():
    """a client that leaves in the middle of a message does no harm"""
    with serving() as server:
        for length in (1, 15, 16, 20):
            with Client(server.path) as client:
                message = vfio.HEADER.pack(1, vfio.REGION_READ, 32, 0, 0) + bytes(16)
                client.sock.sendall(message[:length])
            alive(server)


def test_unknown_commands():
    """unknown and unsupported commands get ENOTSUP"""
    with serving() as server, Client(server.path) as client:
        for command in (0, 6, 11, 12, 14, 16, 17, 18, 255, 65535):
            refused(errno.ENOTSUP, client.call, command, bytes(32))
        assert client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC


def test_short_payloads():
    """every command with too short a payload gets EINVAL"""
    with serving() as server, Client(server.path) as client:
        needs = {vfio.DMA_MAP: 32, vfio.DMA_UNMAP: 24, vfio.GET_INFO: 4, vfio.GET_REGION_INFO: 32,
                 vfio.GET_IRQ_INFO: 16, vfio.SET_IRQS: 20, vfio.REGION_READ: 16,
                 vfio.REGION_WRITE: 16,
                 vfio.WRITE_MULTI: 8}
        for command, need in needs.items():
            for length in {0, 3, need - 1}:
                refused(errno.EINVAL, client.call, command, bytes(length))
        assert client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC


def test_replies_ignored():
    """a reply that the server never asked for is skipped"""
    with serving() as server, Client(server.path) as client:
        client.send(vfio.REGION_READ, bytes(40), flags=vfio.REPLY)
        assert client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC


def test_random_messages():
    """3000 random messages, most of them well framed: no crash, no leaked descriptor"""
    rng = random.Random(1)
    with serving("--log", "error") as server:
        alive(server)
        before = server.open_fds()
        memory = Memory(MB)
        for _ in range(60):
            with Client(server.path, negotiate=rng.random() < 0.9) as client:
                try:
                    for _ in range(50):
                        random_message(rng, client, memory)
                except (BrokenPipeError, ConnectionResetError):
                    pass
        alive(server)
        wait_until(lambda: server.open_fds() <= before)
        memory.close()


def random_message(rng, client, memory):
    command = rng.choice([1, 2, 3, 4, 5, 7, 8, 9, 10, 13, 15, rng.randrange(65536)])
    small = [0, 1, 2, 3, 4, 7, 8, 9, 16, 32, 0x24, 0x21, 4096]
    words = [rng.choice(small + [rng.getrandbits(32),
                                 0xffffffff]) for _ in range(rng.randrange(14))]
    fds = [memory.fd] * rng.choice([0, 0, 0, 1, 1, 2, 16])
    size = None if rng.random() < 0.97 else rng.getrandbits(rng.choice([5, 32]))
    payload = struct.pack(f"<{len(words)}I", *words)
    # Posted, since a refused request would otherwise fill the socket with replies that nobody
    # reads.
    client.send(command, payload, fds, flags=vfio.NO_REPLY if rng.random() < 0.9 else 0, size=size)


# Device, regions, registers.

def test_device_info():
    """GET_INFO, region and interrupt information are those of the function"""
    with serving() as server, Client(server.path) as client:
        rep = client.call(vfio.GET_INFO, struct.pack("<IIII", 16, 0, 0, 0))
        assert struct.unpack("<IIII", rep) == (16, 3, 9, 5)
        sizes = {BAR0: C.NE1_BAR_SIZE, BAR1: 4096, CONFIG: 4096}
        for index in range(9):
            flags, size = client.region_info(index)
            assert size == sizes.get(index, 0) and flags == (3 if size else 0), f"region {index}"
        assert [client.irq_info(i)[1] for i in range(5)] == [0, 1, 4, 0, 0]
        refused(errno.EINVAL, client.region_info, 9)
        refused(errno.EINVAL, client.irq_info, 5)


def test_identity():
    """identification and capability registers"""
    with serving() as server, Client(server.path) as client:
        assert client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC
        assert client.reg(C.NE1_REG_VERSION) == C.NE1_VERSION_MAJOR << 16 | C.NE1_VERSION_MINOR
        assert client.reg(C.NE1_REG_PLATFORM) == C.NE1_PLATFORM_MODEL
        assert 1 <= client.reg(C.NE1_REG_CAP_CORES) <= C.NE1_MAX_CORES
        assert 1 <= client.reg(C.NE1_REG_CAP_QUEUES) <= C.NE1_MAX_QUEUES
        assert 2 <= client.reg(C.NE1_REG_CAP_ASIDS) <= C.NE1_MAX_ASIDS
        assert client.reg(C.NE1_REG_CAP_SRAM) >= 65536
        name = b"".join(client.read(BAR0, C.NE1_REG_CHIP_NAME + i, 4) for i in range(0, 16, 4))
        assert name.rstrip(b"\0") == b"tiny"
        assert client.reg(C.NE1_REG_BOOT_STATUS) == C.NE1_BOOT_STATE_RESET
        assert -40000 < struct.unpack("<i", client.read(BAR0, C.NE1_REG_TEMP_DIE, 4))[0] < 125000


def test_time():
    """TIME advances while idle, and LO latches HI"""
    with serving() as server, Client(server.path) as client:
        def now():
            low = client.reg(C.NE1_REG_TIME_LO)
            return client.reg(C.NE1_REG_TIME_HI) << 32 | low
        first = now()
        wait_until(lambda: now() > first + 5_000_000)


def test_widths():
    """only aligned 32-bit accesses reach registers"""
    with serving() as server, Client(server.path) as client:
        for offset, count in ((0, 1), (0, 2), (0, 8), (2, 4), (1, 1), (0, 256)):
            assert client.read(BAR0, offset, count) == bytes(count)
        for count in (1, 2, 8):
            client.write(BAR0, C.NE1_REG_IRQ_ENABLE, b"\xff" * count)
        assert client.reg(C.NE1_REG_IRQ_ENABLE) == 0


def test_register_writes():
    """read-write registers keep what is written, others ignore it"""
    with serving() as server, Client(server.path) as client:
        for offset in (C.NE1_REG_BOOT_IMG_LO, C.NE1_REG_BOOT_IMG_HI, C.NE1_REG_BOOT_IMG_SIZE,
                       C.NE1_REG_FW_PGD_LO, C.NE1_REG_FW_PGD_HI):
            client.set_reg(offset, 0x12345678)
            assert client.reg(offset) == 0x12345678
        client.set_reg(C.NE1_REG_IRQ_ENABLE, 0xffffffff, posted=False)
        assert client.reg(C.NE1_REG_IRQ_ENABLE) == C.NE1_IRQ_ALL
        for offset in (C.NE1_REG_ID, C.NE1_REG_CAP_CORES, C.NE1_REG_TEMP_DIE, 0x800, 0x3f000):
            before = client.reg(offset) if offset < 0x400 else None
            client.set_reg(offset, 0xffffffff)
            assert before is None or client.reg(offset) == before
        assert client.reg(0x800) == 0 and client.reg(doorbell(0)) == 0


def test_region_bounds():
    """accesses outside a region are refused"""
    with serving() as server, Client(server.path) as client:
        size = C.NE1_BAR_SIZE
        for region, offset, count in ((BAR0, size, 4), (BAR0, size - 2, 4), (BAR0, 0, 0),
                                      (2, 0, 4), (9, 0, 4),
                                      (BAR0, 0, 2 * MB), (BAR0, 2 ** 64 - 4, 8), (CONFIG, 4096, 1)):
            payload = struct.pack("<QII", offset, region, count)
            refused(errno.EINVAL, client.call, vfio.REGION_READ, payload)
            refused(errno.EINVAL, client.call, vfio.REGION_WRITE, payload + bytes(min(count, 16)))
        refused(errno.EINVAL, client.call, vfio.REGION_WRITE,
                struct.pack("<QII", 0, CONFIG, 64) + bytes(63))
        assert client.read(BAR0, size - 4, 4) == bytes(4)


def test_write_multi():
    """WRITE_MULTI writes in order and says how many; bad counts are refused"""
    def entries(*writes):
        return struct.pack("<Q", len(writes)) + b"".join(
            struct.pack("<QII", offset, BAR0, 4) + struct.pack("<Q", value) for offset,
            value in writes)
    with serving() as server, Client(server.path) as client:
        rep = client.call(vfio.WRITE_MULTI, entries(*((C.NE1_REG_FW_PGD_LO,
                                                       i) for i in range(200))))
        assert struct.unpack("<Q", rep)[0] == 200
        assert client.reg(C.NE1_REG_FW_PGD_LO) == 199
        refused(errno.EINVAL, client.call, vfio.WRITE_MULTI, struct.pack("<Q", 3) + bytes(48))
        refused(errno.EINVAL, client.call, vfio.WRITE_MULTI, struct.pack("<Q", 2 ** 61) + bytes(48))
        client.send(vfio.WRITE_MULTI, entries((C.NE1_REG_FW_PGD_LO, 7)), flags=vfio.NO_REPLY)
        assert client.reg(C.NE1_REG_FW_PGD_LO) == 7


def test_config():
    """configuration space: ids, capability chain, BAR sizing, read-only bits"""
    with serving() as server, Client(server.path) as client:
        config = client.read(CONFIG, 0, 4096)
        assert struct.unpack_from("<HH", config) == (C.NE1_PCI_VENDOR, C.NE1_PCI_DEVICE)
        assert config[9:12] == struct.pack("<I", C.NE1_PCI_CLASS)[:3]
        found, at = [], config[0x34]
        while at:
            found.append(config[at])
            at = config[at + 1]
        assert found == [0x01, 0x05, 0x10, 0x11], f"capabilities {found}"
        for bar, size in ((0x10, C.NE1_BAR_SIZE), (0x14, 4096), (0x18, 0), (0x30, 0)):
            client.write(CONFIG, bar, b"\xff" * 4)
            mask = struct.unpack("<I", client.read(CONFIG, bar, 4))[0]
            assert mask == (-size & 0xffffffff if size else 0)
        client.write(CONFIG, 0, b"\xff" * 16)
        assert client.read(CONFIG, 0, 4) == config[:4] and client.read(CONFIG, 8, 4) == config[8:12]
        client.write(CONFIG, 4, b"\x06\x00")
        assert client.read(CONFIG, 4, 2) == b"\x06\x00"


def test_aer():
    """error reporting: the capability, what may be written to it, and what a reset leaves"""
    def word(client, offset):
        return struct.unpack("<I", client.read(CONFIG, 0x100 + offset, 4))[0]

    def write(client, offset, value):
        client.write(CONFIG, 0x100 + offset, struct.pack("<I", value))
    for odd in ((), ("--plain-msi",), ("--pci", "vectors=1", "--pci", "revision=200")):
        with serving(*odd) as server, Client(server.path) as client:
            header, severity, masked = word(client, 0), word(client, 0xc), word(client, 0x14)
            assert header & 0xffff == 1 and header >> 20 == 0, f"header {header:#x}"
            assert severity == 0x00462030 and masked == 0x6000, f"{severity:#x} {masked:#x}"
            assert word(client, 8) == 0
            # status: ones clear, and there is nothing to clear
            for offset in (4, 0x10):
                write(client, offset, 0xffffffff)
                assert word(client, offset) == 0
            for offset, bits in ((8, 0x005ff030), (0xc, 0x005ff030), (0x14, 0x000071c1)):
                write(client, offset, 0xffffffff)
                assert word(client, offset) == bits, f"{offset:#x}: {word(client, offset):#x}"
            write(client, 8, 0x00100000)
            write(client, 0, 0)
            client.write(CONFIG, 0x79, b"\x80")    # FLR
            assert word(client, 0) == header
            assert word(client, 8) == 0x00100000 and word(client, 0xc) == 0x005ff030


def test_plain_msi():
    """--plain-msi: no MSI-X capability, no BAR 1"""
    with serving("--plain-msi") as server, Client(server.path) as client:
        assert client.irq_info(MSIX)[1] == 0 and client.irq_info(MSI)[1] == 1
        assert client.region_info(BAR1) == (0, 0)
        config, found = client.read(CONFIG, 0, 256), []
        at = config[0x34]
        while at:
            found.append(config[at])
            at = config[at + 1]
        assert found == [0x01, 0x05, 0x10]
        assert client.read(CONFIG, 0x14, 4) == bytes(4)


# Interrupts.

def test_msix():
    """each MSI-X vector signals its own eventfd"""
    with serving() as server, Client(server.path) as client:
        events = [Eventfd() for _ in range(4)]
        client.set_irqs(MSIX, TRIGGER | DATA_EVENTFD, 0, 4, [e.fd for e in events])
        for vector, event in enumerate(events):
            client.set_irqs(MSIX, TRIGGER | DATA_NONE, vector, 1)
            assert event.wait() == 1
            assert all(e.wait(0) == 0 for e in events)
        client.set_irqs(MSIX, TRIGGER | DATA_BOOL, 0, 4, data=b"\0\1\0\1")
        assert [e.wait(0) for e in events] == [0, 1, 0, 1]


def test_msi_shared():
    """with one MSI vector all interrupts share it"""
    with serving("--plain-msi") as server, Client(server.path) as client:
        event = Eventfd()
        client.set_irqs(MSI, TRIGGER | DATA_EVENTFD, 0, 1, [event.fd])
        for _ in range(3):
            client.set_irqs(MSI, TRIGGER | DATA_NONE, 0, 1)
            assert event.wait() == 1


def test_irq_gap():
    """an interrupt without an eventfd is pending (PBA) and fires when one comes, once"""
    with serving() as server, Client(server.path) as client:
        events = [Eventfd() for _ in range(4)]
        client.set_irqs(MSIX, TRIGGER | DATA_EVENTFD, 0, 4, [e.fd for e in events])
        client.set_irqs(MSIX, TRIGGER | DATA_NONE, 0, 0)	# as QEMU does to add one
        client.set_irqs(MSIX, TRIGGER | DATA_NONE, 2, 1)
        assert client.read(BAR1, 0x800, 8) == b"\x04" + bytes(7)
        client.set_irqs(MSIX, TRIGGER | DATA_EVENTFD, 0, 2, [e.fd for e in events[:2]])
        assert [e.wait(0) for e in events] == [0, 0, 0, 0]
        client.set_irqs(MSIX, TRIGGER | DATA_EVENTFD, 2, 2, [e.fd for e in events[2:]])
        assert [e.wait(0) for e in events] == [0, 0, 1, 0]
        assert client.read(BAR1, 0x800, 8) == bytes(8)


def test_irq_bad():
    """SET_IRQS with bad index, range, flags or number of descriptors is refused"""
    with serving() as server, Client(server.path) as client:
        fd = Eventfd().fd
        bad = ((9, TRIGGER | DATA_NONE, 0, 0, ()), (MSIX, TRIGGER | DATA_EVENTFD, 0, 5, ()),
               (MSIX, TRIGGER | DATA_EVENTFD, 4, 1, (fd,)),
               (MSIX, TRIGGER | DATA_EVENTFD, 0xffffffff, 2, ()),
               (MSIX, TRIGGER | DATA_EVENTFD, 0, 2, (fd,)), (MSIX, 0x08 | DATA_NONE, 0, 1, ()),
               (MSIX, TRIGGER, 0, 1, ()), (MSIX, TRIGGER | 3, 0, 1, ()),
               (MSIX, TRIGGER | DATA_BOOL, 0, 4, ()),
               (0, TRIGGER | DATA_EVENTFD, 0, 1, (fd,)))
        for index, flags, start, count, fds in bad:
            refused(errno.EINVAL, client.set_irqs, index, flags, start, count, fds)


def test_fd_hygiene():
    """replaced eventfds, repeated maps of one memory and surplus descriptors leave nothing open"""
    with serving() as server, Client(server.path) as client:
        memory, event = Memory(MB), Eventfd()
        client.set_irqs(MSIX, TRIGGER | DATA_EVENTFD, 0, 4, [event.fd] * 4)
        before = server.open_fds()
        for i in range(200):
            client.set_irqs(MSIX, TRIGGER | DATA_EVENTFD, 0, 4, [event.fd] * 4)
            client.dma_map(i * 4096, 4096, memory.fd, i * 4096)
            client.call(vfio.GET_INFO, struct.pack("<IIII", 16, 0, 0, 0), [event.fd] * 16)
        assert server.open_fds() == before
        refused(errno.EINVAL, client.dma_map, 1 << 40, 4096, memory.fd, 2 ** 63)
        assert server.open_fds() == before
        memory.close()


# Memory.  Whether the device reaches an address is seen by booting from it: a page of zeroes is a
# bad
# magic, no memory is a DMA error.

def reaches(client, bus):
    client.set_reg(C.NE1_REG_RESET, 1)
    wait_until(lambda: client.reg(C.NE1_REG_RESET) == 0)
    client.set_reg(C.NE1_REG_BOOT_IMG_LO, bus & 0xffffffff)
    client.set_reg(C.NE1_REG_BOOT_IMG_HI, bus >> 32)
    client.set_reg(C.NE1_REG_BOOT_IMG_SIZE, 1024)
    client.set_reg(C.NE1_REG_BOOT_CTRL, 1)
    wait_until(lambda: client.reg(C.NE1_REG_BOOT_STATUS) & 0xff == C.NE1_BOOT_STATE_FAILED)
    error = client.reg(C.NE1_REG_BOOT_STATUS) >> 8
    assert error in (C.NE1_BOOT_ERR_DMA, C.NE1_BOOT_ERR_MAGIC), f"boot error {error}"
    return error == C.NE1_BOOT_ERR_MAGIC


def test_dma_map():
    """maps become reachable, unmaps unreachable; fd-less and read-only maps are no error"""
    with serving() as server, Client(server.path) as client:
        memory = Memory(MB)
        assert not reaches(client, 0x1000)
        client.dma_map(0, 0x10000, memory.fd)
        client.dma_map(0x20000, 0x10000)			# ROM: no descriptor
        client.dma_map(0x40000, 0x10000, memory.fd, 0x10000, flags=1)
        client.dma_map(2 ** 64 - 0x1000, 0x1000, memory.fd)
        assert [reaches(client, a) for a in (0x1000, 0x21000, 0x41000, 2 ** 64 - 0x1000,
                                             0x60000)] == \
            [True, False, True, True, False]
        assert not reaches(client, 0xff00)			# runs off the end
        client.dma_unmap(0, 0x10000)
        assert [reaches(client, a) for a in (0x1000, 0x41000)] == [False, True]
        memory.close()


def test_dma_bad():
    """maps that are empty, overlap, wrap or exceed their file are refused"""
    with serving() as server, Client(server.path) as client:
        memory = Memory(MB)
        client.dma_map(0x100000, 0x10000, memory.fd)
        refused(errno.EEXIST, client.dma_map, 0x10f000, 0x2000, memory.fd)
        refused(errno.EEXIST, client.dma_map, 0, 2 * MB - 1, memory.fd)
        refused(errno.EINVAL, client.dma_map, 0, 0, memory.fd)
        refused(errno.EINVAL, client.dma_map, 2 ** 64 - 0x1000, 0x2000, memory.fd)
        refused(errno.EINVAL, client.dma_map, 0, 0x1000, memory.fd, MB)
        refused(errno.EINVAL, client.dma_map, 0, 0x1000, memory.fd, 2 ** 64 - 0x800)
        refused(errno.EINVAL, client.dma_map, 0, 0x1000, memory.fd, 0, flags=0)
        refused(errno.EINVAL, client.dma_map, 0, 0x1000, memory.fd, 0, flags=0x80000001)
        refused(errno.EINVAL, client.dma_unmap, 0, 0x1000, flags=1)
        pipe = os.pipe()
        refused(errno.EINVAL, client.dma_map, 0, 0x1000, pipe[0])
        assert reaches(client, 0x100000)
        memory.close()


def test_dma_unmap_ranges():
    """an unmap covers many maps, splits one, wraps at the top, and may cover nothing"""
    with serving() as server, Client(server.path) as client:
        memory = Memory(MB)
        for i in range(8):
            client.dma_map(i * 0x10000, 0x8000, memory.fd, i * 0x10000)
        client.dma_map(0xfef00000, 0x1000, memory.fd)
        client.dma_map(2 ** 64 - 0x1000, 0x1000, memory.fd)
        client.dma_unmap(0x5_0000_0000, 0x1000)
        client.dma_unmap(0x12000, 0x2000)			# the middle of map 1
        assert [reaches(client, a) for a in (0x10000, 0x11000, 0x12000, 0x13000, 0x14000,
                                             0x17000)] == \
            [True, True, False, False, True, True]
        client.dma_unmap(0x24000, 0x30000)		# tail of 2, 3, 4, head of 5
        assert [reaches(client, a) for a in (0x20000, 0x24000, 0x30000, 0x40000, 0x50000, 0x54000,
                                             0x60000)] == \
            [True, False, False, False, False, True, True]
        client.dma_unmap(0xfef00000, 0xffffffff01100000)	# as QEMU sends it: wraps to 0
        assert [reaches(client, a) for a in (0xfef00000, 2 ** 64 - 0x1000, 0x60000)] == [False,
                                                                                         False,
                                                                                         True]
        client.dma_unmap(0, 0, flags=2)				# all
        assert not reaches(client, 0x60000)
        client.dma_map(0, 0x10000, memory.fd)
        assert reaches(client, 0)
        memory.close()


def test_truncated_memory():
    """a client that cuts off the file behind a map does not bring the server down"""
    with serving() as server, Client(server.path) as client:
        memory = Memory(MB)
        client.dma_map(0, MB, memory.fd)
        assert reaches(client, 0x80000)
        memory.map[0x80000:0x80004] = b"NE1F"
        os.ftruncate(memory.fd, 0x1000)
        assert reaches(client, 0x80000)				# zeroes: no magic
        assert reaches(client, 0xf0000)
        memory.close()


# Reset and life.

def booted(client):
    """A host whose firmware runs for ever: `j .`"""
    host = Host(client)
    assert host.boot_result(pack_image(struct.pack("<I",
                                                   0x0000006f)))[0] == C.NE1_BOOT_STATE_STARTED
    return host


def reset_by(client, how):
    if how == "register":
        client.set_reg(C.NE1_REG_RESET, 1)
    elif how == "flr":
        client.write(CONFIG, 4, b"\x06\x00")
        control = struct.unpack("<H", client.read(CONFIG, EXP_DEVCTL, 2))[0]
        client.write(CONFIG, EXP_DEVCTL, struct.pack("<H", control | 0x8000))
    else:
        client.call(vfio.DEVICE_RESET)


def test_reset(tmp_key):
    """RESET register, FLR and DEVICE_RESET stop the firmware; it can be booted again"""
    with serving("--key", tmp_key) as server, Client(server.path) as client, booted(client) as host:
        for how in ("register", "flr", "message"):
            reset_by(client, how)
            wait_until(lambda: client.reg(C.NE1_REG_RESET) == 0)
            assert host.boot_status() == (C.NE1_BOOT_STATE_RESET, 0), how
            assert client.reg(C.NE1_REG_IRQ_ENABLE) == 0
            assert client.reg(C.NE1_REG_BOOT_IMG_SIZE) == 0
            if how == "flr":
                assert client.read(CONFIG, 4, 2) == b"\0\0"
                assert client.read(CONFIG, EXP_DEVCTL + 1, 1)[0] & 0x80 == 0
            state, _ = host.boot_result(pack_image(struct.pack("<I", 0x0000006f)))
            assert state == C.NE1_BOOT_STATE_STARTED, how


def test_start_ignored(tmp_key):
    """START is ignored while firmware runs"""
    with serving("--key", tmp_key) as server, Client(server.path) as client, booted(client) as host:
        host.put(host.IMAGE, bytes(512))
        client.set_reg(C.NE1_REG_BOOT_CTRL, 1)
        client.reg(C.NE1_REG_ID)
        assert host.boot_status() == (C.NE1_BOOT_STATE_STARTED, 0)


def test_disconnect(tmp_key):
    """a new client finds a device in reset, without the memory and interrupts of the last one"""
    with serving("--key", tmp_key) as server:
        before = server.open_fds()
        with Client(server.path) as client:
            host = booted(client)
            bus = host.BUS
        with Client(server.path) as client:
            wait_until(lambda: client.reg(C.NE1_REG_RESET) == 0)
            assert client.reg(C.NE1_REG_BOOT_STATUS) == 0
            assert not reaches(client, bus)
        host.close()
        wait_until(lambda: server.open_fds() <= before)


def test_devices_independent(tmp_key):
    """two sockets are two devices"""
    with serving("--key", tmp_key, sockets=2) as server:
        with Client(server.paths[0]) as one, Client(server.paths[1]) as two, booted(one) as host:
            two.set_reg(C.NE1_REG_FW_PGD_LO, 5)
            two.set_reg(C.NE1_REG_RESET, 1)
            assert two.reg(C.NE1_REG_BOOT_STATUS) == 0
            assert host.boot_status() == (C.NE1_BOOT_STATE_STARTED, 0)


def test_doorbell_storm(tmp_key):
    """20000 posted doorbells while firmware runs do not slow the socket to a halt"""
    with serving("--key", tmp_key) as server, Client(server.path) as client, booted(client):
        for i in range(20000):
            client.set_reg(doorbell(i % 64), i)
        assert client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC


def test_options():
    """bad options end with a message that names them"""
    for options in (["--mode", "slow"], ["--threads", "0"], ["--chip", "no-such-chip"],
                    ["--key", "/dev/null"],
                    ["--log", "loud"], ["stray"]):
        try:
            vfio.Server(*options).stop()
        except RuntimeError as error:
            assert options[-1] in str(error), f"{options}: {error}"
        else:
            raise AssertionError(f"{options} accepted")


def with_key(test):
    """Gives a test the path of a file with the tests' public key."""
    def run():
        import tempfile
        from ne1 import TEST_SIGNER
        with tempfile.NamedTemporaryFile("w", suffix=".pub") as file:
            file.write("# key of the tests\n" + TEST_SIGNER.public.hex() + "\n")
            file.flush()
            test(file.name)
    run.__doc__, run.__name__ = test.__doc__, test.__name__
    return run


for _name, _test in list(globals().items()):
    if _name.startswith("test_") and _test.__code__.co_argcount:
        globals()[_name] = with_key(_test)

if __name__ == "__main__":
    tap.main(__name__)
