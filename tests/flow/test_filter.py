"""The filter `flow`: what a tool brings is noted, and nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Call, Event, Failure, Outcome, Refusal
from gatewright.chunk_way import as_it_is
from gatewright.flow.filter import Flow
from gatewright.flow.taints import Taints
from tests.gate_parts import a_call, a_tool, a_tool_call

EVENT = Event("notifications/progress", {"message": "half"})


def reading(*marks: str) -> Call:
    return a_tool_call(a_tool("read", flow=marks))


def made() -> tuple[Taints, Flow]:
    taints = Taints(lambda: 0.0)
    return taints, Flow(taints, lambda call: (*call.caller.who, call.session or ""), idle=False)


@pytest.mark.parametrize(
    ("outcome", "noted"),
    [
        (Answer(b"{}"), True),
        (Answer(b"{}", tool_error=True), True),
        (Failure("upstream_error", error=b'{"code":1,"message":"text of the owner"}'), True),
        (Failure("timeout", "too late"), False),
        (Refusal("access_denied", "no"), False),
    ],
)
def test_what_its_owner_said_is_noted_and_handed_on_as_it_is(outcome: Outcome, noted: bool) -> None:
    taints, flow = made()
    assert flow.outcome(reading("untrusted", "outbound"), outcome) is outcome
    expected = {"untrusted": "srv__read"} if noted else {}
    assert taints.of(("agent", "agent.one", ""), 1) == expected


def test_what_an_event_says_is_noted_before_the_result_is_there() -> None:
    taints, flow = made()
    assert flow.event(reading("private"), EVENT) is EVENT
    assert taints.of(("agent", "agent.one", ""), 1) == {"private": "srv__read"}


@pytest.mark.parametrize(
    "call", [reading(), reading("outbound"), a_call("list", ""), a_call("prompt")]
)
def test_what_reads_nothing_of_the_kind_is_not_noted(call: Call) -> None:
    taints, flow = made()
    assert flow.outcome(call, answer := Answer(b"{}")) is answer
    assert flow.event(call, EVENT) is EVENT
    assert taints._held == {}


def test_what_speaks_to_the_model_is_text_of_strangers_whatever_its_tool_reads() -> None:
    taints, flow = made()
    call = a_tool_call(a_tool("read"), facts={"injection": {"signals": {}}})
    flow.outcome(call, Answer(b"{}"))
    assert taints.of(("agent", "agent.one", ""), 1) == {"untrusted": "srv__read"}
    of_resource = a_call("resource", target=a_tool().target, facts={"injection": {"unread": "x"}})
    flow.event(of_resource, EVENT)
    assert taints.of(("agent", "agent.one", ""), 1) == {"untrusted": "a resource of srv"}


def test_a_tool_without_marks_costs_one_look() -> None:
    """What most calls are: nothing is made for them."""
    asked: list[str] = []

    class Marks(tuple[str, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[str]:
            asked.append("walked")
            return super().__iter__()

    for marks, times in ((Marks(), 0), (Marks(("outbound",)), 1)):
        tool = a_tool("read")
        call = a_tool_call(replace(tool, security=replace(tool.security, flow=marks)))
        asked.clear()
        made()[1].outcome(call, Answer(b"{}"))
        assert len(asked) == times


def test_chunks_of_what_counts_stay_events_so_that_each_is_noted() -> None:
    _, flow = made()
    assert flow.chunks(reading("private")) is None
    assert flow.chunks(reading("outbound")) is as_it_is
