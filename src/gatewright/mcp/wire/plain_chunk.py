"""Fast codec of plain stream chunks (MGP §12.4: one text, not the last): `plain_chunk` reads a frame in one decode, `frames` writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import msgspec

from gatewright.chunk_way import SHORT

__all__ = ["PlainChunk", "frames", "plain_chunk"]

_NEAR = 80
"""Behind so many bytes no frame names its method first."""
_NAMED = b"notifications/mgp.stream.chunk"
_INDEXES = 1_000_000
"""More is no number of a chunk, and may be that of a card."""
_QUOTES = len(
    '"jsonrpc""2.0""method""""params""request_id""index""content""type""text""text""""done"'
) - len("jsonrpc2.0methodparamsrequest_idindexcontenttypetexttextdone")
"""Outside of its text. Every member that stood twice would bring two more."""


class _Content(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: Literal["text"]
    text: str


class PlainChunk(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The params of one."""

    request_id: int
    index: Annotated[int, msgspec.Meta(ge=0, lt=_INDEXES)]
    content: _Content
    done: bool


class _Frame(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    jsonrpc: Literal["2.0"]
    method: Literal["notifications/mgp.stream.chunk"]
    params: PlainChunk


_decode = msgspec.json.Decoder(_Frame).decode


_encode = msgspec.json.Encoder().encode


def frames(request: bytes) -> Callable[[int, str], bytes]:
    """What spells the frames of chunks for a request (its id as JSON text), each by number and text."""
    begin = (
        b'{"jsonrpc":"2.0","method":"notifications/mgp.stream.chunk","params":{"request_id":'
        + request
        + b',"index":'
    )

    def frame(index: int, text: str) -> bytes:
        said = _encode(text)
        return b'%b%d,"content":{"type":"text","text":%b},"done":false}}' % (begin, index, said)

    return frame


def plain_chunk(data: bytes) -> PlainChunk | None:
    """One such chunk; None for anything else, which `jsonrpc.parse` reads."""
    if len(data) > SHORT or data.find(_NAMED, 0, _NEAR) < 0:
        return None
    try:
        found = _decode(data).params
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    # A quote that is spelled as a number would hide one that is too many.
    quotes = data.count(b'"') - found.content.text.count('"')
    return None if found.done or quotes != _QUOTES or data.find(b"\\u0022") >= 0 else found
