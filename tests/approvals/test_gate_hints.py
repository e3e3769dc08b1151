"""The gate `confirm` where a server's annotations say that a tool destroys or reaches out, and nobody vouched for it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants
from gatewright.approvals import Confirm, OpenWorld, Rule
from gatewright.approvals.agreements import Agreements
from gatewright.call import Call, Refusal, Tool, verdict_of
from gatewright.identity.keys import KeyStore
from tests.approvals.queues import NEVER, World, refused
from tests.gate_parts import AGENT, Asked, Mute, a_tool, a_tool_call
from tests.storage.parts import state_in

YES = {"action": "accept", "content": {"confirm": True}}
NO = {"action": "decline"}
DESTROYS = a_tool("wipe", hints=("destructive",))
REACHES = a_tool("search", hints=("open_world",))
BOTH = a_tool("post", hints=("destructive", "open_world"))


class House:
    """Both gates, with a clock that only the test moves."""

    def __init__(self, *grants: Grant, lasts_s: float = 600.0) -> None:
        self.now = 50.0
        self.access = Access(Grants(grants or (Grant(AGENT.id, "srv"),)), lambda: 0.0)
        self.origin = "one"
        world = OpenWorld(Agreements(lambda: self.now), lasts_s, lambda _: self.origin)
        self.gate = Confirm(self.access, lambda: self.now, patience_s=30, open_world=world)

    async def run(self, tool: Tool, back: Mute) -> Call | Refusal:
        passed = self.access(a_tool_call(tool), back)
        assert isinstance(passed, Call)
        return await verdict_of(self.gate, passed, back)


@pytest.mark.parametrize("tool", [DESTROYS, REACHES, BOTH])
async def test_such_a_tool_is_refused_where_nobody_can_be_asked(tool: Tool) -> None:
    found = await House().run(tool, Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "confirmation_required"


@pytest.mark.parametrize("tool", [DESTROYS, REACHES, BOTH])
async def test_a_grant_for_the_very_tool_lets_it_run_unasked(tool: Tool) -> None:
    assert isinstance(await House(Grant(AGENT.id, "srv", tool.target.name)).run(tool, Mute()), Call)


@pytest.mark.parametrize("tool", [DESTROYS, BOTH])
async def test_what_destroys_is_asked_about_each_time(tool: Tool) -> None:
    house = House()
    for _ in range(2):
        back = Asked(YES)
        assert isinstance(await house.run(tool, back), Call)
        assert len(back.questions) == 1
    assert "destructiveHint" in str(back.questions[0].params)
    assert "exactly this call once" in str(back.questions[0].params)


async def test_a_yes_to_what_reaches_out_holds_for_a_while() -> None:
    house = House()
    back = Asked(YES)
    assert isinstance(await house.run(REACHES, back), Call)
    assert "for 10 min further calls of this tool without asking" in str(back.questions[0].params)
    house.now += 599
    assert isinstance(await house.run(REACHES, Mute()), Call)
    house.now += 1
    assert isinstance(await house.run(REACHES, Mute()), Refusal)


async def test_a_no_is_no_agreement_and_no_time_asks_each_time() -> None:
    house = House()
    assert isinstance(await house.run(REACHES, Asked(NO)), Refusal)
    assert isinstance(await house.run(REACHES, Mute()), Refusal)
    never = House(lasts_s=0)
    assert isinstance(await never.run(REACHES, Asked(YES)), Call)
    assert isinstance(await never.run(REACHES, Mute()), Refusal)


async def test_a_yes_to_a_call_that_is_asked_about_for_more_holds_for_that_call_alone() -> None:
    """A tool that the operator wants confirmed stays so, whatever else is said of it."""
    house = House()
    tool = a_tool("search", hints=("open_world",), confirmation_required=True)
    assert isinstance(await house.run(tool, Asked(YES)), Call)
    assert isinstance(await house.run(tool, Mute()), Refusal)
    dangerous = a_tool("search", hints=("open_world",), risk_level="dangerous")
    assert isinstance(await house.run(dangerous, Asked(YES)), Call)
    assert isinstance(await house.run(dangerous, Mute()), Refusal)


async def test_a_rehearsal_says_that_somebody_would_be_asked_and_asks_nobody() -> None:
    house = House()
    passed = house.access(a_tool_call(DESTROYS), Mute())
    assert isinstance(passed, Call)
    found = await house.gate.rehearse(passed)
    assert isinstance(found, Refusal)


async def test_a_yes_is_none_to_what_a_reload_put_behind_the_id_of_the_server() -> None:
    house = House()
    for origin, asked in (("one", 1), ("one", 0), ("other", 1), ("one", 0)):
        house.origin = origin
        back = Asked(YES)
        assert isinstance(await house.run(REACHES, back), Call)
        assert len(back.questions) == asked


@pytest.mark.parametrize("thief", ["olga", "otto"])
async def test_what_several_operators_agreed_to_ends_with_the_key_of_any_of_them(
    tmp_path: Path, thief: str
) -> None:
    """Whoever voted last, or earlier: without either of them it would not have come about."""
    world = World(tmp_path, Rule("operator", quorum=2), NEVER)
    keys = KeyStore(state_in(tmp_path), clock=lambda: 200.0, random=os.urandom)
    calling = asyncio.create_task(world.run(REACHES))
    waiting = await world.desk.first()
    for by in ("olga", "otto"):
        world.desk.store.approve(waiting.id, by=by)
    assert isinstance(await calling, Call)
    keys.create("otti", kind="operator", by="t")
    world.key_changes += 1
    assert isinstance(await world.run(REACHES), Call), "a key of somebody else"
    keys.revoke(keys.held(thief)[0].id, by="t")
    world.key_changes += 1
    world.desk.news.clear()
    again = asyncio.create_task(world.run(REACHES))
    asked = await world.desk.first()
    assert asked.id != waiting.id
    world.desk.store.deny(asked.id, by="otti")
    refused(await again, "permission_denied")
    keys.close()
