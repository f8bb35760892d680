# SPDX-License-Identifier: MIT
"""KVM or TCG?  That /dev/kvm opens says little: some virtual machines offer one which cannot run
a stock kernel.  So a kernel is booted with it once, for a few seconds, and the answer kept."""

import hashlib
import json
import os
import platform
import subprocess
import tempfile
import time

from . import children, initrd, kernels, paths, qemu

PROBE_SECONDS = 20
HOST_ARCH = {"x86_64": "x86_64", "aarch64": "arm64"}


def said(path, text):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return text in f.read()
    except FileNotFoundError:
        return False


def boots_with_kvm(kernel):
    with tempfile.TemporaryDirectory(prefix="npuedge-kvm-") as tmp, open(
        f"{tmp}/errors", "wb"
    ) as errors:
        argv = qemu.machine(kernel.arch, "kvm", "512M", 1)
        argv += qemu.boot(
            kernel,
            initrd.base(kernel),
            f"console={qemu.CONSOLE[kernel.arch]} panic=-1",
            f"{tmp}/console",
        )
        proc = children.start(argv, errors)
        limit = time.monotonic() + PROBE_SECONDS
        # an internal error of KVM stops the machine, not QEMU
        while (
            proc.poll() is None
            and time.monotonic() < limit
            and not said(errors.name, "KVM internal error")
        ):
            time.sleep(0.1)
        children.stop(proc, 1)
        return said(f"{tmp}/console", "npuvm: alive")


def probe_key(kernel):
    version = subprocess.run(
        [qemu.BINARY[kernel.arch], "--version"], check=True, capture_output=True, text=True
    ).stdout
    facts = (platform.release(), version, kernel.release)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def choose(kernel, say):
    """NPUEDGE_ACCEL=tcg or kvm decides; otherwise the probe does."""
    wish = os.environ.get("NPUEDGE_ACCEL", "auto")
    if wish in ("tcg", "kvm"):
        return wish
    if wish != "auto":
        raise paths.BenchError(f"NPUEDGE_ACCEL={wish}: want auto, tcg or kvm")
    if HOST_ARCH.get(platform.machine()) != kernel.arch or kernel.release == kernels.CUSTOM:
        return "tcg"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    known = paths.cache_dir() / "kvm" / probe_key(kernel)
    if not known.is_file():
        say(f"probing whether /dev/kvm runs {kernel.release} (at most {PROBE_SECONDS} s, once)")
        answer = {"release": kernel.release, "kvm": boots_with_kvm(kernel)}
        known.parent.mkdir(parents=True, exist_ok=True)
        tmp = known.with_suffix(f".{os.getpid()}")
        tmp.write_text(json.dumps(answer) + "\n")
        tmp.rename(known)
        say("it does" if answer["kvm"] else "it does not: emulating (TCG)")
    return "kvm" if json.loads(known.read_text())["kvm"] else "tcg"
