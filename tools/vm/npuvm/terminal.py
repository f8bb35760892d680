# SPDX-License-Identifier: MIT
"""Our terminal while a guest's shell uses it."""

import contextlib
import os
import sys
import termios
import tty


def settings():
    """Shell lines that give the guest's terminal our type and size."""
    lines = [f"export TERM={os.environ.get('TERM', 'vt100')}"]
    with contextlib.suppress(OSError):
        columns, rows = os.get_terminal_size()
        lines.append(f"stty rows {rows} cols {columns}")
    return lines


@contextlib.contextmanager
def raw(wanted):
    """Every key goes to the guest, Ctrl-C too."""
    if not wanted or not sys.stdin.isatty():
        yield
        return
    saved = termios.tcgetattr(0)
    try:
        tty.setraw(0)
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, saved)
