# SPDX-License-Identifier: MIT
"""The models of the cache, as a disk.  The guest falls back to 9p if it cannot read it."""

import hashlib
import os

from . import erofs, paths

MOST_BYTES = 4 << 30  # the image is a copy of the models: beyond this it is not worth its place


def directory():
    return paths.cache_dir() / "models"


def key(files):
    facts = [(p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in files]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def image():
    """Path of an image that holds what the directory holds now; None if there can be none."""
    files = sorted(directory().iterdir()) if directory().is_dir() else []
    if not erofs.packable(files) or sum(p.stat().st_size for p in files) > MOST_BYTES:
        return None
    out = paths.cache_dir() / "images" / f"models-{key(files)}.erofs"
    if out.is_file():
        return out
    out.parent.mkdir(parents=True, exist_ok=True)
    tmp = out.with_suffix(f".{os.getpid()}")
    erofs.pack(files, tmp)
    for old in out.parent.glob("models-*.erofs"):
        if old != out:  # which somebody else may just have made
            old.unlink(missing_ok=True)  # guests that have it open keep it
    tmp.rename(out)
    return out
