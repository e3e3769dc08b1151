"""`gatewright audit`: the record, read straight from the store; a gateway may run or not."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec
import typer

from gatewright.cli.moments import ago, as_recorded
from gatewright.cli.options import Config, Json, group
from gatewright.cli.output import (
    CliError,
    Exit,
    is_terminal,
    note,
    print_document,
    print_line,
)
from gatewright.settings import load
from gatewright.stores.reader import AuditReader
from gatewright.stores.records import to_mgp
from gatewright.stores.rows import DATABASE, Query

__all__ = ["app", "query", "tail", "verify"]

app = group("Follow, search and verify the record.")

_LOOK_S = 0.25


@app.callback()
def _group() -> None:
    """Follow, search and verify the record."""


@app.command()
def tail(
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what comes; Ctrl-C ends it.")
    ] = False,
    count: Annotated[
        int, typer.Option("--count", "-n", min=0, help="How many to begin with.")
    ] = 10,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the last records, oldest first."""

    def wait() -> bool:
        time.sleep(_LOOK_S)
        return True

    _print(_reader(config).tail(count, follow=wait if follow else None), json=json)


@app.command()
def query(  # noqa: PLR0913, PLR0917 - one argument for each option
    agent: Annotated[str | None, typer.Option("--agent", help="Who called.")] = None,
    server: Annotated[str | None, typer.Option("--server", help="Whose tool.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", help="The tool's own name.")] = None,
    event: Annotated[
        str | None, typer.Option("--event", help="E.g. TOOL_EXECUTED, TOOL_BLOCKED.")
    ] = None,
    outcome: Annotated[
        str | None,
        typer.Option("--outcome", help="success, denied, failure, error, cancelled, pending."),
    ] = None,
    trace: Annotated[str | None, typer.Option("--trace", help="One trace id.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Not before: 10m, 2h, 7d ago, or a date.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="Before this moment.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 100,
    oldest_first: Annotated[
        bool, typer.Option("--oldest-first", help="Else the newest comes first.")
    ] = False,
    mgp: Annotated[
        bool, typer.Option("--mgp", help="As MGP audit events (§6.3), one a line.")
    ] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Search the record. Nothing found is an empty answer, not an error."""
    now = time.time()
    asked = Query(
        agent=agent,
        server=server,
        tool=tool,
        event_type=event,
        outcome=outcome,
        trace_id=trace,
        since=None if since is None else as_recorded(ago(since, now)),
        until=None if until is None else as_recorded(ago(until, now)),
        limit=limit,
        newest_first=not oldest_first,
    )
    found = _reader(config).query(asked)
    events = (event for event in map(to_mgp, found) if event is not None)
    _print(events if mgp else found, json=json or mgp)


@app.command()
def verify(config: Config = None, json: Json = False) -> None:
    """Prove that no record is missing or changed; exit code 8 and the first wrong place otherwise."""
    found = _reader(config).verify()
    if json:
        print_document(found)
    if found.problem is not None:
        raise CliError(
            f"{found.problem.place}: record {found.problem.seq} {found.problem.what}",
            code="audit_damaged",
            exit_code=Exit.PROBLEMS,
            hint=f"the {found.records} records before it are proven; keep the folder as evidence",
        )
    if not json:
        print_line(("ok", str(found.records), found.hash))
        note(f"{found.records} records, unbroken; keep number and hash elsewhere to prove it later")


def _reader(config: Any) -> AuditReader:
    folder = load(config).storage.path
    if not (folder / DATABASE).exists():
        raise CliError(
            f"there is no record in {folder} yet",
            code="not_found",
            exit_code=Exit.UNREACHABLE,
            hint="the gateway begins one when it first runs: gatewright serve",
        )
    return AuditReader(folder)


def _print(records: Iterable[Mapping[str, Any]], *, json: bool) -> None:
    """One line a record, as it comes: JSON, columns for a person, or tab-separated."""
    empty = True
    for record in records:
        empty = False
        if json:
            sys.stdout.write(msgspec.json.encode(record).decode() + "\n")
            sys.stdout.flush()
        else:
            print_line(_columns(record), widths=(24, 9, 14, 32, 8))
    if empty and is_terminal(2):
        note("no records")


def _columns(record: Mapping[str, Any]) -> tuple[str, ...]:
    """time, outcome, agent, subject, milliseconds, reason, event, trace id."""
    target = record.get("target") or {}
    details = record.get("details") or {}
    decision = record.get("decision") or {}
    subject = target.get("tool_name") or target.get("name") or record.get("method") or ""
    server = target.get("server_id")
    spent = details.get("duration_ms")
    return (
        str(record.get("time", "")),
        str(record.get("outcome", "")),
        str((record.get("actor") or {}).get("id", "")),
        f"{server}/{subject}" if server else str(subject),
        f"{spent:.1f}" if isinstance(spent, int | float) else "",
        str(decision.get("reason") or details.get("reason") or ""),
        str(record.get("event_type", "")),
        str(record.get("trace_id", "")),
    )
