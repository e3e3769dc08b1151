"""What tests of the gate `confirm` have in common where operators decide: a queue, and callers that wait."""

from __future__ import annotations

import asyncio
import os
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants
from gatewright.approvals import Confirm, OpenWorld, Operators, Queue, Rule
from gatewright.approvals.agreements import Agreements
from gatewright.approvals.request import Approval, Asked
from gatewright.call import Call, Event, Question, Refusal, Tool, verdict_of
from gatewright.limits.polls import Polls
from tests.approvals.voting import Voting
from tests.gate_parts import AGENT, Mute, a_tool, a_tool_call
from tests.storage.parts import operators_in, state_in

__all__ = ["NEVER", "OPERATOR_RULE", "WIPE", "Desk", "Hearing", "Showing", "World", "refused"]

WIPE = a_tool("wipe", risk_level="dangerous")
NEVER = 3600.0


class Desk:
    """A desk over a real store, whose operators decide when the test says so."""

    def __init__(self, folder: Path) -> None:
        state = state_in(folder)
        operators_in(state, "olga", "otto")
        self.store = Voting(state, clock=lambda: 100.0, random=os.urandom)
        self.news = asyncio.Event()
        self.address = ""

    def page(self, one: Approval) -> str:
        return self.address and f"{self.address}/{one.id}"

    def in_turn(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def redeem(self, asked: Asked) -> Approval | None:
        return self.store.redeem(asked)

    def ask(self, asked: Asked, **more: Any) -> Approval | None:
        made = self.store.ask(asked, lasts_s=NEVER, **more)
        self.news.set()
        return made

    async def decided(self, id: str) -> None:
        while (one := self.store.get(id)) is not None and one.state == "pending":
            await asyncio.sleep(0)

    async def first(self) -> Approval:
        """The request that waits, once there is one."""
        async with asyncio.timeout(10):
            await self.news.wait()
        return self.store.waiting()[0]


class Hearing(Mute):
    """A caller who cannot be asked, but hears what happens."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)


class Strict:
    """A gate that judges arguments."""

    name = "strict"

    async def __call__(self, call: Call, back: Any) -> Call | Refusal:
        bad = call.arguments.get("path") == "/etc"
        return Refusal("validation_blocked", "not there") if bad else call


class Showing(Hearing):
    """A caller that shows pages to its user."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[dict[str, Any]] = []

    async def ask(self, question: Question) -> dict[str, Any]:
        self.shown.append(question.params or {})
        return {"action": "accept"}


class World:
    """The gate, its queue and the access table behind it."""

    def __init__(self, folder: Path, rule: Rule, hold_s: float, policy: str = "p1") -> None:
        self.desk = Desk(folder)
        self.grants = [Grant(AGENT.id, "srv"), Grant("anonymous", "srv")]
        self.now = 50.0
        self.redeemed: list[Call] = []
        self.began: list[str] = []
        """The requests that were made here, each for a call."""
        self.looks = Polls(lambda: self.now)
        self.access = Access(Grants(tuple(self.grants)), lambda: 0.0)
        queue = Queue(self.desk, lambda _: policy, hold_s, self.desk.page)
        self.key_changes = 0
        """Raised by a test that changes keys: the gateway has seen it."""
        agreements = Agreements(lambda: self.now, self.desk.store.undone, lambda: self.key_changes)
        self.confirm = Confirm(
            self.access,
            lambda: self.now,
            operators=Operators(queue, self.looks, self.redeemed.append, began=self._began),
            rule=lambda _: rule,
            again=(Strict(),),
            open_world=OpenWorld(agreements, 600.0),
        )

    def _began(self, approval: str, call: Call) -> None:
        assert call.tool is not None
        self.began.append(approval)

    async def run(self, tool: Tool = WIPE, back: Any = None, **more: Any) -> Call | Refusal:
        call = a_tool_call(tool, **{"facts": {}, **more})
        async with asyncio.timeout(20):
            return await verdict_of(self.confirm, call, back or Hearing())


OPERATOR_RULE = Rule("operator")


def refused(found: Call | Refusal, reason: str) -> Refusal:
    assert isinstance(found, Refusal)
    assert found.reason == reason
    return found
