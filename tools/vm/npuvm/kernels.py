# SPDX-License-Identifier: MIT
"""Which kernels the trees hold.  A kernel is named by its series ("7.3"), found by its release.
Where Debian has it with larger pages too, that one is a series of its own ("7.3-16k")."""

import os
import re
from pathlib import Path

from . import paths

# Debian's flavour is the end of the release: 7.3.4+deb13-amd64
FLAVOUR = {"x86_64": "amd64", "arm64": "arm64"}
CUSTOM = "0.0-custom"


def versions():
    """The NAME = VALUE lines of tools/vm/versions."""
    lines = (paths.CHECKOUT / "tools/vm/versions").read_text().splitlines()
    return dict(line.split(" = ", 1) for line in lines if line and not line.startswith("#"))


class Kernel:
    """An unmodified Debian kernel, or one that somebody built (then nothing is modular)."""

    # how many times longer than on Debian's kernels things may take
    slowness = 1
    append = ()

    def __init__(self, arch, release, image, modules=None, kdir=None):
        self.arch = arch
        self.release = release
        self.image = Path(image)
        self.modules = modules
        # the build directory as seen inside the build tree
        self.kdir = kdir or f"/lib/modules/{release}/build"

    @property
    def series(self):
        variant = self.release.partition(f"-{FLAVOUR[self.arch]}")[2]
        return re.match(r"\d+\.\d+", self.release).group(0) + variant


class BuiltKernel(Kernel):
    """What `tools/vm/setup NAME` made, of an architecture."""

    arch_of = {"debug": "x86_64", "64k": "arm64"}

    def __init__(self, arch, name):
        made = paths.cache_dir() / name
        if arch != self.arch_of[name] or not (made / "release").is_file():
            raise paths.BenchError(
                f"no {arch} kernel {name}: run tools/vm/setup {name} ({self.arch_of[name]} only)"
            )
        release = (made / "release").read_text().strip()
        super().__init__(arch, release, made / "vmlinuz", kdir=str(made / "build"))


class DebugKernel(BuiltKernel):
    """Its watchdogs must not bark at an emulated machine that shares its processors with others."""

    slowness = 5
    append = (
        "watchdog_thresh=60",
        "workqueue.watchdog_thresh=120",
    )


def installed(arch):
    """Every kernel of an architecture that can be booted, oldest first."""
    tree = paths.tree_dir(arch)
    found = []
    for modules in tree.glob(f"usr/lib/modules/*-{FLAVOUR[arch]}*"):
        release = modules.name
        images = (modules / "vmlinuz", tree / "boot" / f"vmlinuz-{release}")
        image = next((i for i in images if i.is_file()), None)
        if image and (modules / "modules.dep").is_file():
            found.append(Kernel(arch, release, image, modules))
    return sorted(found, key=lambda k: [int(n) for n in re.findall(r"\d+", k.release)])


def find(arch, name):
    """`name` is a series (the newest release of it is taken), "new" or "lts" (see versions),
    "debug", "64k", a release, or the path of an image."""
    if name in BuiltKernel.arch_of:
        return (DebugKernel if name == "debug" else BuiltKernel)(arch, name)
    name = versions().get("kernel_" + name, name)
    if "/" in name:
        if not Path(name).is_file():
            raise paths.BenchError(f"kernel image {name} does not exist")
        return Kernel(arch, CUSTOM, Path(name).resolve())
    kernels = installed(arch)
    for kernel in reversed(kernels):
        if name in (kernel.series, kernel.release):
            return kernel
    have = ", ".join(k.release for k in kernels) or "none"
    raise paths.BenchError(
        f"no {arch} kernel {name} in the tree (installed: {have}): " "run tools/vm/setup"
    )


def build_dir(kernel):
    in_cache = kernel.kdir.startswith(f"{paths.cache_dir()}/")  # same path inside the tree
    if not os.path.lexists(kernel.kdir if in_cache else f"{paths.tree_dir()}/usr{kernel.kdir}"):
        raise paths.BenchError(f"the tree has no headers of {kernel.release}: run tools/vm/setup")
    return kernel.kdir
