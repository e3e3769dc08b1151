"""The gate `flow`: a session that read what strangers wrote and what is private does not send by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from msgspec.structs import replace

from gatewright.approvals import Confirm
from gatewright.call import Answer, Call, Caller, Refusal, verdict_of
from gatewright.flow.filter import Flow as Noting
from gatewright.flow.gate import Flow, FlowRule
from gatewright.flow.taints import Taints
from tests.gate_parts import AGENT, Asked, Mute, a_call, a_tool, a_tool_call

SEND = a_tool("send", flow=("outbound",))
WEB = a_tool("web", flow=("untrusted",))
FILES = a_tool("files", flow=("private",))
MAIL = a_tool("mail", flow=("untrusted", "private", "outbound"))
PLAIN = a_tool("plain")
BROUGHT = {"untrusted": "srv__web", "private": "srv__files"}
HOLDER = (*AGENT.who, "s")


def call_of(tool: Any = SEND, session: str = "s", **more: Any) -> Call:
    return a_tool_call(tool, session=session, facts={}, arguments={}, **more)


def gate(
    then: Any = "ask", *, read: tuple[str, ...] = ("untrusted", "private"), per: Any = "session"
) -> Flow:
    taints = Taints(lambda: 100.0)
    for mark in read:
        taints.add((*AGENT.who, "s" if per == "session" else ""), [mark], BROUGHT[mark])
    return Flow(taints, FlowRule(then, per))


async def test_where_both_were_read_the_fact_says_what_brought_them() -> None:
    call = call_of()
    assert gate()(call, Mute()) is call
    assert call.facts == {"flow": BROUGHT}


@pytest.mark.parametrize("read", [(), ("untrusted",), ("private",)])
async def test_one_of_the_two_alone_is_nobodys_business(read: tuple[str, ...]) -> None:
    call = call_of()
    assert gate("refuse", read=read)(call, Mute()) is call
    assert call.facts == {}


@pytest.mark.parametrize("tool", [WEB, FILES, PLAIN])
async def test_a_tool_that_does_not_send_goes_on(tool: Any) -> None:
    call = call_of(tool)
    assert gate("refuse")(call, Mute()) is call
    assert call.facts == {}


async def test_what_is_no_tool_goes_on() -> None:
    call = a_call("prompt", "hello", session="s")
    assert gate("refuse")(call, Mute()) is call


async def test_another_session_has_read_nothing_unless_a_caller_counts_as_one() -> None:
    call = call_of(session="other")
    assert gate("refuse")(call, Mute()) is call
    assert isinstance(gate("refuse", per="caller")(call, Mute()), Refusal)


async def test_a_refusal_names_what_was_read_and_the_way_out() -> None:
    found = gate("refuse")(call_of(), Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "policy_violation"
    assert found.details == {"rule": "flow", **BROUGHT}
    for words in ("srv__send", "srv__web", "srv__files", 'then = "ask"'):
        assert words in found.message


@pytest.mark.parametrize("then", ["ask", "refuse"])
def test_a_task_of_a_tool_that_sends_is_told_nothing_more(then: Any) -> None:
    """Nobody is asked about it: `confirm` asks about calls of tools."""
    told = a_call("method", "", method="tasks/update", session="s", task_tool=SEND, facts={})
    found = gate(then)(told, Mute())
    assert isinstance(found, Refusal)
    assert "its task is told nothing more" in found.message
    assert gate(then, read=("private",))(told, Mute()) is told
    for other in (replace(told, task_tool=PLAIN), replace(told, method="tasks/get")):
        assert gate(then)(other, Mute()) is other


def test_the_gate_is_idle_where_the_rule_is_off() -> None:
    assert gate("off").idle
    assert not gate().idle


class Open:
    """An access gate that lets everything pass."""

    name = "access"

    async def __call__(self, call: Call, back: Any) -> Call:
        return call


async def test_a_person_is_asked_whatever_was_granted_and_told_why() -> None:
    confirm = Confirm(Open(), lambda: 0.0)
    call = call_of()
    call.facts.update({"flow": BROUGHT, "access": "tool_grant"})
    person = Asked({"action": "accept", "content": {"confirm": True}})
    found = await verdict_of(confirm, call, person)
    assert isinstance(found, Call)
    (question,) = person.questions
    said = (question.params or {})["message"]
    assert "You are asked because it sends data out after the session has read" in said
    assert isinstance(await confirm.rehearse(call), Refusal)


async def test_where_nobody_can_be_asked_the_refusal_says_why() -> None:
    call = call_of()
    call.facts["flow"] = BROUGHT
    found = await verdict_of(Confirm(Open(), lambda: 0.0), call, Mute())
    assert isinstance(found, Refusal)
    assert "srv__web" in found.message
    assert "because it sends data out" in found.message


class Sessions(RuleBasedStateMachine):
    """Sessions read and send in any order while time passes; the model is two times for each session."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.taints = Taints(lambda: self.now)
        self.rule = FlowRule("refuse", lasts_s=100.0)
        self.gate = Flow(self.taints, self.rule)
        self.noting = Noting(self.taints, self.rule.holder, idle=False)
        self.read: dict[tuple[str, str], float] = {}

    @rule(session=st.sampled_from("abc"), tool=st.sampled_from([WEB, FILES, MAIL, SEND, PLAIN]))
    def call(self, session: str, tool: Any) -> None:
        call = call_of(tool, session)
        verdict = self.gate(call, Mute())
        refused = "outbound" in tool.security.flow and all(
            self.now - self.read.get((session, mark), -1e9) < 100.0
            for mark in ("untrusted", "private")
        )
        assert isinstance(verdict, Refusal) is refused
        if refused:
            return
        self.noting.outcome(call, Answer(b"{}"))
        for mark in tool.security.flow:
            self.read[session, mark] = self.now

    @rule(seconds=st.sampled_from([0.0, 1.0, 40.0, 99.0, 100.0, 250.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)


def test_what_an_agent_has_read_is_not_held_against_an_operator_of_its_name() -> None:
    found = gate()
    same = Caller(AGENT.id, "operator")
    assert found(call_of(), Mute()).facts.get("flow") == BROUGHT  # type: ignore[union-attr]
    assert found(call_of(caller=same), Mute()).facts == {}  # type: ignore[union-attr]
