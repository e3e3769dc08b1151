"""Redacts secrets in JSON text, judging strings alone and by member name; all other bytes and handles (`nextCursor`, `taskId`) stay.

The text is scanned as it came. Only where that finds something worth a look, the strings around it are decoded and
judged, alone and as members (a `password` member needs no pattern in its value). Numbers, structure, spaces and
the order of members are never touched, so types stay as they were. Handles that a client must give
back as they came are left alone where the protocol puts them, unless a value stands in them that is known to be a secret.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import accumulate

import msgspec

from gatewright.secret_scanning.context import is_paired, of_member
from gatewright.secret_scanning.findings import apart
from gatewright.secret_scanning.json_string_spans import json_strings
from gatewright.secret_scanning.scanner import Scanner

__all__ = ["Mark", "redacted_json", "suspected_json"]

Mark = Callable[[str, bytes], bytes]
"""(rule, secret) → what stands in its place; printable ASCII without quotes and backslashes."""

_COLON, _LIST, _COMMA = b":", b":[", b","
_BLANK = b" \t\r\n"
_HANDLES = frozenset(
    {b"nextCursor", b"requestState", b"progressToken", b"cursor", b"taskId", b"relatedRequestId"}
)

_VALUES = frozenset({"value", "defaultvalue", "stringvalue"})
_NAME_MOST = 128
_NO_BRACKET = bytes(set(range(256)) - set(b"{}[]"))
_BESIDE = 16
"""Within so many strings behind a name, and before it, its value is looked for."""
_MIRRORED = bytes.maketrans(b"{}[]", b"}{][")

Token = tuple[int, int]


def redacted_json(raw: bytes, scanner: Scanner, mark: Mark) -> tuple[bytes, list[str]]:
    """The text with what was found replaced, and the rule of each; `raw` itself where there is nothing.

    `raw` must be JSON. Of text that is none the strings are still found as far as it can be read.
    """
    return suspected_json(raw, scanner, mark) if scanner.worth_a_look(raw) else (raw, [])


def suspected_json(raw: bytes, scanner: Scanner, mark: Mark) -> tuple[bytes, list[str]]:
    """The same of a text that is known to be worth a look."""
    return _Text(raw, scanner, mark).redacted()


class _Text:
    """One JSON text while it is looked through."""

    def __init__(self, raw: bytes, scanner: Scanner, mark: Mark) -> None:
        self._raw = raw
        self._gaps: dict[tuple[int, bool], tuple[int, int]] = {}
        self._scanner = scanner
        self._mark = mark
        self._tokens = json_strings(raw)
        self._starts = [start for start, _ in self._tokens]
        self._new: dict[int, bytes] = {}
        self._rules: list[str] = []

    def redacted(self) -> tuple[bytes, list[str]]:
        for at in self._marked():
            self._judge(at)
        if not self._new:
            return self._raw, []
        pieces: list[bytes] = []
        done = 0
        for at in sorted(self._new):
            start, end = self._tokens[at]
            pieces += (self._raw[done:start], self._new[at])
            done = end
        return b"".join((*pieces, self._raw[done:])), self._rules

    def _marked(self) -> Iterator[int]:
        """The numbers of the strings in which something is worth a look, in order."""
        at, size, after = 0, len(self._raw), self._scanner.hinting(self._raw)
        while (spans := after(at))[0] < size:
            start, end = spans
            first = max(0, bisect_right(self._starts, start) - 1)
            last = bisect_right(self._starts, end - 1)
            yield from (one for one in range(first, last) if self._tokens[one][1] > start)
            # Behind the strings that were given out: each is judged once.
            at = max(end, self._tokens[last - 1][1] if last else 0)

    def _judge(self, at: int) -> None:
        if at in self._new or self._stays(at):
            return
        name = self._is_name(at)
        if name:
            self._members(at)
        elif at and self._is_name(at - 1) and is_paired(self._said(at - 1)):
            self._paired(at)
        if not name and self._scanner.has_own and at and (before := self._name_before(at)):
            self._by_rules(before, self._said(at), at)
        else:
            self._replace(at, name=name)

    def _name_before(self, at: int) -> str:
        """The name of the member of which this is the value, or stands in its list within some others; empty where there is none."""
        for before in range(at - 1, max(at - 1 - _BESIDE, -1), -1):
            if self._is_next(_COLON, before) or self._is_next(_LIST, before):
                return self._said(before)
            if not self._is_next(_COMMA, before):
                break
        return ""

    def _members(self, at: int) -> None:
        """Judge what stands behind the member's name: a string, or a list of strings."""
        name = self._said(at)
        if self._is_next(_COLON, at):
            self._member(name, at + 1)
        elif self._is_next(_LIST, at):
            at += 1
            self._member(name, at)
            while self._is_next(_COMMA, at):
                at += 1
                self._member(name, at)

    def _paired(self, at: int) -> None:
        """Judge `value` in an object of `name` and `value`, in whatever order, between which there may be others, such as a type."""
        after = range(at + 1, min(at + 1 + _BESIDE, len(self._tokens)))
        before = range(at - 1, max(at - 1 - _BESIDE, -1), -1)
        for near in (after, before):
            found = self._value_among(near)
            if found is not None:
                self._member(self._said(at), found)

    def _value_among(self, near: range) -> int | None:
        """The value of the first member `value` among these strings, which lead away from one in the same object."""
        depth = 0
        for beside in near:
            lowest, by = self._gap(min(beside, beside - near.step), near.step < 0)
            if depth + lowest < 0:  # another object
                return None
            depth += by
            if not depth and self._is_next(_COLON, beside) and self._is_value(beside):
                return beside + 1
        return None

    def _gap(self, at: int, backwards: bool) -> tuple[int, int]:
        """How far what stands between a string and the next one closes what was open before it, and how much deeper it leads. Found
        out once: many names may stand beside one gap."""
        found = self._gaps.get((at, backwards))
        if found is None:
            between = self._raw[self._tokens[at][1] : self._tokens[at + 1][0]]
            if backwards:
                # Read backwards a bracket that closes is one that opens.
                between = between[::-1].translate(_MIRRORED)
            found = self._gaps[at, backwards] = _lowest(between), _depth(between)
        return found

    def _is_value(self, at: int) -> bool:
        start, end = self._tokens[at]
        return end - start < _NAME_MOST and self._said(at).lower() in _VALUES

    def _member(self, name: str, at: int) -> None:
        if at in self._new or self._stays(at):
            return
        value = self._said(at)
        found = of_member(name, value)
        if found is None:
            self._by_rules(name, value, at)
            return
        begin, rule = found
        said = value.encode()
        self._put(at, said[:begin] + self._mark(rule, said[begin:]), [rule])

    def _by_rules(self, name: str, value: str, at: int) -> None:
        """Replace what is found in a value, by itself and with its name before it."""
        beside = self._scanner.of_member(name, value)
        if not beside:
            self._replace(at)
            return
        text = value.encode()
        found = apart(text, [*self._scanner.find(text), *beside])
        self._put(
            at, self._scanner.replaced_at(text, found, self._mark), [rule for _, _, rule in found]
        )

    def _replace(self, at: int, *, name: bool = False) -> None:
        text, rules = self._scanner.replaced(self._said(at).encode(), self._mark, name=name)
        if rules:
            self._put(at, text, rules)

    def _put(self, at: int, text: bytes, rules: list[str]) -> None:
        self._new[at] = msgspec.json.encode(text.decode())
        self._rules += rules

    def _said(self, at: int) -> str:
        """The text of a string. One that is no Unicode is taken as it is written."""
        start, end = self._tokens[at]
        written = self._raw[start:end]
        if b"\\" in written:
            try:
                said: str = msgspec.json.decode(written, type=str)
            except (msgspec.DecodeError, UnicodeDecodeError):
                pass
            else:
                return said
        return written[1:-1].decode("utf-8", "replace")

    def _is_name(self, at: int) -> bool:
        """Whether a colon stands behind this string."""
        end = self._tokens[at][1]
        sign = self._raw[end : end + 1]
        # Compact JSON has the colon right here.
        if sign in _BLANK:
            last = self._starts[at + 1] if at + 1 < len(self._starts) else len(self._raw)
            sign = self._raw[end:last].lstrip(_BLANK)[:1]
        return sign == _COLON

    def _is_next(self, sign: bytes, at: int) -> bool:
        """Whether between a string and the next one there is this sign, and nothing else."""
        if at + 1 >= len(self._tokens):
            return False
        between = self._raw[self._tokens[at][1] : self._starts[at + 1]]
        return between == sign or between.translate(None, _BLANK) == sign

    def _stays(self, at: int) -> bool:
        """Whether this is a handle that has to arrive as it is. One in which a secret of ours stands is no handle of anybody's."""
        return self._is_handle(at) and not self._scanner.holds(self._said(at).encode())

    def _is_handle(self, at: int) -> bool:
        """Whether this is the value of a handle, at the top of the text."""
        if not at or not self._is_next(_COLON, at - 1):
            return False
        start, end = self._tokens[at - 1]
        # Compared as written: a name with an escape in it is no handle, and is cleaned.
        if self._raw[start + 1 : end - 1] not in _HANDLES:
            return False
        return self._depths[at - 1] == 1

    @cached_property
    def _depths(self) -> list[int]:
        """How deep each string stands."""
        done = [0, *(end for _, end in self._tokens)]
        between = (self._raw[last:start] for last, start in zip(done, self._starts, strict=False))
        return list(accumulate(map(_depth, between)))


def _lowest(between: bytes) -> int:
    """How far what stands between two strings closes what was open before it; 0 where it does not."""
    lowest = depth = 0
    for sign in between.translate(None, _NO_BRACKET):
        if sign in b"{[":
            depth += 1
        elif sign in b"}]":
            depth -= 1
            lowest = min(lowest, depth)
    return lowest


def _depth(between: bytes) -> int:
    opened = between.count(b"{") + between.count(b"[")
    return opened - between.count(b"}") - between.count(b"]")
