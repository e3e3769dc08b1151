"""What an isolated child tries, each inert and bounded: run inside a sandbox by `python -I -S -c TEXT ORDER`; prints name → what came of it.

`held` says that it could not be done; any other word says what was possible.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

HELD = "held"
_CLONE_NEWUSER = 0x10000000
_SIGCHLD = 17
_PTRACE_SEIZE = 0x4206
_TIOCSTI = 0x5412
_CALLS = {
    "x86_64": {"clone": 56, "unshare": 272, "mount": 165, "keyctl": 250, "bpf": 321, "setns": 308},
    "aarch64": {"clone": 220, "unshare": 97, "mount": 40, "keyctl": 219, "bpf": 280, "setns": 268},
}[os.uname().machine]
_EVERYWHERE = {"io_uring_setup": 425, "fsopen": 430, "clone3": 435}
_LIBC = ctypes.CDLL(None, use_errno=True)


def refused(act: Callable[[], object], *codes: int) -> str:
    """Held where the act fails with one of the errors, any where none is named."""
    try:
        found = act()
    except OSError as problem:
        return HELD if not codes or problem.errno in codes else f"failed with {problem}"
    return f"was possible: {found!r}"


def call(name: str, *arguments: Any) -> int:
    number = _EVERYWHERE[name] if name in _EVERYWHERE else _CALLS[name]
    done = _LIBC.syscall(number, *arguments)
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(done)


def unseen(path: str) -> str:
    return refused(Path(path).stat, errno.ENOENT)


def unwritten(folders: list[str]) -> str:
    for folder in folders:
        said = refused(partial(Path(folder, "canary").touch, exist_ok=False))
        if said != HELD:
            return f"{folder} {said}"
    return HELD


def filled(folder: str, most: int) -> str:
    """Write a little more than there may be room for."""
    path, piece, wrote = Path(folder, "filling"), bytes(1 << 18), 0
    try:
        with path.open("wb", buffering=0) as file:
            while wrote <= most:
                wrote += file.write(piece)
    except OSError as problem:
        return HELD if problem.errno in {errno.ENOSPC, errno.EFBIG} else f"failed with {problem}"
    finally:
        path.unlink(missing_ok=True)
    return f"took {wrote} bytes"


def ended(work: Callable[[], None], most_s: float = 20.0) -> str:
    """What became of a process that does something: `exited N` or `signal N`."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except MemoryError:
            os._exit(9)
        finally:
            os._exit(0)
    until = time.monotonic() + most_s
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return f"exited {code}" if code >= 0 else f"signal {-code}"
        time.sleep(0.01)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return "ran on"


def memory(most: int) -> str:
    def grow() -> None:
        held = [bytearray(os.urandom(4096) * 256) for _ in range(0, 2 * most, 1 << 20)]
        held.clear()

    found = ended(grow)
    return HELD if found in {"exited 9", "signal 9"} else found


def processes(most: int) -> str:
    """Never more than twice as many as there may be, each of which sleeps."""
    started: list[int] = []
    said = f"made {2 * most}"
    try:
        for _ in range(2 * most):
            pid = os.fork()
            if pid == 0:
                time.sleep(60)
                os._exit(0)
            started.append(pid)
    except OSError as problem:
        said = HELD if problem.errno == errno.EAGAIN else f"failed with {problem}"
    for pid in started:
        os.kill(pid, 9)
    for pid in started:
        os.waitpid(pid, 0)
    return said


def open_files(most: int) -> str:
    held: list[int] = []
    try:
        while len(held) <= most:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as problem:
        return HELD if problem.errno == errno.EMFILE else f"failed with {problem}"
    finally:
        for one in held:
            os.close(one)
    return f"opened {len(held)}"


def cpu() -> str:
    def spin() -> None:
        while True:
            pass

    found = ended(spin, 60)
    return HELD if found in {"signal 24", "signal 9"} else found


def secrets(word: str) -> str:
    """A word that stands in variables of the gateway, looked for in every environment that can be read."""
    seen = [name for name, value in os.environ.items() if word in name + value]
    for process in Path("/proc").glob("[0-9]*/environ"):
        try:
            text = process.read_bytes()
        except OSError:
            continue
        if word.encode() in text:
            seen.append(str(process))
    return HELD if not seen else f"seen in {seen}"


def connected(family: int, address: Any) -> str:
    with socket.socket(family) as one:
        one.settimeout(2)
        return refused(lambda: one.connect(address))


def descriptors() -> str:
    found = sorted(int(one.name) for one in Path("/proc/self/fd").iterdir())
    return HELD if len(found) == 4 else f"open: {found}"  # three, and the one that lists them


def kept() -> str:
    status = dict(
        line.split(":", 1)
        for line in Path("/proc/self/status").read_text().splitlines()
        if ":" in line
    )
    facts = {one: status[one].strip() for one in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb")}
    if any(int(one, 16) for one in facts.values()):
        return str(facts)
    good = (status["NoNewPrivs"].strip(), status["Seccomp"].strip()) == ("1", "2")
    return HELD if good else "without no_new_privs or a filter"


def tried(order: dict[str, Any]) -> dict[str, str]:
    eperm = errno.EPERM
    found = {
        "canary in the home folder": unseen(order["canary"]),
        "password hashes": unseen("/etc/shadow"),
        "state of the gateway": unseen(order["state_file"]),
        "socket in the state folder": connected(socket.AF_UNIX, order["socket"]),
        "writes outside": unwritten(order["folders"]),
        "kernel settings": refused(lambda: os.open("/proc/sys/kernel/hostname", os.O_WRONLY)),
        "system request key": refused(lambda: os.open("/proc/sysrq-trigger", os.O_WRONLY)),
        "signals to processes outside": refused(lambda: os.kill(order["pid"], 0), errno.ESRCH),
        "variables of the gateway": secrets(order["secret"]),
        "mount": refused(lambda: call("mount", b"none", b"/tmp", b"tmpfs", 0, None), eperm),
        "mount by the newer calls": refused(lambda: call("fsopen", b"tmpfs", 0), eperm),
        "user namespace by unshare": refused(lambda: call("unshare", _CLONE_NEWUSER), eperm),
        "user namespace by clone": refused(
            lambda: call("clone", _CLONE_NEWUSER | _SIGCHLD, 0, 0, 0, 0), eperm
        ),
        "clone with hidden flags": refused(lambda: call("clone3", 0, 0), errno.ENOSYS),
        "another namespace": refused(lambda: call("setns", 0, 0), eperm),
        "trace of the reaper": refused(lambda: trace(1)),
        "io_uring": refused(lambda: call("io_uring_setup", 1, None), eperm),
        "keys of the kernel": refused(lambda: call("keyctl", 0, -3, 0), eperm),
        "bpf": refused(lambda: call("bpf", 0, None, 0), eperm),
        "packets": refused(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)),
        "virtual machine sockets": refused(lambda: socket.socket(40, socket.SOCK_STREAM)),
        "audit by netlink": refused(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)),
        "input of a terminal": refused(lambda: fcntl.ioctl(0, _TIOCSTI, b"x"), eperm),
        "device files": refused(lambda: os.mknod("/tmp/device", 0o20600, os.makedev(1, 1))),
        "another root": refused(lambda: os.chroot("/tmp"), eperm),
        "the user root": refused(lambda: os.setuid(0)) if os.getuid() else HELD,
        "privileges": kept(),
        "descriptors": descriptors(),
        "core files": HELD if resource.getrlimit(resource.RLIMIT_CORE) == (0, 0) else "written",
        "size of /tmp": filled("/tmp", order["tmp_bytes"]),
        "size of /dev/shm": filled("/dev/shm", order["tmp_bytes"]),
        "open files": open_files(order["open_files"]),
        "number of processes": processes(order["processes"]) if order["counted"] else HELD,
        "processor time": cpu(),
        "memory": memory(order["memory_bytes"]),
    }
    if not order["network"]:
        found |= {
            "connection to this machine": connected(socket.AF_INET, ("127.0.0.1", order["port"])),
            "abstract socket": connected(socket.AF_UNIX, f"\0{order['abstract']}"),
            "interfaces": interfaces(),
        }
    return found


def interfaces() -> str:
    names = [
        line.split(":")[0].strip()
        for line in Path("/proc/net/dev").read_text().splitlines()
        if ":" in line
    ]
    return HELD if names == ["lo"] else f"sees {names}"


def trace(pid: int) -> int:
    done = _LIBC.ptrace(_PTRACE_SEIZE, pid, None, None)
    if done < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    return int(done)


if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    sys.stdout.write(json.dumps(tried(json.loads(sys.argv[1]))) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
