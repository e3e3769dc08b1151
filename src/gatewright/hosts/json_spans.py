"""Parser for JSON with comments and trailing commas whose nodes carry their positions in the text.

JSON libraries give values and forget the text, and what writes them again writes another text. An edit
that keeps everything else needs positions: where a member begins, where its value ends, and whether
a comma follows. The grammar is JSON's (RFC 8259) plus `//` and `/* */` comments and one comma after
the last member or item, as the editors that use such files read them.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from gatewright.hosts.whole_file import Unreadable
from gatewright.patterns import Pattern

__all__ = ["Member", "Node", "plain", "scan", "skip"]

# Three frames a level (`_value`, `_object`, `_member`): well below the 1,000 that Python allows.
MAX_DEPTH = 200

_SPACES = " \t\r\n"
_PIECE = 256
_PLAIN = Pattern(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = Pattern(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NUMBER_SIGNS = "+-.0123456789eE"
_WORDS = ("true", "false", "null")
# Below the 4,300 digits at which `int()` refuses a text.
_MOST_DIGITS = 4000


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
    while True:
        if text[at : at + 1] in _SPACES and at < len(text):
            at += 1
        elif text.startswith("//", at):
            at = _line_end(text, at)
        elif text.startswith("/*", at) and (closed := text.find("*/", at + 2)) >= 0:
            at = closed + 2
        else:
            return at


def _line_end(text: str, at: int) -> int:
    """Where the line of a place ends, by `\\n` or `\\r`. Looked for a piece at a time: a text may have none of one of them, and
    would be read to its end for each comment."""
    while at < len(text):
        ends = [text.find(sign, at, at + _PIECE) for sign in "\n\r"]
        if found := [end for end in ends if end >= 0]:
            return min(found)
        at += _PIECE
    return len(text)


def _scalar(text: str, at: int) -> str | None:
    """The string, number or word that stands at a place."""
    if text.startswith('"', at):
        end = _string_end(text, at)
        token = text[at:end]
        return token if end and _PLAIN.fits(token) else None
    word = next((one for one in _WORDS if text.startswith(one, at)), None)
    if word is not None:
        return word
    end = at
    while end < len(text) and text[end] in _NUMBER_SIGNS:
        end += 1
    # Sliced first: a `Pattern` reads its text from the beginning, for each number anew.
    found = _NUMBER.match(text[at:end])
    return None if found is None else found[0]


def _string_end(text: str, at: int) -> int:
    """Behind the quote that closes the string at a place; 0 where none does. No character is passed twice."""
    quote = escape = at
    while True:
        at += 1
        if quote < at:
            quote = text.find('"', at)
        if quote < 0:
            return 0
        escape = text.find("\\", at, quote)
        if escape < 0:
            return quote + 1
        at = escape + 1


def _value(text: str, at: int, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels", _line(text, at))
    opening = text[at : at + 1]
    if opening == "{":
        return _object(text, at, depth)
    if opening == "[":
        return _array(text, at, depth)
    found = _scalar(text, at)
    if found is None:
        raise _wrong(text, at, "a value")
    return Node(at, at + len(found), scalar=_decoded(found))


def _decoded(token: str) -> Any:
    # Python refuses to turn very long digits into a number; compared as text they serve as well.
    digits = token.removeprefix("-")[:_MOST_DIGITS]
    return token if len(digits) == _MOST_DIGITS and digits.isdigit() else json.loads(token)


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
    found = _scalar(text, at) if text[at : at + 1] == '"' else None
    if found is None:
        raise _wrong(text, at, "a key in double quotes")
    colon = skip(text, at + len(found))
    if text[colon : colon + 1] != ":":
        raise _wrong(text, colon, "`:`")
    return Member(json.loads(found), at, _value(text, skip(text, colon + 1), depth + 1))


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
