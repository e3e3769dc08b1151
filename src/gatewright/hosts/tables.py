"""Converts a server in normal form to a `[[servers]]` table of `mgp.toml`, lists what that cannot express, and compares such tables."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from gatewright.command_text import to_type
from gatewright.hosts.model import Auth, Note, Server

__all__ = ["connection", "differing", "table_of", "unsaid"]

_CONNECTION = ("transport", "command", "args", "url", "env", "headers", "auth")
_RULES = ("enabled", "schema", "share", "mgp", "tools")


def table_of(server: Server, folder: str = "") -> dict[str, Any]:
    """The table, as plain data in the order in which a hand would write it. `folder` is the one of the
    file, which a server starts in anyway."""
    timeouts, native = server.timeouts, dict(server.native)
    more = native.pop("tools", {})
    issuer = native.pop("issuer", "")
    tools = {**_rules(server), **more}
    found: dict[str, Any] = {
        "id": server.id,
        "transport": "sse" if server.transport == "sse" else None,
        "command": server.command or None,
        "args": list(server.args) or None,
        "cwd": server.cwd if server.cwd != folder else None,
        "url": server.url or None,
        "era": server.era if server.era != "auto" else None,
        "enabled": None if server.enabled else False,
        "connect_timeout_s": _number(timeouts.connect_s),
        "call_timeout_s": _number(timeouts.call_s),
        **native,
        "env": dict(server.env) or None,
        "headers": dict(server.headers) or None,
        "auth": _auth(server.auth, issuer, server.headers),
        "mgp": None if server.mgp is None else dict(server.mgp),
        "tools": tools or None,
    }
    return {key: value for key, value in found.items() if value not in (None, "")}


def connection(table: Mapping[str, Any], folder: str = "") -> dict[str, Any]:
    """What of a table decides which server is reached and as whom. `folder` is the one of its file, from which `cwd` counts:
    `python3 server.py` is another program in each folder."""
    found = {key: table[key] for key in _CONNECTION if table.get(key)}
    if "command" in found:
        found["cwd"] = posixpath.normpath(posixpath.join(folder, str(table.get("cwd") or "")))
    return found


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The keys by which two tables of one server rule it differently."""
    return [key for key in _RULES if key in one and one[key] != other.get(key)]


def unsaid(server: Server) -> Iterator[Note]:
    """What the normal form knows and the file cannot say."""

    def note(key: str, what: str, instead: str) -> Note:
        at = ".".join(one for one in (server.source.key, key) if one)
        return Note(level="warning", server=server.id, key=at, what=what, instead=instead)

    if server.env_file:
        yield note("envFile", "variables of a file are not read", "write them as [servers.env]")
    auth = server.auth
    if auth is not None and auth.client_id and not server.native.get("issuer"):
        yield note(
            "oauth", "the client id needs to know its issuer", "write it as [servers.auth] issuer"
        )
    if server.isolation.network or server.isolation.read or server.isolation.write:
        yield note(
            "isolation",
            "it was kept to some hosts or folders there, which is not taken over",
            f"`{to_type('server isolate {} confined --write FOLDER', server.id)}`, as far as that says it",
        )


def _number(value: float | None) -> float | int | None:
    return int(value) if value is not None and value == int(value) else value


def _auth(auth: Auth | None, issuer: str, headers: Mapping[str, str]) -> dict[str, Any] | None:
    # A request carries one Authorization (RFC 9110 §11.6.2), and the header says which.
    if auth is None or any(name.lower() == "authorization" for name in headers):
        return None
    if auth.bearer:
        return {"bearer": auth.bearer}
    found: dict[str, Any] = {}
    if issuer and auth.client_id:
        found = {"client_id": auth.client_id, "issuer": issuer}
        found |= {"client_secret": auth.client_secret} if auth.client_secret else {}
    if auth.scopes:
        found["scopes"] = list(auth.scopes)
    return found or None


def _rules(server: Server) -> dict[str, Any]:
    """Which tools are there, as rules about single ones and about all others (`*`)."""
    found: dict[str, Any] = {}
    if server.tools.include is not None:
        found = {"*": {"enabled": False}}
        found |= {name: {"enabled": True} for name in server.tools.include}
    return found | {name: {"enabled": False} for name in server.tools.exclude}
