"""How often large texts are gone through, and in which turns of the event loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Generator
from typing import Any

import pytest

from gatewright.mcp.wire import jsonrpc
from gatewright.transport import slices

__all__ = ["LARGE_BYTES", "Passes"]

LARGE_BYTES = 500_000
"""Shorter texts are not counted."""
_READERS = ("decode_members", "members_named", "check")


class Passes:
    """Counts from when it is made; `slices` have a turn after each step meanwhile."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._turn = 0
        self._of: Counter[int] = Counter()
        self._turning = asyncio.ensure_future(self._turns())
        patch.setattr(slices, "_SLICE_S", -1.0)
        for name in _READERS:
            patch.setattr(jsonrpc, name, self._counted(getattr(jsonrpc, name)))
        patch.setattr(jsonrpc, "entries", self._stepped(jsonrpc.entries))

    @property
    def in_all(self) -> int:
        """How many there were."""
        return self._of.total()

    @property
    def in_one_turn(self) -> int:
        """The most of them that nobody else had a turn between."""
        return max(self._of.values(), default=0)

    def stop(self) -> None:
        """Count no more turns."""
        self._turning.cancel()

    async def _turns(self) -> None:
        while True:
            await asyncio.sleep(0)
            self._turn += 1

    def _stepped(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def reads(text: Any, *more: Any) -> Generator[None, None, Any]:
            steps = read(text, *more)
            while True:
                try:
                    next(steps)
                except StopIteration as done:
                    return done.value
                yield
                self._of[self._turn] += len(text) > LARGE_BYTES

        return reads

    def _counted(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def reads(text: Any, *more: Any) -> Any:
            if len(text) > LARGE_BYTES:
                self._of[self._turn] += 1
            return read(text, *more)

        return reads
