# SPDX-License-Identifier: MIT
"""A small initramfs: busybox, guest/init and the few modules that lead to the real root.

It is cached by content.  What belongs to one run alone (the command, the mounts) travels in a
second archive behind it: the kernel unpacks both.
"""

import gzip
import hashlib
import lzma
import os
import stat
from pathlib import Path

from . import paths

GUEST = Path(__file__).resolve().parents[1] / "guest"

# What the guest needs before it can see its root; all else comes by modprobe from there.
ROOT_MODULES = ["virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay"]
# What it needs for the models' disk, if the kernel has them: there is another way without.
# erofs of 6.12 asks for crc32c by name, which modules.dep does not tell.
DISK_MODULES = ["crc32c_generic", "virtio_blk", "erofs"]

DIRECTORIES = ["dev", "proc", "sys", "root", "lower", "upper", "bin", "modules", "modules-disk"]


class Cpio:
    """The "newc" format of Documentation/driver-api/early-userspace/buffer-format.rst."""

    def __init__(self):
        self.data = bytearray()
        self.inode = 0

    def _entry(self, name, mode, body=b"", rdev=(0, 0)):
        self.inode += 1
        raw = name.encode() + b"\0"
        fields = [self.inode, mode, 0, 0, 1, 0, len(body), 0, 0, rdev[0], rdev[1], len(raw), 0]
        self.data += b"070701" + b"".join(b"%08x" % f for f in fields) + raw
        self._pad()
        self.data += body
        self._pad()

    def _pad(self):
        self.data += bytes(-len(self.data) % 4)

    def directory(self, name):
        self._entry(name, stat.S_IFDIR | 0o755)

    def file(self, name, body, mode=0o644):
        self._entry(name, stat.S_IFREG | mode, body)

    def device(self, name, major, minor):
        self._entry(name, stat.S_IFCHR | 0o600, rdev=(major, minor))

    def finish(self):
        self._entry("TRAILER!!!", 0)
        return bytes(self.data)


def module_name(path):
    return os.path.basename(path).split(".ko")[0].replace("-", "_")


def module_order(kernel, names, optional=False):
    """Paths of the named modules and all they depend on, each after what it needs."""
    deps = {}
    for line in (kernel.modules / "modules.dep").read_text().splitlines():
        path, _, needs = line.partition(":")
        deps[module_name(path)] = (path, needs.split())
    builtin = {module_name(p) for p in (kernel.modules / "modules.builtin").read_text().split()}
    order = []
    for name in names:
        if name.replace("-", "_") in builtin:
            continue
        if name not in deps and optional:
            continue
        if name not in deps:
            raise paths.BenchError(f"kernel {kernel.release} has no module {name}")
        path, needs = deps[name]
        # modules.dep lists the direct need first, the deepest last
        order += [p for p in reversed(needs) if p not in order]
        order += [path] if path not in order else []
    return order


def decompressed(path):
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".ko":
        return data
    raise paths.BenchError(f"{path}: compression {path.suffix} is not known here")


def busybox(tree):
    path = tree / "usr/bin/busybox"
    if not path.is_file():
        raise paths.BenchError(f"{path} is missing: run tools/vm/setup")
    return path.read_bytes()


def modules_for(kernel):
    """(directory in the archive, place in the order, path) of every module it holds."""
    root = module_order(kernel, ROOT_MODULES) if kernel.modules else []
    disk = module_order(kernel, DISK_MODULES, True) if kernel.modules else []
    yield from (("modules", i, p) for i, p in enumerate(root))
    yield from (("modules-disk", i, p) for i, p in enumerate(disk) if p not in root)


def base(kernel):
    """Path of the cached archive for this kernel."""
    tree = paths.tree_dir(kernel.arch)
    files = [(name, (GUEST / name).read_bytes()) for name in ("init", "agent")]
    modules = [(f"{d}/{i:02d}-{module_name(p)}.ko", p) for d, i, p in modules_for(kernel)]
    key = hashlib.sha256(repr((files, modules, kernel.release)).encode()).hexdigest()[:16]
    out = paths.cache_dir() / "initrd" / f"{kernel.arch}-{kernel.release}-{key}.cpio.gz"
    if out.is_file():
        return out
    cpio = Cpio()
    for name in DIRECTORIES:
        cpio.directory(name)
    cpio.device("dev/console", 5, 1)
    cpio.file("bin/busybox", busybox(tree), 0o755)
    for name, body in files:
        cpio.file(name, body, 0o755)
    for name, path in modules:
        cpio.file(name, decompressed(kernel.modules / path))
    out.parent.mkdir(parents=True, exist_ok=True)
    tmp = out.with_suffix(f".{os.getpid()}")
    tmp.write_bytes(gzip.compress(cpio.finish(), 6, mtime=0))
    tmp.rename(out)
    return out


def for_run(kernel, files, out):
    """Write to `out` the archive of one run; `files` maps names below /run/npuvm to texts."""
    cpio = Cpio()
    cpio.directory("npuvm")
    for name, text in files.items():
        cpio.file(f"npuvm/{name}", text.encode(), 0o644)
    first = base(kernel).read_bytes()
    # an uncompressed archive must start at a multiple of four
    Path(out).write_bytes(first + bytes(-len(first) % 4) + cpio.finish())
