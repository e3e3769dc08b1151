"""The frame of the two-sided model: a house for each run, steps that happen in its loop, and what is asked after each of them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition

from gatewright.mcp.wire.methods import WORDS
from tests.behaviour.two_sided import House, Loop
from tests.behaviour.two_sided_facts import HOSTS, SERVERS
from tests.mcp.wire.names import spellings
from tests.memory_folders import memory_folder

__all__ = ["Steps", "anything", "callers", "inside", "servers", "where", "which"]

callers = st.sampled_from(sorted(HOSTS))
servers = st.sampled_from(sorted(SERVERS))
which = st.integers(0, 7)
_MADE_UP = ("shutdown", "vendor/any", "notifications/vendor", *list(spellings("tools/call"))[:40])
anything = st.sampled_from(sorted({*(one.method for one in WORDS), *_MADE_UP}))
"""Every message that there is, and some that there are not."""


def inside(act: Callable[..., Any]) -> Callable[..., None]:
    """One step: it happens in the loop of the house, which then comes to rest."""

    async def step(self: Steps, words: dict[str, Any]) -> None:
        waits = act(self, **words)
        if waits is not None:
            await waits
        await self.house.rest()
        self.house.must_be_wanted()
        self.house.rooms.must_arrive()

    @wraps(act)
    def rule_(self: Steps, **words: Any) -> None:
        self.loop.run_until_complete(step(self, words))

    return rule_


def where(there: Callable[[House], Any]) -> Callable[[Any], Any]:
    """A step that is only made where there is something to do."""
    return precondition(lambda self: bool(there(self.house)))


class Steps(RuleBasedStateMachine):
    """See the module's text."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = Loop()
        self.folder = memory_folder()
        self.house = House(self.folder)
        self.loop.run_until_complete(self.house.open())

    @invariant()
    def nobody_got_what_is_anothers(self) -> None:
        self._judged()
        self.house.crossed.clear()

    def _judged(self) -> None:
        if self.house.faults:  # said at once: what is drawn again may not come to the same
            sys.stderr.write("\n".join(self.house.faults) + "\n")
        assert self.house.faults == []

    def teardown(self) -> None:
        try:
            self.loop.run_until_complete(self.house.close())
        finally:
            self.loop.close()
            shutil.rmtree(self.folder)
        self._judged()
