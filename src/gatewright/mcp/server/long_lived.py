"""Long-lived connections (WebSocket, SSE, subscriptions): ends them when the credential that opened them is no longer valid.

A request shows its credential each time; a WebSocket, an event stream or a subscription showed it once. Each of them is in
`ServerContext.lasting` while it is open, and is looked at several times a second. One whose key or token is good no more is
ended in the way of its transport: a subscription with the refusal, a WebSocket with 1008 and the reason, a stream by its end.

The answers that are due leave first. Calls of a credential that was taken back are ended by others (`Kernel.end_refused`), so that
their refusals need a moment and no more. A credential that merely reached its end ends no call that began before
(decision 0033): such a connection is ended when nothing runs on it any more; until then it hears nothing, and can ask for nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gatewright.call import Refusal
from gatewright.mcp.server.server_context import Lasting, Presented, ServerContext

__all__ = ["LOOKED_S", "Dismissing", "lasting"]

LOOKED_S = 0.25
"""How often they are looked at. What is busy is looked at twice before it is ended."""

_AT_ONCE = 200
"""After how many of them others get a turn."""

_UNKNOWN = Refusal(
    "internal", "whether the credential is still good cannot be told; see the gateway's log"
)

log = logging.getLogger("gatewright.mcp.server")


class _Held:
    """A connection, as `Lasting` has it."""

    def __init__(
        self,
        presented: Callable[[], Presented | None],
        end: Callable[[Refusal], None],
        busy: Callable[[], bool],
    ) -> None:
        self._shown = presented
        self._busy = busy
        self.dismiss = end

    @property
    def presented(self) -> Presented | None:
        return self._shown()

    @property
    def busy(self) -> bool:
        return self._busy()


@contextmanager
def lasting(
    front: ServerContext,
    presented: Callable[[], Presented | None],
    end: Callable[[Refusal], None],
    busy: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """While the block runs, a connection is open that `end` would end; the rest is as in `Lasting`."""
    held = _Held(presented, end, busy)
    front.lasting.add(held)
    try:
        yield
    finally:
        front.lasting.discard(held)


class Dismissing:
    """Ends the connections of those who may not be here any more; see the module's text."""

    def __init__(self, front: ServerContext) -> None:
        self._front = front
        self._late: set[Lasting] = set()
        """Those that were busy when their credential was found to be good no more."""

    async def follow(self) -> None:
        """For ever."""
        while True:
            try:
                await self.look()
            except Exception:
                log.exception("open connections could not be looked at; trying again")
            await asyncio.sleep(LOOKED_S)

    async def look(self) -> None:
        """Look at every one."""
        lasting, late = self._front.lasting, self._late
        self._late = set()
        found: dict[tuple[str, str | None], Refusal | None] = {}
        for number, one in enumerate(tuple(lasting), 1):
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
            presented = one.presented
            if presented is None or one not in lasting:
                continue
            # Many connections have one credential: each is looked up once.
            key = presented.door, presented.credential
            if key not in found:
                found[key] = self._refused(presented)
            why = found[key]
            if why is None:
                continue
            if one.busy and (why.reason == "auth_expired" or one not in late):
                self._late.add(one)
                continue
            lasting.discard(one)
            try:
                one.dismiss(why)
            except Exception:  # the others' turn comes all the same
                log.exception("a connection could not be ended")

    def _refused(self, presented: Presented) -> Refusal | None:
        """Why a credential is good no more; None where it is."""
        try:
            still = self._front.still(*presented)
        except Exception:  # nobody stays for that, and nobody else is kept by it
            log.exception("whether a credential is still good could not be told")
            return _UNKNOWN
        return still if isinstance(still, Refusal) else None
