# SPDX-License-Identifier: MIT
"""Runs named cases against one isa_run process and prints TAP."""

import os

import stream as s


def run(cases, names):
    for name in names:
        if name not in cases:
            raise SystemExit("no case named '%s'" % name)
    names = names or list(cases)
    runner = s.Runner(os.path.join(os.environ.get("O", "build"), "tests/npusim-isa/isa_run"))
    print("1..%d" % len(names))
    bad = 0
    for i, name in enumerate(names, 1):
        try:
            cases[name](runner)
            print("ok %d - %s" % (i, name), flush=True)
        except AssertionError as e:
            bad += 1
            print("not ok %d - %s\n# %s" % (i, name, e), flush=True)
    return runner.close() != 0 or bad != 0
