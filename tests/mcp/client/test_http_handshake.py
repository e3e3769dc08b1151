"""Saying hello over HTTP, to servers of every kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gatewright.mcp.client.http_endpoint import HttpEndpoint
from gatewright.mcp.client.http_handshake import FellBack, greet
from gatewright.mcp.client.http_link import HttpLink
from gatewright.mcp.client.link import LinkClosed, ServerFailed
from gatewright.mcp.protocol.mcp_client import Handshake
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.versions import LATEST_MODERN
from gatewright.servers.spec import ServerSpec
from gatewright.transport.http_client import HttpUpstream
from tests.servers.rig import INFO, within
from tests.servers.scripted import Ear
from tests.servers.web import Site, site

OLD: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}
NEW: dict[str, Any] = {"supportedVersions": [LATEST_MODERN], "capabilities": {}}


@asynccontextmanager
async def greeting(era: Any = "auto") -> AsyncIterator[tuple[HttpLink, Site, Any]]:
    """A link that says hello to a server that the test writes."""

    async def hello(link: HttpLink) -> None:
        await greet(link, Handshake(info=INFO, era=era))

    async with site() as server:
        spec = ServerSpec(id="s", transport="http", url=server.url)
        wire = HttpEndpoint(HttpUpstream(server.url), {})
        link = HttpLink(spec, INFO, Ear(), wire, hello)
        starting = asyncio.ensure_future(link.start())
        try:
            yield link, server, starting
        finally:
            starting.cancel()
            link.close("over")
            await within(wire.close())


async def test_a_modern_server_is_known_after_one_request() -> None:
    async with greeting() as (link, server, starting):
        asked = await server.next("server/discover")
        assert asked.headers["mcp-protocol-version"] == LATEST_MODERN
        assert asked.headers["mcp-method"] == "server/discover"
        assert asked.headers["accept"] == "application/json, text/event-stream"
        asked.result(NEW)
        await within(starting)
        assert link.hello is not None
        assert (link.modern, link.wire.session, link.wire.revision) == (True, None, None)
        assert server.idle()


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_a_legacy_server_gives_a_session_and_is_told_the_revision(status: int) -> None:
    async with greeting() as (link, server, starting):
        (await server.next("server/discover")).say(status)
        asked = await server.next("initialize")
        assert "mcp-protocol-version" not in asked.headers
        asked.result(OLD, Mcp_Session_Id="s-1")
        told = await server.next("notifications/initialized")
        assert told.headers["mcp-session-id"] == "s-1"
        assert told.headers["mcp-protocol-version"] == "2025-11-25"
        told.say(202)
        await within(starting)
        assert link.hello is not None
        assert not link.modern


@pytest.mark.parametrize("era", ["auto", "legacy", "modern"])
async def test_a_redirect_is_not_followed_and_says_where_it_leads(era: Any) -> None:
    """As a mounted application answers whose path ends with a slash."""
    async with greeting(era) as (_, server, starting):
        asked = await server.next("initialize" if era == "legacy" else "server/discover")
        asked.say(307, Location="/mcp/")
        with pytest.raises(LinkClosed) as caught:
            await within(starting)
        there = server.url.rpartition("/")[0] + "/mcp/"
        assert f"the server answered with a redirect to {there}" in str(caught.value)
        assert server.idle()


async def test_a_revision_without_the_header_is_not_told_it() -> None:
    async with greeting("legacy") as (link, server, starting):
        (await server.next("initialize")).result({**OLD, "protocolVersion": "2025-03-26"})
        told = await server.next("notifications/initialized")
        assert "mcp-protocol-version" not in told.headers
        told.say(202)
        await within(starting)
        assert link.wire.revision is None


async def test_an_answer_on_a_stream_that_never_ends_is_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gatewright.mcp.client.http_handshake.DRAIN_S", 0.05)
    async with greeting("legacy") as (link, server, starting):
        asked = await server.next("initialize")
        asked.stream(Mcp_Session_Id="s-9")
        asked.event(ident="prime")
        asked.event({"method": "notifications/message", "params": {}})
        asked.event({"id": asked.body["id"], "result": OLD})
        (await server.next("notifications/initialized")).say(202)
        await within(starting)
        assert link.wire.session == "s-9"


@pytest.mark.parametrize("streamed", [True, False])
async def test_what_is_too_long_for_a_hello_is_not_read(streamed: bool) -> None:
    """It takes up to a seventh of a second of 16 MiB, and a server may go on with that for as long as it is waited for."""
    async with greeting("modern") as (_, server, starting):
        asked = await server.next("server/discover")
        found = {**NEW, "instructions": "-" * DECODED_BYTES}
        if streamed:
            asked.stream()
            asked.event({"id": asked.body["id"], "result": found})
            asked.end()
        else:
            asked.result(found)
        with pytest.raises(
            ServerFailed,
            match="nothing that is an answer; what has more than 1048576 bytes is not read",
        ):
            await within(starting)


async def test_a_url_that_knows_no_post_is_one_of_2024() -> None:
    async with greeting() as (_, server, starting):
        (await server.next("server/discover")).say(405)
        (await server.next("initialize")).say(405)
        with pytest.raises(FellBack):
            await within(starting)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, b"", "refused access"),
        (500, b"oops", "HTTP 500"),
        (200, b"<html>", "nothing that is an answer"),
        (202, b"", "nothing that is an answer"),
    ],
)
async def test_a_hello_that_fails_says_why(status: int, body: bytes, words: str) -> None:
    async with greeting() as (_, server, starting):
        (await server.next("server/discover")).say(status, body)
        with pytest.raises(LinkClosed, match=words):
            await within(starting)


async def test_a_server_that_is_not_there_is_told_as_that() -> None:
    async with greeting() as (_, server, starting):
        (await server.next("server/discover")).drop()
        with pytest.raises(ServerFailed, match="closed the connection"):
            await within(starting)
