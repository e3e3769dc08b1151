"""What a server asks the caller before it answers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gatewright.call import CannotAsk, Failure, Question
from gatewright.mcp.client.input_requests import ask_all
from gatewright.mcp.protocol.input_required import Interim, TooMuchAsked, read_interim
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from tests.servers.rig import FakeBack, within


async def test_all_questions_are_asked_at_the_same_time() -> None:
    both = asyncio.Barrier(2)

    async def answer(question: Question) -> Any:
        await both.wait()
        return {"to": question.method}

    back = FakeBack(elicitation=answer, roots=answer)
    interim = Interim({"a": Question("elicitation/create"), "b": Question("roots/list")})
    found = await within(ask_all(interim, back))
    assert found == {"a": {"to": "elicitation/create"}, "b": {"to": "roots/list"}}


async def test_each_question_says_which_server_asks_and_none_is_of_a_task() -> None:
    back = FakeBack(elicitation={"action": "accept"})
    plain = Interim({"a": Question("elicitation/create", {"message": "x"})}, None)
    assert await within(ask_all(plain, back, "one")) == {"a": {"action": "accept"}}
    assert [one.server for one in back.questions] == ["one"]
    related = {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": "T-1"}}}
    found = await within(
        ask_all(Interim({"a": Question("elicitation/create", related)}, None), back)
    )
    assert isinstance(found, Failure)
    assert len(back.questions) == 1


async def test_one_question_that_cannot_be_asked_fails_the_call_and_ends_the_others() -> None:
    ended = asyncio.Event()

    async def wait_for_ever(question: Question) -> Any:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    def refuse(question: Question) -> Any:
        raise CannotAsk("no such capability", -32021, {"needs": "roots"})

    back = FakeBack(elicitation=wait_for_ever, roots=refuse)
    interim = Interim({"a": Question("elicitation/create"), "b": Question("roots/list")})
    outcome = await within(ask_all(interim, back))
    assert isinstance(outcome, Failure)
    assert outcome.error is not None
    assert json.loads(outcome.error) == {
        "code": -32021,
        "message": "no such capability",
        "data": {"needs": "roots"},
    }
    await within(ended.wait())


def test_an_interim_result_that_asks_at_length_is_refused() -> None:
    asked = {"resultType": "input_required", "inputRequests": {"a": "a" * DECODED_BYTES}}
    with pytest.raises(TooMuchAsked):
        read_interim(json.dumps(asked).replace(": ", ":").encode())
