"""For whom a server is told a wish once more: what it says of that is heard by nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from gatewright.call import ANONYMOUS, Answer, Back, Call, Failure, Outcome
from gatewright.mcp.client.link import Link
from gatewright.mcp.wire.versions import LATEST_MODERN
from gatewright.servers.resource_subscriptions import Subscriptions
from gatewright.servers.spec import ServerSpec
from gatewright.servers.subscriptions import ServerSubscriptions
from tests.servers.rig import FakeBack, make_call, within
from tests.servers.scripted import Ear, linked
from tests.servers.wishing import FakeWay, asks, rest

NOTE = "notifications/message"


class Attributed(Ear):
    """Also hears whose each idle line is: who alone was served on the connection."""

    def said(self, link: Link, method: str, params: dict[str, Any]) -> None:
        self.heard.append((params["data"], {"sole": link.sole}))


class OneServer:
    """A server with a main connection that every call goes on."""

    id = "srv"
    spec = ServerSpec(id="srv")

    def __init__(self, link: Link) -> None:
        self.link: Any = link
        self._tasks: list[asyncio.Task[Any]] = []

    @property
    def hello(self) -> Any:
        return self.link.hello

    def own_link(self, session: str) -> Link | None:
        return None

    async def ready_for(self, session: str | None) -> Failure | None:
        return None

    def has_own(self, call: Call) -> bool:
        return False

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        self._tasks.append(asyncio.ensure_future(work))

    def look(self) -> None:
        """Nothing is listed."""

    async def call(self, method: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        deadline = asyncio.get_running_loop().time() + 5.0
        outcome: Outcome = await self.link.request(
            method, params, call=call, back=back, deadline=deadline
        )
        return outcome

    call_common = call


async def test_the_log_of_a_server_that_is_told_everything_again_goes_to_nobody_else() -> None:
    """Of a new connection nobody was served on yet, so an idle line was everybody's: and it names a resource of one of them."""
    before, ear = Ear(), Attributed()
    async with linked(ear=before) as (link, server), linked(ear=ear) as (anew, other):
        house = OneServer(link)
        wishes = ServerSubscriptions(house)
        for session in ("s1", "s2"):
            params = {"uri": f"x:{session}"}
            call = make_call("method", "resources/subscribe", params, session=session)
            asked = asyncio.ensure_future(wishes.subscribe(params["uri"], params, call, FakeBack()))
            server.say(id=(await server.next())["id"], result={})
            assert isinstance(await within(asked), Answer)
        house.link = anew
        await wishes.renew(anew)
        for _ in range(2):
            told = await other.next()
            other.say(method=NOTE, params={"level": "info", "data": told["params"]["uri"]})
            other.say(id=told["id"], result={})
        await asyncio.gather(*house._tasks)
        other.say(method=NOTE, params={"level": "info", "data": "x:s1 is watched"})
        other.say(id=0, method="ping")
        await other.next()
        assert anew.sole is None
    assert ear.heard == [("x:s1", {"sole": ANONYMOUS.party("s1")})]


@pytest.mark.parametrize("holders", [("a",), ("a", "b")])
async def test_a_modern_server_that_listens_for_somebody_serves_that_one(
    holders: tuple[str, ...],
) -> None:
    way = FakeWay(LATEST_MODERN)
    wants = Subscriptions(way, changes=True)
    for number, holder in enumerate(holders):
        asked = asks(wants.subscribe, f"x:{holder}", holder)
        await rest()
        way.link.listens[number][1].set_result(
            {"resourceSubscriptions": [f"x:{one}" for one in holders]}
        )
        assert isinstance(await within(asked), Answer)
    assert way.link.served == [ANONYMOUS.party("s1")] * len(holders), "the session of the calls"
    await wants.renew(way.link)
    assert way.link.served[len(holders) :] == list(holders)
    await way.stop()
