"""`gatewright audit`: `tail`, `query`, `show`, `verify` (gateway running or not), `export`; `accept`: declares a rolled-back state intended."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import msgspec
import typer
from msgspec.structs import replace

from gatewright.audit.commands.export import export
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
from gatewright.audit.records import to_mgp
from gatewright.audit.rows import Query
from gatewright.audit.verification import KnownRecord, Problem, Verification
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.operators import require_operator
from gatewright.cli.options import Config, Json, KeyText, group
from gatewright.cli.output import is_terminal, note, print_document, print_json, print_line
from gatewright.cli.table_layout import cut
from gatewright.cli.tool_names import spelled
from gatewright.command_text import to_type
from gatewright.config import load

__all__ = ["accept", "app", "query", "show", "tail", "verify"]


def accept(key: KeyText = None, config: Config = None, json: Json = False) -> None:
    """Go on with grants, keys, pins and approvals as they are, where a file is gone or is an older copy.

    For a gateway that does not run. Whatever was forbidden in the meantime has to be forbidden again: look first.
    """
    # What opens the record takes its time; the other commands of the group do without.
    from gatewright.audit.anchoring import accept as accepted  # noqa: PLC0415
    from gatewright.audit.anchoring import wrong_in  # noqa: PLC0415
    from gatewright.audit.trail import AuditLog  # noqa: PLC0415

    settings = load(config)
    folder, by = settings.storage.path, require_operator(settings, key, as_found=True)
    wrong = wrong_in(folder)
    if wrong:
        log = AuditLog(folder, clock=time.time, monotonic=time.monotonic, random=os.urandom)
        try:
            accepted(folder, log, by, wrong)
        finally:
            log.finish()
    if json:
        print_document({"by": by, "accepted": wrong})
        return
    for one in wrong:
        print_line((one,))
    note("the record says so now" if wrong else "the stores are what the record knows")


app = group("Follow, search and verify the record.")

_LOOK_S = 0.25
_MOST_DIGITS = 19
_HASH_CHARS = 64
_HEADING = ("TIME (UTC)", "OUTCOME", "WHY", "AGENT", "WHAT", "MS", "EVENT", "TRACE")
_WIDTHS = (19, 9, 21, 8, 26, 7, 14)
_NAME_CHARS = 26


@app.callback()
def _group() -> None:
    """Follow, search and verify the record."""


app.command()(accept)
app.command()(export)


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

    _print(reader_of(config).tail(count, follow=wait if follow else None), json=json)


@app.command()
def query(  # noqa: PLR0913, PLR0917 - one argument for each option
    agent: Agent = None,
    server: Server = None,
    tool: Tool = None,
    event: Event = None,
    outcome: Outcome = None,
    trace: Trace = None,
    since: Since = None,
    until: Until = None,
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
    asked = replace(asked, limit=limit, newest_first=not oldest_first)
    found = reader_of(config).query(asked)
    events = (event for event in map(to_mgp, found) if event is not None)
    _print(events if mgp else found, json=json or mgp)


@app.command()
def show(
    trace: Annotated[
        str, typer.Argument(metavar="TRACE", help="A trace id, as an error or `--json` shows it.")
    ],
    config: Config = None,
    json: Json = False,
) -> None:
    """Show everything that is recorded of one call, oldest first.

    Columns: member, value; an empty line between two records.
    """
    found = list(reader_of(config).query(Query(trace_id=trace, newest_first=False)))
    if not found:
        raise CliError(
            f"there is no record of trace {trace!r}",
            code="not_found",
            exit_code=Exit.USAGE,
            hint=f"`{to_type('audit query --json')}` shows the trace_id of each",
        )
    if json:
        print_document(found)
        return
    for number, record in enumerate(found):
        if number:
            print_line(("",))
        for name, value in _members(record):
            print_line((name, value), widths=(22,))


@app.command()
def verify(
    kept: Annotated[
        str | None,
        typer.Option(
            "--kept",
            metavar="NUMBER:HASH",
            help="A record that was noted elsewhere: it must be there.",
        ),
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Prove that the record is one unbroken chain; exit code 8 and the first wrong place otherwise.

    A chain proves only itself. With --kept it is also shown to be the one whose number and hash were noted.
    """
    noted = None if kept is None else _noted(kept)
    found = reader_of(config).verify(noted)
    if json:
        print_document(found)
    if found.problem is not None:
        raise _damaged(found, found.problem)
    # Its hash is nowhere any more, so an `ok` would prove nothing of it.
    if noted is not None and noted.seq < found.pruned:
        raise _misuse(f"retention has taken record {noted.seq} away: note a later one")
    if not json:
        print_line(("ok", str(found.last), found.hash))
        note(f"{_counted(found)}; keep number and hash elsewhere, for `--kept`, to prove it later")


def _damaged(found: Verification, problem: Problem) -> CliError:
    record = f"record {problem.seq} " if problem.seq else ""
    before = " before it" if problem.seq else ""
    counted = _counted(found, before) if found.records else f"no record{before} is proven"
    return CliError(
        f"{problem.place}: {record}{problem.what}",
        code="audit_damaged",
        exit_code=Exit.PROBLEMS,
        hint=f"{counted}; keep the folder as evidence",
    )


def _counted(found: Verification, before: str = "") -> str:
    """How many records hang together, and which. It is said of a part too: then nothing says that its end is true."""
    if not found.records:
        return "there is no record yet"
    first = found.last - found.records + 1
    which = str(first) if found.records == 1 else f"{first} to {found.last}"
    kept = f"; retention took those up to {found.pruned} away" if found.pruned else ""
    noun, verb = ("record", "is") if found.records == 1 else ("records", "are")
    return f"{found.records} {noun}{before} ({which}) {verb} unbroken{kept}"


def _noted(text: str) -> KnownRecord:
    """What somebody kept of an earlier `audit verify`."""
    number, _, digest = text.strip().partition(":")
    known = number.isascii() and number.isdigit() and 0 < len(number) < _MOST_DIGITS
    if not known or len(digest) != _HASH_CHARS or not set(digest) <= set("0123456789abcdef"):
        raise _misuse(f"--kept is NUMBER:HASH, as `{to_type('audit verify')}` has printed both")
    return KnownRecord(int(number), digest.encode(), "--kept")


def _misuse(text: str) -> CliError:
    return CliError(text, code="usage", exit_code=Exit.USAGE, hint=to_type("audit verify --help"))


def _print(records: Iterable[Mapping[str, Any]], *, json: bool) -> None:
    """One line a record, as it comes: JSON, columns for a person, or tab-separated."""
    empty = True
    for record in records:
        if empty and not json and is_terminal(1):
            print_line(_HEADING, widths=_WIDTHS, one_line=True)
        empty = False
        if json:
            print_json(msgspec.json.encode(record))
        else:
            print_line(_shown(record), widths=_WIDTHS, one_line=True)
    if empty and is_terminal(2):
        note("no records")


def _members(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """(dotted name, value) of everything in a record."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _members(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _shown(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns; for a person without the fraction of the second, and why before what may be long: a name is whatever a
    server or an agent calls itself, and the line ends where the terminal does."""
    moment, outcome, agent, what, spent, why, event, trace = found = _columns(record)
    if not is_terminal(1):
        return found
    when = moment[:19].replace("T", " ")
    agent, what = cut(agent, _NAME_CHARS), cut(what, _NAME_CHARS)
    return when, outcome, why, agent, what, spent, event, trace


def _columns(record: Mapping[str, Any]) -> tuple[str, str, str, str, str, str, str, str]:
    """time, outcome, agent, subject, milliseconds, reason, event, trace id."""
    target = record.get("target") or {}
    details = record.get("details") or {}
    decision = record.get("decision") or {}
    tool, server = target.get("tool_name"), target.get("server_id")
    subject = tool or target.get("name") or record.get("method") or ""
    whole = spelled(str(server), str(tool)) if tool else f"{server}/{subject}"
    spent = details.get("duration_ms")
    return (
        str(record.get("time", "")),
        str(record.get("outcome", "")),
        str((record.get("actor") or {}).get("id", "")),
        whole if server else str(subject),
        f"{spent:.1f}" if isinstance(spent, int | float) else "",
        str(decision.get("reason") or details.get("reason") or ""),
        str(record.get("event_type", "")),
        str(record.get("trace_id", "")),
    )
