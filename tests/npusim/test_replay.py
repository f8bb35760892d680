#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""npusim --replay: jobs of core dumps end as they did, or it says so; files that are none are refused."""
import os
import struct
import subprocess
import tempfile

import tap
from ne1 import C
from probe import END, dma, header

PARAMS, STREAM, DATA, ROM = 0x400000, 0x100000, 0x10000000, 0x20000000
ROM_SIZE = 0x1000
PROGRAM = os.path.join(os.environ.get("O", "build"), "npusim")
LD = dma(C.NE1_OP_LD, 0, 0, 0, 256, signal=0)
ST = dma(C.NE1_OP_ST, 0, 0x100, 0, 256, wait=0)


def unit_info(unit, code=0, write=0, asid=3):
    return asid << 4 | write << 8 | unit << 12 | code << 16


def hexed(data):
    return "".join(data[i:i + 32].hex() + "\n" for i in range(0, len(data), 32))


def binary(name, data, va=None):
    return f"[{name} bytes={len(data)}" + (f" va={va:#x}]\n" if va is not None else "]\n") + hexed(data)


def text(name, body):
    return f"[{name} bytes={len(body)}]\n{body}" + ("" if body.endswith("\n") or not body else "\n")


def job_entry(seqno, streams, profile=0):
    entry = struct.pack("<QIIQQ", seqno, 0, len(streams), PARAMS, profile)
    for i, stream in enumerate(streams):
        entry += struct.pack("<QII", STREAM + 0x10000 * i, len(stream), 0)
    return entry.ljust(128, b"\0")


def params(values=()):
    values = list(values) + [0] * (32 - len(values))
    return struct.pack("<16Q32I", DATA, ROM, *[0] * 14, *values)


def dump(streams, fault=0, cmd=0, va=0, info=0, data=b"", values=(), ring=True, chip="tiny", profile=0,
         seqno=7):
    """As the driver writes it."""
    streams = [b"".join(s) for s in streams]
    out = (f"npuedge-coredump 1\nchip: {chip}\ncontract: 1.1\nfirmware: 1.1.0 test\nreason: fault\n"
           f"time_ns: 123\nqueue: 2\nvm: 1\nseqno: {seqno}\nfault: {fault}\ncmd: {cmd}\nva: {va:#x}\n"
           f"info: {info:#x}\ncore: 0\n")
    out += text("regs", "0x0000 0x3145554e\n") + text("fw_log", "[vm bytes=4]\nno section, and no end of line")
    if ring:
        out += binary("ring", job_entry(6, streams) + job_entry(seqno, streams, profile))
    out += text("walk", "0 0 0x1\n")
    ranges = [(PARAMS, 0x1000, 1), (DATA, 0x10000, 0), (ROM, ROM_SIZE, 1)]
    ranges += [(STREAM + 0x10000 * i, 0x10000, 1) for i in range(len(streams))]
    out += text("vm", "".join(f"{va:#x} {size:#x} {ro} -\n" for va, size, ro in ranges))
    out += binary("params", params(values), PARAMS)
    for i, stream in enumerate(streams):
        out += binary(f"stream{i}", stream, STREAM + 0x10000 * i)
    if data:
        out += binary("bo", data, DATA)
    return out


def replay(content, *options):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(content)
        file.flush()
        done = subprocess.run([PROGRAM, "--replay", file.name, *options], capture_output=True, text=True,
                              check=False, timeout=300)
    return done.returncode, done.stdout, done.stderr


def expect(status, content, *words):
    got, out, err = replay(content)
    assert got == status, f"status {got}: {out}{err}"
    for word in words:
        assert word in out + err, f"'{word}' is not in: {out}{err}"


def test_good_job():
    """a job without a fault, as of a time-out"""
    expect(0, dump([[LD, ST, END]]), "replay: no fault", "same")
    expect(0, dump([[LD, ST, END]], profile=DATA + 0x8000), "same")


def test_mmu_faults():
    """nothing mapped, read-only and beyond the address space: same VA, command, unit and access"""
    far = dma(C.NE1_OP_ST, 0, 0xff80, 0, 256, wait=0)
    info = unit_info(C.NE1_UNIT_ST, C.NE1_MMU_NOT_PRESENT, 1)
    expect(0, dump([[LD, far, END]], 4, 1, DATA + 0x10000, info),
           "replay: MMU fault (nothing mapped) at 0x10010000, write by ST, command 1", "same")
    rom = dma(C.NE1_OP_ST, 1, 0, 0, 256, wait=0)
    info = unit_info(C.NE1_UNIT_ST, C.NE1_MMU_READ_ONLY, 1)
    expect(0, dump([[LD, rom, END]], 4, 1, ROM, info), "(read-only) at 0x20000000")
    wild = dma(C.NE1_OP_LD, 2, 1 << 39, 0, 256)
    info = unit_info(C.NE1_UNIT_LD, C.NE1_MMU_RANGE)
    expect(0, dump([[wild, END]], 4, 0, 1 << 39, info), "(beyond the address space)", "read by LD")


def test_other_faults():
    """opcode, deadlock, end of stream, field"""
    front = unit_info(C.NE1_UNIT_FE)
    expect(0, dump([[header(0x7f) + bytes(56), END]], 1, 0, 0, front), "unknown opcode (fault 1) in front end")
    expect(0, dump([[ST, END]], 5, 0, 0, unit_info(C.NE1_UNIT_ST)), "deadlock of semaphores")
    expect(0, dump([[LD]], 7, 1, 0, front), "end of stream without END")
    odd = dma(C.NE1_OP_LD, 0, 1, 0, 256)
    expect(0, dump([[LD, odd, END]], 2, 1, 0, unit_info(C.NE1_UNIT_LD)), "field out of range")


def gather():
    """Rows by the index list in the first bytes of the data: a field fault if an index is 8 or more."""
    load = dma(C.NE1_OP_LD, 0, 0, 0, 16, signal=0)
    rows = header(C.NE1_OP_LD_GATHER, wait=0) + struct.pack("<QIIQIIHB5xI12x", 0x1000, 0, 64, 64, 1024, 64,
                                                            4, 0, 8)
    return [load, rows, END]


def test_contents():
    """memory and parameters of the dump decide what the job does"""
    assert len(gather()[1]) == 64
    info = unit_info(C.NE1_UNIT_LD)
    expect(0, dump([gather()], data=struct.pack("<4I", 1, 2, 3, 7)))
    expect(0, dump([gather()], 2, 1, 0, info, data=struct.pack("<4I", 1, 2, 3, 8)))
    expect(1, dump([gather()], 2, 1, 0, info, data=struct.pack("<4I", 1, 2, 3, 7)), "different")
    skip = header(C.NE1_OP_SKIP) + struct.pack("<IIB3x44x", 1, 5, 0)
    bad = header(0x7f) + bytes(56)
    expect(0, dump([[skip, bad, END]], values=[5]))
    expect(0, dump([[skip, bad, END]], 1, 1, 0, unit_info(C.NE1_UNIT_FE), values=[6]))


def test_different():
    """another command, VA, code or fault is different"""
    far = [LD, dma(C.NE1_OP_ST, 0, 0x20000, 0, 256, wait=0), END]
    info, va = unit_info(C.NE1_UNIT_ST, C.NE1_MMU_NOT_PRESENT, 1), DATA + 0x20000
    expect(0, dump([far], 4, 1, va, info), "same")
    for fault, cmd, addr, word in ((4, 2, va, info), (4, 1, va + 64, info), (5, 1, va, info), (0, 0, 0, 0),
                                   (10, 1, 0, info), (4, 1, va, info ^ 1 << 8), (4, 1, va, info ^ 3 << 16)):
        expect(1, dump([far], fault, cmd, addr, word), "different")


def test_streams():
    """of a job for two cores the stream that failed is found"""
    bad = [LD, header(0x7f) + bytes(56), END]
    expect(0, dump([[LD, ST, END], bad], 1, 1, 0, unit_info(C.NE1_UNIT_FE)), "same")
    expect(0, dump([bad, [LD, ST, END]], 1, 1, 0, unit_info(C.NE1_UNIT_FE)), "same")


def test_without_ring():
    """parameters and streams alone are enough; so is another chip by option"""
    bad = dump([[LD, header(0x7f) + bytes(56)]], 1, 1, 0, unit_info(C.NE1_UNIT_FE), ring=False)
    expect(0, bad, "same")
    assert replay(bad.replace("chip: tiny", "chip: none"))[0] == 2
    assert replay(bad.replace("chip: tiny", "chip: none"), "--chip", "edge")[0] == 0


def test_bad_files():
    """what is no usable dump ends with 2 and a line that says where"""
    good = dump([[LD, ST, END]])
    expect(0, good)
    head, sections = good.split("[regs", 1)
    cases = {
        "empty": "", "other": "hello\n", "version": good.replace("coredump 1", "coredump 2", 1),
        "key": good.replace("queue: 2", "queue 2"), "number": good.replace("seqno: 7", "seqno: x"),
        "no chip": good.replace("chip: tiny\n", ""), "path as chip": good.replace("chip: tiny", "chip: ./tiny"),
        "no job": head.split("queue:")[0] + "[regs" + sections, "no sections": head,
        "title": good.replace("[params", "params"), "no bytes": good.replace(" bytes=256", ""),
        "bytes": good.replace("bytes=256", "bytes=x"), "too many bytes": good.replace("bytes=256", "bytes=9999999"),
        "few bytes": good.replace("bytes=256", "bytes=224"), "long name": good.replace("[params", "[parameters_of_job"),
        "va": good.replace(f"va={PARAMS:#x}", "va=zz"), "no hex": good.replace("[params bytes=256 va=0x400000]\n",
                                                                            "[params bytes=256 va=0x400000]\nzz"),
        "mapping": good.replace(f"{DATA:#x} 0x10000", f"{DATA:#x} 0x10x00"),
        "odd mapping": good.replace(f"{DATA:#x} 0x10000", f"{DATA:#x} 0x10100"),
        "huge mapping": good.replace(f"{DATA:#x} 0x10000", f"{DATA:#x} 0x90000"),
        "overlap": good.replace(f"{DATA:#x} 0x10000", f"{ROM:#x} 0x10000"),
        "far contents": good.replace(f"va={PARAMS:#x}", f"va={(1 << 39) - 64:#x}"),
        "cut": good[:len(good) // 2],
    }
    for name, content in cases.items():
        if name == "huge mapping":
            content = good.replace(f"{DATA:#x} 0x10000 0", f"{1 << 31:#x} {(1 << 38):#x} 0")
        status, out, err = replay(content)
        assert status == 2 and err.startswith("npusim: ") and not out, f"{name}: {status} {out}{err}"
    assert subprocess.run([PROGRAM, "--replay", "/nowhere"], capture_output=True, check=False).returncode == 2


if __name__ == "__main__":
    tap.main(__name__)
