"""`GroundhogFeature`: endpoint, optional own listener, sessions, shipped and registered tools; `Slow` audits slow or memory-heavy calls."""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gatewright.audit.trail import AuditLog
from gatewright.call import SHIPPED, Call, Caller, Outcome, Target, Unrecorded
from gatewright.config import Settings, is_loopback
from gatewright.config.groundhog import Protocol, Transport
from gatewright.config.groundhog_merge import DOOR
from gatewright.dialects.groundhog.argument_risk import argument_risk
from gatewright.dialects.groundhog.directory_tool import directory_tool, shipped_directory
from gatewright.dialects.groundhog.endpoint import GroundhogEndpoint
from gatewright.dialects.groundhog.listener import Site, line_door
from gatewright.dialects.groundhog.outcomes import spell_error
from gatewright.dialects.groundhog.refusal_log import Noting
from gatewright.dialects.groundhog.register import Making, Register
from gatewright.dialects.groundhog.registrations import Registrations
from gatewright.dialects.groundhog.sandboxed_run import Isolation
from gatewright.dialects.groundhog.sessions import Sessions
from gatewright.dialects.groundhog.tool_registry import Registry
from gatewright.dialects.groundhog.types import Parts, Terms
from gatewright.discovery.versions import ToolIds
from gatewright.feature import Around, Feature, GatewayParts, Ground, Inside, Listener, Serving
from gatewright.identity.rights import administers, described
from gatewright.identity.sessions import rate_state
from gatewright.kernel import Hooks
from gatewright.listeners import Signal
from gatewright.mcp.server.http_app import App
from gatewright.servers.dispatch import Builtin
from gatewright.servers.listing import Listing
from gatewright.servers.settings_adapters import http_limits
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.supervisor_dependencies import ServerSide
from gatewright.transport import http_server, tcp
from gatewright.transport.base import Limits
from gatewright.transport.connection_limits import Seats
from gatewright.transport.http_server import CannotListen, tls_context

__all__ = ["GroundhogFeature", "Slow"]


class Slow:
    """Tells of calls that took longer, or more memory, than somebody wants to be told of, and records each."""

    def __init__(
        self, strained: Signal[tuple[Call, str]], audit: AuditLog, seconds: float, memory: int
    ) -> None:
        """`strained` tells of each."""
        self._strained = strained
        self._audit = audit
        self._seconds = seconds
        self._memory = memory

    def ended(self, call: Call, outcome: Outcome, spent_s: float | None) -> None:
        """A call has ended after so long; None where that is not recorded. Must not raise."""
        if spent_s is None or call.kind != "tool" or call.tool is None:
            return
        memory = call.facts.get("memory_bytes", 0)
        if spent_s > self._seconds:
            self._warn(call, "slow_execution", {"duration_ms": spent_s * 1000})
        if memory > self._memory:
            self._warn(call, "high_memory", {"memory_bytes": memory})

    def _warn(self, call: Call, kind: str, details: Mapping[str, Any]) -> None:
        self._strained.send((call, kind))
        with contextlib.suppress(Unrecorded):
            self._audit.event(
                "dev.gatewright.performance",
                details={"warning_type": kind, "tool_id": call.name, **details},
                trace_id=call.trace_id,
            )


class GroundhogFeature(Feature):
    """The endpoint is there in any case; a listener of its own where `[mcp.protocol]` is configured."""

    name = "groundhog"

    def __init__(self, ground: Ground) -> None:
        settings = ground.settings
        self._ground = ground
        self._protocol = settings.protocol or Protocol()
        self._registry = Registry(hints=settings.approvals.hints == "ask")
        shipped = self._shipped(settings)
        self._registrations = Registrations(self._registry, ground.database, shipped, self._ahead)
        self._servers: Supervisor | None = None
        self._has_tools = settings.protocol is not None or bool(shipped)

    async def close(self) -> None:
        """Nothing more is kept of what is registered."""
        await self._registrations.close()

    async def _ahead(self, listing: Listing) -> None:
        """Make ready what is listed next, where somebody is served by then."""
        if self._servers is not None:
            await self._servers.offers_here.ahead(SHIPPED, listing)

    def _shipped(self, settings: Settings) -> Mapping[str, Any]:
        roots = settings.builtin.directory_list.roots
        if not roots:
            return {}
        self._registry.add(directory_tool(roots))
        return {"directory_list": shipped_directory(roots, Isolation())}

    def side(self, side: ServerSide) -> ServerSide:
        """The server of shipped and registered tools, where there can be any."""
        return replace(side, local=[*side.local, self._registry]) if self._has_tools else side

    def around(self, servers: Supervisor) -> Around:
        """What hears of calls that took long: nobody looks at it unless the protocol is configured."""
        ground, said = self._ground, self._protocol.performance
        if ground.settings.protocol is None:
            return Around()
        most = said.execution_time_warning, said.memory_usage_warning
        slow = Slow(ground.strained, ground.audit, *most)
        return Around(hooks=Hooks(ended=(slow.ended,)))

    def methods(self, inside: Inside) -> Mapping[str, Builtin]:
        """Registration of tools."""
        if not self._has_tools:
            return {}
        servers, registrations = inside.servers, self._registrations
        self._servers = servers
        making = Making(
            registry=self._registry,
            shipped=registrations.shipped,
            may_register=lambda caller: administers(caller, "write"),
            connection=registrations.connection,
            stands_behind=registrations.stands_behind,
            used=lambda name: servers.catalogue.user_of(name, SHIPPED),
            known=lambda: servers.catalogue.warm(servers.catalogue.profiles),
            ahead=self._ahead,
            stored=registrations.store,
            clock=time.time,
            knows=partial(_knows, servers),
        )
        return {"tools/register": Register(making)}

    def serve(self, parts: GatewayParts) -> Serving:
        """The endpoint."""
        door = GroundhogEndpoint(self._parts(parts))
        if self._ground.settings.protocol is None:
            return Serving(routes=door.routes)
        limits = http_limits(self._ground.settings.limits)
        place = _Place(self._protocol.transport, door, limits, self._ground.listeners)
        return Serving(
            routes=door.routes, listening=place.listening, clear_text=lambda: place.clear_text
        )

    def _parts(self, parts: GatewayParts) -> Parts:
        said, settings = self._protocol.security, self._ground.settings
        inside, front = parts.inside, parts.front
        anonymous = settings.gateway.anonymous == "allow"
        must = said.require_authentication if settings.protocol is not None else not anonymous
        sessions = Sessions(
            front.owners,
            clock=time.time,
            random=front.random,
            timeout_s=said.session_timeout,
            most=said.max_concurrent_sessions,
            ended=inside.servers.forget,
        )
        return Parts(
            front=front,
            sessions=sessions,
            names=ToolIds(lambda: inside.servers.catalogue),
            spell=spell_error,
            note=Noting(self._ground.audit, time.monotonic),
            trust=_trust,
            held=inside.rights.held,
            user=described,
            count=partial(inside.counts.count, DOOR),
            limits=lambda caller: rate_state(inside.counts.limited(DOOR, caller)),
            risk=argument_risk,
            now=time.time,
            providers=self._registrations,
            terms=Terms(
                version=self._protocol.version,
                require_authentication=must,
                authentication_timeout_s=said.authentication_timeout,
                strict_codes=said.strict_codes,
            ),
        )


class _Place:
    """The protocol's own address. It is among `listeners` from when it is open."""

    def __init__(
        self,
        transport: Transport,
        door: GroundhogEndpoint,
        limits: Limits,
        listeners: list[Listener],
    ) -> None:
        self._transport = transport
        self._door = door
        self._limits = limits
        self._listeners = listeners
        self.clear_text: tuple[str, ...] = ()
        """Addresses that others reach without TLS."""

    @contextlib.asynccontextmanager
    async def listening(self, app: App, seats: Seats) -> AsyncIterator[dict[str, str]]:
        """While inside, it is served: its URLs by name. `seats` are shared with the other listener.
        Raises `CannotListen`."""
        transport = self._transport
        serve: Callable[[Seats], Any] = (
            self._lines if transport.type == "tcp" else partial(self._web, app)
        )
        try:
            url, stop = await serve(seats)
        except CannotListen as problem:
            text = f"[mcp.protocol.transport] {transport.type}: {problem}"
            raise CannotListen(problem.errno or errno.EINVAL, text) from None
        try:
            yield {"groundhog": url}
        finally:
            await stop()

    async def _web(self, app: App, seats: Seats) -> Any:
        transport = self._transport
        tls = _tls(transport)
        site = Site(app, self._door, transport.path, posts=transport.type == "http")
        server = await http_server.serve(
            site,
            host=transport.host,
            port=transport.port,
            certificate=tls and transport.tls.cert_file,
            key=tls and transport.tls.key_file,
            client_ca=tls and (transport.tls.ca_file or None),
            limits=self._limits,
            seats=seats,
        )
        self.clear_text = server.clear_text
        self._listeners.append(server)
        base = server.url if transport.type == "http" else server.url.replace("http", "ws", 1)
        return base + transport.path, partial(server.stop, 5.0)

    async def _lines(self, seats: Seats) -> Any:
        transport, context = self._transport, None
        if _tls(transport):
            said = transport.tls
            context = tls_context(said.cert_file, said.key_file, said.ca_file or None)
        server = await tcp.serve_lines(
            line_door(self._door.parts),
            host=transport.host,
            port=transport.port,
            tls=context,
            limits=self._limits,
            seats=seats,
        )
        self.clear_text = server.clear_text
        self._listeners.append(server)
        scheme = "tls" if context is not None else "tcp"
        return f"{scheme}://{transport.host}:{server.port}", server.stop


def _tls(transport: Transport) -> Any:
    """Whether to serve TLS. Where its files are not there, only the switch for development on loopback
    lets it be left out; without that the listener names what is missing (decision C-49)."""
    said = transport.tls
    if not said.enabled:
        return None
    files = (said.cert_file, said.key_file, said.ca_file or said.cert_file)
    there = all(Path(one).is_file() for one in files)
    return None if not there and said.development and is_loopback(transport.host) else True


def _knows(servers: Supervisor, caller: Caller, server: str, tool: str) -> bool:
    """Whether a caller may know of a server, or of one tool of it."""
    catalogue = servers.catalogue
    if not tool:
        return catalogue.sight.server(caller, server)
    # By its full name alone: by the plain one another server's tool may be called.
    found = catalogue.tool("", f"{server}/{tool}")
    return (
        found is not None
        and found.target == Target(server, tool)
        and catalogue.sight.tool(caller, found)
    )


def _trust(caller: Caller) -> str:
    """How much of an error somebody reads."""
    return str(described(caller)["trust_level"])
