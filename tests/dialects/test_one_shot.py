"""Calls whose callers only wait for an answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, CannotAsk, Event, Outcome, Question, Target, Tool
from gatewright.dialects.one_shot import OneShotCalls, Who, told
from gatewright.mcp.protocol.ggen import CLIENT
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.wire.versions import METHODS
from gatewright.schemas.flaws import Flaw
from tests.dialects.house import ANN, House, text

WHO = Who(ANN, "key-ann", "small")


def inbound(name: str = "echo", **arguments: Any) -> Inbound:
    params = {"name": name, "arguments": arguments}
    return Inbound(b"1", "tools/call", params, CLIENT, METHODS["tools/call"])


async def test_a_call_carries_who_asks_and_where() -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        call, outcome = await OneShotCalls(house.front, house.upstream, "rest").handle(
            inbound(), WHO
        )
    assert isinstance(outcome, Answer)
    assert (call.door, call.caller, call.credential) == ("rest", ANN, "key-ann")
    assert (call.profile, call.session) == ("small", None)


async def test_facts_of_who_asks_are_in_the_record() -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        calls = OneShotCalls(house.front, house.upstream, "console")
        call, _ = await calls.handle(inbound(), WHO, {"manual": True})
        other, _ = await calls.handle(inbound(), WHO)
    assert (call.facts["manual"], "manual" in other.facts) == (True, False)


async def test_nothing_goes_before_the_answer_and_nobody_can_be_asked() -> None:
    caught: list[CannotAsk] = []

    async def talks(call: Call, back: Back) -> Outcome:
        back.emit(Event("notifications/progress", {"progress": 1}))
        try:
            await back.ask(Question("elicitation/create"))
        except CannotAsk as no:
            caught.append(no)
        return text("done")

    async with House() as house:
        house.script.does("echo", talks)
        _, outcome = await OneShotCalls(house.front, house.upstream, "rest").handle(inbound(), WHO)
    assert isinstance(outcome, Answer)
    assert "cannot be asked" in caught[0].message


async def test_the_flaws_of_a_call_are_those_of_the_tools_schema() -> None:
    """GGEN-err-11."""
    schema = {"properties": {"n": {"type": "integer"}}}
    tool = Tool(Target("srv", "echo"), "echo", {}, schema)
    async with House() as house:
        house.script.does("echo", text("hi"))
        calls = OneShotCalls(house.front, house.upstream, "rest")
        call, _ = await calls.handle(inbound(n="x"), WHO)
        assert calls.flaws(call) == []  # a tool that cannot be seen tells nothing
        house.upstream.tools["echo"] = tool
        (flaw,) = calls.flaws(call)
    assert (flaw["field"], flaw["error_type"]) == ("n", "FieldValidation")


async def test_a_cancelled_call_is_cancelled_at_its_owner() -> None:
    async with House() as house:

        async def hangs(call: Call, back: Back) -> Outcome:
            await asyncio.Event().wait()
            return text("never")

        house.script.does("echo", hangs)
        task = asyncio.ensure_future(
            OneShotCalls(house.front, house.upstream, "rest").handle(inbound(), WHO)
        )
        await house.began()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert house.script.cancelled == ["echo"]


def test_a_flaw_of_the_whole_is_of_no_field() -> None:
    assert told(Flaw(None, "type", "no"))["error_type"] == "ValidationError"
    assert told(Flaw("a", "type", "no", ("x",), "u")) == {
        "error_type": "FieldValidation",
        "field": "a",
        "reason": "no",
        "suggestions": ["x"],
        "documentation_url": "u",
    }
