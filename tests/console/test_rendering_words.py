"""What pages say of states that a running gateway shows seldom, or only after minutes: parts of pages, made of values."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import ChoiceLoader, DictLoader

from gatewright.console.agent_runs import TABLE, Run, RunsAsked, Step, Timeline
from gatewright.console.audit_query import AuditQuery, url_of
from gatewright.console.audit_shapes import OpenedRecord, Records
from gatewright.console.call_details import CallDetail
from gatewright.console.gate_words import GateWord
from gatewright.console.lists import shown_of
from gatewright.console.recent_calls import COLUMNS, CallRow, CallsAsked
from gatewright.console.rendering import environment
from gatewright.console.screens.sessions import RunPage
from gatewright.console.server_history import HistoryAsked, Span, table_of, times
from tests.console.filled import filled

_AT = "2026-01-02T03:04:05Z"
_DEFERRED = '<a class="chip warn" href="/inbox?server=files"'
_FRAME = "{% block top %}{% endblock %}{% block content %}{% endblock %}"
_made = environment(lambda: 1_790_000_000.0, lambda name: name)
_whole = _made.loader
assert _whole is not None
_made.loader = ChoiceLoader([DictLoader({"frame.html": _FRAME}), _whole])


def part(name: str, **values: Any) -> str:
    """What a template makes of them."""
    return _made.get_template(name).render(may=lambda power: True, **values)


def row(reason: str) -> CallRow:
    found: CallRow = filled(
        CallRow, id="c", time=_AT, decision="refused", server="files", reason=reason
    )
    return found


def record(**more: Any) -> dict[str, Any]:
    return {
        "seq": 3,
        "time": _AT,
        "event_type": "TOOL_BLOCKED",
        "outcome": "denied",
        "actor": {"type": "agent", "id": "ann"},
        "target": {"server_id": "files", "tool_name": "wipe"},
        "trace_id": "t",
        "details": {},
        **more,
    }


def audit_list(one: dict[str, Any]) -> str:
    found = filled(Records, records=[one], unsearched=False)
    ways = dict.fromkeys(("turned", "part", "older", "first"), "")
    return part("audit/list.html", found=found, query=AuditQuery(), chips=(), url=url_of, **ways)


@pytest.mark.parametrize(
    ("reason", "later"), [("permission_deferred", True), ("access_denied", False)]
)
def test_a_call_that_a_person_can_still_let_run_is_not_shown_as_refused(
    reason: str, later: bool
) -> None:
    """It waits in the inbox, and each page that has it leads there."""
    one = row(reason)
    around = shown_of("/live", CallsAsked(), "", COLUMNS)
    panel = filled(CallDetail, call=one, gates=[GateWord("confirm", "refused", reason)], time=[])
    step = filled(Step, call=one, marks=())
    said = {"gate": "confirm", "reason": reason}
    made = record(decision=said)
    opened = filled(OpenedRecord, record=made, trace=[])
    pages = {
        "live": part(
            "live/list.html",
            rows=[one],
            list=around,
            query="",
            total=1,
            running=0,
            waiting=1,
            open="",
        ),
        "panel": part("live/panel.html", opened=panel, missing=False, query=""),
        "timeline": part("sessions/timeline.html", run=filled(Timeline, steps=[step], held={})),
        "audit": audit_list(made),
    }
    assert {name: _DEFERRED in page for name, page in pages.items()} == dict.fromkeys(pages, later)
    assert {name: "chip bad" in page for name, page in pages.items()} == dict.fromkeys(
        pages, not later
    )
    assert ("once a person agrees in the" in pages["panel"]) == later
    assert ('<li class="waits">' in pages["panel"]) == later
    page = part("audit/record.html", record=made, found=opened)
    assert (_DEFERRED in page) == later
    assert ("<dt>Deferred by</dt>" in page) == later
    assert ("<dt>Refused by</dt>" in page) != later


def test_a_record_has_words_for_what_it_says_of_a_call() -> None:
    details = {
        "access": "owner",
        "risk_level": "safe",
        "validator_applied": "none",
        "other_fact": "x",
    }
    made = record(details={**details, "duration_ms": 0.31})
    page = part("audit/record.html", record=made, found=filled(OpenedRecord, record=made, trace=[]))
    for name in ("Access by", "Risk", "Validator", "other_<wbr>fact"):
        assert f"<dt>{name}</dt>" in page
    assert "<dt>Took</dt><dd>0.3 ms</dd>" in page
    assert "duration" not in page.partition("Canonical JSON")[0]


@pytest.mark.parametrize(
    ("refused", "deferred", "said"),
    [
        (0, 0, "0"),
        (2, 0, '<span class="bad-text">2</span>'),
        (2, 2, '<span class="warn-text">2 deferred</span>'),
        (
            3,
            1,
            '<span class="bad-text">3</span>, <span class="warn-text">1 of them deferred</span>',
        ),
    ],
)
def test_a_run_says_how_many_of_its_refused_calls_still_wait(
    refused: int, deferred: int, said: str
) -> None:
    run = filled(Run, refused=refused, deferred=deferred)
    found = filled(RunPage, runs=[run], next="")
    page = part("sessions/list.html", found=found, list=TABLE.shown(RunsAsked(), ""))
    assert f">{said}</td></tr>" in page


@pytest.mark.parametrize(
    ("one", "said"),
    [
        ({"method": "tools/list", "event_type": "dev.gatewright.list", "target": {}}, "tools/list"),
        (
            {
                "method": "gatewright/server/restart",
                "event_type": "dev.gatewright.method",
                "target": {"server_id": "files"},
            },
            "files / gatewright/server/restart",
        ),
        ({"event_type": "dev.gatewright.grant.made", "target": {}}, "grant.made"),
        (
            {"event_type": "dev.gatewright.tool.hidden"},
            'files / wipe <span class="dim">tool.hidden</span>',
        ),
        ({"method": "tools/call"}, "files / wipe"),
    ],
)
def test_a_record_says_what_was_called_as_other_pages_do(one: dict[str, Any], said: str) -> None:
    assert f'<td class="mono">{said}</td>' in audit_list(record(**one))


def test_each_state_of_a_server_is_named_with_its_time() -> None:
    """A bar that is red for a minute is explained by it."""
    spans = [Span("unknown", 0.0, 0.85), Span("error", 0.85, 0.15)]
    around = table_of("words").shown(HistoryAsked(), "")
    values = {"steps": [], "window": 600.0, "asked": HistoryAsked(), "id": "words", "list": around}
    page = part("servers/history.html", spans=spans, times=times(spans, 600.0), **values)
    assert "<span>not known 8 min 30 s, error 1 min 30 s</span>" in page


def test_a_call_that_waited_on_its_connection_in_vain_is_no_refusal_for_now() -> None:
    """It is counted among errors: with it taken from those that were refused, a real refusal would be said to wait."""
    found: CallRow = filled(CallRow, decision="error", reason="permission_deferred")
    assert not found.deferred
    assert row("permission_deferred").deferred
