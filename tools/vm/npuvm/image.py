# SPDX-License-Identifier: MIT
"""The kernel as it lies in a bzImage.  To unpack 64 MB takes an emulated machine several seconds,
every time; QEMU can enter the ELF file itself (PVH), and unpacking it here takes a moment, once.
Layout: Documentation/arch/x86/boot.rst."""

import os
import struct
import subprocess

from . import paths

MAGIC_AT, SETUP_SECTS_AT, PAYLOAD_AT = 0x202, 0x1F1, 0x248
LEAST_PROTOCOL = 0x208  # the first with payload_offset
UNPACK = {
    b"\x28\xb5\x2f\xfd": ["zstd", "-dc"],
    b"\x1f\x8b\x08": ["gzip", "-dc"],
    b"\xfd7zXZ": ["xz", "-dc"],
}
# header of the ELF note XEN_ELFNOTE_PHYS32_ENTRY, with an address of 8 or 4 bytes
PVH_ENTRY = struct.pack("<3I4s", 4, 8, 0x12, b"Xen\0")
PVH_ENTRY_OLD = struct.pack("<3I4s", 4, 4, 0x12, b"Xen\0")


def payload(data):
    """The compressed part without the four bytes of length behind it, or None."""
    if len(data) < 0x250 or data[MAGIC_AT : MAGIC_AT + 4] != b"HdrS":
        return None
    if struct.unpack_from("<H", data, MAGIC_AT + 4)[0] < LEAST_PROTOCOL:
        return None
    start = ((data[SETUP_SECTS_AT] or 4) + 1) * 512
    offset, length = struct.unpack_from("<2I", data, PAYLOAD_AT)
    return data[start + offset : start + offset + length - 4]


def unpacked(data):
    """The ELF file if it is there and has a PVH entry, else None."""
    body = payload(data) or b""
    command = next((c for magic, c in UNPACK.items() if body.startswith(magic)), None)
    if not command:
        return None
    done = subprocess.run(command, input=body, capture_output=True, check=False)
    elf = done.stdout
    if done.returncode != 0 or not elf.startswith(b"\x7fELF"):
        return None
    return elf if PVH_ENTRY in elf or PVH_ENTRY_OLD in elf else None


def bootable(kernel):
    """Path of what QEMU is to load: the unpacked kernel if we can have it."""
    if kernel.arch != "x86_64":
        return kernel.image
    stat = kernel.image.stat()
    name = f"{kernel.release}-{stat.st_size:x}-{stat.st_mtime_ns:x}.elf"
    out = paths.cache_dir() / "vmlinux" / name
    if out.is_file():
        return out
    elf = unpacked(kernel.image.read_bytes())
    if elf is None:
        return kernel.image
    out.parent.mkdir(parents=True, exist_ok=True)
    tmp = out.with_name(f"{name}.{os.getpid()}")
    tmp.write_bytes(elf)
    tmp.rename(out)
    for old in out.parent.glob(f"{kernel.release}-*.elf"):
        if old != out:
            old.unlink(missing_ok=True)
    return out
