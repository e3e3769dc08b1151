"""`gatewright config`: is the file right, what is in force, and where does each value come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
import typer

from gatewright.cli.options import Config, Json, group
from gatewright.cli.output import CliError, Exit, note, print_document, print_line, print_rows
from gatewright.settings import Problem, Settings, SettingsError, find, load

__all__ = ["app", "check", "path", "show"]

app = group("Check and show the configuration.")

_SECRET = ("env", "headers")
_SECRET_AUTH = ("client_secret", "bearer")
_HIDDEN = {"origin", "problem"}


@app.callback()
def _group() -> None:
    """Check and show the configuration."""


@app.command()
def check(config: Config = None, json: Json = False) -> None:
    """Read the configuration and tell everything that is wrong; exit code 8 if anything is."""
    try:
        settings = load(config)
        errors = [one.problem for one in settings.servers if one.problem is not None]
        warnings = list(settings.warnings)
    except SettingsError as found:
        errors, warnings = list(found.problems), []
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
    if not json and not warnings:
        note("the configuration is right")


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
    values = dict(_flat(_document_of(settings)))
    if json:
        print_document(
            {key: {"value": one, "origin": _origin(settings, key)} for key, one in values.items()}
        )
        return
    columns = ("key", "value", "origin") if origin else ("key", "value")
    rows = [
        (key, _text(one), *([_origin(settings, key) or "default"] if origin else []))
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


def _document(level: str, problem: Problem) -> dict[str, Any]:
    return {
        "level": level,
        "file": str(problem.origin.file),
        "line": problem.origin.line,
        "key": problem.key,
        "message": problem.what,
        "hint": problem.instead,
    }


def _document_of(settings: Settings) -> dict[str, Any]:
    """The settings as plain values, servers under their ids."""
    found: dict[str, Any] = {
        name: msgspec.to_builtins(getattr(settings, name), enc_hook=str)
        for name in ("gateway", "storage", "limits", "audit", "profiles")
    }
    found["servers"] = {
        server.id: _server(msgspec.to_builtins(server, enc_hook=str)) for server in settings.servers
    }
    found["grants"] = [msgspec.to_builtins(grant, enc_hook=str) for grant in settings.grants]
    return found


def _server(values: dict[str, Any]) -> dict[str, Any]:
    masked = {key: dict.fromkeys(values[key], "***") for key in _SECRET}
    secrets = {key: "***" for key in _SECRET_AUTH if values["auth"][key]}
    masked["auth"] = {**values["auth"], **secrets}
    problem = values.get("problem")
    shown = {key: value for key, value in values.items() if key not in _HIDDEN} | masked
    return shown if problem is None else shown | {"stays_down": problem["what"]}


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, value) of every leaf; lists of plain values are leaves."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            if name not in _HIDDEN:
                yield from _flat(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list | tuple) and any(isinstance(one, Mapping) for one in value):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{key}.{number}")
    else:
        yield key, value


def _origin(settings: Settings, key: str) -> str | None:
    found = settings.origins.get(key)
    return None if found is None else str(found)


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value in (None, {}) else str(value)
