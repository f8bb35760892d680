#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Expand the kernel-doc directives of the pages here, so that they can be read outside the kernel tree.

usage: driver/Documentation/build.py KERNEL-DOC FOLDER

KERNEL-DOC is the kernel's scripts/kernel-doc.  Writes NAME.rst, and NAME.html where docutils is there.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
# the places that the files have in the kernel's tree, and here
PLACES = (("drivers/accel/npuedge/", "driver/"), ("include/uapi/drm/", "uapi/drm/"))
DIRECTIVE = re.compile(r"^\.\. kernel-doc:: (\S+)\n(?:   :doc: (.+)\n)?", re.M)


def here(path):
    for kernel, ours in PLACES:
        if path.startswith(kernel):
            return os.path.join(TOP, ours, path[len(kernel):])
    sys.exit(f"build.py: {path} is not a file of the driver")


def expand(tool, match):
    path, doc = match.groups()
    choice = ["-function", doc] if doc else []
    done = subprocess.run(["python3", tool, "-rst", "-Wall", *choice, here(path)],
                          capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.strip() or "warning:" in done.stderr.lower():
        sys.exit(f"build.py: {path}: {doc or 'whole'}: nothing, or warnings\n{done.stderr}")
    return plain(done.stdout)


def plain(text):
    """Sphinx's directives in words of docutils."""
    text = re.sub(r"^\.\. _.*:\n\n?", "", text, flags=re.M)
    text = re.sub(r"^\.\. c:(?:struct|enum|macro|function|type|union):: (.+)$", r"**\1**", text, flags=re.M)
    text = re.sub(r"^\.\. container:: .*\n", "", text, flags=re.M)
    return re.sub(r":c:type:`(?:[^`<]*<)?([^`>]+)>?`", r"``\1``", text)


def main():
    tool, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for page in ("index", "uapi", "upstream"):
        with open(os.path.join(HERE, page + ".rst"), encoding="utf-8") as file:
            text = DIRECTIVE.sub(lambda m: expand(tool, m), file.read())
        text = re.sub(r"^\.\. toctree::\n   :maxdepth: 1\n\n   uapi\n", "See `the interface <uapi.html>`_.\n",
                      text, flags=re.M)
        out = os.path.join(folder, page + ".rst")
        with open(out, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            from docutils.core import publish_file
        except ImportError:
            print(f"build.py: no docutils: {out} is not turned into HTML")
            continue
        publish_file(source_path=out, destination_path=out[:-3] + "html", writer_name="html5",
                     settings_overrides={"report_level": 2, "halt_level": 2, "embed_stylesheet": True})


if __name__ == "__main__":
    main()
