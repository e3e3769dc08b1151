"""`AgentRuns`: agents' sessions, open or seen in the newest calls, as a list; one as a timeline of audit records; ends a session.

A run is a session, or all that an agent calls where its endpoint knows no sessions (MCP 2026-07-28). A session is named by the beginning
of its id, as everywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from gatewright.audit.reader import AuditReader
from gatewright.audit.records import Actor
from gatewright.audit.rows import Query
from gatewright.call import Target
from gatewright.console.dependencies import Dependencies
from gatewright.console.lists import Column, Paged, Rows, Table
from gatewright.console.operations import ApiError
from gatewright.console.people import Person
from gatewright.console.recent_calls import CallRow, RecentCalls, row_of
from gatewright.mcp.server.server_context import Standing
from gatewright.transport.slices import in_slices

__all__ = [
    "GAP_S",
    "TABLE",
    "AgentRuns",
    "Gone",
    "Run",
    "RunAsked",
    "RunsAsked",
    "Step",
    "Timeline",
]

SHOWN = 12
"""So many characters of a session's id are shown, and name it."""
STEPS = 200
_LOOKED_AT = 5_000
"""So many records of one agent are looked through for those of one session."""
_LARGEST = 2**63 - 1
"""Number of a record."""
GAP_S = 5.0
"""A pause that is longer is shown."""

Text = Annotated[str, Meta(max_length=500)]


class RunsAsked(Paged, frozen=True, kw_only=True):
    """Which runs, in which order: the last used first unless said otherwise."""

    agent: Text = ""
    state: Literal["", "open", "ended", "none"] = ""
    """`none`: calls that were made in no session."""
    sort: Literal["agent", "state", "opened", "used", "calls", "refused"] = "used"


class RunAsked(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    agent: Text
    session: Text = ""
    """The beginning of the session's id; empty for the calls of an agent that were made in none."""
    before: Annotated[int, Meta(ge=0, le=_LARGEST)] = 0
    """Only records with a lower number: the page with earlier ones."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run. Times are Unix seconds."""

    agent: str
    session: str
    door: str
    profile: str
    opened: float | None
    """None where only its calls are known."""
    used: float
    open: bool
    """Whether it can be ended."""
    calls: int
    """Of the newest calls."""
    refused: int
    deferred: int = 0
    """Of those refused: only for now, while a person was asked."""

    @property
    def state(self) -> str:
        """`open`, `ended`, or `none` for calls without a session."""
        return "open" if self.open else "ended" if self.session else "none"


TABLE: Table[Run] = Table(
    "/sessions",
    RunsAsked,
    (
        Column("Agent", "agent", lambda one: one.agent),
        Column("Session"),
        Column("State", "state", lambda one: one.state),
        Column("Began", "opened", lambda one: one.opened or 0.0, falls=True),
        Column("Last used", "used", lambda one: one.used, falls=True),
        Column("Calls", "calls", lambda one: one.calls, numeric=True),
        Column("Refused", "refused", lambda one: one.refused, numeric=True),
    ),
    lambda one: (one.agent, one.session),
    lambda one, asked: asked.agent in ("", one.agent) and asked.state in ("", one.state),
)
"""The list of runs."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a run, and what lies before it."""

    call: CallRow
    pause_s: float
    """Since the call before it; 0 where that was less than `GAP_S`."""
    waited_s: float
    """For a person."""
    by: str
    """Who agreed."""
    marks: tuple[str, ...]
    """How data flows through the tool, as it is offered now: `untrusted`, `private`, `outbound`."""


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """A run, oldest call first."""

    agent: str
    session: str
    open: bool
    steps: list[Step]
    held: dict[str, str]
    """What was read in these calls → the tool that brought it last: the flow rule's view."""
    earlier: int
    """`before` of the page with earlier calls; 0 where these are all."""
    looked_at: int
    """So many of the agent's records were looked at, and no more, before there were calls enough for a page; 0 where that was no bound."""


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was ended."""

    agent: str
    session: str


class AgentRuns:
    """Of one gateway."""

    def __init__(self, parts: Dependencies) -> None:
        self._front = parts.gateway.front
        self._servers = parts.gateway.inside.servers
        self._audit = parts.ground.audit
        self._folder = parts.ground.settings.storage.path
        self._calls = RecentCalls(parts.recent)
        self._changes = parts.changes
        self._ahead = parts.clock() - self._front.clock()
        """How far Unix seconds are ahead of those of the sessions: asked for once, so that places in the list stay where they are."""

    async def page(self, asked: RunsAsked) -> Rows[Run]:
        """Sorted, filtered, one page. Raises `ApiError`."""
        standing = [*self._front.standing.items()]
        counts = await in_slices(_counted(self._calls.every()))
        return await TABLE.page(_all(counts, standing, self._ahead), asked)

    async def timeline(self, asked: RunAsked) -> Timeline:
        """Raises `ApiError`, `StoreError`."""
        read = await asyncio.to_thread(self._read, asked)
        session = asked.session[:SHOWN]
        is_open = bool(session) and self._standing(session, asked.agent) is not None
        if not read.calls and not is_open and not asked.before and not read.looked_at:
            raise ApiError(
                404, "not_found", "there are no calls of such a run", "see which runs there are"
            )
        marks = self._marks({row.server for row, _ in read.calls})
        steps = _steps(read.calls[::-1], marks)
        return Timeline(
            agent=asked.agent,
            session=session,
            open=is_open,
            steps=steps,
            held=_held(steps),
            earlier=read.earlier,
            looked_at=read.looked_at,
        )

    def _read(self, asked: RunAsked) -> _Read:
        """Calls with the details of their records, newest first, as many as are shown."""
        reader = AuditReader(self._folder)
        query = Query(agent=asked.agent, before=asked.before or None, limit=_LOOKED_AT)
        found: dict[str, tuple[CallRow, Mapping[str, Any]]] = {}
        session = asked.session[:SHOWN]
        looked, last = 0, 0
        for record in reader.query(query):
            looked += 1
            if str(record.get("session") or "")[:SHOWN] == session and "call" in record:
                row = row_of(msgspec.json.encode(record))
                # The newer record of a call is its end.
                if (
                    row is not None
                    and row.id not in found
                    and not _ended(reader, row, asked.before)
                ):
                    if len(found) == STEPS:
                        return _Read([*found.values()], last, 0)
                    found[row.id] = row, record.get("details") or {}
            last = int(record["seq"])
        whole = looked < _LOOKED_AT
        return _Read([*found.values()], 0 if whole else last, 0 if whole else looked)

    def _marks(self, servers: Iterable[str]) -> dict[Target, tuple[str, ...]]:
        catalogue = self._servers.catalogue
        return {
            tool.target: tool.security.flow
            for server in servers
            if server
            for tool in catalogue.shelf(server).tools
            if tool.security.flow
        }

    def end(self, session: str, person: Person) -> Gone:
        """End a session, by the beginning of its id. Raises `ApiError`, `Unrecorded`."""
        found = self._standing(session[:SHOWN])
        if found is None or len(session) < SHOWN:
            raise ApiError(
                404, "not_found", "no session is open under this id", "it may have ended"
            )
        agent, end = found
        details = {"session": session[:SHOWN], "agent": agent}
        actor = Actor("operator", person.id)
        self._audit.event("dev.gatewright.session.ended", actor=actor, details=details)
        end()
        self._changes.tell("sessions", "audit")
        return Gone(agent=agent, session=session[:SHOWN])

    def _standing(self, session: str, agent: str = "") -> tuple[str, Callable[[], object]] | None:
        for ident, one in self._front.standing.items():
            if ident.startswith(session) and agent in ("", one.caller.id):
                return one.caller.id, one.end
        return None


class _Read(NamedTuple):
    """Of a run: calls, newest first, and, as in `Timeline`, where earlier ones begin and what was looked at."""

    calls: list[tuple[CallRow, Mapping[str, Any]]]
    earlier: int
    looked_at: int


def _ended(reader: AuditReader, row: CallRow, before: int) -> bool:
    """Whether an intent has its end on a page of later calls."""
    if not before or row.decision != "running":
        return False
    later = reader.query(Query(trace_id=row.trace_id, after=before - 1))
    return any(one.get("call") == row.id for one in later)


class _Count(msgspec.Struct):
    calls: int = 0
    refused: int = 0
    deferred: int = 0
    last: float = 0.0


def _counted(
    every: Iterable[Sequence[CallRow]],
) -> Generator[None, None, dict[tuple[str, str], _Count]]:
    """By agent and session, of rows of which the newest come first, some at a time."""
    found: dict[tuple[str, str], _Count] = {}
    for rows in every:
        yield
        for row in rows:
            key = row.agent, row.session[:SHOWN]
            count = found.get(key)
            if count is None:
                count = found[key] = _Count(last=row.at)
            count.calls += 1
            count.refused += row.decision == "refused"
            count.deferred += row.deferred
    return found


def _all(
    counts: dict[tuple[str, str], _Count], standing: Sequence[tuple[str, Standing]], ahead: float
) -> list[Run]:
    """`ahead`: how far Unix seconds are ahead of those of the sessions."""
    found = []
    for ident, one in standing:
        short = ident[:SHOWN]
        count = counts.pop((one.caller.id, short), _Count())
        used = max(ahead + one.used, count.last)
        found.append(
            Run(
                agent=one.caller.id,
                session=short,
                door=one.door,
                profile=one.profile,
                opened=ahead + one.opened,
                used=used,
                open=True,
                calls=count.calls,
                refused=count.refused,
                deferred=count.deferred,
            )
        )
    return found + [
        Run(
            agent=agent,
            session=session,
            door="",
            profile="",
            opened=None,
            used=count.last,
            open=False,
            calls=count.calls,
            refused=count.refused,
            deferred=count.deferred,
        )
        for (agent, session), count in counts.items()
    ]


def _steps(
    calls: list[tuple[CallRow, Mapping[str, Any]]], marks: Mapping[Target, tuple[str, ...]]
) -> list[Step]:
    found: list[Step] = []
    before: float | None = None
    for row, details in calls:
        spent = (row.ms or 0.0) / 1000
        pause = 0.0 if before is None else row.at - spent - before
        waited = details.get("waited_ms")
        by = details.get("confirmed_by")
        found.append(
            Step(
                call=row,
                pause_s=pause if pause > GAP_S else 0.0,
                waited_s=float(waited) / 1000 if isinstance(waited, int | float) else 0.0,
                by=by if isinstance(by, str) else "",
                marks=marks.get(Target(row.server, row.name), ()),
            )
        )
        before = row.at
    return found


def _held(steps: Iterable[Step]) -> dict[str, str]:
    """What was read, as far as a call brought something: one that was refused brought nothing."""
    return {
        mark: f"{one.call.server}/{one.call.name}"
        for one in steps
        if one.call.decision in ("allowed", "approved", "failed")
        for mark in one.marks
        if mark != "outbound"
    }
