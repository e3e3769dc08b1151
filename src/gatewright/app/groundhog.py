"""Wires the Groundhog endpoint: listener, sessions, tool search and registration, shipped tools; counts and audits slow or large calls."""

from __future__ import annotations

import contextlib
import errno
import ssl
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gatewright.app.policy import PolicyFactory
from gatewright.audit.trail import AuditLog
from gatewright.call import SHIPPED, Call, Caller, Outcome, Tool, Unrecorded
from gatewright.config import Settings, is_loopback
from gatewright.config.groundhog import Protocol, Transport
from gatewright.config.groundhog_merge import DOOR
from gatewright.dialects.groundhog.argument_risk import argument_risk
from gatewright.dialects.groundhog.confined import Isolation
from gatewright.dialects.groundhog.endpoint import GroundhogDoor
from gatewright.dialects.groundhog.listener import Site, line_door
from gatewright.dialects.groundhog.outcomes import spell_error
from gatewright.dialects.groundhog.refusal_log import Noting
from gatewright.dialects.groundhog.register import Making, Register
from gatewright.dialects.groundhog.registered import Registry
from gatewright.dialects.groundhog.registrations import Registrations
from gatewright.dialects.groundhog.sessions import Sessions
from gatewright.dialects.groundhog.shipped import directory_tool, shipped_directory
from gatewright.dialects.groundhog.types import Parts, Terms
from gatewright.discovery.search import Search
from gatewright.discovery.versions import ToolIds
from gatewright.identity.claims import administers, described
from gatewright.identity.sessions import rate_state
from gatewright.kernel import Hooks
from gatewright.mcp.server.context import ServerContext
from gatewright.mcp.server.http_app import App
from gatewright.servers.dispatch import Builtin
from gatewright.servers.local import LocalServer
from gatewright.servers.settings_adapters import http_limits
from gatewright.servers.supervisor import Supervisor
from gatewright.storage.state import StateDatabase
from gatewright.telemetry.metrics import CallCounts
from gatewright.telemetry.numbers import Listener
from gatewright.transport import http_server, tcp
from gatewright.transport.base import Limits
from gatewright.transport.connection_limits import Seats
from gatewright.transport.http_server import CannotListen, tls_context

__all__ = ["GroundhogSide", "Slow"]


class Slow:
    """Counts calls that took longer, or more memory, than somebody wants to be told of, and records each."""

    def __init__(self, counted: CallCounts, audit: AuditLog, seconds: float, memory: int) -> None:
        self._counted = counted
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
        self._counted.warn(call, kind)
        with contextlib.suppress(Unrecorded):
            self._audit.event(
                "dev.gatewright.performance",
                details={"warning_type": kind, "tool_id": call.name, **details},
                trace_id=call.trace_id,
            )


class GroundhogSide:
    """Made before the servers are; opened once the kernel is there."""

    def __init__(self, settings: Settings, state: StateDatabase, listeners: list[Listener]) -> None:
        """Its own listener is among `listeners` from when it is open."""
        self.settings = settings
        self._listeners = listeners
        self._protocol = settings.protocol or Protocol()
        self.clear_text: tuple[str, ...] = ()
        """Addresses of the protocol's own that others reach without TLS."""
        self.registry = Registry(hints=settings.approvals.hints == "ask")
        self._registrations = Registrations(self.registry, state, self._shipped(settings))

    @property
    def local(self) -> Sequence[LocalServer]:
        """The server of shipped and registered tools, where there can be any."""
        wanted = self.settings.protocol is not None or self._registrations.shipped
        return (self.registry,) if wanted else ()

    def _shipped(self, settings: Settings) -> Mapping[str, Any]:
        roots = settings.builtin.directory_list.roots
        if not roots:
            return {}
        self.registry.add(directory_tool(roots))
        return {"directory_list": shipped_directory(roots, Isolation())}

    def hooks(self, counted: CallCounts, audit: AuditLog) -> Hooks:
        """What hears of calls that took long: nobody looks at it unless the protocol is configured."""
        if self.settings.protocol is None:
            return Hooks()
        said = self._protocol.performance
        slow = Slow(counted, audit, said.execution_time_warning, said.memory_usage_warning)
        return Hooks(ended=(slow.ended,))

    def methods(self, supervisor: Supervisor, judges: PolicyFactory) -> dict[str, Builtin]:
        """The gateway's own methods of this side."""

        def may_use(caller: Caller, tool: Tool, requested: frozenset[str] | None) -> bool:
            return not judges.permission().missing(caller, tool, requested)

        found: dict[str, Builtin] = {
            "tools/list": Search(lambda: supervisor.catalogue, may_use, time.perf_counter)
        }
        if self.local:
            found["tools/register"] = Register(
                Making(
                    registry=self.registry,
                    shipped=self._registrations.shipped,
                    may_register=lambda caller: administers(caller, "write"),
                    connection=self._registrations.connection,
                    stands_behind=self._registrations.stands_behind,
                    used=lambda name: supervisor.catalogue.user_of(name, SHIPPED),
                    stored=self._registrations.store,
                    clock=time.time,
                )
            )
        return found

    def open(
        self,
        front: ServerContext,
        supervisor: Supervisor,
        audit: AuditLog,
        judges: PolicyFactory,
    ) -> GroundhogDoor:
        """The door."""
        said = self._protocol.security
        anonymous = self.settings.gateway.anonymous == "allow"
        must = said.require_authentication if self.settings.protocol is not None else not anonymous
        sessions = Sessions(
            front.owners,
            clock=time.time,
            random=front.random,
            timeout_s=said.session_timeout,
            most=said.max_concurrent_sessions,
            ended=supervisor.forget,
        )
        parts = Parts(
            front=front,
            sessions=sessions,
            names=ToolIds(lambda: supervisor.catalogue),
            spell=spell_error,
            note=Noting(audit, time.monotonic),
            trust=_trust,
            held=judges.held,
            user=described,
            count=partial(judges.count, DOOR),
            limits=lambda caller: rate_state(judges.limited(DOOR, caller)),
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
        self._door = GroundhogDoor(parts)
        return self._door

    # -- a listener of its own

    @contextlib.asynccontextmanager
    async def listening(self, app: App, seats: Seats) -> AsyncIterator[dict[str, str]]:
        """While inside, the protocol's own address is served: its URLs by name. `seats` are shared with the other listener.
        Raises `CannotListen`."""
        if self.settings.protocol is None:
            yield {}
            return
        transport = self._protocol.transport
        bounds = http_limits(self.settings.limits)
        serve = self._lines if transport.type == "tcp" else partial(self._web, app)
        try:
            url, stop = await serve(transport, bounds, seats)
        except CannotListen as problem:
            text = f"[mcp.protocol.transport] {transport.type}: {problem}"
            raise CannotListen(problem.errno or errno.EINVAL, text) from None
        try:
            yield {"groundhog": url}
        finally:
            await stop()

    async def _web(self, app: App, transport: Transport, bounds: Limits, seats: Seats) -> Any:
        tls = _tls(transport)
        site = Site(app, self._door, transport.path, posts=transport.type == "http")
        server = await http_server.serve(
            site,
            host=transport.host,
            port=transport.port,
            certificate=tls and transport.tls.cert_file,
            key=tls and transport.tls.key_file,
            client_ca=tls and (transport.tls.ca_file or None),
            limits=bounds,
            seats=seats,
        )
        self.clear_text = server.clear_text
        self._listeners.append(server)
        base = server.url if transport.type == "http" else server.url.replace("http", "ws", 1)
        return base + transport.path, partial(server.stop, 5.0)

    async def _lines(self, transport: Transport, bounds: Limits, seats: Seats) -> Any:
        context: ssl.SSLContext | None = None
        if _tls(transport):
            said = transport.tls
            context = tls_context(said.cert_file, said.key_file, said.ca_file or None)
        accept = line_door(self._door.parts)
        server = await tcp.serve_lines(
            accept,
            host=transport.host,
            port=transport.port,
            tls=context,
            limits=bounds,
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


def _trust(caller: Caller) -> str:
    """How much of an error somebody reads."""
    return str(described(caller)["trust_level"])
