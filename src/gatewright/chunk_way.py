"""`ChunkWay`, `ChunkEnd`: types of the fast path for plain text chunks of a stream (MGP §12.4): is it free, clean the text, send it.

A chunk is *plain* where it has a text and nothing else that anybody looks at (`mcp.wire.plain_chunk`), and is not the last. The first one of a call
travels as an event (`Back.emit`). Then the link asks the way back for this, once, and gives it the texts of those that follow. Whatever is
unusual by then (a client that is behind, a filter that works beside the loop, a call that is over) is found by `free`, and
the chunk travels as an event. So there is one place for each of these, and it is that of events.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from gatewright.call import Call, Event

__all__ = [
    "NOWHERE",
    "SHORT",
    "ChunkEnd",
    "ChunkWay",
    "CleansChunks",
    "HasChunkEnd",
    "HasChunkWay",
    "TextStep",
    "as_it_is",
    "chunk_end",
    "chunk_way",
    "step_of",
]

SHORT = 1024
"""So many characters a plain chunk has at most."""

TextStep = Callable[[str], str | Awaitable[Event | None]]
"""Cleans the text of one plain chunk after the other; where that needs time, what is awaited is the chunk as an event, clean."""


class ChunkWay(NamedTuple):
    """Of one call."""

    free: Callable[[], bool]
    """Whether a plain chunk can go this way now. Changes nothing."""
    say: Callable[[str], object]
    """Send the text of one, directly after `free`."""


NOWHERE = ChunkWay(lambda: False, lambda text: None)
"""Of a call each chunk of which travels as an event."""


class ChunkEnd(NamedTuple):
    """Where the chunks of one call leave, numbered."""

    free: Callable[[int], bool]
    """Whether somebody waits for them there whom no more than so many bytes wait for. Changes nothing."""
    say: Callable[[int, str], object]
    """Send one: its number, and its text."""


class HasChunkEnd(Protocol):
    """The outermost `Back` of a call."""

    def chunk_end(self) -> ChunkEnd | None:
        """Where its chunks leave from now on; None where each is to leave as an event."""


class HasChunkWay(Protocol):
    """A `Back` on which plain chunks may go straight."""

    def chunks(self) -> ChunkWay | None:
        """The way of those that come from now on; None where each is to travel as an event."""


class CleansChunks(Protocol):
    """A filter that knows what it does with plain chunks."""

    def chunks(self, call: Call) -> TextStep | None:
        """What it does with the text of each one of a call that follows, exactly as `event` would; `as_it_is` where that is nothing, and
        None where it is to be given each as an event."""


def as_it_is(text: str) -> str:
    """The step of a filter that has nothing to do with plain chunks."""
    return text


def chunk_end(back: object) -> ChunkEnd | None:
    """Where the chunks leave that a `Back` takes now."""
    found: Callable[[], ChunkEnd | None] | None = getattr(back, "chunk_end", None)
    return None if found is None else found()


def chunk_way(back: object) -> ChunkWay | None:
    """The way of plain chunks that a `Back` has now."""
    found: Callable[[], ChunkWay | None] | None = getattr(back, "chunks", None)
    return None if found is None else found()


def step_of(cleans: object, call: Call) -> TextStep | None:
    """What a filter does with plain chunks; None where it is to be given each as an event."""
    found: Callable[[Call], TextStep | None] | None = getattr(cleans, "chunks", None)
    return None if found is None else found(call)
