"""Joins a room over WebSocket: `join` connects a `Participant` to the gateway's `/ws`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

from gatewright.rooms.participants.errors import GoneError
from gatewright.rooms.participants.participant import Participant
from gatewright.transport.base import Closed, Pipe
from gatewright.transport.websocket import connect

__all__ = ["join"]


class _Line:
    """Stands between a WebSocket and a participant, which do not know each other."""

    def __init__(self) -> None:
        self.participant: Participant | None = None
        self.pipe: Pipe | None = None

    def message(self, data: bytes) -> None:
        if self.participant is not None:
            self.participant.receive(data)

    def closed(self, reason: str) -> None:
        self.pipe = None
        if self.participant is not None:
            self.participant.lost(reason)

    def send(self, text: bytes) -> None:
        try:
            if self.pipe is None:
                raise Closed("there is no connection")
            self.pipe.send(text)
        except Closed as problem:
            raise GoneError(f"the place in the room is lost: {problem.reason}") from None


@asynccontextmanager
async def join(
    url: str, *, topic: str, token: str | None, welcome_s: float = 10.0, **options: Any
) -> AsyncIterator[Participant]:
    """A participant in a topic for as long as the block. `url` is the gateway's `ws://…/ws`; `options` are those of
    `Participant`. Raises `CannotConnect` (its `status` is 401 for a token that is not good there), and
    `AnswerTimeoutError` or `GoneError` where there is no welcome within `welcome_s` seconds."""
    line = _Line()
    participant = line.participant = Participant(line.send, **options)
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    address = f"{url}{'&' if '?' in url else '?'}{urlencode({'topic': topic})}"
    pipe = line.pipe = await connect(address, receiver=line, subprotocol=None, headers=headers)
    try:
        await participant.welcomed(timeout_s=welcome_s)
        yield participant
    finally:
        pipe.close()
        await pipe.wait_closed()
