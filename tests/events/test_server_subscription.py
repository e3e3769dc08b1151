"""What a server answers to a subscription, and who shares one."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from gatewright.events import server_subscription
from gatewright.events.channels import LONGEST_NAME
from gatewright.events.server_subscription import (
    CALLER_MOST,
    SERVER_MOST,
    Held,
    Key,
    has_room,
    subscribed,
)
from gatewright.servers.resource_subscriptions import SEVERAL
from tests.costs import lines_run
from tests.events.test_server_events import _Link
from tests.events.test_subscriptions import ANN, BOB, CALL, _House


async def _held(number: int = 0) -> Held:
    link: Any = _Link()
    done = asyncio.get_running_loop().create_future()
    return Held(Key("s", (f"model.n{number}",), None), link, 1, done)


@pytest.mark.parametrize("ident", [None, [], 1.5, "x" * (LONGEST_NAME + 1), 10**200])
def test_an_id_that_is_no_short_text_or_integer_is_refused(ident: Any) -> None:
    with pytest.raises(ValueError, match="subscription_id"):
        subscribed({"subscription_id": ident, "subscribed": ["model.x"]}, ("model.x",))


@pytest.mark.parametrize("said", [None, "model.x", {"model.x": 1}, [["model.x"], 0, {}]])
def test_what_is_no_list_of_names_is_no_channel(said: Any) -> None:
    assert subscribed({"subscription_id": "a", "subscribed": said}, ("model.x",)) == ("a", ())


def test_of_what_was_asked_for_that_counts_which_the_server_has() -> None:
    said = {"subscription_id": 7, "subscribed": ["model.y", "model.z", "model.x"]}
    asked = ("model.x", "model.y", "tool.no")
    assert subscribed(said, asked) == (7, ("model.x", "model.y"))


def test_many_names_are_gone_through_once_and_not_for_each_channel() -> None:
    said = {"subscription_id": "a", "subscribed": ["" for _ in range(1000)]}
    few, many = (
        lines_run(
            (server_subscription,),
            partial(subscribed, said, tuple(f"model.n{one}" for one in range(number))),
        )
        for number in (1, 64)
    )
    assert many <= few + 64 * 3


async def test_whose_it_is_is_counted_by_caller() -> None:
    house, held = _House(), await _held()
    one, other = house.begin(CALL, "model.x"), house.begin(CALL, "model.x")
    for each in (one, one, other):
        held.add(each)
    assert held.whose == {ANN.who: 2}
    assert held.party == one.party
    held.remove(one)
    held.remove(other)
    assert held.whose == {}
    assert held.party == SEVERAL


async def test_there_is_room_for_so_many_of_a_caller_and_of_all() -> None:
    house = _House()
    there: dict[Key, Held] = {}
    for number in range(SERVER_MOST):
        assert has_room(there, BOB)
        held = await _held(number)
        there[held.key] = held
        if number < CALLER_MOST:
            assert has_room(there, ANN)
            held.add(house.begin(CALL, "model.x"))
    assert not has_room(there, BOB)
    assert not has_room(dict(list(there.items())[:CALLER_MOST]), ANN)


async def test_it_stands_on_the_connection_on_which_it_was_made() -> None:
    held = await _held()
    link: Any = held.link
    stood = [held.stands]
    for link.told_on, link.open in ((2, True), (1, False), (1, True)):
        stood.append(held.stands)
    assert stood == [True, False, False, True]
