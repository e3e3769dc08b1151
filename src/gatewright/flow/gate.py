"""Gate `flow`: refuses, or marks for `confirm` to ask a person, a call sending data out after untrusted and private data were read.

With `then = "ask"` the gate only writes the fact `flow` (which tools brought what), and the gate `confirm` asks a person, as
for dangerous calls. `confirm` does not ask about `tasks/update`, so there this gate refuses. What is read is noted by the
filter of the same name when the result goes to the caller: a call that was refused brought nothing.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gatewright.call import Back, Call, Refusal
from gatewright.flow.taints import Holder, Taints
from gatewright.standing import NOTHING, Standing

__all__ = ["Flow", "FlowRule"]

_BOTH = ("untrusted", "private")
_NOT_RUN = 'so it is not run; a person is asked instead with then = "ask" in [flow]'
_TOLD = "tasks/update"
"""What a caller says to the tool whose call has become a task."""


class FlowRule(msgspec.Struct, frozen=True):
    """What happens where the marks meet (`ask` a person, `refuse`, or nothing), whose reading is put together, and for how
    many seconds it counts."""

    then: Literal["ask", "refuse", "off"] = "ask"
    per: Literal["session", "caller"] = "session"
    lasts_s: float = 3600.0

    def holder(self, call: Call) -> Holder:
        """Whose reading this call adds to."""
        # Modern HTTP knows no sessions: there all that a caller reads is put together (0022).
        return *call.caller.who, (call.session or "") if self.per == "session" else ""


class Flow:
    """Gate `flow`."""

    name = "flow"

    def __init__(self, taints: Taints, rule: FlowRule) -> None:
        self.taints = taints
        self.rule = rule
        self.idle = rule.then == "off"

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        tool = call.tool or (call.task_tool if call.method == _TOLD else None)
        if tool is None or "outbound" not in tool.security.flow:
            return call
        held = self.taints.of(self.rule.holder(call), self.rule.lasts_s)
        if not all(mark in held for mark in _BOTH):
            return call
        brought = {mark: held[mark] for mark in _BOTH}
        call.facts["flow"] = brought
        if self.rule.then == "ask" and call.tool is not None:
            return call
        end = _NOT_RUN if call.tool is not None else "so its task is told nothing more"
        return Refusal(
            "policy_violation",
            f"{tool.exposed} sends data out, and this {self.rule.per} has read what strangers wrote "
            f"({brought['untrusted']}) and private data ({brought['private']}), {end}",
            {"rule": "flow", **brought},
        )

    def stands(self, call: Call) -> Standing | None:
        """Nothing is said of a tool that sends nothing out; of one that does, as long as not both were read, which is asked of each call."""
        tool = call.tool
        if tool is None:
            return None
        return Standing(fits=self._is_free) if "outbound" in tool.security.flow else NOTHING

    def _is_free(self, call: Call) -> bool:
        held = self.taints.of(self.rule.holder(call), self.rule.lasts_s)
        return not all(mark in held for mark in _BOTH)
