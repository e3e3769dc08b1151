"""`RecentCalls`: table of the newest calls, from audit records in memory: filtered, sorted, paged; the last audit record of one call."""

from __future__ import annotations

import datetime as dt
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from gatewright.audit.records import INTENT
from gatewright.console.lists import Column, Paged, Table
from gatewright.console.paging import key_of, text_of
from gatewright.console.recent import Recent
from gatewright.transport.slices import in_slices

__all__ = [
    "COLUMNS",
    "DECISIONS",
    "DEFERRED",
    "WORDS",
    "CallPage",
    "CallRow",
    "CallsAsked",
    "RecentCalls",
    "row_of",
]

_KINDS = frozenset(
    {
        "TOOL_EXECUTED",
        "TOOL_BLOCKED",
        INTENT,
        "dev.gatewright.list",
        "dev.gatewright.prompt",
        "dev.gatewright.resource",
        "dev.gatewright.method",
    }
)

DecisionName = Literal["allowed", "approved", "refused", "failed", "error", "cancelled", "running"]
DECISIONS: dict[str, DecisionName] = {
    "success": "allowed",
    "denied": "refused",
    "failure": "failed",
    "error": "error",
    "cancelled": "cancelled",
    "pending": "running",
}
DEFERRED = "permission_deferred"
"""The reason of a refusal for now: nothing was run, and a person who is asked can still let it."""
WORDS: Sequence[DecisionName] = get_args(DecisionName)
"""All decisions."""
Text = Annotated[str, Meta(max_length=500)]


class CallsAsked(Paged, frozen=True, kw_only=True):
    """Which calls, in which order: the newest first unless said otherwise. Members left empty do not restrict."""

    agent: Text = ""
    server: Text = ""
    tool: Text = ""
    decision: Literal[
        "", "allowed", "approved", "refused", "failed", "error", "cancelled", "running"
    ] = ""
    sort: Literal["time", "agent", "call", "decision", "ms", "bytes"] = "time"


class CallRow(msgspec.Struct, frozen=True, kw_only=True):
    """One call."""

    id: str
    time: str
    """When its end was recorded, or its beginning while it runs; ISO 8601, UTC."""
    agent: str
    server: str
    name: str
    """Of the tool, prompt or resource; the method of anything else."""
    decision: DecisionName
    """`approved`: somebody was asked first. `failed`: the tool ran and said so. `error`: it broke on the way."""
    ms: float | None
    bytes: int | None
    """Of the result."""
    reason: str
    """Why it was refused, or what broke."""
    session: str
    trace_id: str
    number: int = 0
    """Of its record among those written since the gateway started, in their order; 0 where that is not known."""

    @property
    def deferred(self) -> bool:
        """Whether it was refused for now, as a person was asked about it; a call that waited on its connection in vain ends in an error."""
        return self.decision == "refused" and self.reason == DEFERRED

    @property
    def at(self) -> float:
        """`time` in Unix seconds."""
        return dt.datetime.fromisoformat(self.time).timestamp()


class CallPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the newest calls."""

    calls: list[CallRow]
    next: str
    """`after` of the next page; empty where there is none."""


COLUMNS = (
    Column("When", "time", lambda one: one.number, falls=True),
    Column("Agent", "agent", lambda one: one.agent),
    Column("Call", "call", lambda one: f"{one.server}/{one.name}"),
    Column("Decision", "decision", lambda one: one.decision),
    Column("Took", "ms", lambda one: -1.0 if one.ms is None else one.ms, numeric=True),
    Column("Bytes", "bytes", lambda one: -1 if one.bytes is None else one.bytes, numeric=True),
    Column("Reason"),
)


class _Actor(msgspec.Struct):
    id: str


class _Subject(msgspec.Struct):
    server_id: str = ""
    tool_name: str = ""
    name: str = ""


class _Decision(msgspec.Struct):
    reason: str


class _Result(msgspec.Struct):
    bytes: int


class _Details(msgspec.Struct):
    duration_ms: Any = None
    reason: Any = ""
    confirmed_by: Any = None


class _Line(msgspec.Struct):
    """What of a record a row shows: decoding the rest costs several times as much."""

    time: str
    event_type: str
    outcome: str
    actor: _Actor
    target: _Subject
    trace_id: str
    call: str = ""
    method: str = ""
    session: str = ""
    decision: _Decision | None = None
    result: _Result | None = None
    details: _Details = msgspec.field(default_factory=_Details)


_decoder = msgspec.json.Decoder(_Line)
_UNREAD: Any = object()
_A_STEP = 32
"""Records that are looked at before others have their turn."""


class RecentCalls:
    """Reads the newest records."""

    def __init__(self, recent: Recent) -> None:
        self._recent = recent
        self._table: Table[CallRow] = Table("/live", CallsAsked, COLUMNS, lambda one: one.id)

    async def page(self, asked: CallsAsked) -> CallPage:
        """One page. Looks at no more records than are kept in memory, in slices; for the newest at no more than it needs. Raises
        `ApiError`."""
        if asked.sort == "time" and asked.desc is not False:
            return await in_slices(self._newest(asked))
        rows, _, more = await self._table.page(await in_slices(self._all(asked)), asked)
        return CallPage(calls=rows, next=more)

    def _all(self, asked: CallsAsked) -> Generator[None, None, list[CallRow]]:
        found: list[CallRow] = []
        for rows in self._those(asked):
            yield
            found += rows
        return found

    def _newest(self, asked: CallsAsked) -> Generator[None, None, CallPage]:
        # Numbers only grow: wherever the page before ended, and whatever was written or forgotten since, this one has what is behind it.
        last = key_of(asked.after, int)
        found: list[CallRow] = []
        for rows in self._those(asked):
            yield
            found += [one for one in rows if last is None or one.number < int(last[0])]
            if len(found) > asked.limit:
                found = found[: asked.limit]
                return CallPage(calls=found, next=text_of((found[-1].number, found[-1].id)))
        return CallPage(calls=found, next="")

    def _those(self, asked: CallsAsked) -> Iterator[list[CallRow]]:
        """Those that fit, newest first, of some records at a time."""
        for rows in self._some(asked.agent, asked.server, asked.tool):
            yield [one for one in rows if _fits(one, asked)]

    def every(self) -> Iterator[list[CallRow]]:
        """All calls that are kept in memory, newest first, of some records at a time: there may be thousands."""
        return self._some()

    def _some(self, *texts: str) -> Iterator[list[CallRow]]:
        """The calls in whose records these texts stand. The newer record of a call says more: its end, which stands behind its intent."""
        made, there = self._recent.made(), set[str]()
        wanted, rows = _spelled(texts), list[CallRow]()
        for number, line in self._recent.numbered():
            if number % _A_STEP == 0:
                yield rows
                rows = []
            row = made.get(number, _UNREAD)
            if row is _UNREAD:
                if not _has(line, wanted):
                    continue
                row = made[number] = row_of(line, number)
            if row is not None and row.id not in there:
                there.add(row.id)
                rows.append(row)
        yield rows

    async def record(self, call: str) -> dict[str, Any] | None:
        """The last record of a call; None where it is not among those in memory. In slices."""
        return await in_slices(self._record(call))

    def _record(self, call: str) -> Generator[None, None, dict[str, Any] | None]:
        (wanted,) = _spelled([call])
        for line in self._recent.lines():
            yield
            if wanted not in line:
                continue
            one = _decoder.decode(line)
            if one.call == call and one.event_type in _KINDS:
                record: dict[str, Any] = msgspec.json.decode(line)
                return record
        return None


def _has(line: bytes, wanted: Sequence[bytes]) -> bool:
    # A loop of its own: with `all` each of thousands of lines would have a generator made.
    for one in wanted:  # noqa: SIM110
        if one not in line:
            return False
    return True


def _spelled(texts: Iterable[str]) -> list[bytes]:
    """As they stand in a record: whoever is looked for stands there, if anywhere."""
    return [msgspec.json.encode(one) for one in texts if one]


def row_of(line: bytes, number: int = 0) -> CallRow | None:
    """The row of a record; None where it is of no call."""
    one = _decoder.decode(line)
    return _row(one, number) if one.call and one.event_type in _KINDS else None


def _row(one: _Line, number: int) -> CallRow:
    details = one.details
    decision = DECISIONS.get(one.outcome, "error")
    if decision == "allowed" and details.confirmed_by is not None:
        decision = "approved"
    refused = one.decision
    reason = details.reason if refused is None else refused.reason
    ms = details.duration_ms
    target = one.target
    return CallRow(
        id=one.call,
        time=one.time,
        agent=one.actor.id,
        server=target.server_id,
        name=target.tool_name or target.name or one.method,
        decision=decision,
        ms=float(ms) if isinstance(ms, int | float) else None,
        bytes=None if one.result is None else one.result.bytes,
        reason=str(reason),
        session=one.session,
        trace_id=one.trace_id,
        number=number,
    )


def _fits(row: CallRow, asked: CallsAsked) -> bool:
    return (
        asked.agent in ("", row.agent)
        and asked.server in ("", row.server)
        and asked.tool in ("", row.name)
        and asked.decision in ("", row.decision)
    )
