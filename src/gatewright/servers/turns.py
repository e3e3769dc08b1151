"""`Turns`: lock for configuration changes and server restarts: one at a time, operators first; cuts waits for a slow server short.

A change waits for the servers that it starts, and how long one takes to say hello is its own to decide. So a change that waits is told
when a reload or an operator wants the turn: its servers have had a fair time (`FAIR_S`), and are connected later.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any, Protocol

import msgspec

__all__ = ["FAIR_S", "GoingOn", "Turns", "came_up"]

FAIR_S = 1.0
"""So long servers that are started may take whoever else waits: most are connected by then."""


class Turns:
    """A lock with two ways in. Of those in line only the first competes for the turn, so whoever comes `at_once` has one of them
    before it at most, besides the one whose turn it is."""

    def __init__(self) -> None:
        self._turn, self._line = asyncio.Lock(), asyncio.Lock()
        self._pressing = 0
        self.wanted = asyncio.Event()
        """Whether somebody waits for the turn who must not."""

    @asynccontextmanager
    async def in_line(self) -> AsyncIterator[None]:
        """While inside, it is the caller's turn, which came when those before had all the time that they wanted."""
        async with self._line, self._turn:
            yield

    @asynccontextmanager
    async def at_once(self) -> AsyncIterator[None]:
        """The same, and whose turn it is waits for no server any longer than is fair."""
        with self.pressing():
            await self._turn.acquire()
        try:
            yield
        finally:
            self._turn.release()

    @contextmanager
    def pressing(self) -> Iterator[None]:
        """While inside, somebody waits who must not."""
        self._pressing += 1
        self.wanted.set()
        try:
            yield
        finally:
            self._pressing -= 1
            if not self._pressing:
                self.wanted.clear()


class GoingOn(msgspec.Struct, frozen=True, kw_only=True):
    """How to go on with the same configuration, and with what features add to it now. Both ways raise `SettingsError`."""

    again: Callable[[], Awaitable[None]]
    """For the gateway itself and operators."""
    in_line: Callable[[], Awaitable[None]]
    """For agents."""
    pressing: Callable[[], AbstractContextManager[None]]
    """As `Turns.pressing`: for who waits for somebody who is going on."""


class _Settles(Protocol):
    async def settled(self) -> None:
        """Wait until the first attempt to connect has succeeded or failed."""


async def came_up(
    servers: Sequence[_Settles], patience_s: float, wanted: asyncio.Event | None = None
) -> None:
    """Wait until each server is connected or has failed, for at most `patience_s`; and no longer than `FAIR_S` once `wanted` is set."""
    if not servers:
        return
    settling: asyncio.Future[Any] = asyncio.gather(*(one.settled() for one in servers))
    pressed: asyncio.Future[Any] = asyncio.ensure_future((wanted or asyncio.Event()).wait())
    fair_s = min(FAIR_S, patience_s)
    try:
        # `wait` does not cancel: who is slow is connected later, and serves all the same.
        await asyncio.wait([settling], timeout=fair_s)
        either, left_s = [settling, pressed], patience_s - fair_s
        await asyncio.wait(either, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        settling.cancel()
        pressed.cancel()
