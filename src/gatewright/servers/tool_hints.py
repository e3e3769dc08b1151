"""Reads `destructiveHint`, `openWorldHint` in a tool definition, wherever and however spelled; any value but `false`, `null` counts as true.

Theory: annotations are the words of a server that nobody vouched for. Such words may tighten and never loosen: a `true` counts
wherever it stands (`annotations`, `_meta`, the `security` block of MGP, the definition itself) and however its name is spelled,
and no `readOnlyHint` takes it back. Only a plain `false` or `null` says no; what is neither cannot be understood, and counts as
yes. What is not said is not said, although MCP's defaults for both are true: by the defaults every tool without annotations
asks, and a person who is asked about everything reads nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Raw

from gatewright.mcp.wire.jsonrpc import decode

__all__ = ["Hinted", "hinted"]

Hinted = Literal["destructive", "open_world"]

_NAMES: Mapping[str, Hinted] = {"destructivehint": "destructive", "openworldhint": "open_world"}
_ORDER: tuple[Hinted, ...] = ("destructive", "open_world")
_ELSEWHERE = frozenset({"name", "title", "description", "inputSchema", "outputSchema", "icons"})
"""Members in which such a name is an argument of the tool, or plain text."""
_CLUES = (b"hint", b"\\u")
_MOST = 10_000
"""So many members are looked at; a definition with more in it does not want to be read."""


def hinted(definition: Mapping[str, Raw]) -> tuple[Hinted, ...]:
    """What a definition says of its tool, each once. Takes time in proportion to its length."""
    found: set[Hinted] = set()
    for name, raw in definition.items():
        if name in _ELSEWHERE:
            continue
        known = _NAMES.get(_plain(name))
        if known is not None:
            found.update((known,) if _says_yes(decode(bytes(raw))) else ())
        elif _clue(bytes(raw)):
            found.update(_within(decode(bytes(raw))))
    return tuple(one for one in _ORDER if one in found)


def _clue(text: bytes) -> bool:
    """Whether it is worth decoding."""
    lowered = text.lower()
    return any(one in lowered for one in _CLUES)


def _within(value: Any) -> Iterator[Hinted]:
    left, seen = [value], 0
    while left:
        one = left.pop()
        members = one.items() if isinstance(one, dict) else ()
        left += one if isinstance(one, list) else ()
        for name, said in members:
            known = _NAMES.get(_plain(name))
            if known is not None and _says_yes(said):
                yield known
            left.append(said)
        seen += 1
        # Not read to its end, so it may say either.
        if seen > _MOST:
            yield from _ORDER
            return


def _plain(name: str) -> str:
    """`x.example/Destructive_Hint` as `destructivehint`."""
    last = name.rpartition("/")[2].rpartition(".")[2]
    return "".join(char for char in last if char not in "_- ").casefold()


def _says_yes(value: Any) -> bool:
    return value is not None and value is not False
