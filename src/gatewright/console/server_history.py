"""A tool server's history, from audit records and its states since the gateway started: sorted list, and time spans by state for a chart."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

import msgspec
from msgspec import Meta

from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import Query
from gatewright.console.lists import Column, Paged, Table
from gatewright.console.rendering import exactly
from gatewright.console.server_traffic import Turn
from gatewright.servers.states import State
from gatewright.servers.supervisor import REPLACED
from gatewright.timestamps import as_recorded

__all__ = [
    "KINDS",
    "STATE",
    "HistoryAsked",
    "HistoryPage",
    "Span",
    "Step",
    "history",
    "spans",
    "table_of",
    "times",
    "window_of",
    "with_turns",
]

KINDS: Mapping[str, str] = {
    "SERVER_CONNECTED": "connected",
    "SERVER_DISCONNECTED": "disconnected",
    "dev.gatewright.server.started": "started by an operator",
    "dev.gatewright.server.restarted": "restarted by an operator",
    "dev.gatewright.server.stopped": "stopped by an operator",
    "dev.gatewright.server.drain": "to be drained",
    "dev.gatewright.server.shutdown": "drained by an operator",
    "dev.gatewright.server.enabled": "enabled in mgp.toml",
    "dev.gatewright.server.disabled": "disabled in mgp.toml",
}
"""Kind of record → what happened, in words."""
_WINDOWS_S = (600.0, 3600.0, 6 * 3600.0, 24 * 3600.0, 7 * 24 * 3600.0)
STATE = "state"
"""The kind of a step that is in no record: the server came into a state."""
_IN_RECORD: Mapping[str, State] = {
    "SERVER_CONNECTED": "connected",
    "SERVER_DISCONNECTED": "disconnected",
}
_UNITS_S = ((3600.0, 1), (24 * 3600.0, 60), (_WINDOWS_S[-1], 3600))
"""The longest window → what times in it are rounded to."""
_SAME_S = 2.0
"""A record of a state that is no further away from it is of that; so is one that comes later, before the next state does."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened to a server."""

    seq: int
    """The number of its record; 0 where it is in none."""
    time: str
    kind: str
    what: str
    by: str
    """The operator; empty where it happened by itself."""
    why: str
    state: str = ""
    """That it is in since then; empty where the step says nothing of that."""


class HistoryAsked(Paged, frozen=True, kw_only=True):
    """Which steps, in which order: the newest first unless said otherwise."""

    find: Annotated[str, Meta(max_length=200)] = ""
    """A part of what happened, of who did it, or of why."""
    sort: Literal["time", "what", "by", "why"] = "time"


class HistoryPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some steps."""

    steps: list[Step]
    total: int
    """Of all that fit."""
    next: str
    """`after` of the next page; empty where this is the last."""


def _fits(one: Step, asked: HistoryAsked) -> bool:
    wanted = asked.find.casefold()
    return any(wanted in text.casefold() for text in (one.what, one.by, one.why))


def table_of(server: str) -> Table[Step]:
    """The list of what happened to one server, on its page."""
    return Table(
        f"/servers/{quote(server, safe='')}",
        HistoryAsked,
        (
            Column("When", "time", lambda one: one.time, falls=True),
            Column("What", "what", lambda one: one.what),
            Column("By", "by", lambda one: one.by),
            Column("Why", "why", lambda one: one.why),
        ),
        # Records of one moment in their order, states that are in none among each other by what they are.
        lambda one: (f"{one.seq:020}", one.kind, one.what, one.why),
        _fits,
    )


class Span(msgspec.Struct, frozen=True):
    """A part of the time that is shown: where it begins and how long it is, each as a part of the whole."""

    state: State | Literal["unknown"]
    begins: float
    lasts: float


def history(folder: Path, server: str, most: int, since: str) -> list[Step]:
    """The newest steps of a server, newest first; at most `most` of each kind, none from before `since`. Not on the event loop.
    Raises `StoreError`."""
    reader = AuditReader(folder)
    found = [
        _step(record)
        for kind in KINDS
        for record in reader.query(Query(server=server, event_type=kind, since=since, limit=most))
    ]
    return sorted(found, key=lambda one: one.seq, reverse=True)[:most]


def _step(record: Mapping[str, Any]) -> Step:
    kind, actor = str(record["event_type"]), record.get("actor", {})
    details = record.get("details", {})
    former = details.get("reason") == REPLACED
    return Step(
        seq=int(record["seq"]),
        time=str(record["time"]),
        kind=kind,
        what="former connection ended" if former else KINDS[kind],
        by=str(actor.get("id", "")) if actor.get("type") == "operator" else "",
        why=str(details.get("reason", "")),
        state="" if former else _IN_RECORD.get(kind, ""),
    )


def with_turns(steps: Sequence[Step], turns: Sequence[Turn]) -> list[Step]:
    """The same with the states that no record of them tells, newest first."""
    told = [(_unix(one), one.state) for one in steps if one.state]
    in_order = sorted(turns, key=lambda one: one.at)
    found = [
        Step(
            seq=0,
            time=as_recorded(one.at),
            kind=STATE,
            what=one.state,
            by="",
            why=one.cause.replace("_", " "),
            state=one.state,
        )
        for one, after in zip_longest(in_order, in_order[1:])
        if not any(
            one.state == state
            and one.at - _SAME_S < at < max(after.at if after else at + 1, one.at + _SAME_S)
            for at, state in told
        )
    ]
    return sorted([*steps, *found], key=lambda one: (one.time, one.seq), reverse=True)


def window_of(steps: Sequence[Step], now: float) -> float:
    """How much time to show, in seconds: the shortest of some usual ones that has all steps in it."""
    oldest = min((_unix(one) for one in steps), default=now)
    return next((one for one in _WINDOWS_S if one >= now - oldest), _WINDOWS_S[-1])


def spans(steps: Sequence[Step], now: float, window_s: float, *, state: State) -> list[Span]:
    """The last `window_s` seconds as spans, oldest first, by steps in any order; `state` is the one that it is in now, which holds
    for all of it where nothing is known of others. What was before the first step is not known."""
    begin = now - window_s
    turns: list[tuple[float, Any]] = sorted((_unix(one), one.state) for one in steps if one.state)
    edges: list[tuple[float, Any]] = [(begin, "unknown" if turns else state)]
    for at, after in turns:
        if at <= begin:
            edges = [(begin, after)]
        elif after != edges[-1][1]:
            edges.append((at, after))
    ends = [*(at for at, _ in edges[1:]), now]
    return [
        Span(after, (at - begin) / window_s, (end - at) / window_s)
        for (at, after), end in zip(edges, ends, strict=True)
        if end > at
    ]


def times(spans: Sequence[Span], window_s: float) -> dict[str, str]:
    """How long it was in each state, in the order in which they came: rounded so that all of it adds up to what is shown."""
    parts: dict[str, float] = {}
    for one in spans:
        parts[one.state] = parts.get(one.state, 0.0) + one.lasts * window_s
    unit = next((size for most, size in _UNITS_S if window_s <= most), _UNITS_S[-1][1])
    counts = {state: int(lasts / unit) for state, lasts in parts.items()}
    missing = round(window_s / unit) - sum(counts.values())
    # What is cut off goes to those of which most was.
    by_rest = sorted(parts, key=lambda one: counts[one] - parts[one] / unit)
    for state in by_rest[:missing]:
        counts[state] += 1
    return {
        state: exactly(count * unit) or f"under {exactly(unit)}" for state, count in counts.items()
    }


def _unix(step: Step) -> float:
    return dt.datetime.fromisoformat(step.time).timestamp()
