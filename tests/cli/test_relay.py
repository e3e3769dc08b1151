"""What the bridge remembers: no question stays open, no session is forgotten, no byte is changed."""

import json
from os import urandom
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import Question
from gatewright.cli.relay import Relay
from gatewright.mcp.protocol.mcp_server import Conversation
from gatewright.mcp.protocol.negotiate import Face


def frame(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def ask(ident: Any, method: str = "tools/call", **params: Any) -> bytes:
    return frame(id=ident, method=method, params=params)


@pytest.fixture
def relay() -> Relay:
    return Relay("own")


def opened(relay: Relay) -> None:
    """A session of a handshake revision, open."""
    relay.from_host(ask(0, "initialize", protocolVersion="2025-11-25", capabilities={"x": 1}))
    relay.from_gateway(frame(id=0, result={"capabilities": {}}))
    relay.from_host(frame(method="notifications/initialized"))


def is_reopening(relay: Relay) -> bool:
    return relay.reopening


def errors(frames: list[bytes]) -> dict[Any, str]:
    found = [json.loads(one) for one in frames]
    return {one["id"]: one["error"]["message"] for one in found}


def test_messages_pass_as_the_bytes_they_are(relay: Relay) -> None:
    odd = b'  {"id" : 1.0e0, "jsonrpc":"2.0","method":"x" ,"params":{"n":1e400,"k":1,"k":2}}  '
    for line in (
        odd,
        b"not json",
        b"[]",
        b"[1]",
        b"{}",
        b'{"jsonrpc":"2.0","method":"n"}',
        b"\xff",
    ):
        assert relay.from_host(line) == line
    assert relay.from_gateway(odd) == odd
    assert relay.from_gateway(b"not json") == b"not json"


def test_a_lost_connection_answers_what_was_on_its_way_and_nothing_else(relay: Relay) -> None:
    for ident in (1, "two", 3, 4):
        relay.from_host(ask(ident))
    relay.from_gateway(frame(id=1, result={}))
    relay.from_gateway(frame(id=3, error={"code": 1, "message": "m"}))
    relay.from_host(frame(method="notifications/cancelled", params={"requestId": 4}))
    assert relay.waiting == 1
    lost = relay.lost("it fell")
    assert errors(lost) == {"two": "it fell; the call may or may not have run"}
    body = json.loads(lost[0])["error"]
    assert (body["code"], body["data"]["reason"]) == (5002, "upstream_unavailable")
    assert relay.waiting == 0
    assert relay.lost("again") == []


@pytest.mark.parametrize(
    ("capabilities", "code"),
    [({}, -32000), ({"elicitation": {"mgp": 1}}, -32000), ({"mgp": {"version": "0.2.0"}}, 5002)],
)
def test_the_code_of_a_lost_call_is_one_that_the_host_knows(
    relay: Relay, capabilities: dict[str, object], code: int
) -> None:
    """CDM-con-7, MGP-14.3-19."""
    opening = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
    relay.from_host(frame(id=0, method="initialize", params=opening))
    relay.from_host(ask(1))
    said = [*relay.lost("it fell"), *relay.refuse(ask(2), "it is down")]
    assert [json.loads(one)["error"]["code"] for one in said] == [code] * 3


def test_a_listening_is_nothing_that_a_host_waits_for_when_it_leaves(relay: Relay) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}'
    assert relay.from_host(line) == line
    assert relay.waiting == 0
    assert len(relay.lost("gone")) == 1


def test_a_batch_is_counted_message_by_message(relay: Relay) -> None:
    batch = b"[" + ask(1) + b"," + frame(method="n") + b"," + ask(2) + b"]"
    assert relay.from_host(batch) == batch
    answer = b"[" + frame(id=1, result={}) + b"]"
    assert relay.from_gateway(answer) == answer
    assert list(errors(relay.lost("x"))) == [2]


def test_what_cannot_be_sent_is_answered_in_kind(relay: Relay) -> None:
    assert errors(relay.refuse(ask(7), "away")) == {7: "away; nothing was sent"}
    assert errors(relay.refuse(b"[" + ask(1) + b"," + ask(2) + b"]", "away")).keys() == {1, 2}
    assert relay.refuse(frame(method="n"), "away") == []
    assert relay.refuse(frame(id=1, result={}), "away") == []
    (malformed,) = relay.refuse(b"{", "away")
    assert json.loads(malformed)["error"]["code"] == -32700


def test_an_answer_to_a_connection_that_is_gone_is_not_sent(relay: Relay) -> None:
    question = ask("s1", "elicitation/create")
    assert relay.from_gateway(question) == question
    relay.lost("x")
    assert relay.from_host(frame(id="s1", result={})) is None
    relay.from_gateway(question)
    answer = frame(id="s1", result={})
    assert relay.from_host(answer) == answer
    assert relay.from_host(answer) is None


def taken_back(frames: list[bytes]) -> list[Any]:
    found = [json.loads(one) for one in frames]
    return [one["params"] for one in found if one.get("method") == "notifications/cancelled"]


def test_what_the_host_was_asked_is_taken_back_when_the_connection_is_lost(relay: Relay) -> None:
    for ident in ("s1", 2, "answered", "ended"):
        relay.from_gateway(ask(ident, "elicitation/create"))
    relay.from_host(frame(id="answered", result={}))
    relay.from_gateway(frame(method="notifications/cancelled", params={"requestId": "ended"}))
    relay.from_host(ask(7))
    lost = relay.lost("it fell")
    assert errors(lost[:1]) == {7: "it fell; the call may or may not have run"}
    gone = [{"requestId": ident, "reason": "it fell"} for ident in ("s1", 2)]
    assert sorted(taken_back(lost[1:]), key=str) == sorted(gone, key=str)
    assert relay.from_host(frame(id="ended", result={})) is None
    assert taken_back(relay.lost("again")) == []


def test_a_late_yes_to_a_question_of_the_session_before_answers_none_of_this_one(
    relay: Relay,
) -> None:
    """As the gateway itself asks, which counts anew after a restart."""
    yes: dict[str, Any] = {"action": "accept", "content": {"approve": True}}
    idents = []
    for tool in ("A", "B"):
        fresh = Conversation(Face())
        ident, asked = fresh.ask(Question("elicitation/create", {"message": tool}), urandom)
        assert relay.from_gateway(asked) == asked
        idents.append(json.loads(ident))
        if tool == "A":
            gone = [{"requestId": idents[0], "reason": "it fell"}]
            assert taken_back(relay.lost("it fell")) == gone
    assert relay.from_host(frame(id=idents[0], result=yes)) is None
    answer = frame(id=idents[1], result=yes)
    assert relay.from_host(answer) == answer


def test_without_a_session_there_is_nothing_to_open_again(relay: Relay) -> None:
    relay.from_host(ask(1, "server/discover"))
    relay.from_host(frame(method="notifications/initialized"))
    assert relay.reopen() is None
    assert relay.restore() == []
    assert not is_reopening(relay)


def test_a_session_is_opened_again_as_the_host_had_opened_it(relay: Relay) -> None:
    opened(relay)
    relay.lost("x")
    first = relay.reopen()
    assert first is not None
    message = json.loads(first)
    assert message["method"] == "initialize"
    assert message["params"] == {"protocolVersion": "2025-11-25", "capabilities": {"x": 1}}
    assert message["id"].startswith("own-")
    assert is_reopening(relay)
    assert relay.from_gateway(frame(id=message["id"], result={})) is None
    assert not is_reopening(relay)
    assert relay.restore() == [frame(method="notifications/initialized")]


def test_level_and_subscriptions_are_restored_each_once_and_what_ended_is_not(
    relay: Relay,
) -> None:
    opened(relay)
    for ident, level in ((1, "debug"), (2, "info")):
        relay.from_host(ask(ident, "logging/setLevel", level=level))
    for ident, uri in ((3, "a:"), (4, "b:"), (5, "c:")):
        relay.from_host(ask(ident, "resources/subscribe", uri=uri))
    for ident in range(1, 6):
        relay.from_gateway(frame(id=ident, result={}))
    relay.from_host(ask(6, "resources/unsubscribe", uri="b:"))
    relay.lost("x")
    relay.reopen()
    _, *rest = (json.loads(one) for one in relay.restore())
    assert [(one["method"], one["params"]) for one in rest] == [
        ("logging/setLevel", {"level": "info"}),
        ("resources/subscribe", {"uri": "a:"}),
        ("resources/subscribe", {"uri": "c:"}),
    ]
    for one in rest:
        assert relay.from_gateway(frame(id=one["id"], result={})) is None


def test_what_stands_beside_the_state_of_a_session_in_a_batch_is_not_sent_again(
    relay: Relay,
) -> None:
    ready = frame(method="notifications/initialized", params={"_meta": {"a": 1}})
    level = ask(2, "logging/setLevel", level="info")
    relay.from_host(b"[" + ask(0, "initialize", capabilities={}) + b"," + ask(9, name="pay") + b"]")
    relay.from_gateway(frame(id=0, result={}))
    relay.from_host(b"[" + b",".join((ready, ask(1, name="pay"), level)) + b"]")
    relay.from_gateway(b"[" + frame(id=1, result={}) + b"," + frame(id=2, result={}) + b"]")
    relay.lost("x")
    first = relay.reopen()
    assert first is not None
    again = relay.restore()
    assert again[0] == ready
    sent = [json.loads(one) for one in (first, *again)]
    assert [one["method"] for one in sent] == [
        "initialize",
        "notifications/initialized",
        "logging/setLevel",
    ]


def test_state_that_was_refused_cancelled_or_never_answered_is_not_restored(relay: Relay) -> None:
    opened(relay)
    for ident, uri in ((1, "refused:"), (2, "cancelled:"), (3, "lost:"), (4, "held:")):
        relay.from_host(ask(ident, "resources/subscribe", uri=uri))
    relay.from_gateway(frame(id=1, error={"code": 1, "message": "no"}))
    relay.from_host(frame(method="notifications/cancelled", params={"requestId": 2}))
    relay.from_gateway(frame(id=4, result={}))
    relay.from_host(ask(5, "resources/subscribe", uri="ended:"))
    relay.from_host(ask(6, "resources/unsubscribe", uri="ended:"))
    for ident in (5, 6):
        relay.from_gateway(frame(id=ident, result={}))
    relay.lost("x")
    relay.from_gateway(frame(id=3, result={}))
    relay.reopen()
    _, *rest = (json.loads(one) for one in relay.restore())
    assert [one["params"] for one in rest] == [{"uri": "held:"}]


def test_a_late_answer_in_a_batch_is_left_out_of_it(relay: Relay) -> None:
    relay.from_gateway(ask("old", "ping"))
    relay.lost("x")
    relay.from_gateway(ask("new", "ping"))
    late, good, call = frame(id="old", result={}), frame(id="new", result={}), ask(1)
    sent = relay.from_host(b"[" + late + b" , " + good + b", " + call + b"]")
    assert sent == b"[" + good + b"," + call + b"]"
    assert relay.from_host(b"[" + late + b"," + good + b"]") is None


def test_an_answer_to_the_bridge_takes_nothing_of_its_batch_along(relay: Relay) -> None:
    opened(relay)
    relay.from_host(ask(5))
    first = relay.reopen()
    assert first is not None
    own = frame(id=json.loads(first)["id"], result={})
    theirs, told = frame(id=5, result={}), frame(method="notifications/message")
    assert relay.from_gateway(b"[" + b",".join((theirs, own, told)) + b"]") == (
        b"[" + theirs + b"," + told + b"]"
    )
    assert not is_reopening(relay)
    assert relay.waiting == 0


def test_an_opening_that_was_refused_or_lost_is_not_repeated(relay: Relay) -> None:
    relay.from_host(ask(0, "initialize"))
    relay.from_gateway(frame(id=0, error={"code": -32602, "message": "no"}))
    assert relay.reopen() is None
    relay.from_host(ask(1, "initialize"))
    relay.lost("x")
    relay.from_gateway(frame(id=1, result={}))
    assert relay.reopen() is None


def test_own_questions_never_share_an_id(relay: Relay) -> None:
    opened(relay)
    seen = set()
    for _ in range(5):
        first = relay.reopen()
        assert first is not None
        seen.add(json.loads(first)["id"])
        relay.lost("x")
    assert len(seen) == 5


_ids = st.integers() | st.text(max_size=5)


@given(st.lists(st.tuples(st.sampled_from(["ask", "answer", "cancel"]), _ids), max_size=20))
def test_every_question_is_answered_exactly_once(steps: list[tuple[str, Any]]) -> None:
    relay = Relay("own")
    waiting = set()
    for step, ident in steps:
        key = json.dumps(ident)
        if step == "ask":
            relay.from_host(ask(ident))
            waiting.add(key)
        elif step == "answer":
            relay.from_gateway(frame(id=ident, result={}))
            waiting.discard(key)
        else:
            relay.from_host(frame(method="notifications/cancelled", params={"requestId": ident}))
            waiting.discard(key)
    answered = [json.dumps(json.loads(one)["id"]) for one in relay.lost("x")]
    assert sorted(answered) == sorted(waiting)


@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:1a', max_size=40).map(str.encode))
def test_no_line_breaks_the_relay(line: bytes) -> None:
    relay = Relay("own")
    assert relay.from_host(line) in (line, None)
    assert relay.from_gateway(line) == line
    for one in (*relay.refuse(line, "x"), *relay.lost("x")):
        assert {"error", "method"} & json.loads(one).keys()


def test_an_opening_that_nobody_answered_keeps_nobody_from_the_next(relay: Relay) -> None:
    opened(relay)
    relay.lost("x")
    first, second = relay.reopen(), relay.reopen()
    assert first is not None
    assert second is not None
    relay.from_gateway(ask("s1", "ping"))
    third = relay.reopen()
    assert third is not None
    assert relay.from_host(frame(id="s1", result={})) is None  # asked over the connection before
    assert relay.from_gateway(frame(id=json.loads(third)["id"], result={})) is None
    assert not is_reopening(relay)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ({"code": -32602, "message": "too old"}, "too old"),
        ({"code": 1, "message": 5}, "an error without a message"),
        ("no", "an error without a message"),
    ],
)
def test_an_opening_that_was_refused_is_none(relay: Relay, error: Any, said: str) -> None:
    opened(relay)
    relay.lost("x")
    first = relay.reopen()
    assert first is not None
    assert relay.from_gateway(frame(id=json.loads(first)["id"], error=error)) is None
    assert relay.refusal == said
    assert not is_reopening(relay)
    again = relay.reopen()
    assert again is not None
    relay.from_gateway(frame(id=json.loads(again)["id"], result={}))
    assert relay.refusal == ""
