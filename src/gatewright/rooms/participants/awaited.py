"""Futures of responses that a participant waits for, by message id and permitted sender."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from gatewright.mcpx.payload import Responded
from gatewright.rooms.participants.errors import CallError, GoneError, RoomError

__all__ = ["Awaited"]


class Awaited:
    """Message id → the future of its result, and who may answer (nobody named: everybody). Belongs to one loop."""

    def __init__(self) -> None:
        self._futures: dict[str, tuple[frozenset[str], asyncio.Future[Any]]] = {}

    def expect(self, id: str, senders: Iterable[str] = ()) -> asyncio.Future[Any]:
        """From now on there is a future for this message."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._futures[id] = frozenset(senders), future
        return future

    def find(self, id: str) -> asyncio.Future[Any] | None:
        """The future of a message, where its answer is still to come or to be taken."""
        found = self._futures.get(id)
        return None if found is None else found[1]

    def forget(self, id: str) -> None:
        """Nobody waits any more."""
        self._futures.pop(id, None)

    def answer(self, id: str, sender: str, said: Responded) -> None:
        """`sender` has answered. What somebody else says in its place is not heard."""
        senders, future = self._futures.get(id, (frozenset(), None))
        if future is None or future.done() or (senders and sender not in senders):
            return
        if said.error is None:
            future.set_result(said.result)
            return
        error = said.error if isinstance(said.error, dict) else {}
        code, message = error.get("code"), error.get("message", "an error without a message")
        number = code if isinstance(code, int) else -32603
        self.fail(id, CallError(number, str(message), error.get("data")))

    def fail(self, id: str, problem: RoomError) -> None:
        """No answer will come."""
        future = self.find(id)
        if future is not None and not future.done():
            future.set_exception(problem)
            future.exception()  # whether or not anybody ever asks

    def left(self, name: str) -> None:
        """A participant has left the room: what it alone may answer has no answer. Whoever is called so next is another."""
        for id, (senders, _) in list(self._futures.items()):
            if senders == {name}:
                self.fail(id, GoneError(f"{name} has left the room"))

    def lose(self, problem: RoomError) -> None:
        """No answer will come to anybody."""
        for id in list(self._futures):
            self.fail(id, problem)
