"""Headers and tokens on the wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from gatewright.links.http_wire import HttpWire
from gatewright.links.link import UpstreamFailed
from gatewright.transport.http_client import HttpUpstream, Posted
from tests.upstream.rig import within
from tests.upstream.web import Site, site


class Tokens:
    """Gives out one token after another, until it has none."""

    def __init__(self, *tokens: str | None) -> None:
        self.tokens = list(tokens)
        self.asked: list[tuple[int, int, list[str], str | None]] = []

    async def authorization(self) -> str | None:
        """The first one that is left."""
        return self.tokens[0]

    async def challenged(
        self, turn: int, status: int, challenges: Sequence[str], used: str | None
    ) -> bool:
        """Try the next, if there is one."""
        self.asked.append((turn, status, list(challenges), used))
        self.tokens.pop(0)
        if self.tokens == ["give up"]:
            raise UpstreamFailed("log in first")
        return bool(self.tokens)


@asynccontextmanager
async def wired(authorizer: Tokens | None = None) -> AsyncIterator[tuple[HttpWire, Site]]:
    async with site() as server:
        wire = HttpWire(HttpUpstream(server.url), {"X-Own": "1"}, authorizer)
        try:
            yield wire, server
        finally:
            await within(wire.close())


def post(wire: HttpWire) -> asyncio.Future[Posted]:
    return asyncio.ensure_future(wire.post(b"{}", {"Mcp-Method": "x"}, lambda _: None))


async def test_every_request_carries_session_revision_and_own_headers() -> None:
    async with wired() as (wire, server):
        wire.session, wire.revision = "s-1", "2025-11-25"
        ways: list[Callable[[], Awaitable[Posted | None]]] = [
            lambda: post(wire),
            lambda: wire.listen(lambda _: None, "e-1"),
            wire.goodbye,
        ]
        for way in ways:
            sending = asyncio.ensure_future(way())
            asked = await server.next()
            assert asked.headers["mcp-session-id"] == "s-1"
            assert asked.headers["mcp-protocol-version"] == "2025-11-25"
            assert asked.headers["x-own"] == "1"
            asked.say(200)
            await within(sending)
        # The session is over, so there is nothing to say goodbye to.
        await within(wire.goodbye())
        assert server.idle()


async def test_a_refused_token_is_replaced_until_one_is_taken() -> None:
    tokens = Tokens(None, "Bearer old", "Bearer new")
    async with wired(tokens) as (wire, server):
        posting = post(wire)
        first = await server.next()
        assert "authorization" not in first.headers
        first.say(401, WWW_Authenticate="Bearer realm=x")
        second = await server.next()
        assert second.headers["authorization"] == "Bearer old"
        second.say(403)
        third = await server.next()
        assert third.headers["authorization"] == "Bearer new"
        third.say(200)
        assert (await within(posting)).status == 200
        assert tokens.asked == [
            (0, 401, ["Bearer realm=x"], None),
            (1, 403, [], "Bearer old"),
        ]


async def test_a_refusal_that_is_final_is_returned_or_raised() -> None:
    async with wired(Tokens("Bearer a")) as (wire, server):
        posting = post(wire)
        (await server.next()).say(403)
        assert (await within(posting)).status == 403
    async with wired(Tokens("Bearer a", "give up")) as (wire, server):
        posting = post(wire)
        (await server.next()).say(401)
        with pytest.raises(UpstreamFailed, match="log in first"):
            await within(posting)
