"""`launch_isolated` starts an isolated child after a probe has proven, once for each level, that the sandbox holds on this machine.

The probe is a child of the same command line that tries what it must not be able to do, and says what it could. It is inert: it
changes nothing where it succeeds. What it has proven holds as long as nothing is replaced that a sandbox is made by.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from gatewright.transport.isolation.cgroups import sweep
from gatewright.transport.isolation.rules import CannotIsolate, Isolation, Level
from gatewright.transport.isolation.sandbox import Sandbox, means, missing, prepare
from gatewright.transport.launch import CannotStart, start

__all__ = ["flaw", "launch_isolated"]

_PROBE_S = 20.0
_PROBE = Path(__file__).with_name("probe.py")
_proven: dict[str, tuple[object, ...]] = {}
"""Level → the means by which it held."""
_TRIALS = 3
"""How often one start tries again because what it is made by was replaced meanwhile."""
_trials: dict[tuple[asyncio.AbstractEventLoop, str, tuple[object, ...]], asyncio.Task[str]] = {}
"""Those that are under way: servers that start at the same time, by the same means, wait for one and the same."""
_swept = False


async def launch_isolated(
    rules: Isolation, command: str, args: Sequence[str], *, env: Mapping[str, str], cwd: str | None
) -> tuple[subprocess.Popen[bytes], Sandbox]:
    """A child with three pipes that is kept to its rules. Raises `CannotStart`."""
    if why := await flaw(rules.level):
        raise CannotIsolate(f"isolation {rules.level!r} cannot be given here: {why}")
    # Control groups are made in a thread: the kernel may take its time for that.
    preparing = asyncio.ensure_future(asyncio.to_thread(prepare, rules, command, args, env, cwd))
    try:
        sandbox = await asyncio.shield(preparing)
    except asyncio.CancelledError:
        preparing.add_done_callback(_discard)
        raise
    return _started(sandbox), sandbox


def _discard(preparing: asyncio.Future[Sandbox]) -> None:
    """Nobody wants it any more."""
    if not preparing.cancelled() and preparing.exception() is None:
        preparing.result().started()
        preparing.result().remove()


async def flaw(level: Level) -> str:
    """Why a level cannot be promised on this machine; empty where it can, which is tried again when its means have changed."""
    global _swept
    if why := missing():
        return why
    if not _swept:
        _swept = True
        sweep()
    # A trial takes a while: what was replaced since it began is not what it has proven, and what a server would be started by.
    for _ in range(_TRIALS):
        by = means()
        if _proven.get(level) == by:
            return ""
        why = await _trial(level, by)
        if why or means() == by:
            return why
    return "what isolates it is being replaced"


async def _trial(level: Level, by: tuple[object, ...]) -> str:
    """What came of a trial by these means, which may have been begun for somebody else."""
    key = asyncio.get_running_loop(), level, by
    if (trial := _trials.get(key)) is None:
        trial = _trials[key] = asyncio.create_task(_tried(level, by))
        trial.add_done_callback(lambda _: _trials.pop(key))
    # Who gives up takes nothing away from the others.
    return await asyncio.shield(trial)


async def _tried(level: Level, by: tuple[object, ...]) -> str:
    why = await asyncio.to_thread(_prove, level)
    # What was missing may be installed by the next time: only a proof is remembered.
    if not why:
        _proven[level] = by
    return why


def _started(sandbox: Sandbox) -> subprocess.Popen[bytes]:
    """To be called by a thread that lives as long as the child is to: it dies with the thread that started it."""
    try:
        return start(sandbox.command, env={}, cwd="/", descriptors=sandbox.descriptors)
    except CannotStart:
        sandbox.remove()
        raise
    finally:
        sandbox.started()


def _prove(level: Level) -> str:
    """What the probe could do that it must not."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as listener:
        rules = Isolation(server="probe", level=level, state=folder)
        canary = Path(folder, "canary")
        canary.write_text("canary")
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        order = {
            "level": level,
            "unseen": [str(canary)],
            "port": listener.getsockname()[1],
            "root": os.geteuid() == 0,
            "variables": ["HOME", "TMPDIR", "USER", "LOGNAME", "PATH", "PWD", "LC_CTYPE"],
        }
        text = _PROBE.read_text(encoding="utf-8")
        args = ["-I", "-S", "-c", text, json.dumps(order)]
        try:
            sandbox = prepare(rules, sys.executable, args, {}, "/")
            process = _started(sandbox)
        except (CannotStart, OSError) as problem:
            return str(problem)
        try:
            said, errors = process.communicate(timeout=_PROBE_S)
        except subprocess.TimeoutExpired:
            return f"a trial server did not end within {_PROBE_S:g} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
            _remove(sandbox)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
    could = said.decode("utf-8", "replace").splitlines()
    if not could or could.pop() != "tried":
        last = errors.decode("utf-8", "replace").strip().splitlines()
        why = last[-1] if last else f"status {process.returncode}"
        return f"a trial server did not start: {why}"
    return f"a trial server could {', '.join(could)}" if could else ""


def _remove(sandbox: Sandbox) -> None:
    for _ in range(100):
        if sandbox.remove():
            return
        time.sleep(0.01)
