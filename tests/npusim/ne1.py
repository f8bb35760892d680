# SPDX-License-Identifier: MIT
"""The NE1 contract for tests: constants read from driver/hw, page tables, image packer, a host that
boots.  Written against the contract, not against the model.
"""
import ctypes
import ctypes.util
import hashlib
import os
import re
import struct

from vfio import LIMIT, Eventfd, Memory, MSIX, TRIGGER, DATA_EVENTFD, wait_until

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def constants(*headers):
    """#define and enum values of contract headers that are plain numbers."""
    found = {}
    for header in headers:
        with open(os.path.join(ROOT, "driver", "hw", header), encoding="utf-8") as file:
            text = file.read()
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        pairs = re.findall(r"#define\s+(\w+)\s+\(?((?:0x[0-9a-fA-F]+|\d+))u?l?l?\)?\s*$", text,
                           re.M)
        pairs += re.findall(r"\b(NE1_\w+)\s*=\s*(0x[0-9a-fA-F]+|\d+)\b", text)
        found.update({name: int(value, 0) for name, value in pairs})
        for name, bit in re.findall(r"#define\s+(\w+)\s+\(1u(?:ll)? << (\d+)\)", text):
            found[name] = 1 << int(bit)
        registers = r"#define\s+(NE1_MC_\w+)\s+\(NE1_MC_CTRL \+ (0x[0-9a-f]+)\)"
        for name, offset in re.findall(registers, text):
            found[name] = found["NE1_MC_CTRL"] + int(offset, 0)
        for macro, index in (("NE1_MC_AS", 1), ("NE1_MC_CORE", 0)):	# the blocks that tests use
            base, step = block(text, macro)
            if step:
                found[f"{macro}{index}"] = base + index * step
    return found


def block(text, macro):
    """Base and step of a macro like NE1_MC_CORE(c), zeroes if it is not in the text."""
    match = re.search(macro + r"\(\w+\)\s+\((0x[0-9a-f]+)u \+ \(\w+\) \* (0x[0-9a-f]+)u\)", text)
    return (int(match.group(1), 0), int(match.group(2), 0)) if match else (0, 0)


class Constants:
    def __init__(self):
        self.__dict__ = constants("ne1_regs.h", "ne1_fwabi.h", "ne1_fw_image.h", "ne1_cmd.h")


C = Constants()
PTE_VALID, PTE_LEAF, PTE_RO = 1, 2, 4
PAGE = 4096


def doorbell(queue):
    return C.NE1_DOORBELL_BASE + 0x1000 * queue


# Firmware images.

def sodium():
    return ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")


class Signer:
    def __init__(self, seed):
        self.lib = sodium()
        public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
        assert self.lib.crypto_sign_seed_keypair(public, secret, bytes(seed)) == 0
        self.public, self.secret = public.raw, secret.raw

    def sign(self, message):
        signature = ctypes.create_string_buffer(64)
        assert self.lib.crypto_sign_detached(signature, None, message,
                                             ctypes.c_ulonglong(len(message)),
                                             self.secret) == 0
        return signature.raw


TEST_SIGNER = Signer(hashlib.sha256(b"npusim protocol tests").digest())

HEADER_FIELDS = ("magic", "header_size", "payload_size", "load_addr", "entry", "memory_size",
                 "abi_major",
                 "abi_minor", "fw_version", "security_version", "flags")


def pack_image(payload, signer=TEST_SIGNER, reserved0=bytes(24), reserved1=bytes(256), key_id=None,
               sha512=None,
               signature=None, **fields):
    """A firmware image; every part of the header can be overridden, and is signed as it then is."""
    header = {
        "magic": C.NE1_FW_MAGIC, "header_size": 512, "payload_size": len(payload),
        "load_addr": C.NE1_MC_TCM, "entry": C.NE1_MC_TCM, "memory_size": len(payload),
        "abi_major": 1, "abi_minor": 0, "fw_version": 0x00010000, "security_version": 1, "flags": 0,
    }
    header.update(fields)
    signed = struct.pack("<IIIIIIHHIII", *(header[name] for name in HEADER_FIELDS))
    signed += b"test".ljust(56, b"\0")
    signed += hashlib.sha512(payload).digest() if sha512 is None else sha512
    signed += hashlib.sha512(signer.public).digest()[:8] if key_id is None else key_id
    signed += reserved0
    assert len(signed) == C.NE1_FW_SIGNED_BYTES
    signature = signer.sign(signed) if signature is None else signature
    return signed + signature + reserved1 + payload


# Page tables in guest memory.

class PageTables:
    """Tables in `memory` (bus address = `bus` + offset); `take` hands out the offset of a page."""

    def __init__(self, memory, bus, take):
        self.memory, self.bus, self.take = memory, bus, take
        self.root = self.new_table()

    def new_table(self):
        offset = self.take()
        self.memory.map[offset:offset + PAGE] = bytes(PAGE)
        return offset

    def slot(self, table, index, value=None):
        at = table + 8 * index
        if value is not None:
            self.memory.map[at:at + 8] = struct.pack("<Q", value)
        return struct.unpack("<Q", self.memory.map[at:at + 8])[0]

    def map(self, va, bus, flags=0, level=0):
        """A leaf at `level` (0: 4 KiB, 1: 2 MiB)."""
        table = self.root
        for shift in (30, 21)[:2 - level]:
            pte = self.slot(table, va >> shift & 511)
            if not pte:
                pte = self.slot(table, va >> shift & 511, self.bus + self.new_table() | PTE_VALID)
            table = (pte & ~0xfff) - self.bus
        self.slot(table, va >> (12 + 9 * level) & 511, bus | flags | PTE_VALID | PTE_LEAF)


# A host that boots firmware.

class Host:
    """Guest memory at bus address BUS: image, page tables, shared region; registers; vectors."""
    BUS = 0x1_0000_0000
    SIZE = 8 << 20
    IMAGE = 0x100000
    SHARED = 0x200000
    SHARED_SIZE = 0x100000

    def __init__(self, client):
        self.client = client
        self.memory = Memory(self.SIZE)
        self.next_page = 0
        client.dma_map(self.BUS, self.SIZE, self.memory.fd)
        self.tables = PageTables(self.memory, self.BUS, self.take_page)
        for offset in range(0, self.SHARED_SIZE, PAGE):
            self.tables.map(offset, self.BUS + self.SHARED + offset)
        self.vectors = [Eventfd() for _ in range(4)]
        client.set_irqs(MSIX, TRIGGER | DATA_EVENTFD, 0, 4, [v.fd for v in self.vectors])

    def close(self):
        for vector in self.vectors:
            vector.close()
        self.memory.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def take_page(self):
        offset = self.next_page
        self.next_page += PAGE
        assert self.next_page <= self.IMAGE
        return offset

    def put(self, offset, data):
        self.memory.map[offset:offset + len(data)] = data

    def get(self, offset, fmt):
        return struct.unpack_from(fmt, self.memory.map, offset)

    def start(self, image, size=None, bus=None):
        """Everything up to START."""
        c = self.client
        bus = self.BUS + self.IMAGE if bus is None else bus
        self.put(self.IMAGE, image)
        for offset, value in ((C.NE1_REG_BOOT_IMG_LO, bus & 0xffffffff),
                              (C.NE1_REG_BOOT_IMG_HI, bus >> 32),
                              (C.NE1_REG_BOOT_IMG_SIZE, len(image) if size is None else size),
                              (C.NE1_REG_FW_PGD_LO, self.BUS + self.tables.root & 0xffffffff),
                              (C.NE1_REG_FW_PGD_HI, self.BUS + self.tables.root >> 32),
                              (C.NE1_REG_IRQ_ENABLE, 0xf), (C.NE1_REG_BOOT_CTRL, 1)):
            c.set_reg(offset, value)

    def boot_status(self):
        value = self.client.reg(C.NE1_REG_BOOT_STATUS)
        return value & 0xff, value >> 8 & 0xff

    def wait_state(self, *states, seconds=LIMIT):
        wait_until(lambda: self.boot_status()[0] in states, seconds)
        return self.boot_status()

    def boot_result(self, image, **kwargs):
        """State and error once the boot ROM has decided."""
        self.start(image, **kwargs)
        return self.wait_state(C.NE1_BOOT_STATE_STARTED, C.NE1_BOOT_STATE_READY,
                               C.NE1_BOOT_STATE_FAILED,
                               C.NE1_BOOT_STATE_PANIC)

    def reset(self):
        self.client.set_reg(C.NE1_REG_RESET, 1)
        wait_until(lambda: self.client.reg(C.NE1_REG_RESET) == 0)
