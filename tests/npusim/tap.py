# SPDX-License-Identifier: MIT
"""Runs the test functions of a module and prints TAP."""
import sys
import traceback


class Skip(Exception):
    pass


def main(module):
    """Every function test_* of the module, in the order of the file; its docstring is its name.
    Arguments select by substring.
    """
    tests = [f for name, f in vars(sys.modules[module]).items() if name.startswith("test_")]
    tests = [t for t in tests if all(word in t.__name__ for word in sys.argv[1:])]
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        name = (test.__doc__ or test.__name__).strip().splitlines()[0]
        try:
            test()
            print(f"ok {number} - {name}")
        except Skip as skip:
            print(f"ok {number} - {name} # SKIP {skip}")
        except Exception:
            failed += 1
            print("# " + traceback.format_exc().rstrip().replace("\n", "\n# "))
            print(f"not ok {number} - {name}")
        sys.stdout.flush()
    sys.exit(1 if failed else 0)
