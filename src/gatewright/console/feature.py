"""`ConsoleFeature`: serves the web console at its own address, built at the first request; wires traffic counts, server states, call keys."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from msgspec.structs import replace

from gatewright.approvals.queue import ApprovalQueue
from gatewright.call import Caller
from gatewright.config.console import Console
from gatewright.console.changes import Changes
from gatewright.console.dependencies import Dependencies
from gatewright.console.kernel_calls import CallKeys, KernelCalls
from gatewright.console.people import Person
from gatewright.console.recent import Recent
from gatewright.console.sessions import ConsoleSessions
from gatewright.console.traffic import Traffic
from gatewright.console.whole_texts import WholeTexts
from gatewright.discovery.lookup import Lookup
from gatewright.feature import Around, Feature, GatewayParts, Ground, Serving
from gatewright.identity.gate import Keys
from gatewright.kernel import Hooks
from gatewright.mcp.server.http_app import App
from gatewright.servers.states import Change
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.supervisor_dependencies import ServerSide
from gatewright.transport import http_server
from gatewright.transport.connection_limits import Seats
from gatewright.transport.http_server import CannotListen

__all__ = ["PORT", "ConsoleFeature"]

PORT = 8421
_FIRST_TOKEN_S = 3600.0
"""How long the URL may be used that `serve` prints."""


class ConsoleFeature(Feature):
    """Serves it; see the module's text."""

    name = "console"

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._settings: Console = ground.settings.console
        self._keys = CallKeys()
        self._traffic = Traffic(time.time)
        self._parts: Dependencies | None = None
        self._clear_text: Sequence[str] = ()

    def keys(self, keys: Keys) -> Keys:
        """Those of calls that people make who have none of their own."""
        return self._keys.over(keys)

    def side(self, side: ServerSide) -> ServerSide:
        """Pages hear of each transition of a server; most of them are in no record."""

        def changed(change: Change) -> None:
            side.changed(change)
            self._traffic.states.changed(change)
            if self._parts is not None:
                self._parts.changes.tell("servers", "health")

        return replace(side, changed=changed)

    def around(self, servers: Supervisor) -> Around:
        """Counts calls as they end."""
        if not self._settings.enabled:
            return Around()
        ended = self._traffic.ended
        return Around(hooks=Hooks(ended=(ended,), answered=((ended, self._traffic.answered),)))

    def serve(self, parts: GatewayParts) -> Serving:
        """Its address, and who tells pages what changes."""
        if not self._settings.enabled:
            return Serving()
        changes, recent = Changes(time.time), Recent(self._ground.audit)
        self._parts = made = Dependencies(
            ground=self._ground,
            gateway=parts,
            recent=recent,
            traffic=self._traffic,
            sessions=ConsoleSessions(
                clock=time.time,
                lasts_s=self._settings.session_hours * 3600,
                still=self._still,
                confirm_s=_confirmed_s(self._settings),
                told=changes.look,
            ),
            changes=changes,
            calls=KernelCalls(parts, self._keys),
            lookup=Lookup(self._ground.now),
            clock=time.time,
            texts=WholeTexts(),
        )
        return Serving(
            listening=self._listening,
            work=(lambda: recent.follow(made.changes.tell, lambda: bool(changes.listening)),),
            clear_text=lambda: self._clear_text,
        )

    def _still(self, person: Person) -> bool:
        if not person.credential:
            return True
        caller = self._ground.now.identify("http", person.credential)
        return isinstance(caller, Caller) and caller.kind == "operator"

    @contextlib.asynccontextmanager
    async def _listening(self, app: App, seats: Seats) -> AsyncIterator[dict[str, str]]:
        parts, settings, found = self._parts, self._settings, ""
        if parts is None:
            raise RuntimeError("the console is served before the gateway")
        server = await _served(_Later(parts, settings, lambda: found), settings, seats)
        found = settings.url or server.url
        queue = self._ground.of(ApprovalQueue)
        if queue is not None:
            queue.console_at(found)
        self._clear_text = server.clear_text
        self._ground.listeners.append(server)
        token = parts.sessions.token_for(_local_person(parts), _FIRST_TOKEN_S)
        try:
            yield {"console": f"{found}/open#{token}"}
        finally:
            if queue is not None:
                queue.console_at("")
            await server.stop(1.0)

    async def close(self) -> None:
        """Hear of no more records."""
        if self._parts is not None:
            self._parts.recent.close()


def _local_person(parts: Dependencies) -> Person:
    """Whoever was given a URL by this machine: an operator, or, where an operator's key is the only proof, a viewer."""
    keys_alone = parts.ground.settings.gateway.operators == "key"
    return Person("local", "viewer" if keys_alone else "operator", "url")


def _confirmed_s(settings: Console) -> float:
    return 0.0 if settings.oidc is None else settings.oidc.confirm_minutes * 60


async def _served(app: Any, settings: Console, seats: Seats) -> http_server.HttpServer:
    """Listen. Raises `CannotListen`."""
    wanted = PORT if settings.port is None else settings.port
    try:
        return await http_server.serve(app, host=settings.host, port=wanted, seats=seats)
    except CannotListen as problem:
        if settings.port is None and problem.errno == errno.EADDRINUSE:
            return await http_server.serve(app, host=settings.host, port=0, seats=seats)
        raise CannotListen(problem.errno or errno.EINVAL, f"[console] {problem}") from None


class _Later:
    """The site, made at the first request: its libraries cost every start of a gateway that nobody looks at nothing."""

    def __init__(self, parts: Dependencies, settings: Console, base: Callable[[], str]) -> None:
        """`base` gives the URL at which people reach it, which is known once it listens."""
        self._parts = parts
        self._settings = settings
        self._base = base
        self._app: Callable[..., Awaitable[None]] | None = None
        self._making = asyncio.Lock()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        async with self._making:
            if self._app is None:
                self._app = await asyncio.to_thread(self._made)
        await self._app(scope, receive, send)

    def _made(self) -> Callable[..., Awaitable[None]]:
        from gatewright.console.guard import Guard  # noqa: PLC0415 - see the class's text
        from gatewright.console.screens import made  # noqa: PLC0415
        from gatewright.console.site import Site  # noqa: PLC0415

        guard = Guard(self._settings.url)
        return Site(self._parts, made(self._parts), guard, self._base()).app
