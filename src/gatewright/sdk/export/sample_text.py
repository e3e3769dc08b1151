"""Generates sample strings for a JSON Schema's pattern, format and length.

The pattern is read by Python's own parser of regular expressions and walked once: each repeat as often as needed to
reach the shortest length, each set by its first member. What a walk cannot keep (look-around, anchors in the middle)
is left to whoever checks the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["texts"]

_FORMATS: dict[str, tuple[str, ...]] = {
    "date-time": ("2026-01-15T09:30:00Z", "2026-02-01T00:00:00Z"),
    "date": ("2026-01-15", "2026-02-01"),
    "time": ("09:30:00Z", "18:00:00Z"),
    "duration": ("PT1H", "P1D"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "00000000-0000-4000-8000-000000000001"),
    "email": ("ada@example.com", "alan@example.org"),
    "uri": ("https://example.com/", "https://example.org/a"),
    "hostname": ("example.com", "example.org"),
    "ipv4": ("192.0.2.1", "198.51.100.7"),
    "ipv6": ("2001:db8::1", "2001:db8::2"),
    "path": ("notes.txt", "docs/readme.md"),
}
_WORDS = ("text", "another text", "a", "example")
_MORE = 40
_LONGEST = 10_000
"""Characters, and parts of a pattern that one walk goes through."""
_WIDEST = 0x250
"""Of a range so many characters are looked at, which is all of ASCII and Latin."""
_ALPHABETS = {
    "CATEGORY_DIGIT": "1234567890",
    "CATEGORY_WORD": "abcdeABC1_",
    "CATEGORY_SPACE": " \t",
    "CATEGORY_NOT_DIGIT": "abc",
    "CATEGORY_NOT_WORD": " -",
    "CATEGORY_NOT_SPACE": "abc",
}
_PRINTABLE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. !#"


def texts(schema: Mapping[str, Any]) -> Iterator[str]:
    """Candidates for a string schema, at most a few dozen."""
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if least > _LONGEST:
        return
    candidates: Iterator[str]
    if "pattern" in schema:
        candidates = _matching(str(schema["pattern"]))
    elif schema.get("contentEncoding") == "base64":
        candidates = iter(("aGVsbG8=", "d29ybGQ="))
    else:
        candidates = iter(_FORMATS.get(schema.get("format", ""), ()) or _fitted(least, most))
    for one in candidates:
        if least <= len(one) and (most is None or len(one) <= most):
            yield one


def _fitted(least: int, most: int | None) -> Iterator[str]:
    for word in _WORDS:
        long = (word * (least // len(word) + 1)) if len(word) < least else word
        yield long[: max(least, len(word)) if most is None else most]


def _matching(pattern: str) -> Iterator[str]:
    from gatewright.schemas.graph import UnusableSchema
    from gatewright.schemas.schema import compile_schema

    try:
        # In bounded time, which `re` does not promise.
        fits = compile_schema({"pattern": pattern}).objection
        # RE2 gives no syntax tree. The pattern is that of a tool whose document is asked for.
        parsed = re._parser.parse(pattern)  # type: ignore[attr-defined]
    except (UnusableSchema, re.error, RecursionError, OverflowError):
        return
    seen: set[str] = set()
    for more in range(_MORE):
        for pick in range(3):
            try:
                made = _Walk(more, pick).text(parsed)
            except _TooLongError:
                return
            if made not in seen and fits(made) is None:
                seen.add(made)
                yield made


class _TooLongError(Exception):
    """The text would be longer than is made."""


class _Walk:
    """One walk: `more` repeats beyond the least where that is allowed, and the `pick`-th member of a set."""

    def __init__(self, more: int, pick: int) -> None:
        self._more = more
        self._pick = pick
        self._left = _LONGEST
        self._groups: dict[int, str] = {}

    def text(self, nodes: Sequence[tuple[Any, Any]]) -> str:
        """The text of a sequence."""
        return "".join(self._node(str(kind), value) for kind, value in nodes)

    def _node(self, kind: str, value: Any) -> str:
        self._left -= 1
        if self._left < 0:
            raise _TooLongError
        if kind == "LITERAL":
            return chr(value)
        if kind == "NOT_LITERAL":
            return next(one for one in _PRINTABLE if ord(one) != value)
        if kind == "ANY":
            return _PRINTABLE[self._pick]
        if kind == "IN":
            return self._member(value)
        if kind in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            return self._repeated(*value)
        if kind == "BRANCH":
            options = value[1]
            return self.text(options[self._pick % len(options)])
        return self._group(kind, value)

    def _group(self, kind: str, value: Any) -> str:
        if kind == "SUBPATTERN":
            made = self.text(value[3])
            if value[0] is not None:
                self._groups[value[0]] = made
            return made
        if kind == "ATOMIC_GROUP":
            return self.text(value)
        if kind == "GROUPREF":
            return self._groups.get(value, "")
        return ""  # anchors and look-around match no text of their own

    def _repeated(self, least: int, most: Any, inner: Sequence[tuple[Any, Any]]) -> str:
        count = least + self._more
        if isinstance(most, int):
            count = min(count, int(most))
        count = min(count, least + _MORE)
        if count > self._left:
            raise _TooLongError
        return "".join(self.text(inner) for _ in range(count))

    def _member(self, members: Sequence[tuple[Any, Any]]) -> str:
        negated = bool(members) and str(members[0][0]) == "NEGATE"
        known = "".join(_characters(str(kind), value) for kind, value in members)
        if negated:
            known = "".join(one for one in _PRINTABLE if one not in known) or "§"
        return known[self._pick % len(known)] if known else ""


def _characters(kind: str, value: Any) -> str:
    if kind == "LITERAL":
        return chr(value)
    if kind == "RANGE":
        low, high = value
        return "".join(map(chr, range(low, min(high, low + _WIDEST) + 1)))
    return _ALPHABETS.get(str(value), "")
