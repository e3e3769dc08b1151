"""Sends audit records as `notifications/mgp.audit` to MGP clients: their own to each client, all to operators (MGP §6.3).

Costs nothing as long as nobody listens: the record is then not even asked. What a client hears is what the record says,
arguments and secrets left out as there. Nothing is kept for a client that is away: who needs every event asks the record.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import msgspec

from gatewright.audit.records import to_mgp
from gatewright.audit.trail import AuditLog
from gatewright.call import Caller
from gatewright.servers.notifications import ServerNotifications

__all__ = ["witness"]

_KINDS = ("agent", "owner")
"""Whom access is given to."""

log = logging.getLogger("gatewright.audit")


def witness(audit: AuditLog, hub: ServerNotifications) -> None:
    """Send each new audit record to the listeners of `hub`, for as long as there are any."""
    listening = ExitStack()

    def tell(line: bytes) -> None:
        try:
            _tell(hub, msgspec.json.decode(line))
        except Exception:
            log.exception("an event could not be told to clients")

    def auditing(wanted: bool) -> None:
        if wanted:
            listening.callback(audit.heard.listen(tell))
        else:
            listening.close()

    hub.auditing.listen(auditing)


def _tell(hub: ServerNotifications, record: Mapping[str, Any]) -> None:
    event = to_mgp(record)
    if event is None:
        return
    actor, session = record["actor"], record.get("session")
    # Whose access changed hears of it too, although an operator is the actor.
    about = event["details"].get("agent_id") if event["event_type"].startswith("ACCESS_") else None

    def may_hear(caller: Caller, theirs: str | None) -> bool:
        if caller.kind == "operator":
            return True
        if caller.kind == "anonymous":  # which is anybody: only what went through this very session
            return session is not None and session == theirs
        # Kind and id: the owner's host and an operator may both be called `local`.
        return (actor["type"], actor["id"]) == (caller.kind, caller.id) or about in (caller.id, "*")

    everybody = about == "*"
    callers = {(actor["type"], actor["id"])} | {(kind, str(about)) for kind in _KINDS if about}
    whose = actor["type"], actor["id"]
    hub.tell_audit(event, may_hear, None if everybody else callers, session, whose)
