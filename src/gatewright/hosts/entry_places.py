"""Finds server entries in a parsed host document, with project and dialect; what their `input:` and folder placeholders mean; which are off.

One document may have several places: `~/.claude.json` has servers of the user and of each project.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from gatewright.hosts.dialects import DIALECTS, Dialect, dialect_of
from gatewright.hosts.model import Refused
from gatewright.hosts.placeholders import Meaning, places, variable
from gatewright.patterns import Pattern
from gatewright.secret_scanning.credentials import looks_secret

__all__ = ["Found", "find_entries", "has_place", "is_off", "meaning_of", "secret_name"]

_NO_NAME = Pattern(r"[^A-Za-z0-9._-]+")


class _Holder(msgspec.Struct, frozen=True, kw_only=True):
    """What the table that holds entries says about all of them: read once, and not for each."""

    off: frozenset[str]
    only: frozenset[str] | None
    """The names that are left where the others are switched off."""
    inputs: Mapping[str, Mapping[str, Any]]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One entry and how to understand it. `workspace` is the project that it belongs to, None for none."""

    dialect: Dialect
    key: str
    name: str
    data: Any
    workspace: str | None
    holder: _Holder


def find_entries(
    document: Mapping[str, Any], *, host: str = "", workspace: str | None = None
) -> Iterator[Found]:
    """Every entry of every place that is known."""
    for path, dialect, listed in _PLACES:
        inside = _at(document, path)
        holder = _at(document, path[:-1])
        key = ".".join(path)
        if isinstance(inside, dict) and not listed and _is_map_of(path, inside, document):
            means = dialect or dialect_of(inside, host)
            yield from _of(inside, means, key, workspace, holder)
        elif isinstance(inside, list) and listed:
            named = {f"{number}": one for number, one in enumerate(inside)}
            yield from _of(named, DIALECTS["continue"], key, workspace, holder)
    projects = document.get("projects")
    for folder, project in projects.items() if isinstance(projects, dict) else ():
        inside = project.get("mcpServers") if isinstance(project, dict) else None
        if isinstance(inside, dict) and isinstance(folder, str):
            key = f"projects.{folder}.mcpServers"
            yield from _of(inside, DIALECTS["claude-code"], key, folder, project)


def has_place(document: Mapping[str, Any]) -> bool:
    """Whether servers could be in a document, even if none is."""
    if isinstance(document.get("projects"), dict):
        return True
    for path, _, listed in _PLACES:
        inside = _at(document, path)
        if isinstance(inside, list) and listed:
            return True
        if isinstance(inside, dict) and not listed and _is_map_of(path, inside, document):
            return True
    return False


_PLACES: tuple[tuple[tuple[str, ...], Dialect | None, bool], ...] = (
    (("mcpServers",), None, False),
    (("mcpServers",), None, True),
    (("servers",), DIALECTS["vscode"], False),
    (("mcp", "servers"), DIALECTS["vscode"], False),
    (("customizations", "vscode", "mcp", "servers"), DIALECTS["vscode"], False),
    (("mcp",), DIALECTS["opencode"], False),
    (("context_servers",), DIALECTS["zed"], False),
    (("mcp_servers",), DIALECTS["codex"], False),
    (("extensions",), DIALECTS["goose"], False),
    (("amp.mcpServers",), DIALECTS["amp"], False),
)


def _at(document: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _is_map_of(
    path: tuple[str, ...], inside: Mapping[str, Any], document: Mapping[str, Any]
) -> bool:
    """Whether a word that others use too means servers here."""
    # OpenCode has servers right below `mcp`; VS Code's `mcp.servers` has a row of its own.
    if path == ("mcp",):
        entries = [one for one in inside.values() if isinstance(one, dict)]
        return "servers" not in inside and any(
            one.keys() & {"type", "command", "url"} for one in entries
        )
    # Goose calls servers so; elsewhere the word means other things beside `mcpServers`.
    if path == ("extensions",):
        return "mcpServers" not in document
    return True


def _of(
    entries: Mapping[Any, Any], dialect: Dialect, key: str, workspace: str | None, holder: Any
) -> Iterator[Found]:
    about = _about(holder if isinstance(holder, dict) else {})
    for name, data in entries.items():
        title = (
            data.get("name") if isinstance(data, dict) and dialect.format == "continue" else name
        )
        yield Found(
            dialect=dialect,
            key=f"{key}.{name}",
            name=title if isinstance(title, str) else str(name)[:200],
            data=data,
            workspace=workspace,
            holder=about,
        )


def _about(holder: Mapping[str, Any]) -> _Holder:
    mcp = holder.get("mcp")
    rules = mcp if isinstance(mcp, dict) else {}
    off = [rules.get("excluded"), *(holder.get(key) for key in _OFF)]
    only = rules.get("allowed") or holder.get("allowMCPServers")
    return _Holder(
        off=frozenset().union(*map(_names, off)),
        only=_names(only) if isinstance(only, list) else None,
        inputs=_inputs(holder),
    )


def _names(value: Any) -> frozenset[str]:
    return (
        frozenset(one for one in value if isinstance(one, str))
        if isinstance(value, list)
        else frozenset()
    )


def meaning_of(found: Found) -> Meaning:
    """What the placeholders of an entry stand for beyond the environment."""
    known = places(found.workspace, os.sep)
    asked = found.holder.inputs
    secrets = found.dialect.format == "continue"

    def meaning(inner: str) -> str | None:
        if inner in known:
            return known[inner]
        if inner.startswith("input:"):
            return _input(inner.removeprefix("input:"), asked)
        if secrets and inner.startswith("secrets."):
            return f"${{secret:{secret_name(inner.removeprefix('secrets.'))}}}"
        return None

    return meaning


def is_off(found: Found) -> bool:
    """Whether the document switches a server off outside of its entry: Gemini's and Claude Code's lists."""
    holder = found.holder
    return found.name in holder.off or (holder.only is not None and found.name not in holder.only)


_OFF = ("excludeMCPServers", "disabledMcpServers")


def secret_name(text: str) -> str:
    """A name that a secret can have, made of any text that is none itself."""
    # Names are printed and committed: a key that was pasted as a name must not become one.
    if looks_secret(text):
        return "value"
    made = _NO_NAME.sub("-", text).strip("-._")[:64]
    return made or "value"


def _inputs(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    inputs = document.get("inputs")
    return {
        one["id"]: one
        for one in (inputs if isinstance(inputs, list) else [])
        if isinstance(one, dict) and isinstance(one.get("id"), str)
    }


def _input(name: str, asked: Mapping[str, Mapping[str, Any]]) -> str:
    """What the host would have asked for: a secret where it hides the answer, else a variable."""
    described = asked.get(name)
    # Nothing says whether the host would have hidden the answer, so it is kept as if it had.
    if described is None:
        return f"${{secret:{secret_name(name)}}}"
    if described.get("type") == "command":
        raise Refused("an input runs a command of the editor", "use a variable")
    if described.get("password") is True:
        return f"${{secret:{secret_name(name)}}}"
    default = described.get("default")
    if isinstance(default, str) and default and "}" not in default and "${" not in default:
        return f"${{{variable(name)}:-{default}}}"
    return f"${{{variable(name)}}}"
