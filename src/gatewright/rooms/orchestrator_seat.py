"""Seats a topic's `Orchestrator` in the hub: loads and saves its rule file in the state folder, writes its decisions to the audit log."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import quote

from gatewright.audit.records import Actor, Subject
from gatewright.audit.trail import AuditLog
from gatewright.config.rooms import RoomOrchestratorTable
from gatewright.rooms.hub import Hub
from gatewright.rooms.in_process import Inside
from gatewright.rooms.participants.learning import Learning
from gatewright.rooms.participants.orchestrator import Decided, Orchestrator
from gatewright.rooms.participants.rules import RuleBook
from gatewright.storage.errors import StoreError
from gatewright.storage.private_file import replace_file

__all__ = ["RULES", "orchestrator_in"]

RULES = "room-rules"
"""The folder, inside the state folder, with one file for each topic."""


def orchestrator_in(
    hub: Hub, table: RoomOrchestratorTable, topic: str, audit: AuditLog, state: Path
) -> Inside:
    """The seat of the orchestrator of a topic. Raises `StoreError` where its rules cannot be read."""
    path = state / RULES / f"{quote(topic, safe='')}.json"
    orchestrator = Orchestrator(
        _book(path),
        topic=topic,
        people=table.people,
        record=lambda decided: _record(audit, topic, table.name, decided),
        save=lambda text: _save(path, text),
        learning=Learning(topic=topic, enough=table.suggest_after),
    )
    seat = Inside(hub, topic=topic, name=table.name, responder=orchestrator.tools)
    orchestrator.attach(seat.participant)
    return seat


def _book(path: Path) -> RuleBook:
    try:
        return RuleBook(path.read_bytes()) if path.exists() else RuleBook()
    except (OSError, ValueError) as problem:
        said = f"the rules in {path} cannot be read: {problem}; mend the file, or move it away"
        raise StoreError(said) from problem


def _save(path: Path, text: bytes) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    replace_file(path, text)


def _record(audit: AuditLog, topic: str, name: str, decided: Decided) -> None:
    """Who decided what, and by which rule. Raises `Unrecorded`."""
    said = {
        "topic": topic,
        "proposal": decided.proposal,
        "proposer": decided.proposer,
        "rule": decided.rule,
        "reason": decided.reason or None,
    }
    outcome: Literal["success", "denied", "failure"] = "success"
    if decided.what in ("rejected", "stopped"):
        outcome = "denied"
    elif decided.what == "failed":
        outcome = "failure"
    audit.event(
        f"dev.gatewright.room.{decided.what}",
        actor=Actor(type="orchestrator" if decided.by == name else "participant", id=decided.by),
        target=Subject(name=decided.kind),
        outcome=outcome,
        details={key: value for key, value in said.items() if value is not None},
        trace_id=decided.proposal,
    )
