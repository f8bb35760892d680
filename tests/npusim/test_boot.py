#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The boot ROM: every way an image can be wrong has its error, in the order of ne1_fw_image.h."""
import struct
import tempfile

import tap
from ne1 import C, TEST_SIGNER, Host, Signer, pack_image
from vfio import Client, serving

LOOP = struct.pack("<I", 0x0000006f)			# j .
PAYLOAD = LOOP + bytes(range(252))
TCM, TCM_SIZE = C.NE1_MC_TCM, C.NE1_MC_TCM_SIZE
FAILED, STARTED = C.NE1_BOOT_STATE_FAILED, C.NE1_BOOT_STATE_STARTED


def expect(cases, *options):
    """Boots each (name, image, expected state, expected error, arguments of start)."""
    with tempfile.NamedTemporaryFile("w", suffix=".pub") as key:
        key.write(TEST_SIGNER.public.hex())
        key.flush()
        with serving("--key", key.name, *options) as server, Client(server.path) as client, \
                Host(client) as host:
            for name, image, state, error, *kwargs in cases:
                got = host.boot_result(image, **(kwargs[0] if kwargs else {}))
                assert got == (state, error), f"{name}: state, error {got}, want {(state, error)}"
                host.reset()


def flipped(image, at):
    return image[:at] + bytes([image[at] ^ 1]) + image[at + 1:]


def test_good():
    """good images start: smallest, largest, loaded high, entered late"""
    largest = LOOP + bytes(TCM_SIZE - 4)
    high = TCM + TCM_SIZE - 256
    expect([
        ("plain", pack_image(PAYLOAD), STARTED, 0),
        ("smallest", pack_image(LOOP), STARTED, 0),
        ("largest", pack_image(largest), STARTED, 0),
        ("high", pack_image(PAYLOAD, load_addr=high, entry=high), STARTED, 0),
        ("late entry", pack_image(bytes(252) + LOOP, entry=TCM + 252), STARTED, 0),
        ("room for bss", pack_image(PAYLOAD, memory_size=TCM_SIZE), STARTED, 0),
        ("other ABI is the host's business", pack_image(PAYLOAD, abi_major=7), STARTED, 0),
    ])


def test_dma():
    """memory that is not there: DMA"""
    image = pack_image(PAYLOAD)
    end = Host.BUS + Host.SIZE
    expect([
        ("nowhere", image, FAILED, C.NE1_BOOT_ERR_DMA, {"bus": 0x1000}),
        ("header runs off", image, FAILED, C.NE1_BOOT_ERR_DMA, {"bus": end - 256}),
        ("top of the address space", image, FAILED, C.NE1_BOOT_ERR_DMA, {"bus": 2 ** 64 - 256}),
    ])


def test_payload_off_the_end():
    """a payload that runs off memory: DMA"""
    with tempfile.NamedTemporaryFile("w", suffix=".pub") as key:
        key.write(TEST_SIGNER.public.hex())
        key.flush()
        with serving("--key", key.name) as server, Client(server.path) as client, \
                Host(client) as host:
            image = pack_image(PAYLOAD)
            host.put(host.SIZE - 600, image[:600])
            assert host.boot_result(image, bus=host.BUS + host.SIZE - 600) == (FAILED,
                                                                               C.NE1_BOOT_ERR_DMA)


def test_magic_and_header():
    """magic, header fields and reserved bytes"""
    magic, header = C.NE1_BOOT_ERR_MAGIC, C.NE1_BOOT_ERR_HEADER
    expect([
        ("magic", pack_image(PAYLOAD, magic=0x4631454d), FAILED, magic),
        ("zeroes", bytes(1024), FAILED, magic),
        ("header size", pack_image(PAYLOAD, header_size=256), FAILED, header),
        ("flags", pack_image(PAYLOAD, flags=1), FAILED, header),
        ("load below TCM", pack_image(PAYLOAD, load_addr=TCM - 4), FAILED, header),
        ("load above TCM", pack_image(PAYLOAD, load_addr=TCM + TCM_SIZE), FAILED, header),
        ("load misaligned", pack_image(PAYLOAD, load_addr=TCM + 2), FAILED, header),
        ("load wraps", pack_image(PAYLOAD, load_addr=0xfffffffc), FAILED, header),
        ("entry odd", pack_image(PAYLOAD, entry=TCM + 1), FAILED, header),
        ("entry behind payload", pack_image(PAYLOAD, entry=TCM + 256), FAILED, header),
        ("entry before payload", pack_image(PAYLOAD, load_addr=TCM + 64, entry=TCM), FAILED,
         header),
        ("entry outside TCM", pack_image(PAYLOAD, entry=0), FAILED, header),
        ("reserved0", pack_image(PAYLOAD, reserved0=b"\1" + bytes(23)), FAILED, header),
        ("reserved1", pack_image(PAYLOAD, reserved1=bytes(255) + b"\1"), FAILED, header),
    ])


def test_sizes():
    """payload and memory sizes against image and TCM"""
    size = C.NE1_BOOT_ERR_SIZE
    image = pack_image(PAYLOAD)
    expect([
        ("image smaller than a header", image, FAILED, size, {"size": 511}),
        ("image size 0", image, FAILED, size, {"size": 0}),
        ("payload beyond image", image, FAILED, size, {"size": len(image) - 1}),
        ("payload size 0", pack_image(PAYLOAD, payload_size=0), FAILED, size),
        ("payload size odd", pack_image(PAYLOAD, payload_size=250), FAILED, size),
        ("payload size huge", pack_image(PAYLOAD, payload_size=0xfffffffc), FAILED, size),
        ("payload beyond TCM", pack_image(LOOP + bytes(TCM_SIZE)), FAILED, size),
        ("payload beyond TCM, loaded high",
         pack_image(PAYLOAD, load_addr=TCM + TCM_SIZE - 128, entry=TCM + TCM_SIZE - 128), FAILED,
         size),
        ("memory below payload", pack_image(PAYLOAD, memory_size=252), FAILED, size),
        ("memory beyond TCM", pack_image(PAYLOAD, memory_size=TCM_SIZE + 4), FAILED, size),
        ("trailing bytes are no error", image + bytes(100), STARTED, 0),
    ])


def test_trust():
    """hash, key and signature; a flipped bit anywhere in what is signed"""
    image = pack_image(PAYLOAD)
    other = Signer(bytes(32))
    signature = C.NE1_BOOT_ERR_SIGNATURE
    cases = [
        ("payload bit", flipped(image, 512 + 200), FAILED, C.NE1_BOOT_ERR_HASH),
        ("hash bit", flipped(image, 96), FAILED, C.NE1_BOOT_ERR_HASH),
        ("key id bit", flipped(image, 160), FAILED, C.NE1_BOOT_ERR_KEY),
        ("another's key", pack_image(PAYLOAD, signer=other), FAILED, C.NE1_BOOT_ERR_KEY),
        ("another's signature", pack_image(PAYLOAD, signer=other, key_id=image[160:168]), FAILED,
         signature),
        ("no signature", pack_image(PAYLOAD, signature=bytes(64)), FAILED, signature),
        ("signature bit", flipped(image, 192), FAILED, signature),
        ("build text bit", flipped(image, 44), FAILED, signature),
        ("security version bit", flipped(image, 32), FAILED, signature),
        ("hash of another payload", pack_image(PAYLOAD, sha512=bytes(64)), FAILED,
         C.NE1_BOOT_ERR_HASH),
    ]
    expect(cases)


def test_rollback():
    """a security version below the fused minimum, after the signature"""
    image = pack_image(PAYLOAD, security_version=4)
    expect([
        ("below", image, FAILED, C.NE1_BOOT_ERR_ROLLBACK),
        ("below with bad signature", flipped(image, 192), FAILED, C.NE1_BOOT_ERR_SIGNATURE),
        ("equal", pack_image(PAYLOAD, security_version=5), STARTED, 0),
        ("above", pack_image(PAYLOAD, security_version=0xffffffff), STARTED, 0),
    ], "--min-security-version", "5")


def test_fused_minimum():
    """the host can read the fused minimum, before and after a boot"""
    for options, minimum in (((), 0), (("--min-security-version", "7"), 7)):
        with serving(*options) as server, Client(server.path) as client:
            assert client.reg(C.NE1_REG_SECURITY_MIN) == minimum
            client.set_reg(C.NE1_REG_SECURITY_MIN, 1)
            assert client.reg(C.NE1_REG_SECURITY_MIN) == minimum


def test_failed_needs_reset():
    """after FAILED only a reset makes START work again"""
    expect([("bad", bytes(512), FAILED, C.NE1_BOOT_ERR_MAGIC)])
    with serving() as server, Client(server.path) as client, Host(client) as host:
        assert host.boot_result(bytes(512))[0] == FAILED
        host.start(pack_image(PAYLOAD))
        assert host.boot_status() == (FAILED, C.NE1_BOOT_ERR_MAGIC)


def test_development_key():
    """without --key the ROM trusts the development key, not the tests'"""
    with serving() as server, Client(server.path) as client, Host(client) as host:
        assert host.boot_result(pack_image(PAYLOAD)) == (FAILED, C.NE1_BOOT_ERR_KEY)


if __name__ == "__main__":
    tap.main(__name__)
