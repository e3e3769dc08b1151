"""Reads, adds and removes server entries in a host's config text (JSON, TOML, YAML); verifies that nothing else changed; no file I/O.

Theory: the edit is made in the text, and then both texts are read. Unless they say the same but for
the entries in question, the edit is thrown away with an error; so a mistake here costs a message,
never somebody's configuration.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from gatewright.hosts import json_edit, toml_edit, yaml_edit
from gatewright.hosts.host_table import Host, Syntax
from gatewright.hosts.parse import MAX_SLOW_BYTES
from gatewright.hosts.whole_file import CannotEdit, Unreadable

__all__ = ["add_entry", "document", "entries", "has_container", "remove_entries", "same_but"]


def entries(host: Host, text: str) -> dict[str, Any]:
    """Name → entry of every server in the text. Raises `Unreadable`."""
    found = _container(host, _parse(host, text))
    if host.listed:
        items = found if isinstance(found, list) else []
        return {str(one["name"]): one for one in items if isinstance(one, dict) and "name" in one}
    return dict(found) if isinstance(found, dict) else {}


def document(host: Host, text: str) -> dict[str, Any]:
    """Everything that the text says; not to be changed. Raises `Unreadable`."""
    found = _parse(host, text)
    return found if isinstance(found, dict) else {}


def has_container(host: Host, text: str) -> bool:
    """Whether the text has the place where servers stand, be it empty."""
    value = _parse(host, text)
    for key in host.container:
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return True


def add_entry(host: Host, text: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with one more entry. Raises `Unreadable` and `CannotEdit`."""
    if name in entries(host, text):
        raise CannotEdit(f"`{'.'.join([*host.container, name])}` is already there")
    begun = _begun(host, text)
    if host.syntax == "toml":
        after = toml_edit.add(begun, host.container, name, entry)
    elif host.syntax == "yaml":
        after = yaml_edit.add(begun, host.container, name, entry, listed=host.listed)
    else:
        after = json_edit.add(begun, host.container, name, entry)
    # Compared as data: where the text edit guessed wrong, it is thrown away here (decision 0011).
    if _says(host, after, name) != entry or not same_but(host, begun, after, {name}):
        raise CannotEdit("this file is written in a way that leaves no place for an entry")
    return after


def remove_entries(host: Host, text: str, names: Collection[str], *, emptied: bool) -> str:
    """The text without these entries; with `emptied` also without a container that is empty then.

    Raises `Unreadable` and `CannotEdit`.
    """
    after = text
    for name in names:
        if host.syntax == "toml":
            after = toml_edit.remove(after, host.container, name, emptied=emptied)
        elif host.syntax == "yaml":
            after = yaml_edit.remove(
                after, host.container, name, listed=host.listed, emptied=emptied
            )
        else:
            after = json_edit.remove(after, host.container, name, emptied=emptied)
    if set(names) & set(entries(host, after)) or not same_but(host, text, after, names):
        raise CannotEdit("the entry cannot be taken out without touching the rest")
    return after


def same_but(host: Host, one: str, other: str, names: Collection[str]) -> bool:
    """Whether two texts say the same; these entries, an empty container and the preface aside."""
    first, second = (_rest(host, _parse(host, text), names) for text in (one, other))
    return bool(first == second)


def _says(host: Host, text: str, name: str) -> Any:
    """The entry in a text of ours; None also where the text has become unreadable by it."""
    try:
        return entries(host, text).get(name)
    except Unreadable:
        return None


def _begun(host: Host, text: str) -> str:
    """The text with what has to stand first, where it says nothing yet."""
    if not host.preface or _parse(host, text) is not None:
        return text
    newline = json_edit.newline_of(text)
    gap = newline if text.strip("\ufeff") and not text.endswith("\n") else ""
    lines = [f"{key}: {value}{newline}" for key, value in host.preface.items()]
    return text + gap + "".join(lines)


def _parse(host: Host, text: str) -> Any:
    return _read(host.syntax, text)


@lru_cache(maxsize=4)
def _read(syntax: Syntax, text: str) -> Any:
    """What a text says; not to be changed, because the same text is asked for several times."""
    if syntax in ("toml", "yaml") and len(text) > MAX_SLOW_BYTES:
        raise Unreadable(f"{syntax.upper()} of more than {MAX_SLOW_BYTES // 1024 // 1024} MB", 0)
    if syntax == "toml":
        return toml_edit.parse(text)
    return yaml_edit.parse(text) if syntax == "yaml" else json_edit.parse(text)


def _container(host: Host, value: Any) -> Any:
    for key in host.container:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _rest(host: Host, value: Any, names: Collection[str]) -> Any:
    """A copy of the value without these entries, and without a container that is empty then."""
    if not isinstance(value, dict):
        # An empty text and an empty object say the same.
        return value or {}
    value = {key: one for key, one in value.items() if host.preface.get(key) != one}
    above = value
    for key in host.container[:-1]:
        # Only the way to the container is copied: the parsed value itself is shared by `_read`.
        above[key] = copy.copy(above.get(key, {}))
        above = above[key]
    last = host.container[-1]
    found = above.pop(last, None)
    if isinstance(found, list):
        kept: Any = [one for one in found if not _named(one, names)]
    elif isinstance(found, dict):
        kept = {name: one for name, one in found.items() if name not in names}
    else:
        kept = found
    return {**value, last: kept} if kept else value


def _named(one: Any, names: Collection[str]) -> bool:
    return isinstance(one, dict) and one.get("name") in names
