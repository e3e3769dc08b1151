"""Reads one page of a server's list: the JSON array of its definitions, a few milliseconds at a time where it is long.

Twelve mebibytes of empty objects are four million of them, which one call into a decoder makes in a third of a second. So a long
array is read an element at a time, each of a bounded length, and nothing is read behind the last one that may be there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Mapping

import msgspec

from gatewright.transport.slices import in_slices

__all__ = ["AT_ONCE", "ENTRY_CHARS", "Definition", "read_page"]

Definition = Mapping[str, msgspec.Raw]
"""One tool, prompt, resource or template, as the server wrote it."""

AT_ONCE = 32 * 1024
"""Bytes of a page that is read in one step."""
ENTRY_CHARS = 256 * 1024
"""The longest definition of a page that is not."""

_WHITE = " \t\n\r"
_page = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_entry = msgspec.json.Decoder(dict[str, msgspec.Raw])
_scan = json.JSONDecoder().raw_decode


async def read_page(array: bytes | msgspec.Raw, most: int) -> list[Definition]:
    """The elements of a JSON array, at most `most` and one more. Raises `ValueError` or `msgspec.DecodeError` where that is not
    JSON, or an element is no object or too long."""
    data = bytes(array)
    if len(data) <= AT_ONCE:
        return list(_page.decode(data))
    await asyncio.sleep(0)
    text = data.decode()
    await asyncio.sleep(0)
    return await in_slices(_read(text, most))


def _read(text: str, most: int) -> Generator[None, None, list[Definition]]:
    found: list[Definition] = []
    if not text.startswith("["):
        raise ValueError("a list is no array")
    at = yield from _skip(text, 1)
    if text.startswith("]", at):
        return found
    window, base = "", 0
    while len(found) <= most:
        if not window or at - base > ENTRY_CHARS:
            window, base = text[at : at + 2 * ENTRY_CHARS], at
        size = _length(window, at - base)
        found.append(_entry.decode(text[at : at + size].encode()))
        at = yield from _skip(text, at + size)
        if text.startswith("]", at):
            return found
        if not text.startswith(",", at):
            raise ValueError("a list is not JSON")
        at = yield from _skip(text, at + 1)
    return found


def _length(window: str, at: int) -> int:
    """How long the value is that begins here; more than an entry may have is left of the window, or all of the text."""
    try:
        _, end = _scan(window, at)
    except (ValueError, RecursionError) as problem:
        text = f"a definition is not JSON, or longer than {ENTRY_CHARS} characters: {problem}"
        raise ValueError(text[:300]) from None
    return int(end) - at


def _skip(text: str, at: int) -> Generator[None, None, int]:
    """Behind the white space."""
    while text[at : at + 1] in _WHITE:
        yield
        piece = text[at : at + 4096]
        if not piece:
            raise ValueError("a list does not end")
        at += len(piece) - len(piece.lstrip(_WHITE))
    yield
    return at
