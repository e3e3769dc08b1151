"""`gatewright server pin`: tools that are held back because of what they say of themselves.

The difference is shown line by line, with everything visible in it; whoever accepts it accepts exactly what was
shown. Straight in the store: a running gateway notices within a second.
"""

from __future__ import annotations

import difflib
import json as json_text
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from gatewright.cli.moments import as_shown
from gatewright.cli.names import server_names
from gatewright.cli.operators import require_operator
from gatewright.cli.options import Config, Json, KeyText
from gatewright.cli.output import CliError, Exit, note, print_document, print_rows
from gatewright.redaction.invisible import hidden
from gatewright.settings import load
from gatewright.stores.pins import DATABASE, Pin, Pins

__all__ = ["pin"]

_COLUMNS = ("server", "tool", "standing", "since", "why")


def pin(  # noqa: PLR0917 - one argument for each option
    id: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="One server.", autocompletion=server_names),
    ] = None,
    tool: Annotated[
        str | None, typer.Argument(metavar="[TOOL]", help="One tool, by its own name.")
    ] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Rely on what it says now.")] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Also the tools that are not held back.")
    ] = False,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the tools that are held back; with a tool, what has changed in it; with --accept, let it go on.

    With --accept and no TOOL every tool of the server that is held back is accepted as it is shown.
    """
    folder = load(config).storage.path
    with _store(folder) as pins:
        found = [one for one in pins.of(id) if tool is None or one.tool == tool]
        if tool is None and not all_:
            found = [one for one in found if one.standing != "pinned"]
        if tool is not None and not found:
            raise _unknown(f"{id}/{tool}")
        if accept:
            found = _accept(pins, found, id, require_operator(folder, key))
    if json:
        print_document(found)
        return
    if tool is not None and not accept:
        _show(found[0])
        return
    print_rows(
        _COLUMNS,
        [(one.server, one.tool, one.standing, as_shown(one.since), one.why) for one in found],
    )
    if not found:
        note("nothing is held back")


def _accept(pins: Pins, found: list[Pin], server: str | None, by: str) -> list[Pin]:
    if server is None:
        raise CliError(
            "--accept needs a server",
            code="usage",
            exit_code=Exit.USAGE,
            hint="gatewright server pin ID [TOOL] --accept",
        )
    try:
        return [pins.accept(one.server, one.tool, digest=one.digest, by=by) for one in found]
    except ValueError as problem:
        raise CliError(
            str(problem), code="conflict", exit_code=Exit.UNEXPECTED, hint="look at it again"
        ) from None


@contextmanager
def _store(folder: Path) -> Iterator[Pins]:
    if not (folder / DATABASE).exists():
        raise CliError(
            f"no gateway has seen a tool yet in {folder}",
            code="not_found",
            exit_code=Exit.UNREACHABLE,
            hint="the gateway pins what it sees when it first runs: gatewright serve",
        )
    pins = Pins(folder / DATABASE, clock=time.time)
    try:
        yield pins
    finally:
        pins.close()


def _unknown(name: str) -> CliError:
    return CliError(
        f"no gateway has seen a tool {name}",
        code="not_found",
        exit_code=Exit.USAGE,
        hint="`gatewright server pin ID --all` shows those that it has seen",
    )


def _show(one: Pin) -> None:
    """What is different, line by line, as it would be read."""
    note(f"{one.server}/{one.tool}: {one.standing}" + (f", {one.why}" if one.why else ""))
    before, after = _lines(one.pinned), _lines(one.seen)
    if before == after:
        print("\n".join(after))
        return
    for line in difflib.unified_diff(before, after, "accepted", "now", lineterm="", n=2):
        print(line)


def _lines(definition: str) -> list[str]:
    if not definition:
        return []
    text = json_text.dumps(
        json_text.loads(definition), indent=2, ensure_ascii=False, sort_keys=True
    )
    return [_spelled(line) for line in text.split("\n")]


def _spelled(line: str) -> str:
    """The line with every character spelled out that somebody might not see."""
    if line.isascii() and line.isprintable():
        return line
    return "".join(f"\\u{{{ord(char):x}}}" if hidden(char) else char for char in line)
