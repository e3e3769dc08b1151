"""Who is asked what a server wants to know: the right caller, or nobody."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Answer, CannotAsk, Failure, Question
from gatewright.mcp.client import server_requests
from tests.servers.rig import FakeBack, make_call, within
from tests.servers.scripted import Scripted, linked, start

ELICIT = {"message": "who?", "requestedSchema": {"type": "object", "x": None}}
NAME = {"action": "accept", "content": {"name": "n"}}


async def ask(server: Scripted, ident: Any = "q", method: str = "elicitation/create") -> None:
    """Ask, and see that the question has been looked at."""
    server.say(id=ident, method=method, params=ELICIT)
    await seen(server)


async def seen(server: Scripted) -> None:
    """Everything sent so far has been read: a ping has been answered behind it."""
    server.say(id="ping", method="ping")
    while (await server.next()).get("id") != "ping":
        continue


class Slow:
    """A caller who answers when the test says so."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    async def __call__(self, question: Question) -> dict[str, Any]:
        self.asked.set()
        return await self.answer


async def test_the_only_caller_is_asked_and_its_answer_returned() -> None:
    async with linked() as (link, server):
        back = FakeBack(elicitation=NAME)
        call = start(link, back)
        sent = await server.next()
        server.say(id="q", method="elicitation/create", params=ELICIT)
        assert await server.next() == {"jsonrpc": "2.0", "id": "q", "result": NAME}
        assert back.questions == [Question("elicitation/create", ELICIT, server="scripted")]
        server.say(id=sent["id"], result={})
        assert isinstance(await within(call), Answer)


@pytest.mark.parametrize("method", ["sampling/createMessage", "roots/list", "vendor/question"])
async def test_every_kind_of_question_reaches_the_caller(method: str) -> None:
    async with linked(methods=("vendor/*",)) as (link, server):
        back = FakeBack()
        back._answers[method] = {"ok": 1}
        start(link, back)
        await server.next()
        server.say(id=0, method=method)
        assert await server.next() == {"jsonrpc": "2.0", "id": 0, "result": {"ok": 1}}
        assert back.questions == [Question(method, None, server="scripted")]


@pytest.mark.parametrize(
    "method",
    ["vendor/question", "tasks/get", "tools/call", "Roots/List", "mgp/permission/request", "x"],
)
async def test_what_no_revision_lets_servers_ask_reaches_nobody(method: str) -> None:
    async with linked() as (link, server):
        back = FakeBack()
        back._answers[method] = {"ok": 1}
        start(link, back)
        await server.next()
        server.say(id=0, method=method, params={"name": "wipe"})
        error = {"code": -32601, "message": f"Method not found: {method}"}
        assert await server.next() == {"jsonrpc": "2.0", "id": 0, "error": error}
        assert back.questions == []


async def test_a_server_hears_how_far_its_question_is_under_its_own_token() -> None:
    async with linked() as (link, server):
        back = FakeBack(elicitation=NAME)
        start(link, back)
        await server.next()
        asked = {**ELICIT, "_meta": {"progressToken": 7}}
        server.say(id="q", method="elicitation/create", params=asked)
        await server.next()
        (question,) = back.questions
        assert question.progress is not None
        question.progress({"progressToken": "ours", "progress": 1})
        told = {"progressToken": 7, "progress": 1}
        expected = {"jsonrpc": "2.0", "method": "notifications/progress", "params": told}
        assert await server.next() == expected


async def test_a_caller_that_cannot_be_asked_gives_the_server_its_reason() -> None:
    def refuse(question: Question) -> Any:
        raise CannotAsk("never declared", -32601, {"why": 1})

    async with linked() as (link, server):
        start(link, FakeBack(elicitation=refuse))
        await server.next()
        server.say(id="q", method="elicitation/create", params=ELICIT)
        error = {"code": -32601, "message": "never declared", "data": {"why": 1}}
        assert await server.next() == {"jsonrpc": "2.0", "id": "q", "error": error}


async def test_of_one_session_the_newest_call_that_can_be_asked_is_asked() -> None:
    async with linked() as (link, server):
        oldest, middle, newest = FakeBack(elicitation=NAME), FakeBack(elicitation=NAME), FakeBack()
        for back in (oldest, middle, newest):
            start(link, back)
            await server.next()
        server.say(id="q", method="elicitation/create", params=ELICIT)
        assert (await server.next())["result"] == NAME
        assert [len(one.questions) for one in (oldest, middle, newest)] == [0, 1, 1]


@pytest.mark.parametrize("first", ["a", None])
@pytest.mark.parametrize("second", ["b", None])
async def test_between_two_parties_nobody_is_asked_until_one_is_left(
    first: str | None, second: str | None
) -> None:
    async with linked() as (link, server):
        asker, other = FakeBack(elicitation=NAME), FakeBack(elicitation={"wrong": 1})
        start(link, asker, session=first)
        await server.next()
        bystander = start(link, other, session=second)
        sent = await server.next()
        await ask(server)
        assert asker.questions == other.questions == []
        server.say(id=sent["id"], result={})
        assert isinstance(await within(bystander), Answer)
        assert (await server.next())["result"] == NAME
        assert other.questions == []


async def test_a_question_right_behind_the_answer_to_another_call_is_not_that_calls() -> None:
    async with linked() as (link, server):
        asker, other = FakeBack(elicitation=NAME), FakeBack(elicitation={"wrong": 1})
        start(link, asker, session="a")
        await server.next()
        bystander = start(link, other, session="b")
        sent = await server.next()
        server.say(id=sent["id"], result={})  # read together with what follows
        server.say(id="q", method="elicitation/create", params=ELICIT)
        assert (await within(server.next()))["result"] == NAME
        assert isinstance(await within(bystander), Answer)
        assert other.questions == []


async def test_a_call_that_came_after_the_question_is_no_candidate() -> None:
    async with linked() as (link, server):
        slow = Slow()
        start(link, FakeBack(elicitation=slow), session="a")
        await server.next()
        server.say(id="q", method="elicitation/create", params=ELICIT)
        await within(slow.asked.wait())
        later = FakeBack(elicitation={"wrong": 1})
        start(link, later, session="b")
        await server.next()
        slow.answer.set_result(NAME)
        assert (await server.next())["result"] == NAME
        assert later.questions == []


@pytest.mark.parametrize(
    ("late", "expected"),
    [({"result": {}}, "result"), ({"error": {"code": 0, "message": "cancelled"}}, "error")],
)
async def test_a_call_that_was_given_up_may_still_be_the_one_that_asks(
    late: dict[str, Any], expected: str
) -> None:
    """Also where it fails then: its question is over with it, and nothing says so (decision 0104)."""
    async with linked() as (link, server):
        gone = start(link, FakeBack(elicitation=NAME), session="a")
        sent = await server.next()
        gone.cancel()
        await server.next()
        other = FakeBack(elicitation={"wrong": 1})
        start(link, other, session="b")
        await server.next()
        await ask(server)
        assert other.questions == []
        server.say(id=sent["id"], **late)
        assert expected in await server.next()
        assert len(other.questions) == (expected == "result")


async def test_a_candidate_given_up_while_a_question_is_held_does_not_leave_the_other_to_blame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_requests, "HELD_S", 0.05)
    async with linked() as (link, server):
        gone = start(link, FakeBack(elicitation=NAME), session="a")
        await server.next()
        other = FakeBack(elicitation={"wrong": 1})
        start(link, other, session="b")
        await server.next()
        server.say(id="q", method="elicitation/create", params=ELICIT)
        await seen(server)
        gone.cancel()
        told = [await server.next(), await server.next()]
        refusal = next(one for one in told if one.get("id") == "q")
        assert server_requests.UNATTRIBUTABLE in refusal["error"]["message"]
        assert other.questions == []


async def test_a_question_that_stays_ambiguous_fails_its_call_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_requests, "HELD_S", 0.05)
    async with linked() as (link, server):
        backs = FakeBack(elicitation=NAME), FakeBack(elicitation=NAME)
        asking = start(link, backs[0], session="a")
        sent = await server.next()
        bystander = start(link, backs[1], session="b")
        other = await server.next()
        server.say(id="q", method="elicitation/create", params=ELICIT)
        refused = await server.next()
        assert 'share = "session"' in refused["error"]["message"]
        words = {"type": "text", "text": f"Error: {refused['error']['message']}"}
        server.say(id=sent["id"], result={"content": [words], "isError": True})
        outcome = await within(asking)
        assert isinstance(outcome, Failure)
        assert outcome.reason == server_requests.UNATTRIBUTABLE
        server.say(id=other["id"], result={"isError": True, "content": []})
        assert (await within(bystander)) == Answer(b'{"isError": true, "content": []}', True)
        assert [one.questions for one in backs] == [[], []]


async def test_a_held_question_ends_while_its_call_can_still_say_why() -> None:
    async with linked() as (link, server):
        asking = start(link, session="a", seconds=0.5)
        sent = await server.next()
        start(link, session="b")
        await server.next()
        server.say(id="q", method="elicitation/create", params=ELICIT)
        server.say(id=sent["id"], error=(await server.next())["error"])
        outcome = await within(asking)
        assert isinstance(outcome, Failure)
        assert outcome.reason == server_requests.UNATTRIBUTABLE


async def test_the_same_with_a_server_that_passes_the_error_on_as_json_rpc(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_requests, "HELD_S", 0.05)
    async with linked() as (link, server):
        asking = start(link, session="a")
        sent = await server.next()
        start(link, session="b")
        await server.next()
        server.say(id="q", method="elicitation/create", params=ELICIT)
        server.say(id=sent["id"], error=(await server.next())["error"])
        outcome = await within(asking)
        assert isinstance(outcome, Failure)
        assert outcome.reason == server_requests.UNATTRIBUTABLE


async def test_thinking_time_is_not_taken_from_the_calls_time() -> None:
    async with linked() as (link, server):
        slow = Slow()
        call = start(link, FakeBack(elicitation=slow), seconds=0.2)
        sent = await server.next()
        server.say(id="q", method="elicitation/create", params=ELICIT)
        await within(slow.asked.wait())
        loop = asyncio.get_running_loop()
        over = loop.create_future()
        loop.call_later(0.4, over.set_result, None)
        await within(over)
        assert not call.done()
        slow.answer.set_result(NAME)
        assert (await server.next())["id"] == "q"
        server.say(id=sent["id"], result={})
        assert isinstance(await within(call), Answer)
        assert link.open


async def test_a_question_whose_call_ends_meanwhile_is_refused_and_not_waited_for() -> None:
    async with linked() as (link, server):
        slow = Slow()
        call = start(link, FakeBack(elicitation=slow))
        sent = await server.next()
        server.say(id="q", method="elicitation/create", params=ELICIT)
        await within(slow.asked.wait())
        server.say(id=sent["id"], result={})
        await within(call)
        refused = await server.next()
        assert refused["id"] == "q"
        assert "is over" in refused["error"]["message"]
        assert slow.answer.cancelled()


async def test_a_server_can_take_its_question_back() -> None:
    async with linked() as (link, server):
        slow = Slow()
        start(link, FakeBack(elicitation=slow))
        await server.next()
        server.say(id="q", method="elicitation/create", params=ELICIT)
        await within(slow.asked.wait())
        server.say(method="notifications/cancelled", params={"requestId": "q"})
        await seen(server)
        assert slow.answer.cancelled()


async def test_with_no_call_in_flight_there_are_no_roots_and_nobody_to_ask() -> None:
    async with linked() as (_, server):
        server.say(id=0, method="roots/list")
        assert (await server.next())["result"] == {"roots": []}
        server.say(id=1, method="elicitation/create", params=ELICIT)
        assert "nobody to ask" in (await server.next())["error"]["message"]


async def test_what_the_gateway_fetches_for_itself_is_no_candidate() -> None:
    async with linked() as (link, server):
        fetching = asyncio.ensure_future(link.fetch("tools/list", {}, 20.0))
        sent = await server.next()
        server.say(id=1, method="sampling/createMessage", params={})
        assert "error" in await server.next()
        server.say(id=sent["id"], result={})
        assert await within(fetching) == b"{}"


async def test_a_flood_of_questions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_requests, "_MOST", 3)
    async with linked() as (link, server):
        slow = Slow()
        start(link, FakeBack(elicitation=slow))
        await server.next()
        for number in range(4):
            server.say(id=number, method="elicitation/create", params=ELICIT)
        refused = await server.next()
        assert (refused["id"], "at most 3" in refused["error"]["message"]) == (3, True)


async def test_an_id_that_is_open_already_cannot_be_asked_with_again() -> None:
    async with linked() as (link, server):
        slow = Slow()
        back = FakeBack(elicitation=slow)
        start(link, back)
        await server.next()
        server.say(id="q", method="elicitation/create", params=ELICIT)
        server.say(id="q", method="elicitation/create", params=ELICIT)
        assert "error" in await server.next()
        assert len(back.questions) == 1


async def test_logs_go_to_the_one_session_at_work_and_never_to_two() -> None:
    async with linked() as (link, server):
        ear = link.sink
        mine, other = FakeBack(), FakeBack()
        server.say(method="notifications/message", params={"level": "info", "data": 0})
        await seen(server)
        start(link, mine, session="a")
        await server.next()
        server.say(method="notifications/message", params={"level": "info", "data": 1})
        await seen(server)
        start(link, other, session="b")
        await server.next()
        server.say(method="notifications/message", params={"level": "info", "data": 2})
        await seen(server)
        assert [one["data"] for one in mine.of("notifications/message")] == [1]
        assert other.events == []
        assert [params["data"] for _, params in ear.heard] == [0]  # type: ignore[attr-defined]


async def test_the_end_of_the_connection_ends_its_questions() -> None:
    async with linked() as (link, server):
        slow = Slow()
        start(link, FakeBack(elicitation=slow), call=make_call("tool", "tools/call", {"name": "t"}))
        await server.next()
        server.say(id="q", method="elicitation/create", params=ELICIT)
        await within(slow.asked.wait())
        link.close("over")
        await within(server.pipe.wait_closed())
        with pytest.raises(asyncio.CancelledError):
            await within(slow.answer)


async def test_who_may_be_asked_outside_any_call_is_asked() -> None:
    asked: list[Question] = []

    async def answer(question: Question) -> dict[str, Any]:
        asked.append(question)
        if question.method != "roots/list":
            raise CannotAsk("only roots", -32601)
        return {"roots": [{"uri": "file:///r"}]}

    async with linked() as (link, server):
        link.answer_outside(answer)
        server.say(id=0, method="roots/list")
        assert (await server.next())["result"] == {"roots": [{"uri": "file:///r"}]}
        server.say(id=1, method="sampling/createMessage", params={"a": 1})
        assert (await server.next())["error"] == {"code": -32601, "message": "only roots"}
    assert asked == [Question("roots/list"), Question("sampling/createMessage", {"a": 1})]
