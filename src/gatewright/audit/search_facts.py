"""Extracts number, time, searchable values (agent, tool, gate, rule, …) from an audit record's JSON; `admits`: whether it fits a search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from gatewright.audit.search_index import FACTS, Wanted, indexed

__all__ = ["admits", "facts_of", "seq_of"]


def admits(wanted: Wanted, line: bytes) -> bool:
    """Whether one record fits; a long value also by its beginning and digest, as the index shows it."""
    time, values = facts_of(line)
    within = (wanted.since is None or wanted.since <= time) and (
        wanted.until is None or time < wanted.until
    )
    return within and all(
        (value := values[FACTS.index(name)]) is not None and indexed(value) == indexed(said)
        for name, said in wanted.facts.items()
    )


class _Line(msgspec.Struct):
    time: str
    event_type: str
    outcome: str
    seq: int = 0
    actor: Mapping[str, Any] = {}
    target: Mapping[str, Any] = {}
    decision: Mapping[str, Any] = {}
    details: Mapping[str, Any] = {}


_line = msgspec.json.Decoder(_Line)


def facts_of(line: bytes) -> tuple[int, tuple[str | None, ...]]:
    """The time of a record in milliseconds, and the values of `FACTS`, as the index has them of a row."""
    one = _line.decode(line)
    rules: Iterable[Any] = (
        one.decision.get("reason"),
        one.details.get("reason"),
        one.details.get("access"),
    )
    rule = next((said for said in rules if said is not None), None)
    target = one.target
    return round(datetime.fromisoformat(one.time).timestamp() * 1000), (
        one.actor.get("id"),
        target.get("server_id"),
        target.get("tool_name"),
        one.event_type,
        one.outcome,
        one.decision.get("gate"),
        None if rule is None else str(rule),
    )


def seq_of(line: bytes) -> int:
    """Its number."""
    return _line.decode(line).seq
