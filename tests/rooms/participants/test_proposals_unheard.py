"""A proposal whose fulfilment was put to nobody who is there: it stays open, and is still carried out once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.rooms.participants import NotFulfillableError
from gatewright.rooms.participants.proposals import Pending
from tests.rooms.participants.bus import Bus, call, within
from tests.rooms.participants.test_participant import PROPOSAL_ONLY, Worker

KIND = "mcp/request:tools/call:dig"
DIG = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("dig")}


class Scene:
    """A room with a worker, and a proposal that mal fulfils at somebody who is not there."""

    def __init__(self, *first: str) -> None:
        self.bus, self.worker = Bus(), Worker()
        self.bus.join("worker", responder=self.worker)
        self.ada = self.bus.join("ada")
        self.eve = self.bus.join("eve", PROPOSAL_ONLY)
        self.pending: Pending = self.eve.propose("tools/call", call("dig"))
        self.ask(*first)

    def ask(self, *to: str) -> None:
        more: dict[str, Any] = {"to": to, "correlation_id": self.pending.id}
        self.bus.raw("mal", KIND, DIG, **more)


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_fulfilment_for_nobody_who_is_there_leaves_the_proposal_open() -> None:
    scene = Scene("not-here")
    outcome = asyncio.create_task(scene.pending.outcome())
    found = await within(scene.ada.fulfil(scene.pending.id, to="worker"))
    assert found == await within(outcome) == {"did": "tools/call", "for": "ada"}
    for to in ("not-here", "worker"):
        scene.ask(to)
        await settled()
    assert len(scene.worker.asked) == 1


@pytest.mark.parametrize("first", [["ada"], ["worker"], ["not-here", "eve"]])
async def test_a_fulfilment_for_somebody_who_is_there_is_the_only_one(first: list[str]) -> None:
    scene = Scene(*first)
    scene.ask("worker")
    await settled()
    assert len(scene.worker.asked) == (first == ["worker"])


@pytest.mark.parametrize("first", [["mal"], []])
async def test_who_asks_itself_or_everybody_has_fulfilled_nothing(first: list[str]) -> None:
    scene = Scene(*first)
    scene.ask("worker")
    await settled()
    assert len(scene.worker.asked) == 1


async def test_who_has_left_since_or_came_since_may_have_done_it() -> None:
    for event, first in (("leave", "ada"), ("join", "new")):
        scene = Scene(first)
        told = {"event": event, "participant": {"id": first, "capabilities": []}}
        scene.bus.system("presence", told)
        scene.ask("worker")
        await settled()
        assert scene.worker.asked == []


@pytest.mark.parametrize("end", ["withdrawn", "rejected", "expired", "used again"])
async def test_what_stays_open_ends_as_any_other(end: str) -> None:
    scene = Scene("not-here")
    id = scene.pending.id
    if end == "expired":
        scene.bus.now += 1000.0
    elif end == "used again":
        other = {"method": "tools/call", "params": call("burn")}
        scene.bus.raw("eve", "mcp/proposal:tools/call:burn", other, id=id)
    else:
        (scene.eve if end == "withdrawn" else scene.ada).decline(id)
    scene.ask("worker")
    await settled()
    assert scene.worker.asked == []
    with pytest.raises(NotFulfillableError):
        await scene.ada.fulfil(id)


async def test_who_asks_itself_and_nobody_who_is_there_blocks_nothing() -> None:
    """Its own answer would count for nothing, so that nobody could ever end it."""
    scene = Scene()
    scene.bus.join("mal")
    scene.ask("mal", "not-here")
    assert scene.eve.proposals.is_open(scene.pending.proposal)
    scene.ask("worker")
    await settled()
    assert len(scene.worker.asked) == 1
