"""Renders the plan of `gatewright import` with secrets masked: table rows, remarks, the JSON document, TOML comments.

Values of variables and headers are shown only as far as neither they nor their names look like a secret.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gatewright.command_text import to_type
from gatewright.config.variable_risks import loads_code, moves_traffic
from gatewright.hosts.commands.import_secrets import Store
from gatewright.hosts.placeholders import Piece, pieces
from gatewright.hosts.plan import Plan, Planned
from gatewright.secret_scanning.credentials import is_secret_name, mask, mask_reference
from gatewright.secret_scanning.message_text import shown

__all__ = ["COLUMNS", "comment", "document", "remarks", "rows"]

_KINDS = {
    "code": ", which chooses what a program loads",
    "traffic": ", which says where connections go",
    "": "",
}
COLUMNS = ("does", "id", "transport", "target", "secrets moved", "from")


def comment(planned: Planned) -> str:
    """One line to stand above the server's table."""
    source = planned.source
    where = f"{Path(source.file).name}, {source.key}" if source.key else Path(source.file).name
    title = f"{planned.title}. " if planned.title else ""
    line = " ".join(mask(f"{title}Imported from {where}").split())
    # It becomes one line of TOML behind `#`: a line end in a title would begin a setting.
    return "".join(letter for letter in line if letter.isprintable())


def _target(table: Mapping[str, Any]) -> str:
    """How the server is reached, with nothing in it that could be a secret."""
    words = [table["url"]] if "url" in table else [table["command"], *table.get("args", ())]
    return " ".join("".join(map(_piece, pieces(str(word)))) for word in words)


def _piece(piece: Piece) -> str:
    if piece.reference is None:
        return mask(piece.text)
    return f"${{{mask_reference(piece.reference)}}}"


def document(plan: Plan, path: Path, store: Store, *, dry_run: bool) -> dict[str, Any]:
    """The plan for programs, as `schemas/import.json` describes it."""
    return {
        "file": str(path.absolute()),
        "dry_run": dry_run,
        "servers": [_planned(one, plan, store) for one in plan.servers],
        "notes": [
            {
                "level": one.level,
                "server": one.server,
                "key": one.key,
                "message": one.what,
                "hint": one.instead,
            }
            for one in plan.notes
        ],
        "suggestions": [
            {"server": one.server, "tools": list(one.tools), "key": one.key}
            for one in plan.suggestions
        ],
    }


def _planned(planned: Planned, plan: Plan, store: Store) -> dict[str, Any]:
    table = planned.table
    return {
        "id": planned.id,
        "action": planned.action,
        "title": planned.title,
        "transport": planned.transport,
        "target": _target(table),
        "enabled": table.get("enabled", True),
        "env": sorted(map(mask, table.get("env", {}))),
        "variables": _variables(table),
        "cwd": shown(str(table.get("cwd", ""))),
        "headers": sorted(map(mask, table.get("headers", {}))),
        "secrets": list(planned.secrets),
        "reads": [
            {"name": mask_reference(name), "there": _is_there(name, plan, store)}
            for name in planned.reads
        ],
        "unpinned": None
        if planned.unpinned is None
        else {"package": planned.unpinned.package, "pin": planned.unpinned.pin},
        "source": {
            "file": planned.source.file,
            "key": planned.source.key,
            "format": planned.source.format,
            "sha256": planned.source.sha256,
        },
    }


def _is_there(reference: str, plan: Plan, store: Store) -> bool:
    if reference.startswith("secret:"):
        name = reference.removeprefix("secret:")
        return name in plan.secrets or store.get(name) is not None
    return reference.startswith("file:") or reference in os.environ


def rows(plan: Plan) -> list[tuple[Any, ...]]:
    """One row a server that is written."""
    return [
        (
            one.action,
            one.id,
            one.transport,
            _target(one.table),
            one.secrets,
            f"{_short(one.source.file)}: {one.source.key}".rstrip(": "),
        )
        for one in plan.servers
    ]


def _short(file: str) -> str:
    """A file by its name and the folder's, which says whose it is."""
    return "/".join(file.split("/")[-2:]) if file.startswith("/") else file


def remarks(plan: Plan, store: Store) -> Iterator[str]:
    """What is to be known beside the rows, a line each."""
    for told in plan.notes:
        way = f"; {told.instead}" if told.instead else ""
        yield f"{told.level}: {told.server or told.key}: {told.what}{way}"
    for one in plan.servers:
        yield from _given(one)
        yield from _needs(one, plan, store)
    for confirmed in plan.suggestions:
        tool = "" if confirmed.tools[0] == "*" else f"/{confirmed.tools[0]}"
        # Quoted: whoever wrote the name chose what would be pasted into a shell.
        target = f"{confirmed.server}{tool}"
        yield (
            f"suggested: {shown(confirmed.server)} needed no confirmation for {shown(', '.join(confirmed.tools))} "
            f"({shown(confirmed.key)}); nothing is granted: `{to_type('grant add AGENT {}', target)}` if it is meant"
        )


def _given(planned: Planned) -> Iterator[str]:
    """What the server gets besides its command line: each variable and header, and where it runs."""
    table = planned.table
    if "cwd" in table:
        yield f"folder: {planned.id} runs in {shown(str(table['cwd']))}"
    for one in _variables(table):
        yield f"variable: {planned.id} gets {one['name']}={one['value']}{_KINDS[one['kind']]}"
    for name, value in table.get("headers", {}).items():
        yield f"header: {planned.id} is sent {shown(name)}: {_worth(name, value)}"


def _variables(table: Mapping[str, Any]) -> list[dict[str, str]]:
    """The variables that a server gets, with their values as far as they are none of a secret."""
    return [
        {"name": shown(name), "value": _worth(name, value), "kind": _kind(name)}
        for name, value in sorted(table.get("env", {}).items())
    ]


def _worth(name: str, value: str) -> str:
    """A value for people; references stay, because they say which variable or secret goes there."""
    parts = [*pieces(value)]
    if any(one.reference is not None for one in parts):
        return shown("".join(map(_piece, parts)))
    return "***" if is_secret_name(name) else shown(value)


def _kind(name: str) -> str:
    if loads_code(name):
        return "code"
    return "traffic" if moves_traffic(name) else ""


def _needs(planned: Planned, plan: Plan, store: Store) -> Iterator[str]:
    for name in planned.reads:
        if not _is_there(name, plan, store):
            kind, _, secret = mask_reference(name).rpartition(":")
            way = (
                f"`{to_type('secret set {}', secret)}`" if kind else f"set {secret} and start again"
            )
            yield f"needed: {planned.id} stays down without it; {way}"
        elif name.startswith("secret:") and name.removeprefix("secret:") not in plan.secrets:
            secret = mask_reference(name).removeprefix("secret:")
            yield (
                f"needed: {planned.id} names the secret {secret}, which was set for another configuration; "
                f"if it is meant: `{to_type('secret allow {}', secret)}`"
            )
    if planned.unpinned is not None:
        yield (
            f"warning: {planned.id} runs {planned.unpinned.package} in whatever version is newest; "
            f"write {planned.unpinned.pin}"
        )
