"""Scanner that locates each table header and key of a TOML text by line.

The standard library reads TOML but forgets where things stood. Since it has already proven the
text to be TOML, a scanner that only follows headers, keys, strings and brackets is enough to find
the places again. Lines end with a line feed alone here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import msgspec

__all__ = ["KeyPath", "Statement", "statements"]

KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_PART = re.compile(r"""[ \t]*("(?:[^"\\\n]|\\.)*+"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*(\.?)""")
# Possessive where it repeats (`*+`): a string without an end costs one pass, not one for each way to cut it.
_VALUE = re.compile(
    r'(?P<text>"{3}(?:[^\\"]|\\.|"{1,2}(?!"))*+"{3,5}'
    r"|'{3}(?:[^']|'{1,2}(?!'))*+'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|'[^'\n]*')"
    r"|(?P<comment>\#[^\n]*)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<end>\n)|[^\"'#\[\]{}\n]+",
    re.DOTALL,
)


class Statement(msgspec.Struct, frozen=True):
    """A header, or a key with its value."""

    path: KeyPath
    """Of what it opens or sets; elements of arrays of tables by their number."""
    first: int
    """Its first line, from 1."""
    last: int
    header: bool
    parts: int
    """How many keys were written: 2 for `a.b = 1`, whatever table that stands in."""


def statements(text: str) -> Iterator[Statement]:
    """All of them, as they stand."""
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    at, line = 0, 1
    while True:
        start = _end(_BLANK, text, at)
        line += text.count("\n", at, start)
        if start >= len(text):
            return
        header = text.startswith("[", start)
        if header:
            double = text.startswith("[[", start)
            parts, at = _key(text, start + 1 + double)
            path = table = _table(parts, double, counts)
        else:
            parts, at = _key(text, start)
            path = (*table, *parts)
        at = _skip_value(text, at)
        first, line = line, line + text.count("\n", start, at)
        last = line - 1 if text.endswith("\n", start, at) else line
        yield Statement(path, first, last, header, len(parts))


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _key(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """The parts of a dotted key and the position behind it."""
    parts: list[str] = []
    while found := _PART.match(text, at):
        parts.append(_bare(found[1]))
        at = found.end()
        if not found[2]:
            break
    return tuple(parts), at


def _bare(part: str) -> str:
    if part[0] == "'":
        return part[1:-1]
    if part[0] == '"':
        return str(tomllib.loads(f"v = {part}")["v"])
    return part


def _table(parts: tuple[str, ...], double: bool, counts: dict[KeyPath, int]) -> KeyPath:
    """The path of a header: names with the index of the array element that is open."""
    path: KeyPath = ()
    for part in parts[:-1] if double else parts:
        path = (*path, part)
        if path in counts:
            path = (*path, counts[path])
    if double:
        path = (*path, parts[-1])
        counts[path] = counts.get(path, -1) + 1
        path = (*path, counts[path])
    return path


def _skip_value(text: str, at: int) -> int:
    """The position behind the line on which the value (or header) that stands at `at` ends."""
    depth = 0
    while found := _VALUE.match(text, at):
        at = found.end()
        if found["open"]:
            depth += 1
        elif found["close"]:
            depth -= 1
        # Within brackets a value goes on behind the line end.
        elif found["end"] and depth <= 0:
            return at
    return len(text)
