"""Method `gatewright/policy/explain`: returns every gate's decision on a hypothetical call, for operators.

The gates are those that calls pass at this moment, asked by the kernel in their order; see
`Kernel.rehearse` for what does not happen. Facts are what each gate found out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Caller, Failure, Outcome
from gatewright.kernel import Kernel
from gatewright.mcp.wire import jsonrpc
from gatewright.rehearsal import Verdict

__all__ = ["METHOD", "Explain"]

METHOD = "gatewright/policy/explain"

_ASKS = frozenset({"confirmation_required"})
"""Reasons that only say that a person would be asked."""


class _Question(msgspec.Struct):
    agent: str
    tool: str
    arguments: dict[str, Any] = {}
    profile: str = ""


class Explain:
    """`who` knows whom a name means, `kernel` walks calls, `gates` are the names of all
    gates."""

    def __init__(
        self,
        who: Callable[[Call, str], Caller],
        kernel: Kernel,
        gates: Sequence[str],
    ) -> None:
        self._who = who
        self._kernel = kernel
        self._gates = gates

    async def __call__(self, call: Call, back: Back) -> Outcome:
        """Answer one question: who would call which tool, with which arguments, in which profile."""
        try:
            asked = msgspec.convert(call.params, _Question)
        except msgspec.ValidationError as problem:
            return Failure("invalid_params", f"params: {problem}")
        caller = self._who(call, asked.agent)
        meant = replace(
            call,
            kind="tool",
            method="tools/call",
            name=asked.tool,
            params={"name": asked.tool, "arguments": asked.arguments},
            caller=caller,
            profile=asked.profile,
            session=None,  # neither is the agent's: gates would judge the operator's
            credential=None,
            target=None,
            tool=None,
            facts={},
        )
        verdicts = await self._kernel.rehearse(meant)
        return Answer(jsonrpc.encode(self._spelled(asked, caller, verdicts)))

    def _spelled(
        self, asked: _Question, caller: Caller, verdicts: Sequence[Verdict]
    ) -> dict[str, Any]:
        said = [one.gate for one in verdicts]
        tool = verdicts[-1].call.tool
        against = next((one for one in verdicts if one.refusal is not None), None)
        return {
            "agent": {"id": caller.id, "kind": caller.kind},
            "tool": asked.tool,
            "server_id": None if tool is None else tool.target.server,
            "tool_name": None if tool is None else tool.target.name,
            "verdict": "pass" if against is None else _word(against),
            "decided_by": None if against is None else against.gate,
            "gates": _lines(verdicts),
            "not_asked": [name for name in self._gates if name not in said],
        }


def _lines(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    known: Mapping[str, Any] = {}
    for one in verdicts:
        facts = {name: value for name, value in one.call.facts.items() if name not in known}
        known = dict(one.call.facts)
        refusal = one.refusal
        found.append(
            {
                "gate": one.gate,
                "verdict": _word(one),
                "reason": None if refusal is None else refusal.reason,
                "message": None if refusal is None else refusal.message,
                "details": {} if refusal is None else dict(refusal.details),
                "facts": facts,
            }
        )
    return found


def _word(verdict: Verdict) -> str:
    if verdict.refusal is None:
        return "pass"
    return "ask" if verdict.refusal.reason in _ASKS else "refuse"
