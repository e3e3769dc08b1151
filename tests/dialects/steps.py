"""Tools for the tests of doors, that do things when they are told to."""

from __future__ import annotations

import asyncio
from typing import Any

from gatewright.call import Answer, Back, Call, Event, Outcome

__all__ = ["CALL", "JSON_ONLY", "TOLD", "Hang", "Stepwise", "progress", "progressed"]

CALL = {"name": "echo", "arguments": {}}
TOLD = {**CALL, "_meta": {"progressToken": "p-1"}}
JSON_ONLY = {"accept": "application/json"}


def progress(number: int) -> Event:
    return Event("notifications/progress", {"progressToken": 77, "progress": number})


def progressed(number: int, token: Any = "p-1") -> dict[str, Any]:
    params = {"progressToken": token, "progress": number}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


class Stepwise:
    """A tool that says one thing each time it is told to, and ends when told to."""

    def __init__(self) -> None:
        self.steps: asyncio.Queue[Event | Answer] = asyncio.Queue()

    async def __call__(self, call: Call, back: Back) -> Outcome:
        while isinstance(step := await self.steps.get(), Event):
            back.emit(step)
        return step

    def say(self, *steps: Event | Answer) -> None:
        for step in steps:
            self.steps.put_nowait(step)


class Hang:
    """A tool that ends only when it is told to."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.end = asyncio.Event()

    async def __call__(self, call: Call, back: Back) -> Outcome:
        self.began.set()
        await self.end.wait()
        return Answer(b'{"content":[]}')
