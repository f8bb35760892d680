#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the compute cores beside arithmetic: data movement, order, faults, hazards, time.

usage: core.py [NAME...]

Prints TAP.  $O is the build folder.
"""

import random
import struct
import sys

import stream as s
import tap

A, B, C = 0x40000000, 0x50000000, 0x60000000
SRAM = 512 << 10
CASES = {}


def case(fn):
    CASES[fn.__name__.replace("_", "-")] = fn
    return fn


def expect(cond, fmt, *args):
    if not cond:
        raise AssertionError(fmt % args if args else fmt)


def equal(got, want, what):
    expect(got == want, "%s: got %r, want %r", what, got, want)


def done(ans):
    expect(
        ans.state == s.DONE, "ended with %s in command %d (%s)", ans.fault, ans.fault_cmd, ans.unit
    )
    equal(ans.bracket_errors, 0, "accesses outside enter/leave")
    return ans


def faulted(ans, fault, unit, cmd, what=""):
    equal(
        (ans.state, ans.fault, ans.unit, ans.fault_cmd),
        (s.FAULT, fault, unit, cmd),
        what or "fault",
    )


def noise(n, seed=1):
    return random.Random(seed).randbytes(n)


def sram_after(runner, cmds, regions, bases=(A, B, C), values=(), size=65536, **kw):
    """SRAM (zero before) after @cmds of the LD engine."""
    out = s.Region(C, bytes(size))
    ans = done(
        runner.run(
            [*cmds, s.plain(s.YIELD), s.dma(s.ST, 0, size, base=2)],
            [*regions, out],
            bases,
            values,
            **kw
        )
    )
    return out.data, ans


# --- LD and ST --------------------------------------------------


@case
def ld_strided(runner):
    src = noise(20000)
    for rows, n, ds, ss, off in (
        (1, 4, 0, 0, 2),
        (7, 36, 100, 64, 6),
        (5, 64, 64, 64, 0),
        (3, 128, 0, 128, 4),
        (4, 8, 8, 8, 4090),
        (3, 4096, 4098, 8192, 2),
        (2, 12, 4096, 0, 4090),
    ):
        want = bytearray(65536)
        for r in range(rows):
            want[256 + r * ss : 256 + r * ss + n] = src[off + r * ds : off + r * ds + n]
        got, ans = sram_after(
            runner, [s.dma(s.LD, 256, n, rows, 0, off, ds, ss)], [s.Region(A, src, True)]
        )
        equal(got, bytes(want), "LD %s" % ((rows, n, ds, ss, off),))
        equal(ans.profile.dram_rd_bytes, rows * n + 256 + 4 * 64, "bytes read")
        equal((ans.dram_rd, ans.dram_wr), (ans.profile.dram_rd_bytes, 65536), "device counters")


@case
def st_strided(runner):
    src = noise(8192)
    for rows, n, ds, ss, off in (
        (1, 4, 0, 0, 2),
        (7, 36, 100, 64, 6),
        (5, 64, 64, 64, 0),
        (3, 512, 4100, 0, 4094),
    ):
        out = s.Region(B, noise(20000, 2))
        want = bytearray(out.data)
        for r in range(rows):
            want[off + r * ds : off + r * ds + n] = src[r * ss : r * ss + n]
        done(
            runner.run(
                [
                    s.dma(s.LD, 0, 8192, signal=(3,)),
                    s.dma(s.ST, 0, n, rows, 1, off, ds, ss, wait=(3,)),
                ],
                [s.Region(A, src, True), out],
                (A, B),
            )
        )
        equal(out.data, bytes(want), "ST %s" % ((rows, n, ds, ss, off),))


@case
def dynamic_address(runner):
    src = noise(20000)
    got, _ = sram_after(
        runner,
        [s.dma(s.LD, 0, 64, 1, 1, 10, dyn=31, dyn_scale=96)],
        [s.Region(A, src, True)],
        (0, A, C),
        [0] * 31 + [77],
    )
    equal(got[:64], src[10 + 77 * 96 :][:64], "row 77")
    got, _ = sram_after(
        runner,
        [s.dma(s.LD, 0, 64, 1, 1, 0, dyn=0, dyn_scale=0xFFFFFFFE)],
        [s.Region(A + 2 * 0xFFFFFFFE, src, True)],
        (0, A, C),
        [2],
    )
    equal(got[:64], src[:64], "64-bit scale")
    back = (1 << 64) - 64
    got, _ = sram_after(
        runner, [s.dma(s.LD, 0, 32, 3, 1, 128, back)], [s.Region(A, src, True)], (0, A, C)
    )
    equal(got[:96], src[128:160] + src[64:96] + src[:32], "negative stride")


@case
def clip(runner):
    src = noise(4096)
    fill = s.dma(s.LD, 0, 4096, 1, 0)
    for value, bias, n in (
        (3, 0, 3),
        (8, 0, 8),
        (0, 0, 0),
        (5, 3, 2),
        (5, 9, 0),
        (2, -3, 5),
        (0xFFFFFFFF, 0, 8),
        (0, -2147483648, 8),
        (0xFFFFFFFF, 2147483647, 8),
        (100, 99, 1),
    ):
        load = s.dma(s.LD, 0, 32, 8, 0, 1024, 40, 64, clip=5, clip_bias=bias)
        got, _ = sram_after(
            runner, [fill, load], [s.Region(A, src, True)], values=[9] * 5 + [value]
        )
        want = bytearray(src) + bytes(65536 - 4096)
        for r in range(8):
            want[r * 64 : r * 64 + 32] = src[1024 + r * 40 :][:32] if r < n else bytes(32)
        equal(got, bytes(want), "LD clipped by %d - %d" % (value, bias))
        out = s.Region(B, noise(1024, 3))
        want = bytearray(out.data)
        for r in range(n):
            want[r * 40 : r * 40 + 32] = src[r * 64 :][:32]
        done(
            runner.run(
                [
                    s.dma(s.LD, 0, 4096, signal=(0,)),
                    s.dma(s.ST, 0, 32, 8, 1, 0, 40, 64, clip=5, clip_bias=bias, wait=(0,)),
                ],
                [s.Region(A, src, True), out],
                (A, B),
                [9] * 5 + [value],
            )
        )
        equal(out.data, bytes(want), "ST clipped by %d - %d" % (value, bias))


@case
def gather_rows(runner):
    table = noise(9000)
    index = [7, 0, 0, 99, 42, 7]
    src = struct.pack("<6I", *index)
    cmds = lambda limit: [
        s.dma(s.LD, 4096, 24, base=1),
        s.gather(64, 4096, 80, 6, limit, offset=2, dram_stride=90, sram_stride=96),
    ]
    regions = [s.Region(A, table, True), s.Region(B, src, True)]
    got, _ = sram_after(runner, cmds(100), regions)
    want = bytearray(65536)
    want[4096:4120] = src
    for r, i in enumerate(index):
        want[64 + r * 96 : 64 + r * 96 + 80] = table[2 + i * 90 :][:80]
    equal(got, bytes(want), "gathered rows")
    faulted(runner.run(cmds(99), regions, (A, B)), "FIELD", "LD", 1, "index at the limit")
    faulted(
        runner.run(cmds(0xFFFFFFFF), [s.Region(A, table[:8000], True), regions[1]], (A, B)),
        "MMU",
        "LD",
        1,
        "row outside memory",
    )


# --- control ----------------------------------------------------


@case
def skips(runner):
    src = noise(256)
    for value, limit, taken in (
        (5, 5, True),
        (4, 5, True),
        (6, 5, False),
        (0xFFFFFFFF, 0xFFFFFFFE, False),
    ):
        cmds = [
            s.skip(2, limit, 2),
            s.dma(s.LD, 0, 64, offset=0),
            s.dma(s.LD, 64, 64, offset=64),
            s.dma(s.LD, 128, 64, offset=128),
        ]
        got, ans = sram_after(runner, cmds, [s.Region(A, src, True)], values=[0, 0, value])
        want = (bytes(128) if taken else src[:128]) + src[128:192] + bytes(65536 - 192)
        equal(got, want, "SKIP of %d <= %d" % (value, limit))
        equal((ans.profile.skipped, ans.profile.commands), ((2, 5) if taken else (0, 7)), "counts")


@case
def mark_and_profile(runner):
    out = s.Region(B, bytes(64))
    ans = done(
        runner.run(
            [s.mark(1, 8), s.dma(s.LD, 0, 262144), s.mark(1, 24)],
            [s.Region(A, noise(262144), True), out],
            (A, B),
            profile=True,
        )
    )
    t = struct.unpack("<8Q", out.data)
    equal((t[0], t[2]) + t[4:], (0,) * 6, "words beside the marks")
    expect(ans.profile.start_ns <= t[1] < t[3] <= ans.profile.end_ns, "marks out of order")
    expect(262144 / 8.533 < t[3] - t[1] < 262144 / 7, "%d ns for 256 KiB", t[3] - t[1])
    p = ans.stored_profile
    equal((p.macs, p.skipped, p.commands, p.freq_khz), (0, 0, 4, 500000), "profile")
    equal((p.start_ns, p.end_ns), (ans.profile.start_ns, ans.profile.end_ns), "times")
    expect(p.ld_busy and not p.st_busy + p.mx_busy + p.vx_busy, "only LD was busy")
    expect(
        abs(p.cycles * 2 - (p.end_ns - p.start_ns)) <= 4,
        "%d cycles at 500 MHz in %d ns",
        p.cycles,
        p.end_ns - p.start_ns,
    )
    expect(p.energy_nj > 262144 * 64e-6, "%d nJ for 256 KiB", p.energy_nj)
    expect(20000 < p.temp_die_mc < 60000, "die at %d", p.temp_die_mc)


@case
def yields(runner):
    src = noise(64)
    cmds = [
        s.dma(s.LD, 0, 64),
        s.plain(s.YIELD),
        s.plain(s.YIELD),
        s.dma(s.ST, 0, 64, base=1),
        s.plain(s.YIELD),
    ]
    for take, n in ((s.RUN_THROUGH, 0), (s.RESUME, 3)):
        out = s.Region(B, bytes(64))
        ans = done(runner.run(cmds, [s.Region(A, src, True), out], (A, B), take_yields=take))
        equal((ans.yields, out.data, ans.profile.commands), (n, src, 6), "yields")


def stages(n):
    """@n stages that end in a YIELD: what A holds goes through the engines to B, part of it skipped."""
    cmds = []
    for i in range(n):
        cmds += [
            s.dma(s.LD, 0, 4096, 4, offset=16384 * i, signal=(0,)),
            s.skip(3, i % 2, 1),  # value[3] is 0: every one is skipped
            s.dma(s.LD, 0, 4096, offset=0),
            s.vx(s.SILU, (0, 0, 0), (0, 0, 0), 4096, wait=(0,), signal=(1,)),
            s.mm(0, 256, 16384, 256, 32768, 256, 16, 64, 64, (0, 0, 0), wait=(1,), signal=(2,)),
            s.dma(s.ST, 32768, 4096, base=1, offset=4096 * i, wait=(2,)),
            s.dma(s.ST, 0, 4096, base=1, offset=4096 * (n + i)),
            s.plain(s.YIELD),
        ]
    return cmds


@case
def put_aside(runner):
    """A job that loses the core, SRAM and semaphores at every YIELD ends as one that never did."""
    n = 9
    src = struct.pack("<%df" % (4096 * n), *(i % 977 / 64 - 5 for i in range(4096 * n)))
    runs = []
    for take in (s.RUN_THROUGH, s.PUT_ASIDE):
        out = s.Region(B, bytes(8192 * n))
        ans = runner.run(
            stages(n), [s.Region(A, src, True), out], (A, B), take_yields=take, profile=True
        )
        runs.append((done(ans), out.data))
    (straight, want), (parts, got) = runs
    equal((straight.yields, parts.yields), (0, n), "yields")
    expect(got == want and any(got), "the results differ")
    equal((parts.progress, parts.resumed_at), (1, 8 * n), "of the last start: only END")
    equal(straight.progress, straight.profile.commands, "progress")
    a, b = straight.stored_profile, parts.stored_profile
    for name in ("macs", "commands", "skipped", "dram_wr_bytes"):
        equal(getattr(b, name), getattr(a, name), name)
    equal(b.skipped, n, "skipped")
    # Each time it goes on it reads its parameters and its profile again, and nothing else.
    equal(b.dram_rd_bytes, a.dram_rd_bytes + n * (256 + 128), "bytes read")
    for name in ("ld_busy", "st_busy", "mx_busy", "vx_busy"):
        short = getattr(a, name) - getattr(b, name)
        expect(0 <= short <= n, "%s: %d cycles lost in %d parts", name, short, n + 1)
    expect(b.cycles > a.cycles and b.energy_nj > a.energy_nj - n, "going on is not free")
    expect(b.start_ns < b.end_ns - b.cycles, "start_ns is not the first start")
    # The registers of all starts together say the same as the profile, and count its writes too.
    for name in s.COUNTERS[:10]:
        equal(parts.count[name], getattr(b, name) + (name == "dram_wr_bytes") * 128 * (n + 1), name)
        equal(straight.count[name], getattr(a, name) + (name == "dram_wr_bytes") * 128, name)
    expect(0 < parts.count["energy_nj"] - b.energy_nj < 20 * (n + 1), "energy of the profiles")


def with_restore(n):
    """A chain of @n products whose operand was loaded long before, and what gets it back."""
    load = dict(row_bytes=4096, base=0)
    cmds = [s.dma(s.LD, 0, signal=(0,), **load), s.dma(s.LD, 4096, signal=(0,), **load)]
    for i in range(n):
        cmds += [
            s.mm(0, 256, 4096, 256, 8192, 256, 16, 16, 64, (0, 0, 0), wait=(0,), signal=(1,)),
            s.dma(s.ST, 8192, 4096, base=1, offset=4096 * i, wait=(1,), signal=(2,)),
            s.plain(s.NOP, wait=(2,)),
            s.yields(5),
            s.dma(s.LD, 0, **load),
            s.dma(s.LD, 4096, signal=(3,), **load),
            s.plain(s.NOP, wait=(3,)),
            s.plain(s.NOP, signal=(0,)),
            s.skip(3, 0, 0),  # value[3] is 0: skips nothing
            s.plain(s.NOP, signal=(0,)),
        ]
    return cmds + [s.plain(s.NOP, wait=(0,)), s.plain(s.NOP, wait=(0,))]


@case
def yield_with_restore(runner):
    """The commands behind a YIELD that it counts run only when a job goes on after it lost everything."""
    n = 7
    src = struct.pack("<1024f", *(i % 61 / 16 - 1 for i in range(1024)))
    runs = []
    for take in (s.RUN_THROUGH, s.RESUME, s.PUT_ASIDE):
        out = s.Region(B, bytes(4096 * n))
        ans = done(
            runner.run(with_restore(n), [s.Region(A, src, True), out], (A, B), take_yields=take)
        )
        runs.append((ans.yields, out.data, ans.count["skipped"], ans.count["dram_rd_bytes"]))
    equal([r[0] for r in runs], [0, n, n], "yields")
    expect(runs[0][1] == runs[1][1] == runs[2][1] and any(runs[0][1]), "the results differ")
    equal([r[2] for r in runs], [5 * n, 5 * n, 0], "skipped")
    # With the loads that were left out, and the fetches of the commands and parameters.
    equal(runs[2][3] - runs[0][3], n * (8192 + 5 * 64 + 256), "bytes read again")


@case
def yield_waits_for_nobody(runner):
    """With a count and nobody who asks, engines are busy on both sides of a YIELD."""
    load = s.dma(s.LD, 0, 65536, 8, dram_stride=0)
    times = []
    for y in (s.plain(s.NOP), s.yields(1), s.plain(s.YIELD)):
        cmds = ([load, y] + [s.plain(s.NOP)] * (y != s.plain(s.NOP))) * 20
        ans = done(runner.run(cmds, [s.Region(A, bytes(65536), True)], (A,)))
        times.append(ans.profile.end_ns - ans.profile.start_ns)
    expect(times[1] - times[0] < 20 * 20, "a YIELD that counts costs %d ns", times[1] - times[0])
    expect(times[2] - times[0] > 20 * 400, "a plain one only %d ns", times[2] - times[0])


@case
def continued_elsewhere(runner):
    """Without a profile going on works too; a position outside the stream is a STREAM fault."""
    src = noise(16384)
    cmds = [s.plain(s.YIELD)] + stages(1)
    out = s.Region(B, bytes(8192))
    ans = done(
        runner.run(cmds, [s.Region(A, src, True), out], (A, B), take_yields=s.PUT_ASIDE)
    )
    equal((ans.yields, ans.count["commands"], ans.resumed_at), (2, 10 - 1, 9), "yields")
    ans = runner.run([s.plain(s.YIELD)], (), (), take_yields=s.PUT_ASIDE, end=False)
    faulted(ans, "STREAM", "FE", 1, "nothing after the last YIELD")


@case
def profile_of_a_yield(runner):
    """A YIELD that cannot write the profile faults, and so does going on without one to read."""
    ans = runner.run([s.plain(s.YIELD)], take_yields=s.PUT_ASIDE, profile_va=0x7000000000)
    faulted(ans, "MMU", "FE", 0, "profile not mapped")


@case
def sram_lives_on(runner):
    src = noise(64)
    done(runner.run([s.dma(s.LD, 0, 64)], [s.Region(A, src, True)], (A,)))
    for scrub, want in ((False, src), (True, bytes(64))):
        out = s.Region(B, bytes(64))
        done(runner.run([s.dma(s.ST, 0, 64, base=1)], [out], (A, B), scrub=scrub))
        equal(out.data, want, "SRAM")


@case
def semaphores_order_engines(runner):
    """A ring of LD, VX, ST over two buffers, with credits: results show any wrong order."""
    n, row = 40, 256
    src = struct.pack("<%df" % (n * row // 4), *(i / 8 for i in range(n * row // 4)))
    for hold in (1, 2):
        cmds, out = [
            s.plain(s.NOP, signal=(2, 3)),
            *[s.plain(s.NOP, signal=(2, 3))] * (hold - 1),
        ], s.Region(B, bytes(n * row))
        for i in range(n):
            x, y = (i % hold) * row, 4096 + (i % hold) * row
            cmds += [
                s.dma(s.LD, x, row, offset=i * row, wait=(2,), signal=(0,)),
                s.vx(s.SCALE, (x, 0, 0), (y, 0, 0), row // 4, f0=2.0, wait=(0, 3), signal=(1, 2)),
                s.dma(s.ST, y, row, base=1, offset=i * row, wait=(1,), signal=(3,)),
            ]
        done(runner.run(cmds, [s.Region(A, src, True), out], (A, B), hazards=True))
        equal(
            out.data,
            struct.pack("<%df" % (n * row // 4), *(i / 4 for i in range(n * row // 4))),
            "doubled",
        )


# --- faults -----------------------------------------------------

GOOD = {
    "ld": s.dma(s.LD, 0, 64, 4),
    "st": s.dma(s.ST, 0, 64, 4, 1),
    "gather": s.gather(0, 4096, 64, 4, 1),
    "mm": s.mm(0, 64, 4096, 128, 8192, 128, 2, 32, 32, (1, 1, 0)),
    "mmq": s.mm(0, 64, 4096, 640, 8192, 128, 2, 32, 32, (1, 3, 0)),
    "vx": s.vx(s.ADD, (0, 64, 0), (4096, 64, 0), 16, (2048, 64, 0), 2),
    "rope": s.vx(s.ROPE, (0, 64, 0), (4096, 64, 0), 16, (2048, 0, 0), 2),
    "norm": s.vx(s.RMSNORM, (0, 64, 0), (4096, 64, 0), 16, (2048, 0, 0), 2),
    "softmax": s.softmax((0, 64), (1024, 64), (4096, 64), 8192, 2, 1, 16, 16, 0, 0, 1.0, 0),
    "skip": s.skip(0, 0, 0),
    "mark": s.mark(1),
    "nop": s.plain(s.NOP),
    "yield": s.plain(s.YIELD),
    "end": s.plain(s.END),
}
UNIT = {
    "ld": "LD",
    "st": "ST",
    "gather": "LD",
    "mm": "MX",
    "mmq": "MX",
    "vx": "VX",
    "rope": "VX",
    "norm": "VX",
    "softmax": "VX",
    "skip": "FE",
    "mark": "FE",
    "nop": "FE",
    "yield": "FE",
    "end": "FE",
}
# what, base command, offset, format, value, fault
BAD = (
    [("flag", k, 1, "B", 0x80, "FIELD") for k in GOOD]
    + [("flag 1", k, 1, "B", 1, "FIELD") for k in GOOD if k not in ("mm", "mmq", "rope", "softmax")]
    + [("header pad", k, 2, "H", 1, "FIELD") for k in GOOD]
    + [("last byte", k, 63, "B", 1, "FIELD") for k in GOOD]
    + [("wait 32", k, 4, "B", 32, "FIELD") for k in GOOD]
    + [("signal 254", k, 7, "B", 254, "FIELD") for k in GOOD]
    + [("body", k, 8, "B", 1, "FIELD") for k in ("nop", "end")]
    + [("body", "yield", 12, "B", 1, "FIELD"), ("count", "yield", 8, "I", 1, "STREAM")]
    + [
        ("rows 0", "ld", 40, "H", 0, "FIELD"),
        ("base 16", "ld", 42, "B", 16, "FIELD"),
        ("dyn 32", "ld", 43, "B", 32, "FIELD"),
        ("clip 254", "st", 44, "B", 254, "FIELD"),
        ("pad", "ld", 45, "B", 1, "FIELD"),
        ("row_bytes 0", "ld", 20, "I", 0, "FIELD"),
        ("row_bytes 6", "st", 20, "I", 6, "FIELD"),
        ("odd offset", "ld", 8, "Q", 1, "FIELD"),
        ("odd stride", "st", 24, "Q", 65, "FIELD"),
        ("sram 2", "ld", 32, "I", 2, "SRAM"),
        ("sram_stride 66", "ld", 36, "I", 66, "SRAM"),
        ("sram at the end", "ld", 32, "I", SRAM - 192, "SRAM"),
        ("sram 2^32-4", "st", 32, "I", 0xFFFFFFFC, "SRAM"),
        ("sram_stride 2^32-4", "st", 36, "I", 0xFFFFFFFC, "SRAM"),
        ("row_bytes 2^32-4", "ld", 20, "I", 0xFFFFFFFC, "SRAM"),
        ("rows 0", "gather", 40, "H", 0, "FIELD"),
        ("base 255", "gather", 42, "B", 255, "FIELD"),
        ("pad", "gather", 47, "B", 1, "FIELD"),
        ("index 2", "gather", 16, "I", 2, "SRAM"),
        ("index at the end", "gather", 16, "I", SRAM - 12, "SRAM"),
        ("sram", "gather", 32, "I", SRAM, "SRAM"),
        ("limit 0", "gather", 48, "I", 0, "FIELD"),
        ("odd offset", "gather", 8, "Q", 3, "FIELD"),
        ("m 0", "mm", 32, "H", 0, "FIELD"),
        ("m 4097", "mm", 32, "H", 4097, "FIELD"),
        ("k 0", "mm", 34, "H", 0, "FIELD"),
        ("n 0", "mm", 36, "I", 0, "FIELD"),
        ("pad", "mm", 43, "B", 1, "FIELD"),
        ("atype i8", "mm", 40, "B", 2, "FORMAT"),
        ("atype 4", "mm", 40, "B", 4, "FIELD"),
        ("btype 4", "mm", 41, "B", 4, "FIELD"),
        ("ctype u4m", "mm", 42, "B", 3, "FORMAT"),
        ("acc into f16", "mm", 1, "B+", (s.ACC, 42, 1), "FIELD"),
        ("k 33 packed", "mmq", 34, "H", 33, "FIELD"),
        ("nk packed", "mmq", 1, "B", s.B_NK, "FIELD"),
        ("a 2", "mm", 8, "I", 2, "SRAM"),
        ("a_stride 66", "mm", 12, "I", 66, "SRAM"),
        ("b 2", "mm", 16, "I", 4098, "SRAM"),
        ("c_stride 130", "mm", 28, "I", 130, "SRAM"),
        ("a end", "mm", 8, "I", SRAM - 124, "SRAM"),
        ("b end", "mm", 16, "I", SRAM - 2044, "SRAM"),
        ("c end", "mm", 24, "I", SRAM - 252, "SRAM"),
        ("b packed end", "mmq", 16, "I", SRAM - 636, "SRAM"),
        ("n 2^32-1", "mm", 36, "I", 0xFFFFFFFF, "SRAM"),
        ("n 2^32-1 packed", "mmq", 36, "I", 0xFFFFFFFF, "SRAM"),
        ("n nk", "mm", 1, "B+", (s.B_NK, 38, 255), "SRAM"),
        ("a_stride 2^32-4", "mm", 12, "I", 0xFFFFFFFC, "SRAM"),
        ("outer 0", "vx", 44, "H", 0, "FIELD"),
        ("inner 0", "vx", 46, "H", 0, "FIELD"),
        ("cols 0", "vx", 48, "I", 0, "FIELD"),
        ("xtype i8", "vx", 52, "B", 2, "FORMAT"),
        ("ytype 9", "vx", 53, "B", 9, "FIELD"),
        ("otype u4m", "vx", 54, "B", 3, "FORMAT"),
        ("pad", "vx", 55, "B", 1, "FIELD"),
        ("x 2", "vx", 8, "I", 2, "SRAM"),
        ("x_si 2", "vx", 12, "I", 2, "SRAM"),
        ("out end", "vx", 32, "I", SRAM - 124, "SRAM"),
        ("y end", "vx", 20, "I", SRAM - 124, "SRAM"),
        ("x 2^32-4", "vx", 8, "I", 0xFFFFFFFC, "SRAM"),
        ("cols 2^32-1", "vx", 48, "I", 0xFFFFFFFF, "SRAM"),
        ("cols 15", "rope", 48, "I", 15, "FIELD"),
        ("ytype f16", "rope", 53, "B", 1, "FORMAT"),
        ("ytype f16", "norm", 53, "B", 1, "FORMAT"),
        ("y end", "rope", 20, "I", SRAM - 60, "SRAM"),
        ("y end", "norm", 20, "I", SRAM - 60, "SRAM"),
        ("flag 2", "rope", 1, "B", 2, "FIELD"),
        ("flag 2", "softmax", 1, "B", 2, "FIELD"),
        ("rows 0", "softmax", 36, "H", 0, "FIELD"),
        ("rows_per_token 0", "softmax", 38, "H", 0, "FIELD"),
        ("cols 0", "softmax", 40, "H", 0, "FIELD"),
        ("pos 32", "softmax", 56, "B", 32, "FIELD"),
        ("pos 255", "softmax", 56, "B", 255, "FIELD"),
        ("pad", "softmax", 57, "B", 1, "FIELD"),
        ("state 2", "softmax", 32, "I", 2, "SRAM"),
        ("state end", "softmax", 32, "I", SRAM - 12, "SRAM"),
        ("s 2", "softmax", 8, "I", 2, "SRAM"),
        ("p 1", "softmax", 16, "I", 1, "SRAM"),
        ("o end", "softmax", 24, "I", SRAM - 124, "SRAM"),
        ("param 32", "skip", 16, "B", 32, "FIELD"),
        ("param 255", "skip", 16, "B", 255, "FIELD"),
        ("pad", "skip", 17, "B", 1, "FIELD"),
        ("base 16", "mark", 16, "B", 16, "FIELD"),
        ("pad", "mark", 17, "B", 1, "FIELD"),
    ]
)


def poke(cmd, offset, fmt, value):
    cmd = bytearray(cmd)
    if fmt == "B+":
        value, at, other = value
        cmd[at] = other
        fmt = "B"
    struct.pack_into("<" + fmt, cmd, offset, value)
    return bytes(cmd)


def fault_regions():
    return [s.Region(A, bytes(4096)), s.Region(B, bytes(4096))]


@case
def good_commands_pass(runner):
    for name, cmd in GOOD.items():
        done(runner.run([cmd], fault_regions(), (A, B), [1]))
    done(
        runner.run(
            [s.mm(0, 64, 4096, 0, 8192, 0, 4096, 32, 32, (1, 1, 0))], fault_regions(), (A, B)
        )
    )
    done(
        runner.run(
            [s.mm(0, 0, SRAM - 640, 640, 8192, 0, 1, 32, 1, (1, 3, 1))], fault_regions(), (A, B)
        )
    )
    done(
        runner.run(
            [s.softmax((0, 64), (1024, 64), (4096, 64), SRAM - 16, 2, 1, 16, 0, 0, 0, 1.0, 31)],
            fault_regions(),
            (A, B),
        )
    )


@case
def fields(runner):
    for what, name, offset, fmt, value, fault in BAD:
        bad = poke(GOOD[name], offset, fmt, value)
        ans = runner.run([s.plain(s.NOP), bad], fault_regions(), (A, B), [1])
        faulted(ans, fault, UNIT[name], 1, "%s of %s" % (what, name))


@case
def misaligned_base(runner):
    for name in ("ld", "st", "gather"):
        faulted(
            runner.run([GOOD[name]], fault_regions(), (A + 1, B + 1)), "FIELD", UNIT[name], 0, name
        )


@case
def opcodes(runner):
    known = {0, 1, 2, 3, 4, 0x10, 0x11, 0x18, 0x20, *range(0x30, 0x3A)}
    for op in range(256):
        if op not in known:
            faulted(
                runner.run([s.plain(s.NOP), s.plain(op)]), "OPCODE", "FE", 1, "opcode 0x%x" % op
            )


@case
def streams(runner):
    faulted(runner.run([s.plain(s.NOP)] * 3, end=False), "STREAM", "FE", 3, "no END")
    faulted(runner.run([], stream_size=0), "STREAM", "FE", 0, "empty")
    faulted(runner.run([s.plain(s.NOP)] * 2, stream_size=100), "STREAM", "FE", 1, "half a command")
    faulted(runner.run([s.skip(0, 0, 1)]), "STREAM", "FE", 0, "SKIP to the end")
    faulted(
        runner.run([s.skip(0, 0, 0xFFFFFFFF), s.plain(s.NOP)]), "STREAM", "FE", 0, "SKIP beyond"
    )
    done(runner.run([s.skip(0, 0, 1), s.plain(0xEE)]))
    done(runner.run([s.skip(0, 0, 9)], values=[1]))
    slow = s.dma(s.LD, 0, 4096)
    faulted(
        runner.run([slow, s.plain(0xEE)], fault_regions(), (A,)), "OPCODE", "FE", 1, "while LD runs"
    )


@case
def semaphore_overflow(runner):
    faulted(runner.run([s.plain(s.NOP, signal=(4,))] * 256), "SEMAPHORE", "FE", 255, "256 signals")
    done(runner.run([s.plain(s.NOP, signal=(4,))] * 255))
    faulted(
        runner.run([s.plain(s.NOP, signal=(4, 4))] * 128),
        "SEMAPHORE",
        "FE",
        127,
        "twice per command",
    )
    full = [s.plain(s.NOP, signal=(4,))] * 255
    faulted(
        runner.run([*full, s.dma(s.LD, 0, 64, signal=(4,))], fault_regions(), (A,)),
        "SEMAPHORE",
        "LD",
        255,
    )
    # The LD started before the command that faults while it runs.
    faulted(
        runner.run(
            [*full, s.dma(s.LD, 0, 4096, signal=(4,)), s.plain(0xEE)], fault_regions(), (A,)
        ),
        "SEMAPHORE",
        "LD",
        255,
        "earliest start",
    )


@case
def deadlocks(runner):
    ld = s.dma(s.LD, 0, 64, wait=(0,))
    r = fault_regions
    faulted(runner.run([ld], r(), (A,)), "DEADLOCK", "LD", 0, "LD waits, END waits for LD")
    faulted(runner.run([s.plain(s.NOP, wait=(1,))]), "DEADLOCK", "FE", 0, "NOP waits")
    faulted(runner.run([s.plain(s.END, wait=(1,))], end=False), "DEADLOCK", "FE", 0, "END waits")
    faulted(
        runner.run([s.plain(s.NOP, signal=(0,)), s.dma(s.LD, 0, 64, wait=(0, 0))], r(), (A,)),
        "DEADLOCK",
        "LD",
        1,
        "one signal for two waits",
    )
    done(runner.run([s.plain(s.NOP, signal=(0, 0)), s.dma(s.LD, 0, 64, wait=(0, 0))], r(), (A,)))
    cross = [
        s.dma(s.LD, 0, 64, wait=(0,), signal=(1,)),
        s.dma(s.ST, 0, 64, base=1, wait=(1,), signal=(0,)),
    ]
    faulted(runner.run(cross, r(), (A, B)), "DEADLOCK", "LD", 0, "LD and ST wait for each other")
    full = [ld] * 16
    done(runner.run([*full, *[s.plain(s.NOP, signal=(0,))] * 16], r(), (A,)))
    faulted(
        runner.run([*full, ld, *[s.plain(s.NOP, signal=(0,))] * 17], r(), (A,)),
        "DEADLOCK",
        "LD",
        0,
        "FIFO full",
    )
    faulted(runner.run([s.plain(s.MARK, wait=(7,))]), "DEADLOCK", "FE", 0, "MARK waits")


@case
def mmu_faults(runner):
    def check(ans, unit, cmd, va, code, write, what, asid=1):
        faulted(ans, "MMU", unit, cmd, what)
        equal(ans.fault_va, va, what + ": address")
        equal(
            ans.fault_info & 0xF0F0, asid << 4 | s.UNITS.index(unit) << 12, what + ": asid and unit"
        )
        equal(
            (ans.fault_info >> 16 & 0xF, bool(ans.fault_info & 0x100)),
            (code, write),
            what + ": code, write",
        )

    page = s.Region(A, bytes(4096))
    check(
        runner.run([s.dma(s.LD, 0, 8192)], [page], (A,)), "LD", 0, A + 4096, 1, False, "second page"
    )
    check(
        runner.run([s.dma(s.LD, 0, 64, 5, dram_stride=1024)], [page], (A,), asid=15),
        "LD",
        0,
        A + 4096,
        1,
        False,
        "fifth row",
        15,
    )
    check(
        runner.run([s.plain(s.NOP), s.dma(s.ST, 0, 64)], [s.Region(A, bytes(64), True)], (A,)),
        "ST",
        1,
        A,
        2,
        True,
        "read-only",
    )
    check(runner.run([s.dma(s.LD, 0, 64)], [], (1 << 39,)), "LD", 0, 1 << 39, 3, False, "range")
    check(
        runner.run([s.dma(s.LD, 0, 64, offset=8)], [], ((1 << 64) - 16,)),
        "LD",
        0,
        (1 << 64) - 8,
        3,
        False,
        "wrap",
    )
    check(
        runner.run([s.mark(0)], [s.Region(A, bytes(64), True)], (A,)), "FE", 0, A, 2, True, "MARK"
    )
    check(runner.run([s.plain(s.NOP)], param_va=A), "FE", 0, A, 1, False, "parameters")
    check(
        runner.run([s.plain(s.NOP)] * 5, stream_size=1 << 20, end=False),
        "FE",
        5,
        s.Runner.STREAM + 320,
        1,
        False,
        "stream",
    )
    check(runner.run([s.plain(s.NOP)], profile_va=C), "FE", 1, C, 1, True, "profile")
    # Of two faults the one that started first counts; nothing starts after it.
    out = s.Region(B, bytes(64))
    ans = runner.run(
        [
            s.dma(s.LD, 0, 64),
            s.dma(s.ST, 0, 64, base=1, wait=(0,)),
            s.dma(s.LD, 0, 64, signal=(0,)),
        ],
        [out],
        (0, B),
    )
    check(ans, "LD", 0, 0, 1, False, "first of three")


@case
def fault_leaves_core_usable(runner):
    faulted(runner.run([s.dma(s.LD, 0, 64, wait=(0,))], fault_regions(), (A,)), "DEADLOCK", "LD", 0)
    faulted(runner.run([s.plain(s.NOP, signal=(0,)), s.plain(0xEE)]), "OPCODE", "FE", 1)
    faulted(
        runner.run([s.dma(s.LD, 0, 64, wait=(0,))], fault_regions(), (A,)),
        "DEADLOCK",
        "LD",
        0,
        "semaphores are 0",
    )
    done(runner.run([s.dma(s.LD, 0, 64)], fault_regions(), (A,)))


# --- hazards ----------------------------------------------------


def hazard(runner, other, want, first=None):
    """@other starts while an LD of 64 rows of 64 bytes, 256 apart from 4096 on, is under way."""
    first = first or s.dma(s.LD, 4096, 64, 64, dram_stride=64, sram_stride=256)
    ans = runner.run(
        [first, other],
        [s.Region(A, bytes(1 << 16)), s.Region(B, bytes(1 << 20))],
        (A, B),
        hazards=True,
    )
    if want:
        faulted(ans, "SRAM", want, 1, "overlap")
    else:
        done(ans)
    done(
        runner.run(
            [first, other], [s.Region(A, bytes(1 << 16)), s.Region(B, bytes(1 << 20))], (A, B)
        )
    )


@case
def hazards_found(runner):
    hazard(runner, s.dma(s.ST, 4096, 4, base=1), "ST")
    hazard(runner, s.dma(s.ST, 4096 + 63 * 256 + 60, 4, base=1), "ST")
    hazard(runner, s.dma(s.ST, 4092, 8, base=1), "ST")
    hazard(runner, s.dma(s.ST, 4160, 64, 64, base=1, sram_stride=260), "ST")
    hazard(runner, s.vx(s.SCALE, (0, 0, 0), (4096 + 512, 0, 0), 1), "VX")
    hazard(runner, s.vx(s.SCALE, (4096 + 512, 0, 0), (0, 0, 0), 1), "VX")
    hazard(runner, s.vx(s.ADD, (0, 0, 0), (64, 0, 0), 16, (4096 + 10 * 256, 0, 0)), "VX")
    hazard(
        runner,
        s.vx(s.SCALE, (4160, 256, 4096), (0, 8, 64), 2, inner=8, outer=16, types=(0, 0, 0)),
        None,
    )
    hazard(
        runner,
        s.vx(s.SCALE, (4160, 256, 4092), (0, 8, 64), 2, inner=8, outer=16, types=(0, 0, 0)),
        "VX",
    )
    hazard(runner, s.mm(0, 64, 4096, 640, 131072, 128, 2, 32, 32, (1, 3, 0)), "MX")
    hazard(runner, s.mm(0, 64, 65536, 640, 4096 + 192, 64, 2, 32, 16, (1, 3, 0)), "MX")
    hazard(
        runner,
        s.softmax((0, 64), (1024, 64), (65536, 64), 4096 + 56, 2, 1, 16, 16, 0, 0, 1.0, 0),
        "VX",
    )


@case
def hazards_not_invented(runner):
    tiles = 4096 + 64
    hazard(runner, s.dma(s.ST, tiles, 192, 64, base=1, sram_stride=256), None)
    hazard(runner, s.dma(s.ST, tiles, 64, 64, base=1, sram_stride=256), None)
    hazard(runner, s.dma(s.ST, 4096 + 63 * 256 + 64, 64, base=1), None)
    hazard(runner, s.dma(s.ST, 0, 4096, base=1), None)
    hazard(runner, s.vx(s.SCALE, (tiles, 256, 0), (tiles + 64, 256, 0), 16, inner=64), None)
    hazard(runner, s.mm(tiles, 256, 65536, 640, tiles + 64, 256, 60, 32, 16, (1, 3, 0)), None)
    # Two readers of the same bytes.
    hazard(
        runner,
        s.vx(s.SCALE, (4096, 0, 0), (0, 0, 0), 16),
        None,
        s.dma(s.ST, 4096, 64, 64, base=1, sram_stride=256),
    )
    hazard(
        runner,
        s.vx(s.SCALE, (0, 0, 0), (4096, 0, 0), 16),
        "VX",
        s.dma(s.ST, 4096, 64, 64, base=1, sram_stride=256),
    )


@case
def hazards_against_byte_sets(runner):
    """Random pairs of strided reads and writes, decided by comparing sets of bytes."""
    rng = random.Random(5)
    found = 0
    for _ in range(150):
        rows, n = rng.randint(1, 12), 4 * rng.randint(1, 12)
        first = (4 * rng.randrange(64), n, rows, 4 * rng.randrange(24))
        x = (
            4 * rng.randrange(64),
            4 * rng.randint(1, 10),
            rng.randint(1, 5),
            4 * rng.randrange(20),
            rng.randint(1, 4),
            4 * rng.randrange(40),
        )
        ld = {first[0] + r * first[3] + b for r in range(first[2]) for b in range(first[1])}
        rd = {
            x[0] + o * x[5] + i * x[3] + b
            for o in range(x[4])
            for i in range(x[2])
            for b in range(x[1])
        }
        want = bool(ld & rd)
        found += want
        hazard(
            runner,
            s.vx(
                s.SCALE,
                (x[0], x[3], x[5]),
                (8192, 4 * x[1], 64 * x[1]),
                x[1] // 4,
                inner=x[2],
                outer=x[4],
            ),
            "VX" if want else None,
            s.dma(s.LD, first[0], first[1], first[2], dram_stride=first[1], sram_stride=first[3]),
        )
    expect(20 < found < 130, "%d of 150 overlap", found)


@case
def hazards_found_without_luck(runner):
    """What did not meet this time, but is ordered by nothing but speed."""

    def check(cmds, cmd, unit):
        ans = runner.run(
            cmds, [s.Region(A, bytes(1 << 16)), s.Region(B, bytes(1 << 16))], (A, B), hazards=True
        )
        if unit:
            faulted(ans, "SRAM", unit, cmd, "race")
        else:
            done(ans)

    ld = lambda **kw: s.dma(s.LD, 0, 64, **kw)
    long_mm = lambda **kw: s.mm(4096, 0, 65536, 0, 8192, 0, 1, 2048, 512, (1, 1, 0), **kw)
    read = lambda **kw: s.vx(s.SCALE, (0, 0, 0), (128, 0, 0), 16, **kw)
    # VX starts long after LD, but waited for MX only.
    check([ld(), long_mm(signal=(0,)), read(wait=(0,))], 2, "VX")
    check([ld(signal=(1,)), long_mm(signal=(0,)), read(wait=(0,))], 2, "VX")
    # Ordered through MX, through the front end, by a full stop.
    check([ld(signal=(1,)), long_mm(wait=(1,), signal=(0,)), read(wait=(0,))], 2, None)
    check([ld(signal=(1,)), s.plain(s.NOP, wait=(1,)), read()], 2, None)
    check([ld(), s.plain(s.YIELD), read()], 2, None)
    check([ld(), s.mark(1), read()], 2, None)
    # The buffer is loaded again: with and without the reader's leave.
    check(
        [ld(signal=(0,)), read(wait=(0,), signal=(2,)), long_mm(signal=(3,)), ld(wait=(3,))],
        3,
        "LD",
    )
    check(
        [ld(signal=(0,)), read(wait=(0,), signal=(2,)), long_mm(signal=(3,)), ld(wait=(3, 2))],
        3,
        None,
    )
    # A credit of the reader before it does not cover the second reader.
    check(
        [
            ld(signal=(0,)),
            read(wait=(0,), signal=(2,)),
            read(),
            long_mm(signal=(3,)),
            ld(wait=(3, 2)),
        ],
        4,
        "LD",
    )


# --- time -------------------------------------------------------


def big(runner, cmds, size=1 << 19, **kw):
    return done(
        runner.run(cmds, [s.Region(A, bytes(size), True), s.Region(B, bytes(size))], (A, B), **kw)
    ).profile


@case
def streaming_bandwidth(runner):
    p = big(runner, [s.dma(s.LD, 0, 1 << 18, offset=i % 2 << 18) for i in range(64)], chip="edge")
    gbs = p.dram_rd_bytes / (p.end_ns - p.start_ns)
    expect(30.5 < gbs < 31.0, "streaming reads at %.2f GB/s", gbs)
    p = big(runner, [s.dma(s.LD, 0, 64, 2048, dram_stride=256, sram_stride=64)] * 16, chip="edge")
    gbs = p.dram_rd_bytes / (p.end_ns - p.start_ns)
    expect(16 < gbs < 19, "64-byte rows at %.2f GB/s", gbs)
    p = big(runner, [s.dma(s.LD, 0, 4, 2048, dram_stride=256, sram_stride=4)] * 16, chip="edge")
    gbs = p.dram_rd_bytes / (p.end_ns - p.start_ns)
    expect(gbs < 1.4, "4-byte rows at %.2f GB/s", gbs)
    mixed = []
    for _ in range(32):
        mixed += [s.dma(s.LD, 0, 1 << 17), s.dma(s.ST, 1 << 18, 1 << 17, base=1)]
    p = big(runner, mixed, chip="edge")
    gbs = (p.dram_rd_bytes + p.dram_wr_bytes) / (p.end_ns - p.start_ns)
    expect(23.5 < gbs < 24.5, "reads and writes at %.2f GB/s", gbs)


@case
def latency_is_hidden_back_to_back(runner):
    one = big(runner, [s.dma(s.LD, 0, 4096)], chip="edge")
    two = big(runner, [s.dma(s.LD, 0, 4096)] * 2, chip="edge")
    alone = big(runner, [s.dma(s.LD, 0, 4096), s.plain(s.YIELD), s.dma(s.LD, 0, 4096)], chip="edge")
    ns = lambda p: p.end_ns - p.start_ns
    expect(120 <= ns(two) - ns(one) <= 150, "a second LD costs %d ns", ns(two) - ns(one))
    expect(620 <= ns(alone) - ns(one) <= 700, "an LD after idling costs %d ns", ns(alone) - ns(one))


@case
def loads_overlap_compute(runner):
    ld = lambda i: s.dma(s.LD, i % 2 << 18, 184320, wait=(2 + i % 2,), signal=(i % 2,))
    mm = lambda i: s.mm(
        1 << 19,
        0,
        i % 2 << 18,
        11520,
        (1 << 19) + 4096,
        0,
        1,
        576,
        512,
        (1, 3, 0),
        wait=(i % 2,),
        signal=(2 + i % 2,),
    )
    free = [s.plain(s.NOP, signal=(2, 3))]
    n = 32
    both = big(
        runner, free + [c for i in range(n) for c in (ld(i), mm(i))], chip="edge", hazards=True
    )
    ns = both.end_ns - both.start_ns
    load = n * 184320 / 30.9
    expect(load < ns < load * 1.06, "%d ns for %d ns of loads", ns, load)
    equal(both.macs, n * 576 * 512, "MACs")
    expect(both.ld_busy > 0.93 * both.cycles, "LD busy %d of %d cycles", both.ld_busy, both.cycles)
    expect(
        0.3 < both.mx_busy / both.cycles < 0.7, "MX busy %d of %d cycles", both.mx_busy, both.cycles
    )


@case
def peak_macs(runner):
    mm = s.mm(0, 1152, 1 << 18, 11520, 1 << 19, 2048, 64, 576, 512, (1, 3, 0))
    p = big(runner, [mm] * 4, chip="edge")
    rate = p.macs / p.mx_busy
    expect(490 < rate <= 512, "%.1f MACs per cycle", rate)
    p = big(
        runner, [s.mm(0, 0, 1 << 18, 11520, 1 << 19, 0, 1, 576, 512, (1, 3, 0))] * 4, chip="edge"
    )
    rate = p.macs / p.mx_busy
    expect(90 < rate < 103, "%.1f MACs per cycle with one row", rate)


@case
def same_time_twice(runner):
    cmds = [
        s.dma(s.LD, 0, 4096, 8, signal=(0,)),
        s.mm(0, 0, 4096, 640, 65536, 0, 1, 32, 900, (1, 3, 0), wait=(0,), signal=(1,)),
        s.dma(s.LD, 40000, 64, 30, dram_stride=100),
        s.dma(s.ST, 65536, 3600, base=1, wait=(1,)),
    ]
    counts = {tuple(big(runner, cmds, 1 << 16, threads=t).counts()) for t in (1, 2, 1, 2)}
    equal(len(counts), 1, "different histories")


def main():
    return tap.run(CASES, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
