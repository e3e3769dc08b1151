"""A tool's questions, and what becomes of those that nobody answers."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import CannotAsk
from gatewright.sdk.context import Context
from gatewright.sdk.errors import ToolError
from gatewright.sdk.running_call import Running
from tests.servers.rig import LEGACY, MODERN, FakeBack, make_call


def asking(back: FakeBack, **more: Any) -> Context:
    """The context of a call whose caller is `back`."""
    return Context(tool="t", back=back, running=Running(), **more)


async def test_an_answer_that_the_request_brought_along_is_not_asked_for_again() -> None:
    """MCP 2026-07-28: a repeated request without a state carries its answers by key."""
    given = {"action": "accept", "content": {"a": 1}}
    call = make_call("tool", "tools/call", {"name": "t", "inputResponses": {"one": given}})
    back = FakeBack(elicitation={"action": "decline"})
    context = asking(back, call=call)
    assert (await context.elicit("?", {}, key="one")).content == {"a": 1}
    assert (await context.elicit("?", {}, key="other")).action == "decline"
    assert [one.key for one in back.questions] == ["other"]


async def test_why_nobody_could_be_asked_is_kept_for_the_caller() -> None:
    context = asking(FakeBack())
    with pytest.raises(ToolError, match="cannot be asked"):
        await context.sample("hello")
    assert context.running is not None
    assert isinstance(context.running.unanswered, CannotAsk)


async def test_a_modern_caller_is_told_which_capability_is_missing() -> None:
    for client, code in ((MODERN, -32021), (LEGACY, -32601)):
        bare = type(client)(client.revision, {}, client.info)
        context = asking(FakeBack(), call=make_call("tool", "tools/call", {}, client=bare))
        with pytest.raises(ToolError):
            await context.roots()
        assert context.running is not None
        assert isinstance(context.running.unanswered, CannotAsk)
        assert context.running.unanswered.code == code


async def test_what_is_sampled_and_shown_comes_as_it_is() -> None:
    message = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}
    back = FakeBack(sampling=message, roots={"roots": [{"uri": "file:///a"}]})
    context = asking(back)
    assert await context.sample("hello", 5, temperature=0) == message
    assert await context.roots() == [{"uri": "file:///a"}]
    assert back.questions[0].params == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}],
        "maxTokens": 5,
        "temperature": 0,
    }
