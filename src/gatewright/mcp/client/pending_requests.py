"""Requests awaiting a tool server's response, and their timeouts, which pause while the caller is being asked.

The clock stops while the caller is being asked something: a person who thinks must not use up the
time that the tool was given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from gatewright.call import Back, Call, Failure, Refusal
from gatewright.chunk_way import ChunkWay
from gatewright.mcp.wire import jsonrpc

__all__ = ["EXPIRED", "Clock", "Params", "PendingRequest", "Reply"]

Params = dict[str, Any]
"""The params of a request, decoded."""

_NEVER = float("inf")

Reply = jsonrpc.Response | Failure | Refusal

EXPIRED: Final = Failure("upstream_timeout")
"""What an exchange is given when its time is over; its owner makes the message."""


class PendingRequest(msgspec.Struct, eq=False):
    """A request in flight. `call` and `back` are None for what the gateway itself asks."""

    ident: int
    call: Call | None
    back: Back | None
    clock: Clock
    future: asyncio.Future[Reply]
    due: float = _NEVER
    """When its time is over, in the loop's own (monotonic) seconds; infinity is no limit."""
    token: Any = None
    """The caller's own progress token; ours is `ident`."""
    task: str = ""
    """The task that it asks about, as the server calls it; empty where it asks about none."""
    read: bool = False
    """Whether its answer was looked at for a task that it makes or ends."""
    short: bool = False
    """Whether its answer is to be short: a large one is not read."""
    heard: bool = False
    """Whether its caller has heard or was asked something of it: made once more, that would come twice."""
    sent_in: int = 0
    """Over HTTP, the number of the session (`Link.number`) in which it was sent and may run; 0 as long as it was not, or nobody passed it on."""
    session: str | None = None
    """What the server calls that session, where it has sessions."""
    given_up: Failure | None = None
    """Why it was `EXPIRED` before its time, and what its caller hears instead."""
    chunks: ChunkWay | None = None
    """How its plain chunks go on, once it has sent one."""
    work: asyncio.Task[Any] | None = None
    """What fetches the answer, where it does not come by itself."""
    _pauses: int = 0
    _left: float = _NEVER

    def ordinary(self) -> PendingRequest:
        """What its way back and its answer are known by: itself, but for a prepared call, which becomes one."""
        return self

    @property
    def party(self) -> str:
        """Whose exchange it is (`Call.party`): nobody else is asked or told anything for its sake."""
        return "" if self.call is None else self.call.party

    @property
    def left(self) -> float:
        """Seconds until its time is over."""
        return self._left if self._pauses else self.due - self.clock.loop.time()

    @property
    def over(self) -> bool:
        """Whether it was given an answer, or nobody waits for one."""
        return self.future.done()

    @property
    def answered(self) -> bool:
        """Whether the server has answered it, be it only just now: what the server asks from then on is not for it."""
        future = self.future
        return future.done() and not future.cancelled() and future.result() is not EXPIRED

    @property
    def why(self) -> str:
        """What the server is told where nobody waits for its answer any more."""
        return "the time limit was reached" if self.given_up is None else self.given_up.message

    def expired(self, server: str, method: str) -> Failure:
        """What the caller hears where its time is over, or it was given up before."""
        said = f"server {server} did not answer {method} in time; it was told to stop"
        return self.given_up or Failure("upstream_timeout", said)

    def settle(self, reply: Reply) -> bool:
        """Give the answer; False where there was one already."""
        future = self.future
        if future.done():
            return False
        future.set_result(reply)
        return True

    def settle_plainly(self, ident: int, result: bytes) -> bool:
        """The same with a response that has nothing but this id, its own, and a result."""
        return self.settle(jsonrpc.Response(b"%d" % ident, result))

    def pause(self) -> None:
        """Stop the clock; pauses nest."""
        if not self._pauses:
            self._left, self.due = max(0.0, self.left), _NEVER
        self._pauses += 1

    def resume(self) -> None:
        """Let the clock go on with the time that was left."""
        self._pauses -= 1
        # Pauses nest: two questions of one call may be open.
        if self._pauses == 0 and not self.future.done():
            self.due = self.clock.loop.time() + self._left
            self.clock.heed(self.due)


class Clock:
    """Ends the exchanges whose time is over: one timer of the loop for all that are in flight on one link. Nearly
    every request is answered in time, so the timer is not touched for one that ends later than it rings."""

    __slots__ = ("_exchanges", "_timer", "loop", "rings")

    def __init__(self, exchanges: Mapping[int, PendingRequest]) -> None:
        self.loop = asyncio.get_running_loop()
        self.rings = _NEVER
        """When it looks for exchanges whose time is over; infinity where it does not."""
        self._exchanges = exchanges
        self._timer: asyncio.TimerHandle | None = None

    def heed(self, due: float) -> None:
        """Look no later than at `due`, in the loop's seconds."""
        if due < self.rings:
            if self._timer is not None:
                self._timer.cancel()
            self.rings = due
            self._timer = self.loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer, self.rings = None, _NEVER
        now = self.loop.time()
        open_ = [one for one in self._exchanges.values() if not one.over]
        for one in open_:
            if one.due <= now:
                one.ordinary().settle(EXPIRED)
        self.heed(min((one.due for one in open_ if one.due > now), default=_NEVER))
