# SPDX-License-Identifier: MIT
"""One run of a guest, from the sockets to the verdict."""

import contextlib
import fcntl
import glob
import os
import re
import selectors
import shlex
import shutil
import signal
import socket
import sys
import tempfile
import time

from . import accel, children, initrd, kernels, models, paths, qemu, splat, terminal

EXIT_SPLAT, EXIT_DIED, EXIT_BENCH, EXIT_TIMEOUT = 121, 122, 123, 124

RUNDIR = "/tmp/npuedge-vm-"
DEFAULT_SECONDS = 600
MODEL_START_SECONDS = 20
MODEL_STOP_SECONDS = 10


class Verdict(Exception):
    """The run ends with this status; the message tells why."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class BootSplat(Exception):
    """The kernel was not well before it came to the command: no fault of what is run."""


class Control:
    """What the guest's agent says on its control port."""

    def __init__(self):
        self.data = b""
        self.ready_at = None  # guest clock, seconds
        self.status = None
        self.dmesg = None

    def feed(self, data):
        self.data += data
        while self.dmesg is None:
            line, newline, rest = self.data.partition(b"\n")
            if not newline:
                return
            word, _, value = line.decode(errors="replace").partition(" ")
            if word == "dmesg":
                if len(rest) < int(value):
                    return
                self.dmesg = rest[: int(value)].decode(errors="replace")
                return
            if word == "ready":
                self.ready_at = float(value)
            elif word == "exit":
                self.status = int(value)
            self.data = rest


def sweep_old_rundirs():
    """Remove what runs left that were killed: nobody holds their lock any more."""
    for lock in glob.glob(f"{RUNDIR}*/lock"):
        try:
            with open(lock, "w", encoding="ascii") as f:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(os.path.dirname(lock), ignore_errors=True)
        except OSError:
            continue  # in use, or somebody else's


@contextlib.contextmanager
def rundir():
    sweep_old_rundirs()
    path = tempfile.mkdtemp(prefix=RUNDIR)
    with open(f"{path}/lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


class Guest:
    def __init__(self, args, tmp, may_boot_again):
        self.args = args
        self.may_boot_again = may_boot_again
        self.tmp = tmp
        self.log_path = args.log or f"{tmp}/log"
        self.log = open(self.log_path, "wb", buffering=0)
        self.kernel = kernels.find(args.arch, args.kernel)
        self.disk = models.image()
        self.control = Control()
        self.npusims = []
        self.qemu = None
        self.sockets = {}
        self.started = time.monotonic()
        self.limit = args.timeout or DEFAULT_SECONDS * self.kernel.slowness
        self.deadline = self.started + self.limit

    def say(self, text):
        if self.args.verbose:
            print(f"vm: {time.monotonic() - self.started:6.2f} s: {text}", file=sys.stderr)

    # -- what the guest is given ----------------------------------------------------------

    def mounts(self):
        """(tag, mount options in the guest, directory, writable)"""
        share = self.args.share or f"{self.tmp}/share"
        os.makedirs(share, exist_ok=True)
        yield "src", "ro,cache=mmap", paths.CHECKOUT, paths.CHECKOUT, False
        yield "out", "rw,cache=none", os.path.abspath(share), "/mnt/out", True
        if models.directory().is_dir():
            yield "models", "ro,cache=loose", models.directory(), models.directory(), False

    def command_script(self):
        cwd = os.getcwd()
        env = dict(item.split("=", 1) for item in self.args.env)
        env["NPUEDGE_CACHE"] = str(paths.cache_dir())
        env.setdefault("NPU_SLOWNESS", str(self.kernel.slowness))
        lines = [f"export {k}={shlex.quote(v)}" for k, v in env.items()]
        lines.append(f"cd {shlex.quote(cwd)} 2>/dev/null || cd {shlex.quote(str(paths.CHECKOUT))}")
        if self.args.shell:
            lines += terminal.settings()
            lines.append("exec /run/npuvm/busybox cttyhack bash -i")
        else:
            lines.append("exec " + shlex.join(self.args.command))
        return "\n".join(lines) + "\n"

    def make_initrd(self):
        files = {
            "mounts": "".join(
                f"{tag} {opts} {where}\n" for tag, opts, _, where, _ in self.mounts()
            ),
            "command": self.command_script(),
        }
        if self.disk:
            files["disk"] = f"{models.directory()}\n"
        if self.args.shell:
            files["shell"] = ""
        path = f"{self.tmp}/initrd"
        initrd.for_run(self.kernel, files, path)
        return path

    def append(self, how):
        args = qemu.append(self.kernel.arch, how) + [
            "loglevel=5",
            "panic=-1",
            "printk.devkmsg=on",
            "log_buf_len=4M",
        ]
        if self.args.iommu:
            args += ["intel_iommu=on", "iommu=nopt"]
        return " ".join(args + list(self.kernel.append) + self.args.append)

    def qemu_argv(self):
        a = self.args
        how = accel.choose(self.kernel, self.say) if not a.icount else "tcg"
        self.say(f"{self.kernel.release} ({self.kernel.arch}), {how}, {a.smp} CPUs, {a.mem}")
        argv = qemu.machine(a.arch, how, a.mem, a.smp, a.icount, a.iommu)
        argv += qemu.boot(self.kernel, self.make_initrd(), self.append(how), self.log_path)
        argv += qemu.ports(self.tmp, a.shell)
        argv += qemu.share("root", paths.tree_dir(a.arch))
        for tag, _, path, _, writable in self.mounts():
            argv += qemu.share(tag, path, writable)
        argv += qemu.disk(self.disk) if self.disk else []
        if a.qmp:
            argv += ["-qmp", f"unix:{a.qmp},server=on,wait=off"]
        argv += a.qemu_arg
        for i, sock in enumerate(self.npu_sockets()):
            argv += qemu.npu(i, sock)
        return argv

    # -- starting ------------------------------------------------------------------------

    def npu_sockets(self):
        return self.args.npu + [f"{self.tmp}/npusim{i}" for i in range(len(self.args.npusim))]

    def start_models(self):
        for i, command in enumerate(self.args.npusim):
            sock = f"{self.tmp}/npusim{i}"
            control = ["--control", self.args.control] if self.args.control and i == 0 else []
            proc = children.start(shlex.split(command) + control + ["--socket", sock], self.log)
            self.npusims.append(proc)
            for path in [sock] + control[1:]:
                children.wait_listening(proc, path, MODEL_START_SECONDS)
        for sock in self.args.npu:
            if not children.listening(sock):
                raise paths.BenchError(f"nobody listens on {sock}")

    def listen(self):
        for name in ("out", "ctl") + (("tty",) if self.args.shell else ()):
            s = socket.socket(socket.AF_UNIX)
            s.bind(f"{self.tmp}/{name}")
            s.listen(1)
            self.sockets[name] = s

    def accept(self):
        """QEMU connects to all of them before it runs the guest."""
        for name, s in self.sockets.items():
            s.settimeout(0.2)
            while True:
                try:
                    self.sockets[name] = s.accept()[0]
                    break
                except socket.timeout:
                    self.check_alive()
            s.close()
            self.sockets[name].setblocking(False)

    # -- running -------------------------------------------------------------------------

    def check_alive(self):
        if time.monotonic() > self.deadline:
            raise Verdict(EXIT_TIMEOUT, f"time limit of {self.limit:g} s reached")
        if self.qemu.poll() is not None and self.control.dmesg is None:
            raise Verdict(
                EXIT_DIED,
                "the guest stopped before the command ended "
                f"(QEMU exit status {self.qemu.returncode})",
            )

    def on_output(self, data):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def on_control(self, data):
        fresh = self.control.ready_at is None
        self.control.feed(data)
        if fresh and self.control.ready_at is not None:
            if self.may_boot_again:
                self.look_at_boot()
            self.say(f"command starts (guest clock {self.control.ready_at:.2f} s)")

    def look_at_boot(self):
        bad = splat.find(self.console(), splat.allowed_patterns(self.args.allow))
        if bad:
            raise BootSplat(bad[0])

    def pump(self):
        """Pass data on until the guest has told everything."""
        with selectors.DefaultSelector() as sel, terminal.raw(self.args.shell):
            sel.register(self.sockets["out"], selectors.EVENT_READ, self.on_output)
            sel.register(self.sockets["ctl"], selectors.EVENT_READ, self.on_control)
            if self.args.shell:
                tty = self.sockets["tty"]
                sel.register(tty, selectors.EVENT_READ, self.on_output)
                sel.register(0, selectors.EVENT_READ, tty.sendall)
            while self.control.dmesg is None:
                for key, _ in sel.select(0.2):
                    data = os.read(key.fd, 65536)
                    if data:
                        key.data(data)
                    else:
                        sel.unregister(key.fileobj)
                self.check_alive()
            self.drain()

    def drain(self):
        """The output port is empty before the guest reports the status; not so our socket."""
        with contextlib.suppress(BlockingIOError):
            while data := self.sockets["out"].recv(65536):
                self.on_output(data)

    def run(self):
        self.start_models()
        self.listen()
        argv = self.qemu_argv()
        self.qemu = children.start(argv, self.log)
        self.accept()
        self.pump()
        self.say(f"command ended with status {self.control.status}")

    # -- ending --------------------------------------------------------------------------

    def stop(self):
        if self.qemu:
            children.stop(self.qemu, 5)
        for proc in self.npusims:
            children.stop(proc, MODEL_STOP_SECONDS)

    def console(self):
        self.log.flush()
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def judge(self):
        """The kernel log first: a splat spoils a run whatever the command says."""
        text = self.control.dmesg
        if text is None:
            text = self.console()
        else:
            self.log.write(b"---- kernel log ----\n" + text.encode())
        bad = splat.find(text, splat.allowed_patterns(self.args.allow))
        if bad:
            print(splat.excerpt(text, bad), file=sys.stderr)
            raise Verdict(
                EXIT_SPLAT,
                f"{len(bad)} splat lines in the kernel log; the command's "
                f"status was {self.control.status}; first: {bad[0]}",
            )

    def judge_models(self):
        for proc in self.npusims:
            if proc.returncode not in (0, -signal.SIGTERM):
                raise Verdict(
                    EXIT_BENCH,
                    f"device model {shlex.join(proc.args[:-2])} ended with "
                    f"status {proc.returncode}",
                )

    def keep_log(self):
        """A log that nobody asked for is kept only when something went wrong."""
        if self.args.log:
            return self.args.log
        fd, path = tempfile.mkstemp(prefix="npuedge-log-", suffix=".txt")
        os.close(fd)
        shutil.copyfile(self.log_path, path)
        return path

    def log_tail(self, lines=15):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", f.read())
        return "\n".join(text.splitlines()[-lines:])


def finish(guest, verdict):
    if verdict is None:
        return guest.control.status
    if verdict.status != EXIT_SPLAT:
        print(guest.log_tail(), file=sys.stderr)
    print(f"vm: {verdict} (log: {guest.keep_log()})", file=sys.stderr)
    return verdict.status


def run(args):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(128 + signal.SIGHUP))
    status = run_once(args, may_boot_again=True)
    return run_once(args, may_boot_again=False) if status is None else status


def run_once(args, may_boot_again):
    """The exit status; None: the guest is to be started again."""
    with rundir() as tmp:
        guest = Guest(args, tmp, may_boot_again)
        verdict = None
        try:
            guest.run()
        except BootSplat as splat_line:
            print(f"vm: started again, as the kernel had a splat in its boot: {splat_line}", file=sys.stderr)
            return None
        except Verdict as v:
            verdict = v
        except paths.BenchError as err:
            verdict = Verdict(EXIT_BENCH, str(err))
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        finally:
            guest.stop()
        try:
            guest.judge()
            if verdict is None:
                guest.judge_models()
        except Verdict as v:
            verdict = v
        return finish(guest, verdict)
