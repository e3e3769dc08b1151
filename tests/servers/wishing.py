"""A connection as wishes see it, on which a test answers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from gatewright.call import Answer, Back, Call, Failure, Outcome
from gatewright.mcp.protocol.mcp_client import Hello
from tests.servers.rig import DEADLINE, FakeBack, make_call

__all__ = ["FakeLink", "FakeWay", "asks", "rest"]


class FakeLink:
    """What it was told to listen for, each with what ends it."""

    open = True

    def __init__(self, hello: Hello) -> None:
        self.hello = hello
        self.listens: list[tuple[list[str], asyncio.Future[Any], asyncio.Future[None]]] = []
        self.ended: list[int] = []
        self.served: list[str] = []

    def serves(self, party: str) -> None:
        """Record for whom it listens."""
        self.served.append(party)

    async def listen(self, params: dict[str, Any], told: asyncio.Future[Any]) -> None:
        """Wait until the test ends it."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        number = len(self.listens)
        uris = params["notifications"].get("resourceSubscriptions", [])
        self.listens.append((uris, told, over))
        try:
            await over
        finally:
            self.ended.append(number)


class FakeWay:
    """One connection; each message waits in `said_` until the test answers it."""

    id = "srv"
    call_s = DEADLINE

    def __init__(self, revision: str = "2025-11-25", **capabilities: Any) -> None:
        self.hello = Hello(revision, capabilities=capabilities)
        self.link: Any = FakeLink(self.hello)
        self.said_: list[tuple[str, Any, asyncio.Future[Any]]] = []
        self.looks = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    def party(self, holder: str) -> str:
        """Everybody speaks for themselves."""
        return holder

    async def ready(self) -> Failure | None:
        """It is there, or not, at once."""
        return None if self.link is not None else Failure("upstream_unavailable", "away")

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do it beside the test."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def look(self) -> None:
        """Count it."""
        self.looks += 1

    async def call(self, method: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """Wait for the test's answer."""
        outcome: Outcome = await self._put(method, params)
        return outcome

    async def said(self, link: Any, method: str, params: dict[str, Any]) -> bool | None:
        """Wait for the test's answer."""
        outcome = await self._put(method, params)
        return None if isinstance(outcome, Failure) else isinstance(outcome, Answer)

    def _put(self, method: str, params: dict[str, Any]) -> asyncio.Future[Any]:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        word = params.get("uri", params.get("level"))
        self.said_.append((method.rpartition("/")[2], word, answer))
        return answer

    @property
    def words(self) -> list[tuple[str, Any]]:
        """What it was told so far."""
        return [(method, word) for method, word, _ in self.said_]

    async def answer(self, number: int, outcome: Any = None) -> None:
        """Answer a message, and let everybody go on."""
        self.said_[number][2].set_result(outcome or Answer(b"{}"))
        await rest()

    async def stop(self) -> None:
        """End what was spawned."""
        for task in list(self._tasks):
            task.cancel()
        await rest()


async def rest() -> None:
    """Let everybody do what there is to do now."""
    for _ in range(20):
        await asyncio.sleep(0)


def asks(wish: Any, uri: str, holder: str, name: str = "") -> asyncio.Task[Outcome]:
    """A holder subscribes or unsubscribes (`wish` is the method), by a name of its own for the resource."""
    call = make_call("method", "resources/subscribe", {"uri": name or uri})
    return asyncio.ensure_future(wish(uri, holder, {"uri": uri}, call, FakeBack()))
