"""A name under which somebody was granted word of a resource leads to that one."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

from gatewright.call import Answer, Call, Target
from gatewright.servers.subscription_targets import ended, only
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import make_call, python, running
from tests.servers.test_subscriptions import wish
from tests.servers.wishing import asks, rest

URI = "memo://x"


def pair() -> AbstractAsyncContextManager[Supervisor]:
    """Two servers; the first lists what both are asked for."""
    return running(python("linking", "one", URI, id="one"), python("linking", "two", id="two"))


def about(method: str, session: str | None = "s1", uri: object = URI) -> Call:
    return make_call("method", f"resources/{method}", {"uri": uri}, session=session)


async def test_who_unsubscribes_by_a_name_ends_what_it_holds_by_that() -> None:
    async with pair() as supervisor:
        servers = supervisor.fleet.servers
        assert isinstance(await wish(supervisor, "resources/subscribe", URI), Answer)
        assert ended(servers, about("unsubscribe")) == Target("one", URI)
        for call in (
            about("subscribe"),
            about("unsubscribe", "s2"),
            about("unsubscribe", None),
            about("unsubscribe", uri="memo://y"),
            about("unsubscribe", uri=7),
        ):
            assert ended(servers, call) is None


async def test_what_is_asked_for_by_a_name_is_ended_by_it_as_well() -> None:
    async with pair() as supervisor:
        resources = supervisor.fleet.servers["two"].wishes.resources
        asked = asks(resources.subscribe, URI, "s1")
        await asyncio.sleep(0)
        assert ended(supervisor.fleet.servers, about("unsubscribe")) == Target("two", URI)
        asked.cancel()
        await asyncio.wait([asked])
        assert ended(supervisor.fleet.servers, about("unsubscribe")) is None


async def test_a_name_that_was_granted_leads_nowhere_else_from_then_on() -> None:
    async with pair() as supervisor:
        servers = supervisor.fleet.servers
        for one in servers.values():
            for session in ("s1", "s2"):
                call = about("subscribe", session)
                one.wishes.resources.hold(URI, session, [URI])
                one.wishes._counts.add(session, call)
        only(servers, about("subscribe"), servers["two"])
        await rest()
        held = {name: set(one.wishes.resources.held[URI]) for name, one in servers.items()}
        assert held == {"one": {"s2"}, "two": {"s1", "s2"}}
