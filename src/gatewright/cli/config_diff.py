"""`gatewright config diff`: lists the differences between the configuration and the defaults or another file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gatewright.cli.config_values import origin_of, text_of, values_of
from gatewright.cli.options import Config, Json
from gatewright.cli.output import note, print_document, print_rows
from gatewright.config import Settings, load

__all__ = ["diff"]

_WHOLE = ("servers", "profiles", "grants")
"""Keys that stand there only where nothing is in them."""

_COLUMNS = ("key", "before", "after", "origin")


def diff(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The defaults unless given.")
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show what is different in FILE from what is in force, or in what is in force from the defaults.

    A running gateway takes its files over by itself, so this is what it would do with FILE. Columns: key, value
    before, value after, where the latter was written.
    """
    ours = load(config)
    before, after = (Settings(storage=ours.storage), ours) if file is None else (ours, load(file))
    rows = _rows(before, after)
    if json:
        print_document([dict(zip(_COLUMNS, row, strict=True)) for row in rows])
        return
    shown = [(key, text_of(old), text_of(new), where or "") for key, old, new, where in rows]
    print_rows(_COLUMNS, shown)
    if not rows:
        note("no difference")


def _rows(before: Settings, after: Settings) -> list[tuple[str, Any, Any, str | None]]:
    """(key, before, after, origin); a server that is on one side only is one row."""
    old, new = values_of(before), values_of(after)
    found = {
        key: (old.get(key), new.get(key))
        for key in {**old, **new}
        if key not in _WHOLE and not key.startswith("servers.") and old.get(key) != new.get(key)
    }
    for id in dict.fromkeys(one.id for one in (*before.servers, *after.servers)):
        mine, theirs = _part(old, id), _part(new, id)
        if mine and theirs:
            keys = [key for key in {**mine, **theirs} if mine.get(key) != theirs.get(key)]
            found |= {key: (mine.get(key), theirs.get(key)) for key in keys}
        else:
            found[f"servers.{id}"] = (_shape(mine, id), _shape(theirs, id))
    return [(key, *values, _where(after, key)) for key, values in sorted(found.items())]


def _part(values: dict[str, Any], id: str) -> dict[str, Any]:
    return {key: one for key, one in values.items() if key.startswith(f"servers.{id}.")}


def _shape(values: dict[str, Any], id: str) -> str | None:
    return None if not values else str(values[f"servers.{id}.transport"])


def _where(settings: Settings, key: str) -> str | None:
    server = settings.server(key.removeprefix("servers."))
    return origin_of(settings, key) if server is None else str(server.origin)
