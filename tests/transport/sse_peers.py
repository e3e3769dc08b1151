"""Servers of HTTP+SSE that take what is posted, or some of it, and answer on their stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

from gatewright.mcp.client.outgoing import question
from gatewright.transport.open_posts import Requests
from gatewright.transport.sse_client import SsePipe
from tests.transport.collecting import Collector, within
from tests.transport.http_peers import ScriptedServer, Turn, event_stream, json_answer

__all__ = [
    "ACCEPTED",
    "ENDPOINT",
    "NONE",
    "Choosy",
    "Connect",
    "Losing",
    "SseServer",
    "call",
    "errors",
    "nobody",
]

Connect = Callable[..., Coroutine[Any, Any, tuple[SsePipe, Collector]]]
ENDPOINT = b"event: endpoint\ndata: /messages?session=1\n\n"
ACCEPTED = b"HTTP/1.1 202 Accepted\r\ncontent-length: 8\r\n\r\nAccepted"


class SseServer(ScriptedServer):
    """Answers each POST on the stream, with what was posted."""

    def __init__(self, first: bytes = ENDPOINT, answer: bytes = ACCEPTED) -> None:
        super().__init__(self._answer)
        self.first = first
        self.answer = answer
        self.stream: Turn
        self.posted: list[bytes] = []

    async def event(self, data: bytes, end: bytes = b"") -> None:
        event = b"event: message\r\ndata: " + data + b"\r\n\r\n"
        await self.stream.say(b"%x\r\n%b\r\n" % (len(event), event) + end)

    async def _answer(self, turn: Turn) -> None:
        if turn.head.startswith(b"GET"):
            self.stream = turn
            await turn.say(event_stream(self.first, end=False))
            await turn.gone()
        self.posted.append(turn.body)
        await turn.say(self.answer)
        await self.event(turn.body)


def nobody(ident: int, why: str, sent: bool) -> None:
    """Nothing is asked here whose answer could be lost."""


NONE = Requests(bool, nobody, lambda ident, late: None)
"""Nobody waits."""


class Choosy(SseServer):
    """Refuses what has this in it, and takes the rest. One that `passes_on` answers on the stream all the same."""

    def __init__(self, refused: bytes, status: bytes, *, passes_on: bool = True) -> None:
        super().__init__()
        self.refused, self.status, self.passes_on = refused, status, passes_on

    async def _answer(self, turn: Turn) -> None:
        takes = self.refused not in turn.body
        self.answer = ACCEPTED if takes else json_answer(b"{}", self.status)
        if self.passes_on or takes or turn.head.startswith(b"GET"):
            await super()._answer(turn)
        else:
            self.posted.append(turn.body)
            await turn.say(self.answer)


def errors(messages: list[bytes]) -> list[Any]:
    """Those of the messages that are errors, decoded."""
    return [one for one in map(json.loads, messages) if type(one) is dict and "error" in one]


def call(ident: int, name: str = "x") -> bytes:
    """A call of a tool."""
    return question(ident, "tools/call", {"name": name})


class Losing:
    """Notes which requests were lost."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str, bool]] = []
        self._more = asyncio.Event()

    def __call__(self, ident: int, why: str, sent: bool) -> None:
        """Note one."""
        self.found.append((ident, why, sent))
        self._more.set()

    async def one(self) -> tuple[int, str, bool]:
        """The first."""
        await within(self._more.wait())
        return self.found[0]
