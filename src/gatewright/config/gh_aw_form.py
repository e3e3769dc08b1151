"""Converts and validates the JSON gateway configuration of GitHub's agentic workflows (gh-aw) into a configuration document.

`{"mcpServers": {…}, "gateway": {…}}` becomes a document of our own. It is stricter than a file, because
nobody sits beside it who reads a warning: an unknown field or an undefined variable ends the start.
Servers of that form are containers or URLs, each with an endpoint of its own, open to whoever has the key.
Source: the MCP Gateway Specification of gh-aw, sections 4 and 5, without `/close` and custom types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from gatewright.config.check import meant
from gatewright.config.documents import Document
from gatewright.config.model import Form
from gatewright.config.problems import Origin, Problem, SettingsError
from gatewright.patterns import Pattern

__all__ = ["is_form", "read_form"]

_TOP = ("mcpServers", "gateway", "customSchemas")
_GATEWAY = ("port", "domain", "apiKey", "agentId", "startupTimeout", "toolTimeout")
_SERVER = (
    "type container args entrypoint entrypointArgs mounts env url headers tools registry "
    "connectTimeout toolTimeout"
).split()
_NAME = Pattern(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_MOUNT = Pattern(r"/[^:]*:/[^:]*:(?:ro|rw)")


def is_form(text: str) -> bool:
    """Whether it is that form and not TOML: no TOML begins with a brace."""
    return text.lstrip().startswith("{")


def read_form(text: str, path: Path) -> tuple[Document, Form]:
    """The form as a document, and the rest of it. Raises `SettingsError`."""
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise _error(path, "", f"not JSON: {problem}", "send one JSON object") from None
    reader = _Reader(path)
    whole = reader.table(data, "", _TOP)
    gateway = reader.table(whole.get("gateway"), "gateway", _GATEWAY)
    servers = reader.table(whole.get("mcpServers"), "mcpServers", None)
    domain = reader.text(gateway, "gateway", "domain")
    secret = "agentId" if "agentId" in gateway else "apiKey"
    form = Form(domain, reader.text(gateway, "gateway", secret))
    found: dict[str, Any] = {
        "gateway": {"port": gateway.get("port")},
        "servers": [reader.server(name, one) for name, one in servers.items()],
        "profiles": {name: _profile(name, one) for name, one in servers.items()},
    }
    if "toolTimeout" in gateway:
        found["limits"] = {"call_timeout_s": gateway["toolTimeout"]}
    if "startupTimeout" in gateway:
        for server in found["servers"]:
            server.setdefault("connect_timeout_s", gateway["startupTimeout"])
    if reader.problems:
        raise SettingsError(reader.problems)
    return Document(path, found, {}), form


class _Reader:
    """Collects everything that is wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.problems: list[Problem] = []

    def table(self, value: Any, key: str, known: tuple[str, ...] | list[str] | None) -> Any:
        """An object with known fields only; an empty one where it is none."""
        if not isinstance(value, dict):
            self._bad(key, "an object is missing here", 'write {"mcpServers": {…}, "gateway": {…}}')
            return {}
        for name in value if known is not None else ():
            if known is not None and name not in known:
                where = f"{key}.{name}" if key else name
                self._bad(where, "this field is not known", meant(name, known))
        return value

    def text(self, table: Mapping[str, Any], key: str, name: str) -> str:
        """A text that has to be there."""
        value = table.get(name)
        if isinstance(value, str) and value:
            return value
        self._bad(f"{key}.{name}", "a text is missing here", f'write "{name}": "…"')
        return ""

    def server(self, name: str, value: Any) -> dict[str, Any]:
        """One server as a table of `[[servers]]`."""
        key = f"mcpServers.{name}"
        if not _NAME.fullmatch(name):
            self._bad(key, "the name is part of a URL", "use letters, digits, _ and -")
        if isinstance(value, dict) and "command" in value:
            self._bad(f"{key}.command", "this form starts containers only", "write an mgp.toml")
        # `command` has been reported by its own name already.
        table = self.table(value, key, [*_SERVER, "command"])
        kind = table.get("type", "stdio")
        if kind not in ("stdio", "local", "http"):
            self._bad(f"{key}.type", f"{kind!r} is no type here", 'write "stdio" or "http"')
        found = {"id": name, "default_policy": "opt-out"}
        for ours, theirs in (
            ("connect_timeout_s", "connectTimeout"),
            ("call_timeout_s", "toolTimeout"),
        ):
            found |= {ours: table[theirs]} if theirs in table else {}
        if kind == "http":
            return {
                **found,
                "url": self.text(table, key, "url"),
                "headers": table.get("headers", {}),
            }
        return {**found, **self._container(table, key)}

    def _container(self, table: Mapping[str, Any], key: str) -> dict[str, Any]:
        image = self.text(table, key, "container")
        env = table.get("env", {})
        mounts = self._texts(table, key, "mounts")
        for mount in mounts:
            if not _MOUNT.fullmatch(mount):
                self._bad(f"{key}.mounts", f"{mount!r} is no mount", 'write "/host:/container:ro"')
        args = ["run", "--rm", "-i"]
        # By name alone: the value is in the environment of docker, and in no list of processes.
        args += [word for name in env for word in ("-e", name)] if isinstance(env, dict) else []
        args += [word for mount in mounts for word in ("-v", mount)]
        args += ["--entrypoint", str(table["entrypoint"])] if "entrypoint" in table else []
        args += [*self._texts(table, key, "args"), image]
        args += self._texts(table, key, "entrypointArgs")
        return {"command": "docker", "args": args, "env": _passed(env)}

    def _texts(self, table: Mapping[str, Any], key: str, name: str) -> list[str]:
        value = table.get(name, [])
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            return value
        self._bad(f"{key}.{name}", "a list of texts belongs here", f'write "{name}": ["…"]')
        return []

    def _bad(self, key: str, what: str, instead: str) -> None:
        self.problems.append(Problem(Origin(self._path), key, what, instead))


def _passed(env: Any) -> Any:
    """An empty value passes ours on."""
    if not isinstance(env, dict):
        return env
    return {name: value if value != "" else f"${{{name}:-}}" for name, value in env.items()}


def _profile(name: str, server: Any) -> dict[str, Any]:
    """The endpoint of one server, under the names of its own tools."""
    tools = server.get("tools") if isinstance(server, dict) else None
    return {"servers": [name], "unprefixed": True, "tools": list(_named(name, tools))}


def _named(name: str, tools: Any) -> Iterator[Any]:
    if isinstance(tools, list) and "*" not in tools:
        yield from (f"{name}/{tool}" for tool in tools)


def _error(path: Path, key: str, what: str, instead: str) -> SettingsError:
    return SettingsError([Problem(Origin(path), key, what, instead)])
