"""The connections to one HTTP server: as many as requests under way, and a few that wait for the next.

The one used last is used next, so that those which a quiet hour does not need grow old and go; common servers close an
idle connection after five seconds, and one that is closed just as it is used again leaves a doubt whether the request
was seen. At most `MOST` requests are under way, and so at most as many connections open; the rest wait in line.
"""

from __future__ import annotations

import asyncio

from gatewright.transport.http_caller import HttpCaller
from gatewright.transport.http_dial import Trust, dial
from gatewright.transport.http_fault import Fault
from gatewright.transport.http_request import Target

__all__ = ["MOST", "HttpPool"]

MOST = 512


class HttpPool:
    """Lends connections to the server of `target`. Each that was taken is to be given back."""

    def __init__(self, target: Target, tls: Trust, keep_alive_s: float, most: int = MOST) -> None:
        self.target = target
        self._tls = tls
        self._keep_alive_s = keep_alive_s
        self._room = asyncio.Semaphore(most)
        self._idle: list[HttpCaller] = []
        self._open: set[HttpCaller] = set()
        self._none_open = asyncio.Event()
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, until: float | None) -> HttpCaller:
        """A connection for one request. `until` is on the loop's clock. Raises `Fault`."""
        if not self._room.locked():
            await self._room.acquire()  # at once
            kept = self._kept()
            if kept is not None:
                return kept
            self._room.release()
        try:
            async with asyncio.timeout_at(until):
                return await self._take()
        except TimeoutError:
            where = self.target.origin
            raise Fault(
                "unreachable", f"{where} cannot be reached in time", not_sent=True
            ) from None

    def give(self, caller: HttpCaller) -> None:
        """Take a connection back, whatever became of the request; closed at once unless that was answered."""
        self._room.release()
        if not caller.free() or self._closed:
            caller.abort()
            return
        loop = asyncio.get_running_loop()
        caller.idle_since = loop.time()
        self._idle.append(caller)
        if self._timer is None:
            self._timer = loop.call_later(self._keep_alive_s, self._expire)

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

    async def _take(self) -> HttpCaller:
        await self._room.acquire()
        try:
            return self._kept() or await self._made()
        except BaseException:
            self._room.release()
            raise

    def _kept(self) -> HttpCaller | None:
        oldest = asyncio.get_running_loop().time() - self._keep_alive_s
        while self._idle:
            caller = self._idle.pop()
            if caller.usable():
                if caller.idle_since >= oldest:
                    return caller
                caller.abort()
        return None

    async def _made(self) -> HttpCaller:
        caller = HttpCaller(self.target.origin, self._gone)
        if not self._closed:
            await dial(self.target, self._tls, caller)
        if caller.usable():  # else it is gone already, and will not say so again
            self._open.add(caller)
        if self._closed:
            caller.abort()
            raise Fault(
                "unreachable", f"the connection to {self.target.origin} is closed", not_sent=True
            )
        return caller

    def _gone(self, caller: HttpCaller) -> None:
        self._open.discard(caller)
        if caller in self._idle:
            self._idle.remove(caller)
        if not self._open:
            self._none_open.set()

    def _expire(self) -> None:
        """Close what has waited too long; the first in line have waited longest."""
        loop = asyncio.get_running_loop()
        oldest = loop.time() - self._keep_alive_s
        while self._idle and self._idle[0].idle_since <= oldest:
            self._idle.pop(0).abort()
        self._timer = None
        if self._idle:
            due = self._idle[0].idle_since + self._keep_alive_s
            self._timer = loop.call_at(due, self._expire)
