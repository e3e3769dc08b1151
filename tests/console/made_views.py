"""`made_views`: the console's templates with values that are made up, each member of them there: what a page made of a running gateway shows seldom.

What only the gateway writes (a state, the name of a gate, an id of its own) is given; every other text hides something (`filled`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from gatewright.approvals.request import Approval
from gatewright.approvals.vote_rules import is_own
from gatewright.audit.records import Record
from gatewright.console.access_changes import Effect, Planned, Replayed
from gatewright.console.access_shapes import AccessChange
from gatewright.console.access_table import Cell, Grid
from gatewright.console.access_table import Said as SaidOfIt
from gatewright.console.agent_runs import TABLE as RUNS
from gatewright.console.agent_runs import Run, RunsAsked, Step, Timeline
from gatewright.console.approval_details import AskingCall, Detail, Waiting
from gatewright.console.audit_query import AuditQuery, Chip, url_of
from gatewright.console.audit_shapes import OpenedRecord, Records
from gatewright.console.audit_verifying import Verified
from gatewright.console.call_details import CallDetail, Share
from gatewright.console.definition_diff import Line
from gatewright.console.definition_pages import pages_of
from gatewright.console.gate_words import GateWord
from gatewright.console.health import FINDINGS, Chain, Findings, Overview, Thing
from gatewright.console.held_definitions import HeldDefinition, HeldDetail
from gatewright.console.host_shapes import HOSTS, From, HostPage, Hosts
from gatewright.console.inbox_decisions import said_of
from gatewright.console.inbox_list import InboxList, ListAsked, Row
from gatewright.console.lists import Shown
from gatewright.console.operations import ApiError
from gatewright.console.recent_calls import DEFERRED, CallRow
from gatewright.console.room_seats import Line as Said
from gatewright.console.room_seats import ProposalCard
from gatewright.console.room_shapes import RoomList, RoomRow, Talk
from gatewright.console.running_calls import RunningAsked, RunningCall, RunningPage
from gatewright.console.schema_form import Field
from gatewright.console.screens.access import AccessQuery, OpenedCell
from gatewright.console.screens.access import GateWord as SaidByGate
from gatewright.console.screens.inbox import MINUTES, SORTS
from gatewright.console.screens.limits import TABLE as LIMITS
from gatewright.console.screens.limits import Consumers, Limit, LimitQuery, Standings
from gatewright.console.screens.sessions import RunPage
from gatewright.console.screens.tools import Looking, ToolPage
from gatewright.console.server_acts import Acted
from gatewright.console.server_facts import HeldTool, ServerDetail, ServerRow
from gatewright.console.server_history import HistoryAsked, table_of
from gatewright.console.server_history import Step as ServerStep
from gatewright.console.server_requests import Held, ServerPage
from gatewright.console.sign_in_sessions import SignedIn, SignInPage, SignInsAsked
from gatewright.console.tool_facts import MayCall, ToolDetail, ToolRow
from gatewright.console.tool_search import Budget, Hit, Search
from gatewright.console.tool_trial import Block, Trial
from gatewright.console.whole_texts import TextPage
from gatewright.discovery.explaining import Reason
from gatewright.hosts.offered import HostChange, HostState, ImportedServer, ImportPlan
from gatewright.mcpx.payload import Operation
from gatewright.pins.store import Pin
from gatewright.rooms.participants.proposals import Proposal
from gatewright.rooms.participants.rules import Rule
from gatewright.servers.states import STATES
from tests.console.filled import HIDES, filled

__all__ = ["made_views"]

View = tuple[str, Mapping[str, Any]]
_AT = "2026-01-02T03:04:05Z"
_LINES = [filled(Line, kind=kind) for kind in ("same", "added", "removed")]
"""What a difference leaves out is said by the gateway."""
_PAGE = filled(TextPage, page=2, pages=3, proof="p", before="b")
_SPOKEN = "write `gatewright x` into it"
"""With something to be typed between backticks."""


def _calls() -> Iterator[View]:
    row = filled(CallRow, id="1", time=_AT, decision="refused")
    words = [filled(GateWord, gate="confirm")]
    opened = filled(CallDetail, call=row, gates=words, time=[Share("gates", 1.0)])
    later = filled(
        CallDetail, call=msgspec.structs.replace(row, reason=DEFERRED), gates=words, time=[]
    )
    for one in (opened, later):
        yield "live/panel.html", {"opened": one, "missing": False, "query": ""}
    missing = {"opened": ApiError(404, "not_found", HIDES, HIDES), "missing": True}
    yield "live/panel.html", {**missing, "query": ""}
    around = Shown([], "/live/running/list", "", "", "", "", filtered=False, kept={})
    for gate in ("confirm", "limits", ""):
        page = filled(RunningPage, calls=[filled(RunningCall, id="1", gate=gate)], next="")
        yield (
            "live/running.html",
            {"page": page, "around": around, "asked_running": RunningAsked(), "embedded": False},
        )
    for held in ({"untrusted": HIDES, "private": HIDES}, {"untrusted": HIDES}, {"private": HIDES}):
        step = filled(Step, call=row, marks=("untrusted", "outbound"))
        run = filled(Timeline, steps=[step], held=held)
        yield "sessions/timeline.html", {"run": run}
        yield "sessions/run.html", {"run": run, "query": "", "title": "Session"}
    shown = RUNS.shown(RunsAsked(), "")
    yield (
        "sessions/list.html",
        {"found": filled(RunPage, runs=[filled(Run)], next=""), "list": shown},
    )
    one = filled(SignedIn, id="1", role="viewer", via="key")
    people = Shown([], "", "", "", "", "", filtered=False, kept={})
    values = {"signed_in": filled(SignInPage, signed_in=[one], next=""), "people": people}
    yield "sessions/signed_in.html", {**values, "asked_people": SignInsAsked()}
    yield "signed_in.html", {"key": "k", "way": "/", "unconfirmed": HIDES, "title": "Signed in"}


def _record() -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(filled(Record, time=_AT, outcome="denied"))
    details = {"confirmed_by": HIDES, "reason": HIDES, "access": HIDES, HIDES: HIDES}
    return {**made, "seq": 7, "hash": HIDES, "details": details, "method": HIDES}


def _audit() -> Iterator[View]:
    record, query = _record(), AuditQuery()
    found = filled(Records, records=[record], unsearched=False)
    ways = dict.fromkeys(("turned", "part", "older", "first"), "/audit")
    part = Chip("agent", "agent", HIDES, "/audit")
    page = {"chips": [part], "bars": (), "newer": "/audit/newer", "exported": [("agent", HIDES)]}
    other = {**record, "method": ""}
    plain = msgspec.structs.replace(
        found,
        records=[
            {**record, "decision": None},
            {**record, "target": {}},
            other,
            {**other, "target": {}},
        ],
    )
    verified = {"verification": filled(Verified, state="never"), "title": "Audit"}
    yield (
        "audit/page.html",
        {"found": plain, "query": query, "url": url_of, **ways, **page, **verified},
    )
    yield "audit/list.html", {"found": found, "query": query, "chips": (), "url": url_of, **ways}
    opened = filled(OpenedRecord, record=record, hash="broken", previous="broken", trace=[record])
    yield "audit/record.html", {"found": opened, "record": record, "title": "Record"}
    for state in ("damaged", "whole"):
        yield (
            "audit/verification.html",
            {"verification": filled(Verified, state=state, hash="0" * 64)},
        )
    lines = [f"{sign} {HIDES}" for sign in ("+", "-", " ")]
    replayed = filled(Replayed, effects=[filled(Effect, now="refused")])
    plan = filled(Planned, lines=lines, replayed=replayed)
    yield "access/plan.html", {"plan": plan, "change": filled(AccessChange, do="deny")}


def _hosts() -> Iterator[View]:
    moved = [filled(ImportedServer, action="added", transport="stdio")]
    remarks = {"remarks": [_SPOKEN, HIDES]}
    change = filled(
        HostChange, host="cursor", title="Cursor", action="changed", moves=moved, **remarks
    )
    same = filled(HostChange, host="cursor", title="Cursor", action="unchanged", **remarks)
    plan = filled(ImportPlan, servers=moved, **remarks)
    around = HOSTS.shown(Hosts(), "")
    host = filled(HostState, id="cursor", title="Cursor")
    for one in (change, same):
        yield "connect/change.html", {"change": one, "lines": _LINES, "act": "connect"}
    for done in (change, plan):
        found = filled(HostPage, hosts=[host], next="")
        yield "connect/list.html", {"done": done, "found": found, "list": around}
    for name in ("", "cursor"):
        yield (
            "connect/plan.html",
            {"plan": plan, "host": name, "given": From(text="what somebody pasted")},
        )


def _health() -> Iterator[View]:
    things = [
        filled(Thing, check="server", level=level, fix=_SPOKEN) for level in ("problem", "ok")
    ]
    found = filled(
        Overview, things=things, chain=filled(Chain), verifying=False, looking=False, next=""
    )
    around = FINDINGS.shown(Findings(), "")
    values = {"found": found, "open": things[:1], "well": things[1:], "asked": Findings()}
    yield "health/list.html", {**values, "list": around, "can_look": True}
    limit = filled(Limit, scope="caller", names=(HIDES, HIDES), per="minute", left=1)
    standings = filled(Standings, limits=[limit], next="")
    yield (
        "limits/list.html",
        {"found": standings, "list": LIMITS.shown(LimitQuery(), ""), "near": 0.8},
    )


def _definition(**given: Any) -> HeldDefinition:
    found: HeldDefinition = filled(HeldDefinition, id="df_1", digest="d" * 64, **given)
    return found


def _inbox() -> Iterator[View]:
    asked = ListAsked()
    common: dict[str, Any] = {
        "asked": asked,
        "url": lambda **_: "/inbox",
        "query": "",
        "said": HIDES,
        "said_of": said_of,
        "part": True,
        "looked": "",
        "again": False,
        "minutes": MINUTES,
        "sorts": SORTS,
        "pages_of": pages_of,
        "is_own": is_own,
        "detail": None,
        "held": None,
    }
    for standing in ("changed", "new", "suspicious"):
        held = filled(
            HeldDetail, definition=_definition(standing=standing), lines=_LINES, whole=False
        )
        yield "inbox/definition.html", {**common, "held": held}
    long = _definition(standing="new", tool=HIDES + "t" * 300)
    held = filled(HeldDetail, definition=long, lines=_LINES, whole=False)
    yield "inbox/definition.html", {**common, "held": held}
    for standing in ("changed", "pinned"):
        gone = filled(Row, id="df_1", request=None, definition=_definition(standing=standing))
        yield "inbox/gone.html", {"row": gone}
    for kind, state in (("server", "pending"), ("agent", "pending"), ("agent", "denied")):
        request = filled(
            Approval, id="ap_1", kind=kind, state=state, risk="dangerous", arguments="{}", edited=""
        )
        row = Row(id="ap_1", request=request, waits=state == "pending", new=True)
        found = filled(InboxList, rows=[row], opened="" if row.waits else "ap_1", shown="", next="")
        yield "inbox/list.html", {**common, "found": found}
    waiting = filled(Waiting, id="ap_1", kind="agent", quorum=2, unseen="", state="pending", digest="d" * 64)  # fmt: skip
    detail = filled(Detail, request=waiting, gates=[filled(GateWord, gate="confirm")], call=filled(AskingCall))  # fmt: skip
    yield "inbox/request.html", {**common, "detail": detail}


def _rooms() -> Iterator[View]:
    line = filled(Said, what="chat")
    for whole in (True, False):
        card = filled(ProposalCard, id="p", status="pending", said=[line], whole=whole)
        over = filled(ProposalCard, id="o", status="rejected", said=[], whole=whole)
        talk = filled(Talk, messages=[line], proposals=[card, over], rules=[], next="")
        yield "rooms/part.html", {"talk": talk, "older": "", "newest": "", "here": ""}
    operation = Operation(HIDES, {})
    proposal = Proposal(HIDES, HIDES, operation, HIDES, 1.0, 2.0)
    values = {"one": proposal, "topic": HIDES, "found": _PAGE, "way": lambda **_: "/rooms/proposal"}
    yield "rooms/text.html", {**values, "title": "Proposal"}


def _servers() -> Iterator[View]:
    steps = [filled(ServerStep, time=_AT, what="restarted", state="")]
    around = table_of("words").shown(HistoryAsked(), "")
    history = {
        "steps": steps,
        "spans": [],
        "window": 60.0,
        "asked": HistoryAsked(),
        "id": "words",
        "times": {"unknown": "60 s"},
    }
    yield "servers/history.html", {**history, "list": around}
    held = filled(Held, lines=_LINES, whole=False, digest="d" * 64)
    yield "servers/pin.html", {"held": held, "pages_of": pages_of}
    row = filled(ServerRow, id="words", state="error", transport="stdio")
    back = filled(HeldTool, standing="suspicious", digest="d" * 64)
    asked = {HIDES: "granted"}
    one = filled(
        ServerDetail, row=row, held=[back], pin="approve", permissions=asked, risks={"safe": 1},
        isolation={"level": "strict", "reads": HIDES}, acts=["start"],
    )  # fmt: skip
    yield (
        "servers/server.html",
        {"one": one, "done": filled(Acted, state="error"), "states": STATES},
    )
    pin = filled(Pin, standing="suspicious", digest="d" * 64)
    values = {"held": pin, "found": _PAGE, "way": lambda **_: "/servers/words/pin/text"}
    yield "servers/text.html", {**values, "title": "Definition"}


def _tools() -> Iterator[View]:
    around = Shown([], "", "", "", "", "", filtered=False, kept={})
    common = {"asked": Looking(q="x", agent=HIDES), "one": lambda _: "/tools/one", "list": around}
    hit = filled(Hit, risk="safe", why=[filled(Reason, where="name")])
    for hits in ([hit], [msgspec.structs.replace(hit, why=[])], []):
        found = filled(Search, hits=hits, strategy="auto", budget=filled(Budget))
        yield "tools/list.html", {**common, "found": found, "page": None}
    row = filled(ToolRow, risk="safe")
    caller = filled(MayCall, source="server_grant")
    detail = filled(ToolDetail, row=row, callers=[caller], flow=["private"], hints=["destructive"])
    kinds = ("choice", "boolean", "number", "string", "text", "json")
    fields = [filled(Field, kind=kind, least="1", most="2") for kind in kinds]
    for some in (fields, None):
        yield (
            "tools/opened.html",
            {"one": detail, "fields": some, "servers_of": "/servers/x", "title": "Tool"},
        )
    trial = {"trace_id": "0" * 32, "code": "limited", "gate": "limits"}
    for ended in ("answered", "refused"):
        block = filled(Block)
        yield "tools/result.html", {"trial": filled(Trial, ended=ended, blocks=[block], **trial)}


def _access() -> Iterator[View]:
    cell = filled(Cell, word="ask", by="tool_grant")
    gates = [filled(SaidByGate, verdict="ask")]
    grants = [filled(SaidOfIt, permission="deny"), filled(SaidOfIt, permission="allow")]
    opened = filled(OpenedCell, cell=cell, gates=gates, grants=grants)
    grid = filled(Grid, cells=[[cell]], agents=[HIDES], tools=[(HIDES, HIDES)])
    values = {
        "grid": grid,
        "query": AccessQuery(),
        "groups": [(HIDES, 1)],
        "marks": {"allow": "●", "ask": "◐", "deny": "○"},
        "levels": {"tool_grant": "a grant of the tool"},
        "servers": [HIDES],
        "undoable": HIDES,
        "undo_of": "1",
        "url": lambda **_: "/access",
        **dict.fromkeys(("place", "here", "more_tools", "more_agents"), "/access"),
        "orders": [],
        "opened": opened,
        "title": "Access",
    }
    yield "access/page.html", values


def _lists() -> Iterator[View]:
    asked = ListAsked(agent=HIDES, server=HIDES, risk=HIDES)
    page = {
        "asked": asked, "sorts": SORTS, "url": lambda **_: "/inbox", "query": "", "part": False, "said": None,
        "looked": "", "is_own": is_own, "found": filled(InboxList, rows=[], opened="", shown="", next=""),
    }  # fmt: skip
    yield "inbox/page.html", {**page, "title": "Inbox"}
    request = filled(Approval, id="ap_1", kind="agent", risk="dangerous", state="denied", edited="")
    yield "inbox/over.html", {"one": request, "said_of": said_of, "title": "Inbox"}
    yield "inbox/batch.html", {"waiting": [request], "of": "", "left": 1, "long": 1}
    problem = ApiError(422, "invalid", HIDES, HIDES)
    yield "inbox/difference.html", {"problem": problem, "found": None, "id": "ap_1"}
    yield "problem.html", {"problem": problem, "title": "Not done"}


def _more_lists() -> Iterator[View]:
    around = Shown([], "/x", "", "", "", "", filtered=False, kept={})
    consumers = filled(Consumers)
    yield "limits/consumers.html", {"consumers": consumers, "record": lambda **_: "/audit"}
    row = filled(CallRow, id="1", time=_AT, decision="refused")
    counts = {"total": 1, "running": 1, "waiting": 1, "states": {"refused": "bad"}}
    yield "live/list.html", {"rows": [row], "list": around, "open": "", "query": "", **counts}
    rooms = [filled(RoomRow, access="public", here=9)]
    values = {"found": filled(RoomList, rooms=rooms, next=""), "list": around, "configured": True}
    yield "rooms/list.html", values
    rules = [filled(Rule, action="ask", evidence={HIDES: HIDES})]
    talk = filled(
        Talk, rules=rules, proposals=[], messages=[], next="", participants={HIDES: [HIDES]}
    )
    ways = {"older": "", "newest": "", "here": "", "way": "", "own": set(), "title": "Room"}
    yield "rooms/page.html", {"talk": talk, "part": False, **ways}
    server = filled(ServerRow, id=HIDES, state="error", transport="stdio")
    found = filled(ServerPage, servers=[server], next="")
    yield "servers/list.html", {"page": found, "list": around, "states": STATES}
    one = filled(ServerDetail, row=server, held=[], pin="off", permissions={}, risks={}, isolation={}, acts=[])  # fmt: skip
    yield (
        "servers/opened.html",
        {"one": one, "history": "/x", "states": STATES, "title": "A server"},
    )
    tools = filled(ToolPage, tools=[filled(ToolRow, risk="safe")], next="")
    catalogue = {
        "page": tools,
        "found": None,
        "servers": [HIDES],
        "risks": ["safe"],
        "agents": [HIDES],
    }
    values = {**catalogue, "asked": Looking(), "one": lambda _: "/tools/one", "list": around}
    yield "tools/page.html", {**values, "problem": None, "title": "Tools"}


def made_views() -> Iterator[View]:
    """Each template with its values; some of them several times."""
    for some in (
        _calls,
        _audit,
        _hosts,
        _health,
        _inbox,
        _rooms,
        _servers,
        _tools,
        _access,
        _lists,
        _more_lists,
    ):
        yield from some()
