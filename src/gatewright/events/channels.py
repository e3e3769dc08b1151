"""The gateway's event channels: table of severity and audience; turns audit records into events and filters them by caller; matches patterns.

An event is never more than the record says: arguments and results are in neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from gatewright.audit.records import to_mgp
from gatewright.call import Caller, Who
from gatewright.mcp.protocol.mcp_server import LOG_LEVELS
from gatewright.mcp.wire.codes import REASONS
from gatewright.patterns import Pattern

__all__ = [
    "CHANNELS",
    "FAMILIES",
    "LONGEST_NAME",
    "STARTED",
    "Channel",
    "Happened",
    "event_of",
    "is_channel",
    "matches",
    "of_servers",
    "severity_of",
]

FAMILIES = ("model", "system", "tool", "security")
"""What the name of every channel begins with, in front of a dot (MGP §13.5)."""

LONGEST_NAME = 128
_NAME = Pattern(r"(model|system|tool|security)(\.[a-z0-9_-]+)*\.([a-z0-9_-]+|\*)")

For = Literal["own", "server", "operators"]
"""Who hears of it besides operators: those whose call it was or whom it is about; those who may see the server; nobody."""


class Channel(NamedTuple):
    """One channel of the gateway's own."""

    name: str
    severity: str
    hears: For
    what: str


CHANNELS: Mapping[str, Channel] = {
    one.name: one
    for one in (
        Channel("tool.started", "info", "own", "a call passed all gates and goes to its server"),
        Channel("tool.completed", "info", "own", "a tool answered"),
        Channel("tool.failed", "error", "own", "a tool said that it failed, or its call broke"),
        Channel("tool.cancelled", "notice", "own", "a call was cancelled"),
        Channel("tool.blocked", "warning", "own", "a call was refused for another reason than access"),
        Channel("security.access_denied", "warning", "own", "a call was refused for want of a right"),
        Channel("security.validation_failed", "warning", "own", "a check of the arguments refused"),
        Channel("security.code_rejected", "error", "own", "the code safety framework refused code"),
        Channel("security.request_refused", "warning", "own", "a request other than a tool call was refused"),
        Channel("security.access_changed", "notice", "own", "a grant was issued or taken back"),
        Channel("security.permission_changed", "notice", "operators", "what a server may do was decided"),
        Channel("security.approval", "notice", "own", "a request for approval was made, decided, used or ended"),
        Channel("security.callback", "notice", "own", "a server's callback was asked, answered or ended"),
        Channel("security.definition_changed", "warning", "operators", "a pinned tool definition changed, or a change was decided on"),
        Channel("security.key_changed", "notice", "operators", "a key was made or revoked"),
        Channel("system.server_connected", "info", "server", "a server is connected"),
        Channel("system.server_disconnected", "warning", "server", "a server's connection ended"),
        Channel("system.server_changed", "notice", "server", "an operator started, stopped or restarted a server"),
        Channel("system.configuration", "notice", "operators", "a configuration was applied, or refused"),
        Channel("system.performance", "warning", "operators", "a call took longer or more memory than was configured"),
        Channel("system.record", "warning", "operators", "something happened to the audit record itself"),
    )
}  # fmt: skip
"""The gateway's own channels. Those of `model` are servers' alone."""

STARTED = "tool.started"

_BY_TYPE = {
    "VALIDATION_FAILED": "security.validation_failed",
    "CODE_REJECTED": "security.code_rejected",
    "ACCESS_GRANTED": "security.access_changed",
    "ACCESS_REVOKED": "security.access_changed",
    "PERMISSION_GRANTED": "security.permission_changed",
    "PERMISSION_DENIED": "security.permission_changed",
    "PERMISSION_REVOKED": "security.permission_changed",
    "SERVER_CONNECTED": "system.server_connected",
    "SERVER_DISCONNECTED": "system.server_disconnected",
    "dev.gatewright.refused": "security.request_refused",
    "dev.gatewright.performance": "system.performance",
}
_BY_PREFIX = {
    "dev.gatewright.approval.": "security.approval",
    "dev.gatewright.callback.": "security.callback",
    "dev.gatewright.tool.": "security.definition_changed",
    "dev.gatewright.key.": "security.key_changed",
    "dev.gatewright.server.": "system.server_changed",
    "dev.gatewright.config.": "system.configuration",
    "dev.gatewright.audit.": "system.record",
}
_OTHER_CALLS = frozenset(
    f"dev.gatewright.{kind}" for kind in ("list", "prompt", "resource", "method")
)
_RIGHTS = (1000, 1001)
"""MGP's codes for what somebody lacks a right for."""


class Happened(NamedTuple):
    """One event of the gateway's own. `server` and `session` are those that it is about, empty where it is about none."""

    channel: str
    severity: str
    timestamp: str
    data: Mapping[str, Any]
    server: str = ""
    session: str | None = None
    actor: tuple[str, str] = ("", "")
    about: Who | None = None
    """Kind and id of whom it is about; of no kind where both a host and a key of that name are meant, as grants do."""

    def is_for(self, caller: Caller, session: str | None, *, sees: bool) -> bool:
        """Whether a caller may hear of it. `sees` says that the server exists for it."""
        hears = CHANNELS[self.channel].hears
        if caller.kind == "operator":
            return True
        if hears == "server":
            return sees
        if hears == "operators":
            return False
        if caller.kind == "anonymous":  # which is anybody: only what went through this very session
            return session is not None and session == self.session
        if self.actor == (caller.kind, caller.id):
            return True
        meant = self.about in (caller.who, ("", caller.id), ("", "*"))
        return caller.kind in ("agent", "owner") and meant

    def data_for(self, caller: Caller) -> Mapping[str, Any]:
        """As much of it as a caller may know: why a server stopped is its operator's to know."""
        if caller.kind == "operator" or CHANNELS[self.channel].hears != "server":
            return self.data
        return {"event_type": self.data["event_type"], "target": self.data["target"]}


def event_of(record: Mapping[str, Any]) -> Happened | None:
    """The event that a decoded record of the audit trail is, if it is one."""
    channel = _channel_of(record)
    told = None if channel is None else to_mgp(record)
    if channel is None or told is None:
        return None
    actor, details = record["actor"], record.get("details", {})
    about = details.get("agent_id") if channel == "security.access_changed" else None
    return Happened(
        channel,
        CHANNELS[channel].severity,
        told.pop("timestamp"),
        told,
        record["target"].get("server_id", ""),
        record.get("session"),
        (actor["type"], actor["id"]),
        ("", about) if isinstance(about, str) else _asker(channel, details),
    )


def _asker(channel: str, details: Mapping[str, Any]) -> Who | None:
    """Whose request for approval it is: a decision on it is an operator's deed."""
    if channel != "security.approval":
        return None
    kind, agent = details.get("agent_kind"), details.get("agent")
    return (kind, agent) if isinstance(kind, str) and kind and isinstance(agent, str) else None


def _channel_of(record: Mapping[str, Any]) -> str | None:
    kind, outcome = record["event_type"], record["outcome"]
    if kind == "TOOL_EXECUTED":
        if outcome == "cancelled":
            return "tool.cancelled"
        return "tool.completed" if outcome == "success" else "tool.failed"
    if kind == "TOOL_BLOCKED":
        if outcome == "cancelled":
            return "tool.cancelled"
        return "security.access_denied" if _wants_right(record) else "tool.blocked"
    if kind in _OTHER_CALLS:
        if outcome != "denied":
            return None
        return "security.access_denied" if _wants_right(record) else "security.request_refused"
    if kind in _BY_TYPE:
        return _BY_TYPE[kind]
    return next((name for begin, name in _BY_PREFIX.items() if kind.startswith(begin)), None)


def _wants_right(record: Mapping[str, Any]) -> bool:
    row = REASONS.get(record.get("decision", {}).get("reason", ""))
    return row is not None and row.mgp_code in _RIGHTS


# -- what callers ask for -------------------------------------------------------------------------


def is_channel(name: str) -> bool:
    """Whether a name is one of a channel of MGP's families, or of all beneath a name (`tool.*`)."""
    return len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None


def matches(pattern: str, channel: str) -> bool:
    """Whether a channel is meant by a name that was asked for."""
    return channel.startswith(pattern[:-1]) if pattern.endswith(".*") else pattern == channel


def of_servers(channel: str, caller: Caller) -> bool:
    """Whether a server is asked for a channel in the name of a caller, and heard on it. To a gateway behind this one all that call through this
    one are one caller: what is `own` there is anybody's here, so that operators alone hear of it. Other names are the server's own to tell."""
    known = CHANNELS.get(channel)
    return known is None or known.hears == "server" or caller.kind == "operator"


def severity_of(name: Any) -> int | None:
    """How severe, the least severe 0; None for what is no severity."""
    return LOG_LEVELS.index(name) if isinstance(name, str) and name in LOG_LEVELS else None
