"""A server over HTTP that gives sessions and does not know them, as a pool without affinity does, or that fails to list."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from gatewright.servers import relist_delay
from gatewright.servers.spec import Restart
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import DEADLINE, INFO, within
from tests.servers.test_subscriptions import Hearing
from tests.servers.web import Site, http, site

LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
SLOWLY = Restart(first_s=600.0, most_s=600.0)


async def forgets(server: Site, lists: Collection[str], greeted: list[str]) -> None:
    """Take everybody in, each in another session, and know no session that asks for one of `lists`."""
    for number in itertools.count():
        asked = await server.next()
        if asked.method == "initialize":
            greeted.append(f"s-{number}")
            found: dict[str, object] = {"tools": {}, "prompts": {}, "resources": {}}
            hello = {"protocolVersion": "2025-11-25", "capabilities": found, "serverInfo": {}}
            asked.result(hello, Mcp_Session_Id=greeted[-1])
        elif asked.method in lists:
            asked.say(404)
        elif asked.method in LISTS:
            name = asked.method.split("/")[-2].replace("templates", "resourceTemplates")
            asked.result({name: []})
        else:
            asked.say(202 if asked.method.startswith("notifications/") else 405)


@asynccontextmanager
async def forgetful(lists: Collection[str]) -> AsyncIterator[tuple[Supervisor, list[str]]]:
    async with site() as server:
        greeted: list[str] = []
        answering = asyncio.ensure_future(forgets(server, lists, greeted))
        spec = http("s", server.url, era="legacy", restart=SLOWLY)
        supervisor = Supervisor([spec], info=INFO)
        supervisor.start()
        try:
            yield supervisor, greeted
        finally:
            await within(supervisor.close(0.1))
            answering.cancel()


async def until_greeted(greeted: list[str], number: int) -> None:
    async with asyncio.timeout(DEADLINE):
        while len(greeted) < number:
            await asyncio.sleep(0.01)


async def test_a_server_that_knows_no_session_of_its_own_is_left_alone_for_a_while() -> None:
    """The second one of a connection that nothing is answered in ends that, and the next connection waits its time."""
    async with forgetful(LISTS) as (supervisor, greeted):
        async with asyncio.timeout(DEADLINE):
            while supervisor.status()[0].restarts < 1 or supervisor.states["s"] != "disconnected":
                await asyncio.sleep(0.01)
        assert "forgets each session" in supervisor.status()[0].reason
        assert len(greeted) == 4
        server = supervisor._servers["s"]
        async with asyncio.timeout(DEADLINE):
            while server._tasks:
                await asyncio.sleep(0.01)
        assert not server._relisting.unlisted
        assert len(greeted) == 4


@pytest.mark.parametrize("forgetting", [LISTS[::2], LISTS[1::2]])
async def test_a_server_that_forgets_sessions_now_and_then_has_one_listing_at_a_time(
    forgetting: Collection[str],
) -> None:
    async with forgetful(forgetting) as (supervisor, greeted):
        most = 0
        for number in range(24):
            await until_greeted(greeted, number)
            most = max(most, len(supervisor._servers["s"]._tasks))
        assert most <= 2


class Failing:
    """A server that fails to list its tools as often as there are `fails`, while it lists prompts."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.fails = ["at first"]
        self.names = ["one"]
        self.supervisor = supervisor
        self.hearing = Hearing(supervisor)
        self.server = supervisor._servers["s"]

    async def answer(self, at: Site) -> None:
        """For ever."""
        while True:
            asked = await at.next()
            if asked.method == "initialize":
                found = {"tools": {"listChanged": True}, "prompts": {}}
                hello = {"protocolVersion": "2025-11-25", "capabilities": found, "serverInfo": {}}
                asked.result(hello)
            elif asked.method == "tools/list" and self.fails:
                asked.error(200, -32603, self.fails.pop())
            elif asked.method in LISTS[:2]:
                tools = [{"name": one, "inputSchema": {}} for one in self.names]
                asked.result({"tools": tools, "prompts": []})
            else:
                asked.say(202 if asked.method.startswith("notifications/") else 405)

    def changes(self, name: str) -> None:
        """It has another tool, and says so; something else that is fetched meanwhile takes nothing of it away."""
        self.names.append(name)
        assert self.server.link is not None
        for kind in ("tools", "prompts"):
            self.server.said(self.server.link, f"notifications/{kind}/list_changed", {})

    async def seen(self, name: str) -> None:
        """Return once a tool can be called."""
        await self.hearing.until(lambda _: f"s/{name}" in self.supervisor.catalogue.view("").tools)
        assert self.server.status().warnings == ()


@pytest.fixture
async def failing(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Failing]:
    monkeypatch.setattr(relist_delay, "EACH_S", 0.01)
    async with site() as at:
        supervisor = Supervisor([http("s", at.url, era="legacy")], info=INFO)
        found = Failing(supervisor)
        answering = asyncio.ensure_future(found.answer(at))
        supervisor.start()
        try:
            await found.seen("one")
            yield found
        finally:
            await within(supervisor.close(0.1))
            answering.cancel()


async def test_a_change_that_could_not_be_fetched_is_fetched_later_and_told(
    failing: Failing,
) -> None:
    """At the first connection (the fixture), and by the server's word, once and several times."""
    for number in (1, 3):
        failing.fails += ["not now"] * number
        failing.changes(f"more-{number}")
        await failing.seen(f"more-{number}")
        assert not failing.fails
    told = [one[1] for one in failing.hearing.heard]
    assert told.count("notifications/tools/list_changed") == 3


async def test_a_change_that_could_not_be_judged_is_fetched_later(failing: Failing) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("no store")

    told = failing.server._told
    failing.server._told = replace(told, looks=broken)
    failing.changes("more")
    await asyncio.sleep(0.1)
    assert "s/more" not in failing.supervisor.catalogue.view("").tools
    failing.server._told = told
    await failing.seen("more")


async def test_what_is_listed_again_and_says_the_same_is_the_same_list(failing: Failing) -> None:
    """Whoever goes by it (prepared calls, the catalogue) goes on; that it was announced is told all the same."""
    server = failing.server
    listing, shelved, version = server.listing, server.shelved, failing.supervisor.catalogue.version
    failing.hearing.heard.clear()
    assert server.link is not None
    server.said(server.link, "notifications/tools/list_changed", {})
    await failing.hearing.until(bool)
    assert server.listing is listing
    assert server.shelved is shelved
    assert failing.supervisor.catalogue.version == version
