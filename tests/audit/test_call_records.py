"""What the records of a call say, and what they never say."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.audit.call_records import (
    context_of,
    end_of,
    end_text,
    intent_of,
    intent_text,
    request_of,
    told_of,
)
from gatewright.audit.records import INTENT, MAX_BYTES, encode
from gatewright.call import (
    ANONYMOUS,
    Answer,
    Call,
    Caller,
    Client,
    Failure,
    Outcome,
    Refusal,
    Target,
)
from tests.audit.parts import ANSWER, STAMP, a_call, a_tool, an_end


def test_the_whole_record_of_a_tool_call() -> None:
    arguments = b'{"n":1,"path":"/srv/a"}'
    facts = {"access": "server_grant"}
    assert an_end(ANSWER, facts=facts) == {
        "id": STAMP[1],
        "time": STAMP[0],
        "event_type": "TOOL_EXECUTED",
        "outcome": "success",
        "actor": {"type": "agent", "id": "ann", "key_id": "key00001"},
        "target": {"server_id": "files", "tool_name": "write_file"},
        "trace_id": "trace-1",
        "call": "call-1",
        "method": "tools/call",
        "door": "http",
        "session": "session-1",
        "request": {"digest": sha256(arguments).hexdigest(), "bytes": len(arguments)},
        "result": {"is_error": False, "bytes": 14},
        "details": {
            "access": "server_grant",
            "risk_level": "moderate",
            "validator_applied": "none",
            "duration_ms": 12.5,
        },
    }


def test_the_whole_record_of_an_intent() -> None:
    call = a_call(1, a_tool("dangerous"))
    found = msgspec.json.decode(encode(intent_of(call, STAMP, context_of(call))))
    assert found["event_type"] == INTENT
    assert found["outcome"] == "pending"
    assert found["call"] == "call-1"
    assert found["details"] == {"risk_level": "dangerous", "validator_applied": "none"}
    assert not {"result", "decision"} & set(found)


@pytest.mark.parametrize(
    ("outcome", "forwarded", "event", "verdict"),
    [
        (ANSWER, True, "TOOL_EXECUTED", "success"),
        (Answer(b"{}", tool_error=True), True, "TOOL_EXECUTED", "failure"),
        (Refusal("access_denied", "no", gate="access"), False, "TOOL_BLOCKED", "denied"),
        (Failure("upstream_timeout"), True, "TOOL_EXECUTED", "error"),
        (Failure("cancelled"), True, "TOOL_EXECUTED", "cancelled"),
        (Failure("cancelled"), False, "TOOL_BLOCKED", "cancelled"),
        (Failure("internal"), False, "TOOL_BLOCKED", "error"),
    ],
)
def test_each_end_has_its_event_type_and_outcome(
    outcome: Outcome, forwarded: bool, event: str, verdict: str
) -> None:
    """MGP-6.4-1, MGP-6.4-2"""
    found = an_end(outcome, forwarded=forwarded)
    assert (found["event_type"], found["outcome"]) == (event, verdict)


@pytest.mark.parametrize("kind", ["list", "prompt", "resource", "method"])
def test_calls_about_no_tool_have_event_types_of_our_own(kind: Any) -> None:
    """MGP-6.4-12"""
    found = an_end(ANSWER, kind=kind, tool=None)
    assert found["event_type"] == f"dev.gatewright.{kind}"
    assert "risk_level" not in found.get("details", {})


@pytest.mark.parametrize(
    ("more", "target"),
    [
        ({}, {"server_id": "files", "tool_name": "write_file"}),
        ({"tool": None, "target": None}, {"tool_name": "files.write_file"}),
        ({"tool": None, "target": Target("web", "get")}, {"server_id": "web", "tool_name": "get"}),
        (
            {"kind": "prompt", "tool": None, "target": Target("web", "hi"), "name": "web.hi"},
            {"server_id": "web", "name": "web.hi"},
        ),
        ({"kind": "list", "tool": None, "target": None, "name": "tools"}, {}),
        ({"kind": "method", "tool": None, "target": None, "name": ""}, {}),
    ],
)
def test_a_record_names_what_the_call_was_about(
    more: dict[str, Any], target: dict[str, str]
) -> None:
    found = an_end(ANSWER, **more)
    assert {name: value for name, value in found["target"].items() if value} == target


def test_a_refusal_leaves_its_gate_and_reason_and_not_its_message() -> None:
    refusal = Refusal(
        "invalid_params", "'hunter2' is too short", {"value": "hunter2"}, gate="schema"
    )
    found = an_end(refusal, forwarded=False)
    assert found["decision"] == {"gate": "schema", "reason": "invalid_params"}
    assert "hunter2" not in str(found)


def test_a_failure_leaves_its_reason_and_not_its_message() -> None:
    found = an_end(Failure("upstream_error", "token hunter2", {"x": "hunter2"}, error=b"hunter2"))
    assert found["details"]["reason"] == "upstream_error"
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    "caller", [ANONYMOUS, Caller("ops", "operator", "k1"), Caller("ann", "agent")]
)
def test_the_actor_is_the_caller_that_was_authenticated(caller: Caller) -> None:
    actor = an_end(ANSWER, caller=caller)["actor"]
    expected = {"type": caller.kind, "id": caller.id, "key_id": caller.key_id}
    assert actor == {name: value for name, value in expected.items() if value}


def test_no_argument_and_no_result_is_in_a_record() -> None:
    params = {"name": "x", "arguments": {"secret-key": "secret-value", "deep": [{"a": "secret"}]}}
    text = str(an_end(Answer(b'{"secret":1}'), params=params))
    assert "secret" not in text


def test_the_digest_is_of_the_arguments_whatever_their_order() -> None:
    one = a_call(1, params={"arguments": {"a": 1, "b": {"c": 2, "d": 3}}})
    two = a_call(1, params={"arguments": {"b": {"d": 3, "c": 2}, "a": 1}})
    other = a_call(1, params={"arguments": {"a": 1, "b": {"c": 2, "d": 4}}})
    assert request_of(one) == request_of(two) != request_of(other)


def test_what_a_caller_chose_is_kept_without_the_secret_in_it() -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    for more in ({"tool": None, "target": None}, {"kind": "resource", "target": None}):
        found = an_end(ANSWER, name=token, method=token, trace_id=token, **more)
        assert token not in repr(found)
        assert found["trace_id"] == "[REDACTED:github-token]"
    assert token not in repr(an_end(ANSWER, name=f"{'x' * 300} {token}", kind="resource"))


def test_questions_about_the_catalogue_have_no_digest() -> None:
    assert request_of(a_call(1, kind="list")) is None


def test_a_resource_has_the_digest_of_its_params() -> None:
    found = request_of(a_call(1, kind="resource", params={"uri": "file:///a"}))
    assert found is not None
    assert found.digest == sha256(b'{"uri":"file:///a"}').hexdigest()
    beside = {"uri": "file:///a", "_meta": {"progressToken": 1}}
    assert request_of(a_call(1, kind="resource", params=beside)) == found


@pytest.mark.parametrize("value", ["\ud800", object(), {"a": {1, 2}}, {("a",): object()}])
def test_arguments_that_are_no_json_still_have_a_digest(value: Any) -> None:
    found = request_of(a_call(1, params={"arguments": value}))
    assert found is not None
    assert len(found.digest) == 64


def test_a_fact_of_a_gate_is_in_the_details_and_cannot_hide_ours() -> None:
    facts = {"validator_applied": "sandbox", "duration_ms": -1, "risk_level": "safe", "rule": 7}
    details = an_end(ANSWER, facts=facts)["details"]
    assert details == {
        "validator_applied": "sandbox",
        "rule": 7,
        "risk_level": "moderate",
        "duration_ms": 12.5,
    }


class _Strange:
    """What a gate should not put into the facts."""


@pytest.mark.parametrize(
    "facts",
    [
        {"text": "\ud800"},
        {"deep": __import__("functools").reduce(lambda inner, _: [inner], range(20_000), [])},
        {"long": "x" * 100_000},
        {0.5: "\ud800"},
    ],
)
def test_facts_that_cannot_be_written_cost_the_facts_and_not_the_record(
    facts: dict[Any, Any],
) -> None:
    found = an_end(ANSWER, facts=facts)
    assert found["details"] == {
        "risk_level": "moderate",
        "validator_applied": "none",
        "duration_ms": 12.5,
        "cut": True,
    }
    assert found["result"] == {"is_error": False, "bytes": 14}


def test_a_fact_of_a_strange_type_is_named_by_its_type() -> None:
    assert an_end(ANSWER, facts={"x": _Strange()})["details"]["x"] == "<_Strange>"


@pytest.mark.parametrize("name", ["\ud800" * 3, "n" * 50_000])
def test_a_name_that_cannot_be_written_is_made_writable(name: str) -> None:
    call = a_call(1, method=name)
    found = an_end(ANSWER, method=name, tool=None, target=None, name=name)
    assert found["method"].startswith(("\\ud800", "nnn"))
    assert (
        len(encode(end_of(call, ANSWER, STAMP, context_of(call), forwarded=True, duration_ms=1)))
        < 4096
    )


@given(st.text(), st.text(), st.text())
def test_every_record_is_one_line(name: str, trace: str, session: str) -> None:
    call = a_call(1, name=name, trace_id=trace, session=session, tool=None, target=None)
    line = encode(end_of(call, ANSWER, STAMP, context_of(call), forwarded=True, duration_ms=1))
    assert b"\n" not in line
    assert msgspec.json.decode(line)["trace_id"] == trace


def _same(call: Call, outcome: Outcome = ANSWER) -> bytes:
    """Both records of a call, which do not depend on the way that they are put together; returns the end."""
    told = told_of(call)
    intent = encode(intent_of(call, STAMP, context_of(call)))
    assert intent_text(call, STAMP, told) == intent_text(call, STAMP, None) == intent
    call.facts["found_out"] = 1
    end = encode(end_of(call, outcome, STAMP, context_of(call), forwarded=True, duration_ms=0.001))
    for way in (told, None):
        assert end_text(call, outcome, STAMP, way, forwarded=True, duration_ms=0.001) == end
    return end


_texts = st.one_of(
    st.text(),
    st.sampled_from(
        ["", "\ud800", '"', "\\", "\n", "a" * 65, "0" * 64, "0" * 65, "gh" + "p_" + "aB3" * 12]
    ),
)
_facts = st.dictionaries(
    st.one_of(
        st.sampled_from(["risk_level", "validator_applied", "duration_ms", "reason"]), st.text()
    ),
    st.one_of(
        st.text(), st.booleans(), st.integers(), st.builds(object), st.lists(st.text(), max_size=2)
    ),
    max_size=3,
)


@given(_texts, _texts, _texts, _texts, _texts, st.one_of(st.none(), _texts), _facts, st.booleans())
def test_both_ways_to_write_a_record_write_the_same(
    id: str,
    trace: str,
    caller: str,
    server: str,
    name: str,
    session: str | None,
    facts: dict[str, Any],
    known: bool,
) -> None:
    target = Target(server, name)
    call = a_call(
        1,
        a_tool() if known else None,
        id=id,
        trace_id=trace,
        caller=Caller(caller, "agent", session),
        target=target,
        session=session,
        facts=dict(facts),
        params={"name": name, "arguments": {name: trace, "n": [caller]}},
    )
    assert _same(call, Answer(b"{}", tool_error=known))


_infos = st.one_of(_texts, st.none(), st.integers(), st.lists(st.text(), max_size=1))


@given(st.dictionaries(st.sampled_from(["name", "version", "title"]), _infos))
def test_what_a_program_calls_itself_is_written_the_same_both_ways(info: dict[str, Any]) -> None:
    found = msgspec.json.decode(_same(a_call(1, client=Client("2025-11-25", info=info))))
    said = [one for one in (info.get("name"), info.get("version")) if isinstance(one, str)]
    assert ("client" in found) is any(said)
    for shown in found.get("client", {}).values():
        assert shown.isprintable()
        assert len(shown) <= 64


@pytest.mark.parametrize(
    ("info", "client"),
    [
        (
            {"name": "Cursor", "version": "1.2.3", "title": "x"},
            {"name": "Cursor", "version": "1.2.3"},
        ),
        ({"name": "Cursor"}, {"name": "Cursor"}),
        ({"version": "2"}, {"name": "", "version": "2"}),
        ({"name": "\x1b[2J\u202ea\n"}, {"name": "\\u001b[2J\\u202ea\\u000a"}),
        ({"name": "n" * 9_000_000, "version": "v" * 65}, {"name": "n" * 64, "version": "v" * 64}),
        ({"name": "gh" + "p_" + "a1B2c3D4e5F6" * 3}, {"name": "[REDACTED:github-token]"}),
        ({"name": ["Cursor"], "version": {"a": 1}}, None),
        ({}, None),
    ],
)
def test_a_record_says_what_the_program_of_the_caller_calls_itself(
    info: dict[str, Any], client: dict[str, str] | None
) -> None:
    assert an_end(ANSWER, client=Client("2025-11-25", info=info)).get("client") == client


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_both_ways_name_the_same_arguments(arguments: Any) -> None:
    assert _same(a_call(1, a_tool(), params={"arguments": {"one": arguments}}))


def test_what_is_remembered_of_a_call_is_that_of_no_other() -> None:
    calls = [
        a_call(1, a_tool()),
        a_call(2, a_tool(), session=None),
        a_call(3, a_tool(), session="session-2"),
        a_call(4, a_tool(), door="ggen"),
        a_call(5, a_tool(), caller=Caller("ann", "operator", "key00001")),
        a_call(6, a_tool(), caller=Caller("ann")),
        a_call(7, None, target=Target("web", "write_file")),
        a_call(8, None, target=Target("files", "get")),
        a_call(9, a_tool(), method="other"),
    ]
    assert all(told_of(call) is not None for call in calls)
    assert len({told_of(call)[0].replace(call.id, "") for call in calls}) == len(calls)  # type: ignore[index]
    for _ in range(2):
        for call in calls:
            assert _same(call)


def test_a_fact_that_is_replaced_while_the_call_runs_is_in_itsan_end() -> None:
    call = a_call(1, a_tool(), facts={"redacted": {"one": 1}})
    told = told_of(call)
    call.facts["redacted"] = {"one": 2}
    end = end_text(call, ANSWER, STAMP, told, forwarded=True, duration_ms=1.0)
    assert msgspec.json.decode(end)["details"]["redacted"] == {"one": 2}


def test_a_record_that_would_be_too_long_is_cut_either_way() -> None:
    """Also one that only what was found out while the call ran makes too long."""
    for size in (MAX_BYTES - 900, MAX_BYTES - 600, MAX_BYTES):
        assert _same(a_call(1, a_tool(), facts={"much": "x" * size}))
    call = a_call(1, a_tool())
    told = told_of(call)
    call.facts["much"] = "x" * MAX_BYTES
    end = end_text(call, ANSWER, STAMP, told, forwarded=True, duration_ms=1.0)
    assert msgspec.json.decode(end)["details"]["cut"] is True


def test_a_fact_that_cannot_be_written_any_more_costs_the_facts_and_not_the_record() -> None:
    call = a_call(1, a_tool())
    told = told_of(call)
    call.facts["odd"] = "\ud800"
    end = end_text(call, ANSWER, STAMP, told, forwarded=True, duration_ms=1.0)
    assert msgspec.json.decode(end)["details"]["cut"] is True


def test_an_end_that_is_no_answer_says_how_it_ended_also_after_an_intent() -> None:
    call = a_call(1, a_tool())
    assert b'"outcome":"cancelled"' in _same(call, Failure("cancelled"))
    assert b'"decision":{' in _same(call, Refusal("flow", "no", gate="flow"))
