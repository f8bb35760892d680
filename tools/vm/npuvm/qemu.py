# SPDX-License-Identifier: MIT
"""The QEMU command line of a guest."""

import json
import os
import re

from . import image, paths

BINARY = {"x86_64": "qemu-system-x86_64", "arm64": "qemu-system-aarch64"}
CONSOLE = {"x86_64": "ttyS0", "arm64": "ttyAMA0"}

# QEMU gives a device 5 s to answer, then drops it for good; an emulated machine that shares two
# cores with a compiler needs more.
DEVICE_TIMEOUT_MS = 60000


def bytes_of(size):
    m = re.fullmatch(r"(\d+)([MG])", size)
    if not m:
        raise paths.BenchError(f"memory size {size}: want a number with M or G, such as 2G")
    return int(m.group(1)) << (20 if m.group(2) == "M" else 30)


# What an emulated machine spares itself: self-tests and workarounds for real hardware, and the
# keys for signatures of modules (the kernel says that it is tainted, as ours makes it anyway).
TCG_APPEND = {
    "x86_64": ["tsc=reliable", "no_timer_check", "nokaslr"],
    "arm64": [],
}
TCG_APPEND_ALL = [
    "mitigations=off",
    "cryptomgr.notests",
    "audit=0",
    "initcall_blacklist=load_system_certificate_list",
]


def append(arch, accel):
    """Words for the kernel's command line that the machine asks for."""
    words = [f"console={CONSOLE[arch]}"]
    return words + (TCG_APPEND_ALL + TCG_APPEND[arch] if accel == "tcg" else [])


def machine(arch, accel, mem, smp, icount=False, iommu=False):
    """Processor, board and memory.  The memory is a shared memfd so that the model of the
    device can map it: that is how its DMA works."""
    argv = [
        BINARY[arch],
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
        "-smp",
        str(smp),
        "-m",
        f"{bytes_of(mem) >> 20}M",
        "-object",
        f"memory-backend-memfd,id=mem,size={bytes_of(mem)},share=on",
    ]
    if accel == "kvm":
        argv += ["-accel", "kvm", "-cpu", "host"]
    elif icount:
        argv += ["-accel", "tcg,thread=single", "-icount", "shift=0"]
    else:
        argv += ["-accel", "tcg,thread=multi"]
    if arch == "x86_64":
        argv += ["-machine", "q35,memory-backend=mem"]
        argv += ["-cpu", "max"] if accel == "tcg" else []
        argv += ["-device", "intel-iommu,caching-mode=on,intremap=off"] if iommu else []
    else:
        if iommu:
            raise paths.BenchError(
                "--iommu: QEMU's SMMUv3 cannot serve a vfio-user device " "(x86_64 only)"
            )
        argv += ["-machine", "virt,gic-version=3,its=on,memory-backend=mem"]
        argv += ["-cpu", "cortex-a76"] if accel == "tcg" else []
    return argv


def boot(kernel, initrd, append, log):
    return [
        "-kernel",
        str(image.bootable(kernel)),
        "-initrd",
        str(initrd),
        "-append",
        append,
        "-chardev",
        f"file,id=console,path={log},append=on",
        "-serial",
        "chardev:console",
    ]


def ports(rundir, shell):
    """The command's output, the control port and, for a shell, a terminal."""
    argv = ["-device", "virtio-serial-pci"]
    for name in ("out", "ctl"):
        argv += [
            "-chardev",
            f"socket,id={name},path={rundir}/{name}",
            "-device",
            f"virtserialport,chardev={name},name=npuvm.{name}",
        ]
    if shell:
        argv += [
            "-chardev",
            f"socket,id=tty,path={rundir}/tty",
            "-device",
            "virtconsole,chardev=tty",
        ]
    return argv


def share(tag, path, writable=False):
    return [
        "-fsdev",
        f"local,id={tag},path={path},security_model=none,multidevs=remap"
        + ("" if writable else ",readonly=on"),
        "-device",
        f"virtio-9p-pci,fsdev={tag},mount_tag={tag}",
    ]


def disk(path):
    """/dev/vda, read-only"""
    return [
        "-drive",
        f"if=none,id=disk,format=raw,readonly=on,file={path}",
        "-device",
        "virtio-blk-pci,drive=disk",
    ]


def npu(index, socket):
    """A vfio-user device behind a root port of its own (it can be unplugged there).  At more than
    5 GT/s Linux waits after a reset of the bus for a link that the port never says is up."""
    device = {
        "driver": "vfio-user-pci",
        "id": f"npu{index}",
        "bus": f"rp{index}",
        "x-msg-timeout": DEVICE_TIMEOUT_MS,
        "socket": {"type": "unix", "path": os.path.abspath(socket)},
    }
    return [
        "-device",
        f"pcie-root-port,id=rp{index},slot={index + 1},chassis={index + 1},x-speed=5",
        "-device",
        json.dumps(device),
    ]
