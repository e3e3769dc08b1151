"""Connection pool of the HTTP client for one server: opens and lends connections, queues beyond a bound, closes those idle too long.

The one used last is used next, so that those which a quiet hour does not need grow old and go; common servers close an
idle connection after five seconds, and one that is closed just as it is used again leaves a doubt whether the request
was seen. At most `most` requests are under way, and so at most as many connections open; the rest wait in line.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from gatewright.transport.http_client_connection import HttpClientConnection
from gatewright.transport.http_dial import Trust, dial
from gatewright.transport.http_fault import Fault
from gatewright.transport.http_request import Target
from gatewright.transport.read_turns import ReadTurns
from gatewright.transport.refusals import REFUSED_S, Refusals

__all__ = ["MOST", "HttpPool", "Most"]

MOST = 512

Most = Callable[[], int]
"""How many requests may be under way, at the moment."""


class HttpPool:
    """Lends connections to the server of `target`. Each that was taken is to be given back."""

    def __init__(
        self, target: Target, tls: Trust, keep_alive_s: float, most: Most = lambda: MOST
    ) -> None:
        self.target = target
        self._tls = tls
        self._keep_alive_s = keep_alive_s
        self._loop = asyncio.get_running_loop()
        self._turns = ReadTurns(self._loop)
        self._refusals = Refusals()
        self._most = most
        self._lent = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._idle: list[HttpClientConnection] = []
        self._open: set[HttpClientConnection] = set()
        self._none_open = asyncio.Event()
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None

    def ready(self) -> HttpClientConnection | None:
        """A connection for one request, where one is kept and nobody waits in line."""
        if self._lent >= self._most() or self._line:
            return None
        kept = self._kept()
        if kept is not None:
            self._lent += 1
        return kept

    async def take(self, until: float | None) -> HttpClientConnection:
        """A connection for one request. `until` is on the loop's clock. Raises `Fault`."""
        try:
            async with asyncio.timeout_at(until):
                return await self._take()
        except TimeoutError:
            where = self.target.origin
            why = f"{where} cannot be reached in time"
            # A dial has a limit of its own: who waited longer stood in line here.
            raise Fault("unreachable", why, not_sent=True, here=True) from None

    def give(self, caller: HttpClientConnection) -> None:
        """Take a connection back, whatever became of the request; closed at once unless that was answered."""
        self._leave()
        if not caller.free() or self._closed:
            caller.abort()
            return
        self._refusals.over()
        caller.idle_since = self._loop.time()
        self._idle.append(caller)
        if self._timer is None:
            self._timer = self._loop.call_later(self._keep_alive_s, self._expire)

    @property
    def reachable(self) -> bool:
        """Whether any connection is open, lent or not, and no others have been refused for long."""
        return not self._refusals.last(REFUSED_S) and any(one.usable() for one in self._open)

    async def close(self) -> None:
        """Close all connections, and wait until they are."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._idle.clear()
        for caller in list(self._open):
            caller.abort()
        while self._open:
            self._none_open.clear()
            await self._none_open.wait()

    async def _take(self) -> HttpClientConnection:
        await self._enter()
        try:
            return self._kept() or await self._made()
        except BaseException:
            self._leave()
            raise

    async def _enter(self) -> None:
        """Wait for a place among those under way."""
        if self._lent < self._most() and not self._line:
            self._lent += 1
            return
        turn: asyncio.Future[None] = self._loop.create_future()
        self._line.append(turn)
        self._admit()  # the bound may be another than it was
        try:
            await turn
        except BaseException:
            if not turn.cancelled():
                self._leave()  # it had come
            elif turn in self._line:
                self._line.remove(turn)
            raise

    def _leave(self) -> None:
        """Give a place up."""
        self._lent -= 1
        self._admit()

    def _admit(self) -> None:
        """Give the places that there are to those who are next in line."""
        while self._line and self._lent < self._most():
            turn = self._line.popleft()
            if not turn.done():  # else whoever waited for it has given up
                self._lent += 1
                turn.set_result(None)

    def _kept(self) -> HttpClientConnection | None:
        oldest = self._loop.time() - self._keep_alive_s
        while self._idle:
            caller = self._idle.pop()
            if caller.usable():
                if caller.idle_since >= oldest:
                    return caller
                caller.abort()
        return None

    async def _made(self) -> HttpClientConnection:
        caller = HttpClientConnection(self.target.origin, self._gone, self._turns)
        if not self._closed:
            try:
                await dial(self.target, self._tls, caller)
            except Fault as fault:
                if not fault.here:
                    self._refusals.again()
                raise
            self._refusals.over()
        if caller.usable():  # else it is gone already, and will not say so again
            self._open.add(caller)
        if self._closed:
            caller.abort()
            raise Fault(
                "unreachable", f"the connection to {self.target.origin} is closed", not_sent=True
            )
        return caller

    def _gone(self, caller: HttpClientConnection) -> None:
        self._open.discard(caller)
        if caller in self._idle:
            self._idle.remove(caller)
        if not self._open:
            self._none_open.set()

    def _expire(self) -> None:
        """Close what has waited too long; the first in line have waited longest."""
        oldest = self._loop.time() - self._keep_alive_s
        while self._idle and self._idle[0].idle_since <= oldest:
            self._idle.pop(0).abort()
        self._timer = None
        if self._idle:
            due = self._idle[0].idle_since + self._keep_alive_s
            self._timer = self._loop.call_at(due, self._expire)
