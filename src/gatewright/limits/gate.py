"""Gate `rate`: limits calls in total, per caller and per API key; approval polls and list requests are free within an allowance.

A call counts here for all callers together, for its caller and for its key. Servers and tools have their turn in `tool_rate`,
when it is known that the caller may use them. A poll of a call that waits for a person (`limits.polls`) counts nowhere, nor
does a list within the caller's allowance (`limits.list_allowance`).
"""

from __future__ import annotations

import time

from gatewright.call import Back, Call, Refusal
from gatewright.limits.list_allowance import ListAllowance
from gatewright.limits.meters import Meter
from gatewright.limits.polls import LOOK, Polls
from gatewright.standing import NOTHING, Standing

__all__ = ["Rate"]


class Rate:
    """Gate `rate`. The fact `limited_by` says which limit refused."""

    name = "rate"

    def __init__(self, meter: Meter, looks: Polls, lists: ListAllowance | None = None) -> None:
        """`meter` counts by caller and key; `looks` and `lists` know what is not counted."""
        self.meter = meter
        self._lists = ListAllowance(time.monotonic) if lists is None else lists
        self.idle = meter.idle
        self._looks = looks

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        looks = self._looks
        if (looks.waiting or LOOK in call.facts) and looks.free(call):
            return call
        caller = call.caller
        if call.kind == "list" and self._lists.take(caller.who):
            return call
        refusal = self.meter.take(call.door, caller.who, caller.key_id)
        if refusal is None:
            return call
        call.facts["limited_by"] = dict(refusal.details)
        return refusal

    def stands(self, call: Call) -> Standing | None:
        """Each call is counted, where there is anything to count."""
        if not self.meter.counts(call.door):
            return NOTHING
        return Standing(counts=(self._takes, self._gives_back))

    def _takes(self, call: Call) -> bool:
        looks = self._looks
        if looks.waiting and looks.awaited(call):
            return False
        caller = call.caller
        return self.meter.take(call.door, caller.who, caller.key_id) is None

    def _gives_back(self, call: Call) -> None:
        self.meter.give_back(call.door, call.caller.who, call.caller.key_id)

    async def rehearse(self, call: Call) -> Call | Refusal:
        """What would be said of the next call, which is not counted."""
        return self.meter.would(call.door, call.caller.who, call.caller.key_id) or call
