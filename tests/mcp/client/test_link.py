"""What all links do: eras translated, trace ids and capabilities given to whom they are due."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from gatewright.call import Answer, Client, Failure, Mgp
from gatewright.mcp.protocol.input_required import QUESTIONS
from gatewright.mcp.protocol.negotiate import EXTENSION, Face
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_SUBSCRIPTION,
    META_VERSION,
)
from tests.servers.rig import (
    ASKABLE,
    INFO,
    LEGACY,
    MODERN,
    FakeBack,
    ask,
    python,
    result,
    running,
    said,
    text,
    within,
)
from tests.servers.scripted import Ear, linked, start

NAME = {"action": "accept", "content": {"name": "n"}}
WORD = {"role": "assistant", "content": {"type": "text", "text": "w"}, "model": "m"}
ROOTS = {"roots": [{"uri": "file:///r"}]}
MGP_CLIENT = msgspec.structs.replace(LEGACY, mgp=Mgp("0.2.0", ("audit",)))


async def test_a_modern_server_is_sent_its_connection_in_each_request() -> None:
    async with running(python("modern_asker")) as supervisor:
        meta = said(await ask(supervisor, "modern_asker/meta", meta={"traceparent": "00-x"}))
        assert meta == {
            "traceparent": "00-x",
            META_VERSION: "2026-07-28",
            META_CLIENT_INFO: INFO,
            META_CLIENT_CAPABILITIES: ASKABLE,
        }


async def test_a_modern_server_sees_the_callers_capabilities_without_the_callers_mgp() -> None:
    offer = {"version": "0.2.0", "extensions": ["audit"]}
    theirs = {"sampling": {}, "mgp": offer, "extensions": {EXTENSION: offer, "v/x": {}}}
    async with running(python("modern_asker")) as supervisor:
        client = Client("2025-11-25", theirs)
        for _ in range(2):
            meta = said(await ask(supervisor, "modern_asker/meta", client=client))
            assert meta[META_CLIENT_CAPABILITIES] == {"sampling": {}, "extensions": {"v/x": {}}}


async def test_a_legacy_server_does_not_see_the_modern_connection() -> None:
    async with running(python("asker")) as supervisor:
        meta = {META_VERSION: "2026-07-28", META_CLIENT_CAPABILITIES: {}, "k": 1}
        outcome = await ask(supervisor, "asker/meta", client=MODERN, meta=meta)
        assert result(outcome)["_meta"] == {"asker/got": {"k": 1}}


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("ask_elicitation", {"who": NAME}),
        ("ask_sampling", {"word": WORD}),
        ("ask_roots", {"places": ROOTS}),
        ("ask_three", {"who": NAME, "word": WORD, "places": ROOTS}),
        ("ask_twice", {"first": NAME, "second": WORD}),
    ],
)
async def test_a_legacy_caller_is_asked_what_a_modern_server_wants_to_know(
    tool: str, expected: Any
) -> None:
    back = FakeBack(elicitation=NAME, sampling=WORD, roots=ROOTS)
    async with running(python("modern_asker")) as supervisor:
        assert said(await ask(supervisor, f"modern_asker/{tool}", back=back)) == expected


async def test_a_modern_server_may_just_want_to_be_called_again() -> None:
    async with running(python("modern_asker")) as supervisor:
        assert text(await ask(supervisor, "modern_asker/come_again")) == "welcome back"


async def test_a_modern_caller_gets_the_question_itself() -> None:
    back = FakeBack(elicitation=NAME)
    async with running(python("modern_asker")) as supervisor:
        outcome = await ask(supervisor, "modern_asker/ask_elicitation", back=back, client=MODERN)
        assert isinstance(outcome, Answer)
        assert outcome.modern
        assert result(outcome)["resultType"] == "input_required"
        assert back.questions == []


async def test_a_legacy_caller_that_cannot_be_asked_fails_its_call_with_its_own_reason() -> None:
    async with running(python("modern_asker")) as supervisor:
        outcome = await ask(supervisor, "modern_asker/ask_elicitation", back=FakeBack())
        assert isinstance(outcome, Failure)
        assert outcome.error is not None
        assert json.loads(outcome.error)["message"] == "this caller cannot be asked"


async def test_a_modern_server_that_never_stops_asking_is_stopped() -> None:
    async with linked() as (link, server):
        assert link.hello is not None
        link.hello = msgspec.structs.replace(link.hello, revision="2026-07-28")
        call = start(link)
        rounds = 0
        while not call.done():
            waiting = asyncio.ensure_future(server.next())
            await within(asyncio.wait([waiting, call], return_when=asyncio.FIRST_COMPLETED))
            if not waiting.done():
                waiting.cancel()
                break
            rounds += 1
            again = {"resultType": "input_required", "requestState": str(rounds)}
            server.say(id=waiting.result()["id"], result=again)
        outcome = await within(call)
        assert isinstance(outcome, Failure)
        assert "asked more than 16 times" in outcome.message
        assert rounds == 17


async def test_a_modern_server_that_asks_more_than_anybody_answers_asks_nothing() -> None:
    async with linked() as (link, server):
        assert link.hello is not None
        link.hello = msgspec.structs.replace(link.hello, revision="2026-07-28")
        back = FakeBack(roots={"roots": []})
        call = start(link, back)
        wanted = {str(number): {"method": "roots/list"} for number in range(QUESTIONS + 1)}
        asks = {"resultType": "input_required", "inputRequests": wanted}
        server.say(id=(await server.next())["id"], result=asks)
        outcome = await within(call)
        assert isinstance(outcome, Failure)
        assert f"asks {QUESTIONS + 1} questions at once" in outcome.message
        assert back.questions == []


async def test_mgp_6_5_1_an_audited_server_is_given_the_trace_id() -> None:
    reply = {"mgp": {"version": "0.2.0", "extensions": ["audit"]}}
    async with linked(face=Face(("audit",)), capabilities=reply) as (link, server):
        call = start(link)
        sent = await server.next()
        assert sent["params"]["trace_id"].startswith("trace-")
        server.say(id=sent["id"], result={})
        await within(call)


@pytest.mark.parametrize(("client", "kept"), [(LEGACY, True), (MGP_CLIENT, False)])
async def test_a_plain_server_sees_a_trace_id_only_as_somebodys_unknown_member(
    client: Client, kept: bool
) -> None:
    async with linked() as (link, server):
        start(link, params={"name": "t", "trace_id": "mine"}, client=client)
        sent = await server.next()
        assert ("trace_id" in sent["params"]) is kept


async def test_unknown_notifications_reach_their_call_by_token_or_because_it_is_alone() -> None:
    ear = Ear()
    async with linked(ear=ear, methods=("notifications/vendor.*",)) as (link, server):
        back = FakeBack()
        call = start(link, back, params={"name": "t", "_meta": {"progressToken": "mine"}})
        sent = await server.next()
        for params in (
            {"progressToken": sent["id"], "n": 1},
            {"_meta": {"progressToken": sent["id"]}, "n": 2},
            {"n": 3, "request_id": sent["id"]},
        ):
            server.say(method="notifications/vendor.news", params=params)
        server.say(id=sent["id"], result={})
        await within(call)
        server.say(method="notifications/vendor.bare")
        after = start(link, back)
        server.say(id=(await server.next())["id"], result={})
        await within(after)
        assert back.of("notifications/vendor.news") == [
            {"progressToken": "mine", "n": 1},
            {"_meta": {"progressToken": "mine"}, "n": 2},
            {"n": 3, "request_id": sent["id"]},
        ]
        assert ear.heard == [("notifications/vendor.bare", {})]


async def test_what_no_revision_lets_servers_say_reaches_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Also under the token of a call; and of an extension only what was negotiated (MGP-1.2-2)."""
    ear = Ear()
    async with linked(ear=ear) as (link, server):
        back = FakeBack()
        call = start(link, back, params={"name": "t", "_meta": {"progressToken": "mine"}})
        sent = await server.next()
        methods = (
            "notifications/vendor.news",
            "notifications/initialized",
            "notifications/roots/list_changed",
            "Notifications/Message",
            "notifications/mgp.stream.chunk",
            "notifications/subscriptions/acknowledged",
            "tools/call",
        )
        for method in (*methods, *methods):
            server.say(
                method=method, params={"progressToken": sent["id"], "request_id": sent["id"]}
            )
        server.say(id=sent["id"], result={})
        await within(call)
        assert (back.events, ear.heard, link.dropped) == ([], [], 2 * len(methods))
        said = [one.getMessage() for one in caplog.records]
        assert [sum(repr(method) in one for one in said) for method in methods] == [1] * len(
            methods
        )


async def test_a_caller_that_goes_when_its_answer_has_come_leaves_nobody_who_could_be_meant() -> (
    None
):
    """Its server answers no second time, so nothing would ever end that."""
    async with linked() as (link, server):
        leaving = start(link, session="a")
        sent = await server.next()
        link.message(json.dumps({"jsonrpc": "2.0", "id": sent["id"], "result": {}}).encode())
        leaving.cancel()
        await asyncio.wait([leaving])
        assert leaving.cancelled()
        assert server.idle()
        back = FakeBack(elicitation=NAME)
        staying = start(link, back, session="b")
        sent = await server.next()
        server.say(id="q", method="elicitation/create", params={"message": "?"})
        assert await server.next() == {"jsonrpc": "2.0", "id": "q", "result": NAME}
        server.say(id=sent["id"], result={})
        assert isinstance(await within(staying), Answer)


@pytest.mark.parametrize(
    "method", ["notifications/tools/list_changed", "notifications/resources/updated"]
)
async def test_what_concerns_a_server_belongs_to_no_call(method: str) -> None:
    ear = Ear()
    async with linked(ear=ear) as (link, server):
        back = FakeBack()
        call = start(link, back, params={"name": "t", "_meta": {"progressToken": "mine"}})
        sent = await server.next()
        server.say(method=method, params={"progressToken": sent["id"], "uri": "x://y"})
        server.say(id=sent["id"], result={})
        await within(call)
        assert back.events == []
        assert [name for name, _ in ear.heard] == [method]


async def test_an_mgp_server_names_a_call_by_its_request_id() -> None:
    reply = {"experimental": {"mgp": {"version": "0.2.0", "extensions": ["streaming"]}}}
    face = Face(("streaming",))
    async with linked(face=face, capabilities=reply) as (link, server):
        back = FakeBack()
        call = start(link, back)
        sent = await server.next()
        chunk = {"request_id": sent["id"], "index": 0}
        server.say(method="notifications/mgp.stream.chunk", params=chunk)
        server.say(id=sent["id"], result={})
        await within(call)
        (event,) = back.of("notifications/mgp.stream.chunk")
        assert event["request_id"].startswith("call-")
        assert event["index"] == 0


async def test_our_own_subscription_mark_is_nobody_elses_business() -> None:
    ear = Ear()
    async with linked(ear=ear) as (link, server):
        for meta in ({"io.modelcontextprotocol/subscriptionId": 3}, {"k": 1}):
            params = {"uri": "x://1", "_meta": meta}
            server.say(method="notifications/resources/updated", params=params)
        fetching = asyncio.ensure_future(link.fetch("x", {}, 5.0))
        server.say(id=(await server.next())["id"], result={})
        await within(fetching)
        assert [params for _, params in ear.heard] == [
            {"uri": "x://1"},
            {"uri": "x://1", "_meta": {"k": 1}},
        ]


@pytest.mark.parametrize("method", ["notifications/acme.note", "notifications/message"])
async def test_the_number_of_our_listening_makes_no_notification_everybodys(method: str) -> None:
    """What comes during one call belongs to it, whatever mark it carries; and the mark is told to nobody."""
    ear = Ear()
    async with linked(ear=ear, methods=("notifications/acme.*",)) as (link, server):
        back = FakeBack()
        work = start(link, back)
        request = await server.next()
        server.say(method=method, params={"data": 1, "_meta": {META_SUBSCRIPTION: 1, "k": 2}})
        server.say(id=request["id"], result={})
        assert isinstance(await within(work), Answer)
    assert [(one.method, one.params) for one in back.events] == [
        (method, {"data": 1, "_meta": {"k": 2}})
    ]
    assert ear.heard == []
