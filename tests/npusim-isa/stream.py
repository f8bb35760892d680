# SPDX-License-Identifier: MIT
"""Commands, parameter blocks and jobs as bytes, and the pipe to isa_run."""

import struct
import subprocess

END, NOP, SKIP, YIELD, MARK = 0x00, 0x01, 0x02, 0x03, 0x04
LD, GATHER, ST, MM = 0x10, 0x11, 0x18, 0x20
RMSNORM, ROPE, SWIGLU, ADD, MUL, SCALE, CAST, DIV_ROW, SOFTMAX, SILU = range(0x30, 0x3A)
F32, F16, I8, U4M = range(4)
ACC, B_NK = 1, 2
NEOX, FIRST = 1, 1
NO = 0xFF

FAULTS = (
    "NONE",
    "OPCODE",
    "FIELD",
    "SRAM",
    "MMU",
    "DEADLOCK",
    "SEMAPHORE",
    "STREAM",
    "STOPPED",
    "FORMAT",
    "ECC",
)
COUNTERS = (
    "cycles ld_busy st_busy mx_busy vx_busy dram_rd_bytes dram_wr_bytes macs commands skipped "
    "tlb_misses energy_nj"
).split()
RUN_THROUGH, RESUME, PUT_ASIDE = range(3)
UNITS = ("MCU", "FE", "LD", "ST", "MX", "VX")
DONE, FAULT = 2, 3


def header(op, flags=0, wait=(), signal=()):
    pair = lambda s: (tuple(s) + (NO, NO))[:2]
    return struct.pack("<BBH2B2B", op, flags, 0, *pair(wait), *pair(signal))


def command(head, fmt, *fields):
    body = head + struct.pack("<" + fmt, *fields)
    return body + bytes(64 - len(body))


def plain(op, **sem):
    return command(header(op, **sem), "")


def skip(param, limit, count, **sem):
    return command(header(SKIP, **sem), "IIB", count, limit, param)


def yields(count, **sem):
    return command(header(YIELD, **sem), "I", count)


def mark(base, offset=0, **sem):
    return command(header(MARK, **sem), "QB", offset, base)


def dma(
    op,
    sram,
    row_bytes,
    rows=1,
    base=0,
    offset=0,
    dram_stride=None,
    sram_stride=None,
    dyn=NO,
    dyn_scale=0,
    clip=NO,
    clip_bias=0,
    **sem
):
    return command(
        header(op, **sem),
        "QIIQIIHBBB3xi",
        offset,
        dyn_scale,
        row_bytes,
        row_bytes if dram_stride is None else dram_stride,
        sram,
        row_bytes if sram_stride is None else sram_stride,
        rows,
        base,
        dyn,
        clip,
        clip_bias,
    )


def gather(
    sram, index, row_bytes, rows, limit, base=0, offset=0, dram_stride=None, sram_stride=None, **sem
):
    return command(
        header(GATHER, **sem),
        "QIIQIIHB5xI",
        offset,
        index,
        row_bytes,
        row_bytes if dram_stride is None else dram_stride,
        sram,
        row_bytes if sram_stride is None else sram_stride,
        rows,
        base,
        limit,
    )


def mm(a, a_stride, b, b_stride, c, c_stride, m, k, n, types, flags=0, **sem):
    return command(
        header(MM, flags, **sem),
        "IIIIIIHHIBBB",
        a,
        a_stride,
        b,
        b_stride,
        c,
        c_stride,
        m,
        k,
        n,
        *types
    )


def vx(
    op, x, out, cols, y=(0, 0, 0), inner=1, outer=1, types=(F32, F32, F32), f0=0.0, flags=0, **sem
):
    return command(
        header(op, flags, **sem), "9I2HI3Bxf", *x, *y, *out, outer, inner, cols, *types, f0
    )


def softmax(s, p, o, state, rows, rpt, cols, o_cols, tile_start, window, f0, pos, flags=0, **sem):
    return command(
        header(SOFTMAX, flags, **sem),
        "7I4HIIfB",
        *s,
        *p,
        *o,
        state,
        rows,
        rpt,
        cols,
        o_cols,
        tile_start,
        window,
        f0,
        pos
    )


class Answer:

    def __init__(self, raw):
        (
            self.state,
            fault,
            self.fault_cmd,
            self.fault_info,
            self.fault_va,
            self.yields,
            self.bracket_errors,
        ) = struct.unpack_from("<IIIIQII", raw)
        self.fault = FAULTS[fault]
        self.unit = UNITS[self.fault_info >> 12 & 0xF]
        self.profile = Profile(raw[32:160])
        self.dram_rd, self.dram_wr = struct.unpack_from("<QQ", raw, 160)
        self.count = dict(zip(COUNTERS, struct.unpack_from("<12Q", raw, 176)))
        self.progress, self.resumed_at = struct.unpack_from("<II", raw, 272)


class Profile:
    NAMES = (
        "start_ns end_ns cycles ld_busy st_busy mx_busy vx_busy dram_rd_bytes dram_wr_bytes macs "
        "commands skipped energy_nj temp_die_mc freq_khz"
    ).split()

    def __init__(self, raw):
        for name, value in zip(self.NAMES, struct.unpack_from("<13QiI", raw)):
            setattr(self, name, value)

    def counts(self):
        """What has to be equal between two runs of one job."""
        return [getattr(self, n) for n in self.NAMES[2:12]] + [self.end_ns - self.start_ns]


class Region:
    def __init__(self, va, data, read_only=False):
        self.va, self.data, self.read_only = va, bytes(data), read_only


class Runner:
    STREAM, PARAM, PROFILE = 0x10000000, 0x20000000, 0x30000000
    ANSWER_BYTES = 280

    def __init__(self, path):
        self.proc = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def close(self):
        self.proc.stdin.close()
        return self.proc.wait()

    def run(
        self,
        cmds,
        regions=(),
        bases=(),
        values=(),
        chip="tiny",
        simd=0,
        threads=1,
        hazards=False,
        scrub=True,
        take_yields=RUN_THROUGH,
        asid=1,
        profile=False,
        stream_size=None,
        end=True,
        param_va=None,
        profile_va=None,
    ):
        """Runs a job; regions get their new contents.  Returns an Answer."""
        stream = b"".join(cmds) + (plain(END) if end else b"")
        bases, values = list(bases) + [0] * (16 - len(bases)), list(values) + [0] * (
            32 - len(values)
        )
        regions = list(regions)
        every = regions + [
            Region(self.STREAM, stream, True),
            Region(self.PARAM, struct.pack("<16Q32I", *bases, *values), True),
        ]
        if profile:
            every.append(Region(self.PROFILE, bytes(128)))
        req = struct.pack(
            "<16s6IQQQII",
            chip.encode(),
            simd,
            threads,
            hazards,
            scrub,
            take_yields,
            asid,
            self.STREAM,
            self.PARAM if param_va is None else param_va,
            profile_va if profile_va is not None else self.PROFILE if profile else 0,
            len(stream) if stream_size is None else stream_size,
            len(every),
        )
        parts = [req] + [
            struct.pack("<QQII", r.va, len(r.data), r.read_only, 0) + r.data for r in every
        ]
        self.proc.stdin.write(b"".join(parts))
        self.proc.stdin.flush()
        ans = Answer(self.read(self.ANSWER_BYTES))
        for r in every:
            if not r.read_only:
                r.data = self.read(len(r.data))
        ans.stored_profile = Profile(every[-1].data) if profile else None
        return ans

    def read(self, n):
        data = self.proc.stdout.read(n)
        if len(data) != n:
            raise EOFError("isa_run ended with status %s" % self.proc.wait())
        return data
