#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The control socket and debug window themselves: requests, errors, scripts, counts, chance, strangers."""
import json
import os
import socket
import struct
import subprocess
import time

import tap
from faultctl import ANY, DEFINES, FAULTS, Control, Refused, WindowPath
from fwjob import COPY
from ne1 import C, ROOT
from test_faults import image, rig
from vfio import CONFIG, DEVICE_RESET, LIMIT, Client, serving, wait_until


def error_of(r, **request):
    answer = r.control.send_text(json.dumps(request))
    assert answer["ok"] is False, f"{request} was accepted"
    assert answer["error"]["message"] and "limit" in answer["error"], answer
    return answer["error"]["field"]


def test_errors():
    """a wrong request is refused; the answer names the member"""
    with rig() as r:
        cases = [("request", {}), ("request", {"request": 7}), ("request", {"request": "fire"}),
                 ("fault", {"request": "arm"}), ("fault", {"request": "arm", "fault": "fire"}),
                 ("fault", {"request": "disarm", "fault": 3}), ("since", {"request": "log", "since": -1}),
                 ("seed", {"request": "seed"}), ("x", {"request": "status", "x": 1}),
                 ("ms", {"request": "sleep", "ms": 10 ** 9}), ("steps", {"request": "script"}),
                 ("steps", {"request": "script", "steps": []}),
                 ("steps", {"request": "script", "steps": [{"request": "list"}] * 257}),
                 ("device", {"request": "status", "device": 1})]
        arm = {"request": "arm", "fault": "irq-lost"}
        for name, value in (("vector", 4), ("vector", -1), ("vector", "x"), ("vector", 1.5), ("queue", 0),
                            ("probability", 1.1), ("probability", -0.1), ("probability", "1"),
                            ("count", "any"), ("after", None), ("duration_us", 1 << 32), ("on", "noon"),
                            ("on", "doorbell"), ("key", 1), ("seed", [])):
            cases.append((name, dict(arm, **{name: value})))
        for field, request in cases:
            got = error_of(r, **request)
            assert got == field, f"{request}: {got}"
        error = r.control.request("script", steps=[{"request": "list"}, dict(arm, vector=9)])["error"]
        assert (error["step"], error["field"], error["value"]) == (1, "vector", 9), error
        assert not r.control.request("status")["faults"], "something was armed"


def test_after_and_count():
    """after events pass, count fire; then it is disarmed"""
    with rig() as r:
        r.boot()
        r.arm("reply-status", status=9, after=3, count=2)
        assert [r.host.call(C.NE1_CMD_PING) for _ in range(7)] == [0, 0, 0, 9, 9, 0, 0]
        assert r.path.status("reply-status") == (False, False, 5, 2)
        log = r.control.request("log")["log"]
        assert [entry["fault"] for entry in log] == ["reply-status"] * 2
        assert 0 < log[0]["time_ns"] < log[1]["time_ns"] and log[1]["number"] == 2
        assert r.control.request("log", since=1)["log"] == log[1:]


def test_duration_disarms():
    """an event's fault with a duration is disarmed so long after it first fired"""
    with rig() as r:
        r.boot()
        r.arm("reply-status", status=9, count=0, duration_us=200000)
        time.sleep(0.3)
        assert r.host.call(C.NE1_CMD_PING) == 9
        time.sleep(0.3)
        assert r.host.call(C.NE1_CMD_PING) == 0
        assert not r.path.status("reply-status")[0]


def statuses(r, **args):
    r.arm("reply-status", status=1, count=0, probability=0.4, **args)
    return [r.host.call(C.NE1_CMD_PING) for _ in range(60)]


def test_seed():
    """chance repeats with its seed, and differs with another"""
    with rig() as r:
        r.boot()
        first, again = statuses(r), statuses(r)
        assert first == again and 5 < sum(first) < 45, first
        assert statuses(r, seed=5) == statuses(r, seed=5) != first
        r.control.request("seed", seed=77)
        other = statuses(r)
        assert other != first
    with rig() as r:
        r.boot()
        assert statuses(r) == first
        r.control.request("seed", seed=77)
        assert statuses(r) == other
    with rig(WindowPath) as r:
        r.boot()
        assert statuses(r) == first
        r.path.set64(r.path.offset("SEED_LO"), 77)
        r.path.command("SEED_ALL")
        assert statuses(r) == other


def test_random_bits_repeat():
    """random bit flips are the same for the same seed"""
    with rig() as r:
        r.boot()
        queue = r.queue()

        def outputs(seed):
            r.host.put(queue.data, bytes(256))
            r.arm("output-bitflip", count=0, seed=seed)
            found = []
            for _ in range(8):
                assert queue.run(COPY)["fault"] == 0
                found.append(bytes(r.host.memory.map[queue.data + 0x1000:queue.data + 0x1100]))
            return found

        first = outputs(3)
        assert len(set(first)) > 4 and outputs(3) == first and outputs(4) != first


def test_triggers():
    """conditions begin at the trigger of choice"""
    with rig() as r:
        r.boot()
        queues = [r.queue(0), r.queue(1)]
        r.quiet()
        for on, key in (("doorbell", 1), ("job-end", 1), ("job-start", "any"), ("mbox", "any"),
                        ("event", C.NE1_EVT_REPLY), ("mmio-write", C.NE1_REG_MBOX_DB)):
            r.arm("irq-spurious", vector=2, on=on, key=key)
            if on in ("doorbell", "job-end"):
                queues[0].copy_works()
                assert r.host.vectors[2].wait(0.1) == 0, on
                queues[1].copy_works()
            elif on == "job-start":
                queues[0].copy_works()
            else:
                r.host.call(C.NE1_CMD_PING)
            assert r.host.vectors[2].wait() == 1, on
        r.arm("irq-spurious", vector=3, on="reset")
        r.arm("fw-hang", on="ready")
        r.host.reset()
        wait_until(lambda: r.fired("irq-spurious") == 1)
        r.host.sent = r.host.read_events = 0
        r.host.start(image())
        wait_until(lambda: r.fired("fw-hang") == 1)
        r.stands_still()


def test_hang_at_every_boot():
    """a condition armed now without a count comes back after a reset"""
    with rig() as r:
        r.arm("fw-hang", count=0, watchdog=0)
        for _ in range(2):
            r.host.reset()
            r.host.start(image())
            r.host.wait_state(C.NE1_BOOT_STATE_READY)
            assert r.beats(0.2) <= 1
        assert r.fired("fw-hang") == 3


def test_script():
    """a script arms, waits and ends at the first step that fails"""
    with rig() as r:
        r.boot()
        steps = [{"request": "arm", "fault": "irq-spurious", "vector": 2, "count": 2, "on": "mbox"},
                 {"request": "sleep", "ms": 10},
                 {"request": "wait", "fault": "irq-spurious", "fired": 1, "timeout_ms": 60},
                 {"request": "info"}]
        answer = r.control.request("script", tag="a", steps=steps)
        assert answer["tag"] == "a" and [s["ok"] for s in answer["results"]] == [True, True, False]
        r.host.call(C.NE1_CMD_PING)
        answer = r.control.request("script", steps=steps[1:])
        assert [s["ok"] for s in answer["results"]] == [True] * 3
        assert answer["results"][2]["info"]["chip"] == "tiny"


def test_counts():
    """register accesses, doorbells, interrupts, walks and jobs are counted, also per job"""
    with rig(WindowPath) as r:
        r.boot()
        queue = r.queue(1)
        before = r.control.request("info")["info"]["counters"]
        queue.copy_works()
        for _ in range(5):
            r.client.reg(C.NE1_REG_FREQ)
        queue.copy_works()
        r.quiet()
        info = r.control.request("info")["info"]
        after = info["counters"]
        grown = {name: after[name] - before[name] for name in
                 ("mmio_reads", "mmio_writes", "doorbells", "jobs")}
        assert grown == {"mmio_reads": 5, "mmio_writes": 2, "doorbells": 2, "jobs": 2}, grown
        wait_until(lambda: r.path.get64_at("IRQS_LO", 0) - before["irqs"][0] == 2)
        assert after["walks"] > before["walks"] and after["irq_host_ns"] > 0
        line = info["queues"][0]
        assert (line["queue"], line["done_seqno"], line["head"], line["tail"]) == (1, 2, 2, 2), line
        job = r.control.request("jobs")["jobs"][-1]
        assert (job["queue"], job["seqno"], job["mmio_reads"], job["doorbells"]) == (1, 2, 5, 1), job
        assert r.path.get64("READS") == after["mmio_reads"]	# the window does not count itself
        assert r.path.get64("JOBS") == 2 and r.path.get64("DOORBELLS") == after["doorbells"]
        assert 0 < r.path.get64("DOORBELL_NS") < r.path.get64("IRQ_NS") < r.path.get64("HOST_NS")
        registers = r.control.request("registers")["registers"]
        assert registers["ID"] == C.NE1_ID_MAGIC
        assert registers["BOOT_STATUS"] == C.NE1_BOOT_STATE_READY


def test_asleep():
    """in D3hot nobody answers at the registers, and who asks is counted; the window goes on, and so does firmware"""
    pmcsr = 0x44
    with rig(WindowPath) as r:
        def asleep():
            return r.control.request("info")["info"]["counters"]["mmio_asleep"]

        def state(number):
            r.client.write(CONFIG, pmcsr, struct.pack("<H", number))
            got = struct.unpack("<H", r.client.read(CONFIG, pmcsr, 2))[0]
            assert got & 3 == number, hex(got)

        r.boot()
        before = r.control.request("info")["info"]["counters"]
        assert asleep() == 0
        state(3)
        assert r.client.reg(C.NE1_REG_ID) == 0xffffffff
        assert r.client.reg(C.NE1_REG_IRQ_ENABLE) == 0xffffffff
        r.client.set_reg(C.NE1_REG_RESET, 1, posted=False)
        assert asleep() == r.path.get64("ASLEEP") == 3
        state(0)
        after = r.control.request("info")["info"]["counters"]
        assert (after["mmio_reads"], after["mmio_writes"]) == (before["mmio_reads"], before["mmio_writes"])
        assert r.client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC
        assert r.host.boot_status() == (C.NE1_BOOT_STATE_READY, 0), "a lost write has reset it"
        r.queue().copy_works()
        assert asleep() == 3
        state(3)
        r.client.call(DEVICE_RESET)		# powers it up
        assert r.client.reg(C.NE1_REG_ID) == C.NE1_ID_MAGIC and asleep() == 3


def test_window():
    """the window: identity, defaults, errors"""
    with rig(WindowPath) as r:
        path = r.path
        assert path.get("ID") == DEFINES["NPUSIM_WIN_MAGIC"]
        assert path.get("FAULTS") == len(FAULTS)
        path.set("FAULT", FAULTS["fw-slow"])
        assert path.get("ARG0") == 100 and path.get64("COUNT") == 1 and path.get64("KEY") == ANY
        for fault, args, offset in (("irq-lost", {"vector": 4}, 0x40), ("irq-lost", {"on": "mbox"}, 0x34),
                                    ("evt-garbage", {"what": 7}, 0x48), ("irq-lost", {"key": 1}, 0x38),
                                    ("irq-lost", {"probability": 2}, 0x28)):
            try:
                path.arm(fault, **args)
            except Refused as error:
                status = error.args[0]
                assert status == DEFINES["NPUSIM_STATUS_BAD_VALUE"] | offset // 4 << 8, hex(status)
            else:
                raise AssertionError(f"{fault} {args} was accepted")
        path.set("FAULT", len(FAULTS))
        assert path.get("STATUS") == DEFINES["NPUSIM_STATUS_BAD_FAULT"]
        path.set("CMD", 99)
        assert path.get("STATUS") == DEFINES["NPUSIM_STATUS_BAD_CMD"]
        path.arm("irq-storm", vector=1, rate=1)
        path.disarm_all()
        assert path.status("irq-storm")[:2] == (False, False)


def test_no_window():
    """without --debug-window its registers read as zero and ignore writes"""
    with serving() as server, Client(server.path) as client:
        for offset in range(0x8000, 0x9000, 4):
            client.set_reg(offset, 1)
        assert not any(client.reg(offset) for offset in range(0x8000, 0x9000, 64))


def raw(r):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(LIMIT)
    sock.connect(r.control.path)
    return sock


def test_strangers():
    """garbage, lines too long, clients that leave or do not read: others are served on"""
    with rig() as r:
        for text in (b"\n", b"{}\n", b"\xff\xfe\n", b"[1]\n", b"{\"request\":\"list\",\"request\":\"list\"}\n",
                     b"[" * 5000 + b"\n", b"\0\n", b"{\"request\":\"arm\",\"fault\":\"\\u0000\"}\n"):
            with raw(r) as sock:
                sock.sendall(text)
                answer = json.loads(sock.makefile().readline())
                assert answer["ok"] is False, text
        with raw(r) as sock:
            sock.sendall(b"x" * 65536)
            file = sock.makefile()
            assert "too long" in json.loads(file.readline())["error"]["message"]
            assert file.readline() == ""
        with raw(r) as sock:
            sock.sendall(b"{\"request\":")		# and goes
        deaf = raw(r)
        deaf.setblocking(False)
        try:
            while True:
                deaf.send(b"{\"request\":\"list\"}\n" * 50)
        except BlockingIOError:
            pass
        assert r.control.request("status")["ok"]	# within the time that an answer may take
        deaf.close()


def test_many_clients():
    """eight clients at a time, a ninth is told so; places become free"""
    with rig() as r:
        socks = [raw(r) for _ in range(7)]
        for sock in socks:
            sock.sendall(b"{\"request\":\"sleep\",\"ms\":0}\n")
            assert json.loads(sock.makefile().readline())["ok"]
        with raw(r) as sock:
            assert "room" in json.loads(sock.makefile().readline())["error"]["message"]
        for sock in socks:
            sock.close()

        def served():
            with raw(r) as sock:
                sock.sendall(b"{\"request\":\"status\"}\n")
                return json.loads(sock.makefile().readline())["ok"]
        wait_until(served)


def test_script_does_not_block():
    """while a script waits the device and other clients go on, and the process can be ended"""
    with rig() as r:
        sock = raw(r)
        sock.sendall(b"{\"request\":\"sleep\",\"ms\":600000}\n")
        r.boot()
        r.queue().copy_works()
        assert r.control.request("status")["ok"]
    sock.close()


def test_client_program():
    """npusim-ctl: list, arm, status, script and errors by exit status"""
    program = os.path.join(ROOT, "tools", "npusim", "npusim-ctl")
    with rig() as r:
        env = dict(os.environ, NPUSIM_CONTROL=r.control.path)

        def run(*words, text=""):
            done = subprocess.run([program, *words], input=text, env=env, capture_output=True, text=True,
                                  check=False)
            return done.returncode, done.stdout, done.stderr
        status, out, _ = run("list")
        assert status == 0 and all(f"{fault}: " in out for fault in FAULTS)
        assert run("arm", "irq-lost", "vector=0", "after=2")[0] == 0
        assert json.loads(run("status")[1])[0]["fault"] == "irq-lost"
        status, _, err = run("arm", "irq-lost", "vector=7")
        assert status == 1 and json.loads(err)["field"] == "vector"
        assert run("script", "-", text='[{"request": "disarm-all"}, {"request": "info"}]')[0] == 0
        assert run("json", text='{"request": "status"}\n')[0] == 0
        assert run("--socket", "/nowhere", "status")[0] == 2


if __name__ == "__main__":
    tap.main(__name__)
