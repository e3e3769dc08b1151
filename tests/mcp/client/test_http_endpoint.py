"""Headers and tokens on the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gatewright.mcp.client.http_endpoint import HttpEndpoint
from gatewright.mcp.client.link import ServerFailed
from gatewright.transport.http_client import HttpUpstream, Posted
from tests.servers.rig import within
from tests.servers.web import Site, site


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
            raise ServerFailed("log in first")
        return bool(self.tokens)


@asynccontextmanager
async def wired(authorizer: Tokens | None = None) -> AsyncIterator[tuple[HttpEndpoint, Site]]:
    async with site() as server:
        wire = HttpEndpoint(HttpUpstream(server.url), {"X-Own": "1"}, authorizer)
        try:
            yield wire, server
        finally:
            await within(wire.close())


def post(wire: HttpEndpoint) -> asyncio.Future[Posted]:
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
        with pytest.raises(ServerFailed, match="log in first"):
            await within(posting)


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("ident", ["1", '"1"', "7"])
async def test_what_was_answered_is_not_sent_again_and_later_requests_have_a_new_token(
    status: int, ident: str
) -> None:
    tokens = Tokens("Bearer old", "Bearer new")
    answer = f'{{"jsonrpc":"2.0","id":{ident},"error":{{"code":-32000,"message":"no"}}}}'
    async with wired(tokens) as (wire, server):
        posting = asyncio.ensure_future(wire.post(b"{}", {}, lambda _: None, acts=True))
        (await server.next()).say(status, json.loads(answer), WWW_Authenticate="Bearer")
        assert (await within(posting)).status == status
        later = post(wire)
        asked = await server.next()
        assert asked.headers["authorization"] == "Bearer new"
        asked.say(200)
        await within(later)


@pytest.mark.parametrize("body", [None, {"jsonrpc": "2.0", "id": None, "error": {"code": 1}}])
async def test_what_was_refused_before_it_was_read_is_sent_again(body: Any) -> None:
    async with wired(Tokens("Bearer old", "Bearer new")) as (wire, server):
        posting = asyncio.ensure_future(wire.post(b"{}", {}, lambda _: None, acts=True))
        (await server.next()).say(401, body)
        (await server.next()).say(200)
        assert (await within(posting)).status == 200


async def test_a_login_that_fails_takes_no_answer_away(caplog: pytest.LogCaptureFixture) -> None:
    async with wired(Tokens("Bearer old", "give up")) as (wire, server):
        posting = asyncio.ensure_future(wire.post(b"{}", {}, lambda _: None, acts=True))
        (await server.next()).say(401, {"jsonrpc": "2.0", "id": 1, "result": {}})
        assert (await within(posting)).status == 401
        while "log in first" not in caplog.text:
            await asyncio.sleep(0)
