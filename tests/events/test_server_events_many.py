"""Many who want the same of a server: what a look at servers costs, and whom it holds up."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec
import pytest

from gatewright.events import channel_index, channels, subscriptions
from gatewright.events.server_events import AGAIN_S
from gatewright.events.server_subscription import CALLER_MOST
from gatewright.transport import slices
from tests.costs import DOUBLED, grows, lines_run
from tests.events.test_server_events import _Catalogue, _Link, _Server, _Servers, _turns, _Wanting
from tests.events.test_subscriptions import CALL

_MODULES = (subscriptions, channels, channel_index)


def _crowd(number: int) -> _Wanting:
    """So many who want the same."""
    wanting = _Wanting("model.x")
    for _ in range(number):
        made = wanting.house.begin(CALL, "model.x")
        wanting.house.all.accept(made, ("model.x",))
    return wanting


async def _told(wanting: _Wanting) -> None:
    while not wanting.house.all._line.idle:
        await asyncio.sleep(0)


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


async def _answered_late(number: int) -> _Wanting:
    """A server that answers when all who want the same have been answered."""
    wanting = _crowd(number)
    wanting.link.hangs = asyncio.get_running_loop().create_future()
    for one in wanting.house.all:
        wanting.events._ask_each(one, wanting.events._connections())
        wanting.house.all.accept(one, ())
        one.pending = frozenset(one.asked)
    await asyncio.sleep(0)
    return wanting


async def _accepted(wanting: _Wanting) -> None:
    assert wanting.link.hangs is not None
    wanting.link.hangs.set_result(None)
    while wanting.events._tasks:
        await asyncio.sleep(0)


async def test_a_server_that_answers_late_costs_four_times_as_much_for_four_times_as_many() -> None:
    counts = []
    for number in (64, 256):
        wanting, count = await _answered_late(number), 0
        every = wanting.house.all
        once = every.accept

        def accepted(one: Any, channels: Any, every: Any = every, once: Any = once) -> None:
            nonlocal count
            count += lines_run(_MODULES, lambda: (once(one, channels), every.hears("tool.started")))

        every.accept = accepted  # type: ignore[method-assign]
        await _accepted(wanting)
        assert all(one.channels == ("model.x",) and not one.pending for one in every)
        counts.append(count)
    assert counts[1] <= counts[0] * 4


async def test_whoever_is_accepted_late_leaves_others_their_turns_and_misses_no_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    wanting, turns = await _answered_late(100), 0
    accepting = asyncio.ensure_future(_accepted(wanting))
    while not accepting.done():
        await asyncio.sleep(0)
        turns += 1
        if turns == 50:
            wanting.say()
    assert turns >= 100
    await _told(wanting)
    assert len(wanting.heard) == 100


async def test_one_large_event_for_many_is_encoded_once_and_told_in_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanting = _crowd(100)
    await _asked_anew(wanting)
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    monkeypatch.setattr(
        wanting.house.listeners["s1"], "take", lambda *said: raw.append(said[2]["data"])
    )
    raw: list[Any] = []
    wanting.say(subscription_id="u2", data={"text": "x" * 60_000})
    assert len(raw) == 1
    await _told(wanting)
    assert len(raw) == 100
    assert all(one is raw[0] for one in raw)
    assert isinstance(raw[0], msgspec.Raw)


async def test_what_a_server_says_while_much_of_it_is_still_being_told_is_left_out_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanting = _crowd(40)
    await _asked_anew(wanting)
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    monkeypatch.setattr(wanting.house.all._line, "_most", 1)
    for _ in range(3):
        wanting.say(subscription_id="u2")
    await _told(wanting)
    wanting.say(subscription_id="u2")
    await _told(wanting)
    assert [one.get("dropped") for one in wanting.heard] == [None] * 40 + [2] * 40
    assert wanting.events.dropped["s"] == 2
    await wanting.events.close()


async def test_one_caller_does_not_use_up_the_room_at_a_server() -> None:
    wanting = _Wanting(*(f"model.n{number}" for number in range(CALLER_MOST + 1)))
    for number in range(CALLER_MOST):
        made = await wanting.want(f"model.n{number}")
        assert made.channels
    made = await wanting.want(f"model.n{CALLER_MOST}")
    assert made.channels == ()
    again = await wanting.want("model.n0")  # one that is there already takes no room
    assert again.channels == ("model.n0",)
    await wanting.events.close()
