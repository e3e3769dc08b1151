"""A receiver that keeps what it gets, and waits that cannot last for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from gatewright.transport.http_answer import Answer

__all__ = ["DEADLINE_S", "Collector", "whole", "within"]

DEADLINE_S = 20.0

T = TypeVar("T")


async def within(awaitable: Awaitable[T], seconds: float = DEADLINE_S) -> T:
    """Wait for something with a deadline."""
    async with asyncio.timeout(seconds):
        return await awaitable


async def whole(answer: Answer) -> bytes:
    """The body of an answer, once it is there."""
    await answer.settled()
    return await answer.unpacked() if answer.packed() else answer.body()


class Collector:
    """Keeps messages, log lines and ends."""

    def __init__(self, on_message: Callable[[bytes], None] | None = None) -> None:
        self.messages: list[bytes] = []
        self.lines: list[str] = []
        self.ends: list[str] = []
        self._on_message = on_message
        self._news = asyncio.Event()

    def message(self, data: bytes) -> None:
        self.messages.append(data)
        self._news.set()
        if self._on_message is not None:
            self._on_message(data)

    def line(self, text: str) -> None:
        self.lines.append(text)
        self._news.set()

    def closed(self, reason: str) -> None:
        self.ends.append(reason)
        self._news.set()

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until `true()` is; it is asked after everything that arrives."""
        async with asyncio.timeout(DEADLINE_S):
            while not true():
                self._news.clear()
                await self._news.wait()

    async def count(self, number: int) -> list[bytes]:
        """Wait for that many messages."""
        await self.until(lambda: len(self.messages) >= number)
        return self.messages

    async def end(self) -> str:
        """Wait for the end and return its reason."""
        await self.until(lambda: bool(self.ends))
        return self.ends[0]
