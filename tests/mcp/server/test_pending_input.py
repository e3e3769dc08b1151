"""Calls that wait for a repeated request: whose turn it is, who may come back, and how it all ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, Caller, CannotAsk, Event, Failure, Outcome, Question
from gatewright.mcp.server.pending_input import (
    PENDING_EACH,
    PENDING_S,
    PendingInputs,
    bound_to,
)
from gatewright.mcp.wire import jsonrpc
from tests.dialects.client import Answered, modern, within
from tests.dialects.house import INFO, House, text
from tests.dialects.steps import CALL, TOLD, Hang, progress, progressed

NAME = Question("elicitation/create", {"message": "name?", "big": 2**60})
PLACE = Question("sampling/createMessage", {"messages": []})
ROOTS = Question("roots/list")
CAN: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
DONE = b'{"content":[]}'


def one_by_one(*questions: Question) -> Any:
    async def tool(call: Call, back: Back) -> Outcome:
        learned = [await back.ask(question) for question in questions]
        return Answer(jsonrpc.encode({"content": [], "learned": learned}))

    return tool


async def at_once(call: Call, back: Back) -> Outcome:
    learned = await asyncio.gather(back.ask(NAME), back.ask(PLACE), back.ask(ROOTS))
    return Answer(jsonrpc.encode({"content": [], "learned": learned}))


async def until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0.005)


def retry(state: Any, answers: Any, *, params: Any = CALL, ident: Any = 2, **more: Any) -> Any:
    again = {**params, "requestState": state, "inputResponses": answers}
    return modern("tools/call", again, ident=ident, **{"capabilities": CAN, **more})


async def first(house: House, params: Any = CALL, **options: Any) -> Any:
    """The result of a first request, which asks for something."""
    answered = await house.post(modern("tools/call", params, capabilities=CAN), **options)
    assert (answered.status, answered.kind) == (200, "application/json")
    result = answered.json["result"]
    assert result["resultType"] == "input_required"
    return result


def error(answered: Answered) -> tuple[int, int, str]:
    found = answered.json["error"]
    return answered.status, found["code"], found["message"]


async def test_a_question_is_put_and_the_repeated_request_takes_the_call_up() -> None:
    async with House() as house:
        house.script.does("echo", one_by_one(NAME))
        asked = await first(house)
        state = asked.pop("requestState")
        assert asked == {
            "resultType": "input_required",
            "inputRequests": {"q1": {"method": NAME.method, "params": NAME.params}},
            "_meta": {"io.modelcontextprotocol/serverInfo": INFO},
        }
        answered = await house.post(retry(state, {"q1": {"n": 2**60, "none": None}}, ident="b"))
        assert (answered.status, answered.json["id"]) == (200, "b")
        result = answered.json["result"]
        assert (result["resultType"], result["learned"]) == (
            "complete",
            [{"n": 2**60, "none": None}],
        )
        assert len(house.script.calls) == 1
        assert len(house.app.streamable.parked) == 0


async def test_several_rounds_have_several_states() -> None:
    async with House() as house:
        house.script.does("echo", one_by_one(NAME, ROOTS))
        asked = await first(house)
        again = (await house.post(retry(asked["requestState"], {"q1": {}}))).json["result"]
        assert again["inputRequests"] == {"q2": {"method": "roots/list"}}
        assert again["requestState"] != asked["requestState"]
        done = await house.post(retry(again["requestState"], {"q2": {"roots": []}}, ident=3))
        assert done.json["result"]["learned"] == [{}, {"roots": []}]


async def test_questions_asked_at_the_same_time_travel_together() -> None:
    async with House() as house:
        house.script.does("echo", at_once)
        asked = await first(house)
        assert [one["method"] for one in asked["inputRequests"].values()] == [
            NAME.method,
            PLACE.method,
            ROOTS.method,
        ]
        answers = {"q3": {"c": 3}, "q1": {"a": 1}, "q2": {"b": 2}, "q9": {"x": 9}, "odd": 1}
        done = await house.post(retry(asked["requestState"], answers))
        assert done.json["result"]["learned"] == [{"a": 1}, {"b": 2}, {"c": 3}]


@pytest.mark.parametrize("answers", [{}, None, 5, [], {"q1": 12345}, {"q1": None}, {"wrong": {}}])
async def test_what_was_not_answered_is_asked_again(answers: Any) -> None:
    async with House() as house:
        house.script.does("echo", one_by_one(NAME))
        asked = await first(house)
        again = (await house.post(retry(asked["requestState"], answers))).json["result"]
        assert again["inputRequests"] == asked["inputRequests"]
        done = await house.post(retry(again["requestState"], {"q1": {}}, ident=3))
        assert done.json["result"]["resultType"] == "complete"


async def test_answers_may_come_in_parts() -> None:
    async with House() as house:
        house.script.does("echo", at_once)
        asked = await first(house)
        part = await house.post(retry(asked["requestState"], {"q2": {"b": 2}}))
        assert list(part.json["result"]["inputRequests"]) == ["q1", "q3"]
        state = part.json["result"]["requestState"]
        done = await house.post(retry(state, {"q1": {"a": 1}, "q3": {"c": 3}}, ident=3))
        assert done.json["result"]["learned"] == [{"a": 1}, {"b": 2}, {"c": 3}]


async def test_a_state_serves_its_caller_its_request_and_its_time_alone() -> None:
    async with House() as house:
        house.script.does("echo", one_by_one(NAME))
        state = (await first(house, key="key-ann"))["requestState"]
        answers: dict[str, Any] = {"q1": {}}
        other = {**CALL, "arguments": {"x": 1}}
        foreign = await house.post(retry(state, answers), key="key-bob")
        forged = "requestState was not given out by this gateway to this caller at this endpoint"
        assert error(foreign) == (400, -32602, forged)
        moved = await house.post(retry(state, answers, params=other), key="key-ann")
        assert error(moved) == (400, -32602, "requestState belongs to another request")
        for text_ in (state + "-TAMPERED", state[:-2] + "AA", "", "x", 5):
            tampered = await house.post(retry(text_, answers), key="key-ann")
            assert error(tampered) == (400, -32602, forged)
        house.now += PENDING_S + 1
        late = await house.post(retry(state, answers), key="key-ann")
        assert late.json["error"]["code"] == -32602
        house.now -= PENDING_S + 1
        kept = await house.post(retry(state, answers), key="key-ann-2")
        assert kept.json["result"]["resultType"] == "complete"


async def test_a_state_serves_once() -> None:
    async with House() as house:
        house.script.does("echo", one_by_one(NAME))
        state = (await first(house))["requestState"]
        await house.post(retry(state, {"q1": {}}))
        again = await house.post(retry(state, {"q1": {}}))
        assert error(again) == (400, -32602, "requestState names a call that has ended")


async def test_of_two_repeated_requests_at_once_one_is_served() -> None:
    async with House() as house:
        house.script.does("echo", asks_then_hangs(hang := Hang()))
        state = (await first(house))["requestState"]
        served = house.open(retry(state, {"q1": {}}, ident=2))
        await within(hang.began.wait())
        busy = await house.post(retry(state, {"q1": {}}, ident=3))
        assert error(busy) == (400, -32600, "this request is being repeated already")
        hang.end.set()
        assert (await served.whole()).json["id"] == 2


async def test_a_null_state_is_no_state() -> None:
    """Some clients write out what they do not have."""
    async with House() as house:
        house.script.does("echo", text("hi"))
        answered = await house.post(retry(None, None))
        assert answered.json["result"]["resultType"] == "complete"


async def test_the_arguments_of_a_repeated_request_may_be_written_anew() -> None:
    async with House() as house:
        house.script.does("echo", one_by_one(NAME))
        params = {"name": "echo", "arguments": {"a": {"x": 1, "y": 1.50}, "b": 2}}
        state = (await first(house, params))["requestState"]
        turned = {"arguments": {"b": 2, "a": {"y": 1.50, "x": 1}}, "name": "echo"}
        done = await house.post(retry(state, {"q1": {}}, params=turned))
        assert done.json["result"]["resultType"] == "complete"


def asks_then_hangs(hang: Hang) -> Any:
    async def tool(call: Call, back: Back) -> Outcome:
        await back.ask(NAME)
        return await hang(call, back)

    return tool


async def test_what_happens_while_nobody_is_there_comes_with_the_repeated_request() -> None:
    """In its own terms: its progress token, its log level."""

    async def tool(call: Call, back: Back) -> Outcome:
        answer = asyncio.ensure_future(back.ask(NAME))
        await asyncio.wait([answer], timeout=0)
        await house.script.began.get()  # set by the test, once the first request was answered
        back.emit(progress(1))
        back.emit(Event("notifications/message", {"level": "info", "data": 1}))
        told.set()
        await answer
        back.emit(progress(2))
        return Answer(DONE)

    async with House() as house:
        told = asyncio.Event()
        house.script.does("echo", tool)
        call = await start(house, TOLD)
        state = (await first(house, TOLD))["requestState"]
        house.script.began.put_nowait(call)
        await within(told.wait())
        meta = {"progressToken": 5, "io.modelcontextprotocol/logLevel": "debug"}
        answered = await house.post(retry(state, {"q1": {}}, params=TOLD, meta=meta))
        messages = answered.messages
        assert messages[0] == progressed(1, 5)
        assert messages[1]["params"] == {"level": "info", "data": 1}
        assert messages[2] == progressed(2, 5)
        assert messages[3]["result"]["resultType"] == "complete"


async def test_what_happens_while_nobody_is_there_has_a_limit() -> None:
    async def tool(call: Call, back: Back) -> Outcome:
        answer = asyncio.ensure_future(back.ask(NAME))
        await within(parked.wait())
        for number in range(100):
            back.emit(Event("com.example/flood", {"n": number, "x": "x" * 1000}))
        told.set()
        await answer
        return Answer(DONE)

    async with House(queue_bytes=10_000) as house:
        parked, told = asyncio.Event(), asyncio.Event()
        house.script.does("echo", tool)
        state = (await first(house))["requestState"]
        parked.set()
        await within(told.wait())
        messages = (await house.post(retry(state, {"q1": {}}))).messages
        assert [one["params"]["n"] for one in messages[:-1]] == list(range(9))


async def start(house: House, params: Any) -> Call:
    """A call of its own, only for its `Call`."""
    house.script.does("other", text("x"))
    await house.modern("tools/call", {**params, "name": "other"})
    return await house.began()


async def test_a_call_that_ends_while_it_is_parked_is_answered_when_its_client_comes_back() -> None:
    async def tool(call: Call, back: Back) -> Outcome:
        answer = asyncio.ensure_future(back.ask(NAME))
        await within(ended.wait())
        answer.cancel()
        return Failure("timeout", "out of time")

    async with House() as house:
        ended = asyncio.Event()
        house.script.does("echo", tool)
        state = (await first(house))["requestState"]
        ended.set()
        async with asyncio.timeout(5):
            while not house.trails.ended:
                await asyncio.sleep(0)
        answered = await house.post(retry(state, {"q1": {}}))
        assert answered.json["result"]["isError"] is True
        assert len(house.app.streamable.parked) == 0


async def test_a_client_that_leaves_while_its_call_is_parked_does_not_end_it() -> None:
    async with House() as house:
        house.script.does("echo", one_by_one(NAME))
        wire = house.open(modern("tools/call", CALL, capabilities=CAN))
        state = (await wire.whole()).json["result"]["requestState"]
        wire.leave()
        done = await house.post(retry(state, {"q1": {}}))
        assert done.json["result"]["resultType"] == "complete"


async def test_a_client_that_leaves_its_repeated_request_cancels_the_call() -> None:
    async with House() as house:
        house.script.does("echo", asks_then_hangs(hang := Hang()))
        state = (await first(house))["requestState"]
        wire = house.open(retry(state, {"q1": {}}))
        await within(hang.began.wait())
        wire.leave()
        await within(wire.task)
        await house.quiet()
        assert house.script.cancelled == ["echo"]
        assert len(house.app.streamable.parked) == 0


async def test_closing_the_gateway_ends_what_is_parked() -> None:
    async with House() as house:
        house.script.does("echo", one_by_one(NAME))
        await first(house)
        await house.app.close()
        await house.quiet()
        assert house.script.cancelled == ["echo"]


async def test_a_question_nobody_comes_back_for_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def tool(call: Call, back: Back) -> Outcome:
        try:
            await back.ask(NAME)
        except CannotAsk as no:
            return Failure("timeout", no.message)
        return Answer(DONE)

    for module in ("served_request", "pending_input"):
        monkeypatch.setattr(f"gatewright.mcp.server.{module}.PENDING_S", 0.01)
    async with House() as house:
        house.script.does("echo", tool)
        await first(house)
        await house.quiet()
        ended = [outcome for _, outcome in house.trails.ended]
        assert ended == [Failure("timeout", "the caller never came back with an answer", once=True)]
        # The time of the handle begins with the answer that asks, a little after that of the question.
        await within(until(lambda: len(house.app.streamable.parked) == 0))


async def test_one_caller_can_park_only_so_many_and_others_are_not_concerned() -> None:
    async with House() as house:
        house.script.does("echo", one_by_one(NAME))
        for _ in range(PENDING_EACH):
            asked = await first(house, key="key-ann")
        request = modern("tools/call", CALL, capabilities=CAN)
        refused = await house.post(request, key="key-ann")
        assert refused.status == 200
        assert "error" in refused.json or refused.json["result"].get("isError")
        await first(house, key="key-bob")
        await first(house, key="key-ann-owner")  # another caller, whatever it is called
        await house.post(retry(asked["requestState"], {"q1": {}}), key="key-ann")
        await first(house, key="key-ann")


async def test_a_later_question_has_as_much_time_as_the_first() -> None:
    async with House() as house:
        house.script.does("echo", one_by_one(NAME, ROOTS))
        asked = await first(house)
        parked = house.app.streamable.parked
        [handle] = parked.handles
        before = parked.due(handle)
        await house.post(retry(asked["requestState"], {"q1": {}}))
        assert parked.due(handle) > before


async def test_a_repeated_request_whose_task_others_cancel_ends_the_call() -> None:
    async with House() as house:
        house.script.does("echo", asks_then_hangs(hang := Hang()))
        state = (await first(house))["requestState"]
        wire = house.open(retry(state, {"q1": {}}))
        await within(hang.began.wait())
        wire.task.cancel()
        await asyncio.wait([wire.task], timeout=5)
        assert wire.task.cancelled()
        await house.quiet()
        assert house.script.cancelled == ["echo"]


async def test_the_time_of_a_handle_begins_anew_with_each_question() -> None:
    class Waiting:
        def cancel(self) -> None:
            """Nothing runs."""

    async with House() as house:
        parked: PendingInputs[Waiting] = PendingInputs(house.front)
        waiting = Waiting()
        handle = parked.admit(waiting, ("agent", "ann"))
        before = parked.due(handle)
        await asyncio.sleep(0)
        parked.extend(handle)
        assert parked.due(handle) > before
        assert parked.find(handle) is waiting
        parked.release(handle)
        parked.release(handle)
        parked.extend(handle)
        assert (parked.find(handle), len(parked)) == (None, 0)


def test_a_state_is_of_one_caller_at_one_door_in_one_profile() -> None:
    callers = Caller("ann"), Caller("bob"), Caller("ann", "operator")
    places = product(callers, ("http", "websocket"), ("", "narrow"))
    assert len({bound_to(*one) for one in places}) == 12
