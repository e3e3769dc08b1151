"""`FlowFeature`: gate `flow` and the filter that taints sessions by what their calls read; the taints outlast configuration reloads."""

from __future__ import annotations

import time

from gatewright.config import Settings
from gatewright.feature import Feature, Ground, Making, Rules
from gatewright.flow.filter import Flow as FlowFilter
from gatewright.flow.gate import Flow, FlowRule
from gatewright.flow.taints import Taints

__all__ = ["FlowFeature"]


class FlowFeature(Feature):
    """What was read outlives every configuration."""

    name = "flow"

    def __init__(self, ground: Ground) -> None:
        self._taints = Taints(time.monotonic)

    def rules(self, settings: Settings) -> Rules:
        """Gate and filter."""
        said = settings.flow
        gate = Flow(self._taints, FlowRule(said.then, said.per, said.lasts_s))

        def marking(_: Making) -> FlowFilter:
            return FlowFilter(gate.taints, gate.rule.holder, idle=gate.idle)

        return Rules(gates={"flow": lambda _: gate}, filters={"flow": marking})
