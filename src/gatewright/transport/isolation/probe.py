"""Script run inside a sandbox: tries what an isolated child must not be able to do, and prints what it could, a line each.

`python -I -S -c TEXT ORDER`. It stands alone: in the sandbox there is no package of ours. It changes nothing where it succeeds.
The last line is `tried`.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

__all__ = ["could"]

_CLONE_NEWUSER = 0x10000000
_FOLDERS = ("/", "/usr", "/etc", "/dev", "/var", "/proc")
_FILES = ("/proc/sys/kernel/hostname", "/proc/sysrq-trigger")
_FIRST_USER = 1_900_000_000
_FEW = 100
"""The number of a process that is among the first of its namespace is below this."""


def could(order: dict[str, Any]) -> Iterator[str]:
    """What must not be possible and is, in a few words each."""
    yield from (f"see {path}" for path in order["unseen"] if os.path.lexists(path))
    yield from _written()
    yield from _privileges()
    if os.getpid() >= _FEW:
        yield "see processes outside"
    if order["level"] == "strict":
        yield from _strict(order)


def _written() -> Iterator[str]:
    for folder in _FOLDERS:
        new = Path(folder, "canary")
        if _can(partial(new.touch, exist_ok=False)):
            new.unlink()
            yield f"write to {folder}"
    for path in _FILES:
        if _can(partial(_open, path)):
            yield f"open {path} for writing"


def _privileges() -> Iterator[str]:
    status = _status()
    if (status.get("NoNewPrivs"), status.get("Seccomp")) != ("1", "2"):
        yield "make every system call"
    if any(int(status.get(name, "1"), 16) for name in ("CapEff", "CapPrm", "CapBnd")):
        yield "have capabilities"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER) == 0:
        yield "make a user namespace"
    if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0:
        yield "mount a file system"


def _strict(order: dict[str, Any]) -> Iterator[str]:
    if _can(lambda: socket.create_connection(("127.0.0.1", order["port"]), 1).close()):
        yield "connect to this machine"
    if not set(os.environ) <= set(order["variables"]):
        yield "see variables that it was not given"
    if order["root"] and os.getuid() < _FIRST_USER:
        yield "run as the user of the gateway"


def _can(act: Callable[[], object]) -> bool:
    try:
        act()
    except OSError:
        return False
    return True


def _open(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY))


def _status() -> dict[str, str]:
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


if __name__ == "__main__":
    sys.stdout.write("\n".join([*could(json.loads(sys.argv[1])), "tried"]))
