"""Splits a result into its JSON members (raw texts) once: `Answer.read` caches those of a large one; `with_members` encodes changed ones.

Theory: to read the members of an object is one call of C that goes through all of it, 20 ms of the largest result. The screen of a server, the names of
tasks, output schemas and the eras each want them of the same text. What is kept holds for that very text: a filter that puts another in its
place has to say its members anew, or they are read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gatewright.call import Answer
from gatewright.mcp.wire import jsonrpc

__all__ = ["Read", "known", "members_of", "with_members"]

Read = tuple[bytes, Mapping[str, msgspec.Raw]]
"""A text and its members."""
_KEPT_FROM = 64 * 1024
"""Bytes; of a shorter text the members are read again in less time than it takes to keep them."""


def known(answer: Answer) -> Mapping[str, msgspec.Raw] | None:
    """The members that were read before; None where they are to be read."""
    read = answer.read
    return read[1] if read is not None and read[0] is answer.raw else None


def members_of(answer: Answer) -> dict[str, Any]:
    """The members of a result, for whoever asks to change. Raises like `jsonrpc.decode_members`."""
    found = known(answer)
    return dict(jsonrpc.decode_members(answer.raw) if found is None else found)


def with_members(members: Mapping[str, Any]) -> tuple[bytes, Read | None]:
    """The text of an object with these members (texts, or values), and what `Answer.read` is beside it."""
    texts = {
        name: one if type(one) is msgspec.Raw else msgspec.Raw(jsonrpc.encode(one))
        for name, one in members.items()
    }
    raw = jsonrpc.encode(texts)
    return raw, (raw, texts) if len(raw) > _KEPT_FROM else None
