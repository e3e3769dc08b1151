"""What gates would say of a call, spelled for an operator."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Caller, Failure, Outcome, Refusal
from gatewright.dialects.mgp.explain import METHOD, Explain
from gatewright.kernel import Kernel
from tests.gate_parts import OPERATOR, Mute, a_call, a_tool
from tests.kernel_parts import Book

TOOL = a_tool("echo")


class Says:
    """A gate that notes its name and then says one thing."""

    def __init__(self, name: str, refusal: Refusal | None = None) -> None:
        self.name = name
        self.refusal = refusal
        self.seen: list[Call] = []

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        self.seen.append(call)
        call.facts[self.name] = "asked"
        if self.name == "resolve":
            call = replace(call, target=TOOL.target, tool=TOOL)
        return self.refusal or call


async def never(call: Call, back: Back) -> Outcome:
    raise AssertionError("a call that nobody makes was forwarded")


async def explained(*gates: Says, **params: Any) -> dict[str, Any]:
    kernel = Kernel(gates, never, [], Book())
    explain = Explain(
        lambda call, name: Caller(name), kernel, [*(one.name for one in gates), "last"]
    )
    call = replace(
        a_call("method", "", method=METHOD, caller=OPERATOR, credential="secret"),
        params={"agent": "ann", "tool": "srv__echo", **params},
    )
    outcome = await explain(call, Mute())
    assert isinstance(outcome, Answer)
    found: dict[str, Any] = json.loads(outcome.raw)
    return found


async def test_each_gate_has_its_line_with_what_it_found_out() -> None:
    resolve, access = Says("resolve"), Says("access")
    found = await explained(resolve, access, arguments={"a": 1})
    assert found["gates"] == [
        {
            "gate": name,
            "verdict": "pass",
            "reason": None,
            "message": None,
            "details": {},
            "facts": {name: "asked"},
        }
        for name in ("resolve", "access")
    ]
    assert (found["verdict"], found["decided_by"], found["not_asked"]) == ("pass", None, ["last"])
    assert (found["server_id"], found["tool_name"]) == ("srv", "echo")
    (seen,) = access.seen
    assert (seen.caller.id, seen.kind, seen.arguments) == ("ann", "tool", {"a": 1})
    assert (seen.credential, seen.session) == (None, None)


async def test_the_first_that_does_not_let_it_pass_decides() -> None:
    no = Refusal("access_denied", "ann may not", {"source": "default_policy"})
    ask = Refusal("confirmation_required", "somebody would be asked")
    found = await explained(Says("resolve"), Says("access", no), Says("confirm", ask))
    assert [one["verdict"] for one in found["gates"]] == ["pass", "refuse", "ask"]
    assert (found["verdict"], found["decided_by"]) == ("refuse", "access")
    assert found["gates"][1]["reason"] == "access_denied"
    assert found["gates"][1]["details"] == {"source": "default_policy"}


async def test_a_tool_that_is_not_there_leaves_nothing_to_judge() -> None:
    found = await explained(Says("rate", Refusal("tool_not_found", "none")), Says("access"))
    assert found["not_asked"] == ["access", "last"]
    assert found["server_id"] is None


@pytest.mark.parametrize("params", [{}, {"agent": 1, "tool": "x"}, {"agent": "a", "tool": []}])
async def test_a_question_that_cannot_be_meant_is_refused(params: dict[str, Any]) -> None:
    nobody_to_ask: Any = None
    explain = Explain(lambda call, name: Caller(name), nobody_to_ask, [])
    outcome = await explain(replace(a_call("method"), params=params), Mute())
    assert isinstance(outcome, Failure)
    assert outcome.reason == "invalid_params"
