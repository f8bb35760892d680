#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bit-exact tests of the compute cores' arithmetic against ref.py.

usage: isa.py [NAME...]

Prints TAP.  A case is named by its parameters, `isa.py NAME` runs it alone.  $O is the build
folder.
"""

import itertools
import platform
import sys
import zlib

try:
    import numpy as np
except ImportError:
    print("1..1\nok 1 - isa # SKIP numpy is not installed")
    sys.exit(0)

import ref
import stream as s
import tap

IMAGE = 0x40000000
SIZES = {0: 4, 1: 2}
PANEL = {2: 64 + 1024, 3: 128 + 512}
LEVELS = [0, {"x86_64": 1, "aarch64": 2}.get(platform.machine(), 3)]
VARIANTS = [(LEVELS[0], 1), (LEVELS[1], 1), (LEVELS[1], 2)]


class Image:
    """SRAM content with a bump allocator; what no operand covers is noise that has to stay."""

    def __init__(self, seed, size=1 << 16):
        self.rng = np.random.default_rng(seed)
        self.data = bytearray(self.rng.bytes(size))
        self.next = 0

    def alloc(self, size, align=4):
        at = -(-self.next // align) * align + align * int(self.rng.integers(0, 3))
        self.next = at + size
        if self.next > len(self.data):
            self.data += self.rng.bytes(self.next - len(self.data) + 64)
        return at

    def numbers(self, n, kind):
        r = self.rng
        v = r.standard_normal(n)
        if kind == "tiny":  # subnormals of both types, and cancellation
            v = (
                v * np.exp2(r.integers(-150, -100, n))
                if r.random() < 0.5
                else v * np.exp2(r.integers(-26, -12, n))
            )
        elif kind == "wide":
            v = v * np.exp2(r.integers(-20, 16, n).astype(float))
        elif kind == "wild":  # infinities, NaN, zeros of both signs among the rest
            v = np.where(
                r.random(n) < 0.05,
                r.choice([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e38, -1e38], n),
                v,
            )
        elif kind == "soft":  # arguments of exp over its whole range
            v = v * 40
        return v.astype(np.float32)

    def place(self, at, v, t):
        with np.errstate(over="ignore"):
            raw = v.astype(ref.DT[t]).tobytes()
        self.data[at : at + len(raw)] = raw

    def rows(self, count, n, t, kind, stride=None):
        """Places @count rows; returns address and stride."""
        size = SIZES[t]
        if stride is None:
            stride = -(-n * size // 4) * 4 + 4 * int(self.rng.integers(0, 4))
        at = self.alloc(stride * (count - 1) + n * size)
        for i in range(count):
            self.place(at + i * stride, self.numbers(n, kind), t)
        return at, stride

    def panels(self, k, n, t, kind):
        count, size = -(-n // 32), k // 32 * PANEL[t]
        stride = size + 4 * int(self.rng.integers(0, 3))
        at = self.alloc(stride * (count - 1) + size)
        for p, g in itertools.product(range(count), range(k // 32)):
            self.place(at + p * stride + g * PANEL[t], self.numbers(32 if t == 2 else 64, kind), 1)
        return at, stride


def run_image(runner, image, cmds, values=(), simd=0, threads=1, chip="edge"):
    """LD the image, the commands one after the other, ST it; returns the new image."""
    size = len(image) & ~3
    region = s.Region(IMAGE, image[:size])
    chain = [s.dma(s.LD, 0, size, signal=(0,))] + cmds + [s.dma(s.ST, 0, size, wait=(1,))]
    ans = runner.run(chain, [region], [IMAGE], values, chip, simd, threads, hazards=True)
    if ans.state != s.DONE:
        raise AssertionError(
            "job ended with %s in command %d (%s)" % (ans.fault, ans.fault_cmd, ans.unit)
        )
    if ans.bracket_errors:
        raise AssertionError("%d accesses outside enter/leave" % ans.bracket_errors)
    return region.data, ans


def same(got, want):
    """Equal bytes, or NaN in the same place (payloads are not defined)."""
    got, want = bytes(got), bytes(want)[: len(got)]
    if got == want:
        return True
    for dt in ("<f4", "<f2"):
        g, w = np.frombuffer(got, dt), np.frombuffer(want, dt)
        raw = "<u4" if dt == "<f4" else "<u2"
        ok = (g.view(raw) == w.view(raw)) | (np.isnan(g) & np.isnan(w))
        if dt == "<f4":
            covered = np.repeat(ok, 2)
        else:
            covered |= ok
    return bool(covered.all())


def first_difference(got, want):
    g, w = np.frombuffer(bytes(got), np.uint8), np.frombuffer(bytes(want)[: len(got)], np.uint8)
    at = int(np.nonzero(g != w)[0][0]) & ~3
    return "SRAM 0x%x: got %s, want %s (f32 %r, %r)" % (
        at,
        got[at : at + 4].hex(),
        bytes(want[at : at + 4]).hex(),
        *[float(np.frombuffer(bytes(x[at : at + 4]), "<f4")[0]) for x in (got, want)],
    )


def check(runner, image, cmd, expect, values=()):
    """Runs @cmd on all variants against the image that @expect leaves; cycles have to agree too."""
    with np.errstate(all="ignore"):
        want = bytearray(image.data)
        expect(want)
    cycles = set()
    for simd, threads in VARIANTS:
        got, ans = run_image(runner, bytes(image.data), [cmd], values, simd, threads)
        if not same(got, want):
            raise AssertionError(
                "simd %d threads %d: %s" % (simd, threads, first_difference(got, want))
            )
        cycles.add(tuple(ans.profile.counts()))
    if len(cycles) != 1:
        raise AssertionError("time or counts differ between variants: %s" % cycles)


# --- cases: name -> function(runner, seed) ----------------------

CASES = {}


def case(name, fn, *args):
    CASES[name] = lambda runner: fn(runner, zlib.crc32(name.encode()), *args)


def run_mm(runner, seed, m, k, n, types, flags, kind, same_c=False):
    im = Image(seed)
    at, bt, ct = types
    a = im.rows(m, k, at, kind, 0 if same_c else None)
    if bt >= 2:
        b = im.panels(k, n, bt, kind)
    elif flags & s.B_NK:
        b = im.rows(n, k, bt, kind)
    else:
        b = im.rows(k, n, bt, kind)
    c = im.rows(m, n, ct, kind)
    args = (*a, *b, *c, m, k, n, types, flags)
    check(runner, im, s.mm(*args, wait=(0,), signal=(1,)), lambda w: ref.mm(w, *args))


def mm_cases():
    def add(m, k, n, types, flags=0, kind="normal"):
        name = "mm-%dx%dx%d-%s%s%s-%s" % (
            m,
            k,
            n,
            "".join("f32 f16 i8 u4m".split()[t] + "." for t in types),
            "acc" if flags & 1 else "",
            "nk" if flags & 2 else "",
            kind,
        )
        case(name, run_mm, m, k, n, types, flags, kind)

    for bt, at in itertools.product((2, 3), (0, 1)):
        for m, n in (
            (1, 32),
            (1, 33),
            (1, 200),
            (2, 31),
            (3, 64),
            (5, 1),
            (32, 40),
            (33, 96),
            (70, 8),
        ):
            add(m, 64 if m > 9 else 96, n, (at, bt, 0 if m % 2 else 1))
        add(1, 32, 5, (at, bt, 0), s.ACC)
        add(4, 64, 70, (at, bt, 0), s.ACC)
        for kind in ("tiny", "wide", "wild"):
            add(1, 64, 64, (at, bt, 0), 0, kind)
            add(3, 64, 40, (at, bt, 1), 0, kind)
    for at, bt, nk in itertools.product((0, 1), (0, 1), (0, s.B_NK)):
        for m, k, n in (
            (1, 64, 100),
            (1, 1, 1),
            (9, 64, 33),
            (3, 7, 8),
            (2, 33, 7),
            (33, 40, 41),
            (4, 65, 16),
        ):
            add(m, k, n, (at, bt, (m + k) % 2), nk)
        add(2, 19, 37, (at, bt, 0), nk | s.ACC)
        for kind in ("tiny", "wide", "wild"):
            add(2, 40, 44, (at, bt, 0), nk, kind)
    add(1, 4096, 64, (1, 3, 0))
    add(1, 1024, 512, (1, 2, 0))
    case("mm-a-row-repeated", run_mm, 6, 32, 40, (1, 3, 0), 0, "normal", True)


def run_vx(
    runner,
    seed,
    op,
    cols,
    outer,
    inner,
    types,
    kind,
    flags=0,
    f0=0.0,
    in_place=False,
    shared_y=False,
):
    im = Image(seed)
    xt, yt, ot = types
    rows = outer * inner

    def operand(t, n=cols):
        size = SIZES[t]
        si = n * size + size * int(im.rng.integers(0, 3))
        so = si * inner + size * int(im.rng.integers(0, 3))
        at = im.alloc(so * (outer - 1) + si * (inner - 1) + n * size, 4)
        for o, i in itertools.product(range(outer), range(inner)):
            im.place(at + o * so + i * si, im.numbers(n, kind), t)
        return at, si, so

    x = operand(xt)
    y = (0, 0, 0)
    if op in (s.RMSNORM, s.ROPE):
        y = operand(0)
        y = (y[0], 0, 0 if op == s.RMSNORM else y[2])
    elif op == s.DIV_ROW:
        y = operand(0, 1)
    elif op in (s.SWIGLU, s.ADD, s.MUL):
        y = operand(yt)
        if shared_y:
            y = (y[0], 0, 0)
    out = x if in_place else operand(ot)
    args = dict(
        op=op,
        x=x,
        y=y,
        out=out,
        cols=cols,
        outer=outer,
        inner=inner,
        types=types,
        f0=f0,
        flags=flags,
    )
    check(runner, im, s.vx(**args, wait=(0,), signal=(1,)), lambda w: ref.vx(w, **args))


def vx_cases():
    names = {
        s.RMSNORM: "rmsnorm",
        s.ROPE: "rope",
        s.SWIGLU: "swiglu",
        s.ADD: "add",
        s.MUL: "mul",
        s.SCALE: "scale",
        s.CAST: "cast",
        s.DIV_ROW: "div_row",
        s.SILU: "silu",
    }
    T = "f32 f16".split()

    def add(op, cols, outer, inner, types, kind, **kw):
        name = "%s-%dx%dx%d-%s-%s%s" % (
            names[op],
            outer,
            inner,
            cols,
            ".".join(T[t] for t in types),
            kind,
            "".join("-%s" % k for k, v in kw.items() if v and k != "f0"),
        )
        case(
            name,
            run_vx,
            op,
            cols,
            outer,
            inner,
            types,
            kind,
            kw.get("flags", 0),
            kw.get("f0", 0.0),
            kw.get("in_place", False),
            kw.get("shared_y", False),
        )

    for op in names:
        f0 = {s.RMSNORM: 1e-5, s.SCALE: 0.125}.get(op, 0.0)
        f32_y = op in (s.RMSNORM, s.ROPE, s.DIV_ROW)
        for i, (cols, outer, inner) in enumerate(
            ((2, 1, 1), (64, 2, 3), (10, 3, 1), (256, 1, 2), (574, 1, 1), (1030, 2, 1))
        ):
            xt, ot = i & 1, i >> 1 & 1
            add(op, cols, outer, inner, (xt, 0 if f32_y else i % 2, ot), "normal", f0=f0)
        for kind in ("tiny", "wide", "wild", "soft"):
            add(op, 86, 2, 2, (0, 0, 0), kind, f0=f0)
            add(op, 86, 2, 2, (1, 0, 1), kind, f0=f0)
        for t in (0, 1):
            add(op, 300, 2, 2, (t, 0, t), "normal", f0=f0, in_place=True)
    for t in (0, 1):
        for cols in (2, 64, 530, 1100):
            add(s.ROPE, cols, 2, 3, (t, 0, t), "normal", flags=s.NEOX)
        add(s.ROPE, 600, 2, 3, (t, 0, t), "normal", flags=s.NEOX, in_place=True)
        add(s.MUL, 77, 3, 2, (t, t, t), "normal", shared_y=True)
    for op in (s.ADD, s.MUL, s.SCALE, s.CAST, s.SILU, s.DIV_ROW, s.RMSNORM):
        for cols in (1, 7, 9, 255, 257):
            add(op, cols, 1, 2, (0, 0, 0), "normal", f0=0.5)


def run_exp(runner, seed):
    """SILU reaches exp at every interesting argument."""
    im = Image(seed)
    x = np.concatenate(
        [
            np.float32(
                [-87, 87, 88, -88, 0, -0.0, 87.00001, 88.00001, np.inf, -np.inf, np.nan, 1e-45]
            ),
            np.linspace(-89, 89, 3001).astype(np.float32),
            ((np.arange(-254, 254) / 2) * np.log(2)).astype(np.float32),
        ]
    )
    at = im.alloc(4 * len(x))
    out = im.alloc(4 * len(x))
    im.place(at, x, 0)
    args = dict(op=s.SILU, x=(at, 0, 0), out=(out, 0, 0), cols=len(x))
    check(runner, im, s.vx(**args, wait=(0,), signal=(1,)), lambda w: ref.vx(w, **args))
    with np.errstate(all="ignore"):
        err = np.abs(ref.exp(x[12:]) / np.exp(x[12:].astype(np.float64)) - 1)
    if not np.nanmax(np.where(x[12:] >= -87, np.where(x[12:] <= 88, err, 0), 0)) < 1.8e-7:
        raise AssertionError("exp is off by %g" % np.nanmax(err))


def run_softmax(
    runner, seed, rows, rpt, cols, o_cols, pos, tile_start, window, flags, kind, state_kind="normal"
):
    im = Image(seed)
    sc, p, o = (
        im.rows(rows, cols, 0, kind),
        im.rows(rows, cols, 1, kind),
        im.rows(rows, max(o_cols, 1), 0, kind),
    )
    state = im.alloc(8 * rows)
    for r in range(rows):
        im.place(
            state + 8 * r,
            np.float32([im.rng.standard_normal() * 3, abs(im.rng.standard_normal())]),
            0,
        )
    values = [int(v) for v in im.rng.integers(0, 100, 32)]
    values[9] = pos
    args = dict(
        s=sc,
        p=p,
        o=o,
        state=state,
        rows=rows,
        rpt=rpt,
        cols=cols,
        o_cols=o_cols,
        tile_start=tile_start,
        window=window,
        f0=0.125 if kind != "wild" else 1.0,
        pos=9,
        flags=flags,
    )
    check(
        runner,
        im,
        s.softmax(**args, wait=(0,), signal=(1,)),
        lambda w: ref.softmax(w, values, **args),
        values,
    )


def softmax_cases():
    def add(*a):
        case("softmax-" + "-".join(str(v) for v in a), run_softmax, *a)

    for first in (0, s.FIRST):
        add(3, 3, 64, 64, 40, 0, 0, first, "normal")  # decode, tile partly valid
        add(9, 3, 64, 64, 62, 64, 0, first, "normal")  # causal edge crosses the tile
        add(6, 3, 33, 20, 1000, 64, 0, first, "normal")  # whole tile valid, odd sizes
        add(4, 2, 48, 16, 10, 64, 0, first, "normal")  # nothing valid
        add(8, 2, 64, 64, 70, 32, 20, first, "normal")  # window starts inside
        add(8, 2, 64, 64, 500, 32, 20, first, "normal")  # window is past the tile
        add(8, 1, 300, 70, 280, 0, 17, first, "soft")  # more than one chunk
        add(5, 5, 7, 1, 3, 0, 0, first, "wide")
        add(5, 5, 520, 300, 519, 0, 0, first, "soft")
        add(2, 1, 16, 8, 0xFFFFFFFF, 0xFFFFFFF8, 0, first, "normal")
        add(2, 1, 16, 8, 0xFFFFFFFF, 0xFFFFFFF0, 5, first, "normal")
        add(2, 1, 16, 0, 20, 0, 0, first, "normal")
        add(4, 1, 1, 1, 2, 1, 1, first, "normal")


def run_reference(runner, seed):
    """ref.fma against exact fractions."""
    from fractions import Fraction

    rng = np.random.default_rng(seed)
    for _ in range(4000):
        e = rng.integers(-75, 60, 3)
        a, b, c = (
            np.float32(v) for v in np.ldexp(rng.integers(-(1 << 24), 1 << 24, 3) | 1, e - 24)
        )
        if rng.random() < 0.3:
            c = np.float32(-float(a) * float(b))
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        got = ref.fma(a, b, c)[()]
        near = [np.nextafter(got, np.float32(-np.inf)), got, np.nextafter(got, np.float32(np.inf))]
        dist = [abs(Fraction(float(v)) - exact) for v in near]
        if min(dist) != dist[1] or (
            dist.count(dist[1]) > 1 and np.float32(got).view(np.uint32) & 1
        ):
            raise AssertionError("fma(%r, %r, %r) is not %r" % (a, b, c, got))


def main():
    case("reference-fma", run_reference)
    mm_cases()
    vx_cases()
    case("exp-range", run_exp)
    softmax_cases()
    return tap.run(CASES, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
