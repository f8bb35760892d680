# SPDX-License-Identifier: MIT
"""The two ways to arm faults of npusim: its control socket, and the debug window in BAR 0."""
import importlib.machinery
import importlib.util
import os
import re

from ne1 import ROOT

ANY = (1 << 64) - 1


def load_client():
    """tools/npusim/npusim-ctl as a module."""
    path = os.path.join(ROOT, "tools", "npusim", "npusim-ctl")
    loader = importlib.machinery.SourceFileLoader("npusim_ctl", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("npusim_ctl", loader))
    loader.exec_module(module)
    return module


Control = load_client().Control


def window_header():
    """Offsets and numbers of debug_window.h, and the faults by name."""
    path = os.path.join(ROOT, "tools", "npusim", "debug_window.h")
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    defines = {name: int(value, 0) for name, value in
               re.findall(r"#define\s+(NPUSIM_\w+)\s+(0x[0-9a-fA-F]+|\d+)\s*$", text, re.M)}
    defines.update({name: int(value) for name, value in
                    re.findall(r"\b(NPUSIM_\w+) = (\d+),", text)})
    body = text[text.index("enum npusim_fault {"):]
    faults = {name.lower().replace("_", "-"): int(value)
              for name, value in re.findall(r"\bNPUSIM_(\w+) = (\d+),", body) if name != "FAULTS"}
    return defines, faults


DEFINES, FAULTS = window_header()
DEFINES["NPUSIM_WIN_ARG0"] = 0x40
DEFINES["NPUSIM_WIN_IRQS_LO"], DEFINES["NPUSIM_WIN_IRQS_HI"] = 0xb0, 0xb4	# of vector 0
ONS = {name[len("NPUSIM_ON_"):].lower().replace("_", "-"): value
       for name, value in DEFINES.items() if name.startswith("NPUSIM_ON_")}


class Refused(Exception):
    pass


class SocketPath:
    name = "socket"

    def __init__(self, control, client):
        del client
        self.control = control

    def call(self, request, **members):
        answer = self.control.request(request, **members)
        if not answer["ok"]:
            raise Refused(answer["error"])
        return answer

    def arm(self, fault, **args):
        self.call("arm", fault=fault, **args)

    def disarm(self, fault):
        self.call("disarm", fault=fault)

    def disarm_all(self):
        self.call("disarm-all")

    def status(self, fault):
        """armed, active, seen, fired"""
        for entry in self.call("status")["faults"]:
            if entry["fault"] == fault:
                return entry["armed"], entry["active"], entry["seen"], entry["fired"]
        return False, False, 0, 0


class WindowPath:
    """As a guest does it, with 32-bit reads and writes."""
    name = "window"
    PAIRS = {"after": "AFTER", "count": "COUNT", "seed": "SEED", "key": "KEY"}

    def __init__(self, control, client):
        self.client = client
        self.args = {fault["fault"]: [arg["name"] for arg in fault["args"]]
                     for fault in control.request("list")["faults"]}

    def offset(self, name):
        return DEFINES["NPUSIM_WINDOW"] + DEFINES["NPUSIM_WIN_" + name]

    def get(self, name):
        return self.client.reg(self.offset(name))

    def get64(self, name):
        low = self.get(name + "_LO")
        return low | self.get(name + "_HI") << 32

    def get64_at(self, name, index):
        at = self.offset(name) + 8 * index
        low = self.client.reg(at)
        return low | self.client.reg(at + 4) << 32

    def set(self, name, value):
        self.client.set_reg(self.offset(name), value)

    def set64(self, at, value):
        value = ANY if value == "any" else value
        self.client.set_reg(at, value & 0xffffffff)
        self.client.set_reg(at + 4, value >> 32)

    def member(self, fault, name, value):
        if name in self.PAIRS:
            self.set64(self.offset(self.PAIRS[name] + "_LO"), value)
        elif name == "duration_us":
            self.set("DURATION", value)
        elif name == "probability":
            self.set("PROB", round(value * 1000000))
        elif name == "on":
            self.set("ON", ONS[value])
        else:
            self.set64(DEFINES["NPUSIM_WINDOW"] + 0x40 + 8 * self.args[fault].index(name), value)

    def command(self, command):
        self.set("CMD", DEFINES["NPUSIM_CMD_" + command])
        status = self.get("STATUS")
        if status:
            raise Refused(status)

    def arm(self, fault, **args):
        self.set("FAULT", FAULTS[fault])
        for name, value in args.items():
            self.member(fault, name, value)
        self.command("ARM")

    def disarm(self, fault):
        self.set("FAULT", FAULTS[fault])
        self.command("DISARM")

    def disarm_all(self):
        self.command("DISARM_ALL")

    def status(self, fault):
        self.set("FAULT", FAULTS[fault])
        state = self.get("STATE")
        return bool(state & 1), bool(state & 2), self.get64("SEEN"), self.get64("FIRED")
