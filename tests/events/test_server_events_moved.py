"""What servers log for the sake of a subscription that its caller takes up elsewhere."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from gatewright.call import Call, UserContext
from gatewright.events.subscription import Subscription
from tests.events.test_server_events import _Wanting
from tests.events.test_subscriptions import ANN, CALL, _Listener

ELSEWHERE = replace(CALL, session="s2")


async def _wanted(*, left: bool = True) -> tuple[_Wanting, Subscription]:
    """One subscription, whose session has gone."""
    wanting = _Wanting("model.x")
    wanting.house.all.moved = wanting.events.moved
    one = await wanting.want("model.x")
    assert wanting.link.sole == ANN.party("s1")
    wanting.house.listeners["s2"] = _Listener(ANN)
    if left:
        one.lingers = asyncio.get_running_loop().call_later(60, list)
    return wanting, one


async def test_what_a_server_logs_goes_with_a_subscription_that_is_taken_up_elsewhere() -> None:
    """The session that it was made in has gone: nobody would hear it."""
    wanting, one = await _wanted()
    wanting.house.all.take_up(one, ELSEWHERE)
    assert wanting.link.sole == ANN.party("s2")
    wanting.house.all.end(one)
    wanting.events.moved(one, ANN.party("s2"))
    assert wanting.link.sole == ANN.party("s2")


@pytest.mark.parametrize("sole", ["s3", None])
async def test_what_is_anothers_or_nobodys_does_not_go_with_it(sole: str | None) -> None:
    wanting, one = await _wanted()
    wanting.link.sole = (
        sole  # another one alone was served there since it was made anew, or several were
    )
    wanting.house.all.take_up(one, ELSEWHERE)
    assert wanting.link.sole is None


@pytest.mark.parametrize(
    ("left", "call"),
    [
        (False, ELSEWHERE),
        (True, replace(ELSEWHERE, caller=replace(ANN, user=(UserContext(scopes=("less",)),)))),
    ],
)
async def test_it_goes_to_nobody_where_the_former_one_is_there_or_had_other_rights(
    left: bool, call: Call
) -> None:
    """That one may have asked the server for more than this."""
    wanting, one = await _wanted(left=left)
    wanting.house.all.take_up(one, call)
    assert wanting.link.sole is None
