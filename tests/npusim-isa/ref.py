# SPDX-License-Identifier: MIT
"""Section 6 of the contract in numpy: works on an SRAM image, shares nothing with the model."""

import numpy as np

f4, f8 = np.float32, np.float64
DT = {0: np.dtype("<f4"), 1: np.dtype("<f2")}


def fma(a, b, c):
    """fp32 fused multiply-add: exact product, sum in double rounded to odd, then once to single."""
    p = np.asarray(a, f4).astype(f8) * np.asarray(b, f4).astype(f8)
    p, c = np.broadcast_arrays(p, np.asarray(c, f4).astype(f8))
    s = p + c
    t = s - p
    err = (p - (s - t)) + (c - t)
    bits = np.atleast_1d(s.copy()).view(np.int64)
    up = np.where((np.atleast_1d(err) > 0) == (np.atleast_1d(s) > 0), 1, -1)
    fix = np.atleast_1d(np.isfinite(s) & (err != 0)) & (bits & 1 == 0)
    odd = np.where(fix, bits + up, bits).view(f8)
    return odd.astype(f4).reshape(s.shape)


def vec(image, addr, n, t):
    return np.frombuffer(image, DT[t], n, addr).astype(f4)


def put(image, addr, v, t):
    raw = np.asarray(v, f4).astype(DT[t]).tobytes()
    image[addr : addr + len(raw)] = raw


def mm(image, a, a_stride, b, b_stride, c, c_stride, m, k, n, types, flags=0):
    at, bt, ct = types
    A = np.stack([vec(image, a + i * a_stride, k, at) for i in range(m)])
    acc = np.zeros((m, n), f4)
    if flags & 1:
        acc = np.stack([vec(image, c + i * c_stride, n, ct) for i in range(m)])
    if bt < 2:
        if flags & 2:
            B = np.stack([vec(image, b + j * b_stride, k, bt) for j in range(n)]).T
        else:
            B = np.stack([vec(image, b + kk * b_stride, n, bt) for kk in range(k)])
        for kk in range(k):
            acc = fma(A[:, kk, None], B[None, kk, :], acc)
    else:
        acc = mm_packed(image, A, b, b_stride, bt, acc, n)
    for i in range(m):
        put(image, c + i * c_stride, acc[i], ct)


def mm_packed(image, A, b, b_stride, bt, acc, n):
    m, k = A.shape
    panels = -(-n // 32)
    group_bytes = 64 + 1024 if bt == 2 else 128 + 512
    wide = np.zeros((m, panels * 32), f4)
    wide[:, :n] = acc
    for p in range(panels):
        cols = slice(32 * p, 32 * p + 32)
        for g in range(k // 32):
            at = b + p * b_stride + g * group_bytes
            scale = vec(image, at, 32, 1)
            if bt == 2:
                q = np.frombuffer(image, np.int8, 1024, at + 64).reshape(32, 32).astype(f4)
            else:
                low = vec(image, at + 64, 32, 1)
                nib = np.frombuffer(image, np.uint8, 512, at + 128).reshape(32, 16)
                q = np.concatenate([nib & 15, nib >> 4], 1).astype(f4)
            part, total = np.zeros((m, 32), f4), np.zeros(m, f4)
            for kk in range(32):
                x = A[:, 32 * g + kk]
                part = fma(x[:, None], q[None, kk], part)
                total = total + x
            wide[:, cols] = fma(scale[None], part, wide[:, cols])
            if bt == 3:
                wide[:, cols] = fma(low[None], total[:, None], wide[:, cols])
    return wide[:, :n]


def lanes(v, square=False):
    """v: one row.  Eight lanes in ascending order, then the fixed tree."""
    lane = np.zeros(8, f4)
    for i in range(0, len(v), 8):
        part = v[i : i + 8]
        n = len(part)
        lane[:n] = fma(part, part, lane[:n]) if square else lane[:n] + part
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))


H = lambda text: f4(float.fromhex(text))
COEF = [
    H(t)
    for t in (
        "0x1.6e879cp-10",
        "0x1.11121p-7",
        "0x1.555382p-5",
        "0x1.555554p-3",
        "0x1.0p-1",
        "0x1p0",
        "0x1p0",
    )
]


def exp(x):
    x = np.atleast_1d(np.asarray(x, f4))
    ok = (x >= f4(-87)) & (x <= f4(88))
    v = np.where(ok, x, f4(0))
    n = np.rint(v * H("0x1.715476p+0")).astype(f4)
    r = fma(n, H("-0x1.63p-1"), v)
    r = fma(n, H("0x1.bd0106p-13"), r)
    p = np.full_like(v, H("0x1.a0d2cep-13"))
    for c in COEF:
        p = fma(p, r, c)
    i = n.astype(np.int64)
    p = np.ldexp(np.ldexp(p, i >> 1), i - (i >> 1)).astype(f4)
    p = np.where(x < f4(-87), f4(0), p)
    p = np.where(x > f4(88), f4(np.inf), p)
    return np.where(np.isnan(x), x, p).astype(f4)


def silu(x):
    return (x / (f4(1) + exp(-x))).astype(f4)


def vx(image, op, x, out, cols, y=(0, 0, 0), inner=1, outer=1, types=(0, 0, 0), f0=0.0, flags=0):
    f0 = f4(f0)
    for o in range(outer):
        for i in range(inner):
            v = vec(image, x[0] + o * x[2] + i * x[1], cols, types[0])
            yat = y[0] + o * y[2] + i * y[1]
            row = lambda: vec(image, yat, cols, types[1])
            if op == 0x30:
                r = f4(1) / np.sqrt(lanes(v, True) / f4(cols) + f0)
                res = (v * r) * vec(image, y[0], cols, 0)
            elif op == 0x31:
                res = rope(v, vec(image, y[0] + o * y[2], cols, 0), flags & 1)
            elif op == 0x32:
                res = silu(v) * row()
            elif op == 0x33:
                res = v + row()
            elif op == 0x34:
                res = v * row()
            elif op == 0x35:
                res = v * f0
            elif op == 0x36:
                res = v
            elif op == 0x37:
                res = v / vec(image, yat, 1, 0)[0]
            else:
                res = silu(v)
            put(image, out[0] + o * out[2] + i * out[1], res, types[2])


def rope(v, table, neox):
    half = len(v) // 2
    c, s = table[:half], table[half:]
    x0, x1 = (v[:half], v[half:]) if neox else (v[0::2], v[1::2])
    o0, o1 = (x0 * c) - (x1 * s), (x0 * s) + (x1 * c)
    if neox:
        return np.concatenate([o0, o1])
    return np.stack([o0, o1], 1).reshape(-1)


def softmax(
    image, value, s, p, o, state, rows, rpt, cols, o_cols, tile_start, window, f0, pos, flags=0
):
    first_tile = flags & 1
    for r in range(rows):
        m, l = vec(image, state + 8 * r, 2, 0)
        acc = vec(image, o[0] + r * o[1], o_cols, 0) if o_cols else np.zeros(0, f4)
        if first_tile:
            m, l, acc = f4(-np.finfo(f4).max), f4(0), np.zeros_like(acc)
        limit = value[pos] + r // rpt + 1
        first = max(0, limit - window) if window else 0
        at = tile_start + np.arange(cols)
        valid = (at >= first) & (at < limit)
        prob = np.zeros(cols, f4)
        if valid.any():
            t = vec(image, s[0] + r * s[1], cols, 0) * f4(f0)
            top = m
            for v in t[valid]:
                top = v if v > top else top
            c = f4(0) if first_tile else exp(m - top)[0]
            prob[valid] = exp(t[valid] - top).astype(np.float16).astype(f4)
            l = (l * c) + lanes(prob)
            acc = acc * c
            m = top
        put(image, p[0] + r * p[1], prob, 1)
        if o_cols:
            put(image, o[0] + r * o[1], acc, 0)
        put(image, state + 8 * r, [m, l], 0)
