"""`StreamedText`: redacts results streamed in chunks (MGP §12.4): short at once, long in pieces, those with many candidates in workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol

from gatewright.call import Call, Event
from gatewright.chunk_way import SHORT, TextStep
from gatewright.redaction.report import count
from gatewright.secret_scanning import MANY, Redactor
from gatewright.secret_scanning.chunks import (
    CHUNK,
    GAP,
    Chunks,
    Cleaned,
    plain_params,
    text_of,
    with_text,
)
from gatewright.secret_scanning.context import Finding

__all__ = ["FREE", "Finder", "StreamedText", "Whole"]

FREE = 2 * 1024
"""Bytes in which there are never too many places to look at."""
_PIECE, _CLEAR_PIECE = SHORT, 4 * 1024
"""Characters of a chunk that are cleaned at once: of any, and of one in which nothing is worth a look."""
_DENSE_PIECE = 8 * 1024
"""Of one in which there is so much to look at that this is done beside the loop."""

Whole = Callable[[Call, Event, Redactor], Event | Awaitable[Event | None] | None]
"""Cleans all of an event; None for one that is not passed on."""


class Finder(Protocol):
    """Looks through a text beside the loop."""

    def find(
        self, call: Call, redactor: Redactor, text: bytes
    ) -> Awaitable[Sequence[Finding] | None]:
        """What is to be taken out of a text; None where that cannot be told."""


class StreamedText:
    """The texts of all calls whose results come in chunks."""

    def __init__(self, beside: Finder | None) -> None:
        """Without `beside` everything is looked through at once, however dense."""
        self._beside = beside
        self._chunks = Chunks()
        self._left: dict[str, int] = {}
        """By call: the characters of a large chunk that have not gone on, and that nobody holds back."""

    def __bool__(self) -> bool:
        return bool(self._chunks or self._left)

    def event(
        self, call: Call, event: Event, redactor: Redactor, text: str, whole: Whole
    ) -> Event | Awaitable[Event | None]:
        """A chunk as its caller may see it. Its `text` is a part of one text, and all else is cleaned by itself, by `whole`."""
        if not self._chunks.admits(call.id):  # never silently: the way back numbers what is missing
            return Event(GAP, {"request_id": call.id, "chars": len(text)})
        if (short := _is_short(text, redactor)) and _is_bare(call, event.params):
            return self._piece(call, event, redactor)
        # The text is left out here: a secret may begin in one chunk and end in the next, which only the stream sees.
        rest = whole(call, Event(event.method, with_text(event.params, "")), redactor)
        if isinstance(rest, Event) and short:
            return self._piece(call, Event(event.method, with_text(rest.params, text)), redactor)
        self._left[call.id] = len(text)
        return self._large_text(call, rest, redactor, text, _bare(call, event))

    def step(self, call: Call, redactor: Redactor) -> TextStep | None:
        """What is done with the text of each further chunk of a call that has nothing else; None where none has come of it."""
        chunks, elsewhere = self._chunks, partial(self._elsewhere, call, redactor)
        begin = chunks.beginning(call.id)
        if begin is None:
            return None

        def step(text: str) -> str | Awaitable[Event | None]:
            begun = begin(text)
            if isinstance(begun, str):  # nearly always: there is nothing in it
                return begun
            event = Event(CHUNK, plain_params(call.id, text))
            found = chunks.looked(call.id, event.params, begun, elsewhere)
            if isinstance(found, tuple):
                return text_of(_as_cleaned(call, event, found).params) or ""
            return _once_cleaned(call, event, found)

        return step

    def _piece(self, call: Call, event: Event, redactor: Redactor) -> Event | Awaitable[Event]:
        """One chunk, of which nothing but the text is still to be cleaned."""
        found = self._chunks.clean_beside(
            call.id, event.params, redactor.stream, partial(self._elsewhere, call, redactor)
        )
        if isinstance(found, tuple):
            return _as_cleaned(call, event, found)
        return _once_cleaned(call, event, found)

    def _elsewhere(
        self, call: Call, redactor: Redactor, text: bytes
    ) -> Awaitable[Sequence[Finding] | None] | None:
        if self._beside is None or not _is_dense(redactor, text):
            return None
        return self._beside.find(call, redactor, text)

    async def _large_text(
        self,
        call: Call,
        rest: Event | Awaitable[Event | None] | None,
        redactor: Redactor,
        text: str,
        bare: Event,
    ) -> Event:
        """Piece by piece, so that others have their turn between two of them. What is looked through beside the loop goes there in
        larger ones: with each, some of what was before it is looked through again."""
        event = (await rest if isinstance(rest, Awaitable) else rest) or bare
        said, open_end = [], {**event.params, "done": False}
        at, size, clean = 0, _PIECE, 0
        while True:
            last = at + size >= len(text)
            params = with_text(event.params if last else open_end, text[at : at + size])
            part = self._piece(call, Event(event.method, params), redactor)
            at += size
            # What is begun is held back until it is known.
            left = max(0, len(text) - at)
            self._left[call.id] = clean + left
            size = _PIECE if isinstance(part, Event) else _DENSE_PIECE
            said.append(text_of((part if isinstance(part, Event) else await part).params) or "")
            clean += len(said[-1])
            self._left[call.id] = clean + left
            if isinstance(part, Event):
                await asyncio.sleep(0)
            if last:
                del self._left[call.id]
                return Event(event.method, with_text(event.params, "".join(said)))

    def rest(self, call: Call, redactor: Redactor | None) -> Event | None:
        """What was held back of a text, once its call has ended."""
        dense = None if redactor is None or self._beside is None else partial(_has_many, redactor)
        params, rules = self._chunks.rest(call.id, dense)
        if rules:
            count(call, rules)
        left = self._left.pop(call.id, 0)
        if left:  # nobody waited for it to the end
            held = 0 if params is None else len(text_of(params) or "")
            return Event(GAP, {"request_id": call.id, "chars": left + held})
        return None if params is None else Event(CHUNK, params)


def _is_dense(redactor: Redactor, text: bytes) -> bool:
    """Whether what is read of a stream of chunks has so many places to look at, or is for an operator's rules, so that this is done beside the loop."""
    return len(text) > FREE and (redactor.asks_own(text) or redactor.has_many(text, MANY))


def _has_many(redactor: Redactor, text: bytes) -> bool:
    return len(text) > FREE and redactor.has_many(text, MANY)


def _as_cleaned(call: Call, event: Event, found: Cleaned) -> Event:
    params, rules = found
    if rules:
        count(call, rules)
    return event if params is event.params else Event(event.method, params)


async def _once_cleaned(call: Call, event: Event, found: Awaitable[Cleaned]) -> Event:
    return _as_cleaned(call, event, await found)


def _is_short(text: str, redactor: Redactor) -> bool:
    if len(text) <= _PIECE:
        return True
    return len(text) <= _CLEAR_PIECE and not redactor.worth_a_look(text.encode(errors="replace"))


_INDEXES = 1_000_000
"""More is no number of a chunk, and may be that of a card."""
_BARE = {"request_id", "index", "content", "done"}


def _bare(call: Call, event: Event) -> Event:
    """A chunk with nothing but the place for its text: what else it has cannot be cleaned, or is not to be passed on."""
    index, done = event.params.get("index"), event.params.get("done")
    params = {
        "request_id": call.id,
        "index": index if type(index) is int and 0 <= index < _INDEXES else 0,
        "content": {"type": "text", "text": ""},
        "done": done is True,
    }
    return Event(event.method, params)


def _is_bare(call: Call, params: dict[str, Any]) -> bool:
    """Whether a chunk has a text and nothing else in which there could be anything."""
    content, index = params["content"], params.get("index")
    if params.keys() != _BARE or len(content) != 2 or content.get("type") != "text":
        return False
    counts = type(index) is int and 0 <= index < _INDEXES
    return counts and type(params["done"]) is bool and params["request_id"] == call.id
