"""What a server can make the gateway do by its answers and its events: read, walk and repeat no more than is asked of it."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

import pytest

from gatewright.events import channel_index, server_events, subscriptions
from gatewright.mcp.wire import jsonrpc
from gatewright.transport import slices
from tests.costs import lines_run
from tests.events.test_server_events import _turns, _Wanting
from tests.events.test_subscriptions import CALL


def _hangs(wanting: _Wanting) -> asyncio.Future[None]:
    wanting.link.hangs = asyncio.get_running_loop().create_future()
    return wanting.link.hangs


async def _asked_for(wanting: _Wanting, *channels: str) -> Any:
    """Somebody waits for the server's answer."""
    made = wanting.house.begin(CALL, *channels)
    wanting.house.all.accept(made, channels)
    wanting.events._ask_each(made, wanting.events._connections())
    await asyncio.sleep(0)
    return made


async def _ended(wanting: _Wanting) -> None:
    while wanting.events._tasks:
        await asyncio.sleep(0)


@pytest.mark.parametrize("element", ["0", '""', "1e1", '"\\\\"', "[]"])
async def test_a_long_answer_to_a_subscription_is_not_decoded(
    element: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanting, decoded = _Wanting("model.x"), list[int]()
    raw = f'{{"subscription_id":"u1","subscribed":["model.x",{",".join([element] * 300_000)}]}}'
    decode = jsonrpc.decode

    def watched(data: Any) -> Any:
        decoded.append(len(data))
        return decode(data)

    async def fetch(*_: Any, most: int = 0, **__: Any) -> bytes:
        return raw.encode()

    monkeypatch.setattr(jsonrpc, "decode", watched)
    monkeypatch.setattr(wanting.link, "fetch", fetch)
    made = await wanting.want("model.x")
    assert made.channels == ()
    assert decoded == []


async def test_events_of_nobody_are_decoded_for_none_of_those_who_wait_for_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanting = _Wanting(*(f"model.n{number}" for number in range(10)))
    answer = _hangs(wanting)
    for number in range(10):
        await _asked_for(wanting, f"model.n{number}")
    for number in range(100):
        wanting.say(subscription_id=f"x{number}")
    decoded, decode = list[Any](), jsonrpc.decode

    def watched(data: Any) -> Any:
        decoded.append(data)
        return decode(data)

    monkeypatch.setattr(jsonrpc, "decode", watched)
    answer.set_result(None)
    await _ended(wanting)
    assert not [one for one in decoded if b'"x' in bytes(one)]
    assert wanting.events._early == {}
    await wanting.events.close()


async def test_what_came_before_the_answer_is_told_in_slices_and_before_all_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanting = _Wanting("model.x")
    answer = _hangs(wanting)
    await _asked_for(wanting, "model.x")
    for number in range(40):
        wanting.say(data=number)
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    answer.set_result(None)
    number, turns = 40, 0
    while wanting.events._tasks:
        await asyncio.sleep(0)
        turns += 1
        if turns % 3 == 0 and number < 50:  # more comes while that is told
            wanting.say(data=number)
            number += 1
    wanting.say(data="last")
    assert turns >= 40
    assert [one["data"] for one in wanting.heard] == [*range(number), "last"]
    await wanting.events.close()


async def test_a_server_that_gives_one_id_to_all_is_heard_on_the_first_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What is said under it is not walked through for each of them, and whoever ends one ends no other."""
    wanting = _Wanting("model.x", "model.y")
    wanting.link.ident = "same"
    first, second = await wanting.want("model.x"), await wanting.want("model.y")
    assert (first.channels, second.channels) == (("model.x",), ())
    assert "gives one id to several subscriptions" in caplog.text
    wanting.house.all.end(second)
    await _turns()
    assert [method for method, _ in wanting.link.asked] == ["mgp/events/subscribe"] * 2
    wanting.say(subscription_id="same")
    assert len(wanting.heard) == 1
    wanting.house.all.end(first)
    await _turns()
    third = await wanting.want("model.y")
    assert third.channels == ("model.y",)  # nobody has it any more
    await wanting.events.close()


async def test_without_a_session_an_id_that_comes_again_is_of_the_newer_subscription() -> None:
    """Such a server may have begun to count anew at any time."""
    wanting = _Wanting("model.x", "model.y")
    wanting.link.told_on, wanting.link.ident = 0, "u0"
    first, second = await wanting.want("model.x"), await wanting.want("model.y")
    assert second.channels == ("model.y",)
    wanting.say(subscription_id="u0", channel="model.y")
    assert len(wanting.heard) == 1
    wanting.house.all.end(first)
    await _turns()
    assert [method for method, _ in wanting.link.asked] == ["mgp/events/subscribe"] * 2
    wanting.say(subscription_id="u0", channel="model.y")
    assert len(wanting.heard) == 2
    await wanting.events.close()


async def test_an_id_of_the_last_connection_is_anybodys_on_the_next() -> None:
    """A program that is started anew counts from one again."""
    wanting = _Wanting("model.x", "model.y")
    for channel, ident in (("model.x", "s1"), ("model.y", "s2")):
        wanting.link.ident = ident
        await wanting.want(channel)
    wanting.link.told_on = 2
    idents = iter(("s2", "s1"))
    fetch = wanting.link.fetch

    async def other_way_round(*asked: Any, **more: Any) -> bytes:
        wanting.link.ident = next(idents)
        return await fetch(*asked, **more)

    wanting.link.fetch = other_way_round  # type: ignore[method-assign]
    wanting.events.look()
    await _ended(wanting)
    wanting.say(subscription_id="s2", channel="model.x")
    wanting.say(subscription_id="s1", channel="model.y")
    assert [one["channel"] for one in wanting.heard] == ["model.x", "model.y"]
    await wanting.events.close()


async def test_an_event_costs_those_nothing_who_want_something_else_of_its_server() -> None:
    counts = []
    for others in (10, 1000):
        wanting = _Wanting("model.x", "model.*")
        wanting.link.ident = "mine"
        await wanting.want("model.x")
        wanting.link.ident = "theirs"
        for _ in range(others):
            made = await _asked_for(wanting, "model.*")
            wanting.house.all.accept(made, ("model.*",))
        await _ended(wanting)
        modules = (server_events, subscriptions, channel_index)
        counts.append(lines_run(modules, partial(wanting.say, subscription_id="mine")))
        assert len(wanting.heard) == 1
        await wanting.events.close()
    assert counts[0] == counts[1]


async def test_an_event_that_nobody_is_told_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    wanting = _Wanting("model.x")
    await wanting.want("model.x")
    written = list[int]()
    encode = jsonrpc.encode
    monkeypatch.setattr(jsonrpc, "encode", lambda value: (written.__iadd__([1]), encode(value))[1])
    wanting.say(subscription_id="x", data=["x"] * 1000)
    wanting.say(channel="model.other", data=["x"] * 1000)
    assert (written, wanting.heard) == ([], [])


async def test_an_answer_that_is_no_object_subscribes_to_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanting = _Wanting("model.x")

    async def fetch(*_: Any, **__: Any) -> bytes:
        return json.dumps(["model.x"]).encode()

    monkeypatch.setattr(wanting.link, "fetch", fetch)
    assert (await wanting.want("model.x")).channels == ()
