"""`gatewright audit export`: writes the selected audit records as JSON lines, CSV, CloudEvents, OCSF or Groundhog events."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from msgspec.structs import replace

from gatewright.audit.commands.record_options import (
    Agent,
    Event,
    Outcome,
    Server,
    Since,
    Tool,
    Trace,
    Until,
    asked_of,
    reader_of,
)
from gatewright.audit.formats import Format, heading, writer
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import Config
from gatewright.cli.output import is_terminal, note
from gatewright.config import load
from gatewright.secret_scanning.escape_invisible import spelled

__all__ = ["export"]


def export(  # noqa: PLR0913, PLR0917 - one argument for each option
    form: Annotated[
        Format, typer.Option("--format", help="Lines as recorded, a table, or events.")
    ] = "jsonl",
    agent: Agent = None,
    server: Server = None,
    tool: Tool = None,
    event: Event = None,
    outcome: Outcome = None,
    trace: Trace = None,
    since: Since = None,
    until: Until = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Into this file (0600), complete or not at all."
        ),
    ] = None,
    config: Config = None,
) -> None:
    """Write the records that fit, oldest first. `jsonl` keeps the bytes that the hashes prove."""
    asked = asked_of(
        config,
        agent=agent,
        server=server,
        tool=tool,
        event_type=event,
        outcome=outcome,
        trace_id=trace,
        since=since,
        until=until,
    )
    lines = reader_of(config).lines(replace(asked, newest_first=False))
    gateway = load(config).gateway.name
    if out is None:
        count = _write(lines, form, gateway, sys.stdout.buffer, seen=is_terminal(1))
        sys.stdout.buffer.flush()
    else:
        with _whole(out) as target:
            count = _write(lines, form, gateway, target)
    note(f"{count} records")


def _write(
    lines: Iterable[bytes], form: Format, gateway: str, target: BinaryIO, *, seen: bool = False
) -> int:
    """How many lines there were. What a person sees deceives nobody: `seen`."""
    put = writer(form, gateway)
    target.write(heading(form))
    return sum(1 for line in lines if target.write(_harmless(put(line)) if seen else put(line)))


def _harmless(line: bytes) -> bytes:
    return spelled(line.decode(), keep="\n\t").encode()


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` once it is complete."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as problem:
        raise CliError(
            f"{path} cannot be written: {problem.strerror}",
            code="not_written",
            exit_code=Exit.USAGE,
            hint="name a file in a folder that exists and is yours",
        ) from problem
    try:
        with os.fdopen(descriptor, "wb", buffering=1 << 20) as target:
            yield target
        Path(name).replace(path)  # a reader never sees half an export
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
