"""The filter `size`: an answer that is too large is not passed on."""

from __future__ import annotations

import pytest

from gatewright.call import Answer, Event, Failure, Outcome, Refusal, Target
from gatewright.limits.size_filter import Size
from gatewright.mcp.wire.codes import REASONS
from tests.gate_parts import a_call, a_tool, a_tool_call


def test_an_answer_up_to_the_limit_is_handed_on_as_it_is() -> None:
    answer = Answer(b"x" * 100)
    assert Size(100).outcome(a_call(), answer) is answer


def test_an_answer_over_the_limit_becomes_a_failure_that_names_it() -> None:
    found = Size(100).outcome(a_call(), Answer(b"x" * 101))
    assert isinstance(found, Failure)
    assert found.details == {"limit_bytes": 100, "bytes": 101}
    assert "at most 100" in found.message
    assert not REASONS[found.reason].retryable


@pytest.mark.parametrize("outcome", [Refusal("access_denied", "no"), Failure("timeout")])
def test_what_is_no_answer_is_handed_on_as_it_is(outcome: Outcome) -> None:
    assert Size(0).outcome(a_call(), outcome) is outcome


def test_events_are_handed_on_as_they_are() -> None:
    event = Event("notifications/progress", {"progress": 1})
    assert Size(0).event(a_call(), event) is event


@pytest.mark.parametrize(
    ("tool", "server", "limit"), [("echo", "srv", 5), ("other", "srv", 10), ("echo", "else", 20)]
)
def test_a_tool_may_have_a_limit_of_its_own_or_that_of_its_server(
    tool: str, server: str, limit: int
) -> None:
    size = Size(20, {"srv": 10}, {("srv", "echo"): 5})
    call = a_tool_call(a_tool(tool, server))
    fits = Answer(b"x" * limit)
    assert size.outcome(call, fits) is fits
    found = size.outcome(call, Answer(b"x" * (limit + 1)))
    assert isinstance(found, Failure)
    assert found.details["limit_bytes"] == limit


def test_what_is_no_tool_has_the_limit_of_its_server() -> None:
    size = Size(20, {"srv": 10}, {("srv", "echo"): 5})
    prompt = a_call("prompt", "echo", target=a_tool().target)
    assert isinstance(size.outcome(prompt, Answer(b"x" * 11)), Failure)
    assert isinstance(size.outcome(prompt, Answer(b"x" * 10)), Answer)
    assert isinstance(size.outcome(a_call("list"), Answer(b"x" * 20)), Answer)


@pytest.mark.parametrize(("tool", "limit"), [("echo", 5), ("", 10)], ids=["known", "unknown"])
def test_what_a_task_comes_to_has_the_limit_of_its_tool(tool: str, limit: int) -> None:
    size = Size(20, {"srv": 10}, {("srv", "echo"): 5})
    call = a_call("method", facts={"task_of": Target("srv", tool)})
    assert isinstance(size.outcome(call, Answer(b"x" * limit)), Answer)
    assert isinstance(size.outcome(call, Answer(b"x" * (limit + 1))), Failure)
