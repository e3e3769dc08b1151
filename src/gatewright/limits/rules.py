"""Builds rate-limit meters from the settings, carrying over earlier counts (Groundhog has default limits), and the result size filter."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from gatewright.call import Call
from gatewright.config import Calls, Rates, Settings
from gatewright.limits.meters import Meter, Rule
from gatewright.limits.size_filter import Size
from gatewright.limits.usage import DAY, HOUR, MINUTE, SECOND, Window, Windows

__all__ = ["DOORS", "Meters", "meters_of", "size_of"]

_SPANS = {"per_second": SECOND, "per_minute": MINUTE, "per_hour": HOUR, "per_day": DAY}

DOORS: Mapping[str, Calls] = {
    "groundhog": Calls(
        total=Rates(per_second=1000, per_minute=60_000),
        caller=Rates(per_second=10, per_minute=600),
        tool=Rates(per_second=5, per_minute=300),
    )
}
"""Limits that a protocol has by itself, at its own door (Groundhog, `[mcp.protocol.rate_limits]`)."""


class Meters(NamedTuple):
    """What counts callers, and what counts servers and tools."""

    callers: Meter
    targets: Meter

    def give_back(self, call: Call) -> None:
        """A call was counted when it was first asked, and has now come again to run."""
        self.callers.give_back(call.door, call.caller.who, call.caller.key_id)
        if call.target is not None:
            tool = None if call.tool is None else call.target.name
            self.targets.give_back(call.door, call.target.server, tool)


def meters_of(settings: Settings, clock: Callable[[], int], before: Meters | None) -> Meters:
    """The meters of these settings, which go on with what was counted `before`. `clock` is monotonic
    nanoseconds."""
    limits = settings.limits
    everywhere = limits.calls or Calls()
    callers = [*_callers(_each_minute(everywhere, limits.calls_per_minute), "")]
    # Limits in the tables of servers and tools hold at all endpoints together, so they stand in the rules without one.
    targets = [*_targets(everywhere, "", settings)]
    for door, calls in {**DOORS, **limits.doors}.items():
        callers += _callers(calls, door)
        targets += _targets(calls, door)
    return Meters(
        Meter(callers, clock, before and before.callers),
        Meter(targets, clock, before and before.targets),
    )


def _callers(calls: Calls, door: str) -> Iterator[Rule]:
    yield Rule("total", _windows(calls.total), door=door)
    yield Rule("caller", _windows(calls.caller), _instead(calls.callers), door)
    yield Rule("key", _windows(calls.key), _instead(calls.keys), door)


def _targets(calls: Calls, door: str, settings: Settings | None = None) -> Iterator[Rule]:
    servers = () if settings is None else settings.servers
    whole = {one.id: one.calls for one in servers if one.calls is not None}
    tools = {
        # A tool with a table and no limits in it is under the general limit, not under that of `*`.
        (one.id, name): calls.tool if rule.calls is None else rule.calls
        for one in servers
        for name, rule in one.tools.items()
    }
    yield Rule("server", _windows(calls.server), _instead(whole), door)
    yield Rule("tool", _windows(calls.tool), _instead(tools), door)


def _instead(found: Mapping[Any, Rates | None]) -> dict[Hashable, Windows]:
    return {subject: _windows(rates) for subject, rates in found.items()}


def _windows(rates: Rates | None) -> Windows:
    if rates is None:
        return Windows()
    return Windows(
        Window(limit, span)
        for name, span in _SPANS.items()
        if (limit := getattr(rates, name)) is not None
    )


def _each_minute(calls: Calls, most: int | None) -> Calls:
    """With the short spelling of each caller's limit a minute; the stricter one holds."""
    if most is None:
        return calls
    each = calls.caller or Rates()
    said = each.per_minute
    caller = msgspec.structs.replace(each, per_minute=most if said is None else min(said, most))
    return msgspec.structs.replace(calls, caller=caller)


def size_of(settings: Settings) -> Size:
    """How large any result may be."""
    servers = settings.servers
    return Size(
        settings.limits.server_frame_bytes,
        {one.id: one.result_bytes for one in servers if one.result_bytes is not None},
        {
            (one.id, name): rule.result_bytes
            for one in servers
            for name, rule in one.tools.items()
            if rule.result_bytes is not None
        },
    )
