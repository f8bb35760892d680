# SPDX-License-Identifier: MIT
"""Judges a kernel log: what no healthy run may contain."""

import re
from pathlib import Path

from . import paths

ALLOW_FILE = Path(__file__).resolve().parents[1] / "dmesg.allow"

SPLATS = re.compile(
    "|".join(
        (
            r"\bWARNING:",
            r"\bBUG:",
            r"\bOops\b",
            r"KFENCE:",
            r"KASAN:",
            r"KCSAN:",
            r"KMSAN:",
            r"UBSAN:",
            r"Kernel panic",
            r"general protection fault",
            r"Unable to handle kernel",
            r"kernel BUG at",
            r"possible (circular|recursive|irq lock inversion)",
            r"inconsistent lock state",
            r"suspicious RCU usage",
            r"bad unlock balance",
            r"held lock freed",
            r"Invalid wait context",
            r"refcount_t:",
            r"DMA-API: (?!preallocated|debugging enabled by kernel config|enable driver filter)",
            r"ODEBUG:",
            r"list_(add|del) corruption",
            r"sleeping function called",
            r"blocked for more than",
            r"detected( expedited)? stalls",
            r"self-detected stall",
            r"soft lockup",
            r"hard LOCKUP",
            r"workqueue lockup",
            r"kmemleak: \d+ new",
            r"kmemleak: .*(pool empty|detector disabled|Cannot )",
            r"non-static key",
            r"locking correctness validator",
            r"nobody cared",
            r"DMAR: .*fault",
            r"arm-smmu.*event 0x",
            r"page allocation failure",
            r"scheduling while atomic",
        )
    )
)


def allowed_patterns(extra=()):
    """Lines of dmesg.allow: a regular expression, then white space, `#` and the reason."""
    patterns = []
    for n, line in enumerate(ALLOW_FILE.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        regex, sep, reason = line.partition(" # ")
        if not sep or not reason.strip():
            raise paths.BenchError(
                f"{ALLOW_FILE}:{n}: an allowed splat needs a reason behind ' # '"
            )
        patterns.append(re.compile(regex.strip()))
    return patterns + [re.compile(e) for e in extra]


def find(log, allow):
    """The offending lines of a kernel log."""
    return [
        line
        for line in log.splitlines()
        if SPLATS.search(line) and not any(p.search(line) for p in allow)
    ]


def excerpt(log, lines, context=25, limit=3):
    """The first few splats with what follows them."""
    all_lines = log.splitlines()
    out = []
    last = -1
    for line in lines:
        at = all_lines.index(line)
        if at <= last or limit == 0:
            continue
        last = at + context
        limit -= 1
        out += all_lines[at:last] + ["..."]
    return "\n".join(out)
