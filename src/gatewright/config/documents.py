"""Parses a TOML file within size and depth limits, and records the line of every table and key."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from gatewright.config.problems import NotOfFile, Origin, Problem, SettingsError
from gatewright.config.toml_positions import KeyPath, statements
from gatewright.patterns import Pattern

__all__ = ["LONG_KEY", "MAX_BYTES", "Document", "has_long_key", "is_there", "parse", "read"]

MAX_BYTES = 1024 * 1024
"""A configuration written by hand is never longer."""

MAX_DEPTH = 64
"""Tables and lists in each other; whoever goes through a document may recurse."""

LONG_KEY = "a key of more than a hundred parts; write it as tables"

# tomllib looks every beginning of a dotted key up: 16,000 parts take seconds, and twice as many at least four times that.
_LONG_KEY = Pattern(r"""(?:(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*\.[ \t]*){100}""")


class Document(msgspec.Struct, frozen=True):
    """A parsed file. `lines` maps the path of a table or key to its line."""

    path: Path
    data: dict[str, Any]
    lines: dict[KeyPath, int]
    accepted: Mapping[str, str] | None = None
    """The files that were accepted with it: path → SHA-256 of the content in hex. None where nobody had to be asked."""

    def origin(self, path: KeyPath) -> Origin:
        """Where `path` or the first of what is in it was written, or the nearest table around it that has a line."""
        for length in range(len(path), 0, -1):
            inside = (line for at, line in self.lines.items() if at[:length] == path[:length])
            line = self.lines.get(path[:length]) or min(inside, default=None)
            if line is not None:
                return Origin(self.path, line)
        return Origin(self.path)


def is_there(path: Path, *, plain: bool = True) -> bool:
    """Whether there is such a file; with `plain`, a regular one. What cannot be looked at counts, and `read` says why it cannot: a
    folder on the way that somebody closed would else put another configuration in force."""
    try:
        mode = path.stat().st_mode
    except OSError as problem:
        return problem.errno not in (errno.ENOENT, errno.ENOTDIR)
    except ValueError:  # a NUL
        return False
    return stat.S_ISREG(mode) or not plain


def read(path: Path) -> Document:
    """Read one file. Raises `SettingsError` when it is missing, no plain file, too long, too deep or no TOML."""
    try:
        # Opened before it is judged, so that both are the same file; a pipe must not be waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise _unreadable(path, "this is not a regular file", "name a TOML file", NotOfFile)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                content = file.read(MAX_BYTES + 1)
        finally:
            os.close(descriptor)
        if len(content) > MAX_BYTES:
            size = max(found.st_size, len(content))
            raise _unreadable(path, f"the file has {size} bytes", f"keep it <= {MAX_BYTES}")
    except FileNotFoundError:
        raise _unreadable(path, "there is no such file", "check the path", NotOfFile) from None
    except OSError as problem:
        what = f"cannot be read: {problem.strerror}"
        raise _unreadable(path, what, "check the path", NotOfFile) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise SettingsError(
            [Problem(Origin(path, line), "", "this is not UTF-8", "save the file as UTF-8")]
        ) from None
    return parse(text, path)


def parse(text: str, path: Path) -> Document:
    """Read the text of one file. Raises `SettingsError` with the line where TOML ends, or where the tables are too deep."""
    # A found file is parsed by every command before anybody accepted it.
    if has_long_key(text):
        what, _, instead = LONG_KEY.partition("; ")
        raise _unreadable(path, what, instead)
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
    if _is_deeper(data, MAX_DEPTH):
        what = f"tables or lists stand in more than {MAX_DEPTH} others"
        raise _unreadable(path, what, "write them flatter: nothing of a configuration is that deep")
    # Only now: the scanner trusts that the text is TOML and not too deep.
    return Document(path, data, _lines(text.replace("\r\n", "\n")))


def has_long_key(text: str) -> bool:
    """Whether a TOML text has a dotted key of more than a hundred parts, however they are quoted: the parser's time grows with
    the square of them, and what it gives nests as deep."""
    return _LONG_KEY.search(text) is not None


def _is_deeper(value: Any, most: int) -> bool:
    """Whether values stand in more than `most` tables and lists; found without recursion."""
    level = [value]
    for _ in range(most + 1):
        inner = [one.values() if isinstance(one, dict) else one for one in level]
        level = [one for ones in inner for one in ones if isinstance(one, dict | list)]
        if not level:
            return False
    return True


_SYNTAX = 'keys are written `key = "text"`, tables `[name]`, servers `[[servers]]`'


def _unreadable(
    path: Path, what: str, instead: str, kind: type[SettingsError] = SettingsError
) -> SettingsError:
    return kind([Problem(Origin(path), "", what, instead)])


def _lines(text: str) -> dict[KeyPath, int]:
    """Path → line of every header and every key; the first mention of a table counts."""
    found: dict[KeyPath, int] = {}
    for one in statements(text):
        found.setdefault(one.path, one.first)
    return found
