# SPDX-License-Identifier: MIT
"""Where the bench keeps its things.  tools/vm/setup uses the same places."""

import os
import pwd
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
TREE_MARK = "/etc/npuedge-tree"  # exists inside the tree, nowhere else


class BenchError(Exception):
    """The bench itself cannot work; the message says what to do about it."""


def inside_tree():
    return os.path.exists(TREE_MARK)


def cache_dir():
    """The cache belongs to the user, also when sudo has made us root."""
    if os.environ.get("NPUEDGE_CACHE"):
        return Path(os.environ["NPUEDGE_CACHE"]).absolute()
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]).absolute() / "npuedge"
    return Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "npuedge"


def _tree_path(arch):
    return cache_dir() / ("root" if arch == "x86_64" else f"root-{arch}")


def has_tree(arch):
    return _tree_path(arch).is_dir()


def tree_dir(arch="x86_64"):
    """The root file system of an architecture: "x86_64" is also the one we build in."""
    if not has_tree(arch):
        raise BenchError(
            f"{_tree_path(arch)} does not exist: run tools/vm/setup " "(or `make setup`) first"
        )
    return _tree_path(arch)
