"""Limits of one tool, prompt or resource definition in a server's list: one that is too large or cannot be decoded is left out alone."""

from __future__ import annotations

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.foreign_json import MOST_MEMBERS, MOST_NS
from gatewright.mcp.wire.json_bounds import Limits, flaw_of
from gatewright.servers.listing import Definition

__all__ = ["check_members", "check_size", "comparable"]

_HARMLESS_BYTES = 4096
_HARMLESS_BRACKETS = 100
"""A member within both holds no number and no nesting that could not be compared."""
_MOST_BYTES = 256 * 1024
"""Of one tool's definition. A larger one is no description of a tool, and everybody waits while it is digested and judged."""
_MEMBERS = Limits(depth=_MOST_BYTES, keys=_MOST_BYTES, values=20_000)
"""Of one member of a definition: as many values as everybody can wait for, and no integer of thousands of digits."""
_MOST_OWN = MOST_MEMBERS - 16
"""Of one object that lists put members of their own into: with these it is read again."""
_MOST_NS = MOST_NS // 4
"""What it may take to decode it once: it is decoded several times."""


def check_size(definition: Definition, description_bytes: int) -> None:
    """Raise `ValueError` for what is too long to be shown to models, or to be looked at."""
    size = len(bytes(definition.get("description", b"")))
    if size > description_bytes:
        raise ValueError(
            f"its description has {size} bytes, and limits.description_bytes is {description_bytes}"
        )
    size = sum(len(bytes(member)) for member in definition.values())
    if size > _MOST_BYTES:
        raise ValueError(f"its definition has {size} bytes, at most {_MOST_BYTES}")
    for name, member in definition.items():
        flaw = "" if comparable(member) else flaw_of(b"[%b]" % bytes(member), _MEMBERS)
        if flaw:
            raise ValueError(
                f"its {name[:50]!r} cannot be compared: {flaw.removeprefix('params ')}"
            )
    # All members together as well: each of them may be just within what is allowed.
    flaw = jsonrpc.heavy(b",".join(map(bytes, definition.values())), _MOST_NS)
    if flaw:
        raise ValueError(f"its definition {flaw}")


def check_members(definition: Definition) -> None:
    """Raise `ValueError` where a member is no object of which lists can be made: one that cannot would leave everybody without a list."""
    for name in ("_meta", "execution"):
        raw = definition.get(name, b"")
        if bytes(raw)[:1] == b"{":
            try:
                jsonrpc.decode_members(raw, _MOST_OWN)
            except ValueError as problem:
                raise ValueError(f"its {name!r} {problem}") from None


def comparable(text: msgspec.Raw) -> bool:
    """Whether a member can be compared for certain: definitions without a digest can be neither pinned nor granted."""
    raw = bytes(text)
    return len(raw) < _HARMLESS_BYTES and raw.count(b"{") + raw.count(b"[") < _HARMLESS_BRACKETS
