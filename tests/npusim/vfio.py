# SPDX-License-Identifier: MIT
"""A small vfio-user client, and npusim processes for it to talk to."""
import array
import contextlib
import errno
import json
import mmap
import os
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import time

VERSION, DMA_MAP, DMA_UNMAP, GET_INFO, GET_REGION_INFO = 1, 2, 3, 4, 5
GET_REGION_IO_FDS, GET_IRQ_INFO, SET_IRQS, REGION_READ, REGION_WRITE = 6, 7, 8, 9, 10
DEVICE_RESET, DIRTY_PAGES, WRITE_MULTI = 13, 14, 15

REPLY, NO_REPLY, ERROR = 0x1, 0x10, 0x20
BAR0, BAR1, CONFIG = 0, 1, 7
MSI, MSIX = 1, 2
TRIGGER, DATA_NONE, DATA_BOOL, DATA_EVENTFD = 0x20, 1, 2, 4

CAPABILITIES = {"capabilities": {
    "pgsizes": 4096, "max_msg_fds": 16, "max_dma_maps": 65535, "max_data_xfer_size": 1048576,
    "migration": {"max_bitmap_size": 268435456, "pgsize": 4096}, "write_multiple": True}}

HEADER = struct.Struct("<HHIII")
# Seconds after which what should have happened will not: far more than it takes a busy machine, or a sanitizer.
LIMIT = 60


class Refused(Exception):
    """An error reply; .errno is the server's."""

    def __init__(self, code):
        super().__init__(f"refused: {os.strerror(code)}")
        self.errno = code


class Closed(Exception):
    """The server ended the connection."""


class Client:
    def __init__(self, path, negotiate=True):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(LIMIT)
        self.sock.connect(path)
        self.next_id = 1
        if negotiate:
            self.version()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    # Messages.
    def send(self, command, payload=b"", fds=(), flags=0, size=None):
        """Sends one request and returns its id; `size` overrides the header's."""
        ident, self.next_id = self.next_id, (self.next_id + 1) & 0xffff
        size = HEADER.size + len(payload) if size is None else size
        data = HEADER.pack(ident, command, size, flags, 0) + payload
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self.sock.sendmsg([data], control)
        if sent < len(data):
            self.sock.sendall(data[sent:])
        return ident

    def receive(self, size):
        data = b""
        while len(data) < size:
            try:
                chunk = self.sock.recv(size - len(data))
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                raise Closed()
            data += chunk
        return data

    def reply(self, ident, command):
        got, cmd, size, flags, err = HEADER.unpack(self.receive(HEADER.size))
        payload = self.receive(size - HEADER.size)
        assert (got, cmd) == (ident, command), f"reply {got}/{cmd} to request {ident}/{command}"
        assert flags & 0xf == REPLY, f"flags {flags:#x} of a reply"
        if flags & ERROR:
            assert not payload, "an error reply is a header"
            raise Refused(err)
        return payload

    def call(self, command, payload=b"", fds=()):
        return self.reply(self.send(command, payload, fds), command)

    # Commands.
    def version(self, text=None, major=0, minor=0):
        text = json.dumps(CAPABILITIES).encode() + b"\0" if text is None else text
        rep = self.call(VERSION, struct.pack("<HH", major, minor) + text)
        return struct.unpack("<HH", rep[:4]), rep[4:]

    def region_info(self, index):
        rep = self.call(GET_REGION_INFO, struct.pack("<IIIIQQ", 32, 0, index, 0, 0, 0))
        _, flags, got, _, size, _ = struct.unpack("<IIIIQQ", rep)
        assert got == index
        return flags, size

    def irq_info(self, index):
        rep = self.call(GET_IRQ_INFO, struct.pack("<IIII", 16, 0, index, 0))
        _, flags, got, count = struct.unpack("<IIII", rep)
        assert got == index
        return flags, count

    def read(self, region, offset, count):
        rep = self.call(REGION_READ, struct.pack("<QII", offset, region, count))
        assert rep[:16] == struct.pack("<QII", offset, region, count)
        return rep[16:]

    def write(self, region, offset, data, posted=False):
        payload = struct.pack("<QII", offset, region, len(data)) + data
        ident = self.send(REGION_WRITE, payload, flags=NO_REPLY if posted else 0)
        if not posted:
            assert self.reply(ident, REGION_WRITE) == payload[:16]

    def reg(self, offset):
        return struct.unpack("<I", self.read(BAR0, offset, 4))[0]

    def set_reg(self, offset, value, posted=True):
        self.write(BAR0, offset, struct.pack("<I", value), posted)

    def set_irqs(self, index, flags, start, count, fds=(), data=b""):
        self.call(SET_IRQS, struct.pack("<IIIII", 20, flags, index, start, count) + data, fds)

    def dma_map(self, iova, size, fd=None, offset=0, flags=3):
        fds = () if fd is None else (fd,)
        self.call(DMA_MAP, struct.pack("<IIQQQ", 32, flags, offset, iova, size), fds)

    def dma_unmap(self, iova, size, flags=0):
        self.call(DMA_UNMAP, struct.pack("<IIQQ", 24, flags, iova, size))


class Memory:
    """A memfd, as the client's guest RAM."""

    def __init__(self, size):
        self.size = size
        self.fd = os.memfd_create("guest-ram")
        os.ftruncate(self.fd, size)
        self.map = mmap.mmap(self.fd, size)

    def close(self):
        self.map.close()
        os.close(self.fd)


class Eventfd:
    def __init__(self):
        self.fd = os.eventfd(0, os.EFD_NONBLOCK)

    def wait(self, seconds=LIMIT):
        """Events since the last call, 0 after `seconds` without one."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return 0
        return os.eventfd_read(self.fd)

    def close(self):
        os.close(self.fd)


class Server:
    """An npusim process with one socket (or several)."""

    def __init__(self, *options, sockets=1):
        self.dir = tempfile.mkdtemp(prefix="npusim-")
        self.paths = [os.path.join(self.dir, f"npu{i}.sock") for i in range(sockets)]
        program = os.path.join(os.environ.get("O", "build"), "npusim")
        argv = [program, "--chip", "tiny", "--threads", "1"]
        for path in self.paths:
            argv += ["--socket", path]
        self.proc = subprocess.Popen(argv + list(options), stderr=subprocess.PIPE, text=True)
        wait_until(lambda: all(map(os.path.exists, self.paths)) or self.proc.poll() is not None)
        if self.proc.poll() is not None:
            raise RuntimeError(self.proc.stderr.read())

    @property
    def path(self):
        return self.paths[0]

    def open_fds(self):
        return len(os.listdir(f"/proc/{self.proc.pid}/fd"))

    def stop(self):
        """Ends the process as a user would; what it said, its exit status must be 0."""
        self.proc.terminate()
        try:
            _, said = self.proc.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            raise
        finally:
            shutil.rmtree(self.dir, ignore_errors=True)
        assert self.proc.returncode == 0, f"npusim ended with {self.proc.returncode}: {said}"
        return said


@contextlib.contextmanager
def serving(*options, sockets=1):
    server = Server(*options, sockets=sockets)
    try:
        yield server
    except BaseException:
        server.proc.kill()
        print("# npusim said: " + server.proc.communicate()[1].replace("\n", "\n# "))
        shutil.rmtree(server.dir, ignore_errors=True)
        raise
    server.stop()


def wait_until(condition, seconds=LIMIT):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("condition not met")
        time.sleep(0.002)


def refused(code, function, *args, **kwargs):
    """The call gets an error reply with this errno."""
    try:
        function(*args, **kwargs)
    except Refused as error:
        got = errno.errorcode.get(error.errno)
        assert error.errno == code, f"errno {got}, not {errno.errorcode[code]}"
        return
    raise AssertionError("was not refused")
