"""A call over HTTP that was given up, or of which nothing is heard any more, may be the one that asks on the stream for everything else: until
when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gatewright.call import Failure
from gatewright.config.model import ToolRule
from gatewright.mcp.client import server_requests
from gatewright.mcp.client.server_requests import UNATTRIBUTABLE
from gatewright.servers.supervisor import Supervisor
from gatewright.transport.base import Limits
from tests.mcp.client.test_http_link import ASKED, DONE, NAME, begin, ended
from tests.servers.rig import FakeBack, text, within
from tests.servers.web import Asked, Site, http, site

QUESTION = {"id": "q", "method": "elicitation/create", "params": ASKED}


@asynccontextmanager
async def listening(**more: Any) -> AsyncIterator[tuple[Supervisor, Site, Asked]]:
    """A legacy server with the stream for everything else, taken in and with one tool, `s/t`."""
    async with site() as server:
        spec = http("s", server.url, share="gateway", **more)
        supervisor = Supervisor([spec], info={"name": "g"})
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


def cut(asked: Asked) -> None:
    """Whoever stands between ends a stream on which nothing was said for a while."""
    asked.stream()
    asked.event()
    asked.end()


def of_a_proxy(asked: Asked) -> None:
    """An error of somebody who does not know which request it was."""
    asked.say(502, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no"}})


Ends = Callable[[Asked], None]
ENDS = pytest.mark.parametrize(
    "ends",
    [cut, Asked.drop, lambda asked: asked.say(504), of_a_proxy, lambda asked: asked.say(202)],
    ids=["cut", "broken", "504", "502", "202"],
)


async def heard_of(server: Site) -> str:
    """Why a question of the server is put to nobody."""
    answer = await server.next("")
    answer.say(202)
    return str(answer.body.get("error", {}).get("message"))


async def put_to_nobody(supervisor: Supervisor, server: Site, stream: Asked) -> None:
    """While a call of the session `b` runs."""
    calling = begin(supervisor, FakeBack(elicitation=NAME), session="b")
    asked = await server.next("tools/call")
    stream.event(QUESTION)
    assert UNATTRIBUTABLE in await heard_of(server)
    asked.result(DONE)
    assert text(await ended(calling)) == "done"


@ENDS
async def test_it_may_where_its_request_ended_without_a_word_of_its_server(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs on over there. What it asked was put to the caller of the only other call."""
    monkeypatch.setattr(server_requests, "HELD_S", 0.05)
    async with listening() as (supervisor, server, stream):
        calling = begin(supervisor, FakeBack(elicitation=NAME), session="a")
        ends(await server.next("tools/call"))
        assert isinstance(await ended(calling), Failure)
        await put_to_nobody(supervisor, server, stream)


@ENDS
async def test_the_question_that_waits_then_is_put_to_nobody(ends: Ends) -> None:
    async with listening() as (supervisor, server, stream):
        calls = [begin(supervisor, FakeBack(elicitation=NAME), session=one) for one in "ab"]
        first, second = [await server.next("tools/call") for _ in calls]
        stream.event(QUESTION)
        stream.event({"method": "notifications/message", "params": {"level": "info", "data": ""}})
        await asyncio.sleep(0.05)
        ends(first)
        assert UNATTRIBUTABLE in await heard_of(server)
        second.result(DONE)
        assert {type(await ended(one)) is Failure for one in calls} == {True, False}


async def test_it_may_not_where_its_server_said_by_a_status_that_it_failed() -> None:
    async with listening() as (supervisor, server, stream):
        calling = begin(supervisor, session="a")
        (await server.next("tools/call")).error(500, -32603)
        assert isinstance(await ended(calling), Failure)
        assert await answered_by_b(supervisor, server, stream) == NAME


TWICE = {"t": ToolRule(repeatable=True)}
"""What is made once more where its connection breaks."""


async def test_it_may_where_it_was_sent_twice_and_refused_the_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By somebody who did not pass that one on; the first may run."""
    monkeypatch.setattr(server_requests, "HELD_S", 0.05)
    async with listening(tools=TWICE) as (supervisor, server, stream):
        calling = begin(supervisor, FakeBack(elicitation=NAME), session="a")
        (await server.next("tools/call")).drop()
        (await server.next("tools/call")).say(429)
        assert isinstance(await ended(calling), Failure)
        await put_to_nobody(supervisor, server, stream)


async def test_it_may_not_where_the_session_was_lost_in_which_it_was_sent_the_first_time() -> None:
    """A server that starts anew breaks its connections first. Nobody was asked any more for as long as the next session lasted."""
    async with listening(tools=TWICE) as (supervisor, server, _):
        calling = begin(supervisor, session="a")
        (await server.next("tools/call")).drop()
        (await server.next("tools/call")).say(404)
        stream = await welcomed(server, "s-2")
        (await server.next("tools/call")).result(DONE)
        assert text(await ended(calling)) == "done"
        assert await answered_by_b(supervisor, server, stream) == NAME


async def test_the_question_that_waits_is_put_to_nobody_where_it_is_not_taken_once_more() -> None:
    async with listening(tools=TWICE) as (supervisor, server, stream):
        other = FakeBack(elicitation=NAME)
        for back, session in ((FakeBack(elicitation=NAME), "a"), (other, "b")):
            begin(supervisor, back, session=session)
        first, _ = [await server.next("tools/call") for _ in "ab"]
        stream.event(QUESTION)
        await asyncio.sleep(0.05)
        server.refuse()
        first.drop()
        await asyncio.sleep(0.2)
        assert other.questions == []


async def test_it_may_where_it_said_more_at_once_than_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A line of its log, on the stream of its request; it runs on."""
    monkeypatch.setattr(server_requests, "HELD_S", 0.05)
    async with listening(limits=Limits(frame_bytes=10_000)) as (supervisor, server, stream):
        calling = begin(supervisor, FakeBack(elicitation=NAME), session="a")
        asked = await server.next("tools/call")
        asked.stream()
        params = {"level": "info", "data": "-" * 20_000}
        asked.event({"method": "notifications/message", "params": params})
        assert isinstance(await ended(calling), Failure)
        await put_to_nobody(supervisor, server, stream)
