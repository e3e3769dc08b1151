"""A request to a server of HTTP+SSE that is lost on its way: its caller hears so, all others go on, and it may still ask."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gatewright.call import Caller, Failure, Refusal
from gatewright.mcp.client import pipe_link, server_requests
from gatewright.mcp.client.server_requests import UNATTRIBUTABLE
from gatewright.servers.supervisor import Supervisor
from gatewright.transport import open_posts, sse_client
from tests.mcp.client.test_http_link import ASKED, DONE, NAME, begin, ended
from tests.servers.rig import FakeBack, dispatch, text, tool_call, within
from tests.servers.web import Asked, Site, http, site


class Stream:
    """The event stream of a server that the test writes."""

    def __init__(self, server: Site) -> None:
        self._server = server
        self._asked: Asked

    async def open(self) -> None:
        """Name the endpoint."""
        self._asked = await self._server.next("GET")
        self._asked.stream()
        named = b"event: endpoint\ndata: /messages\n\n"
        self._asked._writer.write(b"%x\r\n%b\r\n" % (len(named), named))

    def say(self, message: dict[str, Any]) -> None:
        """One message."""
        self._asked.event(message)

    async def answered(self, method: str, result: Any) -> None:
        """Take the next request of this method, and answer it."""
        asked = await self._server.next(method)
        asked.say(202)
        self.say({"id": asked.body["id"], "result": result})


@asynccontextmanager
async def streaming() -> AsyncIterator[tuple[Supervisor, Site, Stream]]:
    """A server of HTTP+SSE, taken in and with one tool, `s/t`."""
    async with site() as server:
        spec = http("s", server.url, transport="sse", share="gateway")
        supervisor = Supervisor([spec], info={"name": "g"})
        supervisor.start()
        stream = Stream(server)
        await stream.open()
        found = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {}}
        await stream.answered("initialize", found)
        (await server.next("notifications/initialized")).say(202)
        tools = [{"name": "t", "inputSchema": {"type": "object"}}]
        await stream.answered("tools/list", {"tools": tools})
        await within(supervisor.settled())
        try:
            yield supervisor, server, stream
        finally:
            closing = asyncio.ensure_future(supervisor.close(0.1))
            await within(asyncio.wait([closing]))


async def taken(server: Site) -> Any:
    """The number of the next call, which is accepted."""
    asked = await server.next("tools/call")
    asked.say(202)
    return asked.body["id"]


@pytest.mark.parametrize("how", ["broken", "500", "503"])
async def test_a_call_that_is_lost_on_its_way_ends_no_other_and_may_still_ask(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_requests, "HELD_S", 0.05)
    async with streaming() as (supervisor, server, stream):
        other = begin(supervisor, FakeBack(elicitation=NAME), session="b")
        ident = await taken(server)
        calling = begin(supervisor, session="a")
        asked = await server.next("tools/call")
        if how == "broken":
            asked.drop()
        else:
            asked.say(int(how))
        if how == "500":
            (await server.next("notifications/cancelled")).say(202)
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert outcome.details["sent"] is True
        assert "its outcome is unknown" in outcome.message
        stream.say({"id": 0, "method": "elicitation/create", "params": ASKED})
        refused = await server.next("")
        refused.say(202)
        assert UNATTRIBUTABLE in refused.body["error"]["message"]
        stream.say({"id": asked.body["id"], "result": DONE})
        stream.say({"id": 1, "method": "elicitation/create", "params": ASKED})
        answer = await server.next("")
        answer.say(202)
        assert answer.body["result"] == NAME
        stream.say({"id": ident, "result": DONE})
        assert text(await ended(other)) == "done"


async def test_a_call_that_finds_no_connection_was_not_sent_and_ends_no_other() -> None:
    async with streaming() as (supervisor, server, stream):
        other = begin(supervisor, session="b")
        held = await server.next(
            "tools/call"
        )  # all connections that there are have something to do
        server.refuse()
        outcome = await ended(begin(supervisor, session="a"))
        assert isinstance(outcome, Failure)
        assert outcome.details == {"sent": False}
        assert "was not reached" in outcome.message
        held.say(202)
        stream.say({"id": held.body["id"], "result": DONE})
        assert text(await ended(other)) == "done"


async def test_a_hello_that_is_lost_on_its_way_ends_the_attempt() -> None:
    async with site() as server:
        spec = http("s", server.url, transport="sse")
        supervisor = Supervisor([spec], info={"name": "g"})
        supervisor.start()
        await Stream(server).open()
        (await server.next("initialize")).drop()
        await within(supervisor.settled())
        assert "closed the connection" in json.dumps([one.reason for one in supervisor.status()])
        await within(supervisor.close(0.1))


async def test_the_post_of_a_call_that_nobody_waits_for_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(open_posts, "OVER_S", 0.01)
    monkeypatch.setattr(sse_client, "ORDER_S", 0.01)
    async with streaming() as (supervisor, server, _):
        other, calling = begin(supervisor, session="b"), begin(supervisor, session="a")
        one, two = await server.next("tools/call"), await server.next("tools/call")
        calling.cancel()
        (await server.next("notifications/cancelled")).say(202)
        ends = [asyncio.ensure_future(asked.gone()) for asked in (one, two)]
        done, _ = await asyncio.wait(ends, timeout=10, return_when=asyncio.FIRST_COMPLETED)
        assert len(done) == 1
        assert not other.done()
        ends[0].cancel()
        ends[1].cancel()
        other.cancel()


async def test_calls_that_run_leave_others_their_room_where_posts_are_answered_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What ended was taken off the share of whoever had called first, and those who called next were refused though nothing of theirs waited."""
    monkeypatch.setattr(sse_client, "ORDER_S", 0.01)
    monkeypatch.setattr(pipe_link, "BEHIND", 1 << 20)
    long = {"text": "x" * 200_000}

    async def asked(caller: str) -> tuple[Any, Asked]:
        call = tool_call(supervisor, "s/t", long, session=caller, caller=Caller(caller))
        calling = asyncio.ensure_future(dispatch(supervisor)(call, FakeBack(elicitation=NAME)))
        found = asyncio.ensure_future(server.next("tools/call"))
        await within(asyncio.wait([calling, found], return_when=asyncio.FIRST_COMPLETED))
        if calling.done():
            found.cancel()
            assert isinstance(calling.result(), Refusal)
        return calling, await found

    async with streaming() as (supervisor, server, stream):
        held = [await asked("ann") for _ in range(2)]
        for _ in range(6):
            calling, one = await asked("bob")
            await asyncio.sleep(0.03)
            stream.say({"id": one.body["id"], "result": DONE})
            one.say(202)
            assert text(await ended(calling)) == "done"
        held.append(await asked("ann"))
        with pytest.raises(asyncio.CancelledError):
            await asked("ann")
        for calling, one in held:
            stream.say({"id": one.body["id"], "result": DONE})
            one.say(202)
            assert text(await ended(calling)) == "done"
