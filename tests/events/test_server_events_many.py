"""Many who want the same of a server: what a look at servers costs, and whom it holds up."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from gatewright.events.server_events import AGAIN_S
from gatewright.transport import slices
from tests.costs import DOUBLED, grows
from tests.events.test_server_events import _Catalogue, _Link, _Server, _Servers, _turns, _Wanting
from tests.events.test_subscriptions import CALL


def _crowd(number: int) -> _Wanting:
    """So many who want the same."""
    wanting = _Wanting("model.x")
    for _ in range(number):
        made = wanting.house.begin(CALL, "model.x")
        wanting.house.all.accept(made, ("model.x",))
    return wanting


async def _asked_anew(wanting: _Wanting) -> None:
    wanting.link.told_on += 1
    wanting.events.look()
    while wanting.events._tasks:
        await asyncio.sleep(0)


async def test_a_look_for_many_subscribers_leaves_others_their_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    wanting, turns = _crowd(200), 0
    looking = asyncio.ensure_future(_asked_anew(wanting))
    while not looking.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 200
    (held,) = wanting.events._held["s"].values()
    assert len(held.users) == 200


async def test_only_servers_on_a_new_connection_are_asked_anew() -> None:
    wanting = _crowd(3)
    await _asked_anew(wanting)
    servers = cast("_Servers", wanting.events._servers)
    other = _Link("model.x")
    servers.servers_["other"] = _Server(other)
    looked: list[str] = []

    class Watched(_Catalogue):
        def servers(self, profile: str, caller: Any) -> list[str]:
            looked.append(profile)
            return ["s", "other"]

    servers.catalogue = Watched()
    wanting.events.look()
    await _turns()
    assert len(other.asked) == len(wanting.link.asked) == 1
    wanting.events.look()
    await _turns()
    assert len(looked) == 3  # once for each subscription, none at a look at which nothing is new
    await wanting.events.close()


def test_a_look_for_four_times_as_many_subscribers_costs_four_times_as_much() -> None:
    with asyncio.Runner() as runner:
        few, many = _crowd(300), _crowd(1200)
        ratio = grows(lambda: runner.run(_asked_anew(few)), lambda: runner.run(_asked_anew(many)))
    assert ratio <= DOUBLED**2


async def test_what_fails_as_a_server_is_asked_anew_is_tried_again_and_keeps_no_other_from_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wanting = _Wanting("model.x", "model.y")
    await wanting.want("model.x")
    await wanting.want("model.y")
    ask, failing = wanting.events._ask_each, [True]

    def asked(one: Any, links: Any) -> Any:
        if failing and one.asked == ("model.x",):
            raise RuntimeError("broken")
        return ask(one, links)

    wanting.events._ask_each = asked  # type: ignore[method-assign]
    wanting.link.told_on = 2
    before = len(wanting.link.asked)
    for _ in range(3):
        wanting.events.look()
        await _turns()
    channels = [params["channels"] for _, params in wanting.link.asked[before:]]
    assert channels == [["model.y"]]
    assert caplog.text.count("could not be asked for") == 1
    failing.clear()
    wanting.now += AGAIN_S
    wanting.events.look()
    await _turns()
    channels = [params["channels"] for _, params in wanting.link.asked[before:]]
    assert channels == [["model.y"], ["model.x"]]
    await wanting.events.close()
