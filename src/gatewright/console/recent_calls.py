"""`RecentCalls`: the newest calls among the newest audit records, a row a call, filtered; one call with both of its records."""

from __future__ import annotations

import datetime as dt
from collections.abc import Generator, Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatewright.audit.records import INTENT
from gatewright.console.recent import Recent
from gatewright.transport.slices import in_slices

__all__ = ["DECISIONS", "ROWS", "CallRow", "CallsAsked", "RecentCalls", "row_of"]

ROWS = 50
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
Text = Annotated[str, Meta(max_length=500)]


class CallsAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Which calls. Members left empty do not restrict."""

    agent: Text = ""
    server: Text = ""
    tool: Text = ""
    decision: Literal[
        "", "allowed", "approved", "refused", "failed", "error", "cancelled", "running"
    ] = ""


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

    @property
    def at(self) -> float:
        """`time` in Unix seconds."""
        return dt.datetime.fromisoformat(self.time).timestamp()


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


class RecentCalls:
    """Reads the newest records."""

    def __init__(self, recent: Recent) -> None:
        self._recent = recent

    async def newest(self, asked: CallsAsked, most: int = ROWS) -> list[CallRow]:
        """The newest calls that fit, newest first. Looks at no more records than are kept in memory, in slices."""
        return await in_slices(self._newest(asked, most))

    def _newest(self, asked: CallsAsked, most: int) -> Generator[None, None, list[CallRow]]:
        found: list[CallRow] = []
        ended: set[str] = set()
        for line in self._lines(asked.agent, asked.server, asked.tool):
            yield
            if line is None:
                continue
            one = _decoder.decode(line)
            # The newer record of a call says more: its end, which stands behind its intent.
            if not one.call or one.event_type not in _KINDS or one.call in ended:
                continue
            ended.add(one.call)
            row = _row(one)
            if _fits(row, asked):
                found.append(row)
                if len(found) == most:
                    break
        return found

    def every(self) -> Iterator[CallRow]:
        """All calls that are kept in memory, newest first. Not on the event loop: there may be thousands."""
        for line in self._recent.lines():
            row = row_of(line)
            if row is not None:
                yield row

    async def record(self, call: str) -> dict[str, Any] | None:
        """The last record of a call; None where it is not among those in memory. In slices."""
        return await in_slices(self._record(call))

    def _record(self, call: str) -> Generator[None, None, dict[str, Any] | None]:
        for line in self._lines(call):
            yield
            if line is None:
                continue
            one = _decoder.decode(line)
            if one.call == call and one.event_type in _KINDS:
                record: dict[str, Any] = msgspec.json.decode(line)
                return record
        return None

    def _lines(self, *texts: str) -> Iterator[bytes | None]:
        """Lines in which all of these texts stand, newest first, None for each other: whoever is looked for stands there, if anywhere."""
        wanted = [msgspec.json.encode(one) for one in texts if one]
        for line in self._recent.lines():
            yield line if all(one in line for one in wanted) else None


def row_of(line: bytes) -> CallRow | None:
    """The row of a record; None where it is of no call."""
    one = _decoder.decode(line)
    return _row(one) if one.call and one.event_type in _KINDS else None


def _row(one: _Line) -> CallRow:
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
    )


def _fits(row: CallRow, asked: CallsAsked) -> bool:
    return (
        asked.agent in ("", row.agent)
        and asked.server in ("", row.server)
        and asked.tool in ("", row.name)
        and asked.decision in ("", row.decision)
    )
