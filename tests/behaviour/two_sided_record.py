"""What the record of the two-sided model's gateway does not say of the calls that servers got."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gatewright.audit.reader import AuditReader

__all__ = ["unrecorded"]

_ONCE = frozenset({"tools/call", "prompts/get", "resources/read", "completion/complete"})
_NAMED = _ONCE - {"completion/complete"}
"""The record of these names the server, too."""


def unrecorded(state: Path, served: Counter[tuple[str, str, str]]) -> Iterator[str]:
    """The calls in `served` (agent, method and server, how often) that the record in a state folder does not name."""
    found: Counter[tuple[str, str, str]] = Counter()
    for record in AuditReader(state).tail(10_000_000):
        target, actor = record.get("target") or {}, record.get("actor") or {}
        method = str(record.get("method", "tools/call"))
        found[str(actor.get("id")), method, str(target.get("server_id"))] += 1
        found[str(actor.get("id")), method, ""] += 1
    for (agent, method, server), count in served.items():
        key = agent, method, server if method in _NAMED else ""
        if found[key] < count and method in _ONCE:
            yield f"the record names {found[key]} of {count}: {key}"
        elif not found[key]:
            yield f"the record names none of {key}"
