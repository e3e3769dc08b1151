"""`open_value`: where a value starts that the next chunk may show to be a secret, as it is unclosed or its name may follow it."""

from __future__ import annotations

from collections.abc import Iterator

from gatewright.secret_scanning.context import NAMED, VALUE_MOST, is_named
from gatewright.secret_scanning.patterns import Pattern, Run

__all__ = ["VALUE", "VALUE_NEAR", "open_value"]

VALUE_NEAR = 256
"""Bytes before a value in which its name is."""
VALUE = r"(?i:value)[\\\"'`]{0,8}[\s\x0b]{0,8}[:=][\s\x0b]{0,8}"
_VALUE = Pattern(VALUE, bounded=True)
_NAMED_WITHIN = 256
"""So soon behind a value that has its name behind it."""
_QUOTE = Pattern(r"\\*[\"'`]")
_BARE = Pattern(r"[^\s\x0b\"'`,;&<>)}\]\\]+")
_WORDS_MOST = 6
"""Blanks in a secret at most (`may_be_secret`)."""


def open_value(text: bytes, begun: int, *, named: bool) -> int:
    """Where the first such value begins of a text of which all before `begun` has gone; the end of the text where there is none.
    `named` is whether there is anything that hints at a secret."""
    at = len(text)
    if named:
        at = next(_named(text, max(0, begun - VALUE_NEAR)), at)
    return min(at, next(_to_be_named(text, max(0, begun - VALUE_NEAR)), at))


def _named(text: bytes, from_: int) -> Iterator[int]:
    """Those that are named as secrets and have no end yet."""
    at = from_
    while (parts := NAMED.after(text, at)) is not None:
        at = max(parts[0][1], at + 1)
        if is_named(text, *parts[1]) and _quoted_end(text, at) == -1:
            yield at


def _to_be_named(text: bytes, from_: int) -> Iterator[int]:
    """Those called `value` alone that have no end yet, or have ended just now."""
    # Such a name may be repeated inside a value, so no run is measured twice.
    bare = Run(_BARE, text)
    while (spans := _VALUE.after(text, from_)) is not None:
        begins, at = spans[0]
        from_ = at
        end = _quoted_end(text, at)
        if end is None:
            end = bare.end(at)
        if end < 0 or len(text) - end < _NAMED_WITHIN:
            yield begins


def _quoted_end(text: bytes, at: int) -> int | None:
    """Where a value in quotes ends that begins at `at`; -1 where it goes on in what is still to come, as far as one is read, and
    None where there are no quotes."""
    start = _QUOTE.end_at(text, at)
    if start == at:
        return None
    closing = text[at:start]
    most = start + VALUE_MOST + len(closing)
    end = text.find(closing, start, most)
    if end < 0 and len(text) < most and text[start:].strip().count(b" ") <= _WORDS_MOST:
        return -1
    return start if end < 0 else end
