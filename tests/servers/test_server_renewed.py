"""A server over HTTP that gives sessions and does not know them, as a pool without affinity does, or one that means ill."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import pytest

from gatewright.servers.spec import Restart
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import DEADLINE, INFO, within
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
