"""A call over HTTP that was given up may be the one that asks on the stream for everything else: until when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from gatewright.servers.supervisor import Supervisor
from tests.mcp.client.test_http_link import ASKED, DONE, NAME, begin, ended
from tests.servers.rig import FakeBack, text, within
from tests.servers.web import Asked, Site, http, site

QUESTION = {"id": "q", "method": "elicitation/create", "params": ASKED}


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[Supervisor, Site, Asked]]:
    """A legacy server with the stream for everything else, taken in and with one tool, `s/t`."""
    async with site() as server:
        supervisor = Supervisor([http("s", server.url, share="gateway")], info={"name": "g"})
        supervisor.start()
        (await server.next("server/discover")).error(400, -32000, "Server not initialized")
        stream = await welcomed(server, "s-1")
        await within(supervisor.settled())
        try:
            yield supervisor, server, stream
        finally:
            closing = asyncio.ensure_future(supervisor.close(0.1))
            await within(asyncio.wait([closing]))


async def welcomed(server: Site, session: str) -> Asked:
    """One more session; its stream for everything else."""
    server.welcome(await server.next("initialize"), Mcp_Session_Id=session)
    (await server.next("notifications/initialized")).say(202)
    stream = await server.next("GET")
    stream.stream()
    await server.list_tools("t")
    return stream


async def given_up(supervisor: Supervisor, server: Site) -> Any:
    """A call of the session `a` that nobody waits for: its number."""
    calling = begin(supervisor, session="a")
    asked = await server.next("tools/call")
    calling.cancel()
    (await server.next("notifications/cancelled")).say(202)
    return asked.body["id"]


async def answered_by_b(supervisor: Supervisor, server: Site, stream: Asked) -> Any:
    """What the server hears when it asks while a call of the session `b` runs."""
    calling = begin(supervisor, FakeBack(elicitation=NAME), session="b")
    asked = await server.next("tools/call")
    stream.event(QUESTION)
    answer = await server.next("")
    answer.say(202)
    asked.result(DONE)
    assert text(await ended(calling)) == "done"
    return answer.body["result"]


async def test_it_may_not_once_its_server_has_answered_it() -> None:
    async with listening() as (supervisor, server, stream):
        ident = await given_up(supervisor, server)
        stream.event({"id": ident, "result": DONE})
        assert await answered_by_b(supervisor, server, stream) == NAME


async def test_it_may_not_in_a_session_that_was_made_after_it() -> None:
    async with listening() as (supervisor, server, _):
        await given_up(supervisor, server)
        calling = begin(supervisor, session="b")
        (await server.next("tools/call")).say(404)
        stream = await welcomed(server, "s-2")
        (await server.next("tools/call")).result(DONE)
        assert text(await ended(calling)) == "done"
        assert await answered_by_b(supervisor, server, stream) == NAME
