"""`collecting` wraps a generator tool function: sends each yielded text as a stream chunk (MGP §12.4), returns all joined; at most 8 MiB."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any

from gatewright.sdk.errors import SerializationError

if TYPE_CHECKING:
    from gatewright.sdk.context import Context

__all__ = ["MOST_BYTES", "collecting"]

MOST_BYTES = 8 * 1024 * 1024
"""So many bytes of UTF-8 a tool yields at most: it may yield for ever."""


def collecting(
    function: Callable[[], Any], waits: bool, context: Context | None
) -> Callable[[], Any]:
    """A function that runs a generator to its end and returns all texts as one; a coroutine function where `waits`, which is for
    asynchronous generators. It raises `SerializationError` for what is no text, and for more than `MOST_BYTES`."""
    pieces = _Pieces(context)
    return pieces.awaited(function) if waits else pieces.in_thread(function)


class _Pieces:
    """The pieces of one call."""

    def __init__(self, context: Context | None) -> None:
        self._context = context
        self._texts: list[str] = []
        self._bytes = 0

    def awaited(self, function: Callable[[], AsyncGenerator[Any, None]]) -> Callable[[], Any]:
        """For an asynchronous generator."""

        async def collect() -> str:
            async with contextlib.aclosing(function()) as found:
                async for piece in found:
                    self._send(self._taken(piece))
                    await asyncio.sleep(0)  # one that never waits would stop everybody else
            return self._whole()

        return collect

    def in_thread(self, function: Callable[[], Generator[Any, None, None]]) -> Callable[[], Any]:
        """For a plain one."""

        def collect() -> str:
            with contextlib.closing(function()) as found:
                for piece in found:
                    self._send(self._taken(piece))
            return self._whole()

        return collect

    def _taken(self, piece: Any) -> str:
        if not isinstance(piece, str):
            raise SerializationError(
                f"a tool that yields has to yield texts, and this was {type(piece).__name__}",
                advice="Yield strings, or return one value instead",
            )
        self._bytes += len(piece) if piece.isascii() else len(piece.encode("utf-8", "replace"))
        if self._bytes > MOST_BYTES:
            raise SerializationError(
                f"the tool yielded more than {MOST_BYTES} bytes", advice="Yield less"
            )
        self._texts.append(piece)
        return piece

    def _whole(self) -> str:
        self._send("", done=True)
        return "".join(self._texts)

    def _send(self, text: str, *, done: bool = False) -> None:
        """From the loop, or from a thread, which waits where the loop has not come to what was sent before."""
        if self._context is not None:
            self._context.stream(text, done=done)
