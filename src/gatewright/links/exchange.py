"""One request of ours that waits for a tool server's answer, and the clock that it waits under.

The clock stops while the caller is being asked something: a person who thinks must not use up the
time that the tool was given.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from gatewright.call import Back, Call, Failure, Refusal
from gatewright.transport.alarms import Alarm, Alarms
from gatewright.wire import jsonrpc

__all__ = ["EXPIRED", "Exchange", "Reply"]

_NEVER = float("inf")

Reply = jsonrpc.Response | Failure | Refusal

EXPIRED: Final = Failure("upstream_timeout")
"""What an exchange is given when its time is over; its owner makes the message."""


class Exchange:
    """A request in flight. `call` and `back` are None for what the gateway itself asks."""

    __slots__ = (
        "_alarm",
        "_alarms",
        "_left",
        "_loop",
        "_pauses",
        "back",
        "call",
        "future",
        "ident",
        "token",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        alarms: Alarms,
        ident: int,
        call: Call | None,
        back: Back | None,
        token: Any,
    ) -> None:
        self._loop = loop
        self._alarms = alarms
        self._alarm: Alarm | None = None
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
        alarm = self._alarm
        return _NEVER if alarm is None else alarm.when - self._loop.time()

    def arm(self, deadline: float) -> None:
        """Start the clock. `deadline` is in the loop's own (monotonic) seconds; infinity is no clock."""
        if deadline != _NEVER:
            self._alarm = self._alarms.at(deadline, self._expire)

    def settle(self, reply: Reply) -> bool:
        """Give the answer; False where there was one already."""
        if self.future.done():
            return False
        self.future.set_result(reply)
        return True

    def end(self) -> None:
        """Stop the clock for good."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def pause(self) -> None:
        """Stop the clock; pauses nest."""
        self._pauses += 1
        if self._pauses == 1 and self._alarm is not None:
            self._left = max(0.0, self._alarm.when - self._loop.time())
            self._alarm.cancel()

    def resume(self) -> None:
        """Let the clock go on with the time that was left."""
        self._pauses -= 1
        if self._pauses == 0 and self._alarm is not None and not self.future.done():
            self.arm(self._loop.time() + self._left)

    def _expire(self) -> None:
        self.settle(EXPIRED)
