"""Finds literal secrets in `mgp.toml` or one server's table; moves them to the secret store, leaving `${secret:NAME}`; undone on failure.

What a secret is, `gatewright.secret_scanning.credentials` says. Each becomes `${secret:NAME}`, so that the file
can be committed and the server still gets the same value. No value is in any message.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from gatewright.command_text import to_type
from gatewright.config.check import Report
from gatewright.config.documents import Document, read
from gatewright.config.edit import editing
from gatewright.config.problems import NotOfFile, Origin, Problem
from gatewright.config.secrets import Secrets
from gatewright.config.toml_positions import KeyPath
from gatewright.hosts.entry_places import secret_name
from gatewright.hosts.model import Auth
from gatewright.hosts.model import Server as Plain
from gatewright.hosts.secret_references import moved, secure

__all__ = ["find_literals", "keeping", "move_literals", "secured"]

_WHAT = "this looks like a secret in plain text"

Keep = Callable[[str, str], str]
Allow = Callable[[str], Callable[[], object]]
"""Lets a configuration use the secret of a name; what it returns takes that back."""


class _Cleaned(msgspec.Struct, frozen=True):
    """A value with a secret in it: where it stands, and what to write there."""

    path: KeyPath
    text: str


def find_literals(document: Document) -> list[Problem]:
    """One problem for each value with a secret in it."""
    report = Report(document)
    instead = (
        f"`{to_type('config check --fix')}` moves it to the secret store and writes ${{secret:…}}"
    )
    return [
        report.problem(one.path, _WHAT, instead)
        for one in _cleaned(document.data, lambda wished, _: wished)
    ]


def move_literals(path: Path, secrets: Secrets, allowed: Allow) -> list[Problem]:
    """Keep the secrets of a file and name them there instead; where each stood, and its name now.

    `allowed` lets the file use each. All or nothing: where the file cannot be written, what was kept is forgotten again. Raises
    `SettingsError`, `StoreError` and `OSError`.
    """
    document = read(path)
    made = _Names(secrets)
    changes = list(_cleaned(document.data, made.keep))
    report = Report(document)
    moved = [report.problem(one.path, "moved to the secret store", one.text) for one in changes]
    # In this order: a file that names a secret never stands without it.
    with keeping(secrets, made.values, allowed), editing(path) as draft:
        # Nobody kept others from writing until now, and `servers.3` may be another server.
        if draft.data != document.data:
            what = "somebody has changed it in the meantime; nothing was written"
            raise NotOfFile([Problem(Origin(path), "", what, "run the command again")])
        for one in changes:
            draft.put(one.path, one.text)
    # The store had these values under these names already; what is new is that this file may use them.
    for name in made.named - made.values.keys():
        allowed(name)
    return moved


@contextmanager
def keeping(secrets: Secrets, values: Mapping[str, str], allowed: Allow) -> Iterator[None]:
    """Store new secrets around a block, and remove them again if it fails. `allowed` lets the file use each. Raises `StoreError`."""
    undo: list[Callable[[], object]] = []
    try:
        for name, value in values.items():
            undo.append(allowed(name))
            secrets.put(name, value)
            undo.append(partial(secrets.remove, name))
        yield
    except BaseException:
        for step in reversed(undo):
            step()
        raise


def secured(table: Mapping[str, Any], secrets: Secrets) -> tuple[Mapping[str, Any], dict[str, str]]:
    """A server's table with names for its secrets, and what to keep under them. Raises `StoreError`."""
    names = _Names(secrets)
    data = {"servers": [copy.deepcopy(dict(table))]}
    # Listed first: `data` is what it reads, and is changed here.
    for one in list(_cleaned(data, names.keep)):
        place: Any = data
        for key in one.path[:-1]:
            place = place[key]
        place[one.path[-1]] = one.text
    return data["servers"][0], names.values


class _Names:
    """Names for values: one that is free, or that has this value already."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self.named: set[str] = set()
        self.values: dict[str, str] = {}
        """What has to be kept."""

    def keep(self, wished: str, value: str) -> str:
        """The name of a value."""
        for number in count(1):
            name = wished if number == 1 else f"{wished}-{number}"
            held = self.values.get(name) or self._secrets.get(name)
            if held is None:
                self.values[name] = value
            if held in {None, value}:
                self.named.add(name)
                return name
        raise AssertionError


def _cleaned(data: Mapping[str, Any], keep: Keep) -> Iterator[_Cleaned]:
    servers = data.get("servers")
    for number, table in enumerate(servers if isinstance(servers, list) else []):
        if not isinstance(table, dict):
            continue
        before = _plain(table)
        after = secure(before, keep)
        for key, text in _values(after).items():
            if text != _values(before)[key]:
                yield _Cleaned(("servers", number, *key), text)
        for scheme, given in _texts(table.get("credentials")).items():
            wished = secret_name(f"{before.id}.{scheme}")
            text = moved(given, "credential", lambda value, name=wished: keep(name, value))  # type: ignore[misc]
            if text != given:
                yield _Cleaned(("servers", number, "credentials", scheme), text)
    yield from _of_sinks(data, keep)


def _of_sinks(data: Mapping[str, Any], keep: Keep) -> Iterator[_Cleaned]:
    """The same of where the record goes."""
    for path, name, given in _addresses(data):
        header = str(path[-1]) if "headers" in path else ""
        text = moved(given, header, lambda value, name=name: keep(secret_name(name), value))  # type: ignore[misc]
        if text != given:
            yield _Cleaned(path, text)


def _addresses(data: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str, str]]:
    """Path, the name that a secret in it would get, and text."""
    sinks = _table(data.get("audit")).get("sinks")
    for number, sink in enumerate(sinks if isinstance(sinks, list) else []):
        place: KeyPath = ("audit", "sinks", number)
        said = _text(_table(sink).get("name")) or "sink"
        for key in ("url", "dsn"):
            yield (*place, key), f"{said}.{key}", _text(_table(sink).get(key))
        for header, text in _texts(_table(sink).get("headers")).items():
            yield (*place, "headers", header), f"{said}.{header}", text
    place = ("mcp", "protocol", "audit")
    audit = _table(_table(_table(data.get("mcp")).get("protocol")).get("audit"))
    yield (*place, "alert_webhook"), "groundhog.alert", _text(audit.get("alert_webhook"))
    for key in ("database_url", "remote_endpoint"):
        text = _text(_table(audit.get("sinks")).get(key))
        yield (*place, "sinks", key), f"groundhog.{key}", text


def _plain(table: Mapping[str, Any]) -> Plain:
    """What of a table may hold a secret. What is no text has none."""
    auth = table.get("auth")
    return Plain(
        id=_text(table.get("id")) or "server",
        transport="stdio",
        command=_text(table.get("command")),
        args=tuple(map(_text, args)) if isinstance(args := table.get("args"), list) else (),
        env=_texts(table.get("env")),
        url=_text(table.get("url")),
        headers=_texts(table.get("headers")),
        auth=Auth(bearer=_text(auth.get("bearer")), client_secret=_text(auth.get("client_secret")))
        if isinstance(auth, dict)
        else None,
    )


def _values(server: Plain) -> dict[KeyPath, str]:
    """Path below the server → its text."""
    found: dict[KeyPath, str] = {("command",): server.command, ("url",): server.url}
    found |= {("args", number): text for number, text in enumerate(server.args)}
    for name, texts in (("env", server.env), ("headers", server.headers)):
        found |= {(name, key): text for key, text in texts.items()}
    if server.auth is not None:
        found["auth", "bearer"] = server.auth.bearer
        found["auth", "client_secret"] = server.auth.client_secret
    return found


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> dict[str, str]:
    return {key: _text(one) for key, one in value.items()} if isinstance(value, dict) else {}
