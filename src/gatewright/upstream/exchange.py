"""One request of ours that waits for a tool server's answer, and the clock that it waits under.

The clock stops while the caller is being asked something: a person who thinks must not use up the
time that the tool was given.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from gatewright.call import Back, Call, Failure, Refusal
from gatewright.wire import jsonrpc

__all__ = ["EXPIRED", "Exchange", "Reply"]

Reply = jsonrpc.Response | Failure | Refusal

EXPIRED: Final = Failure("upstream_timeout")
"""What an exchange is given when its time is over; its owner makes the message."""


class Exchange:
    """A request in flight. `call` and `back` are None for what the gateway itself asks."""

    __slots__ = ("_left", "_loop", "_pauses", "_timer", "back", "call", "future", "ident", "token")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        ident: int,
        call: Call | None,
        back: Back | None,
        token: Any,
    ) -> None:
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._pauses = 0
        self._left = 0.0
        self.future: asyncio.Future[Reply] = loop.create_future()
        self.ident = ident
        self.call = call
        self.back = back
        self.token = token
        """The caller's own progress token; ours is `ident`."""

    @property
    def party(self) -> str:
        """Whose exchange it is: the session, or the call itself where there are no sessions."""
        call = self.call
        return "" if call is None else call.session or call.id

    @property
    def left(self) -> float:
        """Seconds until its time is over."""
        timer = self._timer
        return float("inf") if timer is None else timer.when() - self._loop.time()

    def arm(self, deadline: float) -> None:
        """Start the clock. `deadline` is in the loop's own (monotonic) seconds; infinity is no clock."""
        if deadline == float("inf"):
            return
        self._timer = self._loop.call_at(deadline, self._expire)

    def settle(self, reply: Reply) -> bool:
        """Give the answer; False where there was one already."""
        if self.future.done():
            return False
        self.future.set_result(reply)
        return True

    def end(self) -> None:
        """Stop the clock for good."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def pause(self) -> None:
        """Stop the clock; pauses nest."""
        self._pauses += 1
        if self._pauses == 1 and self._timer is not None:
            self._left = max(0.0, self._timer.when() - self._loop.time())
            self._timer.cancel()

    def resume(self) -> None:
        """Let the clock go on with the time that was left."""
        self._pauses -= 1
        if self._pauses == 0 and self._timer is not None and not self.future.done():
            self.arm(self._loop.time() + self._left)

    def _expire(self) -> None:
        self.settle(EXPIRED)
