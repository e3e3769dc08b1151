"""One TOML file as data, with the line of every key.

The standard library reads TOML but forgets where things stood. Since it has already proven the
text to be TOML, a scanner that only follows headers, keys, strings and brackets is enough to find
the lines again; what it cannot place gets the line of its table.
"""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gatewright.settings.problems import Origin, Problem, SettingsError

__all__ = ["MAX_BYTES", "Document", "KeyPath", "parse", "read"]

MAX_BYTES = 1024 * 1024
"""A configuration written by hand is never longer."""

KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_PART = re.compile(r"""[ \t]*("(?:[^"\\\n]|\\.)*+"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*(\.?)""")
_VALUE = re.compile(
    r'(?P<text>"{3}(?:[^\\"]|\\.|"{1,2}(?!"))*+"{3,5}'
    r"|'{3}(?:[^']|'{1,2}(?!'))*+'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|'[^'\n]*')"
    r"|(?P<comment>\#[^\n]*)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<end>\n)|[^\"'#\[\]{}\n]+",
    re.DOTALL,
)


class Document(msgspec.Struct, frozen=True):
    """A parsed file. `lines` maps the path of a table or key to its line."""

    path: Path
    data: dict[str, Any]
    lines: dict[KeyPath, int]

    def origin(self, path: KeyPath) -> Origin:
        """Where `path` was written, or the nearest table around it that has a line."""
        for length in range(len(path), 0, -1):
            line = self.lines.get(path[:length])
            if line is not None:
                return Origin(self.path, line)
        return Origin(self.path)


def read(path: Path) -> Document:
    """Read one file. Raises `SettingsError` when it is missing, no plain file, too long or no TOML."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise _unreadable(path, "this is not a regular file", "name a TOML file")
        if found.st_size > MAX_BYTES:
            raise _unreadable(
                path, f"the file has {found.st_size} bytes", f"keep it <= {MAX_BYTES}"
            )
        content = path.read_bytes()
    except FileNotFoundError:
        raise _unreadable(path, "there is no such file", "check the path") from None
    except OSError as problem:
        raise _unreadable(path, f"cannot be read: {problem.strerror}", "check the path") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise SettingsError(
            [Problem(Origin(path, line), "", "this is not UTF-8", "save the file as UTF-8")]
        ) from None
    return parse(text, path)


def parse(text: str, path: Path) -> Document:
    """Read the text of one file. Raises `SettingsError` with the line where TOML ends."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        line = re.search(r"at line (\d+)", str(problem))
        at = Origin(path, int(line[1]) if line else text.count("\n") + 1)
        raise SettingsError([Problem(at, "", f"not TOML: {problem}", _SYNTAX)]) from None
    except (RecursionError, ValueError) as problem:
        # A number with thousands of digits, or a value nested thousands deep.
        what = "nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise _unreadable(path, f"not usable as TOML: {what}", _SYNTAX) from None
    return Document(path, data, dict(_lines(text.replace("\r\n", "\n"))))


_SYNTAX = 'keys are written `key = "text"`, tables `[name]`, servers `[[servers]]`'


def _unreadable(path: Path, what: str, instead: str) -> SettingsError:
    return SettingsError([Problem(Origin(path), "", what, instead)])


def _lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """(path, line) of every header and every key; the first mention of a table counts."""
    counts: dict[KeyPath, int] = {}
    seen: set[KeyPath] = set()
    table: KeyPath = ()
    at, line = 0, 1
    while True:
        start = _end(_BLANK, text, at)
        line += text.count("\n", at, start)
        if start >= len(text):
            return
        if text.startswith("[", start):
            double = text.startswith("[[", start)
            parts, at = _key(text, start + 1 + double)
            table = _table(parts, double, counts)
            path = table
        else:
            parts, at = _key(text, start)
            path = (*table, *parts)
        if path not in seen:
            seen.add(path)
            yield path, line
        at = _skip_value(text, at)
        line += text.count("\n", start, at)


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
        elif found["end"] and depth <= 0:
            return at
    return len(text)
