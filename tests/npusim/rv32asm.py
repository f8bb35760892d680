# SPDX-License-Identifier: MIT
"""Assembles RV32 programs for tests."""
import os
import shutil
import subprocess
import tempfile

CROSS = os.environ.get("FW_CROSS", "riscv64-unknown-elf-")


def assemble(source, origin=0x10000000, march="rv32imc_zicsr"):
    """Flat binary of assembler text that is linked at `origin`, `_start` first."""
    with tempfile.TemporaryDirectory(prefix="rv32-") as folder:
        def path(name):
            return os.path.join(folder, name)
        with open(path("t.S"), "w", encoding="utf-8") as file:
            file.write(".globl _start\n.text\n.option norelax\n" + source + "\n")
        subprocess.run([CROSS + "gcc", f"-march={march}", "-mabi=ilp32", "-nostdlib", "-static",
                        "-c",
                        "-o", path("t.o"), path("t.S")], check=True)
        subprocess.run([CROSS + "ld", "-m", "elf32lriscv", f"-Ttext={origin:#x}", "-o",
                        path("t.elf"), path("t.o")], check=True, stderr=subprocess.DEVNULL)
        subprocess.run([CROSS + "objcopy", "-O", "binary", path("t.elf"), path("t.bin")],
                       check=True)
        with open(path("t.bin"), "rb") as file:
            data = file.read()
    return data + bytes(-len(data) % 4)


def available():
    return shutil.which(CROSS + "gcc") is not None
