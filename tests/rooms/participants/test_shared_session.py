"""What several may ask of the one session of a server, and what one of them holds there."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.mcp.wire import jsonrpc
from gatewright.rooms.participants.shared_session import EACH, URI_CHARS, SharedSession, spelled


def test_what_would_be_set_for_all_and_what_the_revision_does_not_have_is_refused() -> None:
    session = SharedSession()
    assert session.refusal("tools/call") == session.refusal("resources/subscribe") == ""
    assert "nobody sets it" in session.refusal("logging/setLevel")
    for method in ("tasks/cancel", "tasks/result", "own/thing", "elicitation/create"):
        assert f"has no {method}" in session.refusal(method)


def test_the_server_hears_of_the_last_who_ends_a_subscription_alone() -> None:
    session = SharedSession()
    assert [session.subscribe("a", who) for who in ("ana", "bob", "ana")] == ["ask", "ask", "held"]
    assert session.unsubscribe("a", "cem") == "held"
    assert session.unsubscribe("a", "ana") == "held"
    assert session.unsubscribe("a", "ana") == "held"
    assert session.unsubscribe("a", "bob") == "ask"
    assert session.unsubscribe("a", "bob") == "ask"  # nobody has it: the server may know better


def test_who_leaves_ends_what_nobody_else_has() -> None:
    session = SharedSession()
    for uri, who in (("a", "ana"), ("b", "ana"), ("b", "bob")):
        session.subscribe(uri, who)
    assert session.left("ana") == ["a"]
    assert session.left("ana") == []
    assert session.left("bob") == ["b"]
    assert (session._holders, session._held) == ({}, {})


def test_one_who_subscribes_without_end_takes_no_place_of_others() -> None:
    session = SharedSession()
    found = [session.subscribe(f"{number}", "mal") for number in range(EACH + 1)]
    assert (found[0], found[-1]) == ("ask", "crowded")
    assert session.subscribe("x", "ana") == "ask"
    session.unsubscribe("0", "mal")
    assert session.subscribe("y", "mal") == "ask"


@pytest.mark.parametrize("theirs", ["q7", 7])
def test_progress_of_a_question_is_taken_from_whoever_was_asked(theirs: str | int) -> None:
    session = SharedSession()
    params, token = session.question({"_meta": {"progressToken": theirs, "x": 1}}, "ana")
    assert params == {"_meta": {"progressToken": token, "x": 1}}
    assert session.progress({"progressToken": token, "progress": 1}, "bob") is None
    assert session.progress({"progressToken": theirs}, "ana") is None
    told = session.progress({"progressToken": token, "progress": 1}, "ana")
    assert told == {"progressToken": theirs, "progress": 1}
    session.answered(token)
    assert session.progress({"progressToken": token, "progress": 1}, "ana") is None


def test_a_question_without_a_token_stays_as_it_is() -> None:
    session = SharedSession()
    several: list[dict[str, Any]] = [{}, {"_meta": {}}, {"_meta": 3}]
    for params in several:
        assert session.question(dict(params), "ana") == (params, "")
    assert session.progress({"progressToken": ""}, "") is None


def test_a_message_is_spelled_anew_whatever_its_escapes() -> None:
    raw = rb'{"jsonrpc":"2.0","id":"\u0061","method":"tools\/call","params":{"n\u0061me":"\u0062"},"trace_id":"t"}'
    message = jsonrpc.parse(raw)
    assert isinstance(message, jsonrpc.Request)
    said = jsonrpc.encode(spelled(message))
    assert b"\\" not in said
    assert jsonrpc.decode(said) == jsonrpc.decode(raw)


def test_a_hello_promises_what_the_shared_session_serves_alone() -> None:
    session = SharedSession()
    served = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {**served, "logging": {}, "tasks": {}},
    }
    shown = jsonrpc.decode(session.shown(jsonrpc.encode(hello)))
    assert shown == {"protocolVersion": "2025-06-18", "capabilities": served}
    for odd in (b"{}", b"3", b'{"capabilities":3}'):
        assert session.shown(odd) == odd
    half = rb'{"capabilities":{"logging":{}},"instructions":"\ud800"}'  # cannot be read: as it is
    assert session.shown(half) == half


def test_no_uri_of_a_subscription_is_longer_than_the_room_keeps() -> None:
    session = SharedSession()
    assert session.subscribe("x" * (URI_CHARS + 1), "ana") == "crowded"
    assert (session._holders, session._pending) == ({}, {})
    assert session.subscribe("x" * URI_CHARS, "ana") == "ask"


def test_what_is_given_up_while_it_is_granted_elsewhere_is_kept() -> None:
    session = SharedSession()
    for _ in range(2):
        session.subscribe("a", "ana")
    assert session.settle("a", "ana", granted=True) == "held"
    assert session.settle("a", "ana", granted=False) == "held"
    assert session.left("ana") == ["a"]
    session.subscribe("a", "ana")
    assert session.settle("a", "ana", granted=False) == "ask"
    assert (session._holders, session._pending, session._granted) == ({}, {}, set())
