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
from tests.transport.collecting import within
from tests.transport.http_peers import Reach
from tests.transport.sockets import Door, Open

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
async def writers() -> AsyncIterator[list[asyncio.StreamWriter]]:
    """Clients, which hang up at the end."""
    found: list[asyncio.StreamWriter] = []
    yield found
    for one in found:
        one.close()
    await asyncio.gather(*(one.wait_closed() for one in found), return_exceptions=True)
