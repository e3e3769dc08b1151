"""Calls that ask again: long after they were taken up, while the question before is still being sent, and when nobody came back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, CannotAsk, Outcome
from gatewright.mcp.server import pending_input, served_request
from gatewright.mcp.wire import jsonrpc
from tests.dialects.client import Sent, rpc
from tests.dialects.house import House, text
from tests.dialects.steps import CALL
from tests.mcp.server.test_http_app_served import client, posted, served
from tests.mcp.server.test_pending_input import NAME, ROOTS, first, one_by_one, retry


async def test_a_call_that_works_for_long_may_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a handle is that in which nobody came back, and not that in which the call works."""
    monkeypatch.setattr(pending_input, "PENDING_S", 0.02)

    async def tool(call: Call, back: Back) -> Outcome:
        learned = [await back.ask(NAME)]
        monkeypatch.setattr(pending_input, "PENDING_S", 600.0)
        later = asyncio.Event()
        asyncio.get_running_loop().call_later(0.05, later.set)  # behind the timer of the handle
        await later.wait()
        learned.append(await back.ask(ROOTS))
        return Answer(jsonrpc.encode({"content": [], "learned": learned}))

    async with House() as house:
        house.script.does("echo", tool)
        state = (await first(house))["requestState"]
        parked = house.app.streamable.parked
        again = (await house.post(retry(state, {"q1": {"a": 1}}))).json["result"]
        assert len(parked) == 1
        assert list(again["inputRequests"]) == ["q2"]
        done = (await house.post(retry(again["requestState"], {"q2": {"b": 2}}))).json["result"]
        assert done["learned"] == [{"a": 1}, {"b": 2}]
        assert len(parked) == 0


async def test_where_nobody_came_back_nothing_more_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (pending_input, served_request):
        monkeypatch.setattr(module, "PENDING_S", 0.01)
    refused: list[str] = []

    async def tool(call: Call, back: Back) -> Outcome:
        with pytest.raises(CannotAsk):
            await back.ask(NAME)
        monkeypatch.setattr(served_request, "PENDING_S", 600.0)
        later = asyncio.Event()
        asyncio.get_running_loop().call_later(0.05, later.set)
        await later.wait()
        with pytest.raises(CannotAsk) as problem:
            await back.ask(ROOTS)
        refused.append(str(problem.value))
        return text("done")

    async with House() as house:
        house.script.does("echo", tool)
        await first(house)
        async with asyncio.timeout(5):
            while not refused:
                await asyncio.sleep(0)
    assert refused == ["the caller never came back with an answer"]


@pytest.mark.parametrize("answers", [{"q1": {}}, {}])
async def test_a_client_may_come_back_while_its_question_is_still_being_sent(
    monkeypatch: pytest.MonkeyPatch, answers: Any
) -> None:
    """It has the answer before the sending of that has ended; what is asked next, or again, is put all the same."""
    sent, left = asyncio.Event(), served_request.ServedRequest._leave
    slow = [True]

    def leave(self: Any, words: Any) -> Any:
        async def spoken() -> None:
            await left(self, words)
            if slow.pop() if slow else False:
                await sent.wait()

        return spoken()

    monkeypatch.setattr(served_request.ServedRequest, "_leave", leave)
    async with House() as house:
        house.script.does("echo", one_by_one(NAME, ROOTS))
        state = (await first(house))["requestState"]
        asked = (await house.post(retry(state, answers))).json["result"]
        assert list(asked["inputRequests"]) == (["q2"] if answers else ["q1"])
        sent.set()


async def test_a_call_that_a_legacy_session_takes_up_is_over_with_its_answer() -> None:
    """Also where the answer leaves at once: nothing of it stays parked, and its session may use the id again."""
    async with House() as house, served(house) as server, client(server) as host:
        parked = house.app.streamable.parked
        headers = {"mcp-session-id": (await house.session()).ident}
        for _ in range(2):
            house.script.does("echo", one_by_one(NAME))
            state = (await first(house))["requestState"]
            again = {**CALL, "requestState": state, "inputResponses": {"q1": {"a": 1}}}
            sent = Sent(rpc("tools/call", again, 7), headers)
            assert (await posted(host, sent))[1]["result"]["learned"] == [{"a": 1}]
            assert len(parked) == 0
