"""The gateway, put together and run: stores, servers, gates, kernel, doors."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from gatewright import __version__, filters, gates
from gatewright.call import Caller, Unrecorded
from gatewright.compose.counted import Counted
from gatewright.compose.keys import FreshKeys
from gatewright.compose.parts import authorizers_of, grants_of, json_limits, profiles_of, spec_of
from gatewright.compose.randomness import Pool
from gatewright.compose.subjects import Subjects
from gatewright.doors.app import App, Guard
from gatewright.doors.front import Front
from gatewright.doors.health import Health
from gatewright.doors.stdio import serve_stdio
from gatewright.kernel import Kernel
from gatewright.protocol.eras import Sealer
from gatewright.protocol.negotiate import Face
from gatewright.settings import Settings
from gatewright.stores.audit import AuditLog
from gatewright.stores.callers import Callers
from gatewright.stores.grants import Grants
from gatewright.stores.records import Actor, Subject
from gatewright.transport import http_server
from gatewright.transport.base import Limits
from gatewright.upstream.catalogue import Sight
from gatewright.upstream.local import LocalServer
from gatewright.upstream.supervisor import Supervisor
from gatewright.wire import jsonrpc

__all__ = ["Gateway", "Ready", "run"]

EXTENSIONS = ("security", "audit", "discovery")
"""What of MGP the gateway offers its clients: no more than it does."""

OPEN_METHODS = frozenset({"mgp/discovery/list"})
"""Methods of MGP for everybody who negotiated their extension; the others are for operators."""

KEYS_POLLED_S = 0.25
"""How soon a key that another process revoked stops to work."""

LAST_USED_TURNS = 40
"""After how many of those looks it is written down when keys were last used."""

log = logging.getLogger("gatewright")


class Ready(msgspec.Struct, frozen=True):
    """The gateway serves: its endpoint, all URLs by name, and the state of each server."""

    url: str
    urls: Mapping[str, str]
    servers: Mapping[str, str]


def run(
    settings: Settings,
    *,
    stdio: bool = False,
    profile: str = "",
    on_ready: Callable[[Ready], None] = lambda _: None,
    local: Sequence[LocalServer] = (),
) -> None:
    """Run the gateway until it is told to stop (SIGTERM, SIGINT, or the host of `stdio` closing).

    Raises `StoreError` where the state folder cannot be used and `OSError` where the port is taken.
    """

    async def main() -> None:
        async with Gateway(settings, local) as gateway:
            if stdio:
                await gateway.serve_stdio(profile)
            else:
                await gateway.serve_http(on_ready)

    _runner()(main())


def _runner() -> Callable[[Any], None]:
    try:
        import uvloop  # noqa: PLC0415 - not there on every platform
    except ImportError:
        return asyncio.run
    return uvloop.run


class Gateway:
    """Everything, put together. An async context: entered it runs, left it has stopped."""

    def __init__(self, settings: Settings, local: Sequence[LocalServer] = ()) -> None:
        self.settings = settings
        self._local = local
        self._state = settings.storage.path
        self._random = Pool()
        self._tokens = {name: "gwt_" + os.urandom(32).hex() for name in ("operator", "local")}

    async def __aenter__(self) -> Gateway:
        self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.audit = AuditLog(
            self._state,
            clock=time.time,
            monotonic=time.monotonic,
            random=self._random,
            sync=self.settings.audit.sync,
        )
        self.callers = Callers(self._state / "keys.db", clock=time.time, random=os.urandom)
        self._put_together()
        self.supervisor.start()
        self._housekeeping = asyncio.create_task(self._keep_house())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._housekeeping.cancel()
        await self.app.close()
        await self.supervisor.close()
        self.callers.close()
        await self.audit.close()

    # -- parts

    def _put_together(self) -> None:
        settings = self.settings
        grants = grants_of(settings)
        access = gates.Access(grants, time.time, open_methods=OPEN_METHODS)
        info = {"name": settings.gateway.name, "version": __version__}
        specs = [spec_of(settings, server) for server in settings.servers]
        self.supervisor = Supervisor(
            specs,
            info=info,
            authorizers=authorizers_of(settings, specs),
            profiles=profiles_of(settings),
            sight=Sight(access.may_see, access.may_reach, access.version),
            event=self._server_event,
            local=self._local,
            startup_wait_s=settings.gateway.startup_wait_s,
        )
        self.counted = Counted(self.audit)
        owners: dict[str, str] = {}
        authenticate = self._authenticate()
        kernel = Kernel(
            gates.ordered(self._gates(authenticate, access, grants, owners)),
            self.supervisor.dispatch,
            filters.ordered(filters.Filters(filters.Size(settings.limits.server_frame_bytes))),
            self.counted,
        )
        self.front = Front(
            kernel=kernel,
            upstream=self.supervisor,
            identify=authenticate.identify,
            face=Face(EXTENSIONS),
            info=info,
            sealer=Sealer(os.urandom(32)),
            owners=owners,
            refused=self._refused,
            random=self._random,
            limits=json_limits(settings.limits),
            frame_bytes=settings.limits.frame_bytes,
            queue_bytes=settings.limits.queue_bytes,
            subscriptions=settings.limits.subscriptions_per_client,
        )
        self.app = App(
            self.front,
            Guard(settings.gateway.allowed_hosts, settings.gateway.allowed_origins),
            frozenset(settings.profiles),
            Health(self._numbers),
        )

    def _authenticate(self) -> gates.Authenticate:
        tokens = {
            self._tokens["operator"]: Caller("local", "operator"),
            self._tokens["local"]: gates.LOCAL,
        }
        anonymous = self.settings.gateway.anonymous == "allow"
        return gates.Authenticate(FreshKeys(self.callers), tokens=tokens, anonymous=anonymous)

    def _gates(
        self,
        authenticate: gates.Authenticate,
        access: gates.Access,
        grants: Grants,
        owners: Mapping[str, str],
    ) -> gates.Gates:
        settings = self.settings
        off = frozenset(one.id for one in settings.servers if one.schema == "off")
        limits = settings.limits
        return gates.Gates(
            authenticate=authenticate,
            session=gates.Session(owners.get),
            rate=gates.Rate(limits.calls_per_minute, time.monotonic_ns),
            resolve=gates.Resolve(
                Subjects(self.supervisor, settings, access.may_reach), access.may_see
            ),
            access=access,
            schema=gates.Schema(off, depth=limits.schema_depth, subschemas=limits.subschemas),
            validators=gates.Validators(),
            permission=gates.Permission(grants, time.time),
            confirm=gates.Confirm(access, time.monotonic),
        )

    # -- serving

    async def serve_http(self, on_ready: Callable[[Ready], None]) -> None:
        """Serve HTTP and WebSocket until a signal comes."""
        settings = self.settings
        limits = settings.limits
        server = await http_server.serve(
            self.app,
            host=settings.gateway.host,
            port=settings.gateway.port,
            limits=Limits(
                frame_bytes=limits.frame_bytes,
                queue_bytes=limits.queue_bytes,
                header_bytes=limits.header_bytes,
            ),
        )
        stop = _stop_signal()
        try:
            ready = Ready(f"{server.url}/mcp", self._urls(server.url), {})
            with self._announced(ready.url):
                await self.supervisor.settled()
                states = {name: str(state) for name, state in self.supervisor.states.items()}
                on_ready(msgspec.structs.replace(ready, servers=states))
                await stop
        finally:
            self.app.farewell()  # what would not end by itself
            await server.stop(5.0)

    async def serve_stdio(self, profile: str) -> None:
        """Serve the host at our standard input and output until it closes or a signal comes."""
        served = asyncio.create_task(serve_stdio(self.front, profile))
        _stop_signal().add_done_callback(lambda _: served.cancel())
        with contextlib.suppress(asyncio.CancelledError):
            await served

    def _urls(self, base: str) -> dict[str, str]:
        urls = {
            "mcp": f"{base}/mcp",
            "sse": f"{base}/sse",
            "websocket": f"ws{base.removeprefix('http')}/mcp",
            "health": f"{base}/readyz",
        }
        return urls | {f"mcp/{name}": f"{base}/mcp/{name}" for name in self.settings.profiles}

    @contextlib.contextmanager
    def _announced(self, url: str) -> Any:
        """While inside, the command line finds this gateway and may speak to it."""
        path = self._state / "gateway.json"
        body = {
            "url": url,
            "pid": os.getpid(),
            "operator_token": self._tokens["operator"],
            "local_token": self._tokens["local"],
            "version": __version__,
        }
        _write_private(path, jsonrpc.encode(body))
        try:
            yield
        finally:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()

    # -- watching

    async def _keep_house(self) -> None:
        """Follow the keys for ever: a store that fails for a moment must not keep revoked ones alive."""
        for turn in count(1):
            await asyncio.sleep(KEYS_POLLED_S)
            try:
                self.callers.refresh_if_changed()
                self._record_key_changes()
                if turn % LAST_USED_TURNS == 0:
                    self.callers.save_last_used()
            except Exception:
                log.exception("the keys could not be followed; trying again")

    def _refused(self, caller: Caller, door: str, code: int, message: str) -> None:
        """Record what a door refused, where it is known who asked."""
        if caller.kind == "anonymous":
            return
        with contextlib.suppress(Unrecorded):
            self.audit.event(
                "dev.gatewright.refused",
                actor=Actor(type=caller.kind, id=caller.id, key_id=caller.key_id),
                outcome="denied",
                details={"door": door, "code": code, "message": message[:200]},
            )

    def _record_key_changes(self) -> None:
        for change in self.callers.changes():
            self.audit.event(
                f"dev.gatewright.key.{change.action}",
                actor=Actor(type="operator", id=change.by),
                details={"key_id": change.key_id, "name": change.name, "kind": change.kind},
            )
            self.callers.recorded(change.number)

    def _server_event(self, event: str, server: str, details: dict[str, Any]) -> None:
        with contextlib.suppress(Unrecorded):
            self.audit.event(event, target=Subject(server_id=server), details=details)

    def _numbers(self) -> dict[str, Any]:
        return {
            "servers": dict(self.supervisor.states),
            "calls": self.counted.calls,
            "in_flight": self.counted.in_flight,
            "sessions": len(self.app.streamable.sessions),
            "audit_ok": self.audit.fault is None,
        }


def _write_private(path: Path, body: bytes) -> None:
    """Write a file that only its owner may read, in one step."""
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(body)
    fresh.replace(path)


def _stop_signal() -> asyncio.Future[None]:
    """Done once we are told to stop."""
    loop = asyncio.get_running_loop()
    told: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not told.done():
            told.set_result(None)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, tell)
    return told
