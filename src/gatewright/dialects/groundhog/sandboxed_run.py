"""Runs a shipped tool in a sandboxed subprocess with time and memory limits, a few at once; finds which isolation levels work here.

One process a call: it is made for this call's limits, ends with it, and leaves nothing behind. Its time is
kept from outside and its memory by the operating system (`dialects/groundhog/worker.py`). Which levels of
isolation this machine really gives is found out once, by a process that tries to see what it must not;
a level that did not prove itself is never promised.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath
from typing import Any, Literal

import msgspec

from gatewright.call import Who
from gatewright.transport.launch import child_environment

__all__ = [
    "LEVELS",
    "PROCESSES",
    "WAITING",
    "WAITING_EACH",
    "Crowded",
    "Isolation",
    "Level",
    "Places",
    "Ran",
    "run_confined",
]

Level = Literal["none", "process", "container", "vm"]
LEVELS: tuple[Level, ...] = ("none", "process", "container", "vm")
"""Least first."""

PROCESSES, WAITING, WAITING_EACH = 4, 256, 64
"""So many processes at once, so many calls that wait for one, and of one caller. Each process is an interpreter and three
descriptors, of which the gateway has so many for everybody."""

_WAIT_S = 30.0
"""A call may have no time limit of its own, and neither may those that it waits for."""
_PROBE_S = 30.0
_AGAIN_S = 5.0
"""How long a level that could not be tried is not tried again."""
_OUTSIDE = ("/etc", "/proc", "/usr", "/home", "/root", "/var", "/bin", "/proc/self", sys.executable)
_LOOKS = ThreadPoolExecutor(1, thread_name_prefix="isolation")
"""A mount that does not answer keeps a thread for as long as it likes: this one, and none that others wait for."""
_COMMAND = (sys.executable, "-I", "-m", "gatewright.dialects.groundhog.worker")


class Crowded(Exception):  # noqa: N818 - what happens, not what is wrong
    """Too many wait for a process already, or this one has waited too long."""


class Places:
    """Those that may run at once. Who waits is served in the order of coming."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(PROCESSES)
        self._waiting: Counter[Who] = Counter()

    @contextlib.asynccontextmanager
    async def place(self, who: Who) -> AsyncIterator[None]:
        """Hold one. Raises `Crowded`."""
        if self._free.locked():
            waiting = self._waiting
            if waiting.total() >= WAITING or waiting[who] >= WAITING_EACH:
                raise Crowded
        self._waiting[who] += 1
        try:
            async with asyncio.timeout(_WAIT_S):
                await self._free.acquire()
        except TimeoutError as late:
            raise Crowded from late
        finally:
            self._waiting[who] -= 1
            if not self._waiting[who]:
                del self._waiting[who]
        try:
            yield
        finally:
            self._free.release()


class Ran(msgspec.Struct, frozen=True):
    """What a process said: the members of `said` are the worker's. `memory` is bytes at most, 0 where it
    did not live to say."""

    said: Mapping[str, Any]
    memory: int = 0


async def run_confined(
    tool: str,
    arguments: Mapping[str, Any],
    roots: Sequence[str],
    *,
    level: Level,
    seconds: float | None,
    memory: int | None,
) -> Ran:
    """Run a shipped tool once. Raises `TimeoutError` after so many seconds; then its process is gone."""
    order = {
        "tool": tool,
        "level": level,
        "roots": list(roots),
        "arguments": arguments,
        "memory": memory,
        "cpu_s": seconds,
    }
    process = await asyncio.create_subprocess_exec(
        *_COMMAND,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=child_environment({}),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            text, _ = await process.communicate(msgspec.json.encode(order))
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    # RLIMIT_CPU of `worker`, reached before the time on the clock.
    if process.returncode == -signal.SIGXCPU:
        raise TimeoutError
    return _read(text, memory)


def _read(text: bytes, memory: int | None) -> Ran:
    try:
        said = json.loads(text)
    except ValueError:
        # It ended before it could speak. With a limit on its memory that is what ended it.
        return Ran({"no_memory": True} if memory is not None else {"broken": True})
    return Ran(said, int(said.pop("memory", 0)))


class Isolation:
    """What this machine can do, found out when it is first asked."""

    def __init__(
        self, run: Any = run_confined, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._run = run
        self._clock = clock
        self._flaws: dict[str, str] = {"none": ""}
        self._passing: dict[str, tuple[float, str]] = {}
        """Why a level could not be tried, and until when that is said without another trial."""
        self._trials: dict[str, asyncio.Task[str]] = {}
        """Those that are under way: whoever asks meanwhile waits for the same."""

    async def flaw(self, level: Level, roots: Sequence[str] = ()) -> str:
        """Why this level cannot be promised here; nothing where it can."""
        if level == "vm":
            return "virtual machines are not made here; run the tool's server in one"
        if level in self._flaws:
            return self._flaws[level]
        until, why = self._passing.get(level, (0.0, ""))
        if why and self._clock() < until:
            return why
        if (trial := self._trials.get(level)) is None:
            trial = self._trials[level] = asyncio.create_task(self._tried(level, roots))
            trial.add_done_callback(lambda _: self._trials.pop(level))
        # Who gives up takes nothing away from the others.
        return await asyncio.shield(trial)

    async def _tried(self, level: Level, roots: Sequence[str]) -> str:
        try:
            found = self._flaws[level] = await self._prove(level, roots)
        except (OSError, TimeoutError) as problem:
            # It passes: not kept for long, or a busy minute would take the level away until the next start.
            found = f"it cannot be tried now: {str(problem) or 'it took too long'}"
            self._passing[level] = self._clock() + _AGAIN_S, found
        return found

    async def _prove(self, level: Level, roots: Sequence[str]) -> str:
        """Why not, as it was seen. Raises `OSError` or `TimeoutError` where nothing could be."""
        async with asyncio.timeout(_PROBE_S):
            loop = asyncio.get_running_loop()
            paths = await loop.run_in_executor(_LOOKS, _outside, tuple(roots))
        if level == "container" and not paths:
            return "nothing is outside of the directories that may be listed"
        given = {"paths": paths}
        ran = await self._run("probe", given, roots, level=level, seconds=_PROBE_S, memory=None)
        if "broken" in ran.said:
            raise ChildProcessError("it broke")
        result = ran.said.get("result")
        if not isinstance(result, dict):
            return f"this machine refuses it: {ran.said.get('no_isolation', 'it broke')}"
        if level == "container" and result["seen"]:
            return f"it does not isolate: {', '.join(result['seen'])} can be seen from inside"
        if level == "container" and not result.get("filtered"):
            return "it does not isolate: system calls are not filtered"
        return ""


def _outside(roots: Sequence[str]) -> list[str]:
    """What must not be seen from a container with these roots. The folders above a root are there as well, empty but for
    the way to it: so what is asked for is beside the way."""
    shown = {os.path.normpath(root) for root in roots}
    # Of the path as it was written: `worker` makes the folders that are before a ".." too.
    above = {os.path.normpath(one) for root in roots for one in PurePosixPath(root).parents}
    beside = [_beside(folder, shown | above) for folder in sorted(above - {"/"})]
    asked = dict.fromkeys([*_OUTSIDE, *filter(None, beside)])
    return [one for one in asked if one not in above and not _is_in(one, shown)]


def _is_in(path: str, roots: set[str]) -> bool:
    return path in roots or any(str(one) in roots for one in PurePosixPath(path).parents)


def _beside(folder: str, way: set[str]) -> str:
    """Something that is in this folder and on no way to a root; empty where nothing can be found."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            # Some names cannot be written as JSON.
            if entry.name.isprintable() and entry.path not in way:
                return entry.path
    return ""
