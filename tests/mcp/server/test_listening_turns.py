"""Many `subscriptions/listen` of one caller: what they ask of servers is no more at a time than what one of them does."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.call import Answer, Back, Call, Outcome
from gatewright.mcp.server import listening
from tests.dialects.client import within
from tests.dialects.house import House
from tests.mcp.server.test_listening import acknowledged, listen


async def test_many_requests_of_one_caller_ask_servers_no_more_at_a_time_than_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each walks through all gates and is recorded: those of twenty requests, begun at once, would keep everybody else waiting."""
    monkeypatch.setattr(listening, "TURN_S", 1.0)  # longer than that takes on a busy machine
    at_once = most = asked = 0

    async def owner(call: Call, back: Back) -> Outcome:
        nonlocal at_once, most, asked
        at_once, asked = at_once + 1, asked + 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        return Answer(b"{}")

    async with House() as house:
        house.script.does("resources/subscribe", owner)
        house.script.does("resources/unsubscribe", owner)
        uris = [f"u{one}" for one in range(3 * listening.A_STEP)]
        wires = [listen(house, {"resourceSubscriptions": uris}, ident=one) for one in range(20)]
        for one, wire in enumerate(wires):
            assert await wire.message() == acknowledged({"resourceSubscriptions": uris}, one)
        for wire in wires:
            wire.leave()
        for wire in wires:
            await within(wire.task)
    assert asked == 2 * len(uris) * len(wires)
    assert most <= listening.A_STEP


async def test_a_server_that_answers_late_costs_no_other_request_its_resources(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hundred hosts of one key come back at once: each is granted what it asks for, however slow its server is."""
    monkeypatch.setattr(listening, "STEP_S", 10.0)
    monkeypatch.setattr(listening, "ACKNOWLEDGED_S", 10.0)
    asked, all_are = 0, asyncio.Event()

    async def owner(call: Call, back: Back) -> Outcome:
        nonlocal asked
        asked += 1
        if asked == len(wires):
            all_are.set()
        await all_are.wait()
        return Answer(b"{}")

    async with House() as house:
        house.script.does("resources/subscribe", owner)
        house.script.does("resources/unsubscribe", owner)
        wanted = {"resourceSubscriptions": ["u"]}
        wires = [listen(house, wanted, ident=one) for one in range(100)]
        for one, wire in enumerate(wires):
            assert await wire.message() == acknowledged(wanted, one)
        for wire in wires:
            wire.leave()
        for wire in wires:
            await within(wire.task)
