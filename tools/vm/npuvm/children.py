# SPDX-License-Identifier: MIT
"""Processes which must not outlive us: QEMU and the device models."""

import ctypes
import os
import signal
import subprocess
import time

from . import paths

PR_SET_PDEATHSIG = 1
SO_ACCEPTCON = 0x10000  # flag of a listening socket in /proc/net/unix
libc = ctypes.CDLL(None)


def _die_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(argv, log):
    """In a session of its own, so that Ctrl-C reaches us alone and we end it in order."""
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
    except OSError as err:
        raise paths.BenchError(f"cannot start {argv[0]}: {err.strerror}") from None


def stop(proc, patience):
    """SIGTERM, then SIGKILL to the whole group.  Returns the exit status as Popen gives it."""
    if proc.poll() is None:
        proc.terminate()
        try:
            proc.wait(patience)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(proc.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return proc.wait()


def listening(path):
    """Whether somebody listens there, found without connecting: a model serves one client.
    The kernel lists a socket by the name it was bound to; npusim binds PATH~ and renames it."""
    if not os.path.exists(path):
        return False
    with open("/proc/net/unix", encoding="ascii", errors="replace") as table:
        for line in table:
            fields = line.split()
            if fields[-1] in (path, path + "~") and int(fields[3], 16) & SO_ACCEPTCON:
                return True
    return False


def wait_listening(proc, path, seconds):
    limit = time.monotonic() + seconds
    while not listening(path):
        if proc.poll() is not None:
            raise paths.BenchError(
                f"{proc.args[0]} ended with status {proc.returncode} "
                f"before it listened on {path}"
            )
        if time.monotonic() > limit:
            raise paths.BenchError(
                f"{proc.args[0]} does not listen on {path} after " f"{seconds} s"
            )
        time.sleep(0.02)
