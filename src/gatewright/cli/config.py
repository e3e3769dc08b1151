"""`gatewright config`: commands `check` (`--fix` moves secrets), `show`, `path`, `schema`, `diff`; registers `trust`, `untrust`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from gatewright.cli.config_trust import trust, untrust
from gatewright.cli.config_values import origin_of, text_of, values_of
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import Config, Json, group
from gatewright.cli.output import note, print_document, print_line, print_rows, print_text
from gatewright.command_text import to_type
from gatewright.config import Problem, Settings, SettingsError, find, load
from gatewright.config.documents import read
from gatewright.config.lookup import STDIN
from gatewright.config.secret_users import allow
from gatewright.config.trust import NotAccepted

__all__ = ["app", "check", "diff", "path", "schema", "show"]

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


app = group("Check and show the configuration.")


@app.callback()
def _group() -> None:
    """Check and show the configuration."""


@app.command()
def check(
    fix: Annotated[
        bool, typer.Option("--fix", help="Move secrets in plain text to the secret store.")
    ] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Read the configuration and tell everything that is wrong; exit code 8 if anything is."""
    if fix:
        _fix(config)
    settings, errors, warnings = _looked(config)
    if json:
        rows = [("error", one) for one in errors] + [("warning", one) for one in warnings]
        print_document([_document(level, one) for level, one in rows])
    else:
        for one in errors:
            print_line(("error", str(one)))
        for one in warnings:
            print_line(("warning", str(one)))
    if errors:
        raise CliError(
            f"{len(errors)} of the configuration's values cannot be used",
            code="configuration",
            exit_code=Exit.PROBLEMS,
            hint="each line says what to write instead",
        )
    if settings is not None and not json:
        _conclude(settings, right=not warnings)


def _looked(config: Path | None) -> tuple[Settings | None, list[Problem], list[Problem]]:
    """The settings where there are any, what is wrong, and what is odd. Raises `NotAccepted`."""
    try:
        settings = load(config)
    except NotAccepted:
        raise
    except SettingsError as found:
        return None, list(found.problems), []
    errors = [one.problem for one in settings.servers if one.problem is not None]
    return settings, errors, [*settings.warnings, *_literals(settings)]


def _conclude(settings: Settings, *, right: bool) -> None:
    if not settings.files:
        note(
            f"there is no mgp.toml here: all is as by default; `{to_type('init')}` writes a first one"
        )
        return
    if right:
        note("the configuration is right")
    if not settings.servers:
        note(
            f"no server is in it; `{to_type('server add NAME -- COMMAND ARGS')}` or `{to_type('import')}` puts one in"
        )


@app.command()
def show(
    origin: Annotated[
        bool, typer.Option("--origin", help="Also the file and line each value comes from.")
    ] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show what is in force, defaults included. Environment and headers are masked.

    Columns: key, value, and with --origin where it was written.
    """
    settings = load(config)
    values = values_of(settings)
    if json:
        print_document(
            {key: {"value": one, "origin": origin_of(settings, key)} for key, one in values.items()}
        )
        return
    columns = ("key", "value", "origin") if origin else ("key", "value")
    rows = [
        (key, text_of(one), *([origin_of(settings, key) or "default"] if origin else []))
        for key, one in values.items()
    ]
    print_rows(columns, rows)


@app.command()
def path(config: Config = None, json: Json = False) -> None:
    """Print the files that count, the deciding one first."""
    found = [str(one.absolute()) for one in find(config)]
    if json:
        print_document(found)
        return
    for one in found:
        print_line((one,))
    if not found:
        note("no file; everything is a default. `./mgp.toml` would be read")


@app.command()
def schema(json: Json = False) -> None:
    """Print the JSON Schema of the file, for editors and other programs."""
    # Only who asks for it pays for it.
    from gatewright.config.schema import FILE  # noqa: PLC0415

    text = FILE.read_text()
    print_document(msgspec.json.decode(text)) if json else print_text(text)


def _literals(settings: Settings) -> list[Problem]:
    """Secrets in plain text. What stands on standard input has been read, and nobody commits it."""
    # Only who checks pays for it.
    from gatewright.hosts.literals import find_literals  # noqa: PLC0415

    files = [path for path in settings.files if path != STDIN]
    return [one for path in files for one in find_literals(read(path))]


def _fix(config: Path | None) -> None:
    from gatewright.config.secrets import open_secrets  # noqa: PLC0415
    from gatewright.hosts.literals import move_literals  # noqa: PLC0415 - as above

    settings = load(config)
    place = settings.secrets
    secrets = open_secrets(settings.storage.path, place.store, key_file=place.key_file)
    for path in settings.files:
        if path == STDIN:
            continue
        for one in move_literals(path, secrets, partial(_allowed, settings.storage.path, path)):
            note(str(one))


def _allowed(store: Path, path: Path, name: str) -> Callable[[], None]:
    return allow(os.environ, store, name, [path])


def _document(level: str, problem: Problem) -> dict[str, Any]:
    return {
        "level": level,
        "file": str(problem.origin.file),
        "line": problem.origin.line,
        "key": problem.key,
        "message": problem.what,
        "hint": problem.instead,
    }


app.command("diff")(diff)
app.command("trust")(trust)
app.command("untrust")(untrust)
