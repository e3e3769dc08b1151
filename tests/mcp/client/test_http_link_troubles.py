"""Trouble of one request over HTTP, a connection that cannot be had or a token that has ended, is trouble of that one request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Failure
from gatewright.config.model import ToolRule
from gatewright.mcp.client import server_requests
from gatewright.mcp.client.authorization import NotAuthorized
from gatewright.mcp.client.http_link import HttpLink
from gatewright.mcp.client.response_queue import AT_ONCE
from gatewright.servers.supervisor import Supervisor
from gatewright.transport import http_pool
from tests.mcp.client.test_http_link import DONE, NAME, begin, ended, scripted
from tests.mcp.client.test_http_link_ghosts import (
    QUESTION,
    listening,
    put_to_nobody,
    welcomed,
)
from tests.servers.rig import FakeBack, text, within
from tests.servers.web import Asked, Site

TWICE = {"t": ToolRule(repeatable=True)}


def link_of(supervisor: Supervisor) -> HttpLink:
    """The connection to the server."""
    server = supervisor._servers.get("s")
    found = None if server is None else server.link
    assert isinstance(found, HttpLink)
    return found


async def test_a_connection_that_is_refused_to_one_call_ends_no_others_call() -> None:
    """B's tool asks after that, and is answered in the session that there was."""
    async with listening() as (supervisor, server, stream):
        running = begin(supervisor, FakeBack(elicitation=NAME), session="b")
        asked = await server.next("tools/call")
        kept = begin(supervisor, session="b")
        (await server.next("tools/call")).result(DONE)
        await ended(kept)
        server.refuse()
        waits = [begin(supervisor, session="a") for _ in range(2)]
        first = await server.next("tools/call")  # it has the connection that was kept
        refused, *_ = await asyncio.wait(waits, timeout=10, return_when=asyncio.FIRST_COMPLETED)
        outcome = await ended(refused.pop())
        assert isinstance(outcome, Failure)
        assert outcome.details == {"sent": False}
        assert link_of(supervisor).open
        first.result(DONE)
        await asyncio.wait(waits)
        stream.event(QUESTION)
        answer = await server.next("")
        assert answer.body["result"] == NAME
        answer.say(202)
        asked.result(DONE)
        assert text(await ended(running)) == "done"


async def test_a_server_that_takes_no_more_connections_for_long_is_connected_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that shuts down waits for its open streams: all calls were refused for as long as ours was. What runs goes on, and is answered."""
    monkeypatch.setattr(http_pool, "REFUSED_S", 0.0)
    async with listening() as (supervisor, server, _):
        running = begin(supervisor, FakeBack(elicitation=NAME), session="b")
        asked = await server.next("tools/call")
        server.refuse()
        assert isinstance(await ended(begin(supervisor, session="a")), Failure)
        assert supervisor.states["s"] != "connected"
        await server.start()
        (await server.next("server/discover")).error(400, -32000, "Server not initialized")
        await welcomed(server, "s-2")
        calling = begin(supervisor, session="a")
        (await server.next("tools/call")).result(DONE)
        assert text(await ended(calling)) == "done"
        asked.result(DONE)
        assert text(await ended(running)) == "done"


class Tokens:
    """No token any more, from some time on."""

    def __init__(self) -> None:
        self.over = False

    async def authorization(self) -> str | None:
        """One for the next request."""
        if self.over:
            raise NotAuthorized("log in again")
        return None

    async def challenged(
        self, turn: int, status: int, challenges: Sequence[str], used: str | None
    ) -> bool:
        """There is no other."""
        raise NotAuthorized("log in again")


def with_tokens(supervisor: Supervisor) -> Tokens:
    tokens = link_of(supervisor).wire._authorizer = Tokens()
    return tokens


async def test_a_token_that_has_ended_ends_no_call_that_runs() -> None:
    async with scripted() as (supervisor, server):
        tokens = with_tokens(supervisor)
        running = begin(supervisor, session="b")
        asked = await server.next("tools/call")
        tokens.over = True
        outcome = await ended(begin(supervisor, session="a"))
        assert isinstance(outcome, Failure)
        assert outcome.message == "log in again"
        assert link_of(supervisor).open
        asked.result(DONE)
        assert text(await ended(running)) == "done"
        await ended(begin(supervisor, session="a"))
        assert supervisor.states["s"] != "connected"


async def resumed_without_a_token(tokens: Tokens, asked: Asked) -> None:
    """Its stream ends before the answer."""
    tokens.over = True
    asked.stream()
    asked.event(ident="e-1", retry=0)
    asked.end()


async def test_a_call_of_which_the_rest_cannot_be_fetched_without_a_token_may_still_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_requests, "HELD_S", 0.05)
    async with listening() as (supervisor, server, stream):
        tokens = with_tokens(supervisor)
        calling = begin(supervisor, FakeBack(elicitation=NAME), session="a")
        await resumed_without_a_token(tokens, await server.next("tools/call"))
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert outcome.details["sent"] is True
        assert "outcome of the call is unknown" in outcome.message
        tokens.over = False
        await put_to_nobody(supervisor, server, stream)


async def lost_once(server: Site) -> None:
    """The connection breaks after the server has taken a call, and there is no other."""
    asked = await server.next("tools/call")
    server.refuse()
    asked.drop()


async def test_what_was_sent_once_is_not_said_to_be_unsent() -> None:
    async with listening(tools=TWICE) as (supervisor, server, _):
        calling = begin(supervisor, session="a")
        await lost_once(server)
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert outcome.details["sent"] is True
        assert "unknown" in outcome.message


async def test_what_was_sent_once_is_not_said_to_be_unsent_where_no_new_session_is_made() -> None:
    async with scripted(tools=TWICE, restart_wait_s=0.1) as (supervisor, server):
        calling = begin(supervisor, session="a")
        (await server.next("tools/call")).drop()
        (await server.next("tools/call")).say(404)
        (await server.next("initialize")).say(500)
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert outcome.details["sent"] is True
        assert "unknown" in outcome.message


async def without_a_new_session(supervisor: Supervisor, server: Site) -> tuple[Any, Asked]:
    """A call that runs in a session that another one loses; no next one comes about. Nothing is given time by the connection's end."""
    one = supervisor._servers.get("s")
    assert one is not None
    one._departures.grace_s = 0.05
    running = begin(supervisor, session="b")
    asked = await server.next("tools/call")
    losing = begin(supervisor, session="a")
    (await server.next("tools/call")).say(404)
    (await server.next("initialize")).say(500)
    assert isinstance(await ended(losing), Failure)
    return running, asked


async def test_a_call_goes_on_where_another_finds_that_no_session_is_to_be_had() -> None:
    async with scripted(restart_wait_s=0.05) as (supervisor, server):
        running, asked = await without_a_new_session(supervisor, server)
        done, _ = await asyncio.wait([running], timeout=0.3)
        assert not done
        asked.result(DONE)
        assert text(await ended(running)) == "done"


async def test_a_connection_whose_calls_go_on_ends_with_the_gateway() -> None:
    async with scripted(restart_wait_s=0.05) as (supervisor, server):
        running, _ = await without_a_new_session(supervisor, server)
        await within(supervisor.close(0.1))
        assert isinstance(await ended(running), Failure)


@pytest.mark.parametrize(("method", "times"), [("mgp/callback/respond", 1), ("tools/list", 2)])
async def test_what_the_gateway_asks_itself_is_made_once_more_only_where_it_reads(
    method: str, times: int
) -> None:
    async with scripted() as (supervisor, server):
        link = link_of(supervisor)
        asking: Any = asyncio.ensure_future(link.fetch(method, {}, 10.0))
        for _ in range(times):
            (await server.next(method)).drop()
        with pytest.raises(Exception, match="unknown"):
            await asking
        assert server.idle()


async def test_answers_and_cancellations_have_connections_while_all_calls_have_theirs() -> None:
    """All calls that may be in flight can wait for answers to what they ask."""
    async with scripted() as (supervisor, _):
        link = link_of(supervisor)
        most = link.wire._http._pool._most
        assert most() >= link.spec.in_flight + AT_ONCE + 1
        one = supervisor._servers["s"]
        more = replace(one.spec, in_flight=one.spec.in_flight + 1000)
        one.adopt(more)
        assert most() >= more.in_flight + AT_ONCE + 1
        link.spec = replace(one.spec, in_flight=1)
        assert most() >= more.in_flight + AT_ONCE + 1  # so many calls may run still, and ask


async def test_a_connection_that_takes_no_more_calls_still_asks_for_those_that_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It had stopped to listen, and its tools waited for answers for ever."""
    monkeypatch.setattr(http_pool, "REFUSED_S", 0.0)
    async with listening() as (supervisor, server, stream):
        running = begin(supervisor, FakeBack(elicitation=NAME), session="b")
        asked = await server.next("tools/call")
        asked.stream()
        server.refuse()
        assert isinstance(await ended(begin(supervisor, session="a")), Failure)
        await server.start()
        asked.event(QUESTION)
        answer = await server.next("")
        assert answer.body["result"] == NAME
        assert answer.headers["mcp-session-id"] == "s-1"
        answer.say(202)
        stream.end()
        while (again := await server.next("GET")).headers["mcp-session-id"] != "s-1":
            continue
        again.stream()
        running.cancel()
        told = await server.next("notifications/cancelled")
        assert told.headers["mcp-session-id"] == "s-1"


async def test_a_server_that_is_barred_ends_calls_on_a_connection_that_ended_before() -> None:
    async with scripted(restart_wait_s=0.05) as (supervisor, server):
        running, _ = await without_a_new_session(supervisor, server)
        one = supervisor._servers.get("s")
        assert one is not None
        one.permitted(blocked="camera was revoked")
        outcome = await ended(running)
        assert isinstance(outcome, Failure)
        assert "camera was revoked" in outcome.message
        told = await server.next("notifications/cancelled")
        assert told.headers["mcp-session-id"] == "s-1"


@pytest.mark.parametrize("patient", [False, True])
async def test_a_connection_that_ended_by_itself_is_waited_for_only_by_who_has_time(
    patient: bool,
) -> None:
    """A client of the library waited for ever when it was closed."""
    async with scripted(restart_wait_s=0.05) as (supervisor, server):
        one = supervisor._servers.get("s")
        assert one is not None
        link = link_of(supervisor)
        running = begin(supervisor, session="b")
        asked = await server.next("tools/call")
        link._retire("a session is not to be had")
        link.patient = patient
        stopping = asyncio.ensure_future(link.stop(0.05))
        await asyncio.wait([stopping], timeout=0.5)
        assert stopping.done() is not patient
        asked.result(DONE)
        assert isinstance(await ended(running), Answer if patient else Failure)
        await within(stopping)


async def test_a_stop_that_is_cancelled_leaves_no_connection_open() -> None:
    async with scripted() as (supervisor, server):
        link = link_of(supervisor)
        running = begin(supervisor)
        await server.next("tools/call")
        stopping = asyncio.ensure_future(link.stop(60.0))
        await asyncio.sleep(0.02)
        assert link.wire._http._pool._open
        stopping.cancel()
        await asyncio.wait([stopping], timeout=10)
        assert stopping.cancelled()
        assert not link.wire._http._pool._open
        assert isinstance(await ended(running), Failure)


@pytest.mark.parametrize("drained", [False, True])
async def test_that_a_call_is_given_up_is_said_before_the_session_ends(drained: bool) -> None:
    """It found no connection before all was closed, and the tool ran on."""
    async with scripted() as (supervisor, server):
        link = link_of(supervisor)
        link.wire._http._pool._keep_alive_s = -1.0
        running = begin(supervisor)
        asked = await server.next("tools/call")
        link._retire("over")
        link.patient = True
        stopping = asyncio.ensure_future(asyncio.sleep(0) if drained else link.stop(5.0))
        await asyncio.sleep(0.05)
        link.give_up(Failure("timeout"))
        if drained:
            link.close("it was told to shut down")
            stopping = asyncio.ensure_future(link.stop(5.0))
        told = await server.next("notifications/cancelled")
        assert told.body["params"]["requestId"] == asked.body["id"]
        ending = asyncio.ensure_future(server.next("DELETE"))
        await asyncio.wait([ending], timeout=0.05)
        assert not ending.done()
        told.say(202)
        (await ending).say(200)
        await within(stopping)
        assert isinstance(await ended(running), Failure)
