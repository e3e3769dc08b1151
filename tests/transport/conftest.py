"""Every transport test runs on both event loops that Gatewright supports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
import uvloop

from gatewright.transport.base import FROM_CLIENTS, Limits
from gatewright.transport.http_client import HttpUpstream
from gatewright.transport.http_server import HttpServer, serve
from gatewright.transport.open_posts import Requests
from gatewright.transport.sse_client import SsePipe, connect_sse
from tests.transport.collecting import Collector, within
from tests.transport.http_peers import Reach, ScriptedServer
from tests.transport.sockets import Door, Open
from tests.transport.sse_peers import NONE, Connect

__all__: list[str] = []


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Name the loops."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture
async def door() -> AsyncIterator[Open]:
    """Opens doors."""
    servers: list[HttpServer] = []

    async def opener(
        app: Any = None,
        *,
        limits: Limits = FROM_CLIENTS,
        echo: bool = True,
        subprotocol: str | None = "mcp",
    ) -> Door:
        made = Door(limits, echo=echo, subprotocol=subprotocol)
        made.server = await serve(app or made, limits=limits)
        servers.append(made.server)
        return made

    yield opener
    for server in servers:
        await within(server.stop(0.1))


@pytest.fixture
async def reach() -> AsyncIterator[Reach]:
    """Makes upstreams and closes them."""
    made: list[HttpUpstream] = []

    def maker(url: str, **options: Any) -> HttpUpstream:
        upstream = HttpUpstream(url, **options)
        made.append(upstream)
        return upstream

    yield maker
    for upstream in made:
        await upstream.close()


@pytest.fixture
async def connected() -> AsyncIterator[Connect]:
    """Connects pipes, and sees to it that they close."""
    pipes: list[SsePipe] = []
    lost: list[int] = []

    async def connector(server: ScriptedServer, **options: Any) -> tuple[SsePipe, Collector]:
        collector = Collector()
        hears = options.pop("lost", lambda ident, why, sent: lost.append(ident))
        options["requests"] = Requests(options.pop("waits", lambda ident: True), hears, NONE.late)
        pipe = await within(connect_sse(server.url, receiver=collector, **options))
        pipes.append(pipe)
        return pipe, collector

    yield connector
    for pipe in pipes:
        pipe.close()
        await within(pipe.wait_closed())
    assert lost == []


@pytest.fixture
async def writers() -> AsyncIterator[list[asyncio.StreamWriter]]:
    """Clients, which hang up at the end."""
    found: list[asyncio.StreamWriter] = []
    yield found
    for one in found:
        one.close()
    await asyncio.gather(*(one.wait_closed() for one in found), return_exceptions=True)
