"""Substring search and UTF-8 check of large byte strings, in pieces with a turn of the event loop between them.

A search through 8 MiB takes milliseconds and there are several of them for one answer; each is one C call, which nothing
interrupts, so the text is cut.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Sequence

__all__ = ["LARGE", "holds_any", "is_utf8"]

LARGE = 256 * 1024
"""Bytes; shorter texts are not worth a turn of the loop."""
_PIECE = 256 * 1024


async def holds_any(text: bytes, marks: Sequence[bytes]) -> bool:
    """Whether one of `marks` stands anywhere in the text."""
    beyond = max(map(len, marks)) - 1
    for at in range(0, len(text), _PIECE):
        end = at + _PIECE + beyond
        if any(text.find(mark, at, end) >= 0 for mark in marks):
            return True
        await asyncio.sleep(0)
    return False


async def is_utf8(text: bytes) -> bool:
    """Whether the bytes are UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(text)
    try:
        for at in range(0, len(view), _PIECE):
            decoder.decode(view[at : at + _PIECE])
            await asyncio.sleep(0)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
