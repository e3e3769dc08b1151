"""Replays recorded tool calls against another configuration's access rules and counts which outcomes would change.

The record has who called which tool and whether access let the call in; it has no arguments. So access is
judged, by the gate itself, and what depends on arguments, on the moment or on a person is not: schema,
validators, limits, what a session has read, confirmation; nor are permissions and pins, which depend on what the tool then
said of itself.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import msgspec

from gatewright.access.configured_grants import grants_of
from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Layer
from gatewright.call import KERNEL, Caller
from gatewright.config import Settings
from gatewright.schemas.lookalikes import spellings
from gatewright.servers.working_folders import folders_of

__all__ = ["JUDGED", "Finding", "Simulation", "Tally", "judge", "simulate", "tally"]

JUDGED = frozenset({"authenticate", "session", "resolve", "access"})
"""Gates that judge again what is on record, or come before there is anything to judge; what all others go by is not on record."""

_BEFORE_ACCESS = frozenset({"authenticate", "session", "rate", "resolve"})
_ENDS = frozenset({"TOOL_EXECUTED", "TOOL_BLOCKED"})
_Kind = Literal["agent", "owner", "operator", "anonymous"]

Word = Literal["allowed", "refused"]


class Finding(msgspec.Struct, frozen=True, order=True):
    """All calls of one tool by one caller that ended alike."""

    agent: str
    kind: _Kind
    server: str
    tool: str
    was: Word
    now: Word
    why: str
    """What decides now: a level of MGP §5.2, `owner`, or what the configuration lacks."""
    calls: int


class Simulation(msgspec.Struct, frozen=True):
    """What came of it: one finding for each caller, tool and outcome."""

    judged: int
    unjudged: int
    """Calls that never came to access, or of no server's tool."""
    findings: tuple[Finding, ...]


class Tally(msgspec.Struct, frozen=True):
    """Recorded calls, counted: as large as there are callers and tools, however many calls there were."""

    calls: Counter[tuple[str, _Kind, str, str, Word]]
    unjudged: int


def simulate(
    settings: Settings, issued: Iterable[Grant], records: Iterable[Mapping[str, Any]]
) -> Simulation:
    """Judge the calls of these records by a configuration and by what was issued beside it. A grant for
    one definition of a tool counts as if the tool had never changed."""
    return judge(settings, issued, tally(records))


def tally(records: Iterable[Mapping[str, Any]]) -> Tally:
    """Count the calls of these records, none of which is kept."""
    calls: Counter[tuple[str, _Kind, str, str, Word]] = Counter()
    unjudged = 0
    for record in records:
        if record["event_type"] not in _ENDS:
            continue
        done = _done(record)
        if done is None:
            unjudged += 1
        else:
            calls[done] += 1
    return Tally(calls, unjudged)


def judge(settings: Settings, issued: Iterable[Grant], of: Tally) -> Simulation:
    """The same as `simulate`, of calls that are counted already."""
    plain = (msgspec.structs.replace(one, tool_digest=None) for one in issued)
    access = Access(grants_of(settings, Layer(plain)), time.time, folders=folders_of(settings))
    findings = []
    for (agent, kind, server, tool, was), count in of.calls.items():
        now, why = _judged(settings, access, _caller(settings, agent, kind), server, tool)
        findings.append(Finding(agent, kind, server, tool, was, now, why, count))
    return Simulation(of.calls.total(), of.unjudged, tuple(sorted(findings)))


def _done(record: Mapping[str, Any]) -> tuple[str, _Kind, str, str, Word] | None:
    """Who called what, and whether access let it in; None where that is not in the record."""
    actor, target = record["actor"], record["target"]
    server, tool = target.get("server_id"), target.get("tool_name")
    gate = record.get("decision", {}).get("gate")
    if not server or not tool or gate in _BEFORE_ACCESS or actor["type"] not in get_args(_Kind):
        return None
    return actor["id"], actor["type"], server, tool, "refused" if gate == "access" else "allowed"


def _caller(settings: Settings, agent: str, kind: _Kind) -> Caller:
    agents = settings.agents
    said = tuple(agents[one].context for one in (*spellings(agent), "*") if one in agents)
    return Caller(agent, kind, user=() if kind == "operator" else said)


def _judged(
    settings: Settings, access: Access, caller: Caller, server: str, tool: str
) -> tuple[Word, str]:
    if server != KERNEL:
        known = settings.server(server)
        if known is None:
            return "refused", "server is not configured"
        if not known.enabled:
            return "refused", "server is disabled"
        rule = known.rule(tool)
        if rule is not None and not rule.enabled:
            return "refused", "tool is disabled"
    allowed, source, _ = access.of_tool(caller, server, tool, None)
    return ("allowed" if allowed else "refused"), source
