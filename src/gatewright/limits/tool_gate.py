"""Gate `tool_rate`: rate limits per server and tool, after access is granted; what it refuses does not count in `rate`.

Before access is known, a caller without a grant could use up what belongs to others, and learn from the refusal that
there is such a tool. What this gate refuses is given back where `rate` counted it: a refused call costs nobody anything.
"""

from __future__ import annotations

from gatewright.call import Back, Call, Refusal
from gatewright.limits.meters import Meter
from gatewright.limits.polls import LOOK, Polls
from gatewright.standing import NOTHING, Standing

__all__ = ["ToolRate"]


class ToolRate:
    """Gate `tool_rate`. The fact `limited_by` says which limit refused."""

    name = "tool_rate"

    def __init__(self, meter: Meter, callers: Meter, looks: Polls) -> None:
        """`meter` counts by server and tool, `callers` is that of the gate `rate`; `looks` knows what is not
        counted, here or there."""
        self.meter = meter
        self.idle = meter.idle
        self._callers = callers
        self._looks = looks

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        target, looks = call.target, self._looks
        if target is None or ((looks.waiting or LOOK in call.facts) and looks.free(call)):
            return call
        tool = None if call.tool is None else target.name
        # Asking how a task stands is no call of its tool: it counts for the server alone (0058).
        refusal = self.meter.take(call.door, target.server, tool)
        if refusal is None:
            return call
        self._callers.give_back(call.door, call.caller.who, call.caller.key_id)
        call.facts["limited_by"] = dict(refusal.details)
        return refusal

    def stands(self, call: Call) -> Standing | None:
        """Each call is counted, where there is anything to count."""
        target = call.target
        if target is None or call.tool is None:
            return None
        if not self.meter.counts(call.door):
            return NOTHING

        def takes(call: Call) -> bool:
            looks = self._looks
            if looks.waiting and looks.awaited(call):
                return False
            return self.meter.take(call.door, target.server, target.name) is None

        def gives_back(call: Call) -> None:
            self.meter.give_back(call.door, target.server, target.name)

        return Standing(counts=(takes, gives_back))

    async def rehearse(self, call: Call) -> Call | Refusal:
        """What would be said of the next call, which is not counted."""
        target = call.target
        if target is None:
            return call
        tool = None if call.tool is None else target.name
        return self.meter.would(call.door, target.server, tool) or call
