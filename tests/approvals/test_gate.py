"""The gate `confirm`: somebody agrees to this very call, or it is not run."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants, Layer
from gatewright.approvals import Confirm
from gatewright.call import Back, Call, Event, Question, Refusal, Tool, verdict_of
from gatewright.mcp.wire.jsonrpc import decode
from tests.gate_parts import AGENT, OPERATOR, Asked, Mute, a_call, a_tool, a_tool_call

YES = {"action": "accept", "content": {"confirm": True}}
DANGEROUS = a_tool("wipe", risk_level="dangerous")
ASKS = a_tool("ask", confirmation_required=True)


class Clock:
    """Monotonic seconds that only the test moves."""

    now = 50.0

    def __call__(self) -> float:
        return self.now


def _gate(*grants: Grant, clock: Clock | None = None) -> tuple[Access, Confirm]:
    access = Access(Grants(grants or (Grant(AGENT.id, "srv"),)), lambda: 0.0)
    return access, Confirm(access, clock or Clock(), patience_s=30)


async def _run(tool: Tool, back: Back, *grants: Grant, **more: Any) -> Call | Refusal:
    """What both gates make of a call, one after the other as in the kernel."""
    access, confirm = _gate(*grants)
    passed = access(a_tool_call(tool, **more), back)
    assert isinstance(passed, Call)
    return await verdict_of(confirm, passed, back)


async def test_a_safe_or_moderate_tool_is_not_asked_about() -> None:
    """MGP-4.4-1 and MGP-4.4-2"""
    for risk in ("safe", "moderate"):
        assert isinstance(await _run(a_tool(risk_level=risk), Mute()), Call)


@pytest.mark.parametrize("kind", ["list", "prompt", "resource", "method"])
async def test_what_is_no_tool_is_not_asked_about(kind: str) -> None:
    call = a_call(kind)  # type: ignore[arg-type]
    assert await verdict_of(_gate()[1], call, Mute()) is call


async def test_a_dangerous_tool_is_refused_when_nobody_can_be_asked() -> None:
    """MGP-1.2-3 and MGP-4.4-3: neither confirmation nor permission."""
    found = await _run(DANGEROUS, Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "confirmation_required"
    assert "`gatewright grant add agent.one srv/wipe`" in found.message


async def test_a_dangerous_tool_runs_when_the_caller_agrees() -> None:
    """MGP-4.4-3"""
    found = await _run(DANGEROUS, Asked(YES))
    assert isinstance(found, Call)
    assert found.facts == {
        "access": "server_grant",
        "confirmed_by": AGENT.id,
        "waited_ms": 0.0,
    }


async def test_a_dangerous_tool_runs_unasked_where_a_grant_names_it() -> None:
    """MGP-4.4-3"""
    found = await _run(DANGEROUS, Mute(), Grant(AGENT.id, "srv", "wipe"))
    assert isinstance(found, Call)
    assert "confirmed_by" not in found.facts


async def test_the_operator_is_asked_about_dangerous_tools_like_everybody() -> None:
    """MGP-1.2-3"""
    assert isinstance(await _run(DANGEROUS, Mute(), caller=OPERATOR), Refusal)
    assert isinstance(await _run(DANGEROUS, Asked(YES), caller=OPERATOR), Call)


async def test_a_tool_that_wants_confirmation_is_asked_about_in_spite_of_a_grant() -> None:
    """MGP-4.3-6"""
    grant = Grant(AGENT.id, "srv", "ask")
    back = Asked(YES)
    assert isinstance(await _run(ASKS, back, grant), Call)
    assert len(back.questions) == 1
    found = await _run(ASKS, Mute(), grant)
    assert isinstance(found, Refusal)
    assert "grant add" not in found.message


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept"},
        {"action": "accept", "content": None},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"confirm": False}},
        {"action": "accept", "content": {"confirm": "true"}},
        {"action": "accept", "content": {"confirm": 1}},
        {"action": "accept", "content": [True]},
        {"content": {"confirm": True}},
        {},
        [],
        None,
    ],
)
async def test_any_answer_but_yes_is_a_no(answer: Any) -> None:
    """MGP-4.3-6: cancel means not executed."""
    found = await _run(ASKS, Asked(answer))
    assert isinstance(found, Refusal)
    assert found.reason == "permission_denied"


async def test_the_question_says_what_would_be_run_and_how_dangerous_it_is() -> None:
    """MGP-4.3-5"""
    declared = msgspec.Raw(b'{"risk_level":"dangerous","reversible":false}')
    tool = msgspec.structs.replace(DANGEROUS, definition={"security": declared})
    back = Asked(YES)
    await _run(tool, back, arguments={"path": "/srv/x", "size": decode(b"1.10")})
    (question,) = back.questions
    assert question.method == "elicitation/create"
    assert question.params is not None
    assert question.params["mode"] == "form"
    assert question.params["requestedSchema"]["required"] == ["confirm"]
    for part in (
        "agent.one asks to run the tool wipe of the server srv.",
        "Risk: dangerous, cannot be undone.",
        '{"path":"/srv/x","size":1.10}',
    ):
        assert part in question.params["message"]


async def test_access_is_asked_once_more_after_the_wait() -> None:
    issued = Layer([Grant(AGENT.id, "srv")])
    access = Access(Grants(issued=issued), lambda: 0.0)
    confirm = Confirm(access, Clock())
    back = Asked(YES, meanwhile=lambda: issued.remove((AGENT.id, "srv", None)))
    passed = access(a_tool_call(DANGEROUS), back)
    assert isinstance(passed, Call)
    found = await verdict_of(confirm, passed, back)
    assert isinstance(found, Refusal)
    assert (found.reason, found.gate) == ("access_denied", "access")


async def test_the_time_of_a_person_is_not_the_time_of_the_tool() -> None:
    clock = Clock()

    def think() -> None:
        clock.now += 25

    _, confirm = _gate(clock=clock)
    found = await verdict_of(
        confirm, a_tool_call(DANGEROUS, deadline=80.0), Asked(YES, meanwhile=think)
    )
    assert isinstance(found, Call)
    assert found.deadline == 105.0


async def test_somebody_who_never_answers_is_not_waited_for_without_end() -> None:
    class Silent(Mute):
        async def ask(self, question: Question) -> dict[str, Any]:
            return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

        def emit(self, event: Event) -> None: ...

    access, _ = _gate()
    confirm = Confirm(access, Clock(), patience_s=0.01)
    async with asyncio.timeout(10):
        found = await verdict_of(confirm, a_tool_call(DANGEROUS), Silent())
    assert isinstance(found, Refusal)
    assert found.reason == "confirmation_required"
    assert "nobody answered within 0.01 s" in found.message


@pytest.mark.parametrize("tool", [DANGEROUS, ASKS, a_tool("read", risk_level="safe")])
async def test_a_rehearsal_says_whether_somebody_would_be_asked_and_asks_nobody(tool: Tool) -> None:
    access, confirm = _gate()
    back = Asked(YES)
    call = a_tool_call(tool)
    assert isinstance(access(call, back), Call)
    found = await confirm.rehearse(call)
    assert back.questions == []
    await verdict_of(confirm, call, back)
    asked = isinstance(found, Refusal) and found.reason == "confirmation_required"
    assert asked is bool(back.questions)
