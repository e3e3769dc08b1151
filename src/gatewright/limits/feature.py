"""`LimitsFeature`: gates `rate`, `tool_rate`, filter `size`, counts of non-call requests; keeps counts on reload, refunds approved calls."""

from __future__ import annotations

import time

from gatewright.call import Call, Caller, Gate, Refusal
from gatewright.config import Settings
from gatewright.feature import Counts, Feature, Ground, Making, Rules
from gatewright.in_force import InForce
from gatewright.limits.gate import Rate
from gatewright.limits.list_allowance import ListAllowance
from gatewright.limits.polls import Polls
from gatewright.limits.rules import Meters, meters_of, size_of
from gatewright.limits.tool_gate import ToolRate

__all__ = ["LimitsFeature"]


class LimitsFeature(Feature):
    """What each caller has used up outlives every configuration."""

    name = "limits"

    def __init__(self, ground: Ground) -> None:
        self._polls = Polls(time.monotonic)
        self._lists = ListAllowance(time.monotonic)
        self._now = ground.now
        self.offers = (self._polls, _Counted(ground.now))
        ground.redeemed.listen(self._give_back)

    def _give_back(self, call: Call) -> None:
        meters = _present(self._now.gates.get("rate"), self._now.gates.get("tool_rate"))
        if meters is not None:
            meters.give_back(call)

    def rules(self, settings: Settings) -> Rules:
        """Gates and filter."""

        def rate(making: Making) -> Rate:
            return Rate(_meters(making).callers, self._polls, self._lists)

        def tool_rate(making: Making) -> Gate:
            callers = making.gate("rate", Rate).meter
            return ToolRate(_meters(making).targets, callers, self._polls)

        gates = {"rate": rate, "tool_rate": tool_rate}
        return Rules(gates=gates, filters={"size": lambda making: size_of(making.settings)})


class _Counted(Counts):
    """By the meters in force."""

    def __init__(self, now: InForce) -> None:
        self._now = now

    def count(self, door: str, caller: Caller) -> Refusal | None:
        """As `Counts` says."""
        rate = self._now.gate("rate", Rate)
        return None if rate is None else rate.meter.take(door, caller.who, caller.key_id)

    def limited(self, door: str, caller: Caller) -> Refusal | None:
        """As `Counts` says."""
        rate = self._now.gate("rate", Rate)
        return None if rate is None else rate.meter.would(door, caller.who, caller.key_id)


def _meters(making: Making) -> Meters:
    before = _present(making.former.get("rate"), making.former.get("tool_rate"))
    return meters_of(making.settings, time.monotonic_ns, before)


def _present(rate: Gate | None, tool_rate: Gate | None) -> Meters | None:
    if isinstance(rate, Rate) and isinstance(tool_rate, ToolRate):
        return Meters(rate.meter, tool_rate.meter)
    return None
