"""What travels back while a call runs: questions to legacy hosts, events, and the end of a call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from gatewright.call import (
    Answer,
    Back,
    Call,
    CannotAsk,
    Event,
    Failure,
    Outcome,
    Question,
)
from gatewright.mcp.protocol.negotiate import EXTENSION
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcp.wire import jsonrpc
from tests.dialects.client import modern, rpc, within
from tests.dialects.house import MGP_OFFER, House, text
from tests.dialects.steps import CALL, JSON_ONLY, Hang

ELICIT = Question("elicitation/create", {"message": "name?", "requestedSchema": {"x": 95.5}})
ASKS: dict[str, Any] = {"elicitation": {}, "sampling": {}}


def asking(*questions: Question) -> Any:
    """A tool that asks one question after the other and says what it learned."""

    async def tool(call: Call, back: Back) -> Outcome:
        learned: list[Any] = []
        for question in questions:
            try:
                learned.append(await back.ask(question))
            except CannotAsk as no:
                learned.append([no.code, no.message, no.data])
        return Answer(jsonrpc.encode({"content": [], "learned": learned}))

    return tool


def reply(ident: Any, **members: Any) -> bytes:
    return jsonrpc.encode({"jsonrpc": "2.0", "id": ident, **members})


async def test_a_legacy_host_is_asked_on_the_stream_of_the_call_and_answers_by_itself() -> None:
    async with House() as house:
        sample = Question("sampling/createMessage", {"messages": [], "maxTokens": 1})
        house.script.does("echo", asking(ELICIT, sample))
        session = await house.session("2025-06-18", ASKS)
        wire = session.open("tools/call", CALL, ident=1)
        for question, result in ((ELICIT, {"action": "accept", "n": 2**60}), (sample, {"a": None})):
            asked = await wire.message()
            ident = asked.pop("id")
            expected = {"method": question.method, "params": question.params}
            assert asked == {"jsonrpc": "2.0", **expected}
            answered = await session.send(reply(ident, result=result))
            assert (answered.status, answered.body) == (202, b"")
        learned = (await wire.message())["result"]["learned"]
        assert learned == [{"action": "accept", "n": 2**60}, {"a": None}]


async def test_a_refusal_of_the_host_reaches_the_tool_with_code_message_and_data() -> None:
    async with House() as house:
        house.script.does("echo", asking(ELICIT, ELICIT, ELICIT))
        session = await house.session("2025-06-18", ASKS)
        wire = session.open("tools/call", CALL)
        bodies: list[Mapping[str, Any]] = [
            {"error": {"code": -1, "message": "no", "data": {"why": 1}}},
            {"error": "odd"},
            {"result": 5},
        ]
        for body in bodies:
            await session.send(reply((await wire.message())["id"], **body))
        assert (await wire.message())["result"]["learned"] == [
            [-1, "no", {"why": 1}],
            [-32603, "the caller refused", None],
            [-32603, "the caller's answer cannot be read", None],
        ]


async def test_an_answer_to_no_question_changes_nothing() -> None:
    async with House() as house:
        house.script.does("echo", asking(ELICIT))
        session = await house.session("2025-06-18", ASKS)
        other = await house.session("2025-06-18", ASKS)
        wire = session.open("tools/call", CALL)
        ident = (await wire.message())["id"]
        good = reply(ident, result={"n": 1})
        assert (await other.send(good)).status == 202
        assert (await house.post(good)).status == 202
        assert (await session.send(reply("never", result={"n": 2}))).status == 202
        await session.send(good)
        await session.send(reply(ident, result={"n": 3}))
        assert (await wire.message())["result"]["learned"] == [{"n": 1}]


async def test_nobody_is_asked_what_it_did_not_say_that_it_answers() -> None:
    async with House() as house:
        house.script.does("echo", asking(ELICIT, Question("roots/list")))
        session = await house.session("2025-06-18", {"sampling": {}})
        learned = (await session.ask("tools/call", CALL))["result"]["learned"]
        assert [code for code, _, _ in learned] == [-32601, -32601]


async def test_who_has_no_session_cannot_be_asked_anything() -> None:
    """Its answer could not come back: not even a question of an unknown kind may wait for it."""
    async with House() as house:
        house.script.does("echo", asking(Question("com.example/ask")))
        answered = await house.post(rpc("tools/call", CALL, 1))
        assert answered.json["result"]["learned"] == [
            [-32000, "the caller has no session, and so no way to answer", None]
        ]


async def test_a_host_that_reads_no_streams_is_asked_on_the_stream_of_its_session() -> None:
    async with House() as house:
        house.script.does("echo", asking(ELICIT))
        session = await house.session("2025-06-18", ASKS)
        wire = session.open("tools/call", CALL, headers=JSON_ONLY)
        asked = await session.get().message()
        await session.send(reply(asked["id"], result={"n": 1}))
        assert (await wire.whole()).json["result"]["learned"] == [{"n": 1}]


async def test_a_batched_call_can_ask_and_be_answered() -> None:
    async with House() as house:
        house.script.does("echo", asking(ELICIT))
        session = await house.session("2025-03-26", ASKS)
        batch = rpc("tools/call", CALL, 1)
        answering = asyncio.create_task(session.send(b"[" + batch + b"]"))
        asked = await session.get().message()
        await session.send(reply(asked["id"], result={"n": 1}))
        answered = await within(answering)
        assert answered.json[0]["result"]["learned"] == [{"n": 1}]


async def test_a_call_that_ends_takes_its_question_back() -> None:
    async def impatient(call: Call, back: Back) -> Outcome:
        asking_ = asyncio.create_task(back.ask(ELICIT))
        await asyncio.wait([asking_], timeout=0)
        asking_.cancel()
        await asyncio.wait([asking_])
        return text("never mind")

    async with House() as house:
        house.script.does("echo", impatient)
        session = await house.session("2025-06-18", ASKS)
        answered = await session.open("tools/call", CALL).whole()
        question, taken_back, result = answered.messages
        assert taken_back == {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": question["id"], "reason": "the call ended"},
        }
        assert "result" in result


async def test_a_question_that_its_call_leaves_open_is_taken_back_on_the_own_stream_of_the_session() -> (
    None
):
    asked: list[asyncio.Task[Any]] = []

    async def forgetful(call: Call, back: Back) -> Outcome:
        asked.append(asyncio.create_task(back.ask(ELICIT)))
        await asyncio.wait(asked, timeout=0)
        return text("never mind")

    async with House() as house:
        house.script.does("echo", forgetful)
        session = await house.session("2025-06-18", ASKS)
        own = session.get()
        question, result = (await session.open("tools/call", CALL).whole()).messages
        assert "result" in result
        asked[0].cancel()
        taken_back = await own.message()
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"]["requestId"] == question["id"]


async def test_a_cancelled_call_takes_its_question_back_and_its_owner_is_told() -> None:
    async with House() as house:
        house.script.does("echo", asking(ELICIT))
        session = await house.session("2025-06-18", ASKS)
        wire = session.open("tools/call", CALL, ident="c")
        asked = await wire.message()
        await session.send(rpc("notifications/cancelled", {"requestId": "c"}))
        messages = (await wire.whole()).messages
        assert messages[0]["params"]["requestId"] == asked["id"]
        assert messages[1]["error"]["code"] == -32800
        assert house.script.cancelled == ["echo"]
        late = await session.send(reply(asked["id"], result={}))
        assert late.status == 202


async def test_a_session_that_ends_leaves_no_question_open() -> None:
    async with House() as house:
        house.script.does("echo", asking(ELICIT))
        session = await house.session("2025-06-18", ASKS)
        wire = session.open("tools/call", CALL)
        await wire.message()
        assert (await session.delete()).status == 200
        await within(wire.task)


async def test_a_question_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatewright.mcp.server.served_request.PENDING_S", 0.01)
    async with House() as house:
        house.script.does("echo", asking(ELICIT))
        session = await house.session("2025-06-18", ASKS)
        answered = await session.open("tools/call", CALL).whole()
        question, taken_back, result = answered.messages
        assert taken_back["params"] == {
            "requestId": question["id"],
            "reason": "nobody answered in time",
        }
        late = [-32000, "the caller did not answer in time", None]
        assert result["result"]["learned"] == [late]


# -- the end of a call


async def test_a_cancelled_legacy_call_ends_with_an_error_and_is_recorded() -> None:
    async with House() as house:
        house.script.does("echo", hang := Hang())
        session = await house.session()
        wire = session.open("tools/call", CALL, ident=5)
        await within(hang.began.wait())
        await session.send(rpc("notifications/cancelled", {"requestId": 5}))
        answered = await wire.whole()
        assert answered.json["error"]["code"] == -32800
        assert house.trails.ended[-1][1] == Failure("cancelled", "the call was cancelled")


async def test_cancelling_what_does_not_run_changes_nothing() -> None:
    async with House() as house:
        house.script.does("echo", hang := Hang())
        session, other = await house.session(), await house.session()
        wire = session.open("tools/call", CALL, ident=5)
        await within(hang.began.wait())
        for params in ({"requestId": 6}, {"requestId": "5"}, {"requestId": None}, {}, None):
            await session.send(rpc("notifications/cancelled", params))
        await other.send(rpc("notifications/cancelled", {"requestId": 5}))
        await house.post(rpc("notifications/cancelled", {"requestId": 5}))
        hang.end.set()
        assert "result" in (await wire.whole()).json


async def test_an_id_may_be_cancelled_in_another_spelling() -> None:
    async with House() as house:
        house.script.does("echo", hang := Hang())
        session = await house.session()
        body = rpc("tools/call", CALL, "X").replace(b'"X"', rb'"\u00fc\u0041"')
        sending = asyncio.create_task(session.send(body))
        await within(hang.began.wait())
        await session.send(rpc("notifications/cancelled", {"requestId": "üA"}))
        answered = await within(sending)
        assert rb'"id":"\u00fc\u0041"' in answered.body
        assert house.script.cancelled == ["echo"]


async def test_a_modern_client_that_leaves_cancels_its_call() -> None:
    async with House() as house:
        house.script.does("echo", hang := Hang())
        wire = house.open(modern("tools/call", CALL))
        await within(hang.began.wait())
        wire.leave()
        await within(wire.task)
        assert house.script.cancelled == ["echo"]


async def test_a_legacy_client_that_leaves_does_not() -> None:
    """Its answer waits for it."""
    async with House() as house:
        house.script.does("echo", hang := Hang())
        session = await house.session()
        wire = session.open("tools/call", CALL)
        await within(hang.began.wait())
        wire.leave()
        hang.end.set()
        await within(wire.task)
        assert house.script.cancelled == []
        assert isinstance(house.trails.ended[-1][1], Answer)


async def test_twenty_clients_that_vanish_leave_nothing_behind() -> None:
    async with House() as house:
        house.script.does("echo", Hang())
        wires = [house.open(modern("tools/call", CALL, ident=n)) for n in range(20)]
        for _ in wires:
            await house.began()
        for wire in wires:
            wire.leave()
        await house.quiet()
        assert house.script.cancelled == ["echo"] * 20


# -- events


async def test_who_did_not_negotiate_mgp_hears_nothing_of_it() -> None:
    """MGP-1.3-2, and MGP-1.2-2 for who negotiated another part."""

    async def tool(call: Call, back: Back) -> Outcome:
        back.emit(Event("notifications/mgp.stream.chunk", {"request_id": 9, "n": 1}))
        back.emit(Event("notifications/mgp.com.example", {"n": 2}))
        return text("done")

    async with House() as house:
        house.script.does("echo", tool)
        audit = {"mgp": {"version": "0.2.0", "extensions": ["audit"]}}
        heard = []
        for capabilities in ({}, audit, {"mgp": MGP_OFFER}):
            session = await house.session("2025-06-18", capabilities)
            answered = await session.open("tools/call", CALL, ident="r").whole()
            heard.append([one["params"] for one in answered.messages[:-1]])
        assert heard == [[], [{"n": 2}], [{"request_id": "r", "n": 1}, {"n": 2}]]


async def test_a_modern_request_asks_for_log_lines_itself() -> None:
    async def tool(call: Call, back: Back) -> Outcome:
        for level in ("debug", "warning"):
            back.emit(Event("notifications/message", {"level": level, "data": 1}))
        return text("done")

    async with House() as house:
        house.script.does("echo", tool)
        heard = []
        for meta in ({}, {"io.modelcontextprotocol/logLevel": "info"}):
            answered = await house.modern("tools/call", CALL, meta=meta)
            heard.append([one["params"]["level"] for one in answered.messages[:-1]])
        assert heard == [[], ["warning"]]


async def test_a_defect_of_ours_is_answered_and_does_not_end_the_session() -> None:
    async with House() as house:
        session = await house.session()
        house.script.does("echo", Answer(b"{no result at all", modern=True))
        answered = await session.open("tools/call", CALL, ident=3).whole()
        # The tool has run: nobody is to send it again by himself (decision 0039).
        assert (answered.status, answered.json["id"]) == (200, 3)
        assert answered.json["error"]["code"] == -32603
        house.script.does("echo", text("fine"))
        assert "result" in await session.ask("tools/call", CALL)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"{no result at all", "internal"),
        (b'{"resultType":"input_required","x":[%b[]]}' % (b"[]," * 330_000), "upstream_error"),
    ],
)
async def test_a_call_that_ran_and_whose_answer_breaks_is_not_to_be_made_again(
    raw: bytes, reason: str
) -> None:
    """Decision 0039: by no client of HTTP for its status, and by no MGP client for its hint."""
    async with House() as house:
        house.script.does("echo", Answer(raw, modern=reason != "internal"))
        answered = await house.modern(
            "tools/call", CALL, capabilities={"extensions": {EXTENSION: MGP_OFFER}}
        )
        data = answered.json["error"]["data"]
        assert (answered.status, data["reason"]) == (200, reason)
        assert data["_mgp"]["retryable"] is False


async def test_what_breaks_before_its_call_is_our_own_defect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no call")

    async with House() as house:
        monkeypatch.setattr(ServerContext, "call", broken)
        assert (await house.modern("tools/call", CALL)).status == 500
