"""`Draft`: edits TOML text in memory, keeping comments and layout; refuses a change whose resulting data is not as stated.

Libraries that keep comments still move tables and what stands between them. So a change touches the
lines of one statement or adds lines of its own, and each change states what the data must be
afterwards: a text that reads otherwise is refused, never written.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import tomlkit
from tomlkit.items import Array

from gatewright.config.problems import Origin, Problem, SettingsError
from gatewright.config.toml_positions import KeyPath, Statement, statements

__all__ = ["Draft"]

_BY_HAND = "change it in an editor: it is written in a way that this command cannot keep"


class Draft:
    """The text of one file. Lines end with a line feed alone; `path` is for messages."""

    def __init__(self, text: str, path: Path) -> None:
        self.text = text
        self.path = path

    @property
    def data(self) -> dict[str, Any]:
        """What the text says."""
        return tomllib.loads(self.text)

    def line(self, path: KeyPath) -> int:
        """The line of what `path` names, 0 where it has none."""
        return next((one.first for one in statements(self.text) if one.path == path), 0)

    def append(self, name: str, table: Mapping[str, Any], note: str = "") -> None:
        """One more `[[name]]` at the end, after a comment. Raises `SettingsError`."""
        data = self.data
        # `servers = [{…}]` is one statement, and TOML lets no `[[servers]]` follow it.
        data[name] = [*self._elements(data, name), _plain(table)]
        inline = self._statement((name,))
        if inline is not None:
            self._rewrite(inline, lambda held: held[name].append(_inline(table)), data)
            return
        before = self.text.rstrip("\n")
        gap = "\n\n" if before else ""
        self._become(f"{before}{gap}{_rendered(name, table, note)}", (name,), data)

    def remove(self, name: str, number: int) -> None:
        """Take an element of `[[name]]` out, with the comments that stand at its lines. Raises
        `SettingsError`."""
        data = self.data
        del self._elements(data, name)[number]
        inline = self._statement((name,))
        if inline is not None:
            self._rewrite(inline, lambda held: held[name].pop(number), data)
            return
        lines = self.text.split("\n")
        # From the end, so that the numbers of the lines before stay right.
        for first, last in reversed(self._runs((name, number))):
            del lines[first - 1 : last]
            # Of two blank lines that meet now, one goes.
            while 0 < first - 1 < len(lines) and not (lines[first - 2] + lines[first - 1]).strip():
                del lines[first - 1]
        text = "\n".join(lines).strip("\n")
        self._become(text + "\n" if text else "", (name, number), data)

    def replace(self, name: str, number: int, table: Mapping[str, Any], note: str = "") -> None:
        """Another table where an element of `[[name]]` stands. Raises `SettingsError`."""
        data = self.data
        self._elements(data, name)[number] = _plain(table)
        inline = self._statement((name,))
        if inline is not None:
            self._rewrite(inline, _setting((name, number), _inline(table)), data)
            return
        runs = self._runs((name, number))
        lines = self.text.split("\n")
        for first, last in reversed(runs[1:]):
            del lines[first - 1 : last]
        first, last = runs[0]
        lines[first - 1 : last] = _rendered(name, table, note).rstrip("\n").split("\n")
        self._become("\n".join(lines), (name, number), data)

    def put(self, path: KeyPath, value: Any) -> None:
        """The value of a key, be it there or not; tables around it are made. Raises `SettingsError`."""
        data = self.data
        try:
            _assign(data, path, value)
        except (KeyError, IndexError, TypeError, AttributeError):
            raise self._refused(path) from None
        if data == self.data:
            return
        found = list(statements(self.text))
        for length in range(len(path), 0, -1):
            for one in found:
                if not one.header and one.path == path[:length]:
                    inside = path[length - one.parts :]
                    self._rewrite(one, _setting(inside, value), data)
                    return
        self._insert(found, path, value, data)

    # -- lines

    def _insert(
        self, found: Sequence[Statement], path: KeyPath, value: Any, data: dict[str, Any]
    ) -> None:
        """A key that no statement has yet: under its header, beside its dotted kin, or in a table
        of its own behind the last line of the table around it."""
        lines = self.text.split("\n")
        section = next((one for one in found if one.header and one.path == path[:-1]), None)
        if section is not None:
            last = _last_of_section(found, section)
            lines[last.last : last.last] = [_indent(lines, last) + _line(path[-1:], value)]
        elif kin := [one for one in found if _is_kin(one, path)]:
            last = kin[-1]
            dotted = path[len(last.path) - last.parts :]
            lines[last.last : last.last] = [_indent(lines, last) + _line(dotted, value)]
        else:
            # Within its element: behind the next `[[name]]` the table would belong to that one.
            around = [one for one in found if one.path[:2] == path[:2]] if len(path) > 2 else found
            at = around[-1].last if around else len(lines)
            header = "[" + _dotted([key for key in path[:-1] if isinstance(key, str)]) + "]"
            gap = [""] if at else []
            lines[at:at] = [*gap, header, _line(path[-1:], value)]
            lines = lines if lines[-1] == "" else [*lines, ""]
        self._become("\n".join(lines), path, data)

    def _elements(self, data: dict[str, Any], name: str) -> list[Any]:
        found = data.get(name, [])
        if not isinstance(found, list):
            raise self._refused((name,))
        return found

    def _statement(self, path: KeyPath) -> Statement | None:
        """The statement that sets exactly this, as a value."""
        return next((s for s in statements(self.text) if s.path == path and not s.header), None)

    def _runs(self, path: KeyPath) -> list[tuple[int, int]]:
        """(first line, last line) of everything that belongs to an element, comments included: those
        right above a header of it and right below its last line, unless they touch what follows."""
        lines = self.text.split("\n")
        found = list(statements(self.text))
        runs: list[tuple[int, int]] = []
        for one in found:
            if one.path[: len(path)] != path:
                continue
            # Statements with only blank lines and comments between them are one run.
            joined = bool(runs) and not any(
                runs[-1][1] < other.first < one.first for other in found
            )
            runs[-1:] = [(runs[-1][0], one.last)] if joined else [*runs[-1:], (one.first, one.last)]
        return [_with_comments(lines, first, last) for first, last in runs]

    def _rewrite(
        self, one: Statement, change: Callable[[Any], object], wanted: dict[str, Any]
    ) -> None:
        """Change one statement by itself; tomlkit keeps the comments inside it."""
        lines = self.text.split("\n")
        held = tomlkit.parse("\n".join(lines[one.first - 1 : one.last]))
        try:
            change(held)
        except (KeyError, IndexError, TypeError, AttributeError, tomlkit.exceptions.TOMLKitError):
            raise self._refused(one.path) from None
        lines[one.first - 1 : one.last] = tomlkit.dumps(held).rstrip("\n").split("\n")
        self._become("\n".join(lines), one.path, wanted)

    def _become(self, text: str, path: KeyPath, wanted: dict[str, Any]) -> None:
        try:
            # The proof (decision 0014): the text reads as the change was stated, or it is refused.
            same = _without_empty(tomllib.loads(text)) == _without_empty(wanted)
        except tomllib.TOMLDecodeError:
            same = False
        if not same:
            raise self._refused(path)
        self.text = text

    def _refused(self, path: KeyPath) -> SettingsError:
        key = ".".join(map(str, path))
        what = "this cannot be changed without touching the rest"
        near = (self.line(path[:length]) for length in range(len(path), 0, -1))
        at = Origin(self.path, next((line for line in near if line), 0))
        return SettingsError([Problem(at, key, what, _BY_HAND)])


def _without_empty(data: dict[str, Any]) -> dict[str, Any]:
    """An array of tables without a table is not written."""
    return {key: value for key, value in data.items() if value != []}


def _assign(data: Any, path: KeyPath, value: Any) -> None:
    for key in path[:-1]:
        data = data.setdefault(key, {}) if isinstance(data, dict) else data[key]
    data[path[-1]] = _plain(value)


def _setting(path: KeyPath, value: Any) -> Callable[[Any], None]:
    def change(held: Any) -> None:
        for key in path[:-1]:
            if isinstance(held, dict) and key not in held:
                held[key] = tomlkit.inline_table()
            held = held[key]
        held[path[-1]] = value

    return change


def _plain(value: Any) -> Any:
    """A copy that only the text shares."""
    return copy.deepcopy(dict(value) if isinstance(value, Mapping) else value)


def _inline(table: Mapping[str, Any]) -> Any:
    found = tomlkit.inline_table()
    for key, value in table.items():
        found[key] = _inline(value) if isinstance(value, Mapping) else value
    return found


def _rendered(name: str, table: Mapping[str, Any], note: str) -> str:
    """`[[name]]` and what is below it: plain keys first, then its tables, long lists on many lines."""
    one = tomlkit.table()
    for key, value in table.items():
        if not isinstance(value, Mapping):
            one.add(key, value)
    for key, value in table.items():
        if isinstance(value, Mapping):
            one.append(key, dict(value))
    for value in one.values():
        if isinstance(value, Array) and len(value.as_string()) > 90:
            value.multiline(True)
    elements = tomlkit.aot()
    elements.append(one)
    whole = tomlkit.document()
    whole.append(name, elements)
    comment = "".join(f"# {line}\n" for line in note.splitlines())
    return comment + tomlkit.dumps(whole)


def _line(path: KeyPath, value: Any) -> str:
    return f"{_dotted([str(key) for key in path])} = {tomlkit.item(value).as_string()}"


def _dotted(keys: Sequence[str]) -> str:
    return tomlkit.key(cast("list[str]", list(keys))).as_string()


def _indent(lines: Sequence[str], one: Statement) -> str:
    line = lines[one.first - 1]
    return line[: len(line) - len(line.lstrip())]


def _is_kin(one: Statement, path: KeyPath) -> bool:
    """Whether a dotted key made one of the tables around `path`: it cannot have a header then."""
    shared = len(one.path) - one.parts
    made = one.path[:-1]
    return (
        not one.header
        and one.parts > 1
        and any(made[:n] == path[:n] for n in range(shared + 1, len(one.path)))
    )


def _last_of_section(found: Sequence[Statement], section: Statement) -> Statement:
    last = section
    for one in found[found.index(section) + 1 :]:
        if one.header:
            break
        last = one
    return last


def _with_comments(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    while first > 1 and lines[first - 2].lstrip().startswith("#"):
        if lines[first - 2].startswith("#:"):  # for editors, about the whole file
            break
        first -= 1
    below = last
    while below < len(lines) and lines[below].lstrip().startswith("#"):
        below += 1
    ends = below >= len(lines) or not lines[below].strip()
    return first, below if ends else last
