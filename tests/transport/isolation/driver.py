"""Program that isolates a child as the user it is told to be, and prints what the child found and what was left of it, as JSON.

`python -m tests.transport.isolation.driver ORDER`. Started by root it becomes an ordinary user once all is imported, so that an
interpreter that is for root alone will do.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gatewright.transport.isolation.cgroups import _parents
from gatewright.transport.isolation.rules import Isolation
from gatewright.transport.isolation.start import flaw
from gatewright.transport.process import spawn
from tests.transport.collecting import Collector

SECRET = "canary-7f3a-of-the-gateway"
INSIDE = Path(__file__).with_name("inside.py").read_text(encoding="utf-8")
_ORDINARY = 54321
_MIB = 1 << 20
_ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"


def reachable_python() -> str:
    """An interpreter that everybody may run."""
    for one in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        with contextlib.suppress(OSError):
            real = Path(one).resolve(strict=True)
            if all(above.stat().st_mode & 0o001 for above in (real, *real.parents)):
                return one
    raise SystemExit("an ordinary user needs a Python of its own here: apt-get install python3")


def become_ordinary(folder: Path) -> None:
    asyncio.run(asyncio.to_thread(int))  # what it imports is for root alone as well
    os.chown(folder, _ORDINARY, _ORDINARY)
    os.setgroups([])
    os.setresgid(_ORDINARY, _ORDINARY, _ORDINARY)
    os.setresuid(_ORDINARY, _ORDINARY, _ORDINARY)


def traces() -> dict[str, Any]:
    """What a sandbox could leave behind. Processes are told by who started them."""
    groups = [
        str(one)
        for parent in {*_parents().values()}
        for one in parent.glob(f"gatewright-{os.getpid()}.*")
    ]
    mine = [pid.name for pid in Path("/proc").glob("[0-9]*") if _is_mine(pid)]
    mounts = Path("/proc/self/mountinfo").read_text().count("\n")
    return {
        "groups": groups,
        "processes": mine,
        "mounts": mounts,
        "descriptors": len([*Path("/proc/self/fd").iterdir()]),
    }


def _is_mine(process: Path) -> bool:
    try:
        text = (process / "cmdline").read_bytes()
    except OSError:
        return False
    return f"gatewright-{os.getpid()}".encode() in text


async def probed(order: dict[str, Any], home: Path) -> dict[str, Any]:
    state = home / "state"
    state.mkdir()
    (state / "gateway.json").write_text(SECRET)
    (home / "canary").write_text(SECRET)
    os.environ |= {"GATEWRIGHT_CANARY": SECRET, "HOME": str(home)}
    python = reachable_python()
    with (
        socket.socket() as port,
        socket.socket(socket.AF_UNIX) as local,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        port.bind(("127.0.0.1", 0))
        local.bind(str(state / "socket"))
        abstract.bind(f"\0gatewright-{os.getpid()}")
        for one in (port, local, abstract):
            one.listen()
        rules = Isolation(
            server="probed",
            level=order["level"],
            state=str(state),
            hidden=(str(state),),
            network=order["level"] == "confined",
            memory_bytes=96 * _MIB,
            tmp_bytes=4 * _MIB,
            processes=24,
            open_files=64,
            cpu_s=2,
        )
        inner = {
            "canary": str(home / "canary"),
            "state_file": str(state / "gateway.json"),
            "socket": str(state / "socket"),
            "folders": [
                "/",
                "/usr",
                "/usr/bin",
                "/etc",
                "/dev",
                "/var",
                "/proc",
                "/home",
                str(home),
                "/sys",
            ],
            "pid": os.getpid(),
            "secret": SECRET,
            "port": port.getsockname()[1],
            "abstract": f"gatewright-{os.getpid()}",
            "tmp_bytes": rules.tmp_bytes,
            "open_files": rules.open_files,
            "processes": rules.processes,
            "memory_bytes": rules.memory_bytes,
            "network": rules.network,
            # Without a control group nothing counts the processes of root.
            "counted": os.geteuid() != 0 or "pids" in _parents(),
        }
        before = traces()
        collector = Collector()
        child = await spawn(
            python,
            ["-I", "-S", "-c", INSIDE, json.dumps(inner)],
            receiver=collector,
            stderr=collector.line,
            isolation=rules,
        )
        try:
            async with asyncio.timeout(90):
                (said,) = await collector.count(1)
        except TimeoutError:
            said = json.dumps({"the probes": f"did not end: {collector.lines}"}).encode()
        await child.stop(2)
        await asyncio.sleep(0.01)  # transports close their descriptors at the end of a turn
        after = traces()
    return {"found": json.loads(said), "before": before, "after": after, "stderr": collector.lines}


async def cycled(order: dict[str, Any], home: Path) -> dict[str, Any]:
    """Start a child, hear one answer of it and stop it, again and again: what is left, and how long each answer took (ms);
    beside it the same child without isolation."""
    rules = Isolation(server="cycled", level=order["level"], state=str(home / "state"))
    (home / "state").mkdir()
    took: dict[bool, list[float]] = {True: [], False: []}
    before: dict[str, Any] = {}
    for number in range(
        2 * order["cycles"] + 2
    ):  # the first two are not counted: they make what all share
        isolated = number % 2 == 0  # by turns, so that a busy moment of the machine is shared
        collector, began = Collector(), time.perf_counter()
        child = await spawn(
            reachable_python(),
            ["-I", "-S", "-c", _ECHO],
            receiver=collector,
            stderr=collector.line,
            isolation=rules if isolated else None,
        )
        child.send(b"{}")
        async with asyncio.timeout(60):
            await collector.count(1)
        took[isolated].append((time.perf_counter() - began) * 1e3)
        await child.stop(5)
        await asyncio.sleep(0.01)
        before = before or traces()
    return {
        "before": before,
        "after": traces(),
        "took_ms": took[True][1:],
        "plain_ms": took[False][1:],
    }


def main() -> None:
    order = json.loads(sys.argv[1])
    folder = Path(tempfile.mkdtemp(prefix="gatewright-home-", dir="/var/tmp"))
    if order["user"] == "ordinary" and os.geteuid() == 0:
        become_ordinary(folder)
    sys.executable = reachable_python()
    try:
        why = asyncio.run(flaw(order["level"]))
        if why:
            sys.stdout.write(json.dumps({"flaw": why}))
            return
        work = cycled if "cycles" in order else probed
        sys.stdout.write(json.dumps(asyncio.run(work(order, folder))))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
