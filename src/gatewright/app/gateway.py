"""`Gateway`: builds stores, servers, gates, kernel and endpoints from settings, and starts, reloads and stops them in order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import weakref
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from gatewright import __version__, pipeline
from gatewright.access.permission_policy import permitting_of
from gatewright.app.addresses import urls_of
from gatewright.app.announce import Ready, announced
from gatewright.app.former_policies import Running
from gatewright.app.groundhog import GroundhogSide
from gatewright.app.offload import Beside, workers
from gatewright.app.own_methods import dispatch_of, kernel_names_of, kernel_tools, own_methods
from gatewright.app.policy import PolicyFactory, Revoked, Table, filters_of, table_of
from gatewright.app.randomness import Pool
from gatewright.app.record_events import Events
from gatewright.app.signals import stop_signal
from gatewright.app.state_watcher import StateWatcher
from gatewright.approvals.endpoint import PATH, ApprovalPage
from gatewright.approvals.policy import adopt, desk_of
from gatewright.audit.anchoring import anchoring_of, record_of, state_of
from gatewright.audit.notifications import witness
from gatewright.audit.sink_settings import positions_of, sinks_of
from gatewright.audit.sinks import SinkPositions
from gatewright.call import Who
from gatewright.call_policy import CLOSED, Policy
from gatewright.command_text import typed_as
from gatewright.config import Settings, is_loopback
from gatewright.config.gateway_command import typed_for
from gatewright.dialects.ggen.endpoint import Ggen
from gatewright.dialects.rest.endpoint import Rest
from gatewright.hosts import local_agents
from gatewright.identity.key_lookup import FreshKeys
from gatewright.identity.own_credentials import own_callers
from gatewright.identity.recheck import Rechecking
from gatewright.identity.sessions import METHOD as SESSIONS
from gatewright.identity.sessions import SessionList
from gatewright.kernel import Hooks, Kernel
from gatewright.mcp.protocol.eras import Sealer
from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.server.context import ServerContext, Standing
from gatewright.mcp.server.http_app import App
from gatewright.mcp.server.locality import worded
from gatewright.mcp.server.long_lived import Dismissing
from gatewright.mcp.server.stdio import serve_stdio
from gatewright.pins.pinning import pinning_of
from gatewright.redaction.policy import Spoken, hold_secrets
from gatewright.rooms.callers import RoomCallers
from gatewright.rooms.setup import House, rooms_of
from gatewright.secret_scanning import HELD, PROCESS, prepare
from gatewright.servers.administration import Administration
from gatewright.servers.local import LocalServer
from gatewright.servers.own_urls import OwnUrls
from gatewright.servers.server_set import ServerSet
from gatewright.servers.server_side import ServerSide
from gatewright.servers.settings_adapters import (
    EXTENSIONS,
    authorizers_of,
    guard_of,
    http_limits,
    info_of,
    json_limits,
    profiles_of,
    spec_of,
    supervisor_of,
    terms_of,
)
from gatewright.servers.supervisor import HELD_S
from gatewright.servers.task_store import ServerTaskStore
from gatewright.storage.opening import beside
from gatewright.tasks.tasks import tasks_of
from gatewright.telemetry.endpoint import Health
from gatewright.telemetry.metrics import CallCounts
from gatewright.telemetry.numbers import Listener, Numbers
from gatewright.telemetry.otel import telemetry_of
from gatewright.telemetry.watchdog import Watchdog
from gatewright.transport import http_server
from gatewright.validators.precompile import prepare_slowly

__all__ = ["Gateway"]


class Gateway:
    """Everything, put together. An async context: entered it runs, left it has stopped."""

    def __init__(
        self,
        settings: Settings,
        local: Sequence[LocalServer] = (),
        follows: Sequence[Sequence[Path]] = (),
    ) -> None:
        """`follows` are the files that its configuration comes from."""
        self.settings = settings
        self._local = local
        self._state = settings.storage.path
        self._random = Pool()
        self._adopting = asyncio.Lock()
        self._follows = follows
        self._mark_key = os.urandom(32)
        self._tokens = {name: "gwt_" + os.urandom(32).hex() for name in ("operator", "local")}
        if settings.gateway.operators == "key":
            self._tokens["operator"] = ""
        HELD.hold(PROCESS, self._tokens.values())

    async def __aenter__(self) -> Gateway:
        typed_as(typed_for(self.settings, os.environ))  # first: all that is made here inherits it
        self._listeners: list[Listener] = []
        self.database = state_of(self._state)
        self.counted = CallCounts()
        self.groundhog = GroundhogSide(self.settings, self.database, self._listeners)
        positions = positions_of(self.settings)
        self.audit = record_of(self.settings, self.database, self._random, taken=positions.taken)
        self._anchoring = await anchoring_of(self._state, self.audit, self.database)
        self.events = Events(self.audit)
        self._office = StateWatcher(self.database, self.events)
        self.desk = desk_of(self.settings, self.database, self.audit.event)
        self.beside = Beside(workers())
        self.pinning = pinning_of(
            *(self.settings, self.database, self.audit.event),
            kernel_names_of(self._office),
            self.beside.read,
        )
        self.permitting = permitting_of(self.settings, self.database, self.desk, self.audit.event)
        self._server_tasks = ServerTaskStore(beside(self.database), clock=time.time)
        self._spoken = Spoken(self.settings, self._mark_key)
        self._own_urls = OwnUrls(self.settings, PATH)
        self.watchdog = Watchdog(self.settings.limits.stall_ms / 1000)
        self.telemetry = telemetry_of(self.settings, __version__)
        self._put_together(positions)
        prepare()
        self.watchdog.start()
        self.supervisor.start()
        self.sinks.start()
        self._following = [
            asyncio.create_task(self._office.follow(self._looks(), self.supervisor.sightings.look)),
            asyncio.create_task(self._rechecking.follow()),
            asyncio.create_task(self._anchoring.follow()),
            asyncio.create_task(Dismissing(self.front).follow()),
            asyncio.create_task(prepare_slowly()),
        ]
        return self

    async def __aexit__(self, *exc: object) -> None:
        for task in self._following:
            task.cancel()
        await self.app.close()
        await self._tasks.close()
        await self.supervisor.close()
        parts = (self._anchoring, self._office, self.desk, self.pinning, self.permitting)
        last = self.database  # who closes it last brings its log into its file
        for one in (self._server_tasks, *parts, last):
            one.close()
        await self.beside.workers.close()
        self.watchdog.close()
        await self.sinks.close()
        await self.telemetry.close()
        await self.audit.close()

    # -- parts

    def _put_together(self, positions: SinkPositions) -> None:
        settings, info = self.settings, info_of(self.settings)
        owners: dict[str, Who] = {}
        standing: dict[str, Standing] = {}
        table = table_of(settings, self._office.issued.layer, self.pinning, self.permitting)
        side = self._side(owners.__contains__)
        self.supervisor = supervisor_of(settings, table.sight, self.events.server, side)
        witness(self.audit, self.supervisor.hub)
        self.sinks = sinks_of(settings, positions, self.supervisor.tell_audit)
        self._running = Running()
        self._room_callers = RoomCallers(FreshKeys(self._office.callers), os.urandom(32).hex())
        self._judges = PolicyFactory(
            self._room_callers,
            own_callers(self._tokens, settings, local_agents.credentials(self._tokens["local"])),
            owners,
            self.desk,
            self.pinning,
            self.permitting,
            beside=self.beside,
        )
        parts = self.desk, self._judges.looks, self.supervisor, self._random
        self._tasks = tasks_of(*parts)
        hooks = (
            Hooks(around=(worded, self._tasks.around), ended=(self.counted.ended,)),
            self.telemetry.hooks,
            self.groundhog.hooks(self.counted, self.audit),
        )
        self.kernel = Kernel(*CLOSED, self.audit, Hooks.of(*hooks))
        self.administration = Administration(self.supervisor, self.again, self.events.acted)
        own = own_methods(self.administration, self._office, self.permitting, self.kernel)
        own[SESSIONS] = SessionList(standing, self._judges)
        own |= self.groundhog.methods(self.supervisor, self._judges)
        of_calls = own, self._tasks.methods, self.events.retried, self._random
        self._dispatch = dispatch_of(self.supervisor, self.kernel, *of_calls)
        found, _ = self._judge_by(settings, table, self.supervisor.fleet)
        self.permitting.changed = self._permitted
        self._office.open(
            settings=lambda: self.settings,
            access=self._judges.access,
            catalogue=lambda: self.supervisor.catalogue,
            end_refused=self.kernel.end_refused,
            completed=self._judges.completed,
        )
        self.front = ServerContext(
            kernel=self.kernel,
            announced=self._tasks.announced,
            upstream=self.supervisor,
            identify=found.authenticate.identify,
            bearer=found.authenticate.bearer,
            protected=self._judges.protected,
            face=Face(EXTENSIONS),
            info=info,
            sealer=Sealer(os.urandom(32)),
            owners=owners,
            standing=standing,
            refused=self.events.refused,
            random=self._random,
            limits=json_limits(settings.limits),
            frame_bytes=settings.limits.frame_bytes,
            queue_bytes=settings.limits.queue_bytes,
            subscriptions=settings.limits.subscriptions_per_client,
        )
        self._open_endpoints()

    def _open_endpoints(self) -> None:
        settings = self.settings
        numbers = Numbers(
            counted=self.counted,
            watchdog=self.watchdog,
            kernel=self.kernel,
            supervisor=self.supervisor,
            front=self.front,
            queue=self.desk,
            audit=self.audit,
            sinks=self.sinks,
            workers=self.beside.workers,
            listeners=self._listeners,
        )
        self.telemetry.observe(numbers)
        self._rechecking = Rechecking(lambda: self._judges.tokens, self.kernel, self.front.tokens)
        self.page = ApprovalPage(
            self.desk,
            lambda door, key: self.front.identify(door, key),  # noqa: PLW0108 - it changes
            os.urandom,
        )
        self.desk.page = self.page.url
        self.rooms = rooms_of(
            settings,
            House(self.front, self.audit, self._room_callers, self.kernel.rehearse, self.database),
        )
        door = self.groundhog.open(self.front, self.supervisor, self.audit, self._judges)
        shown = self.front, self.supervisor
        health = Health(numbers, lambda: self.supervisor.catalogue)
        routes = [one.routes for one in (health, Ggen(*shown), Rest(*shown), door, self.page)]
        routes += [] if self.rooms is None else [self.rooms.routes]
        self.app = App(self.front, guard_of(settings), frozenset(settings.profiles), routes)

    def _side(self, opened: Callable[[str], bool]) -> ServerSide:
        """What the parts add to the servers."""
        return ServerSide(
            local=[*self._local, kernel_tools(self._office), *self.groundhog.local],
            looks=self.pinning.look_ahead,
            shelved=self.pinning.shelved,
            reserved=self.pinning.reserved(),
            permits=self.permitting,
            clean=self._spoken.clean,
            leads_here=self._own_urls.leads_here,
            opened=opened,
            keep=self._server_tasks,
        )

    def _looks(self) -> Sequence[Callable[[], object]]:
        rooms = self.rooms
        return (  # what operators decided in processes of their own
            self.desk.look,
            lambda: self.pinning.look(self.supervisor.catalogue),
            self.permitting.look,
            lambda: None if rooms is None else rooms.look(self._office.callers.loads, time.time()),
        )

    def _permitted(self) -> None:
        """Permissions of servers stand differently: so do servers, and calls that run."""
        self.kernel.end_refused()
        self.supervisor.fleet.permitted(self.permitting.barred)

    # -- other settings

    async def adopt(self, settings: Settings) -> None:
        """Go on with other settings: everything that calls are judged by changes at once, between two
        calls, when the servers that it needs are there or have had their time. What can only be
        chosen at the start has to be as it is (`changes.pinned`)."""
        async with self._adopting:
            await self._adopt(settings)

    async def again(self, anew: Collection[str] = ()) -> None:
        """Go on with the same settings, and with these servers started anew."""
        async with self._adopting:
            await self._adopt(self.settings, anew)

    async def _adopt(self, settings: Settings, anew: Collection[str] = ()) -> None:
        hold_secrets(settings)
        specs = [self.administration.word(spec_of(settings, server)) for server in settings.servers]
        table = await asyncio.to_thread(
            table_of, settings, self._office.issued.layer, self.pinning, self.permitting
        )
        try:
            patience_s, entries = settings.gateway.startup_wait_s, authorizers_of(settings, specs)
            staged = await self.supervisor.stage(specs, entries, patience_s=patience_s, anew=anew)
            for one in staged.fresh:
                tools = () if one.shelved is None else one.shelved.shelf.tools
                await self.pinning.look_ahead(one.id, tools, settings)
            before, words = self.supervisor.catalogue, (profiles_of(settings), table.sight)
            fleet, version = self.supervisor.fleet_of(staged, *words), before.version
            await fleet.catalogue.warm(before.viewed)
            if before.version != version:  # a server offers something else by now
                fleet = self.supervisor.fleet_of(staged, *words)
            self._switch(settings, table, fleet)
        except BaseException:
            await self.supervisor.discard()
            raise
        await self.supervisor.tell_differences(before)

    def _switch(self, settings: Settings, table: Table, fleet: ServerSet) -> None:
        """Nothing here waits, so that no call begins in the middle of it."""
        guard = guard_of(settings)
        found, former = self._judge_by(settings, table, fleet)
        over = self._running.until(former)
        self._spoken.adopt(settings)
        self._own_urls.adopt(settings)
        terms = terms_of(settings, found.authenticate, self._judges.protected)
        self.supervisor.switch(fleet, over, HELD_S + self.settings.approvals.hold_s, terms.info)
        self.front.adopt(terms)
        self.app.adopt(guard, frozenset(settings.profiles))
        adopt(self.desk, settings)
        self.pinning.adopt(settings)
        self.permitting.adopt(settings)
        self.kernel.end_refused([Revoked(table.access, fleet, found.authenticate.standing)])
        self.watchdog.adopt(settings.limits.stall_ms / 1000)
        self.settings = settings

    def _judge_by(
        self, settings: Settings, table: Table, fleet: ServerSet
    ) -> tuple[pipeline.Gates, weakref.ref[Policy]]:
        """Calls begin by these settings from now on: their gates, and the policy before."""
        dispatch = self._dispatch(fleet)
        found = self._judges.of(settings, table, fleet, dispatch)
        filters = filters_of(settings, self._mark_key, found, fleet.catalogue, self.beside)
        former = self.kernel.swap(pipeline.ordered_gates(found), dispatch, filters)
        self._judges.take(found)
        return found, former

    # -- serving

    async def serve_http(self, on_ready: Callable[[Ready], None]) -> None:
        """Serve HTTP and WebSocket until a signal comes."""
        settings, at = self.settings, self.settings.gateway
        server = await http_server.serve(
            self.app, host=at.host, port=at.port, limits=http_limits(settings.limits)
        )
        self._listeners.append(server)
        stop = stop_signal()
        if is_loopback(at.host):
            self.page.base = server.url
        async with contextlib.AsyncExitStack() as serving:
            serving.push_async_callback(server.stop, 5.0)
            side = self.groundhog.listening(self.app, server.seats)
            more = await serving.enter_async_context(side)
            serving.callback(self.app.farewell)  # first of all: what would not end by itself
            urls = urls_of(server.url, settings.profiles, rooms=self.rooms is not None)
            ready = Ready(f"{server.url}/mcp", urls | more, {})
            bare = (*server.clear_text, *self.groundhog.clear_text)
            with announced(
                self._state, ready.url, self._tokens, clear_text=bare, follows=self._follows
            ):
                await self.supervisor.settled()
                status = self.supervisor.status()
                states = {one.id: str(one.state) for one in status}
                reasons = {one.id: one.reason for one in status if one.reason}
                on_ready(msgspec.structs.replace(ready, servers=states, reasons=reasons))
                await stop

    async def serve_stdio(self, profile: str, host: str = "") -> None:
        """Serve the host at our standard input and output until it closes or a signal comes."""
        shown = local_agents.credential(self._tokens["local"], host) if host else None
        served = asyncio.create_task(serve_stdio(self.front, profile, shown))
        stop_signal().add_done_callback(lambda _: served.cancel())
        with contextlib.suppress(asyncio.CancelledError):
            await served
