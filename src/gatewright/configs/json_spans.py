"""JSON with comments and trailing commas, read into values that know where they stand in the text.

JSON libraries give values and forget the text, and what writes them again writes another text. An edit
that keeps everything else needs positions: where a member begins, where its value ends, and whether
a comma follows. The grammar is JSON's (RFC 8259) plus `//` and `/* */` comments and one comma after
the last member or item, as the editors that use such files read them.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from gatewright.configs.problems import Unreadable

__all__ = ["Member", "Node", "plain", "scan", "skip"]

MAX_DEPTH = 200

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(
    r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
    r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
    r"|true|false|null"
)
_DIGITS = re.compile(r"-?[0-9]{4000,}")


class Node(msgspec.Struct):
    """One value: `text[start:end]`. Of `scalar`, `members` and `items` one says what it is."""

    start: int
    end: int = 0
    scalar: Any = None
    members: list[Member] | None = None
    items: list[Node] | None = None

    def find(self, key: str) -> Member | None:
        """The member of that key; the last one, as readers take it."""
        return next((one for one in reversed(self.members or []) if one.key == key), None)


class Member(msgspec.Struct):
    """One `key: value` of an object. `comma` is where the comma after it stands, or -1."""

    key: str
    start: int
    value: Node
    comma: int = -1


def scan(text: str) -> Node | None:
    """The value that the text holds; None for a text of nothing but space and comments.

    Raises `Unreadable` with the line.
    """
    start = skip(text, 1 if text.startswith("\ufeff") else 0)
    if start == len(text):
        return None
    node = _value(text, start, 0)
    rest = skip(text, node.end)
    if rest < len(text):
        raise _wrong(text, rest, "the end of the file")
    return node


def plain(node: Node | None) -> Any:
    """The value itself, without positions."""
    if node is None:
        return None
    if node.members is not None:
        return {member.key: plain(member.value) for member in node.members}
    if node.items is not None:
        return [plain(item) for item in node.items]
    return node.scalar


def skip(text: str, at: int) -> int:
    """The first position from `at` on that is neither space nor comment."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels", _line(text, at))
    opening = text[at : at + 1]
    if opening == "{":
        return _object(text, at, depth)
    if opening == "[":
        return _array(text, at, depth)
    found = _SCALAR.match(text, at)
    if found is None:
        raise _wrong(text, at, "a value")
    return Node(at, found.end(), scalar=_decoded(found[0]))


def _decoded(token: str) -> Any:
    # Python refuses to turn very long digits into a number; compared as text they serve as well.
    return token if _DIGITS.match(token) else json.loads(token)


def _object(text: str, start: int, depth: int) -> Node:
    node = Node(start, members=[])
    members: list[Member] = []
    at = skip(text, start + 1)
    while text[at : at + 1] != "}":
        member = _member(text, at, depth)
        members.append(member)
        at = skip(text, member.value.end)
        if text[at : at + 1] == ",":
            member.comma = at
            at = skip(text, at + 1)
        elif text[at : at + 1] != "}":
            raise _wrong(text, at, "`,` or `}`")
    node.members, node.end = members, at + 1
    return node


def _member(text: str, at: int, depth: int) -> Member:
    found = _SCALAR.match(text, at) if text[at : at + 1] == '"' else None
    if found is None:
        raise _wrong(text, at, "a key in double quotes")
    colon = skip(text, found.end())
    if text[colon : colon + 1] != ":":
        raise _wrong(text, colon, "`:`")
    return Member(json.loads(found[0]), at, _value(text, skip(text, colon + 1), depth + 1))


def _array(text: str, start: int, depth: int) -> Node:
    node = Node(start, items=[])
    items: list[Node] = []
    at = skip(text, start + 1)
    while text[at : at + 1] != "]":
        items.append(_value(text, at, depth + 1))
        at = skip(text, items[-1].end)
        if text[at : at + 1] == ",":
            at = skip(text, at + 1)
        elif text[at : at + 1] != "]":
            raise _wrong(text, at, "`,` or `]`")
    node.items, node.end = items, at + 1
    return node


def _wrong(text: str, at: int, expected: str) -> Unreadable:
    found = "the end of the file" if at >= len(text) else repr(text[at])
    if expected == found:
        found = "something else"
    return Unreadable(f"expected {expected}, found {found}", _line(text, at))


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
