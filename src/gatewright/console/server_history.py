"""A tool server's history by the audit trail: connected, disconnected, what operators did and why; and as spans of time up and down."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import Query
from gatewright.servers.supervisor import REPLACED

__all__ = ["KINDS", "Span", "Step", "history", "spans", "window_of"]

KINDS: Mapping[str, str] = {
    "SERVER_CONNECTED": "connected",
    "SERVER_DISCONNECTED": "disconnected",
    "dev.gatewright.server.started": "started by an operator",
    "dev.gatewright.server.restarted": "restarted by an operator",
    "dev.gatewright.server.stopped": "stopped by an operator",
    "dev.gatewright.server.shutdown": "drained by an operator",
    "dev.gatewright.server.enabled": "enabled in mgp.toml",
    "dev.gatewright.server.disabled": "disabled in mgp.toml",
}
"""Kind of record → what happened, in words."""
_WINDOWS_S = (600.0, 3600.0, 6 * 3600.0, 24 * 3600.0, 7 * 24 * 3600.0)
_UP, _DOWN = "SERVER_CONNECTED", "SERVER_DISCONNECTED"


State = Literal["up", "down", "unknown"]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened to a server."""

    seq: int
    """The number of its record."""
    time: str
    kind: str
    what: str
    by: str
    """The operator; empty where it happened by itself."""
    why: str


class Span(msgspec.Struct, frozen=True):
    """A part of the time that is shown: where it begins and how long it is, each as a part of the whole."""

    state: State
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
    return Step(
        seq=int(record["seq"]),
        time=str(record["time"]),
        kind=kind,
        what=KINDS[kind],
        by=str(actor.get("id", "")) if actor.get("type") == "operator" else "",
        why=str(details.get("reason", "")),
    )


def window_of(steps: Sequence[Step], now: float) -> float:
    """How much time to show, in seconds: the shortest of some usual ones that has all steps in it."""
    oldest = min((_unix(one) for one in steps), default=now)
    return next((one for one in _WINDOWS_S if one >= now - oldest), _WINDOWS_S[-1])


def spans(steps: Sequence[Step], now: float, window_s: float, *, up: bool) -> list[Span]:
    """The last `window_s` seconds as spans, oldest first, by steps in any order; `up` says how it is now, which holds for all of it
    where nothing is recorded. What was before the first step is not known."""
    begin = now - window_s
    turns: list[tuple[float, State]] = sorted(_turns(steps))
    state: State = "unknown" if turns else ("up" if up else "down")
    edges: list[tuple[float, State]] = [(begin, state)]
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


def _turns(steps: Sequence[Step]) -> Iterator[tuple[float, State]]:
    for one in steps:
        if one.kind in (_UP, _DOWN) and one.why != REPLACED:
            yield _unix(one), "up" if one.kind == _UP else "down"


def _unix(step: Step) -> float:
    return dt.datetime.fromisoformat(step.time).timestamp()
