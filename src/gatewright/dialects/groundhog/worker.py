"""Subprocess that runs one shipped tool: limits its own resources, enters namespaces, runs the tool, prints the result as JSON.

Started as `python -I -m gatewright.dialects.groundhog.worker`. It reads one JSON object on standard input (`tool`, `level`, `roots`, `arguments`, `memory`, `cpu_s`), confines
itself, runs the tool, and writes one JSON object: `result`, `not_allowed`, `unlistable`, `no_isolation` or
`no_memory`, and `memory`, the bytes that it took at most.

`process` is a process with limits. `container` is namespaces (user, mount, network, IPC, host name) with a file
system in which there is nothing but the roots, read-only: what is outside cannot be named any more; no privileges, and the
filter of system calls that isolated servers have. It is done with
the system calls themselves (unshare(2), mount(2), pivot_root(2)), because not every machine has a program for it, and
it is proven before it is promised: `probe` reports what can still be seen.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from gatewright.dialects.groundhog.directory import NotAllowed, Unlistable, list_directory
from gatewright.transport.isolation.seccomp import seccomp_filter

__all__ = ["NoIsolation", "isolate", "main", "run"]

_NEW_NS, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_NET = (
    0x20000,
    0x4000000,
    0x8000000,
    0x10000000,
    0x40000000,
)
_READ_ONLY, _NO_SUID, _NO_DEV, _NO_EXEC, _REMOUNT, _BIND, _REC, _PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    16384,
    1 << 18,
)
_DETACH = 2
_UNKNOWN = 1
"""No flag of unshare(2), which fails with EINVAL."""
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAP_VERSION = 0x20080522
_NO_NEW_PRIVILEGES = 38
_SECCOMP, _MODE_FILTER, _INSTRUCTION = 22, 2, 8
_NEW_ROOT = "/tmp"  # noqa: S108 - a mount point that every machine has; what is there is hidden, not used


class _Filter(ctypes.Structure):
    """`struct sock_fprog` of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("program", ctypes.c_void_p))


class NoIsolation(Exception):  # noqa: N818 - what is missing
    """This machine does not let us make a container."""


def main() -> int:
    """Serve one order."""
    with _status() as status:  # open now: in a container there is no /proc
        order = json.loads(sys.stdin.buffer.read())
        try:
            said = run(order)
        except MemoryError:
            said = {"no_memory": True}
        took = _took(status)
    sys.stdout.buffer.write(json.dumps({**said, "memory": took}).encode("ascii"))
    sys.stdout.buffer.flush()
    return 0


def _status() -> BinaryIO:
    path = "/proc/self/status" if sys.platform == "linux" else os.devnull
    return Path(path).open("rb", buffering=0)


def _took(status: BinaryIO) -> int:
    """The bytes that this process had at most. Not `ru_maxrss` on Linux: that remembers who started it."""
    for line in status.read().splitlines():
        if line.startswith(b"VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run(order: Mapping[str, Any]) -> dict[str, Any]:
    """Confine this process and run the tool. Raises `MemoryError`."""
    roots: list[str] = order["roots"]
    _limit(order)
    if order["level"] == "container":
        try:
            isolate(roots)
        except (NoIsolation, OSError) as problem:
            return {"no_isolation": str(problem)}
    if order["tool"] == "probe":
        return {"result": _probe(order["arguments"])}
    try:
        return {"result": list_directory(order["arguments"], roots)}
    except NotAllowed:
        return {"not_allowed": True}
    except Unlistable as problem:
        return {"unlistable": str(problem)}


def _limit(order: Mapping[str, Any]) -> None:
    memory, seconds = order.get("memory"), order.get("cpu_s")
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    if seconds is not None:
        most = max(1, int(seconds) + 1)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _probe(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Which of these paths are there, after taking so many bytes."""
    ballast = bytearray(int(arguments.get("bytes", 0)))
    seen = [path for path in arguments.get("paths", ()) if os.path.lexists(path)]
    return {"seen": seen, "bytes": len(ballast), "filtered": _is_filtered()}


def _is_filtered() -> bool:
    """Whether a namespace can no more be made, by a call that would make none."""
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.unshare(_NEW_UTS | _UNKNOWN) != 0 and ctypes.get_errno() == errno.EPERM


def isolate(roots: Sequence[str]) -> None:
    """Leave everything but these folders behind, for good. Raises `NoIsolation` or `OSError`."""
    machine = os.uname().machine
    if sys.platform != "linux" or machine not in _PIVOT_ROOT:
        raise NoIsolation(f"there are no namespaces on {sys.platform} {machine}")
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    _check(libc.unshare(_NEW_USER | _NEW_NS | _NEW_NET | _NEW_IPC | _NEW_UTS), "unshare")
    # Without this an unprivileged process may not write gid_map (user_namespaces(7)).
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    # Mounts are shared on most machines: what is mounted from here on would be seen outside as well.
    _mount(libc, "none", "/", None, _REC | _PRIVATE)
    held = [os.open(root, os.O_PATH | os.O_DIRECTORY) for root in roots]  # before they are hidden
    _mount(libc, "tmpfs", _NEW_ROOT, "tmpfs", _NO_SUID | _NO_DEV | _NO_EXEC)
    for root, descriptor in zip(roots, held, strict=True):
        _show(libc, f"/proc/self/fd/{descriptor}", _NEW_ROOT + root)
        os.close(descriptor)
    old = f"{_NEW_ROOT}/.left"
    Path(old).mkdir()
    _check(libc.syscall(_PIVOT_ROOT[machine], _NEW_ROOT.encode(), old.encode()), "pivot_root")
    os.chdir("/")
    _check(libc.umount2(b"/.left", _DETACH), "umount2")
    Path("/.left").rmdir()
    _renounce(libc, machine)


def _show(libc: ctypes.CDLL, source: str, target: str) -> None:
    """Bind a folder, read-only."""
    Path(target).mkdir(parents=True, exist_ok=True)
    _mount(libc, source, target, None, _BIND | _REC)
    # The first mount(2) of a bind ignores these flags.
    flags = _BIND | _REMOUNT | _READ_ONLY | _NO_SUID | _NO_DEV | _NO_EXEC
    _mount(libc, "none", target, None, flags)


def _mount(libc: ctypes.CDLL, source: str, target: str, kind: str | None, flags: int) -> None:
    named = None if kind is None else kind.encode()
    done = libc.mount(os.fsencode(source), os.fsencode(target), named, ctypes.c_ulong(flags), None)
    _check(done, f"mount {target}")


def _renounce(libc: ctypes.CDLL, machine: str) -> None:
    """Give up every capability, and the way to get one."""
    _check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    # Version 3: two times three sets of 32 bits (effective, permitted, inheritable), none of them set (capset(2)).
    header = struct.pack("Ii", _CAP_VERSION, 0)
    _check(libc.syscall(_CAPSET[machine], header, bytes(24)), "capset")
    # The filter of isolated servers: what is left of the kernel's interface is what a tool needs.
    program = seccomp_filter(machine, routes=False)
    held = ctypes.create_string_buffer(program, len(program))
    filter_ = _Filter(len(program) // _INSTRUCTION, ctypes.addressof(held))
    _check(libc.prctl(_SECCOMP, _MODE_FILTER, ctypes.byref(filter_), 0, 0), "seccomp")


def _check(done: int, what: str) -> None:
    if done != 0:
        code = ctypes.get_errno()
        raise NoIsolation(f"{what}: {os.strerror(code).lower()}")


if __name__ == "__main__":
    sys.exit(main())
