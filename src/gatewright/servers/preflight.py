"""Preflight of configured servers: starts each one, initializes it, lists what it offers, stops it, and reports failures and times.

Every server is started for the check alone, beside whatever gateway may be running, and stopped
again; a few at a time, because package runners and interpreters cost a core each. Nothing is called.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from gatewright import __version__
from gatewright.config import Settings
from gatewright.config import model as said
from gatewright.mcp.client.authorization import Authorizer
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.server import Server
from gatewright.servers.server_callbacks import Told
from gatewright.servers.server_catalogue import ServerCatalogue, build_listing
from gatewright.servers.settings_adapters import authorizers_of, specs_of
from gatewright.servers.spec import Restart, ServerSpec

__all__ = ["AT_ONCE", "Found", "preflight"]

AT_ONCE = 4
"""So many servers are started at the same time."""

_GRACE_S = 2.0
_LISTS_S = 30.0
"""What the lists may take after hello."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """How one server did. Times are milliseconds from its start."""

    id: str
    transport: str
    state: Literal["ready", "down", "disabled"]
    reason: str = ""
    """Why it is down."""
    hello: Hello = Hello("")
    shelf: ServerCatalogue = ServerCatalogue()
    hello_ms: float | None = None
    ready_ms: float | None = None
    """Until the lists were there as well."""
    last_words: tuple[str, ...] = ()
    """The end of what its process wrote to standard error until it failed."""


async def preflight(
    settings: Settings,
    servers: Sequence[said.Server],
    *,
    done: Callable[[Found], None] = lambda _: None,
    connect_s: float | None = None,
) -> list[Found]:
    """Try each, in the order given. `done` hears of each as it is known; `connect_s` is the longest
    wait for a hello, where it is not what the configuration says."""
    specs = specs_of(settings, servers)
    authorizers = authorizers_of(settings, specs)
    info = {"name": settings.gateway.name, "version": __version__}
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(spec: ServerSpec) -> Found:
        if connect_s is not None:
            spec = replace(spec, connect_s=connect_s)
        async with slots:
            found = await _tried(spec, info, authorizers.get(spec.id))
        done(found)
        return found

    return list(await asyncio.gather(*map(one, specs)))


async def _tried(spec: ServerSpec, info: Mapping[str, Any], authorizer: Authorizer | None) -> Found:
    if not spec.enabled or spec.problem:
        state: Literal["down", "disabled"] = "down" if spec.enabled else "disabled"
        return Found(id=spec.id, transport=spec.transport, state=state, reason=spec.problem)
    began = time.perf_counter()
    at: dict[str, float] = {}

    def event(name: str, server: str, details: Mapping[str, Any]) -> None:
        del server, details
        at.setdefault(name, (time.perf_counter() - began) * 1000)

    told = Told(lambda *_: None, lambda *_: None, event)
    server = Server(replace(spec, restart=Restart(policy="never")), info, told, authorizer)
    server.start()
    try:
        return await _looked_at(server, began, at)
    finally:
        await server.close(_GRACE_S)


async def _looked_at(server: Server, began: float, at: Mapping[str, float]) -> Found:
    spec, late = server.spec, ""
    try:
        async with asyncio.timeout(spec.connect_s + _LISTS_S):
            await server.settled()
    except TimeoutError:
        late = f"its lists did not come within {_LISTS_S:g} s"
    status = server.status()
    ready = status.state == "connected" and not late
    return Found(
        id=spec.id,
        transport=spec.transport,
        state="ready" if ready else "down",
        reason="" if ready else late or status.reason,
        hello=server.hello,
        shelf=build_listing(spec, server.listing),
        hello_ms=at.get("SERVER_CONNECTED"),
        ready_ms=(time.perf_counter() - began) * 1000 if ready else None,
        last_words=status.last_words,
    )
