"""`CallDetail`: one call from its audit record: each gate's verdict, time (waiting for a person, the rest), redactions, data flow, raw record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gatewright.console.gate_words import GateWord, gate_words
from gatewright.console.recent_calls import DEFERRED, CallRow, row_of

__all__ = ["CallDetail", "Share", "detail_of"]

_ASKS = "confirm"
"""The gate in which a call waits for a person."""
_PERSON = "waited for a person"


class Share(msgspec.Struct, frozen=True):
    """A part of the time that a call took."""

    what: str
    ms: float


class CallDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One call."""

    call: CallRow
    gates: list[GateWord]
    time: list[Share]
    removed: dict[str, int]
    """What was taken out of arguments and result, and how often."""
    flow: dict[str, str]
    """What the session had read by then, where that mattered: mark → tool."""
    client: str
    door: str
    record: str
    """The record, JSON text."""


def detail_of(record: Mapping[str, Any], gates: Sequence[str]) -> CallDetail | None:
    """All of it; None for a record that is of no call. `gates` are those of the policy now."""
    line = msgspec.json.encode(record)
    row = row_of(line)
    if row is None:
        return None
    details = record.get("details", {})
    decision = record.get("decision") or {}
    actor = record.get("actor", {})
    key = actor.get("key_id")
    return CallDetail(
        call=row,
        gates=gate_words(
            gates,
            details,
            caller=f"key {key}" if key else str(actor.get("type", "")),
            refused=str(decision.get("gate", "")),
            reason=str(decision.get("reason", "")),
        ),
        time=_time(row, str(decision.get("gate", "")), details.get("waited_ms"), gates),
        removed=_removed(details),
        flow=_texts(details.get("flow")),
        client=" ".join(_texts(record.get("client")).values()),
        door=str(record.get("door", "")),
        record=msgspec.json.format(line, indent=2).decode(),
    )


def _time(row: CallRow, refused_by: str, waited: Any, gates: Sequence[str]) -> list[Share]:
    if row.ms is None:
        return []
    waits = float(waited) if isinstance(waited, int | float) else 0.0
    rest = Share(_spent_in(row, refused_by, gates), max(0.0, row.ms - waits))
    return [Share(_PERSON, waits), rest] if waits else [rest]


def _spent_in(row: CallRow, refused_by: str, gates: Sequence[str]) -> str:
    """What the time went into, besides what is known of waiting: a call that a gate refused came to no server."""
    if row.decision != "refused" or row.reason == "cancelled" or refused_by not in gates:
        return "gates, server and network"
    # The gate tells how long it waited with calls that it let pass alone.
    asked = refused_by == _ASKS and row.reason in (DEFERRED, "permission_denied")
    return _PERSON if asked else "gates"


def _removed(details: Mapping[str, Any]) -> dict[str, int]:
    said = details.get("redacted")
    found = (
        {name: one for name, one in said.items() if isinstance(one, int)}
        if isinstance(said, Mapping)
        else {}
    )
    clean = details.get("sanitized")
    count = clean.get("removed") if isinstance(clean, Mapping) else None
    return {**found, "hidden characters": count} if isinstance(count, int) else found


def _texts(said: Any) -> dict[str, str]:
    if not isinstance(said, Mapping):
        return {}
    return {name: one for name, one in said.items() if isinstance(one, str)}
