"""The model behind `test_prepared_machine`: twin gateways, what was changed, and what a call says by that."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any, cast

from hypothesis.stateful import RuleBasedStateMachine, invariant

from gatewright.prepared import Mode
from tests.memory_folders import memory_folder
from tests.prepared_twins import CALLERS, Caller, Clock, Gateway, twins

__all__ = ["FEW", "Model"]

_TWIN = cast("Mode", os.environ.get("PREPARED_TWIN", "on"))
FEW = 6
"""Calls a minute, where they are limited."""


_MANY = 50
"""Of so many calls that nothing is unusual about some are prepared, whatever changes between them."""
_OF_ONE = 10
"""So many steps one caller goes on calling one tool: two of these calls are walked, and the others are prepared, if nothing has changed for them."""
_KINDS = [(who, tool) for who in sorted(CALLERS) for tool in ("tell", "other")]


class Model(RuleBasedStateMachine):
    """See the module's text."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = memory_folder()
        self.stack = AsyncExitStack()
        self.clock = Clock()
        self.stack.enter_context(self.clock.instead())
        tables = self.tables = {"approvals": {"approver": "operator", "hold_s": 0}}
        self.twins = self.does(self.stack.enter_async_context(twins(self.folder, _TWIN, **tables)))
        self.granted: dict[tuple[str, str], tuple[str, float, str]] = {}
        """By caller and tool: what the operator said, until when, and of what definition."""
        self.everybody, self.limited, self.asks, self.redacts = True, False, False, False
        self.offered = self.accepted = "Tells."
        self.made: dict[str, list[float]] = {name: [] for name in CALLERS}
        """When calls of each caller were counted."""
        self.barred = self.drained = False
        self.count = self.restarts = self.plain = self.steps = 0

    def does(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    # -- what is to be expected

    def expected(self, who: str, tool: str, text: str) -> str:
        """What a call says as things stand."""
        if self.drained:
            return "draining"
        if self.limited and len(self.counted(who)) >= FEW:
            return "rate_limited"
        if not self.may(who, tool):
            return "access_denied"
        if tool == "tell" and self.offered != self.accepted:
            return "tool_disabled"
        if self.barred:
            return "permission_denied"
        if self.asks and tool == "other":
            return "permission_deferred"
        return text.replace("Nightjar", "[REDACTED:ID]") if self.redacts else text

    def may(self, who: str, tool: str) -> bool:
        word, until, about = self.granted.get((who, tool), ("", 0.0, ""))
        held = self.clock.now < until and (word == "deny" or about == self.said_of(tool))
        return word == "allow" if held else self.everybody

    def said_of(self, tool: str) -> str:
        """How the server describes a tool."""
        return self.offered if tool == "tell" else ""

    def counted(self, who: str) -> list[float]:
        """The calls of a caller within the last minute."""
        self.made[who] = [one for one in self.made[who] if self.clock.now - one < 60.0]
        return self.made[who]

    def is_expected(self, said: str, wanted: str) -> bool:
        """Of one caller not many calls may wait for the operator."""
        return said == wanted or (said, wanted) == ("resource_exhausted", "permission_deferred")

    def counts(self, who: str, said: str) -> None:
        if said not in ("draining", "rate_limited"):
            self.made[who].append(self.clock.now)

    # -- calls

    def text(self) -> str:
        """One that nobody has said before: a call that was asked about is not to be made again."""
        return f"so{self.count}"

    def message(self, tool: str, text: str, how: str = "plain") -> dict[str, Any]:
        self.count += 1
        more = {} if how == "plain" else {"how": how}
        arguments = {"text": text, **more}
        params = {"name": f"obedient__{tool}", "arguments": arguments}
        return {"id": self.count, "method": "tools/call", "params": params}

    def said(self, who: str, message: dict[str, Any]) -> str:
        """What both answer."""

        def send(gateway: Gateway) -> Caller:
            gateway.callers[who].send(message)
            return gateway.callers[who]

        return cast("str", self.does(self.twins.hears(send)))

    # -- after each step

    @invariant()
    def one_caller_goes_on_calling(self) -> None:
        """Rules alone seldom ask for one tool often enough: hypothesis leaves some out of each example, and a thousand steps had a dozen
        prepared calls."""
        who, tool = _KINDS[self.steps // _OF_ONE % len(_KINDS)]
        self.steps += 1
        text = self.text()
        wanted = self.expected(who, tool, text)
        if wanted == "permission_deferred" or (self.limited and len(self.counted(who)) > FEW // 2):
            return  # of either there are few
        said = self.said(who, self.message(tool, text))
        self.counts(who, said)
        self.plain += said == text
        assert self.is_expected(said, wanted), (said, wanted)

    @invariant()
    def both_recorded_the_same_and_nothing_is_left(self) -> None:
        self.twins.recorded()
        for one in self.twins.both:
            kernel = one.gateway.kernel
            assert (kernel.in_flight, kernel.running(), kernel.prepared.going_on) == (0, [], {})
            shadow = kernel.shadow
            assert shadow is None or shadow.differences == []

    def teardown(self) -> None:
        served = self.twins.prepares.house.prepared.served
        try:
            self.does(self.stack.aclose())
        finally:
            self.loop.close()
            shutil.rmtree(self.folder)
        assert served or self.plain < _MANY, "both walked all calls, and were compared with nothing"
