#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The real firmware image on npusim, driven by a small host over vfio-user."""
import os

import tap
from fwif import FirmwareHost
from ne1 import C
from vfio import Client, serving

IMAGE = os.path.join(os.environ.get("O", "build"), "firmware", "npuedge-ne1.fw")


def image():
    with open(IMAGE, "rb") as file:
        return file.read()


def test_ready():
    """boots to READY with an event interrupt"""
    with serving() as server, Client(server.path) as client, FirmwareHost(client) as host:
        host.boot(image())
        assert host.vectors[1].wait() >= 1
        assert host.u32(128 + 8) == 1, "fw_state is not RUNNING"


def test_ping():
    """answers 40 PINGs in order, through the wrap of the rings"""
    with serving() as server, Client(server.path) as client, FirmwareHost(client) as host:
        host.boot(image())
        for _ in range(40):
            assert host.call(C.NE1_CMD_PING) == C.NE1_MSG_OK


if __name__ == "__main__":
    tap.main(__name__)
