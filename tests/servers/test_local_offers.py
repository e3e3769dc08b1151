"""What servers of this process list: prepared while everybody goes by what was listed before, and told once it is there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Caller
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.listener import Listener
from gatewright.servers.local_offers import LocalOffers
from gatewright.servers.notifications import ServerNotifications
from gatewright.servers.spec import ServerSpec
from gatewright.transport import slices
from tests.servers.test_server_catalogue import listing, tool

OWN = ServerSpec(id="own", local=True)


class _House:
    def __init__(self) -> None:
        self.catalogue = Catalogue([OWN, ServerSpec(id="a")])
        self.catalogue.put("a", listing(tools=[tool(f"t{at}") for at in range(600)]))
        self.hub = ServerNotifications(lambda *_: True)
        self.heard: list[Any] = []
        take = lambda *said: self.heard.append(said[1])  # noqa: E731
        self.hub.watch(Listener(Caller("ann"), "", None, take))
        self.offers = LocalOffers({"own": OWN}, lambda: self.catalogue, self.hub)


async def test_until_it_is_ready_everybody_goes_by_what_was_there_and_then_nobody_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = _House()
    await house.catalogue.warm([""])
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    coming = listing(tools=[tool("new")])
    preparing, turns = asyncio.ensure_future(house.offers.ahead("own", coming)), 0
    while not preparing.done():
        assert house.catalogue.making("") is None
        assert house.catalogue.tool("", "own__new") is None
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 600
    house.offers.offered("own", coming)
    assert house.catalogue.making("") is None
    assert house.catalogue.tool("", "own__new") is not None
    assert house.heard == ["notifications/tools/list_changed"]


async def test_what_nobody_prepared_is_offered_all_the_same_and_the_same_is_told_once() -> None:
    house = _House()
    coming = listing(tools=[tool("new")])
    for _ in range(2):
        house.offers.offered("own", coming)
    assert house.catalogue.tool("", "own__new") is not None
    assert house.heard == ["notifications/tools/list_changed"]


async def test_what_was_prepared_and_says_the_same_is_told_to_nobody() -> None:
    house = _House()
    for name, told in (("new", 1), ("new", 1), ("other", 2)):
        coming = listing(tools=[tool(name)])
        await house.offers.ahead("own", coming)
        house.offers.offered("own", coming)
        assert len(house.heard) == told
        assert house.catalogue.tool("", f"own__{name}") is not None
