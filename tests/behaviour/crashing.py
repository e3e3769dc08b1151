"""A kernel with a real record and a server with a journal of its own, which ends at one named point.

`python -m tests.behaviour.crashing FOLDER SYNC POINT CALL` makes calls until call number CALL reaches POINT, where the process ends as
`kill -9` would end it. On standard output stands each call that was answered, in `executed` each that the server ran.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from gatewright.audit.trail import AuditLog, Sync
from gatewright.call import Answer, Back, Call, Outcome
from gatewright.kernel import Audit, Kernel, Trail
from tests.audit.parts import a_call, a_tool
from tests.gate_parts import Mute

__all__ = ["POINTS", "main"]

POINTS = (
    "before the intent",
    "after the intent",
    "before it is forwarded",
    "after the server ran it",
    "after the result",
    "before the end",
    "after the end",
    "before the answer",
)

At = Callable[[str, str], None]


class _Watched:
    """A trail with points around its records."""

    def __init__(self, trail: Trail, call: Call, at: At) -> None:
        self._trail = trail
        self._call = call
        self._at = at

    @property
    def spent_s(self) -> float | None:
        return self._trail.spent_s

    def intent(self, call: Call) -> bool:
        self._at("before the intent", call.id)
        found = self._trail.intent(call)
        self._at("after the intent", call.id)
        return found

    async def on_disk(self) -> None:
        await self._trail.on_disk()

    def close(self, call: Call, outcome: Outcome) -> Outcome:
        self._at("before the end", call.id)
        found = self._trail.close(call, outcome)
        self._at("after the end", call.id)
        return found

    async def settled(self) -> None:
        if (waits := self._trail.settled()) is not None:
            await waits
        self._at("before the answer", self._call.id)


class _Watching:
    """The record, watched."""

    def __init__(self, log: AuditLog, at: At) -> None:
        self._log = log
        self._at = at

    def open(self, call: Call) -> Trail:
        return _Watched(self._log.open(call), call, self._at)


async def main(folder: Path, sync: Sync, point: str, last: int) -> None:
    """Call until the point is reached."""

    def at(here: str, call: str) -> None:
        if here == point and call == f"call-{last}":
            os._exit(9)

    log = AuditLog(folder, clock=time.time, monotonic=time.monotonic, random=os.urandom, sync=sync)
    executed = os.open(folder / "executed", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def server(call: Call, back: Back) -> Outcome:
        at("before it is forwarded", call.id)
        os.write(executed, f"{call.id}\n".encode())
        at("after the server ran it", call.id)
        await asyncio.sleep(0)
        at("after the result", call.id)
        return Answer(b'{"content":[]}')

    kernel = Kernel([], server, [], cast("Audit", _Watching(log, at)))
    tools: list[Any] = [a_tool("moderate"), a_tool("dangerous")]
    number = 0
    while True:
        number += 1
        call = a_call(number, tools[number % 2], facts={})
        outcome = await kernel.handle(call, Mute())
        if isinstance(outcome, Answer):
            os.write(1, f"{call.id}\n".encode())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), cast("Sync", sys.argv[2]), sys.argv[3], int(sys.argv[4])))
