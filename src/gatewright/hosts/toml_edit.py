"""Parses a TOML text, and adds one table to it or removes one, leaving every other character unchanged."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from gatewright.config.documents import LONG_KEY, has_long_key
from gatewright.hosts.json_edit import newline_of
from gatewright.hosts.whole_file import CannotEdit, Unreadable
from gatewright.patterns import Pattern

__all__ = ["add", "parse", "remove"]

_LINE = Pattern(r" \(at line (\d+), column \d+\)\Z")


def parse(text: str) -> Any:
    """The document; None for a text that says nothing. Raises `Unreadable` with the line."""
    if has_long_key(text):
        raise Unreadable(LONG_KEY, 0)
    try:
        found = tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        what = str(problem)
        place = _LINE.search(what)
        line = int(place[1]) if place else 0
        raise Unreadable(_LINE.sub("", what), line) from None
    return found or None


def add(text: str, container: Sequence[str], name: str, entry: Mapping[str, Any]) -> str:
    """The text with `entry` as the table `container.name`, at its end.

    Where the container is written in a way that forbids a table below it, the entry goes inside.
    Raises `CannotEdit`.
    """
    appended = _appended(text, [*container, name], entry)
    try:
        parse(appended)
    except Unreadable:
        return _inside(text, container, name, entry)
    return appended


def remove(text: str, container: Sequence[str], name: str, *, emptied: bool) -> str:
    """The text without that table; with `emptied` also without the tables that are empty then."""
    path = [*container, name]
    document = _document(text)
    try:
        _delete(document, path)
        while emptied and (path := path[:-1]) and not _at(document, path):
            _delete(document, path)
    except (KeyError, TypeError, TOMLKitError):
        raise CannotEdit(f"`{'.'.join(path)}` cannot be taken out") from None
    return _mark(text) + tomlkit.dumps(document)


def _appended(text: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    newline = newline_of(text)
    body = tomlkit.dumps({key: _item(value) for key, value in entry.items()}).rstrip("\n")
    table = f"[{'.'.join(tomlkit.key(key).as_string() for key in path)}]\n{body}"
    end = newline if text.endswith("\n") or not text.removeprefix("\ufeff") else ""
    gap = ""
    if text.strip("\ufeff \t\r\n"):
        gap = newline if text.endswith("\n") else newline * 2
    return text + gap + table.replace("\n", newline) + end


def _inside(text: str, container: Sequence[str], name: str, entry: Mapping[str, Any]) -> str:
    document = _document(text)
    try:
        _at(document, container)[name] = _item(entry)
    except (KeyError, TypeError, AttributeError, TOMLKitError):
        raise CannotEdit(f"`{'.'.join(container)}` is not a table") from None
    return _mark(text) + tomlkit.dumps(document)


def _item(value: Any) -> Any:
    """Tables inside an entry stay on its lines, so that it is one block."""
    if not isinstance(value, Mapping):
        return value
    table = tomlkit.inline_table()
    table.update({key: _item(inner) for key, inner in value.items()})
    return table


def _document(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text.removeprefix("\ufeff"))
    except (TOMLKitError, RecursionError) as problem:
        raise CannotEdit(str(problem)) from None


def _mark(text: str) -> str:
    return "\ufeff" if text.startswith("\ufeff") else ""


def _at(document: Any, path: Sequence[str]) -> Any:
    for key in path:
        document = document[key]
    return document


def _delete(document: Any, path: Sequence[str]) -> None:
    del _at(document, path[:-1])[path[-1]]
