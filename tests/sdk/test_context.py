from __future__ import annotations

import asyncio
import functools
import time
from typing import Annotated

import pytest

from gatewright.sdk import Context, Registry, mcp_tool
from gatewright.sdk.context import context_parameter, is_context, plain_function
from gatewright.sdk.decorator import tool_from_function
from gatewright.sdk.errors import ToolError
from gatewright.sdk.running_call import Running
from tests.servers.rig import FakeBack


class Richer(Context):
    """What a server may make of it."""


def test_a_context_parameter_is_no_argument_and_is_filled_in() -> None:
    registry = Registry()

    @mcp_tool(registry=registry, name="who")
    def who(ctx: Context, greeting: str = "hello") -> str:
        return f"{greeting} {ctx.caller} from {ctx.tool}"

    assert list(registry.get("who").input_schema["properties"]) == ["greeting"]
    assert registry.invoke_sync("who").text == "hello local from who"
    mine = Context(tool="who", caller="alice")
    assert registry.invoke_sync("who", {}, context=mine).text == "hello alice from who"


def test_a_subclass_is_a_context_too() -> None:
    def f(a: int, where: Richer) -> None: ...

    def g(a: int, where: Context | None = None) -> None: ...

    def h(a: int, where: Annotated[Context, "whose"]) -> Context:
        return where

    assert context_parameter(g) == context_parameter(h) == "where"
    assert list(tool_from_function(g).input_schema["properties"]) == ["a"]
    assert is_context(Richer)
    assert context_parameter(f) == "where"
    assert context_parameter(functools.partial(f, 1)) == "where"
    assert plain_function(functools.partial(f, 1)) is f


def test_the_time_that_is_left_never_is_below_zero() -> None:
    assert Context(tool="t").remaining_s() == float("inf")
    assert Context(tool="t", deadline=time.monotonic() - 5).remaining_s() == 0.0


async def test_a_tool_knows_how_long_it_may_go_on_and_a_question_takes_nothing_of_it() -> None:
    registry = Registry()

    @mcp_tool(registry=registry, name="left", timeout_s=20)
    async def left(context: Context) -> float:
        return context.remaining_s()

    assert 0 < (await registry.invoke("left")).value <= 20
    short = Context(tool="left", deadline=time.monotonic() + 10)
    assert 0 < (await registry.invoke("left", context=short)).value <= 10
    loop = asyncio.get_running_loop()
    asked = Running(loop)
    asked.asks(loop.time() - 100)
    context = Context(tool="left", deadline=time.monotonic() - 50, running=asked)
    assert 40 < context.remaining_s() < 51


async def test_outside_a_server_nothing_is_told_and_nobody_can_be_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    context = Context(tool="t")
    context.progress(1, 2)
    with caplog.at_level("INFO", "gatewright.sdk.tool"):
        context.info("here")
        context.error({"odd": 1})
    assert [one.message for one in caplog.records] == ["t: here", "t: {'odd': 1}"]
    assert context.cancelled is False
    with pytest.raises(ToolError, match="without a server"):
        await context.elicit("?", {})
    with pytest.raises(ToolError, match="plain functions"):
        context.wait(context.roots())


async def test_every_level_of_the_log_goes_to_the_caller_and_also_from_a_thread() -> None:
    back = FakeBack()
    context = Context(tool="t", back=back, running=Running(asyncio.get_running_loop()))
    for say in (context.debug, context.info, context.warning, context.error):
        say("x")
    await asyncio.to_thread(context.progress, 1, None, "m")
    await back.until(lambda: len(back.events) == 5)
    assert [one["level"] for one in back.of("notifications/message")] == [
        "debug",
        "info",
        "warning",
        "error",
    ]
    assert back.of("notifications/progress") == [{"progress": 1, "message": "m"}]
